r"""How wide a network must be by each theorem, with the constants its proof delivers.

Every function returns the least width as a float (it may be 1e19) and takes numbers only:
$\lambda$, norms, sizes. Infinite where the theorem's denominator is zero.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from globalmin.kernels.probability import chernoff_exponent
from globalmin.references import states

RELU_CONSTANT = (24.0 * math.sqrt(2.0) * 200.0**1.5) ** 2  # 9.216e9, read off the proof of OS-T6.3
SEPARATION = 100.0  # lambda >= delta/(100 n^2), OS-TI.1


def _quotient(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator > 0.0 else math.inf


@states("OS-T6.2")
def smooth_width(
    n: int, lam: float, *, X_norm: float, B: float, M: float, delta: float = 1.0
) -> float:
    r"""$k \ge (32M(1+(1+\delta)B)\sqrt n\|X\|/\lambda)^2$ and OS-L6.7's
    $20\ln(n)B^2\|X\|^2/\lambda$.

    Parameters
    ----------
    n, lam, X_norm : number of samples, $\lambda(X)$, $\|X\|$; rows of norm 1.
    B, M : bounds of |phi'| and |phi''|. The paper has one letter for both; its printed width is M =
        B.
    delta : the misfit allowed, see `probability.misfit_limit`.

    Theory
    ------
    OS-T6.2: inequality (6.18), $\sqrt{kd} \ge 32B(1+(1+\delta)B)\tilde\kappa n$ with $\tilde\kappa
    = \sqrt{d/n}\|X\|/\lambda$; the printed absolute constant c exists only for B >= 1.
    """
    meta = _quotient(32.0 * M * (1.0 + (1.0 + delta) * B) * math.sqrt(n) * X_norm, lam) ** 2
    return max(1.0, meta, _quotient(20.0 * math.log(n) * (B * X_norm) ** 2, lam))


@states("OS-T6.3")
def relu_width(n: int, lam: float, *, X_norm: float, delta: float = 1.0) -> float:
    r"""$k \ge 9.216\cdot10^9(1+\delta)^2n\|X\|^6/\lambda^4$ and $2400\ln(n)\|X\|^2/\lambda$
    (OS-T6.3, constants of the proof).
    """
    meta = _quotient(RELU_CONSTANT * (1.0 + delta) ** 2 * n * X_norm**6, lam**4)
    return max(1.0, meta, _quotient(2400.0 * math.log(n) * X_norm**2, lam))


@states("OS-T2.5")
def separated_width(n: int, separation: float, *, X_norm: float, nu: float = 1.0) -> float:
    r"""$k \ge 9.216\cdot10^{17}(1+\nu)^2n^9\|X\|^6/\delta^4$ for data of separation $\delta$
    (OS-T2.5): $\lambda \ge \delta/(100n^2)$.
    """
    return relu_width(n, separation / (SEPARATION * n**2), X_norm=X_norm, delta=nu)


@states("OS-C6")
def explicit_width(
    n: int,
    lam: float,
    *,
    kappa4: float,
    B: float,
    M: float,
    variance: float,
    theta: float = 0.5,
    delta: float = 1.0,
) -> float:
    r"""The least k with $\sqrt k > 2M\sqrt{\kappa_4 n}(\sqrt{1+\mathrm{Var}}+\delta
    B)/((1-\theta)\lambda)$.

    Parameters
    ----------
    n, lam : number of samples and $\lambda(X)$.
    kappa4 : bound of $\sup_{\|a\|=1}\sum_i(x_i\cdot a)^4$, see `quartic`.
    B, M : $\sup|\phi'|$, $\sup|\phi''|$.
    variance : mean over the rows of $\mathrm{Var}\,\phi(\|x_i\|g)$; the proof never uses unit rows
        otherwise, so any norms are allowed.
    theta, delta : shares of the two random events; `explicit_width_failure` is the price.

    Returns
    -------
    The least even width as a float, since the head of OS needs as many positive as negative
    entries.

    Theory
    ------
    OS-C6 (ours): then the descent theorem OS-C1 applies at the random initialization.
    """
    root = _quotient(
        2.0 * M * math.sqrt(kappa4 * n) * (math.sqrt(1.0 + variance) + delta * B),
        (1.0 - theta) * lam,
    )
    return (
        2.0 * (math.floor(root**2 / 2.0) + 1.0)
        if math.isfinite(root) and root < 1e150
        else math.inf
    )


@states("OS-C6")
def explicit_width_failure(
    n: int, k: float, lam: float, *, B: float, X_norm: float, theta: float = 0.5, delta: float = 1.0
) -> float:
    r"""$n e^{-q(\theta)k\lambda/(B\|X\|)^2} + e^{-\delta^2n/(2\|X\|^2)}$, capped at 1: bound of the
    probability that OS-C6 fails.
    """
    jacobian = n * math.exp(-chernoff_exponent(theta) * k * lam / (B * X_norm) ** 2)
    return min(1.0, jacobian + math.exp(-(delta**2) * n / (2.0 * X_norm**2)))


@states("DU-L2.1")
def gram_width_entrywise(
    n: int, lambda0: float, *, K_frobenius: float, delta: float = 0.1
) -> float:
    r"""$m \ge 8\|K\|_F^2\ln(2n^2/\delta)/\lambda_0^2$, K = XX^T: then $\|H(0) - H^\infty\| \le
    \lambda_0/4$ with probability $1-\delta$.
    """
    return max(1.0, _quotient(8.0 * K_frobenius**2 * math.log(2.0 * n**2 / delta), lambda0**2))


@states("DU-L2.1")
def gram_width(n: int, lambda0: float, *, X_norm: float, delta: float = 0.1) -> float:
    r"""$m \ge 32\|X\|^2\ln(n/\delta)/\lambda_0$: then $\lambda_{\min}(H(0)) \ge \frac34\lambda_0$
    with probability $1-\delta$ (ours).
    """
    return max(1.0, _quotient(32.0 * X_norm**2 * math.log(n / delta), lambda0))


def _row_factor(n: int, row_norms: Sequence[float] | None) -> float:
    """n^5 for unit rows, else the sum of the squared norms times the fourth power of their sum."""
    if row_norms is None:
        return float(n) ** 5
    return math.fsum(s * s for s in row_norms) * math.fsum(row_norms) ** 4


@states("DU-T2.2")
def flow_width(
    n: int,
    lambda0: float,
    *,
    misfit_square: float,
    delta: float = 0.1,
    row_norms: Sequence[float] | None = None,
) -> float:
    r"""$m > \frac{512}{\pi}n^5\|y-u(0)\|^2/(\delta^2\lambda_0^4)$ (DU-T2.2 as its proof gives it);
    total failure probability 3 delta.

    Parameters
    ----------
    n, lambda0 : number of samples and $\lambda_{\min}(H^\infty)$.
    misfit_square : $\|y-u(0)\|^2$ or a bound of it.
    delta : share of each of the three random events.
    row_norms : the norms $s_i$ of the rows; unit rows if not given.

    Theory
    ------
    For any rows $n^5$ becomes $\|X\|_F^2(\sum_is_i)^4$: a pattern within R flips with probability
    at most $2R/\sqrt{2\pi}$ whatever the norm, so $E\|H-H(0)\| \le
    4R\sum_{ij}|K_{ij}|/\sqrt{2\pi} \le 4R(\sum_is_i)^2/\sqrt{2\pi}$, and a neuron moves by at
    most $2\|X\|_F\|y-u(0)\|/(\sqrt m\lambda_0)$. The width does not change if X and y are scaled
    together.
    """
    factor = _row_factor(n, row_norms)
    return max(1.0, _quotient(512.0 / math.pi * factor * misfit_square, delta**2 * lambda0**4))


@states("DU-T2.3")
def descent_width(
    n: int,
    lambda0: float,
    *,
    misfit_square: float,
    delta: float = 0.1,
    row_norms: Sequence[float] | None = None,
) -> float:
    r"""$m \ge \frac{8192}{\pi}n^5\|y-u(0)\|^2/(\delta^2\lambda_0^4)$ for gradient descent with step
    at most $\lambda_0/(4n^2)$ (DU-T2.3).

    For rows of other norms $n^5$ is as in `flow_width`, and the step is at most
    $\lambda_0/(4\|X\|_F^4)$: one step multiplies $\|r\|^2$ by at most
    $1-\eta\lambda_0+2C\eta(P^2+\|X\|_FP)R/\delta+\eta^2\|X\|_F^4$, $P = \sum_is_i \ge \|X\|_F$.
    """
    factor = _row_factor(n, row_norms)
    return max(1.0, _quotient(8192.0 / math.pi * factor * misfit_square, delta**2 * lambda0**4))
