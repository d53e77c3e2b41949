"""DU, figures 4.1 and 4.2: matrix factorization with and without regularizer, and how balanced the
layers of a network stay.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin.references import states
from globalmin.reproductions.registry import Reproduction, Row, reproduction

if TYPE_CHECKING:
    from globalmin.reproductions.running import Setting

SIZES = {
    "balanced": (0.1, 0.1, 0.1),
    "unbalanced": (10.0, 1.0, 0.1),
}  # squared norms of the three layers at the start
PUBLISHED = {"balanced": (42.90, 43.76, 43.68), "unbalanced": (55.50, 45.65, 45.46)}
LAYERS = ("‖W₁‖²", "‖W₂‖²", "‖W₃‖²")


def factor_trial(*, d: int, rank: int, penalty: float, steps: int, seed: int) -> dict[str, Any]:
    """Gradient descent on U Vᵀ = M from N(0, 0.01²) factors: objective and ‖U‖/‖V‖ by step; penalty
    1/8 is (4.3).
    """
    from globalmin.factorization.factors import Factors
    from globalmin.factorization.train import descend_factors

    rng = np.random.default_rng(seed)
    left, right = (np.linalg.qr(rng.standard_normal((d, rank)))[0] for _ in range(2))
    M = (left * np.linspace(1.0, 2.0, rank)) @ right.T
    start = Factors.initialize((d, d), rank, scale=0.01, seed=seed + 1)
    run = descend_factors(M, start, step_size=0.05, max_iter=steps, tol=0.0, penalty=penalty)
    return {
        "objective": run.objectives,
        "ratio": run.norm_u / run.norm_v,
        "imbalance": run.imbalance,
    }


@states("DU-F4.1")
@reproduction(
    "DU-F4.1", title="Figure 4.1: gradient descent on a factorization, with and without regularizer"
)
def fig41(setting: Setting) -> Reproduction:
    """Objectives (4.1) and (4.3), and the ratio of the norms of the factors, by step."""
    from globalmin.report.reproduction_figures import panel_curves

    d, rank = setting.pick(thumbnail=(50, 5), paper=(200, 10))
    steps = 1_000
    names = {"(4.1), no regularizer": 0.0, "(4.3), regularized": 0.125}
    points = [
        {"d": d, "rank": rank, "penalty": penalty, "steps": steps, "seed": setting.seed}
        for penalty in names.values()
    ]
    found = dict(zip(names, setting.trials(factor_trial, points), strict=True))
    plain, regular = found.values()
    reached = [
        int(np.argmax(np.asarray(one["objective"]) < 1e-6 * one["objective"][0]))
        for one in found.values()
    ]
    rows = (
        Row(
            "steps to 1e-6 of the first objective, (4.1) over (4.3)",
            "a competitive rate",
            reached[0] / reached[1],
            0.1,
            where="text on figure 4.1",
            reference=1.0,
            source="the words as a ratio of one",
        ),
        Row(
            "last objective, no regularizer",
            "a global minimum",
            float(plain["objective"][-1]),
            1e-12,
            where="text on figure 4.1",
            reference=0.0,
            source="loss zero",
        ),
        Row(
            "last objective, regularized",
            "a global minimum",
            float(regular["objective"][-1]),
            1e-12,
            where="text on figure 4.1",
            reference=0.0,
            source="loss zero",
        ),
        Row(
            "last ‖U‖/‖V‖, no regularizer",
            "stays constant",
            float(plain["ratio"][-1]),
            0.01,
            where="text on figure 4.1",
            reference=1.0,
            source="balanced by DU-T4.2",
        ),
        Row(
            "largest ‖UᵀU − VᵀV‖, no regularizer",
            None,
            float(np.max(plain["imbalance"])),
            0.05,
            note="conserved by the flow (DU-T4.2); the step makes the rest",
            reference=0.0,
            source="0 for the flow (DU-T4.2)",
        ),
    )
    shown = [
        (
            {name: (np.arange(len(one[key])), np.asarray(one[key])) for name, one in found.items()},
            ("step", label),
            scale,
        )
        for key, label, scale in (("objective", "(a) objective", "y"), ("ratio", "(b) ‖U‖/‖V‖", ""))
    ]
    t = np.arange(len(plain["objective"]))
    return Reproduction(
        item="DU-F4.1",
        scale=setting.scale,
        table=rows,
        data={
            "step": np.tile(t, 2),
            "objective_of": np.repeat(list(names), len(t)),
            **{
                key: np.concatenate([one[key] for one in found.values()])
                for key in ("objective", "ratio", "imbalance")
            },
        },
        figures={"": lambda: panel_curves(shown, dashed=True)},
        choices=(
            f"The thesis gives neither size, rank, step nor start: {d} x {d}, rank {rank}, "
            "singular values 1 to 2, step 0.05, entries of the start N(0, 0.01²).",
        ),
    )


def layers_trial(
    *, start: str, n: int, width: int, steps: int, step_size: float, seed: int
) -> dict[str, Any]:
    """Three layers of ReLU, n inputs of n numbers, 10 outputs: squared norms of the layers and the
    loss by recorded step.
    """
    from globalmin.balancedness.network import fully_connected
    from globalmin.balancedness.runs import follow_descent, pose_balance

    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((n, n)), rng.standard_normal((n, 10))
    network = fully_connected((n, width, width, 10), "relu")
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
    from globalmin.report.reproduction_figures import panel_curves

    n, width, steps, eta = setting.pick(
        thumbnail=(200, 40, 4_000, 0.02), paper=(1_000, 100, 10_000, 0.05)
    )
    points = [
        {
            "start": start,
            "n": n,
            "width": width,
            "steps": steps,
            "step_size": eta,
            "seed": setting.seed,
        }
        for start in SIZES
    ]
    found = dict(zip(SIZES, setting.trials(layers_trial, points), strict=True))
    differences = {
        start: -np.diff(np.asarray(one["norms"]), axis=1) for start, one in found.items()
    }
    ratios = {start: one["norms"][:, :-1] / one["norms"][:, 1:] for start, one in found.items()}
    return Reproduction(
        item="DU-F4.2",
        scale=setting.scale,
        table=tuple(_layer_rows(found, differences)),
        data={
            "start": np.repeat(list(found), [len(one["step"]) for one in found.values()]),
            "step": np.concatenate([one["step"] for one in found.values()]),
            "loss": np.concatenate([one["loss"] for one in found.values()]),
            **{
                f"norm_{h + 1}": np.concatenate([one["norms"][:, h] for one in found.values()])
                for h in range(3)
            },
        },
        figures={
            "differences": lambda: panel_curves(_panels(found, differences, "−"), own_legends=True),
            "ratios": lambda: panel_curves(_panels(found, ratios, "/"), own_legends=True),
        },
        choices=(
            "The thesis gives neither data, labels, step nor normalization: N(0,1) inputs and "
            f"labels, L = (1/2n)Σ‖·‖², step {eta:g}."
            + (
                ""
                if setting.scale == "paper"
                else f" Here {n} points in {n} dimensions, width {width}, the starts scaled to the "
                "same norms."
            ),
            "Two of the six printed norms contradict the text (erratum E22): 42.90 is likely "
            "43.90; 55.50 − 45.65 is above 9.",
        ),
    )


def _panels(
    found: dict[str, dict[str, Any]], values: dict[str, np.ndarray], sign: str
) -> list[Any]:
    word = "difference" if sign == "−" else "ratio"
    return [
        (
            {
                f"{LAYERS[h]} {sign} {LAYERS[h + 1]}": (
                    np.asarray(found[start]["step"]),
                    values[start][:, h],
                )
                for h in (0, 1)
            },
            (f"step, {start} start", word),
            "",
        )
        for start in SIZES
    ]


def _layer_rows(found: dict[str, dict[str, Any]], differences: dict[str, np.ndarray]) -> list[Row]:
    drift = {
        start: float(np.abs(values - values[0]).max()) for start, values in differences.items()
    }
    ends = {start: np.asarray(one["norms"])[-1] for start, one in found.items()}
    rows = [
        Row(
            "balanced: largest |difference|",
            0.14,
            float(np.abs(differences["balanced"]).max()),
            0.05,
            "<=",
            note="published: ≤ .14",
            where="text on figure 4.2",
        ),
        Row(
            "unbalanced: largest |difference|",
            9.0,
            float(np.abs(differences["unbalanced"]).max()),
            0.6,
            "<=",
            note="published: ≤ 9",
            where="text on figure 4.2",
        ),
        Row(
            "largest change of a difference",
            None,
            max(drift.values()),
            0.5,
            note="0 for the flow (DU-C4.1); grows with the step",
            reference=0.0,
            source="0 for the flow (DU-C4.1)",
        ),
        Row(
            "exact law of the drift: largest error",
            None,
            max(float(one["identity"]) for one in found.values()),
            1e-8,
            note="D(k+1) − D(k) = η²(‖G‖² − ‖G⁺‖²)",
            reference=0.0,
            source="identity of our spec page",
        ),
        Row(
            "balanced: largest ratio of two layers at the end",
            1.0,
            float(ends["balanced"].max() / ends["balanced"].min()),
            0.05,
            note="published: tends to 1",
            where="text on figure 4.2: the ratios tend to 1",
        ),
    ]
    rows += [
        Row(
            f"{start}: {name} at the end",
            PUBLISHED[start][h],
            float(ends[start][h]),
            note="other data and labels, so another size; the differences are what is conserved",
            where="text on figure 4.2",
        )
        for start in SIZES
        for h, name in enumerate(LAYERS)
    ]
    return rows
