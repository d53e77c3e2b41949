"""Starting networks for `train_auto`: the published initializations, made usable where they cannot
fit.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin._options import Method, Scheme, Trained
from globalmin._types import Array, NDArray
from globalmin.errors import NotConverged
from globalmin.optimize.run import Status
from globalmin.shallow.degenerate import untied_samples
from globalmin.shallow.initialization import full_head
from globalmin.shallow.methods.table import METHODS
from globalmin.shallow.network import ShallowNetwork
from globalmin.shallow.trajectory import ShallowRun

if TYPE_CHECKING:
    from globalmin.activations import Activation
    from globalmin.data import Dataset
    from globalmin.shallow.problem import HasData


REACH = 8.0  # oscillation of |v_l| phi that a head should have, in units of the head of OS
FAR = 2.0**40
STEEPNESS = 100.0  # |w . x| at the two samples that a neuron separates
STEEPNESS_OF_BOUNDED = 1.5  # more would saturate a sigmoid
JUMP = 6.0  # jump that one bounded neuron can make between two samples, in units of the labels
TREE_LIMIT = 3_000


def draws(
    data: Dataset,
    width: int,
    activation: Activation,
    plan: tuple[str, ...],
    *,
    scheme: Scheme = "os",
    seed: int | np.random.Generator | None = 0,
) -> Iterator[ShallowNetwork]:
    """One start per word of the plan, "published" or "separating".

    The first start is `ShallowNetwork.initialize` with this seed, the others use a stream derived
    from it.
    """
    rng = derived_stream(seed, width)
    for number, kind in enumerate(plan):
        network = usable(
            ShallowNetwork.initialize(
                data, width, activation, scheme=scheme, seed=rng if number else seed
            )
        )
        yield separating(network, data, rng) if kind == "separating" else network


def derived_stream(seed: int | np.random.Generator | None, width: int) -> np.random.Generator:
    """Random numbers for later starts: another stream than that of the seed itself, which the first
    start has used.
    """
    return (
        np.random.default_rng([seed, width])
        if isinstance(seed, int | np.integer)
        else np.random.default_rng(seed)
    )


def usable(network: ShallowNetwork) -> ShallowNetwork:
    """The network with a head that lets all neurons work and the outputs reach the labels; the same
    network in most cases.
    """
    v = full_head(network.v)
    return with_reach(network if v is network.v else network.with_weights(v=v))


def with_reach(network: ShallowNetwork) -> ShallowNetwork:
    """The network with a larger head if its activation is bounded (sigmoid, tanh, erf).

    With a frozen head no output exceeds the sum of |v_l| times half the oscillation of phi, which
    for the head of OS is about the size of the largest labels: the neurons saturate and training
    stalls. Eight times the reach is enough in practice.
    """
    oscillation = oscillation_of(network.activation)
    return (
        network
        if oscillation is None
        else network.with_weights(v=network.v * max(1.0, REACH / oscillation))
    )


def oscillation_of(activation: Activation) -> float | None:
    """|phi(+inf) - phi(-inf)| of a bounded activation with two different limits, None for every
    other.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        low, nearly_low, nearly_high, high = activation(np.array([-2 * FAR, -FAR, FAR, 2 * FAR]))
    bounded = low == nearly_low and high == nearly_high and low != high
    return abs(float(high - low)) if bounded else None


def separating(network: ShallowNetwork, data: HasData, rng: np.random.Generator) -> ShallowNetwork:
    r"""The network with hidden weights whose hyperplanes run between neighboring samples, steep, in
    pairs that cancel.

    For an edge (i, j) of the shortest tree that connects the samples (angles between rows as
    distances), w is the shortest vector with w . x_i = s = -w . x_j. Each w serves a neuron with
    positive and one with negative head weight, so that f = 0 at the start although w is large: the
    changes that fitting needs are small against w, and no two samples look alike to the network. It
    is made for inputs with few features, where published initializations leave J J^T numerically
    singular; it wants kd >= 2.4 n, and k >= 2n for a single feature with bias.
    """
    edges = tree_edges(np.asarray(data.X, dtype=np.float64))
    positive, negative = np.flatnonzero(network.v > 0), np.flatnonzero(network.v < 0)
    pairs = min(len(positive), len(negative))
    if pairs == 0 or len(edges) == 0:
        return network
    order = np.concatenate([rng.permutation(len(edges)) for _ in range(-(-pairs // len(edges)))])[
        :pairs
    ]
    steepness, head = STEEPNESS, network.v
    if (oscillation := oscillation_of(network.activation)) is not None:
        steepness, head = (
            STEEPNESS_OF_BOUNDED,
            np.sign(network.v) * JUMP / oscillation * root_mean_square(data.y),
        )
    rows = rng.choice([-steepness, steepness], size=(pairs, 1)) * between(
        data.X[edges[order, 0]], data.X[edges[order, 1]]
    )
    W = network.W.copy()
    W[positive[:pairs]] = W[negative[:pairs]] = rows
    return network.with_weights(W=W, v=head)


def root_mean_square(y: Array) -> float:
    """Size of the labels; 1 if they are all zero."""
    return float(np.sqrt(np.mean(np.square(y)))) or 1.0


def tree_edges(X: Array) -> NDArray[np.intp]:
    """Edges (i, j) of the minimum spanning tree of the rows' directions; none if the n x n
    distances are too many.
    """
    from scipy.sparse.csgraph import minimum_spanning_tree

    nonzero = np.flatnonzero(X.any(axis=1))
    if not 2 <= len(nonzero) <= TREE_LIMIT:
        return np.empty((0, 2), dtype=np.intp)
    U = X[nonzero] / np.linalg.norm(X[nonzero], axis=1)[:, None]
    distance = np.sqrt(np.maximum(2.0 - 2.0 * (U @ U.T), 0.0))
    tree = minimum_spanning_tree(distance).tocoo()
    return np.stack([nonzero[tree.row], nonzero[tree.col]], axis=1)


def between(P: Array, Q: Array) -> Array:
    """For each pair of rows (p, q) the shortest w with w . p = 1 and w . q = -1; p/|p|^2 if they
    are parallel.
    """
    pp, qq, pq = np.sum(P * P, axis=1), np.sum(Q * Q, axis=1), np.sum(P * Q, axis=1)
    determinant = pp * qq - pq**2
    parallel = determinant <= 1e-14 * pp * qq
    scale = np.where(parallel, 1.0, determinant)
    w = ((qq + pq) / scale)[:, None] * P - ((pp + pq) / scale)[:, None] * Q
    return np.where(parallel[:, None], P / pp[:, None], w)


MAX_STARTS = 6
HEAD_FITS = 1e-8  # relative residual of a head above which other hidden weights are tried
# largest n at which a fit that reached the tolerance is also asked whether it can be proved
PROVABILITY_LIMIT = 2_000


def best_of_starts(
    networks: Iterable[ShallowNetwork], data: HasData, method: Method, options: dict[str, Any]
) -> tuple[ShallowRun, bool]:
    """Train one network after the other until one is good; that one, or the one of smallest
    residual, and whether to stop.
    """
    best: ShallowRun | None = None
    for starts, network in enumerate(networks, start=1):
        run = METHODS[method](network, data, **options)
        good = is_good(run, data, options.get("trained", "W"))
        if best is None or good or run.relative_residual < best.relative_residual:
            best = run
        best = best.with_starts(starts)
        if good or run.status in (Status.INTERRUPTED, Status.STOPPED):
            return _with_status_of(run, best), True
    if best is None:
        raise ValueError("no network was given")
    return best, False


def is_good(run: ShallowRun, data: HasData, trained: Trained = "W") -> bool:
    """Whether the run reached its target and, where a claim exists for it and n <= 2,000, a proof
    can be expected.
    """
    if not run.status.is_success:
        return False
    if run.status is Status.PROVABLE or run.floor > 0 or len(data.y) > PROVABILITY_LIMIT:
        return True
    if trained == "v":  # a minimum for these features; other features may fit
        return run.relative_residual <= HEAD_FITS
    if not _has_claim(run.network.activation):
        return True
    from globalmin.shallow.provability import estimate_provability

    rows = untied_samples(
        data, run.network.activation
    )  # tied samples make J J^T singular; their labels agree, as the floor is 0
    return estimate_provability(run.network, data.X[rows], data.y[rows], trained) < 1.0


def _has_claim(activation: Activation) -> bool:
    return activation.certificate_name is not None and (
        activation.is_smooth or activation.name == "relu"
    )


def _with_status_of(run: ShallowRun, best: ShallowRun) -> ShallowRun:
    """The best run; an interrupt during a later start is not hidden."""
    return (
        best
        if best.status is run.status
        else replace(best, status=run.status, message=f"{best.message}; {run.status.message}")
    )


def redrawn(
    network: ShallowNetwork, seed: int | np.random.Generator | None
) -> Iterator[ShallowNetwork]:
    """The network itself, then networks with its head and hidden weights drawn from N(0, 1), the
    law of OS.
    """
    yield network
    rng = derived_stream(seed, network.width)
    while True:
        yield network.with_weights(W=rng.standard_normal(network.W.shape))


def thrown_if(throw: bool, run: ShallowRun) -> ShallowRun:
    """The run, or the exception the caller asked for."""
    if throw and not run.status.is_success:
        raise NotConverged(
            f"{run.message}; {run.starts} start(s), width {run.width}: try another seed, a wider "
            "network or a larger max_iter"
        )
    return run
