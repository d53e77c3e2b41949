"""A tie that only a higher precision decides: the whole claim is checked anew there, and the coarse
attempt at P1 is enough.
"""

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import ctx
from tests.checker import quadratic_cases as q
from tests.checker import second_order_cases as s
from tests.checker.cases import build

from globalmin_check import limits, positive
from globalmin_check.engine import check_bytes


def exact_loss(X: np.ndarray, y: np.ndarray, W: np.ndarray, v: np.ndarray) -> Fraction:
    """L of a quadratic network in rationals."""
    total = Fraction(0)
    for x, label in zip(X.tolist(), y.tolist(), strict=True):
        z = [
            sum((Fraction(a) * Fraction(b) for a, b in zip(w, x, strict=True)), Fraction(0))
            for w in W.tolist()
        ]
        total += (
            sum((Fraction(h) * t * t for h, t in zip(v.tolist(), z, strict=True)), Fraction(0))
            - Fraction(label)
        ) ** 2
    return total / 2


def certificates(loss_shift: Fraction) -> dict[str, bytes]:
    """One file per kind, quadratic networks, with loss_upper equal to the exact loss plus a
    shift.
    """
    positive_net, mixed = (
        q.random_network(6, 2, 3).trained(),
        q.random_network(6, 2, 4, heads="any"),
    )
    axes = replace(
        q.random_network(4, 2, 3), X=np.array([[1.0, 0.0], [0.0, 3.0], [0.0, -0.7], [2.5, 0.0]])
    )
    near, rough = (
        q.barrier_network(9, 2, 3),
        s.random_smooth(4, 2, 2, activation="quadratic", seed=0),
    )
    pairs = {
        "positive": (positive_net, q.gap_positive(positive_net)),
        "span": (mixed, q.gap_span(mixed)),
        "identifies": (mixed, q.identifies_claim(mixed, stable=True)),
        "ambiguous": (axes, q.ambiguous_claim(axes, np.array([[0, 1], [1, 0]]))),
        "barrier rows": (near, q.barrier_claim(near)),
        "barrier factor": (near, q.barrier_claim(near, norm="factor")),
        "saddle": (rough, s.saddle_claim(rough, radius="rows")),
        "second": (rough, s.second_order_claim(rough)),
    }
    files = {}
    for name, (net, (fields, tensors)) in pairs.items():
        loss = exact_loss(net.X, net.y, net.W, net.v) + loss_shift
        pair = fields | {"loss_upper": str(loss)}, tensors
        files[name] = build(net, [pair]) if isinstance(net, s.Smooth) else q.build(net, [pair])
    return files


NAMES = list(certificates(Fraction(0)))


@pytest.mark.parametrize("name", NAMES)
def test_a_tie_is_decided_at_a_higher_precision_by_a_whole_pass(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "EXACT_TERMS", 0)
    residual_norm, calls = positive.residual_norm, Counter()

    def counted(A: list, C: Any, bits: int) -> object:
        calls[bits, ctx.prec] += 1
        return residual_norm(A, C, bits)

    monkeypatch.setattr(positive, "residual_norm", counted)
    result = check_bytes(certificates(Fraction(0))[name])
    assert result.verdict.value == "ACCEPTED", result.reason
    assert set(calls) == {(limits.FIRST_BITS, result.claims[0].bits)}
    assert result.claims[0].bits > limits.PRECISIONS[0]
    below = check_bytes(certificates(Fraction(-1, 10**60))[name])
    assert below.verdict.value == "REJECTED"
