"""What the regressor and the classifier share: parameters, training of one network per target,
proof, warnings, warm start.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from globalmin._options import UNTIL, Method, Scaling, Trained, Until
from globalmin._types import Array
from globalmin.activations import Activation, get_activation
from globalmin.data import SCALINGS, Dataset
from globalmin.data.validation import require_memory
from globalmin.estimators._gap import GapStatement, LossGap, half_square
from globalmin.optimize.run import Status
from globalmin.proving.producer import prove
from globalmin.proving.proof import Proof, joined, no_proof
from globalmin.shallow.methods.table import METHODS, method_for
from globalmin.shallow.problem import estimate_memory
from globalmin.shallow.train import train, train_auto
from globalmin.shallow.trajectory import ShallowRun

if TYPE_CHECKING:
    from globalmin.shallow.network import ShallowNetwork


T = TypeVar("T")

_FIT_CALLER = (
    5  # _warn, _fit_targets, fit, scikit-learn's wrapper of fit, and then the line of the user
)


class ProvedEstimator(GapStatement, BaseEstimator):
    """What every estimator of networks with a proof has: its networks, its certificates, one
    warning per fit, and outputs in the user's units.
    """

    certify: bool
    networks_: list[Any]
    preprocessing_: Any

    @property
    def network_(self) -> Any:
        """The network, if there is only one; `networks_` lists them all."""
        if not hasattr(self, "networks_") or len(self.networks_) != 1:
            raise AttributeError(
                f"this {type(self).__name__} has no single network; fit it, or use networks_ if it "
                "has several"
            )
        return self.networks_[0]

    def _store_proofs(self, proofs: Sequence[Proof]) -> None:
        self.certificate_ = _single([proof.certificate for proof in proofs])
        self.verdict_ = _single([proof.verdict if proof.has_file else None for proof in proofs])
        self.loss_upper_ = _single([proof.loss_upper for proof in proofs])
        self.loss_lower_ = _single([proof.loss_lower for proof in proofs])

    def _warn(self, runs: Sequence[Any], proofs: Sequence[Proof]) -> None:
        """One warning per fit: about training if it fell short, otherwise about a proof that was
        wanted and not found.
        """
        unproved = [j for j, proof in enumerate(proofs) if not proof.is_accepted]
        short = [
            j
            for j, (run, proof) in enumerate(zip(runs, proofs, strict=True))
            if not _is_enough(run, proof)
        ]
        if short:
            text = f"{_about(short, runs)}{self._falls_short(runs[short[0]])}"
            warnings.warn(text, ConvergenceWarning, stacklevel=_FIT_CALLER)
        elif self.certify and unproved:
            warnings.warn(
                f"{_about(unproved, runs)}no certificate: {proofs[unproved[0]].why}",
                UserWarning,
                stacklevel=_FIT_CALLER,
            )
        elif unmet := [j for j, proof in enumerate(proofs) if proof.reasons]:
            warnings.warn(
                f"{_about(unmet, runs)}the certificate does not say all that was asked for: "
                f"{joined(proofs[unmet[0]].reasons)}",
                UserWarning,
                stacklevel=_FIT_CALLER,
            )

    def _falls_short(self, run: Any) -> str:
        """What is said of a run that missed its target, with the remedy."""
        remedy = "raise max_iter, widen the network or try another random_state"
        return f"{run.message}; {run.starts} start(s), width {run.width}: {remedy}"

    def _checked_rows(self, X: Any) -> Array:
        """Inputs to predict at, after scikit-learn's checks."""
        checked: Any = validate_data(self, X, reset=False)
        return checked

    def _outputs(self, X: Any) -> Array:
        """Outputs of all networks at raw inputs, in the user's units, one column each."""
        check_is_fitted(self)
        raw = self._checked_rows(X)
        steps = (
            self.preprocessing_ if isinstance(self.preprocessing_, list) else [self.preprocessing_]
        )
        stored = steps[0].transform(raw)
        return np.stack(
            [
                step.restore(network.predict(stored))
                for step, network in zip(steps, self.networks_, strict=True)
            ],
            axis=1,
        )


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
        self.preprocessing_ = _single([part.preprocessing for part in targets])
        self.trajectory_ = _single([run.trajectory for run in runs])
        self.loss_curve_ = _single([run.losses for run in runs])
        self.n_iter_ = _single([run.n_iter for run in runs])
        self.width_ = _single([run.width for run in runs])
        pairs = zip(self.networks_, targets, strict=True)
        losses = [half_square(network.predict(part.X) - part.y) for network, part in pairs]
        self._store_proofs(proofs)
        zeros = [half_square(part.y) for part in targets]
        name = self.networks_[0].activation.name
        self._store_gap(proofs, losses, zeros, f"{name} network of any width")


def _single(values: list[T]) -> T | list[T]:
    """The value itself for one target, the list for several."""
    return values[0] if len(values) == 1 else values


def _is_enough(run: Any, proof: Proof) -> bool:
    """Whether training needs no warning: it reached its target, or rounding stopped it next to
    proved zero-loss weights.
    """
    at_zero = run.status is Status.STALLED and proof.reaches_minimum and proof.loss_lower == 0
    return run.status.is_success or at_zero


def _about(which: list[int], runs: Sequence[Any]) -> str:
    return "" if len(runs) == 1 else f"target {which[0]} ({len(which)} of {len(runs)} targets): "
