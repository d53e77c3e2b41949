"""Did we become slower? Ratios of a new run against those of the stored one.

Only ratios are compared, never seconds: both sides of a ratio were measured in turns in one run, so
a slower machine cancels. A contest counts if both files have it; a contender is a regression if its
ratio over ours fell by more than `ALLOWED` *and* lies outside the spread of both runs.
"""

from __future__ import annotations

from typing import Any

ALLOWED = 0.15
PARTS = ("proof", "check")  # jobs of ours that are compared with our own training: less is better


def regressions(stored: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """One line for each ratio that became worse."""
    lines = []
    for key in sorted(stored["contests"].keys() & new["contests"].keys()):
        before, after = (run["contests"][key]["contenders"] for run in (stored, new))
        for name in sorted(before.keys() & after.keys()):
            line = _line(before[name], after[name], is_less_better=_is_ours(name))
            if line:
                lines.append(f"{key}, {name}: {line}")
    return lines


def _is_ours(name: str) -> bool:
    return name in PARTS or name.endswith("with proof") or name == "with proof and check"


def _line(before: dict[str, Any], after: dict[str, Any], *, is_less_better: bool) -> str:
    if "ratio" not in before or "ratio" not in after:
        return ""
    if is_less_better:
        worse = after["ratio"] > (1 + ALLOWED) * before["ratio"]
        apart = after["ratio_low"] > before["ratio_high"]
    else:
        worse = after["ratio"] < (1 - ALLOWED) * before["ratio"]
        apart = after["ratio_high"] < before["ratio_low"]
    if not (worse and apart):
        return ""
    return f"{before['ratio']:.3g} before, {after['ratio']:.3g} now"
