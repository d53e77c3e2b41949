"""Quadratic networks as regressors: the global minimum by a convex problem, with weight decay and a proved gap."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import check_cv
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import validate_data

from globalmin.data import SCALINGS, Dataset
from globalmin.data.memory import matrix_bytes, require_memory
from globalmin.errors import DataError
from globalmin.estimators._base import ShallowNetworkEstimator, _single
from globalmin.estimators._gap import GapProof, prove_gap
from globalmin.estimators._proof import ACCEPTED
from globalmin.networks import ShallowNetwork
from globalmin.theory.symmetric import quadratic_forms
from globalmin.training import Status
from globalmin.training.quadratic import SIGNS, QuadraticSolution, solve_quadratic
from globalmin.training.quadratic_decay import decay_path, default_decays

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from numpy.typing import NDArray

    Array = NDArray[np.float64]

_FIT_CALLER = 5  # _warn_gap, _fit_targets, fit, scikit-learn's wrapper of fit, and then the line of the user


class _QuadraticNetworkEstimator(MultiOutputMixin, RegressorMixin, ShallowNetworkEstimator):
    """What the regressor and its cross-validated variant share: solve, prove, warn, predict."""

    signs: str
    max_iter: int

    def _fit_solutions(self, data: Dataset, weight_decay: float) -> None:
        """Solve and prove one network per target, and set all fitted attributes."""
        targets = [data.for_target(j) for j in range(data.n_targets)]
        solutions = [self._solve(part, weight_decay) for part in targets]
        self.networks_ = [self._stored_network(solution) for solution in solutions]
        proofs = [
            prove_gap(network, part, weight_decay) if self.certify else GapProof()
            for network, part in zip(self.networks_, targets, strict=True)
        ]
        self._store_solutions(targets, solutions, proofs)
        self._warn_gap(solutions, proofs)

    def _solve(self, data: Dataset, weight_decay: float) -> QuadraticSolution:
        return solve_quadratic(
            data.X,
            data.y,
            signs=self.signs,
            width=None if self.width == "auto" else int(self.width),
            weight_decay=weight_decay,
            tol=self.tol,
            max_iter=self.max_iter,
            seed=self._seed(),
        )

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))

    def _stored_network(self, solution: QuadraticSolution) -> ShallowNetwork:
        """With width="auto" the neurons that are zero are dropped; one of each sign stays, because it names the class proved."""
        network = solution.network
        if self.width != "auto":
            return network
        keep = np.asarray(network.W.any(axis=1))
        for sign in (1.0, -1.0):
            members = np.flatnonzero(sign * network.v > 0)
            keep[members[:1]] |= not keep[members].any()
        return ShallowNetwork(network.W[keep], network.v[keep], network.activation)

    def _store_solutions(self, targets: list[Dataset], solutions: list[QuadraticSolution], proofs: list[GapProof]) -> None:
        self.preprocessing_ = _single([part.preprocessing for part in targets])
        self.n_iter_ = _single([max(solution.n_iter, 1) for solution in solutions])
        self.width_ = _single([network.width for network in self.networks_])
        self.matrix_ = _single([solution.M for solution in solutions])
        self.objective_ = _single([solution.objective for solution in solutions])
        self.certificate_ = _single([proof.certificate for proof in proofs])
        self.verdict_ = _single([proof.verdict for proof in proofs])
        self.loss_upper_ = _single([proof.loss_upper for proof in proofs])
        self.loss_lower_ = _single([proof.loss_lower for proof in proofs])
        self.gap_ = _single([proof.gap for proof in proofs])

    def _warn_gap(self, solutions: list[QuadraticSolution], proofs: list[GapProof]) -> None:
        """One warning per fit: the minimum was missed, or a proof was wanted and not found."""
        short = [j for j, solution in enumerate(solutions) if solution.status is not Status.CONVERGED]
        unproved = [j for j, proof in enumerate(proofs) if proof.verdict != ACCEPTED]
        if short:
            solution = solutions[short[0]]
            remedy = "widen the network" if solution.method == "local" else "raise max_iter or tol"
            text = f"objective {solution.objective:.6g} is {solution.gap:.2g} above its lower bound; {remedy}"
            warnings.warn(f"{_of(short, solutions)}{text}", ConvergenceWarning, stacklevel=_FIT_CALLER)
        elif self.certify and unproved:
            reason = f"{_of(unproved, solutions)}no certificate: {proofs[unproved[0]].reason}"
            warnings.warn(reason, UserWarning, stacklevel=_FIT_CALLER)

    def _checked(self, X: Any, y: Any) -> Dataset:
        X, y = validate_data(self, X, y, multi_output=True, y_numeric=True)
        n, d = X.shape
        needed = matrix_bytes(n, d + 1, copies=8) + matrix_bytes(d + 1, d + 1, copies=40)
        require_memory(needed, f"a quadratic network on {n} samples of {d} features", limit=self.memory_limit)
        self._labels_shape = np.shape(y)[1:]
        return Dataset(X, y, bias=self.bias, scaling=self.scaling)

    def predict(self, X: Any) -> Array:
        """Outputs in the units of y, shaped like the y of `fit`."""
        outputs = self._outputs(X)
        return outputs.reshape(len(outputs), *self._labels_shape)


def _of(which: list[int], solutions: list[QuadraticSolution]) -> str:
    return "" if len(solutions) == 1 else f"target {which[0]} ({len(which)} of {len(solutions)} targets): "


_SHARED: dict[str, list[Any]] = {
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


class QuadraticNetworkRegressor(_QuadraticNetworkEstimator):
    r"""Regression by quadratic networks $f(x) = \sum_l v_l (w_l \cdot x)^2$ at the global minimum of the squared loss, proved.

    With the bias feature the model is every polynomial of degree two (signs="mixed"). Weight decay on W is the nuclear norm of
    its matrix: it prefers few neurons and makes the model generalize, and the minimum stays provable for any labels.

    Parameters
    ----------
    signs : "mixed" (heads +1 and -1) or "positive" (heads +1: a positive semidefinite form).
    weight_decay : w >= 0; the objective is (1/2) sum of squared residuals + (w/2) (sum of squared weights of W).
    width : number of neurons, or "auto": as many as the minimum needs. Fewer give a local minimum with an honest gap.
    bias : append a constant feature.
    scaling : "standardize" (columns of X and y), "rows" (rows of X to norm 1) or "none". Undone by `predict`.
    tol : gap relative to the objective at which the solver stops.
    max_iter : iterations of the solver.
    certify : prove the result and have the proof checked. False saves the time and leaves `certificate_` and `verdict_` None.
    memory_limit : bytes that training may use; None for what the machine has.
    random_state : seed of the local search, which is used only for widths below what the minimum needs.

    Attributes
    ----------
    networks_ : list of the networks, one per target; `network_` is the only one of a single target.
    matrix_ : $W^T\mathrm{diag}(v)W$, the quadratic form of the preprocessed inputs.
    certificate_ : bytes of the certificate file that the independent checker accepted, or None; see `save_certificate`.
    verdict_ : the checker's word "ACCEPTED", "REJECTED", "UNDECIDED" or "MALFORMED"; None if there was nothing to check.
    loss_upper_ : proved upper bound of the objective of the network (the loss, plus the penalty of weight decay).
    loss_lower_ : proved lower bound of the objective of every such network, of any width.
    gap_ : proved bound of the objective minus its infimum; infinity without certificate.
    objective_ : the objective in floats, an estimate.
    n_iter_, width_, preprocessing_, n_features_in_, feature_names_in_ : as in `ShallowNetworkRegressor`.

    Notes
    -----
    Several targets are fitted by one network each, and the attributes from `matrix_` on are lists. All bounds are in the units
    the network is trained in. Without weight decay, mixed signs and fewer than d(d+1)/2 samples (d with the bias) the minimum is
    zero and the certificate claims interpolation; with more samples it is that of the least-squares polynomial.

    Theory
    ------
    SJL-T2.1, SJL-T2.2k, theorems P, S and D of the certificates.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> model = QuadraticNetworkRegressor(weight_decay=1.0).fit(X, X[:, 0] * X[:, 1] + X[:, 2])
    >>> model.verdict_, model.gap_ < 1e-8 * model.loss_upper_
    ('ACCEPTED', True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_SHARED,
        "weight_decay": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        signs: str = "mixed",
        weight_decay: float = 0.0,
        width: int | str = "auto",
        bias: bool = True,
        scaling: str = "standardize",
        tol: float = 1e-10,
        max_iter: int = 50_000,
        certify: bool = True,
        memory_limit: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.signs = signs
        self.weight_decay = weight_decay
        self.width = width
        self.bias = bias
        self.scaling = scaling
        self.tol = tol
        self.max_iter = max_iter
        self.certify = certify
        self.memory_limit = memory_limit
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Find the global minimum, and prove it.

        Parameters
        ----------
        X : n x d inputs, an array or a data frame.
        y : n labels, or n x q for q targets.
        """
        self._fit_solutions(self._checked(X, y), float(self.weight_decay))
        return self


class QuadraticNetworkRegressorCV(_QuadraticNetworkEstimator):
    """`QuadraticNetworkRegressor` with its weight decay chosen by cross-validation, along a path with warm starts.

    Parameters
    ----------
    weight_decays : positive numbers to choose from; None for `n_decays` of them, evenly spaced in the logarithm from the smallest
        that gives the zero network down to `ratio` times it.
    n_decays, ratio : the default path.
    cv : number of folds, or a splitter of scikit-learn; the preprocessing is fitted inside every fold.
    signs, width, bias, scaling, tol, max_iter, certify, memory_limit, random_state : as in `QuadraticNetworkRegressor`. The
        certificate is about the network refitted on all data.

    Attributes
    ----------
    weight_decay_ : the chosen one, with the least mean squared error on the held-out samples.
    weight_decays_ : the path, decreasing.
    mse_path_ : mean squared errors on the held-out samples in the units of y, one row per weight decay, one column per fold.
    best_index_ : row of the chosen one.
    networks_, matrix_, certificate_, verdict_, loss_upper_, loss_lower_, gap_, ... : of the refitted network.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((60, 4))
    >>> model = QuadraticNetworkRegressorCV().fit(X, X[:, 0] * X[:, 1] + X[:, 2])
    >>> model.verdict_, model.mse_path_.shape
    ('ACCEPTED', (20, 5))
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **_SHARED,
        "weight_decays": [None, "array-like"],
        "n_decays": [Interval(Integral, 1, None, closed="left")],
        "ratio": [Interval(Real, 0, 1, closed="neither")],
        "cv": ["cv_object"],
    }

    def __init__(
        self,
        *,
        weight_decays: Sequence[float] | None = None,
        n_decays: int = 20,
        ratio: float = 1e-3,
        cv: Any = 5,
        signs: str = "mixed",
        width: int | str = "auto",
        bias: bool = True,
        scaling: str = "standardize",
        tol: float = 1e-10,
        max_iter: int = 50_000,
        certify: bool = True,
        memory_limit: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.weight_decays = weight_decays
        self.n_decays = n_decays
        self.ratio = ratio
        self.cv = cv
        self.signs = signs
        self.width = width
        self.bias = bias
        self.scaling = scaling
        self.tol = tol
        self.max_iter = max_iter
        self.certify = certify
        self.memory_limit = memory_limit
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Choose the weight decay, refit on all data, and prove the result.

        Parameters
        ----------
        X : n x d inputs, an array or a data frame.
        y : n labels, or n x q for q targets, which share one weight decay.
        """
        data = self._checked(X, y)
        checked: Any = validate_data(self, X, y, multi_output=True, y_numeric=True, reset=False)
        raw_X, raw_y = checked
        self.weight_decays_ = self._path(data)
        splitter: Any = check_cv(self.cv)
        folds = list(splitter.split(raw_X, raw_y))
        self.mse_path_ = np.stack([self._held_out(raw_X, raw_y, *fold) for fold in folds], axis=1)
        self.best_index_ = int(np.argmin(self.mse_path_.mean(axis=1)))
        self.weight_decay_ = float(self.weight_decays_[self.best_index_])
        self._fit_solutions(data, self.weight_decay_)
        return self

    def _path(self, data: Dataset) -> Array:
        if self.weight_decays is None:
            return self._default_path(data)
        given = np.asarray(self.weight_decays, dtype=np.float64)
        if given.ndim != 1 or not given.size or not (np.isfinite(given) & (given > 0)).all():
            raise DataError(f"weight_decays={self.weight_decays!r} must be a list of positive numbers, at least one")
        return np.sort(given)[::-1].copy()

    def _default_path(self, data: Dataset) -> Array:
        """The path of the target with the largest critical weight decay; of length 1 if all labels are zero."""
        found = []
        for j in range(data.n_targets):
            part = data.for_target(j)
            if part.y.any():
                found.append(
                    default_decays(
                        part.X, part.y, n_decays=int(self.n_decays), ratio=float(self.ratio), signs=self.signs, v_max=1.0
                    )
                )
        return np.array(max(found, key=lambda decays: decays[0], default=[1.0]))

    def _held_out(self, X: Array, y: Array, train: NDArray[np.intp], test: NDArray[np.intp]) -> Array:
        """Mean squared error of every weight decay on the samples `test`, averaged over the targets."""
        data = Dataset(X[train], y[train], bias=self.bias, scaling=self.scaling)
        labels = y[test].reshape(len(test), -1)
        errors = np.zeros(len(self.weight_decays_))
        for j in range(data.n_targets):
            part = data.for_target(j)
            stored = part.preprocessing.transform(X[test])
            width = None if self.width == "auto" else int(self.width)
            path = decay_path(part.X, part.y, self.weight_decays_.tolist(), signs=self.signs, width=width, tol=1e-6)
            for index, solution in enumerate(path):
                outputs = part.preprocessing.restore(quadratic_forms(stored, solution.M))
                errors[index] += float(np.mean((outputs - labels[:, j]) ** 2)) / data.n_targets
        return errors
