r"""Stochastic gradient descent, one sample at a time: $\theta^+ = \theta - \eta r_g\nabla f(x_g)$,
g uniform.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from globalmin.errors import HypothesisError
from globalmin.references import states


@dataclass(frozen=True)
class StochasticGuarantee:
    r"""Step, factor of $E[\|r_t\|^21]$ per step, radius that is not left, and the bound of the
    probability of leaving it.
    """

    step_size: float
    rate: float
    radius: float
    failure: float


@states("OS-C4")
def stochastic_guarantee(
    a: float,
    b: float,
    Lip: float,
    residual_norm: float,
    *,
    n: int,
    row_norm: float,
    alpha: float | None = None,
) -> StochasticGuarantee:
    r"""SGD from any point, with an explicit probability (ours).

    Parameters
    ----------
    a, b, residual_norm : $\sigma_{\min}(J)$, $\|J\|$, $\|r\|$ at the start.
    Lip : Lipschitz constant of J on the ball of radius 2 rho, > 0.
    n : number of samples.
    row_norm : m, bound of the norms of the rows of J on the ball of radius rho, such as
        $B\|v\|\max\|x_i\|$.
    alpha : level in (0, a) that $\sigma_{\min}(J)$ keeps; by default 2a/3, which makes the failure
        bound least.

    Theory
    ------
    OS-C4: $\rho = (a-\alpha)/\mathrm{Lip}$, $b_2 = b+2\mathrm{Lip}\rho$, $\bar r = \|r\|+2b_2\rho$,
    $H = b_2^2+\mathrm{Lip}\bar r$, $\eta = \min(\alpha^2/(Hm^2), \rho/(m\bar r))$;
    $E[\|r_t\|^21\{t<T\}] \le (1-\eta\alpha^2/n)^t\|r\|^2$ and $P(T<\infty) \le 2\sqrt
    n\,m\|r\|/(\alpha^2\rho)$, T the exit from radius $\rho$.
    """
    level = 2.0 * a / 3.0 if alpha is None else alpha
    if not 0.0 < level < a or not Lip > 0.0:
        raise HypothesisError(
            f"OS-C4 needs 0 < alpha < a and Lip > 0; alpha={level:.3g}, a={a:.3g}, Lip={Lip:.3g}",
            value=level,
        )
    rho = (a - level) / Lip
    b2 = b + 2.0 * Lip * rho
    highest = residual_norm + 2.0 * b2 * rho
    H = b2**2 + Lip * highest
    eta = min(level**2 / (H * row_norm**2), rho / (row_norm * highest))
    failure = 2.0 * math.sqrt(n) * row_norm * residual_norm / (level**2 * rho)
    return StochasticGuarantee(eta, 1.0 - eta * level**2 / n, rho, min(1.0, failure))


@states("OS-T2.6")
def printed_stochastic_guarantee(
    n: int,
    mu: float,
    sigma: float,
    *,
    B: float,
    X_norm: float,
    y_norm: float,
    n_weights: int,
    nu: float = 3.0,
) -> StochasticGuarantee:
    r"""OS-T2.6 with etabar = 1: step, factor of $E[\|r_t\|^21_E]$, and $1-P(E) \le
    \frac4\nu(3B\|X\|/(\mu\sigma))^{1/(kd)}$.

    The radius is $c\nu\sqrt n$ with a constant c that only the cited paper has: infinite here.

    Parameters
    ----------
    mu, sigma : $E[g\phi'(g)]$ and $\sigma_{\min}(X*X)$.
    n_weights : kd.
    """
    ratio = (mu * sigma) ** 2
    eta = ratio / (9.0 * nu * B**4) * n / (y_norm * X_norm) ** 2
    rate = 1.0 - ratio**2 / (144.0 * n * nu * B**4 * X_norm**2)
    failure = 4.0 / nu * (3.0 * B * X_norm / math.sqrt(ratio)) ** (1.0 / n_weights)
    return StochasticGuarantee(eta, rate, math.inf, min(1.0, failure))
