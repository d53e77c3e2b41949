"""Quadratic networks as regressors: the global minimum by a convex problem, with weight decay and
a proved gap; and what both quadratic regressors share.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import MultiOutputMixin, RegressorMixin, _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import validate_data

from globalmin._options import SIGNS, Scaling, Signs
from globalmin._types import Array
from globalmin.activations import get_activation
from globalmin.data import SCALINGS, Dataset
from globalmin.data.validation import matrix_bytes, require_memory
from globalmin.errors import DataError
from globalmin.estimators._base import ShallowNetworkEstimator
from globalmin.estimators._gap import half_square, single
from globalmin.estimators._squares import ReadsInteractions
from globalmin.optimize.run import Status
from globalmin.proving.proof import Proof
from globalmin.quadratic.general_activation import balanced_head, solve_general_quadratic
from globalmin.quadratic.solve import QuadraticSolution, solve_quadratic
from globalmin.quadratic.solver import without_zero_neurons
from globalmin.regularized.squares import SquaresNetwork
from globalmin.shallow.complete_square import coefficients_of
from globalmin.shallow.network import ShallowNetwork

if TYPE_CHECKING:
    from typing import Self

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


def weighted_dataset(
    X: Array, y: Array, *, bias: bool, scaling: Scaling, bias_scale: float
) -> Dataset:
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


class QuadraticNetworkEstimator(
    ReadsInteractions, MultiOutputMixin, RegressorMixin, ShallowNetworkEstimator
):
    """What the regressor and its cross-validated variant share: solve, prove, warn, predict."""

    signs: Signs
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
        self.preprocessing_ = single([part.preprocessing for part in targets])
        self.n_iter_ = single([max(solution.n_iter, 1) for solution in solutions])
        self.width_ = single([network.width for network in self.networks_])
        self.matrix_ = single([solution.M for solution in solutions])
        self._store_proofs(proofs)
        values = [float(solution.objective) for solution in solutions]
        zeros = [half_square(part.y) for part in targets]
        self._store_gap(proofs, values, zeros, "quadratic network of any width")

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

    def _squares(self) -> list[SquaresNetwork]:
        if self.activation != "quadratic":
            raise DataError(
                f"interactions_ are those of activation='quadratic', not {self.activation!r}; "
                "matrix_ holds the quadratic part"
            )
        scale = float(getattr(self, "bias_scale_", None) or getattr(self, "bias_scale", 1.0))
        return [_with_biases(network, bool(self.bias), scale) for network in self.networks_]

    def predict(self, X: Any) -> Array:
        """Outputs in the units of y, shaped like the y of `fit`."""
        outputs = self._outputs(X)
        return outputs.reshape(len(outputs), *self._labels_shape)


def _with_biases(network: ShallowNetwork, has_bias: bool, bias_scale: float) -> SquaresNetwork:
    """The same function with the constant feature as biases, and the bias scale in the weights."""
    W = network.W[:, :-1] if has_bias else network.W
    bias = network.W[:, -1] if has_bias else np.zeros(network.width)
    return SquaresNetwork(W / bias_scale, bias, network.v)


def _of(which: list[int], solutions: list[QuadraticSolution]) -> str:
    return (
        ""
        if len(solutions) == 1
        else f"target {which[0]} ({len(which)} of {len(solutions)} targets): "
    )


class QuadraticNetworkRegressor(QuadraticNetworkEstimator):
    r"""Regression by quadratic networks $f(x) = \sum_l v_l (w_l \cdot x)^2$ at the global minimum
    of the squared loss, proved.

    With the bias feature the model is every polynomial of degree two (signs="mixed"). Weight decay
    on W is the nuclear norm of its matrix: it prefers few neurons and makes the model generalize,
    and the minimum stays provable for any labels.

    Parameters
    ----------
    loss : str
        "squared". The same networks with the losses huber, quantile and poisson:
        `SquaresNetworkRegressor`; with logistic and hinge losses: `QuadraticNetworkClassifier`.
    signs : str
        "mixed" (heads +1 and -1) or "positive" (heads +1: a positive semidefinite form).
    activation : str
        "quadratic", or "polynomial(c,b,a)" for neurons $a z^2 + b z + c$ (GKZ-C2.2; mixed signs
        without weight decay, width at least 2d + 2). The certificate is about the same function as
        a network of squares, on the inputs with a constant 1.
    weight_decay : float
        w >= 0; the objective is (1/2) sum of squared residuals + (w/2) (sum of squared weights of
        W).
    bias_scale : float
        c > 0; the features are divided by it after scaling, while the constant feature stays 1.
        This is a constant feature of size c (weight decay in other units): the larger, the less
        linear terms cost against squares. Needs the bias.
    width : int | str
        Number of neurons, or "auto": as many as the minimum needs. Fewer give a local minimum with
        an honest gap.
    bias : bool
        Append a constant feature.
    scaling : str
        "standardize" (columns of X and y), "rows" (rows of X to norm 1) or "none". Undone by
        `predict`.
    tol : float
        Gap relative to the objective at which the solver stops.
    max_iter : int
        Iterations of the solver.
    certify : bool
        Prove the result and have the proof checked. False saves the time and leaves `certificate_`
        and `verdict_` None.
    memory_limit : int | None
        Bytes that training may use; None for what the machine has.
    random_state : int | np.random.RandomState | None
        Seed of the local search, which is used only for widths below what the minimum needs.

    Attributes
    ----------
    networks_ : list[ShallowNetwork]
        List of the networks, one per target; `network_` is the only one of a single target.
    matrix_ : Array
        $W^T\mathrm{diag}(v)W$, the quadratic form of the preprocessed inputs. For another
        activation the quadratic part of the function; with the bias that is all of it.
    certificate_ : bytes | None
        Bytes of the certificate file that the independent checker accepted, or None; see
        `save_certificate`.
    verdict_ : str | None
        The checker's word "ACCEPTED", "REJECTED", "UNDECIDED" or "MALFORMED"; None if there was
        nothing to check.
    loss_upper_ : float
        Proved upper bound of the objective of the network (the loss, plus the penalty of weight
        decay).
    loss_lower_ : float
        Proved lower bound of the objective of every such network, of any width.
    gap_ : float
        Proved bound of the objective minus its infimum; infinity without certificate.
    objective_ : float
        The objective in floats, an estimate.
    interactions_ : Interactions
        Constant, linear terms, squares and products; print it, or `plot_interactions()`.
    lower_bound_ : float
        The same as `loss_lower_`, by the name that all estimators share.
    relative_gap_ : float
        `gap_` as a share of the loss of the zero network where the minimum is zero, of the loss or
        objective itself elsewhere; `gap_statement()` says it in one sentence.
    optimal_ : bool
        Whether the certificate says that the network is at the global minimum: the gap is at most
        1e-6 of the objective, or zero loss is proved.
    n_iter_, width_, n_features_in_ : int
        As in `ShallowNetworkRegressor`.
    preprocessing_ : Preprocessing
        As in `ShallowNetworkRegressor`.
    feature_names_in_ : Array
        As in `ShallowNetworkRegressor`.

    Notes
    -----
    Several targets are fitted by one network each, and the attributes from `matrix_` on are lists.
    All bounds are in the units the network is trained in. Without weight decay, mixed signs and
    fewer than d(d+1)/2 samples (d with the bias) the minimum is zero and the certificate claims
    interpolation; with more samples it is that of the least-squares polynomial.

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
        **SHARED_CONSTRAINTS,
        "loss": [str],
        "activation": [str],
        "weight_decay": [Interval(Real, 0, None, closed="left")],
        "bias_scale": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        *,
        loss: str = "squared",
        signs: Signs = "mixed",
        activation: str = "quadratic",
        weight_decay: float = 0.0,
        bias_scale: float = 1.0,
        width: int | str = "auto",
        bias: bool = True,
        scaling: Scaling = "standardize",
        tol: float = 1e-10,
        max_iter: int = 50_000,
        certify: bool = True,
        memory_limit: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.loss = loss
        self.signs = signs
        self.activation = activation
        self.weight_decay = weight_decay
        self.bias_scale = bias_scale
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
        X : Any
            n x d inputs, an array or a data frame.
        y : Any
            n labels, or n x q for q targets.
        """
        if self.loss != "squared":
            raise DataError(
                f"loss={self.loss!r}: this class is for the squared loss; "
                f"SquaresNetworkRegressor(loss={self.loss!r}) trains the same networks with huber, "
                "quantile and poisson, QuadraticNetworkClassifier with losses of classes"
            )
        data = self._dataset(*self._checked(X, y), self.bias_scale)
        self._fit_solutions(data, float(self.weight_decay))
        return self
