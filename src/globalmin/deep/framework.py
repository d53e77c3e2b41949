r"""The general recursion of DU-D3.4, once for all architectures: how Gram matrices and means pass
from layer to layer.

At infinite width the channels of layer h are independent copies of one Gaussian-driven variable X =
D X' + rho(U): X' that of the layer below, U ~ N(0, P) with P = T(S') the patch Gram, independent of
X'. With rho = s sigma and D = 0 or 1 (erratum E10, E11):

    S = D (S' + s (b' mu^T + mu b'^T)) + s^2 F(P),    b = D b' + s mu,    mu_i = E sigma(sqrt(P_ii)
    z).

S and b are over pairs (sample, pixel), n p of them, sample by sample. Floats: estimates, not
bounds.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.activations import Activation, get_activation
from globalmin.activations.dual import dual_matrix
from globalmin.activations.moments import mean_square, mean_square_slope, mean_value, normalizer
from globalmin.data.pixels import Geometry, geometry_of, real_array
from globalmin.data.validation import gram_bytes, require_memory
from globalmin.deep.initialization import check_depth, check_residual
from globalmin.references import states

if TYPE_CHECKING:
    from collections.abc import Callable

    from globalmin.activations import Activation


def mean_at(activation: Activation, variances: Array) -> Array:
    """E sigma(sqrt(a) z) for every variance a >= 0."""
    return _at(variances, lambda scale: mean_value(activation, scale), float(activation(0.0)))


def mean_square_at(activation: Activation, variances: Array) -> Array:
    """E sigma(sqrt(a) z)^2 for every variance a >= 0."""
    return _at(variances, lambda scale: mean_square(activation, scale), float(activation(0.0)) ** 2)


def square_slope_at(activation: Activation, variances: Array) -> Array:
    """E sigma'(sqrt(a) z)^2 for every variance a >= 0."""
    return _at(
        variances,
        lambda scale: mean_square_slope(activation, scale),
        float(activation.derivative(0.0)) ** 2,
    )


def _at(variances: Array, moment: Callable[[Array], Array], at_zero: float) -> Array:
    distinct, places = np.unique(variances, return_inverse=True)
    values = np.full(distinct.shape, at_zero)
    positive = distinct > 0
    if positive.any():
        values[positive] = moment(np.sqrt(distinct[positive]))
    return values[places].reshape(variances.shape)


class Rule(NamedTuple):
    """One layer at infinite width: X = D X' + s sigma(U)."""

    scale: float
    is_skip: bool


class Stage(NamedTuple):
    """Pixel Gram S^(h) and mean b^(h) of one layer, (np) x (np) and (np)."""

    S: Array
    b: Array


@dataclass(frozen=True)
class Framework:
    """An instance of the recursion: the first Gram, the layers and the windows."""

    S0: Array
    rules: tuple[Rule, ...]
    geometry: Geometry
    activation: Activation

    @property
    def n(self) -> int:
        """Number of samples."""
        return len(self.S0) // self.geometry.pixels

    @states("DU-D3.4")
    def advance(self, stage: Stage, rule: Rule, P: Array, F: Array) -> Stage:
        """One layer up, given the patch Gram P of the layer below and F = E[sigma(u) sigma(u)^T]
        for u ~ N(0, P).
        """
        s, mu = rule.scale, mean_at(self.activation, np.diag(P))
        S, b = s**2 * F, s * mu
        if rule.is_skip:
            cross = np.outer(stage.b, s * mu)
            S += stage.S + cross + cross.T
            b = b + stage.b
        return Stage(S, b)

    def start(self) -> Stage:
        """Layer 0, the inputs."""
        return Stage(self.S0, np.zeros(len(self.S0)))

    def stages(self, count: int) -> Iterator[Stage]:
        """Layers 0..count, one after the other, so that only what is kept takes memory."""
        stage = self.start()
        yield stage
        for rule in self.rules[:count]:
            P = self.geometry.patch_gram(stage.S)
            stage = self.advance(stage, rule, P, dual_matrix(self.activation, P))
            yield stage

    def layer(self, h: int) -> Stage:
        """Layer h alone."""
        return deque(self.stages(h), maxlen=1).pop()

    def pixel_trace(self, M: Array) -> Array:
        """Sum, n x n, over equal pixels of an (np) x (np) array; the head's weights at different
        pixels are uncorrelated.
        """
        p = self.geometry.pixels
        return np.einsum("iljl->ij", M.reshape(self.n, p, self.n, p))

    def pixel_sum(self, M: Array) -> Array:
        """Sum, n x n, over all pairs of pixels."""
        p = self.geometry.pixels
        return M.reshape(self.n, p, self.n, p).sum(axis=(1, 3))


def framework(
    X: ArrayLike,
    architecture: str,
    depth: int,
    activation: str | Activation,
    *,
    c_res: float = 0.5,
    patch_size: int = 3,
    kept: int = 8,
) -> Framework:
    """The recursion for these inputs, refused before it starts if `kept` arrays of (np)^2 numbers
    do not fit in memory.
    """
    inputs, phi, H = (
        real_array(X, "X"),
        get_activation(activation),
        check_depth(depth, architecture),
    )
    geometry = geometry_of(inputs.shape[1:], architecture, patch_size)
    size = len(inputs) * geometry.pixels
    require_memory(
        gram_bytes(size, copies=kept),
        f"the deep recursion for n={len(inputs)} inputs of {geometry.pixels} pixel(s)",
    )
    pixels = geometry.arrange(inputs).reshape(size, geometry.channels)
    plain = Rule(math.sqrt(normalizer(phi)), False)
    upper = plain if architecture == "fully_connected" else Rule(check_residual(c_res) / H, True)
    return Framework(pixels @ pixels.T, (plain,) + (upper,) * (H - 1), geometry, phi)
