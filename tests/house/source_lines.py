"""Where the source is, and how its lines are counted."""

from __future__ import annotations

import ast
import io
import tokenize
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def lines_of_code(path: Path) -> int:
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
