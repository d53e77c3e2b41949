"""The mathematics of spec/claims/dual-gap.md by the slow road: losses and conjugates one sample at
a time, H_g(u) without cones.

H is exact by enumeration. A maximum of w -> sum_i u_i relu(x_i . w) over the sphere lies in a cell
of the arrangement of the hyperplanes x_i . w = 0, on a face of it, or on a ray; there it is the
projection of the cell's vector s = sum_{active} u_i x_i on the face. So the projections of all
sums over subsets of the rows on the orthogonal complements of all subsets of the rows, and the
rays, hold every maximum: each candidate is evaluated, and no bound is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, pairwise, product

from tests.oracles.fraction_elementary import decay, exp_minus_one, log_one_plus
from tests.oracles.fraction_intervals import Interval, UndefinedError

Row = Sequence[Fraction]
SIGNED = ("hinge", "squared_hinge", "logistic")
MOST_ROWS = 9  # 2^9 subsets of rows


def logarithm(x: Fraction, bits: int) -> Interval:
    """Log x for a positive rational: m log 2 + log r, 1 <= r < 2, or the negative of log 1/x."""
    if x <= 0:
        raise ValueError("the logarithm of a number that is not positive")
    if x < 1:
        return -logarithm(1 / x, bits)
    m = 0
    while x >= 2:
        x, m = x / 2, m + 1
    one = Interval.of(1, bits)
    return Interval.of(m, bits) * log_one_plus(one) + log_one_plus(Interval.of(x - 1, bits))


def exponential(t: Fraction, bits: int) -> Interval:
    """e^t."""
    if t < 0:
        return decay(-t, bits)[0]
    if t > 8192:
        raise UndefinedError("an exponential beyond the series")
    return Interval.of(1, bits) + exp_minus_one(t, bits)


def loss(name: str, a: Fraction, f: Fraction, y: Fraction, bits: int) -> Interval:
    """l(f) for the label y."""
    if name == "logistic":
        z = -y * f
        tail = log_one_plus(decay(abs(z), bits)[0])
        return Interval.of(max(z, Fraction(0)), bits) + tail
    if name == "poisson":
        return exponential(f, bits) - Interval.of(y * f, bits)
    return Interval.of(_rational_loss(name, a, f, y), bits)


def _rational_loss(name: str, a: Fraction, f: Fraction, y: Fraction) -> Fraction:
    r = f - y
    if name == "squared":
        return r * r / 2
    if name == "huber":
        return r * r / 2 if abs(r) <= a else a * abs(r) - a * a / 2
    if name == "quantile":
        return max(a * -r, (a - 1) * -r)
    lack = max(Fraction(0), 1 - y * f)
    return lack if name == "hinge" else lack * lack / 2


def in_domain(name: str, a: Fraction, u: Fraction, y: Fraction) -> bool:
    """Whether the conjugate is finite."""
    p = -y * u
    return {
        "squared": True,
        "huber": abs(u) <= a,
        "quantile": -a <= u <= 1 - a,
        "hinge": 0 <= p <= 1,
        "squared_hinge": p >= 0,
        "logistic": 0 <= p <= 1,
        "poisson": u + y >= 0,
    }[name]


def conjugate(name: str, u: Fraction, y: Fraction, bits: int) -> Interval:
    """l*(u), for u in the domain."""
    if name in ("squared", "huber"):
        return Interval.of(u * y + u * u / 2, bits)
    if name == "quantile":
        return Interval.of(u * y, bits)
    p, q = -y * u, u + y
    if name in ("hinge", "squared_hinge"):
        return Interval.of(-p + (p * p / 2 if name == "squared_hinge" else 0), bits)
    if name == "poisson":
        return _x_log_x(q, bits) - Interval.of(q, bits)
    return _x_log_x(p, bits) + _x_log_x(1 - p, bits)


def _x_log_x(x: Fraction, bits: int) -> Interval:
    return Interval.of(x, bits) * logarithm(x, bits) if x else Interval.of(0, bits)


def dot(p: Row, q: Row) -> Fraction:
    """The inner product."""
    return sum((a * b for a, b in zip(p, q, strict=True)), Fraction(0))


def neuron_sum(rows: Sequence[Row], u: Row, w: Row) -> Fraction:
    """sum_i u_i relu(x_i . w)."""
    return sum(
        (x * max(Fraction(0), dot(row, w)) for x, row in zip(u, rows, strict=True)), Fraction(0)
    )


def _orthogonal_basis(rows: Sequence[Row]) -> list[list[Fraction]]:
    """Gram and Schmidt without roots; dependent rows are dropped."""
    basis: list[list[Fraction]] = []
    for row in rows:
        rest = _without(row, basis)
        if any(rest):
            basis.append(rest)
    return basis


def _without(vector: Row, basis: Sequence[Row]) -> list[Fraction]:
    """The part of a vector orthogonal to an orthogonal basis."""
    rest = list(vector)
    for b in basis:
        factor = dot(vector, b) / dot(b, b)
        rest = [x - factor * y for x, y in zip(rest, b, strict=True)]
    return rest


def candidates(rows: Sequence[Row], u: Row) -> Iterator[list[Fraction]]:
    """Directions among which every maximum of the sum over the sphere is."""
    size, units = len(rows[0]), list(range(len(rows[0])))
    sums = set()
    for pattern in product((0, 1), repeat=len(rows)):
        active = [i for i, one in enumerate(pattern) if one]
        sums.add(tuple(sum((u[i] * rows[i][c] for i in active), Fraction(0)) for c in range(size)))
    faces = {()} | {face for m in range(1, size) for face in combinations(range(len(rows)), m)}
    for face in faces:
        basis = _orthogonal_basis([rows[i] for i in face])
        if len(basis) == size - 1:  # a ray and its negative
            for c in units:
                unit = [Fraction(int(i == c)) for i in units]
                rest = _without(unit, basis)
                if any(rest):
                    yield rest
                    yield [-x for x in rest]
        else:
            for s in sums:
                rest = _without(s, basis)
                if any(rest):
                    yield rest


def largest_square(rows: Sequence[Row], u: Row) -> Fraction:
    """The square of max(0, max_{|w|<=1} sum_i u_i relu(x_i . w)), exactly; for few rows."""
    if len(rows) > MOST_ROWS:
        raise UndefinedError("too many rows to enumerate their subsets")
    best = Fraction(0)
    for w in candidates(rows, u):
        value = neuron_sum(rows, u, w)
        if value > 0:
            best = max(best, value * value / dot(w, w))
    return best


def one_column_square(values: Row, tau: Fraction, u: Row, half: int, sign: int) -> Fraction:
    """The square of the largest sign * sum over w = (w_0, w_1), |w| <= 1, half * w_0 >= 0, for one
    column with penalized bias.

    By rays and determinants: between neighboring kinks the sum is s . w, largest at s or at an end.
    """
    places = sorted(set(values))
    kinks = [(half * tau, -half * z) for z in places]
    ends = [(Fraction(0), Fraction(1)), (Fraction(0), Fraction(-1))]
    rows = [(x, tau) for x in values]
    best = Fraction(0)
    for w in [*kinks, *ends, *_interior(rows, u, half, kinks + ends, sign)]:
        value = sign * neuron_sum(rows, u, w)
        if value > 0:
            best = max(best, value * value / dot(w, w))
    return best


def _interior(
    rows: Sequence[Row], u: Row, half: int, rays: Sequence[Row], sign: int
) -> Iterator[Row]:
    """The vectors s of the arcs: between two rays that are neighbors the active rows are those of
    the middle.
    """
    arcs = sorted(rays, key=lambda w: Fraction(w[1]) / (abs(w[0]) + abs(w[1])))
    for p, q in pairwise(arcs):
        middle = [a + b for a, b in zip(p, q, strict=True)]
        if not any(middle):  # no kink: the half circle between (0, -1) and (0, 1)
            middle = [Fraction(half), Fraction(0)]
        active = [i for i, row in enumerate(rows) if dot(row, middle) > 0]
        s = [sign * sum((u[i] * rows[i][c] for i in active), Fraction(0)) for c in (0, 1)]
        if half * s[0] >= 0 and any(s):
            yield s
