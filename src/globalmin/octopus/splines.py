r"""The two splines that lead from one saddle of the octopus to the next (DU-L7.4).

With $u = (y - \tau)/\tau \in [0, 1]$ on the buffer $\tau \le y \le 2\tau$: $g_1'$ is the cubic with
$g_1'(\tau) = -2\gamma\tau$, $g_1''(\tau) = -2\gamma$, $g_1'(2\tau) = -4L\tau$, $g_1''(2\tau) = 2L$,
and $g_2 = L - (L+\gamma)(10u^3 - 15u^4 + 6u^5)$ leads from L to $-\gamma$ with two vanishing
derivatives at both ends. So the pieces of the octopus fit together twice differentiably.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from globalmin._types import Array
from globalmin.references import states

ORDERS = 4  # the value and three derivatives


@states("DU-L7.4")
@dataclass(frozen=True)
class Splines:
    r"""$g_1$ and $g_2$ for given $L$, $\gamma$, $\tau$, with derivatives up to the third."""

    L: float
    gamma: float
    tau: float

    @cached_property
    def g1_coefficients(self) -> tuple[Array, ...]:
        r"""Coefficients in u, lowest first, of $g_1$ and its derivatives by y."""
        L, gamma = self.L, self.gamma
        first = np.array(
            [-gamma, -2 * gamma, -gamma, (10 * gamma - 14 * L) / 3, (5 * L - 3 * gamma) / 2]
        )
        return _derivatives(self.tau**2 * first, self.tau)

    @cached_property
    def g2_coefficients(self) -> tuple[Array, ...]:
        r"""Coefficients in u, lowest first, of $g_2$ and its derivatives by y."""
        rise = -(self.L + self.gamma) * np.array([0.0, 0.0, 0.0, 10.0, -15.0, 6.0])
        rise[0] = self.L
        return _derivatives(rise, self.tau)

    def g1(self, y: Array | float, order: int = 0) -> Array:
        r"""$g_1$ or its derivative of this order (0 to 3) at y, elementwise; eqs. (7.7), (7.9)."""
        return horner(self.g1_coefficients[order], np.asarray(y, dtype=np.float64) / self.tau - 1.0)

    def g2(self, y: Array | float, order: int = 0) -> Array:
        r"""$g_2$ or its derivative of this order (0 to 3) at y, elementwise; eq. (7.7)."""
        return horner(self.g2_coefficients[order], np.asarray(y, dtype=np.float64) / self.tau - 1.0)

    @property
    def drop(self) -> float:
        r"""$\nu = 4L\tau^2 - g_1(2\tau) = (37L + 13\gamma)\tau^2/6$: by so much each saddle lies
        below the one before it.
        """
        return (37.0 * self.L + 13.0 * self.gamma) * self.tau**2 / 6.0


def horner(coefficients: Array, u: Array) -> Array:
    """The polynomial with these coefficients, lowest first, at u, elementwise."""
    value = np.full_like(u, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        value = value * u + coefficient
    return value


def derivative(coefficients: Array) -> Array:
    """Coefficients of the derivative."""
    return coefficients[1:] * np.arange(1, len(coefficients))


def _derivatives(coefficients: Array, tau: float) -> tuple[Array, ...]:
    rows = [coefficients]
    for _ in range(ORDERS - 1):
        rows.append(derivative(rows[-1]) / tau)
    return tuple(rows)
