r"""An upper bound of $H(u) = \max_{|w|\le 1} |\sum_i u_i\,\mathrm{relu}(x_i\cdot w)|$ for neurons
that see all columns (theorem R4): one matrix of size d + 1 per sign, with free slopes.

On the unit sphere a row with $u_i > 0$ obeys
$\mathrm{relu}(t) \le t/2 + \sigma_i/2 + \rho_i t^2/2$ if $4\sigma_i\rho_i \ge 1$, and a row with
$u_i < 0$ obeys $\mathrm{relu}(t) \ge \alpha_i t + \beta_i t^2$ if
$\beta_i|x_i| \le \min(\alpha_i, 1-\alpha_i)$. The sum is $c\cdot w + w^TQw + k$, and its maximum
over the sphere is the least of $\gamma + c^T(\gamma I - Q)^{-1}c/4 + k$ over
$\gamma > \lambda_{\max}(Q)$.

The witness is found by fictitious play: the slopes answer the average of the directions (w, ww^T)
met so far, and the next direction answers the average of the slopes. Its numbers are rounded first
and the bound is computed from the rounded ones, so that nothing is lost when the checker reads
them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from globalmin._types import Array

STEPS = 1000
EPS = float(np.finfo(np.float64).eps)
# bits of a stored slope: short numbers keep the checker's integers short, and cost 1e-7 of a slope
SLOPE_BITS = 24
# of the spread of Q, by which gamma stays above its largest eigenvalue, so that the matrix is
# strictly positive definite for every b above the bound
_HARD_CASE = 1e-9
_NO_CURVATURE = 1e-150  # x^T M x of a row that all directions are orthogonal to
_PATIENCE = 60  # steps without a better bound


@dataclass(frozen=True)
class SpectralWitness:
    r"""What proves $\sum_i u_i\,\mathrm{relu}(x_i\cdot w) \le b|w|$ for every b above `bound`.

    Attributes
    ----------
    rho, sig : one number per row; read where u > 0, with 4 sig rho >= 1 exactly.
    al, be : one number per row; read where u < 0, with be |x| <= min(al, 1 - al) exactly.
    gamma : above the largest eigenvalue of Q.
    bound : of the sum for |w| = 1, in floats.
    direction : unit w at which the quadratic upper bound is largest; a place to look for neurons.
    """

    rho: Array
    sig: Array
    al: Array
    be: Array
    gamma: float
    bound: float
    direction: Array

    def for_vector(self, rows: Array, u: Array) -> SpectralWitness:
        """The same slopes for another vector, with its own gamma and bound."""
        return _bounded(rows, u, (self.rho, self.sig, self.al, self.be))

    def scaled(self, factor: float) -> SpectralWitness:
        """The witness for `factor` u: only gamma and the bound change."""
        return replace(self, gamma=self.gamma * factor, bound=self.bound * factor)


def spectral_witness(rows: Array, u: Array, *, steps: int = STEPS) -> SpectralWitness:
    r"""The best bound met for one sign of u; call it with u and with -u.

    Parameters
    ----------
    rows : n x d inputs as the neurons see them, with the bias feature if it is penalized.
    u : dual vector.
    steps : of fictitious play; it ends earlier when the bound stops falling.
    """
    play = _Play.at_rest(rows, u)
    best = found = play.witness()
    last_gain = 0
    for step in range(steps):
        play.answer(found.direction, 2.0 / (step + 3.0))
        found = play.witness()
        if found.bound < best.bound:
            best, last_gain = found, step
        if step - last_gain > _PATIENCE:
            break
    return best


def witness_of_slopes(
    rows: Array, u: Array, sig: Array, weights: tuple[Array, Array, Array]
) -> SpectralWitness:
    """The rounded witness of slopes found elsewhere, and its bound.

    Parameters
    ----------
    rows, u : as in `spectral_witness`.
    sig : half the size of x.w, per row.
    weights : how much each row uses the lines 0, t and the parabola t/2 + t^2/(2|x|); nonnegative.
    """
    norms = row_norms(rows)
    total = weights[0] + weights[1] + weights[2]
    share = [np.divide(w, total, out=np.zeros_like(w), where=total > 0) for w in weights]
    al = np.where(total > 0, share[1] + share[2] / 2.0, 0.5)
    al = np.clip(al, 0.0, 1.0)
    be = np.where(total > 0, share[2], 1.0) / (2.0 * norms)
    return _bounded(rows, u, _rounded(rows, sig, al, be))


def row_norms(rows: Array) -> Array:
    """Norms of the rows; 1 for a zero row, whose slopes do not matter."""
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    return np.where(norms > 0, norms, 1.0)


class _Play:
    """The averages of both players: moments of the directions, and slopes."""

    def __init__(self, rows: Array, u: Array, a: Array, t: Array, lines: Array) -> None:
        self.rows, self.u, self.norms = rows, u, row_norms(rows)
        self.a, self.t = a, t  # x^T M x and x.m
        self.lines = lines  # shares of the three lower bounds, 3 x n

    @classmethod
    def at_rest(cls, rows: Array, u: Array) -> _Play:
        """All directions alike: m = 0, M = I/d, and slopes 1/2."""
        n, d = rows.shape
        squares = np.einsum("ij,ij->i", rows, rows)
        lines = np.zeros((3, n))
        lines[2] = 1.0
        return cls(rows, u, squares / d, np.zeros(n), lines)

    def answer(self, w: Array, share: float) -> None:
        """Let w enter the average of the directions, and the best reply to it that of slopes."""
        t = self.rows @ w
        self.a = (1.0 - share) * self.a + share * t * t
        self.t = (1.0 - share) * self.t + share * t
        bend = self.a / self.norms
        lines = np.stack([self.t < -bend, self.t > bend, np.abs(self.t) <= bend])
        self.lines = (1.0 - share) * self.lines + share * lines

    def witness(self) -> SpectralWitness:
        sig = 0.5 * np.sqrt(np.maximum(self.a, _NO_CURVATURE))
        return witness_of_slopes(
            self.rows, self.u, sig, (self.lines[0], self.lines[1], self.lines[2])
        )


def _rounded(rows: Array, sig: Array, al: Array, be: Array) -> tuple[Array, Array, Array, Array]:
    """rho, sig, al, be as they are stored; the inequalities of the theorem hold for them exactly.

    1/(4 rho) is correctly rounded (4 rho is exact), so the next double is at least the quotient.
    A norm of d squares is at most (d + 4) eps below the true one, and min(al, 1 - al) is exact.
    """
    d = rows.shape[1]
    rho = short(1.0 / (4.0 * np.maximum(sig, _NO_CURVATURE)))
    sig = np.nextafter(short_up(1.0 / (4.0 * rho)), np.inf)
    al = np.round(al * 2.0**SLOPE_BITS) / 2.0**SLOPE_BITS
    most = np.minimum(al, 1.0 - al) / row_norms(rows) * (1.0 - (d + 8) * EPS)
    be = np.floor(np.minimum(be, most) * 2.0**60) / 2.0**60
    return rho, sig, al, short_down(np.maximum(be, 0.0))


def short(values: Array) -> Array:
    """Nearest numbers with `SLOPE_BITS` bits."""
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.round(mantissa * 2.0**SLOPE_BITS), exponent - SLOPE_BITS)


def short_up(values: Array) -> Array:
    """Numbers with `SLOPE_BITS` bits, not below the values."""
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.ceil(mantissa * 2.0**SLOPE_BITS), exponent - SLOPE_BITS)


def short_down(values: Array) -> Array:
    """Numbers with `SLOPE_BITS` bits, not above the values."""
    mantissa, exponent = np.frexp(values)
    return np.ldexp(np.floor(mantissa * 2.0**SLOPE_BITS), exponent - SLOPE_BITS)


def _bounded(rows: Array, u: Array, stored: tuple[Array, Array, Array, Array]) -> SpectralWitness:
    Q, c, k = quadratic_above(rows, u, stored)
    value, gamma, w = largest_on_sphere(Q, c)
    return SpectralWitness(*stored, gamma=gamma, bound=value + k, direction=w)


def quadratic_above(
    rows: Array, u: Array, stored: tuple[Array, Array, Array, Array]
) -> tuple[Array, Array, float]:
    r"""Q, c and k with $\sum_i u_i\,\mathrm{relu}(x_i\cdot w) \le c\cdot w + w^TQw + k$, |w| = 1.

    `stored` is (rho, sig, al, be).
    """
    rho, sig, al, be = stored
    is_up = u > 0
    curvature = np.where(is_up, 0.5 * u * rho, u * be)
    slope = np.where(is_up, 0.5 * u, u * al)
    Q = (rows * curvature[:, None]).T @ rows
    return 0.5 * (Q + Q.T), rows.T @ slope, float(0.5 * (u * sig)[is_up].sum())


def largest_on_sphere(Q: Array, c: Array) -> tuple[float, float, Array]:
    r"""(value, gamma, w): value = $\gamma + c^T(\gamma I - Q)^{-1}c/4$ is at least the maximum of
    $c\cdot w + w^TQw$ over the unit sphere for every $\gamma > \lambda_{\max}(Q)$, and nearly
    equal to it at the gamma returned; w is nearly a maximizer.
    """
    eigenvalues, V = np.linalg.eigh(Q)
    a = V.T @ c
    spread = max(float(np.abs(eigenvalues).max()), float(np.linalg.norm(c)), 1e-300)
    top = float(eigenvalues[-1])
    low, high = top + _HARD_CASE * spread, top + 0.5 * float(np.linalg.norm(c))
    gamma = low if high <= low else _secular(a, eigenvalues, low, high)
    w = V @ (a / (2.0 * (gamma - eigenvalues)))
    size = float(np.linalg.norm(w))
    if size < 1.0:  # the hard case: the rest of the norm along the top eigenvector
        w = w + V[:, -1] * np.sqrt(1.0 - size * size)
    value = gamma + float((a * a / (4.0 * (gamma - eigenvalues))).sum())
    return value, gamma, w / np.linalg.norm(w)


def _secular(a: Array, eigenvalues: Array, low: float, high: float) -> float:
    """The gamma at which |a / (2 (gamma - eigenvalues))| = 1, by bisection; `low` if it is less."""

    def excess(gamma: float) -> float:
        return float(np.square(a / (2.0 * (gamma - eigenvalues))).sum()) - 1.0

    if excess(low) <= 0.0:
        return low
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if excess(middle) > 0.0 else (low, middle)
    return high
