"""Equal, opposite and proportional rows against brute-force loops over exact fractions."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from globalmin.data.exact_algebra import (
    PRIME,
    equal_groups,
    integer_row,
    line_groups,
    multiply,
    opposite_groups,
    primitive_vector,
    projective_keys,
    residues,
)

finite = st.floats(allow_nan=False, allow_infinity=False)


def fractions(row):
    return [Fraction(value) for value in row.tolist()]


def are_multiples(u, v):
    """Whether the nonzero rows u and v span one line, by all 2 x 2 minors."""
    u, v = fractions(u), fractions(v)
    return all(u[a] * v[b] == u[b] * v[a] for a in range(len(u)) for b in range(a))


def brute_groups(X, related):
    """Classes of two or more rows under an equivalence relation, by comparing all pairs."""
    groups = []
    for i in range(len(X)):
        for group in groups:
            if related(X[group[0]], X[i]):
                group.append(i)
                break
        else:
            groups.append([i])
    return {tuple(group) for group in groups if len(group) > 1}


def random_rows(seed, n=40, d=3):
    """Few directions, exact and inexact multiples of either sign, repeated and zero rows."""
    rng = np.random.default_rng(seed)
    directions = rng.integers(-3, 4, (6, d)).astype(float)
    if seed % 2:
        directions = np.concatenate([directions, np.round(rng.normal(size=(4, d)), 2)])
    factors = np.array([1.0, -1.0, 2.0, 3.0, -0.5, 1 / 3, 0.1, 7.0, 2.0**-1000, 2.0**900])
    return (
        directions[rng.integers(0, len(directions), n)]
        * factors[rng.integers(0, len(factors), (n, 1))]
    )


@pytest.mark.parametrize("seed", range(20))
def test_groups_agree_with_comparing_all_pairs_exactly(seed):
    X = random_rows(seed)
    nonzero = np.flatnonzero((X != 0).any(axis=1))

    def renumbered(groups):
        return {tuple(int(nonzero[i]) for i in group) for group in groups}

    assert set(equal_groups(X)) == brute_groups(X, lambda u, v: fractions(u) == fractions(v))
    same_or_opposite = brute_groups(X[nonzero], lambda u, v: (u == v).all() or (u == -v).all())
    assert set(opposite_groups(X)) == renumbered(same_or_opposite)
    assert set(line_groups(X)) == renumbered(brute_groups(X[nonzero], are_multiples))


def test_exact_multiples_are_found_and_rounded_ones_are_not():
    u = np.array([0.1, 0.7, -1.3])
    third = u / 3
    assert not are_multiples(u, third)
    assert line_groups(np.array([u, third])) == ()
    whole = np.array([1.0, 5.0, -3.0])
    assert line_groups(np.array([whole, 3 * whole, whole / 3, -7 * whole, 0.1 * whole])) == (
        (0, 1, 3),
    )
    assert line_groups(np.array([u, 2 * u, -0.25 * u, 3 * u])) == ((0, 1, 2),)


def test_one_unit_in_the_last_place_breaks_a_line():
    rng = np.random.default_rng(0)
    for _ in range(50):
        u = rng.integers(-(2**26), 2**26, 4).astype(float)
        v = u * float(rng.integers(2, 2**26))
        moved = v.copy()
        moved[2] = np.nextafter(moved[2], np.inf)
        assert line_groups(np.array([u, v])) == ((0, 1),)
        assert line_groups(np.array([u, moved])) == ()


def test_signed_zeros_are_equal():
    X = np.array([[0.0, 1.0], [-0.0, 1.0], [0.0, -1.0], [-0.0, -2.0], [0.0, 0.0], [-0.0, 0.0]])
    assert equal_groups(X) == ((0, 1), (4, 5))
    assert opposite_groups(X) == ((0, 1, 2),)
    assert line_groups(X) == ((0, 1, 2, 3),)


def test_entries_of_extreme_size_are_compared_exactly():
    tiny, huge = 5e-324, 2.0**1000
    X = np.array(
        [[tiny, 3 * tiny], [huge, 3 * huge], [1.0, 3.0], [tiny, huge], [1.0, 3.0000000000000004]]
    )
    assert line_groups(X) == ((0, 1, 2),)


def test_matrices_without_rows_of_interest():
    assert line_groups(np.zeros((3, 2))) == ()
    assert opposite_groups(np.zeros((3, 2))) == ()
    assert equal_groups(np.array([[1.0]])) == ()
    assert line_groups(np.array([[1.0], [-2.0], [0.0], [0.3]])) == ((0, 1, 3),)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(finite, min_size=1, max_size=20))
def test_residues_are_the_fractions_modulo_the_prime(values):
    for value, residue in zip(values, residues(np.array(values)), strict=True):
        fraction = Fraction(value)
        assert int(residue) == fraction.numerator * pow(fraction.denominator, -1, PRIME) % PRIME
        assert (int(residue) == 0) == (value == 0)


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    st.lists(
        st.tuples(st.integers(0, PRIME - 1), st.integers(0, PRIME - 1)), min_size=1, max_size=20
    )
)
def test_products_modulo_the_prime(pairs):
    a, b = (np.array(column, dtype=np.uint64) for column in zip(*pairs, strict=True))
    assert multiply(a, b).tolist() == [x * y % PRIME for x, y in pairs]


def test_products_of_the_largest_residues():
    edge = np.array([PRIME - 1, PRIME - 2, 2**60, 2**31 - 1, 2**31, 0, 1], dtype=np.uint64)
    for value in edge:
        assert multiply(edge, np.full_like(edge, value)).tolist() == [
            int(x) * int(value) % PRIME for x in edge
        ]


@settings(max_examples=200, deadline=None, derandomize=True)
@given(
    st.lists(st.integers(-(2**26), 2**26), min_size=2, max_size=6),
    st.integers(1, 2**26),
    st.integers(-900, 900),
    st.booleans(),
)
def test_no_exact_multiple_is_missed(row, factor, power, negative):
    u = np.array(row, dtype=float)
    if not u.any():
        return
    v = np.ldexp(u * factor, power) * (-1.0 if negative else 1.0)
    keys = projective_keys(np.array([u, v]))
    assert keys[0] == keys[1]
    assert line_groups(np.array([u, v])) == ((0, 1),)
    assert primitive_vector(u) == primitive_vector(v)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(st.lists(finite, min_size=1, max_size=6))
def test_integer_rows_are_a_power_of_two_times_the_row(values):
    row = np.array(values)
    integers = integer_row(row)
    nonzero = [
        (Fraction(value), integer) for value, integer in zip(values, integers, strict=True) if value
    ]
    assert [integer == 0 for integer in integers] == [value == 0 for value in values]
    if nonzero:
        factors = {integer / fraction for fraction, integer in nonzero}
        assert len(factors) == 1
        factor = factors.pop()
        assert factor > 0
        assert (
            factor.numerator & (factor.numerator - 1)
            == factor.denominator & (factor.denominator - 1)
            == 0
        )


def test_keys_that_collide_by_accident_do_not_invent_a_line(monkeypatch):
    monkeypatch.setattr(
        "globalmin.data.exact_algebra.projective_keys",
        lambda X: np.zeros(len(X), dtype=np.uint64),
    )
    X = random_rows(3)
    nonzero = X[(X != 0).any(axis=1)]
    assert set(line_groups(nonzero)) == brute_groups(nonzero, are_multiples)
