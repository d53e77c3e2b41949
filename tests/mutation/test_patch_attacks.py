"""Hostile files of the claim patch-interpolation: what is accepted is true by exact rationals, and
the promised filters have loss exactly zero within R.
"""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.checker import patch_cases as cases
from tests.corpus.corpus_patches import _basis
from tests.figures import Record, record_hostile
from tests.oracles import fraction_patch_claims as slow
from tests.oracles.fraction_checker import check_bytes as slow_check
from tests.oracles.fraction_checker import oracle_truth

from globalmin_check.engine import check_bytes

Rng = np.random.Generator
Made = tuple[dict[str, Any], dict[str, Any]]


def drawn(rng: Rng) -> tuple[cases.Case, Made]:
    """A tiny network near a zero of its loss, or one with more samples than weights."""
    seed = int(rng.integers(2**31))
    if rng.random() < 0.3:
        case = cases.integral(int(rng.integers(3, 6)), 4, int(rng.integers(1, 3)), 2, seed=seed)
        solved = _basis(case, range(len(case.W))) or [0]
        return case, cases.parts(case, solved=solved)
    n, m, p = int(rng.integers(1, 4)), int(rng.integers(1, 3)), int(rng.integers(1, 4))
    off = float(10 ** rng.uniform(-6, -0.5))
    padding = int(rng.integers(2))
    case = cases.drawn(n, 4, m, p, off=off, seed=seed, bias=bool(rng.integers(2)), padding=padding)
    return case, cases.parts(case)


def close(rng: Rng) -> Fraction:
    """A factor: near 1, a few percent off, or far away."""
    size = float(10 ** rng.choice([-12.0, -6.0, -2.0, -0.5, 0.5, 1.0]))
    return Fraction(float(np.exp(rng.choice([-1.0, 1.0]) * size * rng.uniform(0.1, 1))))


def numbers(rng: Rng, case: cases.Case, made: Made) -> tuple[cases.Case, Made]:
    """One of the rationals."""
    fields, name = dict(made[0]), str(rng.choice(["mu", "R", "loss_upper"]))
    fields[name] = fields[name] * close(rng)
    return case, (fields, made[1])


def smaller_mu(rng: Rng, case: cases.Case, made: Made) -> tuple[cases.Case, Made]:
    """Less curvature and a factor made for it: P1 holds, margins and radius must refuse."""
    fields, tensors = dict(made[0]), dict(made[1])
    fields["mu"] = Fraction(float(fields["mu"]) * float(10 ** -rng.uniform(0, 4)))
    fields["R"] = fields["R"] * 10**6
    slopes = case.slopes(tensors["W_hat"])[np.ix_(tensors["S"], tensors["T"])]
    J = slopes.reshape(len(tensors["S"]), -1)
    try:
        factor = np.linalg.cholesky(J @ J.T - float(fields["mu"]) * np.eye(len(J)))
    except np.linalg.LinAlgError:
        return case, (fields, tensors)
    return case, (fields, tensors | {"C": np.linalg.inv(factor)})


def fewer_samples(rng: Rng, case: cases.Case, made: Made) -> tuple[cases.Case, Made]:
    """A subset S with an honest factor for it."""
    n = len(case.y)
    S = np.sort(rng.choice(n, int(rng.integers(1, n + 1)), replace=False))
    return case, cases.parts(case, solved=S.tolist())


def fewer_filters(rng: Rng, case: cases.Case, made: Made) -> tuple[cases.Case, Made]:
    """A subset T with an honest factor for it."""
    m = len(case.W)
    T = np.sort(rng.choice(m, int(rng.integers(1, m + 1)), replace=False))
    solved = made[1]["S"].tolist()
    return case, cases.parts(case, moving=T.tolist(), solved=solved)


def other_witness(rng: Rng, case: cases.Case, made: Made) -> tuple[cases.Case, Made]:
    """A witness elsewhere, honest or with the old factor."""
    hat = case.W + float(10 ** rng.uniform(-8, 0)) * rng.standard_normal(case.W.shape)
    if rng.random() < 0.5:
        return case, (made[0], made[1] | {"W_hat": hat})
    return case, cases.parts(case, solved=made[1]["S"].tolist(), hat=hat)


def other_label(rng: Rng, case: cases.Case, made: Made) -> tuple[cases.Case, Made]:
    """One label moved, by an ulp or by much, with a claim made for the new labels."""
    y, i = case.y.copy(), int(rng.integers(len(case.y)))
    jump = float(rng.standard_normal() * 10 ** rng.uniform(-6, 1))
    y[i] = np.nextafter(y[i], 9) if rng.random() < 0.3 else y[i] + jump
    moved = replace(case, y=y)
    return moved, cases.parts(moved, solved=made[1]["S"].tolist())


def same_patches(rng: Rng, case: cases.Case, made: Made) -> tuple[cases.Case, Made]:
    """A sample shown twice with two labels: certainly no zero."""
    X, y = np.concatenate([case.X, case.X[:1]]), np.append(case.y, np.nextafter(case.y[0], 9))
    twice = replace(case, X=X, y=y)
    return twice, cases.parts(twice, solved=made[1]["S"].tolist())


MOVES = (
    numbers, numbers, smaller_mu, fewer_samples, fewer_filters, other_witness, other_label,
    same_patches,
)  # fmt: skip


def attacked(rng: Rng) -> tuple[bytes, bool]:
    """A file after one to three moves, and whether two labels of one sample make it false."""
    case, made = drawn(rng)
    for _ in range(int(rng.integers(0, 3))):
        case, made = MOVES[int(rng.integers(len(MOVES)))](rng, case, made)
    labels = {(tuple(x), y) for x, y in zip(case.X.tolist(), case.y.tolist(), strict=True)}
    return cases.build(case, made), len(labels) > len({x for x, _ in labels})


def attack(seed: int, count: int) -> dict[str, int]:
    """Counts; a false acceptance or a contradiction of the checkers raises."""
    seen = {"ACCEPTED": 0, "REJECTED": 0, "UNDECIDED": 0, "false": 0, "no zero": 0}
    for number in range(count):
        raw, certainly_false = attacked(np.random.default_rng([seed, number]))
        fast, second = check_bytes(raw).verdict.value, slow_check(raw).verdict
        assert {fast, second} != {"ACCEPTED", "REJECTED"}, number
        seen[fast] += 1
        seen["false"] += oracle_truth(raw) is False
        seen["no zero"] += certainly_false
        if fast == "ACCEPTED":
            assert oracle_truth(raw), number
            assert not certainly_false, number
            file = slow.read_patches(raw)
            found = slow.nearest_zero(file, file.claims[0])
            assert not any(file.residual(found)), number
            distance2 = slow.distance2(found, file.filters)
            assert distance2 <= file.claims[0].fields["R"] ** 2, number
    return seen


def test_what_is_accepted_is_true() -> None:
    seen = attack(1, 300)
    print(seen)
    assert min(seen["ACCEPTED"], seen["REJECTED"], seen["false"]) > 60
    assert seen["no zero"] > 10  # one move of eight


@pytest.mark.campaign
def test_ten_thousand_hostile_files(record_property: Record) -> None:
    seen = attack(2, 10_000)
    record_hostile(record_property, seen, 10_000)
    print(seen)
    assert seen["false"] > 2_000
