"""DU, figure 2.1: two-layer ReLU networks of several widths by gradient descent: loss, patterns
changed, movement.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin.references import states
from globalmin.reproductions.registry import Reproduction, Row, reproduction

if TYPE_CHECKING:
    from globalmin.reproductions.running import Setting

N, STEP, ITERATIONS = 1_000, 0.5, 100
REFERENCE = {
    500: (0.0287, 2.82),
    1_000: (0.0192, 1.86),
    2_000: (0.0141, 1.39),
    4_000: (0.0098, 0.97),
}  # flips, movement at the end
SPEC = "the thesis prints no number; run of our spec page (float32, other seed)"


def width_trial(*, m: int, seed: int) -> dict[str, Any]:
    """Gradient descent from the start of chapter 2: loss, share of patterns changed and largest
    movement by step.
    """
    from globalmin.data.generators import sphere_with_random_labels
    from globalmin.kernels.movement import changed_signs, neuron_movement
    from globalmin.shallow.network import ShallowNetwork, jacobian_transpose_times, preactivations

    data = sphere_with_random_labels(N, N, seed=seed)
    network = ShallowNetwork.initialize(
        data, width=m, activation="relu", scheme="du", seed=seed + 1
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
        table=tuple(_rows(widths, found, gram)),
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
            "The thesis gives neither step nor widths: step 0.5, widths as shown.",
            "The printed share of patterns sums the samples up to m; the sum over the n samples is "
            "meant (erratum E7).",
            "Claim (a), wider is faster, shows at small widths; from about 500 on all have the "
            "rate of the limiting Gram matrix.",
        ),
    )


def _rows(
    widths: tuple[int, ...], found: dict[int, dict[str, Any]], gram: dict[str, Any]
) -> list[Row]:
    rows = [
        Row(
            "λ₀ of the limiting Gram matrix",
            None,
            float(gram["least"]),
            5e-3,
            reference=0.24619,
            source=SPEC,
        ),
        Row(
            "its largest eigenvalue",
            None,
            float(gram["largest"]),
            2e-2,
            reference=1.24806,
            source=SPEC,
        ),
    ]
    for m in widths:
        if m in REFERENCE:
            flips, movement = REFERENCE[m]
            rows.append(
                Row(
                    f"share of patterns changed, m = {m:,}",
                    None,
                    float(found[m]["flips"][-1]),
                    0.1 * flips,
                    reference=flips,
                    source=SPEC,
                )
            )
            rows.append(
                Row(
                    f"largest movement, m = {m:,}",
                    None,
                    float(found[m]["movement"][-1]),
                    0.15 * movement,
                    reference=movement,
                    source=SPEC,
                )
            )
    first, last = widths[0], widths[-1]
    ends = [float(one["loss"][-1] / one["loss"][0]) for one in found.values()]
    rows.append(
        Row(
            f"loss of m = {last:,} over m = {first:,}, 100 steps",
            "faster for wider networks",
            ends[-1] / ends[0],
            0.0,
            "<=",
            where="text on figure 2.1",
            reference=1.0,
            source="the words as a ratio of losses",
        )
    )
    for name, word in (("flips", "patterns changed"), ("movement", "movement")):
        slope = np.log(found[last][name][-1] / found[first][name][-1]) / np.log(last / first)
        rows.append(
            Row(
                f"exponent of {word} in m",
                "smaller for wider networks",
                float(slope),
                0.12,
                where="text on figure 2.1",
                reference=-0.5,
                source="m^(−1/2) by DU-L2.3",
            )
        )
    rows.append(
        Row(
            "largest loss after 100 steps over the first",
            "converges",
            max(float(one["loss"][-1] / one["loss"][0]) for one in found.values()),
            0.0,
            "<=",
            where="text on figure 2.1",
            reference=1e-8,
            source="taken for zero",
        )
    )
    return rows
