"""DU, figure 4.1: matrix factorization by gradient descent, with and without regularizer."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin.references import states
from globalmin.reproductions.earlier import SURE
from globalmin.reproductions.registry import Reproduction, Row, reproduction

if TYPE_CHECKING:
    from globalmin.reproductions.running import Setting

PENALTIES = {"(4.1)": 0.0, "(4.3)": 0.125}  # without and with the regularizer
STEP, STEPS = 0.05, 1_000  # ours, for singular values 1 to 2
RATIO = 1.0  # of the deviations of U and V at the start, figure 4.1
UNEQUAL = 2.0  # the same in our second picture
TEXT = "section 4.1, text on figure 4.1"


def factor_trial(
    *, d: int, rank: int, penalty: float, ratio: float, step_size: float, seed: int
) -> dict[str, Any]:
    """Gradient descent on U Vᵀ = M from Gaussian factors, U `ratio` times as large as V: objective,
    norms of both factors by step; penalty 1/8 is (4.3).
    """
    from globalmin.factorization.factors import Factors
    from globalmin.factorization.train import descend_factors

    rng = np.random.default_rng(seed)
    left, right = (np.linalg.qr(rng.standard_normal((d, rank)))[0] for _ in range(2))
    M = (left * np.linspace(1.0, 2.0, rank)) @ right.T
    scale = 0.01 if ratio == 1.0 else 0.1
    start = Factors.initialize((d, d), rank, scale=scale, seed=seed + 1)
    run = descend_factors(
        M,
        Factors(ratio * start.U, start.V),
        step_size=step_size,
        max_iter=round(STEPS * STEP / step_size),
        tol=0.0,
        penalty=penalty,
    )
    return {"objective": run.objectives, "norm_u": run.norm_u, "norm_v": run.norm_v}


@states("DU-F4.1")
@reproduction(
    "DU-F4.1", title="Figure 4.1: gradient descent on a factorization, with and without regularizer"
)
def fig41(setting: Setting) -> Reproduction:
    """Objectives (4.1), red, and (4.3), blue, and the ratio of the norms of the factors, by
    step.
    """
    from globalmin.factorization.figures import objective_and_ratio

    d, rank = setting.pick(thumbnail=(50, 5), paper=(200, 10))
    draws = setting.pick(thumbnail=8, paper=20)
    equal = {
        name: _factor_runs(setting, (d, rank), penalty, RATIO, draws)
        for name, penalty in PENALTIES.items()
    }
    unequal = {
        name: _factor_runs(setting, (d, rank), penalty, UNEQUAL, 1)
        for name, penalty in PENALTIES.items()
    }
    plain = next(iter(PENALTIES.values()))
    finer = _factor_runs(setting, (d, rank), plain, UNEQUAL, 1, step_size=STEP / 2)
    shown = {
        part: [(one[0]["objective"], one[0]["norm_u"] / one[0]["norm_v"]) for one in runs.values()]
        for part, runs in (("", equal), ("unequal", unequal))
    }
    columns = [
        (part, name, some[0])
        for part, runs in (("equal", equal), ("unequal", unequal))
        for name, some in runs.items()
    ]
    steps = len(columns[0][2]["objective"])
    return Reproduction(
        item="DU-F4.1",
        scale=setting.scale,
        table=(*_equal_rows(equal, (d, rank)), *_unequal_rows(unequal, finer)),
        data={
            "start": np.repeat([part for part, _, _ in columns], steps),
            "objective_of": np.repeat([name for _, name, _ in columns], steps),
            "step": np.tile(np.arange(steps), len(columns)),
            **{
                key: np.concatenate([run[key] for _, _, run in columns])
                for key in ("objective", "norm_u", "norm_v")
            },
        },
        figures={
            "": lambda: objective_and_ratio(*shown[""]),
            "unequal": lambda: objective_and_ratio(*shown["unequal"]),
        },
        choices=(
            "Printed: the two objectives, gradient descent, a random start, the colors. Not "
            f"printed: size, rank, step and scale of the start; ours are {d} x {d}, rank {rank}, "
            f"singular values 1 to 2, step {STEP:g}, entries of the start N(0, 0.01²), {draws} "
            "draws of matrix and start (the first is drawn).",
            "The second picture is ours: entries of U and V of deviation 0.2 and 0.1. Without the "
            "regularizer the difference of the squared norms is kept, and the ratio settles off 1.",
        ),
    )


def _factor_runs(
    setting: Setting,
    size: tuple[int, int],
    penalty: float,
    ratio: float,
    draws: int,
    *,
    step_size: float = STEP,
) -> list[dict[str, Any]]:
    points = [
        {
            "d": size[0],
            "rank": size[1],
            "penalty": penalty,
            "ratio": ratio,
            "step_size": step_size,
            "seed": 1_000 * setting.seed + draw,
        }
        for draw in range(draws)
    ]
    return setting.trials(factor_trial, points)


def _reached(run: dict[str, Any]) -> int:
    """First step with a millionth of the first objective; the number of steps if there is none."""
    below = np.asarray(run["objective"]) < 1e-6 * run["objective"][0]
    return int(np.argmax(below)) if below.any() else len(below)


def _equal_rows(equal: dict[str, list[dict[str, Any]]], size: tuple[int, int]) -> list[Row]:
    plain, regular = equal.values()
    slower = [_reached(a) / _reached(b) for a, b in zip(plain, regular, strict=True)]
    rows = [
        Row(
            f"largest last objective, {name}",
            "converges to a global minimum",
            max(float(run["objective"][-1]) for run in runs),
            1e-12,
            where=TEXT,
            reference=0.0,
            source="the least value",
            error="rounding: the objective is a sum of squares of numbers near 2⁻⁵²",
            catches=("one singular value missed", 0.5),
        )
        for name, runs in equal.items()
    ]
    rows.append(
        Row(
            "steps to 1e-6 of the first objective, (4.1) over (4.3)",
            "the rate is also competitive",
            max(slower),
            0.1,
            "<=",
            where=TEXT,
            reference=1.0,
            source="the words as a ratio of one",
            error="competitive read as: at most a tenth slower",
            catches=("half the step for (4.1)", 2.0),
        )
    )
    moved = max(
        float(np.abs(ratio / ratio[0] - 1.0).max())
        for ratio in (run["norm_u"] / run["norm_v"] for run in plain)
    )
    rows.append(
        Row(
            "largest change of ‖U‖/‖V‖, (4.1)",
            "the ratio remains a constant in all iterations",
            moved,
            SURE / math.sqrt(size[0] * size[1]),
            where=TEXT,
            reference=0.0,
            source="the words as no change",
            error=f"{SURE:g} standard deviations of the ratio of two random norms at the start",
            catches=("U twice as large as V at the start", 0.5),
        )
    )
    return rows


def _unequal_rows(
    unequal: dict[str, list[dict[str, Any]]], finer: list[dict[str, Any]]
) -> list[Row]:
    def kept(run: dict[str, Any]) -> float:
        gap = np.asarray(run["norm_u"]) ** 2 - np.asarray(run["norm_v"]) ** 2
        return float(gap[-1] / gap[0])

    (plain,), (regular,) = unequal.values()
    share, fine = kept(plain), kept(finer[0])
    return [
        Row(
            "‖U‖² − ‖V‖² at the end over the start, (4.1), U larger",
            None,
            share,
            4.0 * abs(share - fine) + 1e-6,
            reference=1.0,
            source="conserved by the flow (DU-T4.2)",
            error="the step's own error, twice the change when it is halved; and as much again",
            catches=("the regularized objective (4.3)", 0.0),
        ),
        Row(
            "the same, (4.3)",
            None,
            kept(regular),
            1e-3,
            reference=0.0,
            source="the regularizer makes UᵀU = VᵀV",
            error="what 1,000 steps leave",
            catches=("the plain objective (4.1)", 1.0),
        ),
    ]
