"""What fitted networks with a proof have, with scikit-learn's contract or without it: nothing of
scikit-learn is imported here before it is needed.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from globalmin._types import Array
from globalmin.estimators._gap import GapStatement, require_fitted, single
from globalmin.optimize.run import Status
from globalmin.proving.proof import Proof, joined

FIT_CALLER = (
    5  # _warn, _fit_targets, fit, scikit-learn's wrapper of fit, and then the line of the user
)


class ProvedNetworks(GapStatement):
    """What every estimator of networks with a proof has: its networks, its certificates, one
    warning per fit, and outputs in the user's units.
    """

    certify: bool
    networks_: list[Any]
    preprocessing_: Any

    @property
    def network_(self) -> Any:
        """The network, if there is only one; `networks_` lists them all."""
        if not hasattr(self, "networks_") or len(self.networks_) != 1:
            raise AttributeError(
                f"this {type(self).__name__} has no single network; fit it, or use networks_ if it "
                "has several"
            )
        return self.networks_[0]

    def _store_proofs(self, proofs: Sequence[Proof]) -> None:
        self.certificate_ = single([proof.certificate for proof in proofs])
        self.verdict_ = single([proof.verdict if proof.has_file else None for proof in proofs])
        self.loss_upper_ = single([proof.loss_upper for proof in proofs])
        self.loss_lower_ = single([proof.loss_lower for proof in proofs])

    def _warn(self, runs: Sequence[Any], proofs: Sequence[Proof]) -> None:
        """One warning per fit: about training if it fell short, otherwise about a proof that was
        wanted and not found.
        """
        unproved = [j for j, proof in enumerate(proofs) if not proof.is_accepted]
        short = [
            j
            for j, (run, proof) in enumerate(zip(runs, proofs, strict=True))
            if not _is_enough(run, proof)
        ]
        if short:
            from sklearn.exceptions import ConvergenceWarning

            text = f"{_about(short, runs)}{self._falls_short(runs[short[0]])}"
            warnings.warn(text, ConvergenceWarning, stacklevel=FIT_CALLER)
        elif self.certify and unproved:
            warnings.warn(
                f"{_about(unproved, runs)}no certificate: {proofs[unproved[0]].why}",
                UserWarning,
                stacklevel=FIT_CALLER,
            )
        elif unmet := [j for j, proof in enumerate(proofs) if proof.reasons]:
            warnings.warn(
                f"{_about(unmet, runs)}the certificate does not say all that was asked for: "
                f"{joined(proofs[unmet[0]].reasons)}",
                UserWarning,
                stacklevel=FIT_CALLER,
            )

    def _falls_short(self, run: Any) -> str:
        """What is said of a run that missed its target, with the remedy."""
        remedy = "raise max_iter, widen the network or try another random_state"
        return f"{run.message}; {run.starts} start(s), width {run.width}: {remedy}"

    def _checked_rows(self, X: Any) -> Array:
        """Inputs to predict at, after scikit-learn's checks."""
        from sklearn.utils.validation import validate_data

        checked: Any = validate_data(self, X, reset=False)
        return checked

    def _outputs(self, X: Any) -> Array:
        """Outputs of all networks at raw inputs, in the user's units, one column each."""
        require_fitted(self)
        raw = self._checked_rows(X)
        steps = (
            self.preprocessing_ if isinstance(self.preprocessing_, list) else [self.preprocessing_]
        )
        stored = steps[0].transform(raw)
        return np.stack(
            [
                step.restore(network.predict(stored))
                for step, network in zip(steps, self.networks_, strict=True)
            ],
            axis=1,
        )


def _is_enough(run: Any, proof: Proof) -> bool:
    """Whether training needs no warning: it reached its target, or rounding stopped it next to
    proved zero-loss weights.
    """
    at_zero = run.status is Status.STALLED and proof.reaches_minimum and proof.loss_lower == 0
    return run.status.is_success or at_zero


def _about(which: list[int], runs: Sequence[Any]) -> str:
    return "" if len(runs) == 1 else f"target {which[0]} ({len(which)} of {len(runs)} targets): "
