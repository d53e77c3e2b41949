"""The numbers that the checker verified, typed: the one place where they are read by name."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from fractions import Fraction

Number = str | float
"""A double that the checker rounded to the safe side, or an exact rational "p/q"."""


@dataclass(frozen=True)
class ProvedNumbers:
    """The verified numbers of one claim; None for what the claim does not speak of.

    Attributes
    ----------
    loss, loss_upper : bounds of the loss of the stored weights from above: the tightest, and the
        one in the file.
    objective, floor, gap : of the value that the claim is about (with weight decay the penalized
        loss): from above at the stored weights, from below over the class of networks, and the
        difference from above.
    decay : the weight decay w, exact; heads : the signs of the heads that the class covers.
    R, R_lo : zero-loss weights exist within R and not within R_lo.
    path, rate, eta : length of the path of descent, its factor per step, its step.
    others : by name, what only one kind of claim has.
    """

    loss: float | None = None
    loss_upper: float | None = None
    objective: float | None = None
    floor: float | None = None
    gap: float | None = None
    decay: str | None = None
    heads: str | None = None
    method: str | None = None
    rank: Number | None = None
    R: float | None = None
    R_lo: float | None = None
    r: float | None = None
    r_minus: float | None = None
    starts: float | None = None
    path: float | None = None
    rate: float | None = None
    eta: str | None = None
    a: float | None = None
    b: float | None = None
    mu: float | None = None
    Lip: float | None = None
    e: float | None = None
    h: float | None = None
    eps: float | None = None
    delta: float | None = None
    gamma: float | None = None
    radius: float | None = None
    E0: float | None = None
    barrier: float | None = None
    difference: float | None = None
    others: Mapping[str, Number] = field(default_factory=dict)

    @classmethod
    def read(cls, numbers: Mapping[str, Number] | None) -> ProvedNumbers:
        """From the checker's result on a claim."""
        given = dict(numbers or {})
        known = {f.name: given.pop(f.name) for f in fields(cls) if f.name in given}
        return cls(**known, others=given)  # pyright: ignore[reportArgumentType]

    def by_name(self) -> dict[str, Number]:
        """As the checker gave them, for JSON and tables."""
        named = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "others"}
        return {name: value for name, value in named.items() if value is not None} | {**self.others}

    @property
    def is_penalized(self) -> bool:
        """Whether `objective`, `floor` and `gap` are those of the loss plus weight decay."""
        return self.decay not in (None, "0")

    @property
    def value_upper(self) -> float | None:
        """What `gap` is to be compared with: the objective, or the loss."""
        return self.loss_upper if self.objective is None else self.objective

    @property
    def covers_all_heads(self) -> bool:
        """Whether the class of networks has heads of both signs."""
        return self.heads in (None, "any")


def float_up(value: Fraction) -> float:
    """The least double that is at least this."""
    nearest = float(value)
    return nearest if nearest >= value else math.nextafter(nearest, math.inf)
