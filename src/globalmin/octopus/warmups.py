r"""Two small functions where a saddle holds gradient descent for long: a thin band, and a far start
(DU-E7.a, DU-E7.b, DU-K7).

Both have the saddle $x_1^2 - x_2^2$ at the origin. Started close to the line $x_2 = 0$ the descent
leaves late; started far away it has come close to that line by the time it arrives.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.errors import DataError
from globalmin.references import states

if TYPE_CHECKING:
    from collections.abc import Callable


STEP = 0.25  # of both examples: x1 halves and x2 grows by 1.5 a step near the saddle
SHIFT = 25.0 / 6.0  # value of the far start at x1 = -2, so that it meets the saddle at x1 = -1


@states("DU-E7.a")
def saddle_value(x: ArrayLike) -> Array:
    """$x_1^2 - x_2^2$ at points (..., 2)."""
    x1, x2 = _pair(x)
    return x1 * x1 - x2 * x2


@states("DU-E7.a")
def saddle_gradient(x: ArrayLike) -> Array:
    """$(2x_1, -2x_2)$ at points (..., 2)."""
    x1, x2 = _pair(x)
    return np.stack([2.0 * x1, -2.0 * x2], axis=-1)


@states("DU-E7.a")
def band_exit_steps(x2: float, step_size: float = STEP) -> int:
    r"""Steps until $|x_2| \ge 1$ for $x_1^2 - x_2^2$: $\lceil\ln(1/|x_2|)/\ln(1+2\eta)\rceil$.

    Examples
    --------
    >>> band_exit_steps(0.5), band_exit_steps(1e-6)
    (2, 35)
    """
    if not 0.0 < abs(x2) <= 1.0 or not step_size > 0.0:
        raise DataError(
            f"x2={x2} must be in [-1, 1] and not 0 (then it never leaves), step_size={step_size} "
            "positive"
        )
    return math.ceil(-math.log(abs(x2)) / math.log1p(2.0 * step_size) - 1e-12)


@states("DU-E7.b")
def far_value(x: ArrayLike) -> Array:
    r"""A slope $-4x_1 + x_2^2$ for $x_1 < -2$ that leads to the saddle $x_1^2 - x_2^2$ for $x_1 >
    -1$; eq. (7.2).

    Theory
    ------
    The thesis says that a connection exists; ours, twice continuously differentiable, has
    $\partial_1 = -4 + 4u^2 - 2u^3$ on $x_2 = 0$ and the coefficient $1 - 2(10u^3 - 15u^4 + 6u^5)$
    of $x_2^2$, $u = x_1 + 2$. The slope is shifted by the constant -23/6.
    """
    x1, x2 = _pair(x)
    u = np.clip(x1 + 2.0, 0.0, 1.0)
    middle = SHIFT - 4.0 * u + 4.0 * u**3 / 3.0 - 0.5 * u**4 + _coefficient(u) * x2 * x2
    return np.where(
        x1 < -2.0, -4.0 * x1 + x2 * x2 - 8.0 + SHIFT, np.where(x1 > -1.0, x1 * x1 - x2 * x2, middle)
    )


@states("DU-E7.b")
def far_gradient(x: ArrayLike) -> Array:
    """The gradient of `far_value` at points (..., 2)."""
    x1, x2 = _pair(x)
    u = np.clip(x1 + 2.0, 0.0, 1.0)
    along = -4.0 + 4.0 * u**2 - 2.0 * u**3 + _coefficient(u, 1) * x2 * x2
    first = np.where(x1 > -1.0, 2.0 * x1, along)
    return np.stack([first, 2.0 * _coefficient(u) * x2], axis=-1)


@states("DU-E7.b")
def far_escape_steps(
    distance: float, x2: float = 0.5, step_size: float = STEP, *, max_iter: int = 100_000
) -> int:
    r"""Steps of gradient descent on `far_value` from $(-R, x_2)$ until $|x_2| \ge 1$ beyond the
    slope: about 2.71 R.

    The law is $R(1 + \ln2/\ln1.5)$ at the step 1/4: R steps on the slope halve $x_2$ each, and it
    grows by 1.5 afterwards.

    Examples
    --------
    >>> far_escape_steps(10), far_escape_steps(20), far_escape_steps(40)
    (27, 54, 108)
    """
    if not (distance > 2.0 and 0.0 < abs(x2) <= 1.0 and 0.0 < step_size <= 0.5):
        raise DataError(
            f"distance={distance} must exceed 2, 0 < |x2|={abs(x2)} <= 1, 0 < "
            f"step_size={step_size} <= 1/2"
        )
    x = np.array([-float(distance), float(x2)])
    for step in range(1, max_iter + 1):
        x = x - step_size * far_gradient(x)
        if x[0] > -1.0 and abs(x[1]) >= 1.0:
            return step
    raise DataError(
        f"distance={distance}: not escaped after max_iter={max_iter} steps; raise max_iter"
    )


@states("DU-E7.a", "DU-E7.b")
def descent_path(
    gradient: Callable[[Array], Array], start: ArrayLike, step_size: float, n_steps: int
) -> Array:
    """The points of plain gradient descent, (n_steps + 1) x d, for the pictures."""
    path = [np.asarray(start, dtype=np.float64)]
    for _ in range(n_steps):
        path.append(path[-1] - step_size * gradient(path[-1]))
    return np.array(path)


@states("DU-K7")
def two_saddle_times(
    x2: float, x3: float, L: float, gamma: float, step_size: float
) -> tuple[float, float]:
    r"""Steps $t_1$ after which $|x_2| = 1$, and $t_2$ after which $|x_3| = 1$, as real numbers, for
    two saddles in a row.

    $x_3$ shrinks by $1 - 2\eta L$ a step while $x_2$ leaves the first saddle and then grows by $1 +
    2\eta\gamma$: eq. (7.3). With equal starts $t_2/t_1 = \kappa + 1$ exactly, and never less than
    $(L+\gamma)/\gamma$ for $|x_3| \le 1$.
    """
    if not (
        0.0 < abs(x2) < 1.0
        and 0.0 < abs(x3) <= 1.0
        and 0.0 < gamma <= L
        and 0.0 < step_size < 0.5 / L
    ):
        raise DataError(
            "need 0 < |x2| < 1, 0 < |x3| <= 1, L >= gamma > 0 and 0 < step_size < 1/(2L)"
        )
    up, down = math.log1p(2.0 * step_size * gamma), -math.log1p(-2.0 * step_size * L)
    first = -math.log(abs(x2)) / up
    return first, first + (first * down - math.log(abs(x3))) / up


def _coefficient(u: Array, order: int = 0) -> Array:
    """Of $x_2^2$: from 1 to -1, or its derivative."""
    if order == 0:
        return 1.0 - 2.0 * u**3 * (10.0 - 15.0 * u + 6.0 * u * u)
    return -60.0 * (u * (1.0 - u)) ** 2


def _pair(x: ArrayLike) -> tuple[Array, Array]:
    points = np.asarray(x, dtype=np.float64)
    if points.ndim < 1 or points.shape[-1] != 2:
        raise DataError(f"x has shape {points.shape}; its last axis must have two entries")
    return points[..., 0], points[..., 1]
