"""Deep Gram recursions (DU-D3.1, DU-D3.2, DU-D3.3, DU-D3.4, DU-X3.1): golden values, loops, special
cases, refusals.
"""

import numpy as np
import pytest

from globalmin.activations import get_activation
from globalmin.activations.moments import normalizer
from globalmin.deep.gram import (
    deep_features,
    deep_gram,
    deep_ntk,
)
from globalmin.errors import DataError, MemoryRefused

X = np.array([[1.0, 0.0], [np.cos(0.8), np.sin(0.8)], [1.5 * np.cos(2.0), 1.5 * np.sin(2.0)]])
SIGNALS = np.array([[[0.6, 0.0, 0.8]], [[0.0, 1.0, 0.0]]])
UPPER = np.triu_indices(3)
NODES = np.linspace(-8.6, 8.6, 173)
WEIGHTS = np.exp(-(NODES**2) / 2) / np.exp(-(NODES**2) / 2).sum()


def _pair(f, g, a, b, c):
    """E f(u) g(v) by the two-dimensional trapezoid rule, good to 1e-12 at variances below 20; zero
    variances allowed.
    """
    rho = c / np.sqrt(a * b) if a * b > 0 else 0.0
    z, w = np.meshgrid(NODES, NODES, indexing="ij")
    v = np.sqrt(b) * (rho * z + np.sqrt(max(1 - rho**2, 0.0)) * w)
    return float(WEIGHTS @ (f(np.sqrt(a) * z) * g(v)) @ WEIGHTS)


def test_fully_connected_golden_values():
    """DU-D3.1, corrected: softplus, H = 3, ten digits."""
    stages = deep_features(X, "fully_connected", 3)
    assert stages[1].S[UPPER] == pytest.approx(
        [1, 0.9056305006, 0.6477319173, 1, 0.9627538612, 1.6270215081], abs=6e-11
    )
    assert stages[2].S[UPPER] == pytest.approx(
        [1, 0.9701632022, 0.9442481084, 1, 1.0406224977, 1.3119194767], abs=6e-11
    )
    K = deep_gram(X, "fully_connected", 3)
    expected = [0.3184589837, 0.3075505741, 0.2962604622, 0.3184589837, 0.3311381186, 0.4306349476]
    assert K[UPPER] == pytest.approx(expected, abs=6e-11)
    assert np.linalg.eigvalsh(K)[0] == pytest.approx(0.0052906932, abs=6e-11)


def test_residual_golden_values():
    """DU-D3.2, corrected: softplus, H = 4, c_res = 0.5, ten digits."""
    stages = deep_features(X, "resnet", 4)
    assert stages[1].b == pytest.approx([0.8398063306, 0.8398063306, 0.9637807405], abs=6e-11)
    assert stages[3].b == pytest.approx([1.0436605825, 1.0436605825, 1.1834624501], abs=6e-11)
    expected = [1.3932658849, 1.2980272416, 1.0796636847, 1.3932658849, 1.3974960592, 2.1140197924]
    assert stages[3].S[UPPER] == pytest.approx(expected, abs=6e-11)
    K = deep_gram(X, "resnet", 4)
    expected = [0.0066297653, 0.0060974413, 0.0048632085, 0.0066297653, 0.0065498668, 0.0105927450]
    assert K[UPPER] == pytest.approx(expected, abs=6e-11)
    assert np.linalg.eigvalsh(K)[0] == pytest.approx(2.5433330527e-4, rel=1e-9)


def test_convolutional_golden_values():
    """DU-D3.3, corrected: softplus, one channel, three pixels, patches of three, H = 3, ten
    digits.
    """
    stages = deep_features(SIGNALS, "convolutional_resnet", 3)
    assert stages[1].b == pytest.approx(
        [0.7671556904, 0.8398063306, 0.7999328683] + [0.8398063306] * 3, abs=6e-11
    )
    first = [0.6442622053, 0.8164356618, 0.6442622053, 0.9372751962, 0.7052746729, 0.8764622978]
    assert stages[1].S[:3, 3:].ravel() == pytest.approx(
        [*first, 0.6717886869, 0.9046969875, 0.6717886869], abs=6e-11
    )
    second = [0.9141674104, 1.1022199135, 0.9085950584, 1.2343755646, 1.0180974511, 1.1722931008]
    assert stages[2].S[:3, 3:].ravel() == pytest.approx(
        [*second, 0.9433273818, 1.1992263585, 0.9489074468], abs=6e-11
    )
    assert deep_gram(SIGNALS, "convolutional_resnet", 3)[np.triu_indices(2)] == pytest.approx(
        [0.0738429746, 0.0593846931, 0.0857346153], abs=6e-11
    )


@pytest.mark.parametrize("activation", ["softplus", "sigmoid", "swish"])
def test_residual_recursion_agrees_with_loops_over_pairs_and_quadrature(activation):
    """DU-D3.2 and DU-D3.4: K^(h)_ij = K + t(b_i E sigma(v) + b_j E sigma(u)) + t^2 E sigma sigma,
    entry by entry.
    """
    phi, H, t = get_activation(activation), 3, 0.9 / 3
    K0, c = X @ X.T, normalizer(activation)
    one = np.ones_like

    def step(K, f, g):
        return np.array(
            [[_pair(f, g, K[i, i], K[j, j], K[i, j]) for j in range(3)] for i in range(3)]
        )

    K1, b1 = c * step(K0, phi, phi), np.sqrt(c) * np.diag(step(K0, phi, one))
    mu = np.diag(step(K1, phi, one))
    K2 = K1 + t * (np.outer(b1, mu) + np.outer(mu, b1)) + t**2 * step(K1, phi, phi)
    K3 = t**2 * K2 * step(K2, phi.derivative, phi.derivative)
    stages = deep_features(X, "resnet", H, activation, c_res=0.9)
    np.testing.assert_allclose(stages[2].S, K2, rtol=1e-11)
    np.testing.assert_allclose(deep_gram(X, "resnet", H, activation, c_res=0.9), K3, rtol=1e-11)


def test_convolutional_recursion_agrees_with_loops_on_an_image():
    """DU-D3.3 on 3 x 3 images: every pixel pair by its own sum over the window and its own
    quadrature.
    """
    images = np.random.default_rng(3).standard_normal((2, 1, 3, 3)) * 0.6
    phi, t, c = get_activation("softplus"), 0.5 / 2, normalizer("softplus")
    x = images[:, 0]

    def patch(i, row, k):
        return np.array(
            [
                x[i, row + a, k + b] if 0 <= row + a < 3 and 0 <= k + b < 3 else 0.0
                for a in (-1, 0, 1)
                for b in (-1, 0, 1)
            ]
        )

    keys = [(i, row, k) for i in range(2) for row in range(3) for k in range(3)]
    P = np.array([[patch(*one) @ patch(*two) for two in keys] for one in keys])
    S = c * np.array(
        [[_pair(phi, phi, P[i, i], P[j, j], P[i, j]) for j in range(18)] for i in range(18)]
    )
    at = {key: place for place, key in enumerate(keys)}

    def windowed(one, two):
        moves = [
            tuple((i, row + a, k + b) for i, row, k in (one, two))
            for a in (-1, 0, 1)
            for b in (-1, 0, 1)
        ]
        return sum(S[at[u], at[v]] for u, v in moves if u in at and v in at)

    P1 = np.array([[windowed(one, two) for two in keys] for one in keys])
    K = np.zeros((2, 2))
    for i in range(2):
        for j in range(2):
            for pixel in range(9):
                u, v = 9 * i + pixel, 9 * j + pixel
                K[i, j] += (
                    t**2
                    * P1[u, v]
                    * _pair(phi.derivative, phi.derivative, P1[u, u], P1[v, v], P1[u, v])
                )
    np.testing.assert_allclose(deep_gram(images, "convolutional_resnet", 2), K, rtol=1e-10)


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_relu_on_unit_rows_is_the_arc_cosine_recursion(depth):
    """DU-D3.1: K^(h) = (sin + (pi - theta) cos)/pi, then K^(H) = K^(H-1)(pi - theta)/pi; depth 1 is
    twice H-infinity (E9).
    """
    U = X / np.linalg.norm(X, axis=1)[:, None]
    K = U @ U.T
    np.fill_diagonal(K, 1.0)
    for _ in range(depth - 1):
        theta = np.arccos(np.clip(K, -1, 1))
        np.fill_diagonal(theta, 0.0)
        K = (np.sin(theta) + (np.pi - theta) * np.cos(theta)) / np.pi
    theta = np.arccos(np.clip(K, -1, 1))
    np.fill_diagonal(theta, 0.0)
    np.testing.assert_allclose(
        deep_gram(U, "fully_connected", depth, "relu"), K * (np.pi - theta) / np.pi, rtol=1e-12
    )


def test_identity_layers_have_the_known_powers():
    """DU-D3.1 and DU-D3.2 for sigma = identity: K^(h) = (1 + t^2)^{h-1} K^(0), last layer t^2 (1 +
    t^2)^{H-2} K^(0).
    """
    K, H, t = X @ X.T, 6, 0.5 / 6
    np.testing.assert_allclose(deep_gram(X, "fully_connected", H, "linear"), K, rtol=1e-13)
    np.testing.assert_allclose(
        deep_gram(X, "resnet", H, "linear"), t**2 * (1 + t**2) ** (H - 2) * K, rtol=1e-13
    )
    np.testing.assert_allclose(
        deep_features(X, "resnet", H, "linear")[H].S, (1 + t**2) ** (H - 1) * K, rtol=1e-13
    )


@pytest.mark.parametrize("architecture", ["fully_connected", "resnet"])
def test_all_layer_kernel_is_the_printed_product(architecture):
    """DU-X3.1: G^(h) = K^(h-1) o product of the slopes above, in the plain form for vectors."""
    from globalmin.activations.dual import dual_matrix

    H, c, t = 4, normalizer("softplus"), 0.5 / 4
    K = [stage.S for stage in deep_features(X, architecture, H)]
    slopes = [dual_matrix("softplus", K[h], 1) for h in range(H)]
    kernel = deep_ntk(X, architecture, H)
    assert len(kernel.layers) == H + 1
    for h in range(1, H + 1):
        if architecture == "fully_connected":
            expected = K[h - 1] * np.prod([c * slopes[k] for k in range(h - 1, H)], axis=0)
        else:
            beta = np.prod([1 + t**2 * slopes[k] for k in range(h, H)], axis=0) if h < H else 1.0
            expected = (c if h == 1 else t**2) * K[h - 1] * beta * slopes[h - 1]
        np.testing.assert_allclose(kernel.layers[h - 1], expected, rtol=1e-12)
    np.testing.assert_allclose(kernel.layers[H], K[H], rtol=1e-13)
    np.testing.assert_allclose(kernel.layers[H - 1], deep_gram(X, architecture, H), rtol=1e-13)
    np.testing.assert_allclose(kernel.total, sum(kernel.layers), rtol=1e-15)


def test_the_sum_of_layers_is_far_better_conditioned_for_residual_networks():
    """DU-X3.1: lambda_min of the sum is many times that of the last layer."""
    kernel = deep_ntk(X, "resnet", 4)
    assert np.linalg.eigvalsh(kernel.total)[0] > 20 * np.linalg.eigvalsh(kernel.layers[3])[0]


def test_one_pixel_with_one_pixel_windows_is_the_residual_network():
    """DU-D3.3 contains DU-D3.2, layer by layer."""
    for ours, theirs in zip(
        deep_ntk(X[:, :, None], "convolutional_resnet", 3, patch_size=1).layers,
        deep_ntk(X, "resnet", 3).layers,
        strict=True,
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-13)


def test_last_layer_of_the_convolutional_kernel_is_its_gram():
    """DU-X3.1 extended to convolutions agrees with DU-D3.3 at the last weight matrix."""
    signals = np.random.default_rng(0).standard_normal((3, 2, 4))
    np.testing.assert_allclose(
        deep_ntk(signals, "convolutional_resnet", 3).layers[2],
        deep_gram(signals, "convolutional_resnet", 3),
        rtol=1e-13,
    )


@pytest.mark.parametrize("architecture", ["fully_connected", "resnet"])
def test_zero_and_repeated_rows_give_a_singular_or_finite_matrix_never_nan(architecture):
    """DU-D3.1, DU-D3.2: rows 0 and 1 equal, row 2 zero, row 3 antiparallel to row 0."""
    rows = np.array([[1.0, 2.0], [1.0, 2.0], [0.0, 0.0], [-1.0, -2.0], [2.0, 0.5]])
    for activation in ("softplus", "tanh", "relu"):
        K = deep_gram(rows, architecture, 3, activation)
        assert np.isfinite(K).all()
        np.testing.assert_allclose(K[0], K[1], rtol=1e-13)
        spectrum = np.linalg.eigvalsh(K)
        assert abs(spectrum[0]) < 1e-13 * spectrum[-1]
        if activation != "softplus":
            assert not K[2].any()


def test_empty_patches_are_served():
    """DU-D3.3 with images that are zero in a corner: variances of zero."""
    images = np.zeros((2, 1, 5))
    images[0, 0, 0], images[1, 0, 4] = 1.0, 2.0
    for activation in ("softplus", "tanh"):
        assert np.isfinite(deep_ntk(images, "convolutional_resnet", 3, activation).total).all()


@pytest.mark.parametrize(
    ("inputs", "options", "message"),
    [
        (X, {"depth": 1, "architecture": "resnet"}, "depth=1 leaves no residual layer"),
        (X, {"depth": 0, "architecture": "fully_connected"}, "depth=0"),
        (X, {"architecture": "dense"}, "architecture='dense'"),
        (X, {"architecture": "convolutional_resnet"}, "a convolution needs"),
        (SIGNALS, {}, "flatten"),
        (SIGNALS, {"architecture": "convolutional_resnet", "patch_size": 2}, "even"),
        (
            SIGNALS,
            {"architecture": "convolutional_resnet", "patch_size": 5},
            "larger than the signal",
        ),
        (X, {"c_res": 0.0, "architecture": "resnet"}, "c_res=0.0"),
        (X * np.nan, {}, "NaN"),
        (X[0], {}, "one per row"),
    ],
    ids=str,
)
def test_unusable_requests_are_refused_with_the_remedy(inputs, options, message):
    for function in (deep_gram, deep_ntk, deep_features):
        with pytest.raises(DataError, match=message):
            function(inputs, **options)


def test_a_recursion_that_cannot_fit_is_refused_first():
    images = np.ones((2000, 1, 32, 32))
    with pytest.raises(MemoryRefused, match="deep recursion"):
        deep_gram(images, "convolutional_resnet", 3)
