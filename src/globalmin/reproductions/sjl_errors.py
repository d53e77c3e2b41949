"""SJL, figures 4a and 4b: the error by step on random labels, with a head of ones (as the text
describes figure 4a) and with both layers trained.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from globalmin.reproductions.registry import Reproduction, Row
from globalmin.reproductions.running import Setting

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure

    from globalmin._types import NDArray

N, POINTS = 100, 240
HEADS = {"ones": "v = 1 fixed", "trained": "v = ±1, both layers trained"}
ZERO = 1e-2  # an RMSE below this is taken for zero

SOFTPLUS = (
    "The text fits a softplus network x -> 1^T phi(W x) to N(0, 1) labels. Softplus is nowhere "
    "negative, so that RMSE^2 = L >= (1/2n) sum over negative labels of y_i^2 for every W: with "
    "this head the error cannot reach zero (erratum S28). The caption writes L(v, W); the second "
    "panel trains both layers from v = +-1 and does reach it. b = 10 as in figure 2.",
)
QUADRATIC = (
    "The head of this panel is not stated: the text speaks of the softplus network only, and the "
    "caption writes L(v, W). Both are shown. With v = 1 fixed z^2 has the floor of every network "
    "that is nowhere negative; from v = +-1 with both layers trained the error reaches zero.",
)
CHOICES = (
    "Start, values of k, step size and number of steps are not given; here W ~ N(0, 1)/sqrt d and "
    "steps of 0.05 (softplus) and 0.002 (quadratic) on L = (1/2n) sum r^2. The error is recorded "
    "on a logarithmic grid of steps.",
)


class Experiment(NamedTuple):
    """One figure: activation, dimension, step on the mean of squares over two, widths; and of the
    widest with both layers trained the steps to zero, in decades, mean and deviation over 6 seeds.
    """

    activation: str
    d: int
    step: float
    widths: tuple[int, ...]
    decades: tuple[float, float]


EXPERIMENTS = {
    "SJL-E.fig4a": Experiment("softplus(10)", 10, 0.05, (5, 10, 15, 20, 30), (3.53, 0.15)),
    "SJL-E.fig4b": Experiment("quadratic", 20, 0.002, (3, 5, 8, 10, 15), (3.82, 0.07)),
}


def error_curve(
    *, k: int, d: int, activation: str, head: str, step: float, steps: int, seed: int
) -> dict[str, Any]:
    """RMSE = sqrt(L) after the steps of `shown_steps`; the data do not depend on k or the head.

    Returns the curve, the last value, and the floor for networks that are nowhere negative.
    """
    import numpy as np

    from globalmin.fused.train import train_many

    rng = np.random.default_rng([seed, d])
    X, y = rng.standard_normal((N, d)), rng.standard_normal(N)
    start = np.random.default_rng([seed, d, k])
    W = start.standard_normal((1, k, d)) / np.sqrt(d)
    v = np.ones(k) if head == "ones" else start.choice([-1.0, 1.0], size=k)
    runs = train_many(
        X, y, W, v, activation=activation, trained="W" if head == "ones" else "vW",
        step_size=step / N, max_iter=steps, tol=0.0, record_every=1,
    )  # fmt: skip
    scale = float(np.linalg.norm(y)) / np.sqrt(2 * N)
    return {
        "curve": runs.residuals[0][shown_steps(steps)] * scale,
        "last": float(runs.relative_residual[0] * scale),
        "floor": float(np.sqrt(np.sum(np.minimum(y, 0.0) ** 2) / (2 * N))),
    }


def shown_steps(steps: int) -> NDArray[np.int64]:
    """0 and about `POINTS` steps at equal ratios up to the last, the first ones all."""
    import numpy as np

    return np.unique(np.concatenate([[0], np.geomspace(1, steps, POINTS).round()])).astype(np.int64)


def errors(item: str, setting: Setting) -> Reproduction:
    """The reproduction of one of the two figures."""
    experiment = EXPERIMENTS[item]
    steps = setting.pick(thumbnail=40_000, paper=400_000)
    cells = [(head, k) for head in HEADS for k in experiment.widths]
    found = setting.trials(error_curve, [
        {"k": k, "d": experiment.d, "activation": experiment.activation, "head": head,
        "step": experiment.step, "steps": steps,
         "seed": setting.seed} for head, k in cells
    ])  # fmt: skip
    results, shown = dict(zip(cells, found, strict=True)), shown_steps(steps)
    return Reproduction(
        item=item,
        scale=setting.scale,
        table=_rows(experiment, results, shown),
        data={
            "head": [head for head, _ in cells for _ in shown],
            "k": [k for _, k in cells for _ in shown],
            "step": [int(step) for _ in cells for step in shown],
            "rmse": [float(value) for cell in cells for value in results[cell]["curve"]],
        },
        figures={"": lambda: draw_errors(experiment, results, shown)},
        choices=(SOFTPLUS if experiment.activation.startswith("softplus") else QUADRATIC) + CHOICES,
    )


def _rows(
    experiment: Experiment,
    results: dict[tuple[str, int], dict[str, Any]],
    shown: NDArray[np.int64],
) -> tuple[Row, ...]:
    ones = [results["ones", k] for k in experiment.widths]
    wide = [k for k in experiment.widths if k * experiment.d > 1.5 * N]
    last = max(results["trained", k]["last"] for k in wide)
    floor, best = ones[0]["floor"], min(run["last"] for run in ones)
    narrow = min(results["trained", k]["last"] for k in experiment.widths if k * experiment.d < N)
    (mean, spread), widest = experiment.decades, max(experiment.widths)
    below = results["trained", widest]["curve"] < ZERO
    first = int(shown[below.argmax()]) if below.any() else None
    softplus = experiment.activation.startswith("softplus")
    caption = "caption of figure 4: zero RMSE as k increases"
    return (
        Row(
            "v = 1 fixed: floor of the RMSE over all W",
            0,
            floor,
            where=caption,
            note="not judged: the text states this head, with which zero is impossible (S28)"
            if softplus
            else "not judged: the head is not stated; with this one zero is impossible",
        ),
        Row(
            "v = 1 fixed: smallest last RMSE over the floor",
            None,
            best / floor,
            relation=">=",
            tolerance=1e-9,
            reference=1,
            source="no network that is nowhere negative passes it",
            error="rounding",
            catches=("a trained head", 0.5),
        ),
        Row(
            "both layers: largest last RMSE where kd > 1.5 n",
            0,
            last,
            tolerance=ZERO,
            where=f"section 3, text: a global minimizer when kd > 1.5 n; {caption}"
            if softplus
            else caption,
            error=f"an RMSE of {ZERO:g} is taken for zero, the steps are limited",
            catches=("a head of ones", floor),
        ),
        Row(
            "both layers: smallest last RMSE where kd < n",
            None,
            narrow,
            relation=">=",
            tolerance=0.0,
            reference=ZERO,
            source="too few weights to fit all labels",
            error="none: what is taken for zero",
            catches=("labels that a narrow network fits", 0.0),
        ),
        Row(
            f"both layers: log10 of the steps to RMSE < {ZERO:g}, k = {widest}",
            None,
            math.log10(max(first, 1)) if first else math.inf,
            tolerance=1.96 * spread * math.sqrt(1 + 1 / 6),
            reference=mean,
            source="our earlier runs, 6 seeds",
            error=f"standard deviation {spread:g} of one run, and of the mean of six",
            catches=("a tenth of the step, or ten times it", mean + 1.0),
        ),
    )


def draw_errors(
    experiment: Experiment, results: dict[tuple[str, int], dict[str, Any]], shown: NDArray[np.int64]
) -> Figure:
    """A panel for each head."""
    import numpy as np

    from globalmin.report.reproduction_figures import errors_by_step

    step = shown.astype(np.float64)
    panels = {
        words: {
            f"k = {k} (kd = {k * experiment.d / N:g} n)": (step, results[head, k]["curve"])
            for k in experiment.widths
        }
        for head, words in HEADS.items()
    }
    floor = results["ones", experiment.widths[0]]["floor"]
    return errors_by_step(panels, floors={HEADS["ones"]: floor}, ylabel="RMSE = √L")
