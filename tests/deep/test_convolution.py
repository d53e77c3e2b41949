"""Windows with zero padding (DU-M3c): patches, their transpose and the patch Gram of DU-D3.3, by
plain loops.
"""

import numpy as np
import pytest

from globalmin.data.pixels import Geometry, geometry_of
from globalmin.errors import DataError

SHAPES = [((2, 5), 3), ((1, 4), 1), ((3, 5), 5), ((2, 3, 4), 3), ((1, 5, 5), 5)]


def _patches_by_loops(x, shape, side):
    """Patches of one input of shape (channels, *extent), as a list of lists of channel vectors."""
    extent, reach = shape[1:], (side - 1) // 2
    offsets = list(np.ndindex(*(side,) * len(extent)))
    rows = []
    for place in np.ndindex(*extent):
        row = []
        for offset in offsets:
            at = tuple(p + o - reach for p, o in zip(place, offset, strict=True))
            inside = all(0 <= a < e for a, e in zip(at, extent, strict=True))
            row.append(x[(slice(None), *at)] if inside else np.zeros(shape[0]))
        rows.append(np.concatenate(row))
    return np.array(rows)


@pytest.mark.parametrize(("shape", "side"), SHAPES, ids=str)
def test_patches_are_the_neighbours_with_zeros_outside(shape, side):
    """DU-M3c, and ||x|| <= ||phi(x)|| <= sqrt(q) ||x||."""
    geometry = geometry_of(shape, "convolutional_resnet", side)
    X = np.random.default_rng(0).standard_normal((3, *shape))
    Phi = geometry.patches(geometry.arrange(X))
    for x, found in zip(X, Phi, strict=True):
        np.testing.assert_array_equal(found, _patches_by_loops(x, shape, side))
        assert np.linalg.norm(x) <= np.linalg.norm(found) * (1 + 1e-15)
        assert np.linalg.norm(found) <= np.sqrt(geometry.window) * np.linalg.norm(x) * (1 + 1e-15)


@pytest.mark.parametrize(("shape", "side"), SHAPES, ids=str)
def test_fold_is_the_transpose_of_patches(shape, side):
    geometry = Geometry(shape, side)
    rng = np.random.default_rng(1)
    x = rng.standard_normal((2, geometry.pixels, shape[0]))
    g = rng.standard_normal((2, geometry.pixels, geometry.window * shape[0]))
    assert np.vdot(geometry.patches(x), g) == pytest.approx(np.vdot(x, geometry.fold(g)), rel=1e-12)


@pytest.mark.parametrize(("shape", "side"), SHAPES, ids=str)
def test_patch_gram_is_the_gram_of_patches_and_symmetric_as_a_map(shape, side):
    """DU-D3.3: T(S) for S = x x^T is phi(x) phi(x)^T, and <T(S), M> = <S, T(M)>."""
    geometry = Geometry(shape, side)
    X = np.random.default_rng(2).standard_normal((3, *shape))
    x = geometry.arrange(X)
    flat = x.reshape(-1, shape[0])
    Phi = geometry.patches(x).reshape(len(flat), -1)
    np.testing.assert_allclose(
        geometry.patch_gram(flat @ flat.T), Phi @ Phi.T, rtol=1e-12, atol=1e-13
    )
    S, M = np.random.default_rng(3).standard_normal((2, len(flat), len(flat)))
    assert np.vdot(geometry.patch_gram(S), M) == pytest.approx(
        np.vdot(S, geometry.patch_gram(M)), rel=1e-10
    )


def test_a_vector_is_one_pixel():
    geometry = geometry_of((4,), "resnet")
    assert (geometry.pixels, geometry.channels, geometry.window) == (1, 4, 1)
    X = np.arange(8.0).reshape(2, 4)
    np.testing.assert_array_equal(geometry.arrange(X)[:, 0], X)


@pytest.mark.parametrize(
    ("shape", "side", "message"),
    [
        ((2, 5), 2, "even"),
        ((2, 5), 7, "larger than the signal"),
        ((1, 2, 9), 3, "at most 2"),
        ((2, 5), 0, "at least 1"),
    ],
    ids=str,
)
def test_windows_without_meaning_are_refused(shape, side, message):
    with pytest.raises(DataError, match=message):
        geometry_of(shape, "convolutional_resnet", side)


def test_shapes_without_meaning_are_refused():
    with pytest.raises(DataError, match="shape"):
        Geometry((2, 0))
    with pytest.raises(DataError, match="shape"):
        Geometry((1, 2, 3, 4))
