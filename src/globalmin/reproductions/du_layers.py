"""DU, figure 4.2: how balanced the layers of a ReLU network stay along gradient descent."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin.references import states
from globalmin.reproductions.earlier import SURE, Earlier
from globalmin.reproductions.registry import Reproduction, Row, reproduction

if TYPE_CHECKING:
    from globalmin.reproductions.running import Setting

SIZES = {
    "balanced": (0.1, 0.1, 0.1),
    "unbalanced": (10.0, 1.0, 0.1),
}  # squared norms of the three layers at the start, section 4.4
PUBLISHED = {"balanced": (42.90, 43.76, 43.68), "unbalanced": (55.50, 45.65, 45.46)}
LAYERS = ("‖W₁‖²", "‖W₂‖²", "‖W₃‖²")
WHERE = "section 4.4"
ACTIVATION = "relu"
THUMBNAIL = (200, 40, 4_000, 0.02)  # points and features, width, steps, step
# of the thumbnail: largest change of a difference along the run, seeds from 500,000
DRIFT = {
    "balanced": Earlier(0.02494, 0.00139, 20, ("twice the step", 0.0495)),
    "unbalanced": Earlier(0.0231, 0.00113, 20, ("twice the step", 0.0461)),
}


def layers_trial(
    *, start: str, n: int, width: int, steps: int, step_size: float, seed: int
) -> dict[str, Any]:
    """Three layers, n inputs of n numbers, 10 outputs: squared norms of the layers and the loss by
    recorded step.
    """
    from globalmin.balancedness.network import fully_connected
    from globalmin.balancedness.runs import follow_descent, pose_balance

    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((n, n)), rng.standard_normal((n, 10))
    network = fully_connected((n, width, width, 10), ACTIVATION)
    deviations = [
        math.sqrt(size / layer) for size, layer in zip(SIZES[start], network.sizes, strict=True)
    ]
    theta = network.draw(seed + 1, deviations=deviations)
    run = follow_descent(
        pose_balance(network, X, Y), theta, step_size=step_size, max_iter=steps, max_records=300
    )
    audit = run.audit()
    return {
        "norms": run.norms,
        "loss": run.losses,
        "step": run.time / step_size,
        "identity": audit.identity_error,
    }


@states("DU-F4.2")
@reproduction(
    "DU-F4.2",
    title="Figure 4.2: squared norms of the layers of a ReLU network along gradient descent",
)
def fig42(setting: Setting) -> Reproduction:
    """Balanced and unbalanced starts: the differences of the squared norms hardly move, the ratios
    tend to 1.
    """
    from globalmin.factorization.figures import layer_balance

    n, width, steps, eta = setting.pick(thumbnail=THUMBNAIL, paper=(1_000, 100, 10_000, 0.02))
    size = {"n": n, "width": width, "steps": steps, "step_size": eta}
    points = [{"start": start, **size, "seed": setting.seed} for start in SIZES]
    found = dict(zip(SIZES, setting.trials(layers_trial, points), strict=True))
    norms = {start: np.asarray(one["norms"]) for start, one in found.items()}
    here = (
        " With step 0.05, which is as much our choice, the balanced start loses its balance near "
        "step 1,300, where the step is too long for the curvature: its largest difference is then "
        "0.26, above the printed 0.14."
        if setting.scale == "paper"
        else f" Here {n} points in {n} dimensions, width {width}, {steps:,} steps, the starts "
        "scaled to the printed norms."
    )
    return Reproduction(
        item="DU-F4.2",
        scale=setting.scale,
        table=tuple(_rows(found, (n * width, width * width), judged=setting.scale == "thumbnail")),
        data={
            "start": np.repeat(list(found), [len(one["step"]) for one in found.values()]),
            "step": np.concatenate([one["step"] for one in found.values()]),
            "loss": np.concatenate([one["loss"] for one in found.values()]),
            **{
                f"norm_{h + 1}": np.concatenate([values[:, h] for values in norms.values()])
                for h in range(3)
            },
        },
        figures={"": lambda: layer_balance(np.asarray(found["balanced"]["step"]), *norms.values())},
        choices=(
            "Printed: the architecture 1000-100-100-10, 1,000 points, the laws of both starts, "
            "quadratic loss, 10,000 steps. Not printed: inputs, labels, step and normalization; "
            f"ours are N(0,1) inputs and labels, L = (1/2n)Σ‖·‖², step {eta:g}." + here,
            "Of each printed triple one number contradicts the text (erratum E22, a misprint, "
            "which digit is unknown): 43.76 − 42.90 is above .14, 55.50 − 45.65 above 9.",
        ),
    )


def changes(norms: np.ndarray) -> float:
    """Largest change of a difference of neighboring squared norms along a run."""
    differences = np.diff(norms, axis=1)
    return float(np.abs(differences - differences[0]).max())


def _rows(found: dict[str, dict[str, Any]], sizes: tuple[int, int], *, judged: bool) -> list[Row]:
    norms = {start: np.asarray(one["norms"]) for start, one in found.items()}
    drifts = [
        earlier.row(f"{start}: largest change of a difference", changes(norms[start]))
        for start, earlier in DRIFT.items()
        if judged
    ]
    return [*_difference_rows(norms, sizes), *drifts, _law_row(found), *_end_rows(norms)]


def _difference_rows(norms: dict[str, np.ndarray], sizes: tuple[int, int]) -> list[Row]:
    """Differences of the squared norms of neighbors."""
    largest = {
        start: float(np.abs(np.diff(values, axis=1)).max()) for start, values in norms.items()
    }
    spread = math.sqrt(2.0) * math.hypot(10.0 / math.sqrt(sizes[0]), 1.0 / math.sqrt(sizes[1]))
    return [
        Row(
            "balanced: largest difference of neighbors",
            0.14,
            largest["balanced"],
            0.0,
            "<=",
            where=f"{WHERE}: bounded by 0.14",
            error="none: a bound",
            catches=("the unbalanced start", 9.0),
        ),
        Row(
            "unbalanced: largest difference of neighbors",
            9.0,
            largest["unbalanced"],
            SURE * spread,
            where=f"{WHERE}: bounded by 9, and change very little",
            error=f"{SURE:g} standard deviations of the norms of the start, 10 and 1 on average",
            catches=("the balanced start", 0.1),
        ),
    ]


def _law_row(found: dict[str, dict[str, Any]]) -> Row:
    return Row(
        "exact law of the drift: largest error",
        None,
        max(float(one["identity"]) for one in found.values()),
        1e-8,
        note="D(k+1) − D(k) = η²(‖G‖² − ‖G⁺‖²)",
        reference=0.0,
        source="identity of our spec page, from DU-T4.1",
        error="rounding of the sums over all steps",
        catches=("an activation that is not homogeneous", 0.1),
    )


def _end_rows(norms: dict[str, np.ndarray]) -> list[Row]:
    """Ratios and squared norms at the end of the runs."""
    ratios = [
        Row(
            f"{start}: {LAYERS[h]} / {LAYERS[h + 1]} at the end",
            PUBLISHED[start][h] / PUBLISHED[start][h + 1],
            float(values[-1, h] / values[-1, h + 1]),
            note="the ratio is 1 + difference/size, and the size is that of other data",
            where=f"{WHERE}, quotient of the printed norms",
        )
        for start, values in norms.items()
        for h in (0, 1)
    ]
    return ratios + [
        Row(
            f"{start}: {name} at the end",
            PUBLISHED[start][h],
            float(values[-1, h]),
            note="other data and labels, so another size; the differences are what is conserved",
            where=WHERE,
        )
        for start, values in norms.items()
        for h, name in enumerate(LAYERS)
    ]
