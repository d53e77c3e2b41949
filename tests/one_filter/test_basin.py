"""Table 5.1: 36 cells with 5,000 starts each against the prediction, and the closed form beside
it.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from globalmin.errors import DataError
from globalmin.one_filter.basin import (
    basin_estimate,
    global_basin_probability,
    quasi_static_probability,
    random_heads,
    random_states,
    ratio_teacher,
)
from globalmin.one_filter.landscape import filter_landscape
from globalmin.one_filter.network import FilterTeacher

RATIOS = (0, 1, 4, 9, 16, 25)
PREDICTED = {
    25: (0.500, 0.550, 0.723, 1, 1, 1),
    36: (0.500, 0.535, 0.652, 0.885, 1, 1),
    49: (0.500, 0.525, 0.612, 0.774, 0.998, 1),
    64: (0.500, 0.520, 0.584, 0.705, 0.895, 1),
    81: (0.500, 0.515, 0.565, 0.659, 0.805, 0.987),
    100: (0.500, 0.513, 0.552, 0.626, 0.741, 0.901),
}
PRINTED = {
    25: (0.50, 0.55, 0.73, 1, 1, 1),
    36: (0.50, 0.53, 0.66, 0.89, 1, 1),
    49: (0.50, 0.53, 0.61, 0.78, 1, 1),
    64: (0.50, 0.51, 0.59, 0.71, 0.89, 1),
    81: (0.50, 0.53, 0.57, 0.66, 0.81, 0.97),
    100: (0.50, 0.50, 0.57, 0.63, 0.75, 0.90),
}
QUASI_STATIC = {
    25: (0.545, 0.711, 1, 1, 1),
    36: (0.532, 0.641, 0.875, 1, 1),
    49: (0.523, 0.601, 0.762, 0.998, 1),
    64: (0.518, 0.576, 0.692, 0.887, 1),
    81: (0.514, 0.560, 0.647, 0.792, 0.986),
    100: (0.511, 0.548, 0.616, 0.727, 0.892),
}
STARTS = 5000


@pytest.mark.parametrize("k", PREDICTED)
def test_every_cell_of_the_table_is_within_three_standard_errors(
    k: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """DU-TAB5.1: the standard error is that of the prediction; every cell of ones is exactly one;
    no run stays undecided.
    """
    found = [basin_estimate(k, ratio, 6, STARTS, seed=5) for ratio in RATIOS]
    for cell, expected, printed in zip(found, PREDICTED[k], PRINTED[k], strict=True):
        error = math.sqrt(expected * (1 - expected) / STARTS)
        assert abs(cell.probability - expected) <= 3 * error
        assert cell.undecided == 0.0
        assert abs(cell.probability - printed) <= 0.035
    with capsys.disabled():
        cells = zip(found, PREDICTED[k], PRINTED[k], strict=True)
        print(
            f"\nk = {k:3d}: "
            + "  ".join(f"{c.probability:.3f} ({e:.3f}, printed {p:.2f})" for c, e, p in cells),
            end="",
        )


def test_closed_form_has_the_values_of_the_specification() -> None:
    """DU-TAB5.1: the quasi-static probability, its ones and its column r = 0."""
    for k, row in QUASI_STATIC.items():
        assert quasi_static_probability(k, 0.0, 6) == pytest.approx(0.5, abs=1e-12)
        for ratio, expected in zip(RATIOS[1:], row, strict=True):
            found = quasi_static_probability(k, ratio, 6)
            assert found == pytest.approx(expected, abs=6e-4)
            assert (found == 1.0) == (ratio >= (k + math.pi - 1) / math.pi)


def test_closed_form_is_the_chance_of_a_start_before_the_saddles() -> None:
    """DU-TAB5.1: random directions whose angle is below that of the saddle sphere, within four
    standard errors.
    """
    rng = np.random.default_rng(0)
    for k, ratio in ((25, 4), (49, 9), (100, 25)):
        teacher = ratio_teacher(k, ratio, 6, rng)
        limit = filter_landscape(teacher).saddle_angle
        assert limit is not None
        share = np.mean(random_states(teacher, 40_000, rng).phi < limit)
        expected = quasi_static_probability(k, ratio, 6)
        assert abs(share - expected) < 4 * math.sqrt(expected * (1 - expected) / 40_000)


def test_filters_of_length_one_give_the_literal_table() -> None:
    """DU-TAB5.1: |v0| = 1, as the text says, lies above the print (.557 and .754 at k = 25)."""
    for ratio, expected in ((1, 0.557), (4, 0.754)):
        found = global_basin_probability(25, ratio, 6, 5000, seed=5, scheme="sphere")
        assert abs(found - expected) < 3 * math.sqrt(expected * (1 - expected) / 5000)


def test_random_heads_are_uniform_in_the_ball_and_never_sum_to_more_than_the_teacher() -> None:
    """DU-T5.4: |sum a| <= |s| W for every draw; the radius to the power k is uniform."""
    teacher = FilterTeacher(np.array([0.0, 2.0]), np.array([1.0, 0.5, -0.3]))
    heads = random_heads(teacher, 20_000, np.random.default_rng(1))
    assert np.all(np.abs(heads.sum(axis=1)) <= abs(teacher.s) * teacher.W * (1 + 1e-12))
    radius = np.linalg.norm(heads, axis=1) / (abs(teacher.s) * teacher.W / math.sqrt(3))
    assert np.mean(radius**3) == pytest.approx(0.5, abs=4 * math.sqrt(1 / 12 / 20_000))


def test_one_patch_always_reaches_the_global_minimum() -> None:
    """DU-TAB5.1: k = 1 has r = 1 at the threshold and no spurious minimum."""
    assert quasi_static_probability(1, 1, 6) == 1.0
    assert global_basin_probability(1, 1, 6, 500) == 1.0


@pytest.mark.parametrize(
    "bad",
    [
        {"k": 0},
        {"ratio": 26.0},
        {"ratio": -1.0},
        {"n_initializations": 0},
        {"scheme": "cube"},
        {"k": 1, "ratio": 0.5},
    ],
)
def test_impossible_cells_are_refused(bad: dict) -> None:
    with pytest.raises(DataError, match=next(iter(bad)) if len(bad) == 1 else "ratio"):
        global_basin_probability(**{"k": 25, "ratio": 4, **bad})
