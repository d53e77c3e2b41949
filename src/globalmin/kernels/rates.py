r"""Steps, rates and radii of the convergence theorems, from the numbers they speak of. Loss (1/2)
sum of squares throughout.

`rate` is the factor by which one step multiplies the bound of $\|r\|$ (not of the loss).
"""

from __future__ import annotations

import math

from globalmin.references import states
from globalmin.shallow.guarantee import Guarantee
from globalmin.shallow.sgd_guarantee import StochasticGuarantee
from globalmin.shallow.step_sizes import relu_step, smooth_step, stochastic_step


@states("OS-T6.10")
def smooth_meta(alpha: float, beta: float, Lip: float, residual_norm: float) -> Guarantee:
    r"""Nonlinear least squares with $\alpha \le \sigma_{\min}(J)$, $\|J\| \le \beta$, J Lipschitz,
    on the ball $4\|r_0\|/\alpha$.

    Theory
    ------
    OS-T6.10: $\eta \le \frac{1}{2\beta^2}\min(1, \alpha^2/(\mathrm{Lip}\|r_0\|))$,
    $\|r_t\|^2 \le (1-\eta\alpha^2/2)^t\|r_0\|^2$, path and distance at most $4\|r_0\|/\alpha$.
    """
    curved = Lip * residual_norm
    eta = (1.0 if curved <= alpha**2 else alpha**2 / curved) / (2.0 * beta**2)
    radius = 4.0 * residual_norm / alpha
    return Guarantee(eta, math.sqrt(1.0 - eta * alpha**2 / 2.0), radius, radius)


@states("OS-C1")
def smooth_meta_sharp(alpha: float, beta: float, Lip: float, residual_norm: float) -> Guarantee:
    r"""OS-C1': the same hypotheses give path $\frac43\|r_0\|/\alpha$ and $\|r_t\| \le
    (1-\frac34\eta\alpha^2)^t\|r_0\|$ (ours).

    It is what makes the printed constants 32 of OS-T2.1 and OS-T6.2 true.
    """
    eta = smooth_meta(alpha, beta, Lip, residual_norm).step_size
    radius = 4.0 / 3.0 * residual_norm / alpha
    return Guarantee(eta, 1.0 - 0.75 * eta * alpha**2, radius, radius)


@states("OS-C6.11")
def start_ratio(a: float, Lip: float, residual_norm: float) -> float:
    r"""$16\,\mathrm{Lip}\|r_0\|/a^2$ with $a = \sigma_{\min}(J(\theta_0))$: OS-T6.10 applies with
    $\alpha = a/2$ if it is at most 1.
    """
    return 16.0 * Lip * residual_norm / a**2 if a > 0.0 else math.inf


@states("OS-T6.13")
def nonsmooth_meta(alpha: float, beta: float, residual_norm: float) -> Guarantee:
    r"""$\sigma_{\min}(J_0) \ge 2\alpha$, $\|J\| \le \beta$, $\|J - J_0\| \le \alpha/3$ within $R =
    3\|r_0\|/\alpha$; no Lipschitz Jacobian.

    Theory
    ------
    OS-T6.13: $\eta \le 1/(3\beta^2)$, $\|r_t\| \le (1-\eta\alpha^2)^t\|r_0\|$, distance at most
    $3\|r_0\|/\alpha$. No path bound.
    """
    eta = 1.0 / (3.0 * beta**2)
    return Guarantee(eta, 1.0 - eta * alpha**2, math.inf, 3.0 * residual_norm / alpha)


@states("OS-C3")
def kink_guarantee(a: float, b: float, eps: float, residual_norm: float) -> Guarantee | None:
    r"""Descent with $\|J - J_0\| \le \epsilon$ on a ball (ours), or None if $3\epsilon \ge a$.

    $\eta \le (b+\epsilon)^{-2}$, path at most $\|r\|/(a-3\epsilon)$, rate
    $1-\eta(a-\epsilon)(a-3\epsilon)$. The ball must have at least the radius `path`:
    `movement_patterns.kink_descent` searches for one.
    """
    if not 3.0 * eps < a:
        return None
    eta, path = 1.0 / (b + eps) ** 2, residual_norm / (a - 3.0 * eps)
    return Guarantee(eta, 1.0 - eta * (a - eps) * (a - 3.0 * eps), path, path)


@states("OS-T6.2", "OS-T2.1")
def smooth_guarantee(
    n: int, lam: float, *, X_norm: float, y_norm: float, residual_norm: float, B: float
) -> Guarantee:
    r"""OS-T6.2 with etabar = 1, head and initialization of OS; for OS-T2.1 pass $\lambda =
    \mu_\phi^2\sigma_{\min}(X*X)^2$.

    $\eta = n/(2B^2\|y\|^2\|X\|^2)$, rate $1-\frac{1}{32}\lambda/(B\|X\|)^2$, path at most
    $\sqrt{32}\frac{\sqrt n}{\|y\|}\|r_0\|/\sqrt\lambda$.
    """
    eta = smooth_step(n, B=B, X_norm=X_norm, y_norm=y_norm)
    path = math.sqrt(32.0 * n / lam) / y_norm * residual_norm
    return Guarantee(eta, 1.0 - lam / (32.0 * (B * X_norm) ** 2), path, path)


@states("OS-T6.3", "OS-T2.3")
def relu_guarantee(
    n: int, lam: float, *, X_norm: float, y_norm: float, residual_norm: float
) -> Guarantee:
    r"""OS-T6.3 with etabar = 1; for OS-T2.3 pass $\lambda = \sigma_{\min}(X*X)^2/(2\pi)$.

    $\eta = n/(3\|y\|^2\|X\|^2)$, rate $1-\frac{1}{24}\lambda/\|X\|^2$, distance at most
    $6\sqrt2\frac{\sqrt n}{\|y\|}\|r_0\|/\sqrt\lambda$.
    """
    eta = relu_step(n, X_norm=X_norm, y_norm=y_norm)
    distance = 6.0 * math.sqrt(2.0 * n / lam) / y_norm * residual_norm
    return Guarantee(eta, 1.0 - lam / (24.0 * X_norm**2), math.inf, distance)


@states("OS-T2.5")
def separated_rate(n: int, separation: float, X_norm: float) -> float:
    r"""$1 - \frac{1}{2400}\delta/(n\|X\|)^2$: the rate of OS-T2.5 at etabar = 1."""
    return 1.0 - separation / (2400.0 * (n * X_norm) ** 2)


@states("DU-T2.3")
def relu_step_limit(lambda0: float, n: float) -> float:
    r"""$\lambda_0/(4n^2)$, the step of DU-T2.3 with the constant that its proof allows; for rows of
    any norm n is $\|X\|_F^2$.
    """
    return lambda0 / (4.0 * n**2)


@states("SJL-PL")
def polyak_path_limit(m_L: float, m_U: float, loss: float) -> float:
    r"""$\frac{4}{m_L}\sqrt{m_UL_0}$: path of gradient descent where $m_LL \le \|\nabla L\|^2 \le
    m_UL$ (SJL-PL, step at most 1/beta).
    """
    return 4.0 / m_L * math.sqrt(m_U * loss)


@states("SJL-PL")
def polyak_factor(m_L: float, beta: float, step_size: float) -> float:
    r"""$1-\alpha m_L(1-\alpha\beta/2)$: the factor of the loss per step of a beta-smooth loss with
    $\|\nabla L\|^2 \ge m_LL$.
    """
    return 1.0 - step_size * m_L * (1.0 - step_size * beta / 2.0)


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
    nu: float,
) -> StochasticGuarantee:
    r"""OS-T2.6 with etabar = 1: step, factor of $E[\|r_t\|^21_E]$, and $1-P(E) \le
    \frac4\nu(3B\|X\|/(\mu\sigma))^{1/(kd)}$.

    The radius is $c\nu\sqrt n$ with a constant c that only the cited paper has: infinite here.

    Parameters
    ----------
    mu, sigma : $E[g\phi'(g)]$ and $\sigma_{\min}(X*X)$.
    n_weights : kd.
    nu : at least 3; `step_sizes.stochastic_nu` solves it from a failure probability.
    """
    ratio = (mu * sigma) ** 2
    eta = stochastic_step(n, abs(mu) * sigma, nu=nu, B=B, X_norm=X_norm, y_norm=y_norm)
    rate = 1.0 - ratio**2 / (144.0 * n * nu * B**4 * X_norm**2)
    failure = 4.0 / nu * (3.0 * B * X_norm / math.sqrt(ratio)) ** (1.0 / n_weights)
    return StochasticGuarantee(eta, rate, math.inf, min(1.0, failure))
