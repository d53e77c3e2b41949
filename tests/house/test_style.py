"""What 'pretty' means here, as checkable facts (limits of the house style)."""

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
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


def _lines_of_code(path: Path) -> int:
    """Logical lines that are neither comment nor docstring: however a statement is broken over
    lines, it counts once.
    """
    source = path.read_text(encoding="utf-8")
    docstrings = {
        node.body[0].end_lineno
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef)
        and ast.get_docstring(node) is not None
    }
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    return sum(
        token.type == tokenize.NEWLINE and token.start[0] not in docstrings for token in tokens
    )


def test_the_checker_core_stays_small_enough_to_read():
    core = sum(map(_lines_of_code, (ROOT / "src/globalmin_check").glob("*.py")))
    claims = {
        path.stem: _lines_of_code(path)
        for path in (ROOT / "src/globalmin_check/claims").glob("*.py")
    }
    print(f"checker core {core} logical lines, claims {claims}")
    assert core <= 1000
    assert max(claims.values()) <= 140


def test_no_unsafe_loading_anywhere():
    forbidden = re.compile(
        r"\bimport pickle\b|allow_pickle=True|joblib\.load|\beval\(|\bexec\(|torch\.load"
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
