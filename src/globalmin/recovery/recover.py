r"""Recover the weights of an unknown network from samples: a start from moments, then descent
(FCL-ALG2, FCL-ALG1).

The network is $\frac1K\sum_k\phi(w_k\cdot x)$ and the inputs are Gaussian: the moments are read
against that law. Labels are real, with or without noise (regression, FCL-M2), or binary with
$P(y=1|x)$ equal to the network's output (classification, FCL-M1). Weights are recovered up to the
order of the neurons, with error bars.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from globalmin._options import ESTIMATORS, LABELS, Estimator, Inputs, Labels, one_of
from globalmin._types import Array
from globalmin.data import Dataset
from globalmin.errors import DataError, HypothesisError
from globalmin.optimize.run import Status
from globalmin.recovery.coordinates import Coordinates, coordinates_of, fit_lengths
from globalmin.recovery.descent import Descent, local_descent
from globalmin.recovery.doubts import (
    end_doubts,
    indistinct_pair,
    input_doubts,
    is_exact,
    start_notes,
)
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
from globalmin.recovery.uncertainty import ErrorBars, error_bars
from globalmin.references import states
from globalmin.shallow.network import ShallowNetwork

if TYPE_CHECKING:
    from globalmin.activations import Activation


NOISELESS = 0.01  # noise over the spread of the labels below which they count as noiseless


@dataclass(frozen=True)
class Recovery:
    """Weights recovered from samples.

    Attributes
    ----------
    weights : K x d by rows, the critical point of the squared loss reached by descent (or the
        maximum of the likelihood); the order of the rows means nothing. With offsets the last
        column holds them.
    initialization : K x d, the start from moments.
    activation, labels : as given.
    bars : error bars of the weights: covariance, standard errors, intervals, expected error.
    start, descent : everything measured on the way.
    warnings : reasons to doubt the result, one sentence each, all read at its end; empty when none
        was found.
    start_notes : what the moments did not show clearly; descent may have mended it.
    """

    weights: Array
    initialization: Array
    activation: str
    labels: Labels
    bars: ErrorBars = field(repr=False)
    start: TensorStart = field(repr=False)
    descent: Descent = field(repr=False)
    warnings: tuple[str, ...] = ()
    start_notes: tuple[str, ...] = ()

    @property
    def covariance(self) -> Array:
        """Of the weights in the order of `weights.reshape(-1)`; an estimate for large n."""
        return self.bars.covariance

    @property
    def standard_errors(self) -> Array:
        """Of every weight, in the shape of the weights."""
        return self.bars.standard_errors

    @property
    def expected_error(self) -> float:
        """The relative Frobenius error to be expected (root mean square, estimated)."""
        return self.bars.expected_error

    @property
    def noise(self) -> float:
        """The estimated standard deviation of the labels around the network."""
        return self.bars.noise

    def intervals(self, level: float = 0.95) -> tuple[Array, Array]:
        """Ends of the intervals that contain a weight with this probability."""
        return self.bars.intervals(level)

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
    estimator: Estimator = "squares",
    inputs: Inputs = "standard",
    offsets: bool = False,
    max_iter: int = 1_500,
    tol: float = 1e-12,
) -> Recovery:
    r"""Recover the weights of a teacher network with head 1/K from samples with Gaussian inputs.

    Parameters
    ----------
    data : without bias column and without scaling, `Dataset(X, y, bias=False, scaling="none")`;
        rows of X drawn from N(0, I).
    neurons : number K of the teacher's neurons, at most the number of features.
    activation : smooth with bounded slope; for classification with values in [0, 1].
    labels : "regression" (y is the network's output, plus noise of one variance if there is any)
        or "classification" (y in {0, 1} with that probability).
    variant : "tuned", "literal" (the paper's algorithm) or a `TensorOptions`.
    estimator : "squares", the critical point of the squared loss, which certificates speak of; for
        classification also "likelihood", that point moved to the maximum of the likelihood,
        asymptotically the most accurate choice.
    inputs : "standard", rows from N(0, I), or "gaussian", of any mean and covariance: both are
        taken from the samples, and the start is found for whitened rows. Weights are always those
        of the rows as given.
    offsets : neurons $\phi(w\cdot x + b)$; the data then have a bias column,
        `Dataset(X, y, bias=True, scaling="none")`, and the last column of the weights is b.
    max_iter, tol : of the descent; the tolerance is on the gradient norm of the loss 1/(2n).

    Returns
    -------
    A Recovery; read its `warnings`.

    Raises
    ------
    HypothesisError
        K > d, an activation with kinks or vanishing moments, or one that gives no probabilities for
        classification; neurons that no number of samples tells apart (two equal ones, or opposite
        ones that cancel).
    DataError
        Constant labels, among other things: they say nothing about the neurons.
    """
    phi = local_activation(activation)
    options = _options(variant)
    _refuse(data, neurons, phi, labels, offsets=offsets)
    if estimator not in ESTIMATORS or (estimator == "likelihood" and labels != "classification"):
        raise DataError(
            f"estimator={estimator!r}: choose 'squares', or 'likelihood' with "
            "labels='classification'"
        )
    moment_orders(phi)
    X, y = np.asarray(data.X), np.asarray(data.y)
    X = X[:, :-1] if offsets else X
    at = coordinates_of(X, inputs=inputs, offsets=offsets)
    start = tensor_start(at.whitened(X), y, neurons, phi, options=options, seed=seed)
    U = at.inner(X)
    W0 = start.weights if at.is_standard else fit_lengths(X, y, start.weights, phi, at, seed=seed)
    descent = local_descent(
        U, y, W0, phi, step="curvature", max_iter=max_iter, tol=tol, newton=True
    )
    weights = descent.weights
    if estimator == "likelihood":
        weights = likelihood_refinement(U, y, weights, phi)
    bars = error_bars(U, y, weights, phi, labels=labels, estimator=estimator)
    warnings = _doubts(bars, U, y, phi, whitened=at.whitened(X), labels=labels, estimator=estimator)
    return Recovery(
        _outward(weights, at),
        _outward(W0, at),
        phi.spelling,
        labels,
        bars if at.is_standard else bars.mapped(at.outward),
        start,
        replace(descent, network=_outward(descent.weights, at)),
        warnings,
        start_notes(start, saturation_norm(phi)),
    )


def _outward(A: Array, at: Coordinates) -> Array:
    return A if at.is_standard else A @ at.outward.T


def _doubts(
    bars: ErrorBars,
    U: Array,
    y: Array,
    phi: Activation,
    *,
    whitened: Array,
    labels: Labels,
    estimator: Estimator,
) -> tuple[str, ...]:
    """The warnings; neurons that noiseless labels do not tell apart are refused."""
    if is_exact(bars, y):
        return ()
    found = end_doubts(bars, U, y, phi, labels=labels, estimator=estimator)
    pair = indistinct_pair(bars, U, y, phi)
    if pair is not None:
        why = (
            f"neurons {pair[0]} and {pair[1]} cannot be told apart: both replaced by their mean "
            "fit the labels as well, so they are equal, or opposite and cancel"
        )
        if labels == "regression" and bars.noise <= NOISELESS * float(np.std(y)):
            raise HypothesisError(
                why + "; ask for fewer neurons", hypothesis="distinct neurons", value=pair
            )
        found.append(why + ", or the samples are too few")
    return (*input_doubts(whitened), *found)


def _options(variant: str | TensorOptions) -> TensorOptions:
    if isinstance(variant, TensorOptions):
        return variant
    return VARIANTS[one_of("variant", variant, VARIANTS, remedy="or give TensorOptions")]


def _refuse(data: Dataset, neurons: int, phi: Activation, labels: Labels, *, offsets: bool) -> None:
    if not isinstance(data, Dataset):
        raise DataError(
            f"data is of type {type(data).__name__}; give gm.Dataset(X, y, bias=False, "
            "scaling='none')"
        )
    if data.bias != offsets or data.scaling != "none":
        raise DataError(
            f"offsets={offsets} with bias={data.bias}, scaling={data.scaling!r}: build the data "
            'with Dataset(X, y, bias=False, scaling="none"), or with bias=True and offsets=True '
            "for a teacher with offsets"
        )
    one_of("labels", labels, LABELS)
    d, n = data.n_features - int(offsets), data.n_samples
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
    y = np.asarray(data.y)
    if float(np.ptp(y)) <= 1e-12 * max(1.0, float(np.abs(y).max())):
        raise DataError(
            f"all {n} labels are {y[0]:.6g}: constant labels say nothing about the neurons (a "
            "teacher of opposite neurons that cancel gives such labels)"
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
