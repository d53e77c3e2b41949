"""What the estimators that choose a network share: the comparison, the proof of the winner, and its
figures under the names that all estimators have.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from globalmin._types import Array, NDArray
from globalmin.errors import DataError
from globalmin.estimators._baselines import try_baselines
from globalmin.estimators._candidates import (
    MODELS,
    TOLERANCES,
    Candidate,
    Folds,
    Rows,
    Trial,
    left_out,
    proved,
    shared_folds,
    standard_error,
    try_model,
)
from globalmin.estimators._gap import require_fitted
from globalmin.losses import Loss, get_loss
from globalmin.regularized.folds import random_state_of
from globalmin.regularized.preparation import Settings

TASKS = ("auto", "regression", "classification")
_FIT_CALLER = 4  # _choose, fit, scikit-learn's wrapper of fit, and then the line of the user
_TOLD = ("networks_", "preprocessing_", "objective_", "lower_bound_", "gap_", "relative_gap_",
         "optimal_", "verdict_", "certificate_", "loss_upper_", "loss_lower_", "weight_decay_",
         "width_")  # fmt: skip

Given = tuple[Any, Any, Array | None]  # X, y and sample weights, as the estimators take them


class ProvedNetworkEstimator:
    """Base of the estimators that choose among networks with weight decay."""

    _classifies: ClassVar[bool]
    models: str | Sequence[str]
    loss: str
    weight_decay: float | str
    interactions: str | Sequence[Sequence[int]]
    bins: int | None
    shapes: Mapping[str | int, str | int] | Sequence[str | int] | None
    scaling: Literal["standardize", "none"]
    gap: float | None
    cv: Any
    certify: bool
    random_state: Any
    optimal_: Any

    def _choose(
        self,
        X: Any,
        rows: Array,
        y: NDArray[Any],
        labels: Sequence[Array],
        weight: Array | None = None,
    ) -> None:
        """Compare the models on the same folds, prove the best, and set all fitted attributes."""
        seed = int(random_state_of(self.random_state).randint(np.iinfo(np.int32).max))
        names = self._names()
        compared = self._compared(rows, y, labels, seed, weight)
        trials, absent = self._tried(names, compared, (X, y, weight), seed)
        ranked = sorted(trials, key=lambda trial: trial.row.loss)
        winner, told = self._first_proved(ranked, (X, y, weight))
        self.best_estimator_ = winner.estimator
        self.model_ = winner.row.name
        order = {name: place for place, name in enumerate(names)}
        networks = sorted([*told, *absent], key=lambda row: order[row.name])
        found, penalty = try_baselines(compared) if compared.folds else ([], 1e-3)
        self.candidates_ = (*networks, *found)
        self.baseline_ = self._linear(penalty, rows, y, weight)
        for name in _TOLD:
            setattr(self, name, getattr(self.best_estimator_, name))
        if self.certify and not bool(np.all(self.optimal_)):
            from sklearn.exceptions import ConvergenceWarning

            warnings.warn(self.gap_statement(), ConvergenceWarning, stacklevel=_FIT_CALLER)

    def _names(self) -> list[str]:
        if self.models == "auto":
            names: list[str] = [*MODELS]
        elif isinstance(self.models, str):
            names = [self.models]
        else:
            names = list(self.models)
        if not names or not set(names) <= set(MODELS) or len(set(names)) < len(names):
            raise DataError(
                f"models={self.models!r} must be 'auto' or some of {', '.join(MODELS)}, each once"
            )
        if self.shapes is not None and names != ["additive"]:
            raise DataError(
                f"shapes={self.shapes!r}: only additive networks have curves with shapes; take "
                "models='additive'"
            )
        if self.weight_decay != "cv" and len(names) > 1:
            raise DataError(
                f"weight_decay={self.weight_decay!r} means another penalty in every model; name "
                "one model with it, or leave it at 'cv'"
            )
        return names

    def _loss_object(self) -> Loss:
        if self.loss == "softmax":
            return get_loss("softmax", len(getattr(self, "classes_", "ab")))
        return get_loss(self.loss, getattr(self, "loss_parameter", None))

    def _compared(
        self,
        rows: Array,
        y: NDArray[Any],
        labels: Sequence[Array],
        seed: int,
        weight: Array | None,
    ) -> Rows:
        """What the candidates are compared on; no folds for a given decay of too few rows."""
        loss = self._loss_object()
        step = Settings(loss, scaling=self.scaling).preprocessing(rows, labels[0], weight)
        try:
            folds = self._given_folds(rows, y)
            if folds is None:
                folds = shared_folds(y, int(self.cv), seed, classifies=self._classifies)
        except DataError:
            if self.weight_decay == "cv":
                raise
            folds = []
        targets = [step.transform_y(part) for part in labels]
        used = np.ones(len(rows)) if weight is None else weight
        return Rows(step.transform(rows), targets, loss, folds, used)

    def _given_folds(self, rows: Array, y: NDArray[Any]) -> Folds | None:
        """Those of a splitter of scikit-learn, or of a list; None if `cv` is a number."""
        if isinstance(self.cv, int | np.integer):
            return None
        from sklearn.model_selection import check_cv

        splitter: Any = check_cv(self.cv, y, classifier=self._classifies)
        return list(splitter.split(rows, y))

    def _tried(
        self, names: Sequence[str], compared: Rows, given: Given, seed: int
    ) -> tuple[list[Trial], list[Candidate]]:
        """The models that took part, and the rows of those that did not."""
        trials: list[Trial] = []
        absent: list[Candidate] = []
        for name in names:
            reason = left_out(name, compared) if self.models == "auto" else ""
            if self.loss == "softmax" and name != "additive" and self.models != "auto":
                raise DataError(
                    f"models={self.models!r} with loss='softmax': only additive networks have "
                    "several outputs; take models='additive' or loss='logistic'"
                )
            if name == "relu" and given[2] is not None:
                reason = reason or "left out: it takes no sample weights"
                if names == ["relu"]:
                    raise DataError("models='relu' takes no sample weights; choose another model")
            if reason:
                absent.append(Candidate(name, True, note=reason))
                continue
            estimator = self._estimator(name, compared, seed)
            try:
                trials.append(try_model(estimator, name, *given))
            except DataError as error:
                if len(names) == 1 or (name == names[-1] and not trials):
                    raise
                absent.append(Candidate(name, True, note=f"left out: {error}"))
        return trials, absent

    def _estimator(self, name: str, compared: Rows, seed: int) -> Any:
        options: dict[str, Any] = {
            "loss": self.loss,
            "weight_decay": self.weight_decay,
            "scaling": self.scaling,
            "gap": TOLERANCES[name] if self.gap is None else float(self.gap),
            "cv": compared.folds or 2,
            "random_state": seed,
        }
        if not self._classifies:
            options["loss_parameter"] = getattr(self, "loss_parameter", None)
        if name == "additive":
            options |= {"interactions": self.interactions, "bins": self.bins}
            options |= {"shapes": self.shapes}
        return self._model(name, options)

    def _model(self, name: str, options: dict[str, Any]) -> Any:
        """A model by its name, not yet fitted."""
        raise NotImplementedError

    def _linear(self, penalty: float, X: Array, y: NDArray[Any], weight: Array | None) -> Any:
        """The linear model to stand beside, fitted to raw rows."""
        raise NotImplementedError

    def _first_proved(self, ranked: Sequence[Trial], given: Given) -> tuple[Trial, list[Candidate]]:
        """The best model whose gap is proved within its tolerance; the best one if none is."""
        if not self.certify:
            rows = [replace(t.row, note="higher held-out loss") for t in ranked[1:]]
            return ranked[0], [replace(ranked[0].row, note="chosen"), *rows]
        rows = []
        for i, trial in enumerate(ranked):
            started = time.perf_counter()
            proved(trial, *given)
            share = float(np.max(trial.estimator.relative_gap_))
            row = replace(
                trial.row,
                relative_gap=share if np.isfinite(share) else None,
                seconds=trial.row.seconds + time.perf_counter() - started,
            )
            if bool(np.all(trial.estimator.optimal_)):
                rest = [replace(t.row, note="higher held-out loss") for t in ranked[i + 1 :]]
                return trial, [*rows, replace(row, note="chosen"), *rest]
            rows.append(replace(row, note="not proved within the tolerance"))
        return ranked[0], [
            replace(rows[0], note="chosen, not proved within the tolerance"),
            *rows[1:],
        ]

    def gap_statement(self, target: int | None = None) -> str:
        """The gap of the chosen network in one sentence, with the tolerance beside it.

        Parameters
        ----------
        target : int | None
            The class, where there are more than two; None for all, on lines of their own.
        """
        require_fitted(self)
        return self.best_estimator_.gap_statement(target)

    def choice_statement(self) -> str:
        """Which model was chosen and why, and how the linear baseline did, in a few sentences."""
        require_fitted(self)
        return why_chosen(self.model_, self.candidates_)

    def save(self, path: str | Path) -> None:
        """Write the chosen networks with their preprocessing, for `globalmin.load_networks`."""
        require_fitted(self)
        self.best_estimator_.save(path)

    def save_certificate(self, path: str | Path, target: int = 0) -> Path:
        """Write the accepted certificate (of one class) to a file for `globalmin-check`."""
        require_fitted(self)
        return self.best_estimator_.save_certificate(path, target)

    @property
    def network_(self) -> Any:
        """The network, if there is only one; `networks_` lists them all."""
        return self.best_estimator_.network_

    def _check_rows(self, X: Any) -> None:
        """Refuse rows that the model cannot take."""
        from sklearn.utils.validation import validate_data

        validate_data(self, X, reset=False, dtype=np.float64)

    def _ask(self, method: str, X: Any) -> Any:
        """What the chosen estimator answers at rows that were checked here."""
        require_fitted(self)
        self._check_rows(X)
        with warnings.catch_warnings():
            # columns may be named after the fit, for pictures
            warnings.filterwarnings("ignore", message="X does not have valid feature names")
            return getattr(self.best_estimator_, method)(X)


def is_classification(y: NDArray[Any]) -> bool:
    """What task="auto" takes labels for: text, logical, or two whole
    numbers are classes.
    """
    return y.dtype.kind in "OUSb" or (are_whole(y) and np.unique(y).size == 2)


def are_whole(y: NDArray[Any]) -> bool:
    """Whether every label is a whole number, or none is a number; others name no classes."""
    return y.dtype.kind != "f" or bool((y == np.round(y)).all())


def why_chosen(model: str, candidates: Sequence[Candidate]) -> str:
    """Which model was chosen and why, and how the linear baseline did."""
    chosen = next(row for row in candidates if row.name == model)
    if not chosen.took_part:
        return f"The model {model} and its weight decay were given; nothing was compared."
    rivals = [row for row in candidates if row.is_network and row.took_part]
    said = [_among(chosen, rivals)]
    better = [row for row in rivals if row.loss < chosen.loss]
    said += [
        f"The {row.name} network had a lower held-out loss ({row.loss:.4g}), but its gap was not "
        "proved within its tolerance."
        for row in better
    ]
    linear = next((r for r in candidates if not r.is_network and r.name != "best constant"), None)
    if linear is not None:
        said.append(_beside(chosen, linear))
    return " ".join(said)


def _among(chosen: Candidate, rivals: Sequence[Candidate]) -> str:
    count, folds = len(rivals), len(chosen.losses)
    if count == 1:
        return (
            f"One model took part, {chosen.name}; its weight decay has the least held-out loss "
            f"over {folds} folds, {chosen.loss:.4g}."
        )
    is_least = all(chosen.loss <= row.loss for row in rivals)
    lead = "least" if is_least else "least provable"
    return (
        f"Of {count} models compared on the same {folds} folds, the {chosen.name} network has the "
        f"{lead} held-out loss, {chosen.loss:.4g}."
    )


def _beside(chosen: Candidate, linear: Candidate) -> str:
    """The paired difference of the folds, honest where the baseline is better."""
    difference = np.array(chosen.losses) - np.array(linear.losses)
    mean, spread = float(difference.mean()), standard_error(difference)
    if not np.isfinite(mean):
        return f"{linear.name.capitalize()} has no finite held-out loss here."
    word = "lower" if mean < 0 else "higher"
    doubt = "" if abs(mean) > 2 * spread else ": too close to tell"
    return (
        f"{linear.name[0].upper()}{linear.name[1:]} has {linear.loss:.4g}; the network's loss is "
        f"{abs(mean):.2g} {word} (standard error {spread:.2g} over the folds){doubt}."
    )
