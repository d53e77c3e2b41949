"""SJL, figures 4a and 4b: the error by step on random labels, and why it cannot reach zero as
described.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from globalmin.reproductions.registry import Reproduction, Row
from globalmin.reproductions.running import Setting

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N, POINTS = 100, 400
HEADS = {"ones": "v = 1 fixed (as described)", "trained": "v = ±1, both layers trained"}
ZERO = 1e-2  # an RMSE below this is taken for zero

CHOICES = (
    "The text fits x -> 1^T phi(W x) to N(0, 1) labels. Softplus and z^2 are nowhere negative, so "
    "that RMSE^2 = L >= (1/2n) sum over negative labels of y_i^2 for every W: the described "
    "experiment cannot reach zero (erratum S28). The caption writes L(v, W); the second panel "
    "trains both layers from v = +-1 and does reach it.",
    "Step size and number of steps are not given; here they are 0.05 (softplus) and 0.002 "
    "(quadratic) on L = (1/2n) sum r^2, and b = 10.",
)


class Experiment(NamedTuple):
    """One figure: activation, dimension, step on the mean of squares over two, widths."""

    activation: str
    d: int
    step: float
    widths: tuple[int, ...]


EXPERIMENTS = {
    "SJL-E.fig4a": Experiment("softplus(10)", 10, 0.05, (5, 10, 15, 20, 30)),
    "SJL-E.fig4b": Experiment("quadratic", 20, 0.002, (3, 5, 8, 10, 15)),
}


def error_curve(
    *, k: int, d: int, activation: str, head: str, step: float, steps: int, seed: int
) -> dict[str, Any]:
    """RMSE = sqrt(L) after 0, s, 2s, ... steps of one run; the data do not depend on k or the head.

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
        step_size=step / N, max_iter=steps, tol=0.0,
        record_every=steps // POINTS,
    )  # fmt: skip
    scale = float(np.linalg.norm(y)) / np.sqrt(2 * N)
    return {
        "curve": runs.residuals[0] * scale,
        "last": float(runs.relative_residual[0] * scale),
        "floor": float(np.sqrt(np.sum(np.minimum(y, 0.0) ** 2) / (2 * N))),
    }


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
    results = dict(zip(cells, found, strict=True))
    return Reproduction(
        item=item,
        scale=setting.scale,
        table=_rows(experiment, results),
        data={
            "head": [head for head, _ in cells for _ in range(POINTS + 1)],
            "k": [k for _, k in cells for _ in range(POINTS + 1)],
            "step": [i * (steps // POINTS) for _ in cells for i in range(POINTS + 1)],
            "rmse": [float(value) for cell in cells for value in results[cell]["curve"]],
        },
        figures={"": lambda: draw_errors(experiment, results, steps // POINTS)},
        choices=CHOICES,
    )


def _rows(
    experiment: Experiment, results: dict[tuple[str, int], dict[str, Any]]
) -> tuple[Row, ...]:
    ones = [results["ones", k] for k in experiment.widths]
    wide = [k for k in experiment.widths if k * experiment.d > 1.5 * N]
    last = max(results["trained", k]["last"] for k in wide)
    floor, best = ones[0]["floor"], min(run["last"] for run in ones)
    narrow = min(results["trained", k]["last"] for k in experiment.widths if k * experiment.d < N)
    return (
        Row(
            "v = 1: floor of the RMSE over all W",
            0,
            floor,
            where="caption of figure 4",
            note="the published zero is impossible, erratum S28",
        ),
        Row(
            "v = 1: smallest RMSE minus the floor",
            None,
            best - floor,
            relation=">=",
            tolerance=1e-9,
            reference=0,
            source="no run passes the floor",
        ),
        Row(
            "both layers: largest last RMSE where kd > 1.5 n",
            0,
            last,
            tolerance=ZERO,
            where="caption of figure 4; section 3: kd > 1.5 n",
        ),
        Row(
            "both layers: smallest last RMSE where kd < n",
            None,
            narrow,
            note="too few weights; not printed",
        ),
    )


def draw_errors(
    experiment: Experiment, results: dict[tuple[str, int], dict[str, Any]], stride: int
) -> Figure:
    """A panel for each head."""
    import numpy as np

    from globalmin.report.phase_figures import errors_by_step

    step = np.arange(POINTS + 1, dtype=np.float64) * stride
    panels = {
        words: {
            f"k = {k} (kd = {k * experiment.d / N:g} n)": (step, results[head, k]["curve"])
            for k in experiment.widths
        }
        for head, words in HEADS.items()
    }
    floor = results["ones", experiment.widths[0]]["floor"]
    return errors_by_step(panels, floors={HEADS["ones"]: floor}, ylabel="RMSE = √L")
