"""The lemmas of DU chapter 3 pinned: each formula a second time from the spec page with round
numbers, and at instances that attain it or come near.
"""

import math

import numpy as np
import pytest

from globalmin.deep import constants
from globalmin.deep.constants import Start
from globalmin.deep.gram import deep_features, framework
from globalmin.deep.gram_bounds import (
    depth_independent_limit,
    error_amplification,
    moment_lipschitz,
)
from globalmin.deep.network import DeepNetwork
from globalmin.deep.width_orders import deep_width_order, residual_width_order

C = 1.08548650298835  # c_sigma of softplus (DU-DA6); L = 1, beta = 1/4, sigma(0) = log 2
START = Start(c_x0=3.0, c_w0=2.5, a_20=1.25, a_40=1.5)


def g(ratio, count):
    return sum(ratio**k for k in range(count))


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_fully_connected_lemmas_as_written(depth):
    """DU-L3.1, DU-L3.3, DU-L3.4, DU-L3.5, DU-L3.6 with softplus, from the spec page."""
    n, lam, r, m, R = 7, 0.02, 5.0, 900, 0.3
    ln2, root = math.log(2), math.sqrt(2 / math.pi)
    C_1 = C * (2 * ln2 * root + 2.5)
    C_2 = C**2 * (ln2**4 + 8 * ln2**3 * root + 24 * ln2**2 + 64 * ln2 * root + 48)
    assert constants.width_for_norms(n, depth, "softplus", delta=0.05) == pytest.approx(
        4 * n * depth * g(C_1, depth) ** 2 * C_2 / 0.05, rel=1e-12
    )
    c_x = 2 * math.sqrt(C) * 2.5
    assert constants.feature_movement("softplus", START, depth, R) == pytest.approx(
        math.sqrt(C) * 3 * g(c_x, depth) * R, rel=1e-12
    )
    bracket = (
        3 * C**1.5 * 1.25**2 * 3**2 * g(c_x, depth)
        + 2 * 0.25 * C * 1.5**2 * 3**3 * g(c_x, depth)
        + 12 * 3**2 * C * 1.25
    )
    assert constants.gram_movement("softplus", START, depth, n, R=R) == pytest.approx(
        bracket * n * R, rel=1e-12
    )
    allowed = constants.allowed_movement("softplus", START, depth, n, lambda0=lam)
    assert allowed == pytest.approx(lam / (4 * n * bracket), rel=1e-12)
    moved = constants.predicted_movement(
        "softplus", START, depth, n, width=m, residual=r, lambda0=lam
    )
    expected = 16 * 3 * 1.25 * c_x**depth * math.sqrt(n) * r / (lam * math.sqrt(m))
    assert (moved.first, moved.upper, moved.head) == pytest.approx((expected,) * 3, rel=1e-12)
    step = constants.proof_step_size("softplus", START, depth, n, residual=r, lambda0=lam)
    size = math.sqrt(C) * 3**4 * 1.25**3 * c_x ** (3 * depth) * g(2 * c_x, depth) * 0.25
    assert step == pytest.approx(lam / (2048 * n**1.5 * r * depth**2 * size), rel=1e-12)


@pytest.mark.parametrize("depth", [2, 5])
def test_residual_lemmas_as_written(depth):
    """DU-L3.8, DU-L3.10, DU-L3.11, DU-L3.12 with softplus and c_res = .4, errata E15 and E18."""
    n, lam, r, m, R, c = 7, 0.02, 5.0, 900, 0.3, 0.4
    ln2, grow = math.log(2), math.exp(2 * c * 2.5)
    c_x = (math.sqrt(C) + 3 / 2.5) * grow
    for layer in (1, depth):
        assert constants.feature_movement("softplus", START, layer, R, c_res=c) == pytest.approx(
            c_x * R, rel=1e-12
        )
    bracket = 3 * 3 * c_x * 1.25**2 + 2 * 0.25 * 9 * (2 * c_x * 2.5 + 3) * 1.5**2 + 12 * 9 * 1.25
    assert constants.gram_movement("softplus", START, depth, n, R=R, c_res=c) == pytest.approx(
        (c / depth) ** 2 * n * R * bracket, rel=1e-12
    )
    sizes = {"width": m, "residual": r, "lambda0": lam, "c_res": c}
    moved = constants.predicted_movement("softplus", START, depth, n, **sizes)
    factor = 8 * math.sqrt(n) * r / (lam * math.sqrt(m))
    assert moved.first == pytest.approx(math.sqrt(C) * 1.25 * grow * factor, rel=1e-12)
    assert moved.upper == pytest.approx(2 * c * 3 * 1.25 * grow * factor / depth, rel=1e-12)
    assert moved.head == pytest.approx(3 * factor, rel=1e-12)
    assert constants.feature_limit("softplus", 2.5, c_res=c) == pytest.approx(
        math.exp(c * 2.5) * (2 + c * ln2), rel=1e-12
    )
    conv = constants.feature_limit("softplus", 2.5, c_res=c, pixels=16, window=9)
    first = math.sqrt(C) * (ln2 * 4 + 3 * 2.5)
    assert conv == pytest.approx(math.exp(3 * c * 2.5) * (first + c * ln2 * 4), rel=1e-12)


def test_the_width_of_the_lemmas_closes_the_proof():
    """DU-T3.1, DU-T3.2: at this width R' = R, at one per cent less it is not."""
    for c_res in (None, 0.5):
        options = {"residual": 4.0, "lambda0": 0.3, "c_res": c_res}
        width = constants.proof_width("tanh", 3, 5, **options)
        start = constants.typical_start("tanh", c_res=c_res)
        R = constants.allowed_movement("tanh", start, 3, 5, lambda0=0.3, c_res=c_res)
        for factor, closes in ((1.0001, True), (0.99, False)):
            moved = constants.predicted_movement(
                "tanh", start, 3, 5, width=factor * width, **options
            )
            assert (max(moved.first, moved.upper, moved.head) <= R) is closes
    assert constants.proof_width("tanh", 3, 5, residual=4.0, lambda0=0.0) == math.inf


def test_the_typical_start_is_typical():
    """The sizes assumed there are met by a drawn network of width 600, and not by far missed:
    ||W|| near 2 sqrt(m), ||a|| near sqrt(m), sum a^4 near 3 m (four standard deviations)."""
    X = np.random.default_rng(0).standard_normal((4, 6))
    X /= np.linalg.norm(X, axis=1)[:, None]
    for architecture, c_res in (("fully_connected", None), ("resnet", 0.5)):
        network = DeepNetwork.initialize(X, 600, 3, architecture, "tanh", seed=0)
        seen = constants.measured_start(network, X)
        said = constants.typical_start("tanh", c_res=c_res)
        assert seen.c_x0 <= said.c_x0
        assert seen.c_w0 == pytest.approx(2.0, abs=0.1)
        assert said.c_w0 == 3.0
        assert seen.a_20**2 == pytest.approx(1.0, abs=4 * math.sqrt(2 / 600))
        assert said.a_20 == 1.5
        assert seen.a_40**4 == pytest.approx(3.0, abs=4 * math.sqrt(96 / 600))
        assert said.a_40**4 == pytest.approx(4.0)


def test_scalar_linear_layers_attain_the_feature_movement():
    """DU-L3.3 is an equality for W = sqrt(m) c_w0 e e^T moved by R = c_w0 = 1 along itself, at
    every layer: 2^h - 1 = g_2(h)."""
    H = 4
    network = DeepNetwork((np.ones((1, 1)),) * H, np.ones(1), (1.0,) * H, "linear")
    start = constants.measured_start(network, [[1.0]])
    assert (start.c_x0, start.c_w0, start.a_20, start.a_40) == (1.0, 1.0, 1.0, 1.0)
    twice = network.with_parameters(2 * network.parameters)
    pairs = zip(network.forward([[1.0]]).features, twice.forward([[1.0]]).features, strict=True)
    for h, (old, new) in enumerate(pairs):
        moved = float(abs(new - old).max())
        assert constants.feature_movement("linear", start, h, 1.0) == pytest.approx(moved)


def test_scalar_layers_come_near_the_gram_movement():
    """DU-L3.4 at H = 1: G = a^2 x^2 sigma'(w x)^2 with linear sigma moves by 2 a R + R^2; the bound
    [3 + 12] R is above it by at most 5 at R = 1 (its terms with beta vanish)."""
    network = DeepNetwork((np.ones((1, 1)),), np.ones(1), (1.0,), "linear")
    start = constants.measured_start(network, [[1.0]])
    moved = network.with_parameters(2 * network.parameters)
    G, new = (float(net.layer_grams([[1.0]])[-2][0, 0]) for net in (network, moved))
    assert (G, new) == (1.0, 4.0)
    bound = constants.gram_movement("linear", start, 1, 1)
    assert bound == pytest.approx(15.0)
    assert new - G <= bound <= 5 * (new - G)


def test_one_descent_step_near_the_predicted_movement():
    """DU-L3.5: the step of a scalar linear network, eta |r| a x = eta |r|, against eta Q' with
    Q' = 4 c_x0 a_20 c_x^H sqrt(n)|r| = 8 |r|, which R' = 4 Q'/lambda_0 sums up."""
    start = Start(1.0, 1.0, 1.0, 1.0)
    bound = constants.predicted_movement(
        "linear", start, 1, 1, width=1, residual=1.0, lambda0=1.0
    ).first
    assert bound == pytest.approx(4 * 8.0)


def test_the_tail_of_the_spectral_norm():
    """DU-L3.27: exp(-(c - sqrt(q) - 1)^2 m/2) as written, and the edge for one by one matrices,
    where P(|z| > c) is known."""
    assert constants.spectral_tail(40, 2.5) == pytest.approx(math.exp(-0.25 * 20))
    assert constants.spectral_tail(40, 4.5, window=4) == pytest.approx(math.exp(-(1.5**2) * 20))
    for c in (2.5, 4.0, 6.0):
        assert math.erfc(c / math.sqrt(2)) <= constants.spectral_tail(1, c)
    # the exponent is sharp: no other factor than 1/2 is right for all c (ratio of logarithms -> 1)
    c = 36.0
    assert math.log(constants.spectral_tail(1, c)) / math.log(
        math.erfc(c / math.sqrt(2))
    ) == pytest.approx((c - 2) ** 2 / c**2, rel=0.01)


def test_the_printed_orders_term_by_term():
    """DU-T3.1, DU-T3.2, DU-T3.3: each term of the maximum where it is the largest."""
    assert deep_width_order(10, 3, 0.5) == pytest.approx(10**4 / 0.5**4)
    assert deep_width_order(10, 3, 1e3, 1e-5) == pytest.approx(10 / 1e-5)
    assert deep_width_order(10, 3, 5.45, 0.9) == pytest.approx(100 * math.log(30 / 0.9) / 5.45**2)
    assert residual_width_order(10, 2, 1e-3) == pytest.approx(10**4 / (1e-12 * 16))
    assert residual_width_order(10, 50, 1.0, 0.5) == pytest.approx(100 * math.log(1000))
    assert residual_width_order(10, 50, 1e-2, 0.5, pixels=4) == pytest.approx(10**4 / 1e-8 / 2500)


def test_the_moment_constants_are_attained():
    """DU-DA5: F of linear sigma is the covariance, A = L^2 = 1 and B = 0; with softplus B is
    (1/8)(log 2 + sqrt(2 v/pi))."""
    assert moment_lipschitz("linear", 3.0) == (1.0, 0.0)
    assert moment_lipschitz("softplus", 3.0) == pytest.approx(
        (1.0, 0.125 * (math.log(2) + math.sqrt(6 / math.pi)))
    )


def test_the_depth_independent_bound_uses_the_diagonal_of_the_recursion():
    """DU-P3.2: the variances that the scalar recursion reaches are those of the n x n one, for rows
    of different norms and a sigma that is not odd; the slope moment by quadrature."""
    X = np.random.default_rng(2).standard_normal((4, 3)) * [[0.5], [1.0], [1.5], [2.0]]
    H, c_res = 6, 0.9
    found = depth_independent_limit(X, H, "softplus", c_res=c_res)
    variances = np.diag(deep_features(X, "resnet", H, "softplus", c_res=c_res)[H - 1].S)
    z, w = np.polynomial.hermite_e.hermegauss(120)
    slopes = 1 / (1 + np.exp(-np.sqrt(variances)[:, None] * z))
    moments = slopes**2 @ w / math.sqrt(2 * math.pi)
    assert found.slope == pytest.approx(moments.min(), rel=1e-10)
    K, b = deep_features(X, "resnet", H, "softplus", c_res=c_res)[1]
    assert found.kappa == pytest.approx(np.linalg.eigvalsh(K - np.outer(b, b))[0], rel=1e-8)
    assert found.bound == pytest.approx((c_res / H) ** 2 * found.kappa * found.slope, rel=1e-12)


@pytest.mark.parametrize("architecture", ["fully_connected", "resnet", "convolutional_resnet"])
def test_the_error_amplification_as_written(architecture):
    """DU-T3.4: factors of layers 2..H-1 from the spec page, E12, with softplus and windows of 3."""
    X, H, c_res = np.random.default_rng(3).standard_normal((3, 5)), 4, 0.9
    shaped = X.reshape(3, 1, 5) if architecture == "convolutional_resnet" else X
    options = {"c_res": c_res}
    found = error_amplification(shaped, architecture, H, "softplus", **options)
    stages = deep_features(shaped, architecture, H, "softplus", **options)
    geometry = framework(shaped, architecture, H, "softplus", **options).geometry
    q, root = (3 if architecture == "convolutional_resnet" else 1), math.sqrt(2 / math.pi)
    assert len(found) == H - 2
    for h, factor in enumerate(found, start=1):
        v = np.diag(geometry.patch_gram(stages[h].S)).max()
        size = math.log(2) + math.sqrt(v) * root
        skip = architecture != "fully_connected"
        s = c_res / H if skip else math.sqrt(C)
        gram = s**2 * q * (1 + 2 * 0.125 * size)
        mean = s * 0.125 * q
        if skip:
            gram += 1 + 2 * s * (size + np.abs(stages[h].b).max() * 0.125 * q)
            mean += 1
        assert (factor.gram, factor.mean) == pytest.approx((gram, mean), rel=1e-10)
