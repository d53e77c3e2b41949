"""SJL, figures 2 and 3: from which width or dimension on all of ten runs find a global minimum, by
the rule of the text, and for z^2 by the start of the head.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from globalmin._options import Trained
from globalmin.reproductions.crossing import Crossing, logistic_crossing, most_failures
from globalmin.reproductions.registry import Reproduction, Row
from globalmin.reproductions.running import Setting
from globalmin.reproductions.sjl_settings import (
    CHOICES,
    EXPERIMENTS,
    FINISHED,
    GLOBAL,
    RUNS,
    SIGNS,
    STARTS,
    STEP,
    STEPS,
    TEACHERS,
    TEXT,
    Experiment,
    N,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CONTROL = 100  # the teachers of the cells that control the experiment count from here


def teacher_runs(
    *, k: int, d: int, activation: str, start: str, teacher: int, steps: int, seed: int
) -> dict[str, Any]:
    """Gradient descent from ten starts for one planted teacher with k neurons and head 1.

    Returns how many runs found a global minimum within the steps, how many do when finished by
    Levenberg-Marquardt, and how many overflowed.
    """
    import numpy as np

    from globalmin.activations import get_activation
    from globalmin.fused.train import train_many

    rng = np.random.default_rng([seed, k, d, teacher])
    X = rng.standard_normal((N, d))
    y = get_activation(activation)(X @ (rng.standard_normal((k, d)) / np.sqrt(d)).T).sum(axis=1)
    W = rng.standard_normal((RUNS, k, d)) / np.sqrt(d)
    v, trained = first_head(start, k, rng)
    scale = float(np.linalg.norm(y)) / np.sqrt(2 * N)  # RMSE = ||r||/sqrt(2n)
    ended = train_many(
        X, y, W, v, activation=activation, trained=trained, step_size=STEP[activation] / N,
        max_iter=steps, tol=GLOBAL / scale, precision="screened",
    )  # fmt: skip
    finished = [
        is_global(X, y, ended.W[i], ended.v[i], activation, trained=trained)
        for i in np.flatnonzero(~ended.diverged)
    ]
    return {
        "global_runs": int(ended.reached.sum()),
        "finished_runs": sum(finished),
        "diverged": int(ended.diverged.sum()),
    }


def first_head(start: str, k: int, rng: Any) -> tuple[Any, Trained]:
    """The heads of ten starts, (10, k), and which layers are trained."""
    import numpy as np

    if start == "normal":
        return rng.standard_normal((RUNS, k)), "vW"
    if start == "ones":
        return np.ones((RUNS, k)), "W"
    signs = rng.choice([-1.0, 1.0], size=(RUNS, k))
    return (signs / np.sqrt(k) if start == "small" else signs), "vW"


def is_global(X: Any, y: Any, W: Any, v: Any, activation: str, *, trained: Trained = "vW") -> bool:
    """Whether Levenberg-Marquardt on the trained layers leads from these weights to zero loss."""
    from globalmin.activations import get_activation
    from globalmin.data import Dataset
    from globalmin.shallow.network import ShallowNetwork
    from globalmin.shallow.train import train

    data = Dataset(X, y, bias=False, scaling="none")
    network = ShallowNetwork(W, v, get_activation(activation))
    run = train(network, data, "levenberg_marquardt", trained=trained, tol=FINISHED)
    return run.relative_residual <= FINISHED


class Cell(NamedTuple):
    """One teacher: what the point is for ("grid", "wide" or "few"), its start, value and number."""

    use: str
    start: str
    value: int
    teacher: int


class Share(NamedTuple):
    """One of the shares: its words, the values, the hits of each teacher, out of how many, and the
    fit.
    """

    words: str
    x: list[int]
    hits: list[int]
    out_of: int
    crossing: Crossing

    @property
    def half(self) -> float:
        """Half of the interval."""
        return (self.crossing.high - self.crossing.low) / 2

    @property
    def interval(self) -> str:
        """The interval in words."""
        return f"{self.crossing.low:.2f} to {self.crossing.high:.2f}"


def transition(item: str, setting: Setting) -> Reproduction:
    """The reproduction of one panel."""
    experiment = EXPERIMENTS[item]
    cells = _cells(experiment, setting)
    steps = STEPS[experiment.activation][setting.scale]
    found = setting.trials(teacher_runs, [
        {"k": experiment.cell(c.value)[0], "d": experiment.cell(c.value)[1],
         "activation": experiment.activation, "start": c.start, "teacher": c.teacher,
         "steps": steps, "seed": setting.seed} for c in cells
    ])  # fmt: skip
    results = list(zip(cells, found, strict=True))
    starts = list(experiment.paper)
    shares = {start: _teachers(results, start) for start in starts}
    others = _others(results)
    return Reproduction(
        item=item,
        scale=setting.scale,
        table=tuple(_rows(experiment, shares, others, results, steps)),
        data={
            "use": [c.use for c in cells],
            "start": [c.start for c in cells],
            "k": [experiment.cell(c.value)[0] for c in cells],
            "d": [experiment.cell(c.value)[1] for c in cells],
            "teacher": [c.teacher for c in cells],
            "runs": [RUNS] * len(cells),
            **{name: [result[name] for result in found] for name in found[0]},
        },
        figures={"": lambda: draw_transition(experiment, [*shares.values(), *others])},
        choices=CHOICES + (SIGNS if experiment.activation == "quadratic" else ()),
    )


def _cells(experiment: Experiment, setting: Setting) -> list[Cell]:
    grids = setting.pick(thumbnail=experiment.thumbnail, paper=experiment.paper)
    text, others = TEACHERS[setting.scale][experiment.activation]
    cells = [
        Cell("grid", start, value, t)
        for start, grid in grids.items()
        for value in grid
        for t in range(text if start == "signs" else others)
    ]
    cells += [Cell("wide", "signs", experiment.wide[0], CONTROL + t) for t in range(2)]
    few = [] if experiment.few is None else [experiment.few[0]]
    return cells + [Cell("few", "signs", value, CONTROL + t) for value in few for t in range(4)]


def counts(finished: int) -> bool:
    """Whether a teacher counts: a global minimum was obtained for every single initialization."""
    return finished == RUNS


def _share(words: str, x: list[int], hits: list[int], out_of: int) -> Share:
    return Share(words, x, hits, out_of, logistic_crossing(x, hits, out_of))


def _teachers(results: Sequence[tuple[Cell, Mapping[str, Any]]], start: str) -> Share:
    seen = [(c, r) for c, r in results if c.use == "grid" and c.start == start]
    hits = [int(counts(r["finished_runs"])) for _, r in seen]
    return _share(f"all ten runs, {STARTS[start]}", [c.value for c, _ in seen], hits, 1)


def _others(results: Sequence[tuple[Cell, Mapping[str, Any]]]) -> tuple[Share, Share]:
    """Of the start of the text: single runs finished, and teachers within the steps."""
    seen = [(c, r) for c, r in results if c.use == "grid" and c.start == "signs"]
    x = [c.value for c, _ in seen]
    return (
        _share("single runs, finished", x, [int(r["finished_runs"]) for _, r in seen], RUNS),
        _share(
            "all ten runs, within the steps", x, [int(counts(r["global_runs"])) for _, r in seen], 1
        ),
    )


def _rows(
    experiment: Experiment,
    shares: Mapping[str, Share],
    others: tuple[Share, Share],
    results: Sequence[tuple[Cell, Mapping[str, Any]]],
    steps: int,
) -> Iterator[Row]:
    name, published = f"crossing {experiment.varies}", experiment.published
    far = experiment.single if experiment.always else experiment.known["signs"]
    rule = "the share of single runs" if experiment.always else "the start v = ±1"
    for start, share in shares.items():
        yield Row(
            f"{name}: {share.words}",
            published,
            share.crossing.center,
            tolerance=math.hypot(share.half, experiment.published_error),
            where=TEXT,
            error=f"our 95 % interval {share.interval} and ±{experiment.published_error:g} for the "
            "published one (ten teachers a point), in quadrature",
            catches=(rule, far.center),
        )
        known = experiment.known[start]
        other = (
            experiment.known["ones" if start == "signs" else "signs"]
            if not (experiment.always)
            else experiment.single
        )
        yield Row(
            f"{name}: {share.words}, against before",
            None,
            share.crossing.center,
            tolerance=math.hypot(share.half, known.half),
            reference=known.center,
            source=known.source,
            error=f"two 95 % intervals, {share.interval} and {known.low:g} to {known.high:g}",
            catches=("another rule or start", other.center),
        )
    yield _below(experiment, shares["signs"])
    yield from _other_rows(experiment, name, others, steps)
    if experiment.always is not None:
        yield _always(experiment, results)
    yield _wide(experiment, results)
    if experiment.few is not None:
        yield _few(experiment.few, experiment, results)
    yield Row(
        "runs that overflow",
        None,
        sum(int(r["diverged"]) for _, r in results),
        tolerance=0.02 * RUNS * len(results),
        reference=0,
        source="our step is short enough",
        error="one run in fifty may start where the step is too long",
        catches=("a step ten times as long: one run in ten at least", 0.1 * RUNS * len(results)),
    )


def _below(experiment: Experiment, share: Share) -> Row:
    """Below the crossing fewer than half of the teachers count."""
    known = experiment.known["signs"]
    value = max(x for x in share.x if x < known.low)
    hits = [hit for x, hit in zip(share.x, share.hits, strict=True) if x == value]
    return Row(
        f"{experiment.varies} = {value}: share of teachers with all ten runs global",
        None,
        sum(hits) / len(hits),
        tolerance=1.645 * math.sqrt(0.25 / len(hits)),
        relation="<=",
        reference=0.5,
        source=f"below {known.low:g}, where the interval of our earlier crossing begins",
        error=f"95 % of a share of {len(hits)} teachers",
        catches=("one global run of ten in place of all", 1.0),
    )


def _other_rows(
    experiment: Experiment, name: str, others: tuple[Share, Share], steps: int
) -> Iterator[Row]:
    single, within = others
    known = experiment.single
    yield Row(
        f"{name}: {single.words}",
        None,
        single.crossing.center,
        tolerance=2 * math.hypot(single.half, known.half),
        reference=known.center,
        source=known.source,
        error=f"two 95 % intervals, {single.interval} and {known.low:g} to {known.high:g}, doubled "
        "since runs of one teacher are alike",
        catches=("the rule of all ten runs", experiment.known["signs"].center),
    )
    yield Row(
        f"{name}: {within.words}",
        published=experiment.published,
        ours=within.crossing.center,
        where=TEXT,
        note=f"not judged: the number of steps is not printed, {steps:,} here; interval "
        f"{within.interval}",
    )


def _always(experiment: Experiment, results: Sequence[tuple[Cell, Mapping[str, Any]]]) -> Row:
    """The printed "for k >= 13 every single local minimizer is global", as a count."""
    seen = [int(r["finished_runs"]) for c, r in results if c.value >= (experiment.always or 0)]
    runs = RUNS * len(seen)
    most = most_failures(runs, 100)
    return Row(
        f"runs with {experiment.varies} ≥ {experiment.always} that are not global",
        0,
        runs - sum(seen),
        tolerance=most,
        relation="<=",
        where=f"section 3, text: for {experiment.varies} ≥ {experiment.always} always",
        note=f"of {runs}",
        error=f"Fisher's exact test at 5 %, none of 100 against ours of {runs}",
        catches=("one run in ten", 0.1 * runs),
    )


def _wide(experiment: Experiment, results: Sequence[tuple[Cell, Mapping[str, Any]]]) -> Row:
    value, share, out_of = experiment.wide
    seen = [int(r["global_runs"]) for c, r in results if c.use == "wide"]
    runs = RUNS * len(seen)
    return Row(
        f"many weights, {experiment.varies} = {value}: share of runs global within the steps",
        None,
        sum(seen) / runs,
        tolerance=two_shares(share, out_of, runs),
        relation=">=",
        reference=share,
        source=f"{out_of} runs of other teachers",
        error="three standard errors of the difference of two shares",
        catches=("a step ten times as short", 0.2),
    )


def _few(
    few: tuple[int, float, int, float],
    experiment: Experiment,
    results: Sequence[tuple[Cell, Mapping[str, Any]]],
) -> Row:
    value, share, out_of, ones = few
    # within the steps where Levenberg-Marquardt has too little to go by (d = 2)
    rule = "global_runs" if experiment.activation != "quadratic" and value == 2 else "finished_runs"
    seen = [int(r[rule]) for c, r in results if c.use == "few"]
    runs = RUNS * len(seen)
    return Row(
        f"few weights, {experiment.varies} = {value}: share of single runs that are global",
        None,
        sum(seen) / runs,
        tolerance=two_shares(share, out_of or 10**9, runs),
        relation="=" if out_of else "<=",
        reference=share,
        source=f"{out_of} runs of other teachers" if out_of else "all k signs positive: 2^-k",
        error="three standard errors of the difference of two shares",
        catches=("a head of ones", ones),
    )


def two_shares(share: float, out_of: int, runs: int) -> float:
    """Three standard errors of the difference of two shares, each with one success and one failure
    added (Agresti and Caffo).
    """
    smoothed = [((share * n + 1) / (n + 2), n + 2) for n in (out_of, runs)]
    return 3 * math.sqrt(sum(p * (1 - p) / n for p, n in smoothed))


def draw_transition(experiment: Experiment, shares: Sequence[Share]) -> Figure:
    """The shares with their curves, side by side."""
    import numpy as np

    from globalmin.report.reproduction_figures import Transition, transitions

    shown = {}
    for share in shares:
        places, hits = np.array(share.x), np.array(share.hits) / share.out_of
        values = np.unique(places)
        fine = np.linspace(values[0], values[-1], 200)
        means = np.array([hits[places == value].mean() for value in values])
        c = share.crossing
        shown[share.words.replace(", ", ",\n", 1)] = Transition(
            values, means, (fine, c.curve(fine)), (c.center, c.low, c.high), experiment.published
        )
    label = "width k" if experiment.varies == "k" else "dimension d"
    fixed = "d" if experiment.varies == "k" else "k"
    return transitions(shown, xlabel=f"{label}  ({fixed} = {experiment.fixed}, n = {N})", columns=3)
