r"""How far a finite network's layer Grams are from their limits: DU-T3.4 with an explicit Lambda,
and DU-L3.22 on an instance.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from globalmin.activations import Activation, get_activation
from globalmin.deep import passes as deep_passes
from globalmin.deep.gram import Framework, Stage, framework, last_formula, last_layer_gram
from globalmin.references import states

if TYPE_CHECKING:
    from globalmin._types import ArrayLike
    from globalmin.deep.network import DeepNetwork


@states("DU-T3.4", "DU-DA5")
def moment_lipschitz(activation: str | Activation, variance: float) -> tuple[float, float]:
    r"""(A, B) with $|F(A) - F(A')| \le A|\Delta_{12}| + B(|\Delta_{11}| + |\Delta_{22}|)$ for
    variances up to `variance`.

    A = L^2 and B = (beta/2)(|sigma(0)| + L sqrt(2 v/pi)); infinite when sigma or sigma' has no
    Lipschitz constant.

    Theory
    ------
    The Lambda of DU-T3.4, which the thesis only asserts to exist, by Price's theorem (DU-DA5);
    variances may vanish.
    """
    phi = get_activation(activation)
    L, beta = float(phi.supremum(1)), float(phi.supremum(2))
    return L**2, 0.5 * beta * (abs(float(phi(0.0))) + L * math.sqrt(2.0 * variance / math.pi))


@states("DU-T3.4")
def mean_lipschitz(activation: str | Activation) -> float:
    """|mu(a) - mu(b)| <= (beta/2)|a - b| for mu(a) = E sigma(sqrt(a) z)."""
    return 0.5 * float(get_activation(activation).supremum(2))


class Amplification(NamedTuple):
    """Per layer h: an error e in (S^(h-1), b^(h-1)), entry by entry, becomes at most gram * e in
    S^(h) and mean * e in b^(h).
    """

    gram: float
    mean: float


@states("DU-T3.4")
def error_amplification(
    X: ArrayLike,
    architecture: str = "resnet",
    depth: int = 5,
    activation: str | Activation = "softplus",
    *,
    c_res: float = 0.5,
    patch_size: int = 3,
) -> list[Amplification]:
    r"""Factors by which layers 2..H-1 multiply an error of the layer below, to first order in the
    error.

    Theory
    ------
    The product in DU-T3.4 with the corrected A_(h) = ||D|| (erratum E12) and Lambda from
    `moment_lipschitz`: for residual networks each factor is 1 + O(c_res/H), so that their product
    does not grow with the depth; the product for fully connected ones grows like C^H.
    """
    recursion = framework(X, architecture, depth, activation, c_res=c_res, patch_size=patch_size)
    below = enumerate(recursion.stages(depth - 2))
    return [_amplification(recursion, stage, h) for h, stage in below if h >= 1]


def _amplification(recursion: Framework, stage: Stage, h: int) -> Amplification:
    phi, rule, q = recursion.activation, recursion.rules[h], recursion.geometry.window
    v = float(np.diag(recursion.geometry.patch_gram(stage.S)).max(initial=0.0))
    across, along = moment_lipschitz(phi, v)
    s, slope = rule.scale, mean_lipschitz(phi) * q
    gram, mean = s**2 * q * (across + 2 * along), s * slope
    if rule.is_skip:
        size = abs(float(phi(0.0))) + float(phi.supremum(1)) * math.sqrt(2.0 * v / math.pi)
        gram += 1.0 + 2 * s * (size + float(np.abs(stage.b).max()) * slope)
        mean += 1.0
    return Amplification(gram, mean)


class LayerSplit(NamedTuple):
    """The two terms of DU-L3.22 on an instance, spectral norms.

    Attributes
    ----------
    sampling : of G^(H)(0) - K-hat^(H), the last layer's own sampling error.
    inherited : of K-hat^(H) - K^(H), what the layers below pass on.
    total : of G^(H)(0) - K^(H).
    allowed : lambda_min(K^(H))/4, which the lemma asks `total` to stay below.
    """

    sampling: float
    inherited: float
    total: float
    allowed: float

    @property
    def holds(self) -> bool:
        """Whether the lemma's conclusion is true here."""
        return self.total <= self.allowed


@states("DU-L3.22", "DU-L3.2")
def last_layer_split(network: DeepNetwork, X: ArrayLike, *, c_res: float = 0.5) -> LayerSplit:
    """Evaluate both terms of DU-L3.22 for a network at its first weights; `c_res` is the one it was
    drawn with.

    K-hat^(H) is the last formula of the recursion applied to the finite network's own features. If
    `holds`, then lambda_min(G^(H)(0)) >= (3/4) lambda_min(K^(H)), the conclusion of DU-L3.2.
    """
    inputs = np.asarray(X, dtype=np.float64).reshape(-1, *network.input_shape)
    options = {"c_res": c_res, "patch_size": network.patch_size}
    recursion = framework(
        inputs, network.architecture, network.depth, network.activation, **options
    )
    passed = network.forward(inputs)
    below = passed.features[-2].reshape(len(recursion.S0), -1)
    P = recursion.geometry.patch_gram(below @ below.T)
    middle = last_formula(recursion, P)
    G, K = deep_passes.layer_grams(network, passed)[-2], last_layer_gram(recursion)
    sampling, inherited, total = (
        float(np.linalg.norm(D, 2)) for D in (G - middle, middle - K, G - K)
    )
    return LayerSplit(sampling, inherited, total, float(np.linalg.eigvalsh(K)[0]) / 4)
