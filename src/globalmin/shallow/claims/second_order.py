"""Claim `second-order-stationary`: small gradient and no large negative curvature at the stored
weights.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from globalmin._options import Trained, one_of
from globalmin._types import Array
from globalmin.errors import CannotCertify, DataError
from globalmin.linalg.positive_definite import EPS
from globalmin.proving.certificate import CHECKER_WORK
from globalmin.proving.claim import Claim, ClaimRecord, Json, Proves, rational
from globalmin.references import states
from globalmin.shallow.claims.curvature import gradient_above, smooth_arrays
from globalmin.shallow.claims.high_precision import precise_residual
from globalmin.shallow.claims.linearized_point import loss_above
from globalmin.shallow.claims.measured_point import strict_witness
from globalmin.shallow.claims.surroundings import Around, surroundings
from globalmin.shallow.hessian import curvature_blocks, hessian, hessian_rounding
from globalmin.shallow.network import ShallowNetwork, residual

if TYPE_CHECKING:
    from globalmin.data import Dataset


DENSE = 400  # parameters up to which the format takes the whole Hessian
Method = Literal["dense", "blocks"]
METHODS: tuple[Method, ...] = get_args(Method)
MARGINS = (1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6)


@states("DU-CERT7", "DU-D7.5")
def build(
    network: ShallowNetwork,
    data: Dataset,
    trained: Trained = "W",
    *,
    method: Method | None = None,
    radius: float | None = None,
) -> Claim:
    r"""The claim with the least tolerances that can be proved, and what theorem SO adds about a
    ball around the weights.

    Parameters
    ----------
    network, data : smooth network and its data set.
    trained : "W" or "vW".
    method : "dense" (whole Hessian, at most 400 parameters) or "blocks" (trained "W", a weaker
        bound of the curvature from the second derivatives of the outputs alone); by default "dense"
        where it fits.
    radius : of the ball on which the Lipschitz constant rho of the Hessian is proved, for
        $\epsilon$ with $\sqrt{\rho\epsilon}$; 0 for none. Default: if a strict minimum nearby can
        be proved (dense), the largest ball in which it is the only critical point; else one per
        cent of the norm of the weights.

    Theory
    ------
    DU-CERT7 and DU-D7.5 through theorem SO: $\epsilon$-second-order stationary with an explicit
    rho, a minimum nearby.
    """
    X, y = smooth_arrays(network, data, trained)
    method = _checked_method(method, network, X.shape[0], trained)
    loss = loss_above(precise_residual(network, X, y))
    r, scale = residual(network, X, y), hessian_rounding(network, X, y)
    parts = (
        hessian(network, X, y, trained=trained)[None]
        if method == "dense"
        else curvature_blocks(network, X, r)
    )
    delta, C = _least_shift(parts, scale, np.ones(1) if method == "dense" else network.v)
    eps = gradient_above(network, X, y, trained=trained)
    fields: dict[str, Json] = {
        "loss_upper": rational(loss),
        "trained": trained,
        "method": method,
        "eps": rational(eps),
        "delta": rational(delta),
    }
    summary = {"loss_upper": loss, "eps": eps, "delta": delta}
    where = Around(network, X, y, trained, eps, delta)
    found = surroundings(
        where, parts[0] if method == "dense" else None, scale, radius=_checked_radius(radius)
    )
    if found is None:
        return Claim(CLAIM.kind, fields, {"C": C}, summary)
    return Claim(
        CLAIM.kind,
        {**fields, "radius": found[0]},
        {"C": C} | found[1],
        summary | found[2],
    )


def _checked_radius(radius: float | None) -> float | None:
    if radius is not None and not 0.0 <= radius < np.inf:
        raise DataError(f"radius={radius!r} must be a number >= 0, 0 for no statement about a ball")
    return radius


def _checked_method(
    method: Method | None, network: ShallowNetwork, n: int, trained: Trained
) -> Method:
    if method is not None:
        one_of("method", method, METHODS)
    k, d = network.W.shape
    p = k * d + (k if trained == "vW" else 0)
    chosen = method or ("dense" if p <= DENSE else "blocks")
    if chosen == "dense" and p > DENSE:
        raise CannotCertify(
            f"{p} parameters are more than the {DENSE} of the dense method; use method='blocks'"
        )
    if chosen == "blocks" and trained == "vW":
        raise CannotCertify(
            f"{p} parameters are more than {DENSE}, and blocks are for trained='W' only"
        )
    if n * k * d * d + 2 * k * d**3 > CHECKER_WORK:
        raise CannotCertify(
            f"n = {n}, k = {k}, d = {d}: the proof is beyond the checker's work budget"
        )
    return chosen


def _least_shift(parts: Array, noise: float, heads: Array) -> tuple[float, Array]:
    """The shift delta and the stacked witnesses C of part + delta I; zero blocks where the head is
    zero.
    """
    spectra = np.linalg.eigvalsh(parts)
    low, size = float(spectra.min()), max(float(np.abs(spectra).max()), 2.0**-200)
    for margin in MARGINS:
        delta = max(-low, 0.0) + margin * size + 40.0 * noise
        found = [
            strict_witness(part + delta * np.eye(len(part)), noise + EPS * size)
            if head
            else np.zeros_like(part)
            for part, head in zip(parts, heads, strict=True)
        ]
        if all(C is not None for C in found):
            return delta, np.vstack([C for C in found if C is not None])
    raise CannotCertify(
        f"no witness that the Hessian, with least eigenvalue {low:.3g}, is above {-low:.3g} within "
        "rounding"
    )


CLAIM = ClaimRecord(
    kind="second-order-stationary",
    theorem="second-order/1",
    proves=Proves.POINT,
    label="second-order stationary",
    network=ShallowNetwork,
    build=lambda q: build(q.network, q.data, q.trained),
    sentence="The gradient is at most {eps} and no direction has a second derivative below "
    "−{delta}. Whether this is a minimum, local or global, is not said. The loss is at most "
    "{loss_upper}.",
    headline="The stored weights are second-order stationary. Whether they are a global minimum is "
    "not proved.",
)
