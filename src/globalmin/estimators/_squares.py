"""What the regressor and the classifier of networks of squares share: the problem, training, and
the polynomial to be read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin._options import Heads, Scaling, Signs
from globalmin._types import Array
from globalmin.data.preprocessing import Preprocessing
from globalmin.data.sparse import is_sparse
from globalmin.errors import DataError
from globalmin.estimators._gap import require_fitted
from globalmin.estimators._regularized import RegularizedEstimator, Run, column_names
from globalmin.losses import get_loss
from globalmin.regularized.interactions import Interactions, interactions_of
from globalmin.regularized.objective import RegularizedProblem
from globalmin.regularized.preparation import Settings
from globalmin.regularized.squares import SquaresNetwork, SquaresPenalty
from globalmin.regularized.squares_training import (
    largest_squares_decay,
    squares_path,
    train_squares,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class SquaresSettings(Settings):
    """What of a problem of squares does not depend on the rows."""

    tau: float = 1.0
    heads: Heads = "any"

    def problem(
        self, X: Array, y: Array, weight: Array | None, weight_decay: float
    ) -> RegularizedProblem:
        """The problem of rows and labels that were preprocessed."""
        penalty = SquaresPenalty(weight_decay, tau=self.tau, heads=self.heads)
        return RegularizedProblem(X, y, penalty, self.loss, groups="all", sample_weight=weight)


# Of a sparse table whose proof is wanted. The file holds its rows dense: 2^24 numbers are 128 MiB,
# and the proof of positive definiteness takes two matrices of its columns and their cube in time.
MOST_ENTRIES, MOST_COLUMNS = 2**24, 2_000


def _require_storable(n: int, d: int) -> None:
    if n * d > MOST_ENTRIES or d > MOST_COLUMNS:
        raise DataError(
            f"X is sparse with {n} rows and {d} columns: a certificate holds up to {MOST_COLUMNS} "
            f"columns and {MOST_ENTRIES} entries, zeros included; drop rare columns, or train "
            "without a proof (certify=False)"
        )


def _unscaled(network: SquaresNetwork, steps: Preprocessing) -> SquaresNetwork:
    """The same function of rows that were not scaled."""
    W = network.W / steps.x_scale
    return SquaresNetwork(W, network.bias - W @ steps.x_shift, network.v, network.intercept)


class ReadsInteractions:
    """What every estimator of quadratic networks has: the polynomial as a table and a picture."""

    preprocessing_: Any

    def _squares(self) -> list[SquaresNetwork]:
        """The networks as functions of the columns after scaling."""
        raise NotImplementedError

    @property
    def interactions_(self) -> Interactions | list[Interactions]:
        """The polynomial of each network, in the columns after scaling; a list if there are more
        than two classes or several targets.
        """
        require_fitted(self)
        given = self.preprocessing_
        steps = given if isinstance(given, list) else [given]
        networks = self._squares()
        names = column_names(self, networks[0].n_features)
        pairs = zip(networks, steps, strict=True)
        found = [interactions_of(network, step, names) for network, step in pairs]
        return found[0] if len(found) == 1 else found

    def plot_interactions(self, *, target: int = 0, most: int = 12) -> Figure:
        """Who interacts with whom: squares and products as a triangle of colors, linear terms
        beside it.

        Parameters
        ----------
        target : int
            The class, where there are more than two, or the target, where there are several.
        most : int
            Columns to draw at most, those with the largest coefficients.
        """
        from globalmin.regularized.interaction_figure import draw_interactions

        found = self.interactions_
        return draw_interactions(found[target] if isinstance(found, list) else found, most)


class SquaresNetworkEstimator(ReadsInteractions, RegularizedEstimator):
    """Base of the estimators of networks of squares with any convex loss."""

    loss: str
    signs: Signs
    bias_scale: float
    scaling: Scaling

    def _settings(self, parameter: float | None = None) -> SquaresSettings:
        return SquaresSettings(
            get_loss(self.loss, parameter),
            "all",
            scaling=self.scaling,
            tau=float(self.bias_scale),
            heads="any" if self.signs == "mixed" else "nonnegative",
        )

    def _trained(self, problem: RegularizedProblem, gap: float) -> Run:
        return train_squares(problem, gap=gap, max_iter=int(self.max_iter))

    def _largest_decay(self, problem: RegularizedProblem) -> float:
        return largest_squares_decay(problem)

    def _squares(self) -> list[SquaresNetwork]:
        return self.networks_

    def _decay_path(
        self, problem: RegularizedProblem, decays: Sequence[float], *, gap: float
    ) -> Iterator[Run]:
        return squares_path(problem, decays, gap=gap)

    def _checked_rows(self, X: Any) -> Any:
        from sklearn.utils.validation import validate_data

        checked: Any = validate_data(self, X, reset=False, accept_sparse="csr")
        return checked

    def _outputs(self, X: Any) -> Array:
        """Outputs of all networks; at sparse rows the scaling moves into the weights."""
        if not is_sparse(X):
            return super()._outputs(X)
        require_fitted(self)
        rows = self._checked_rows(X)
        given = self.preprocessing_
        steps = given if isinstance(given, list) else [given]
        pairs = zip(steps, self.networks_, strict=True)
        return np.stack([s.restore(_unscaled(net, s).predict(rows)) for s, net in pairs], axis=1)

    def __sklearn_tags__(self) -> Any:
        """As in scikit-learn: sparse X is taken."""
        tags: Any = super().__sklearn_tags__()  # pyright: ignore[reportAttributeAccessIssue]
        tags.input_tags.sparse = True
        return tags

    def _raw(self, X: Any, y: Any, **checks: Any) -> tuple[Array, Any]:
        """Inputs and labels after scikit-learn's checks."""
        from sklearn.utils.validation import _get_feature_names, validate_data

        names = _get_feature_names(X)
        checked: Any = validate_data(self, X, y, dtype=np.float64, accept_sparse="csr", **checks)
        if self.certify and is_sparse(checked[0]):
            _require_storable(*checked[0].shape)
        if names is not None:
            self.feature_names_in_ = names
        return checked[0], checked[1]
