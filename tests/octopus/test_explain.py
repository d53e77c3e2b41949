"""`gm.explain` on the octopus: slacks against inequalities written out here along plain float
descent, planted violations seen, ways that are no gradient descent told apart.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import globalmin as gm
from globalmin.errors import DataError
from globalmin.landscape import Octopus, escape_times_lower, follow_octopus
from globalmin.octopus.constants import octopus_smoothness_upper
from globalmin.octopus.escape import octopus_escape_times

OCTOPUS = Octopus(4, L=1.5)
ETA = 1 / 6


def walked(n: int, octopus: Octopus = OCTOPUS, eta: float = ETA) -> np.ndarray:
    """Gradient descent in floats."""
    points = [np.array([0.5, -0.4, 0.3, 0.2])]
    for _ in range(n):
        points.append(points[-1] - eta * octopus.gradient(points[-1]))
    return np.array(points)


def test_slacks_of_chapter_seven_are_the_inequalities_along_the_points() -> None:
    """DU-O7, DU-L7.2, DU-L7.3, DU-L7.4, DU-C7.1: from the points of a float descent."""
    path = walked(150)
    found = gm.explain(path, OCTOPUS, step_size=ETA)
    assert found.holds
    y, tau, t = np.abs(path), math.e, np.arange(151)
    lower = escape_times_lower(OCTOPUS, ETA)
    arms = [lemma for lemma in found.lemmas if lemma.item == "DU-L7.3"]
    assert len(arms) == 4
    for k, lemma in enumerate(arms):
        expected = np.where(t < lower[k], 2 * tau - y[:, k], np.nan)
        np.testing.assert_allclose(lemma.slack, expected, rtol=1e-12)
    # arm j waits until arm j - 1 is beyond tau
    reached = [int(np.argmax(y[:, k] > tau)) for k in range(3)]
    assert min(reached) > 0
    waiting = [
        np.where(t <= reached[j - 1], t * math.log(1 - 3 * ETA) - np.log(y[:, j]), np.nan)
        for j in (1, 2, 3)
    ]
    np.testing.assert_allclose(
        found.lemma("DU-L7.2").slack, np.fmin.reduce(waiting), rtol=1e-9, atol=1e-9
    )
    assert found.lemma("DU-L7.2").least == pytest.approx(-math.log(0.4), rel=1e-6)
    stage = (y >= 2 * tau).argmin(axis=1)
    room = [
        min([6 * tau - v for v in row[:i]] + [2 * tau - row[i]] + [tau - v for v in row[i + 1 :]])
        for row, i in zip(y, stage, strict=True)
    ]
    np.testing.assert_allclose(found.lemma("DU-O7").slack, room, rtol=1e-9)
    G = OCTOPUS.gradient(path) * np.sign(path)
    buffer = np.array([tau < row[i] < 2 * tau for row, i in zip(y, stage, strict=True)])
    pull = np.array([-2 * tau - g[i] for g, i in zip(G, stage, strict=True)])
    first, second = (lemma for lemma in found.lemmas if lemma.item == "DU-L7.4")
    np.testing.assert_allclose(first.slack, np.where(buffer, pull, np.nan), rtol=1e-9)
    press = np.array(
        [
            g[i + 1] + 2 * row[i + 1] if i < 3 else np.nan
            for g, row, i in zip(G, y, stage, strict=True)
        ]
    )
    np.testing.assert_allclose(second.slack, np.where(buffer, press, np.nan), rtol=1e-9, atol=1e-15)
    smooth = octopus_smoothness_upper(OCTOPUS)
    edge = math.sqrt(smooth.hessian * smooth.epsilon)
    least = np.linalg.eigvalsh(OCTOPUS.hessian(path))[:, 0]
    missed = np.maximum(np.linalg.norm(G, axis=1) - smooth.epsilon, -edge - least)
    np.testing.assert_allclose(found.lemma("DU-C7.1").slack, missed, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.measured, OCTOPUS.value(path) - OCTOPUS.least)


def test_promises_are_the_times_of_the_run() -> None:
    """DU-K7, DU-L7.2, DU-L7.3, DU-T7.3: a whole run in logarithms against the counted steps."""
    octopus = Octopus(5)
    run = follow_octopus(octopus, [0.5] * 5)
    assert list(run.passed) == octopus_escape_times(5, start=[0.5] * 5).tolist()
    found = gm.explain(run)
    assert found.holds
    ratios = [each for each in found.promises if each.item == "DU-K7"]
    assert [each.happened for each in ratios] == list(run.reached[1:])
    np.testing.assert_allclose([each.promised for each in ratios], 3 * np.array(run.reached[:-1]))
    assert all(each.kept for each in ratios)
    crossing = found.promise("DU-L7.2")
    assert (crossing.promised, crossing.kept) == (4.0 + 1.0, True)
    assert crossing.happened == max(np.subtract(run.passed, run.reached))
    printed, proof, ours = (each for each in found.promises if each.item == "DU-L7.3")
    assert printed.promised == pytest.approx(3**4)
    assert proof.promised == pytest.approx(4 * 3**4)
    assert ours.promised == pytest.approx(escape_times_lower(octopus, 1 / 8)[-1])
    assert printed.happened == proof.happened == ours.happened == 3598
    assert "silent" in found.promise("DU-T7.1").words  # 1/8 is above 1/ell
    assert "5 of 5 saddles" in found.verdict


def test_the_run_in_logarithms_is_the_float_descent_where_floats_can() -> None:
    run = follow_octopus(OCTOPUS, [0.5, -0.4, 0.3, 0.2], ETA)
    path = walked(120)
    early = run.trajectory.iteration <= 120
    expected = path[run.trajectory.iteration[early]]
    np.testing.assert_allclose(run.points[early], expected, rtol=1e-9, atol=1e-300)
    y = np.abs(path)
    assert run.reached[0] == np.argmax(y[:, 0] > math.e)
    assert run.passed[0] == np.argmax(y[:, 0] >= 2 * math.e)


def test_the_floor_of_the_value_is_promised_and_kept() -> None:
    """With at most k - 1 saddles passed, f - min f is at least (d - k) nu."""
    found = gm.explain(follow_octopus(Octopus(6, L=1.0), seed=2))
    known = np.isfinite(found.envelope)
    assert known.any()
    assert (found.measured[known] >= found.envelope[known]).all()
    nu = Octopus(6, L=1.0).drop
    assert found.envelope[0] == pytest.approx(5 * nu)
    np.testing.assert_allclose(found.envelope[known] / nu, np.round(found.envelope[known] / nu))


def test_noise_silences_what_is_said_of_descent_and_not_what_is_said_of_the_function() -> None:
    """DU-T7.3, claim 2: few steps; DU-C7.1 speaks of every point."""
    run = follow_octopus(Octopus(5), method="perturbed_gradient_descent", seed=1)
    found = gm.explain(run, Octopus(5))
    assert run.noise_steps
    assert run.status == "converged"
    y = np.abs(run.points)
    for k in range(5):
        assert run.reached[k] == np.argmax(y[:, k] > math.e)
        assert run.passed[k] == np.argmax(y[:, k] >= 2 * math.e)
    assert found.lemma("DU-L7.3").holds is None
    assert found.lemma("DU-O7").holds is None
    assert found.lemma("DU-C7.1").holds is True
    assert found.lemma("DU-L7.4").holds is True
    assert not np.isfinite(found.envelope).any()
    assert found.promise("DU-T7.3").happened < 1000


def test_another_optimizer_is_no_gradient_descent() -> None:
    """One point moved, another step, or momentum: the lemmas of descent fall silent."""
    path = walked(40)
    assert gm.explain(path, OCTOPUS, step_size=ETA).lemma("DU-L7.3").holds is True
    moved = path.copy()
    moved[20, 0] *= 1.001
    slow = [path[0]]
    velocity = np.zeros(4)
    for _ in range(40):
        velocity = 0.5 * velocity - 0.5 * ETA * OCTOPUS.gradient(slow[-1])
        slow.append(slow[-1] + velocity)
    for way, eta in ((moved, ETA), (path, ETA * 1.01), (np.array(slow), ETA), (path, None)):
        found = gm.explain(way, OCTOPUS, step_size=eta)
        assert found.lemma("DU-L7.3").holds is None
        assert found.lemma("DU-C7.1").holds is True


def test_violations_are_seen() -> None:
    """A run whose points or times are not those of descent breaks the lemmas."""
    run = follow_octopus(Octopus(5), [0.5] * 5)
    points = run.points.copy()
    points[1, 4] = 7.0  # the last arm has left at the first step
    assert gm.explain(replace(run, points=points)).holds is False
    soon = replace(run, reached=(8, 20, 209, 872, 3596))
    assert gm.explain(soon).promise("DU-K7").kept is False
    quick = replace(run, passed=(11, 50, 211, 875, 60))
    assert gm.explain(quick).promise("DU-L7.3").kept is False
    late = replace(run, passed=(30, 50, 211, 875, 3598))
    assert gm.explain(late).promise("DU-L7.2").kept is False


def test_a_way_that_ends_early_is_not_judged_by_what_comes_later() -> None:
    found = gm.explain(walked(40), OCTOPUS, step_size=ETA)
    last = [each for each in found.promises if each.item == "DU-L7.3"][-1]
    assert last.kept is None
    assert last.promised > 40


def test_long_runs_and_many_arms() -> None:
    run = follow_octopus(Octopus(20), seed=3)
    assert run.n_iter > 10**12
    found = gm.explain(run)
    assert found.holds
    assert sum(lemma.item == "DU-L7.3" for lemma in found.lemmas) == 8


def test_what_cannot_be_explained_is_refused(tmp_path) -> None:
    run = follow_octopus(OCTOPUS, seed=0)
    with pytest.raises(DataError, match="was made on"):
        gm.explain(run, Octopus(5))
    with pytest.raises(DataError, match="at least two points"):
        gm.explain(np.zeros((5, 3)), OCTOPUS)
    with pytest.raises(DataError, match="no noise"):
        follow_octopus(OCTOPUS, radius=0.1)
    figure = gm.explain(run).plot(tmp_path / "octopus.svg")
    assert len(figure.axes) == 2
