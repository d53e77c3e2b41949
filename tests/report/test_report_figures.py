"""Figures: what is drawn is what was given, bounds are where they belong, labels do not depend on
global settings.
"""

import matplotlib
import numpy as np
import pytest

from globalmin import drawing
from globalmin.drawing import inline_svg
from globalmin.report import figures
from globalmin.report.measures import estimate_margins, estimate_r2, estimate_spectrum
from globalmin.shallow.network import ShallowNetwork

STEPS = np.arange(6.0)
LOSSES = 10.0 ** (2 - 4 * STEPS)


def _axes(draw):
    with drawing.style():
        (axes,) = draw().axes
    return axes


def _levels(axes, color):
    return [line.get_ydata()[0] for line in axes.lines if line.get_color() == color]


def test_the_loss_curve_shows_every_positive_loss_and_the_proved_line_inside_the_axes():
    axes = _axes(lambda: figures.loss_curve(STEPS, np.append(LOSSES[:-1], 0.0), loss_upper=3e-20))
    np.testing.assert_array_equal(
        axes.lines[0].get_xydata(), np.column_stack([STEPS[:-1], LOSSES[:-1]])
    )
    assert _levels(axes, drawing.GREEN) == [3e-20]
    low, high = axes.get_ylim()
    assert low < 3e-20 < 100 < high


def test_the_descent_envelope_has_the_proved_slope():
    axes = _axes(lambda: figures.loss_curve(STEPS, LOSSES, loss_upper=1e-18, rate=0.1))
    (dashed,) = [line for line in axes.lines if line.get_color() == drawing.GREEN]
    (x0, x1), (y0, y1) = dashed.get_data()
    assert (x0, y0) == (5.0, 1e-18)
    assert np.log10(y1 / y0) == pytest.approx(-2 * (x1 - x0))


def test_floor_and_bound_are_both_drawn():
    axes = _axes(lambda: figures.loss_curve(STEPS, LOSSES + 0.25, loss_upper=0.2500001, floor=0.25))
    assert _levels(axes, drawing.GREEN) == [0.2500001]
    assert _levels(axes, drawing.RED) == [0.25]


def test_the_spectrum_is_sorted_and_zeros_do_not_break_it():
    axes = _axes(lambda: figures.spectrum(np.array([1e-3, 5.0, 0.0, -1e-18]), certified=1e-4))
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), [5.0, 1e-3])
    assert _levels(axes, drawing.GREEN) == [1e-4]


def test_ticks_are_round_powers_of_ten_and_few():
    for exponent in (2, 9, 33, 120, 300):
        axes = _axes(
            lambda exponent=exponent: figures.loss_curve(
                np.arange(2.0), np.array([1.0, 10.0**-exponent])
            )
        )
        ticks = np.log10(axes.get_yticks())
        assert 2 <= len(ticks) <= 9
        np.testing.assert_allclose(ticks, np.round(ticks), atol=1e-9)


def test_margins_are_drawn_with_the_needed_margin():
    axes = _axes(
        lambda: figures.margins(np.array([1e-3, 1e-2, 1.0]), np.array([4.0, 9.0]), needed=1e-12)
    )
    assert axes.get_xlim()[0] < 1e-12
    assert [line.get_xdata()[0] for line in axes.lines] == [1e-12]


def test_predictions_show_both_parts_even_for_one_constant_row():
    point = np.array([2.0])
    axes = _axes(lambda: figures.predictions((point, point), (point, point + 1), name="$x$"))
    assert [len(c.get_offsets()) for c in axes.collections] == [1, 1]
    assert axes.get_xlim()[0] < 2.0 < axes.get_xlim()[1]


def test_svg_bytes_do_not_depend_on_the_users_matplotlib_settings():
    def draw():
        return figures.spectrum(np.array([3.0, 2.0, 1.0]), certified=0.5)

    plain = inline_svg(draw, name="a", label="x")
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red", "svg.hashsalt": "other"}):
        assert inline_svg(draw, name="a", label="x") == plain
    assert plain.startswith("<svg viewBox=")
    assert all(color not in plain for color in drawing.PALETTE.values())
    assert "var(--green)" in plain


def test_labels_are_escaped():
    svg = inline_svg(
        lambda: figures.predictions((STEPS, STEPS), name='<b>"&'), name="a", label='<b>"'
    )
    assert "<b>" not in svg
    assert 'aria-label="&lt;b&gt;&#34;"' in svg


def test_the_measured_spectrum_and_margins_agree_with_the_jacobian_and_brute_force():
    rng = np.random.default_rng(0)
    X, network = (
        rng.standard_normal((5, 3)),
        ShallowNetwork(rng.standard_normal((4, 3)), rng.standard_normal(4), "relu"),
    )
    J = np.array(
        [
            [v * (w @ x > 0) * c for v, w in zip(network.v, network.W, strict=True) for c in x]
            for x in X
        ]
    )
    np.testing.assert_allclose(
        estimate_spectrum(network, X), np.linalg.svd(J, compute_uv=False) ** 2, atol=1e-12
    )
    margins = estimate_margins(network, X)
    assert margins is not None
    distances = [abs(w @ x) for w in network.W for x in X]
    assert margins.counts.sum() == 20
    assert margins.smallest == pytest.approx(min(distances))
    assert margins.largest_norm == pytest.approx(max(np.linalg.norm(x) for x in X))
    assert margins.edges[0] <= min(distances) * (1 + 1e-12)


def test_a_network_without_any_preactivation_has_no_margins_and_large_data_no_spectrum():
    network = ShallowNetwork([[0.0]], [1.0], "relu")
    assert estimate_margins(network, np.ones((3, 1))) is None
    assert estimate_spectrum(network, np.ones((4001, 1))) is None


def test_r2_is_one_for_a_fit_zero_for_the_mean_and_undefined_for_constants():
    y = np.array([1.0, 2.0, 4.0])
    assert estimate_r2(y, y) == 1.0
    assert estimate_r2(y, np.full(3, y.mean())) == pytest.approx(0.0)
    assert estimate_r2(np.ones(3), y) is None
    assert estimate_r2(y[:1], y[:1]) is None
