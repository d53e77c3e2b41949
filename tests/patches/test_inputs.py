"""Patches of signals and images, the input laws of chapter 6, and the filters of the image
experiments.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from globalmin.errors import DataError
from globalmin.patches.inputs import (
    angular_inputs,
    close_patches,
    extract_patches,
    filter_at_distance,
    gabor_filter,
    gaussian_patches,
    random_filter,
)


@pytest.mark.parametrize(("size", "stride"), [(1, 1), (3, 1), (3, 2), (4, 4), (10, 3)])
def test_signal_patches_are_the_loop(size: int, stride: int) -> None:
    """DU-M6: overlap wherever the stride is below the size; a remainder at the end is left out."""
    X = np.random.default_rng(0).standard_normal((4, 10))
    loop = [[x[i : i + size] for i in range(0, 10 - size + 1, stride)] for x in X]
    assert np.array_equal(extract_patches(X, size, stride), loop)


@pytest.mark.parametrize(("size", "stride"), [(2, 1), ((2, 3), (2, 1)), ((5, 4), 1)])
def test_image_patches_are_the_loop(
    size: int | tuple[int, int], stride: int | tuple[int, int]
) -> None:
    """DU-M6: rows first, from flat rows and from images alike."""
    X = np.random.default_rng(1).standard_normal((3, 5, 4))
    h, w = (size, size) if isinstance(size, int) else size
    a, b = (stride, stride) if isinstance(stride, int) else stride
    loop = [
        [x[i : i + h, j : j + w].ravel() for i in range(0, 6 - h, a) for j in range(0, 5 - w, b)]
        for x in X
    ]
    assert np.array_equal(extract_patches(X, size, stride), loop)
    assert np.array_equal(extract_patches(X.reshape(3, -1), size, stride, image_shape=(5, 4)), loop)


def test_whole_input_is_a_single_patch() -> None:
    X = np.arange(12.0).reshape(2, 6)
    assert np.array_equal(extract_patches(X)[:, 0], X)
    assert extract_patches(X, image_shape=(2, 3)).shape == (2, 1, 6)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"patch_size": 7}, "patch_size=7 is larger than the signal"),
        ({"patch_size": (2, 4), "image_shape": (2, 3)}, "larger than the image"),
        ({"patch_size": 2, "image_shape": (2, 2)}, "image_shape"),
        ({"patch_size": 0}, "patch_size=0"),
        ({"patch_size": 2, "stride": 0}, "stride=0"),
        ({"patch_size": (2, 2)}, "give a positive integer or 1"),
        ({"patch_size": 1.5}, "patch_size"),
    ],
)
def test_patches_that_cannot_be_cut_are_refused(options: dict, words: str) -> None:
    with pytest.raises(DataError, match=words):
        extract_patches(np.ones((2, 6)), **options)


def test_inputs_without_samples_are_refused() -> None:
    with pytest.raises(DataError, match="samples by rows"):
        extract_patches(np.ones((0, 6)), 2)


def test_rotation_invariant_patches_have_their_moments() -> None:
    """DU-M6: mean zero, covariance I and I/p, within five standard errors."""
    for draw, scale in ((gaussian_patches, 1.0),):
        Z = draw(20_000, 2, 4, 0).reshape(-1, 4)
        np.testing.assert_allclose(
            Z.T @ Z / len(Z), scale * np.eye(4), atol=5 * scale * math.sqrt(2 / len(Z))
        )


@pytest.mark.parametrize("sigma", [0.2, 1.0, math.inf])
def test_angular_inputs_have_the_law_of_the_experiment(sigma: float) -> None:
    """DU-F6.3a: unit length; half around w*, half around -w*; the angle to the nearer one is a
    truncated normal.
    """
    w_star = np.array([1.0, 2.0, -1.0, 0.5])
    Z = angular_inputs(20_000, w_star, sigma, 0)
    assert Z.shape == (20_000, 1, 4)
    cosine = Z[:, 0] @ w_star / np.linalg.norm(w_star)
    assert np.allclose(np.linalg.norm(Z, axis=2), 1.0)
    assert abs(np.mean(cosine > 0) - 0.5) < 4 * 0.5 / math.sqrt(20_000)
    near = np.arccos(np.abs(cosine).clip(max=1.0))
    grid = np.linspace(0, math.pi / 2, 4001)
    weight = np.exp(-0.5 * (grid / sigma) ** 2) if math.isfinite(sigma) else np.ones_like(grid)
    mean = float((grid * weight).sum() / weight.sum())
    assert near.mean() == pytest.approx(mean, abs=5 * near.std() / math.sqrt(20_000))


def test_close_patches_are_close_and_zero_spread_makes_them_equal() -> None:
    """DU-F6.3b: unit patches whose angle to their common center has the given spread."""
    w_star = random_filter(5, 1)
    Z = close_patches(4000, 3, w_star, 0.05, 2)
    assert Z.shape == (4000, 3, 5)
    assert np.allclose(np.linalg.norm(Z, axis=2), 1.0)
    between = np.linalg.norm(Z[:, 0] - Z[:, 1], axis=1)
    assert np.mean(between**2) == pytest.approx(2 * 0.05**2, rel=0.1)
    same = close_patches(10, 3, w_star, 0.0, 2)
    assert np.allclose(same[:, 0], same[:, 2])


def test_one_dimensional_inputs_are_signs() -> None:
    Z = angular_inputs(200, np.array([2.0]), 1.0, 0)
    assert set(Z.ravel()) == {1.0, -1.0}


def test_filters_have_length_one_and_starts_their_distance() -> None:
    """DU-F6.3cd, DU-F6.4: the Gabor filter by its formula at one pixel."""
    w = gabor_filter(5)
    assert np.linalg.norm(w) == pytest.approx(1.0)
    along = (1.0 + 2.0) * math.cos(math.pi / 4)
    across = (2.0 - 1.0) * math.cos(math.pi / 4)
    raw = math.exp(-(along**2 + 0.64 * across**2) / 4.5) * math.cos(2 * math.pi * along / 3)
    assert w.reshape(5, 5)[4, 3] / w.reshape(5, 5)[2, 2] == pytest.approx(raw, rel=1e-12)
    assert np.linalg.norm(random_filter(9, 0)) == pytest.approx(1.0)
    assert np.linalg.norm(filter_at_distance(w, 0.3, 1) - w) == pytest.approx(0.3)


@pytest.mark.parametrize(
    "call",
    [
        lambda: gaussian_patches(0, 1, 1),
        lambda: angular_inputs(5, np.zeros(3), 1.0),
        lambda: angular_inputs(5, np.ones(3), -1.0),
        lambda: gabor_filter(5, width=0.0),
        lambda: random_filter(0),
    ],
)
def test_impossible_laws_are_refused(call) -> None:
    with pytest.raises(DataError):
        call()
