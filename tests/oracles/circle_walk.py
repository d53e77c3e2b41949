"""The exact maximum of |sum_i u_i relu(w . x_i)| over the sphere in three dimensions, in floats, by
a walk over all circles.

Every row is a great circle on which its neuron switches. Along one circle the others cut arcs; the
sum of the active rows changes by one row from arc to arc, and on an arc, as on the two cells beside
it, the function is linear in w. Walking all circles visits all cells, in O(n^2 log n).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit


@njit(error_model="numpy")
def _value(Z: Any, u: Any, w: Any) -> float:
    total = 0.0
    for i in range(Z.shape[0]):
        total += u[i] * max(Z[i, 0] * w[0] + Z[i, 1] * w[1] + Z[i, 2] * w[2], 0.0)
    return total


@njit(error_model="numpy", inline="always")
def _dot(a: Any, b: Any) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit(error_model="numpy")
def _keep(value: float, w: Any, best: Any) -> None:
    """The largest and the least value with their directions are in best[0] and best[1]."""
    k = 0 if value > 0 else 1
    if abs(value) > abs(best[k, 0]):
        size = math.sqrt(_dot(w, w))
        best[k, 0] = value
        best[k, 1], best[k, 2], best[k, 3] = w[0] / size, w[1] / size, w[2] / size


@njit(error_model="numpy")
def _basis(x: Any) -> Any:
    """Two orthonormal vectors at right angles to x."""
    size = math.sqrt(_dot(x, x))
    a, b, c = x[0] / size, x[1] / size, x[2] / size
    if abs(a) <= min(abs(b), abs(c)):
        p, q, r = 1.0 - a * a, -a * b, -a * c
    elif abs(b) <= abs(c):
        p, q, r = -a * b, 1.0 - b * b, -b * c
    else:
        p, q, r = -a * c, -b * c, 1.0 - c * c
    size = math.sqrt(p * p + q * q + r * r)
    p, q, r = p / size, q / size, r / size
    return (p, q, r), (b * r - c * q, c * p - a * r, a * q - b * p)


@njit(error_model="numpy")
def _cell(Z: Any, u: Any, s: Any, sides: Any, best: Any) -> None:
    """If the sum s of a cell is longer than what is known, and lies on the right side of the three
    rows (row, is active) beside it, the value there.
    """
    size = _dot(s, s)
    for sign in (1.0, -1.0):
        if size <= best[0 if sign > 0 else 1, 0] ** 2:
            continue
        inside = True
        for row, active in sides:
            if row >= 0:
                side = sign * _dot(Z[row], s)
                inside = inside and (side >= 0 if active else side <= 0)
        if inside:
            w = np.array([sign * s[0], sign * s[1], sign * s[2]])
            w /= math.sqrt(size)
            _keep(_value(Z, u, w), w, best)


@njit(error_model="numpy")
def _arc(s: Any, e: Any, start: Any, end: Any, best: Any) -> None:
    """The extremes of s.w on an arc of the circle with basis e, its ends given as (cos, sin)."""
    a, b = _dot(s, e[0]), _dot(s, e[1])
    if a * a + b * b <= min(best[0, 0] ** 2, best[1, 0] ** 2):
        return
    for c, t in (start, end):
        f, g = e
        w = (c * f[0] + t * g[0], c * f[1] + t * g[1], c * f[2] + t * g[2])
        _keep(a * c + b * t, w, best)
    rise, fall = -a * start[1] + b * start[0], -a * end[1] + b * end[0]
    if rise * fall < 0:
        size = math.copysign(math.sqrt(a * a + b * b), rise)
        f, g = e
        w = (a * f[0] + b * g[0], a * f[1] + b * g[1], a * f[2] + b * g[2])
        _keep(size, (w[0] / size, w[1] / size, w[2] / size), best)


@njit(error_model="numpy")
def _events(Z: Any, u: Any, i: int, e: Any, switches: Any) -> Any:
    """Where on the first half of circle i each row switches, as minus the cosine of the angle,
    whether it is active at the start, and the sum of the active rows there.
    """
    turn, active = switches
    s0, s1, s2 = 0.0, 0.0, 0.0
    for j in range(Z.shape[0]):
        along, aside = _dot(Z[j], e[0]), _dot(Z[j], e[1])
        active[j] = j != i and (along > 0 or (along == 0 and aside > 0))
        size = math.copysign(math.sqrt(along * along + aside * aside), -along)
        cosine = aside / size if along != 0 else -1.0  # where along cos t + aside sin t vanishes
        turn[j] = 9.0 if j == i else -cosine
        if active[j]:
            s0, s1, s2 = s0 + u[j] * Z[j, 0], s1 + u[j] * Z[j, 1], s2 + u[j] * Z[j, 2]
    return s0, s1, s2


@njit(error_model="numpy")
def walk(Z: Any, u: Any, best: Any) -> None:
    """The largest and the least value over the sphere, by all circles; best[k] = (value, w)."""
    m = Z.shape[0]
    turn, active = np.empty(m), np.empty(m, np.bool_)
    for i in range(m):
        e = _basis(Z[i])
        s0, s1, s2 = _events(Z, u, i, e, (turn, active))
        order = np.argsort(turn)
        end, sign = (1.0, 0.0), 1.0
        for step in range(2 * m):
            k = step % m
            last = order[k - 1] if k > 0 else -1
            row = order[k] if k < m - 1 else -1
            start = end
            sign = 1.0 if step < m else -1.0
            cosine = -turn[row] if row >= 0 else -1.0
            end = (sign * cosine, sign * math.sqrt(max(1.0 - cosine * cosine, 0.0)))
            _arc((s0, s1, s2), e, start, end, best)
            first, second = (last, last >= 0 and active[last]), (row, row >= 0 and active[row])
            _cell(Z, u, (s0, s1, s2), (first, second, (i, False)), best)
            both = (s0 + u[i] * Z[i, 0], s1 + u[i] * Z[i, 1], s2 + u[i] * Z[i, 2])
            _cell(Z, u, both, (first, second, (i, True)), best)
            if row >= 0:
                change = -u[row] if active[row] else u[row]
                s0, s1, s2 = (
                    s0 + change * Z[row, 0],
                    s1 + change * Z[row, 1],
                    s2 + change * Z[row, 2],
                )
                active[row] = not active[row]


def highest(Z: np.ndarray, u: np.ndarray) -> float:
    """H(u) for rows Z of three entries."""
    best = np.zeros((2, 4))
    walk(np.ascontiguousarray(Z), u, best)
    return float(np.abs(best[:, 0]).max())
