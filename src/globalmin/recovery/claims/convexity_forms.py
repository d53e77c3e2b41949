"""The four bounds of the Hessian on a ball that the claim `unique-minimum` may rest on, in floats,
and their witnesses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array
from globalmin.linalg.positive_definite import EPS, NotPositiveDefiniteError, upper_witness
from globalmin.linalg.quartic import (
    estimate_quartic_svec,
    largest_eigenvalue,
    row_matrix,
    svec_matrix,
)
from globalmin.proving.claim import Json, Tensor, rational
from globalmin.shallow.claims.measured_point import strict_witness
from globalmin.shallow.hessian import curvature_blocks, hessian
from globalmin.shallow.lipschitz import (
    LocalSizes,
    best_tilt,
    block_diagonal,
    local_sizes,
    third_blocks,
    third_derivative,
    tilted,
)
from globalmin.shallow.network import residual

if TYPE_CHECKING:
    from globalmin.shallow.network import ShallowNetwork

    Witness = dict[str, Tensor] | None

_SVEC_FEATURES = 30  # features up to which the sharper quartic bound, of order d(d+1)/2, is used
_GAP = 1e-6
_TAUS = np.linspace(0.04, 0.72, 18)


@dataclass(frozen=True)
class Center:
    """Smooth network and data with the Hessian H in W and its residual part N."""

    network: ShallowNetwork
    X: Array = field(repr=False)
    y: Array = field(repr=False)
    H: Array = field(repr=False)
    N: Array = field(repr=False)
    noise: float

    @cached_property
    def least(self) -> float:
        """Least eigenvalue of H."""
        return float(np.linalg.eigvalsh(self.H)[0])

    @cached_property
    def flat(self) -> Array:
        """The flattened third derivative times its transpose."""
        p = self.network.W.size
        F = third_derivative(self.network, self.X, self.y).reshape(p, p * p)
        return F @ F.T

    @cached_property
    def residual_blocks(self) -> Array:
        """Derivative of the residual part of the Hessian."""
        return third_blocks(self.network, self.X, self.y, diagonal=1.0)

    @cached_property
    def sizes_at(self) -> Callable[[float], LocalSizes]:
        """The local sizes as a function of the radius."""
        return lambda r: local_sizes(self.network, self.X, self.y, r)


@dataclass(frozen=True)
class Bound:
    """hess L between m0 - a t - b t^2 and M0 + a t + above t^2 at distance t, with fields and
    tensors of the certificate.
    """

    form: str
    m0: float
    M0: float
    a: float
    b: float
    above: float
    fields: Mapping[str, Json] = field(default_factory=dict)
    tensors: Mapping[str, Tensor] = field(default_factory=dict, repr=False)

    def lower(self, t: float) -> float:
        """Lower bound at distance t."""
        return self.m0 - self.a * t - self.b * t * t

    def upper(self, t: float) -> float:
        """Upper bound at distance t."""
        return self.M0 + self.a * t + self.above * t * t


def measure_center(network: ShallowNetwork, X: Array, y: Array) -> Center:
    """Hessian and residual part at the stored weights, with an estimate of their rounding."""
    H = hessian(network, X, y)
    N = block_diagonal(curvature_blocks(network, X, residual(network, X, y)))
    noise = 64.0 * EPS * (float(np.trace(H - N)) + float(np.abs(N).sum()))
    return Center(network, X, y, H, N, noise)


def _quartic(X: Array, q: Array, witness: Witness, role: str) -> tuple[float, Json]:
    """Kappa with its field; the factor goes to `witness` if one is kept."""
    svec = X.shape[1] <= _SVEC_FEATURES
    t = estimate_quartic_svec(X, q).t if svec else 0.0
    matrix = svec_matrix(X, q, t) if svec else row_matrix(X, q)
    kappa = _top(matrix, witness, role)
    return kappa, {"kappa": rational(kappa), "method": "svec" if svec else "rows"} | (
        {"t": rational(t)} if svec else {}
    )


def _top(matrix: Array, witness: Witness, role: str) -> float:
    """Largest eigenvalue from above; the factor goes to `witness` if one is kept."""
    if witness is None:
        return max(largest_eigenvalue(matrix) * (1.0 + _GAP), 2.0**-200)
    bound, witness[role] = upper_witness(matrix, relative_gap=_GAP)
    return bound


def _ends(center: Center, low: Array, high: Array, witness: Witness) -> tuple[float, float]:
    """m0 below the least eigenvalue of `low`, M0 above the largest of `high`, with their
    factors.
    """
    least = float(np.linalg.eigvalsh(low)[0])
    m0 = least - _GAP * abs(least) - 40.0 * center.noise
    if witness is not None:
        C = strict_witness(low - m0 * np.eye(len(low)), center.noise)
        if C is None or m0 <= 0:
            raise NotPositiveDefiniteError(
                f"no witness for the least eigenvalue {least:.3g} of the Hessian on the ball"
            )
        witness["C_m"] = C
    return m0, _top(high, witness, "C_M")


def plain(center: Center, r: float, witness: Witness) -> Bound:
    """Form A: the Lipschitz constant of the Hessian on the ball of radius r."""
    return _lipschitz(center, r, witness, tau=0.0)


def split(center: Center, r: float, witness: Witness) -> Bound:
    """Form B: the Gauss-Newton part splits off a share tau, the residual part has a Lipschitz
    constant.
    """
    J4 = _quartic(center.X, center.sizes_at(r).top2 ** 2, None, "")[0]
    return _lipschitz(
        center,
        r,
        witness,
        tau=_best_tau(center.H - center.N, center.N, J4 * r * r),
        square=True,
    )


def _best_tau(G: Array, rest: Array, excess: float) -> float:
    """The tau on a grid with the largest lambda_min((1 - tau) G + rest) - (1/tau - 1) excess."""
    return float(
        max(
            _TAUS,
            key=lambda tau: np.linalg.eigvalsh((1 - tau) * G + rest)[0] - (1 / tau - 1) * excess,
        )
    )


def _lipschitz(
    center: Center, r: float, witness: Witness, *, tau: float, square: bool = False
) -> Bound:
    X, sizes = center.X, center.sizes_at(r)
    c = sizes.cubic_weights(1.0 if square else 3.0)
    m0, M0 = _ends(
        center,
        center.H - tau * (center.H - center.N),
        center.H + tau * (center.H - center.N),
        witness,
    )
    lam = _top((X * c[:, None]).T @ X, witness, "C_lam")
    kappa, quartic = _quartic(X, c, witness, "C_kappa")
    a = math.sqrt(lam * kappa) * (1.0 + 1e-12)
    fields: dict[str, Json] = {"lam": rational(lam), "quartic": quartic}
    if not square:
        return Bound("plain", m0, M0, a, 0.0, 0.0, fields, witness or {})
    J4, field_of_square = _quartic(X, sizes.top2**2, witness, "C_square")
    b = (1.0 / tau - 1.0) * J4
    fields |= {"tau": rational(tau), "square": field_of_square}
    return Bound("split", m0, M0, a, b, (1.0 / tau + 1.0) * J4, fields, witness or {})


def tensor(center: Center, r: float, witness: Witness) -> Bound:
    """Form C: the exact third derivative at the center, the fourth bounded on the ball."""
    m0, M0 = _ends(center, center.H, center.H, witness)
    flat2 = _top(center.flat, witness, "C_flat")
    kappa, quartic = _quartic(
        center.X, center.sizes_at(r).quartic_weights(1.5, 4.0), witness, "C_kappa"
    )
    fields: dict[str, Json] = {"flat2": rational(flat2), "quartic": quartic}
    return Bound(
        "tensor", m0, M0, math.sqrt(flat2) * (1.0 + 1e-12), kappa, kappa, fields, witness or {}
    )


def mixed(center: Center, r: float, witness: Witness) -> Bound:
    """Form B for the Gauss-Newton part, the exact third derivative of the residual part as a matrix
    bound.
    """
    X, sizes, T = center.X, center.sizes_at(r), center.residual_blocks
    G = center.H - center.N
    J4 = _quartic(X, sizes.top2**2, None, "")[0]
    V, _ = best_tilt(T, 0.75 * G + center.N, r, steps=8)
    tau = _best_tau(G, center.N - r * block_diagonal(tilted(T, V)), J4 * r * r)
    V, _ = best_tilt(T, (1 - tau) * G + center.N, r)
    S = r * block_diagonal(tilted(T, V))
    m0, M0 = _ends(center, center.H - tau * G - S, center.H + tau * G + S, witness)
    kappa, quartic = _quartic(X, sizes.quartic_weights(1.0 / tau - 0.5, 2.0), witness, "C_kappa")
    if witness is not None:
        witness["V"] = np.ascontiguousarray(V.reshape(-1, V.shape[-1]))
    fields: dict[str, Json] = {"tau": rational(tau), "quartic": quartic}
    return Bound(
        "mixed", m0, M0, 0.0, kappa, kappa * (1.0 + tau) / (1.0 - tau), fields, witness or {}
    )


BUILDERS: dict[str, Callable[[Center, float, Witness], Bound]] = {
    "plain": plain,
    "split": split,
    "tensor": tensor,
    "mixed": mixed,
}
