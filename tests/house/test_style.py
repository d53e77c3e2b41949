"""What 'pretty' means here, as checkable facts (limits of the house style)."""

import ast
import re
from pathlib import Path

import pytest
from tests.house.source_lines import ROOT, lines_of_code

SOURCES = sorted((ROOT / "src").rglob("*.py"))
TRACKED_TEXT = [
    path
    for folder in (
        "src",
        "tests",
        "docs",
        "spec",
        "bench",
        "scripts",
        "examples",
        "packaging",
        ".ci",
    )
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in {".py", ".md", ".toml", ".sh", ".j2", ".yml", ".cff", ".json", ""}
    and path.is_file()
] + [ROOT / name for name in ("README.md", "Makefile", "pyproject.toml", "constraints.txt")]


def _functions(path: Path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def _body_lines(node: ast.FunctionDef) -> int:
    """Lines of a function without its signature and docstring."""
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    return node.end_lineno - body[0].lineno + 1 if body else 0


def _statements(node: ast.AST) -> int:
    return sum(isinstance(part, ast.stmt) for part in ast.walk(node)) - 1


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_files_and_functions_stay_short(path: Path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400
    long = [
        f"{node.name} ({_body_lines(node)})"
        for node in _functions(path)
        if _body_lines(node) > 50 and _statements(node) > 20  # one long table is one statement
    ]
    assert not long


def test_no_file_has_a_name_that_explains_nothing():
    assert not [
        path for path in SOURCES if re.search(r"(utils|helpers|common|misc|manager)", path.stem)
    ]


def test_the_checker_core_stays_small_enough_to_read():
    core = sum(map(lines_of_code, (ROOT / "src/globalmin_check").glob("*.py")))
    claims = {
        path.stem: lines_of_code(path)
        for path in (ROOT / "src/globalmin_check/claims").glob("*.py")
    }
    print(f"checker core {core} logical lines, claims {claims}")
    assert core <= 1000
    assert max(claims.values()) <= 140


def test_no_unsafe_loading_anywhere():
    forbidden = re.compile(
        r"\bimport pickle\b|allow_pickle=True|joblib\.load|(?<!\.)\beval\(|\bexec\("
        r"|torch\.load\((?![^)]*weights_only=True\))|safe_mode=False"
    )
    found = [path for path in SOURCES if forbidden.search(path.read_text(encoding="utf-8"))]
    assert not found


def test_no_machine_path_or_registry_address_is_committed():
    pattern = re.compile(
        "/(?:work|root|home)"
        + "/|--(?:extra-)?index"
        + "-url |--find"
        + "-links |://[^ ]*/"
        + "simple"
    )
    bad = []
    for path in TRACKED_TEXT:
        text = path.read_text(encoding="utf-8", errors="ignore")
        bad += [f"{path.relative_to(ROOT)}: {hit.group(0)}" for hit in pattern.finditer(text)]
    assert not bad


def test_no_file_of_the_tests_is_named_by_its_age_and_no_test_imports_a_test():
    """Names by age lie after a year; cases that two tests share stand in a `*_cases.py`."""
    files = sorted((ROOT / "tests").rglob("*.py"))
    by_age = re.compile(r"(^|_)(new|newer|newest|old|older|legacy|recent|later|more|misc)(_|$)")
    assert not [path for path in files if by_age.search(path.stem)]
    imports = re.compile(
        r"^(from|import) tests\.(\S+\.)?test_|^from tests\S* import .*\btest_", re.M
    )
    assert not [path for path in files if imports.search(path.read_text(encoding="utf-8"))]
