"""Worked examples of the six claim pages with exact numbers: one neuron, one or two features, every
quantity known by hand.

Each function writes a claim that holds with room; what is given by keyword replaces fields and
tensors.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from tests.corpus.drafts import ClaimDraft, Draft, claim

QUADRATIC = {"activation": "quadratic", "kind": "shallow"}
HALF = Fraction(1, 2)
AXES = ((1.0, 0.0), (0.0, 1.0), (3.0, 0.0))  # the third row lies on the first axis


def matrix(entry: float) -> Any:
    """A 1 x 1 matrix."""
    return np.array([[float(entry)]])


def inverse_root(entry: Fraction) -> Any:
    """The factor of P1 for the 1 x 1 matrix `entry`, or the nearest thing to one if it is not
    positive.
    """
    return matrix(float(abs(entry)) ** -0.5 if entry else 1.0)


def draft(w: float, y: float, claims: list[ClaimDraft], *, v: float = 1.0) -> Draft:
    """n = d = k = 1, x = 1."""
    return Draft(
        dict(QUADRATIC),
        np.ones((1, 1)),
        np.array([float(y)]),
        matrix(w),
        np.array([float(v)]),
        claims,
    )


def changed(result: Draft, replaced: dict[str, Any]) -> Draft:
    """Fields and tensors of the first claim replaced; arrays are tensors."""
    target = result.claims[0]
    for name, value in replaced.items():
        if isinstance(value, np.ndarray):
            target.tensors[name] = value
        else:
            target.fields[name] = value
    return result


def gap_positive(
    w: float = 0.0, lam: float = 1.0, y: float = -1.0, v: float = 1.0, **replaced: Any
) -> Draft:
    """Z = lambda, D = -lambda y - lambda^2/2: with y = -1 and lambda = 1 the exact infimum 1/2."""
    loss = (Fraction(v) * Fraction(w) ** 2 - Fraction(y)) ** 2 / 2
    gap = loss + Fraction(lam) * Fraction(y) + Fraction(lam) ** 2 / 2
    fields = {"method": "positive", "heads": "nonnegative", "gap": gap, "loss_upper": loss}
    tensors = {"lambda": np.array([lam]), "C": inverse_root(Fraction(lam))}
    return changed(draft(w, y, [claim("optimality-gap", fields, tensors)], v=v), replaced)


def gap_decay(
    c: Fraction = Fraction(2),
    u: float = -1.0,
    w: float = 0.0,
    *,
    heads: str = "nonnegative",
    **replaced: Any,
) -> Draft:
    """y = -u, head u's opposite sign: at w = 0 both L and D are u^2/2, so the gap is 0 as soon as
    |u| <= c = decay/(2 v_max).
    """
    v, y = (1.0, -u) if u < 0 else (-1.0, -u)
    loss = (Fraction(v) * Fraction(w) ** 2 - Fraction(y)) ** 2 / 2
    gap = loss + c * Fraction(w) ** 2 - Fraction(u) ** 2 / 2
    fields = {
        "method": "decay",
        "heads": heads,
        "decay": 2 * c,
        "v_max": Fraction(1),
        "gap": gap,
        "loss_upper": loss,
    }
    tensors = {"u": np.array([u])}
    if heads != "nonpositive":
        tensors["C_lower"] = inverse_root(c + Fraction(u))
    if heads != "nonnegative":
        tensors["C_upper"] = inverse_root(c - Fraction(u))
    return changed(draft(w, y, [claim("optimality-gap", fields, tensors)], v=v), replaced)


def gap_span(w: float = 0.75, mu: Fraction = HALF, **replaced: Any) -> Draft:
    """A = 1, y = 1, z = r: the gap is r^2/2 exactly."""
    r = Fraction(w) ** 2 - 1
    fields = {"method": "span", "mu": mu, "gap": r * r / 2, "loss_upper": r * r / 2}
    tensors = {"C": inverse_root(1 - mu), "z": np.array([float(r)])}
    return changed(draft(w, 1.0, [claim("optimality-gap", fields, tensors)]), replaced)


def two_features(rows: Any, result: ClaimDraft) -> Draft:
    """W = I, v = (1, 1), labels 1."""
    X = np.array(rows)
    return Draft(dict(QUADRATIC), X, np.ones(len(X)), np.eye(2), np.ones(2), [result])


def identifies(rows: Any = ((1.0, 0.0), (0.0, 1.0), (1.0, 1.0))) -> Draft:
    """The worked example of the page: monomials of rank 3."""
    return two_features(rows, claim("identifies", {"loss_upper": Fraction(10)}, {}))


def identifies_stable(mu: Fraction = HALF, **replaced: Any) -> Draft:
    """A = 1, the least eigenvalue 1."""
    fields, tensors = {"mu": mu, "loss_upper": HALF}, {"C": inverse_root(1 - mu)}
    return changed(draft(0.0, 1.0, [claim("identifies", fields, tensors)]), replaced)


def ambiguous(rows: Any = AXES, sigma2: Fraction = HALF, **replaced: Any) -> Draft:
    """B = I; the difference is claimed at its limit, (8/3) sigma2^2."""
    fields = {
        "sigma2": sigma2,
        "difference": Fraction(8, 3) * sigma2**2,
        "loss_upper": Fraction(1000),
    }
    tensors: dict[str, Any] = {"C": float(inverse_root(1 - sigma2)[0, 0]) * np.eye(2)}
    if len(rows) >= 3:
        tensors["M"] = np.array([[0, 1], [1, 0]])
    return changed(two_features(rows, claim("ambiguous", fields, tensors)), replaced)


def barrier(
    w: float = 1.25,
    y: float = 1.0,
    s: Fraction = Fraction(1, 64),
    whiskers: dict[str, Fraction] | None = None,
    **replaced: Any,
) -> Draft:
    """F = 1, A = A_hat = y, E = (w^2 - y)^2/2 exactly. phi, Phi, a_lo, a_hi leave the room s, or
    what `whiskers` says.
    """
    room = {name: s for name in ("phi", "Phi", "a_lo", "a_hi")} | (whiskers or {})
    E0 = (Fraction(w) ** 2 - Fraction(y)) ** 2 / 2
    fields: dict[str, Any] = {
        "phi": 1 - room["phi"],
        "Phi": 1 + room["Phi"],
        "norm": "rows",
        "E0": E0,
    }
    fields |= {
        "a_lo": Fraction(y) - room["a_lo"],
        "a_hi": Fraction(y) + room["a_hi"],
        "loss_upper": E0,
    }
    fields |= {"eta": Fraction(1, 32), "rate": Fraction(9999, 10000)}
    factors = {"C_phi": "phi", "C_lo": "a_lo", "C_hi": "a_hi"}
    tensors = {"A_hat": matrix(y)} | {
        role: inverse_root(room[name]) for role, name in factors.items()
    }
    return changed(draft(w, y, [claim("below-barrier", fields, tensors)]), replaced)


def saddle(w: float = 0.0, gamma: Fraction = Fraction(2), **replaced: Any) -> Draft:
    """y = 1: gradient 2 w (w^2 - 1), curvature 6 w^2 - 2."""
    exact = Fraction(w)
    fields = {
        "trained": "W",
        "gamma": gamma,
        "eps": abs(2 * exact * (exact**2 - 1)),
        "loss_upper": (exact**2 - 1) ** 2 / 2,
    }
    return changed(draft(w, 1.0, [claim("strict-saddle", fields, {"U": matrix(3.0)})]), replaced)


def saddle_radius(
    R: Fraction = Fraction(1, 4), room: tuple[Fraction, Fraction] = (HALF, HALF), **replaced: Any
) -> Draft:
    """At w = 0 the weight of the sample is 12 R, so lam = kappa = 12 R and the ball is proved for
    12 R^2 <= 2.
    """
    result, exact = saddle(), 12 * R
    lam, kappa = exact + room[0], exact + room[1]
    fields = {"R": R, "lam": lam, "quartic": {"kappa": kappa, "method": "rows"}}
    result.claims[0].fields["radius"] = fields | {
        name: x for name, x in replaced.items() if name in fields
    }
    result.claims[0].tensors |= {"C_lam": inverse_root(room[0]), "C_kappa": inverse_root(room[1])}
    return changed(result, {name: x for name, x in replaced.items() if name not in fields})


def second_order(
    delta: Fraction = Fraction(3), w: float = 0.0, method: str = "dense", **replaced: Any
) -> Draft:
    """y = 1: H = 6 w^2 - 2; the block alone is 2 (w^2 - 1)."""
    exact = Fraction(w)
    curvature = 6 * exact**2 - 2 if method == "dense" else 2 * (exact**2 - 1)
    fields = {
        "trained": "W",
        "method": method,
        "eps": abs(2 * exact * (exact**2 - 1)),
        "delta": delta,
    }
    fields["loss_upper"] = (exact**2 - 1) ** 2 / 2
    tensors = {"C": inverse_root(curvature + delta)}
    return changed(draft(w, 1.0, [claim("second-order-stationary", fields, tensors)]), replaced)
