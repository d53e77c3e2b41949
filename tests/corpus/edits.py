"""Edits of an honest draft, each by one named fault: a number of its first claim, a tensor, the
data, the activation.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from tests.corpus.drafts import Draft

Edit = Callable[[Draft], None]
GENEROUS = Fraction(1000)


def holder(fields: dict[str, Any], name: str) -> dict[str, Any]:
    """The object in which a field lies: the claim itself, or `radius` or `quartic` inside it."""
    if name in fields:
        return fields
    inner = (holder(value, name) for value in fields.values() if isinstance(value, dict))
    return next((found for found in inner if name in found), fields)


def put(**fields: Any) -> Edit:
    """Set rationals of the first claim."""

    def edit(draft: Draft) -> None:
        for name, value in fields.items():
            holder(draft.claims[0].fields, name)[name] = Fraction(value)

    return edit


def times(name: str, factor: float | Fraction) -> Edit:
    """Multiply a rational of the first claim."""

    def edit(draft: Draft) -> None:
        holder(draft.claims[0].fields, name)[name] *= Fraction(factor)

    return edit


def tensor(name: str, change: Callable[[Any], Any]) -> Edit:
    """Replace X, y, W, v or a tensor of the first claim by a function of it."""

    def edit(draft: Draft) -> None:
        if name in ("X", "y", "W", "v"):
            setattr(draft, name, np.array(change(getattr(draft, name))))
        else:
            draft.claims[0].tensors[name] = np.array(change(draft.claims[0].tensors[name]))

    return edit


def several(*edits: Edit) -> Edit:
    """One after the other."""

    def edit(draft: Draft) -> None:
        for one in edits:
            one(draft)

    return edit


def data(name: str, change: Callable[[Any], Any]) -> Edit:
    """Change data or weights, and raise loss_upper so that the fault must be found by another
    check.
    """
    return several(tensor(name, change), hide_loss)


def hide_loss(draft: Draft) -> None:
    """Generous bounds of the loss, and of the gap where the claim has one."""
    fields = draft.claims[0].fields
    fields |= {name: GENEROUS for name in ("loss_upper", "gap") if name in fields}


def renamed(activation: str, parameter: str | None = None) -> Edit:
    """Another activation under the same numbers."""

    def edit(draft: Draft) -> None:
        draft.network = {"activation": activation, "kind": "shallow"} | (
            {} if parameter is None else {"parameter": parameter}
        )
        hide_loss(draft)

    return edit


def change_entry(index: Any, change: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function of an array that replaces one entry (or row) by a function of it."""

    def changed(array: Any) -> Any:
        array = array.copy()
        array[index] = change(array[index])
        return array

    return changed


def negate(index: Any) -> Callable[[Any], Any]:
    """Flip the sign of one entry."""
    return change_entry(index, lambda entry: -entry)


def add(index: Any, amount: float) -> Callable[[Any], Any]:
    """Change one entry."""
    return change_entry(index, lambda entry: entry + amount)


def exchange(array: Any) -> Any:
    """Exchange the first two entries or rows."""
    return np.concatenate([array[1::-1], array[2:]])


def zero(array: Any) -> Any:
    """Zeros of the same shape."""
    return np.zeros_like(array)
