"""What the quadratic regressors share: data with a weighted constant feature, solve, prove, warn,
predict.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import validate_data

from globalmin._types import Array
from globalmin.activations import get_activation
from globalmin.data import SCALINGS, Dataset
from globalmin.data.memory import matrix_bytes, require_memory
from globalmin.errors import DataError
from globalmin.estimators._base import ShallowNetworkEstimator, _single
from globalmin.optimize.run import Status
from globalmin.proving.proof import Proof
from globalmin.quadratic.general_activation import balanced_head, solve_general_quadratic
from globalmin.quadratic.solve import SIGNS, QuadraticSolution, solve_quadratic
from globalmin.quadratic.solver import without_zero_neurons
from globalmin.shallow.complete_square import coefficients_of
from globalmin.shallow.network import ShallowNetwork

# _warn_gap, _fit_solutions, fit, scikit-learn's wrapper of fit, and then the line of the user
_FIT_CALLER = 5

SHARED_CONSTRAINTS: dict[str, list[Any]] = {
    "signs": [StrOptions(set(SIGNS))],
    "width": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
    "bias": ["boolean"],
    "scaling": [StrOptions(set(SCALINGS))],
    "tol": [Interval(Real, 0, 1, closed="neither")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "certify": ["boolean"],
    "memory_limit": [None, Interval(Integral, 1, None, closed="left")],
    "random_state": ["random_state"],
}


def weighted_dataset(X: Array, y: Array, *, bias: bool, scaling: str, bias_scale: float) -> Dataset:
    """The data set with its features divided by `bias_scale` and the constant feature kept at 1.

    Up to the unit of the weight decay this is a constant feature of that size, so that linear terms
    cost less than squares; but the certificate still speaks of a bias column of ones, and the
    factor is undone with the rest of the preprocessing.
    """
    data = Dataset(X, y, bias=bias, scaling=scaling)
    if bias_scale == 1.0:
        return data
    if not bias or scaling == "rows":
        given = "bias=False" if not bias else "scaling='rows'"
        remedy = "there is no constant feature to weigh" if not bias else "rows keep norm 1"
        raise DataError(
            f"bias_scale={bias_scale!r} has no meaning with {given}: {remedy}; leave it at 1 or "
            "change that"
        )
    # scaling="none" becomes a division by the factor alone, which the name "standardize" also
    # covers: shift 0
    fitted = [
        replace(p, scaling="standardize", x_scale=p.x_scale * bias_scale)
        for p in data.preprocessings
    ]
    return Dataset.from_raw(X, y, fitted)


class QuadraticNetworkEstimator(MultiOutputMixin, RegressorMixin, ShallowNetworkEstimator):
    """What the regressor and its cross-validated variant share: solve, prove, warn, predict."""

    signs: str
    activation: str = "quadratic"
    max_iter: int

    def _fit_solutions(self, data: Dataset, weight_decay: float) -> None:
        """Solve and prove one network per target, and set all fitted attributes."""
        targets = [data.for_target(j) for j in range(data.n_targets)]
        solutions = [self._solve(part, weight_decay) for part in targets]
        self.networks_ = [self._stored_network(solution) for solution in solutions]
        proofs = [
            self._proof(network, part, weight_decay=weight_decay)
            for network, part in zip(self.networks_, targets, strict=True)
        ]
        self._store_solutions(targets, solutions, proofs)
        self._warn_gap(solutions, proofs)

    def _solve(self, data: Dataset, weight_decay: float) -> QuadraticSolution:
        if self.activation != "quadratic":
            return self._solve_general(data, weight_decay)
        return solve_quadratic(
            data.X,
            data.y,
            signs=self.signs,
            width=self._neurons,
            weight_decay=weight_decay,
            tol=self.tol,
            max_iter=self.max_iter,
            seed=self._seed(),
        )

    def _solve_general(self, data: Dataset, weight_decay: float) -> QuadraticSolution:
        coefficients = coefficients_of(get_activation(self.activation))
        given = f"activation={self.activation!r}"
        if self.signs != "mixed" or weight_decay:
            raise DataError(
                f"{given} is for signs='mixed' without weight decay, not signs={self.signs!r}, "
                f"weight_decay={weight_decay!r}; leave them out or use activation='quadratic'"
            )
        needed = 2 * data.n_features + 2
        k = needed if self._neurons is None else self._neurons
        if k < needed:
            raise DataError(
                f"width={k} with {given} must be at least 2d + 2 = {needed} (d with the bias), "
                "which always reaches the minimum"
            )
        return solve_general_quadratic(
            data.X, data.y, coefficients, head=balanced_head(k), tol=self.tol
        )

    @property
    def _neurons(self) -> int | None:
        return None if self.width == "auto" else int(self.width)

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _stored_network(self, solution: QuadraticSolution) -> ShallowNetwork:
        is_plain = self.activation == "quadratic"  # zero neurons of others may add a constant
        is_free = is_plain and self.width == "auto"
        return without_zero_neurons(solution.network) if is_free else solution.network

    def _store_solutions(
        self, targets: list[Dataset], solutions: list[QuadraticSolution], proofs: list[Proof]
    ) -> None:
        self.preprocessing_ = _single([part.preprocessing for part in targets])
        self.n_iter_ = _single([max(solution.n_iter, 1) for solution in solutions])
        self.width_ = _single([network.width for network in self.networks_])
        self.matrix_ = _single([solution.M for solution in solutions])
        self.objective_ = _single([solution.objective for solution in solutions])
        self._store_proofs(proofs)
        self.gap_ = _single([proof.gap for proof in proofs])

    def _warn_gap(self, solutions: list[QuadraticSolution], proofs: list[Proof]) -> None:
        """One warning per fit: the minimum was missed, or a proof was wanted and not found."""
        short = [
            j for j, solution in enumerate(solutions) if solution.status is not Status.CONVERGED
        ]
        unproved = [j for j, proof in enumerate(proofs) if not proof.is_accepted]
        if short:
            solution = solutions[short[0]]
            remedy = "widen the network" if solution.method == "local" else "raise max_iter or tol"
            text = (
                f"objective {solution.objective:.6g} is {solution.gap:.2g} above its lower bound; "
                f"{remedy}"
            )
            warnings.warn(
                f"{_of(short, solutions)}{text}", ConvergenceWarning, stacklevel=_FIT_CALLER
            )
        elif self.certify and unproved:
            reason = f"{_of(unproved, solutions)}no certificate: {proofs[unproved[0]].why}"
            warnings.warn(reason, UserWarning, stacklevel=_FIT_CALLER)

    def _checked(self, X: Any, y: Any) -> tuple[Array, Array]:
        """The arrays, after scikit-learn's checks and before anything large is allocated."""
        checked: Any = validate_data(self, X, y, multi_output=True, y_numeric=True)
        raw_X, raw_y = checked
        n, d = raw_X.shape
        needed = matrix_bytes(n, d + 1, copies=8) + matrix_bytes(d + 1, d + 1, copies=40)
        require_memory(
            needed, f"a quadratic network on {n} samples of {d} features", limit=self.memory_limit
        )
        self._labels_shape = np.shape(raw_y)[1:]
        return raw_X, raw_y

    def _dataset(self, X: Array, y: Array, bias_scale: float) -> Dataset:
        return weighted_dataset(
            X, y, bias=bool(self.bias), scaling=self.scaling, bias_scale=float(bias_scale)
        )

    def predict(self, X: Any) -> Array:
        """Outputs in the units of y, shaped like the y of `fit`."""
        outputs = self._outputs(X)
        return outputs.reshape(len(outputs), *self._labels_shape)


def _of(which: list[int], solutions: list[QuadraticSolution]) -> str:
    return (
        ""
        if len(solutions) == 1
        else f"target {which[0]} ({len(which)} of {len(solutions)} targets): "
    )
