"""Gradient descent on all layers of a deep network from a random start, followed until the rest of
the run can be proved: the conclusion of DU-T3.1 to T3.3 for one start, one width and these data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from globalmin.deep.lipschitz import estimate_deep_descent
from globalmin.deep.network import DeepNetwork, draw_deep
from globalmin.deep.problem import pose_deep
from globalmin.errors import CannotCertify, DataError
from globalmin.proving.producer import prove, unproved
from globalmin.references import states
from globalmin.shallow.from_start import seeded_entries
from globalmin.shallow.methods.gradient_descent import check_step

if TYPE_CHECKING:
    from globalmin._types import Array
    from globalmin.data import Dataset
    from globalmin.deep.problem import DeepPoint
    from globalmin.proving.claim import StartQuestion
    from globalmin.proving.proof import Proof

MAX_ITER = 20_000
SHARE = 0.6  # of 1/|J|^2 at the start: |J| grows on the way, and the whole of it does not land
LANDED = 0.8  # of 1, where deep-descent begins to hold: room for Delta
_ASKED_EVERY = 0.8  # the theorem is asked when the residual fell by a fifth since the last question
_FIRST_ASKED = 0.05  # of |y|: it has not been seen to hold before


@dataclass(frozen=True)
class DeepStartedRun:
    """Gradient descent on all layers from a start to weights from which the rest is provable.

    Attributes
    ----------
    start : the network at the start, rounded to doubles where the start is the cell of a seed.
    network : the network after `n_iter` steps.
    step_size : eta on L = (1/2) sum r^2, common to all layers.
    n_iter : K.
    seed : whose cell the start is; None for stored doubles.
    length : of the path of the K steps.
    """

    start: DeepNetwork
    network: DeepNetwork
    step_size: float
    n_iter: int
    seed: int | None
    length: float


@states("DU-T3.1", "DU-T3.2", "DU-T3.3")
@np.errstate(over="ignore", invalid="ignore")
def descend_deep(
    start: DeepNetwork,
    data: Dataset,
    *,
    step_size: float | str | None = None,
    max_iter: int = MAX_ITER,
    seed: int | None = None,
) -> DeepStartedRun:
    """Follow gradient descent on all layers until deep-descent holds with room at its weights.

    Raises CannotCertify, with the number that must fall below 1, if that does not happen within
    `max_iter` steps.
    """
    X, y = np.asarray(data.X, dtype=np.float64), np.asarray(data.y, dtype=np.float64)
    point: DeepPoint | None = pose_deep(start, X, y).at(start)
    if step_size in (None, "theory"):
        step_size = SHARE / max(float(np.linalg.eigvalsh(point.gram)[-1]), 2.0**-500)
    eta, length, asked, ratio = check_step(step_size), 0.0, _FIRST_ASKED, math.inf
    for K in range(max_iter + 1):
        if point.relative_residual <= asked:
            asked, ratio = _ASKED_EVERY * point.relative_residual, _ratio(point, X, y, eta)
            if ratio < LANDED:
                return DeepStartedRun(start, point.network, eta, K, seed, length)
        moved = point.moved(point.gradient, -eta)
        if moved is None or not math.isfinite(moved.norm):
            raise CannotCertify(
                f"gradient descent with step {eta:.3g} diverges; take a shorter one"
            )
        length += eta * float(np.linalg.norm(point.gradient))
        point = moved
    raise CannotCertify(
        f"gradient descent with step {eta:.3g} does not come within the reach of deep-descent in "
        f"{max_iter} steps: its largest ratio is {ratio:.3g} at the last question, must be below "
        f"{LANDED:g}; {point.in_words()}. Take more steps, a wider network, or a shorter step"
    )


def _ratio(point: DeepPoint, X: Array, y: Array, eta: float) -> float:
    """The larger of 2 Lam ||r||/a^2 and eta (b + Lam t)^2; deep-descent asks both to be at most
    1.
    """
    found = estimate_deep_descent(point.network, X, y)
    if not found.holds:
        return math.inf
    curvature = 2.0 * found.lipschitz * found.residual / found.smallest**2
    return max(curvature, LANDED * eta / found.step_size)


def prove_deep_start(question: StartQuestion) -> Proof:
    """As `prove_start`, for a deep network or a seed with a depth."""
    is_network = isinstance(question.start, DeepNetwork)
    network = question.start if is_network else seeded_deep(question)
    seed = None if is_network else int(question.start)
    options = {"step_size": question.step_size, "max_iter": question.max_iter, "seed": seed}
    try:
        run = descend_deep(network, question.data, **options)
    except CannotCertify as error:
        return unproved(error, question.data)
    claims = ("deep-trajectory",)
    return prove(run.network, question.data, claims=claims, run=run, path=question.path)


@states("DU-M3a", "DU-M3b", "DU-M3c")
def seeded_deep(question: StartQuestion) -> DeepNetwork:
    """The network of a seed: all weights and the head N(0, 1) by the checker's rule."""
    if question.width is None or question.depth is None:
        raise DataError(
            f"width={question.width!r}, depth={question.depth!r}: the seed of a deep network needs "
            "both, for example width=100, depth=3"
        )
    form = draw_deep(
        question.data,
        question.width,
        question.depth,
        question.architecture,
        question.activation,
    )
    return form.with_parameters(seeded_entries(int(question.start), form.n_parameters))
