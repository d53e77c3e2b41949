r"""How far the loss of a network is above the least one, from above: by duality for quadratic
networks, by completing the square for quadratic polynomials, by Newton's theorem where zero loss is
near, by the loss floor and by zero for all.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from globalmin._types import Array
from globalmin.data.degeneracy import Degeneracy
from globalmin.linalg.symmetric import head_counts
from globalmin.quadratic.duality import estimate_span_gap, positive_dual
from globalmin.quadratic.general_activation import estimate_general_gap
from globalmin.references import states
from globalmin.shallow.complete_square import is_quadratic
from globalmin.shallow.network import residual
from globalmin.shallow.provability import estimate_provability

if TYPE_CHECKING:
    from globalmin.shallow.network import ShallowNetwork


LARGEST_PROVABLE = 3_000  # largest n of the n x n provability test


class Excess(NamedTuple):
    """A bound of loss minus the least loss of the class, in floats, and why; None where only "no
    loss is below zero" is known.
    """

    gap: float | None
    reason: str


@states("SJL-T2.1", "SJL-T2.2k", "GKZ-C2.2")
def estimate_excess(network: ShallowNetwork, X: Array, y: Array, trained: str) -> Excess:
    """The bound of the theorem that fits the activation and the trained layers."""
    r = residual(network, X, y)
    if network.activation.name == "quadratic":
        return _quadratic(network, X, y, r, trained)
    if is_quadratic(network.activation):
        gap = estimate_general_gap(network, X, r, trained=trained)
        return Excess(
            gap,
            "least squares over all functions of such networks, completed to squares on (x, 1) "
            "(theorem S)",
        )
    if X.shape[0] <= LARGEST_PROVABLE and estimate_provability(network, X, y, trained) < 1.0:
        return Excess(0.5 * float(r @ r), "zero loss can be proved near this point (OS-C2)")
    floor = float(Degeneracy(X, y).loss_floor(network.activation).floor)
    if floor > 0.0:
        return Excess(
            max(0.5 * float(r @ r) - floor, 0.0),
            f"no network with this activation is below the loss floor {floor:.6g}",
        )
    return Excess(None, "no loss is below zero")


def _quadratic(network: ShallowNetwork, X: Array, y: Array, r: Array, trained: str) -> Excess:
    plus, minus = head_counts(network.v)
    if trained == "W" and not (plus and minus):
        sign = -1.0 if minus else 1.0
        bound = positive_dual(X, sign * y, sign * r).value
        return Excess(
            0.5 * float(r @ r) - bound, "dual bound over all heads of this sign (theorem P)"
        )
    return Excess(estimate_span_gap(X, r), "least squares over all quadratic functions (theorem S)")
