r"""Recover the weights of an unknown network from samples: a start from moments, then descent
(FCL-ALG2, FCL-ALG1).

The network is $\frac1K\sum_k\phi(w_k\cdot x)$ and the inputs must be N(0, I): the moments are read
against that law. Labels are real and noiseless (regression, FCL-M2) or binary with $P(y=1|x)$ equal
to the network's output (classification, FCL-M1). Weights are recovered up to the order of the
neurons.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from globalmin._options import one_of
from globalmin._types import Array
from globalmin.data import Dataset
from globalmin.errors import DataError, HypothesisError
from globalmin.optimize.run import Status
from globalmin.recovery.descent import Descent, local_descent
from globalmin.recovery.geometry import local_activation
from globalmin.recovery.matching import Matching, match_neurons
from globalmin.recovery.moments import moment_orders, saturation_norm
from globalmin.recovery.newton import likelihood_refinement
from globalmin.recovery.tensor_initialization import (
    VARIANTS,
    TensorOptions,
    TensorStart,
    tensor_start,
)
from globalmin.references import states
from globalmin.shallow.network import ShallowNetwork

if TYPE_CHECKING:
    from globalmin.activations import Activation
    from globalmin.recovery.descent import Descent
    from globalmin.recovery.tensor_initialization import TensorStart


SMALL_GAP = 0.1
SMALL_CONTRACTION = 0.05
PARALLEL = 0.95
FIT = 1e-10  # loss 1/(2n) above which noiseless labels count as not fitted
SAMPLE = 20_000


def input_warnings(X: Array) -> list[str]:
    """Rows that do not look like N(0, I): first and second moments beyond six standard errors."""
    part = X[:SAMPLE]
    n, d = part.shape
    noise = 6.0 * (math.sqrt(d / n) + d / n)
    mean, covariance = part.mean(axis=0), part.T @ part / n
    off = max(float(np.linalg.norm(mean)), float(np.linalg.norm(covariance - np.eye(d), 2)) / 2.0)
    if off > noise:
        return [
            f"the inputs do not look like N(0, I) (deviation {off:.2g}); the moments are read "
            "against that law, whiten them"
        ]
    return []


def start_warnings(start: TensorStart, cap: float) -> list[str]:
    """Clipped norms, a small gap, vanishing contractions and parallel directions of the start from
    moments.
    """
    found = []
    if start.clipped.any():
        which = ", ".join(str(i) for i in np.flatnonzero(start.clipped))
        found.append(
            f"clipped norms: the first moment of neuron(s) {which} exceeds what norms up to "
            f"{cap:.3g} give; a guess"
        )
    if start.subspace.gap < SMALL_GAP:
        found.append(
            f"small gap {start.subspace.gap:.2g}: the data do not show {len(start.weights)} "
            "directions; give more samples, fewer neurons, or suspect parallel or opposite neurons"
        )
    if start.orders.matrix == 3 and float(start.contractions.min()) < SMALL_CONTRACTION:
        found.append(
            "vanishing moment: a neuron is nearly orthogonal to alpha (cosine "
            f"{start.contractions.min():.2g}), hardly seen"
        )
    if parallel_pair(start.weights):
        found.append(
            "parallel neurons in the start: two recovered directions nearly agree up to sign"
        )
    return found


def parallel_pair(W: Array) -> bool:
    """Whether two rows have an absolute cosine above `PARALLEL`."""
    unit = W / np.maximum(np.linalg.norm(W, axis=1, keepdims=True), 1e-300)
    cosines = np.abs(unit @ unit.T) - np.eye(len(W))
    return bool(cosines.max() > PARALLEL)


def descent_warnings(descent: Descent, phi: Activation, labels: Labels, *, tol: float) -> list[str]:
    """Descent not finished, labels not fitted, parallel or saturated neurons at its end."""
    found, cap = [], saturation_norm(phi)
    if descent.gradient_norm > tol * 100:
        found.append(
            f"descent not finished: gradient norm {descent.gradient_norm:.2g}; raise max_iter"
        )
    if labels == "regression" and float(descent.losses[-1]) > FIT:
        found.append(
            f"labels not fitted: loss {descent.losses[-1]:.2g}; noise, another number of neurons, "
            "or a spurious minimum"
        )
    if parallel_pair(descent.weights):
        found.append(
            "parallel neurons: two recovered directions nearly agree up to sign, so lengths can be "
            "traded between them"
        )
    norms = np.linalg.norm(descent.weights, axis=1)
    if norms.max() > cap:
        found.append(
            f"saturated norms: a neuron of norm {norms.max():.3g} > {cap:.3g} acts like a step, "
            "its length is uncertain"
        )
    return found


Labels = Literal["regression", "classification"]
LABELS: tuple[Labels, ...] = get_args(Labels)
ESTIMATORS = ("squares", "likelihood")


@dataclass(frozen=True)
class Recovery:
    """Weights recovered from samples.

    Attributes
    ----------
    weights : K x d by rows, the critical point of the squared loss reached by descent (or the
        maximum of the likelihood); the order of the rows means nothing.
    initialization : K x d, the start from moments.
    activation, labels : as given.
    start, descent : everything measured on the way.
    warnings : reasons to doubt the result, one sentence each; empty when none was found.
    """

    weights: Array
    initialization: Array
    activation: str
    labels: Labels
    start: TensorStart = field(repr=False)
    descent: Descent = field(repr=False)
    warnings: tuple[str, ...] = ()

    @property
    def status(self) -> Status:
        """How the descent ended."""
        return self.descent.status

    @property
    def message(self) -> str:
        """How the descent ended, in words."""
        return self.descent.message

    @property
    def network(self) -> ShallowNetwork:
        """The recovered network with head 1/K, ready for `certify`."""
        K = self.weights.shape[0]
        return ShallowNetwork(self.weights, np.full(K, 1.0 / K), self.activation)

    def match(self, true_weights: Array) -> Matching:
        """The best assignment to known true weights, with cosines and ratios of norms."""
        return match_neurons(self.weights, true_weights)

    def error_against(self, true_weights: Array) -> float:
        """Relative Frobenius error after matching."""
        return self.match(true_weights).relative_error


@states("FCL-ALG2", "FCL-ALG1", "FCL-M1", "FCL-M2")
def recover_teacher(
    data: Dataset,
    neurons: int = 3,
    activation: str | Activation = "sigmoid",
    *,
    labels: Labels = "regression",
    seed: int = 0,
    variant: str | TensorOptions = "tuned",
    estimator: str = "squares",
    max_iter: int = 1_500,
    tol: float = 1e-12,
) -> Recovery:
    """Recover the weights of a teacher network with head 1/K and no bias from samples with Gaussian
    inputs.

    Parameters
    ----------
    data : without bias column and without scaling, `Dataset(X, y, bias=False, scaling="none")`;
        rows of X drawn from N(0, I).
    neurons : number K of the teacher's neurons, at most the number of features.
    activation : smooth with bounded slope; for classification with values in [0, 1].
    labels : "regression" (y is the network's output) or "classification" (y in {0, 1} with that
        probability).
    variant : "tuned", "literal" (the paper's algorithm) or a `TensorOptions`.
    estimator : "squares", the critical point of the squared loss, which certificates speak of; for
        classification also "likelihood", that point moved to the maximum of the likelihood,
        asymptotically the most accurate choice.
    max_iter, tol : of the descent; the tolerance is on the gradient norm of the loss 1/(2n).

    Returns
    -------
    A Recovery; read its `warnings`.

    Raises
    ------
    HypothesisError
        K > d, an activation with kinks or vanishing moments, or one that gives no probabilities for
        classification.
    """
    phi = local_activation(activation)
    options = _options(variant)
    _refuse(data, neurons, phi, labels)
    if estimator not in ESTIMATORS or (estimator == "likelihood" and labels != "classification"):
        raise DataError(
            f"estimator={estimator!r}: choose 'squares', or 'likelihood' with "
            "labels='classification'"
        )
    moment_orders(phi)
    X, y = np.asarray(data.X), np.asarray(data.y)
    start = tensor_start(X, y, neurons, phi, options=options, seed=seed)
    descent = local_descent(
        X, y, start.weights, phi, step="curvature", max_iter=max_iter, tol=tol, newton=True
    )
    weights = (
        likelihood_refinement(X, y, descent.weights, phi)
        if estimator == "likelihood"
        else descent.weights
    )
    warnings = (
        *input_warnings(X),
        *start_warnings(start, saturation_norm(phi)),
        *descent_warnings(descent, phi, labels, tol=tol),
    )
    return Recovery(weights, start.weights, phi.spelling, labels, start, descent, warnings)


def _options(variant: str | TensorOptions) -> TensorOptions:
    if isinstance(variant, TensorOptions):
        return variant
    return VARIANTS[one_of("variant", variant, VARIANTS, remedy="or give TensorOptions")]


def _refuse(data: Dataset, neurons: int, phi: Activation, labels: Labels) -> None:
    if not isinstance(data, Dataset):
        raise DataError(
            f"data is of type {type(data).__name__}; give gm.Dataset(X, y, bias=False, "
            "scaling='none')"
        )
    if data.bias or data.scaling != "none":
        raise DataError(
            "the teacher has no bias and no scaling; build the data with Dataset(X, y, bias=False, "
            'scaling="none")'
        )
    one_of("labels", labels, LABELS)
    d, n = data.n_features, data.n_samples
    if isinstance(neurons, bool) or not isinstance(neurons, int | np.integer) or neurons < 1:
        raise DataError(f"neurons={neurons!r} must be an integer >= 1")
    if neurons > d:
        raise HypothesisError(
            f"neurons={neurons} in dimension {d}: moments of low order show at most d directions, "
            "so K <= d is needed",
            hypothesis="K <= d",
            value=(neurons, d),
        )
    if n < 2 * (d + 1):
        raise DataError(
            f"{n} samples are too few for {d} features; at least {2 * (d + 1)} are needed, and far "
            "more to be useful"
        )
    if labels == "classification":
        _refuse_classification(np.asarray(data.y), phi)


def _refuse_classification(y: Array, phi: Activation) -> None:
    values = phi(np.linspace(-40.0, 40.0, 801))
    if values.min() < 0 or values.max() > 1:
        raise HypothesisError(
            f"activation {phi} takes values in [{values.min():.3g}, {values.max():.3g}], which are "
            "no probabilities; "
            "use 'sigmoid', or 'sigmoid(2)', which is (1 + tanh)/2, in place of tanh",
            hypothesis="0 <= phi <= 1",
            value=str(phi),
        )
    if not np.isin(y, (0.0, 1.0)).all():
        raise DataError(
            "labels='classification' needs y in {0, 1}; recode the labels or use "
            "labels='regression'"
        )
