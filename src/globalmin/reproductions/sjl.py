"""SJL, figures 1 to 4: activations, the sizes from which on no run ends in a spurious minimum,
errors by step.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from globalmin.references import states
from globalmin.reproductions.crossing import Crossing, logistic_crossing
from globalmin.reproductions.registry import Reproduction, Row, reproduction
from globalmin.reproductions.running import Setting
from globalmin.reproductions.sjl_errors import errors

if TYPE_CHECKING:
    from matplotlib.figure import Figure

N = 100
STEP = {
    "softplus(10)": 0.05,
    "quadratic": 0.005,
}  # on the paper's loss, the mean of squares over two
GLOBAL = 1e-2  # a run with RMSE = sqrt(L) below this has found a global minimum
PUBLISHED_ERROR = 0.5  # about one standard error of a crossing from ten teachers a point
FINISHED = 1e-8  # and so has one that Levenberg-Marquardt brings to this relative residual

CHOICES = (
    "The paper gives no step size, number of steps, tolerance or grid, and does not say whether "
    "the inputs are drawn anew for each teacher. Here: steps of 0.05 (softplus) and 0.005 "
    "(quadratic) on L = (1/2n) sum r^2, both layers trained together, inputs drawn anew, and a run "
    "has found a global minimum when RMSE = sqrt(L) < 0.01.",
    "A run that is merely slow is no spurious minimum. So every run is also finished by "
    "Levenberg-Marquardt steps on both layers, and is global if they reach ||r||/||y|| < 1e-8. The "
    "published crossing lies between the two rules where the step limit decides.",
    "A teacher counts when all its runs are global (the text's rule); the share of single runs is "
    "given beside it. The curve is logistic, fitted by the likelihood of the counts with Jeffreys' "
    "prior; the interval is the 95 % profile interval.",
)
SIGNS = (
    "For z^2 the flow keeps 2 v_l^2 - ||w_l||^2, which is about 1 at the start: no v_l can reach "
    "zero, so that every neuron keeps the sign it drew. A run with too few positive neurons cannot "
    "fit a positive teacher at any width near the transition; with ten runs a teacher some run is "
    "nearly always of that kind, so that the share of teachers rises far later than the share of "
    "runs.",
)


class Experiment(NamedTuple):
    """One panel: activation, the published crossing, and the grids (k, d) of the two scales with
    what varies.
    """

    activation: str
    published: float
    varies: str
    fixed: int
    paper: tuple[int, ...]
    thumbnail: tuple[int, ...]

    def cell(self, value: int) -> tuple[int, int]:
        """(k, d) at a value of what varies."""
        return (value, self.fixed) if self.varies == "k" else (self.fixed, value)


EXPERIMENTS = {
    "SJL-E.fig2a": Experiment(
        "softplus(10)", 11.40, "k", 10, tuple(range(6, 17)), (7, 9, 11, 13, 15)
    ),
    "SJL-E.fig2b": Experiment(
        "softplus(10)", 10.70, "d", 10, tuple(range(6, 17)), (7, 9, 11, 13, 15)
    ),
    "SJL-E.fig3a": Experiment(
        "quadratic", 5.5, "k", 20, (*range(2, 11), 12, 14, 16, 18, 20), (4, 5, 6, 7, 9, 14)
    ),
    "SJL-E.fig3b": Experiment(
        "quadratic", 25.40, "d", 5, tuple(range(14, 45, 2)), (16, 22, 26, 30, 40)
    ),
}


class Size(NamedTuple):
    """Teachers per point, runs per teacher, and steps per run."""

    teachers: int
    runs: int
    steps: int


@states("SJL-E.fig1")
@reproduction(
    "SJL-E.fig1", title="The activations: softplus and sigmoid with b = 4, erf, tanh, ReLU"
)
def fig1(setting: Setting) -> Reproduction:
    """Curves of the activations, with the average slope of softplus (SJL, figure 1 and example
    2.4).
    """
    import numpy as np

    from globalmin.activations import get_activation
    from globalmin.activations.moments import mean_slope

    names = {
        "softplus, b = 4": "softplus(4)",
        "sigmoid, b = 4": "sigmoid(4)",
        "erf": "erf",
        "tanh": "tanh",
        "ReLU": "relu",
    }
    z = np.linspace(-3.0, 3.0, setting.pick(thumbnail=121, paper=601))
    curves = {shown: get_activation(name)(z) for shown, name in names.items()}
    slopes = [float(mean_slope("softplus(4)", s)) for s in (0.5, 2.0)]
    at_zero = float(get_activation("softplus(4)")(np.zeros(1))[0])
    return Reproduction(
        item="SJL-E.fig1",
        scale=setting.scale,
        table=(
            Row(
                "average slope of softplus, b = 4, at s = 0.5",
                0.5,
                slopes[0],
                tolerance=1e-9,
                where="example 2.4: 1/2 for all s",
            ),
            Row(
                "average slope of softplus, b = 4, at s = 2",
                0.5,
                slopes[1],
                tolerance=1e-9,
                where="example 2.4: 1/2 for all s",
            ),
            Row(
                "softplus, b = 4, at 0",
                None,
                at_zero,
                tolerance=1e-12,
                reference=math.log(2.0) / 4.0,
                source="log(2)/b",
            ),
        ),
        data={"z": list(z), **{name: list(values) for name, values in curves.items()}},
        figures={"": lambda: draw_activations(z, curves)},
        choices=(
            "A drawing; the paper prints 'erf' as sqrt(2) erf(z/sqrt(2)), here erf itself is "
            "drawn.",
        ),
    )


@states("SJL-E.fig2a")
@reproduction("SJL-E.fig2a", title="No spurious minima from which width on: softplus, d = 10")
def fig2a(setting: Setting) -> Reproduction:
    """Softplus with b = 10, d = 10, by width (SJL, figure 2a)."""
    return _transition(
        "SJL-E.fig2a",
        setting,
        setting.pick(thumbnail=Size(4, 4, 20_000), paper=Size(10, 10, 100_000)),
    )


@states("SJL-E.fig2b")
@reproduction("SJL-E.fig2b", title="No spurious minima from which dimension on: softplus, k = 10")
def fig2b(setting: Setting) -> Reproduction:
    """Softplus with b = 10, k = 10, by dimension (SJL, figure 2b)."""
    return _transition(
        "SJL-E.fig2b",
        setting,
        setting.pick(thumbnail=Size(4, 4, 20_000), paper=Size(10, 10, 100_000)),
    )


@states("SJL-E.fig3a")
@reproduction("SJL-E.fig3a", title="No spurious minima from which width on: quadratic, d = 20")
def fig3a(setting: Setting) -> Reproduction:
    """Quadratic activation, d = 20 (the caption says 10, erratum S27), by width (SJL, figure
    3a).
    """
    return _transition(
        "SJL-E.fig3a",
        setting,
        setting.pick(thumbnail=Size(5, 5, 20_000), paper=Size(10, 10, 100_000)),
    )


@states("SJL-E.fig3b")
@reproduction("SJL-E.fig3b", title="No spurious minima from which dimension on: quadratic, k = 5")
def fig3b(setting: Setting) -> Reproduction:
    """Quadratic activation, k = 5 (the caption says 10, erratum S27), by dimension (SJL, figure
    3b).
    """
    return _transition(
        "SJL-E.fig3b",
        setting,
        setting.pick(thumbnail=Size(5, 5, 20_000), paper=Size(10, 10, 100_000)),
    )


@states("SJL-E.fig4a")
@reproduction("SJL-E.fig4a", title="Error by step on random labels: softplus, d = 10, n = 100")
def fig4a(setting: Setting) -> Reproduction:
    """Softplus (SJL, figure 4a)."""
    return errors("SJL-E.fig4a", setting)


@states("SJL-E.fig4b")
@reproduction("SJL-E.fig4b", title="Error by step on random labels: quadratic, d = 20, n = 100")
def fig4b(setting: Setting) -> Reproduction:
    """Quadratic activation (SJL, figure 4b)."""
    return errors("SJL-E.fig4b", setting)


def teacher_runs(
    *, k: int, d: int, activation: str, teacher: int, runs: int, steps: int, seed: int
) -> dict[str, Any]:
    """Gradient descent on both layers from so many starts, for one planted teacher with k neurons
    and head 1.

    Returns how many runs found a global minimum within the steps, how many do when finished by
    Levenberg-Marquardt, and how many overflowed.
    """
    import numpy as np

    from globalmin.activations import get_activation
    from globalmin.fused.train import train_many

    rng = np.random.default_rng([seed, k, d, teacher])
    X = rng.standard_normal((N, d))
    y = get_activation(activation)(X @ (rng.standard_normal((k, d)) / np.sqrt(d)).T).sum(axis=1)
    W, v = rng.standard_normal((runs, k, d)) / np.sqrt(d), rng.choice([-1.0, 1.0], size=(runs, k))
    scale = float(np.linalg.norm(y)) / np.sqrt(2 * N)  # RMSE = ||r||/sqrt(2n)
    ended = train_many(
        X, y, W, v, activation=activation, trained="vW", step_size=STEP[activation] / N,
        max_iter=steps, tol=GLOBAL / scale,
        precision="screened",
    )  # fmt: skip
    finished = [
        is_global(X, y, ended.W[i], ended.v[i], activation) for i in np.flatnonzero(~ended.diverged)
    ]
    return {
        "global_runs": int(ended.reached.sum()),
        "finished_runs": sum(finished),
        "diverged": int(ended.diverged.sum()),
    }


def is_global(X: Any, y: Any, W: Any, v: Any, activation: str) -> bool:
    """Whether Levenberg-Marquardt on both layers leads from these weights to zero loss."""
    from globalmin.activations import get_activation
    from globalmin.data import Dataset
    from globalmin.shallow.network import ShallowNetwork
    from globalmin.shallow.train import train

    data = Dataset(X, y, bias=False, scaling="none")
    network = ShallowNetwork(W, v, get_activation(activation))
    return (
        train(network, data, "levenberg_marquardt", trained="vW", tol=FINISHED).relative_residual
        <= FINISHED
    )


class Share(NamedTuple):
    """One of the three shares: its words, the hits of each teacher, out of how many, and the
    fit.
    """

    words: str
    hits: list[int]
    out_of: int
    crossing: Crossing


def _transition(item: str, setting: Setting, size: Size) -> Reproduction:
    experiment = EXPERIMENTS[item]
    grid = setting.pick(thumbnail=experiment.thumbnail, paper=experiment.paper)
    places = [
        (value, *experiment.cell(value), teacher)
        for value in grid
        for teacher in range(size.teachers)
    ]
    found = setting.trials(teacher_runs, [
        {"k": k, "d": d, "activation": experiment.activation, "teacher": t, "runs": size.runs,
        "steps": size.steps,
         "seed": setting.seed} for _, k, d, t in places
    ])  # fmt: skip
    x = [value for value, _, _, _ in places]
    shares = _shares(x, found, size.runs)
    return Reproduction(
        item=item,
        scale=setting.scale,
        table=_rows(experiment, shares, size),
        data={
            "k": [k for _, k, _, _ in places],
            "d": [d for _, _, d, _ in places],
            "teacher": [t for _, _, _, t in places],
            "runs": [size.runs] * len(places),
            **{name: [result[name] for result in found] for name in found[0]},
        },
        figures={"": lambda: draw_transition(experiment, x, shares)},
        choices=CHOICES + (SIGNS if experiment.activation == "quadratic" else ()),
    )


def _shares(x: list[int], found: list[dict[str, Any]], runs: int) -> tuple[Share, ...]:
    within, finished = (
        [int(result[name]) for result in found] for name in ("global_runs", "finished_runs")
    )
    counted = (
        ("teachers, within the steps", [int(count == runs) for count in within], 1),
        ("teachers, runs finished", [int(count == runs) for count in finished], 1),
        ("single runs, finished", finished, runs),
    )
    return tuple(
        Share(words, hits, out_of, logistic_crossing(x, hits, out_of))
        for words, hits, out_of in counted
    )


def _rows(experiment: Experiment, shares: tuple[Share, ...], size: Size) -> tuple[Row, ...]:
    within, finished, single = shares
    name, published = f"crossing {experiment.varies}", experiment.published

    def row(share: Share, why: str, **judged: Any) -> Row:
        c = share.crossing
        return Row(
            f"{name}: {share.words}",
            published,
            c.center,
            where="section 3, text",
            note=f"95 % interval {c.low:.2f} to {c.high:.2f}; {why}",
            **judged,
        )

    reach = max(
        finished.crossing.high - finished.crossing.center,
        finished.crossing.center - finished.crossing.low,
    )
    return (
        row(finished, "every run led to its minimum", tolerance=reach + PUBLISHED_ERROR),
        row(
            within,
            f"the limit of {size.steps:,} steps moves it up",
            relation=">=",
            tolerance=PUBLISHED_ERROR,
        ),
        row(single, "another rule than the paper's, for comparison"),
    )


def draw_activations(z: Any, curves: dict[str, Any]) -> Figure:
    """The curves of figure 1."""
    from globalmin.report.phase_figures import activation_curves

    return activation_curves(z, curves)


def draw_transition(experiment: Experiment, x: list[int], shares: tuple[Share, ...]) -> Figure:
    """The three shares with their curves, side by side."""
    import numpy as np

    from globalmin.report.phase_figures import Transition, transitions

    places = np.array(x)
    values = np.unique(places)
    fine = np.linspace(values[0], values[-1], 200)
    shown = {}
    for share in shares:
        hits, crossing = np.array(share.hits) / share.out_of, share.crossing
        means = np.array([hits[places == value].mean() for value in values])
        interval = (crossing.center, crossing.low, crossing.high)
        shown[share.words] = Transition(
            values, means, (fine, crossing.curve(fine)), interval, experiment.published
        )
    label = "width k" if experiment.varies == "k" else "dimension d"
    fixed = "d" if experiment.varies == "k" else "k"
    return transitions(shown, xlabel=f"{label}  ({fixed} = {experiment.fixed}, n = {N})")
