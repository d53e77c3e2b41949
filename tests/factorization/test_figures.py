"""Figures 4.1 and 4.2 and the pictures of Theorems 4.4 and 4.5: what is drawn is what was given,
and the claims hold in small.
"""

import numpy as np

from globalmin.balancedness.network import fully_connected
from globalmin.balancedness.runs import follow_descent, pose_balance
from globalmin.drawing import save
from globalmin.factorization import figures as figures
from globalmin.factorization.factors import Factors
from globalmin.factorization.landscape import PENALTY
from globalmin.factorization.train import descend_factors, estimate_norm


def test_objective_and_ratio_are_drawn_in_the_colors_of_the_thesis(tmp_path):
    """DU-F4.1: red without, blue with the regularizer; both reach the floor of the picture
    together.
    """
    rng = np.random.default_rng(0)
    M = rng.standard_normal((20, 2)) @ rng.standard_normal((2, 15))
    start = Factors.initialize((20, 15), 2, scale=0.05, seed=1)
    runs = [
        descend_factors(M, start, step_size=0.2 / estimate_norm(M), max_iter=300, penalty=p)
        for p in (0.0, PENALTY)
    ]
    curves = [(run.objectives, run.norm_u / run.norm_v) for run in runs]
    figure = figures.objective_and_ratio(*curves)
    left, right = figure.axes
    assert [line.get_color() for line in left.lines] == [figures.RED, figures.BLUE]
    assert np.array_equal(right.lines[0].get_ydata(), curves[0][1])
    assert left.lines[0].get_ydata()[-1] < 1e-18
    paths = save(lambda: figures.objective_and_ratio(*curves), tmp_path / "figure-4-1")
    assert all(path.stat().st_size > 1000 for path in paths)


def test_layers_of_a_small_network_stay_balanced_or_become_so():
    """DU-F4.2 in small: differences keep their size while the norms grow, so the ratios come close
    to one.
    """
    rng = np.random.default_rng(1)
    X, Y = rng.standard_normal((60, 40)), rng.standard_normal((60, 3))
    network = fully_connected((40, 20, 20, 3), "relu")
    problem = pose_balance(network, X, Y)
    norms = []
    for variances in ((1e-4, 2e-4, 1.3e-3), (1e-2, 1e-3, 1e-3)):
        theta = np.concatenate(
            [
                np.sqrt(v) * rng.standard_normal(size)
                for v, size in zip(variances, network.sizes, strict=True)
            ]
        )
        run = follow_descent(problem, theta, step_size=0.05, max_iter=2500, max_records=50)
        norms.append(run.norms)
        drift = np.abs(np.diff(run.norms, axis=1) - np.diff(run.norms[0]))
        assert drift.max() < 0.05 * run.norms[-1].max()
    assert norms[0][-1].min() > 50 * norms[0][0].max()
    assert np.abs(norms[0][-1, :-1] / norms[0][-1, 1:] - 1).max() < 0.1
    steps = run.time / 0.05
    figure = figures.layer_balance(steps, *norms)
    assert len(figure.axes) == 4
    np.testing.assert_allclose(figure.axes[0].lines[1].get_ydata(), norms[0][:, 1] - norms[0][:, 2])
    np.testing.assert_allclose(figure.axes[3].lines[0].get_ydata(), norms[1][:, 0] / norms[1][:, 1])


def test_schedules_and_phases_are_drawn_as_given():
    """DU-T4.4, DU-T4.5: steps begin at one on the logarithmic axis; the end of stage one is
    marked.
    """
    steps, losses = np.arange(5), np.geomspace(1.0, 1e-40, 5)
    axes = figures.schedules({"printed": (steps, losses)}).axes[0]
    assert axes.lines[0].get_xdata()[0] == 1.0
    assert axes.lines[0].get_ydata()[-1] == figures.FLOOR
    axes = figures.rank_one_phases({"d = 10": (losses, 2), "d = 100": (losses, None)}).axes[0]
    assert len(axes.lines) == 3
    assert list(axes.lines[1].get_xdata()) == [2]
