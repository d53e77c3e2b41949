"""What a convergence theorem promises, as numbers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Guarantee:
    """What a theorem promises: largest step, factor of the residual norm per step at that step,
    bounds of path and distance.
    """

    step_size: float
    rate: float
    path: float
    distance: float


@dataclass(frozen=True)
class KinkDescent:
    """A radius on which OS-C3 closes, the change `eps` of the Jacobian on it, and what follows."""

    radius: float
    eps: float
    guarantee: Guarantee
