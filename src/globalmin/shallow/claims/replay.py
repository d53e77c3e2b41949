r"""What claims about whole runs have in common: how far the stored weights may be from the exact
run, how many bits its replay needs, and the fields that say which run it is.

A step draws two points apart by at most $l_t$; the rounding of every step is carried to the end by
the product of all later $l_t$, which costs $\log_2$ of it in bits.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from globalmin.errors import CannotCertify
from globalmin.linalg.positive_definite import upper_witness
from globalmin.proving.claim import Json, Tensor, rational

if TYPE_CHECKING:
    from globalmin._types import Array
    from globalmin.shallow.from_start import StartedRun

BITS = (128, 192, 256, 384, 512, 768, 1024, 1536, 2048)
# of the size of the weights; the stored doubles and the rounding of a run in floats are some 1e-13
REACH = 1e-9
REACH_OF_SAMPLES = 1e-11  # the theorem about single samples has less room
_SPARE_BITS = 60


def reach(run: StartedRun) -> float:
    """The distance Delta from the exact run that is claimed."""
    share = REACH if run.order is None else REACH_OF_SAMPLES
    return share * max(1.0, float(np.linalg.norm(run.network.W)))


def length_above(run: StartedRun, Delta: float) -> float:
    """The length of the path up to the last step, from above."""
    return float(run.lengths.sum()) * (1.0 + 1e-9) + 2.0 * (run.n_iter + 1) * Delta


def log_growth(run: StartedRun, X: Array, *, rows: bool) -> float:
    r"""$\sum_t \ln l_t$, by which the replay loses precision (an estimate)."""
    return float(_log_factors(run, X, rows=rows).sum())


def estimate_replay_errors(run: StartedRun, X: Array) -> Array:
    r"""$\ln e_t$, t = 0..K, with $e_0 = 0$ and $e_{t+1} = l_t e_t + 1$: how the bound $\delta_t$ of
    the replay grows from a stored start, in units of the rounding of one step (an estimate).
    """
    errors = [-math.inf]
    for factor in _log_factors(run, X, rows=_is_long(run, X)):
        errors.append(float(np.logaddexp(errors[-1] + factor, 0.0)))
    return np.array(errors)


def _log_factors(run: StartedRun, X: Array, *, rows: bool) -> Array:
    r"""$\ln l_t$ as the run recorded it, or $l = \max(1, \eta\beta^2 - 1) + \eta C\|r\|$ with
    $\beta = b_1\|v\|\|X\|$, $C = b_2\|v\|_\infty\|X\|\max|x_i|$; by rows the first term is taken as
    1.
    """
    if run.factors is not None:
        return np.log(run.factors)
    network, phi = run.start, run.start.activation
    size, longest = float(np.linalg.norm(X, 2)), float(np.linalg.norm(X, axis=1).max())
    C = float(phi.supremum(2)) * float(np.abs(network.v).max()) * size * longest
    beta = float(phi.supremum(1)) * float(np.linalg.norm(network.v)) * size
    least = 1.0 if rows else max(1.0, run.step_size * beta * beta - 1.0)
    return np.log(least + run.step_size * C * run.norms)


def enough_bits(growth: float, n_iter: int) -> int:
    """The precision for a replay of so many steps whose factors have a product of e^growth."""
    needed = growth / math.log(2.0) + math.log2(n_iter + 1)
    for bits in BITS:
        if bits >= needed + _SPARE_BITS:
            return bits
    raise CannotCertify(
        f"the replay of {n_iter} steps needs about {needed:.0f} bits, more than {BITS[-1]}; "
        "start nearer to a minimum, or take a wider network"
    )


def _is_long(run: StartedRun, X: Array) -> bool:
    """Whether eta beta^2 > 2, so that the global bound of the norm of J loses at every step."""
    phi = run.start.activation
    beta = float(phi.supremum(1)) * float(np.linalg.norm(run.start.v)) * float(np.linalg.norm(X, 2))
    return not run.step_size * beta * beta <= 2.0


def replay_parts(
    run: StartedRun, X: Array, Delta: float
) -> tuple[dict[str, Json], dict[str, Tensor]]:
    """The fields and tensors that say which run is replayed, and by which factors."""
    x2, C_x = upper_witness(X.T @ X)
    rows = _is_long(run, X)
    fields: dict[str, Json] = {
        "trained": run.trained,
        "eta": rational(run.step_size),
        "bits": enough_bits(log_growth(run, X, rows=rows), run.n_iter),
        "Delta": rational(Delta),
        "x2": rational(x2),
    }
    tensors: dict[str, Tensor] = {"C_x": C_x}
    if run.order is None:
        fields["K"] = run.n_iter
        fields["expansion"] = "blocks" if run.trained == "vW" else "rows" if rows else "norm"
    else:
        tensors["order"] = run.order
    if run.seed is None:
        fields["delta0"], tensors["W0"] = "0", run.start.W
    else:
        fields["seed"] = run.seed
    if run.trained == "vW":
        tensors["v0"] = run.start.v
    return fields, tensors
