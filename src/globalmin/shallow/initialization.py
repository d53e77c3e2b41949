"""First weights of the published theorems: OS-HEAD, SJL (experiments) and DU chapter 2, which are
random, and the scaled identity of GKZ-T2.5, which is not.

The schemes are stated in the papers for rows of norm 1 (OS, DU) or Gaussian rows (SJL). On other
data the pre-activations w . x_i have the size of the row's norm, about sqrt(d) on standardized
features: `weight_scale` shrinks W0 then, 1.0 keeps the published law.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from globalmin._options import Scheme, one_of
from globalmin._types import Array
from globalmin.activations import Activation, get_activation
from globalmin.errors import DataError, HypothesisError
from globalmin.references import states
from globalmin.shallow.network import ShallowNetwork

if TYPE_CHECKING:
    from globalmin.data import Dataset

    Law = Callable[[Array, int, int, np.random.Generator], tuple[Array, Array]]


@states("OS-HEAD")
def os_head(y: Array, width: int) -> Array:
    """Half of v is +||y||/sqrt(kn), half is the negative, and one entry is 0 if k is odd, as
    published; `draw` gives that neuron a head.

    So 1 . v = 0, and ||v|| = ||y||/sqrt(n) for even k. Two cases in which this would be the zero
    head, which no W can train, are ours: y = 0 is read as ||y|| = sqrt(n), and k = 1 gets the
    single entry +||y||/sqrt(n).
    """
    size = np.linalg.norm(y) / np.sqrt(y.shape[0])
    size = (size if size > 0 else 1.0) / np.sqrt(width)
    half = width // 2
    if width == 1:
        return np.array([size])
    return np.concatenate([np.full(half, size), np.full(half, -size), np.zeros(width % 2)])


def _os(y: Array, d: int, k: int, rng: np.random.Generator) -> tuple[Array, Array]:
    return rng.standard_normal((k, d)), full_head(os_head(y, k))


def full_head(v: Array) -> Array:
    """The head with its zeros replaced by the size of the other entries.

    The head of OS-HEAD has one zero if k is odd. Its neuron never moves, which near kd = n costs
    the decisive d weights: at n = 100, d = 10, k = 11 all of 20 starts succeeded without the zero,
    and 8 of 102 with it.
    """
    return v if v.all() or not v.any() else np.where(v == 0, np.max(np.abs(v)), v)


def _sjl(y: Array, d: int, k: int, rng: np.random.Generator) -> tuple[Array, Array]:
    W = rng.standard_normal((k, d)) / np.sqrt(d)
    return W, rng.choice([-1.0, 1.0], size=k)


@states("SJL-T2.2", "SJL-T2.2a")
def _positive(y: Array, d: int, k: int, rng: np.random.Generator) -> tuple[Array, Array]:
    return rng.standard_normal((k, d)) / np.sqrt(d), np.ones(k)


@states("DU-M2")
def _du(y: Array, d: int, k: int, rng: np.random.Generator) -> tuple[Array, Array]:
    W = rng.standard_normal((k, d))
    return W, rng.choice([-1.0, 1.0], size=k) / np.sqrt(k)


@states("GKZ-T2.5")
def scaled_identity(k: int, d: int, gamma: float) -> Array:
    r"""$\sqrt\gamma\,[I_d; 0]$, k x d, so $W^TW = \gamma I$; needs k >= d >= 1."""
    if k < d or d < 1:
        raise HypothesisError(
            f"m={k} neurons for d={d} features; the scaled identity needs m >= d >= 1",
            hypothesis="m >= d",
            value=k,
        )
    return np.sqrt(gamma) * np.eye(k, d)


@states("GKZ-T2.5")
def scale_of_labels(y: Array, d: int) -> float:
    r"""$\gamma$ = mean(y)/d, positive: the best multiple of I for Gaussian inputs, since $E y =
    \|W^*\|_F^2$ (ours; the paper's m + 4d is for teachers with N(0,1) weights only).
    """
    mean = float(np.mean(y))
    if not mean > 0.0:
        raise DataError(
            f"the labels have mean {mean:.3g}; the scaled identity needs labels with a positive "
            'mean, as those of a quadratic teacher have (scaling="none" keeps it)'
        )
    return mean / d


def _identity(y: Array, d: int, k: int, rng: np.random.Generator) -> tuple[Array, Array]:
    return scaled_identity(k, d, scale_of_labels(y, d)), np.ones(k)


SCHEMES: dict[Scheme, Law] = {
    "os": _os,
    "sjl": _sjl,
    "positive": _positive,
    "du": _du,
    "identity": _identity,
}
"""Functions (y, d, k, rng) -> (W, v): "os" head of the size of the labels, balanced but for one
entry where k is odd (the published zero would leave a neuron idle), and W ~ N(0,1);
"sjl" v = +-1 and W ~ N(0,1)/sqrt(d); "positive" the same with v = 1, for SJL-T2.2; "du" v =
+-1/sqrt(k) and W ~ N(0,1); "identity" v = 1 and W = sqrt(mean(y)/d) [I; 0], the start of GKZ-T2.5
for quadratic networks. Signs of "sjl" and "du" are independent and fair; "identity" draws
nothing."""


def draw(
    data: Dataset,
    width: int,
    activation: str | Activation = "softplus",
    *,
    scheme: Scheme = "os",
    seed: int | np.random.Generator | None = 0,
    weight_scale: float = 1.0,
) -> ShallowNetwork:
    """Draw a network for `data`.

    Parameters
    ----------
    data : its n_features gives d, its y the size of the head of scheme "os".
    width : number k >= 1 of hidden neurons.
    scheme : "os", "sjl", "positive", "du" or "identity", see `SCHEMES`.
    seed : an integer, a numpy Generator (which advances), or None for fresh entropy.
    weight_scale : factor > 0 on W0; 1.0 is the published law.
    """
    one_of("scheme", scheme, SCHEMES)
    if not (np.isfinite(weight_scale) and weight_scale > 0):
        raise DataError(f"weight_scale={weight_scale!r} must be a positive number")
    W, v = SCHEMES[scheme](
        np.asarray(data.y), data.n_features, _width(width), np.random.default_rng(seed)
    )
    return ShallowNetwork(weight_scale * W, v, get_activation(activation))


def _width(width: int) -> int:
    try:
        k = operator.index(width)
    except TypeError:
        raise DataError(f"width={width!r} must be an integer") from None
    if isinstance(width, bool) or k < 1:
        raise DataError(f"width={width!r} must be at least 1")
    return k
