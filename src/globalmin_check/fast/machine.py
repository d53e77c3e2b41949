"""What the fast route assumes of the machine, tested in the process that works: S1 to S7 of
`spec/fast-route.md`. A failure is NotProved, never a verdict.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from globalmin_check.command.guard import THREAD_VARIABLES
from globalmin_check.fast.products import tiled
from globalmin_check.fast.rounding import Floats, U, need

KNOWN_BLAS = ("openblas", "mkl", "blis")
SIZES = (1, 7, 64, 257)  # vector bodies and their tails
ORDERS = (7, 64, 129)  # of products, small ones and those in blocks


@dataclass(frozen=True)
class Machine:
    """What is named in the verdict."""

    numpy: str
    blas: str


@cache
def machine() -> Machine:
    """S7: the version of numpy and the BLAS it was built with, which must be known by name."""
    try:
        found = np.show_config(mode="dicts")["Build Dependencies"]["blas"]  # type: ignore[index]
        name, version = str(found["name"]), str(found["version"])
    except (KeyError, TypeError):
        name, version = "unknown", ""
    known = any(word in name.lower() for word in KNOWN_BLAS)
    need(known, f"the BLAS of numpy is {name}, not one of {', '.join(KNOWN_BLAS)}")
    return Machine(np.__version__, f"{name} {version}".strip())


@contextmanager
def one_thread() -> Iterator[None]:
    """Let BLAS work in one thread; NotProved where that cannot be known."""
    functions = _openblas()
    if functions is None:
        alone = all(os.environ.get(name) == "1" for name in THREAD_VARIABLES)
        need(alone, f"BLAS may use several threads: set {', '.join(THREAD_VARIABLES)} to 1")
        yield
        return
    read, write = functions
    before = read()
    write(1)
    try:
        need(read() == 1, "BLAS does not work in one thread")
        yield
    finally:
        write(before)


@cache
def _openblas() -> tuple | None:
    """The functions of the OpenBLAS that came with numpy, which read and set its threads."""
    home = Path(np.__file__).parent
    files = [*home.parent.glob("numpy.libs/*openblas*"), *home.glob(".dylibs/*openblas*")]
    for file in files:
        try:
            library = ctypes.CDLL(str(file))
        except OSError:
            continue
        for prefix in ("scipy_openblas", "openblas"):
            for suffix in ("64_", "", "_64_"):
                read = getattr(library, f"{prefix}_get_num_threads{suffix}", None)
                write = getattr(library, f"{prefix}_set_num_threads{suffix}", None)
                if read is not None and write is not None:
                    return read, write
    return None


def self_test() -> None:
    """S1 to S6, about a millisecond, less the second time: what they compute with is kept."""
    need(np.dtype(float) == np.float64 and sys.float_info.mant_dig == 53, "floats are no binary64")
    for m in SIZES:
        _rounding(m)
        _underflow(m)
    for m in ORDERS:
        _two_terms(m)
        _underflow_of_products(m)
        _no_fast_multiplication(m)


def _full(m: int, *numbers: float) -> list[Floats]:
    return [np.full(m, number) for number in numbers]


@cache
def _sums(m: int) -> list[list[Floats]]:
    """Triples a, b and the rounded a + b."""
    return [
        _full(m, a, b, total)
        for a, b, total in (
            (1.0, U, 1.0),
            (1.0, 3 * U, 1.0 + 4 * U),
            (1.0 + 2 * U, U, 1.0 + 4 * U),
            (-1.0, -U, -1.0),
            (1.0, -U / 2, 1.0),
            (1.0, U + 2.0**-80, 1.0 + 2 * U),
        )
    ]


@cache
def _others(m: int) -> list[Floats]:
    return _full(m, 1.0, 2.0, 3.0, 1.0 + 2.0**-30, 2.0**-1074, 2.0**-1022)


def _rounding(m: int) -> None:
    """S1 and S2: to nearest, ties to even, in double precision."""
    for a, b, total in _sums(m):
        need((a + b == total).all(), "sums are not rounded to nearest even")
    one, two, three, x, *_ = _others(m)
    need((x * x == 1.0 + 2.0**-29).all(), "products are not rounded to nearest")
    third, root = float.fromhex("0x1.5555555555555p-2"), float.fromhex("0x1.6a09e667f3bcdp+0")
    need((one / three == third).all(), "quotients are not rounded to nearest")
    need((np.sqrt(two) == root).all(), "square roots are not rounded to nearest")


def _underflow(m: int) -> None:
    """S3: subnormal numbers are kept."""
    one, *_, tiny, least = _others(m)
    kept = (tiny * one != 0).all() and (tiny + tiny == 2.0**-1073).all()
    need(kept and (least * 0.5 == 2.0**-1023).all(), "subnormals are flushed")


@cache
def _pairs(m: int) -> tuple[Floats, Floats, Floats]:
    """A with two ones in a row, B, and A B."""
    p = (np.arange(m) * 3 + 1) % m
    if m % 3 == 0 or (p == np.roll(p, 1)).any():
        p = np.arange(m)
    A = np.zeros((m, m))
    A[np.arange(m), p] = 1.0
    A[np.arange(m), np.roll(p, 1)] = 1.0
    high = np.resize([1.0, 1.0 + 2 * U, -1.0, 2.0**-1022, 2.0**-1074], m)
    low = np.resize([U, 3 * U, U + 2.0**-80, -U / 2, 2.0**-1074, U, 1.0], m)
    B = np.where(np.arange(m)[:, None] % 2 == 0, high, low)
    return A, B, B[p] + B[np.roll(p, 1)]


def _two_terms(m: int) -> None:
    """S4: two products a row, so one rounding in every order, with or without fused additions."""
    A, B, want = _pairs(m)
    same = np.array_equal(tiled(A, B), want) and np.array_equal(tiled(B.T, A.T), want.T)
    need(same, "BLAS does not round sums of two products to nearest")


@cache
def _tiny_factors(m: int) -> tuple[Floats, Floats]:
    return np.full((m, m), 2.0**-600), np.eye(m) * 2.0**-474


def _underflow_of_products(m: int) -> None:
    """S5: subnormal products are kept inside BLAS."""
    need((tiled(*_tiny_factors(m)) == 2.0**-1074).all(), "BLAS flushes subnormal products")


def _no_fast_multiplication(m: int) -> None:
    """S6: a block of size 1 beside one of 2^45, which a Strassen-like product would spoil."""
    h = m // 2
    error = np.abs(tiled(_blocks(m, 1.0), _blocks(m, 1.0 / 3.0))[:h, :h] - h / 3.0).max()
    need(error <= 4 * m * m * U, "BLAS does not multiply term by term")


@cache
def _blocks(m: int, small: float) -> Floats:
    h = m // 2
    A = np.zeros((m, m))
    A[:h, :h], A[h:, h:] = small, 2.0**45
    return A
