r"""The two phases of gradient descent on the one-filter network, with every constant explicit
(DU-T5.3x), and its invariants.

The theorems are stated for $\lVert w^*\rVert = \lVert v_0\rVert = 1$; by homogeneity a teacher with
another filter norm W is the unit one with $a^* \leftarrow Wa^*$, which `unit_teacher` does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.activations.moments import angle
from globalmin.one_filter.network import FilterTeacher, g, pi_minus_g
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


PHASE_TWO_RATE = 0.0177
PHASE_TWO_HEAD = 0.213


@dataclass(frozen=True)
class TwoPhases:
    r"""What DU-T5.3x promises from a start in the basin set.

    Attributes
    ----------
    max_step : largest step the theorem allows. b_lower : $\beta_0$, a lower bound of $a_t^Ta^*$ for
        all t.
    first_rate : factor per step of $\sin^2\varphi$ in phase one. first_steps : steps until
        $\cos\varphi \ge 1/2$.
    head_steps : further steps until $a^Ta^* \ge .213\lVert a^*\rVert^2$. second_rate : factor of
        $\sin^2\varphi$ per step then.
    """

    max_step: float
    step_size: float
    b_lower: float
    first_rate: float
    first_steps: int
    head_steps: int
    second_rate: float


def unit_teacher(teacher: FilterTeacher) -> FilterTeacher:
    r"""The teacher with $\lVert w^*\rVert = 1$ that gives the same function."""
    return FilterTeacher(teacher.w / teacher.W, teacher.a * teacher.W)


@states("DU-B5")
def in_basin_set(v: ArrayLike, a: ArrayLike, teacher: FilterTeacher) -> bool:
    r"""Membership in $\tilde B = \{v^Tw^* \ge 0, a^Ta^* \ge 0, |1^Ta| \le W|1^Ta^*|\}$: sufficient
    for small steps only.
    """
    v, a = np.asarray(v, dtype=np.float64), np.asarray(a, dtype=np.float64)
    return bool(
        v @ teacher.w >= 0.0 and a @ teacher.a >= 0.0 and abs(a.sum()) <= teacher.W * abs(teacher.s)
    )


@states("DU-T5.3", "DU-T5.3x", "DU-L5.9", "DU-C5.1")
def two_phases(
    v: ArrayLike, a: ArrayLike, teacher: FilterTeacher, step_size: float | None = None
) -> TwoPhases | None:
    r"""The explicit two-phase theorem at a start, or None if a hypothesis fails.

    Hypotheses (after the change to a unit teacher): $\lVert v_0\rVert = 1$, $a_0^Ta^* > 0$,
    $|1^Ta_0| \le |1^Ta^*|$, $\varphi_0 < \pi/2$, and a step at most `max_step`.
    """
    teacher, v, a = (
        unit_teacher(teacher),
        np.asarray(v, dtype=np.float64),
        np.asarray(a, dtype=np.float64),
    )
    phi, b, size = angle(v, teacher.w), float(a @ teacher.a), teacher.size
    if (
        abs(float(v @ v) - 1.0) > 1e-12
        or b <= 0.0
        or abs(a.sum()) > abs(teacher.s)
        or phi >= math.pi / 2.0
    ):
        return None
    c0, S = math.cos(phi), max(size + teacher.s**2, b)
    beta0 = min(b, (float(g(phi)) - 1.0) / (math.pi - 1.0) * size)
    most = min(c0 * beta0 / (2.0 * S**2), c0 / S, 2.0 * math.pi / (teacher.k + math.pi - 1.0))
    eta = most if step_size is None else step_size
    if not 0.0 < eta <= most:
        return None
    return TwoPhases(
        max_step=most,
        step_size=eta,
        b_lower=beta0,
        first_rate=1.0 - eta * c0 * beta0 / 8.0,
        first_steps=math.ceil(8.0 * math.log(4.0 / 3.0) / (eta * c0 * beta0)),
        head_steps=math.ceil(2.04 / eta),
        second_rate=1.0 - PHASE_TWO_RATE * eta * size,
    )


@states("DU-L5.2", "DU-L5.3", "DU-L5.4", "DU-L5.5", "DU-L5.7", "DU-L5.8", "DU-X5.a")
def invariant_slacks(
    before: FilterState, after: FilterState, teacher: FilterTeacher, step_size: float
) -> dict[str, Array]:
    r"""Slack of each invariant over one step, >= 0 where it holds; NaN where a hypothesis of the
    lemma fails. For the unit teacher of the same function, $a^* \leftarrow Wa^*$, so for any filter
    norm W: a slack of b is one of $W b$.

    `angle` L5.2 (needs $\eta\lambda \le 2$), `side` L5.3, `sum` L5.4, `sine` L5.5 (needs
    $\eta\lambda \le \cos\varphi$), `head` L5.7 corrected, `bounded` L5.8 (needs $|1^Ta| \le |s|$).
    """
    W, teacher = teacher.W, unit_teacher(teacher)
    before, after = replace(before, b=W * before.b), replace(after, b=W * after.b)
    s, size, k = teacher.s, teacher.size, teacher.k
    lam = before.b * (math.pi - before.phi) / (2.0 * math.pi * before.length2)
    X = (g(before.phi) - 1.0) / (math.pi - 1.0) * size
    tame = (before.b > 0.0) & (s * before.alpha <= s**2) & (before.phi < math.pi / 2.0)
    sine = (1.0 - step_size * np.cos(before.phi) * lam) * np.sin(before.phi) ** 2 - np.sin(
        after.phi
    ) ** 2
    rise = np.minimum(before.b + step_size * (math.pi - 1.0) / (2.0 * math.pi) * (X - before.b), X)
    return {
        "angle": _where((before.b > 0.0) & (step_size * lam <= 2.0), before.phi - after.phi),
        "side": _where(tame & (step_size < 2.0), after.b),
        "sum": _where(
            (s * before.alpha <= s**2) & (step_size < 2.0 * math.pi / (k + math.pi - 1.0)),
            s**2 - s * after.alpha,
        ),
        "sine": _where((before.b > 0.0) & (step_size * lam <= np.cos(before.phi)), sine),
        "head": _where(tame & (step_size < 2.0), after.b - rise),
        "bounded": _where(
            tame & (s * before.alpha >= -(s**2)) & (before.b <= size + s**2), size + s**2 - after.b
        ),
    }


def _where(condition: NDArray[np.bool_], value: Array) -> Array:
    return np.where(condition, value, np.nan)


@states("DU-C5.2")
def head_time(step_size: float) -> float:
    r"""Steps until $a^Ta^*$ reaches half of its lower limit X: $\frac{2\pi}{(\pi-1)\eta}\ln 2
    \approx 2.034/\eta$.
    """
    return 2.0 * math.pi * math.log(2.0) / ((math.pi - 1.0) * step_size)


@states("DU-L5.10")
def sum_error_at_most(
    alpha0: float, phi0: float, teacher: FilterTeacher, step_size: float, t: int
) -> float:
    r"""Upper bound of $|W1^Ta^* - 1^Ta_t|$ while the angle does not grow, $\eta \le
    2\pi/(k+\pi-1)$.
    """
    teacher = unit_teacher(teacher)
    c = (teacher.k + math.pi - 1.0) / (2.0 * math.pi)
    floor = (math.pi - float(g(phi0))) * abs(teacher.s) / (teacher.k + math.pi - 1.0)
    return (1.0 - step_size * c) ** t * abs(teacher.s - alpha0) + floor


@states("DU-L5.11")
def head_error_at_most(
    a0: ArrayLike, phi0: float, teacher: FilterTeacher, step_size: float, t: int
) -> float:
    r"""Upper bound of $\lVert a_t - Wa^*\rVert$ while the angle does not grow, $\eta \le
    2\pi/(k+\pi-1)$.
    """
    teacher = unit_teacher(teacher)
    start = float(np.linalg.norm(np.asarray(a0, dtype=np.float64) - teacher.a))
    floor = (math.pi - float(g(phi0))) / (math.pi - 1.0) * math.sqrt(teacher.size)
    return (1.0 - step_size * (math.pi - 1.0) / (2.0 * math.pi)) ** t * start + floor


@states("DU-L5.12")
def loss_at_most_near_truth(eps: float, teacher: FilterTeacher) -> float:
    r"""Loss of every network with $\lVert a-Wa^*\rVert \le \epsilon W\lVert a^*\rVert$ and $\pi - g
    \le \epsilon$.
    """
    factor = (teacher.k + math.pi - 1.0) * eps / (4.0 * math.pi) + (1.0 + eps) / (2.0 * math.pi)
    return factor * eps * teacher.size * teacher.W**2


@states("DU-T5.5")
def spurious_start(v: ArrayLike, a: ArrayLike, teacher: FilterTeacher) -> bool:
    r"""The start condition of DU-T5.5 (corrected): $a_0^Ta^* < 0$, $|1^Ta_0| \le W|s|$ and
    $g(\varphi_0) \le 1 - 2r$.
    """
    a = np.asarray(a, dtype=np.float64)
    small = abs(a.sum()) <= teacher.W * abs(teacher.s)
    return bool(
        a @ teacher.a < 0.0 and small and float(g(angle(v, teacher.w))) <= 1.0 - 2.0 * teacher.ratio
    )


@states("DU-T5.5")
def spurious_flip_probability(ratio: float, patch_size: int) -> float:
    r"""Chance that one of the flips $\pm v$ of a uniform filter satisfies $g(\varphi_0) \le 1 -
    2r$; zero from r = 1/2 on.
    """
    if ratio >= 0.5:
        return 0.0
    from scipy.stats import beta

    from globalmin.one_filter.landscape import angle_of_g

    half = (patch_size - 1) / 2.0
    return min(
        1.0,
        2.0 * float(beta.cdf((math.cos(angle_of_g(1.0 - 2.0 * ratio)) + 1.0) / 2.0, half, half)),
    )
