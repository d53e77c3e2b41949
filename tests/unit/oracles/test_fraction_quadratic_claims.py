"""Two checkers by two roads on the claims of quadratic networks and second-order points: they never contradict each other, and
nothing is accepted that the exact quantities refute."""

from collections import Counter
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from tests.certificates.two_checkers import contradict
from tests.oracles import gmc_builder as gmc
from tests.oracles.fraction_checker import Outcome
from tests.oracles.fraction_quadratic_claims import gram_without_roots, least_squares_matrix, monomials, outer_sum, rank, solve
from tests.oracles.quadratic_checker import check_bytes as slow_check
from tests.oracles.quadratic_checker import oracle_truth
from tests.oracles.strict_container import read
from tests.unit.checker import quadratic_cases as q
from tests.unit.checker import second_order_cases as s

from globalmin_check.engine import check_bytes


def gap_p(seed: int) -> bytes:
    net = q.random_network(6, 2, 3, seed=seed, heads=("nonnegative", "nonpositive")[seed % 2]).trained()
    return q.build(net, [q.gap_positive(net)])


def gap_p_deficient(seed: int) -> bytes:
    rng = np.random.default_rng(seed)
    base = rng.standard_normal((6, 2))
    X = np.hstack([base, base[:, :1]])
    net = q.Quadratic(X, rng.standard_normal(6), rng.standard_normal((4, 3)), np.ones(4)).trained()
    return q.build(net, [q.gap_positive(net, rows=np.array([0, 3]))])


def gap_s(seed: int) -> bytes:
    net = q.random_network(6, 2, 4, seed=seed, heads="any")
    return q.build(net, [q.gap_span(net)])


def gap_d(seed: int) -> bytes:
    heads = ("nonnegative", "nonpositive", "any")[seed % 3]
    net = q.random_network(6, 2, 4, seed=seed, heads=heads).trained(0.5)
    return q.build(net, [q.gap_decay(net, 0.5, heads=heads)])


def identifies(seed: int) -> bytes:
    net = q.random_network(3 + seed % 3, 2, 2, seed=seed)
    return q.build(net, [q.identifies_claim(net, stable=seed % 2 == 0)])


def ambiguous(seed: int) -> bytes:
    net = q.random_network(2, 2, 3, seed=seed)
    if seed % 2:
        X = np.array([[1.0, 0.0], [0.0, 3.0], [0.0, -0.7], [2.5, 0.0]])
        net = q.Quadratic(X, np.ones(4), net.W, net.v)
        return q.build(net, [q.ambiguous_claim(net, np.array([[0, 1], [1, 0]]))])
    return q.build(net, [q.ambiguous_claim(net)])


def barrier(seed: int) -> bytes:
    net = q.barrier_network(9, 2, 3, seed=seed)
    return q.build(net, [q.barrier_claim(net, norm=("rows", "factor")[seed % 2])])


def saddle(seed: int) -> bytes:
    names = list(s.THIRD)
    net = s.random_smooth(4, 2, 2, activation=names[seed % 5], trained=("W", "vW")[seed // 5 % 2], seed=seed)
    method = "" if net.trained == "vW" else ("", "rows", "svec")[seed % 3]
    return s.build(net, [s.saddle_claim(net, radius=method)])


def second(seed: int) -> bytes:
    names = list(s.THIRD)
    net = s.random_smooth(4, 2, 2, activation=names[seed % 5], trained=("W", "vW")[seed // 5 % 2], seed=seed)
    method = "dense" if net.trained == "vW" else ("dense", "blocks")[seed % 2]
    return s.build(net, [s.second_order_claim(net, method=method)])


SOURCES = [gap_p, gap_p_deficient, gap_s, gap_d, identifies, ambiguous, barrier, saddle, second]


def mutant(raw: bytes, rng: np.random.Generator) -> bytes:
    """One change of a rational field, of a tensor entry, or of a whole tensor, sealed again."""
    certificate, tensors = gmc.unpack(raw)
    fields = certificate["claims"][0]
    size = 10.0 ** rng.uniform(-18, 0.3) * rng.choice([-1, 1])
    names = [name for name in fields if name not in ("kind", "method", "theorem", "version", "trained", "norm", "heads", "rank")]
    if rng.uniform() < 0.5:
        name = str(rng.choice(names))
        target = fields
        while isinstance(target[name], dict):
            target, name = target[name], str(rng.choice([key for key in target[name] if key != "method"]))
        value = Fraction(target[name])
        changed = (value * (1 + Fraction(size)), -value, value + Fraction(size), Fraction(0))[
            rng.choice(4, p=[0.6, 0.1, 0.2, 0.1])
        ]
        target[name] = str(changed)
    else:
        name = str(rng.choice(sorted(tensors)))
        flat = tensors[name].reshape(-1)
        place = int(rng.integers(len(flat)))
        if tensors[name].dtype.kind == "i":
            flat[place] += int(rng.integers(-2, 3))
        elif rng.uniform() < 0.8:
            flat[place] *= 1 + size
        else:
            tensors[name] = -tensors[name]
    return gmc.pack(gmc.refresh_digest(certificate, tensors), tensors)


def campaign(count: int) -> Counter:
    rng = np.random.default_rng(11)
    found: Counter = Counter()
    for number in range(count):
        source: Callable[[int], bytes] = SOURCES[number % len(SOURCES)]
        raw = source(number // len(SOURCES) % 30)
        raw = raw if number < 2 * len(SOURCES) else mutant(raw, rng)
        result = check_bytes(raw)
        fast, slow = Outcome(result.verdict.value, result.reason), slow_check(raw)
        assert not contradict(fast, slow), (source.__name__, number, fast, slow)
        if fast.verdict == "ACCEPTED":
            assert oracle_truth(raw) is not False, (source.__name__, number)
        found[fast.verdict] += 1
        found["agree"] += fast.verdict == slow.verdict
    return found


def test_two_checkers_agree_on_small_mutants() -> None:
    found = campaign(270)
    assert found["ACCEPTED"] > 60
    assert found["REJECTED"] > 60
    assert found["agree"] >= 268


@pytest.mark.campaign
def test_two_checkers_agree_on_many_mutants(capsys: pytest.CaptureFixture[str]) -> None:
    found = campaign(6000)
    with capsys.disabled():
        print(f"\nquadratic and second-order claims: {dict(found)}")
    assert found["agree"] >= 0.99 * 6000


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.__name__)
def test_the_oracle_ignores_the_factors_of_the_witness(source: Callable[[int], bytes]) -> None:
    seed = next(seed for seed in range(20) if check_bytes(source(seed)).verdict.value == "ACCEPTED")
    certificate, tensors = gmc.unpack(source(seed))
    factors = [name for name in tensors if name.startswith("claims.0.C")]
    for name in factors:
        tensors[name] = tensors[name] * 0
    raw = gmc.pack(certificate, tensors)
    assert not factors or slow_check(raw).verdict == "REJECTED"
    assert oracle_truth(raw) is True


def test_rational_linear_algebra_agrees_with_floats() -> None:
    rng = np.random.default_rng(3)
    net = q.barrier_network(8, 3, 3)
    certificate = read(q.build(net, [q.barrier_claim(net)]))
    S = np.array(monomials(certificate.X), float)
    fit = np.linalg.lstsq(S, net.y, rcond=None)[0]
    A = least_squares_matrix(certificate)
    np.testing.assert_allclose(np.einsum("ia,ab,ib->i", net.X, np.array(A, float), net.X), S @ fit, atol=1e-10)
    G, e = gram_without_roots(certificate.X)
    root = np.sqrt(1 / np.array(e, float))
    D = q.svec_matrix(net.X)[0]
    np.testing.assert_allclose(np.array(G, float) * np.outer(root, root), D.T @ D, atol=1e-11)
    right = [Fraction(int(x)) for x in rng.integers(-5, 6, len(G))]
    np.testing.assert_allclose(np.array(solve(G, right), float), np.linalg.solve(np.array(G, float), np.array(right, float)))
    assert rank(G) == 6
    assert rank([[Fraction(0), Fraction(0)], [Fraction(0), Fraction(3)]]) == 1
    weights = [Fraction(1, 3), Fraction(-2)]
    assert outer_sum([[Fraction(3), Fraction(0)], [Fraction(1), Fraction(1)]], weights) == [[1, -2], [-2, -2]]
