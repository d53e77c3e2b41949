r"""Probabilities of the random initialization, with every constant explicit: W0 has independent
N(0,1) entries.

Each function returns a bound on the probability that something *fails*, capped at 1. The formulas
are true statements; the values are floats.
"""

from __future__ import annotations

import math

from globalmin.errors import DataError
from globalmin.references import states


def chernoff_exponent(theta: float) -> float:
    r"""$q(\theta) = \theta + (1-\theta)\ln(1-\theta)$, the exponent of the lower tail of the matrix
    Chernoff bound; q(1/2) = 0.1534.
    """
    if not 0.0 < theta < 1.0:
        raise DataError(f"theta={theta!r} must lie strictly between 0 and 1")
    return theta + (1.0 - theta) * math.log1p(-theta)


@states("OS-T6.14")
def chernoff_failure(n: int, ratio: float, theta: float = 0.5) -> float:
    r"""Bound on $P(\lambda_{\min}(\sum_l A_l) \le (1-\theta)\mu)$ for independent PSD n x n
    matrices with $\|A_l\| \le R$.

    Parameters
    ----------
    n : order of the matrices.
    ratio : $\mu/R$ with $\mu = \lambda_{\min}(E\sum_l A_l)$.
    theta : relative loss allowed, in (0, 1).

    Theory
    ------
    OS-T6.14 (matrix Chernoff): $n\,e^{-q(\theta)\mu/R}$.
    """
    return min(1.0, n * math.exp(-chernoff_exponent(theta) * ratio))


@states("OS-L6.7")
def jacobian_failure(
    n: int, lam: float, *, head_ratio: float, B: float, X_norm: float, theta: float = 0.5
) -> float:
    r"""Bound on $P(\sigma_{\min}(J(W_0))^2 < (1-\theta)\|v\|^2\lambda(X))$.

    Parameters
    ----------
    n : number of samples.
    lam : $\lambda(X)$, smallest eigenvalue of $E[\phi'(Xw)\phi'(Xw)^T] \circ XX^T$.
    head_ratio : $\|v\|_2/\|v\|_\infty$, which is sqrt(k) for the head of OS.
    B, X_norm : $\sup|\phi'|$ and $\|X\|$.

    Theory
    ------
    OS-L6.7 with its explicit constant; any row norms, because $v_l^2 (\phi'\phi'^T)\circ XX^T
    \preceq \|v\|_\infty^2B^2\|X\|^2$ needs no unit rows.
    """
    return chernoff_failure(n, lam * (head_ratio / (B * X_norm)) ** 2, theta)


@states("OS-L6.7")
def head_ratio_needed(n: int, lam: float, B: float, X_norm: float) -> float:
    r"""$\sqrt{20\ln n}\,B\|X\|/\sqrt\lambda$: from this $\|v\|_2/\|v\|_\infty$ on the failure
    probability of OS-L6.7 is at most 1/n.
    """
    return math.sqrt(20.0 * math.log(n)) * B * X_norm / math.sqrt(lam)


@states("OS-L6.12")
def misfit_limit(y_norm: float, B: float, delta: float, *, variance: float | None = None) -> float:
    r"""Bound of $\|f(W_0) - y\|$ that fails with probability at most `misfit_failure`.

    Printed form $\|y\|(1 + (1+\delta)B)$; with `variance` the sharper $\|y\|(\sqrt{1+\mathrm{Var}}
    + \delta B)$ of ours.

    Parameters
    ----------
    y_norm : $\|y\|$; the head is that of OS, so its norm is $\|y\|/\sqrt n$ and its entries sum to
        zero.
    B, delta : $\sup|\phi'|$ and the deviation allowed, > 0.
    variance : mean over the rows of $\mathrm{Var}\,\phi(\|x_i\|g)$; one number for unit rows. None:
        the printed form, unit rows only.
    """
    if variance is None:
        return y_norm * (1.0 + (1.0 + delta) * B)
    return y_norm * (math.sqrt(1.0 + variance) + delta * B)


@states("OS-L6.12")
def misfit_failure(n: int, X_norm: float, delta: float) -> float:
    r"""$e^{-\delta^2 n/(2\|X\|^2)}$: f(W0) is Lipschitz in W0 with constant $B\|v\|\|X\|$."""
    return math.exp(-(delta**2) * n / (2.0 * X_norm**2))


@states("OS-T6.2", "OS-T2.1")
def smooth_failure(n: int, X_norm: float, delta: float) -> float:
    r"""$1/n + e^{-\delta^2n/(2\|X\|^2)}$: OS-L6.7 and OS-L6.12 together, as OS-T6.2 states it
    (OS-T2.1 prints the exponent without n, erratum O1).
    """
    return min(1.0, 1.0 / n + misfit_failure(n, X_norm, delta))


@states("OS-T6.3", "OS-T2.5")
def relu_failure(n: int, X_norm: float, delta: float) -> float:
    r"""$2/n + e^{-\delta^2n/\|X\|^2}$, as printed; the proof, OS-L6.12 with $2\delta$, gives
    $e^{-2\delta^2n/\|X\|^2}$.
    """
    return min(1.0, 2.0 / n + math.exp(-(delta**2) * n / X_norm**2))


@states("OS-T2.3")
def relu_failure_products(n: int, X_norm: float, delta: float) -> float:
    r"""$1/n + n e^{-n} + e^{-\delta^2n/\|X\|^2}$, as OS-T2.3 prints it: its width makes the last
    term of OS-L6.9 smaller than OS-T6.3's 1/n.
    """
    return min(1.0, 1.0 / n + n * math.exp(-n) + math.exp(-(delta**2) * n / X_norm**2))


@states("OS-L6.12")
def expected_misfit_square(y_norm: float, variance: float) -> float:
    r"""$E\|f(W_0) - y\|^2 = \|y\|^2(1 + \mathrm{Var}\,\phi)$ exactly, for the head of OS and even
    width (ours).
    """
    return y_norm**2 * (1.0 + variance)


@states("OS-LC.3")
def order_statistic_limit(m: int, k: int, *, sharp: bool = False) -> float:
    r"""m/(2k), or $\sqrt{\pi/2}\,m/(2k)$ as the proof gives: a lower bound of the m-th smallest
    $|w_l \cdot x_i|$, unit rows.
    """
    return (math.sqrt(math.pi / 2.0) if sharp else 1.0) * m / (2.0 * k)


@states("OS-LC.3")
def order_statistic_failure(n: int, m: int) -> float:
    r"""$n e^{-m/6}$: probability that `order_statistic_limit` fails for one of the n samples, m <=
    k.
    """
    return min(1.0, n * math.exp(-m / 6.0))


def stability_index(lam: float, head_ratio: float, X_norm: float) -> float:
    r"""$m_0 = \frac{\|v\|_2}{\sqrt{200}\|v\|_\infty}\frac{\sqrt\lambda}{\|X\|}$ of OS-L6.9; $m_0^2$
    counts the flips allowed per sample.
    """
    return head_ratio * math.sqrt(lam / 200.0) / X_norm


@states("OS-L6.9")
def relu_stability_radius(lam: float, head_ratio: float, X_norm: float, k: int) -> float:
    r"""$m_0^3/(2k)$: within this distance of W0 the ReLU Jacobian changes by at most
    $\|v\|\sqrt\lambda/(6\sqrt2)$.
    """
    return stability_index(lam, head_ratio, X_norm) ** 3 / (2.0 * k)


@states("OS-L6.9")
def relu_stability_failure(n: int, lam: float, head_ratio: float, X_norm: float) -> float:
    r"""$n e^{-m_0^2/6}$ (the printed exponent has a stray 1/n); 1 where $m_0 < 1$, which the lemma
    does not cover.
    """
    m0 = stability_index(lam, head_ratio, X_norm)
    return 1.0 if m0 < 1.0 else min(1.0, n * math.exp(-(m0**2) / 6.0))


@states("DU-L2.2")
def flip_probability(R: float) -> float:
    r"""$P(|g| < R) = \mathrm{erf}(R/\sqrt2)$: a neuron's sign on a sample can change within
    distance R of its first weights.
    """
    return math.erf(R / math.sqrt(2.0))


@states("DU-L2.5")
def flippable_pairs_limit(n: int, m: int, R: float, delta: float) -> float:
    r"""$\frac{2}{\sqrt{2\pi}}mnR/\delta$: pairs (neuron, sample) that can flip within R, exceeded
    with probability at most delta.
    """
    return 2.0 / math.sqrt(2.0 * math.pi) * m * n * R / delta


@states("DU-L2.2")
def gram_movement_limit(n: int, R: float, delta: float) -> float:
    r"""$4n^2R/(\sqrt{2\pi}\,\delta)$: bound of $\|H(W) - H(0)\|$ over all weights within R per
    neuron, failing with probability delta.
    """
    return 4.0 * n**2 * R / (math.sqrt(2.0 * math.pi) * delta)


@states("DU-L2.2")
def stable_radius(lambda0: float, n: float, delta: float) -> float:
    r"""$R = \sqrt{2\pi}\,\delta\lambda_0/(16n^2)$, where `gram_movement_limit` is exactly
    $\lambda_0/4$; for rows of any norm n is the sum of the norms.
    """
    return math.sqrt(2.0 * math.pi) * delta * lambda0 / (16.0 * n**2)


@states("DU-L2.4")
def first_misfit_square_limit(y_norm: float, row_norm_squares: float, delta: float) -> float:
    r"""$\|y - u(0)\|^2 \le (\|y\|^2 + \frac12\sum_i\|x_i\|^2)/\delta$ with probability at least
    $1-\delta$ (Markov; ReLU, DU-M2 head).
    """
    return (y_norm**2 + 0.5 * row_norm_squares) / delta
