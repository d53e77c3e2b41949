r"""One instance as the theorems see it: the data and their measured quantities, and one drawn
network with its own. Records only; `inspection` measures them. Estimates in floats.

Degenerate rows (equal, opposite, proportional, zero) are found exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from globalmin._types import Array

if TYPE_CHECKING:
    from globalmin.activations import Activation
    from globalmin.data.degeneracy import Degeneracy
    from globalmin.linalg.spectrum import Extremes
    from globalmin.shallow.guarantee import KinkDescent
    from globalmin.shallow.network import ShallowNetwork
    from globalmin.shallow.provability import DescentQuantities

UNIT = 1e-9  # rows count as having norm 1 up to this


@dataclass(frozen=True, eq=False)
class Measurements:
    r"""Everything about (X, y, phi) that a theorem's hypotheses need; n samples, d features.

    Attributes
    ----------
    B, M : $\sup|\phi'|$, $\sup|\phi''|$, possibly infinite.
    row_norms : smallest and largest norm of a row.
    X_norm, K_frobenius, y_norm : $\|X\|$, $\|XX^T\|_F$, $\|y\|$.
    slope, feature : extreme eigenvalues of $\Sigma = E[\phi'\phi'^T]\circ XX^T$ (for ReLU
        $H^\infty$) and $\tilde\Sigma = E[\phi\phi^T]$.
    squares : those of $(XX^T)\circ(XX^T)$, the squares of the singular values of X*X.
    kappa4 : bound of the quartic form $\sup\sum_i(x_i\cdot a)^4$.
    separation : $\delta$ of the rows scaled to norm 1.
    mu : $E[g\phi'(g)]$.
    variance, mean_square : means over the rows of Var phi(||x_i|| g) and E phi(||x_i|| g)^2.
    recommended_width : the width that training tries first.
    """

    X: Array = field(repr=False)
    y: Array = field(repr=False)
    activation: Activation
    facts: Degeneracy = field(repr=False)
    B: float
    M: float
    row_norms: tuple[float, float]
    X_norm: float
    K_frobenius: float
    y_norm: float
    slope: Extremes
    feature: Extremes
    squares: Extremes
    kappa4: float
    separation: float
    mu: float
    variance: float
    mean_square: float
    rank: int
    free_outputs: int
    recommended_width: int

    @property
    def n(self) -> int:
        """Number of samples."""
        return self.X.shape[0]

    @property
    def d(self) -> int:
        """Number of features, bias included."""
        return self.X.shape[1]

    @property
    def lam(self) -> float:
        r"""$\lambda(X)$, the smallest eigenvalue of $\Sigma$; exactly 0 where degenerate rows prove
        it.
        """
        return self.slope.low

    @property
    def sigma(self) -> float:
        r"""$\sigma_{\min}(X*X)$."""
        return math.sqrt(self.squares.low)

    @property
    def has_unit_rows(self) -> bool:
        """Whether all rows have norm 1, up to rounding."""
        return max(abs(norm - 1.0) for norm in self.row_norms) <= UNIT

    @property
    def is_relu(self) -> bool:
        """Whether the activation is ReLU."""
        return self.activation.name == "relu"


@dataclass(frozen=True, eq=False)
class Start:
    r"""The network that is measured, drawn or given, the spectrum of its $JJ^T$, and the ratios of
    the theorems that need no unknown constant.

    Attributes
    ----------
    network : its weights; every fact about "the drawn start" reads them here.
    gram : extreme eigenvalues $a^2$, $b^2$ of $JJ^T$ (and all of them for small n).
    residual_norm : $\|f(W_0)-y\|$.
    descent_ratio : $2\,\mathrm{Lip}\|r\|/a^2$ of OS-C1; below 1 gradient descent from here provably
        reaches zero loss.
    newton_ratio : $2\,\mathrm{Lip}\,e/a$ of OS-C2; at most 1 a zero-loss network provably exists
        nearby.
    descent : constants of OS-C1, None where it does not apply.
    kink : constants of OS-C3 (ReLU), None where it does not apply.
    Lip : Lipschitz constant of J near the start; infinite for kinks.
    deviation : $\|JJ^T/\|v\|^2-\Sigma\|$, how far this width is from the limit.
    is_given : whether the user gave the network (`inspect(data, network=...)`); else it was drawn.
    """

    network: ShallowNetwork = field(repr=False)
    gram: Extremes
    residual_norm: float
    descent_ratio: float
    newton_ratio: float
    descent: DescentQuantities | None
    kink: KinkDescent | None
    Lip: float
    deviation: float
    is_given: bool = False

    @property
    def a(self) -> float:
        r"""$\sigma_{\min}(J)$."""
        return math.sqrt(self.gram.low)

    @property
    def b(self) -> float:
        r"""$\|J\|$."""
        return math.sqrt(self.gram.high)


@dataclass(frozen=True, eq=False)
class Instance:
    """What a fact is asked about.

    Attributes
    ----------
    m : the data and what was measured on them.
    start : the network, drawn or given.
    step_size : a step that never exceeds 1/||J||^2 near the start.
    delta, theta : the deviations allowed in OS-T6.2, OS-T6.3 and OS-C6.
    failure : the failure probability allowed where a theorem lets it be chosen (DU, OS-T3.2).
    depth : of the deep networks.
    image_shape : (height, width[, channels]) of one row, empty for tables.
    """

    m: Measurements
    start: Start
    step_size: float
    delta: float = 1.0
    theta: float = 0.5
    failure: float = 0.1
    depth: int = 3
    image_shape: tuple[int, ...] = ()

    @property
    def width(self) -> int:
        """Number of neurons of the network."""
        return self.start.network.width
