"""The claim kinds and the network classes that files can speak of, as the rooms bring them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from globalmin._rooms import modules_in, rooms_with
from globalmin.errors import DataError
from globalmin.proving.record import ClaimRecord, Subject


@cache
def _found() -> tuple[Mapping[str, ClaimRecord], Mapping[type, Subject]]:
    records: dict[str, ClaimRecord] = {}
    subjects: dict[type, Subject] = {}
    for room in rooms_with("claims"):
        for module in modules_in(room):
            for value in vars(module).values():
                if isinstance(value, ClaimRecord):
                    records[value.kind] = value
                elif isinstance(value, Subject):
                    subjects[value.network] = value
    return MappingProxyType(records), MappingProxyType(subjects)


def records() -> Mapping[str, ClaimRecord]:
    """Every claim kind by name."""
    return _found()[0]


def subject_of(network: Any) -> Subject:
    """The subject of a network; DataError for something that no certificate can speak of."""
    subjects = _found()[1]
    for kind in type(network).__mro__:
        if kind in subjects:
            return subjects[kind]
    names = ", ".join(sorted(known.__name__ for known in subjects))
    raise DataError(f"nothing can be proved about a {type(network).__name__}; give one of {names}")
