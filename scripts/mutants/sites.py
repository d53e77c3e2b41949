"""Places in a module where a formula can be made wrong, and the changes tried there.

Docstrings, annotations, decorators, messages of errors, keyword names and log texts are no
formulas and are left alone.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

SWAPPED_OPERATORS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
}
SWAPPED_COMPARISONS = {
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}
EDGE_COMPARISONS = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
SWAPPED_NAMES = {
    "min": "max",
    "max": "min",
    "minimum": "maximum",
    "maximum": "minimum",
    "any": "all",
    "all": "any",
    "floor": "ceil",
    "ceil": "floor",
    "sum": "mean",
    "mean": "sum",
    "argmin": "argmax",
    "argmax": "argmin",
}
SKIPPED_FIELDS = {"annotation", "returns", "decorator_list", "type_params"}


@dataclass(frozen=True)
class Mutant:
    """One change of one module: where, and what in words.

    `path` leads from the module's tree to the node: (field, index or None) at every level;
    `runs_at_import` marks constants, defaults and class bodies; `nth` counts equal changes of equal
    lines, so that each has a key of its own.
    """

    module: str
    line: int
    text: str
    path: tuple[tuple[str, int | None], ...]
    change: str
    runs_at_import: bool
    nth: int = 1

    @property
    def file(self) -> str:
        """Where the module's source lies, seen from the project's root."""
        return "src/" + self.module.replace(".", "/") + ".py"

    @property
    def key(self) -> str:
        """What a list of excused survivors names it by: stable when lines move."""
        which = f" #{self.nth}" if self.nth > 1 else ""
        return f"{self.module}: {self.text} [{self.change}]{which}"


def mutants(source: str, module: str) -> list[Mutant]:
    """Every mutant of a module, in the order of its lines."""
    lines, tree = source.splitlines(), ast.parse(source)
    called = _lines_of_functions(tree)
    seen: Counter[tuple[str, str]] = Counter()
    found = []
    for path, node in _walk(tree, ()):
        text = lines[node.lineno - 1].strip()
        for change in changes(node):
            seen[text, change] += 1
            at_import = node.lineno not in called
            nth = seen[text, change]
            found.append(Mutant(module, node.lineno, text, path, change, at_import, nth))
    return found


def _lines_of_functions(tree: ast.Module) -> set[int]:
    """Lines that run when a function is called, and not when the module is imported."""
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found.update(range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1))
    return found


def changes(node: ast.AST) -> list[str]:
    """The changes that make sense at a node, in words."""
    if isinstance(node, ast.Constant):
        return _constant_changes(node.value)
    if isinstance(node, ast.BinOp):
        found = [type(node.op).__name__ + " swapped"] if type(node.op) in SWAPPED_OPERATORS else []
        return ["exponent + 1"] if isinstance(node.op, ast.Pow) else found
    if isinstance(node, ast.UnaryOp):
        return ["sign dropped"] if isinstance(node.op, ast.USub) else ["negation dropped"]
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        kind = type(node.ops[0])
        found = ["comparison reversed"] if kind in SWAPPED_COMPARISONS else []
        return [*found, "comparison at the edge"] if kind in EDGE_COMPARISONS else found
    if isinstance(node, ast.BoolOp):
        return ["and / or swapped"]
    if isinstance(node, ast.Call):
        is_builtin_sum = isinstance(node.func, ast.Name) and node.func.id in ("sum", "mean")
        name = "" if is_builtin_sum else _called(node)
        return [f"{name} swapped"] if name in SWAPPED_NAMES else []
    return []


def _constant_changes(value: object) -> list[str]:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return []
    return ["constant + 1"] if value == 0 else ["constant + 1", "constant doubled"]


def _called(call: ast.Call) -> str:
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def apply(source: str, mutant: Mutant) -> ast.Module:
    """The module's tree with the change made."""
    tree = copy.deepcopy(ast.parse(source))
    parent: ast.AST = tree
    for field, index in mutant.path[:-1]:
        parent = _child(parent, field, index)
    field, index = mutant.path[-1]
    changed = _changed(_child(parent, field, index), mutant.change)
    if index is None:
        setattr(parent, field, changed)
    else:
        getattr(parent, field)[index] = changed
    return ast.fix_missing_locations(tree)


def _child(parent: ast.AST, field: str, index: int | None) -> ast.AST:
    value = getattr(parent, field)
    return value if index is None else value[index]


def _changed(node: ast.AST, change: str) -> ast.AST:
    if isinstance(node, ast.Constant):
        value = float(node.value) if isinstance(node.value, float) else int(str(node.value))
        new = value + 1 if change == "constant + 1" else 2 * value
        return ast.copy_location(ast.Constant(new), node)
    if isinstance(node, ast.UnaryOp):
        return node.operand
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        one = ast.Constant(1)
        node.right = ast.copy_location(ast.BinOp(node.right, ast.Add(), one), node.right)
    elif isinstance(node, ast.BinOp):
        node.op = SWAPPED_OPERATORS[type(node.op)]()
    elif isinstance(node, ast.Compare):
        table = EDGE_COMPARISONS if change == "comparison at the edge" else SWAPPED_COMPARISONS
        node.ops = [table[type(node.ops[0])]()]
    elif isinstance(node, ast.BoolOp):
        node.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
    elif isinstance(node, ast.Call):
        _rename(node.func)
    return node


def _rename(function: ast.expr) -> None:
    if isinstance(function, ast.Attribute):
        function.attr = SWAPPED_NAMES[function.attr]
    elif isinstance(function, ast.Name):
        function.id = SWAPPED_NAMES[function.id]


def _walk(
    node: ast.AST, path: tuple[tuple[str, int | None], ...]
) -> Iterator[tuple[tuple[tuple[str, int | None], ...], ast.expr]]:
    if isinstance(node, ast.expr) and path:
        yield path, node
    for field, value in ast.iter_fields(node):
        if field in SKIPPED_FIELDS:
            continue
        for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(child, ast.AST) and not _is_prose(child):
                yield from _walk(child, (*path, (field, index)))


def _is_prose(node: ast.AST) -> bool:
    """Errors, f-strings, imports, type-checking blocks and bare strings: no formula in them."""
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom | ast.Assert):
        return True
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
