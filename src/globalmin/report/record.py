"""The record of a fit, `fit.json`: all the report shows except what is proved, which is read from
the checker's result on the file, never from the producer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from globalmin.errors import DataError
from globalmin.proving.proof import Proof, no_proof, proof_from

FORMAT = "globalmin-fit/1"
FILENAME = "fit.json"
MAX_BYTES = 256 * 2**20


@dataclass(frozen=True)
class Series:
    """Targets and network outputs, row by row, in the user's units."""

    target: list[float]
    output: list[float]


@dataclass(frozen=True)
class Histogram:
    """Margins of a ReLU network, see `measures.Margins`."""

    edges: list[float]
    counts: list[float]
    smallest: float
    largest_norm: float


@dataclass(frozen=True)
class TargetRecord:
    """One target: its network, training, arrays behind the figures, scores.

    `certificate` is None when none could be made; then `not_proved` says why, and `reasons` says it
    claim by claim. `loss_floor` is the exact floor of the training data as a rational string, "0"
    if zero loss is not excluded. `quadratic` holds the facts about a quadratic network, see
    `measures.estimate_quadratic`; older records have none.
    """

    name: str
    model: str
    certificate: str | None
    network: dict[str, Any]
    training: dict[str, Any]
    trajectory: dict[str, list[float]]
    train: Series
    held_out: Series | None
    scores: dict[str, float | None]
    spectrum: list[float] | None = None
    margins: Histogram | None = None
    not_proved: str = ""
    reasons: dict[str, str] = field(default_factory=dict)
    loss_floor: str = "0"
    quadratic: dict[str, Any] | None = None


@dataclass(frozen=True)
class FitRecord:
    """A whole fit: data facts, options, environment, one `TargetRecord` per target."""

    data: dict[str, Any]
    options: dict[str, Any]
    environment: dict[str, Any]
    targets: tuple[TargetRecord, ...]
    format: str = FORMAT

    def to_json(self) -> str:
        """Canonical text: sorted keys, shortest round-trip decimals, ended by a line feed."""
        return json.dumps(asdict(self), sort_keys=True, indent=1, allow_nan=False) + "\n"


def read_record(directory: str | Path) -> FitRecord:
    """Read `fit.json` of an output folder.

    Raises
    ------
    DataError
        If the folder has none, or it is not one of ours.
    """
    path = Path(directory) / FILENAME
    if not path.is_file():
        raise DataError(
            f"{directory} holds no {FILENAME}; give the output folder of `globalmin fit`"
        )
    if path.stat().st_size > MAX_BYTES:
        raise DataError(
            f"{path} is larger than {MAX_BYTES // 2**20} MiB, so it was not written by `globalmin "
            "fit`; run the fit again"
        )
    try:
        return record_from(
            json.loads(path.read_text(encoding="utf-8"), parse_constant=_refuse_constant)
        )
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise DataError(
            f"{path} is not a record of `globalmin fit` ({error}); run the fit again"
        ) from error


def record_from(content: Mapping[str, Any]) -> FitRecord:
    """A record from parsed JSON; raises ValueError, TypeError or KeyError if it is not one."""
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f'"format" is not "{FORMAT}"')
    targets = content["targets"]
    if not isinstance(targets, list) or not targets:
        raise ValueError("no targets")
    return FitRecord(data=dict(content["data"]), options=dict(content["options"]),
    environment=dict(content["environment"]),
                     targets=tuple(_target_from(t) for t in targets))  # fmt: skip


def _target_from(content: Mapping[str, Any]) -> TargetRecord:
    values = {
        f.name: content[f.name]
        for f in fields(TargetRecord)
        if f.name in content or f.name != "quadratic"
    }
    for name in ("model", "certificate"):
        if values[name] is not None and Path(str(values[name])).name != values[name]:
            raise ValueError(f"{name} is not a plain file name: {values[name]!r}")
    values["train"] = Series(**values["train"])
    values["held_out"] = None if values["held_out"] is None else Series(**values["held_out"])
    values["margins"] = None if values["margins"] is None else Histogram(**values["margins"])
    return TargetRecord(**values)


def _refuse_constant(name: str) -> float:
    raise ValueError(f"the number {name} is not allowed")


def color_of(proof: Proof) -> str:
    """'green', 'amber' or 'red': whatever is not accepted is shown."""
    if proof.is_accepted:
        return "green" if proof.reaches_minimum else "amber"
    return "amber" if proof.verdict == "UNDECIDED" else "red"


def proved_loss(proof: Proof) -> float | None:
    """The least proved bound of the loss of the stored weights, without weight decay."""
    known = [c.numbers.loss_upper for c in proof.accepted_claims]
    return min((bound for bound in known if bound is not None), default=None)


def check_target(directory: str | Path, target: TargetRecord) -> Proof:
    """Run the checker on the certificate file of `target` in `directory`; a missing file is
    reported, not raised.
    """
    from globalmin.proving.producer import check

    if target.certificate is None:
        return no_proof(target.reasons, message=target.not_proved or "no certificate could be made")
    path = Path(directory) / target.certificate
    if not path.is_file():
        return no_proof(
            {}, message=f"the certificate {target.certificate} is missing from the folder"
        )
    return proof_from(check(path))
