"""The gap in everyday language: one sentence, one scale, the tolerance beside it, the same on every
estimator.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from globalmin.errors import DataError
from globalmin.proving.claim import WIDEST_GAP, Proves
from globalmin.proving.proof import Proof
from globalmin.proving.rounded_text import above

T = TypeVar("T")


@dataclass(frozen=True)
class Gap:
    """How far one network is from the global minimum.

    Attributes
    ----------
    value : float
        The objective, or the loss, in floats.
    gap : float
        Proved bound of its distance to the infimum; infinity without a proof.
    share : float
        The same as a share, `of` what is said.
    tolerance : float
        The share that was asked for.
    named : str
        The class of networks that none of which is further below.
    verdict : str | None
        The checker's word.
    what, of, notes
        What the value is called, what the share is a share of, and what else to say.
    """

    value: float
    gap: float
    share: float
    tolerance: float
    named: str
    verdict: str | None
    what: str = "an objective"
    of: str = "of it"
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        if not math.isfinite(self.gap):
            return (
                f"This network has {self.what} of {self.value:.6g}; how far that is from the "
                "global minimum is not proved."
            )
        notes = ", ".join((*self.notes, f"file {self.verdict}"))
        return (
            f"No {self.named} has {self.what} more than {above(self.gap)} below the "
            f"{self.value:.6g} of this one: {above(self.share)} {self.of}, where "
            f"{self.tolerance:g} was asked for ({notes})."
        )


def require_fitted(model: Any) -> None:
    """As scikit-learn does: an estimator without fitted attributes refuses, in its words."""
    if not any(name.endswith("_") and not name.startswith("__") for name in vars(model)):
        from sklearn.utils.validation import check_is_fitted

        check_is_fitted(model)


def part_of(value: Any, j: int) -> Any:
    """The entry of one network, where a fitted attribute is a list if there are several."""
    return value[j] if isinstance(value, list) else value


class GapStatement:
    """What every estimator says of its gap."""

    verdict_: Any
    certificate_: Any

    def gap_statement(self, target: int | None = None) -> str:
        """How far the networks are at most from the global minimum: one sentence, with the
        tolerance beside the proved figure.

        Parameters
        ----------
        target : int | None
            The target or class, where there are several; None for all, on lines of their own.

        Returns
        -------
        str
            A sentence for each.
        """
        require_fitted(self)
        count = len(self.verdict_) if isinstance(self.verdict_, list) else 1
        # one network may have the outputs of all classes
        which = range(count) if target is None or count == 1 else [target]
        return "\n".join(str(self._gap(j)) for j in which)

    def save_certificate(self, path: str | Path, target: int = 0) -> Path:
        """Write the accepted certificate (of one target or class) to a file for `globalmin-check`,
        and return the path.
        """
        require_fitted(self)
        found = self.certificate_ if isinstance(self.certificate_, list) else [self.certificate_]
        content = found[target]
        if content is None:
            raise DataError(
                f"there is no accepted certificate of target {target}; see verdict_ and the "
                "warning given by fit"
            )
        path = Path(path)
        path.write_bytes(content)
        return path

    def _gap(self, j: int) -> Gap:
        raise NotImplementedError


@dataclass(frozen=True)
class Scale:
    """What the gap of a fitted loss is compared with, and the class it speaks of."""

    share: float
    of: str
    named: str
    what: str


def loss_scale(proof: Proof, value: float, zero: float, named: str) -> Scale:
    """Where the minimum is zero, as in interpolation, the gap is a share of the loss of the zero
    network; elsewhere of the objective itself.

    Parameters
    ----------
    proof : Proof
        Of the network.
    value, zero : float
        The loss or objective of the network, and that of the zero network.
    named : str
        The class of networks.
    """
    floor = max((c.numbers.floor or 0.0 for c in proof.accepted_claims), default=0.0)
    is_penalized = any(c.numbers.is_penalized for c in proof.accepted_claims)
    scale, of = (value, "of it") if is_penalized or floor > 0 else (zero, _ZERO)
    share = proof.gap / scale if scale > 0 else (0.0 if proof.gap == 0 else math.inf)
    what = "an objective" if is_penalized else "a loss"
    return Scale(share, of, _class_of(proof, named), what)


_ZERO = "of the loss of the zero network"


def _class_of(proof: Proof, named: str) -> str:
    """Without a claim that says more the minimum is that over heads, and some floors hold for heads
    of one sign only.
    """
    kinds = {c.proves for c in proof.accepted_claims}
    if Proves.HEAD in kinds and not kinds & {Proves.ZERO_LOSS, Proves.GAP, Proves.FLOOR}:
        return "head for these hidden weights"
    one_sign = any(not c.numbers.covers_all_heads for c in proof.accepted_claims)
    return f"{named} with a head of no negative weight" if one_sign else named


class LossGap(GapStatement):
    """The statement of estimators without a tolerance of their own: minima of the squared loss,
    proved or not by the one standard of certificates.
    """

    objective_: Any
    gap_: Any
    relative_gap_: Any
    _gap_scales: Sequence[Scale]

    def _store_gap(
        self,
        proofs: Sequence[Proof],
        objectives: Sequence[float],
        zeros: Sequence[float],
        named: str,
    ) -> None:
        """The gap under the names that all estimators share; no loss is negative, so that 0 is a
        lower bound without a proof.
        """
        parts = zip(proofs, objectives, zeros, strict=True)
        self._gap_scales = [loss_scale(proof, value, zero, named) for proof, value, zero in parts]
        self.objective_ = single(list(objectives))
        self.lower_bound_ = single([proof.loss_lower for proof in proofs])
        self.gap_ = single([proof.gap for proof in proofs])
        self.relative_gap_ = single([scale.share for scale in self._gap_scales])
        self.optimal_ = single([proof.reaches_minimum for proof in proofs])

    def _gap(self, j: int) -> Gap:
        scale = self._gap_scales[j]
        return Gap(
            float(part_of(self.objective_, j)),
            float(part_of(self.gap_, j)),
            scale.share,
            WIDEST_GAP,
            scale.named,
            part_of(self.verdict_, j),
            what=scale.what,
            of=scale.of,
        )


def single(values: list[T]) -> T | list[T]:
    """The value itself for one target, the list for several."""
    return values[0] if len(values) == 1 else values


def half_square(values: Any) -> float:
    """Half the sum of squares."""
    flat = np.ravel(np.asarray(values, dtype=np.float64))
    return 0.5 * float(flat @ flat)
