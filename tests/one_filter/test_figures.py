"""Pictures of the filter chapters: what is drawn is what was given, in both formats, the same bytes
every time.
"""

import math

import numpy as np

from globalmin import drawing
from globalmin.one_filter import figures
from globalmin.one_filter.basin import ratio_teacher
from globalmin.one_filter.landscape import spurious_loss
from globalmin.one_filter.network import OneFilterNetwork
from globalmin.one_filter.phases import state_of, trajectory
from globalmin.one_filter.train import draw_network, population_run, sign_flips
from globalmin.patches import figures as patch_figures


def test_success_and_failure_show_the_plateau_at_the_closed_form(tmp_path):
    """DU-F5.1b: k = 20, p = 25, step .1; the trapped run is within 1e-6 of the spurious loss after
    25,000 steps.
    """
    rng = np.random.default_rng(2)
    teacher = ratio_teacher(20, 1.0, 25, rng)
    flips = sign_flips(draw_network(25, 20, abs(teacher.s) / math.sqrt(20), rng))
    runs = [trajectory(state_of(flip.v, flip.a, teacher), teacher, 0.1, 1500) for flip in flips]
    success = min((run["loss"][:, 0] for run in runs), key=lambda losses: losses[-1])
    trapped = next(i for i, run in enumerate(runs) if run["b"][-1, 0] < 0)
    failure = trajectory(
        state_of(flips[trapped].v, flips[trapped].a, teacher), teacher, 0.1, 25_000
    )["loss"][:, 0]
    assert abs(failure[-1] - spurious_loss(teacher)) < 1e-6
    assert success[-1] < 1e-13
    figure = figures.success_and_failure(success, failure, spurious_loss(teacher))
    assert np.array_equal(figure.axes[0].lines[1].get_ydata(), failure)
    paths = drawing.save(
        lambda: figures.success_and_failure(success, failure, 0.15), tmp_path / "a-5.1b"
    )
    assert [path.name for path in paths] == ["a-5.1b.svg", "a-5.1b.png"]
    first = paths[0].read_bytes()
    drawing.save(lambda: figures.success_and_failure(success, failure, 0.15), tmp_path / "a-5.1b")
    assert paths[0].read_bytes() == first


def test_phases_are_marked():
    """DU-F5.2: four curves and the end of phase one; the sum of the weights falls fast in the first
    ten steps.
    """
    rng = np.random.default_rng(2)
    teacher = ratio_teacher(20, 1.0, 25, rng)
    start = OneFilterNetwork(teacher.w + 2.0 * np.eye(25)[1], 0.1 * teacher.a)
    run = population_run(start, teacher, step_size=0.1, max_iter=50)
    assert run.sum_error[10] < 0.1 * run.sum_error[0]
    figure = figures.phases({"angle": run.phi, "sum": run.sum_error}, first_phase_ends=20)
    assert len(figure.axes[0].lines) == 3


def test_curves_and_filters_are_drawn_as_given():
    """DU-F6.3a, DU-F6.3b, DU-F6.3cd, DU-F6.4."""
    curve = np.array([1.0, 0.1, 0.01])
    figure = patch_figures.convergence({"a": curve, "b": 2 * curve}, "step", "distance")
    assert np.array_equal(figure.axes[0].lines[1].get_ydata(), 2 * curve)
    image = np.arange(25.0).reshape(5, 5) - 12.0
    shown = patch_figures.filters({"true": image, "learned": -image})
    assert np.array_equal(shown.axes[0].images[0].get_array(), image)
    assert shown.axes[0].images[0].get_clim() == (-12.0, 12.0)
