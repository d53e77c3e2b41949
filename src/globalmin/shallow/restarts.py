"""Several starts of one method until one is good."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin.errors import NotConverged
from globalmin.optimize.run import Status
from globalmin.shallow.degenerate import untied_samples
from globalmin.shallow.methods.table import METHODS
from globalmin.shallow.starts import derived_stream
from globalmin.shallow.trajectory import ShallowRun

if TYPE_CHECKING:
    from globalmin.activations import Activation
    from globalmin.shallow.network import ShallowNetwork
    from globalmin.shallow.problem import HasData

MAX_STARTS = 6
# largest n at which a fit that reached the tolerance is also asked whether it can be proved
PROVABILITY_LIMIT = 2_000


def best_of_starts(
    networks: Iterable[ShallowNetwork], data: HasData, method: str, options: dict[str, Any]
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


def is_good(run: ShallowRun, data: HasData, trained: str = "W") -> bool:
    """Whether the run reached its target and, where a claim exists for it and n <= 2,000, a proof
    can be expected.
    """
    if not run.status.is_success:
        return False
    if run.status is Status.PROVABLE or run.floor > 0 or len(data.y) > PROVABILITY_LIMIT:
        return True
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
