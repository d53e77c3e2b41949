"""Claims `gram-positive` about deep networks: a proved lower bound of lambda_min of the limiting
kernel of a network's own architecture, K^(H) or that of all layers (GP-deep).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from globalmin._options import one_of
from globalmin._types import Array
from globalmin.activations.trapezoid import hermite, quadrature
from globalmin.data import Dataset
from globalmin.deep.gram import all_layers, network_framework
from globalmin.errors import CannotCertify, DataError
from globalmin.linalg.positive_definite import (
    EPS,
    BallMatrix,
    Gram,
    NotPositiveDefiniteError,
)
from globalmin.proving.claim import Json, Question, Tensor, rational
from globalmin.proving.producer import certified
from globalmin.references import states
from globalmin.shallow.network import ShallowNetwork

if TYPE_CHECKING:
    from globalmin.activations import Activation
    from globalmin.deep.gram import Framework
    from globalmin.deep.network import DeepNetwork
    from globalmin.proving.certificate import Certificate


Blocks = Literal["last", "all"]
BLOCKS: tuple[Blocks, ...] = get_args(Blocks)
ANALYTIC = ("softplus", "sigmoid", "tanh", "erf")
TERMS = (24, 32, 48, 64, 96, 128, 192, 256, 384, 512)
NATS = 60.0  # the rule's error is about e^-60
ROWS = 2_000  # samples times pixels, beyond which the checker would take hours
REMAINDER = 2e-5  # of lambda_min, allowed to the remainders of the series together
SPREAD = 20.0  # by which the errors of the layers below may grow on their way up


@dataclass(frozen=True)
class DeepGram:
    """A limiting kernel in floats, with what the claim says of it."""

    fields: dict[str, Json]
    tensors: dict[str, Tensor]
    gram: Gram = field(repr=False)


@states("DU-P3.1", "DU-P3.2")
def certify_deep_gram(
    network: DeepNetwork,
    data: Dataset | Array,
    *,
    blocks: Blocks = "last",
    store_data: bool = True,
) -> Certificate:
    """Prove a lower bound of the least eigenvalue of the kernel that a deep network tends to as it
    widens, for your data; the weights of the network are not used.

    Parameters
    ----------
    network : DeepNetwork
        Its architecture, depth, activation, window and scales say which kernel is meant; the
        activation is softplus, sigmoid, tanh or erf.
    data : Dataset | Array
        A data set, or an array of inputs used as it is (labels zero, no bias, no scaling).
    blocks : str
        "last" for K^(H), the matrix of DU-T3.1 to T3.3, or "all" for the kernel of all layers and
        the head, `DeepNetwork.limit_gram(X).total`.
    store_data : bool
        Keep the data in the file; otherwise only their digest.

    Returns
    -------
    Certificate
        Of the claim gram-positive; `summary()["lambda"]` is the bound.

    Raises
    ------
    CannotCertify
        If the matrix is singular or too ill-conditioned for floats, with the measured eigenvalue.
    """
    one_of("blocks", blocks, BLOCKS)
    if not isinstance(data, Dataset):
        X = np.asarray(data, dtype=np.float64)
        data = Dataset(X.reshape(len(X), -1), np.zeros(len(X)), bias=False, scaling="none")
    phi = network.activation
    empty = ShallowNetwork(np.zeros((1, data.X.shape[1])), np.zeros(1), phi)
    prepared = measure(network, np.asarray(data.X, dtype=np.float64), blocks)
    options: dict[str, Any] = {"deep": prepared}
    question = Question(empty, data, options=options)
    certificate: Any = certified(question, ["gram-positive"], store_data=store_data)[0]
    return certificate


def measure(network: DeepNetwork, X: Array, blocks: Blocks) -> DeepGram:
    """The kernel in floats, with the number of coefficients and the quadrature that enclose it."""
    if network.activation.certificate_name not in ANALYTIC:
        raise CannotCertify(
            f"limiting kernels are proved for {', '.join(ANALYTIC)}, not for {network.activation}"
        )
    if X.shape[1] != math.prod(network.input_shape):
        raise DataError(
            f"the network expects {math.prod(network.input_shape)} features but the data have "
            f"{X.shape[1]}"
        )
    recursion = network_framework(network, X, kept=8 + 2 * network.depth)
    if len(recursion.S0) > ROWS:
        raise CannotCertify(
            f"{len(recursion.S0)} samples times pixels: at most {ROWS}; certify fewer samples"
        )
    kernel = all_layers(recursion)
    K = kernel.total if blocks == "all" else kernel.last
    least = float(np.linalg.eigvalsh(K)[0])
    terms, remainder, largest = _terms(recursion, least)
    step, nodes = quadrature(network.activation, largest, terms, NATS)
    rounding = (1e-13 + 8 * EPS * len(K)) * float(np.trace(K)) + remainder
    fields: dict[str, Json] = {
        "kernel": "layers",
        "method": "series",
        "blocks": blocks,
        "layers": [
            {"residual": skip, "scale2": rational(Fraction(s) ** 2 * len(W))}
            for s, W, skip in zip(network.scales, network.weights, network.skips, strict=True)
        ],
        "terms": terms,
        "step": rational(step),
        "nodes": nodes,
    }
    tensors: dict[str, Tensor] = {}
    if network.geometry.pixels > 1:
        fields["pixels"] = network.geometry.pixels
        table = np.asarray(network.geometry.table, dtype=np.int64)
        tensors["patches"] = np.where(table < network.geometry.pixels, table, -1)
    return DeepGram(fields, tensors, Gram(K, rounding, _no_balls))


def _no_balls() -> BallMatrix:
    raise NotPositiveDefiniteError("the kernel is too ill-conditioned for doubles")


def _terms(recursion: Framework, least: float) -> tuple[int, float, float]:
    """How many coefficients make the remainders small against the eigenvalue; the remainders, and
    the largest standard deviation of a pre-activation.
    """
    stages = recursion.stages(len(recursion.rules) - 1)
    P = [recursion.geometry.patch_gram(stage.S) for stage in stages]
    layers = []
    for rows in P:
        s = np.sqrt(np.maximum(np.diag(rows), np.finfo(np.float64).tiny))
        rho = np.abs(rows / np.outer(s, s)) - 2.0 * np.eye(len(s))
        layers.append((float(s.max()), min(float(rho.max()), 1.0) if len(s) > 1 else 0.0))
    terms, remainder = TERMS[0], math.inf
    for terms in TERMS:
        sizes = [_remainder(recursion.activation, s, rho, terms) for s, rho in layers]
        remainder = SPREAD * len(recursion.S0) * max(s**2 for s, _ in layers) * sum(sizes)
        if remainder <= REMAINDER * least:
            break
    return terms, remainder, max(s for s, _ in layers)


def _remainder(phi: Activation, s: float, rho: float, terms: int) -> float:
    """|rho|^terms times the mean square of phi'(s g) that the coefficients do not hold."""
    step, nodes = quadrature(phi, s, terms, NATS)
    z = np.asarray(step * np.arange(-nodes, nodes + 1), dtype=np.float64)
    weights = step * np.exp(-z * z / 2.0) / math.sqrt(2.0 * math.pi)
    slopes = np.asarray(phi.derivative(s * z))
    held = (hermite(z, terms - 1) * weights) @ slopes
    return max(float(weights @ slopes**2 - held @ held), 0.0) * max(rho, 0.0) ** terms
