"""Training by column generation: the examples of the theory by hand, brute force never below the
floor, all losses and penalties, exact feasibility of what goes into a certificate.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize
from tests.regularized.column_cases import LOSSES, exact_sums, is_feasible_column, problem_of

import globalmin as gm
from globalmin.regularized.claims.dual_gap import build, dual_of, feasible_dual
from globalmin.regularized.dual import scaled
from globalmin.regularized.objective import Penalty, RegularizedProblem, objective
from globalmin.regularized.repair import floor_below, objective_above
from globalmin.regularized.train import decay_path, largest_decay, oracle_for

KINKED = {"quantile", "hinge"}  # trained through envelopes


def _share(name: str) -> float:
    """The relative gap that training is asked for."""
    return 1e-4 if name in KINKED else 1e-7


def test_the_best_floor_along_a_ray_is_not_always_at_its_end():
    """Squared loss, D(su) = 2 s - s^2 for u = -y: the end s = 1 is best; for -3 u, which points
    away, nothing is; for Huber's with h = 0.95 the end s = 1 is outside of the domain.
    """
    y = np.array([1.0, -1.0])
    problem = RegularizedProblem([[-1.0], [1.0]], y, Penalty(2.0))
    for u, share, floor in ((-y, 1.0, 1.0), (3 * y, 0.0, 0.0)):
        value, found = scaled(problem, u, 1.0)
        assert value == pytest.approx(floor, abs=1e-15)
        assert found.tolist() == (share * u).tolist()
    huber = RegularizedProblem([[-1.0], [1.0]], y, Penalty(2.0), gm.get_loss("huber", 0.95))
    value, found = scaled(huber, -y, 1.0)
    assert found.tolist() == (-0.9 * y).tolist()
    assert value == pytest.approx(2 * 0.9 - 0.9**2, rel=1e-15)
    # a height above the decay shortens the ray to their quotient
    assert scaled(problem, -y, 4.0)[1].tolist() == (-0.5 * y).tolist()


@pytest.mark.parametrize("b", [0.5, 1.0, 1.4])
def test_two_rows_by_hand(b: float):
    """One column (-1, 1): the minimum is 2t - t^2 at t = b/sqrt 2 for penalized biases, at t = b/2
    for free ones.
    """
    for hidden_bias, t in (("penalized", b / math.sqrt(2)), ("free", b / 2)):
        problem = RegularizedProblem(
            [[-1.0], [1.0]], [-1.0, 1.0], Penalty(b, hidden_bias=hidden_bias)
        )
        run = gm.train_regularized(problem, gap=1e-10)
        assert run.training.objective == pytest.approx(2 * t - t * t, rel=1e-9)
        assert objective(run.network, problem) == pytest.approx(2 * t - t * t, rel=1e-9)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"weighted": True},
        {"hidden_bias": "free"},
        {"intercept": "none"},
        {"intercept": 0.25, "tau": 2.0},
    ],
    ids=["plain", "weighted", "free bias", "no intercept", "penalized intercept"],
)
def test_every_loss_reaches_its_gap(name: str, options: dict):
    problem = problem_of(name, **options)
    run = gm.train_regularized(problem, gap=_share(name))
    assert run.relative_gap <= _share(name)
    # the stated objective is that of the network, up to rounding of sixty rows
    assert objective(run.network, problem) == pytest.approx(run.training.objective, rel=1e-10)


@pytest.mark.parametrize("name", LOSSES)
def test_the_vector_of_a_certificate_is_feasible_in_rationals(name: str):
    for weighted in (False, True):
        problem = problem_of(name, n=25, weighted=weighted)
        run = gm.train_regularized(problem, gap=_share(name))
        u = feasible_dual(problem, run.u, oracle_for(problem))
        assert sum(map(Fraction, u.tolist())) == 0
        b = Fraction(problem.penalty.weight_decay)
        assert all(is_feasible_column(values, b, Fraction(1)) for values in exact_sums(problem, u))
        low, high = problem.loss.domain(problem.y)
        for part, weight, bottom, top in zip(u, problem.weights, low, high, strict=True):
            if weight == 0:
                assert part == 0
            if np.isfinite(bottom):
                assert Fraction(part) >= Fraction(weight) * Fraction(bottom)
            if np.isfinite(top):
                assert Fraction(part) <= Fraction(weight) * Fraction(top)


def test_the_bounds_of_a_squared_loss_hold_in_rationals_and_are_tight():
    for seed in range(5):
        problem = problem_of("squared", n=30, seed=seed, weighted=seed % 2 == 1)
        run = gm.train_regularized(problem)
        u = feasible_dual(problem, run.u, oracle_for(problem))
        P, D = Fraction(0), Fraction(0)
        network = run.network
        rows = zip(problem.X, problem.y, problem.weights, u, strict=True)
        for x, y, weight, part in rows:
            f = Fraction(network.intercept)
            for w, beta, v in zip(network.W, network.bias, network.v, strict=True):
                z = sum((Fraction(a) * Fraction(c) for a, c in zip(w, x, strict=True)))
                f += Fraction(v) * max(z + Fraction(beta), Fraction(0))
            P += Fraction(weight) * (f - Fraction(y)) ** 2 / 2
            if weight:
                D -= Fraction(part) * Fraction(y) + Fraction(part) ** 2 / (2 * Fraction(weight))
        numbers = [*network.W.ravel(), *network.bias, *network.v]
        P += Fraction(0.5) / 2 * sum(Fraction(a) ** 2 for a in numbers)
        above, below = objective_above(network, problem), floor_below(problem, u)
        assert below <= D <= P <= above
        # the room for rounding is 2^-42 times about 50 times the sums
        assert above - P <= 1e-9 * P
        assert D - below <= 1e-9 * D
        claim = build(network, problem, run.u)
        assert Fraction(claim.fields["p_up"]) - Fraction(claim.fields["p_low"]) <= Fraction(
            claim.fields["gap"]
        )
        assert claim.summary["relative_gap"] <= 2e-6


@pytest.mark.parametrize("name", ["squared", "logistic", "poisson", "squared_hinge"])
def test_brute_force_is_never_below_the_floor_and_comes_near(name: str):
    """L-BFGS on the weights themselves, twelve starts, three columns, few rows."""
    for seed in range(3):
        problem = problem_of(name, n=12, d=2, seed=seed, decay=0.3)
        run = gm.train_regularized(problem, gap=1e-9)
        best = min(_descended(problem, start) for start in range(12))
        scale = run.training.objective
        assert best >= run.training.floor - 1e-9 * abs(scale)
        assert best <= run.training.objective + 1e-2 * abs(scale)  # starts differ, kinks stop some


def _descended(problem: RegularizedProblem, seed: int, width: int = 8) -> float:
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, problem.X.shape[1], width)
    x = problem.X[:, groups]

    def value(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        w, beta, v = parameters[:-1].reshape(3, width)
        z = x * w + beta
        active = z > 0
        f = (active * z) @ v + parameters[-1]
        f = np.minimum(f, 50.0)  # an exponential beyond is no candidate for the minimum
        u = problem.loss.derivative(f, problem.y)
        b = problem.penalty.weight_decay
        total = problem.loss.value(f, problem.y).sum()
        total += 0.5 * b * float(parameters[:-1] @ parameters[:-1])
        slope = np.r_[v * ((active * x).T @ u), v * (active.T @ u), (active * z).T @ u, u.sum()]
        slope[:-1] += b * parameters[:-1]
        return float(total), slope

    start = 0.3 * rng.standard_normal(3 * width + 1)  # small: an overflow is no test
    return float(minimize(value, start, jac=True, method="L-BFGS-B").fun)


def test_a_path_agrees_with_single_fits_and_has_no_neurons_at_the_largest_decay():
    problem = problem_of("squared", n=200)
    top = largest_decay(problem)
    runs = list(decay_path(problem, [1.0001 * top, 0.9999 * top, 0.1 * top], gap=1e-8))
    assert runs[0].network.width == 0 < runs[1].network.width
    alone = gm.train_regularized(runs[2].problem, gap=1e-8)
    assert runs[2].training.objective == pytest.approx(alone.training.objective, rel=2e-8)


@pytest.mark.parametrize("name", ["squared", "huber", "logistic", "poisson", "squared_hinge"])
def test_the_objective_is_that_of_the_network_down_to_the_last_rounds(name: str):
    """Neurons next to a ray are turned with the rows of their cone, not with those whose
    pre-activation happens to be rounded up.
    """
    for seed in range(3):
        problem = problem_of(name, seed=seed)
        run = gm.train_regularized(problem, gap=1e-11)
        value = objective(run.network, problem)
        assert value == pytest.approx(run.training.objective, rel=1e-13)
        assert -1e-13 <= run.relative_gap <= 1e-11


def test_neurons_of_one_cone_are_merged():
    problem = problem_of("squared", n=200, decay=0.1)
    pool = gm.train_regularized(problem, gap=1e-9).training.pool
    keys = [
        (int(g), tuple(cone), c > 0)
        for g, cone, c in zip(pool.group, pool.cones.tolist(), pool.c, strict=True)
        if cone[0] == cone[1]
    ]
    assert len(keys) == len(set(keys))


def test_a_network_is_bounded_without_its_run_too():
    problem = problem_of("squared")
    network = gm.train_regularized(problem).network
    np.testing.assert_allclose(dual_of(network, problem), network.predict(problem.X) - problem.y)
    assert build(network, problem).summary["relative_gap"] <= 1e-5
    worse = gm.RegularizedNetwork(network.W, network.bias, 0.9 * network.v, network.intercept)
    far = build(worse, problem)
    assert far.summary["gap"] >= objective(worse, problem) - objective(network, problem)


def test_classes_without_an_oracle_are_refused_with_the_remedy():
    X, y = np.eye(3), np.arange(3.0)
    for options in ({"groups": "all"}, {}):
        penalty = Penalty(1.0) if options else Penalty(1.0, hidden_bias="none")
        with pytest.raises(gm.DataError, match="has no oracle"):
            gm.train_regularized(RegularizedProblem(X, y, penalty, **options))
    with pytest.raises(gm.DataError, match="linear"):
        gm.train_regularized(RegularizedProblem(X, y, Penalty(1.0, linear="free")))


@pytest.mark.parametrize("share", [0.35, 0.3])
def test_training_goes_on_where_the_oracle_finds_nothing_and_neurons_still_turn(share):
    """linnerud, 20 rows: a wide cone whose neuron turns for some rounds; it ended at 6.6e-4."""
    from sklearn.datasets import load_linnerud

    X, Y = load_linnerud(return_X_y=True)
    X, y = (X - X.mean(axis=0)) / X.std(axis=0), (Y[:, 0] - Y[:, 0].mean()) / Y[:, 0].std()
    problem = RegularizedProblem(X, y, Penalty(1.0))
    decay = share * largest_decay(problem)
    run = gm.train_regularized(RegularizedProblem(X, y, Penalty(decay)), gap=1e-6)
    assert run.relative_gap <= 1e-6
