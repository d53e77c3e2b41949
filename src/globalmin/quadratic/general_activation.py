r"""General quadratic activations $\alpha z^2 + \beta z + \gamma$ (GKZ-C2.2), reduced to $z^2$.

Completing the square, $\alpha z^2 + \beta z + \gamma = \alpha(z + \tfrac{\beta}{2\alpha})^2 +
\gamma - \tfrac{\beta^2}{4\alpha}$, so a network of such neurons is one of square neurons on $(x,
1)$. Conversely a head with d + 1 weights of each sign carries every quadratic function but its
constant: one direction among its neurons is kept for the linear part. Population risk and gradient
as in `quadratic.risk`, without 1/2.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from globalmin._options import Trained
from globalmin._types import Array
from globalmin.data.validation import matrix_bytes, require_memory
from globalmin.errors import DataError, HypothesisError
from globalmin.linalg.symmetric import (
    design_matrix,
    factor_by_head,
    head_counts,
    require_wide,
    unsvec,
)
from globalmin.quadratic.identifiability import critical_samples, span_of
from globalmin.quadratic.risk import population_gradient, population_risk, square_root_of
from globalmin.quadratic.solve import TOL, QuadraticSolution, checked_data, solved
from globalmin.references import states
from globalmin.shallow.complete_square import (
    is_quadratic,
    quadratic_coefficients,
    require_coefficients,
)
from globalmin.shallow.network import ShallowNetwork, outputs

if TYPE_CHECKING:
    from globalmin.activations import Activation


def activation_name(coefficients: tuple[float, float, float]) -> str:
    r"""Spelling of $\alpha z^2 + \beta z + \gamma$ for `get_activation`: lowest degree first."""
    alpha, beta, gamma = require_coefficients(coefficients)
    return f"polynomial({gamma!r},{beta!r},{alpha!r})"


@states("GKZ-C2.2", "SJL-T2.1")
def estimate_general_gap(
    network: ShallowNetwork, X: Array, r: Array, *, trained: Trained = "W"
) -> float:
    r"""$L - \min L$ from above, over networks of any width with this quadratic activation:
    $(1/2)\|\Pi r\|^2$, in floats.

    On (x, 1) the functions of the class differ by symmetric matrices (`complete_square`): their
    entries are free, but those of x times 1 only if $\beta \ne 0$, and that of 1 times 1, the
    constant $\gamma\sum_lv_l$, only if the head is trained and $\gamma \ne 0$. $\Pi$ projects on
    the free monomials. Tight where enough heads of both signs are there.

    Parameters
    ----------
    network, X : weights and samples.
    r : residual of the network.
    trained : "W" (the class keeps the sum of the head) or "vW" (any head).
    """
    _, beta, gamma = quadratic_coefficients(network)
    n, d = X.shape
    rows, columns = np.triu_indices(d + 1)
    free = columns < d
    if beta != 0.0:
        free |= (columns == d) & (rows < d)
    if gamma != 0.0 and trained == "vW":
        free |= rows == d
    require_memory(
        matrix_bytes(n, free.size, copies=3), f"the {free.size} monomials of {n} samples"
    )
    features = design_matrix(np.hstack([X, np.ones((n, 1))]))[:, free]
    projected = features @ np.linalg.lstsq(features, r, rcond=None)[0]
    return 0.5 * float(projected @ projected)


@states("GKZ-C2.2")
def general_risk(W: Array, Wstar: Array, coefficients: tuple[float, float, float]) -> float:
    r"""$\tilde L(W) = \alpha^2L(W) + \beta^2\|\sum_j(W_j - W^*_j)\|^2$, the population risk with
    activation $\alpha z^2 + \beta z + \gamma$ and unit heads, for W and $W^*$ of equally many rows
    (otherwise $\gamma$ would not cancel).
    """
    alpha, beta, _ = require_coefficients(coefficients)
    shift = _shift(W, Wstar, coefficients)
    return alpha**2 * population_risk(W, Wstar) + beta**2 * float(shift @ shift)


@states("GKZ-C2.2")
def general_gradient(W: Array, Wstar: Array, coefficients: tuple[float, float, float]) -> Array:
    r"""$\nabla\tilde L = \alpha^2\nabla L + 2\beta^2\,1\,(\sum_j(W_j - W^*_j))^T$."""
    alpha, beta, _ = require_coefficients(coefficients)
    return alpha**2 * population_gradient(W, Wstar) + 2.0 * beta**2 * _shift(W, Wstar, coefficients)


def _shift(W: Array, Wstar: Array, coefficients: tuple[float, float, float]) -> Array:
    if any(coefficients[1:]) and W.shape[0] != Wstar.shape[0]:
        raise DataError(
            f"W has {W.shape[0]} rows and the teacher {Wstar.shape[0]}; with beta or gamma not "
            "zero they must be equally many, because zero rows count as well"
        )
    return np.asarray(W.sum(axis=0) - Wstar.sum(axis=0), dtype=np.float64)


@states("GKZ-C2.2")
def rows_with_sum(B: Array, c: Array, total: Array) -> Array | None:
    r"""W with $W^TW = B$ and $c^TW$ = `total`, one row per entry of c, c not zero; None if there is
    none.

    With $u = c/\|c\|$ and $h = $ total$/\|c\|$ it is $uh^T$ plus rows orthogonal to u, whose Gram
    matrix $B - hh^T$ must be $\ge 0$ of rank less than the number of rows.
    """
    length = float(np.linalg.norm(c))
    u, h = c / length, total / length
    eigenvalues, vectors = np.linalg.eigh(B - np.outer(h, h))
    size = float(np.trace(B)) + float(h @ h)
    rounding = 8.0 * B.shape[0] * np.finfo(np.float64).eps * size
    kept = eigenvalues > rounding
    rank = int(kept.sum())
    if (eigenvalues < -rounding).any() or rank >= c.shape[0]:
        return None
    mirror = u.copy()  # Householder: the reflection takes e_0 to +-u, so other e_j next to u
    mirror[0] += 1.0 if u[0] >= 0.0 else -1.0
    mirror /= np.linalg.norm(mirror)
    Q = np.eye(c.shape[0], rank + 1)[:, 1:] - 2.0 * np.outer(mirror, mirror[1 : rank + 1])
    return np.outer(u, h) + Q @ (np.sqrt(eigenvalues[kept])[:, None] * vectors[:, kept].T)


@states("GKZ-C2.2")
def weights_on_head(
    M: Array, b: Array, coefficients: tuple[float, float, float], v: Array
) -> Array | None:
    r"""W with $\sum_lv_l(\alpha z_l^2 + \beta z_l) = x^TMx + b \cdot x$ for all x, $z = Wx$; None
    if this head carries no such W by our construction.

    The weights of one sign of $\alpha v$ carry the positive part of M, the others the negative one.
    With $\beta \ne 0$ one direction among the neurons of each sign is kept: it carries b on one
    side, first on that of the larger weights, and is empty on the other, so d + 1 weights of each
    sign always do.
    """
    alpha, beta, _ = require_coefficients(coefficients)
    if beta == 0.0:
        if b.any():
            raise DataError(
                "beta = 0, so the network has no linear part; append a constant feature and give "
                "b = 0"
            )
        return factor_by_head(M, alpha * v)
    sizes = {sign: float(np.abs(v[sign * alpha * v > 0]).sum()) for sign in (1.0, -1.0)}
    for carrier in sorted(sizes, key=lambda sign: -sizes[sign]):
        W = _carried_by(carrier, sizes[carrier], M, linear=b / beta, alpha=alpha, v=v)
        if W is not None:
            return W
    return None


def _carried_by(
    carrier: float, size: float, M: Array, *, linear: Array, alpha: float, v: Array
) -> Array | None:
    r"""The weights with $\sum_lv_lw_l$ = `linear` on the neurons with $\alpha v$ of the sign
    `carrier`, whose $|v|$ sum to `size`.

    Rows $\sqrt{|\alpha v_l|}w_l$ of a sign have the Gram matrix of that part of M, and $v_lw_l$ is
    $\pm\sqrt{|v_l/\alpha|}$ times them.
    """
    if not size > 0.0:
        return None
    square = abs(alpha) / size * np.outer(linear, linear)
    eigenvalues, vectors = np.linalg.eigh(M - carrier * square)
    W = np.zeros((v.shape[0], M.shape[0]))
    for sign in (1.0, -1.0):
        neurons = np.flatnonzero(sign * alpha * v > 0)
        part = (vectors * np.maximum(sign * eigenvalues, 0.0)) @ vectors.T
        if not neurons.size:
            if np.trace(part) > 1e-14 * np.abs(eigenvalues).sum():
                return None
            continue
        c = np.sign(v[neurons]) * np.sqrt(np.abs(v[neurons] / alpha))
        is_carrier = sign == carrier
        rows = rows_with_sum(part + is_carrier * square, c, is_carrier * linear)
        if rows is None:
            return None
        W[neurons] = rows / np.sqrt(np.abs(alpha * v[neurons]))[:, None]
    return W


def balanced_head(width: int) -> Array:
    """Heads 1, then -1, and one 0 if the width is odd: they sum to zero."""
    return np.concatenate([np.ones(width // 2), -np.ones(width // 2), np.zeros(width % 2)])


def carries_all(activation: Activation, v: Array, d: int) -> bool:
    """Whether a head has the d + 1 weights of each sign that carry every quadratic function but its
    constant.
    """
    return is_quadratic(activation) and min(head_counts(v)) > d


@states("GKZ-C2.2")
def solve_general_quadratic(
    X: object,
    y: object,
    coefficients: tuple[float, float, float],
    *,
    head: Array | None = None,
    tol: float = TOL,
) -> QuadraticSolution:
    r"""The global minimum of L over networks $\sum_lv_l(\alpha z_l^2 + \beta z_l + \gamma)$ with a
    given head, of all W.

    Such networks are exactly the functions $x^TMx + b \cdot x + \gamma\sum_lv_l$ (b = 0 if $\beta =
    0$), so this is least squares on the monomials of degree two and, unless $\beta = 0$, one. For a
    free constant append the constant feature 1 last; the linear part is then in M.

    Parameters
    ----------
    X, y : samples (n x d) and labels (n).
    coefficients : $(\alpha, \beta, \gamma)$ with $\alpha \ne 0$.
    head : with at least d + 1 weights of each sign; default d + 1 of 1 and of -1.

    Raises
    ------
    HypothesisError
        If the head has too few weights of a sign for the minimum.
    """
    samples, labels = checked_data(X, y)
    _, beta, gamma = require_coefficients(coefficients)
    n, d = samples.shape
    v = balanced_head(2 * d + 2) if head is None else np.asarray(head, dtype=np.float64)
    require_memory(
        matrix_bytes(n, d * (d + 3) // 2, copies=3),
        f"least squares on the {d * (d + 3) // 2} monomials of {n} samples",
    )
    S, has_linear = design_matrix(samples), beta != 0.0 and not (samples[:, -1] == 1.0).all()
    features = np.hstack([S, samples]) if has_linear else S
    wanted = labels - gamma * float(v.sum())
    solution = np.asarray(np.linalg.lstsq(features, wanted, rcond=None)[0], dtype=np.float64)
    b = solution[S.shape[1] :] if has_linear else np.zeros(d)
    r = features @ solution - wanted
    correction = features @ np.linalg.lstsq(features, r, rcond=None)[0]
    M = unsvec(solution[: S.shape[1]])
    network = ShallowNetwork(_carried(M, b, coefficients, v), v, activation_name(coefficients))
    loss, excess = _half_square(outputs(network, samples) - labels), _half_square(correction)
    scale = _half_square(labels)
    lower = 0.0 if loss <= 1e-3 * tol * scale else max(_half_square(r) - excess, 0.0)
    is_close = loss - lower <= max(tol * loss, 1e-3 * tol * scale)
    run = solved(
        network,
        is_close=is_close,
        gap=loss - lower,
        losses=(scale, loss),
        n_iter=1,
        method="least squares",
    )
    return QuadraticSolution.of(
        run,
        M=M,
        objective=loss,
        lower_estimate=lower,
        gap=loss - lower,
        dual=r,
        weight_decay=0.0,
    )


def _carried(M: Array, b: Array, coefficients: tuple[float, float, float], v: Array) -> Array:
    W = weights_on_head(M, b, coefficients, v)
    if W is None:
        raise HypothesisError(
            f"the head has {head_counts(v)[0]} positive and {head_counts(v)[1]} negative weights, "
            f"too few for the minimum; {M.shape[0] + 1} of each sign always suffice",
            hypothesis="d + 1 head weights of each sign",
            value=min(head_counts(v)),
        )
    return W


def _half_square(vector: Array) -> float:
    return 0.5 * float(vector @ vector)


def monomials(X: Array, coefficients: tuple[float, float, float]) -> Array:
    r"""The monomials of degree two of the samples, and those of degree one if $\beta \ne 0$."""
    S = design_matrix(X)
    return np.hstack([S, X]) if coefficients[1] else S


@states("GKZ-DIRECT", "GKZ-C2.2")
def teacher_weights(
    X: Array, y: Array, coefficients: tuple[float, float, float], width: int | None = None
) -> Array:
    r"""W with $\sum_j\varphi(w_j \cdot x_i) = y_i$ and unit head, by least squares on the
    monomials: $\alpha W^TW$, and $\beta W^T1$ if $\beta \ne 0$ (then W is made to have that sum).

    Parameters
    ----------
    X, y : samples whose monomials are independent, and labels.
    coefficients : $(\alpha, \beta, \gamma)$.
    width : number m >= d of rows; default d if $\beta = \gamma = 0$, otherwise it must be given,
        because m neurons share the constant and the sum.
    """
    alpha, beta, gamma = require_coefficients(coefficients)
    features, d = monomials(X, coefficients), X.shape[1]
    condition = span_of(features)
    if not condition.holds:
        raise HypothesisError(
            f"the samples span {condition.rank} of {condition.needed} dimensions, so they do not "
            "determine the teacher; give more samples in general position",
            hypothesis="span",
            value=condition.rank,
        )
    if width is None and (beta or gamma):
        raise DataError(
            "width=None with a linear part or a constant in the activation: the labels do not say "
            "how many neurons share it; give the width of the teacher"
        )
    m, N = width or d, critical_samples(d)
    require_wide(np.zeros((m, d)), "W")
    least = np.linalg.lstsq(features, y - gamma * m, rcond=None)[0]
    found = np.asarray(least, dtype=np.float64)
    A = unsvec(found[:N]) / alpha
    W = rows_with_sum(A, np.ones(m), found[N:] / beta) if beta else square_root_of(A, m)
    if W is None:
        raise HypothesisError(
            f"no {m} rows have the Gram matrix and the sum that the labels ask for; check the "
            "width and the activation of the teacher",
            hypothesis="A - s s^T / m >= 0 of rank < m",
            value=m,
        )
    return W
