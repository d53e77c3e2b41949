"""GKZ, run X3: with n = d(d+1)/2 samples a network that fits them is the teacher, with fewer it may
be another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin.references import states
from globalmin.reproductions.gkz import NO_EXPERIMENT
from globalmin.reproductions.registry import Reproduction, Row, reproduction

if TYPE_CHECKING:
    from globalmin.reproductions.running import Setting


def transition_trial(*, d: int, n: int, draws: int, max_iter: int, seed: int) -> dict[str, Any]:
    """Fits of planted labels with n samples: relative training loss and relative population risk of
    each draw.
    """
    from globalmin.quadratic.runs import sample_transition

    (row,) = sample_transition(d, [n], draws=draws, seed=seed, max_iter=max_iter)
    return {"spans": row.is_critical, "training": row.training, "population": row.population}


def interpolant_trial(*, d: int, n: int, seed: int) -> dict[str, Any]:
    """The interpolant of GKZ-T2.6b with n samples: its training loss and its risk over sigma^4."""
    from globalmin.quadratic.ambiguity import bad_interpolant
    from globalmin.quadratic.risk import population_risk, quadratic_outputs
    from globalmin.quadratic.runs import conditioned_teacher

    X, Wstar = (
        np.random.default_rng(seed).standard_normal((n, d)),
        conditioned_teacher(d, d, seed=seed + 1),
    )
    found = bad_interpolant(X, Wstar)
    W = Wstar if found is None else found.W
    miss = quadratic_outputs(W, X) - quadratic_outputs(Wstar, X)
    return {"miss": float(np.abs(miss).max()), "risk": population_risk(W, Wstar)}


def enough(d: int) -> int:
    """N = d(d+1)/2 of GKZ-T2.8."""
    return d * (d + 1) // 2


@states("GKZ-X3")
@reproduction("GKZ-X3", title="Run X3: generalization sets in at n = d(d+1)/2 samples")
def transition(setting: Setting) -> Reproduction:
    """Training loss and population risk of fits by descent, for n below and above d(d+1)/2."""
    from globalmin.report.curves import panel_curves

    d, draws, max_iter = setting.pick(thumbnail=(5, 5, 500), paper=(8, 20, 5_000))
    N = enough(d)
    samples = (N // 3, N // 2, N - 1, N, (3 * N) // 2, 2 * N)
    points = [
        {"d": d, "n": n, "draws": draws, "max_iter": max_iter, "seed": setting.seed}
        for n in samples
    ]
    found = setting.trials(transition_trial, points)
    (bad,) = setting.trials(interpolant_trial, [{"d": d, "n": N - 1, "seed": setting.seed}])
    training, population = (
        np.array([one[name] for one in found]) for name in ("training", "population")
    )
    n = np.array(samples)
    curves = {
        "training loss": (n / N, np.maximum(np.median(training, axis=1), 1e-32)),
        "population risk": (n / N, np.maximum(np.median(population, axis=1), 1e-32)),
    }
    return Reproduction(
        item="GKZ-X3",
        scale=setting.scale,
        table=_transition_rows(N, samples, found, bad),
        data={
            "n": np.repeat(n, draws),
            "training": training.reshape(-1),
            "population": population.reshape(-1),
        },
        figures={
            "": lambda: panel_curves(
                [(curves, ("n / (d(d+1)/2)", "relative to W = 0, median"), "y")],
                marker="o",
                mark=1.0,
            )
        },
        choices=(
            NO_EXPERIMENT,
            f"d = {d}, so d(d+1)/2 = {N}; N(0,1) samples, {draws} draws for each n, starts of "
            "scale 0.5; gradient descent, its end led to zero training loss by "
            "Levenberg-Marquardt (descent alone takes very long at n = N).",
        ),
    )


def _transition_rows(
    N: int, samples: tuple[int, ...], found: list[dict[str, Any]], bad: dict[str, Any]
) -> tuple[Row, ...]:
    training, population = (
        np.array([one[name] for one in found]) for name in ("training", "population")
    )
    spans = [size for size, one in zip(samples, found, strict=True) if one["spans"]]
    missing = [size for size, one in zip(samples, found, strict=True) if not one["spans"]]
    below, at = (population[samples.index(size)] for size in (N - 1, N))
    rounding = "rounding times the squared condition of the samples"
    return (
        Row(
            "first n at which the samples span",
            N,
            min(spans, default=0),
            0.0,
            note="GKZ-T2.8, exact ranks",
            where="theorem 2.8",
            error="none: exact ranks",
            catches=("one sample more", N + 1.0),
        ),
        Row(
            "last n at which they do not",
            N - 1,
            max(missing, default=0),
            0.0,
            note="GKZ-T2.8",
            where="theorem 2.8",
            error="none: exact ranks",
            catches=("one sample fewer", N - 2.0),
        ),
        Row(
            "largest relative training loss",
            None,
            float(training.max()),
            1e-20,
            reference=0.0,
            source="every fit is finished",
            error="rounding",
            catches=("descent stopped at a relative 1e-12", 1e-12),
        ),
        Row(
            f"largest relative risk, n = {N}",
            "0: the teacher itself",
            float(at.max()),
            1e-12,
            note="GKZ-T2.9a",
            where="theorem 2.9 (a)",
            reference=0.0,
            source="the same",
            error=rounding,
            catches=("one sample fewer, median", float(np.median(below))),
        ),
        Row(
            f"median relative risk, n = {N - 1}",
            "more than 0 is possible",
            float(np.median(below)),
            0.0,
            ">=",
            note="GKZ-T2.9b says that wrong fits exist, not that descent finds one",
            where="theorem 2.9 (b)",
            reference=1e-6,
            source="a million times what is allowed at one sample more",
            error="none: a floor",
            catches=("the teacher itself", 0.0),
        ),
        Row(
            f"risk / σ⁴ of the constructed interpolant, n = {N - 1}",
            2.0,
            float(bad["risk"]),
            0.0,
            ">=",
            note="GKZ-T2.6b",
            where="theorem 2.6 (b)",
            error="none: a bound",
            catches=("the teacher itself", 0.0),
        ),
        Row(
            "its largest error on the samples",
            None,
            float(bad["miss"]),
            1e-10,
            note="zero training loss and wrong",
            reference=0.0,
            source="GKZ-T2.6b",
            error=rounding,
            catches=("half of the direction left out", 0.5),
        ),
    )
