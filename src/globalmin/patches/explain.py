r"""Chapter 6 along a run of gradient descent on one filter: the inequalities of its proofs at every
step, with constants measured on the patches, and where the promise begins and ends.

A run keeps its start and its losses; it is followed once more with its step (found from the first
losses unless given) and must meet the recorded losses.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from globalmin.errors import DataError, HypothesisError
from globalmin.facts.explanation import Explanation, Lemma, Promise, steps_to_read
from globalmin.patches import model, rates
from globalmin.patches.constants import FilterConstants, estimate_constants
from globalmin.references import states

if TYPE_CHECKING:
    from collections.abc import Iterator

    from globalmin._types import Array, ArrayLike
    from globalmin.patches.train import FilterRun

REPLAYED = 1e-6  # relative to the first loss
CLOSE, DOUBT = 0.2, 0.1  # accuracy and failure probability that SGD would be asked for


@states("DU-T6.1", "DU-T6.2", "DU-T6.3", "DU-T6.4", "DU-L6.1", "DU-D6.2", "DU-C6.1")
def explain_run(
    run: FilterRun,
    Z: ArrayLike,
    *,
    teacher: ArrayLike | None = None,
    step_size: float | None = None,
    seed: int = 0,
) -> Explanation:
    """Every inequality of chapter 6 along a run of gradient descent on patches n x k x p; `teacher`
    is the filter that made the labels, by default the one that was learned.
    """
    if run.start is None or run.method != "gradient_descent":
        raise DataError(
            f"method={run.method!r}: chapter 6 follows gradient descent; explain a run of "
            "fit_filter(..., method='gradient_descent')"
        )
    Z, w_star = model.as_patches(Z, run.w if teacher is None else teacher)
    y = model.filter_outputs(Z, w_star)
    eta = _step(Z, y, run.start, run.losses) if step_size is None else step_size
    path = _replayed(Z, y, run.start, run.losses, eta)
    known = estimate_constants(Z, w_star, n_bootstrap=0, seed=seed)
    steps = steps_to_read(len(path) - 1)
    distance = np.linalg.norm(np.array(path) - w_star, axis=1)
    W = float(np.linalg.norm(w_star))
    rows = np.array([_at_step(Z, path[t], w_star, known, eta) for t in steps], dtype=np.float64).T
    after = np.append(distance[1:], np.nan)[steps]
    names = _names(Z.shape[1])
    rows[3] = rows[3] * distance[steps] ** 2 - after**2
    scale = float(np.max(distance)) ** 2
    lemmas = [
        Lemma(*name, slack, scale) for name, slack in zip(names, rows[: len(names)], strict=True)
    ]
    good = rates.good_angles(known, _angle(float(distance[0]), W))
    said = "the learned filter as teacher" if teacher is None else "the given teacher"
    return Explanation(
        f"gradient descent on one filter, {Z.shape[0]} samples of {Z.shape[1]} patches, step "
        f"{eta:.4g}, {len(path) - 1} steps, {said} (DU chapter 6)",
        _verdict(distance, W, good, run),
        steps,
        tuple(lemmas),
        _promises(Z, path[0], w_star, known, (distance, eta, good)),
        distance[steps],
        _envelope(known, distance, W, eta)[steps],
        "distance to the teacher",
    )


def _names(k: int) -> list[tuple[str, str]]:
    item = "DU-T6.2" if k == 1 else "DU-T6.3"
    return [
        ("DU-D6.2", "the gradient is the sum over the regions"),
        (item, "⟨∇ℓ, w − w*⟩ at least (γ − 6 L_cross)|w − w*|²"),
        (item, "|∇ℓ| at most (L + 10 L_cross + 4β)|w − w*|"),
        (item, "|w − w*|² shrinks by 1 − η(γ − 6 L_cross)/2"),
        *([("DU-L6.1", "both parts of ⟨∇ℓ, w − w*⟩ are not negative")] if k == 1 else []),
    ]


def _at_step(
    Z: Array, w: Array, w_star: Array, known: FilterConstants, eta: float
) -> tuple[float, ...]:
    """Slacks of the identity and of the two inequalities of the proof, the factor of the theorem
    (NaN if the step is not covered), and the least term of DU-L6.1.
    """
    gradient = model.filter_gradient(Z, model.filter_outputs(Z, w_star), w)
    gap = w - w_star
    identity = -float(np.linalg.norm(gradient - model.gradient_by_regions(Z, w, w_star)))
    least = min(model.neuron_descent_terms(Z, w, w_star)) if Z.shape[1] == 1 else math.nan
    r, phi = float(np.linalg.norm(gap)), _angle(float(np.linalg.norm(gap)), _norm(w_star))
    if math.isnan(phi) or math.isinf(known.cross(phi)):
        return identity, math.nan, math.nan, math.nan, least
    inner = float(gradient @ gap) - rates.cross_margin(known, phi) * r**2
    most = known.largest(0.0) + 10.0 * known.cross(phi) + 4.0 * known.beta
    factor = (
        rates.contraction(known, phi, eta)
        if 0.0 < eta <= rates.max_step(known, phi) * (1.0 + 1e-12)
        else math.nan
    )
    return identity, inner, most * r - float(np.linalg.norm(gradient)), factor, least


def _norm(w: Array) -> float:
    return float(np.linalg.norm(w))


def _angle(distance: float, W: float) -> float:
    return math.asin(distance / W) if distance < W else math.nan


def _descent(Z: Array, y: Array, w: Array, eta: float) -> Iterator[tuple[Array, float]]:
    while True:
        yield w, model.filter_loss(Z, y, w)
        w = w - eta * model.filter_gradient(Z, y, w)


def _replayed(Z: Array, y: Array, start: Array, losses: Array, eta: float) -> list[Array]:
    """The filters of the run, found again; refuses another run."""
    path, first = [], float(losses[0])
    for (w, value), seen in zip(_descent(Z, y, start, eta), losses, strict=False):
        if not abs(value - seen) <= REPLAYED * first:
            raise DataError(
                f"step {len(path)} has loss {seen:.6g} in the run and {value:.6g} with labels of "
                f"the teacher and step_size={eta:.6g}: give the patches, the teacher and the one "
                "step of the run"
            )
        path.append(w)
    return path


def _step(Z: Array, y: Array, w: Array, losses: Array) -> float:
    """The step whose first losses are those of the run."""
    from scipy.optimize import brentq

    if len(losses) < 2:
        raise DataError("the run made no step: there is nothing to explain")
    gradient = model.filter_gradient(Z, y, w)

    def miss(eta: float) -> float:
        return model.filter_loss(Z, y, w - eta * gradient) - float(losses[1])

    flat = Z.reshape(-1, Z.shape[2])
    unit = 1.0 / max(float(np.linalg.eigvalsh(flat.T @ flat / len(flat))[-1]), 1e-300)
    tried = unit * np.geomspace(1e-6, 1e3, 361)
    values = [miss(float(eta)) for eta in tried]
    pairs = zip(tried[:-1], tried[1:], values[:-1], values[1:], strict=True)
    roots = [
        float(brentq(miss, a, b, xtol=1e-300, rtol=np.float64(1e-15)))  # pyright: ignore[reportArgumentType]
        for a, b, u, v in pairs
        if u * v <= 0.0
    ]

    def later(eta: float) -> float:
        found = (value for _, value in _descent(Z, y, w, eta))
        return max(abs(a - float(b)) for a, b in zip(found, losses[:4], strict=False))

    if not roots:
        raise DataError(
            "step_size: no step from the start gives the losses of the run with labels of the "
            "teacher; give the teacher that made the labels"
        )
    return min(roots, key=later)


def _envelope(known: FilterConstants, distance: Array, W: float, eta: float) -> Array:
    """The distance that the theorem promises from the start on; NaN where it is silent."""
    bound, r = np.full(len(distance), np.nan), float(distance[0])
    for t in range(len(distance)):
        bound[t] = r
        phi = _angle(r, W)
        if math.isnan(phi) or not 0.0 < eta <= rates.max_step(known, phi) * (1.0 + 1e-12):
            bound[t] = r if t else np.nan
            break
        r *= math.sqrt(rates.contraction(known, phi, eta))
    return bound


def _promises(
    Z: Array,
    w0: Array,
    w_star: Array,
    known: FilterConstants,
    seen: tuple[Array, float, tuple[float, float]],
) -> tuple[Promise, ...]:
    distance, eta, (low, high) = seen
    W, end = _norm(w_star), float(distance[-1])
    start = rates.starts_below_zero(Z, w0, w_star)
    phi0 = _angle(float(distance[0]), W)
    found = [
        Promise("DU-T6.1", "the start beats the zero filter, so w* is the limit" if start
                else "silent: the start does not beat the zero filter", 0.0, end)
    ]  # fmt: skip
    item = "DU-T6.2" if Z.shape[1] == 1 else "DU-T6.3"
    if math.isnan(phi0) or high == 0.0:
        found.append(Promise(item, "silent: γ > 6 L_cross fails at the start, or |w₀ − w*| ≥ |w*|"))
    else:
        most = rates.max_step(known, phi0)
        words = f"largest step at the start; covered for angles from {low:.3g} to {high:.3g}"
        found.append(Promise(item, words, most, eta))
        words = "distance at which the promise ends"
        found.append(Promise(item, words, W * math.sin(low), end))
    chance = rates.good_start_chance(rates.good_angles(known)[1], w_star.size)
    found.append(Promise("DU-C6.1", "a random start is good with probability", chance))
    bound = float(np.max(np.linalg.norm(Z, axis=2).mean(axis=1) ** 2)) * W
    try:
        plan = rates.plan_sgd(
            known, float(distance[0]), gradient_bound=bound, eps=CLOSE, delta=DOUBT, W=W
        )
        words = f"SGD: steps of {plan.step_size:.2g} until |w − w*| < {CLOSE:g}|w*|"
        found.append(Promise("DU-T6.4", words, float(plan.n_steps)))
    except HypothesisError as refusal:
        found.append(Promise("DU-T6.4", f"silent: {refusal.hypothesis}"))
    return tuple(found)


def _verdict(distance: Array, W: float, good: tuple[float, float], run: FilterRun) -> str:
    steps = np.arcsin(np.clip(distance / W, 0.0, 1.0))
    inside = int(np.sum((steps >= good[0]) & (steps <= good[1]) & (good[1] > 0.0)))
    return (
        f"|w − w*| from {distance[0]:.3g} to {distance[-1]:.3g}, {run.status.message}; "
        f"γ > 6 L_cross at {inside} of {len(distance)} points"
    )
