"""What a fit on rows in shards says of its proof, and the object `data` of its certificate."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from globalmin.errors import CannotCertify, DataError
from globalmin.files import save_atomically

if TYPE_CHECKING:
    from globalmin_check import Result

MOST_SHARDS = 4096  # of a certificate file


class KnownShard(Protocol):
    """Rows that are known by their number and digest."""

    @property
    def rows(self) -> int:
        """How many."""
        ...

    @property
    def sha256(self) -> str:
        """Their digest."""
        ...


def listed(shards: Sequence[KnownShard]) -> list[dict[str, Any]]:
    """The shards as a certificate names them."""
    return [{"rows": shard.rows, "sha256": shard.sha256} for shard in shards]


def require_room(shards: Sequence[KnownShard], shard_rows: int) -> None:
    """Refuse no shards, and more than a file holds."""
    if not shards:
        raise DataError("the source has no rows; give at least one")
    if len(shards) > MOST_SHARDS:
        raise DataError(
            f"{len(shards)} shards, a certificate holds {MOST_SHARDS}; raise shard_rows above "
            f"{shard_rows}, or give larger pieces"
        )


def require_new(shards: Sequence[KnownShard], known: Sequence[KnownShard]) -> None:
    """Refuse a shard that is there already."""
    digests = {shard.sha256 for shard in known}
    twice = [shard.sha256 for shard in shards if shard.sha256 in digests]
    if twice:
        raise DataError(
            f"a shard with the digest {twice[0][:12]}... is there already; add each shard once"
        )


class ShardedProof:
    """Verdict, gap and files of a fit with the attributes `network`, `proof` and `shards`."""

    if TYPE_CHECKING:
        network: Any
        proof: Any
        shards: Any

    @property
    def n_rows(self) -> int:
        """Rows of all shards."""
        return sum(shard.rows for shard in self.shards)

    @property
    def verdict(self) -> str:
        """The checker's word on the file."""
        return self.proof.verdict

    @property
    def gap(self) -> float:
        """Proved: the objective is at most so far above that of every network of any width."""
        return self.proof.gap

    @property
    def relative_gap(self) -> float:
        """The gap as a share of the objective."""
        return self.gap / self.proof.loss_upper if self.proof.loss_upper > 0 else 0.0

    @property
    def certificate(self) -> bytes | None:
        """The bytes of the accepted file, or None."""
        return self.proof.certificate

    def check(self, rows: Sequence[str | os.PathLike[str]] = (), *, shard: int = 0) -> Result:
        """Let the independent checker read the file, and with it the rows (see `check_file` of
        `globalmin_check`): then the verdict is about the rows and not only about their sums.
        """
        from globalmin_check import check_file

        with tempfile.TemporaryDirectory() as folder:
            return check_file(
                self.save_certificate(Path(folder) / "stream.gmc"), rows=rows, shard=shard
            )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the network with its scaling to one file, for `globalmin.load`, `globalmin predict`
        and `globalmin export`.
        """
        self.network.save(path)

    def save_certificate(self, path: str | os.PathLike[str]) -> Path:
        """Write the certificate file."""
        if self.certificate is None:
            raise CannotCertify(f"there is no certificate: {self.proof.why}")
        return save_atomically(path, self.certificate)
