"""What the additive regressor and classifier share: settings, terms, pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin._options import Scaling
from globalmin._types import Array
from globalmin.errors import DataError
from globalmin.estimators._gap import require_fitted
from globalmin.estimators._regularized import RegularizedEstimator, column_names
from globalmin.losses import get_loss
from globalmin.regularized.objective import Groups, HiddenBias
from globalmin.regularized.preparation import Settings
from globalmin.regularized.screening import lacking_pairs
from globalmin.regularized.shared import SharedNetwork
from globalmin.regularized.terms import DRAWN, Term, terms_of
from globalmin.regularized.train import train_regularized

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def _shape(given: Any) -> Any:
    """A shape as `monotonic_cst` spells it in words; words as they are."""
    spelled = {1: "increasing", -1: "decreasing", 0: "none"}
    return spelled.get(int(given), given) if isinstance(given, Integral) else given


def _with_columns(pairs: list[tuple[int, ...]], d: int) -> tuple[tuple[int, ...], ...]:
    """The pairs, and a group of its own for every other column."""
    seen = {j for pair in pairs for j in pair}
    return (*dict.fromkeys(pairs), *((j,) for j in range(d) if j not in seen))


class AdditiveNetworkEstimator(RegularizedEstimator):
    """What the additive regressor and classifier share: settings, terms, pictures."""

    interactions: str | Sequence[Sequence[int]]
    loss: str
    loss_parameter: float | None
    hidden_bias: HiddenBias
    scaling: Scaling
    monotone: Mapping[str | int, int] | Sequence[int] | None
    shapes: Mapping[str | int, str | int] | Sequence[str | int] | None
    bins: int | None

    def _settings(self, n_features: int, name: str | None = None) -> Settings:
        loss = get_loss(self.loss if name is None else name, self.loss_parameter)
        groups, slopes = self._groups(n_features), self._slopes(n_features)
        found = Settings(loss, groups, self.hidden_bias, self.scaling, slopes, self.bins)
        words = self._by_column("shapes", self.shapes, n_features, "none")
        if words is None:
            return found
        return replace(found, shapes=tuple(_shape(word) for word in words))

    def _slopes(self, d: int) -> tuple[int, ...] | None:
        """One number per column."""
        return self._by_column("monotone", self.monotone, d, 0)

    def _by_column(self, rule: str, given: Any, d: int, nothing: Any) -> tuple[Any, ...] | None:
        """One value per column, the columns found by their names."""
        if given is None:
            return None
        if not isinstance(given, Mapping):
            return tuple(given)
        names = {str(x): j for j, x in enumerate(getattr(self, "feature_names_in_", ()))}
        values = [nothing] * d
        for column, value in given.items():
            place = names.get(column) if isinstance(column, str) else int(column)
            if place is None or not 0 <= place < d:
                known = f", or one of {', '.join(names)}" if names else ""
                raise DataError(
                    f"{rule}: X has no column {column!r}; give a number from 0 to {d - 1}{known}"
                )
            values[place] = value
        return tuple(values)

    def _groups(self, d: int) -> Groups | tuple[tuple[int, ...], ...]:
        """The named class, or the given pairs with a group of its own for every other column."""
        if self.interactions in ("none", "auto") or (self.interactions == "pairs" and d < 2):
            return "columns"
        if isinstance(self.interactions, str):
            return "pairs"
        pairs = [tuple(sorted(int(j) for j in pair)) for pair in self.interactions]
        if any(len(set(p)) != 2 or p[0] < 0 or p[-1] >= d for p in pairs):
            raise DataError(
                f"interactions={self.interactions!r}: give pairs of different columns from 0 to "
                f"{d - 1}"
            )
        return _with_columns(pairs, d)

    def _with_pairs(
        self, stored: Array, labels: Array, weight: Array | None, settings: Settings
    ) -> Settings:
        """For "auto" the pairs that the network of single columns lacks most."""
        if self.interactions != "auto":
            return settings
        choice = self._choice(stored, labels, weight, settings)
        decay = float(self.weight_decay) if choice is None else choice.weight_decay
        alone = train_regularized(settings.problem(stored, labels, weight, decay), gap=1e-4)
        pairs = lacking_pairs(alone)
        return (
            replace(settings, groups=_with_columns([*pairs], stored.shape[1]))
            if pairs
            else settings
        )

    @property
    def terms_(self) -> list[Term] | list[list[Term]]:
        """The terms, the largest first; a list per class if there are more than two, or for a
        softmax.
        """
        require_fitted(self)
        steps = (
            self.preprocessing_ if isinstance(self.preprocessing_, list) else [self.preprocessing_]
        )
        names = column_names(self, self._rows.shape[1])
        joint = self._joint()
        if joint is not None:
            return [
                terms_of(joint.output(o), steps[0], self._rows, names) for o in range(joint.outputs)
            ]
        found = [
            terms_of(network, step, self._rows, names)
            for network, step in zip(self.networks_, steps, strict=True)
        ]
        return found[0] if len(found) == 1 else found

    def _joint(self) -> SharedNetwork | None:
        """The network, if its outputs share their neurons."""
        network = self.networks_[0]
        return network if isinstance(network, SharedNetwork) else None

    def plot_terms(
        self, X: Any = None, y: Any = None, *, target: int = 0, most: int = DRAWN
    ) -> Figure:
        """The terms as curves and surfaces, the largest first, with the rows drawn where they lie.

        Parameters
        ----------
        X : Any
            Rows to draw; by default those of `fit`.
        y : Any
            Their labels in the units of the outputs: curves are then drawn among what the other
            terms leave over (partial residuals). By default the rows are marked along the axis.
        target : int
            The class, where there are more than two; a softmax has all classes in each panel.
        most : int
            Terms to draw at most.
        """
        from globalmin.regularized.figures import draw_classes, draw_terms

        require_fitted(self)
        rows = self._rows if X is None else np.asarray(self._array(X), dtype=np.float64)
        found: Any = self.terms_
        if self._joint() is not None:
            classes = [str(label) for label in getattr(self, "classes_", range(len(found)))]
            return draw_classes(found, classes, rows, most)
        terms = found[target] if found and isinstance(found[0], list) else found
        rest = None if y is None else np.asarray(y, dtype=np.float64) - self._output(rows, target)
        return draw_terms(terms[:most], rows, rest)

    def _array(self, X: Any) -> Any:
        from sklearn.utils import check_array

        return check_array(X)

    def _output(self, rows: Array, target: int) -> Array:
        """Outputs of one network at rows that need no check."""
        given = self.preprocessing_
        step = given[target] if isinstance(given, list) else given
        return step.restore(self.networks_[target].predict(step.transform(rows)))

    def _raw(self, X: Any, y: Any, **checks: Any) -> tuple[Array, Any]:
        """Inputs and labels after scikit-learn's checks, missing values refused with the remedy."""
        from sklearn.utils.validation import _get_feature_names, validate_data

        names = _get_feature_names(X)
        checked: Any = validate_data(self, X, y, dtype=np.float64, **checks)
        if names is not None:
            self.feature_names_in_ = names
        return checked[0], checked[1]
