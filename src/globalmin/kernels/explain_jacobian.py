r"""Where the least singular value of the Jacobian comes from on a given network (SJL section 7):
the chain of inequalities from $\sigma_{\min}(J)$ down to inner products, each step with the factor
it loses.

1. Projection. With $\tilde m = v\circ\mu$ the mean slopes and P the projector orthogonal to
   $\tilde m$, $J(I\otimes P)$ has the rows $x_i\otimes P(v\circ(\phi'(Wx_i)-\mu))$, and a product
   with a projector has no larger singular values: $\sigma_{\min}(J) \ge \sigma_{\min}(\tilde
   J(I\otimes P))$. This is SJL-P7.1 without its subtraction (ours): its square is at least
   $\sigma_{\min}(\tilde J)^2-\|\mathrm{diag}(\delta)X\|^2$, and it is never negative.
2. Whitening (SJL-L7.7): divide by the mean $PA$, $A = \mathrm{diag}(v)\Gamma W$ (SJL-L7.6). Left
   out where it vanishes (class b, SJL-R7.3).
3. The entries (j, j) of the whitened rows have mean 1, the others 0: drop the former.
4. Nearly orthogonal rows (SJL-P7.9): the shortest row against the inner products, or against the
   correlations (ours).

All true for any data; floats, so estimates.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from globalmin._types import Array
from globalmin.activations.moments import MeanSign, average_class, mean_slope
from globalmin.errors import DataError
from globalmin.kernels.overparameterization_jacobian import (
    centered_gram,
    centered_slopes,
    correlated_rows_limit,
    mean_centered_jacobian,
    nearly_orthogonal_limits,
    uncentering_limits,
)
from globalmin.references import states
from globalmin.shallow.network import jacobian_gram

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from globalmin.shallow.network import ShallowNetwork

LARGEST = 3_000  # samples: n x n matrices and their eigenvalues


class ChainStep(NamedTuple):
    """One inequality: what was done, its item, the bound of sigma_min(J) that is left, and what it
    lost.
    """

    name: str
    item: str
    value: float
    factor: float


@dataclass(frozen=True, eq=False)
class JacobianExplained:
    """Where sigma_min(J) comes from; print it, or `plot()` it.

    Attributes
    ----------
    sigma_min, sigma_max : float
        Of the Jacobian of the first layer, n x kd.
    steps : tuple[ChainStep, ...]
        Every step bounds sigma_min(J) from below by its `value`; `factor` is value over the value
        before it.
    centered : float
        sigma_min of the centered Jacobian.
    printed : float
        What SJL-P7.1 bounds sigma_min(J)^2 by, often negative.
    upper : float
        What SJL-P7.1 bounds sigma_max(J) by.
    letter : str
        Class "a" or "b" of the activation (SJL-A2.3), empty if neither.
    shape : tuple[int, int, int]
        Samples, features, neurons.
    activation : str
        Its name.
    """

    sigma_min: float
    sigma_max: float
    steps: tuple[ChainStep, ...]
    centered: float
    printed: float
    upper: float
    letter: str
    shape: tuple[int, int, int]
    activation: str = field(default="")

    @property
    def costliest(self) -> ChainStep | None:
        """The step that loses most; None where sigma_min(J) is 0."""
        return min(self.steps, key=lambda step: step.factor) if self.sigma_min > 0.0 else None

    def __str__(self) -> str:
        n, d, k = self.shape
        rows = [
            f"σ_min(J) = {self.sigma_min:.4g} on {n} samples, {d} features, {k} neurons "
            f"({self.activation}, class {self.letter or 'neither'})",
            f"  {'because':34}{'item':10}{'σ_min(J) ≥':>12}{'factor':>9}",
        ]
        rows += [
            f"  {step.name:34}{step.item:10}{step.value:12.4g}{step.factor:9.3f}"
            for step in self.steps
        ]
        rows.append(
            f"  ‖J‖ = {self.sigma_max:.4g} ≤ {self.upper:.4g}; σ_min(J)² ≥ {self.printed:.4g} as "
            "SJL-P7.1 is printed"
        )
        worst = self.costliest
        if worst is None:
            rows.append("  J does not have full row rank: nothing to explain")
        elif worst.factor == 0.0:
            rows.append(f"  the chain ends at 0 with: {worst.name}")
        else:
            rows.append(f"  most is lost by: {worst.name}")
        return "\n".join(rows)

    def plot(self) -> Figure:
        """The values of the chain as bars on a logarithmic axis, the true one first."""
        from globalmin.drawing import BLUE, MUTED, new_axes

        names = ["measured", *(step.name for step in self.steps)]
        values = [self.sigma_min, *(step.value for step in self.steps)]
        figure, axes = new_axes("lower bound of σ_min(J)", "", grid="x")
        shown = [value for value in values if value > 0.0] or [1.0]
        left = min(shown) / 3.0
        places = np.arange(len(names))[::-1]
        axes.barh(
            places,
            [max(value, left) - left for value in values],
            left=left,
            color=[BLUE, *[MUTED] * len(self.steps)],
            height=0.6,
        )
        axes.set_xscale("log")
        axes.set_xlim(left, max(shown) * 4.0)
        for place, value in zip(places, values, strict=True):
            axes.annotate(
                f"{value:.3g}",
                (max(value, left), float(place)),
                xytext=(3, 0),
                textcoords="offset points",
                va="center",
            )
        axes.set_yticks(places, names)
        return figure


@states("SJL-DEF7", "SJL-P7.1", "SJL-L7.6", "SJL-L7.7", "SJL-P7.9")
def explain_jacobian(network: ShallowNetwork, X: Array) -> JacobianExplained:
    r"""Where $\sigma_{\min}(J)$ comes from on this network: mean slopes, whitening, nearly
    orthogonal rows, each with the factor it loses.

    Parameters
    ----------
    network : ShallowNetwork
        Any activation with a derivative.
    X : Array
        Inputs, n x d with d the features of the network, n at most 3000.

    Returns
    -------
    JacobianExplained
        Print it for the table, `plot()` it for a picture.

    Theory
    ------
    SJL section 7 with every constant replaced by what it stands for on the data. For Gaussian
    inputs and few samples the paper shows that no step loses more than a constant.

    Examples
    --------
    >>> import numpy as np
    >>> from globalmin.shallow.network import ShallowNetwork
    >>> network = ShallowNetwork(np.eye(2), [1.0, 1.0], "quadratic")
    >>> explain_jacobian(network, np.array([[1.0, 1.0]])).steps[0].factor
    1.0
    """
    X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2 or X.shape[1] != network.n_features or not 1 <= X.shape[0] <= LARGEST:
        raise DataError(
            f"X has the shape {X.shape}; give n x {network.n_features} inputs with n from 1 to "
            f"{LARGEST}"
        )
    if not np.isfinite(X).all():
        raise DataError("X has an entry that is not finite; drop or fill that row")
    J = jacobian_gram(network, X)
    found, sigma = uncentering_limits(network, X), _root_of(J)
    return JacobianExplained(
        sigma,
        math.sqrt(float(np.linalg.norm(J, 2))),
        tuple(_steps(sigma, _values(network, X))),
        _root_of(centered_gram(network, X)),
        found.lower,
        found.upper,
        average_class(network.activation).letter,
        (X.shape[0], X.shape[1], network.width),
        network.activation.spelling,
    )


def _steps(sigma: float, values: list[tuple[str, str, float]]) -> list[ChainStep]:
    steps, before = [], sigma
    for name, item, value in values:
        steps.append(ChainStep(name, item, value, value / before if before > 0.0 else 0.0))
        before = value
    return steps


def _values(network: ShallowNetwork, X: Array) -> list[tuple[str, str, float]]:
    """The lower bounds of sigma_min(J), one after another."""
    K, D = X @ X.T, projected_slopes(network, X)
    values = [("mean slopes projected out", "SJL-P7.1", _root_of((D @ D.T) * K))]
    if average_class(network.activation).curvature is MeanSign.ALWAYS:
        return [*values, ("nearly orthogonal rows", "SJL-P7.9", _orthogonal((D @ D.T) * K))]
    A = _projected(network, mean_centered_jacobian(network))
    singular = np.linalg.svd(A, compute_uv=False)
    d = X.shape[1]
    if len(singular) < d or not singular[d - 1] > 1e-13 * singular[0]:
        return [*values, ("whitened", "SJL-L7.7", 0.0)]
    scale = float(singular[d - 1])
    Z = D @ np.linalg.pinv(A).T
    G = (Z @ Z.T) * K
    off = G - (Z * X) @ (Z * X).T
    return [
        *values,
        ("whitened", "SJL-L7.7", scale * _root_of(G)),
        ("squares of the features dropped", "SJL-P7.2", scale * _root_of(off)),
        ("nearly orthogonal rows", "SJL-P7.9", scale * _orthogonal(off)),
    ]


@states("SJL-P7.1")
def projected_slopes(network: ShallowNetwork, X: Array) -> Array:
    r"""$P(v\circ\phi'(Wx_i))$ by rows, n x k, with P the projector orthogonal to $v\circ\mu$; the
    same with $\phi'-\mu$ for $\phi'$.
    """
    return _projected(network, centered_slopes(network, X).T).T


def _projected(network: ShallowNetwork, A: Array) -> Array:
    """P A for A with k rows."""
    m = network.v * mean_slope(network.activation, np.linalg.norm(network.W, axis=1))
    size = float(np.linalg.norm(m))
    if not size > 0.0:
        return A
    unit = m / size
    return A - np.outer(unit, unit @ A)


def _orthogonal(G: Array) -> float:
    return math.sqrt(max(nearly_orthogonal_limits(G)[0], correlated_rows_limit(G), 0.0))


def _root_of(G: Array) -> float:
    """Square root of the least eigenvalue; 0 where it is below rounding."""
    spectrum = np.linalg.eigvalsh(G)
    resolved = 4.0 * len(spectrum) * np.finfo(np.float64).eps * float(np.abs(spectrum).max())
    return math.sqrt(float(spectrum[0])) if float(spectrum[0]) > resolved else 0.0
