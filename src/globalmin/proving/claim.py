"""One claim of a certificate (what is said, the witness that proves it, the same numbers as floats
for reports), and what a room registers to have something proved: the record of a claim kind, and
the subject that its claims speak of.

A module in a folder `claims` carries the records of its claims as module-level values;
`globalmin.proving.claim` finds them. Nothing else names a kind.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from globalmin._options import Architecture, Trained
from globalmin._rooms import modules_in, rooms_with
from globalmin.errors import CannotCertify, DataError

if TYPE_CHECKING:
    from globalmin.proving.certificate import SealedCertificate

Json = str | int | bool | Sequence["Json"] | Mapping[str, "Json"]
Tensor = NDArray[np.float64] | NDArray[np.int64]


# of the loss: a stored network with a wider gap to the floor is not said to be at the minimum
WIDEST_GAP = 1e-6
# certificates state the loss 0 of an exact fit as 2^-400, which no gap can be small against
EXACT_FIT = 2.0**-398


@dataclass(frozen=True)
class Claim:
    """A claim of kind `kind`: `fields` go to the certificate's JSON, `tensors` (by role) to its
    data, `summary` to reports. Version 2 stores no witness that the checker can make itself.
    """

    kind: str
    fields: Mapping[str, Json]
    tensors: Mapping[str, Tensor] = field(repr=False)
    summary: Mapping[str, float]
    version: int = 1

    @property
    def is_wide(self) -> bool:
        """Whether it states a gap too large to say that the stored network is at the minimum."""
        value = self.summary.get("objective", self.summary.get("loss_upper", 0.0))
        gap = self.summary.get("gap", 0.0)
        return gap > max(WIDEST_GAP * value, EXACT_FIT)

    def to_json(self) -> dict[str, Json]:
        """The claim object of the certificate format, section 5."""
        theorem = records()[self.kind].theorem
        return {"kind": self.kind, "theorem": theorem, "version": self.version, **self.fields}


def rational(value: float | Fraction) -> str:
    """The exact rational a double (or fraction) is, as "p" or "p/q" in lowest terms."""
    return str(Fraction(value))


T = TypeVar("T")


class Proves(StrEnum):
    """What an accepted claim says about the minimum of the loss."""

    ZERO_LOSS = "weights of zero loss exist next to the stored ones"
    GAP = "the stored weights are at most so far above the least value of a class of networks"
    FLOOR = "no network of a class has a loss below the floor"
    DESCENT = "descent from the stored weights ends at the global minimum"
    POINT = "what kind of point the stored weights are or are near"
    DATA = "what the data determine"
    HEAD = "the stored head is at most so far above the least loss over heads"


@dataclass(frozen=True)
class Question:
    """What is to be proved about which network at which data.

    Attributes
    ----------
    network, data : as stored in the file; the data without the rows that are left out.
    trained, step_size, weight_decay : as in `prove`.
    options : further arguments of single claims, by name.
    notes : what the reader must be told about the data that were left out.
    copies : how often the most frequent row of `data` occurs in all data.
    unmet : claim by claim, what stood in the way beside those that hold.
    kinds : the claims that the ladder may try; None for all.
    """

    network: Any
    data: Any
    trained: Trained = "W"
    step_size: float | None = None
    weight_decay: float | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    copies: int = 1
    unmet: Mapping[str, str] = field(default_factory=dict)
    kinds: frozenset[str] | None = None
    _known: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def once(self, name: str, make: Callable[[], T]) -> T:
        """What several claims need, made on first use: measuring a point is most of the work."""
        if name not in self._known:
            self._known[name] = make()
        return self._known[name]


@dataclass(frozen=True)
class StartQuestion:
    """From which start descent is to be proved to reach zero loss; what does not matter for a class
    of networks is refused or ignored there.

    Attributes
    ----------
    start : a network, or the seed that stands for its random weights.
    data : the samples.
    width, depth, architecture, activation : of the network of a seed.
    step_size, max_iter, path : as in `prove_start`.
    """

    start: Any
    data: Any
    width: int | None = None
    depth: int | None = None
    architecture: Architecture = "fully_connected"
    activation: Any = None
    step_size: float | str | None = None
    max_iter: int = 10_000
    path: Any = None


@dataclass(frozen=True)
class Rung:
    """One attempt of the ladder. Levels are tried from below, and the first at which a claim holds
    ends the climb.

    Attributes
    ----------
    level : 1 for the strongest statement about these data.
    build : the claim, or `CannotCertify`.
    place : order within the level and in the file.
    is_extra : a quick proof leaves it out if another claim of its level holds.
    is_beside : it says nothing about the minimum, and is added to a claim that does.
    """

    level: int
    build: Callable[[], Claim]
    place: int = 0
    is_extra: bool = False
    is_beside: bool = False


def _only_if_asked(question: Question) -> Sequence[Rung]:
    return ()


@dataclass(frozen=True)
class ClaimRecord:
    """All that the producer, the report and the command line know of a claim kind.

    Attributes
    ----------
    kind, theorem : its name in the format, and the name of its theorem with the version.
    proves : what it says about the minimum.
    label : a few words for a table.
    network : the class of networks it is about.
    build : the claim for a question that asks for this kind.
    rungs : when it is tried unasked.
    sentence : its statement in plain words; `{name}` stands for a verified number. Without one the
        checker's own statement is shown.
    headline : what a file with this claim says if the minimum is left open.
    limit : what a reader may think is proved and is not.
    variants : records of claims of this kind that say less, by the word that the checker verified
        as their `landing`.
    """

    kind: str
    theorem: str
    proves: Proves
    label: str
    network: type
    build: Callable[[Question], Claim] = field(repr=False)
    rungs: Callable[[Question], Sequence[Rung]] = field(default=_only_if_asked, repr=False)
    sentence: str = field(default="", repr=False)
    headline: str = field(default="", repr=False)
    limit: str = field(default="", repr=False)
    variants: Mapping[str, ClaimRecord] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class NetworkForm:
    """A network as the certificate format writes it: the object `network`, and its tensors."""

    description: Mapping[str, Json]
    tensors: Mapping[str, Tensor] = field(repr=False)


def _as_asked(question: Question, wanted: Sequence[ClaimRecord] | None) -> Question:
    return question


def _no_rung(question: Question) -> CannotCertify:
    return CannotCertify(f"no claim is known for {type(question.network).__name__}")


@dataclass(frozen=True)
class Subject:
    """A class of networks that files can speak of.

    Attributes
    ----------
    network : the class.
    certificate : the file of some claims about a question's network and data.
    form : how the network is written; None where `certificate` writes it itself.
    prepare : checks the question and leaves out rows that do not matter for the wanted claims
        (None: the ladder).
    refusal : why the ladder has no rung.
    from_start : the proof about descent from a start of this class, for networks with a depth.
    """

    network: type
    certificate: Callable[[tuple[Claim, ...], Question, bool], SealedCertificate]
    form: Callable[[Any], NetworkForm] | None = None
    prepare: Callable[[Question, Sequence[ClaimRecord] | None], Question] = _as_asked
    refusal: Callable[[Question], CannotCertify] = _no_rung
    from_start: Callable[[StartQuestion], Any] | None = None


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


def deep_door(start: Any, depth: int | None) -> Callable[[StartQuestion], Any]:
    """Who proves that descent from a network with a depth reaches zero loss; DataError if nobody
    does for this start.
    """
    known = [s for s in _found()[1].values() if s.from_start is not None]
    found = known if depth is not None else [s for s in known if isinstance(start, s.network)]
    for subject in found:
        if subject.from_start is not None:
            return subject.from_start
    names = ", ".join(sorted(s.network.__name__ for s in known))
    raise DataError(f"start={start!r} must be a ShallowNetwork or {names}, or an integer seed")


def subject_of(network: Any) -> Subject:
    """The subject of a network; DataError for something that no certificate can speak of."""
    subjects = _found()[1]
    for kind in type(network).__mro__:
        if kind in subjects:
            return subjects[kind]
    names = ", ".join(sorted(known.__name__ for known in subjects))
    raise DataError(
        f"nothing can be proved about a {type(network).__name__}; give one of {names}; networks of "
        "other frameworks come in by gm.interop, and gm.examine takes them as they are"
    )
