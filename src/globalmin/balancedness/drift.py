r"""How far gradient descent drifts from what gradient flow conserves: an exact identity, the budget
it gives, and its limit.

D is a quadratic form with polar form zero at (theta, gradient), hence for one step theta+ = (1 -
eta lambda) theta - eta g, where g is the gradient of the loss at theta over any batch and lambda a
weight decay,

    D(theta+) = (1 - eta lambda)^2 D(theta) + eta^2 D(g)        exactly, whatever the step.

Without decay the drift after k steps is the sum of eta_l^2 D(g_l). With a constant step that is eta
times a Riemann sum of the integral of D(g) along the flow: the drift is proportional to the step.
(Where the flow slides along a kink, descent zigzags across it; the drift is then still proportional
to the step, but the mean of D(g) over the zigzag is not D of the mean.) All of it is ours; the
thesis has the flow only. Values are floats; identity and bounds are over the reals, for the
gradients as given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.balancedness.conserved import Boundary, conserved
from globalmin.errors import DataError
from globalmin.references import states


@states("DU-T4.1", "DU-T4.2", "DU-T4.3")
def step_change(
    boundaries: Sequence[Boundary],
    gradients: Sequence[ArrayLike],
    step_size: float,
    *,
    decay: float = 0.0,
    before: ArrayLike = 0.0,
) -> Array:
    """The exact change of everything conserved in one step of (stochastic) gradient descent.

    Parameters
    ----------
    gradients : of the loss by the parameters of each layer, over the batch of this step, without
        the weight decay's part.
    decay : lambda of theta+ = (1 - eta lambda) theta - eta g; `before` are then the values of
        `conserved` before the step.
    """
    shrink = (1.0 - step_size * decay) ** 2 - 1.0
    return shrink * np.asarray(before, dtype=np.float64) + step_size**2 * conserved(
        boundaries, gradients
    )


@states("DU-C4.1")
def step_budget(
    boundaries: Sequence[Boundary], gradients: Sequence[ArrayLike], step_size: float
) -> Array:
    """Bound of |change| in one step for every boundary: eta^2 max(||G^(h)||_F^2, p
    ||G^(h+1)||_F^2).

    It holds for every block, for the sum over blocks, and at a linear boundary for the matrix in
    the operator norm: the difference of two positive semidefinite matrices is at most the larger of
    the two.
    """
    squares = [float(np.square(np.asarray(g, dtype=np.float64)).sum()) for g in gradients]
    return step_size**2 * np.array(
        [max(squares[b.gap], b.degree * squares[b.gap + 1]) for b in boundaries]
    )


def drift_limit_from_loss(
    boundaries: Sequence[Boundary], step_size: float, losses: ArrayLike
) -> Array:
    """Bound of the drift of plain gradient descent for every boundary: 2 eta max(1, p) (L_0 - L_k).

    It holds when every step lowers the loss by at least (eta/2) ||g||^2, which is the case for eta
    <= 1/beta where the loss is beta-smooth: then the sum of eta^2 ||g_l||^2 is at most 2 eta (L_0 -
    L_k). `sufficient_descent` tests that on a run.
    """
    values = np.asarray(losses, dtype=np.float64)
    return np.array(
        [2.0 * step_size * max(1, b.degree) * float(values[0] - values[-1]) for b in boundaries]
    )


def sufficient_descent(losses: ArrayLike, squared_gradients: ArrayLike, step_size: float) -> bool:
    """Whether L_{l+1} <= L_l - (eta/2) ||g_l||^2 at every step; `squared_gradients` has one entry
    per step, `losses` one more.
    """
    values, squares = (
        np.asarray(losses, dtype=np.float64),
        np.asarray(squared_gradients, dtype=np.float64),
    )
    if values.shape != (len(squares) + 1,):
        raise DataError(
            f"losses has shape {values.shape}; give one more than the {len(squares)} steps"
        )
    return bool((values[1:] <= values[:-1] - 0.5 * step_size * squares).all())


@dataclass(frozen=True)
class DriftAudit:
    """What `drift_audit` found.

    Attributes
    ----------
    drift : largest |D(k) - D(0)| over all recorded steps and all conserved quantities.
    predicted : the same for the sums of the exact changes.
    identity_error : largest difference between measured and predicted drift; the rounding of the
        run.
    scale : largest |D| recorded.
    within_budget : whether every drift is below the budget of its boundary, up to `identity_error`.
    """

    drift: float
    predicted: float
    identity_error: float
    scale: float
    within_budget: bool


def drift_audit(
    values: ArrayLike, predicted: ArrayLike, budgets: ArrayLike, counts: Sequence[int]
) -> DriftAudit:
    """Compare a run's conserved quantities with the exact identity and with the budget.

    Parameters
    ----------
    values : `conserved` at each recorded step, one row each; the first row is the start.
    predicted : sums of `step_change` up to each recorded step; zeros in the first row.
    budgets : sums of `step_budget` up to each recorded step, one column per boundary.
    counts : `conserved_counts` of the boundaries.
    """
    D, P, B = (np.asarray(array, dtype=np.float64) for array in (values, predicted, budgets))
    drift = D - D[0]
    error = float(np.abs(drift - P).max(initial=0.0))
    allowed = np.repeat(B, counts, axis=1)
    return DriftAudit(
        drift=float(np.abs(drift).max(initial=0.0)),
        predicted=float(np.abs(P).max(initial=0.0)),
        identity_error=error,
        scale=float(np.abs(D).max(initial=0.0)),
        within_budget=bool((np.abs(drift) <= allowed + error).all()),
    )
