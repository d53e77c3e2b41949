"""The Lipschitz constant of the Jacobian of a deep network on a ball, in balls (the recursion of
`spec/claims/deep-descent.md`).
"""

from __future__ import annotations

from collections.abc import Sequence

from flint import arb

from globalmin_check.activations import supremum
from globalmin_check.balls import Number, ball, largest, root, sum_of_squares, total
from globalmin_check.claims.deep_passes import Passes
from globalmin_check.primitives import Rows


def lipschitz(passes: Passes, omega: Sequence[Number], t: Number) -> arb:
    """A Lipschitz constant of J on the ball of radius t, for omega_h >= the norm of W_h."""
    radius = ball(t)
    om = [ball(value) + radius for value in omega]
    samples = range(passes.problem.sizes.n)
    return root(total(_spread(passes, i, om, radius) for i in samples))


def _spread(passes: Passes, i: int, om: list[arb], t: arb) -> arb:
    """dx_H^2 + sum_h T_h^2 of one sample."""
    layers, name, b = passes.layers, passes.problem.activation, passes.problem.parameter
    sample = slice(i * layers.pixels, (i + 1) * layers.pixels)
    L, beta = (ball(supremum(name, b, order) or 0) for order in (1, 2))
    width, scales = arb(layers.overlap).sqrt(), [ball(scale) for scale in layers.scales]
    xi, dx, dz = [_norm(passes.features[0][sample])], [arb(0)], []
    for h, (kap, residual) in enumerate(zip(scales, layers.residual, strict=True)):
        dz.append(width * (om[h] * dx[h] + xi[h]))
        dx.append(kap * L * dz[h] + (dx[h] if residual else 0))
        xi.append(_norm(passes.features[h + 1][sample]) + t * dx[h + 1])
    result, dp = dx[-1] * dx[-1], arb(1)
    for h in reversed(range(len(scales))):
        above, q_rows = passes.pulled[h]
        largest_above = largest(abs(entry) for row in above[sample] for entry in row)
        dq = beta * dz[h] * (largest_above + t * dp) + L * dp
        q = _norm(q_rows[sample]) + t * dq
        T = scales[h] * width * (dq * xi[h] + q * dx[h])
        result += T * T
        dp = scales[h] * width * (om[h] * dq + q) + (dp if layers.residual[h] else 0)
    return result


def _norm(rows: Rows) -> arb:
    return root(total(sum_of_squares(row) for row in rows))
