"""Small files of regularized networks: any network and any dual vector, with the bounds p_up and
p_low that belong to them, and plain witnesses.

Nothing is optimized here: the dual vector is a multiple of the derivative of the loss, so the gaps
are large, and true.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from tests.corpus.small_producer import inverse_factor
from tests.oracles import fraction_several as several
from tests.oracles import gmc_builder as gmc
from tests.oracles.fraction_regularized import (
    RegularizedFile,
    dual_value,
    objective,
    read_regularized,
    repaired,
)

Array = np.ndarray
SMOOTHNESS = {"squared": 1, "huber": 1, "squared_hinge": 1, "logistic": 0.25}


@dataclass(frozen=True)
class Case:
    """A network with its class, data and loss; absent parts are None."""

    X: Array
    y: Array
    W: Array
    v: Array
    bias: Array | None = None
    intercept: float | Array | None = None
    linear: Array | None = None
    om: Array | None = None
    loss: dict[str, Any] = field(default_factory=lambda: {"name": "squared"})
    network: dict[str, Any] = field(default_factory=dict)

    def form(self) -> dict[str, Any]:
        """The object `network`; what is not given follows from the parts that are there."""
        rules: dict[str, Any] = {
            "kind": "regularized",
            "neurons": "relu",
            "groups": "columns",
            "hidden_bias": "none" if self.bias is None else "penalized",
            "intercept": "none" if self.intercept is None else "free",
            "linear": "none" if self.linear is None else "free",
            "heads": "any",
            "b": Fraction(1, 2),
        } | self.network
        if rules["hidden_bias"] == "penalized":
            rules.setdefault("tau", Fraction(1))
        return gmc.written(rules)

    def tensors(self) -> dict[str, Array]:
        """All tensors of the network and the data."""
        found = {"X": self.X, "y": self.y, "W": self.W, "v": self.v}
        parts = {"bias": self.bias, "linear": self.linear, "om": self.om}
        found |= {name: part for name, part in parts.items() if part is not None}
        return (
            found
            if self.intercept is None
            else found | {"intercept": np.atleast_1d(self.intercept)}
        )


def build(case: Case, claims: list[tuple[dict[str, Any], dict[str, Array]]]) -> bytes:
    """A sealed file."""
    n, d = case.X.shape
    tensors = case.tensors()
    for index, (_, roles) in enumerate(claims):
        tensors |= {f"claims.{index}.{role}": array for role, array in roles.items()}
    top = {
        "claims": [gmc.written(claim) for claim, _ in claims],
        "data": {"d": d, "n": n, "weighted": case.om is not None},
        "loss": gmc.written(case.loss),
        "network": case.form(),
        "producer": "tests",
    }
    return gmc.pack(top, tensors)


def dual_claim(
    case: Case,
    u: Array,
    constraint: str = "columns",
    *,
    kind: str = "dual-gap",
    repair: list[int] | None = None,
    witness: dict[str, Array] | None = None,
    **fields: Any,
) -> tuple[dict[str, Any], dict[str, Array]]:
    """A claim with p_up, p_low and gap of exact rationals (rounded outward where there are
    logarithms); fields given here win.
    """
    tensors = {"u": np.asarray(u, float)} | (witness or {})
    ndim = len(tensors["u"]) // len(case.X) if "outputs" in case.network else tensors["u"].ndim
    parts: dict[str, Any] = {"constraint": constraint, "parts": ndim}
    if repair is not None:
        tensors["repair"], parts["repair"] = np.array(repair, np.int64), len(repair)
    zero = {"p_up": "0", "p_low": "0", "gap": "0"}
    draft = gmc.claim(kind, **(zero | parts | fields))
    values = bounds_of(build(case, [(draft, tensors)]))
    return gmc.claim(kind, **(values | parts | fields)), tensors


def bounds_of(raw: bytes, bits: int = 256) -> dict[str, Fraction]:
    """p_up, p_low and their difference for the stored network and the stored u."""
    file = read_regularized(raw)
    _, fields, found = file.claims[0]
    if file.c > 1:
        return _bounds_of_several(file, fields, found, bits)
    flat, n = found["u"].numbers(), len(file.X)
    u = flat if fields["parts"] == 1 else [flat[i] + flat[n + i] for i in range(n)]
    if "repair" in found:
        u = repaired(file, u, found["repair"].integers()) or u
    up = objective(file, bits).upper
    try:
        low = dual_value(file, u, bits).lower
    except (ZeroDivisionError, ValueError):  # outside the domain: any number will do
        low = Fraction(0)
    return {"p_up": up, "p_low": low, "gap": up - low}


def _bounds_of_several(
    file: RegularizedFile, fields: dict[str, Any], found: dict[str, Any], bits: int
) -> dict[str, Fraction]:
    U = several.stored_matrix(file, fields, found)
    up = several.objective(file, bits).upper
    inside = several.in_domain(file, U)  # outside of the domain any number will do
    low = several.dual_value(file, U, bits).lower if inside else Fraction(0)
    return {"p_up": up, "p_low": low, "gap": up - low}


def file_of(case: Case, u: Array, constraint: str = "columns", **options: Any) -> bytes:
    """A sealed file with one claim."""
    return build(case, [dual_claim(case, u, constraint, **options)])


def golden(b: Fraction = Fraction(1, 2), t: float = 0.353, **network: Any) -> tuple[Case, Array]:
    """Section 13 of the theorems: one column (-1, 1), y = (-1, 1), one neuron along (1, 1)."""
    case = Case(
        np.array([[-1.0], [1.0]]),
        np.array([-1.0, 1.0]),
        np.array([[0.5]]),
        np.array([0.5]),
        bias=None if network.get("hidden_bias") == "none" else np.array([0.5]),
        intercept=-0.5,
        network={"b": b} | network,
    )
    return case, np.array([t, -t])


def spectral_witness(case: Case, u: Array) -> tuple[Array, dict[str, Fraction], dict[str, Array]]:
    """u scaled so that R4 proves it, gammas and tensors: slopes 1/2 and the plain curvature."""
    rows = case.X
    if case.bias is not None:
        tau = float(Fraction(case.form().get("tau", "1")))
        rows = np.hstack([rows, np.full((len(rows), 1), tau)])
    norms = np.maximum(np.linalg.norm(rows, axis=1), 1e-3)
    tensors = {
        "rho": 0.5 / norms * (1 + 1e-12),
        "sig": norms / 2 * (1 + 1e-12),
        "al": np.full(len(u), 0.5),
        "be": 0.5 / norms * (1 - 1e-12),
    }
    signs = (-1,) if case.form()["heads"] == "nonnegative" else (1, -1)
    b = float(Fraction(case.form()["b"]))
    found = {sign: _best_gamma(rows, sign * u, tensors) for sign in signs}
    scale = min(1.0, b / max(bound for bound, _ in found.values()) * (1 - 1e-6))
    gammas, names = {}, {1: "plus", -1: "minus"}
    for sign, (_, gamma) in found.items():
        Q, c, k = _moments(rows, sign * scale * u, tensors)
        exact = Fraction(float(gamma * scale))
        matrix = np.block(
            [
                [float(exact) * np.eye(len(Q)) - Q, -c[:, None] / 2],
                [-c[None] / 2, b - k - float(exact)],
            ]
        )
        gammas[f"gamma_{names[sign]}"] = exact
        tensors[f"C_{names[sign]}"] = inverse_factor(matrix)
    return scale * u, gammas, tensors


def _moments(rows: Array, u: Array, slopes: dict[str, Array]) -> tuple[Array, Array, float]:
    up, down = np.maximum(u, 0), np.minimum(u, 0)
    curve = up * slopes["rho"] / 2 + down * slopes["be"]
    slant = up / 2 + down * slopes["al"]
    return (rows.T * curve) @ rows, rows.T @ slant, float(up @ slopes["sig"] / 2)


def _best_gamma(rows: Array, u: Array, slopes: dict[str, Array]) -> tuple[float, float]:
    """The smallest bound k + gamma + c^T (gamma I - Q)^{-1} c/4 over a grid of gamma."""
    Q, c, k = _moments(rows, u, slopes)
    values, vectors = np.linalg.eigh(Q)
    size = float(np.abs(values).max() + np.linalg.norm(c) + abs(k)) + 1e-12
    best = (np.inf, 0.0)
    for step in np.geomspace(1e-4, 4, 200) * size:
        gamma = float(values[-1] + step)
        bound = k + gamma + float(np.sum((vectors.T @ c) ** 2 / (gamma - values)) / 4)
        best = min(best, (bound, gamma))
    return best


def quadratic_witness(case: Case, u: Array) -> tuple[Array, dict[str, Array]]:
    """u scaled so that -aI < Z < aI, and the factors."""
    rows = case.X
    if case.bias is not None:
        rows = np.hstack(
            [rows, np.full((len(rows), 1), float(Fraction(case.form().get("tau", "1"))))]
        )
    form = case.form()
    a = float(Fraction(form["b"]) / (2 * Fraction(form["v_max"])))
    size = float(np.abs(np.linalg.eigvalsh((rows.T * u) @ rows)).max()) + 1e-300
    u = u * min(1.0, a / size * (1 - 1e-6))
    Z, eye = (rows.T * u) @ rows, np.eye(rows.shape[1])
    tensors = {"C_lower": inverse_factor(a * eye + Z)}
    if form["heads"] == "any":
        tensors["C_upper"] = inverse_factor(a * eye - Z)
    return u, tensors


def derivative(case: Case) -> Array:
    """om l'(f) at the stored network: the natural u."""
    w = case.X @ case.W.T
    if case.bias is not None:
        tau = float(Fraction(case.form().get("tau", "1")))
        w = w + tau * case.bias
    hidden = w**2 if case.form()["neurons"] == "quadratic" else np.maximum(w, 0)
    f = hidden @ case.v + (case.intercept or 0.0)
    f = f if case.linear is None else f + case.X @ case.linear
    name, y = case.loss["name"], case.y
    h = float(Fraction(case.loss.get("parameter", 0)))
    r, m = f - y, y * f
    with np.errstate(over="ignore"):
        found = {
            "squared": r,
            "huber": np.clip(r, -h, h),
            "quantile": np.where(r < 0, -h, 1 - h),
            "hinge": np.where(m < 1, -y, 0.0),
            "squared_hinge": -y * np.maximum(0, 1 - m),
            "logistic": -y / (1 + np.exp(m)),
            "poisson": np.exp(np.minimum(f, 50)) - y,
        }[name]
    return found if case.om is None else case.om * found


def rounded(u: Array, bits: int = 30) -> Array:
    """Multiples of a power of two, so that sums of few are exact."""
    top = float(np.abs(u).max())
    unit = 2.0 ** (np.floor(np.log2(top)) - bits) if top else 1.0
    return np.rint(u / unit) * unit


def with_zero_sum(u: Array, place: int) -> Array:
    """The entry at `place` changed so that the sum is exactly zero."""
    u = rounded(u)
    u[place] -= u.sum()
    return u


def changed(case: Case, **parts: Any) -> Case:
    """The case with other parts; `network` is merged."""
    if "network" in parts:
        parts["network"] = case.network | parts["network"]
    return replace(case, **parts)
