r"""The Jacobian of an over-parameterized network at Gaussian inputs: the computable parts of SJL
section 7.

X is n x d by rows here, so that all matrices are the transposes of the paper's: J has the rows $x_i
\otimes (v\circ\phi'(Wx_i))$ and the centered $\tilde J$ the rows $x_i \otimes
(v\circ(\phi'(Wx_i)-\mu))$. Both are handled through their n x n Gram matrices.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from globalmin._types import Array
from globalmin.activations.moments import mean_curvature, mean_slope
from globalmin.references import states

if TYPE_CHECKING:
    from globalmin.shallow.network import ShallowNetwork


@states("SJL-DEF7")
def centered_slopes(network: ShallowNetwork, X: Array) -> Array:
    r"""$D_{il} = v_l(\phi'(w_l\cdot x_i)-\mu(\|w_l\|))$, n x k, with $\mu(s) = E\phi'(sg)$."""
    mu = mean_slope(network.activation, np.linalg.norm(network.W, axis=1))
    return (network.activation.derivative(X @ network.W.T) - mu) * network.v


@states("SJL-DEF7")
def centered_gram(network: ShallowNetwork, X: Array) -> Array:
    r"""$\tilde J\tilde J^T = (DD^T)\circ(XX^T)$, n x n."""
    D = centered_slopes(network, X)
    return (D @ D.T) * (X @ X.T)


@states("SJL-L7.6")
def mean_centered_jacobian(network: ShallowNetwork) -> Array:
    r"""$A = \mathrm{diag}(v)\Gamma W$, k x d: the expectation of one row of $\tilde J$ at $x \sim
    N(0, I)$, as a matrix.

    $E[\phi'(w\cdot x)x] = \gamma(\|w\|)w$ with $\gamma(s) = E\phi''(sg)$.
    """
    gamma = mean_curvature(network.activation, np.linalg.norm(network.W, axis=1))
    return (network.v * gamma)[:, None] * network.W


class Uncentering(NamedTuple):
    r"""`lower` bounds $\sigma_{\min}(J)^2$ from below (it may be negative), `upper` bounds
    $\sigma_{\max}(J)$ from above.
    """

    lower: float
    upper: float


@states("SJL-P7.1")
def uncentering_limits(network: ShallowNetwork, X: Array) -> Uncentering:
    r"""From the centered Jacobian to the Jacobian, for any data.

    $\sigma_{\min}(J)^2 \ge \sigma_{\min}(\tilde J)^2-\|\mathrm{diag}(\delta)X\|^2$ and
    $\sigma_{\max}(J) \le \sigma_{\max}(\tilde J)+\|\tilde m\|\|X\|$, with $\tilde m = v\circ\mu$
    and $\delta = D\tilde m/\|\tilde m\|$.

    Theory
    ------
    SJL-P7.1, its deterministic core; the paper then bounds $\|\mathrm{diag}(\delta)X\|$ with a
    constant that exists only.
    """
    m = network.v * mean_slope(network.activation, np.linalg.norm(network.W, axis=1))
    size = float(np.linalg.norm(m))
    spectrum = np.linalg.eigvalsh(centered_gram(network, X))
    shift = centered_slopes(network, X) @ m / size if size > 0.0 else np.zeros(X.shape[0])
    lower = float(spectrum[0]) - float(np.linalg.norm(shift[:, None] * X, 2)) ** 2
    upper = math.sqrt(max(float(spectrum[-1]), 0.0)) + size * float(np.linalg.norm(X, 2))
    return Uncentering(lower, upper)


@states("SJL-L7.10")
def whitened_moment_limits(network: ShallowNetwork) -> tuple[float, float]:
    r"""$(d, \rho^2d)$ enclosing $E\|z\|^2$, $z = A^+(v\circ(\phi'(Wx)-\mu))$, $x \sim N(0,I)$.

    $\rho = \frac{\max|v_l|}{\min|v_l|}\sup|\phi''|\,\sigma_{\max}(W)/\sigma_{\min}(\Gamma W)$; the
    first factor is missing in print (S13).
    """
    d = network.n_features
    gamma = mean_curvature(network.activation, np.linalg.norm(network.W, axis=1))
    low = float(np.linalg.svd(gamma[:, None] * network.W, compute_uv=False)[d - 1])
    heads = np.abs(network.v)
    rho = (
        float(heads.max() / heads.min())
        * float(network.activation.supremum(2))
        * float(np.linalg.norm(network.W, 2))
        / low
    )
    return float(d), rho**2 * d


@states("SJL-P7.9")
def nearly_orthogonal_limits(G: Array) -> tuple[float, float]:
    r"""$\min\|u_i\|^2-B^2 \le \sigma_{\min}(U)^2$ and $\sigma_{\max}(U)^2 \le \max\|u_i\|^2+B^2$,
    $B^2 = \|\mathrm{offdiag}(G)\|$, from $G = UU^T$; rows $u_i$.
    """
    G, squares = G.copy(), np.diag(G).copy()
    np.fill_diagonal(G, 0.0)
    off = float(np.linalg.norm(G, 2))
    return float(squares.min()) - off, float(squares.max()) + off


@states("SJL-P7.9")
def correlated_rows_limit(G: Array) -> float:
    r"""$\min\|u_i\|^2(1-\|\mathrm{offdiag}(C)\|) \le \sigma_{\min}(U)^2$ with the correlations
    $C_{ij} = u_i\cdot u_j/(\|u_i\|\|u_j\|)$, from $G = UU^T$ (ours): rows of different lengths cost
    nothing. 0 for a row of zeros.
    """
    lengths = np.sqrt(np.maximum(np.diag(G), 0.0))
    if not lengths.min() > 0.0:
        return 0.0
    C = G / np.outer(lengths, lengths)
    np.fill_diagonal(C, 0.0)
    return float(lengths.min()) ** 2 * (1.0 - float(np.linalg.norm(C, 2)))


@states("SJL-P7.4", "SJL-R7.3")
def jacobian_spectrum_ratios(
    W: Array, sigma_min: float, sigma_max: float, n: int, *, is_class_b: bool = False
) -> tuple[float, float]:
    r"""$(\sigma_{\min}(J)/(\sigma_{\min}(W)d), \sigma_{\max}(J)/(\sigma_{\max}(W)\sqrt{nk}))$,
    which SJL-P7.4 bounds by unknown constants; in class b (SJL-R7.3) the first is
    $\sigma_{\min}(J)/d$.
    """
    singular = np.linalg.svd(W, compute_uv=False)
    k, d = W.shape
    low = 1.0 if is_class_b else float(singular[-1]) if k >= d else 0.0
    return sigma_min / (low * d) if low > 0.0 else math.inf, sigma_max / (
        float(singular[0]) * math.sqrt(n * k)
    )


@states("SJL-L5.3")
def scaled_rows_limit(A: Array, v: Array) -> float:
    r"""$\min_l|v_l|\,\sigma_{\min}(A) \le \sigma_{\min}(\mathrm{diag}(v)A)$ for A with at least as
    many rows as columns (SJL-L5.3, replaced).
    """
    return float(np.abs(v).min()) * float(np.linalg.svd(A, compute_uv=False)[-1])


@states("SJL-L5.7")
def gaussian_quadratic_moment(A: Array) -> Array:
    r"""$E[(x^TAx)xx^T] = 2A+\mathrm{tr}(A)I$ for symmetric A and $x \sim N(0,I)$."""
    return 2.0 * A + float(np.trace(A)) * np.eye(A.shape[0])
