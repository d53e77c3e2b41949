"""Solvers that a family brings for its activation: what `method="auto"` means there.

Training a quadratic network, for example, is a convex problem. The room of such a family has a
module `solver` with its `SOLVERS`; it is found by its name, because this room is below the
families.
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
    solve_fresh : (data, width, activation, and the same options) -> ShallowRun, or None for a width
        that it cannot solve.
    covers : whether a start can be solved from.
    accepts : whether it is for this activation; those of one name may differ, as polynomials do.
    """

    activation: str
    solve_from: Callable[..., ShallowRun]
    solve_fresh: Callable[..., ShallowRun | None]
    covers: Callable[[ShallowNetwork], bool]
    accepts: Callable[[Activation], bool] = lambda activation: True


@cache
def _solvers() -> dict[str, Solver]:
    found = [solver for room in rooms_with("solver") for solver in room.SOLVERS]
    return {solver.activation: solver for solver in found}


def solver_for(activation: Activation, trained: Trained, until: Until) -> Solver | None:
    """The solver that "auto" means for this activation; solvers move W only, and have no way on
    which to stop.
    """
    solver = _solvers().get(activation.name)
    is_wanted = trained == "W" and until == "tolerance"
    return solver if is_wanted and solver is not None and solver.accepts(activation) else None
