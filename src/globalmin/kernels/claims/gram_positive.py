"""Claim `gram-positive`: a proved lower bound of lambda_min of a limiting Gram matrix (GP-ReLU,
GP-smooth, GP-ResNet).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args

import numpy as np

from globalmin._options import one_of
from globalmin._types import Array
from globalmin.activations import get_activation
from globalmin.activations.moments import normalizer
from globalmin.data import Dataset
from globalmin.errors import CannotCertify, DataError
from globalmin.kernels.claims.gram_series import (
    NATS,
    HermiteTable,
    precise_relu_gram,
    precise_series_gram,
    relu_gram,
    series_gram,
)
from globalmin.linalg.positive_definite import (
    EPS,
    Gram,
    LowerWitness,
    NotPositiveDefiniteError,
    lower_witness,
)
from globalmin.proving.certificate import Certificate, refuse_if_too_large
from globalmin.proving.claim import Claim, ClaimRecord, Json, Proves, Question, Tensor, rational
from globalmin.proving.producer import certified
from globalmin.references import states
from globalmin.shallow.claims.high_precision import precise_residual
from globalmin.shallow.claims.linearized_point import MARGIN, checked_arrays, loss_above
from globalmin.shallow.network import ShallowNetwork

if TYPE_CHECKING:
    from globalmin.activations import Activation


Kernel = Literal["weights", "features", "resnet"]
KERNELS: tuple[Kernel, ...] = get_args(Kernel)
ANALYTIC = ("softplus", "sigmoid", "tanh", "erf")
_ORDERS = (8, 16, 24, 32, 48, 64, 96, 128, 192, 256)
# relative gain of lambda_min from one number of orders to the next below which more are not worth
# it
_SETTLED = 2e-3


@dataclass(frozen=True)
class InfiniteResidual:
    """The constants of an infinitely wide residual network: depth H and the scales c_res, c_sigma
    of DU-M3b; c_sigma is 1/E sigma(z)^2 of the activation, as DU defines it, unless it is given.
    """

    depth: int
    c_res: float = 0.5
    c_sigma: float | None = None

    def scale(self, activation: Activation) -> float:
        """c_sigma, that of the activation unless one was given."""
        return normalizer(activation) if self.c_sigma is None else self.c_sigma


@dataclass(frozen=True)
class LowerGram:
    """A matrix below the limiting Gram matrix (equal to it for ReLU), with the orders and the
    quadrature that give it.
    """

    gram: Gram
    table: HermiteTable | None = field(default=None, repr=False)
    orders: tuple[int, ...] = ()


class PreparedGram(Protocol):
    """A kernel that another family has measured: its fields, tensors and matrix in floats."""

    @property
    def fields(self) -> dict[str, Json]:
        """The fields of the claim but lam and loss_upper."""
        ...

    @property
    def tensors(self) -> dict[str, Tensor]:
        """The tensors but C."""
        ...

    @property
    def gram(self) -> Gram:
        """The matrix."""
        ...


def certify_gram(
    data: Dataset | Array,
    activation: str | Activation = "relu",
    kernel: Kernel = "weights",
    *,
    depth: int | None = None,
    c_res: float = 0.5,
    resnet: InfiniteResidual | None = None,
    store_data: bool = True,
) -> Certificate:
    """Prove a lower bound of the least eigenvalue of a limiting Gram matrix; no trained network is
    needed.

    Parameters
    ----------
    data : Dataset | Array
        A data set, or an array of samples used as it is (labels zero, no bias, no scaling).
    activation : str | Activation
        Relu, softplus, sigmoid, tanh or erf.
    kernel : str
        "weights" for (x_i . x_j) E[phi' phi'], "features" for E[phi phi], "resnet" for the last
        layer of a residual network.
    depth : int | None
        Number H of hidden weight matrices of the residual network, for kernel "resnet".
    c_res : float
        Strength of its residual branches; c_sigma is 1/E sigma(z)^2, as in DU-M3b.
    resnet : InfiniteResidual | None
        Instead of `depth` and `c_res`, all constants, c_sigma included.
    store_data : bool
        Keep the data in the file; otherwise only their digest.

    Returns
    -------
    Certificate
        A certificate whose network is one neuron with zero weights, since a file always holds a
        network; `summary()["lambda"]` is the bound.

    Raises
    ------
    CannotCertify
        If the matrix is singular or too ill-conditioned, with the measured eigenvalue and the rows
        that cause it.
    """
    if not isinstance(data, Dataset):
        X = np.asarray(data, dtype=np.float64)
        data = Dataset(X, np.zeros(X.shape[0]), bias=False, scaling="none")
    phi = get_activation(activation) if isinstance(activation, str) else activation
    network = ShallowNetwork(np.zeros((1, data.X.shape[1])), np.zeros(1), phi)
    if depth is not None:
        if resnet is not None:
            raise DataError(f"depth={depth!r} and resnet={resnet!r}: give one of them")
        resnet = InfiniteResidual(depth, c_res)
    question = Question(network, data, options={"kernel": kernel, "resnet": resnet})
    certificate: Any = certified(question, [CLAIM.kind], store_data=store_data)[0]
    return certificate


@states("DU-D2.1", "OS-LH.1", "DU-P3.2")
def build(
    network: ShallowNetwork,
    data: Dataset,
    *,
    kernel: Kernel = "weights",
    resnet: InfiniteResidual | None = None,
    deep: PreparedGram | None = None,
) -> Claim:
    r"""The claim with its witness, or CannotCertify with the measured reason; the network's
    activation is the kernel's.

    Theory
    ------
    GP-ReLU: $H_{ij} = K_{ij}(\pi - \theta_{ij})/(2\pi)$. GP-smooth: the matrix is at least
    $\sum_{r \in Q} c_r c_r^T \circ \rho^{\circ r} \circ K$.
    GP-ResNet: $\lambda_{\min}(K^{(H)}) \ge t^2 \kappa \min_i E[\phi'^2]$.
    """
    X, y = checked_arrays(network, data)
    if deep is not None:
        return _prepared(loss_above(precise_residual(network, X, y)), deep)
    name = network.activation.certificate_name or ""
    one_of("kernel", kernel, KERNELS)
    if (kernel == "resnet") != (resnet is not None):
        raise DataError(
            f"kernel={kernel!r}: depth=... (or resnet=InfiniteResidual(...)) goes with 'resnet', "
            "and only with it"
        )
    if name not in ANALYTIC and (name != "relu" or kernel == "resnet"):
        raise CannotCertify(
            f"limiting Gram matrices are proved for {', '.join(ANALYTIC)} and relu, not for "
            f"{network.activation}"
        )
    refuse_if_too_large(y.size, network)
    zero = np.flatnonzero(~X.any(axis=1))
    if zero.size:
        raise CannotCertify(
            f"row {zero[0]} of the data is zero, so the matrix has a zero row; leave it out or add "
            "a bias"
        )
    try:
        below, lower = _witness(X, network.activation, kernel)
    except NotPositiveDefiniteError as failure:
        raise CannotCertify(
            f"the limiting Gram matrix is not provably positive definite: {failure}; {_closest(X)}"
        ) from None
    if resnet is not None:
        resnet = replace(resnet, c_sigma=resnet.scale(network.activation))
    return _assemble(loss_above(precise_residual(network, X, y)), kernel, below, lower, resnet)


def _prepared(loss: float, deep: PreparedGram) -> Claim:
    try:
        lower = lower_witness(deep.gram)
    except NotPositiveDefiniteError as failure:
        raise CannotCertify(
            f"the limiting kernel is not provably positive definite: {failure}"
        ) from None
    bounds: dict[str, Json] = {"lam": rational(lower.bound), "loss_upper": rational(loss)}
    summary = {"loss_upper": loss, "estimate": deep.gram.extremes[0], "lambda": lower.bound}
    return Claim(CLAIM.kind, {**deep.fields, **bounds}, {**deep.tensors, "C": lower.C}, summary)


def _witness(X: Array, phi: Activation, kernel: Kernel) -> tuple[LowerGram, LowerWitness]:
    """The matrix and its witness; once more with a finer quadrature if the eigenvalue comes near
    the error of the first.
    """
    if phi.certificate_name == "relu":
        below = _relu(X, kernel)
        return below, _lower(below.gram)
    features, first = kernel != "weights", 1 if kernel == "resnet" else 0
    below = _series(X, phi, features=features, first=first)
    lower = _lower(below.gram)
    if lower.bound < math.exp(-0.6 * NATS[0]) * below.gram.extremes[1]:
        below = _partial(X, phi, below.orders[-1], features=features, first=first, nats=NATS[1])
        lower = _lower(below.gram)
    return below, lower


def _lower(gram: Gram) -> LowerWitness:
    # the claim is the eigenvalue itself, so more is spent on a tight bound than where it is only a
    # means
    return lower_witness(gram, largest_gap=5e-3, precise_gap=5e-3)


def _closest(X: Array) -> str:
    """The two rows nearest to parallel, the usual cause of a small eigenvalue."""
    if X.shape[0] < 2:
        return "there is only one row"
    U = X / np.linalg.norm(X, axis=1, keepdims=True)
    cosines = np.abs(U @ U.T) - 2.0 * np.eye(X.shape[0])
    i, j = np.unravel_index(int(np.argmax(cosines)), cosines.shape)
    sine = min(float(np.linalg.norm(U[i] - U[j])), float(np.linalg.norm(U[i] + U[j])))
    return (
        f"rows {min(i, j)} and {max(i, j)} are "
        f"{'parallel' if sine == 0.0 else f'within {sine:.1e} of parallel'}"
    )


def _relu(X: Array, kernel: Kernel) -> LowerGram:
    H = relu_gram(X, features=kernel == "features")
    # an angle near 0 is known only to the square root of the rounding: such matrices go to high
    # precision
    rounding = (X.shape[1] + 8) * EPS * float(np.trace(H))
    return LowerGram(Gram(H, rounding, lambda: precise_relu_gram(X, features=kernel == "features")))


def _series(X: Array, phi: Activation, *, features: bool, first: int) -> LowerGram:
    """Orders are added until the least eigenvalue settles."""
    partial = _partial(X, phi, _ORDERS[0], features=features, first=first)
    for top in _ORDERS[1:]:
        before, partial = partial, _partial(X, phi, top, features=features, first=first)
        low, now = before.gram.extremes[0], partial.gram.extremes[0]
        if low > before.gram.noise and now - low <= _SETTLED * now:
            break
    return partial


def _partial(
    X: Array, phi: Activation, top: int, *, features: bool, first: int, nats: float = NATS[0]
) -> LowerGram:
    table = HermiteTable.measure(X, phi, top, nats)
    orders = table.useful_orders(features=features, first=first)
    A = series_gram(X, table, orders, features=features)
    rounding = (X.shape[1] + 4 * len(orders) + 8) * EPS * float(np.trace(A))
    return LowerGram(
        Gram(A, rounding, lambda: precise_series_gram(X, table, orders, features=features)),
        table,
        orders,
    )


def _assemble(
    loss: float,
    kernel: Kernel,
    below: LowerGram,
    lower: LowerWitness,
    resnet: InfiniteResidual | None,
) -> Claim:
    fields: dict[str, Json] = {
        "kernel": kernel,
        "loss_upper": rational(loss),
        "method": "closed" if below.table is None else "series",
    }
    tensors: dict[str, Tensor] = {"C": lower.C}
    refined = lower.inverse_factor  # set where doubles do not see the eigenvalue
    estimate = (
        below.gram.extremes[0] if refined is None else float(np.linalg.norm(refined, 2)) ** -2
    )
    summary = {
        "loss_upper": loss,
        "orders": float(len(below.orders)),
        "estimate": estimate,
        "ill_conditioned": float(refined is not None),
    }
    lam = lower.bound
    if below.table is not None:
        fields |= {"step": rational(below.table.step), "nodes": below.table.nodes}
        tensors["Q"] = np.array(below.orders, dtype=np.int64)
    if resnet is not None and resnet.c_sigma is not None and below.table is not None:
        kappa = float(Fraction(resnet.c_sigma) * Fraction(lower.bound)) * (1.0 - MARGIN)
        tensors["C"] = lower.C / math.sqrt(resnet.c_sigma)
        slope = below.table.least_last_slope(resnet.depth, resnet.c_res, resnet.c_sigma)
        lam = (resnet.c_res / resnet.depth) ** 2 * kappa * slope * (1.0 - MARGIN)
        constants = {"kappa": kappa, "c_res": resnet.c_res, "c_sigma": resnet.c_sigma}
        fields |= {
            "depth": resnet.depth,
            **{name: rational(value) for name, value in constants.items()},
        }
        summary["kappa"] = kappa
    fields["lam"] = rational(lam)
    return Claim(CLAIM.kind, fields, tensors, {**summary, "lambda": lam})


CLAIM = ClaimRecord(
    kind="gram-positive",
    theorem="limit-gram/1",
    proves=Proves.DATA,
    label="least eigenvalue of the limiting Gram matrix",
    network=ShallowNetwork,
    build=lambda q: build(q.network, q.data, **q.options),
)
