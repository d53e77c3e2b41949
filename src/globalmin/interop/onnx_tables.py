"""What is done to the columns of a table, written into ONNX graphs: categories, gaps, dates and
scaling, so that rows go in as they are.

A column of numbers is a tensor n x 1 with NaN at gaps, a category one of strings with "" at gaps, a
date one of seconds since 1970-01-01 00:00 with NaN at gaps (ONNX reads no dates).
"""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np

from globalmin._types import Array, NDArray
from globalmin.data.columns import numbers_of, texts_of, times_of
from globalmin.data.loading_tables import MISSING
from globalmin.data.preprocessing import Preprocessing
from globalmin.data.raw_table import RawTable
from globalmin.data.recipe import Recipe, Step
from globalmin.interop.onnx_nodes import Nodes
from globalmin.interop.packages import package

DAY = 86400
EPOCH = dt.datetime(1970, 1, 1)
# of the Gregorian calendar; years are counted from March, so that a leap day is the last of its own
CYCLE, CENTURY, FOUR_YEARS, YEAR = 146097, 36524, 1461, 365
CYCLE_STARTS = (dt.datetime(2000, 3, 1) - EPOCH).days
MONTH_STARTS = [(dt.date(2001 + m // 10, (m + 2) % 12 + 1, 1) - dt.date(2001, 3, 1)).days
                for m in range(12)]  # fmt: skip


def recipe_nodes(nodes: Nodes, recipe: Recipe) -> str:
    """The columns of numbers of a recipe, n x len(recipe.names); one input for each raw column."""
    parts = [part for step in recipe.steps for part in _step_nodes(nodes, step)]
    return nodes.node("Concat", *parts, axis=1)


def _step_nodes(nodes: Nodes, step: Step) -> list[str]:
    kinds = package("onnx").TensorProto
    if step.kind == "category":
        given = nodes.input(step.column, 1, kinds.STRING, 'a category; "" where it is missing')
        return _levels(nodes, step, given)
    if step.kind == "number":
        given = nodes.input(step.column, 1, None, "a number; NaN where it is missing")
        parts = [_filled(nodes, given, nodes.constant(step.fill))]
    else:
        told = "a date: seconds since 1970-01-01 00:00; NaN where it is missing"
        given = nodes.input(step.column, 1, kinds.DOUBLE, told)
        fill = (EPOCH + dt.timedelta(days=step.fill) - EPOCH).total_seconds()
        parts = _dates(nodes, step, _filled(nodes, given, nodes.constant(fill, np.float64)))
    return [*parts, nodes.numbers(nodes.node("IsNaN", given))] if step.gaps else parts


def _filled(nodes: Nodes, given: str, fill: str) -> str:
    return nodes.node("Where", nodes.node("IsNaN", given), fill, given)


def _levels(nodes: Nodes, step: Step, given: str) -> list[str]:
    """One column for each level, as `Recipe.transform` makes them."""
    if not step.outputs:
        return []
    gap = len(step.levels) + step.others
    absent = sorted({spelled for text in MISSING for spelled in _spellings(text)})
    keys = [*step.levels, *(text for text in absent if text not in step.levels)]
    codes = [*range(len(step.levels)), *[gap] * (len(keys) - len(step.levels))]
    code = nodes.node(
        "LabelEncoder",
        given,
        domain="ai.onnx.ml",
        keys_strings=keys,
        values_int64s=codes,
        default_int64=len(step.levels) if step.others else -1,
    )
    last = gap + step.gaps  # a gap where training had none has no column
    first = 1 if last == 2 else 0
    wanted = nodes.whole([list(range(first, last))])
    return [nodes.numbers(nodes.node("Equal", code, wanted))]


def _spellings(text: str) -> tuple[str, ...]:
    return (text, text.upper(), text.capitalize(), {"nan": "NaN", "<na>": "<NA>"}.get(text, text))


def _dates(nodes: Nodes, step: Step, seconds: str) -> list[str]:
    """The parts of a date that are used, each n x 1, by whole numbers throughout."""
    kinds = package("onnx").TensorProto
    whole = nodes.node("Cast", nodes.node("Floor", seconds), to=kinds.INT64)
    day, clock = _divided(nodes, whole, DAY)
    parts = []
    for part in step.parts:
        if part == "days":
            parts.append(nodes.numbers(nodes.node("Div", seconds, nodes.constant(DAY, np.float64))))
        elif part == "month":
            parts.append(nodes.numbers(_month(nodes, day)))
        elif part == "weekday":  # 1970-01-01 was a Thursday, the fourth day
            shifted = nodes.node("Mod", nodes.node("Add", day, nodes.whole(3)), nodes.whole(7))
            parts.append(nodes.numbers(nodes.node("Add", shifted, nodes.whole(1))))
        else:
            minutes, _ = _divided(nodes, clock, 60)
            hour, minute = _divided(nodes, minutes, 60)
            share = nodes.node("Div", nodes.numbers(minute), nodes.constant(60))
            parts.append(nodes.node("Add", nodes.numbers(hour), share))
    return parts


def _divided(nodes: Nodes, number: str, by: int) -> tuple[str, str]:
    """Quotient and remainder of whole numbers, the remainder not negative."""
    rest = nodes.node("Mod", number, nodes.whole(by))
    return nodes.node("Div", nodes.node("Sub", number, rest), nodes.whole(by)), rest


def _month(nodes: Nodes, day: str) -> str:
    """The month of a day since 1970-01-01: cycles of 400 years, centuries, fours, years, then the
    months that have begun.
    """
    _, rest = _divided(nodes, nodes.node("Sub", day, nodes.whole(CYCLE_STARTS)), CYCLE)
    for length, most in ((CENTURY, 3), (FOUR_YEARS, 24), (YEAR, 3)):
        count = nodes.node("Min", _divided(nodes, rest, length)[0], nodes.whole(most))
        rest = nodes.node("Sub", rest, nodes.node("Mul", count, nodes.whole(length)))
    begun = nodes.node("GreaterOrEqual", rest, nodes.whole([MONTH_STARTS]))
    ones = nodes.node("Cast", begun, to=package("onnx").TensorProto.INT64)
    count = nodes.node("ReduceSum", ones, nodes.whole([1]), keepdims=1)  # 1 for March, 12 February
    after = nodes.node("Mod", nodes.node("Add", count, nodes.whole(1)), nodes.whole(12))
    return nodes.node("Add", after, nodes.whole(1))


def scaling_nodes(nodes: Nodes, rows: str, step: Preprocessing) -> str:
    """Stored rows of raw ones, without the constant column."""
    if step.scaling == "standardize":
        shifted = nodes.node("Sub", rows, nodes.constant(step.x_shift))
        return nodes.node("Div", shifted, nodes.constant(step.x_scale))
    if step.scaling == "none":
        return rows
    largest = nodes.node("ReduceMax", nodes.node("Abs", rows), axes=[1], keepdims=1)
    return unit_rows(nodes, nodes.node("Div", rows, _or_one(nodes, largest)), 1)


def unit_rows(nodes: Nodes, rows: str, axis: int) -> str:
    """Each divided by its norm, zero where it is."""
    total = nodes.node("ReduceSum", nodes.node("Mul", rows, rows), nodes.whole([axis]), keepdims=1)
    return nodes.node("Div", rows, _or_one(nodes, nodes.node("Sqrt", total)))


def _or_one(nodes: Nodes, number: str) -> str:
    is_more = nodes.node("Greater", number, nodes.constant(0.0))
    return nodes.node("Where", is_more, number, nodes.constant(1.0))


def recipe_inputs(recipe: Recipe, table: RawTable) -> dict[str, NDArray[Any]]:
    """The cells of a table as the inputs of a graph of `recipe_nodes`."""
    table.require(recipe.columns, "input")
    return {step.column: _cells(step, table)[:, None] for step in recipe.steps}


def _cells(step: Step, table: RawTable) -> NDArray[Any]:
    if step.kind == "number":
        return numbers_of(table, step.column)
    if step.kind == "category":
        texts = texts_of(table, step.column)
        return np.array(["" if text is None else text for text in texts], dtype=object)
    times = times_of(table, step.column, step.date_format)
    return _seconds(times)


def _seconds(times: list[dt.datetime | None]) -> Array:
    return np.array([np.nan if t is None else (t - EPOCH).total_seconds() for t in times])
