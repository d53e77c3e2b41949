"""The widths of DU-T3.1 to T3.3 as the thesis prints them, without their constants: orders of
magnitude, to be compared with the explicit ones of `sufficient_width`.
"""

from __future__ import annotations

import math

from globalmin.references import states


def _quotient(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator > 0.0 else math.inf


@states("DU-T3.1")
def deep_width_order(n: int, depth: int, lambda0: float, delta: float = 0.1) -> float:
    r"""$\max(n^4/\lambda_0^4, n/\delta, n^2\ln(Hn/\delta)/\lambda_0^2)$, the width of DU-T3.1
    without its factor $2^{O(H)}$, which the thesis does not give: an order of magnitude, no bound.
    """
    logarithm = math.log(depth * n / delta)
    return max(
        _quotient(float(n) ** 4, lambda0**4), n / delta, _quotient(n**2 * logarithm, lambda0**2)
    )


@states("DU-T3.2", "DU-T3.3")
def residual_width_order(
    n: int, depth: int, lambda0: float, delta: float = 0.1, *, pixels: int = 1
) -> float:
    r"""The width of DU-T3.2 (pixels = 1) and DU-T3.3 without constants and poly(p): an order of
    magnitude, no bound.

    The corrected first terms are $n^4/(\lambda_0^4H^4)$ and $n^2/\lambda_0^2$, because head and
    first layer move without the factor 1/H (erratum E15); for convolutions $n^4/(\lambda_0^4H^2)$
    takes the place of the second.
    """
    first = _quotient(float(n) ** 4, lambda0**4 * depth**4)
    second = (
        _quotient(n**2, lambda0**2)
        if pixels == 1
        else _quotient(float(n) ** 4, lambda0**4 * depth**2)
    )
    return max(first, second, n / delta, _quotient(n**2 * math.log(depth * n / delta), lambda0**2))
