"""Trials of a reproduction go through the sweep engine: results in order, nothing computed twice,
failures named.
"""

import numpy as np
import pytest
from tests.reproductions import small_recipes

from globalmin.reproductions.running import (
    TrialFailed,
    in_this_process,
    sources_digest,
    stored_trials,
)


def test_results_come_in_the_order_of_the_points_and_only_once(tmp_path):
    points = [{"x": x, "folder": str(tmp_path), "seed": seed} for x in (3, 1) for seed in (5, 4)]
    first = stored_trials(tmp_path / "store", workers=1)(small_recipes.square, points)
    assert [one["square"] for one in first] == [9, 9, 1, 1]
    assert [one["ramp"][0] for one in first] == [5.0, 4.0, 5.0, 4.0]
    assert set(first[0]) == {"square", "ramp"}
    again = stored_trials(tmp_path / "store", workers=1)(small_recipes.square, points)
    assert all(np.array_equal(a["ramp"], b["ramp"]) for a, b in zip(first, again, strict=True))
    assert len((tmp_path / "calls.txt").read_text(encoding="utf-8").splitlines()) == 4


def test_points_that_are_no_product_of_parameters_and_seeds_are_run_too(tmp_path):
    points = [
        {"x": x, "folder": str(tmp_path), "seed": seed} for x, seed in ((2, 0), (3, 0), (4, 1))
    ]
    found = stored_trials(tmp_path / "store", workers=1)(small_recipes.square, points)
    assert [one["square"] for one in found] == [4, 9, 16]


def test_a_point_given_twice_is_computed_once(tmp_path):
    points = [{"x": 2, "folder": str(tmp_path), "seed": 0}] * 2
    found = stored_trials(tmp_path / "store", workers=1)(small_recipes.square, points)
    assert [one["square"] for one in found] == [4, 4]
    assert len((tmp_path / "calls.txt").read_text(encoding="utf-8").splitlines()) == 1


def test_a_failing_trial_is_named_with_its_parameters(tmp_path):
    points = [{"x": x, "seed": 0} for x in (1, 2)]
    with pytest.raises(
        TrialFailed,
        match=r"1 of 2 trials of picky failed; the first, x=2, seed=0: .*two is not welcome",
    ):
        stored_trials(tmp_path, workers=1)(small_recipes.picky, points)


def test_without_a_store_the_same_results(tmp_path):
    points = [{"x": x, "seed": 0} for x in (1, 3)]
    assert in_this_process(small_recipes.picky, points) == stored_trials(tmp_path, workers=1)(
        small_recipes.picky, points
    )


def test_the_digest_of_the_sources_is_a_digest():
    assert len(sources_digest()) == 16
    assert int(sources_digest(), 16) >= 0
