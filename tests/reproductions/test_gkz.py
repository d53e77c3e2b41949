"""Wrong experiments planted in the runs of GKZ are seen (GKZ-X1, GKZ-X2, GKZ-X3, GKZ-X4)."""

import numpy as np
import pytest

from globalmin.quadratic import runs
from globalmin.reproductions import gkz, gkz_samples
from globalmin.reproductions.running import Setting


def differing(found):
    return {row.quantity for row in found.table if row.agrees is False}


def test_a_barrier_with_another_constant_differs_from_every_search():
    groups = {float(d): runs.barrier_search(d, starts=2).values for d in (2, 3)}
    right = gkz._barrier_rows(groups, [3.0])
    assert all(row.agrees for row in right)
    wrong = gkz._barrier_rows({d: 1.5 * values for d, values in groups.items()}, [3.0])
    assert [row.verdict for row in wrong[:2]] == ["DIFFERS", "DIFFERS"]
    half = gkz._barrier_rows({d: 0.5 * values for d, values in groups.items()}, [1.5])
    assert [row.verdict for row in half[2:4]] == ["DIFFERS", "DIFFERS"]


@pytest.mark.parametrize("factor", [2.0, 25.0])
def test_another_step_past_the_saddles_is_seen(monkeypatch, factor):
    right = gkz._saddle_rows(gkz.plateau_trial(d=4, starts=2, seed=0))
    assert [row.verdict for row in right] == ["agrees"] * 7
    plain = gkz.fixed_step
    monkeypatch.setattr(gkz, "fixed_step", lambda curvature: factor * plain(curvature))
    with np.errstate(all="ignore"):
        wrong = gkz._saddle_rows(gkz.plateau_trial(d=4, starts=2, seed=0))
    assert "DIFFERS" in {row.verdict for row in wrong}


def test_heights_without_the_trace_term_are_seen():
    found = gkz.plateau_trial(d=4, starts=2, seed=1)
    bare = np.repeat(found["bare"][:, None], 3, axis=1)
    wrong = gkz._saddle_rows(found | {"dip_risks": bare})
    assert [row.verdict for row in wrong[:3]] == ["DIFFERS"] * 3


@pytest.mark.parametrize("shift", [-1, 1])
def test_another_number_of_samples_is_seen(monkeypatch, shift):
    plain = gkz_samples.enough
    monkeypatch.setattr(gkz_samples, "enough", lambda d: plain(d) + shift)
    found = gkz_samples.transition(Setting())
    assert {"first n at which the samples span", "last n at which they do not"} & differing(found)
    N = plain(5) + shift
    risk = f"largest relative risk, n = {N}" if shift < 0 else f"median relative risk, n = {N - 1}"
    assert risk in differing(found)


def test_the_other_scale_of_the_start_is_seen():
    draws = 40
    shares = {
        scale: gkz_samples.start_trial(d=5, scale=scale, draws=draws, seed=0)["shares"]
        for scale in ("paper", "width")
    }
    right = {(scale, 5): values for scale, values in shares.items()}
    swapped = {("paper", 5): shares["width"], ("width", 5): shares["paper"]}
    assert [r.verdict for r in gkz_samples._threshold_rows(right, draws, 1.0)[:2]] == ["agrees"] * 2
    rows = gkz_samples._threshold_rows(swapped, draws, 0.0)
    assert [rows[i].verdict for i in (0, 1, -1)] == ["DIFFERS"] * 3
