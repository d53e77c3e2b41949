r"""Claim `patch-interpolation`: shared filters of zero training loss exist within R of the stored
ones, the output weights fixed (theorem of the patch cell).
"""

from __future__ import annotations

import math

import numpy as np

from globalmin._types import Array
from globalmin.errors import CannotCertify
from globalmin.linalg.positive_definite import (
    EPS,
    BallMatrix,
    Gram,
    LowerWitness,
    NotPositiveDefiniteError,
    ball_matrix,
    lower_witness,
    working_precision,
)
from globalmin.patches.claims.cell import (
    ROOM,
    Measured,
    beside_creases,
    measured,
    newton,
    rounded,
)
from globalmin.patches.claims.dense import table
from globalmin.patches.claims.precise import labels_are_exact
from globalmin.patches.network import PatchNetwork
from globalmin.proving.certificate import CHECKER_WORK
from globalmin.proving.claim import Claim, ClaimRecord, Json, Proves, Question, Rung, rational
from globalmin.references import states
from globalmin.shallow.claims.linearized_point import MARGIN, loss_above, residual_size
from globalmin.shallow.claims.subject import NOT_THE_STORED_WEIGHTS, ZERO_IS_LEAST

KIND = "patch-interpolation"


@states("DU-CERT-0", "DU-M6")
@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def build(network: PatchNetwork, X: Array, y: Array) -> Claim:
    r"""The claim with its witness, or CannotCertify with the measured reason.

    Parameters
    ----------
    network, X, y : the patch network, the rows that its file holds, and the labels.

    Theory
    ------
    In the cell of the active patches f is linear in the filters: $G = JJ^T \ge \mu$, and every
    product keeps its sign if $\hat z^2\mu \ge \|z\|^2\rho^2$ or $\hat z^2\mu^2 \ge
    (z^TM_jz)\rho^2$. With fewer filter weights than samples the labels must be exactly those of
    some filters of the cell.
    """
    padded = np.concatenate([X, np.zeros((len(X), 1))], axis=1)
    patches = padded[:, table(network)]
    _refuse_if_too_large(patches.shape, network)
    stored = measured(network, patches, y)
    _refuse_inexact_labels(stored, y)
    point = newton(stored, y)
    if not point.ratio * ROOM <= 1.0:
        point = rounded(point, y) if point.solved.size < y.size else beside_creases(point, y)
    if not point.ratio * ROOM <= 1.0:
        raise CannotCertify(_reason(stored, point, y))
    _refuse_inexact_labels(point, y)
    lower = _witness(point)
    if not point.ratio * (point.mu / lower.bound) * (1.0 + MARGIN) <= 1.0:
        raise CannotCertify(
            f"eigenvalue {lower.bound:.3g} of the cell's Gram matrix leaves no room for margins; "
            "train further"
        )
    return _assembled(stored, point, lower)


def _refuse_if_too_large(shape: tuple[int, ...], network: PatchNetwork) -> None:
    (n, k, p), m = shape, network.n_filters
    solved = min(n, m * p)
    work = n * k * m * p * (p + 4) + m * p * solved * (k + solved + p) + 2 * solved**3
    if work > CHECKER_WORK:
        raise CannotCertify(
            f"n = {n} samples of {k} patches and {m} filters of {p} entries are beyond the "
            "checker's work budget; certify fewer samples"
        )


def _witness(point: Measured) -> LowerWitness:
    J = point.J
    sizes = np.abs(point.network.head) @ np.abs(point.patches)  # n x m x p, above every |b|
    above = sizes[np.ix_(point.solved, point.moving)].reshape(J.shape)
    terms = point.patches.shape[1] + J.shape[1] + 4
    gram = Gram(
        J @ J.T, 2.0 * terms * EPS * float(np.sum(above * above)), lambda: _precise_gram(point)
    )
    try:
        return lower_witness(gram)
    except NotPositiveDefiniteError as failure:
        raise CannotCertify(
            f"the Gram matrix of the activation cell is not provably positive definite: {failure}"
        ) from None


def _precise_gram(point: Measured) -> BallMatrix:
    """J J^T as balls, from the stored numbers."""
    from flint import arb_mat

    H = point.patches @ point.network.filters.T
    with working_precision():
        rows = []
        for i in point.solved:
            masked = np.where(H[i, :, point.moving] > 0.0, point.network.head[point.moving], 0.0)
            rows.append((ball_matrix(masked) * ball_matrix(point.patches[i])).entries())
        J = arb_mat(rows)
        return J * J.transpose()


def _assembled(stored: Measured, point: Measured, lower: LowerWitness) -> Claim:
    hat, filters = point.network.filters, stored.network.filters
    distance = float(np.linalg.norm(hat - filters)) + point.rho / math.sqrt(lower.bound)
    R = max(distance * (1.0 + MARGIN), 2.0**-400)
    loss = loss_above(stored.residual)
    fields: dict[str, Json] = {
        "loss_upper": rational(loss),
        "mu": rational(lower.bound),
        "R": rational(R),
    }
    tensors = {
        "W_hat": hat,
        "T": point.moving.astype(np.int64),
        "S": point.solved.astype(np.int64),
        "C": lower.C,
    }
    summary = {
        "loss_upper": loss,
        "R": R,
        "mu": lower.bound,
        "ratio": point.ratio,
        "filters": float(point.moving.size),
        "solved": float(point.solved.size),
        "residual_norm": point.rho,
    }
    return Claim(KIND, fields, tensors, summary)


def _reason(stored: Measured, best: Measured, y: Array) -> str:
    """What stands in the way at the stored filters; where Newton steps came closer, their network
    is named as another one.
    """
    m, p = stored.network.filters.shape
    count = f"{m} filters of {p} entries, n = {y.size}"
    if not stored.mu > 0.0:
        return f"no filter is active at the samples ({count}); restart"
    size = residual_size(stored.residual.norm_above(), y)
    reason = (
        f"a product of a filter and a patch is too small against the move that zero loss needs: "
        f"ratio {stored.ratio:.3g} at the stored filters, must be < 1; train further ({size}) or "
        f"take more filters ({count})"
    )
    if best is stored:
        return reason
    moved = residual_size(best.residual.norm_above(), y)
    return (
        f"{reason}. Newton steps from there lead to other filters, with ratio {best.ratio:.3g} and "
        f"{moved}: not < 1 either"
    )


def _refuse_inexact_labels(point: Measured, y: Array) -> None:
    """Fewer independent slopes than samples, and labels that are not exactly those of filters."""
    count = point.solved.size
    if count in (0, y.size) or labels_are_exact(
        point.network, point.patches, y, point.moving, count
    ):
        return
    J = point.slopes[:, point.moving].reshape(y.size, -1)
    step = np.linalg.lstsq(J, point.residual.r, rcond=None)[0]
    least = float(np.sum((J @ step - point.residual.r) ** 2)) / 2.0
    raise CannotCertify(
        f"the filters have {count} independent slopes at n = {y.size} samples, and the labels as "
        "stored are not exactly those of any filters with these active patches: the least loss "
        f"there is above zero, about {least:.2g} in floats. With fewer filter weights than samples "
        "zero loss holds only for labels without any rounding; take more filters, or more output "
        "weights and trained='v'"
    )


def built_once(question: Question) -> Claim:
    """The claim of a question whose data are the rows of the file."""
    data = question.data
    return question.once(KIND, lambda: build(question.network, data.X, data.y))


def _rungs(question: Question) -> list[Rung]:
    return [Rung(1, lambda: built_once(question))]


CLAIM = ClaimRecord(
    kind=KIND,
    theorem="patch-cell/1",
    proves=Proves.ZERO_LOSS,
    label="zero loss nearby, shared filters",
    network=PatchNetwork,
    build=built_once,
    rungs=_rungs,
    sentence="Filters with training loss exactly zero exist within distance {R} of the stored "
    "ones, each shared by its patches as it is, with the stored output weights. "
    f"{ZERO_IS_LEAST}",
    limit=NOT_THE_STORED_WEIGHTS,
)
