"""DU, figures 6.2b, 6.3a and 6.3b: the constants of a law of inputs by angle, and SGD on one neuron
and on one filter with average pooling.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin.references import states
from globalmin.reproductions.earlier import SURE, Earlier
from globalmin.reproductions.registry import Reproduction, Row, reproduction

if TYPE_CHECKING:
    from globalmin.reproductions.running import Setting

BATCH, DRAWS = 1, 40  # fresh inputs a step, and runs, ours
STEPS = {"smooth": 0.5, "close": 1.0}
AWAY = (-0.6, 0.8)  # direction of the fixed start from the teacher, in its first two coordinates
# the mean of log10 |w − w*| at the end over runs of our own, seeds from 500,000
SMOOTH = {
    0.2: Earlier(-1.069, 0.133, 400, ("half the step", -0.63)),
    0.5: Earlier(-5.112, 0.654, 400, ("half the step", -2.48)),
    1.0: Earlier(-10.647, 1.281, 400, ("the full gradient instead of SGD", -9.03)),
    2.0: Earlier(-12.381, 1.365, 400, ("the full gradient instead of SGD", -11.04)),
}
CLOSE = {
    0.05: Earlier(-7.380, 1.023, 400, ("half the step", -4.22)),
    0.2: Earlier(-7.173, 0.979, 400, ("half the step", -4.00)),
    0.5: Earlier(-6.130, 0.753, 400, ("half the step", -3.34)),
    1.0: Earlier(-3.966, 0.403, 400, ("half the step", -2.06)),
    2.0: Earlier(-2.584, 0.230, 400, ("half the step", -1.37)),
}
CAPTION = "caption of figure 6.3"


def sgd_distances(
    Z: np.ndarray, w_star: np.ndarray, distance: float, step_size: float
) -> np.ndarray:
    """‖w − w*‖ by step of SGD from the fixed start, every input used once, `BATCH` a step."""
    from globalmin.patches.model import filter_gradient, filter_outputs

    away = np.zeros_like(w_star)
    away[:2] = AWAY
    w, y = w_star + distance * away, filter_outputs(Z, w_star)
    distances = [float(np.linalg.norm(w - w_star))]
    for first in range(0, len(Z), BATCH):
        batch = slice(first, first + BATCH)
        w = w - step_size * filter_gradient(Z[batch], y[batch], w)
        distances.append(float(np.linalg.norm(w - w_star)))
    return np.array(distances)


def smooth_trial(*, sigma: float, steps: int, seed: int) -> dict[str, Any]:
    """One neuron in the plane, angles of the inputs with spread sigma: distance to the teacher by
    step of SGD.
    """
    from globalmin.patches.inputs import angular_inputs

    w_star = np.array([1.0, 0.0])
    Z = angular_inputs(steps * BATCH, w_star, sigma, seed)
    return {"distances": sgd_distances(Z, w_star, 0.8, STEPS["smooth"])}


def close_trial(*, sigma: float, steps: int, seed: int) -> dict[str, Any]:
    """Eight patches at angles of this spread around one direction (p = 5): distance to the teacher
    by step of SGD.
    """
    from globalmin.patches.inputs import close_patches

    w_star = np.eye(5)[0]
    Z = close_patches(steps * BATCH, 8, w_star, sigma, seed)
    return {"distances": sgd_distances(Z, w_star, 0.7, STEPS["close"])}


def _distance_figure(
    setting: Setting,
    item: str,
    earlier: dict[float, Earlier],
    *,
    words: tuple[str, str],
    choices: tuple[str, ...],
) -> Reproduction:
    """The runs of one panel; `words` are the symbol of the spread and the claim of the caption."""
    from globalmin.patches.figures import convergence

    recipe, steps = (smooth_trial, 200) if item == "DU-F6.3a" else (close_trial, 400)
    draws = setting.pick(thumbnail=DRAWS, paper=400)
    points = [
        {"sigma": s, "steps": steps, "seed": 1_000 * setting.seed + draw}
        for s in earlier
        for draw in range(draws)
    ]
    results = setting.trials(recipe, points)
    runs = np.log10([one["distances"] for one in results]).reshape(len(earlier), draws, steps + 1)
    found = {s: 10.0 ** np.median(values, axis=0) for s, values in zip(earlier, runs, strict=True)}
    return Reproduction(
        item=item,
        scale=setting.scale,
        table=tuple(_distance_rows(earlier, runs[:, :, -1], words)),
        data={
            "sigma": np.repeat(list(found), steps + 1),
            "step": np.tile(np.arange(steps + 1), len(found)),
            "median_distance": np.concatenate(list(found.values())),
        },
        figures={
            "": lambda: convergence(
                {f"{words[0]} = {s:g}": values for s, values in found.items()},
                "step",
                "|w − w*|, median",
            )
        },
        choices=(
            *choices,
            f"Not printed: batch and number of runs; ours are one fresh input a step, and {draws} "
            "runs from one start, of which the median is drawn.",
        ),
    )


def _distance_rows(
    earlier: dict[float, Earlier], ends: np.ndarray, words: tuple[str, str]
) -> list[Row]:
    symbol, claim = words
    rows = [
        one.row(f"mean log10 |w − w*| at the end, {symbol} = {s:g}", values)
        for (s, one), values in zip(earlier.items(), ends, strict=True)
    ]
    s, one = list(earlier.items())[2]
    rows.append(one.spread_row(f"its spread over the runs, {symbol} = {s:g}", ends[2]))
    means = ends.mean(axis=1) * (1.0 if symbol == "σ" else -1.0)
    errors = ends.std(axis=1, ddof=1) / math.sqrt(ends.shape[1])
    rise = [
        (b - a) / math.hypot(x, y) for (a, x), (b, y) in pairwise(zip(means, errors, strict=True))
    ]
    rows.append(
        Row(
            "largest step against that order, in standard errors",
            claim,
            float(max(rise)),
            SURE,
            "<=",
            where=CAPTION,
            reference=0.0,
            source="the words as no step against the order",
            error=f"{SURE:g} standard errors of a difference of means",
            catches=("two spreads exchanged", 10.0),
        )
    )
    return rows


ANGLES = np.linspace(0.0, math.pi, 33)
SHOWN = (0.2, 1.0)  # spreads of the angular law beside the Gaussian


def moments_trial(*, law: str, n: int, seed: int) -> dict[str, Any]:
    """γ(φ), L(φ) and the norm of A_{w,−w*} on samples in the plane, at `ANGLES`, over both
    directions.

    `law` is "gaussian", or the spread of the angular law of figure 6.3a.
    """
    from globalmin.patches.inputs import angular_inputs, gaussian_patches

    w_star = np.array([1.0, 0.0])
    Z = (
        gaussian_patches(n, 1, 2, seed)
        if law == "gaussian"
        else angular_inputs(n, w_star, float(law), seed)
    )[:, 0]
    found = np.array([[_moments(Z, sign * phi) for sign in (1.0, -1.0)] for phi in ANGLES])
    return {
        "least": found[:, :, 0].min(axis=1),
        "largest": found[:, :, 1].max(axis=1),
        "opposite": np.maximum.accumulate(found[:, :, 2].max(axis=1)),
    }


def _moments(Z: np.ndarray, phi: float) -> tuple[float, float, float]:
    """Extreme eigenvalues of A_{w,w*} and the largest of A_{w,−w*}, w at the angle phi of e₁."""
    active = Z @ np.array([math.cos(phi), math.sin(phi)]) >= 0.0
    both, own = Z[active & (Z[:, 0] >= 0.0)], Z[active & (Z[:, 0] <= 0.0)]
    spectrum = np.linalg.eigvalsh(both.T @ both / len(Z))
    return (
        float(spectrum[0]),
        float(spectrum[-1]),
        float(np.linalg.eigvalsh(own.T @ own)[-1]) / len(Z),
    )


@states("DU-F6.2b", "DU-D6.1")
@reproduction("DU-F6.2b", title="Figure 6.2b: γ(φ), L(φ) and the opposite moment by angle")
def fig62b(setting: Setting) -> Reproduction:
    """The two eigenvalues of the moment of a common half space fall to 0 at π, that of the opposite
    region grows; Gaussian inputs and two angular laws, with the closed forms dotted.
    """
    from globalmin.patches.constants import RotationInvariantConstants
    from globalmin.report.thesis_figures import moments_by_angle

    n = setting.pick(thumbnail=40_000, paper=1_000_000)
    laws = ("gaussian", *(f"{s:g}" for s in SHOWN))
    results = setting.trials(
        moments_trial, [{"law": law, "n": n, "seed": setting.seed} for law in laws]
    )
    found = dict(zip(laws, results, strict=True))
    exact = RotationInvariantConstants(1.0)
    curves = {
        "least": np.array([exact.gamma(phi) for phi in ANGLES]),
        "largest": np.array([exact.largest(phi) for phi in ANGLES]),
        "opposite": (ANGLES + np.sin(ANGLES)) / (2.0 * math.pi),
    }
    titles = {
        "Gaussian": found["gaussian"],
        **{f"angles of spread {s:g}": found[f"{s:g}"] for s in SHOWN},
    }
    return Reproduction(
        item="DU-F6.2b",
        scale=setting.scale,
        table=tuple(_moment_rows(found, curves, n)),
        data={
            "law": np.repeat(laws, len(ANGLES)),
            "angle": np.tile(ANGLES, len(laws)),
            **{name: np.concatenate([one[name] for one in results]) for name in curves},
        },
        figures={"": lambda: moments_by_angle(ANGLES, titles, {"Gaussian": curves})},
        choices=(
            "The figure of the thesis is a sketch; here the three quantities are measured on "
            f"{n:,} inputs in the plane, over the two filters at each angle.",
        ),
    )


def _moment_rows(
    found: dict[str, dict[str, Any]], curves: dict[str, np.ndarray], n: int
) -> list[Row]:
    """Against the closed forms, with errors of a mean of squares below 3 each; then the words."""
    error = SURE * math.sqrt(3.0 / n)
    names = {"least": "γ", "largest": "L", "opposite": "the opposite moment"}
    rows = [
        Row(
            f"largest error of {words}, Gaussian inputs",
            None,
            float(np.abs(np.asarray(found["gaussian"][name]) - curves[name]).max()),
            error,
            reference=0.0,
            source="closed form (π − φ ∓ sin φ)/2π, (φ + sin φ)/2π",
            error=f"{SURE:g} standard errors of a mean of {n:,} products of variance at most 3",
            catches=("γ and L exchanged at a right angle", 1.0 / math.pi),
        )
        for name, words in names.items()
    ]
    rising = max(
        float(np.diff(np.asarray(one[name])).max())
        for one in found.values()
        for name in ("least", "largest")
    )
    place = int(np.argmin(np.abs(ANGLES - math.pi / 2)))
    gaussian, ratio = found["gaussian"], (math.pi / 2 + 1) / (math.pi / 2 - 1)
    rows += [
        Row(
            "largest rise of γ or L between two angles",
            "both are monotonically decreasing",
            rising,
            1e-12,
            "<=",
            where="below definition 6.1",
            reference=0.0,
            source="the words as no rise",
            error="none: the regions shrink, so the sample moments do too; rounding",
            catches=("γ and L of the opposite region", 0.02),
        ),
        Row(
            "γ(π) and L(π), the larger",
            0.0,
            max(float(one[name][-1]) for one in found.values() for name in ("least", "largest")),
            1e-12,
            where="below definition 6.1: the intersection has measure 0",
            error="none but rounding",
            catches=("the moments at a right angle", 0.1),
        ),
        Row(
            "L/γ at a right angle, Gaussian inputs",
            "γ(φ) = L(φ) for rotationally invariant inputs",
            float(gaussian["largest"][place] / gaussian["least"][place]),
            ratio * error * (1.0 / curves["least"][place] + 1.0 / curves["largest"][place]),
            note="the sentence is an error (E14): equal at 0 and π only",
            where="below definition 6.1",
            reference=ratio,
            source="closed form (π/2 + 1)/(π/2 − 1)",
            error="the errors of both moments",
            catches=("the sentence of the thesis", 1.0),
        ),
    ]
    return rows


@states("DU-F6.3a")
@reproduction("DU-F6.3a", title="Figure 6.3a: one neuron, smoother inputs are learned faster")
def fig63a(setting: Setting) -> Reproduction:
    """Distance to the teacher by step of SGD for four spreads of the angle."""
    choices = (
        "Printed: SGD, unit inputs, the law of the angle, one start and one step for all σ. Not "
        "printed: p, start, step, the values of σ, the axes; ours are p = 2, ‖w₀ − w*‖ = 0.8, "
        "step 0.5, σ as a standard deviation.",
        "The second interval of the law is printed wrong; [−3π/2, −π/2] is meant (erratum E22, "
        "misprint).",
    )
    words = ("σ", "larger σ is smoother, and faster")
    return _distance_figure(setting, "DU-F6.3a", SMOOTH, words=words, choices=choices)


@states("DU-F6.3b")
@reproduction("DU-F6.3b", title="Figure 6.3b: closer patches are learned faster")
def fig63b(setting: Setting) -> Reproduction:
    """Distance to the teacher by step of SGD for five spreads of the patches."""
    choices = (
        "Printed: SGD, the law of the patches with σ = 1. Not printed: k, p, start, step, the "
        "values of σ₂, the axes; ours are k = 8, p = 5, ‖w₀ − w*‖ = 0.7, step 1.",
    )
    words = ("σ₂", "smaller σ₂ is closer, and faster")
    return _distance_figure(setting, "DU-F6.3b", CLOSE, words=words, choices=choices)
