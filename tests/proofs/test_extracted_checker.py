"""The checker that Coq proved sound, written as OCaml: a third opinion on the files of dual-gap."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path
from shutil import which

import numpy as np
import pytest
from scripts.extracted_checker import checkable, dual_vector, numbers, verdict
from scripts.proofs import link
from tests.checker.regularized_cases import file_of, golden
from tests.mutation.regularized_attacks import hostile
from tests.oracles.claim_grammar import MalformedError
from tests.oracles.fraction_checker import check_bytes as slow_check
from tests.oracles.regularized_grammar import read_regularized

from globalmin_check.engine import check_bytes

pytestmark = pytest.mark.xdist_group("proofs")
CORPUS = Path(__file__).parent.parent / "corpus"
SEED, FILES, CAMPAIGN = 2121, 150, 3000


@pytest.fixture(scope="session")
def program(compiled: Path, proofs) -> Path:
    if which("ocamlfind") is None:
        pytest.skip("no ocamlfind on this machine: bash scripts/debian.sh installs it")
    return link(compiled, compiled / "dual-gap-checker")


def opinions(program: Path, raw: bytes) -> tuple[str, str, str] | None:
    """(fast, slow, extracted), or None for a file that the extracted checker does not know."""
    try:
        file = read_regularized(raw)
    except MalformedError:
        return None
    if checkable(file):
        return None
    return check_bytes(raw).verdict.value, slow_check(raw).verdict, verdict(program, file)


def test_the_corpus_has_three_opinions_that_are_one(program):
    counts: Counter[str] = Counter()
    for path in sorted(CORPUS.glob("*/dual_gap_*.gmc")):
        found = opinions(program, path.read_bytes())
        if found is not None:
            assert set(found) == {path.parent.name.upper()}, path.name
            counts[found[0]] += 1
    assert counts["ACCEPTED"] >= 12
    assert counts["REJECTED"] >= 11


def compare(program: Path, constraint: str, count: int, seed: int) -> Counter[str]:
    """Hostile files of which the three checkers think the same."""
    counts: Counter[str] = Counter()
    for number in itertools.count():
        if counts["files"] == count:
            break
        rng = np.random.default_rng([seed, number])
        try:
            with np.errstate(all="ignore"):
                name, raw = hostile(rng, constraint)
        except (MalformedError, np.linalg.LinAlgError, ArithmeticError):
            continue
        found = opinions(program, raw)
        if found is None:
            continue
        assert len(set(found) - {"UNDECIDED"}) == 1, (constraint, number, name, found)
        counts["files"] += 1
        counts[found[2]] += 1
    return counts


@pytest.mark.parametrize("constraint", ["columns", "free columns"])
def test_the_three_checkers_agree_on_hostile_files(program, constraint):
    counts = compare(program, constraint, FILES, SEED)
    assert min(counts["ACCEPTED"], counts["REJECTED"]) >= FILES // 4


@pytest.mark.campaign
@pytest.mark.parametrize("constraint", ["columns", "free columns"])
def test_the_three_checkers_agree_on_thousands_of_hostile_files(program, constraint):
    print(constraint, dict(compare(program, constraint, CAMPAIGN, SEED + 1)))


def test_every_number_of_a_file_reaches_the_program(program):
    """A tie: the golden file with free biases passes, and no larger u; the bounds are exact."""
    case, u = golden(hidden_bias="free", t=0.25)
    file = read_regularized(file_of(case, u))
    assert verdict(program, file) == "ACCEPTED"
    words = numbers(file, 0, dual_vector(file, 0) or [])
    assert words[-3:] == [str(file.claims[0][1][name]) for name in ("p_up", "p_low", "gap")]
    case, u = golden(hidden_bias="free", t=float(np.nextafter(0.25, 1)))
    assert verdict(program, read_regularized(file_of(case, u))) == "REJECTED"
