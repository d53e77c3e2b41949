"""What `fit`, `certify` and `classify` make of a proof: progress on the terminal, an exit code, and
an interrupt that keeps what was found before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from globalmin.cli import exits
from globalmin.cli.console import working
from globalmin.proving.producer import prove
from globalmin.proving.proof import Proof, no_proof

if TYPE_CHECKING:
    from globalmin.data import Dataset
    from globalmin.shallow.network import ShallowNetwork


@dataclass(frozen=True)
class Attempt:
    """What came of trying to prove something: the proof, the exit code it means, and how long each
    part of the work took.
    """

    proof: Proof
    exit_code: int
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def has_file(self) -> bool:
        """Whether a certificate file was written."""
        return self.proof.has_file

    def stated(self, training: Dataset) -> Dataset:
        """The rows that the proof speaks of: all, or those that do not repeat another."""
        return training if self.proof.data is None else self.proof.data


def attempt(network: ShallowNetwork, data: Dataset, *, quiet: bool, **options: Any) -> Attempt:
    """`prove` with a progress line."""
    with working("proving and checking", quiet=quiet):
        proof = prove(network, data, **options)
    return Attempt(proof, exits.code_of_proof(proof), proof.seconds)


def interrupted() -> Attempt:
    """The attempt that was not made because the user interrupted."""
    return Attempt(
        no_proof({}, message="it was interrupted before a proof was tried"), exits.INTERRUPTED
    )
