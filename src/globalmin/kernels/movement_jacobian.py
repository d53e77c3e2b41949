r"""Size of the Jacobian of a shallow network and how much it changes when the weights move.
Deterministic; values in floats.
"""

from __future__ import annotations

import math

import numpy as np

from globalmin._types import Array
from globalmin.references import states


@states("OS-L6.5")
def schur_eigenvalue_bounds(A: Array, B: Array) -> tuple[float, float]:
    r"""$(\min_iB_{ii}\lambda_{\min}(A), \max_iB_{ii}\lambda_{\max}(A))$, which enclose the spectrum
    of $A\circ B$ for PSD A, B.
    """
    eigenvalues, diagonal = np.linalg.eigvalsh(A), np.diag(B)
    return float(diagonal.min()) * float(eigenvalues[0]), float(diagonal.max()) * float(
        eigenvalues[-1]
    )


@states("OS-L6.6")
def jacobian_norm_bound(v: Array, B: float, X_norm: float) -> float:
    r"""$B\|v\|_2\|X\| \ge \|J(W)\|$ for every W; the printed $\sqrt k\,B\|v\|_\infty\|X\|$ is never
    smaller.
    """
    return B * float(np.linalg.norm(v)) * X_norm


@states("OS-L6.8")
def jacobian_lipschitz_bound(v: Array, M: float, X_norm: float, row_norm: float = 1.0) -> float:
    r"""$M\|v\|_\infty\|X\|\max_i\|x_i\|$: $\|J(W')-J(W)\|$ is at most this times the *spectral*
    norm of W' - W (ours; printed: Frobenius).
    """
    return M * float(np.abs(v).max()) * X_norm * row_norm


@states("OS-LC.1")
def jacobian_change_bound(slopes: Array, other: Array, v: Array, X_norm: float) -> float:
    r"""$\|X\|\max_i\|v\circ(\phi'(Wx_i)-\phi'(W'x_i))\|$, with $\phi'(XW^T)$ and $\phi'(XW'^T)$ n x
    k; never above the printed form.
    """
    return X_norm * float(np.linalg.norm((slopes - other) * v, axis=1).max())


@states("SJL-L7.11")
def joint_jacobian_change_bound(
    dW: Array, dv: Array, v: Array, *, B: float, M: float, X_norm: float, row_norm: float
) -> float:
    r"""$M\|v\|_\infty\|X\|\max\|x_i\|\|W'-W\| + B\|X\|\|v'-v\|_2$, for the first-layer Jacobian
    when both layers move.

    Theory
    ------
    SJL-L7.11, corrected and deterministic: the printed rate of the second term is wrong for k much
    larger than d (S16, S17).
    """
    first = jacobian_lipschitz_bound(v, M, X_norm, row_norm) * float(np.linalg.norm(dW, 2))
    return first + B * X_norm * float(np.linalg.norm(dv))


@states("SJL-L7.12")
def gradient_to_loss_bounds(sigma_min: float, sigma_max: float, n: int) -> tuple[float, float]:
    r"""$(\frac2n\sigma_{\min}(J)^2, \frac2n\sigma_{\max}(J)^2)$ enclose $\|\nabla_WL\|^2/L$ for $L
    = \frac1{2n}\|r\|^2$: a PL constant.
    """
    return 2.0 / n * sigma_min**2, 2.0 / n * sigma_max**2


@states("SJL-L7.12")
def head_gradient_bound(features: Array, loss: float) -> float:
    r"""$\|\nabla_vL\|_\infty \le \sqrt{\frac2n\max_l\|\phi(Xw_l)\|^2L}$ for $L =
    \frac1{2n}\|r\|^2$; features are $\phi(XW^T)$, n x k.
    """
    return math.sqrt(2.0 / features.shape[0] * float(np.square(features).sum(axis=0).max()) * loss)


@states("SJL-L7.14")
def smoothness_bound(jacobian_norm: float, Lip: float, residual_norm: float, n: int) -> float:
    r"""$(\|J_{full}\|^2+\mathrm{Lip}\|r\|)/n \ge \|\nabla^2L\|$ for $L = \frac1{2n}\|r\|^2$:
    SJL-L7.14 with the cross block it forgets.
    """
    return (jacobian_norm**2 + Lip * residual_norm) / n
