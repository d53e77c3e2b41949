"""Patches of signals, images and channels: against plain loops, with stride, padding, bias and
scaling.
"""

import numpy as np
import pytest

from globalmin.errors import DataError
from globalmin.patches.inputs import extract_patches
from globalmin.patches.layout import PatchLayout, patch_layout


def loops(image, size, stride, pads):
    """Patches of one image (h, w, c) by four loops."""
    padded = np.zeros(
        (image.shape[0] + sum(pads[0]), image.shape[1] + sum(pads[1]), image.shape[2])
    )
    padded[pads[0][0] : pads[0][0] + image.shape[0], pads[1][0] : pads[1][0] + image.shape[1]] = (
        image
    )
    found, top = [], 0
    while top + size[0] <= padded.shape[0]:
        left = 0
        while left + size[1] <= padded.shape[1]:
            found.append(padded[top : top + size[0], left : left + size[1]].ravel())
            left += stride[1]
        top += stride[0]
    return np.array(found)


@pytest.mark.parametrize(
    ("size", "stride", "padding"),
    [((3, 2), (1, 1), 0), ((3, 2), (2, 3), 1), ((2, 4), (1, 2), (0, 2)), ((4, 3), (1, 1), "same")],
)
def test_patches_of_images_with_channels_are_those_of_the_loops(size, stride, padding):
    """DU-M6: overlapping patches, strides, zeros around, channels innermost."""
    X = np.random.default_rng(0).standard_normal((4, 7, 6, 3))
    layout = patch_layout((7, 6, 3), size, stride, padding=padding)
    Z = layout.patches(X)
    expected = np.stack([loops(image, size, stride, layout.padding) for image in X])
    np.testing.assert_array_equal(Z, expected)
    assert Z.shape[1:] == (layout.n_patches, layout.entries)
    if padding == "same":
        assert layout.n_patches == 42
    np.testing.assert_array_equal(layout.patches(X.reshape(4, -1)), Z)


def test_signals_and_plain_images_are_those_of_extract_patches():
    X = np.random.default_rng(1).standard_normal((5, 24))
    np.testing.assert_array_equal(patch_layout((24,), 5, 2).patches(X), extract_patches(X, 5, 2))
    np.testing.assert_array_equal(
        patch_layout((4, 6), (2, 3)).patches(X), extract_patches(X, (2, 3), image_shape=(4, 6))
    )
    assert patch_layout((4, 6)).n_patches == 1


def test_bias_and_scaling_of_patches():
    X = np.random.default_rng(2).standard_normal((6, 10))
    X[0] = 0.0
    plain = patch_layout((10,), 4, 2).patches(X)
    unit = patch_layout((10,), 4, 2, normalize="unit", bias=True).patches(X)
    np.testing.assert_array_equal(unit[..., -1], 1.0)
    np.testing.assert_array_equal(unit[0, :, :-1], 0.0)  # a zero patch stays zero
    np.testing.assert_allclose(np.linalg.norm(unit[1:, :, :-1], axis=2), 1.0, rtol=1e-14)
    np.testing.assert_allclose(
        unit[1:, :, :-1] * np.linalg.norm(plain[1:], axis=2)[..., None], plain[1:], rtol=1e-13
    )
    contrast = patch_layout((10,), 4, 2, normalize="contrast").patches(X)
    np.testing.assert_allclose(contrast.mean(axis=2), 0.0, atol=1e-15)
    np.testing.assert_allclose(np.linalg.norm(contrast[1:], axis=2), 1.0, rtol=1e-14)


def test_layout_survives_its_dictionary_and_damage_is_refused():
    layout = patch_layout((7, 6, 3), (3, 2), 2, padding=1, bias=True, normalize="unit")
    assert PatchLayout.from_dict(layout.as_dict()) == layout
    for name, value in (
        ("shape", [7, 6, 3, 2]),
        ("patch_size", [3]),
        ("padding", [[1, 1]]),
        ("stride", [0, 1]),
        ("bias", 1),
        ("normalize", "all"),
        ("patch_size", [30, 30]),
    ):
        with pytest.raises(DataError):
            PatchLayout.from_dict(layout.as_dict() | {name: value})


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"patch_size": 9}, "larger than the signal"),
        ({"patch_size": 2, "stride": 0}, "stride=0|stride=\\(0"),
        ({"patch_size": 2, "padding": "valid"}, "'same'"),
        ({"patch_size": 2, "padding": -1}, "padding"),
        ({"patch_size": 2.5}, "patch_size"),
        ({"patch_size": (2, 2)}, "patch_size"),
        ({"normalize": "z"}, "normalize='z'"),
    ],
)
def test_what_cannot_be_cut_is_refused(arguments, match):
    with pytest.raises(DataError, match=match):
        patch_layout((8,), **arguments)


def test_samples_of_another_shape_and_not_finite_ones_are_refused():
    layout = patch_layout((8,), 2)
    with pytest.raises(DataError, match="one sample must have shape"):
        layout.patches(np.ones((3, 7)))
    with pytest.raises(DataError, match="NaN or infinity"):
        layout.patches(np.full((3, 8), np.nan))
