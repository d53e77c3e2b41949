"""What gradient flow conserves in homogeneous networks (DU section 4.1): balancedness, block by
block; and how far gradient descent drifts from it: an exact identity and the budget it gives.

A *boundary* lies between two layers with parameters theta and theta'. Its units fall into blocks:
neurons of dense and sparse layers, channels of convolutions, the whole layer when weights are
shared across it. Multiplying the parameters that enter a block by c > 0 and those that leave it by
c^(-p) leaves the network's function as it is, if sigma is homogeneous of degree p. Hence, for any
data and any differentiable loss, with g, g' the gradient's parts,

    <theta_b, g_b> = p <theta'_b, g'_b>          (the static form: Euler's identity for that
    symmetry)

and D_b = ||theta_b||^2 - p ||theta'_b||^2 stays constant along gradient flow. D is a quadratic form
Q of the parameters whose polar form vanishes at (theta, gradient); that is all that is used about
it, here and in `balancedness_drift`. A bias belongs to the parameters that enter. Where sigma is
linear, the form may be taken with values in matrices (T4.2).

Degree p and blocks finer than a layer for convolutions and sharing are ours (the thesis has p = 1
and, under sharing, whole layers).

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
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array, ArrayLike, NDArray
from globalmin.errors import DataError, HypothesisError
from globalmin.references import states

if TYPE_CHECKING:
    from globalmin.balancedness.network import HomogeneousNetwork

    Labels = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Boundary:
    """Which parameters of the layers h and h + 1 enter and leave each block of the units between
    them.

    Attributes
    ----------
    name : such as "1-2".
    incoming : the block that every parameter of layer h enters, -1 for none.
    outgoing : the block that every parameter of layer h + 1 leaves, -1 for none (biases).
    n_blocks : number of blocks.
    degree : p, of the activation between the layers.
    is_linear : the whole matrix of T4.2 is conserved: linear activation, both layers dense or
        convolutional.
    gap : place of the layer h in the sequence of layers, from 0.
    """

    name: str
    incoming: Labels
    outgoing: Labels
    n_blocks: int
    degree: int = 1
    is_linear: bool = False
    gap: int = 0


@states("DU-T4.1", "DU-T4.3")
def imbalance(boundary: Boundary, below: ArrayLike, above: ArrayLike) -> Array:
    """D_b = ||theta_b||^2 - p ||theta'_b||^2 for every block b.

    Parameters
    ----------
    below, above : parameters of the two layers, flat or in any shape whose entries come in the
        order of `boundary`'s labels.
    """
    return _form(boundary, _flat(below, boundary.incoming), _flat(above, boundary.outgoing))


@states("DU-T4.2")
def matrix_imbalance(boundary: Boundary, below: ArrayLike, above: ArrayLike) -> Array:
    """W^(h) W^(h)T - W^(h+1)T W^(h+1), conserved where the activation is linear; its diagonal is
    `imbalance`.

    Rows of W^(h) are what enters one block: for a convolution all weights of one output channel.
    """
    if not boundary.is_linear:
        raise HypothesisError(
            f"boundary {boundary.name} conserves no matrix: the activation is not linear, or a "
            "layer is sparse or shared; take imbalance",
            hypothesis="linear activation between dense or convolutional layers",
        )
    A = _stacked(boundary.incoming, _flat(below, boundary.incoming), boundary.n_blocks)
    B = _stacked(boundary.outgoing, _flat(above, boundary.outgoing), boundary.n_blocks)
    return A @ A.T - B @ B.T


@states("DU-T4.1", "DU-T4.3")
def conservation_defect(
    boundary: Boundary,
    below: ArrayLike,
    above: ArrayLike,
    gradient_below: ArrayLike,
    gradient_above: ArrayLike,
) -> Array:
    """<theta_b, g_b> - p <theta'_b, g'_b>, zero but for rounding when the theorem applies; -1/2
    times dD_b/dt along the flow.
    """
    theta, theta_next = _flat(below, boundary.incoming), _flat(above, boundary.outgoing)
    g, g_next = _flat(gradient_below, boundary.incoming), _flat(gradient_above, boundary.outgoing)
    return _sums(boundary.incoming, theta * g, boundary.n_blocks) - boundary.degree * _sums(
        boundary.outgoing, theta_next * g_next, boundary.n_blocks
    )


@states("DU-T4.1")
def neuron_imbalance(W: ArrayLike, W_next: ArrayLike, *, degree: int = 1) -> Array:
    """||W[i, :]||^2 - p ||W'[:, i]||^2 for every hidden neuron i of two plain matrices, out x
    in.
    """
    A, B = np.asarray(W, dtype=np.float64), np.asarray(W_next, dtype=np.float64)
    if A.ndim != 2 or B.ndim != 2 or A.shape[0] != B.shape[1]:
        raise DataError(
            f"W {A.shape} and W_next {B.shape} do not follow each other; give out x in matrices, "
            "W' W x"
        )
    return np.square(A).sum(axis=1) - degree * np.square(B).sum(axis=0)


def boundaries_of(network: HomogeneousNetwork) -> tuple[Boundary, ...]:
    """The boundaries of a network, with the finest blocks that its sparsity and sharing allow."""
    pairs = zip(network.layers[:-1], network.layers[1:], network.activations, strict=True)
    found = []
    for h, (below, above, activation) in enumerate(pairs):
        lower, upper, n_blocks = _joined(below.output_blocks, above.input_blocks)
        free = below.is_free and above.is_free and activation.name == "linear"
        found.append(
            Boundary(
                name=f"{h + 1}-{h + 2}",
                incoming=_relabelled(lower, below.rows),
                outgoing=_relabelled(upper, above.columns),
                n_blocks=n_blocks,
                degree=activation.homogeneity or 1,
                is_linear=free,
                gap=h,
            )
        )
    return tuple(found)


@states("DU-T4.1", "DU-T4.2", "DU-T4.3")
def conserved(boundaries: Sequence[Boundary], parameters: Sequence[ArrayLike]) -> Array:
    """Everything conserved as one vector, boundary by boundary; `parameters` has one entry per
    layer.

    Blocks in their order, or the upper triangle of the matrix, row by row, where the boundary is
    linear. It is a quadratic form of the parameters: `conserved(boundaries, gradients)` is
    meaningful, see `balancedness_drift`.
    """
    pieces = []
    for b in boundaries:
        below, above = parameters[b.gap], parameters[b.gap + 1]
        pieces.append(
            _upper(matrix_imbalance(b, below, above)) if b.is_linear else imbalance(b, below, above)
        )
    return np.concatenate(pieces) if pieces else np.zeros(0)


def conserved_counts(boundaries: Sequence[Boundary]) -> tuple[int, ...]:
    """How many entries of `conserved` belong to each boundary."""
    return tuple(
        b.n_blocks * (b.n_blocks + 1) // 2 if b.is_linear else b.n_blocks for b in boundaries
    )


def _upper(D: Array) -> Array:
    return D[np.triu_indices(len(D))]


def _form(boundary: Boundary, theta: Array, theta_next: Array) -> Array:
    entering = _sums(boundary.incoming, np.square(theta), boundary.n_blocks)
    return entering - boundary.degree * _sums(
        boundary.outgoing, np.square(theta_next), boundary.n_blocks
    )


def _sums(labels: Labels, values: Array, n_blocks: int) -> Array:
    return np.bincount(labels + 1, weights=values, minlength=n_blocks + 1)[1:].astype(np.float64)


def _stacked(labels: Labels, values: Array, n_blocks: int) -> Array:
    """One row per block with its parameters in their order; all blocks of a free layer have equally
    many.
    """
    order = np.argsort(labels, kind="stable")[np.count_nonzero(labels < 0) :]
    return values[order].reshape(n_blocks, -1)


def _flat(value: ArrayLike, labels: Labels) -> Array:
    vector = np.asarray(value, dtype=np.float64).ravel()
    if vector.shape != labels.shape:
        raise DataError(
            f"{vector.size} parameters where the boundary expects {labels.size}; give those of the "
            "layer beside it"
        )
    return vector


def _joined(lower: Labels, upper: Labels) -> tuple[Labels, Labels, int]:
    """Blocks of both sides joined where they meet in a unit: the finest partition that respects
    both.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n_lower, n_upper = int(lower.max()) + 1, int(upper.max()) + 1
    size = n_lower + n_upper
    graph = coo_array((np.ones(len(lower)), (lower, n_lower + upper)), shape=(size, size))
    labels = connected_components(graph, directed=False)[1]
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    blocks = np.argsort(np.argsort(first))[inverse].astype(
        np.intp
    )  # numbered as the lower units first meet them
    return blocks[:n_lower], blocks[n_lower:], len(first)


def _relabelled(new: Labels, labels: Labels) -> Labels:
    return np.where(labels < 0, -1, new[np.maximum(labels, 0)])


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
