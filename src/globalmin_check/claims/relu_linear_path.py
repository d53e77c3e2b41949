"""The linear run of theorem RL and how far it, and what is not linear, can move a pre-activation
(`spec/claims/relu-linearized-descent.md`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from flint import arb, arb_mat

from globalmin_check.balls import ball, column, decide, largest, root, sum_of_squares
from globalmin_check.claims.relu_bracket import BracketMatrices
from globalmin_check.network import preactivations
from globalmin_check.primitives import Rows
from globalmin_check.problem import Problem


@dataclass(frozen=True)
class LinearRun:
    """V_1, ..., V_N (rows), nu, T0 and w of the linear run r0_{k+1} = (I - eta H) r0_k."""

    sums: Rows
    rest: arb
    length: arb
    columns: list[arb]

    def from_nearby(self, e: arb) -> LinearRun:
        """Bounds for the linear run from every residual within lam e (theorem RL')."""
        return LinearRun(self.sums, self.rest + e, self.length + e, [w + e for w in self.columns])


def linear_run(H: Rows, r: list[arb], eta: Fraction, lam: Fraction, steps: int) -> LinearRun:
    """Follow the linear run for so many steps; H is given by its lower triangle."""
    n, step = len(r), ball(eta)
    A = arb_mat([[H[max(i, j)][min(i, j)] * step for j in range(n)] for i in range(n)])
    residual, moved = column(r), arb_mat(n, 1)
    sums: Rows = []
    length, columns = arb(0), [arb(0)] * n
    for _ in range(steps):
        entries = residual.entries()
        moved = moved + residual * step
        sums.append(moved.entries())
        length += step * root(sum_of_squares(entries))
        columns = [w + step * abs(entry) for w, entry in zip(columns, entries, strict=True)]
        residual = residual - A * residual
    rest = root(sum_of_squares(residual.entries())) / ball(lam)
    return LinearRun(sums, rest, length + rest, [w + rest for w in columns])


class Margins:
    """The comparison of |z_li| with s_li for the pairs outside U."""

    def __init__(self, problem: Problem, matrices: BracketMatrices, run: LinearRun) -> None:
        self.problem, self.sets, self.K, self.run = problem, matrices.sets, matrices.K, run
        self.heads = [abs(arb(v)) for v in problem.v.values]

    def outcome(self, tau: arb, drift: arb, rooms: list[arb] | None = None) -> bool | None:
        """Whether s_li < |z_li| for all of them, or s_li < |z_li| - room_i: False if some pair
        certainly fails, None if some is open; drift is nu + eps tau/lam.
        """
        squares = arb_mat([[entry * entry for entry in row] for row in self.K])
        reach = (squares * arb_mat(self.sets.possible)).tolist()
        result: bool | None = True
        for i, row in enumerate(preactivations(self.problem)):
            sizes = [abs(z) - (rooms[i] if rooms else 0) for z in row]
            for outcome in self._of_sample(i, sizes, list(map(root, reach[i])), (tau, drift)):
                if outcome is False:
                    return False
                result = result if outcome else None
        return result

    def _of_sample(
        self, i: int, sizes: list[arb], reach: list[arb], parts: tuple[arb, arb]
    ) -> Iterator[bool | None]:
        """Outcomes of the pairs of sample i that the first bound of s does not prove."""
        tau, drift = parts
        possible, sure = self.sets.possible[i], self.sets.sure[i]
        first = {
            neuron: decide(self.heads[neuron] * reach[neuron] * tau, "<", size)
            for neuron, size in enumerate(sizes)
            if possible[neuron] == sure[neuron]
        }
        open_ones = [neuron for neuron, outcome in first.items() if outcome is not True]
        if not open_ones:
            return
        for neuron, moved in zip(open_ones, self._moves(i, open_ones), strict=True):
            bound = self.heads[neuron] * (moved + reach[neuron] * drift)
            second = decide(bound, "<", sizes[neuron])
            yield second if second is not False else first[neuron]

    def _moves(self, i: int, neurons: list[int]) -> list[arb]:
        """The largest move by the linear run, and the share of the pairs in U."""
        possible = [[row[neuron] for neuron in neurons] for row in self.sets.possible]
        sure = [[row[neuron] for neuron in neurons] for row in self.sets.sure]
        middle, spread = arb_mat(possible) + arb_mat(sure), arb_mat(possible) - arb_mat(sure)
        K = self.K[i]
        linear = arb_mat([list(map(arb.__mul__, row, K)) for row in self.run.sums]) * middle
        weights = arb_mat([[abs(x) * w for x, w in zip(K, self.run.columns, strict=True)]])
        extra = (weights * spread).entries()
        tops = [largest(map(abs, moves)) for moves in linear.transpose().tolist()]
        return [(top + more) / 2 for top, more in zip(tops, extra, strict=True)]
