r"""A problem with neurons that see all columns, as arrays: what neurons and linear part see, and
what is penalized.

The objective is $\sum_i\omega_i\ell(F_i\cdot c + \sum_l v_l\,\mathrm{relu}(z_i\cdot w_l)) +
\frac b2\sum_l(|Dw_l|^2 + v_l^2) + \frac12\sum_j k_jc_j^2$: Z has the bias feature as its last
column (tau, or 1 for a free bias, which D leaves out), F the column of ones and the linear part.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from globalmin._types import Array
from globalmin.errors import DataError
from globalmin.losses import Loss
from globalmin.regularized.network import RegularizedNetwork
from globalmin.regularized.objective import RegularizedProblem


@dataclass(frozen=True, eq=False)
class Design:
    """Arrays of one problem; see the module."""

    problem: RegularizedProblem
    loss: Loss

    @classmethod
    def of(cls, problem: RegularizedProblem) -> Design:
        """The arrays of a problem; DataError if it asks for monotone neurons or several outputs."""
        if problem.outputs > 1:
            raise DataError(
                f"{problem.outputs} outputs share neurons of one column each only; take "
                "groups='columns' and train_regularized, or one network per output"
            )
        if problem.monotone is not None or problem.shapes is not None:
            raise DataError(
                "neurons that see all columns are not trained to be monotone or shaped; take "
                "groups='columns' and train_regularized"
            )
        return cls(problem, problem.loss)

    @cached_property
    def Z(self) -> Array:
        """What the neurons see, n x p."""
        X, penalty = self.problem.X, self.problem.penalty
        if penalty.hidden_bias == "none":
            return X
        feature = penalty.tau if penalty.hidden_bias == "penalized" else 1.0
        return np.column_stack([X, np.full(len(X), feature)])

    @cached_property
    def decayed(self) -> Array:
        """One per column of Z that is penalized, zero for a free bias."""
        mask = np.ones(self.Z.shape[1])
        if self.problem.penalty.hidden_bias == "free":
            mask[-1] = 0.0
        return mask

    @property
    def is_free(self) -> bool:
        """Whether hidden biases cost nothing."""
        return self.problem.penalty.hidden_bias == "free"

    @cached_property
    def F(self) -> Array:
        """What the linear part sees, n x r."""
        X, penalty = self.problem.X, self.problem.penalty
        parts = [np.ones((len(X), 1))] if penalty.intercept != "none" else []
        parts += [X] if penalty.linear != "none" else []
        return np.hstack(parts) if parts else np.zeros((len(X), 0))

    @cached_property
    def ridge(self) -> Array:
        """Penalties of the linear part, zero where it is free."""
        d, penalty = self.problem.X.shape[1], self.problem.penalty
        k0 = 0.0 if isinstance(penalty.intercept, str) else float(penalty.intercept)
        k1 = 0.0 if isinstance(penalty.linear, str) else float(penalty.linear)
        parts = [np.array([k0])] if penalty.intercept != "none" else []
        parts += [np.full(d, k1)] if penalty.linear != "none" else []
        return np.concatenate(parts) if parts else np.zeros(0)

    @property
    def b(self) -> float:
        """Weight decay."""
        return float(self.problem.penalty.weight_decay)

    def smoothed(self, width: float) -> Design:
        """The same problem with a loss without kinks."""
        return Design(self.problem, self.loss.smoothed(width))

    def loss_terms(self, f: Array) -> tuple[Array, Array, Array]:
        """Weighted losses, first and second derivatives at the outputs f."""
        y, weights = self.problem.y, self.problem.weights
        terms = (self.loss.value(f, y), self.loss.derivative(f, y), self.loss.second(f, y))
        return weights * terms[0], weights * terms[1], weights * terms[2]

    def network(self, W: Array, v: Array, c: Array) -> RegularizedNetwork:
        """The network of hidden weights W (k x p), head v and linear part c."""
        penalty, d = self.problem.penalty, self.problem.X.shape[1]
        has_intercept = penalty.intercept != "none"
        tau = penalty.tau if penalty.hidden_bias == "penalized" else 1.0
        bias = tau * W[:, d] if penalty.hidden_bias != "none" else np.zeros(len(W))
        return RegularizedNetwork(
            W[:, :d],
            bias,
            v,
            float(c[0]) if has_intercept else 0.0,
            c[int(has_intercept) :] if penalty.linear != "none" else None,
        )

    def parameters(self, network: RegularizedNetwork) -> tuple[Array, Array, Array]:
        """W, v and c of a network; what the class does not have is left out."""
        penalty = self.problem.penalty
        W = network.W
        if penalty.hidden_bias != "none":
            tau = penalty.tau if penalty.hidden_bias == "penalized" else 1.0
            W = np.column_stack([W, network.bias / tau])
        parts = [np.array([network.intercept])] if penalty.intercept != "none" else []
        if penalty.linear != "none":
            given = network.linear
            parts.append(np.zeros(network.n_features) if given is None else given)
        return W, network.v, np.concatenate(parts) if parts else np.zeros(0)
