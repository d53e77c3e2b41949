"""Every file in accepted/, rejected/ and malformed/ through both checkers; a file dropped into a
folder is a new test.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.corpus.make_corpus import corpus
from tests.corpus.single_checks import failing_checks
from tests.corpus.two_checkers import Bench
from tests.figures import Record
from tests.oracles.fraction_checker import oracle_truth

from globalmin_check import check_file

HERE = Path(__file__).resolve().parent
FILES = sorted(
    path
    for folder in ("accepted", "rejected", "malformed")
    for path in (HERE / folder).glob("*.gmc")
)
SOURCES = str(HERE.parents[1] / "src")
EXPECTED = json.loads((HERE / "expected.json").read_text(encoding="ascii"))


def load(path: Path) -> tuple[bytes, bytes | None]:
    data = path.with_suffix(".data")
    return path.read_bytes(), data.read_bytes() if data.exists() else None


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_both_checkers_give_the_verdict_of_the_folder(path: Path, tmp_path: Path):
    raw, data = load(path)
    fast, slow = Bench(tmp_path).both(raw, data)
    entry = EXPECTED.get(f"{path.parent.name}/{path.name}", {})
    allowed = entry.get("verdicts", [path.parent.name.upper()])
    assert fast.verdict in allowed, fast.reason
    assert slow.verdict in allowed, slow.reason
    assert entry.get("reason", "") in fast.reason
    assert fast.reason


@pytest.mark.parametrize(
    "path", [p for p in FILES if p.parent.name == "accepted"], ids=lambda path: path.stem
)
def test_accepted_claims_are_true_without_their_witness(path: Path):
    assert oracle_truth(*load(path)) is True


# each follows from another check of its claim, so it can never fail alone
REDUNDANT = {
    "beta2 > 0",
    "kappa > 0",
    "rho >= 0",
    "R_lo <= rho",
    "eta > 0",
    "gap >= 0",
    "descent: a2 > 0",
} | {
    "ambiguous: rank",  # the stored matrix shows it
    "below-barrier: s2 > 0",  # otherwise the factor is at least 1, and the rate is below it
    "below-barrier: heads",  # the same
    "gram-positive: rows not zero",  # the matrix shows it
    "gram-positive: c_sigma > 0",  # the same
    "gram-positive: step > 0",  # the last node is at 2 or beyond
    "gram-positive: scale2 > 0",  # the matrix shows it
    "gram-positive: windows not zero",  # the same
    "relu-descent: eps < lam",  # otherwise there is no rate below 1
    "relu-descent: lam > 0",  # the same, with eps >= 0
    "relu-descent: Lam > 0",  # H_mid is positive definite
    "relu-descent: eps >= 0",  # E is not negative
    "relu-linearized-descent: eps < lam",  # as for relu-descent
    "relu-linearized-descent: lam > 0",
    "relu-linearized-descent: Lam > 0",
    "relu-linearized-descent: eps >= 0",
    "deep-descent: a2 > 0",  # otherwise Lam t is not below a
    "deep-descent: b2 > 0",  # G is positive definite
    "deep-descent: t > 0",  # the residual is not zero
    "trajectory: a2 > 0",  # otherwise a' is negative
    "trajectory: a' > 0",  # g' >= Lip Delta^2/2, so 2 Lip g' is above a'^2 for every a' < 0
    "trajectory: x2 > 0",  # X^T X is not negative
    "deep-trajectory: a2 > 0",  # as for deep-descent
    "deep-trajectory: b2 > 0",
    "deep-trajectory: t > 0",
    "relu-trajectory: eps < lam",  # as for relu-descent
    "relu-trajectory: lam > 0",
    "relu-trajectory: Lam > 0",
    "relu-trajectory: eps >= 0",
    "relu-trajectory: tau > 0",  # Delta moves the residual
    "relu-trajectory: path > 0",  # the whole path is not negative
    "relu-trajectory: path",  # nor shorter than its rest
    "relu-trajectory: x2 > 0",  # X^T X is not negative
    "trajectory: kappa > 0",  # the quartic form is not negative
    "sgd-trajectory: a2 > 0",  # otherwise alpha is negative
    "sgd-trajectory: x2 > 0",
    "sgd-trajectory: kappa > 0",
    "sgd-trajectory: rho >= 0",  # Delta is positive
    "sgd-trajectory: alpha > 0",  # no D is at most rho then
    "sgd-trajectory: 4 N kap D^2 <= gam",  # M <= rho and Lip rho < a <= m leave room for it
    "factorization-gap: F1a",  # the excess is not negative
    "T1b",  # the barrier is zero
    "T1c",  # the two heads are orthogonal
}


def test_every_check_is_the_only_reason_to_reject_some_file():
    met, alone = set(), set()
    for path in FILES:
        if path.parent.name == "malformed":
            continue
        here, failed = failing_checks(*load(path))
        met |= here
        alone |= failed if len(failed) == 1 else set()
    missing = {word for word in met - alone if not REDUNDANT & {word, word.split(": ")[-1]}}
    print(f"{len(met)} checks, {len(alone)} of them the only reason to reject some file")
    assert not missing


def test_every_numbered_check_of_the_claim_pages_refuses_some_file():
    met, refusing = set(), set()
    for path in FILES:
        data = path.with_suffix(".data")
        result = check_file(path, data if data.exists() else None)
        met |= {line.number.split(".")[0] for claim in result.claims for line in claim.checks}
        refusals = [
            re.match(r"check (\w+)", claim.reason)
            for claim in result.claims
            if claim.verdict.value == "REJECTED"
        ]
        refusing |= {found.group(1) for found in refusals if found}
    print(f"{len(met)} numbered checks, {len(refusing)} of them refuse some file")
    assert met == refusing


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("accepted/relu_plain", 0),
        ("rejected/descent_step_0p1_percent_too_large", 1),
        ("malformed/header_duplicate_key", 3),
        ("rejected/interpolation_loss_upper_true_beyond_1900_bits", 4),
    ],
)
def test_the_exit_code_of_the_command_line_is_the_verdict(name: str, code: int):
    command = [sys.executable, "-m", "globalmin_check", str(HERE / f"{name}.gmc")]
    assert (
        subprocess.run(
            command, capture_output=True, check=False, env=os.environ | {"PYTHONPATH": SOURCES}
        ).returncode
        == code
    )


def test_the_corpora_are_large_enough_and_small_in_bytes(record_property: Record):
    counts = {
        folder: sum(path.parent.name == folder for path in FILES)
        for folder in ("accepted", "rejected", "malformed")
    }
    size = sum(path.stat().st_size for path in FILES)
    print(f"corpus: {counts}, {size} bytes")
    for folder, number in counts.items():
        record_property(f"{folder} files", number)
    assert counts["accepted"] >= 40
    assert counts["rejected"] >= 60
    assert counts["malformed"] >= 40
    assert size < 2000 * len(FILES)


def test_the_committed_files_are_those_the_script_writes():
    files, expected = corpus()
    assert expected == EXPECTED
    assert {f"{path.parent.name}/{path.name}" for path in FILES} >= set(files)
