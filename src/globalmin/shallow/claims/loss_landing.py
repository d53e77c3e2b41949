"""Claim `trajectory` with the landing "loss": after its steps the run has a loss of at most so
much, and nothing is said about what follows.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from globalmin.errors import CannotCertify
from globalmin.linalg.positive_definite import NotPositiveDefiniteError
from globalmin.proving.claim import Claim, Json, Tensor, rational
from globalmin.shallow.claims.high_precision import precise_residual
from globalmin.shallow.claims.linearized_point import (
    MARGIN,
    SMOOTH,
    checked_arrays,
    gram_rounding,
    loss_above,
)
from globalmin.shallow.claims.lipschitz_witness import lipschitz_witness
from globalmin.shallow.claims.replay import reach, replay_parts
from globalmin.shallow.network import jacobian_gram

if TYPE_CHECKING:
    from globalmin._types import Array
    from globalmin.data import Dataset
    from globalmin.shallow.from_start import StartedRun
    from globalmin.shallow.network import ShallowNetwork


def build_loss(network: ShallowNetwork, data: Dataset, run: StartedRun) -> Claim:
    r"""The claim that $L(\theta_K) \le (\|r(V)\| + \beta\Delta)^2/2$, with the global $\beta =
    b_1\|v\|\|X\|$, or for an unbounded slope with constants at the stored weights V.
    """
    X, y = checked_arrays(network, data)
    if network.activation.certificate_name not in SMOOTH:
        raise CannotCertify(
            f"runs are replayed for {', '.join(SMOOTH)}, not for {network.activation}"
        )
    residual, Delta = precise_residual(network, X, y), reach(run)
    fields, tensors = replay_parts(run, X, Delta)
    b1 = float(network.activation.supremum(1))
    if math.isfinite(b1):
        moved = b1 * float(np.linalg.norm(network.v)) * _root_above(fields["x2"]) * Delta
        fields["constants"] = "global"
    else:
        moved, more, witnesses = _local(network, X, Delta)
        fields, tensors = {**fields, **more}, {**tensors, **witnesses}
    g = (residual.norm_above() + moved) * (1.0 + MARGIN)
    bound, loss = 0.5 * g * g * (1.0 + 4.0 * MARGIN), loss_above(residual)
    fields |= {"landing": "loss", "bound": rational(bound), "loss_upper": rational(loss)}
    summary = {
        "loss_upper": loss,
        "bound": bound,
        "eta": run.step_size,
        "steps": float(run.n_iter),
        "Delta": Delta,
    }
    return Claim("trajectory", fields, tensors, summary)


def _root_above(text: Json) -> float:
    from fractions import Fraction

    return math.sqrt(float(Fraction(str(text)))) * (1.0 + MARGIN)


def _local(
    network: ShallowNetwork, X: Array, Delta: float
) -> tuple[float, dict[str, Json], dict[str, Tensor]]:
    """How far Delta moves the residual by constants on the ball of radius rho = 2 Delta."""
    try:
        witness = lipschitz_witness(network, X, 2.0 * Delta, trained="W", method="rows")
    except NotPositiveDefiniteError as failure:
        raise CannotCertify(str(failure)) from None
    K = jacobian_gram(network, X)
    noise = gram_rounding(network, X, K, trained="W")
    b2 = (float(np.abs(K).sum(axis=1).max()) + noise) * (1.0 + MARGIN)
    moved = (math.sqrt(b2) + witness.Lip * Delta) * Delta * (1.0 + MARGIN)
    fields: dict[str, Json] = {
        "constants": "local",
        "b2": rational(b2),
        "norm": "rows",
        **witness.fields(),
    }
    return moved, fields, witness.tensors()
