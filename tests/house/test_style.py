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


def _code_lines(node: ast.FunctionDef) -> int:
    """Lines of a function without its docstring."""
    first = node.body[0]
    is_docstring = (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    )
    return (
        node.end_lineno
        - node.lineno
        + 1
        - ((first.end_lineno - first.lineno + 1) if is_docstring else 0)
    )


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_files_and_functions_stay_short(path: Path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400
    long = [
        f"{node.name} ({_code_lines(node)})" for node in _functions(path) if _code_lines(node) > 50
    ]
    assert not long


def test_no_file_has_a_name_that_explains_nothing():
    assert not [
        path for path in SOURCES if re.search(r"(utils|helpers|common|misc|manager)", path.stem)
    ]


def _lines_of_code(path: Path) -> int:
    """Lines that are neither blank, comment nor docstring."""
    source = path.read_text(encoding="utf-8")
    docstrings = {
        line
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef)
        and ast.get_docstring(node) is not None
        for line in range(node.body[0].lineno, node.body[0].end_lineno + 1)
    }
    noise = (
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    )
    tokens = [
        token
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type not in noise
    ]
    return len(
        {line for token in tokens for line in range(token.start[0], token.end[0] + 1)} - docstrings
    )


def test_the_checker_core_stays_small_enough_to_read():
    core = sum(map(_lines_of_code, (ROOT / "src/globalmin_check").glob("*.py")))
    claims = {
        path.stem: _lines_of_code(path)
        for path in (ROOT / "src/globalmin_check/claims").glob("*.py")
    }
    print(f"checker core {core} lines of code, claims {claims}")
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
