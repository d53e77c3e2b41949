"""Claim `relu-interpolation`: ReLU weights of zero training loss exist within R of the stored ones
(theorem RI).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from globalmin._options import Trained
from globalmin._types import Array
from globalmin.errors import CannotCertify
from globalmin.linalg.positive_definite import (
    EPS,
    Gram,
    LowerWitness,
    NotPositiveDefiniteError,
    lower_witness,
)
from globalmin.proving.certificate import refuse_if_too_large
from globalmin.proving.claim import Claim, ClaimRecord, Json, Proves, Question, Rung, rational
from globalmin.references import states
from globalmin.shallow.claims.high_precision import (
    PreciseResidual,
    precise_cell_gram,
    precise_residual,
)
from globalmin.shallow.claims.linearized_point import (
    MARGIN,
    checked_arrays,
    loss_above,
    parameter_count,
    refuse_narrow_cell,
    residual_size,
)
from globalmin.shallow.claims.subject import NOT_THE_STORED_WEIGHTS, ZERO_IS_LEAST, has_floor
from globalmin.shallow.lipschitz import rounding_of_preactivations
from globalmin.shallow.network import ShallowNetwork, preactivations
from globalmin.shallow.relu_margins import (
    Cell,
    cell_gram,
    cell_slopes,
    choose_neurons,
    relative_margins,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from globalmin.data import Dataset


@dataclass(frozen=True)
class Reduction:
    """`kept`: indices of the samples that stay; `dropped`: rows (j, i), j follows from kept i, or
    from nothing (-1).
    """

    kept: NDArray[np.int64] = field(repr=False)
    dropped: NDArray[np.int64]


def reduce_samples(data: Dataset) -> Reduction:
    """Drop zero rows with label zero, and positive multiples of an earlier row whose label is the
    same multiple.

    Raises CannotCertify, naming the samples, where such a relation is violated: then the loss has a
    positive floor.

    Theory
    ------
    Sample reduction of certificates-relu, section 0: phi(0) = 0 and phi(cz) = c phi(z) for c > 0.
    """
    y = [Fraction(value) for value in data.y.tolist()]
    pairs: list[tuple[int, int]] = []
    for j in data.degeneracy.zero_rows:
        if y[j] != 0:
            raise CannotCertify(
                f"row {j} is zero but its label is not, so no relu network fits it; ask for the "
                "claim loss-floor"
            )
        pairs.append((j, -1))
    for first, *others in data.degeneracy.rays:
        column = int(np.flatnonzero(data.X[first])[0])
        unit = Fraction(float(data.X[first, column]))
        for j in others:
            if y[j] * unit != y[first] * Fraction(float(data.X[j, column])):
                raise CannotCertify(
                    f"rows {first} and {j} lie on one ray but their labels do not; ask for the "
                    "claim loss-floor"
                )
            pairs.append((j, first))
    dropped = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)
    kept = np.setdiff1d(np.arange(data.n_samples, dtype=np.int64), dropped[:, 0])
    if kept.size == 0:
        raise CannotCertify("every row is zero with label zero: nothing is left to prove")
    return Reduction(kept, dropped)


# safety factor on the margins, above what the bound mu loses to the true eigenvalue
_ROOM = 1.0 + 1e-4
_COMFORTABLE = 0.5  # ratio from which on no further Newton step is worth moving the weights
_STEPS = 12


@dataclass(frozen=True)
class CellPoint:
    """Weights, their residual on the kept samples, slopes and margins of their cell, and the
    neurons the proof may move.
    """

    network: ShallowNetwork
    residual: PreciseResidual = field(repr=False)
    slopes: Array = field(repr=False)
    margins: Array = field(repr=False)
    cell: Cell | None

    @property
    def g(self) -> float:
        """||r|| on the kept samples, from above."""
        return self.residual.norm_above()

    @property
    def ratio(self) -> float:
        """Required over available margin; RI needs at most 1."""
        return math.inf if self.cell is None else self.cell.ratio


@states("DU-CERT-0")
@np.errstate(over="ignore", invalid="ignore")
def build(network: ShallowNetwork, data: Dataset, trained: Trained = "W") -> Claim:
    r"""The claim with its witness, or CannotCertify with the measured reason.

    Parameters
    ----------
    network, data : ReLU network and the data set it was trained on.
    trained : accepted for uniformity; the theorem moves W only, which is allowed in both cases.

    Theory
    ------
    Theorem RI: $\hat z_{li}^2 \mu \ge \|x_i\|^2 \|\hat r\|^2$ for all i and all neurons l of T;
    R = ||What - W|| + ||rhat|| / sqrt(mu).
    """
    X, y = checked_arrays(network, data)
    if network.activation.name != "relu":
        raise CannotCertify(f"theorem RI is about relu, not {network.activation}")
    reduction = reduce_samples(data)
    kept_X, kept_y = X[reduction.kept], y[reduction.kept]
    refuse_narrow_cell(network, kept_y.size)
    refuse_if_too_large(kept_y.size, network)
    stored = _measure(network, kept_X, kept_y)
    point = _newton(stored, kept_X, kept_y)
    if not point.ratio * _ROOM <= 1.0 or point.cell is None:
        raise CannotCertify(_reason(stored, point, X, y))
    lower = _witness(point, point.cell, kept_X)
    smallest = float(point.margins[point.cell.neurons].min())
    if not point.g * (1.0 + MARGIN) <= smallest * math.sqrt(lower.bound):
        raise CannotCertify(
            f"eigenvalue {lower.bound:.3g} of the cell's Gram matrix leaves no room for margins; "
            "train further"
        )
    return _assemble(network, point, lower, reduction, loss_above(precise_residual(network, X, y)))


def _newton(stored: CellPoint, X: Array, y: Array) -> CellPoint:
    """Newton steps within the cell until the margins are comfortable or the residual stops falling;
    the best point seen.
    """
    best = point = stored
    for _ in range(_STEPS):
        if point.cell is None or point.ratio <= _COMFORTABLE:
            break
        following = _measure(_newton_step(point, X), X, y)
        stalled = not following.g < 0.5 * point.g
        best = following if following.ratio < best.ratio else best
        if stalled:
            break
        point = following
    return best


def _measure(network: ShallowNetwork, X: Array, y: Array) -> CellPoint:
    Z = preactivations(network, X)
    residual = precise_residual(network, X, y)
    slopes = cell_slopes(Z, network.v)
    margins = relative_margins(Z, X, rounding_of_preactivations(network, X))
    return CellPoint(
        network,
        residual,
        slopes,
        margins,
        choose_neurons(X, slopes, margins, residual.norm_above(), factor=_ROOM),
    )


def _newton_step(point: CellPoint, X: Array) -> ShallowNetwork:
    """What - J^T G^-1 r over the neurons of the cell."""
    neurons = point.cell.neurons if point.cell is not None else np.arange(point.network.width)
    alpha = np.linalg.solve(cell_gram(X, point.slopes, neurons), point.residual.r)
    W = np.array(point.network.W)
    W[neurons] -= (point.slopes[:, neurons] * alpha[:, None]).T @ X
    return point.network.with_weights(W)


def _witness(point: CellPoint, cell: Cell, X: Array) -> LowerWitness:
    G = cell_gram(X, point.slopes, cell.neurons)
    S = np.ascontiguousarray(point.slopes[:, cell.neurons])
    rounding = (
        (S.shape[1] + X.shape[1] + 4) * EPS * float(np.trace(G))
    )  # Cauchy-Schwarz, entry by entry
    try:
        return lower_witness(Gram(G, rounding, lambda: precise_cell_gram(X, S)))
    except NotPositiveDefiniteError as failure:
        raise CannotCertify(
            f"the Gram matrix of the activation cell is not provably positive definite: {failure}"
        ) from None


def _assemble(
    network: ShallowNetwork,
    point: CellPoint,
    lower: LowerWitness,
    reduction: Reduction,
    loss: float,
) -> Claim:
    neurons = point.cell.neurons if point.cell is not None else np.arange(network.width)
    W_hat = point.network.W
    R = (float(np.linalg.norm(W_hat - network.W)) + point.g / math.sqrt(lower.bound)) * (
        1.0 + MARGIN
    )
    fields: dict[str, Json] = {
        "loss_upper": rational(loss),
        "mu": rational(lower.bound),
        "R": rational(R),
    }
    tensors = {
        "W_hat": W_hat,
        "T": neurons.astype(np.int64),
        "C": lower.C,
        "dropped": reduction.dropped,
    }
    summary = {
        "loss_upper": loss,
        "R": R,
        "mu": lower.bound,
        "margin": float(point.margins[neurons].min()),
        "margin_needed": point.g / math.sqrt(lower.bound),
        "neurons": float(neurons.size),
        "residual_norm": point.g,
    }
    return Claim(CLAIM.kind, fields, tensors, summary)


def _reason(stored: CellPoint, best: CellPoint, X: Array, y: Array) -> str:
    """What stands in the way at the stored weights; where Newton steps came closer, their network
    is named as another one.
    """
    count = parameter_count(stored.network, stored.residual.r.size, "W")
    if stored.cell is None:
        return (
            f"the Gram matrix of the activation cell is singular ({count}, dead neurons not "
            "counted); widen or restart"
        )
    size = residual_size(precise_residual(stored.network, X, y).norm_above(), y)
    reason = (
        f"||x|| ||r|| / (|z| sqrt mu) = {stored.ratio:.3g} at the stored weights for the neuron "
        f"with the smallest margin, must be < 1; train further ({size}) or widen ({count})"
    )
    if best is stored:
        return reason
    moved = residual_size(precise_residual(best.network, X, y).norm_above(), y)
    return (
        f"{reason}. Newton steps from there lead to another network, with ratio {best.ratio:.3g} "
        f"and {moved}: not < 1 either"
    )


def _answer(question: Question) -> Claim:
    return build(question.network, question.data, question.trained)


def _rungs(question: Question) -> list[Rung]:
    is_relu = question.network.activation.name == "relu" and question.trained != "v"
    return [Rung(1, lambda: _answer(question))] if is_relu and not has_floor(question) else []


CLAIM = ClaimRecord(
    kind="relu-interpolation",
    theorem="relu-cell/1",
    proves=Proves.ZERO_LOSS,
    label="zero loss nearby, ReLU",
    network=ShallowNetwork,
    build=_answer,
    rungs=_rungs,
    sentence="Weights with training loss exactly zero exist within distance {R} of the stored "
    f"ones, for the ReLU network as it is, kinks included. {ZERO_IS_LEAST}",
    limit=NOT_THE_STORED_WEIGHTS,
)
