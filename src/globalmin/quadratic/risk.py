r"""Population and empirical risk of quadratic networks with a planted teacher, in closed form (GKZ,
section 1).

$f(W; x) = \|Wx\|^2$ with W of m x d, teacher $W^*$, $A = W^{*T}W^*$, $B = W^T W$, $D = B - A$. The
losses of this page are the paper's: population $E(f^* - f)^2$ over x ~ N(0, I), empirical
$(1/n)\sum_i$, both without 1/2. The loss of the certificates, $(1/2)\sum_i r_i^2$, is n/2 times the
empirical risk.
"""

from __future__ import annotations

import numpy as np

from globalmin._types import Array
from globalmin.errors import DataError
from globalmin.linalg.symmetric import factored_forms, moment_matrix
from globalmin.references import states


@states("GKZ-M1")
def quadratic_outputs(W: Array, X: Array, v: Array | None = None) -> Array:
    r"""$f(W; x_i) = \sum_j v_j (w_j \cdot x_i)^2$, v = 1 if not given; unchanged under $W \to QW$,
    Q orthogonal (for v = 1).
    """
    return factored_forms(X, W, np.ones(W.shape[0]) if v is None else v)


def gram_difference(W: Array, Wstar: Array) -> Array:
    r"""$D = W^T W - W^{*T} W^*$, on which every quantity of this page depends."""
    if W.ndim != 2 or Wstar.ndim != 2 or W.shape[1] != Wstar.shape[1]:
        raise DataError(
            f"W has shape {W.shape} and Wstar {Wstar.shape}; both must be matrices with the same "
            "number of columns"
        )
    return W.T @ W - Wstar.T @ Wstar


@states("GKZ-R1")
def population_risk(W: Array, Wstar: Array, *, fourth_moment: float = 3.0) -> float:
    r"""$L(W) = 2\|D\|_F^2 + (\mathrm{tr} D)^2 + (\mu_4 - 3) \sum_i D_{ii}^2$.

    Parameters
    ----------
    W, Wstar : network and teacher, m x d and m* x d.
    fourth_moment : $\mu_4$ of the input coordinates, which are independent, centered, of variance
        1; 3 for Gaussian inputs, 9/5 for uniform ones.

    Theory
    ------
    GKZ-R1; the term with $\mu_4$ is ours.
    """
    return risk_of_difference(gram_difference(W, Wstar), fourth_moment=fourth_moment)


def risk_of_difference(D: Array, *, fourth_moment: float = 3.0) -> float:
    r"""$E(x^T D x)^2$ of a symmetric matrix, as in `population_risk`."""
    diagonal = np.diag(D)
    trace = float(diagonal.sum())
    return (
        2.0 * float(np.sum(D * D))
        + trace * trace
        + (fourth_moment - 3.0) * float(diagonal @ diagonal)
    )


@states("GKZ-R2")
def population_gradient(W: Array, Wstar: Array) -> Array:
    r"""$\nabla L = 4 W (2D + \mathrm{tr}(D) I)$ for Gaussian inputs."""
    D = gram_difference(W, Wstar)
    return 4.0 * (2.0 * W @ D + np.trace(D) * W)


@states("GKZ-R3")
def population_hessian_form(W: Array, Wstar: Array, V: Array) -> float:
    r"""$D^2L[V,V] = 4\|S\|_F^2 + 8\langle D, V^TV\rangle + 2(\mathrm{tr}S)^2 +
    4\mathrm{tr}(D)\|V\|_F^2$, $S = W^TV + V^TW$.
    """
    D, cross = gram_difference(W, Wstar), W.T @ V
    S = cross + cross.T
    curvature = (
        4.0 * np.sum(S * S)
        + 8.0 * np.sum(D * (V.T @ V))
        + 2.0 * np.trace(S) ** 2
        + 4.0 * np.trace(D) * np.sum(V * V)
    )
    return float(curvature)


@states("GKZ-R3")
def population_hessian_limit(W: Array, Wstar: Array) -> float:
    r"""$\lambda_{\max}(\nabla^2 L) \le 16\|W\|^2 + 8\|W\|_F^2 + 8\lambda_{\max}(D)_+ +
    4(\mathrm{tr} D)_+$, in floats.
    """
    D = gram_difference(W, Wstar)
    largest = max(float(np.linalg.eigvalsh(D)[-1]), 0.0)
    return (
        16.0 * float(np.linalg.norm(W, 2)) ** 2
        + 8.0 * float(np.sum(W * W))
        + 8.0 * largest
        + 4.0 * max(float(np.trace(D)), 0.0)
    )


@states("GKZ-R4")
def empirical_risk(W: Array, X: Array, y: Array) -> float:
    r"""$\hat L(W) = (1/n) \sum_i (f(W; x_i) - y_i)^2$."""
    r = quadratic_outputs(W, X) - y
    return float(r @ r) / X.shape[0]


@states("GKZ-R4")
def empirical_gradient(W: Array, X: Array, y: Array) -> Array:
    r"""$\nabla\hat L = (4/n) W \sum_i r_i x_i x_i^T$."""
    r = quadratic_outputs(W, X) - y
    return (4.0 / X.shape[0]) * (W @ moment_matrix(X, r))


@states("GKZ-R4")
def expected_design_gram(d: int) -> Array:
    r"""$E F = 2I + uu^T$ for $F = (1/n) S^T S$ and Gaussian inputs, u = svec(I), N x N; eigenvalues
    2 and d + 2.
    """
    from globalmin.linalg.quartic import svec_identity

    u = svec_identity(d)
    return 2.0 * np.eye(u.shape[0]) + np.outer(u, u)


@states("GKZ-T2.1a")
def orbit_distance(W: Array, Wstar: Array) -> float:
    r"""$\min_Q \|W - QW^*\|_F$ over orthogonal Q, zero exactly for the global minima (for W and
    $W^*$ of one shape).
    """
    return float(np.linalg.norm(W - align(W, Wstar) @ Wstar))


@states("GKZ-T2.1a")
def align(W: Array, Wstar: Array) -> Array:
    r"""The orthogonal Q nearest to $W = QW^*$: $UV^T$ from the SVD of $WW^{*T}$."""
    if W.shape != Wstar.shape:
        raise DataError(
            f"W has shape {W.shape} and Wstar {Wstar.shape}; pad the narrower one with zero rows"
        )
    U, _, Vt = np.linalg.svd(W @ Wstar.T)
    return U @ Vt


def smallest_singular_value(Wstar: Array) -> float:
    r"""$\sigma = \sigma_{\min}(W^*)$ over the d columns: zero if $W^*$ has fewer rows than
    columns.
    """
    m, d = Wstar.shape
    return 0.0 if m < d else float(np.linalg.svd(Wstar, compute_uv=False)[-1])


def numerical_rank(W: Array) -> int:
    r"""Rank with the tolerance max(m, d) eps sigma_max."""
    singular = np.linalg.svd(W, compute_uv=False)
    return (
        int((singular > max(W.shape) * np.finfo(np.float64).eps * singular[0]).sum())
        if singular.size and singular[0] > 0
        else 0
    )


def square_root_of(B: Array, rows: int) -> Array:
    r"""W with `rows` >= d rows and $W^TW = B$ for B >= 0; eigenvalues at the level of rounding
    become zero rows.
    """
    eigenvalues, vectors = np.linalg.eigh(B)
    rounding = B.shape[0] * np.finfo(np.float64).eps * float(np.abs(eigenvalues).max())
    W = np.zeros((rows, B.shape[0]))
    W[: B.shape[0]] = (
        np.sqrt(np.where(eigenvalues > rounding, eigenvalues, 0.0))[:, None] * vectors.T
    )
    return W
