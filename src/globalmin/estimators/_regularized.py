"""What estimators of networks with weight decay share: problems, the choice of the decay, proofs,
the gap in one sentence.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin._types import Array, Indices
from globalmin.data.preprocessing import Preprocessing
from globalmin.errors import DataError
from globalmin.estimators._candidates import stratified_folds
from globalmin.estimators._gap import Gap, part_of, require_fitted, single
from globalmin.estimators._networks import ProvedNetworks
from globalmin.files import canonical_json
from globalmin.proving.producer import prove
from globalmin.proving.proof import Proof, no_proof
from globalmin.regularized.dual import saturated, scale_words
from globalmin.regularized.folds import shuffled_folds
from globalmin.regularized.objective import RegularizedProblem, objective
from globalmin.regularized.preparation import (
    Choice,
    Settings,
    choose_decay,
    default_decays,
    stored_rows,
)
from globalmin.regularized.squares_training import SquaresRun
from globalmin.regularized.train import (
    RegularizedRun,
    largest_decay,
    rough_path,
    train_regularized,
)
from globalmin.shallow.storage import save_networks

if TYPE_CHECKING:
    from typing import Self

Run = RegularizedRun | SquaresRun
_FIT_CALLER = 5  # _warn_gap, _fit_labels, fit, scikit-learn's wrapper, the line of the user


@dataclass(frozen=True, eq=False)
class Fitted:
    """One network: what was chosen, trained and proved."""

    run: Run
    choice: Choice | None
    proof: Proof
    preprocessing: Preprocessing

    @property
    def objective(self) -> float:
        """The objective in floats."""
        return objective(self.run.network, self.run.problem)

    @property
    def relative_gap(self) -> float:
        """The proved gap as a share of the objective above what no model undercuts."""
        scale = self.objective - saturated(self.run.problem)
        if self.proof.gap == 0.0:
            return 0.0
        return self.proof.gap / scale if scale > 0 else math.inf


class RegularizedEstimator(ProvedNetworks):
    """Base of estimators that train networks with weight decay by column generation."""

    weight_decay: float | str
    gap: float
    max_iter: int
    cv: Any
    n_decays: int
    ratio: float
    random_state: Any
    runs_: list[Any]

    def _fit_labels(
        self, X: Array, labels: Sequence[Array], weight: Array | None, settings: Settings
    ) -> None:
        """One network for each array of labels, and all fitted attributes."""
        parts = [self._fit_one(X, y, weight, settings) for y in labels]
        self._rows = X
        self._store_parts(parts)
        self._warn_gap(parts)

    def _prove(self) -> Self:
        """Prove and have checked what was fitted with certify=False."""
        self.certify = True
        self._store_parts([replace(part, proof=self._proof_of(part.run)) for part in self._parts])
        return self

    def _store_parts(self, parts: Sequence[Fitted]) -> None:
        self._parts = parts
        self.networks_ = [part.run.network for part in parts]
        self.runs_ = [part.run for part in parts]
        self.preprocessing_ = single([part.preprocessing for part in parts])
        self.weight_decay_ = single([p.run.problem.penalty.weight_decay for p in parts])
        self.weight_decays_ = single([_of(p.choice, "decays") for p in parts])
        self.cv_losses_ = single([_of(p.choice, "losses") for p in parts])
        self.n_iter_ = single([part.run.n_iter for part in parts])
        self.width_ = single([part.run.network.width for part in parts])
        proofs = [part.proof for part in parts]
        self._store_proofs(proofs)
        self.objective_ = single([part.objective for part in parts])
        self.gap_ = single([proof.gap for proof in proofs])
        self.relative_gap_ = single([part.relative_gap for part in parts])
        self.lower_bound_ = single(
            [proof.loss_lower if proof.is_accepted else -math.inf for proof in proofs]
        )
        self.optimal_ = single([part.relative_gap <= self.gap for part in parts])

    def _fit_one(self, X: Array, y: Array, weight: Array | None, settings: Settings) -> Fitted:
        steps = settings.preprocessing(X, y, weight)
        stored = settings.rows(stored_rows(X, steps), weight)
        labels = steps.transform_y(y)
        settings = self._with_pairs(stored, labels, weight, settings)
        choice = self._choice(stored, labels, weight, settings)
        decay = float(self.weight_decay) if choice is None else choice.weight_decay
        problem = settings.problem(stored, labels, weight, decay)
        # half of what is asked for, because rounding and repair cost a little of the gap
        run = self._trained(problem, 0.5 * self.gap)
        return Fitted(run, choice, self._proof_of(run), steps)

    def _choice(
        self, stored: Array, labels: Array, weight: Array | None, settings: Settings
    ) -> Choice | None:
        """The decay by cross-validation, None if it is given."""
        if self.weight_decay != "cv":
            return None
        problem = settings.problem(stored, labels, weight, 1.0)
        decays = default_decays(problem, int(self.n_decays), float(self.ratio), self._largest_decay)
        folds = self._folds(stored, labels, settings)
        return choose_decay(problem, folds, decays, self._decay_path)

    def _with_pairs(
        self, stored: Array, labels: Array, weight: Array | None, settings: Settings
    ) -> Settings:
        """The settings with the class of networks chosen by the rows, where that is asked for."""
        del stored, labels, weight
        return settings

    def _trained(self, problem: RegularizedProblem, gap: float) -> Run:
        return train_regularized(problem, gap=gap, max_iter=int(self.max_iter))

    def _largest_decay(self, problem: RegularizedProblem) -> float:
        return largest_decay(problem)

    def _decay_path(
        self, problem: RegularizedProblem, decays: Sequence[float], *, gap: float
    ) -> Iterator[Run]:
        return rough_path(problem, decays, gap=gap)

    def _proof_of(self, run: Run) -> Proof:
        if not self.certify:
            return no_proof({}, message="certify=False")
        return prove(run.network, run.problem, run=run)

    def _folds(self, X: Array, y: Array, settings: Settings) -> list[tuple[Indices, Indices]]:
        """As the splitter says; a number means shuffled folds, stratified for classes."""
        if isinstance(self.cv, int | np.integer):
            count = min(int(self.cv), len(y))
            if count < 2:
                raise DataError(
                    f"weight_decay='cv' needs at least 2 rows, X has {len(y)} sample(s); give a "
                    "number as weight_decay"
                )
            is_real = settings.loss.labels not in ("signs", "classes") or _rarest(y) < count
            if is_real:
                return shuffled_folds(len(y), count, self.random_state)
            return stratified_folds(y, count, self.random_state)
        if isinstance(self.cv, list):
            return self.cv
        from sklearn.model_selection import check_cv

        splitter: Any = check_cv(self.cv)
        return list(splitter.split(X, y))

    def _warn_gap(self, parts: Sequence[Fitted]) -> None:
        short = [j for j, part in enumerate(parts) if not part.run.relative_gap <= self.gap]
        unproved = [j for j, part in enumerate(parts) if not part.proof.is_accepted]
        if short:
            from sklearn.exceptions import ConvergenceWarning

            run, value = parts[short[0]].run, parts[short[0]].objective
            text = (
                f"the objective {value:.6g} may be {run.relative_gap:.2g} of it "
                f"above its infimum, gap={self.gap:g} was asked for; raise max_iter, gap or "
                "weight_decay"
            )
            warnings.warn(text, ConvergenceWarning, stacklevel=_FIT_CALLER)
        elif self.certify and unproved:
            why = parts[unproved[0]].proof.why
            warnings.warn(f"no certificate: {why}", UserWarning, stacklevel=_FIT_CALLER)

    def save(self, path: str | Path) -> None:
        """Write the networks with their preprocessing to one file, for `globalmin.load_networks`
        and the command line; its metadata name the loss and the classes.
        """
        require_fitted(self)
        given: Any = self.preprocessing_
        metadata = {"loss": self.runs_[0].problem.loss.name}
        classes = getattr(self, "classes_", None)
        if classes is not None:
            metadata["classes"] = canonical_json(np.asarray(classes).tolist())
        steps = named_steps(given if isinstance(given, list) else [given], self)
        save_networks(path, self.networks_, steps, metadata)

    def _about_rows(self) -> list[str]:
        """What the statement says of the rows, if they are not the user's."""
        bins = getattr(self, "bins", None)
        return [] if bins is None else [f"every column binned to at most {bins} values"]

    def _gap(self, j: int) -> Gap:
        problem = self.runs_[j].problem
        return Gap(
            float(part_of(self.objective_, j)),
            float(part_of(self.gap_, j)),
            float(part_of(self.relative_gap_, j)),
            self.gap,
            f"{_named(problem, getattr(self, 'feature_names_in_', None))} of any width",
            part_of(self.verdict_, j),
            of=scale_words(problem),
            notes=(f"weight decay {problem.penalty.weight_decay:.4g}", *self._about_rows()),
        )


def named_steps(steps: Sequence[Preprocessing], model: Any) -> list[Preprocessing]:
    """The preprocessing with the names of the columns, where they are known."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return list(steps)
    return [replace(step, feature_names=tuple(str(name) for name in names)) for step in steps]


def column_names(model: Any, count: int) -> list[str]:
    """The names of the columns, or their numbers."""
    given = getattr(model, "feature_names_in_", None)
    return [f"column {j}" for j in range(count)] if given is None else [str(name) for name in given]


def _named(problem: RegularizedProblem, names: Sequence[Any] | None = None) -> str:
    """The class of networks in words; its rules by the names of columns, or their places from 0."""
    if problem.penalty.neurons == "quadratic":
        return "network of squares"
    kind = {"columns": "additive network", "pairs": "network of pairs", "all": "ReLU network"}
    groups = problem.groups if isinstance(problem.groups, str) else ""
    name = kind.get(groups, "network of these groups of columns")
    slopes = problem.monotone or ()
    rules = [
        _listed(word, [j for j, slope in enumerate(slopes) if slope == sign], names)
        for sign, word in ((1, "nondecreasing"), (-1, "nonincreasing"))
        if sign in slopes
    ]
    if rules:
        return f"{name} with every neuron {' and '.join(rules)}"
    shapes = problem.shapes or ()
    curves = [
        _listed(word, [j for j, shape in enumerate(shapes) if shape == word], names)
        for word in dict.fromkeys(shapes)
        if word != "none"
    ]
    return f"{name} with curves {' and '.join(curves)}" if curves else name


def _listed(word: str, columns: list[int], names: Sequence[Any] | None) -> str:
    if names is not None:
        return f"{word} in {', '.join(repr(str(names[j])) for j in columns)}"
    return f"{word} in column{'s' if len(columns) > 1 else ''} {', '.join(map(str, columns))}"


def _of(choice: Choice | None, name: str) -> Array | None:
    return None if choice is None else getattr(choice, name)


def _rarest(y: Array) -> int:
    return int(np.unique(y, return_counts=True)[1].min())


def checked_weight(sample_weight: Any, X: Array) -> Array | None:
    """Sample weights as an array, None if none are given; negative ones are refused."""
    if sample_weight is None:
        return None
    from sklearn.utils.validation import _check_sample_weight

    weight: Any = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    if not weight.any():
        raise DataError("sample_weight is zero for every row; give some row a positive weight")
    return weight
