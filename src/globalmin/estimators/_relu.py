"""What the estimators of fully connected ReLU networks with weight decay share: the choice of the
decay, training, proof, and the sentence about the gap.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from globalmin._options import Scaling
from globalmin._types import Array, Indices
from globalmin.data import Dataset
from globalmin.estimators._gap import Gap, part_of, require_fitted, single
from globalmin.estimators._networks import ProvedNetworks
from globalmin.estimators._regularized import column_names, named_steps
from globalmin.files import canonical_json
from globalmin.losses import Loss
from globalmin.proving.producer import prove
from globalmin.proving.proof import Proof, no_proof
from globalmin.regularized.dual import scale_words
from globalmin.regularized.effects import Effect, effects_of
from globalmin.regularized.folds import random_state_of
from globalmin.regularized.full_run import (
    FullRun,
    estimate_largest_decay,
    full_decay_path,
    train_relu,
    trained_to_the_end,
)
from globalmin.regularized.network import RegularizedNetwork
from globalmin.regularized.objective import HiddenBias, Penalty, RegularizedProblem
from globalmin.regularized.preparation import followed, subset
from globalmin.regularized.terms import DRAWN
from globalmin.shallow.storage import save_networks

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# of the largest decay that is worth trying
CV_SHARES = (0.5, 0.3, 0.17, 0.1, 0.06, 0.03, 0.017, 0.01)
_WORSE = 2  # decays in a row without a better held-out loss end the search: the next cost most
# _warn_proofs, _store_runs, _fit_problems, fit, scikit-learn's wrapper, the line of the user
_FIT_CALLER = 6


class ReluNetworkEstimator(ProvedNetworks):
    """What regressor and classifier share: choose the decay, train, prove, say how far."""

    loss: str
    weight_decay: float | str
    hidden_bias: HiddenBias
    intercept: Literal["free", "none"] | float
    linear: Literal["free", "none"] | float
    scaling: Scaling
    gap: float
    starts: int
    max_seconds: float
    max_cones: int
    cv: Any
    random_state: int | np.random.RandomState | None

    def _penalty(self, weight_decay: float) -> Penalty:
        return Penalty(
            weight_decay,
            hidden_bias=self.hidden_bias,
            intercept=self.intercept,
            linear=self.linear,
        )

    def _problem(self, X: Array, y: Array, loss: Loss, weight_decay: float) -> RegularizedProblem:
        return RegularizedProblem(X, y, self._penalty(weight_decay), loss, groups="all")

    def _scaled(self, X: Array, y: Array, loss: Loss) -> tuple[Array, Array]:
        """The rows as they are trained on; labels that are no measurements keep their units."""
        loss.check_labels(y)
        data = Dataset(X, y, bias=False, scaling=self.scaling)
        step = data.preprocessing
        self.preprocessing_ = (
            step if loss.labels == "real" else replace(step, y_shift=0.0, y_scale=1.0)
        )
        return data.X, data.y if loss.labels == "real" else y

    def _fit_problems(self, X: Array, labels: Sequence[Array], loss: Loss) -> None:
        """Choose the decay, train and prove one network per column of labels, and set all fitted
        attributes.
        """
        seed = int(random_state_of(self.random_state).randint(np.iinfo(np.int32).max))
        self.weight_decay_ = self._chosen_decay(X, labels, loss, seed)
        runs = [self._run(self._problem(X, y, loss, self.weight_decay_), seed) for y in labels]
        proofs = [self._proof(run) for run in runs]
        self._store_runs(runs, proofs)

    def _run(self, problem: RegularizedProblem, seed: int) -> FullRun:
        """The trained network, with a floor only if it is to be proved."""
        limits: dict[str, Any] = {
            "starts": self.starts,
            "max_seconds": self.max_seconds,
            "max_cones": self.max_cones,
            "seed": seed,
        }
        if not self.certify:
            return FullRun(trained_to_the_end(problem, **limits), problem, None)
        return train_relu(problem, gap=self.gap, **limits)

    def _proof(self, run: FullRun) -> Proof:
        if not self.certify:
            return no_proof({}, message="certify=False")
        return prove(run.network, run.problem, run=run, is_quick=True)

    def _store_runs(self, runs: Sequence[FullRun], proofs: Sequence[Proof]) -> None:
        self.networks_ = [run.network for run in runs]
        self._scales = [scale_words(run.problem) for run in runs]
        self.width_ = single([run.network.width for run in runs])
        self.objective_ = single([run.objective for run in runs])
        self.bound_ = single([constraint_of(proof) for proof in proofs])
        self._store_proofs(proofs)
        found = [claim_numbers(proof) for proof in proofs]
        self.loss_lower_ = single([floor for floor, _ in found])
        self.lower_bound_ = self.loss_lower_
        self.gap_ = single([gap for _, gap in found])
        shares = [run.share_of(gap) for (_, gap), run in zip(found, runs, strict=True)]
        self.relative_gap_ = single(shares)
        self.optimal_ = single([share <= self.gap for share in shares])
        self._warn_proofs(runs, proofs)

    def _warn_proofs(self, runs: Sequence[FullRun], proofs: Sequence[Proof]) -> None:
        unproved = [j for j, proof in enumerate(proofs) if not proof.is_accepted]
        if self.certify and unproved:
            where = "" if len(runs) == 1 else f"network {unproved[0]}: "
            warnings.warn(
                f"{where}no certificate: {proofs[unproved[0]].why}",
                UserWarning,
                stacklevel=_FIT_CALLER,
            )

    def _chosen_decay(self, X: Array, labels: Sequence[Array], loss: Loss, seed: int) -> float:
        """The number given, or that with the least held-out loss."""
        if not isinstance(self.weight_decay, str):
            return float(self.weight_decay)
        whole = [self._problem(X, y, loss, 1.0) for y in labels]
        largest = max(estimate_largest_decay(problem, seed=seed) for problem in whole)
        decays = largest * np.array(CV_SHARES)
        choice = followed(decays, self._held_out_losses(whole, decays, seed), _WORSE)
        self.weight_decays_, self.loss_path_ = choice.decays, choice.losses
        return choice.weight_decay

    def _held_out_losses(
        self, whole: Sequence[RegularizedProblem], decays: Array, seed: int
    ) -> Iterator[list[float]]:
        """For one decay after the other the mean held-out loss of every fold, summed over the
        networks. The decay of a fold is that of all rows times its share of them: the objective is
        a sum.
        """
        X, codes = whole[0].X, self._stratified([problem.y for problem in whole])
        splits = self._splits(X, codes)
        paths = [
            [
                (
                    full_decay_path(part, (decays * (len(train) / len(X))).tolist(), seed=seed),
                    problem,
                )
                for problem in whole
                for part in [subset(problem, train)]
                if _says_something(part)
            ]
            for train, _ in splits
        ]
        for _ in decays:
            yield [
                sum(_loss_at(next(path), problem, test) for path, problem in fold)
                for fold, (_, test) in zip(paths, splits, strict=True)
            ]

    def _splits(self, X: Array, codes: Array) -> list[tuple[Indices, Indices]]:
        if isinstance(self.cv, list):
            return self.cv
        from sklearn.model_selection import check_cv

        folds: Any = check_cv(self.cv, codes, classifier=hasattr(self, "classes_"))
        return list(folds.split(X, codes))

    def _stratified(self, labels: Sequence[Array]) -> Array:
        return labels[0] if len(labels) == 1 else np.stack(labels, axis=1).argmax(axis=1)

    def _gap(self, j: int) -> Gap:
        bound = part_of(self.bound_, j)
        return Gap(
            float(part_of(self.objective_, j)),
            float(part_of(self.gap_, j)),
            float(part_of(self.relative_gap_, j)),
            self.gap,
            "ReLU network of any width",
            part_of(self.verdict_, j),
            of=self._scales[j],
            notes=(f"weight decay {self.weight_decay_:.4g}", f"floor proved by {bound}"),
        )

    def plot_effects(self, X: Any, *, target: int = 0, most: int = DRAWN) -> Figure:
        """What each column does to the output: the column moved through its range at the rows, the
        other columns as they are. Measured, not proved.

        Parameters
        ----------
        X : Any
            Raw rows, those of `fit` for example.
        target : int
            The class, where there are more than two.
        most : int
            Columns to draw at most, those that move the output most.
        """
        from globalmin.regularized.figures import draw_effects

        found = self.effects(X, target=target)[:most]
        return draw_effects(found, np.asarray(X, dtype=np.float64))

    def effects(self, X: Any, *, target: int = 0) -> list[Effect]:
        """What `plot_effects` draws, of all columns, the largest first.

        Parameters
        ----------
        X : Any
            Raw rows.
        target : int
            The class, where there are more than two.
        """
        require_fitted(self)
        rows = np.asarray(X, dtype=np.float64)
        names = column_names(self, rows.shape[1])
        return effects_of(self.networks_[target], self.preprocessing_, rows, names)

    def summary(self) -> str:
        """Deprecated: the older name of `gap_statement`."""
        warnings.warn(
            "summary() is now gap_statement(), by the same name on every estimator",
            FutureWarning,
            stacklevel=2,
        )
        return self.gap_statement()

    def save(self, path: str | Path) -> None:
        """Write the networks with their preprocessing to one file, for `globalmin.load_networks`
        and the command line; its metadata name the loss and the classes.
        """
        require_fitted(self)
        metadata = {"loss": self.loss}
        classes = getattr(self, "classes_", None)
        if classes is not None:
            metadata["classes"] = canonical_json(np.asarray(classes).tolist())
        steps = named_steps([self.preprocessing_] * len(self.networks_), self)
        save_networks(path, self.networks_, steps, metadata)


def _says_something(part: RegularizedProblem) -> bool:
    """Not a fold without one of the classes."""
    return part.loss.labels != "signs" or len(np.unique(part.y)) == 2


def _loss_at(network: RegularizedNetwork, problem: RegularizedProblem, rows: Indices) -> float:
    return float(problem.loss.value(network.predict(problem.X[rows]), problem.y[rows]).mean())


def claim_numbers(proof: Proof) -> tuple[float, float]:
    """Floor and gap of an accepted claim `dual-gap`; minus infinity and infinity without one."""
    claim = proof.claim("dual-gap")
    if claim is None or claim.numbers.floor is None or claim.numbers.gap is None:
        return -math.inf, math.inf
    return claim.numbers.floor, claim.numbers.gap


def constraint_of(proof: Proof) -> str | None:
    """How the checker verified the floor: "columns", "cones" or "spectral"; None without one."""
    claim = proof.claim("dual-gap")
    return None if claim is None else str(claim.numbers.others.get("constraint"))
