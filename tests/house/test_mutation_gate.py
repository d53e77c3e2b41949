"""The mutation gate itself: it finds the places of a formula, and a weak test lets a mutant live
that a strong one kills.
"""

from __future__ import annotations

import ast
import math
from pathlib import Path
from types import FunctionType

import pytest
from scripts.mutants.__main__ import Draw, Score, sample, with_section
from scripts.mutants.child import Living, exchange
from scripts.mutants.gate import DIED, SURVIVED, UNREACHED, Bench, Verdict, judge, meet
from scripts.mutants.reach import Reach
from scripts.mutants.sites import Mutant, apply, mutants

FORMULA = '''"""Words with a 7 in them."""
HALF = 0.5


def energy(mass: float, speed: float = 3.0) -> float:
    """Half of 2."""
    if mass < 0:
        raise ValueError(f"mass={mass} is below 0")
    return HALF * mass * speed**2 - max(mass, 1)
'''


def test_the_places_are_those_of_the_formula_and_not_of_the_words():
    found = [(m.line, m.change, m.runs_at_import) for m in mutants(FORMULA, "energy")]
    assert sorted(found) == sorted(
        [
            (2, "constant + 1", True),
            (2, "constant doubled", True),
            (5, "constant + 1", True),
            (5, "constant doubled", True),
            (7, "comparison at the edge", False),
            (7, "comparison reversed", False),
            (7, "constant + 1", False),
            (9, "Mult swapped", False),
            (9, "Mult swapped", False),
            (9, "Sub swapped", False),
            (9, "constant + 1", False),
            (9, "constant + 1", False),
            (9, "constant doubled", False),
            (9, "constant doubled", False),
            (9, "exponent + 1", False),
            (9, "max swapped", False),
        ]
    )


def test_every_change_changes_the_module_at_its_line_only():
    lines = ast.unparse(ast.parse(FORMULA)).splitlines()
    for mutant in mutants(FORMULA, "energy"):
        changed = ast.unparse(apply(FORMULA, mutant)).splitlines()
        different = [i for i, (a, b) in enumerate(zip(lines, changed, strict=True)) if a != b]
        assert len(different) == 1, mutant


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "planted_energy.py").write_text(FORMULA)
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = src\n")
    (tmp_path / "test_weak.py").write_text(
        "from planted_energy import energy\n\ndef test_weak():\n    assert energy(2.0) > 0\n"
    )
    (tmp_path / "test_strong.py").write_text(
        "from planted_energy import energy\n\ndef test_strong():\n    assert energy(2.0) == 7.0\n"
    )
    return tmp_path


def _outcomes(project: Path, test: str, chosen: list[Mutant]) -> list[str]:
    lines = {"src/planted_energy.py": dict.fromkeys(range(10), [test] if test else [])}
    return [meet(project, Reach(lines, {test: 0.1}), mutant, set())[0] for mutant in chosen]


def test_a_weak_test_lets_a_mutant_live_that_a_strong_one_kills(project: Path):
    squared = [m for m in mutants(FORMULA, "planted_energy") if m.change == "exponent + 1"]
    assert _outcomes(project, "test_weak.py::test_weak", squared) == [SURVIVED]
    assert _outcomes(project, "test_strong.py::test_strong", squared) == [DIED]
    assert _outcomes(project, "", squared) == [UNREACHED]


def test_a_test_that_fails_without_the_change_kills_nothing(project: Path):
    (project / "test_broken.py").write_text("def test_broken():\n    assert False\n")
    squared = [m for m in mutants(FORMULA, "planted_energy") if m.change == "exponent + 1"]
    assert _outcomes(project, "test_broken.py::test_broken", squared) == [SURVIVED]


def test_equal_changes_of_one_line_have_keys_of_their_own():
    keys = [m.key for m in mutants(FORMULA, "energy")]
    assert len(keys) == len(set(keys))
    assert any(key.endswith("[Mult swapped] #2") for key in keys)


def test_a_loaded_function_gets_the_changed_body_under_every_name(monkeypatch):
    space: dict[str, object] = {}
    old = compile(FORMULA, "planted.py", "exec")
    exec(old, space)  # noqa: S102 - our own text
    energy = space["energy"]
    assert isinstance(energy, FunctionType)
    alias = energy
    code = energy.__code__
    place = (code.co_filename, code.co_qualname, code.co_firstlineno, code.co_linetable)
    monkeypatch.setattr(Living, "functions", {place: [energy]})
    monkeypatch.setattr(Living, "caches", [])
    squared = next(m for m in mutants(FORMULA, "planted") if m.change == "exponent + 1")
    assert alias(2.0) == 7.0
    assert exchange(old, compile(apply(FORMULA, squared), "planted.py", "exec")) == 1
    assert alias(2.0) == 25.0


def test_a_sample_is_drawn_by_its_seed_from_the_modules_asked_for():
    one, again, other = (sample(Draw(2, seed, ("octopus",))) for seed in (1, 1, 2))
    assert one == again != other
    assert {m.module.split(".")[1] for m in one} == {"octopus"}
    assert len(one) == 2 * len({m.module for m in one})


def test_a_score_counts_first_and_last_verdicts_and_leaves_equivalents_out():
    """a died at once, b later, c is alive, d is equivalent, e was not run."""
    last = {"a": DIED, "b": DIED, "c": SURVIVED, "d": SURVIVED}
    score = Score.of(list("abcde"), last, last | {"b": UNREACHED}, {"d": "no input tells"})
    assert score == Score(mutants=3, killed=2, at_first=1, equivalent=1, idle=1)
    assert score.row("x") == "| `x` | 3 | 2 | 1 | 1 | 1 | 67 % |"


def test_one_section_of_the_page_is_replaced_and_the_others_stay():
    page = "# Title\n\nWords.\n\n## One\n\n1\n\n## Two\n\n2\n"
    assert with_section(page, "One", "3\n") == page.replace("1", "3")
    assert with_section(page, "Three", "3\n") == page + "\n## Three\n\n3\n"


def test_no_mutant_is_begun_when_the_time_is_over(project: Path, monkeypatch):
    monkeypatch.setattr("scripts.mutants.gate.load_libraries", lambda: None)
    monkeypatch.setattr("scripts.mutants.gate.load_package", lambda root: None)
    test = "test_strong.py::test_strong"
    reach = Reach({"src/planted_energy.py": {line: [test] for line in range(10)}}, {test: 0.1})
    chosen = [m for m in mutants(FORMULA, "planted_energy") if m.change == "exponent + 1"]
    for end, outcomes in ((0.0, []), (math.inf, [DIED])):
        found: list[Verdict] = []
        judge(Bench(project, reach, 1, end), chosen, found.append)
        assert [verdict.outcome for verdict in found] == outcomes
