r"""How often a random start of the one-filter network reaches the global minimum: Table 5.1 of the
thesis, by theory and by runs.

The runs use the four-number recursion and are stopped as soon as the trap test decides, so nothing
depends on a time limit or on a tolerance of the loss: the last percent of undecided runs is why the
printed table says .97 at (81, 25).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from globalmin._options import one_of
from globalmin._renamed import renamed
from globalmin._types import Array
from globalmin.errors import DataError
from globalmin.linalg.sampling import uniform_in_ball
from globalmin.one_filter.landscape import angle_of_g, barrier
from globalmin.one_filter.network import FilterTeacher
from globalmin.one_filter.phases import FilterState, heads_state, state_loss, step
from globalmin.references import states

Scheme = Literal["gaussian", "sphere"]
STARTS: tuple[Scheme, ...] = get_args(Scheme)
LOOK_EVERY = 10  # steps between two trap tests


@dataclass(frozen=True)
class BasinEstimate:
    """Share of random starts that reach the global minimum, with its standard error and the share
    that no run decided.
    """

    probability: float
    standard_error: float
    undecided: float
    quasi_static: float


@states("DU-TAB5.1")
@renamed(start="scheme")
def global_basin_probability(
    k: int,
    ratio: float,
    patch_size: int = 6,
    n_initializations: int = 5000,
    seed: int = 0,
    *,
    scheme: Scheme = "gaussian",
) -> float:
    r"""One cell of Table 5.1: the share of random starts from which gradient descent reaches the
    global minimum; an estimate.

    Parameters
    ----------
    k : int
        Number of patches.
    ratio : float
        $r = (1^Ta^*)^2/\lVert a^*\rVert^2$, between 0 and k.
    patch_size : int
        Number of entries of the filter.
    n_initializations : int
        Random starts, drawn as in DU-T5.4 without choosing signs.
    scheme : str
        Law of the first filter: "gaussian" is N(0, I_p), which fits the printed table; "sphere" has
        length 1, as the text says.

    Examples
    --------
    >>> import globalmin as gm
    >>> round(gm.theory.global_basin_probability(k=25, ratio=16, n_initializations=200), 2)
    1.0
    """
    return basin_estimate(k, ratio, patch_size, n_initializations, seed, scheme=scheme).probability


@renamed(start="scheme", max_steps="max_iter")
def basin_estimate(
    k: int,
    ratio: float,
    patch_size: int = 6,
    n_initializations: int = 5000,
    seed: int = 0,
    *,
    scheme: Scheme = "gaussian",
    step_size: float | None = None,
    max_iter: int = 20_000,
) -> BasinEstimate:
    """`global_basin_probability` with its standard error; cost grows with n_initializations times
    the steps until decided.

    The result does not depend on the step for small steps; the default is 0.05, less where 2 pi/(k
    + pi - 1) asks for it.
    """
    _check(k, ratio, patch_size, n_initializations, scheme)
    rng = np.random.default_rng(seed)
    teacher = ratio_teacher(k, ratio, patch_size, rng)
    state = random_states(teacher, n_initializations, rng, scheme)
    eta = min(0.05, 0.8 * 2.0 * math.pi / (k + math.pi - 1.0)) if step_size is None else step_size
    won, lost = _decide(state, teacher, eta, max_iter)
    probability = (won + 0.5 * (n_initializations - won - lost)) / n_initializations
    spread = math.sqrt(max(probability * (1.0 - probability), 0.0) / n_initializations)
    undecided = (n_initializations - won - lost) / n_initializations
    return BasinEstimate(
        probability, spread, undecided, quasi_static_probability(k, ratio, patch_size)
    )


@states("DU-TAB5.1")
def quasi_static_probability(k: int, ratio: float, patch_size: int) -> float:
    r"""Closed form behind the table in the limit $\lVert a^*\rVert \to 0$: $P(\varphi_0 <
    \varphi_s)$ for a uniform direction.

    One exactly when $r \ge (k+\pi-1)/\pi$; $\cos\varphi_0 = 2B - 1$ with $B \sim$ Beta((p-1)/2,
    (p-1)/2).
    """
    if k == 1 or ratio * math.pi >= k + math.pi - 1.0:
        return 1.0
    from scipy.stats import beta

    cosine = math.cos(angle_of_g(1.0 - ratio * (math.pi - 1.0) / (k + math.pi - 1.0 - ratio)))
    if patch_size == 1:
        return 0.5
    half = (patch_size - 1) / 2.0
    return float(beta.sf((1.0 + cosine) / 2.0, half, half))


def ratio_teacher(k: int, ratio: float, patch_size: int, rng: np.random.Generator) -> FilterTeacher:
    r"""A teacher with $\lVert w^*\rVert = \lVert a^*\rVert = 1$ and $(1^Ta^*)^2 = r$; the part of
    a* across 1 is random.
    """
    across = rng.standard_normal(k)
    across -= across.mean()
    length = float(np.linalg.norm(across))
    across = across / length if k > 1 else across * 0.0
    head = math.sqrt(ratio / k) / math.sqrt(k) + math.sqrt(max(1.0 - ratio / k, 0.0)) * across
    return FilterTeacher(np.eye(patch_size)[0], head)


@states("DU-T5.4")
def random_states(
    teacher: FilterTeacher, count: int, rng: np.random.Generator, start: str = "sphere"
) -> FilterState:
    r"""Random starts of DU-T5.4: a uniform in the ball of radius $|s|W/\sqrt k$, the filter in a
    uniform direction.

    For s = 0 the ball is a point, a = 0.
    """
    filters = rng.standard_normal((count, teacher.p))
    length2 = np.einsum("ij,ij->i", filters, filters)
    cosine = filters @ teacher.w / (np.sqrt(length2) * teacher.W)
    sine = np.sqrt(np.maximum(length2 - (filters @ teacher.w / teacher.W) ** 2, 0.0) / length2)
    heads = random_heads(teacher, count, rng)
    return heads_state(
        np.arctan2(sine, cosine), length2 if start == "gaussian" else np.ones(count), heads, teacher
    )


def random_heads(teacher: FilterTeacher, count: int, rng: np.random.Generator) -> Array:
    """Rows uniform in the ball of DU-T5.4."""
    radius = abs(teacher.s) * teacher.W / math.sqrt(teacher.k)
    return uniform_in_ball(teacher.k, radius, rng, count)


def _decide(
    state: FilterState, teacher: FilterTeacher, eta: float, max_iter: int
) -> tuple[int, int]:
    """Runs that the trap test sends to the global and to the spurious minimum."""
    wall, won, lost = barrier(teacher), 0, 0
    for _ in range(0, max_iter, LOOK_EVERY):
        for _ in range(LOOK_EVERY):
            state = step(state, teacher, eta)
        below = state_loss(state, teacher) < wall * (1.0 - 1e-12)
        won += int(np.sum(below & (state.b > 0.0)))
        lost += int(np.sum(below & (state.b < 0.0)))
        state = state.keep(~below)
        if state.phi.size == 0:
            break
    return won, lost


def _check(k: int, ratio: float, patch_size: int, count: int, scheme: Scheme) -> None:
    for name, value in (("k", k), ("patch_size", patch_size), ("n_initializations", count)):
        if not isinstance(value, int | np.integer) or value < 1:
            raise DataError(f"{name}={value!r}: give an integer of at least 1")
    if not 0.0 <= ratio <= k:
        raise DataError(
            f"ratio={ratio!r}: it is (sum of a*)^2 / |a*|^2, so it lies between 0 and k = {k}"
        )
    if k == 1 and ratio != 1:
        raise DataError(f"ratio={ratio!r}: with one patch (k = 1) the ratio is always 1")
    one_of("scheme", scheme, STARTS)
