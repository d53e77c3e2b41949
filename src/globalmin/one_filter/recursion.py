r"""Algorithm 1 on the population loss in four numbers: $\varphi$, $\lVert v\rVert^2$, $\alpha =
1^Ta$, $b = a^Ta^*$ (DU-X5.a).

The four obey an exact recursion of their own, so a run costs O(1) per step whatever p and k, and
many runs are one vector.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.activations.half_spaces import angle
from globalmin.one_filter.teacher import FilterTeacher, g, pi_minus_g
from globalmin.references import states

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class FilterState:
    """The four numbers, each an array over runs, and what the loss needs besides: the part of a
    across 1 and a*.
    """

    phi: Array
    length2: Array
    alpha: Array
    b: Array
    rest2: Array

    def keep(self, chosen: NDArray[np.bool_]) -> FilterState:
        """The runs selected by a mask."""
        return FilterState(
            *(getattr(self, name)[chosen] for name in ("phi", "length2", "alpha", "b", "rest2"))
        )


def state_of(v: ArrayLike, a: ArrayLike, teacher: FilterTeacher) -> FilterState:
    """The state of one network, as arrays of length 1."""
    v, a = np.asarray(v, dtype=np.float64), np.asarray(a, dtype=np.float64)
    return heads_state(
        np.array([angle(v, teacher.w)]), np.array([float(v @ v)]), a[None, :], teacher
    )


def heads_state(phi: Array, length2: Array, heads: Array, teacher: FilterTeacher) -> FilterState:
    """States of many networks: angles, squared lengths and rows of output weights."""
    alpha, b = heads.sum(axis=1), heads @ teacher.a
    span = _span_norm2(alpha, b, teacher)
    return FilterState(
        phi, length2, alpha, b, np.maximum(np.einsum("ij,ij->i", heads, heads) - span, 0.0)
    )


def _span_norm2(alpha: Array, b: Array, teacher: FilterTeacher) -> Array:
    """Squared norm of the projection of a on span{1, a*}, from alpha and b alone."""
    k, s = teacher.k, teacher.s
    across = teacher.size - s**2 / k
    if across <= 1e-14 * teacher.size:
        return alpha**2 / k
    return alpha**2 / k + (b - alpha * s / k) ** 2 / across


@states("DU-X5.a", "DU-A1")
def step(state: FilterState, teacher: FilterTeacher, step_size: float) -> FilterState:
    r"""One step of gradient descent on (v, a) together, exactly.

    $D = \eta W b(\pi-\varphi)\sin\varphi/(2\pi\lVert v\rVert^2)$, $\varphi^+ = |\varphi - \arctan
    D|$, $\lVert v^+\rVert^2 = \lVert v\rVert^2(1+D^2)$; $\alpha$ and b are affine given
    $g(\varphi)$.
    """
    k, s, W, tau = teacher.k, teacher.s, teacher.W, 2.0 * math.pi
    G = g(state.phi)
    D = step_size * W * state.b * (math.pi - state.phi) * np.sin(state.phi) / (tau * state.length2)
    phi = np.abs(state.phi - np.arctan(D))
    shrink = 1.0 - step_size * (math.pi - 1.0) / tau
    return FilterState(
        phi=np.where(phi > math.pi, tau - phi, phi),
        length2=state.length2 * (1.0 + D**2),
        alpha=(1.0 - step_size * (k + math.pi - 1.0) / tau) * state.alpha
        + step_size * (k + G - 1.0) * W * s / tau,
        b=shrink * state.b
        + step_size / tau * (W * (G - 1.0) * teacher.size + W * s**2 - s * state.alpha),
        rest2=shrink**2 * state.rest2,
    )


def state_loss(state: FilterState, teacher: FilterTeacher) -> Array:
    """The population loss of each run."""
    W, tau = teacher.W, 2.0 * math.pi
    miss_alpha, miss_b = state.alpha - W * teacher.s, state.b - W * teacher.size
    miss2 = _span_norm2(miss_alpha, miss_b, teacher) + state.rest2
    return ((math.pi - 1.0) * miss2 + miss_alpha**2) / (2.0 * tau) + pi_minus_g(
        state.phi
    ) * W * state.b / tau


@states("DU-X5.a")
def trajectory(
    state: FilterState, teacher: FilterTeacher, step_size: float, n_steps: int
) -> dict[str, Array]:
    """All states of all runs: arrays (n_steps + 1) x runs under `phi`, `length2`, `alpha`, `b`,
    `loss`.
    """
    rows: dict[str, list[Array]] = {name: [] for name in ("phi", "length2", "alpha", "b", "loss")}
    for t in range(n_steps + 1):
        for name in ("phi", "length2", "alpha", "b"):
            rows[name].append(getattr(state, name))
        rows["loss"].append(state_loss(state, teacher))
        if t < n_steps:
            state = step(state, teacher, step_size)
    return {name: np.array(values) for name, values in rows.items()}
