"""What the estimators of filters on patches share: the proof of zero training loss, and the gap by
the names that all estimators have.
"""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from globalmin._types import Array
from globalmin.data import Dataset
from globalmin.estimators._gap import LossGap, half_square
from globalmin.patches.claims.subject import FIXED_HEAD
from globalmin.patches.network import PatchNetwork
from globalmin.proving.producer import prove
from globalmin.proving.proof import Proof, no_proof


class ProvedPatches(LossGap, BaseEstimator):
    """Base of the estimators of filters: the gap is proved where zero loss was reached."""

    certify: bool

    def _store_proof(
        self, network: PatchNetwork, rows: Array, y: Array, *, converged: bool, is_fixed: bool
    ) -> None:
        """Prove zero loss next to the filters if training reached it, and set the attributes."""
        if self.certify and converged:
            proof = prove_patches(network, rows, y, is_fixed=is_fixed)
        else:
            proof = no_proof({}, message="not tried: certify=False, or no zero loss")
        self.certificate_ = proof.certificate
        self.verdict_ = proof.verdict if proof.has_file else None
        self.loss_upper_, self.loss_lower_ = proof.loss_upper, proof.loss_lower
        loss = half_square(network.predict(rows) - y)
        self._store_gap([proof], [loss], [half_square(y)], "network on these patches")


def prove_patches(
    network: PatchNetwork, rows: Array, y: Any, *, is_fixed: bool, **options: Any
) -> Proof:
    """The proof of a patch network; `is_fixed` if the output weights are given, not trained."""
    data = Dataset(rows, y, bias=False, scaling="none")
    return prove(network, data, claims=FIXED_HEAD if is_fixed else None, **options)
