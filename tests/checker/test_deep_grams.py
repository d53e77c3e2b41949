"""The Gram matrix of a deep network by both roads (pairs of pixels, Jacobian), in strips of any
size, and the cost that is charged for it.
"""

from dataclasses import replace

import numpy as np
import pytest
from tests.checker.deep_cases import Deep, build, claim, gauss_newton, line_windows, random_deep

from globalmin_check import Verdict, limits
from globalmin_check.balls import precision
from globalmin_check.certificate import read_certificate
from globalmin_check.claims import deep_descent
from globalmin_check.claims.deep_network import Layers
from globalmin_check.claims.deep_passes import Passes
from globalmin_check.engine import check_bytes
from globalmin_check.primitives import Rows

ROADS = {"pairs": True, "jacobian": False}


def passes_of(net: Deep) -> Passes:
    problem = read_certificate(build(net, [claim(net, t=1e-3)]), None)[0]
    assert problem.sizes.deep is not None
    return Passes(problem, problem.sizes.deep)


def grid_windows(side: int) -> np.ndarray:
    """The 3 x 3 windows of a square image, -1 outside."""
    steps = [(a, b) for a in (-1, 0, 1) for b in (-1, 0, 1)]
    return np.array(
        [
            [
                (i + a) * side + j + b if 0 <= i + a < side and 0 <= j + b < side else -1
                for a, b in steps
            ]
            for i in range(side)
            for j in range(side)
        ]
    )


def convolution(windows: np.ndarray, *, channels: int = 2, m: int = 5, n: int = 4) -> Deep:
    """Two layers, the second residual, with the windows given."""
    rng = np.random.default_rng(5)
    p, q = windows.shape
    weights = [rng.standard_normal((m, q * c)) for c in (channels, m)]
    X = rng.standard_normal((n, channels * p))
    scales, head = [0.7 / np.sqrt(m), 0.3 / np.sqrt(m)], rng.standard_normal(m * p)
    labels = rng.standard_normal(n)
    return Deep(X, labels, weights, head, scales, [False, True], "tanh", windows)


WINDOWS = {
    "a line": line_windows(4),
    "two pixels": line_windows(2),
    "an image": grid_windows(3),
    "pixels in any order, one of them never": np.array(
        [[2, 2, -1], [0, 2, 1], [-1, -1, 0], [0] * 3]
    ),
}


def assert_encloses(G: Rows, J: np.ndarray) -> None:
    expected = J @ J.T
    for i, j in zip(*np.tril_indices(len(J)), strict=True):
        assert float(G[i][j]) == pytest.approx(expected[i, j], rel=1e-12, abs=1e-12)
        assert float(G[i][j].rad()) < 1e-30


@pytest.mark.parametrize("name", list(WINDOWS))
@pytest.mark.parametrize("road", list(ROADS))
def test_both_roads_give_the_gram_matrix_of_the_jacobian(
    name: str, road: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The Jacobian of plain numpy loops, to double precision; enclosed to 30 digits."""
    net = convolution(WINDOWS[name])
    monkeypatch.setattr(Layers, "prefers_pairs", lambda layers, h: ROADS[road])
    with precision(128):
        assert_encloses(passes_of(net).gram(), net.jacobian())


@pytest.mark.parametrize("road", list(ROADS))
@pytest.mark.parametrize("balls", [1, 25, 60, 10**6])
def test_strips_of_any_size_enclose_the_same_numbers(
    balls: int, road: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sample, one column at a time, pieces that do not divide, and all at once."""
    net = random_deep(3, kind="conv")
    monkeypatch.setattr(limits, "STRIP_BALLS", balls)
    monkeypatch.setattr(Layers, "prefers_pairs", lambda layers, h: ROADS[road])
    with precision(128):
        passes = passes_of(net)
        assert_encloses(passes.gram(), net.jacobian())
        assert np.allclose([float(x) for x in passes.residual()], net.outputs() - net.y)


def test_the_cheaper_road_is_taken() -> None:
    """Few pixels and wide layers go by pairs, images by the Jacobian."""
    wide = replace(random_deep(1, m=12), windows=None)
    for net, expected in (
        (wide, True),
        (convolution(line_windows(2), m=40, channels=8), True),
        (convolution(grid_windows(3)), False),
    ):
        layers = passes_of(net).layers
        m, columns = layers.weights[-1].shape
        pairs = layers.pixels**2 * (m + columns)
        assert layers.prefers_pairs(len(layers.weights) - 1) is expected
        assert expected == (pairs <= m * columns)


def test_wide_layers_with_few_pixels_are_accepted_by_pairs() -> None:
    net = gauss_newton(convolution(line_windows(2), m=40, channels=8), 6)
    result = check_bytes(build(net, [claim(net)]))
    assert result.verdict is Verdict.ACCEPTED, result.reason


def test_images_cost_what_the_jacobian_costs() -> None:
    """200 images of 8 x 8 pixels, width 64, three layers: within the budget of work and memory (by
    pairs of pixels 5e10 balls were asked for).
    """
    from types import SimpleNamespace

    shapes = [(64, 9), (64, 576), (64, 576)]
    weights = tuple(SimpleNamespace(shape=shape) for shape in shapes)
    windows = tuple(map(tuple, grid_windows(8).tolist()))
    layers = Layers((), (), 64, windows, weights)  # type: ignore[arg-type]
    content = SimpleNamespace(layers=layers, C_b=None)
    sizes = SimpleNamespace(n=200)
    products, balls = deep_descent.work(content, sizes)  # type: ignore[arg-type]
    assert 3e9 < products < 2e10
    assert balls * limits.BYTES_PER_BALL < limits.BALL_BYTES
