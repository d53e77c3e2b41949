"""The oracle of the quadratic and second-order claims: it answers about the claim and not about the
witness, and its exact linear algebra is that of floats."""

from fractions import Fraction

import numpy as np
import pytest
from tests.checker import quadratic_cases as q
from tests.corpus.drafts import seal
from tests.corpus.honest_quadratic import SOURCES, Source
from tests.oracles.fraction_checker import check_bytes as slow_check
from tests.oracles.fraction_checker import oracle_truth
from tests.oracles.fraction_quadratic_claims import (
    gram_without_roots,
    least_squares_matrix,
    monomials,
    outer_sum,
    rank,
    solve,
)
from tests.oracles.strict_container import read


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_the_oracle_ignores_the_factors_of_the_witness(source: Source) -> None:
    draft = source(3)
    assert slow_check(seal(draft)).verdict == "ACCEPTED"
    factors = [role for role in draft.claims[0].tensors if role.startswith("C")]
    for role in factors:
        draft.claims[0].tensors[role] *= 0
    assert not factors or slow_check(seal(draft)).verdict == "REJECTED"
    assert oracle_truth(seal(draft)) is True


@pytest.mark.parametrize(
    ("name", "field", "factor"),
    [
        ("gap_positive", "gap", 0.1),
        ("gap_rank", "gap", 0.1),
        ("gap_span", "gap", 0.99),
        ("gap_decay", "v_max", 0.9),
        ("gap_decay", "v_max", 1.1),
        ("ambiguous", "sigma2", 1.02),
        ("ambiguous_kernel", "difference", 1.01),
        ("barrier", "phi", 1.01),
        ("barrier", "a_lo", 1.01),
        ("barrier", "a_hi", 0.99),
        ("barrier", "E0", 0.9),
        ("saddle", "gamma", 1.01),
        ("second_order", "delta", 0.99),
    ],
)
def test_a_number_that_says_too_much_is_false_whatever_the_witness(
    name: str, field: str, factor: float
) -> None:
    draft = SOURCES[name](3)
    draft.claims[0].fields[field] *= Fraction(factor)
    assert oracle_truth(seal(draft)) is False


def test_rational_linear_algebra_agrees_with_floats() -> None:
    rng = np.random.default_rng(3)
    net = q.barrier_network(8, 3, 3)
    certificate = read(q.build(net, [q.barrier_claim(net)]))
    S = np.array(monomials(certificate.X), float)
    fit = np.linalg.lstsq(S, net.y, rcond=None)[0]
    A = least_squares_matrix(certificate)
    np.testing.assert_allclose(
        np.einsum("ia,ab,ib->i", net.X, np.array(A, float), net.X), S @ fit, atol=1e-10
    )
    G, e = gram_without_roots(certificate.X)
    root = np.sqrt(1 / np.array(e, float))
    D = q.svec_matrix(net.X)[0]
    np.testing.assert_allclose(np.array(G, float) * np.outer(root, root), D.T @ D, atol=1e-11)
    right = [Fraction(int(x)) for x in rng.integers(-5, 6, len(G))]
    np.testing.assert_allclose(
        np.array(solve(G, right), float),
        np.linalg.solve(np.array(G, float), np.array(right, float)),
    )
    assert rank(G) == 6
    assert rank([[Fraction(0), Fraction(0)], [Fraction(0), Fraction(3)]]) == 1
    weights = [Fraction(1, 3), Fraction(-2)]
    assert outer_sum([[Fraction(3), Fraction(0)], [Fraction(1), Fraction(1)]], weights) == [
        [1, -2],
        [-2, -2],
    ]
