"""Value, gradient and Hessian of a function written in Decimal arithmetic, by central differences
in seventy digits.

The functions tested with it are polynomials piece by piece, so the differences err by about 1e-30:
an oracle for float64 code.
"""

from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext

import numpy as np

STEP, DIGITS = Decimal(10) ** -16, 70


def derivatives(
    f: Callable[[list[Decimal]], Decimal], x: Sequence[float]
) -> tuple[float, np.ndarray, np.ndarray]:
    """The value, the gradient and the Hessian of f at x, which must not be within 1e-15 of a joint
    of two pieces.
    """
    d = len(x)
    with localcontext() as context:
        context.prec = DIGITS
        center = [Decimal(float(entry)) for entry in x]

        def at(*moves: tuple[int, int]) -> Decimal:
            point = list(center)
            for axis, sign in moves:
                point[axis] += sign * STEP
            return f(point)

        gradient = [(at((i, 1)) - at((i, -1))) / (2 * STEP) for i in range(d)]
        hessian = np.empty((d, d))
        for i in range(d):
            for j in range(i + 1):
                cross = (
                    at((i, 1), (j, 1))
                    - at((i, 1), (j, -1))
                    - at((i, -1), (j, 1))
                    + at((i, -1), (j, -1))
                )
                hessian[i, j] = hessian[j, i] = float(cross / (4 * STEP * STEP))
        return float(f(center)), np.array([float(entry) for entry in gradient]), hessian
