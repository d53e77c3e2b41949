"""DU, figure 2.1: two-layer ReLU networks of several widths by gradient descent: loss, patterns
changed, movement.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin.references import states
from globalmin.reproductions.earlier import Earlier
from globalmin.reproductions.registry import Reproduction, Row, reproduction

if TYPE_CHECKING:
    from globalmin.reproductions.running import Setting

N, ITERATIONS = 1_000, 100  # section 2.4
STEP = 0.5  # ours
SCALE = 1.0  # of the weights at the start, N(0, 1)
TEXT = "section 2.4, text on figure 2.1"
# our earlier run, seeds from 500,000, by width; spreads of flips and movement rounded up
LEAST = Earlier(0.245963, 0.000115, 13, ("inputs in 900 dimensions, not 1,000", 0.24386))
LARGEST = Earlier(1.24266, 0.00615, 13, ("inputs in 900 dimensions, not 1,000", 1.2897))
EARLIER = {
    ("log loss", 125): Earlier(-10.68, 0.249, 13, ("half the step", -5.79)),
    ("log loss", 250): Earlier(-11.46, 0.0646, 13),
    ("log loss", 500): Earlier(-11.89, 0.0853, 13, ("half the step", -6.27)),
    ("flips", 125): Earlier(1.543, 0.03, 12, ("weights half as large at the start", 3.15)),
    ("flips", 250): Earlier(1.083, 0.025, 12),
    ("flips", 500): Earlier(0.745, 0.031, 4),
    ("movement", 125): Earlier(0.1506, 0.004, 12),
    ("movement", 250): Earlier(0.1049, 0.003, 12),
    ("movement", 500): Earlier(0.0738, 0.002, 4),
}
NAMES = {
    "log loss": "log10 of the last loss over the first",
    "flips": "share of patterns changed over ‖u(0) − y‖, times 1,000",
    "movement": "largest movement of a neuron over ‖u(0) − y‖",
}


def width_trial(*, m: int, seed: int) -> dict[str, Any]:
    """Gradient descent from the start of chapter 2: loss, share of patterns changed and largest
    movement by step.
    """
    from globalmin.data.generators import sphere_with_random_labels
    from globalmin.kernels.movement import changed_signs, neuron_movement
    from globalmin.shallow.network import ShallowNetwork, jacobian_transpose_times, preactivations

    data = sphere_with_random_labels(N, N, seed=seed)
    network = ShallowNetwork.initialize(
        data, width=m, activation="relu", scheme="du", seed=seed + 1, weight_scale=SCALE
    )  # not the data's draws
    W0, Z0 = network.W, preactivations(network, data.X)
    Z, rows = Z0, []
    for t in range(ITERATIONS + 1):
        r = np.maximum(Z, 0.0) @ network.v - data.y
        rows.append(
            (
                0.5 * float(r @ r),
                float(changed_signs(Z, Z0).sum()) / Z.size,
                neuron_movement(network.W, W0),
            )
        )
        if t < ITERATIONS:
            network = network.with_weights(
                network.W - STEP * jacobian_transpose_times(network, data.X, r)
            )
            Z = preactivations(network, data.X)
    loss, flips, movement = np.array(rows).T
    return {"loss": loss, "flips": flips, "movement": movement}


def spectrum_trial(*, n: int, seed: int) -> dict[str, Any]:
    """Extreme eigenvalues of the limiting Gram matrix of the data."""
    from globalmin.data.generators import sphere_with_random_labels
    from globalmin.kernels.limit_gram import limit_gram

    values = np.linalg.eigvalsh(limit_gram(sphere_with_random_labels(n, n, seed=seed).X, "relu"))
    return {"least": float(values[0]), "largest": float(values[-1])}


@states("DU-F2.1")
@reproduction(
    "DU-F2.1", title="Figures 2.1a-c: loss, patterns changed and movement of ReLU networks by width"
)
def fig21(setting: Setting) -> Reproduction:
    """N = 1,000 points of the unit sphere in 1,000 dimensions, N(0,1) labels, 100 steps; three
    panels.
    """
    from globalmin.report.reproduction_figures import panel_curves

    widths = setting.pick(thumbnail=(125, 250, 500), paper=(125, 250, 500, 1_000, 2_000, 4_000))
    (gram,) = setting.trials(spectrum_trial, [{"n": N, "seed": setting.seed}])
    found: dict[int, dict[str, Any]] = dict(
        zip(
            widths,
            setting.trials(width_trial, [{"m": m, "seed": setting.seed} for m in widths]),
            strict=True,
        )
    )
    t = np.arange(ITERATIONS + 1)
    shown = [
        (
            {f"m = {m:,}": (t, np.asarray(one[name])) for m, one in found.items()},
            ("step", label),
            scale,
        )
        for name, label, scale in (
            ("loss", "(a) loss ½‖u − y‖²", "y"),
            ("flips", "(b) share of patterns changed", ""),
            ("movement", "(c) largest movement of a neuron", ""),
        )
    ]
    return Reproduction(
        item="DU-F2.1",
        scale=setting.scale,
        table=(*_spectrum_rows(gram), *_rows(measured(found))),
        data={
            "m": np.repeat(widths, len(t)),
            "step": np.tile(t, len(widths)),
            **{
                name: np.concatenate([one[name] for one in found.values()])
                for name in ("loss", "flips", "movement")
            },
        },
        figures={"": lambda: panel_curves(shown)},
        choices=(
            "Printed: n = d = 1,000, the laws of inputs, labels and start, 100 steps of one size. "
            "Not printed: the step (ours 0.5), the widths (ours as shown), what 'convergence "
            "rate' is on the axis (ours the loss).",
            "The sum over the samples in the share of patterns is printed up to m; n is meant, "
            "'there are mn patterns' (erratum E7, misprint).",
        ),
    )


def measured(found: dict[int, dict[str, Any]]) -> dict[str, dict[int, float]]:
    """The three quantities at the last step, by width; flips and movement over the first misfit, to
    which they are proportional and which varies from draw to draw.
    """
    misfit = {m: float(np.sqrt(2.0 * one["loss"][0])) for m, one in found.items()}
    return {
        "log loss": {
            m: float(np.log10(one["loss"][-1] / one["loss"][0])) for m, one in found.items()
        },
        "flips": {m: 1e3 * float(one["flips"][-1]) / misfit[m] for m, one in found.items()},
        "movement": {m: float(one["movement"][-1]) / misfit[m] for m, one in found.items()},
    }


def _spectrum_rows(gram: dict[str, Any]) -> list[Row]:
    return [
        LEAST.row("λ₀ of the limiting Gram matrix", gram["least"]),
        LARGEST.row("its largest eigenvalue", gram["largest"]),
    ]


def _rows(ends: dict[str, dict[int, float]]) -> list[Row]:
    """Every quantity against our earlier run, then the three claims of the text."""
    rows = [
        EARLIER[name, m].row(f"{words}, m = {m:,}", ends[name][m])
        for m in ends["flips"]
        for name, words in NAMES.items()
        if (name, m) in EARLIER
    ]
    first, last = min(ends["flips"]), max(ends["flips"])
    claims = {
        "log loss": "m larger: better convergence rate",
        "flips": "m larger: fewer pattern changes",
        "movement": "m larger: smaller distance from the start",
    }
    for name, claim in claims.items():
        ratio = ends[name][last] - ends[name][first]
        if name != "log loss":
            ratio = float(np.log10(ends[name][last] / ends[name][first]))
        rows.append(
            Row(
                f"log10 of the {name.removeprefix('log ')} of m = {last:,} over m = {first:,}",
                claim,
                ratio,
                0.0,
                "<=",
                where=TEXT,
                reference=0.0,
                source="the words as a logarithm below zero",
                error="none: every draw shows it",
                catches=("a factor 1.26 the other way", 0.1),
            )
        )
    return rows
