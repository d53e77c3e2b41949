"""At paper scale the plans have the published sizes (nothing is run here)."""

import pytest

from globalmin.reproductions import Setting, entry


class Planned(Exception):
    """Carries the points of the first plan."""

    def __init__(self, points):
        super().__init__(str(len(points)))
        self.points = points


def first_plan(item):
    def stop(recipe, points):
        raise Planned(points)

    with pytest.raises(Planned) as caught:
        entry(item).run(Setting("paper", trials=stop))
    return caught.value.points


def test_table_51_has_36_cells_of_5000_starts():
    points = first_plan("DU-TAB5.1")
    assert {(p["k"], p["ratio"]) for p in points} == {
        (k, r) for k in (25, 36, 49, 64, 81, 100) for r in (0, 1, 4, 9, 16, 25)
    }
    assert {p["starts"] for p in points} == {5_000}


def test_figure_3_has_fifty_data_sets_and_twenty_starts_in_three_dimensions():
    points = first_plan("FCL-E1")
    assert {p["d"] for p in points} == {20, 40, 60}
    assert {(p["starts"], p["max_iter"]) for p in points} == {(20, 2_000)}
    assert len({p["seed"] for p in points}) == 50


def test_figure_4_has_a_hundred_runs_in_the_published_dimensions():
    points = first_plan("FCL-E2")
    assert {20, 40, 60} <= {p["d"] for p in points}
    assert len({p["seed"] for p in points}) == 100


def test_the_barrier_is_searched_in_two_to_eight_dimensions():
    assert [p["d"] for p in first_plan("GKZ-X1")] == [2, 3, 4, 5, 6, 7, 8]


def test_figure_21_has_the_data_of_the_thesis():
    assert first_plan("DU-F2.1") == [{"n": 1_000, "seed": 0}]
