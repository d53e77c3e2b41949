"""The facts of DU chapter 3 on one instance, number by number: what is said is what the functions
for deep networks give at the depth, the strength of the branches and the draw that were asked for.
"""

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest

import globalmin as gm
from globalmin.deep import constants, facts, gram_bounds
from globalmin.deep.gram import deep_features, deep_gram, deep_ntk
from globalmin.deep.lipschitz import estimate_deep_descent
from globalmin.deep.network import draw_deep
from globalmin.inspection.inspection import pose

rng = np.random.default_rng(5)
X = rng.standard_normal((4, 5))
Y = rng.standard_normal(4)
WIDTH = 20
BOTH = (("fully_connected", "fully connected"), ("resnet", "residual"))


def instance(rows=X, labels=Y, depth=3, activation="tanh", width=WIDTH):
    data = gm.Dataset(rows, labels, bias=False, scaling="none")
    return pose(data, width, activation, depth=depth)


def least(K):
    """The least eigenvalue, as one over the norm of the inverse."""
    return 1.0 / np.linalg.norm(np.linalg.inv(K), 2)


def drawn(depth, architecture="fully_connected"):
    return draw_deep(X, WIDTH, depth, architecture, "tanh", c_res=0.5, seed=0)


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_limits_of_both_architectures(depth):
    """DU-D3.1, DU-D3.2, DU-X3.1: at least one residual layer, the kernel the sum over the layers,
    and the cosine of the closest pair at the top."""
    report, H = facts.limits(instance(depth=depth)), max(depth, 2)
    numbers = dict(report.numbers)
    for architecture, word in BOTH:
        K = deep_gram(X, architecture, H, "tanh", c_res=0.5)
        layers = deep_ntk(X, architecture, H, "tanh", c_res=0.5).layers
        S = deep_features(X, architecture, H, "tanh", c_res=0.5)[H].S
        closest = max(
            S[i, j] / math.sqrt(S[i, i] * S[j, j]) for i, j in itertools.combinations(range(4), 2)
        )
        said = [
            numbers[f"λ_min(K^(H)), {word}, H = {H}"],
            numbers[f"λ_min of the sum over all layers, {word}"],
            numbers[f"largest correlation of two rows at the top, {word}"],
        ]
        assert said == pytest.approx([least(K), least(sum(layers)), closest], rel=1e-8)
    assert report.finding == "holds"


def test_full_rank_and_its_lower_bounds():
    """DU-P3.1, DU-L3.23, DU-L3.24, DU-L3.31: bounds below what they bound; Hermite terms on unit
    rows only; a polynomial is outside."""
    unit = X / np.linalg.norm(X, axis=1)[:, None]
    numbers = dict(facts.full_rank(instance(unit, depth=2)).numbers)
    K = deep_gram(unit, "fully_connected", 2, "tanh")
    assert numbers["λ_min(K^(H)), H = 2"] == pytest.approx(least(K), rel=1e-8)
    schur = numbers["at least, by Schur from the layer below"]
    assert schur == pytest.approx(gram_bounds.schur_limit(unit, 2, "tanh"))
    assert 0.0 < schur <= least(K)
    assert numbers["n"] == numbers["rank of the (n−1)-fold tensor powers"] == 4.0
    hermite = numbers["λ_min(c_σ E[σσᵀ]) at least, by 12 Hermite terms"]
    moment = least(deep_features(unit, "fully_connected", 2, "tanh")[1].S)
    assert 0.95 * moment <= hermite <= moment
    plain = facts.full_rank(instance(depth=2))
    assert "λ_min(c_σ E[σσᵀ]) at least, by 12 Hermite terms" not in dict(plain.numbers)
    assert plain.finding == "holds"
    outside = facts.full_rank(instance(activation="quadratic"))
    assert (outside.is_in_scope, outside.numbers) == (False, ())


def test_the_tensor_powers_are_one_less_than_the_rows():
    """DU-L3.31: n rows in the plane whose (n-2)-fold powers are dependent: the angles of a regular
    polygon, where only the (n-1)-fold ones have rank n."""
    angles = np.pi * np.arange(4) / 4
    plane = np.column_stack([np.cos(angles), np.sin(angles)])
    assert gram_bounds.tensor_power_rank(plane, 2) == 3
    numbers = dict(facts.full_rank(instance(plane, depth=2)).numbers)
    assert numbers["rank of the (n−1)-fold tensor powers"] == 4.0


@pytest.mark.parametrize("depth", [1, 3])
def test_the_bound_that_does_not_depend_on_the_depth(depth):
    """DU-P3.2: (c_res/H)^2 kappa_1 times the least slope moment, below lambda_min."""
    H = max(depth, 2)
    numbers = dict(facts.depth_independent(instance(depth=depth)).numbers)
    S, b = deep_features(X, "resnet", H, "tanh", c_res=0.5)[1]
    K = deep_gram(X, "resnet", H, "tanh", c_res=0.5)
    found = gram_bounds.depth_independent_limit(X, H, "tanh", c_res=0.5)
    kappa = least(S - np.outer(b, b))
    assert numbers["κ₁ = λ_min(K^(1) − b b^T)"] == pytest.approx(kappa, rel=1e-8)
    bound = numbers[f"λ_min(K^(H)) at least, H = {H}"]
    assert bound == pytest.approx((0.5 / H) ** 2 * kappa * found.slope, rel=1e-8)
    assert numbers["λ_min(K^(H))"] == pytest.approx(least(K), rel=1e-8)
    assert 0.0 < bound <= least(K)


@pytest.mark.parametrize(("depth", "H"), [(2, 3), (3, 3), (5, 5)])
def test_the_product_of_the_amplifications(depth, H):
    """DU-T3.4: over layers 2..H-1, one at least."""
    numbers = dict(facts.amplification(instance(depth=depth)).numbers)
    for architecture, word in BOTH:
        factors = gram_bounds.error_amplification(X, architecture, H, "tanh", c_res=0.5)
        product = np.prod([layer.gram for layer in factors])
        key = f"product of the factors of layers 2..H−1, {word}, H = {H}"
        assert numbers[key] == pytest.approx(product, rel=1e-12)


def test_the_drawn_last_layer_against_its_limit():
    """DU-L3.22, DU-L3.2: the Gram matrix of the last layer's weights of the network of seed 0,
    by its Jacobian, and a quarter of lambda_0."""
    report = facts.first_layers(instance(depth=2))
    numbers, network = dict(report.numbers), drawn(2)
    size = network.weights[-1].size
    J = network.jacobian(X)[:, -size - network.head.size : -network.head.size]
    K = deep_gram(X, "fully_connected", 2, "tanh")
    total = np.linalg.norm(J @ J.T - K, 2)
    assert numbers["total"] == pytest.approx(total, rel=1e-9)
    assert numbers["allowed, λ₀/4"] == pytest.approx(least(K) / 4, rel=1e-8)
    parts = numbers["its own sampling error"], numbers["inherited from the layers below"]
    assert max(parts) > 0.1 * total
    assert total <= sum(parts)
    assert report.finding == ("holds" if total <= least(K) / 4 else "fails") == "fails"


def test_the_constants_of_the_proofs_at_the_drawn_networks():
    """DU-L3.1 to L3.8: sizes of the network of seed 0, and R, R', eta for its residual."""
    numbers = dict(facts.proof_constants(instance(depth=2)).numbers)
    network, lam = drawn(2), least(deep_gram(X, "fully_connected", 2, "tanh"))
    start = constants.measured_start(network, X)
    residual = constants.measured_start(drawn(2, "resnet"), X)
    r = math.dist(network.predict(X), Y)
    options = {"residual": r, "lambda0": lam}
    moved = constants.predicted_movement("tanh", start, 2, 4, width=WIDTH, **options)
    assert list(numbers.values()) == pytest.approx(
        [
            constants.width_for_norms(4, 2, "tanh", delta=0.1),
            start.c_x0,
            start.c_w0,
            math.exp(-WIDTH / 2),
            residual.c_x0,
            constants.feature_limit("tanh", residual.c_w0, c_res=0.5),
            constants.allowed_movement("tanh", start, 2, 4, lambda0=lam),
            moved.upper,
            constants.proof_step_size("tanh", start, 2, 4, **options),
        ],
        rel=1e-7,
    )
    report = facts.proof_constants(instance(depth=2))
    assert [h.finding.value for h in report.hypotheses if h.statement == "R' < R"] == ["fails"]
    kinked = facts.proof_constants(instance(activation="relu"))
    assert (kinked.is_in_scope, kinked.numbers) == (False, ())


def test_without_a_gap_the_proof_has_no_radius_and_no_step():
    """DU-L3.4: a zero row and tanh, for which lambda_0 is 0 exactly."""
    rows = np.array([[0.0, 0.0], [1.0, 0.5]])
    report = facts.proof_constants(instance(rows, Y[:2], depth=2))
    assert np.linalg.eigvalsh(deep_gram(rows, "fully_connected", 2, "tanh"))[0] == 0.0
    assert "R, DU-L3.4" not in dict(report.numbers)
    assert [h.finding.value for h in report.hypotheses if h.statement == "R' < R"] == ["fails"]


@pytest.mark.parametrize(("off", "finding"), [(1e-4, "holds"), (10.0, "fails")])
def test_descent_from_the_drawn_network(off, finding):
    """DU-CERT-S: extreme singular values of the Jacobian; near the labels a step and a rate, which
    one step of descent keeps."""
    network = drawn(2)
    labels = network.predict(X) + off * np.array([1.0, -1.0, 1.0, 1.0])
    report = facts.descent_at_start(instance(labels=labels, depth=2))
    singular = np.linalg.svd(network.jacobian(X), compute_uv=False)
    numbers = dict(report.numbers)
    assert report.finding == finding
    assert numbers["‖r‖"] == pytest.approx(2 * off, rel=1e-9)
    assert numbers["σ_min(J), all layers"] == pytest.approx(singular[-1], rel=1e-8)
    assert numbers["‖J‖"] == pytest.approx(singular[0], rel=1e-9)
    found = estimate_deep_descent(network, X, labels)
    assert numbers["Lipschitz constant Λ of J nearby"] == pytest.approx(found.lipschitz)
    if finding == "fails":
        assert (report.step_size, report.rate) == (None, None)
        return
    gradient = network.jacobian(X).T @ (network.predict(X) - labels)
    moved = network.with_parameters(network.parameters - report.step_size * gradient)
    factor = np.linalg.norm(moved.predict(X) - labels) / (2 * off)
    assert factor <= report.rate < 1.0
    assert report.rate == pytest.approx(1.0 - (singular[-1] / singular[0]) ** 2, abs=0.02)


def test_sizes_up_to_which_deep_quantities_are_computed():
    """1,000 samples and width 2,000 are the last; kinks and polynomials are outside."""

    def scope(n=1000, width=2000, activation="tanh"):
        m = SimpleNamespace(n=n, activation=gm.get_activation(activation))
        return facts.computable(SimpleNamespace(m=m, width=width)).finding.value

    assert scope() == "holds"
    for outside in (
        {"n": 1001},
        {"width": 2001},
        {"activation": "relu"},
        {"activation": "quadratic"},
    ):
        assert scope(**outside) == "fails"
