"""Solvers that a family brings for its activation: what `method="auto"` means there.

Training a quadratic network, for example, is a convex problem. The room of such a family has a
module `solver` with a `SOLVER`; it is found by its name, because this room is below the families.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from globalmin._options import Trained, Until
from globalmin._rooms import rooms_with
from globalmin.shallow.trajectory import ShallowRun

if TYPE_CHECKING:
    from globalmin.activations import Activation
    from globalmin.shallow.network import ShallowNetwork


@dataclass(frozen=True)
class Solver:
    """How one activation is trained to its global minimum.

    Attributes
    ----------
    activation : its name.
    solve_from : (network, data, weight_decay=, max_iter=, seed=, monitor=) -> ShallowRun, with the
        head of the network.
    solve_fresh : (data, width, and the same options) -> ShallowRun.
    covers : whether a start can be solved from.
    """

    activation: str
    solve_from: Callable[..., ShallowRun]
    solve_fresh: Callable[..., ShallowRun]
    covers: Callable[[ShallowNetwork], bool]


@cache
def _solvers() -> dict[str, Solver]:
    found = [room.SOLVER for room in rooms_with("solver")]
    return {solver.activation: solver for solver in found}


def solver_for(activation: Activation, trained: Trained, until: Until) -> Solver | None:
    """The solver that "auto" means for this activation; solvers move W only, and have no way on
    which to stop.
    """
    is_wanted = trained == "W" and until == "tolerance"
    return _solvers().get(activation.name) if is_wanted else None
