"""The theorems of proofs/: Coq accepts them without axioms, and none with a wrong constant."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from scripts.proofs import CLOSED, SOURCES, build, compiler, coqc, theorems

pytestmark = pytest.mark.xdist_group("proofs")  # one worker compiles, once
FILES = sorted(SOURCES.glob("*.v"))
PAGE = SOURCES.parent / "docs/proofs.md"
# (file, what a statement says, what must not be provable in its place)
WRONG = [
    ("dual_gap", "square / (2%:R * k) else 0", "square / (3%:R * k) else 0"),
    ("dual_gap", "Definition a := b / (2%:R * v_max).", "Definition a := b / v_max."),
    ("dual_gap", "0 <= - y * u -> - y * u <= 1 ->", "0 <= - y * u -> - y * u <= 2%:R ->"),
    ("dual_gap", "- a <= u -> u <= 1 - a ->", "- a <= u -> u <= 1 ->"),
    ("optimality_gap", "Definition c := decay / (2%:R * v_max).", "Definition c := decay / v_max."),
    ("optimality_gap", "- (\\sum_i u i ^+ 2) / 2%:R.", "- (\\sum_i u i ^+ 2) / 3%:R."),
    ("loss_floor", "0 else c ^+ 2 / gg p)) / 2%:R.", "0 else c ^+ 2 / gg p))."),
    ("primitives", "*m C^T - 1%:M) < 1 -> posdef A.", "*m C^T - 1%:M) < 2%:R -> posdef A."),
    ("primitives", "len (r - K *m z) / a.", "len (r - K *m z) / (2%:R * a)."),
    ("interpolation", "2%:R * Lip * e <= a -> R_star", "Lip * e <= a -> R_star"),
    ("interpolation", "Definition R_star := 2%:R * e", "Definition R_star := e"),
    ("relu_interpolation", "rhat / mu.\nProof.\nsplit", "rhat / mu / 2%:R.\nProof.\nsplit"),
    ("factorization_gap", "Definition c := Num.max 0 (tau - a).", "Definition c : R := 0."),
    ("head_gap", "len r / Num.sqrt mu.", "len r / (2%:R * Num.sqrt mu)."),
    ("dual_gap_constraints", "1 <= 4%:R * sig i * rho i.", "1 <= 8%:R * sig i * rho i."),
    ("dual_gap_constraints", "B ^+ 2 <= A * C ->", "B ^+ 2 <= 2%:R * A * C ->"),
]  # fmt: skip


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if compiler() is None:
        pytest.skip("no coqc of Debian 12 on this machine: bash scripts/debian.sh installs it")
    return tmp_path_factory.mktemp("proofs")


@pytest.fixture(scope="module")
def proofs(compiled: Path):
    return build(compiled)


def test_no_file_admits_anything():
    words = re.compile(
        r"\b(Admitted|admit|Axioms?|Parameters?|Conjecture|Abort|give_up|bypass_check|"
        r"Unset\s+(Guard|Universe|Positivity)\s+Checking)\b"
    )
    assert FILES
    assert not [path.name for path in FILES if words.search(path.read_text(encoding="utf-8"))]


def test_every_theorem_is_on_the_page():
    page = PAGE.read_text(encoding="utf-8")
    for path in FILES:
        lines = len(path.read_text(encoding="utf-8").splitlines())
        row = next(line for line in page.splitlines() if line.startswith(f"| `{path.name}` |"))
        assert f"| {lines} | none |" in row
        assert [name for name in theorems(path) if f"`{name}`" not in row] == []


def test_every_theorem_is_proved_without_an_axiom(proofs):
    said = {f"{proof.name}.{name}": text for proof in proofs for name, text in proof.axioms.items()}
    assert len(said) == sum(len(theorems(path)) for path in FILES)
    assert {name: text for name, text in said.items() if text != CLOSED} == {}


@pytest.mark.parametrize("case", WRONG, ids=lambda case: f"{case[0]}: {case[2][:30]}")
@pytest.mark.usefixtures("proofs")
def test_a_wrong_constant_does_not_compile(case, compiled, tmp_path):
    name, right, wrong = case
    text = (SOURCES / f"{name}.v").read_text(encoding="utf-8")
    assert text.count(right) >= 1
    for path in compiled.glob("*.vo"):
        (tmp_path / path.name).symlink_to(path)
    (tmp_path / f"wrong_{name}.v").write_text(text.replace(right, wrong), encoding="utf-8")
    with pytest.raises(RuntimeError, match="does not compile"):
        coqc(tmp_path, f"wrong_{name}")
