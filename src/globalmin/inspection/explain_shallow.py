r"""What theory says along a run of gradient descent on a two-layer network: the envelopes of OS-C1
(smooth) or OS-C3 (ReLU), movement, sign changes, the gradient and the loss, and DU-T2.3 beside it.

Everything is read off the recorded trajectory; the step is the first movement over the first
gradient.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from globalmin.errors import DataError
from globalmin.facts.explanation import Explanation, Lemma, Promise
from globalmin.inspection.prediction import guarantee_at, predict_losses
from globalmin.kernels.limit_gram import limit_gram
from globalmin.kernels.movement import descent_movement, flips_allowed, neuron_movement
from globalmin.kernels.rates import relu_step_limit
from globalmin.kernels.widths import descent_width
from globalmin.linalg.spectrum import ALL_LIMIT
from globalmin.references import states
from globalmin.shallow.network import preactivations

if TYPE_CHECKING:
    from globalmin._types import Array, NDArray
    from globalmin.data import Dataset
    from globalmin.shallow.guarantee import Guarantee
    from globalmin.shallow.network import ShallowNetwork
    from globalmin.shallow.trajectory import ShallowRun


@states("OS-C1", "OS-C3", "OS-LC.2", "SJL-L7.12", "DU-T2.3", "DU-C2.1", "DU-L2.2", "DU-Q2.6")
def explain_shallow(run: ShallowRun, data: Dataset) -> Explanation:
    """The lemmas of OS and of DU chapter 2 along a run of gradient descent on the first layer."""
    start, path = run.start, run.trajectory
    if start is None or run.method != "gradient_descent" or len(path) < 2:
        raise DataError(
            f"method={run.method!r}: the theorems follow gradient descent; explain a run of "
            "gm.train(..., method='gradient_descent'), or what a flow conserves along "
            "balancedness.runs.follow_flow"
        )
    if not np.array_equal(start.v, run.network.v) or path.iteration[1] != 1:
        raise DataError("trained: the theorems are about the first layer; train with trained='W'")
    X = np.asarray(data.X, dtype=np.float64)
    r0 = math.sqrt(2.0 * float(path.loss[0]))
    slope = float(path.gradient_norm[0])
    eta = float(path.distance[1]) / slope if slope > 0.0 else math.nan
    found = guarantee_at(start, data, eta)
    residual, t = np.sqrt(2.0 * path.loss), path.iteration
    bound = np.full(len(t), np.nan)
    if found is not None:
        bound = np.asarray(r0 * found.rate**t, dtype=np.float64)
    lemmas = (
        *_envelopes(start, residual, bound, path.path_length, found),
        *_measured(run, start, X),
    )
    name = start.activation.name
    return Explanation(
        f"gradient descent on a {name} network of width {start.width}, n = {len(X)}, step "
        f"{eta:.4g}, {run.n_iter} steps (OS; DU chapter 2)",
        f"residual from {r0:.4g} to {math.sqrt(2.0 * run.loss):.3g}: {run.status.message}",
        t,
        lemmas,
        (
            *_promises(run, start, data, (eta, found)),
            *_relu_promises(run, start, X, eta),
        ),
        residual,
        bound,
        "residual ‖u − y‖",
    )


def _envelopes(
    start: ShallowNetwork, residual: Array, bound: Array, path: Array, found: Guarantee | None
) -> list[Lemma]:
    item = "OS-C3" if start.activation.name == "relu" else "OS-C1"
    room = np.full(len(path), np.nan) if found is None else found.path - path
    scale = float(residual[0])
    return [
        Lemma(item, "the residual stays under rate^t times the first", bound - residual, scale),
        Lemma(item, "the path stays under its bound", np.where(np.isinf(room), np.nan, room)),
    ]


def _measured(run: ShallowRun, start: ShallowNetwork, X: Array) -> list[Lemma]:
    """Sign changes by the recorded distance, and the gradient by the least singular value."""
    path = run.trajectory
    Z, norms = preactivations(start, X), np.linalg.norm(X, axis=1)
    allowed = np.array([flips_allowed(Z, norms, float(d)).sum() for d in path.distance])
    loss = np.maximum(path.loss - run.floor, 0.0)
    least = 2.0 * path.sigma_min**2 * loss if run.floor == 0.0 else np.full(len(path), np.nan)
    # sigma_min is an estimate: to 1e-8 of |J|, and for more than 128 samples a few per cent above
    slack = path.gradient_norm**2 - (0.9 if len(X) > 128 else 1.0 - 1e-6) * least
    return [
        Lemma("OS-LC.2", "signs changed, at most what the distance allows",
              (allowed - path.pattern_changes).astype(np.float64), float(Z.size)),
        Lemma("SJL-L7.12", "|∇L|² at least 2σ²L", slack, float(path.gradient_norm[0]) ** 2),
    ]  # fmt: skip


def _limit(start: ShallowNetwork, X: Array) -> float:
    """lambda_0 of DU chapter 2 times |v|^2; NaN where the chapter is silent."""
    unit = np.allclose(np.linalg.norm(X, axis=1), 1.0, atol=1e-9)
    head = np.allclose(np.abs(start.v), 1.0 / math.sqrt(start.width), rtol=1e-9)
    if start.activation.name != "relu" or not (unit and head) or len(X) > ALL_LIMIT:
        return math.nan
    return float(np.linalg.eigvalsh(limit_gram(X, "relu"))[0])


def _promises(
    run: ShallowRun, start: ShallowNetwork, data: Dataset, seen: tuple[float, Guarantee | None]
) -> list[Promise]:
    eta, found = seen
    item = "OS-C3" if start.activation.name == "relu" else "OS-C1"
    path = run.trajectory
    predicted = float(predict_losses(start, data, eta, path.iteration[-1:])[0])
    rate = _rate(path.loss, path.iteration)
    rows = [Promise("DU-Q2.6", "loss at the end, by linearization at the start", predicted,
                    float(path.loss[-1]))]  # fmt: skip
    if found is None:
        return [*rows, Promise(item, "silent at this start and step: train longer first, or "
                               "a smaller step", happened=rate)]  # fmt: skip
    moved = float(path.distance[-1])
    return [
        *rows,
        Promise(item, "factor of ‖r‖ per step, at most", found.rate, rate, rate <= found.rate),
        Promise(item, "distance from the start, at most", found.distance, moved,
                moved <= found.distance),
    ]  # fmt: skip


def _rate(loss: Array, t: NDArray[np.int64]) -> float:
    """Mean factor of the residual per step, from the start to the last step above rounding."""
    seen = np.flatnonzero(loss > 1e-20 * loss[0])
    last = int(seen[-1]) if seen.size else 0
    return float((loss[last] / loss[0]) ** (0.5 / max(int(t[last]), 1))) if last else math.nan


def _relu_promises(run: ShallowRun, start: ShallowNetwork, X: Array, eta: float) -> list[Promise]:
    """DU chapter 2 beside the run: the rate, the spectrum and the width that it asks for, and the
    movement, which is bounded wherever the rate was met.
    """
    lambda0, path = _limit(start, X), run.trajectory
    if not lambda0 > 0.0:
        words = "silent: unit rows, ReLU and a head of ±1/√m are asked for"
        return [Promise("DU-T2.3", words)]
    r0 = math.sqrt(2.0 * float(path.loss[0]))
    needed = descent_width(len(X), lambda0, misfit_square=r0**2)
    factor = max(1.0 - eta * lambda0 / 2.0, 0.0)
    under = bool(np.all(path.loss <= path.loss[0] * factor**path.iteration * (1.0 + 1e-12)))
    speaks = start.width >= needed and eta <= relu_step_limit(lambda0, len(X))
    most = descent_movement(float(np.linalg.norm(X, 2)), r0, start.width, lambda0)
    moved = neuron_movement(run.network.W, start.W)
    return [
        Promise("DU-T2.3", "factor of ‖r‖ per step, if wide enough and η small enough",
                math.sqrt(factor), _rate(path.loss, path.iteration), under if speaks else None),
        Promise("DU-T2.3", "width that it asks for", needed, float(start.width)),
        Promise("DU-T2.3", "step that it allows", relu_step_limit(lambda0, len(X)), eta),
        Promise("DU-L2.2", "λ_min(H) that it needs at every step, least one measured",
                lambda0 / 2.0, float(np.nanmin(path.sigma_min)) ** 2),
        Promise("DU-C2.1", "movement of one neuron, if ‖r‖ was under that rate", most, moved,
                moved <= most if under else None),
    ]  # fmt: skip
