"""The objective of networks with weight decay, against exact rationals, and what is refused."""

from fractions import Fraction

import numpy as np
import pytest

import globalmin as gm
from globalmin.regularized.network import RegularizedNetwork
from globalmin.regularized.objective import Penalty, RegularizedProblem, objective

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((7, 3)), RNG.standard_normal(7)
NETWORK = RegularizedNetwork(
    RNG.standard_normal((4, 3)),
    RNG.standard_normal(4),
    RNG.standard_normal(4),
    0.75,
    RNG.standard_normal(3),
)


def _exact(network, problem) -> Fraction:
    """The objective of the squared loss, number by number in rationals."""
    penalty, total = problem.penalty, Fraction(0)
    linear = network.linear if network.linear is not None else np.zeros(network.n_features)
    for row, y, om in zip(problem.X, problem.y, problem.weights, strict=True):
        f = Fraction(network.intercept)
        f += sum(Fraction(a) * Fraction(x) for a, x in zip(linear, row, strict=True))
        for w, beta, v in zip(network.W, network.bias, network.v, strict=True):
            z = sum(
                (Fraction(a) * Fraction(x) for a, x in zip(w, row, strict=True)), Fraction(beta)
            )
            f += Fraction(v) * max(z, Fraction(0))
        total += Fraction(om) * (f - Fraction(y)) ** 2 / 2
    b = Fraction(penalty.weight_decay)
    weights = [*network.W.ravel(), *network.v]
    total += b / 2 * sum(Fraction(a) ** 2 for a in weights)
    if penalty.hidden_bias == "penalized":
        total += b / 2 * sum((Fraction(a) / Fraction(penalty.tau)) ** 2 for a in network.bias)
    if not isinstance(penalty.intercept, str):
        total += Fraction(penalty.intercept) / 2 * Fraction(network.intercept) ** 2
    if not isinstance(penalty.linear, str):
        total += Fraction(penalty.linear) / 2 * sum(Fraction(a) ** 2 for a in linear)
    return total


@pytest.mark.parametrize(
    "penalty",
    [
        Penalty(0.5),
        Penalty(0.5, hidden_bias="free"),
        Penalty(2.0, tau=4.0, intercept=0.25, linear=3.0),
        Penalty(2.0, intercept="none", linear="free"),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_objective_is_that_of_the_page(penalty: Penalty, weighted: bool):
    weight = np.array([0.0, 1.0, 2.0, 0.5, 1.0, 1.0, 3.0]) if weighted else None
    problem = RegularizedProblem(X, Y, penalty, sample_weight=weight)
    # about a hundred roundings of numbers of the size of the result
    assert objective(NETWORK, problem) == pytest.approx(float(_exact(NETWORK, problem)), rel=1e-13)


def test_a_row_of_weight_zero_is_absent_even_where_its_loss_is_infinite():
    network = RegularizedNetwork(np.zeros((0, 1)), [], [], 800.0)
    problem = RegularizedProblem([[1.0]] * 2, [1.0, 0.0], Penalty(1.0), "poisson")
    assert objective(network, problem) == np.inf
    problem = RegularizedProblem(
        [[1.0], [1.0]], [1.0, 1.0], Penalty(1.0), "squared", sample_weight=[0.0, 2.0]
    )
    assert objective(RegularizedNetwork(np.zeros((0, 1)), [], [], 2.0), problem) == 1.0


def test_prediction_is_the_formula():
    for row, found in zip(X, NETWORK.predict(X), strict=True):
        hidden = sum(
            v * max(w @ row + beta, 0.0)
            for w, beta, v in zip(NETWORK.W, NETWORK.bias, NETWORK.v, strict=True)
        )
        assert found == pytest.approx(0.75 + NETWORK.linear @ row + hidden, rel=1e-13)


def test_groups_are_enumerated():
    def groups(given):
        return RegularizedProblem(X, Y, Penalty(1.0), groups=given).group_list()

    assert groups("columns") == [(0,), (1,), (2,)]
    assert groups("pairs") == [(0, 1), (0, 2), (1, 2)]
    assert groups("all") == [(0, 1, 2)]
    assert groups([(2, 0), (1,), (0, 2)]) == [(0, 2), (1,)]
    assert RegularizedProblem(X[:, :1], Y, Penalty(1.0), groups="pairs").group_list() == [(0,)]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"groups": "triples"}, "groups='triples' is unknown"),
        ({"groups": [(0, 3)]}, "from 0 to 2"),
        ({"groups": [()]}, "non-empty"),
        ({"sample_weight": np.zeros(7)}, "positive for some row"),
        ({"sample_weight": -np.ones(7)}, "at least 0"),
        ({"sample_weight": np.ones(6)}, "7 finite numbers"),
        ({"loss": "logistic"}, "needs -1 or 1"),
    ],
)
def test_a_wrong_problem_is_refused(options: dict, said: str):
    with pytest.raises(gm.DataError, match=said):
        RegularizedProblem(X, Y, Penalty(1.0), **options)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"weight_decay": 0.0}, r"weight_decay=0\.0 must be a finite positive number"),
        ({"weight_decay": -0.5}, r"weight_decay=-0\.5 must be a finite positive number"),
        ({"weight_decay": 1.0, "tau": 0.0}, r"tau=0\.0 must be a finite positive number"),
        ({"weight_decay": 1.0, "intercept": -1.0}, r"intercept=-1\.0 must be a finite positive"),
        ({"weight_decay": 1.0, "linear": np.nan}, "linear=nan must be a finite positive number"),
        ({"weight_decay": 1.0, "hidden_bias": "no"}, "hidden_bias='no' is unknown; choose one of"),
        ({"weight_decay": 1.0, "intercept": "no"}, "intercept='no' .* or a positive number"),
    ],
)
def test_a_wrong_penalty_is_refused(options: dict, said: str):
    with pytest.raises(gm.DataError, match=said):
        Penalty(**options)


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        (([[1.0]], [1.0, 2.0], [1.0]), "W has 1 rows, bias 2 and v 1 entries"),
        (([[np.inf]], [1.0], [1.0]), r"W of shape \(1, 1\) must be finite with 2 dimension"),
        (([1.0], [1.0], [1.0]), r"W of shape \(1,\) must be finite with 2 dimension"),
        (([[1.0]], [1.0], [1.0], np.nan), "intercept=nan must be a finite number"),
        (([[1.0]], [1.0], [1.0], 0.0, [1.0, 2.0]), "linear has 2 entries but W has 1 columns"),
    ],
)
def test_a_wrong_network_is_refused(parts: tuple, said: str):
    with pytest.raises(gm.DataError, match=said):
        RegularizedNetwork(*parts)
