"""Certificates of any network kind as one object and its tensors, and edits of them: for the kinds
that no `Draft` can hold.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from tests.corpus.edits import holder
from tests.oracles import gmc_builder as gmc

GENEROUS = 1000


@dataclass
class Whole:
    """The certificate object and all tensors by their full names."""

    top: dict[str, Any]
    tensors: dict[str, Any]

    @property
    def claim(self) -> dict[str, Any]:
        """The first claim."""
        return self.top["claims"][0]

    def copy(self) -> Whole:
        """An independent copy."""
        return copy.deepcopy(self)

    def place(self, name: str) -> str:
        """The full name of a tensor of the file or of the first claim."""
        return name if name in self.tensors or name in self.top else f"claims.0.{name}"

    def sealed(self) -> bytes:
        """The file, with a fresh digest where there are samples, and a fresh seal."""
        samples = "sha256" in self.top["data"] and {"X", "y"} <= set(self.tensors)
        return gmc.pack(
            gmc.refresh_digest(self.top, self.tensors) if samples else self.top, self.tensors
        )


Edit = Callable[[Whole], None]


def opened(raw: bytes) -> Whole:
    """A well-formed file, taken apart."""
    return Whole(*gmc.unpack(raw))


def word(**fields: Any) -> Edit:
    """Set fields of the first claim, or of the object inside it that has them, to any JSON value;
    `...` removes the field.
    """

    def edit(file: Whole) -> None:
        for name, value in fields.items():
            inside = holder(file.claim, name)
            if value is ...:
                del inside[name]
            else:
                inside[name] = value

    return edit


def put(**fields: float | Fraction) -> Edit:
    """Set rationals of the first claim."""
    return word(**{name: str(Fraction(value)) for name, value in fields.items()})


def times(name: str, factor: float | Fraction) -> Edit:
    """Multiply a rational of the first claim."""

    def edit(file: Whole) -> None:
        inside = holder(file.claim, name)
        inside[name] = str(Fraction(inside[name]) * Fraction(factor))

    return edit


def inside(path: str, **fields: Any) -> Edit:
    """Set fields of an object inside the first claim, named by its path; `...` removes the
    field.
    """

    def edit(file: Whole) -> None:
        target = file.claim
        for part in path.split("."):
            target = target[part]
        for name, value in fields.items():
            if value is ...:
                del target[name]
            else:
                target[name] = value

    return edit


def array(name: str, change: Callable[[Any], Any]) -> Edit:
    """Replace a tensor of the file or of the first claim by a function of it."""

    def edit(file: Whole) -> None:
        place = file.place(name)
        file.tensors[place] = np.array(change(file.tensors[place]))

    return edit


def field(name: str, value: Callable[[Fraction], Fraction]) -> Edit:
    """Replace a rational of the claim by what it becomes."""

    def edit(file: Whole) -> None:
        file.claim[name] = str(value(Fraction(file.claim[name])))

    return edit


def entry(name: str, place: Any, value: Callable[[Any], Any]) -> Edit:
    """Replace an entry of a tensor by what it becomes."""

    def change(tensor: Any) -> Any:
        changed = np.array(tensor)
        changed[place] = value(changed[place])
        return changed

    return array(name, change)


def new_tensor(name: str, value: Any) -> Edit:
    """One more tensor of the first claim."""
    return lambda file: file.tensors.update({f"claims.0.{name}": np.asarray(value)})


def without(name: str) -> Edit:
    """Remove a tensor."""

    def edit(file: Whole) -> None:
        del file.tensors[file.place(name)]

    return edit


def network(**fields: Any) -> Edit:
    """Set fields of the object `network`."""
    return lambda file: file.top["network"].update(fields)


def several(*edits: Edit) -> Edit:
    """One after the other."""

    def edit(file: Whole) -> None:
        for one in edits:
            one(file)

    return edit


def shape_of(name: str, *shape: int) -> Edit:
    """A tensor of ones of another shape."""
    return array(name, lambda _: np.ones(shape))


def hidden(*edits: Edit) -> Edit:
    """The same with a generous bound of the loss, so that another check must find the fault."""
    return several(*edits, put(loss_upper=GENEROUS))


def transplanted(mine: Whole, other: Whole) -> Whole:
    """The claim and the witness of another file over the numbers of this one; the bound of the loss
    is generous.
    """
    result, theirs = mine.copy(), other.copy()
    result.top["claims"] = theirs.top["claims"]
    witness = {name: value for name, value in theirs.tensors.items() if name.startswith("claims.")}
    result.tensors = {
        name: value for name, value in result.tensors.items() if not name.startswith("claims.")
    } | witness
    put(loss_upper=GENEROUS)(result)
    return result
