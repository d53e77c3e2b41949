"""strict-saddle and second-order-stationary on enclosures: the whole Hessian is formed entry by
entry from its definition.

Written from sections 7, 11 and 12 of the theory page. The curvature along a direction is U^T H U
with that Hessian, not the formula with r' and r'' that the fast checker uses.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from tests.oracles.definiteness import shifted
from tests.oracles.fraction_activations import SMOOTH, suprema
from tests.oracles.fraction_claims import Check, Witnessed, inner, loss_checks
from tests.oracles.fraction_intervals import Interval, at_most, largest, smaller, total
from tests.oracles.fraction_network import Network, dot, weighted_gram
from tests.oracles.strict_container import Claim

IntervalMatrix = list[list[Interval]]
_FOURTH = {
    "softplus": Fraction(1, 8),
    "sigmoid": Fraction(12768393, 10**8),
    "tanh": Fraction(408588551, 10**8),
    "erf": Fraction(440470272, 10**8),
    "quadratic": Fraction(0),
}


def jacobian(net: Network, both: bool) -> IntervalMatrix:
    """Rows d r_i / d theta, theta = (v, W row by row) or W row by row."""
    c, bits = net.certificate, net.bits
    rows = []
    for x, entries in zip(c.X, net.derivatives, strict=True):
        head = [entry[0] for entry in entries] if both else []
        body = [
            Interval.of(v * a, bits) * entry[1]
            for v, entry in zip(c.v, entries, strict=True)
            for a in x
        ]
        rows.append(head + body)
    return rows


def neuron_block(net: Network, neuron: int) -> IntervalMatrix:
    """v_l sum_i r_i phi''(z_il) x_i x_i^T."""
    c, bits = net.certificate, net.bits
    head = Interval.of(c.v[neuron], bits)
    weights = [
        head * r * entries[neuron][2]
        for r, entries in zip(net.residual, net.derivatives, strict=True)
    ]
    return weighted_gram(c.X, weights)


def hessian(net: Network, both: bool) -> IntervalMatrix:
    """J^T J + sum_i r_i hess f_i."""
    c, bits = net.certificate, net.bits
    k, d = len(c.v), len(c.X[0])
    J = jacobian(net, both)
    columns = [[row[j] for row in J] for j in range(len(J[0]))]
    H = [[inner(p, q) for q in columns] for p in columns]
    offset = k if both else 0
    for neuron in range(k):
        start = offset + neuron * d
        for a, row in enumerate(neuron_block(net, neuron)):
            for b, entry in enumerate(row):
                H[start + a][start + b] = H[start + a][start + b] + entry
        for a in range(d if both else 0):
            mixed = total(
                (
                    r * e[neuron][1] * Interval.of(x[a], bits)
                    for r, e, x in zip(net.residual, net.derivatives, c.X, strict=True)
                ),
                bits,
            )
            H[neuron][start + a] = H[start + a][neuron] = H[neuron][start + a] + mixed
    return H


def gradient(net: Network, both: bool) -> list[Interval]:
    """J^T r."""
    J = jacobian(net, both)
    return [
        total((row[j] * r for row, r in zip(J, net.residual, strict=True)), net.bits)
        for j in range(len(J[0]))
    ]


def third_derivative(
    net: Network, z: Fraction, entry: tuple[Interval, Interval, Interval]
) -> Interval:
    """phi''' by differentiating the equation that phi'' satisfies."""
    c, bits = net.certificate, net.bits
    value, slope, curvature = entry
    b = Interval.of(1 if c.parameter is None else c.parameter, bits)
    one, two = Interval.of(1, bits), Interval.of(2, bits)
    if c.activation == "softplus":  # phi'' = b phi' (1 - phi')
        return b * curvature * (one - two * slope)
    if c.activation == "sigmoid":  # phi'' = b phi' (1 - 2 phi)
        return b * curvature * (one - two * value) - two * b * slope.square()
    if c.activation == "tanh":  # phi'' = -2 phi phi'
        return -(two * slope.square()) - two * value * curvature
    if c.activation == "erf":  # phi'' = -2 z phi'
        return -(two * slope) - Interval.of(2 * z, bits) * curvature
    return Interval.of(0, bits)


def _third_suprema(net: Network, R: Fraction) -> IntervalMatrix:
    c, bits = net.certificate, net.bits
    b = Fraction(1) if c.parameter is None else c.parameter
    cap = Interval.of(suprema(c.activation, c.parameter)[2], bits)
    slope = Interval.of(
        _FOURTH[c.activation] * b ** {"softplus": 3, "sigmoid": 4}.get(c.activation, 0) * R, bits
    )
    result = []
    for x, row, entries in zip(c.X, net.preactivations, net.derivatives, strict=True):
        reach = slope * Interval.of(dot(x, x), bits).sqrt()
        pairs = zip(row, entries, strict=True)
        result.append(
            [smaller(cap, abs(third_derivative(net, z, entry)) + reach) for z, entry in pairs]
        )
    return result


def lipschitz_weights(net: Network, R: Fraction) -> list[Interval]:
    """c_i of the Hessian Lipschitz lemma."""
    c, bits = net.certificate, net.bits
    heads = [Interval.of(abs(v), bits) for v in c.v]
    first, second, third = net.local_suprema(1, R), net.local_suprema(2, R), _third_suprema(net, R)
    weights = []
    for i, x in enumerate(c.X):
        n1 = total(((h * s).square() for h, s in zip(heads, first[i], strict=True)), bits).sqrt()
        reach = (
            abs(net.residual[i]) + Interval.of(R, bits) * Interval.of(dot(x, x), bits).sqrt() * n1
        )
        top2 = largest(h * s for h, s in zip(heads, second[i], strict=True))
        top3 = largest(h * s for h, s in zip(heads, third[i], strict=True))
        weights.append(Interval.of(3, bits) * n1 * top2 + reach * top3)
    return weights


def saddle_checks(net: Network, claim: Claim, judge: Witnessed) -> Iterator[Check]:
    """Section 11."""
    c, f, bits = net.certificate, claim.fields, net.bits
    both = f["trained"] == "vW"
    yield "smooth activation", c.activation in SMOOTH
    yield from loss_checks(net, claim)
    yield "gamma > 0, eps >= 0", f["gamma"] > 0 and f["eps"] >= 0
    direction = (claim.tensors["u"].numbers() if both else []) + claim.tensors["U"].numbers()
    yield "direction", any(direction)
    g = gradient(net, both)
    yield "eps", at_most(inner(g, g), Interval.of(f["eps"] ** 2, bits))
    U = [Interval.of(entry, bits) for entry in direction]
    curvature = inner(U, [inner(row, U) for row in hessian(net, both)])
    yield "gamma", at_most(curvature, Interval.of(-f["gamma"] * dot(direction, direction), bits))
    if "radius" not in f:
        return
    square = lipschitz_square(f["radius"])
    yield "Lam R <= gamma", square * f["radius"]["R"] ** 2 <= f["gamma"] ** 2
    yield from constant_checks(net, claim, judge)


def lipschitz_square(part: dict) -> Fraction:
    """Lam^2 of the object `radius`."""
    return part["Lip"] ** 2 if "Lip" in part else part["lam"] * part["quartic"]["kappa"]


def constant_checks(net: Network, claim: Claim, judge: Witnessed) -> Iterator[Check]:
    """The Lipschitz constant of the Hessian on the ball of radius R: the lemma for W, or the one
    for both layers.
    """
    part, R = claim.fields["radius"], claim.fields["radius"]["R"]
    if "Lip" in part:
        yield "signs of the radius", R > 0 and part["Lip"] > 0
        yield "Lip", at_most(lipschitz_of_both(net, R), Interval.of(part["Lip"], net.bits))
        return
    lam = part["lam"]
    yield "signs of the radius", R > 0 and lam > 0 and part["quartic"]["kappa"] > 0
    weights = lipschitz_weights(net, R)
    yield (
        "lam",
        judge.definite(
            shifted(weighted_gram(net.certificate.X, weights), lam, sign=-1),
            claim.tensors["C_lam"].rows(),
        ),
    )
    yield "kappa", judge.quartic(net, weights, Claim(claim.kind, part, claim.tensors))


def lipschitz_of_both(net: Network, R: Fraction) -> Interval:
    """sum_i of the largest values of the three monomials of the third derivative of r_i^2/2 along
    (u, A), |u|^2 + |A|^2 = 1.
    """
    c, bits = net.certificate, net.bits
    first, second, third = net.local_suprema(1, R), net.local_suprema(2, R), _third_suprema(net, R)
    heads = [Interval.of(abs(v) + R, bits) for v in c.v]
    whole = {number: Interval.of(number, bits) for number in (3, 6)}
    value = Interval.of(0, bits)
    for i, x in enumerate(c.X):
        norm = Interval.of(dot(x, x), bits).sqrt()
        reach = Interval.of(R, bits) * norm
        outputs = [abs(e[0]) + s * reach for e, s in zip(net.derivatives[i], first[i], strict=True)]
        slopes, bends, thirds = (
            [h * s for h, s in zip(heads, row[i], strict=True)] for row in (first, second, third)
        )
        n0, n1 = (
            total((entry.square() for entry in row), bits).sqrt() for row in (outputs, slopes)
        )
        moved = (
            abs(net.residual[i])
            + Interval.of(R, bits) * (n0.square() + (n1 * norm).square()).sqrt()
        )
        twice_u = whole[6] * n0 * largest(first[i]) * norm
        once_u = (
            whole[3] * n0 * largest(bends)
            + whole[6] * n1 * largest(first[i])
            + whole[3] * moved * largest(second[i])
        ) * norm.square()
        without_u = (
            (whole[3] * n1 * largest(bends) + moved * largest(thirds)) * norm.square() * norm
        )
        value = value + Interval.of(Fraction(385, 1000), bits) * (twice_u + once_u) + without_u
    return value


def second_order_checks(net: Network, claim: Claim, judge: Witnessed) -> Iterator[Check]:
    """Section 12; without a witness both routes ask about the blocks or the Hessian that the claim
    names.
    """
    c, f, bits = net.certificate, claim.fields, net.bits
    both, d = f["trained"] == "vW", len(net.certificate.X[0])
    yield "smooth activation", c.activation in SMOOTH
    yield from loss_checks(net, claim)
    yield "eps >= 0, delta > 0", f["eps"] >= 0 and f["delta"] > 0
    g = gradient(net, both)
    yield "eps", at_most(inner(g, g), Interval.of(f["eps"] ** 2, bits))
    if "radius" in f:
        yield from surroundings_checks(net, claim, judge)
    C = claim.tensors["C"].rows()
    if f["method"] == "dense":
        yield "delta", judge.definite(shifted(hessian(net, both), f["delta"]), C)
        return
    for neuron, v in enumerate(c.v):
        factor = C[neuron * d : (neuron + 1) * d]
        if v == 0:
            yield f"block {neuron}", not any(map(any, factor))
        else:
            yield (
                f"block {neuron}",
                judge.definite(shifted(neuron_block(net, neuron), f["delta"]), factor),
            )


def surroundings_checks(net: Network, claim: Claim, judge: Witnessed) -> Iterator[Check]:
    """Theorem SO (a) with rho = Lam, and (c) at the radius and at the distance."""
    f, part = claim.fields, claim.fields["radius"]
    square, eps = lipschitz_square(part), f["eps"]
    yield "epsilon", eps <= part["epsilon"] and f["delta"] ** 4 <= square * part["epsilon"] ** 2
    yield from constant_checks(net, claim, judge)
    if "minimum" not in part:
        return
    mu, D, R = part["minimum"]["mu"], part["minimum"]["distance"], part["R"]
    yield "order of the radii", 0 < D <= R
    yield "convex on the ball", mu > 0 and square * R * R < mu * mu
    room = mu * D - eps
    yield "outward slope at the distance", room > 0 and square * D**4 < (2 * room) ** 2
    yield (
        "mu",
        judge.definite(
            shifted(hessian(net, f["trained"] == "vW"), -mu), claim.tensors["C_mu"].rows()
        ),
    )
