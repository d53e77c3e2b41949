"""What an examination found, as a value: sentences for people, JSON for programs, files."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from globalmin.data import Dataset
from globalmin.files import save_atomically
from globalmin.proving.proof import Proof
from globalmin.shallow.stationary import PointClass
from globalmin.shallow.storage import save_network

ANOTHER = 0.1  # of the norm of the weights: who moved further is another network


class Verdict(StrEnum):
    """What a network is for the loss on its rows."""

    GLOBAL_MINIMUM = "global minimum"
    NEAR = "near the global minimum"
    SADDLE = "saddle"
    TRAP = "trap"
    NOT_TRAINED = "not trained far enough"
    NOT_DECIDED = "not decided"


@dataclass(frozen=True)
class Polished:
    """The network that training from the given weights reaches.

    Attributes
    ----------
    network : Any
        Its weights.
    method, status : str
        How it was trained, and how that ended.
    steps : int
        Iterations.
    loss : float
        In floats.
    moved, moved_share : float
        Distance of the weights, and its share of their norm.
    outputs_moved : float
        Largest change of an output on the rows, in the units of the labels.
    proof : Proof
        What is proved about it.
    """

    network: Any = field(repr=False)
    method: str
    status: str
    steps: int
    loss: float
    moved: float
    moved_share: float
    outputs_moved: float
    proof: Proof = field(repr=False)

    @property
    def is_another(self) -> bool:
        """Whether it moved so far that it is another network."""
        return self.moved_share > ANOTHER


@dataclass(frozen=True)
class Examination:
    """The verdict on a network, and everything it rests on; get one from `examine`, print it.

    Attributes
    ----------
    verdict : Verdict
        In one word.
    reason : str
        Why, with the number and the tolerance it was compared with.
    loss : float
        Half the sum of squared residuals at the given weights, in stored units, in floats.
    baseline : float
        The same of the best constant: the scale of every share below.
    gap : float
        The loss is at most this above the least one; true over the reals if `is_proved`.
    is_proved : bool
        Whether the checker accepted the bounds of the loss that `gap` is made of.
    descent : float
        The loss minus the least one that was found, in floats: so much of the gap is real.
    point : PointClass | None
        The kind of the point, in floats; None where it cannot be told (kinks).
    proof : Proof
        What is proved about the network as given.
    polished : Polished
        What training from these weights reaches.
    elsewhere : float | None
        The least loss that training from other weights reached, if it was tried.
    replayed : float
        Largest difference of an output to that of the model, in the units of the labels.
    notes : tuple[str, ...]
        What was rounded or left out when the model was read.
    network : Any
        The network as given, as one of ours.
    data : Dataset
        The rows as it reads them.
    """

    verdict: Verdict
    reason: str
    loss: float
    baseline: float
    gap: float
    is_proved: bool
    descent: float
    point: PointClass | None
    proof: Proof = field(repr=False)
    polished: Polished
    elsewhere: float | None
    replayed: float
    notes: tuple[str, ...]
    network: Any = field(repr=False)
    data: Dataset = field(repr=False)

    def lines(self) -> list[tuple[str, str]]:
        """Label and text, line by line."""
        found = [("verdict", str(self.verdict)), ("why", self.reason), ("gap", self._gap())]
        if self.point is not None and self.point.escape is not None:
            found.append(("way down", _way_down(self.point)))
        if self.elsewhere is not None:
            found.append(("elsewhere", f"training from other weights reaches {self.elsewhere:.6g}"))
        found += [
            ("as given", proof_sentence(self.proof)),
            ("polished", self._polish()),
            ("", proof_sentence(self.polished.proof)),
            ("replayed", f"its predictions agree with the model's to {self.replayed:.2g}"),
        ]
        return [*found, *(("note", note) for note in self.notes)]

    def _gap(self) -> str:
        share = self.gap / self.baseline if self.baseline > 0 else math.inf
        how = "proved" if self.is_proved else "in floats, not proved"
        least = f"; a loss lower by {self.descent:.6g} was found" if self.descent > 0 else ""
        return (
            f"loss {self.loss:.6g}, at most {rounded_up(self.gap)} above the least one ({how}; "
            f"{rounded_up(100 * share)} % of the best constant's){least}"
        )

    def _polish(self) -> str:
        it = self.polished
        kind = (
            "so far that it is another network"
            if it.is_another
            else f"less than {100 * ANOTHER:.0f} %: the same network, trained further"
        )
        return (
            f"{it.steps} steps of {it.method} ({it.status}) reach the loss {it.loss:.6g}; the "
            f"weights moved by {it.moved:.3g}, {100 * it.moved_share:.3g} % of their norm, {kind}; "
            f"predictions moved by up to {it.outputs_moved:.3g}"
        )

    def __str__(self) -> str:
        return "\n".join(f"{label:10}{text}" for label, text in self.lines())

    def save(self, folder: str | os.PathLike[str]) -> dict[str, Path]:
        """Write `given.gmc` and `polished.gmc`, where they were accepted, and the polished network.

        Parameters
        ----------
        folder : str | os.PathLike[str]
            It is made if it is not there.
        """
        written = write_certificates(Path(folder), self.proof, self.polished.proof)
        save_network(written["model"], self.polished.network, self.data.preprocessing)
        return written

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; infinities are null."""
        it = self.polished
        names = ("loss", "baseline", "gap", "descent", "elsewhere", "replayed")
        point = None if self.point is None else str(self.point.kind)
        return {
            "verdict": str(self.verdict),
            "reason": self.reason,
            **{name: _finite(getattr(self, name)) for name in names},
            "is_proved": self.is_proved,
            "point": point,
            "given": proof_dict(self.proof),
            "polished": {
                "method": it.method,
                "status": it.status,
                "steps": it.steps,
                "loss": _finite(it.loss),
                "moved": it.moved,
                "moved_share": it.moved_share,
                "outputs_moved": it.outputs_moved,
                "is_another_network": it.is_another,
                **proof_dict(it.proof),
            },
            "notes": list(self.notes),
        }


def rounded_up(value: float) -> str:
    """A bound from above, rounded up to three digits."""
    text = f"{value:.3g}"
    return text if float(text) >= value else f"{value * 1.01:.3g}"


def _way_down(point: PointClass) -> str:
    escape = point.escape
    assert escape is not None  # noqa: S101 (narrows the type)
    sizes = (escape.U**2).sum(axis=1)
    neuron = int(sizes.argmax())
    return (
        f"curvature {escape.curvature:.3g} along `point.escape` (found by {escape.method}), "
        f"{100 * float(sizes[neuron] / sizes.sum()):.0f} % of it in neuron {neuron}; either sign "
        "leads down"
    )


def proof_sentence(proof: Proof) -> str:
    """What was proved, or why nothing was."""
    if not proof.is_accepted:
        return f"nothing is proved: {proof.why}"
    kinds = ", ".join(claim.kind for claim in proof.accepted_claims)
    return f"ACCEPTED ({kinds}): {proof.statement.splitlines()[0]}"


def write_certificates(place: Path, given: Proof, polished: Proof) -> dict[str, Path]:
    """Write what was accepted into a folder, made if it is not there; also the place of the
    model.
    """
    place.mkdir(parents=True, exist_ok=True)
    written = {}
    for name, proof in (("given", given), ("polished", polished)):
        if proof.certificate is not None:
            written[name] = save_atomically(place / f"{name}.gmc", proof.certificate)
    return written | {"model": place / "polished.safetensors"}


def proof_dict(proof: Proof) -> dict[str, Any]:
    """The same as plain values."""
    return {
        "proof": proof.verdict,
        "claims": [claim.kind for claim in proof.accepted_claims],
        "statement": proof.statement,
        "why": proof.why,
    }


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value
