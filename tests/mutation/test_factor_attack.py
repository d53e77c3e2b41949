"""The witness of P1 under attack: exact ReLU Gram matrices with good, rescaled, borderline and
spoiled factors.
"""

import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from tests.corpus.drafts import Draft, claim, seal
from tests.corpus.honest_instances import RELU
from tests.corpus.small_producer import Model
from tests.corpus.two_checkers import Bench
from tests.figures import Record, record_hostile

SEED = 20266
STYLES = ("honest", "rows shrunk", "residual near 1", "spoiled")


def factor(rng: np.random.Generator, C: np.ndarray, style: str) -> np.ndarray:
    """The factor an attacker stores instead of C."""
    n = len(C)
    if style == "rows shrunk":
        return np.ldexp(C, rng.integers(-200, 1, size=(n, 1)))
    if style == "residual near 1":
        return C * np.sqrt(1 + 1 / np.sqrt(n)) * (1 + rng.normal() * 10.0 ** -rng.uniform(8, 16))
    if style == "spoiled":
        return C + rng.normal(size=C.shape) * np.abs(C).max() * 10.0 ** -rng.uniform(0, 20)
    return C


def attack(rng: np.random.Generator, style: str) -> Draft | None:
    """One neuron active on every sample and zero loss exactly, so that P1 alone decides; None if
    the draw is not exact.
    """
    n = int(rng.integers(1, 4))
    X = rng.integers(1, 64, size=(n, n)) * 2.0 ** rng.integers(-8, 3, size=(n, n))
    X = np.ldexp(X, rng.integers(-120, 120, size=(n, 1))) if rng.random() < 0.5 else X
    exact = [sum(map(Fraction, map(float, x))) for x in X]
    y = np.array([float(value) for value in exact])
    scale = np.diag(1 / np.linalg.norm(X, axis=1))
    A = scale @ X @ X.T @ scale
    smallest = float(np.linalg.eigvalsh(A)[0])
    if list(map(Fraction, map(float, y))) != exact or smallest < sys.float_info.epsilon * 100:
        return None
    C = factor(rng, np.linalg.inv(np.linalg.cholesky(A)) @ scale, style)
    mu = Fraction(smallest * float(np.min(np.sum(X**2, axis=1)))) / 10 ** int(rng.integers(1, 40))
    tensors = {
        "W_hat": np.ones((1, n)),
        "T": np.array([0]),
        "C": C,
        "dropped": np.zeros((0, 2), dtype=np.int64),
    }
    fields = {"mu": mu, "R": Fraction(1), "loss_upper": Fraction(1)}
    return Model(RELU, X, y, np.ones((1, n)), np.ones(1)).draft(
        [claim("relu-interpolation", fields, tensors)]
    )


def run(folder: Path, count: int, record: Record) -> None:
    rng, bench = np.random.default_rng(SEED), Bench(folder)
    table: Counter[tuple[str, str, str]] = Counter()
    while sum(table.values()) < count:
        style = STYLES[int(rng.integers(len(STYLES)))]
        draft = attack(rng, style)
        if draft is not None:
            fast, slow = bench.both(seal(draft))
            table[style, fast.verdict, slow.verdict] += 1
    print(f"P1 attack: {count} factors (seed {SEED}): {dict(table)}")
    record_hostile(record, {}, count)
    assert {fast for _, fast, _ in table} == {"ACCEPTED", "REJECTED"}
    assert all(fast == slow for _, fast, slow in table)
    assert all(fast == "ACCEPTED" for style, fast, _ in table if style == "honest")


def test_both_checkers_agree_on_attacked_factors(tmp_path: Path, record_property: Record):
    run(tmp_path, 200, record_property)


@pytest.mark.campaign
def test_both_checkers_agree_on_five_thousand_attacked_factors(
    tmp_path: Path, record_property: Record
):
    run(tmp_path, 5000, record_property)
