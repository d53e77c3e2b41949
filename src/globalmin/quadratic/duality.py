r"""Lower bounds on the loss of every quadratic network: theorems P (heads >= 0), S (any head) and D
(weight decay), and what follows.

$M = W^T\mathrm{diag}(v)W$, $f_i = x_i^TMx_i$, $r = f - y$, $L = (1/2)\sum_i r_i^2$, $Z(u) = \sum_i
u_ix_ix_i^T$. The dual vectors returned here are strictly feasible up to rounding, with a margin, so
that the checker can prove their feasibility; the bounds in floats are estimates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from globalmin._types import Array
from globalmin.data.validation import matrix_bytes, require_memory
from globalmin.errors import DataError
from globalmin.linalg.symmetric import (
    factored_forms,
    moment_matrix,
    quadratic_forms,
)
from globalmin.references import states

# relative room left for the proof of strict feasibility; costs about as much of the gap
MARGIN = 2.0**-40


@dataclass(frozen=True)
class DualBound:
    """A dual vector and the lower bound of the loss it gives: D = -u.y - |u|^2/2, in floats."""

    vector: Array
    value: float


def dual_value(u: Array, y: Array) -> float:
    r"""$D(u) = -u \cdot y - \|u\|^2/2$, at most $(1/2)\|f - y\|^2 - u \cdot f$ for every f."""
    return -float(u @ y) - 0.5 * float(u @ u)


def best_multiple(direction: Array, y: Array, *, largest: float = math.inf) -> float:
    r"""The s in [0, largest] that maximizes $D(s\,u)$: $-u\cdot y/\|u\|^2$, clipped."""
    square = float(direction @ direction)
    return min(max(0.0, -float(direction @ y) / square), largest) if square > 0 else 0.0


@dataclass(frozen=True)
class RowSpace:
    r"""Coordinates in which the samples are white: the columns of `basis` (d x s) span the row
    space and $(XB)^T(XB) = nI$.

    s is the numerical rank of X; `basis @ M_white @ basis.T` is the matrix M of white coordinates
    in the original ones.
    """

    basis: Array
    white: Array

    @property
    def rank(self) -> int:
        """Dimension of the row space."""
        return self.basis.shape[1]


def row_space(X: Array) -> RowSpace:
    """White coordinates of the samples, by a QR factorization and the SVD of its triangular
    factor.
    """
    n, d = X.shape
    R = np.linalg.qr(X, mode="r")
    _, singular, Vt = np.linalg.svd(R)
    kept = (
        singular > max(n, d) * np.finfo(np.float64).eps * singular[0]
        if singular[0] > 0
        else np.zeros(singular.shape, bool)
    )
    basis = Vt[: singular.shape[0]][kept].T * (math.sqrt(n) / singular[kept])
    return RowSpace(basis, X @ basis)


@states("SJL-DUAL", "SJL-T2.2k")
def positive_dual(
    X: Array, y: Array, r: Array, *, margin: float = MARGIN, space: RowSpace | None = None
) -> DualBound:
    r"""Theorem P: a lower bound of L over all quadratic networks with a head >= 0, of any width,
    from a residual r.

    $\lambda = s\,r + \tau 1$, s >= 0, the best with $\tau > -s\,\lambda_{\min}(Z(r), X^TX)$ (on the
    row space of X), so that $Z(\lambda) > 0$ there. Tight at the global minimum; for a head <= 0
    pass -y and -r.

    Parameters
    ----------
    X, y, r : samples, labels, and any vector; the residual of a good network gives a good bound.
    margin : how much tau exceeds the eigenvalue bound, relative to the largest eigenvalue.
    space : white coordinates of X if at hand (`row_space`).

    Theory
    ------
    SJL-DUAL, theorem P of the certificates. Cost $nd^2 + d^3$.
    """
    space = row_space(X) if space is None else space
    if space.rank == 0:
        return DualBound(
            np.zeros_like(y) - y, 0.5 * float(y @ y)
        )  # every network is zero on zero samples
    return positive_dual_white(moment_matrix(space.white, r), r, y, margin=margin)


def positive_dual_white(Z: Array, r: Array, y: Array, *, margin: float = MARGIN) -> DualBound:
    r"""`positive_dual` from Z(r) in white coordinates: $Z(sr + \tau 1)/n = sZ(r)/n + \tau I$ gives
    all feasible (s, tau).
    """
    spectrum = np.linalg.eigvalsh(Z) / y.shape[0]
    room = margin * float(np.abs(spectrum).max()) - float(
        spectrum[0]
    )  # tau >= s room keeps the vector strictly feasible
    ones = np.ones_like(y)
    edge = r + room
    candidates = [best_multiple(edge, y) * edge, best_multiple(ones, y) * ones]
    s, tau = _unconstrained_pair(r, y)
    if s > 0 and tau > s * room:
        candidates.append(s * r + tau)
    values = [dual_value(vector, y) for vector in candidates]
    best = int(np.argmax(values))
    return DualBound(candidates[best], values[best])


def _unconstrained_pair(r: Array, y: Array) -> tuple[float, float]:
    r"""(s, tau) that maximize $D(sr + \tau 1)$ without constraint: minus the regression of y on r
    and the constant.
    """
    n, rr, r1, ry, y1 = y.shape[0], float(r @ r), float(r.sum()), float(r @ y), float(y.sum())
    determinant = rr * n - r1 * r1
    if not determinant > 1e-12 * rr * n:
        return 0.0, 0.0
    return (r1 * y1 - n * ry) / determinant, (r1 * ry - rr * y1) / determinant


def decay_threshold(weight_decay: float, v_max: float) -> float:
    r"""$c = w/(2v_{\max})$: weight decay w on W is $c\|M\|_*$ on M."""
    if not (math.isfinite(weight_decay) and weight_decay > 0):
        raise DataError(f"weight_decay={weight_decay!r} must be a positive number")
    if not (math.isfinite(v_max) and v_max > 0):
        raise DataError(f"v_max={v_max!r} must be a positive number")
    return weight_decay / (2.0 * v_max)


def decay_dual(
    Z: Array, r: Array, y: Array, c: float, *, two_sided: bool, margin: float = MARGIN
) -> DualBound:
    r"""Theorem D: a lower bound of $L_w = L + (w/2)\|W\|_F^2$ over all networks with $|v_l| \le
    v_{\max}$, of any width, $c = w/(2v_{\max})$.

    u = s r with the best s for which $-cI < Z(u)$ and, if two-sided (heads of both signs), $Z(u) <
    cI$. Always feasible.

    Parameters
    ----------
    Z : $\sum_i r_ix_ix_i^T$, d x d.
    two_sided : False if all heads are >= 0.
    """
    spectrum = np.linalg.eigvalsh(Z)
    reach = max(-float(spectrum[0]), float(spectrum[-1]) if two_sided else 0.0)
    largest = c * (1.0 - margin) / reach if reach > 0 else math.inf
    vector = best_multiple(r, y, largest=largest) * r
    return DualBound(vector, dual_value(vector, y))


@states("SJL-T2.2k")
def critical_decay(X: Array, y: Array, *, two_sided: bool = True, v_max: float = 1.0) -> float:
    r"""The weight decay from which W = 0 is the global minimum: $2v_{\max}\|Z(y)\|$, or
    $2v_{\max}\lambda_{\max}(Z(y))_+$ for heads >= 0.

    At M = 0 the residual is -y, feasible for theorem D exactly when $\|Z(y)\| \le c$ (one-sided:
    $\lambda_{\max}(Z(y)) \le c$).
    """
    spectrum = np.linalg.eigvalsh(moment_matrix(X, y))
    reach = max(float(spectrum[-1]), -float(spectrum[0]) if two_sided else 0.0, 0.0)
    return 2.0 * v_max * reach


@states("SJL-T2.1")
def estimate_span_gap(X: Array, r: Array) -> float:
    r"""$L - \min L$ over all quadratic networks of any width and head: $(1/2)\|\Pi r\|^2$, $\Pi$
    the projector on the range of A.

    Equals $(1/2)(S^Tr)^T(S^TS)^+(S^Tr)$, theorem S; by least squares on S for N <= n and on the n x
    n Gram matrix otherwise.
    """
    from globalmin.linalg.symmetric import design_matrix, sample_gram

    n, d = X.shape
    N = d * (d + 1) // 2
    require_memory(
        matrix_bytes(n, N, copies=2) if n >= N else matrix_bytes(n, n, copies=2),
        "the exact excess loss",
    )
    if n >= N:
        S = design_matrix(X)
        projected = S @ np.linalg.lstsq(S, r, rcond=None)[0]
    else:
        eigenvalues, vectors = np.linalg.eigh(sample_gram(X))
        kept = eigenvalues > n * np.finfo(np.float64).eps * max(float(eigenvalues[-1]), 0.0)
        projected = vectors[:, kept] @ (vectors[:, kept].T @ r)
    return 0.5 * float(projected @ projected)


@states("SJL-L6.1")
def is_stationary_in_matrix(X: Array, r: Array, *, tolerance: float = 1e-9) -> bool:
    r"""Whether $Z(r) = 0$ up to `tolerance` $\sum_i |r_i|\|x_i\|^2$, which makes every W with that
    residual a global minimum (SJL-L6.1).
    """
    scale = float(np.abs(r) @ np.einsum("ij,ij->i", X, X))
    return float(np.linalg.norm(moment_matrix(X, r), 2)) <= tolerance * scale


@dataclass(frozen=True)
class PositiveKKT:
    r"""Conditions of $\min_{M\ge0} f(M)$ at a network: least eigenvalue of Z (>= 0 at the minimum)
    and $\langle Z, M\rangle$ (0 at the minimum).
    """

    least_eigenvalue: float
    complementarity: float


@states("SJL-T2.2", "SJL-T2.2k")
def positive_kkt(W: Array, v: Array, X: Array, y: Array) -> PositiveKKT:
    r"""The two residuals of the optimality conditions for heads >= 0; both vanish at every
    second-order point with >= d positive heads.
    """
    r = factored_forms(X, W, v) - y
    Z = moment_matrix(X, r)
    return PositiveKKT(float(np.linalg.eigvalsh(Z)[0]), float(np.sum(Z * ((W * v[:, None]).T @ W))))


def network_objective(
    W: Array, v: Array, X: Array, y: Array, *, weight_decay: float = 0.0
) -> float:
    r"""$L + (w/2)\|W\|_F^2$ of a quadratic network."""
    r = factored_forms(X, W, v) - y
    return 0.5 * float(r @ r) + 0.5 * weight_decay * float(np.sum(W * W))


def matrix_objective(M: Array, X: Array, y: Array, *, c: float = 0.0) -> float:
    r"""$(1/2)\|A(M) - y\|^2 + c\|M\|_*$."""
    r = quadratic_forms(X, M) - y
    return 0.5 * float(r @ r) + c * float(np.abs(np.linalg.eigvalsh(M)).sum())
