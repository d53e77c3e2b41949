"""What the regressor and the classifier share: parameters, training of one network per target,
proof, warnings, warm start.
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from globalmin._options import UNTIL, Method, Scaling, Trained, Until
from globalmin._types import Array
from globalmin.activations import Activation, get_activation
from globalmin.data import SCALINGS, Dataset
from globalmin.data.validation import require_memory
from globalmin.estimators._gap import LossGap, half_square, single
from globalmin.estimators._networks import ProvedNetworks
from globalmin.proving.producer import prove
from globalmin.proving.proof import Proof, no_proof
from globalmin.shallow.methods.table import METHODS, method_for
from globalmin.shallow.problem import estimate_memory
from globalmin.shallow.train import train, train_auto
from globalmin.shallow.trajectory import ShallowRun

if TYPE_CHECKING:
    from globalmin.shallow.network import ShallowNetwork


class ProvedEstimator(ProvedNetworks, BaseEstimator):
    """Networks with a proof as an estimator of scikit-learn."""


class ShallowNetworkEstimator(LossGap, ProvedEstimator):
    """Base of the estimators: one network f(x) = v . phi(W x) per target."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "width": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "activation": [str, Activation],
        "method": [StrOptions({"auto", *METHODS})],
        "trained": [StrOptions({"W", "vW", "v"})],
        "bias": ["boolean"],
        "scaling": [StrOptions(set(SCALINGS))],
        "max_iter": [None, Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "step_size": [
            None,
            StrOptions({"theory", "local"}),
            Interval(Real, 0, None, closed="neither"),
        ],
        "until": [StrOptions(set(UNTIL))],
        "warm_start": ["boolean"],
        "certify": ["boolean"],
        "memory_limit": [None, Interval(Integral, 1, None, closed="left")],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }

    method: Method
    trained: Trained
    scaling: Scaling
    until: Until

    def __init__(
        self,
        *,
        width: int | str = "auto",
        activation: str | Activation = "softplus",
        method: Method = "auto",
        trained: Trained = "W",
        bias: bool = True,
        scaling: Scaling = "standardize",
        max_iter: int | None = None,
        tol: float = 1e-13,
        step_size: float | str | None = None,
        until: Until = "tolerance",
        warm_start: bool = False,
        certify: bool = True,
        memory_limit: int | None = None,
        verbose: int = 0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.width = width
        self.activation = activation
        self.method = method
        self.trained = trained
        self.bias = bias
        self.scaling = scaling
        self.max_iter = max_iter
        self.tol = tol
        self.step_size = step_size
        self.until = until
        self.warm_start = warm_start
        self.certify = certify
        self.memory_limit = memory_limit
        self.verbose = verbose
        self.random_state = random_state

    def _fit_targets(self, data: Dataset) -> None:
        """Train and prove one network per target, and set all fitted attributes."""
        targets = [data.for_target(j) for j in range(data.n_targets)]
        seeds = check_random_state(self.random_state).randint(
            np.iinfo(np.int32).max, size=len(targets)
        )
        starts = self._warm_starts(data)
        runs = [
            self._train(part, start, int(seed))
            for part, start, seed in zip(targets, starts, seeds, strict=True)
        ]
        proofs = [
            self._proof(run.network, part, self.trained, run=self._kept(run))
            for run, part in zip(runs, targets, strict=True)
        ]
        self._store(targets, runs, proofs)
        self._warn(runs, proofs)

    def _proof(
        self,
        network: ShallowNetwork,
        data: Dataset,
        trained: Trained = "W",
        weight_decay: float = 0.0,
        run: ShallowRun | None = None,
    ) -> Proof:
        """The proof of one network, in its quick form: zero loss next to the weights, or the gap,
        is what `fit` is asked for.
        """
        if not self.certify:
            return no_proof({}, message="certify=False")
        return prove(
            network, data, trained=trained, weight_decay=weight_decay, run=run, is_quick=True
        )

    def _kept(self, run: ShallowRun) -> ShallowRun | None:
        """The run, where the proof is to speak of its start."""
        return run if self.until == "proved" else None

    def _refuse_if_too_large(self, X: Array) -> None:
        """Before anything is computed; the n x n arrays decide, so an automatic width need not be
        known yet.
        """
        n, d = X.shape
        needed = estimate_memory(n, d, 1 if self.width == "auto" else int(self.width), self.method)
        require_memory(
            needed, f"training on {n} samples with method={self.method!r}", limit=self.memory_limit
        )

    def _warm_starts(self, data: Dataset) -> Sequence[ShallowNetwork | None]:
        """The earlier networks where they fit the new data and parameters, None elsewhere."""
        earlier = getattr(self, "networks_", [])
        if not self.warm_start or len(earlier) != data.n_targets:
            return [None] * data.n_targets
        phi = get_activation(self.activation)
        return [
            network
            if network.n_features == data.n_features
            and network.activation == phi
            and self.width in ("auto", network.width)
            else None
            for network in earlier
        ]

    def _train(self, data: Dataset, start: ShallowNetwork | None, seed: int) -> ShallowRun:
        options = {
            "trained": self.trained,
            "max_iter": self.max_iter,
            "tol": self.tol,
            "step_size": self.step_size,
            "until": self.until,
        }
        options |= {"seed": seed, "verbose": bool(self.verbose)}
        if start is None:
            return train_auto(data, self.width, self.activation, method=self.method, **options)
        # named, because "auto" would draw new weights whenever the continued run falls short
        method = (
            method_for(start.activation, self.trained) if self.method == "auto" else self.method
        )
        return train(start, data, method=method, **options)

    def _store(self, targets: list[Dataset], runs: list[ShallowRun], proofs: list[Proof]) -> None:
        self.networks_ = [run.network for run in runs]
        self.preprocessing_ = single([part.preprocessing for part in targets])
        self.trajectory_ = single([run.trajectory for run in runs])
        self.loss_curve_ = single([run.losses for run in runs])
        self.n_iter_ = single([run.n_iter for run in runs])
        self.width_ = single([run.width for run in runs])
        pairs = zip(self.networks_, targets, strict=True)
        losses = [half_square(network.predict(part.X) - part.y) for network, part in pairs]
        self._store_proofs(proofs)
        zeros = [half_square(part.y) for part in targets]
        name = self.networks_[0].activation.name
        self._store_gap(proofs, losses, zeros, f"{name} network of any width")
