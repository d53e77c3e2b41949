r"""An explicit width, step and rate for DU-T3.1, DU-T3.2 and DU-T3.3, by a derivation of ours that
needs no unit rows and works for the three architectures at once (theorem DW).

**Statement.** Let lambda_0 = lambda_min(K^(H)) > 0 for the given inputs, and let the weights be
drawn as in DU-M3a to M3c with m channels. If m passes the test `at_width`, then with probability at
least 1 - delta gradient descent on all layers with the step eta has L_k <= (1 - eta lambda_0/2)^k
L_0 for all k, and never leaves the ball of the radius rho.

**Proof.** (1) *First layers.* Entry by entry, layer by layer, the drawn Gram matrix S-hat^(h) has,
given the layer below, the mean of the recursion at S-hat^(h-1), which is Lipschitz by Price's
theorem (`moment_lipschitz`), and a variance of at most std^2/m; Chebyshev for all entries of all
layers gives e_h (`layer_errors`). (2) *Last layer.* The same for K^(H) with sup|sigma'''|; it loses
at most lambda_0/12. Given the features, G^(H) is a sum over channels of independent positive
semidefinite matrices; heads with ||a_r||^2 above the 95 % point of chi^2_(p+2) are left out, and
the matrix Chernoff bound gives lambda_min(G^(H)(0)) >= (7/8)(.95)(11/12) lambda_0 >= (3/4)
lambda_0. (3) *Sizes.* ||W^(h)|| <= sqrt(m) + sqrt(columns) + sqrt(2 log(H/delta_3)) (DU-L3.27),
||a||, max|a| and ||u(0)|| by Gaussian concentration. (4) *Ball.* On the ball of radius rho the
Jacobian is at most b and has a Lipschitz constant Lam (norms only), and its block of W^(H) moves by
at most (sqrt(3/4) - sqrt(1/2)) sqrt(lambda_0), so that lambda_min(G) >= lambda_0/2 there. (5)
*Descent.* eta b^2 <= 1 and eta Lam b^2 ||r_0|| <= lambda_0/4 give ||r_(k+1)|| <= (1 - eta
lambda_0/2) ||r_k|| + (Lam/2) eta^2 b^2 ||r_k||^2 <= (1 - 3/8 eta lambda_0) ||r_k||, whose square is
at most 1 - eta lambda_0/2 as eta lambda_0 <= 1; the path is at most sum eta b ||r_k|| <= (8/3) b
||r_0||/lambda_0 = rho. QED

The inequalities hold over the reals; lambda_0 and everything returned are floats, hence estimates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from globalmin._options import Architecture
from globalmin._types import Array, ArrayLike
from globalmin.deep.architecture import DEFAULT_ARCHITECTURE, DEFAULT_DEPTH
from globalmin.deep.constants import Slopes, fourth_moment, mean_size, spectral_limit
from globalmin.deep.gram import Framework, Stage, framework, last_layer_gram
from globalmin.deep.gram_bounds import mean_lipschitz, moment_lipschitz
from globalmin.errors import DataError
from globalmin.linalg.spectrum import extremes
from globalmin.references import states

if TYPE_CHECKING:
    from globalmin.activations import Activation

# how the failure probability is shared: Chebyshev half, five exponential events a tenth each
ENTRIES, EVENT = 0.5, 0.1
KEPT = 0.95  # of the mean of a a^T, after large heads are left out
INHERITED = 1.0 / 12.0  # of lambda_0, lost to the layers below the last
LOST = 1.0 / 8.0  # of the rest, lost to the last layer's own sampling
MOVED = math.sqrt(0.75) - math.sqrt(0.5)  # of sqrt(lambda_0), by which the last block may move
FARTHEST = 1e3  # no radius beyond this times sqrt(m) is tried: the weights would be all new
LARGEST = 1e120  # widths beyond this are called infinite


class LayerErrors(NamedTuple):
    """Per layer 0..H: largest error of an entry of S-hat^(h) and of b-hat^(h), with the stated
    probability.
    """

    gram: tuple[float, ...]
    mean: tuple[float, ...]


class Ball(NamedTuple):
    """Bounds on the ball of radius rho around the drawn weights: of ||J||, of the Lipschitz
    constant of J, and of how far the block of W^(H) moves.
    """

    largest: float
    lipschitz: float
    movement: float


@dataclass(frozen=True)
class WidthTest:
    """Theorem DW at one width.

    Attributes
    ----------
    width : m.
    holds : whether gradient descent with `step_size` provably converges, with the stated
        probability.
    inherited : bound of ||K-hat^(H) - K^(H)||, lambda_0/12 allowed.
    sampling : bound of the probability that the last layer's own sampling costs more than an
        eighth; delta/10 allowed.
    movement : bound of the movement of the last block within the radius; sqrt(lambda_0) times
        `MOVED` allowed.
    residual, radius : bounds of ||r_0|| and of the path.
    largest, lipschitz : b and Lam on the ball.
    step_size : eta, on the loss (1/2) sum of squares; 0 where the test fails.
    rate : 1 - (3/8) eta lambda_0, factor of the residual's norm per step.
    """

    width: float
    holds: bool
    inherited: float
    sampling: float
    movement: float
    residual: float
    radius: float
    largest: float
    lipschitz: float
    step_size: float
    rate: float


_NAN = math.nan
NEVER = WidthTest(math.inf, False, _NAN, _NAN, _NAN, _NAN, _NAN, _NAN, _NAN, 0.0, 1.0)


@dataclass(frozen=True)
class WidthQuestion:
    """What theorem DW is asked about: the recursion of an architecture at the inputs, the labels'
    norm, lambda_0 and the allowed failure probability.
    """

    recursion: Framework = field(repr=False)
    y_norm: float
    lambda0: float
    delta: float = 0.1

    def __post_init__(self) -> None:
        if not 0.0 < self.delta < 1.0:
            raise DataError(f"delta={self.delta!r} must satisfy 0 < delta < 1")

    @property
    def activation(self) -> Activation:
        """Sigma."""
        return self.recursion.activation

    @cached_property
    def slopes(self) -> Slopes:
        """|sigma(0)|, L, beta."""
        return Slopes.of(self.activation)

    @cached_property
    def stages(self) -> tuple[Stage, ...]:
        """S^(h), b^(h) of layers 0..H."""
        return tuple(self.recursion.stages(len(self.recursion.rules)))

    @cached_property
    def variances(self) -> tuple[Array, ...]:
        """Diagonals of the patch Grams P^(0), ..., P^(H-1)."""
        patch_gram = self.recursion.geometry.patch_gram
        return tuple(np.diag(patch_gram(stage.S)) for stage in self.stages[:-1])

    @cached_property
    def sizes(self) -> tuple[Array, ...]:
        """||x_i^(h)||^2 at infinite width, per layer 0..H and sample."""
        shape = (self.recursion.n, self.recursion.geometry.pixels)
        return tuple(np.diag(stage.S).reshape(shape).sum(axis=1) for stage in self.stages)

    @property
    def overlap(self) -> int:
        """The largest number of windows that one pixel is in."""
        geometry = self.recursion.geometry
        places = np.bincount(geometry.table.ravel(), minlength=geometry.pixels + 1)
        return int(places[: geometry.pixels].max())


@states("DU-T3.4")
def layer_errors(question: WidthQuestion, width: float) -> LayerErrors:
    """With probability 1 - delta/2, how far the Gram matrix and the mean of every layer of a drawn
    network of this width are from their limits, entry by entry.
    """
    it, phi, s = question.recursion, question.activation, question.slopes
    count = len(it.S0) * (len(it.S0) + 1) / 2 + len(it.S0)
    spread = math.sqrt(len(it.rules) * count / (ENTRIES * question.delta) / width)
    e, f = [0.0], [0.0]
    for rule, stage, variance in zip(it.rules, question.stages, question.variances, strict=False):
        moved = it.geometry.window * e[-1]
        v, w = float(variance.max()) + moved, float(np.diag(stage.S).max()) + e[-1]
        across, along = moment_lipschitz(phi, v)
        t, slope = rule.scale, mean_lipschitz(phi)
        gram = t**2 * ((across + 2 * along) * moved + spread * math.sqrt(fourth_moment(phi, v)))
        mean = t * (slope * moved + spread * s.L * math.sqrt(v))
        if rule.is_skip:
            bias = float(np.abs(stage.b).max())
            gram += e[-1] + 2 * t * (f[-1] * mean_size(phi, v) + bias * slope * moved)
            gram += 2 * t * spread * s.L * math.sqrt(w * v)
            mean += f[-1]
        e.append(gram)
        f.append(mean)
    return LayerErrors(tuple(e), tuple(f))


def inherited_error(question: WidthQuestion, error: float) -> float:
    """Bound of ||K-hat^(H) - K^(H)||, when the Gram matrix below the last layer is off by `error`
    entry by entry.
    """
    it, s = question.recursion, question.slopes
    moved, v = it.geometry.window * error, float(question.variances[-1].max())
    gamma = float(question.activation.supremum(3))
    entry = s.L**2 + v * (s.beta**2 + gamma * s.L)
    return it.rules[-1].scale ** 2 * it.n * it.geometry.pixels * entry * moved


@states("DU-L3.2")
def sampling_failure(question: WidthQuestion, width: float, error: float) -> float:
    """Bound of the probability that lambda_min(G^(H)(0)) is below (7/8)(.95) lambda_min of its mean
    given the features, by the matrix Chernoff bound.
    """
    from scipy.stats import chi2

    it, s = question.recursion, question.slopes
    p = it.geometry.pixels
    head = float(chi2.ppf(KEPT, p + 2))
    trace = float((question.variances[-1] + it.geometry.window * error).sum())
    largest = it.rules[-1].scale ** 2 * head * s.L**2 * trace / width
    mean = KEPT * (1.0 - INHERITED) * question.lambda0
    return it.n * math.exp(-(LOST**2) * mean / (2.0 * largest))


@dataclass(frozen=True)
class _Sizes:
    """Norms of the drawn weights and of its features, with the stated probability."""

    omega: tuple[float, ...]
    head: float
    entry: float
    features: tuple[Array, ...]
    residual: float


def _sizes(question: WidthQuestion, width: float, errors: LayerErrors) -> _Sizes:
    it, event = question.recursion, EVENT * question.delta
    p, H = it.geometry.pixels, len(it.rules)
    columns = [it.geometry.window * c for c in (it.geometry.channels, *(width,) * (H - 1))]
    tail = math.sqrt(2.0 * math.log(1.0 / event))
    features = tuple(
        np.sqrt(size + (p * e if h else 0.0))
        for h, (size, e) in enumerate(zip(question.sizes, errors.gram, strict=True))
    )
    outputs = float(np.linalg.norm(features[-1])) * (1.0 + tail)
    return _Sizes(
        tuple(spectral_limit(width, c, event / H) for c in columns),
        math.sqrt(width * p) + tail,
        math.sqrt(2.0 * math.log(width * p / event)),
        features,
        question.y_norm + outputs,
    )


def _ball(question: WidthQuestion, sizes: _Sizes, width: float, rho: float) -> Ball:
    """b, Lam and the movement of the last block on the ball, from norms only."""
    it, slopes, root = question.recursion, question.slopes, math.sqrt(question.overlap)
    L, beta = slopes.L, slopes.beta
    om = [omega + rho for omega in sizes.omega]
    s = [rule.scale / math.sqrt(width) for rule in it.rules]
    xi, dx, dz = [sizes.features[0]], [np.zeros(it.n)], []
    for h, rule in enumerate(it.rules):
        dz.append(root * (om[h] * dx[h] + xi[h]))
        dx.append(s[h] * L * dz[h] + (dx[h] if rule.is_skip else 0.0))
        xi.append(sizes.features[h + 1] + rho * dx[h + 1])
    last = (beta * dz[-1] * sizes.entry + L) * xi[-2] + L * sizes.head * dx[-2]
    movement = rho * s[-1] * root * float(np.linalg.norm(last))
    p, dp = np.full(it.n, sizes.head + rho), np.ones(it.n)
    squares, spread = xi[-1] ** 2, dx[-1] ** 2
    for h in reversed(range(len(s))):
        largest = sizes.entry + rho if h == len(s) - 1 else p
        q, dq = L * p, beta * dz[h] * np.minimum(largest, p) + L * dp
        squares = squares + (s[h] * root * q * xi[h]) ** 2
        spread = spread + (s[h] * root * (dq * xi[h] + q * dx[h])) ** 2
        skip = it.rules[h].is_skip
        p, dp = (
            s[h] * root * om[h] * q + (p if skip else 0.0),
            s[h] * root * (om[h] * dq + q) + (dp if skip else 0.0),
        )
    return Ball(math.sqrt(float(squares.sum())), math.sqrt(float(spread.sum())), float(movement))


@states("DU-T3.1", "DU-T3.2", "DU-T3.3")
@np.errstate(over="ignore", invalid="ignore")
def at_width(question: WidthQuestion, width: float) -> WidthTest:
    """Whether networks of this width provably converge, with every number the test compares."""
    lam, errors = question.lambda0, layer_errors(question, width)
    inherited = inherited_error(question, errors.gram[-2])
    sampling = sampling_failure(question, width, errors.gram[-2])
    sizes = _sizes(question, width, errors)
    rho, ball = 0.0, _ball(question, sizes, width, 0.0)
    for _ in range(60):  # rho = (8/3) b(rho) ||r_0||/lambda_0, from below
        wanted = 8.0 / 3.0 * ball.largest * sizes.residual / lam
        if not (rho < wanted <= FARTHEST * math.sqrt(width)):
            break
        rho = wanted * (1.0 + 1e-6)
        ball = _ball(question, sizes, width, rho)
    holds = (
        8.0 / 3.0 * ball.largest * sizes.residual / lam <= rho
        and inherited <= INHERITED * lam
        and sampling <= EVENT * question.delta
        and ball.movement <= MOVED * math.sqrt(lam)
    )
    eta = min(1.0, lam / (4.0 * ball.lipschitz * sizes.residual)) / ball.largest**2
    eta = float(eta) if holds else 0.0
    return WidthTest(
        width,
        bool(holds),
        inherited,
        sampling,
        ball.movement,
        float(sizes.residual),
        float(rho),
        ball.largest,
        ball.lipschitz,
        eta,
        1.0 - 0.375 * eta * lam,
    )


@states("DU-T3.1", "DU-T3.2", "DU-T3.3")
def deep_width(
    X: ArrayLike,
    y: ArrayLike,
    architecture: Architecture = DEFAULT_ARCHITECTURE,
    depth: int = DEFAULT_DEPTH,
    activation: str | Activation = "softplus",
    *,
    c_res: float = 0.5,
    patch_size: int = 3,
    delta: float = 0.1,
) -> WidthTest:
    """How wide a deep network must be for gradient descent from a random start to fit these data
    provably, with the step and the rate there.

    Parameters
    ----------
    X, y : ArrayLike
        Inputs as in `deep_gram`, of any norm, and labels.
    architecture : str
        "fully_connected", "resnet" or "convolutional_resnet".
    depth : int
        Number H of hidden weight matrices.
    activation : str | Activation
        Sigma, with three bounded derivatives; otherwise the width is infinite.
    c_res : float
        Strength of the residual branches.
    patch_size : int
        Odd side of the window of a convolution.
    delta : float
        Probability of a start for which the promise may fail.

    Theory
    ------
    DU-T3.1, DU-T3.2, DU-T3.3 with explicit constants (theorem DW of this module, ours). Floats:
    an estimate of the bound, lambda_min(K^(H)) included.
    """
    it = framework(X, architecture, depth, activation, c_res=c_res, patch_size=patch_size)
    lam = extremes(last_layer_gram(it)).low  # 0 where floats do not tell it from 0
    return sufficient_width(WidthQuestion(it, float(np.linalg.norm(y)), lam, delta))


@states("DU-T3.1", "DU-T3.2", "DU-T3.3")
def sufficient_width(question: WidthQuestion) -> WidthTest:
    """The least width, within one per cent, from which on networks provably converge with the
    stated probability, and the step and rate there; the width is infinite where lambda_0 is not
    positive or sigma' has no Lipschitz constant.
    """
    orders = [float(question.activation.supremum(order)) for order in (1, 2, 3)]
    if not (question.lambda0 > 0.0 and all(map(math.isfinite, orders))):
        return NEVER
    low, high = 0.0, 4.0
    while not at_width(question, high).holds:
        low, high = high, 4.0 * high
        if high > LARGEST:
            return NEVER
    while high > 1.01 * low and high - low > 1.0:
        middle = math.sqrt(low * high) if low > 0.0 else high / 2.0
        low, high = (low, middle) if at_width(question, middle).holds else (middle, high)
    return at_width(question, float(math.ceil(high)))
