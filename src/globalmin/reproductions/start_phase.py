"""Beyond the papers: the plane of OS, figure 2a, with the share of random starts from which
gradient descent is *proved* to reach zero loss.

What the figure shows by runs and the theorem of the paper proves for millions of neurons is proved
here start by start: the checker draws the start again from its seed, replays every step of the run
with the step of the paper, and lands in the ball of the descent theorem.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from globalmin.references import states
from globalmin.reproductions.certified_phase import by_gradient_descent
from globalmin.reproductions.os import MAX_ITER, STEPS, realizations
from globalmin.reproductions.registry import Reproduction, Row, reproduction
from globalmin.reproductions.running import Setting

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FLAGS = {
    "fitted": "fitted",
    "proved_at_end": "zero loss near its end",
    "proved_from_start": "descent from its start",
}
Shares = Mapping[tuple[int, int, int], Mapping[str, float]]

CHOICES = (
    "Softplus networks, hidden layer trained, with the data law, head, step 0.15 and limit of "
    "15,000 steps of OS, figure 2. The start of trial t is the cell of seed t, independent N(0, 1) "
    "entries that the checker draws again; *fitted* is the success of the paper, a relative loss "
    "below 2.5e-3 within the limit.",
    "*Zero loss near its end* is the claim `interpolation` at the last weights of the run, "
    "*descent from its start* the claim `trajectory`: the run from the random start itself "
    "converges to zero loss. The second asks for more (the residual must be small against the "
    "square of the least singular value, and the step below 1/|J|²), within the same limit.",
    "n is smaller than the 100 of the paper, because a replay at n = 100 costs a minute. Cells "
    "with kd < n are not run and count as zero: the Jacobian has fewer columns than rows.",
)


class Plane(NamedTuple):
    """One n: widths k and dimensions d of the cells, and starts per cell."""

    n: int
    widths: tuple[int, ...]
    dimensions: tuple[int, ...]
    trials: int


THUMBNAIL = (Plane(10, (2, 4, 6, 8), (2, 4, 6, 8), 1),)
PAPER = (Plane(20, (2, 4, 5, 6, 8), (2, 4, 5, 6, 8, 10, 14, 20), 3),)


@states("OS-E.fig2a")
@reproduction(
    "GM-START",
    title="Share of random starts from which descent is proved to reach zero loss",
)
def start_phase(setting: Setting) -> Reproduction:
    """How wide a network must be for the theorem of OS to hold of a random start, by proof."""
    planes = setting.pick(thumbnail=THUMBNAIL, paper=PAPER)
    cells = [
        (p.n, k, d, p.trials)
        for p in planes
        for k in p.widths
        for d in p.dimensions
        if k * d >= p.n
    ]
    points = [{"n": n, "k": k, "d": d, "trials": t, "seed": setting.seed} for n, k, d, t in cells]
    found = setting.trials(started_cell, points)
    shares = {
        (n, k, d): {name: one[name] / trials for name in FLAGS}
        for (n, k, d, trials), one in zip(cells, found, strict=True)
    }
    names = (*FLAGS, "fitted_and_proved", "steps")
    return Reproduction(
        item="GM-START",
        scale=setting.scale,
        table=tuple(row for plane in planes for row in _rows(plane, shares, cells, found)),
        data={
            **{name: [c[i] for c in cells] for i, name in enumerate(("n", "k", "d", "trials"))},
            **{name: [one[name] for one in found] for name in names},
        },
        figures={f"n{p.n}": lambda p=p: draw_plane(p, shares) for p in planes},
        choices=CHOICES,
    )


def started_cell(*, n: int, k: int, d: int, trials: int, seed: int) -> dict[str, Any]:
    """Counts over the starts of one cell, and the most steps that a proof replayed."""
    from globalmin.data import Dataset
    from globalmin.shallow.from_start import prove_start, seeded_network

    counts: dict[str, Any] = {name: 0 for name in (*FLAGS, "fitted_and_proved", "steps")}
    X, y, _, _ = realizations(n, k, d, trials, seed)
    for t in range(trials):
        data = Dataset(X[t], y[t], bias=False, scaling="none")
        ended = by_gradient_descent(seeded_network(t, data, k, "softplus"), data)
        options = {"step_size": STEPS["softplus"], "max_iter": MAX_ITER}
        proof = prove_start(t, data, width=k, activation="softplus", **options)
        counts["fitted"] += int(ended["gd_fitted"])
        counts["proved_at_end"] += int(ended["gd_proved"])
        counts["proved_from_start"] += int(proof.is_accepted)
        counts["fitted_and_proved"] += int(ended["gd_fitted"] and proof.is_accepted)
        if proof.is_accepted:
            steps = int(proof.claims[0].numbers.others["steps"])
            counts["steps"] = max(counts["steps"], steps)
    return counts


def _rows(
    plane: Plane, shares: Shares, cells: list[tuple[int, ...]], found: list[dict[str, Any]]
) -> list[Row]:
    here = {cell: value for cell, value in shares.items() if cell[0] == plane.n}
    mine = [one for cell, one in zip(cells, found, strict=True) if cell[0] == plane.n]
    proved = sum(one["proved_from_start"] for one in mine)
    both = sum(one["fitted_and_proved"] for one in mine)
    rows = [
        Row(
            f"n = {plane.n}: share of the proved starts that the rule of the paper calls fitted",
            None,
            both / proved if proved else math.nan,
            tolerance=0.1,
            reference=1,
            source="a run that is proved to reach zero loss",
            error="a landing near the limit of steps has not fitted yet",
            catches=("proofs about other runs", 0.5),
        ),
        Row(
            f"n = {plane.n}: starts proved, of {plane.trials * len(mine)} with kd >= n",
            None,
            proved,
            note="no paper has this",
        ),
    ]
    for name, words in FLAGS.items():
        least = [k * d / plane.n for (_, k, d), value in here.items() if value[name] >= 0.5]
        rows.append(
            Row(
                f"n = {plane.n}: least kd/n with half of the starts: {words}",
                None,
                min(least, default=math.inf),
                note="no paper has this",
            )
        )
    return rows


def draw_plane(plane: Plane, shares: Shares) -> Figure:
    """Fitted, proved at the end, proved from the start."""
    import numpy as np

    from globalmin.report.reproduction_figures import Plane as Shown
    from globalmin.report.reproduction_figures import phase_diagram

    k_axis, d_axis = (np.array(a, dtype=np.float64) for a in (plane.widths, plane.dimensions))
    titles = {"fitted": "fitted", "proved_at_end": "proved at the end"}
    panels = [
        Shown(
            titles.get(name, "proved from the start"),
            k_axis,
            d_axis,
            np.array(
                [
                    [shares.get((plane.n, k, d), {}).get(name, 0.0) for d in plane.dimensions]
                    for k in plane.widths
                ]
            ),
        )
        for name in FLAGS
    ]
    return phase_diagram(panels, n=plane.n, bar=f"share of starts, n = {plane.n}")
