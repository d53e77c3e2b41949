"""What a network from elsewhere has that ours have not: collected wherever it is met, told at once.

A reader that stopped at the first thing would make its user export and try again, once for each.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NoReturn

from globalmin.errors import DataError


@dataclass(frozen=True)
class Finding:
    """One thing that cannot be represented.

    Attributes
    ----------
    what : str
        The layer, operation or property.
    where : str
        Its place in the model, in the words of the framework.
    needed : str
        What would have to be there instead.
    """

    what: str
    where: str
    needed: str

    def __str__(self) -> str:
        return f"{self.where}: {self.what}; {self.needed}"


class UnsupportedModel(DataError):
    """The model has parts that our networks have not; `findings` lists all of them."""

    def __init__(self, model: str, findings: tuple[Finding, ...]) -> None:
        lines = "".join(f"\n  {number}. {found}" for number, found in enumerate(findings, 1))
        count = "one thing" if len(findings) == 1 else f"{len(findings)} things"
        super().__init__(f"{model} has {count} that cannot be represented here:{lines}")
        self.findings = findings


@dataclass
class Findings:
    """The list while a model is read."""

    model: str
    found: list[Finding] = field(default_factory=list)

    def add(self, what: str, where: str, needed: str) -> None:
        """Remember one."""
        entry = Finding(what, where, needed)
        if entry not in self.found:
            self.found.append(entry)

    def require_none(self) -> None:
        """Raise all of them, if there are any."""
        if self.found:
            raise UnsupportedModel(self.model, tuple(self.found))

    def refuse(self, what: str, where: str, needed: str) -> NoReturn:
        """Add one after which reading makes no sense, and raise."""
        self.add(what, where, needed)
        raise UnsupportedModel(self.model, tuple(self.found))
