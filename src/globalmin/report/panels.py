"""The figures of one target with their captions and the tables behind them: a record and a proof
in, panels of the page out; those of quadratic networks (bracket, dual spectrum, barrier, samples)
included.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin._types import Array
from globalmin.drawing import inline_figure
from globalmin.drawn_values import data_address
from globalmin.proving.claim import Proves
from globalmin.report import figures, run_figures, words
from globalmin.report.record import Histogram, Series, TargetRecord, proved_loss
from globalmin.report.template import markup

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from globalmin.proving.proof import Proof, ProvedClaim

MAX_ROWS = 500


@dataclass(frozen=True)
class Table:
    """Columns by name and rows of text; `note` says what was left out."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""


@dataclass(frozen=True)
class Panel:
    """One figure of the page."""

    title: str
    svg: str
    caption: str
    table: Table
    data: str  # address of the csv file with all points of the figure


def make_panel(
    title: str, draw: Callable[[], Figure], caption: str, table: Table, name: str
) -> Panel:
    """Draw the figure; `name` makes the ids of the drawing unique on the page."""
    drawn = inline_figure(draw, name=name, label=f"{title}. {caption}")
    # labels are escaped, and matplotlib escapes its texts, so this markup is safe
    return Panel(title, markup(drawn.svg), caption, table, data_address(drawn.csv))


def make_table(columns: tuple[str, ...], content: Sequence[Sequence[str]]) -> Table:
    """All rows, or every j-th beyond `MAX_ROWS`, the last always."""
    n = len(content[0])
    stride = -(-n // MAX_ROWS)
    kept = sorted({*range(0, n, stride), n - 1}) if n else []
    note = "" if stride <= 1 else f"Every {stride}th of {n} rows; all are in fit.json."
    return Table(columns, tuple(tuple(column[i] for column in content) for i in kept), note)


def as_texts(values: Array, digits: int) -> list[str]:
    """Numbers rounded to the nearest and typeset."""
    return [words.typeset(words.nearest_text(float(v), digits)) for v in values]


def landscape_panels(target: TargetRecord, proof: Proof, *, prefix: str) -> list[Panel]:
    """The panels that the accepted claims about quadratic networks call for."""
    facts = target.quadratic or {}
    made: list[Panel] = []
    gap = proof.that(Proves.GAP)
    if gap is not None:
        made.append(_bracket_panel(gap, facts, prefix))
        if facts.get("threshold") and gap.numbers.is_penalized:
            made.append(_dual_panel(facts, gap, prefix))
    below = proof.that(Proves.DESCENT)
    if below is not None:
        made.append(_barrier_panel(below, prefix))
    counted = proof.that(Proves.DATA)
    if counted is not None and facts:
        made.append(_count_panel(facts, counted, prefix))
    return made


def _bracket_panel(claim: ProvedClaim, facts: dict[str, Any], prefix: str) -> Panel:
    gap, floor = claim.numbers.gap or 0.0, claim.numbers.floor or 0.0
    named = {"zero": "all weights zero", "linear": "least-squares line"}
    references = [
        (label, facts[name] - floor) for name, label in named.items() if facts.get(name) is not None
    ]
    caption = (
        "Nobody gets below the proved lower bound; the network is at most "
        f"{words.typeset(words.upper_text(gap))} above it. Gray: others on the same rows, "
        "floating point."
    )
    rows = [*references, ("this network, proved at most", gap)]
    table = make_table(
        ("", "above the lower bound"),
        [[name for name, _ in rows], as_texts(np.array([v for _, v in rows]), 4)],
    )
    return make_panel(
        "Distance to the global minimum",
        lambda: figures.bracket(gap, references),
        caption,
        table,
        f"{prefix}-bracket",
    )


def _dual_panel(facts: dict[str, Any], claim: ProvedClaim, prefix: str) -> Panel:
    values, threshold = (
        np.asarray(facts["dual_eigenvalues"], dtype=np.float64),
        float(facts["threshold"]),
    )
    two_sided = claim.numbers.covers_all_heads
    caption = (
        "Why this is the minimum: a neuron w would lower the penalized loss only if wᵀZw left the "
        "band. Orange: the eigenvalues on its edge, whose directions are the neurons. The proof "
        "moves the residual by the gap to be strictly inside."
    )
    table = make_table(
        ("index", "eigenvalue"),
        [[str(i + 1) for i in range(len(values))], as_texts(np.sort(values)[::-1], 6)],
    )

    def draw() -> Any:
        return figures.dual_spectrum(values, threshold=threshold, two_sided=two_sided)

    return make_panel("The dual certificate", draw, caption, table, f"{prefix}-dual")


def _barrier_panel(claim: ProvedClaim, prefix: str) -> Panel:
    excess, height = claim.numbers.E0 or 0.0, claim.numbers.barrier or 0.0
    caption = (
        "Descent never climbs, so it cannot meet rank-deficient weights, the only ones where it "
        "could get stuck."
    )
    table = make_table(
        ("", "loss above the least"),
        [["this network", "barrier"], as_texts(np.array([excess, height]), 4)],
    )
    return make_panel(
        "Below the barrier",
        lambda: figures.barrier(excess, height),
        caption,
        table,
        f"{prefix}-barrier",
    )


def _count_panel(facts: dict[str, Any], claim: ProvedClaim, prefix: str) -> Panel:
    n, needed, determined = int(facts["n"]), int(facts["needed"]), claim.numbers.rank is not None
    caption = (
        "The squares of the rows span all symmetric matrices: outputs on these rows determine a "
        "quadratic function everywhere."
        if determined
        else "The squares of the rows do not span the symmetric matrices: another network fits as "
        "well and differs elsewhere."
    )
    table = make_table(("", "count"), [["samples n", "d(d+1)/2"], [str(n), str(needed)]])
    return make_panel(
        "Samples and unknowns",
        lambda: figures.sample_count(n, needed, determined=determined),
        caption,
        table,
        f"{prefix}-count",
    )


MAX_POINTS = 1500
SOLVED = ("least_squares", "convex", "local")  # methods without steps of their own to draw


def panels(target: TargetRecord, proof: Proof, *, prefix: str) -> list[Panel]:
    """The panels of a target; `prefix` makes the ids of its drawings unique on the page."""
    made = landscape_panels(target, proof, prefix=prefix)
    if target.training["method"] not in SOLVED or not made:
        made.insert(0, _loss_panel(target, proof, prefix))
    replayed = proof.claim("trajectory")
    is_drawn = "replay_log_error" in target.trajectory
    if is_drawn and replayed is not None and replayed.numbers.rate is not None:
        made.insert(1, _replay_panel(target, replayed, prefix))
    if target.spectrum is not None and proof.that(Proves.GAP) is None:
        made.append(_spectrum_panel(target.spectrum, proof, prefix))
    if target.margins is not None:
        made.append(_margins_panel(target.margins, proof, prefix))
    made.append(_predictions_panel(target, prefix))
    return made


def _loss_panel(target: TargetRecord, proof: Proof, prefix: str) -> Panel:
    steps, losses = _array(target.trajectory["iteration"]), _array(target.trajectory["loss"])
    bound, floor = proved_loss(proof), proof.that(Proves.FLOOR)
    # the envelope continues a curve of gradient descent; beside the steps of another method it
    # would compare two kinds of steps
    is_descent = target.training["method"] == "gradient_descent"
    rate = _proved(proof, "rate") if is_descent else None
    level = (floor.numbers.floor or 0.0) if floor else 0.0
    heads = words.SIGNS.get(str(floor.numbers.heads), "") if floor else ""
    caption = (
        f"The loss goes from {_text(losses[0])} to {_text(losses[-1])} in "
        f"{_count(int(steps[-1]), 'step')} (floating point). "
    )
    if floor:
        caption += (
            f"Red: the proved floor, no {words.covered_networks(floor)}, of any width, gets below "
            "it. "
            "Green: the proved loss of the stored weights."
        )
    elif rate is not None:
        caption += (
            "Dashed: proved, from the stored weights on every step multiplies the loss by at most "
            f"{_upper(rate**2, 6)}."
        )
    elif bound is not None:
        caption += "Green: the bound the checker proved for the stored weights."
    else:
        caption += "No bound is proved."
    predicted = target.trajectory.get("predicted_loss")
    if predicted is not None:
        caption += " Orange: what the kernel of all layers at the start predicts, an estimate."
    table = make_table(("step", "loss"), [[str(int(s)) for s in steps], as_texts(losses, 4)])

    def draw() -> Figure:
        bounds = {"loss_upper": bound, "floor": level, "rate": rate, "heads": heads}
        foretold = None if predicted is None else _array(predicted)
        return figures.loss_curve(steps, losses, **bounds, predicted=foretold)

    return make_panel("Training loss", draw, caption, table, f"{prefix}-loss")


def _replay_panel(target: TargetRecord, claim: ProvedClaim, prefix: str) -> Panel:
    known, seen = claim.numbers, target.trajectory
    steps, norms = _array(seen["iteration"]), np.sqrt(2.0 * _array(seen["loss"]))
    logs = np.array([-np.inf if e is None else e for e in seen["replay_log_error"]])
    delta, rate = known.delta or 0.0, known.rate or 0.0
    errors = delta * np.exp(logs - logs[-1])  # an estimate that ends at the proved number
    bits = int(float(known.others["replay_bits"]))
    caption = (
        "Above: the residual of the run from its start, floating point. Below: how far the "
        f"checker's replay at {bits} bits is at most from the exact run; proved is its end, "
        f"{_upper(delta, 2)} after {_count(int(steps[-1]), 'step')}, the way there is estimated. "
        "Green: from here on the rest is proved, every step multiplies the residual by at most "
        f"{_upper(rate, 6)}."
    )
    table = make_table(
        ("step", "residual", "error of the replay, estimate"),
        [[str(int(s)) for s in steps], as_texts(norms, 4), as_texts(errors, 2)],
    )

    def draw() -> Figure:
        return run_figures.proved_run(steps, norms, errors, rate=rate, bits=bits)

    return make_panel("From the random start", draw, caption, table, f"{prefix}-replay")


def _spectrum_panel(eigenvalues: Sequence[float], proof: Proof, prefix: str) -> Panel:
    values = _array(eigenvalues)
    symbol, bound = "a²", _square(_proved(proof, "a"))
    if bound is None:
        symbol, bound = "μ", _proved(proof, "mu")
    caption = (
        f"The {len(values)} eigenvalues of K = J Jᵀ, from {_text(values[0])} down to "
        f"{_text(values[-1])} (floating point). "
    )
    if bound is not None:
        caption += (
            f"Green: proved, none is below {words.typeset(words.lower_text(bound))}, so the "
            "weights can move every output independently."
        )
    else:
        caption += "No lower bound is proved."
        if values[-1] <= len(values) * np.finfo(float).eps * values[0]:
            caption += (
                " Eigenvalues at rounding level belong to outputs that cannot be moved "
                "independently."
            )
    table = make_table(
        ("index", "eigenvalue"), [[str(i + 1) for i in range(len(values))], as_texts(values, 6)]
    )

    def draw() -> Figure:
        return figures.spectrum(values, certified=bound, symbol=symbol)

    return make_panel("Spectrum of the Gram matrix", draw, caption, table, f"{prefix}-spectrum")


def _margins_panel(histogram: Histogram, proof: Proof, prefix: str) -> Panel:
    edges, counts = _array(histogram.edges), _array(histogram.counts)
    radius = _proved(proof, "R")
    needed = radius * histogram.largest_norm if radius is not None else None
    pairs = f"{int(counts.sum()):,} pairs of neuron and sample"
    caption = (
        f"Distance |w·x| from the kink for {pairs}; the smallest is {_text(histogram.smallest)}. "
    )
    if needed is not None:
        rest = (
            "less than every margin"
            if needed < histogram.smallest
            else "and the proof keeps neurons with smaller margins fixed"
        )
        caption += (
            f"Green: inside the proved radius no w·x moves by more than {_upper(needed)}, {rest}."
        )
    table = make_table(
        ("from", "to", "pairs"),
        [as_texts(edges[:-1], 4), as_texts(edges[1:], 4), [str(int(c)) for c in counts]],
    )

    def draw() -> Figure:
        return figures.margins(edges, counts, needed=needed)

    return make_panel("Margins at the kinks", draw, caption, table, f"{prefix}-margins")


def _predictions_panel(target: TargetRecord, prefix: str) -> Panel:
    train, held = _pair(target.train), _pair(target.held_out) if target.held_out else None
    caption = (
        "Training rows lie on the diagonal: the network reproduces them."
        if _fits(train)
        else "Training rows off the diagonal are not reproduced."
    )
    if held is not None:
        caption += " Held-out rows show what it learned; the farther from the diagonal, the worse."
    shown = (
        (_thin(train[0]), _thin(train[1])),
        None if held is None else (_thin(held[0]), _thin(held[1])),
    )
    parts = [("training", train)] + ([("held out", held)] if held is not None else [])
    columns = [
        [label for label, pair in parts for _ in pair[0]],
        *(as_texts(np.concatenate([pair[i] for _, pair in parts]), 6) for i in (0, 1)),
    ]
    table = make_table(("rows", "target", "output"), columns)
    return make_panel(
        "Outputs against targets",
        lambda: figures.predictions(*shown, name=target.name),
        caption,
        table,
        f"{prefix}-predictions",
    )


def _proved(proof: Proof, name: str) -> float | None:
    """A number of the accepted claims of zero loss."""
    numbers = [c.numbers for c in proof.accepted_claims if c.proves is Proves.ZERO_LOSS]
    return next((value for n in numbers if (value := getattr(n, name)) is not None), None)


def _fits(pair: tuple[Array, Array]) -> bool:
    scale = float(np.abs(pair[0] - pair[0].mean()).max()) or 1.0
    return float(np.abs(pair[0] - pair[1]).max()) <= 1e-2 * scale


def _thin(values: Array) -> Array:
    return values[:: -(-len(values) // MAX_POINTS)] if len(values) > MAX_POINTS else values


def _pair(series: Series) -> tuple[Array, Array]:
    return _array(series.target), _array(series.output)


def _array(values: Sequence[float]) -> Array:
    return np.asarray(values, dtype=np.float64)


def _square(value: float | None) -> float | None:
    return None if value is None else value * value


def _text(value: float) -> str:
    return words.typeset(words.nearest_text(float(value), 2))


def _upper(value: float, digits: int = 3) -> str:
    return words.typeset(words.upper_text(value, digits))


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
