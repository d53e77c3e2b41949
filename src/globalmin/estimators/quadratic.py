"""Quadratic networks as regressors: the global minimum by a convex problem, with weight decay and a
proved gap.
"""

from __future__ import annotations

from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval

from globalmin.estimators._quadratic import SHARED_CONSTRAINTS, QuadraticNetworkEstimator

if TYPE_CHECKING:
    from typing import Self

    import numpy as np


class QuadraticNetworkRegressor(QuadraticNetworkEstimator):
    r"""Regression by quadratic networks $f(x) = \sum_l v_l (w_l \cdot x)^2$ at the global minimum
    of the squared loss, proved.

    With the bias feature the model is every polynomial of degree two (signs="mixed"). Weight decay
    on W is the nuclear norm of its matrix: it prefers few neurons and makes the model generalize,
    and the minimum stays provable for any labels.

    Parameters
    ----------
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
        "activation": [str],
        "weight_decay": [Interval(Real, 0, None, closed="left")],
        "bias_scale": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        *,
        signs: str = "mixed",
        activation: str = "quadratic",
        weight_decay: float = 0.0,
        bias_scale: float = 1.0,
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
        data = self._dataset(*self._checked(X, y), self.bias_scale)
        self._fit_solutions(data, float(self.weight_decay))
        return self
