"""Hostile files held by both checkers against the exact truth."""

import itertools
from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from tests.oracles.claim_grammar import MalformedError
from tests.oracles.fraction_checker import check_bytes as slow_check
from tests.oracles.fraction_checker import oracle_truth

from globalmin_check.engine import check_bytes

Hostile = Callable[[np.random.Generator], tuple[str, bytes]]


def attack(hostile: Hostile, count: int, seed: Sequence[int]) -> Counter[str]:
    """Make so many files, each from the seed and its number: nothing false is accepted, and the
    checkers agree unless one is undecided. The verdicts, the false statements, the attempts that
    gave no file.
    """
    counts: Counter[str] = Counter()
    for number in itertools.count():
        if counts["files"] == count:
            break
        try:
            with np.errstate(all="ignore"):
                name, raw = hostile(np.random.default_rng([*seed, number]))
        except (MalformedError, np.linalg.LinAlgError, ArithmeticError):
            counts["no file"] += 1  # the small producer refused to write it
            continue
        fast, slow = check_bytes(raw), slow_check(raw)
        truth = oracle_truth(raw)
        where = f"{[*seed, number]} ({name}): {fast.verdict} {fast.reason} / {slow} / {truth}"
        assert not (fast.verdict.value == "ACCEPTED" and truth is False), where
        pair = {fast.verdict.value, slow.verdict}
        assert len(pair) == 1 or "UNDECIDED" in pair, where
        counts["files"] += 1
        counts[fast.verdict.value] += 1
        counts["false"] += truth is False
    return counts
