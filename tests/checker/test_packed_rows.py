"""Rows side by side in long integers, against loops over the rows."""

import random

import pytest

from globalmin_check.claims.packed_rows import PackedRows
from globalmin_check.verdict import Undecided

SIZES = (0, 1, 2, 3, 7, 8, 9, 16, 17, 40, 130)


def products(vectors: list[list[int]], p: list[int]) -> list[int]:
    return [sum(a * b for a, b in zip(v, p, strict=True)) for v in vectors]


@pytest.mark.parametrize("seed", range(60))
def test_sums_and_decided_rows_are_those_of_loops(seed: int):
    """Zero rows, rows at right angles to a ray, entries at the ends of their range."""
    rng = random.Random(seed)  # noqa: S311 - draws of a test
    d, n, room = rng.randint(2, 5), rng.choice(SIZES), rng.choice((1, 3, 20, 70))
    most = 2 ** rng.choice((1, 2, 30, 90))
    vectors = [
        [rng.choice((0, most, -most, rng.randint(-most, most))) for _ in range(d)] for _ in range(n)
    ]
    ends = 2**room - 1
    rays = [
        [rng.choice((0, ends, -ends, rng.randint(-ends, ends))) for _ in range(d)] for _ in "ab"
    ]
    packed = PackedRows(vectors, d, room)
    for p in rays:
        active = [v for v, z in zip(vectors, products(vectors, p), strict=True) if z >= 0]
        assert packed.active_sum(p) == [sum(v[j] for v in active) for j in range(d)]
    z = list(zip(*(products(vectors, p) for p in rays), strict=True))
    active = [v for v, t in zip(vectors, z, strict=True) if min(t) >= 0]
    undecided = [v for v, t in zip(vectors, z, strict=True) if min(t) < 0 < max(t)]
    sums = [sum(v[j] for v in active) for j in range(d)]
    assert packed.decided(rays) == (sums, undecided)


def test_a_longer_ray_than_planned_is_refused():
    """Its products might run into the next slot."""
    packed = PackedRows([[1, 2]], 2, 4)
    assert packed.active_sum([15, -7]) == [1, 2]
    with pytest.raises(Undecided, match="4 bits"):
        packed.active_sum([16, 0])


def test_many_rows_of_the_largest_sum():
    """The sum of a thousand equal rows stays below half of the residue."""
    vectors = [[2**20, -(2**20)]] * 1000
    assert PackedRows(vectors, 2, 1).active_sum([1, 0]) == [1000 * 2**20, -1000 * 2**20]
    assert PackedRows(vectors, 2, 1).active_sum([-1, 0]) == [0, 0]
    # 20 + 10 bits and two more are a whole number of bytes: no room is left over
    tight = PackedRows([[2**20 - 1, 0]] * 1023, 2, 1)
    assert tight.width == 32
    assert tight.active_sum([1, 0]) == [1023 * (2**20 - 1), 0]
    assert tight.active_sum([0, 1]) == [1023 * (2**20 - 1), 0]
