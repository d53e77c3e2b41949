"""Steps of gradient descent on shallow networks with kinks in balls (theorem RT of
`spec/claims/relu-trajectory.md`).
"""

from __future__ import annotations

from fractions import Fraction

from flint import arb, arb_mat

from globalmin_check.balls import ball, column, root, sum_of_squares
from globalmin_check.checks import ExactChecks
from globalmin_check.claims.replay import Run, Weights, charge
from globalmin_check.problem import Problem, Sizes
from globalmin_check.verdict import Undecided

KINKED = ("relu", "leaky_relu", "abs")
WORK_PER_PAIR = 100  # two comparisons, and the choice of the side


def negative_slope(problem: Problem) -> Fraction:
    """The slope of the activation on the negative side, in [-1, 1); it is 1 on the other."""
    return {"relu": Fraction(0), "abs": Fraction(-1)}.get(problem.activation, problem.parameter)


def lipschitz_of_outputs(problem: Problem, x2: Fraction) -> arb:
    """The number beta = |v| sqrt(x2): f is beta-Lipschitz in W, everywhere."""
    return root(sum_of_squares(list(map(arb, problem.v.values)))) * ball(x2).sqrt()


def lengths(problem: Problem) -> list[arb]:
    """|x_i|."""
    return [root(sum_of_squares(list(map(arb, row)))) for row in problem.X.rows()]


def charge_kinked_steps(run: Run, sizes: Sizes, checks: ExactChecks) -> None:
    """Count the pass before its first step."""
    n, d, k = sizes.n, sizes.d, sizes.k
    charge(run, 4 * n * k * d + WORK_PER_PAIR * n * k, 6 * n * k + 4 * k * d + n * d, checks)


class KinkedStep:
    """One step W -> W - eta grad L(W), affine on the ball because no sign can change there; raises
    Undecided, for the check `number`, where that is open.
    """

    def __init__(self, run: Run, x2: Fraction, problem: Problem, number: str) -> None:
        self.run, self.number = run, number
        self.X, self.y = arb_mat(problem.X.rows()), column(problem.y.values.tolist())
        self.v = list(map(arb, problem.v.values))
        self.lengths = [length.upper() for length in lengths(problem)]
        self.enters = [v != 0 for v in problem.v.values]
        self.slopes = arb(1), ball(negative_slope(problem))
        beta = lipschitz_of_outputs(problem, x2)
        self.eta = ball(run.eta)
        self.factor = (self.eta * beta * beta - 1).max(arb(1))

    def __call__(self, t: int, weights: Weights, delta: arb) -> tuple[Weights, arb]:
        """The balls of the next weights, and the factor on the ball of radius delta."""
        (W,) = weights
        Z = (self.X * W.transpose()).tolist()
        B = [
            self._slopes(t, row, delta * length) if length > 0 else [arb(0)] * len(row)
            for row, length in zip(Z, self.lengths, strict=True)
        ]
        values = [list(map(arb.__mul__, *rows)) for rows in zip(B, Z, strict=True)]
        r = (arb_mat(values) * column([arb(1)] * len(self.v)) - self.y).entries()
        pulled = arb_mat([[entry * s for entry in row] for row, s in zip(B, r, strict=True)])
        return (W - (pulled.transpose() * self.X) * self.eta,), self.factor

    def _slopes(self, t: int, row: list[arb], reach: arb) -> list[arb]:
        """v_l times the slope at z_li; zero for the pairs that do not enter."""
        up, down = self.slopes
        result = []
        for z, v, enters in zip(row, self.v, self.enters, strict=True):
            if not enters:
                result.append(arb(0))
            elif z > reach:
                result.append(v * up)
            elif z < -reach:
                result.append(v * down)
            else:
                raise Undecided(
                    f"check {self.number} is undecided: at step {t} a pre-activation is not "
                    f"certainly off its kink at {self.run.bits} bits"
                )
        return result
