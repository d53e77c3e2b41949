"""What a chapter says along one run: every lemma with its slack by step, what was promised beside
what happened, a summary to print and one picture. The rooms fill it in; `gm.explain` opens it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin import drawing
from globalmin._types import Array, NDArray
from globalmin.facts.finding import finite, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    Steps = NDArray[np.int64]

ROUNDING = 1e-12  # of a lemma's scale: a slack above minus this is not negative
FAINTEST = 1e-9  # slack over scale that has the palest color
READ, DRAWN = 200, 64  # steps looked at, and cells drawn, if there are more
WORDS = 58  # width of a column of the printed summary


@dataclass(frozen=True, eq=False)
class Lemma:
    """One inequality along a run.

    Attributes
    ----------
    item, says : its ID and what it says, in words.
    slack : what it leaves, by step: not negative where it holds, NaN where its hypotheses fail and
        it says nothing.
    scale : the size of the quantities compared, of which a part in 1e12 is rounding.
    """

    item: str
    says: str
    slack: Array
    scale: float = 1.0

    @property
    def n_steps(self) -> int:
        """Steps at which its hypotheses hold."""
        return int(np.isfinite(self.slack).sum())

    @property
    def least(self) -> float:
        """The least slack; NaN if it says nothing anywhere."""
        known = self.slack[np.isfinite(self.slack)]
        return float(known.min()) if known.size else math.nan

    @property
    def holds(self) -> bool | None:
        """Whether it held wherever it speaks; None if it is silent."""
        return None if self.n_steps == 0 else self.least >= -ROUNDING * self.scale


@dataclass(frozen=True)
class Promise:
    """One number of a theorem: what it promised and what happened; `kept` is None where a
    hypothesis fails, and `words` say which.
    """

    item: str
    words: str
    promised: float = math.nan
    happened: float = math.nan
    kept: bool | None = None


@dataclass(frozen=True, eq=False)
class Explanation:
    """What theory says of one run; print it, or `plot()` it.

    Attributes
    ----------
    about, verdict : str
        Which run this is, and what became of it, in one sentence each.
    steps : Array
        Numbers of the steps at which the lemmas were read.
    lemmas : tuple[Lemma, ...]
        Every lemma with its slack by step.
    promises : tuple[Promise, ...]
        What the theorems promise of the run, beside what happened.
    measured : Array
        The quantity that the theorems bound, at `steps`; `quantity` names it.
    envelope : Array
        Its bound, NaN where there is none.
    quantity : str
        What `measured` is.
    """

    about: str
    verdict: str
    steps: Steps
    lemmas: tuple[Lemma, ...]
    promises: tuple[Promise, ...]
    measured: Array = field(repr=False)
    envelope: Array = field(repr=False)
    quantity: str = "loss"

    def lemma(self, item: str) -> Lemma:
        """The first lemma with this ID."""
        return next(each for each in self.lemmas if each.item == item)

    def promise(self, item: str) -> Promise:
        """The first promise with this ID."""
        return next(each for each in self.promises if each.item == item)

    @property
    def holds(self) -> bool:
        """Whether nothing that speaks of this run was violated."""
        return all(
            each is not False
            for each in (*(x.holds for x in self.lemmas), *(x.kept for x in self.promises))
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; numbers that are not finite become None."""
        return {
            "about": self.about,
            "verdict": self.verdict,
            "holds": self.holds,
            "lemmas": [
                {"item": x.item, "says": x.says, "n_steps": x.n_steps, "holds": x.holds}
                | {"least_slack": finite(x.least)}
                for x in self.lemmas
            ],
            "promises": [
                {"item": x.item, "says": x.words, "kept": x.kept}
                | {"promised": finite(x.promised), "happened": finite(x.happened)}
                for x in self.promises
            ],
        }

    def __str__(self) -> str:
        head = f"  {'lemma by lemma':{WORDS + 11}}{'steps':>12}{'least slack':>13}"
        lines = [self.about, self.verdict, head]
        lines += [
            f"{_mark(x.holds)} {x.item:10} {_cut(x.says)}{x.n_steps:>5} of {len(self.steps):<4}"
            f"{number(x.least):>12}"
            for x in self.lemmas
        ]
        lines.append(f"  {'what was promised, and what happened':{WORDS + 11}}{'promised':>12}"
                     f"{'happened':>13}")  # fmt: skip
        lines += [
            f"{_mark(x.kept)} {x.item:10} {_cut(x.words)}{number(x.promised):>12}"
            f"{number(x.happened):>13}".rstrip()
            for x in self.promises
        ]
        return "\n".join(lines)

    def plot(self, path: str | Path | None = None) -> Figure:
        """One picture: above, the measured quantity under its bound; below, a row for every lemma,
        dark where much is left, pale where little is, red where it fails, white where it is silent.

        Parameters
        ----------
        path : str | Path | None
            A file to write, in the format of its ending.
        """
        from matplotlib.figure import Figure

        with drawing.style():
            size = (6.4, 2.6 + 0.22 * len(self.lemmas))
            figure = Figure(figsize=size, layout="constrained")
            above, below = figure.subplots(
                2, 1, sharex=True, height_ratios=(2.2, 0.22 * len(self.lemmas) + 0.1)
            )
            self._draw_curve(above)
            self._draw_rows(below)
            if path is not None:
                figure.savefig(path, facecolor="white")
        return figure

    def _draw_curve(self, axes: Axes) -> None:
        x = self.steps + 1
        axes.plot(x, self.measured, color=drawing.BLUE, label=f"{self.quantity}, measured")
        if np.isfinite(self.envelope).any():
            axes.plot(
                x, self.envelope, color=drawing.ORANGE, linestyle=drawing.DASHED, label="promised"
            )
        axes.set_xscale("log")
        if np.nanmax(self.measured, initial=0.0) > 0.0:
            axes.set_yscale("log")
        axes.set_ylabel(self.quantity)
        axes.legend()

    def _draw_rows(self, axes: Axes) -> None:
        from matplotlib.colors import to_rgba

        green, red = to_rgba(drawing.GREEN), to_rgba(drawing.RED)
        first = steps_to_read(len(self.steps) - 1, DRAWN)  # of every cell
        x = np.append(self.steps[first] + 1, self.steps[-1] + 2).astype(np.float64)
        for row, lemma in enumerate(self.lemmas):
            least = np.fmin.reduceat(lemma.slack, first)
            share = np.clip(least / lemma.scale, FAINTEST, 1.0)
            depth = 0.2 + 0.8 * (1.0 - np.log(share) / math.log(FAINTEST))
            colors = np.array([(*green[:3], 0.0 if math.isnan(d) else d) for d in depth])
            colors[least < -ROUNDING * lemma.scale] = red
            axes.bar(
                x[:-1], 0.8, np.diff(x), row - 0.4, align="edge", color=colors.tolist(), linewidth=0
            )
        axes.set_yticks(range(len(self.lemmas)), [lemma.item for lemma in self.lemmas])
        axes.invert_yaxis()
        axes.grid(visible=False)
        axes.set_xlabel("step + 1")


def _mark(holds: bool | None) -> str:
    return "?" if holds is None else "+" if holds else "-"


def _cut(text: str) -> str:
    shown = text if len(text) <= WORDS - 1 else text[: WORDS - 2] + "…"
    return f"{shown:{WORDS}}"


def steps_to_read(n: int, most: int = READ) -> Steps:
    """At most so many of the steps 0..n: all, or geometrically spaced ones, the ends included."""
    if n < most:
        return np.arange(n + 1)
    return np.unique(np.round(np.geomspace(1, n + 1, most)).astype(np.int64)) - 1
