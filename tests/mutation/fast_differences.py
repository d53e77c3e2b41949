"""The two routes of the checker on one file: what the fast one accepts must be accepted by the
exact one, if need be with witnesses made afresh (the fast route reads none), and must be true.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
from tests.corpus.whole_files import Whole, opened
from tests.mutation.factor_attacks import refitted
from tests.oracles.fraction_checker import oracle_truth

from globalmin_check.engine import check_bytes
from globalmin_check.verdict import Verdict


def difference(raw: bytes, counts: Counter[str], data: bytes | None = None) -> str:
    """What contradicts what; empty if nothing does. Counts the pairs of verdicts."""
    fast = check_bytes(raw, data, "fast")
    exact = check_bytes(raw, data, "exact")
    counts[f"{fast.verdict.value}/{exact.verdict.value}"] += 1
    if fast.verdict is Verdict.UNDECIDED:
        return ""
    if fast.verdict is not Verdict.ACCEPTED:
        return "" if exact.verdict is fast.verdict else f"{fast.reason}, exact: {exact.reason}"
    if oracle_truth(raw, data) is False:
        return "accepted although false"
    if exact.verdict is Verdict.ACCEPTED:
        return _other_numbers(fast.claims, exact.claims)
    counts["accepted by the exact route with fresh witnesses"] += 1
    for file in _single_claims(opened(raw)):
        again = check_bytes(refitted(file).sealed(), data, "exact")
        if again.verdict is not Verdict.ACCEPTED:
            return f"accepted; exact: {again.reason}"
    return ""


def _single_claims(file: Whole) -> list[Whole]:
    """Every claim as a file of its own: fresh witnesses are made for first claims."""
    files = []
    for index, claim in enumerate(file.top["claims"]):
        tensors = {}
        for name, array in file.tensors.items():
            owner = name.split(".")[1] if name.startswith("claims.") else ""
            if owner in ("", str(index)):
                tensors[name.replace(f"claims.{index}.", "claims.0.")] = array
        files.append(Whole({**file.top, "claims": [claim]}, tensors))
    return files


def _other_numbers(fast: tuple, exact: tuple) -> str:
    """Statements must be the same; verified numbers agree to six digits."""
    for one, other in zip(fast, exact, strict=True):
        if one.statement != other.statement or one.numbers.keys() != other.numbers.keys():
            return f"{one.statement} against {other.statement}"
        for name, value in one.numbers.items():
            same = value == other.numbers[name] or (
                isinstance(value, float)
                and np.isclose(value, other.numbers[name], rtol=1e-6, atol=1e-24)
            )
            if not same:
                return f"{name}: {value} against {other.numbers[name]}"
    return ""
