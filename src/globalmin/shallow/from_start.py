r"""Gradient descent from a random start, followed until the rest of the run can be proved.

The theorems of the papers speak of the start: descent from $W_0 \sim N(0,1)$ reaches zero loss. The
claim *trajectory* proves that for one start. Here is the run it speaks of (the start, the step, the
number of steps, the weights where it lands), and the start that belongs to a seed by a rule which
the checker repeats, so that nobody can choose a lucky one and call it random.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array
from globalmin.activations import Activation, get_activation
from globalmin.errors import CannotCertify, DataError
from globalmin.proving.producer import prove, unproved
from globalmin.shallow.degenerate import pose
from globalmin.shallow.initialization import os_head
from globalmin.shallow.methods.gradient_descent import MAX_ITER, check_step, steps
from globalmin.shallow.network import ShallowNetwork
from globalmin.shallow.provability import LANDED, estimate_provability
from globalmin.shallow.step_sizes import theory_step

if TYPE_CHECKING:
    import os

    from globalmin.data import Dataset
    from globalmin.proving.proof import Proof
    from globalmin.shallow.problem import Point
    from globalmin.shallow.trajectory import ShallowRun

_ASKED_EVERY = 0.8  # the theorem is asked when the residual fell by a fifth since the last question
_CELL_BITS = 1024
_TINY = 1e-300  # keeps the logarithm of a loss of zero finite


@dataclass(frozen=True)
class StartedRun:
    """Gradient descent from a start to weights from which the rest is provable.

    Attributes
    ----------
    start : the network at the start, rounded to doubles where the start is the cell of a seed.
    network : the network after `n_iter` steps.
    step_size : eta on L = (1/2) sum r^2.
    n_iter : K.
    seed : whose cell the start is; None for stored doubles.
    norms : ||r|| before each of the K steps.
    lengths : length of each step.
    """

    start: ShallowNetwork
    network: ShallowNetwork
    step_size: float
    n_iter: int
    seed: int | None
    norms: Array = field(repr=False)
    lengths: Array = field(repr=False)


def started(run: ShallowRun) -> StartedRun:
    """The run of `train(..., method="gradient_descent")` as the claim *trajectory* speaks of it.

    Between recorded steps the residual and the length of the path are interpolated; the length of
    the whole path is exact, the residuals decide only how many bits the replay is given.

    Raises CannotCertify for the run of another method, for one that moved the head, and for one
    whose last step is not the network it returned.
    """
    seen = run.trajectory
    if run.start is None or run.step_size is None:
        raise CannotCertify(
            f"the run of {run.method} has no start and step that could be replayed: train by "
            "method='gradient_descent', until='proved'"
        )
    if not np.array_equal(run.start.v, run.network.v):
        raise CannotCertify("both layers moved, and the claim is about runs that keep the head")
    if seen.iteration[-1] != run.n_iter or seen.loss[-1] != run.loss:
        raise CannotCertify(
            f"the network is not that of the last of {run.n_iter} steps ({run.message}): train "
            "until='proved'"
        )
    every = np.arange(run.n_iter + 1)
    norms = np.exp(np.interp(every, seen.iteration, 0.5 * np.log(2.0 * seen.loss + _TINY)))
    walked = np.interp(every, seen.iteration, seen.path_length)
    return StartedRun(
        start=run.start,
        network=run.network,
        step_size=run.step_size,
        n_iter=run.n_iter,
        seed=None,
        norms=norms[:-1],
        lengths=np.diff(walked),
    )


def seeded_start(seed: int, width: int, n_features: int) -> Array:
    r"""The hidden weights that belong to a seed, to the rounding of doubles: independent N(0, 1).

    Entry j (row by row) is $\Phi^{-1}(m_j/2^{1024})$, $m_j$ the integer of the four SHA-256 digests
    of "globalmin-start/1|seed|j|b", b = 0..3. The checker draws it again, to any precision.
    """
    if not 0 <= seed < 10**18:
        raise DataError(f"seed={seed!r} must be an integer from 0 to 10^18 - 1")
    entries = [_normal(f"{seed}|{j}") for j in range(width * n_features)]
    return np.array(entries).reshape(width, n_features)


def _normal(place: str) -> float:
    from scipy.special import ndtri

    digests = (sha256(f"globalmin-start/1|{place}|{b}".encode("ascii")) for b in range(4))
    m = int.from_bytes(b"".join(digest.digest() for digest in digests), "big")
    rest = (1 << _CELL_BITS) - m
    return float(ndtri(m / (1 << _CELL_BITS)) if m < rest else -ndtri(rest / (1 << _CELL_BITS)))


def descend(
    start: ShallowNetwork,
    data: Dataset,
    *,
    step_size: float | str = "theory",
    max_iter: int = MAX_ITER,
    seed: int | None = None,
) -> StartedRun:
    """Follow gradient descent on W until the claim *descent* holds with room at its weights.

    Raises CannotCertify, with the number that must fall below 1, if that does not happen within
    `max_iter` steps. A step costs one gradient, O(n k d).
    """
    first = pose(start, data, "W")
    eta = theory_step(start, first) if step_size == "theory" else check_step(step_size)
    norms, lengths, last, asked = [], [], math.inf, 0.2 * first.problem.scale
    point = first
    for following in islice((i.point for i in steps(first, eta)), max_iter + 1):
        if point.norm <= asked:
            asked, last = _ASKED_EVERY * point.norm, _ratio(start, point, data)
            if last < LANDED:
                network = start.with_weights(W=point.W, v=point.v)
                path = np.array(norms), np.array(lengths)
                return StartedRun(start, network, eta, len(norms), seed, *path)
        norms.append(point.norm)
        lengths.append(float(np.linalg.norm(following.W - point.W)))
        point = following
    raise CannotCertify(
        f"gradient descent with step {eta:.3g} does not come within the reach of the descent "
        f"theorem in {len(norms)} steps: 2 Lip ||r|| / a^2 = {last:.3g} at the last question, must "
        f"be below {LANDED:g}; relative residual {point.relative_residual:.2g}. Take more steps, a "
        "longer step, or a wider network"
    )


def _ratio(start: ShallowNetwork, point: Point, data: Dataset) -> float:
    network = start.with_weights(W=point.W, v=point.v)
    return estimate_provability(network, data.X, data.y, "W", claim="descent")


def prove_start(
    start: ShallowNetwork | int,
    data: Dataset,
    *,
    width: int | None = None,
    activation: str | Activation = "softplus",
    step_size: float | str = "theory",
    max_iter: int = MAX_ITER,
    path: str | os.PathLike[str] | None = None,
) -> Proof:
    """Prove that gradient descent from this start reaches zero loss: the headline of the papers,
    for these data, this width and this start.

    Parameters
    ----------
    start : ShallowNetwork | int
        The network at the start, whose head stays fixed; or a seed, which stands for independent
        N(0, 1) hidden weights that the checker draws again, with the head of OS.
    data : Dataset
        The samples.
    width : int | None
        Neurons, for a seed.
    activation : str | Activation
        For a seed: softplus, sigmoid, tanh or erf.
    step_size : float | str
        The step on L = (1/2) sum r^2; "theory" for that of the theorem which speaks of the start.
    max_iter : int
        Steps after which the attempt is given up.
    path : str | os.PathLike[str] | None
        Where the certificate file is to be.

    Returns
    -------
    Proof
        With `verdict`, `statement` and `certificate`; `reasons` if nothing could be proved.
    """
    is_seed = not isinstance(start, ShallowNetwork)
    network = seeded_network(start, data, width, activation) if is_seed else start
    seed = start if is_seed else None
    try:
        run = descend(network, data, step_size=step_size, max_iter=max_iter, seed=seed)
    except CannotCertify as error:
        return unproved(error, data)
    return prove(run.network, data, claims=("trajectory",), run=run, path=path)


def seeded_network(
    seed: object, data: Dataset, width: int | None, activation: str | Activation
) -> ShallowNetwork:
    """The network of a seed: N(0, 1) hidden weights by the checker's rule, the head of OS."""
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer):
        raise DataError(f"start={seed!r} must be a ShallowNetwork, or an integer seed")
    if width is None:
        raise DataError("width=None: a seed needs the number of neurons, for example width=40")
    W = seeded_start(int(seed), width, data.n_features)
    return ShallowNetwork(W, os_head(np.asarray(data.y), width), get_activation(activation))
