"""DU, chapter 5: one run that finds the teacher filter and one that is trapped, the phases of a
run, and Table 5.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin.references import states
from globalmin.reproductions.registry import Reproduction, Row, reproduction

if TYPE_CHECKING:
    from globalmin.reproductions.running import Setting

P, PATCHES, STEP = 25, 20, 0.1
KS, RATIOS = (25, 36, 49, 64, 81, 100), (0, 1, 4, 9, 16, 25)
PUBLISHED = {
    25: (0.50, 0.55, 0.73, 1.0, 1.0, 1.0),
    36: (0.50, 0.53, 0.66, 0.89, 1.0, 1.0),
    49: (0.50, 0.53, 0.61, 0.78, 1.0, 1.0),
    64: (0.50, 0.51, 0.59, 0.71, 0.89, 1.0),
    81: (0.50, 0.53, 0.57, 0.66, 0.81, 0.97),
    100: (0.50, 0.50, 0.57, 0.63, 0.75, 0.90),
}
# the spec page's conditional Monte Carlo for the same law of the starts, standard error .001
PREDICTED = {
    25: (0.5, 0.550, 0.723, 1.0, 1.0, 1.0),
    36: (0.5, 0.535, 0.652, 0.885, 1.0, 1.0),
    49: (0.5, 0.525, 0.612, 0.774, 0.998, 1.0),
    64: (0.5, 0.520, 0.584, 0.705, 0.895, 1.0),
    81: (0.5, 0.515, 0.565, 0.659, 0.805, 0.987),
    100: (0.5, 0.513, 0.552, 0.626, 0.741, 0.901),
}
CHOICES = (
    "The thesis gives neither step nor a*: step 0.1, ‖a*‖ = 1 in a random direction, the four sign "
    "flips of one random start.",
)


def flips_trial(*, max_iter: int, trapped_iter: int, seed: int) -> dict[str, Any]:
    """The four sign flips of a random start (k = 20, p = 25): the best run with its errors, and a
    trapped run.
    """
    from globalmin.one_filter.basin import ratio_teacher
    from globalmin.one_filter.landscape import Basin, filter_landscape
    from globalmin.one_filter.train import detect_phases, draw_network, population_run, sign_flips

    rng = np.random.default_rng(seed)
    teacher = ratio_teacher(PATCHES, 1.0, P, rng)
    starts = sign_flips(draw_network(P, PATCHES, abs(teacher.s) / np.sqrt(PATCHES), rng))
    runs = [population_run(start, teacher, step_size=STEP, max_iter=max_iter) for start in starts]
    good = min(range(4), key=lambda i: runs[i].losses[-1])
    bad = [i for i in range(4) if runs[i].basin is Basin.SPURIOUS]
    trapped = (
        population_run(starts[bad[0]], teacher, step_size=STEP, max_iter=trapped_iter).losses
        if bad
        else np.empty(0)
    )
    run, seen = runs[good], detect_phases(runs[good], starts[good], teacher)
    return {
        "good": run.losses,
        "bad": trapped,
        "plateau": filter_landscape(teacher).spurious_loss,
        "angle": run.phi,
        "head": run.head_error,
        "sum": run.sum_error,
        "phase": seen.first_steps or -1,
        "slope": _tail_slope(run.phi),
        "norm": float(np.linalg.norm(run.network.v)),
    }


def _tail_slope(phi: np.ndarray) -> float:
    """Decades per step of the angle between 0.01 and 1e-5."""
    seen = np.flatnonzero((phi < 1e-2) & (phi > 1e-5))
    return float(np.polyfit(seen, np.log10(phi[seen]), 1)[0]) if seen.size > 1 else float("nan")


def _one_start(setting: Setting) -> dict[str, Any]:
    return setting.trials(
        flips_trial,
        [
            {
                "max_iter": 1_500,
                "trapped_iter": setting.pick(thumbnail=10_000, paper=50_000),
                "seed": setting.seed + 2,
            }
        ],
    )[0]


@states("DU-F5.1b")
@reproduction(
    "DU-F5.1b", title="Figure 5.1b: one run that finds the teacher filter and one that is trapped"
)
def fig51b(setting: Setting) -> Reproduction:
    """Population loss by step; the failure's plateau is the loss of the spurious minimum."""
    from globalmin.one_filter.figures import success_and_failure

    found = _one_start(setting)
    good, bad, plateau = (
        np.asarray(found["good"]),
        np.asarray(found["bad"]),
        float(found["plateau"]),
    )
    trapped = (
        (
            Row(
                "plateau of the failed run",
                None,
                float(bad[-1]),
                2e-3 * plateau,
                note="closed form of the spurious minimum's loss",
                reference=plateau,
                source="closed form",
            ),
            Row(
                "plateau minus that loss",
                None,
                float(bad[-1]) - plateau,
                0.0,
                ">=",
                note="approached from above",
                reference=0.0,
                source="closed form",
            ),
        )
        if bad.size
        else (
            Row(
                "plateau of the failed run",
                None,
                "no sign flip of this start is trapped",
                note="another seed shows one",
            ),
        )
    )
    rows = (
        *trapped,
        Row(
            "last loss of the successful run",
            "converges to the global minimum",
            float(good[-1]),
            1e-12,
            where="text on figure 5.1",
            reference=0.0,
            source="loss zero",
        ),
        Row(
            "steps until it is below 1e-3",
            "slow at first, then linear",
            int(np.argmax(good < 1e-3)),
            note="published curve: about 50 slow steps; its k, p, step and a* are not given",
            where="text on figure 5.1",
        ),
    )
    t = np.arange(max(len(good), len(bad)))
    shown = np.unique(np.concatenate([t[:200], np.geomspace(200, len(t) - 1, 400).astype(int)]))
    pad = np.full(len(t), np.nan)
    columns = {}
    for name, values in (("success", good), ("failure", bad)):
        column = pad.copy()
        column[: len(values)] = values
        columns[name] = column[shown]
    return Reproduction(
        item="DU-F5.1b",
        scale=setting.scale,
        table=rows,
        data={"step": shown, **columns},
        figures={"": lambda: success_and_failure(good, bad, plateau)},
        choices=CHOICES,
    )


@states("DU-F5.2")
@reproduction(
    "DU-F5.2", title="Figure 5.2: the phases of a run: angle, output weights, their sum, loss"
)
def fig52(setting: Setting) -> Reproduction:
    """K = 20, p = 25: fast drop of the sum, a slow turn of the filter, linear convergence."""
    from globalmin.one_filter.figures import phases

    found = _one_start(setting)
    curves = {
        "angle": found["angle"],
        "|a − a*|": found["head"],
        "|Σa − Σa*|": found["sum"],
        "loss": found["good"],
    }
    shown = {name: np.maximum(np.asarray(values)[:700], 1e-14) for name, values in curves.items()}
    phi, total = np.asarray(found["angle"]), np.asarray(found["sum"])
    theory = float(np.log10(1.0 - STEP / (2.0 * float(found["norm"]) ** 2)))
    rows = (
        Row(
            "factor of |Σa − Σa*| after 10 steps",
            None,
            float(total[10] / total[0]),
            0.03,
            note="spec page: .079 to .099 over four seeds",
            reference=0.089,
            source="our spec page, four seeds",
        ),
        Row(
            "first step with angle below 1",
            None,
            int(np.argmax(phi < 1.0)),
            120,
            note="spec page: 92 to 255; published: slow until about 200",
            reference=174,
            source="our spec page, four seeds",
        ),
        Row(
            "first step with angle below 0.1",
            None,
            int(np.argmax(phi < 0.1)),
            140,
            note="spec page: 182 to 345",
            reference=264,
            source="our spec page, four seeds",
        ),
        Row(
            "decades per step in the end",
            None,
            float(found["slope"]),
            5e-4,
            note="log10(1 − η‖a*‖²/(2‖v‖²)); published: linear",
            reference=theory,
            source="closed form log10(1 − η‖a*‖²/(2‖v‖²))",
        ),
    )
    return Reproduction(
        item="DU-F5.2",
        scale=setting.scale,
        table=rows,
        data={"step": np.arange(len(shown["angle"])), **shown},
        figures={
            "": lambda: phases(
                shown, first_phase_ends=None if found["phase"] < 0 else int(found["phase"])
            )
        },
        choices=CHOICES,
    )


def basin_trial(*, k: int, ratio: int, starts: int, seed: int) -> dict[str, Any]:
    """One cell of Table 5.1, every run decided by the trap test."""
    from globalmin.one_filter.basin import basin_estimate

    found = basin_estimate(
        k, float(ratio), 6, starts, 10_000 * seed + 100 * k + ratio
    )  # cells are independent
    return {
        "probability": found.probability,
        "spread": found.standard_error,
        "undecided": found.undecided,
        "quasi_static": found.quasi_static,
    }


@states("DU-TAB5.1")
@reproduction(
    "DU-TAB5.1", title="Table 5.1: probability that a random start reaches the global minimum"
)
def table51(setting: Setting) -> Reproduction:
    """Six numbers of patches by six ratios (Σa*)²/‖a*‖², p = 6; the printed table has 5,000 starts
    a cell.
    """
    from globalmin.report.reproduction_figures import shares

    starts = setting.pick(thumbnail=3_000, paper=5_000)
    points = [
        {"k": k, "ratio": r, "starts": starts, "seed": setting.seed} for k in KS for r in RATIOS
    ]
    found = setting.trials(basin_trial, points)
    ours = np.array([one["probability"] for one in found]).reshape(len(KS), len(RATIOS))
    spec = np.array([PREDICTED[k] for k in KS])
    noise = 4.0 * np.sqrt(0.25 * (1.0 / starts + 1.0 / 5_000))
    rows = [
        _cell(k, r, PUBLISHED[k][j], ours[i, j], noise)
        for i, k in enumerate(KS)
        for j, r in enumerate(RATIOS)
    ]
    rows.append(
        Row(
            "largest |ours − prediction of the spec page|",
            None,
            float(np.abs(ours - spec).max()),
            float(4.0 * np.sqrt(0.25 / starts)) + 0.004,
            note="conditional Monte Carlo, same law of the starts",
            reference=0.0,
            source="no difference",
        )
    )
    rows.append(
        Row(
            "share of runs that nothing decided",
            None,
            max(float(one["undecided"]) for one in found),
            0.01,
            note="trap test",
            reference=0.0,
            source="every run is decided",
        )
    )
    curves = {f"k = {k}": (np.array(RATIOS), ours[i]) for i, k in enumerate(KS)}
    printed = {f"k = {k}": (np.array(RATIOS), np.array(PUBLISHED[k])) for k in KS}
    return Reproduction(
        item="DU-TAB5.1",
        scale=setting.scale,
        table=tuple(rows),
        data={
            "k": np.repeat(KS, len(RATIOS)),
            "ratio": np.tile(RATIOS, len(KS)),
            "published": np.concatenate([PUBLISHED[k] for k in KS]),
            "ours": ours.reshape(-1),
            "standard_error": np.array([one["spread"] for one in found]),
            "quasi_static": np.array([one["quasi_static"] for one in found]),
        },
        figures={
            "": lambda: shares(
                curves, ("ratio (Σa*)²/‖a*‖²", "P(global minimum)"), published=printed
            )
        },
        choices=(
            "Not stated: ‖a*‖, the law of v₀, step, time and success test. ‖a*‖ = 1 and v₀ ~ N(0, "
            "I₆) fit the print (χ² = 24 on "
            "22 cells); ‖v₀‖ = 1, the text taken literally, lies .016 above it on average.",
            "Every run ends by the trap test. At (81, 25), near the threshold 26.5, runs linger: a "
            "time limit makes .97 of .987.",
        ),
    )


def _cell(k: int, r: int, published: float, ours: float, noise: float) -> Row:
    near = (k, r) == (81, 25)
    exact = published == 1.0 and r * np.pi >= k + np.pi - 1.0
    note = (
        "a time limit explains .97: near the threshold"
        if near
        else "no spurious minimum: exactly 1"
        if exact
        else ""
    )
    return Row(
        f"k = {k}, ratio = {r}",
        published,
        float(ours),
        0.0 if exact else noise + 0.005,
        note=note,
        where="table 5.1",
    )
