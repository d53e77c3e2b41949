"""Names with bound, upper or lower are for what is proved, each with its reason here; a theorem's
right-hand side evaluated in floats is a limit, or says at most, at least.
"""

import ast

from tests.house.source_lines import ROOT

SOURCE = ROOT / "src" / "globalmin"
RIGOROUS = {
    "data/exact_algebra.py::rank_bounds": "exact integers",
    "kernels/gram_bounds.py::lambda_lower_bounds": "public; proved, evaluated in floats",
    "kernels/tail_bound.py::least_square_lower": "rounded down by its rounding bound",
    "kernels/tail_bound.py::prove_lambda_lower": "spec/streamed-kernels.md",
    "kernels/tail_bound.py::row_sums_upper": "spec/streamed-kernels.md",
    "linalg/positive_definite.py::lower_witness": "witness of a proved bound",
    "linalg/positive_definite.py::upper_witness": "witness of a proved bound",
    "octopus/constants.py::octopus_smoothness_upper": "proved by a search over cells",
    "octopus/escape.py::buffer_steps_upper": "proved upper bound, rounded up",
    "octopus/escape.py::escape_ratio_lower": "exact algebra of the recursion",
    "octopus/escape.py::escape_step_lower": "proved lower bound, rounded down",
    "octopus/escape.py::escape_times_lower": "proved lower bound, rounded down",
    "report/words.py::lower_text": "rounds a proved bound outward",
    "report/words.py::upper_text": "rounds a proved bound outward",
    "report/words.py::bound_text": "prints a proved bound",
}


def test_only_what_is_rigorous_is_called_a_bound():
    words = ("_bound_", "_bounds_", "_upper_", "_lower_")
    found = {
        f"{path.relative_to(SOURCE).as_posix()}::{node.name}"
        for path in SOURCE.rglob("*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_")
        if any(word in f"_{node.name}_" for word in words)
    }
    assert len(found) > 5
    assert found == RIGOROUS.keys()
