"""The exact floor: golden examples, exhaustive comparison, and networks that reach it but never
beat it.
"""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize, nnls

from globalmin.activations import get_activation
from globalmin.data.degeneracy import Degeneracy
from globalmin.data.loss_floor import KINDS, Group, LossFloor
from globalmin.errors import DataError, HypothesisError

ACTIVATIONS = (
    "softplus",
    "sigmoid",
    "tanh",
    "erf",
    "relu",
    "leaky_relu(0.25)",
    "abs",
    "quadratic",
    "linear",
    "swish",
    "polynomial(0,0,0,1)",
)


def facts(X, y):
    return Degeneracy(np.array(X, dtype=float), np.array(y, dtype=float))


GOLDEN = {
    "equal up to the sign of zero": (
        [[0.0], [-0.0]],
        [0, 1],
        "softplus",
        Fraction(1, 4),
        [("equal", (0, 1))],
    ),
    "ray": ([[1, 2], [2, 4]], [1, 1], "relu", Fraction(1, 10), [("ray", (0, 1))]),
    "opposite directions are no ray": ([[1, 2], [-2, -4]], [1, 1], "relu", Fraction(0), []),
    "line of the square": (
        [[1, 2], [-2, -4]],
        [1, 1],
        "quadratic",
        (2 - Fraction(25, 17)) / 2,
        [("line", (0, 1))],
    ),
    "line of the modulus": ([[1, 2], [-2, -4]], [1, 1], "abs", Fraction(1, 10), [("line", (0, 1))]),
    "ray of leaky relu": (
        [[1, 2], [2, 4]],
        [1, 1],
        "leaky_relu(0.5)",
        Fraction(1, 10),
        [("ray", (0, 1))],
    ),
    "line of a linear network": (
        [[1, 2], [2, 4]],
        [1, 1],
        "linear",
        Fraction(1, 10),
        [("line", (0, 1))],
    ),
    "both ends of a linear line": (
        [[1, 2], [-1, -2], [0.5, 1]],
        [1, 1, 1],
        "linear",
        Fraction(13, 9),
        [("line", (0, 1, 2))],
    ),
    "three labels for two weights": (
        [[1, 0], [0, 1], [1, 1]],
        [0, 0, 1],
        "linear",
        Fraction(1, 6),
        [("linear", (0, 1, 2))],
    ),
    "linear as a polynomial": (
        [[1], [-2]],
        [1, 1],
        "polynomial(0,-3)",
        (2 - Fraction(1, 5)) / 2,
        [("line", (0, 1))],
    ),
    "square as a polynomial": (
        [[1, 2], [-2, -4]],
        [1, 1],
        "polynomial(0,0,3)",
        (2 - Fraction(25, 17)) / 2,
        [("line", (0, 1))],
    ),
    "no ray for softplus": ([[1, 2], [2, 4]], [1, 1], "softplus", Fraction(0), []),
    "no ray for tanh": ([[1, 2], [2, 4]], [1, 1], "tanh", Fraction(0), []),
    "proportional labels cost nothing": ([[1, 2], [3, 6]], [2, 6], "relu", Fraction(0), []),
    "zero row": ([[0, 0], [1, 1]], [3, 5], "relu", Fraction(9, 2), [("zero", (0,))]),
    "zero row of tanh": ([[0, 0], [1, 1]], [3, 5], "tanh", Fraction(9, 2), [("zero", (0,))]),
    "zero row of softplus": ([[0, 0], [1, 1]], [3, 5], "softplus", Fraction(0), []),
    "zero rows of softplus": (
        [[0, 0], [0, 0]],
        [3, 5],
        "softplus",
        Fraction(1),
        [("equal", (0, 1))],
    ),
    "zero rows of swish": ([[0, 0], [0, 0]], [3, 5], "swish", Fraction(17), [("zero", (0, 1))]),
    "opposite rows of tanh": ([[1, 2], [-1, -2]], [1, 1], "tanh", Fraction(1), [("odd", (0, 1))]),
    "opposite rows with opposite labels": ([[1, 2], [-1, -2]], [1, -1], "erf", Fraction(0), []),
    "equal rows on a ray": ([[1, 2], [1, 2]], [0, 1], "relu", Fraction(1, 4), [("equal", (0, 1))]),
    "cubic ray": (
        [[1], [2]],
        [1, 1],
        "polynomial(0,0,0,1)",
        (2 - Fraction(81, 65)) / 2,
        [("line", (0, 1))],
    ),
    "cubic line": (
        [[1], [-2]],
        [1, 1],
        "polynomial(0,0,0,1)",
        (2 - Fraction(49, 65)) / 2,
        [("line", (0, 1))],
    ),
}


@pytest.mark.parametrize("case", GOLDEN.values(), ids=GOLDEN.keys())
def test_golden_examples(case):
    X, y, activation, floor, groups = case
    assert facts(X, y).loss_floor(activation) == LossFloor(
        floor, tuple(Group(*group) for group in groups)
    )


@pytest.mark.parametrize("seed", range(6))
def test_floor_of_linear_networks_is_least_squares_and_a_network_of_one_neuron_attains_it(seed):
    """Also where columns depend, and next to the floats of LAPACK."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((9, 4)), rng.standard_normal(9)
    X[:, 2] = 2.0 * X[:, 0] if seed % 2 else X[:, 2]
    found = facts(X, y).loss_floor("linear")
    w = np.linalg.lstsq(X, y, rcond=None)[0]
    assert float(found.floor) == pytest.approx(0.5 * np.sum((X @ w - y) ** 2), rel=1e-12)
    assert found.floor == linear_floor(
        [[Fraction(v) for v in row] for row in X.tolist()], [Fraction(v) for v in y.tolist()]
    )
    assert "no linear function fits" in facts(X, y).message("linear")


@pytest.mark.parametrize("limit", [("MAX_WORK", 3), ("MAX_BITS", 0), ("MAX_PIVOTS", 1)])
def test_linear_floor_that_is_too_large_for_integers_falls_back_to_the_lines(limit, monkeypatch):
    rows, labels = [[1, 0], [0, 1], [1, 1], [2, 2]], [0, 0, 1, 1]
    assert facts(rows, labels).loss_floor("linear").groups[0].kind == "linear"
    monkeypatch.setattr(f"globalmin.data.exact_algebra.{limit[0]}", limit[1])
    assert facts(rows, labels).loss_floor("linear") == LossFloor(
        Fraction(1, 10), (Group("line", (2, 3)),)
    )


def test_linear_floor_is_exact_for_entries_of_very_different_size():
    """w_2 = 1 in the first row and about 0 in the second."""
    floor = (
        facts([[1e-300, 1.0], [1.0, 1e300], [1.0, 0.0]], [1.0, 1.0, 1.0]).loss_floor("linear").floor
    )
    assert floor == linear_floor(
        [[Fraction(1e-300), 1], [Fraction(1), Fraction(1e300)], [Fraction(1), 0]], [Fraction(1)] * 3
    )
    assert Fraction(49, 100) < floor < Fraction(1, 2)


def test_claims_state_the_rays_of_a_linear_network_since_the_format_knows_no_lines():
    rows, labels = [[1, 2], [-1, -2], [0.5, 1]], [1, 1, 1]
    stated = facts(rows, labels).loss_floor("linear", certifiable=True)
    assert stated == LossFloor(Fraction(1, 10), (Group("ray", (0, 2)),))
    assert facts(rows, labels).loss_floor("linear").floor == Fraction(13, 9) > stated.floor


def test_three_samples_on_a_ray_by_hand():
    floor, _ = facts([[1], [2], [3]], [1, 1, 1]).loss_floor("relu")
    assert floor == (3 - Fraction(36, 14)) / 2


def random_data(seed, n=14, d=2):
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (n, d)).astype(float)
    X[rng.random(n) < 0.2] *= 3.0
    X[rng.random(n) < 0.2] /= 3.0
    return X, rng.integers(-3, 4, n).astype(float)


def factor(u, x, activation):
    """The known g with f(x) = g f(u) for all networks, or None: by trying every relation of section
    6 in turn.
    """
    if u == x:
        return Fraction(1)
    p = next((j for j, value in enumerate(u) if value), None)
    if p is None or not any(x):
        return None
    c = x[p] / u[p]
    if c == 0 or any(c * a != b for a, b in zip(u, x, strict=True)):
        return None
    if activation.homogeneity and activation.is_odd:
        return c**activation.homogeneity
    if activation.homogeneity and (c > 0 or activation.name in ("abs", "quadratic")):
        return abs(c) ** activation.homogeneity
    return c if activation.homogeneity is None and activation.is_odd and abs(c) == 1 else None


def linear_floor(rows, labels):
    """Least squares by Gram-Schmidt in fractions: the labels lose their part along every new
    direction of the columns.
    """
    rest, basis = list(labels), []
    for column in zip(*rows, strict=True):
        new = list(column)
        for b in basis:
            share = sum(p * q for p, q in zip(new, b, strict=True)) / sum(p * p for p in b)
            new = [p - share * q for p, q in zip(new, b, strict=True)]
        if any(new):
            basis.append(new)
            share = sum(p * q for p, q in zip(rest, new, strict=True)) / sum(p * p for p in new)
            rest = [p - share * q for p, q in zip(rest, new, strict=True)]
    return sum(p * p for p in rest) / 2


def brute_floor(X, y, activation, *, nonnegative=False):
    rows = [[Fraction(value) for value in row] for row in X.tolist()]
    labels = [Fraction(value) for value in y.tolist()]
    if activation.name == "linear":
        return linear_floor(rows, labels)
    total, done = Fraction(0), set()
    for i, u in enumerate(rows):
        if i in done:
            continue
        if activation.vanishes_at_zero and not any(u):
            total += labels[i] ** 2 / 2
            continue
        tied = {j: g for j, x in enumerate(rows) if (g := factor(u, x, activation)) is not None}
        done |= tied.keys()
        t = sum(g * labels[j] for j, g in tied.items()) / sum(g * g for g in tied.values())
        t = max(t, Fraction(0)) if nonnegative else t
        total += sum((labels[j] - g * t) ** 2 for j, g in tied.items()) / 2
    return total


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("seed", range(8))
def test_floor_agrees_with_least_squares_per_group_by_brute_force(activation, seed):
    X, y = random_data(seed)
    phi = get_activation(activation)
    found = facts(X, y).loss_floor(activation)
    assert found.floor == brute_floor(X, y, phi)
    members = [i for group in found.groups for i in group.members]
    assert len(set(members)) == len(members)
    if phi.is_nonnegative:
        assert facts(X, y).loss_floor(activation, heads="nonnegative").floor == brute_floor(
            X, y, phi, nonnegative=True
        )


@pytest.mark.parametrize(
    "activation", ["softplus", "tanh", "relu", "leaky_relu(0.25)", "abs", "sigmoid"]
)
@pytest.mark.parametrize("seed", range(4))
def test_a_wide_random_network_reaches_the_floor_and_does_not_beat_it(activation, seed):
    X, y = random_data(seed, n=10)
    if activation not in ("tanh", "abs"):
        X = np.abs(
            X
        )  # relu(z) - relu(-z) = z and its kin tie opposite rows in ways the theorem does not use
    floor = float(facts(X, y).loss_floor(activation).floor)
    W = np.random.default_rng(seed).normal(size=(4000, 2)) * 2.0
    features = get_activation(activation)(X @ W.T)
    best = features @ np.linalg.lstsq(features, y, rcond=1e-13)[0]
    loss = 0.5 * float(np.sum((best - y) ** 2))
    assert loss >= floor - 1e-9
    assert loss <= floor + 1e-6


@pytest.mark.parametrize("activation", ["softplus", "relu", "abs", "quadratic"])
def test_nonnegative_heads_do_not_beat_their_floor(activation):
    for seed in range(4):
        X, y = random_data(seed, n=10)
        floor = float(facts(X, y).loss_floor(activation, heads="nonnegative").floor)
        features = get_activation(activation)(
            X @ np.random.default_rng(seed).normal(size=(500, 2)).T
        )
        assert 0.5 * nnls(features, y)[1] ** 2 >= floor - 1e-9
        assert floor >= float(facts(X, y).loss_floor(activation).floor)


@pytest.mark.parametrize("activation", ["softplus", "tanh", "relu", "abs", "quadratic", "linear"])
def test_local_search_never_finds_a_network_below_the_floor(activation):
    phi = get_activation(activation)
    worst = np.inf
    for seed in range(6):
        X, y = random_data(seed, n=6)
        floor = float(facts(X, y).loss_floor(activation).floor)

        def loss(theta, X=X, y=y):
            v, W = theta[:6], theta[6:].reshape(6, 2)
            return 0.5 * float(np.sum((phi(X @ W.T) @ v - y) ** 2))

        start = np.random.default_rng(seed).normal(size=18)
        worst = min(
            worst, minimize(loss, start, method="BFGS", options={"maxiter": 200}).fun - floor
        )
    assert worst >= -1e-9


def test_larger_relations_never_lower_the_floor():
    for seed in range(10):
        X, y = random_data(seed)
        floors = [
            facts(X, y).loss_floor(activation).floor
            for activation in ("softplus", "swish", "relu", "abs")
        ]
        assert all(a <= b for a, b in pairwise(floors))


def test_other_labels_may_be_asked_for():
    found = facts([[1], [1]], [0, 0])
    assert found.loss_floor("relu").floor == 0
    assert found.loss_floor("relu", [0, 2]).floor == 1
    with pytest.raises(DataError, match="y has 3 entries"):
        found.loss_floor("relu", [0, 1, 2])


def test_negative_labels_are_singletons_beside_the_groups():
    found = facts([[1], [1], [2], [3]], [1, -1, -2, 5]).loss_floor("softplus", heads="nonnegative")
    assert found.groups == (Group("equal", (0, 1)), Group("negative label", (2,)))
    assert found.floor == 1 + 2


def test_a_group_with_negative_labels_costs_all_of_them():
    found = facts([[1], [2]], [-1, -2]).loss_floor("relu", heads="nonnegative")
    assert found == LossFloor(Fraction(5, 2), (Group("ray", (0, 1)),))
    assert facts([[1], [2]], [-1, -2]).loss_floor("relu").floor == 0


@pytest.mark.parametrize("activation", ["tanh", "linear", "swish", "leaky_relu(0.1)"])
def test_nonnegative_heads_need_a_nonnegative_activation(activation):
    with pytest.raises(HypothesisError, match="nowhere negative") as caught:
        facts([[1]], [1]).loss_floor(activation, heads="nonnegative")
    assert caught.value.hypothesis == "phi >= 0"


def test_unknown_heads_are_refused():
    with pytest.raises(DataError, match="heads='positive'"):
        facts([[1]], [1]).loss_floor("relu", heads="positive")


def test_tensors_are_those_of_the_certificate_format():
    found = facts([[1], [1], [0], [-1]], [0, 1, 3, 7]).loss_floor("tanh")
    members, sizes, kinds = found.tensors()
    assert [KINDS[kind] for kind in kinds] == ["zero", "odd"]
    assert (members.tolist(), sizes.tolist()) == ([2, 0, 1, 3], [1, 3])
    assert members.dtype == sizes.dtype == kinds.dtype == np.int64
    assert KINDS == ("equal", "zero", "ray", "line", "odd", "negative label")


@pytest.mark.parametrize("bits", [8, 53, 256])
def test_rounding_down_stays_below_and_close(bits):
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(30, 2)), 2, axis=0) * np.tile([1.0, 2.0], 30)[:, None]
    for y in (rng.normal(size=60), rng.normal(size=60) * 1e-100, rng.normal(size=60) * 1e100):
        found = facts(X, y).loss_floor("relu")
        below = found.rounded_down(bits)
        assert found.floor * (1 - Fraction(2) ** (2 - bits)) <= below <= found.floor
        assert len(str(below)) < 700
    assert LossFloor(Fraction(3, 4), ()).rounded_down() == Fraction(3, 4)
    assert LossFloor(Fraction(0), ()).rounded_down() == 0


def test_opposite_rows_cost_softplus_networks_more_than_the_floor_says():
    """softplus(z) - softplus(-z) = z: half the difference of the labels of x and -x must be linear
    in x. The floor is a bound.
    """
    half = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    X, y = np.vstack([half, -half]), np.array([0.0, 0.0, 1.0, 0.0, 0.0, -1.0])
    assert facts(X, y).loss_floor("softplus").floor == 0
    features = get_activation("softplus")(X @ np.random.default_rng(0).normal(size=(4000, 2)).T)
    best = features @ np.linalg.lstsq(features, y, rcond=1e-13)[0]
    assert 0.5 * float(np.sum((best - y) ** 2)) == pytest.approx(2.0 * Fraction(1, 6), rel=1e-6)
