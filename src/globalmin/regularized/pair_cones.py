r"""Whether $|\sum_i u_i\,\mathrm{relu}(x_i\cdot w)| \le b|w|$ for all w in three dimensions, by the
search over cones of theorem R3 in compiled floats, both signs at once.

On a cone the rows that raise the sum are bounded by their values at its rays, the others by a
tangent, and the rows that no plane of the cone cuts are one vector. A cone that is not closed is
split at the edge that its undecided rows cross most. The checker searches again, in integers.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from globalmin._compiled import compiled

CLOSED, EXCEEDED, OPEN = 0, 1, 2
_FAR = 1.5  # |q|^2 so much above the bound is not worth a second tangent
_WIDE = 28  # doubles of one cone: rays, sums of decided rows, range of rows, signs


@compiled(inline="always")
def _dot(a: Any, b: Any) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@compiled()
def _cross(a: Any, b: Any, out: Any) -> None:
    out[0] = a[1] * b[2] - a[2] * b[1]
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]


@compiled()
def shortest(P: Any, G: Any, q: Any) -> float:
    """The shortest vector q with q . P[k] >= G[k] for three unit vectors, in place; its square.
    It is 0, on a ray, on a face, or where all three are equal.
    """
    q[:] = 0.0
    if G.max() <= 0.0:
        return 0.0
    top = G.argmax()
    q[:] = G[top] * P[top]
    if _reaches(P, G, q):
        return G[top] * G[top]
    for k in range(3):
        i, j = (k + 1) % 3, (k + 2) % 3
        c = _dot(P[i], P[j])
        det = 1.0 - c * c
        if det < 1e-15:
            continue
        a, b = (G[i] - c * G[j]) / det, (G[j] - c * G[i]) / det
        if a < 0.0 or b < 0.0:
            continue
        q[:] = a * P[i] + b * P[j]
        if _reaches(P, G, q):
            return _dot(q, q)
    normal = np.empty(3)
    q[:] = 0.0
    for k in range(3):
        _cross(P[(k + 1) % 3], P[(k + 2) % 3], normal)
        det = _dot(P[k], normal)
        if det == 0.0:
            return math.inf
        for m in range(3):
            q[m] += G[k] / det * normal[m]
    return _dot(q, q)


@compiled()
def _reaches(P: Any, G: Any, q: Any) -> bool:
    """Whether q . P[k] >= G[k] for all k, up to rounding."""
    rounding = 1e-14 * math.sqrt(_dot(q, q))
    return min(_dot(P[0], q) - G[0], _dot(P[1], q) - G[1], _dot(P[2], q) - G[2]) >= -rounding


@compiled()
def _sorted_out(Z: Any, u: Any, order: Any, cone: Any, seen: Any) -> int:
    """Bring the undecided rows of a cone to the front of its range, add up the decided ones, and
    see the others: heights at the rays, tangent at the middle, crossings of the edges. The end of
    the undecided rows.
    """
    seen[:] = 0.0
    first, end = int(cone[15]), int(cone[16])
    kept = first
    z = np.empty(3)
    for place in range(first, end):
        i = order[place]
        x = Z[i]
        for k in range(3):
            z[k] = x[0] * cone[3 * k] + x[1] * cone[3 * k + 1] + x[2] * cone[3 * k + 2]
        low, high = min(z[0], z[1], z[2]), max(z[0], z[1], z[2])
        if high <= 0.0:
            continue
        size, half = abs(u[i]), 0 if u[i] > 0.0 else 1
        if low >= 0.0:
            for m in range(3):
                cone[9 + 3 * half + m] += size * x[m]
            continue
        order[place], order[kept] = order[kept], i
        kept += 1
        for k in range(3):
            seen[6 * half + k] += size * max(z[k], 0.0)
            a, b = z[(k + 1) % 3], z[(k + 2) % 3]
            if (a > 0.0) != (b > 0.0):
                seen[12 + k] += size * min(abs(a), abs(b))
        if z[0] + z[1] + z[2] >= 0.0:
            for m in range(3):
                seen[6 * half + 3 + m] += size * x[m]
    return kept


@compiled()
def _shortest_above(cone: Any, P: Any, seen: Any, slopes: Any, q: Any) -> float:
    """The shortest q that is at least what the rising rows amount to, less the tangent of the
    falling ones, at the rays; its square. `slopes` is which rows fall, and the tangent of the
    undecided ones.
    """
    falling, tangent = slopes
    rising = 1 - falling
    G = np.empty(3)
    for k in range(3):
        G[k] = seen[6 * rising + k]
        for m in range(3):
            base = cone[9 + 3 * rising + m] - cone[9 + 3 * falling + m]
            G[k] += P[k, m] * (base - tangent[m])
    return shortest(P, G, q)


@compiled()
def _closes(rows: Any, cone: Any, P: Any, seen: Any, falling: int) -> bool:
    """Whether the cone is closed for one sign, with b = 1: the tangent at the middle, or its mean
    with the one where the bound was largest.
    """
    Z, u, undecided = rows
    q, tangent = np.empty(3), seen[6 * falling + 3 : 6 * falling + 6].copy()
    size = _shortest_above(cone, P, seen, (falling, tangent), q)
    if size <= 1.0:
        return True
    if not size < _FAR:
        tangent[:] = 0.0
        return _shortest_above(cone, P, seen, (falling, tangent), q) <= 1.0
    other = np.zeros(3)
    for i in undecided:
        if (u[i] > 0.0) == (falling == 0) and _dot(Z[i], q) >= 0.0:
            for m in range(3):
                other[m] += abs(u[i]) * Z[i, m]
    tangent[:] = 0.5 * (tangent + other)
    return _shortest_above(cone, P, seen, (falling, tangent), q) <= 1.0


@compiled()
def _worst(cone: Any, P: Any, seen: Any) -> Any:
    """The largest |sum| at the rays, and at which."""
    top, ray = 0.0, 0
    for k in range(3):
        value = seen[k] - seen[6 + k]
        for m in range(3):
            value += P[k, m] * (cone[9 + m] - cone[12 + m])
        if abs(value) > top:
            top, ray = abs(value), k
    return top, ray


@compiled()
def search_sphere(Z: Any, u: Any, max_cones: int, found: Any) -> Any:
    """CLOSED if every cone is closed for u and -u, with b = 1; EXCEEDED with the direction in
    `found` if the sum is above 1 at a ray; OPEN at the limit. And the number of cones.
    """
    n = Z.shape[0]
    order = np.arange(n)
    stack = np.zeros((256, _WIDE))
    for orthant in range(8):
        for k in range(3):
            stack[orthant, 4 * k] = 1.0 if (orthant >> k) & 1 else -1.0
        stack[orthant, 16], stack[orthant, 17], stack[orthant, 18] = n, 1.0, 1.0
    top, count = 8, 0
    seen, P, cone = np.empty(15), np.empty((3, 3)), np.empty(_WIDE)
    while top > 0:
        top -= 1
        count += 1
        if count > max_cones or top + 2 > len(stack):
            return OPEN, count
        cone[:] = stack[top]
        P[:] = cone[:9].reshape(3, 3)
        end = _sorted_out(Z, u, order, cone, seen)
        value, ray = _worst(cone, P, seen)
        if value > 1.0:
            found[:] = P[ray]
            return EXCEEDED, count
        is_open = False
        for falling in range(2):
            if cone[17 + falling] > 0.0:
                rows = (Z, u, order[int(cone[15]) : end])
                if _closes(rows, cone, P, seen, falling):
                    cone[17 + falling] = 0.0
                else:
                    is_open = True
        if is_open:
            cone[16] = end
            top = _split(cone, P, seen, stack, top)
    return CLOSED, count


@compiled()
def _split(cone: Any, P: Any, seen: Any, stack: Any, top: int) -> int:
    """Put the two halves on the stack."""
    edge = seen[12:15].argmax()
    if seen[12 + edge] <= 1e-9:
        widths = np.empty(3)
        for k in range(3):
            apart = P[(k + 1) % 3] - P[(k + 2) % 3]
            widths[k] = _dot(apart, apart)
        edge = widths.argmax()
    middle = P[(edge + 1) % 3] + P[(edge + 2) % 3]
    middle /= math.sqrt(_dot(middle, middle))
    for side in (1, 2):
        k = (edge + side) % 3
        stack[top] = cone
        stack[top, 3 * k : 3 * k + 3] = middle
        top += 1
    return top
