"""Pictures of the chapter on saddles: what is drawn is what was given, the same bytes every
time.
"""

import numpy as np

from globalmin.drawing import save
from globalmin.octopus import figures as saddle_figures
from globalmin.octopus.descent import descent_values, perturbed_descent
from globalmin.octopus.function import Octopus
from globalmin.octopus.warmups import descent_path, far_gradient, saddle_gradient


def test_warmups_show_both_paths(tmp_path):
    """DU-F7.1: the path ends where descent leaves the square; the file is the same twice."""
    band = descent_path(saddle_gradient, [0.9, 0.01], 0.25, 12)
    far = descent_path(far_gradient, [-6.0, 0.5], 0.25, 16)

    def draw():
        return saddle_figures.warmups(band, far, half_width=0.01)

    left, right = draw().axes
    assert np.array_equal(np.column_stack(left.lines[0].get_data()), band)
    assert np.array_equal(np.column_stack(right.lines[0].get_data()), far)
    assert left.patches[0].get_height() == 0.02
    svg, png = save(draw, tmp_path / "figure-7-1")
    first = svg.read_bytes()
    assert png.stat().st_size > 10_000
    save(draw, tmp_path / "figure-7-1")
    assert svg.read_bytes() == first


def test_tube_and_octopus_mark_saddles_and_minima():
    """DU-F7.2: two saddles and a minimum of the tube; three saddles and four minima of the
    octopus.
    """
    tube, octopus = Octopus(2, mirrored=False), Octopus(2)
    path = descent_path(tube.gradient, [1.0, 1.0], 1 / 8, 40)
    figure = saddle_figures.tube_and_octopus(tube, octopus, path, [path, -path])
    counts = []
    for axes in figure.axes:
        points = [
            collection
            for collection in axes.collections
            if collection.get_offsets().shape[0] and collection.get_zorder() == 5
        ]
        counts.append([len(collection.get_offsets()) for collection in points])
    assert counts == [[1, 1, 1], [1, 2, 4]]
    assert np.array_equal(np.column_stack(figure.axes[1].lines[1].get_data()), -path)


def test_domains_tile_the_domain_of_the_octopus():
    """DU-F7.5: random points are in the domain exactly if one of the drawn boxes contains them."""
    octopus, rng = Octopus(2), np.random.default_rng(0)
    boxes = [patch.get_bbox() for patch in saddle_figures.domains(octopus.tau).axes[1].patches]
    points = rng.uniform(-7 * octopus.tau, 7 * octopus.tau, (2000, 2))
    drawn = np.array(
        [any(box.x0 <= x <= box.x1 and box.y0 <= y <= box.y1 for box in boxes) for x, y in points]
    )
    assert np.array_equal(drawn, octopus.in_domain(points))
    assert 0.3 < drawn.mean() < 0.7


def test_objective_curves_are_the_runs():
    """DU-F7.3, DU-F7.4: one panel for each L, two curves and the least value; perturbed descent is
    at the bottom first.
    """
    panels, least = {}, {}
    for L in (1.0, 3.0):
        octopus, start, steps = Octopus(5, L), np.full(5, 0.5), np.arange(301)
        noisy = perturbed_descent(
            octopus, start, 1 / (4 * L), np.random.default_rng(0), n_values=300
        )
        plain = descent_values(octopus, start, 1 / (4 * L), steps)
        panels[f"L = {L}"] = {
            "gradient descent": (steps, plain),
            "perturbed": (steps, noisy.values),
        }
        least[f"L = {L}"] = octopus.least
    figure = saddle_figures.objective_by_step(panels, least=least)
    for axes, (title, curves) in zip(figure.axes, panels.items(), strict=True):
        assert np.array_equal(axes.lines[0].get_ydata(), curves["gradient descent"][1])
        assert axes.lines[1].get_ydata()[-1] < least[title] + 1e-2 < axes.lines[0].get_ydata()[-1]
    assert (
        saddle_figures.objective_by_step(panels, least=least, logarithmic=True).axes[0].get_xscale()
        == "log"
    )


def test_escape_times_show_runs_law_and_bound():
    """DU-K7, DU-L7.3, DU-T7.3: dots, a line, a dashed line; the slope of perturbed descent stands
    in the legend.
    """
    k = np.arange(1, 6)
    curves = {"L = 1": (k, 2.7**k)}
    bounds, noisy = (
        {"L = 1": (k, 2.0**k)},
        {"L = 1": (np.array([5.0, 10.0]), np.array([100.0, 200.0]))},
    )
    left, right = saddle_figures.escape_times(curves, curves, bounds, noisy).axes
    assert [np.asarray(line.get_ydata()).tolist() for line in left.lines] == [
        (2.7**k).tolist()
    ] * 2 + [(2.0**k).tolist()]
    assert left.get_yscale() == "log"
    assert right.get_legend().get_texts()[0].get_text() == "L = 1: 20 a saddle"
