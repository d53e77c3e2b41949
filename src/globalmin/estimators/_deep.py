"""What the regressor and the classifier of deep networks share: parameters, images, training of one
network per target, proof.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from globalmin._options import ARCHITECTURES, Architecture, Scaling
from globalmin._types import Array
from globalmin.activations import Activation
from globalmin.data import SCALINGS, Dataset
from globalmin.data.preprocessing import Preprocessing
from globalmin.deep.architecture import DEFAULT_ARCHITECTURE, DEFAULT_DEPTH
from globalmin.deep.inputs import (
    Shape,
    check_image_shape,
    deep_dataset,
    image_rows,
    network_shape,
    prove_deep,
    train_enough,
)
from globalmin.deep.prediction import plot_deep
from globalmin.deep.problem import DeepRun
from globalmin.deep.train import MAX_ITER, Method
from globalmin.errors import DataError
from globalmin.estimators._base import ProvedEstimator
from globalmin.estimators._gap import LossGap, half_square, single
from globalmin.proving.proof import Proof, no_proof

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class DeepNetworkEstimator(LossGap, ProvedEstimator):
    """Base of the estimators of deep networks: one network per target, all layers trained."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "architecture": [StrOptions(set(ARCHITECTURES))],
        "depth": [Interval(Integral, 1, None, closed="left")],
        "width": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "activation": [str, Activation],
        "method": [StrOptions(set(MAX_ITER))],
        "batch_size": [None, Interval(Integral, 1, None, closed="left")],
        "step_size": [None, Interval(Real, 0, None, closed="neither")],
        "c_res": [Interval(Real, 0, 1, closed="neither")],
        "patch_size": [Interval(Integral, 1, None, closed="left")],
        "image_shape": [None, tuple, list],
        "bias": ["boolean"],
        "scaling": [StrOptions(set(SCALINGS))],
        "max_iter": [None, Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "certify": ["boolean"],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        architecture: Architecture = DEFAULT_ARCHITECTURE,
        depth: int = DEFAULT_DEPTH,
        width: int | str = "auto",
        activation: str | Activation = "tanh",
        method: Method = "levenberg_marquardt",
        batch_size: int | None = None,
        step_size: float | None = None,
        c_res: float = 0.5,
        patch_size: int = 3,
        image_shape: Shape | None = None,
        bias: bool = True,
        scaling: Scaling = "standardize",
        max_iter: int | None = None,
        tol: float = 1e-12,
        certify: bool = True,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.architecture: Architecture = architecture
        self.depth = depth
        self.width = width
        self.activation = activation
        self.method: Method = method
        self.batch_size = batch_size
        self.step_size = step_size
        self.c_res = c_res
        self.patch_size = patch_size
        self.image_shape = image_shape
        self.bias = bias
        self.scaling: Scaling = scaling
        self.max_iter = max_iter
        self.tol = tol
        self.certify = certify
        self.verbose = verbose
        self.random_state = random_state

    def _fit_rows(self, X: Any, y: Any, **options: Any) -> tuple[Array, Any]:
        """Inputs as a table and labels, after scikit-learn's checks; the shape of an image is kept
        in `image_shape_`.
        """
        seen = np.shape(X)[1:] if getattr(X, "ndim", 2) > 2 else None
        if seen is not None and len(seen) not in (2, 3):
            raise DataError(
                f"X has shape {np.shape(X)}; give a table n x d, or images n x height x width "
                "[x channels]"
            )
        flat: Any = X if seen is None else np.asarray(X).reshape(len(X), -1)
        checked: Any = validate_data(self, flat, y, **options)
        table, y = checked
        given = self.image_shape if seen is None else seen
        self.image_shape_ = None if given is None else check_image_shape(given, table.shape[1])
        return self._by_channel(table), y

    def _by_channel(self, table: Array) -> Array:
        return table if self.image_shape_ is None else image_rows(table, self.image_shape_)

    def _checked_rows(self, X: Any) -> Array:
        if getattr(X, "ndim", 2) > 2:
            if np.shape(X)[1:] != self.image_shape_:
                raise DataError(
                    f"X has images of shape {np.shape(X)[1:]}; this {type(self).__name__} was "
                    f"fitted on {self.image_shape_ or 'a table'}"
                )
            X = np.asarray(X).reshape(len(X), -1)
        checked: Any = validate_data(self, X, reset=False)
        return self._by_channel(checked)

    def _fit_targets(self, X: Array, y: Array, *, keeps_labels: bool) -> None:
        """Train and prove one network per target, and set all fitted attributes."""
        bias = bool(self.bias) and self.architecture != "convolutional_resnet"
        data = deep_dataset(
            X,
            y,
            bias=bias,
            scaling=self.scaling,
            image_shape=self.image_shape_,
            keeps_labels=keeps_labels,
        )
        targets = [data.for_target(j) for j in range(data.n_targets)]
        seeds = check_random_state(self.random_state).randint(
            np.iinfo(np.int32).max, size=len(targets)
        )
        shape = network_shape(X.shape[1], self.architecture, self.image_shape_, bias=bias)
        runs = [
            self._train(part, shape, int(seed)) for part, seed in zip(targets, seeds, strict=True)
        ]
        proofs = [self._proof(run, part) for run, part in zip(runs, targets, strict=True)]
        self._store(targets, runs, proofs)
        self._warn(runs, proofs)

    def _train(self, data: Dataset, shape: Shape, seed: int) -> DeepRun:
        return train_enough(
            data,
            shape,
            width=self.width,
            depth=self.depth,
            architecture=self.architecture,
            activation=self.activation,
            seed=seed,
            c_res=self.c_res,
            patch_size=int(self.patch_size),
            method=self.method,
            batch_size=self.batch_size,
            step_size=self.step_size,
            max_iter=self.max_iter,
            tol=self.tol,
            verbose=bool(self.verbose),
        )

    def _proof(self, run: DeepRun, data: Dataset) -> Proof:
        if not self.certify:
            return no_proof({}, message="certify=False")
        if self.method == "levenberg_marquardt" and not run.status.is_success:
            return no_proof({}, message="not tried, because training fell short")
        return prove_deep(run.network, data, is_quick=True)

    def _store(
        self, targets: Sequence[Dataset], runs: Sequence[DeepRun], proofs: Sequence[Proof]
    ) -> None:
        self.networks_ = [run.network for run in runs]
        self.run_ = single(list(runs))
        self.preprocessing_ = single([part.preprocessing for part in targets])
        self.trajectory_ = single([run.trajectory for run in runs])
        self.loss_curve_ = single([run.losses for run in runs])
        self.n_iter_ = single([max(1, run.n_iter) for run in runs])
        self.width_ = single([run.network.width for run in runs])
        self._store_proofs(proofs)
        pairs = zip(self.networks_, targets, strict=True)
        losses = [half_square(network.predict(part.X) - part.y) for network, part in pairs]
        zeros = [half_square(part.y) for part in targets]
        self._store_gap(proofs, losses, zeros, "network of any depth and width")

    def _falls_short(self, run: DeepRun) -> str:
        return (
            f"{run.message}; width {run.network.width}: raise max_iter or tol, widen the network "
            "or try another random_state"
        )

    def plot_training(self, X: Any, y: Any, target: int = 0) -> Figure:
        """Draw the training of one target: the spectrum of the kernel at the start, the loss that
        it predicts of gradient descent, and the measured loss.

        Parameters
        ----------
        X, y : what the estimator was fitted on.
        target : which target or class.
        """
        check_is_fitted(self)
        runs = self.run_ if isinstance(self.run_, list) else [self.run_]
        step = self._steps()[target]
        rows, labels = self._checked_rows(X), self._targets(y)
        if labels.shape != (len(rows), len(runs)):
            raise DataError(
                f"y has {labels.shape} labels for {len(rows)} inputs; give those of fit"
            )
        return plot_deep(runs[target], (step.transform(rows), step.transform_y(labels[:, target])))

    def _targets(self, y: Any) -> Array:
        """Labels as `fit` sees them, one column per network."""
        labels = np.asarray(y, dtype=np.float64)
        return labels.reshape(len(labels), -1)

    def save(self, path: Any) -> None:
        """Write the networks with their preprocessing to one file, for `globalmin.load_networks`
        and the command line.
        """
        from globalmin.shallow.storage import save_networks

        check_is_fitted(self)
        save_networks(path, self.networks_, self._steps())

    def _steps(self) -> list[Preprocessing]:
        """The preprocessing of every network."""
        found: Any = self.preprocessing_
        return found if isinstance(found, list) else [found]
