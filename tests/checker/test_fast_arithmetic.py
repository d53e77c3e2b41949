"""The floats of the fast route against balls of 3,000 bits: every radius holds, and is of the size
that the page says; the tests of the machine see what they are for.
"""

import ctypes
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, arb_mat

from globalmin_check.activations import jet as ball_jet
from globalmin_check.activations import supremum
from globalmin_check.balls import precision
from globalmin_check.fast import elementary, machine, pairs, products, rounding
from globalmin_check.fast.products import Products
from globalmin_check.fast.rounding import NotProved, U

NAMES = ("softplus", "sigmoid", "tanh", "quadratic")
BITS = 3000
SEED = 20411


def wild(rng: np.random.Generator, shape: tuple[int, ...], low: float, high: float) -> np.ndarray:
    """Numbers of either sign with decimal exponents from low to high, a tenth of them zero."""
    signs = rng.choice([-1.0, 1.0], shape)
    return signs * 10.0 ** rng.uniform(low, high, shape) * (rng.random(shape) > 0.1)


def arguments() -> np.ndarray:
    rng = np.random.default_rng(SEED)
    edges = [0.0, -0.0, 5e-324, 700.0, 699.99, 710.0, 745.2, 1e17, 37.0, 350.0, 349.99, 600.0]
    edges = np.array(edges + [-x for x in edges])
    return np.concatenate([wild(rng, (150,), -320, 18), wild(rng, (250,), -3, 2.9), edges])


def error(true: arb, *parts: float) -> arb:
    for part in parts:
        true = true - arb(part)
    return abs(true)


def jet(name: str, z: np.ndarray, dz: np.ndarray) -> tuple[elementary.Enclosed, ...]:
    """phi' and phi'' at floats."""
    return elementary.slopes(name, z, dz, pairs.activation(name, pairs.single(z))[1])


@pytest.mark.parametrize("name", NAMES)
def test_jets_hold_at_every_argument_and_are_tight(name: str):
    z = arguments()
    found = jet(name, z, np.zeros_like(z))
    with precision(BITS):
        for i, argument in enumerate(z.tolist()):
            true = ball_jet(name, Fraction(1), arb(argument))
            for order in (1, 2):
                value, radius = found[order - 1].values[i], found[order - 1].radii[i]
                assert error(true[order], float(value)) <= arb(float(radius)), (argument, order)
    ordinary = np.abs(z) < 30
    for part in found:
        loose = part.radii[ordinary] - 64 * U * np.maximum(np.abs(part.values[ordinary]), 1)
        assert (loose <= 0).all()


@pytest.mark.parametrize("name", NAMES)
def test_a_radius_of_the_argument_is_carried_to_the_value(name: str):
    rng = np.random.default_rng(SEED + 1)
    z, dz = rng.normal(0, 3, 60), 10.0 ** rng.uniform(-12, -1, 60)
    found = jet(name, z, dz)
    with precision(200):
        for i in range(60):
            for end in (-1, 1):
                true = ball_jet(name, Fraction(1), arb(z[i]) + end * arb(dz[i]))
                for order in (1, 2):
                    part = found[order - 1]
                    assert error(true[order], float(part.values[i])) <= arb(float(part.radii[i]))


def test_the_slopes_of_the_radii_are_the_suprema_of_the_table():
    far = np.array([0.0]), np.array([1.0])
    for name in ("softplus", "sigmoid", "tanh"):
        for order, part in enumerate(jet(name, *far), 2):
            bound = supremum(name, Fraction(1), order)
            assert bound is not None
            assert float(bound) <= part.radii[0] <= float(bound) * (1 + 1e-9)


def test_the_logarithm_is_within_its_bound():
    """On every place of the table, at its ends, and at 1 and 2."""
    rng = np.random.default_rng(SEED)
    ends = 1.0 + np.arange(1025) / 1024
    e = np.concatenate([rng.uniform(0, 1, 1500), 10.0 ** rng.uniform(-300, 0, 300)])
    h = np.concatenate([1.0 + e, ends, np.nextafter(ends[1:], 1.0)])
    low = np.where((h == 1.0) | (h == 2.0), 0.0, U * rng.uniform(-1, 1, h.size))
    log = pairs.log_pair(pairs.two_sum(h, low))
    worst = 0.0
    with precision(400):
        for i in range(h.size):
            true = (arb(h[i]) + arb(low[i])).log()
            worst = max(worst, float(error(true, float(log.h[i]), float(log.l[i])).mid()))
    assert 2.0**-104 < worst <= 2.0**-95.3


def test_numbers_of_the_table_are_logarithms():
    inverses, high, rest = pairs._inverses()
    assert np.array_equal(inverses * 2.0**15, np.rint(inverses * 2.0**15))
    places = 1.0 + np.arange(1025) / 1024
    for end in (places[:-1], places[1:]):
        assert np.abs(end * inverses[:-1] - 1.0).max() <= 2.0**-11 + 2.0**-15
    with precision(200):
        for r, h, low in zip(inverses.tolist(), high.tolist(), rest.tolist(), strict=True):
            assert error(-arb(r).log(), h, low) <= arb(2) ** -106


@pytest.mark.parametrize("bits", [11, 24, 26])
def test_slices_are_short_integers_that_add_up(bits: int):
    rng = np.random.default_rng(SEED)
    A = wild(rng, (40, 9), -30, 3)
    A[0], A[1] = 0.0, 2.0**-1050  # below every slice
    A[2, :3] = [1.0, 0.5 + 2.0**-bits / 2, -(2.0**-bits) * 1.5]  # ties
    slices, tops = pairs._slices(A, bits)
    assert (np.abs(A) <= tops[:, None]).all()
    for place, part in enumerate(slices, 1):
        integers = np.where(tops[:, None] > 0, part / np.where(tops, tops, 1.0)[:, None], 0.0)
        integers = integers * 2.0 ** (place * bits)
        assert np.array_equal(integers, np.rint(integers))
        assert np.abs(integers).max() <= 2.0**bits
    first = np.rint(A[2] / tops[2] * 2.0**bits) * tops[2] / 2.0**bits
    assert np.array_equal(slices[0][2], first)
    rest = [[Fraction(x) for x in row] for row in A.tolist()]
    for part in slices:
        rest = [
            [x - Fraction(y) for x, y in zip(*rows, strict=True)]
            for rows in zip(rest, part.tolist(), strict=True)
        ]
    for row, top in zip(rest, tops.tolist(), strict=True):
        assert max(map(abs, row)) <= Fraction(top) * Fraction(2) ** (-4 * bits - 1)


@pytest.mark.parametrize("name", NAMES)
def test_pairs_of_activations_reach_ninety_bits(name: str):
    rng = np.random.default_rng(SEED + 2)
    z = arguments()
    low = z * rng.uniform(-U, U, z.size) * 0.9
    low = np.where(np.abs(z) > 1e-290, low, 0.0)
    found = pairs.activation(name, pairs.two_sum(z, low))[0]
    with precision(BITS):
        for i, argument in enumerate(z.tolist()):
            true = ball_jet(name, Fraction(1), arb(argument) + arb(low[i]))[0]
            size = max(1.0, abs(argument)) * (abs(argument) if name == "quadratic" else 1.0)
            bound = arb(2) ** -90 * arb(size) + arb(2) ** -860
            assert error(true, float(found.h[i]), float(found.l[i])) <= bound, argument


def test_exp_of_pairs_has_a_relative_error_below_2_to_the_minus_96():
    rng = np.random.default_rng(SEED + 3)
    step = np.log(2.0) / 1024  # of the table: ties between its places, and the first places
    ties = np.nextafter((np.arange(200) + 0.5) * step, np.repeat([0.0, 1.0], 100))
    h = -np.concatenate([rng.uniform(0, 599, 400), 10.0 ** rng.uniform(-12, 0, 200), ties])
    low = h * rng.uniform(-U, U, 800) * 0.9
    found = pairs.exp_below_zero_pair(pairs.Pair(h, low))
    with precision(400):
        for i in range(800):
            true = (arb(h[i]) + arb(low[i])).exp()
            assert error(true, float(found.h[i]), float(found.l[i])) <= true * arb(2) ** -96


def test_sums_and_products_of_pairs_are_within_their_bounds():
    rng = np.random.default_rng(SEED + 4)
    a, b = (pairs.two_sum(x, x * rng.uniform(-U, U, 300)) for x in wild(rng, (2, 300), -20, 20))
    b = pairs.Pair(np.where(rng.random(300) < 0.3, -a.h, b.h), b.l)  # cancellation
    b = pairs.two_sum(b.h, np.where(np.abs(b.l) <= U * np.abs(b.h), b.l, 0.0))
    total, product = pairs.add(a, b), pairs.multiply(a, b)
    for i in range(300):
        x, y = (Fraction(float(p.h[i])) + Fraction(float(p.l[i])) for p in (a, b))
        s, p = (Fraction(float(q.h[i])) + Fraction(float(q.l[i])) for q in (total, product))
        u2 = Fraction(U) ** 2
        assert abs(s - x - y) <= 4 * u2 * (abs(x) + abs(y))
        assert abs(p - x * y) <= 9 * u2 * abs(x * y) + Fraction(2) ** -1050


@pytest.mark.parametrize("d", [1, 2, 3, 11, 64, 65])
@pytest.mark.parametrize("span", [3, 300])
def test_products_by_slices_hold_and_are_tight(d: int, span: int):
    rng = np.random.default_rng(SEED + d)
    X, W = wild(rng, (6, d), -span, min(span, 17)), wild(rng, (5, d), -span, min(span, 17))
    X[0] = 0.0
    Z, radii = pairs.product(Products(b"seed"), X, W)
    with precision(BITS):
        true = (arb_mat(X.tolist()) * arb_mat(W.tolist()).transpose()).tolist()
        for i in range(6):
            for j in range(5):
                found = error(true[i][j], float(Z.h[i, j]), float(Z.l[i, j]))
                assert found <= arb(float(radii[i, j]))
    largest = np.abs(X).max(axis=1)[:, None] * np.abs(W).max(axis=1)
    assert (radii <= 64 * d * d * 2.0**-88 * largest + 2.0**-890).all()


def test_up_is_above_sums_of_products_whatever_their_order():
    rng = np.random.default_rng(SEED)
    for length in (1, 2, 100, 3000):
        a, b = np.abs(wild(rng, (2, length), -200, 90))
        exact = sum((Fraction(x) * Fraction(y) for x, y in zip(a, b, strict=True)), Fraction(0))
        for order in (slice(None), slice(None, None, -1), rng.permutation(length)):
            slow = 0.0
            for x, y in zip(a[order], b[order], strict=True):
                slow += float(x) * float(y)
            for found in (slow, float(a[order] @ b[order])):
                bound = float(rounding.up(np.array([found]), length)[0])
                assert exact <= Fraction(bound) <= exact * (1 + Fraction(length + 9, 2**50)) + 1
    assert rounding.gamma(10**6) >= 10**6 * U / (1 - 10**6 * U)
    assert rounding.gamma(10**6) <= (10**6 + 3) * U * 1.001
    assert rounding.gamma(2**41) == np.inf


def textbook(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return A @ B


def strassen(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """One level of Strassen's seven products."""
    h = len(A) // 2
    a, b, c, d = A[:h, :h], A[:h, h:], A[h:, :h], A[h:, h:]
    e, f, g, q = B[:h, :h], B[:h, h:], B[h:, :h], B[h:, h:]
    m1, m2, m3 = (a + d) @ (e + q), (c + d) @ e, a @ (f - q)
    m4, m5, m6, m7 = d @ (g - e), (a + b) @ q, (c - a) @ (e + f), (b - d) @ (g + q)
    return np.block([[m1 + m4 - m5 + m7, m3 + m5], [m2 + m4, m1 - m2 + m3 + m6]])


def even(multiply, A: np.ndarray, B: np.ndarray) -> np.ndarray:
    return multiply(A, B) if A.shape == B.shape and len(A) % 2 == 0 else A @ B


def test_a_strassen_product_is_refused_by_the_start_up_test(monkeypatch: pytest.MonkeyPatch):
    machine.self_test()
    monkeypatch.setattr(machine, "tiled", lambda A, B: even(strassen, A, B))
    with pytest.raises(NotProved, match="BLAS"):
        machine.self_test()
    with pytest.raises(NotProved, match="term by term"):
        machine._no_fast_multiplication(64)


def test_a_strassen_product_is_refused_by_projections(monkeypatch: pytest.MonkeyPatch):
    rng = np.random.default_rng(SEED)
    scales = 2.0 ** rng.integers(-30, 31, 64)
    A, B = rng.normal(size=(64, 64)) * scales[:, None], rng.normal(size=(64, 64)) * scales
    Products(b"").product(A, B)
    monkeypatch.setattr(products, "tiled", strassen)
    with pytest.raises(NotProved, match="projections"):
        Products(b"").product(A, B)


def whole(A: np.ndarray, B: np.ndarray, confirmed: Products) -> None:
    confirmed.product(A, B)


def in_strips(A: np.ndarray, _: np.ndarray, confirmed: Products) -> None:
    strips = products.SymmetricStrips(A, confirmed)
    strips.strip(0, 5)
    strips.strip(5, 12)


@pytest.mark.parametrize("many", [False, True])
def test_a_wrong_entry_of_a_product_is_seen(monkeypatch: pytest.MonkeyPatch, many: bool):
    """Errors of 1000 tolerances are missed with probability below (2/1000 + 2^-20)^2 each."""
    rng = np.random.default_rng(SEED)
    for trial in range(40):
        A, B = rng.normal(size=(12, 30)), rng.normal(size=(30, 15))
        i, j = rng.integers(12), rng.integers(15)
        size = 1000 * 3 * (30 + 15 + 8) * U * float((np.abs(A) @ np.abs(B))[i].sum())

        def wrong(left: np.ndarray, right: np.ndarray, *, i=i, j=j, size=size) -> np.ndarray:
            C = left @ right
            C[min(i, len(C) - 1), min(j, C.shape[1] - 1)] += size
            return C

        monkeypatch.setattr(products, "tiled", wrong)
        with pytest.raises(NotProved):
            (in_strips if many else whole)(A, B, Products(bytes([trial])))


def test_right_products_are_confirmed_at_all_scales():
    rng = np.random.default_rng(SEED)
    for trial in range(60):
        span = (2, 20, 100)[trial % 3]
        A, B = wild(rng, (9, 40), -span, 10), wild(rng, (40, 7), -span, 10)
        assert np.array_equal(Products(bytes([trial])).product(A, B), A @ B)
        strips = products.SymmetricStrips(A, Products(bytes([trial])))
        for start, end in ((0, 4), (4, 9)):
            found = strips.strip(start, end)
            size = (np.abs(A) @ np.abs(A.T))[start:end, :end]
            assert (np.abs(found - (A @ A.T)[start:end, :end]) <= 90 * U * size).all()  # Lemma A
        L = np.tril(wild(rng, (30, 30), -span, 1))
        lower = products.LowerGram(30, Products(bytes([trial])))
        for start, end in BLOCKS:
            lower.confirm(L[start:end, :end], L[start:] @ L[start:end].T)


BLOCKS = ((0, 11), (11, 22), (22, 30))


def test_a_wrong_entry_of_a_product_given_by_columns_is_seen():
    """Wherever it stands: the rows of a block are confirmed when the block is complete."""
    rng = np.random.default_rng(SEED)
    for trial in range(60):
        L = np.tril(rng.normal(size=(30, 30)))
        j = int(rng.integers(30))
        block = next(block for block in BLOCKS if block[0] <= j < block[1])
        i = int(rng.integers(block[0], 30))
        last = next(end for start, end in BLOCKS if start <= i < end)
        size = (np.abs(L[i, :last]) @ np.abs(L[:last, :last]).T).sum()
        lower = products.LowerGram(30, Products(bytes([trial])))

        def confirm(*, L=L, i=i, j=j, size=size, lower=lower) -> None:
            for start, end in BLOCKS:
                G = L[start:] @ L[start:end].T
                if start <= j < end:
                    G[i - start, j - start] += 1000 * 3 * 68 * U * size
                lower.confirm(L[start:end, :end], G)

        with pytest.raises(NotProved, match="projections"):
            confirm()


def test_tiles_give_the_product(monkeypatch: pytest.MonkeyPatch):
    rng = np.random.default_rng(SEED)
    A, B = rng.integers(-9, 9, (13, 21)).astype(float), rng.integers(-9, 9, (21, 17)).astype(float)
    monkeypatch.setattr(products, "TILE", 5)
    assert np.array_equal(products.tiled(A, B), A @ B)


def test_projections_are_the_digests_own():
    first, again, other = (Products(seed).draw(1000) for seed in (b"a", b"a", b"b"))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert not np.array_equal(*first)
    assert np.abs(first).max() == pytest.approx(2**19, rel=0.01)
    assert set(np.unique(np.abs(first % 1))) == {0.5}


MODES = {"down": 0x400, "up": 0x800, "zero": 0xC00}  # of fesetround on x86


@pytest.mark.skipif(machine.sys.platform != "linux", reason="fesetround is found in libm.so.6")
@pytest.mark.parametrize("mode", MODES)
def test_another_rounding_mode_is_seen(mode: str):
    libm = ctypes.CDLL("libm.so.6")
    if libm.fesetround(MODES[mode]):
        pytest.skip("the modes have other numbers on this processor")
    try:
        with pytest.raises(NotProved, match="rounded"):
            machine.self_test()
    finally:
        libm.fesetround(0)
    machine.self_test()


@pytest.mark.parametrize(
    ("operation", "word"),
    [("flush", "subnormal"), ("single", "rounded"), ("swap", "term by term|two products")],
)
def test_a_machine_that_computes_otherwise_is_seen(
    monkeypatch: pytest.MonkeyPatch, operation: str, word: str
):
    def flush(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        C = A @ B
        return np.where(np.abs(C) < 2.0**-1022, 0.0, C)

    def single(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return (A.astype(np.float32) @ B.astype(np.float32)).astype(float)

    def swap(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        C = A @ B
        C[0, 0] *= 1 + 2.0**-20
        return C

    changed = {"flush": flush, "single": single, "swap": swap}[operation]
    monkeypatch.setattr(machine, "tiled", changed)
    with np.errstate(all="ignore"), pytest.raises(NotProved, match=f"{word}|two products"):
        machine.self_test()


def test_an_unknown_blas_is_refused(monkeypatch: pytest.MonkeyPatch):
    machine.machine.cache_clear()
    try:
        config = {"Build Dependencies": {"blas": {"name": "accelerate", "version": "1"}}}
        monkeypatch.setattr(machine.np, "show_config", lambda mode: config)
        with pytest.raises(NotProved, match="accelerate"):
            machine.machine()
        monkeypatch.setattr(machine.np, "show_config", lambda mode: {})
        with pytest.raises(NotProved, match="unknown"):
            machine.machine()
    finally:
        machine.machine.cache_clear()


def test_threads_are_one_inside_and_restored_after(monkeypatch: pytest.MonkeyPatch):
    functions = machine._openblas()
    if functions is None:
        pytest.skip("numpy brings no OpenBLAS of its own here")
    read, write = functions
    before = read()
    write(2)
    try:
        with machine.one_thread():
            assert read() == 1
        assert read() == 2
    finally:
        write(before)
    monkeypatch.setattr(machine, "_openblas", lambda: None)
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    with pytest.raises(NotProved, match="threads"), machine.one_thread():
        pass
    for name in machine.THREAD_VARIABLES:
        monkeypatch.setenv(name, "1")
    with machine.one_thread():
        pass


def test_numbers_outside_the_range_are_left_to_balls():
    for value in (Fraction(2) ** 62, -(Fraction(2) ** 62)):
        with pytest.raises(NotProved):
            rounding.float_up(value)
        with pytest.raises(NotProved):
            rounding.float_down(value)
    third = Fraction(1, 3)
    assert Fraction(rounding.float_down(third)) < third < Fraction(rounding.float_up(third))
