"""Streams of rows that are hard to add up, and files about them that only H8 can refuse: the class
is proved by any matrix (t = 0), and every bound is wide but one radius.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import isqrt

import numpy as np
from tests.checker import stream_cases as cases

Rng = np.random.Generator
Array = np.ndarray
MODES = ("below", "a share below", "at", "above", "far above")


def _plain(rng: Rng, n: int, q: int, k: int, bias: bool) -> cases.Case:
    shift = rng.standard_normal(q + 1) * 10.0 ** rng.integers(-3, 4, q + 1)
    scale = rng.uniform(0.5, 1.0, q + 1) * 10.0 ** rng.integers(-3, 4, q + 1)
    rows = shift + rng.standard_normal((n, q + 1)) / scale
    W, v = rng.standard_normal((k, q + bias)), rng.standard_normal(k)
    return cases.Case(rows, (), shift, scale, W, v, bias)


def _changed(case: cases.Case, rows: Array, *, W: float = 1.0, plain: bool = True) -> cases.Case:
    """Other rows; without shifts and scales if they are `plain`."""
    shift, scale = np.zeros(len(case.shift)), np.ones(len(case.scale))
    if not plain:
        shift, scale = case.shift, case.scale
    return cases.Case(rows, (), shift, scale, case.W * W, case.v, case.bias)


def _cancelling(rng: Rng, case: cases.Case) -> cases.Case:
    """Labels of 2^40 to 2^60 with both signs, whose residuals nearly sum to nothing."""
    rows = case.rows / np.abs(case.rows).max(axis=0)
    big = 2.0 ** int(rng.integers(40, 60))
    rows[:, -1] += np.resize([big, -big, 1.0, big, -big], len(rows))
    return _changed(case, rows)


def _ordered(rng: Rng, case: cases.Case) -> cases.Case:
    """Rows from 2^-60 to 2^60 in any order."""
    rows = rng.standard_normal(case.rows.shape) * 2.0 ** rng.integers(-60, 60, (len(case.rows), 1))
    return _changed(case, rows, W=2.0**-30)


def _scattered(rng: Rng, case: cases.Case) -> cases.Case:
    """Entries of all sizes, and weights."""
    rows = case.rows * 2.0 ** rng.integers(-50, 50, case.rows.shape)
    found = _changed(case, rows, plain=False)
    W = found.W * 2.0 ** rng.integers(-30, 30, found.W.shape)
    return cases.Case(rows, (), found.shift, found.scale, W, found.v, found.bias)


def _tiny(rng: Rng, case: cases.Case) -> cases.Case:
    """Scales down to the least number there is."""
    scale = np.maximum(case.scale * 10.0 ** -int(rng.integers(200, 330)), 5e-324)
    return cases.Case(case.rows, (), case.shift, scale, case.W, case.v, case.bias)


def _huge(rng: Rng, case: cases.Case) -> cases.Case:
    """Scaled numbers up to 2^100."""
    scale = case.scale * 10.0 ** int(rng.integers(5, 28))
    return cases.Case(case.rows, (), case.shift, scale, case.W, case.v, case.bias)


def _subnormal(rng: Rng, case: cases.Case) -> cases.Case:
    """Inputs of a few of the least numbers, scaled up."""
    rows = rng.integers(-9, 10, case.rows.shape) * 5e-324
    rows[:, -1] = rng.standard_normal(len(rows))
    scale = np.full(len(case.scale), 2.0 ** int(rng.integers(0, 600)))
    scale[-1] = 1.0
    return cases.Case(rows, (), np.zeros(len(scale)), scale, case.W, case.v, case.bias)


def _zero(rng: Rng, case: cases.Case) -> cases.Case:
    return _changed(case, 0 * case.rows, W=0.0)


def _one(rng: Rng, case: cases.Case) -> cases.Case:
    return _changed(case, case.rows[:1], plain=False)


KINDS: dict[str, Callable[[Rng, cases.Case], cases.Case]] = {
    "plain": lambda rng, case: case,
    "cancelling": _cancelling,
    "ordered": _ordered,
    "scattered": _scattered,
    "tiny": _tiny,
    "huge": _huge,
    "subnormal": _subnormal,
    "zero": _zero,
    "one row": _one,
}


def stream(rng: Rng, kind: str) -> cases.Case:
    """Up to twelve rows of a kind, in up to three shards."""
    n, q, k = int(rng.integers(1, 13)), int(rng.integers(1, 4)), int(rng.integers(1, 4))
    case = KINDS[kind](rng, _plain(rng, n, q, k, bool(rng.integers(2))))
    n = len(case.rows)
    cuts = tuple(sorted({int(x) for x in rng.integers(1, n, 2)})) if n > 2 else ()
    return cases.Case(case.rows, cuts, case.shift, case.scale, case.W, case.v, case.bias)


def root_below(square: Fraction) -> Fraction:
    """At most 2^-1100 below the root."""
    return Fraction(isqrt((square.numerator << 2200) // square.denominator), 1 << 1100)


def down(value: Fraction) -> float:
    """The largest double that is not above."""
    near = float(value)
    return near if Fraction(near) <= value else float(np.nextafter(near, -np.inf))


def up(value: Fraction) -> float:
    """The least double that is not below."""
    return -down(-value)


def _radius(rng: Rng, mode: str, exact: Fraction, size: Fraction) -> float:
    """By what the sums differ, and the radius that a file says."""
    if mode == "below":
        return max(0.0, float(np.nextafter(down(exact), -np.inf)))
    if mode == "a share below":
        return max(0.0, down(exact * (1 - Fraction(1, 10 ** int(rng.choice([9, 12, 15]))))))
    share = {"at": 0, "above": Fraction(1, 10 ** int(rng.integers(6, 17))), "far above": 1}[mode]
    return up(exact + share * (size + exact))


def _stored(rng: Rng, sums: Array) -> Array:
    """The sums, or some a little or far from them."""
    away = float(rng.choice([0.0, 1e-12, 1e-3])) * rng.standard_normal(sums.shape)
    return sums * (1 + away)


def hostile(rng: Rng, case: cases.Case) -> tuple[str, bytes]:
    """A file of the stream, all of whose radii are wide but one; and which mode that has."""
    d, shards = case.W.shape[1], case.shards()
    found = [case.sums(rows) for rows in shards]
    squares = _stored(rng, np.array([float(A) for A, _, _ in found]))
    products = _stored(rng, np.array([float(B) for _, B, _ in found]))
    moments = _stored(rng, np.array([[float(z) for z in f[2]] for f in found]))
    pairs, radii = list(zip(*np.triu_indices(d), strict=True)), np.zeros((len(shards), 3))
    target, which, mode = (
        int(rng.integers(len(shards))),
        int(rng.integers(3)),
        str(rng.choice(MODES)),
    )
    for s, (A, B, Z) in enumerate(found):
        steps = zip(pairs, Z, moments[s], strict=True)
        square = sum(
            ((1 + int(i < j)) * (z - Fraction(m)) ** 2 for (i, j), z, m in steps), Fraction(0)
        )
        exact = abs(A - Fraction(squares[s])), abs(B - Fraction(products[s])), root_below(square)
        sizes = abs(A), abs(B), sum(map(abs, Z), Fraction(0))
        for r in range(3):
            own = mode if (s, r) == (target, which) else "far above"
            radii[s, r] = _radius(rng, own, exact[r], sizes[r])
    decay = 2 * max(Fraction(abs(x)) for x in case.v)
    A, _ = cases.exact_ends(squares, products, radii)
    penalty = decay * sum((Fraction(float(w)) ** 2 for w in case.W.ravel()), Fraction(0)) / 2
    fields = {"heads": "any", "decay": decay, "v_max": decay / 2, "t": Fraction(0)}
    tops = {"gap": A / 2 + penalty, "loss_upper": A / 2}
    tensors = {"squares": squares, "products": products, "moments": moments, "radii": radii}
    factors = {"C_lower": np.eye(d), "C_upper": np.eye(d)}
    return mode, cases.build(case, (fields | tops, tensors | factors))
