"""Which fields and tensors each claim of version 1 has: section 5 of spec/certificate-v1.md as
data.

A field that depends on other fields is listed as optional; `roles` then demands exactly the right
ones.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

MAX_RATIONAL = 2500
MAX_DENSE = 400
Fields = dict[str, Any]
Sizes = tuple[int, int, int]
Reader = Callable[[Any], Any]


class MalformedError(Exception):
    """The bytes are not a version-1 certificate."""


class OtherDataError(Exception):
    """The certificate is about other data than those given."""


class NoDataError(Exception):
    """The certificate names its data by digest, and no data were given."""


def require(condition: bool, reason: str) -> None:
    """Raise `MalformedError` unless the condition holds."""
    if not condition:
        raise MalformedError(reason)


def rational(text: Any) -> Fraction:
    """Parse a rational written in the only allowed way."""
    require(isinstance(text, str) and len(text) <= MAX_RATIONAL, "rational is not a short string")
    match = re.fullmatch(r"(-?)(0|[1-9][0-9]*)(?:/([1-9][0-9]*))?", text, re.ASCII)
    require(match is not None, f"{text[:40]!r} is not a rational")
    sign, p, q = match.groups() if match else ("", "0", None)
    require(not (sign and p == "0"), "minus zero")
    if q is not None:
        require(int(q) >= 2 and math.gcd(int(p), int(q)) == 1, "fraction not in lowest terms")
    return Fraction(int(sign + p), int(q or "1"))


def rationals(*names: str) -> dict[str, Reader]:
    """Fields that are rationals."""
    return dict.fromkeys(names, rational)


def one_of(*words: str) -> Callable[[Any], str]:
    """A reader of one of the words."""

    def reader(value: Any) -> str:
        require(isinstance(value, str) and value in words, f"expected one of {words}")
        return value

    return reader


@dataclass(frozen=True)
class Role:
    """A tensor a claim must have; None in the shape means any size."""

    name: str
    dtype: str
    shape: tuple[int | None, ...]


@dataclass(frozen=True)
class Grammar:
    """Fields (name -> reader), optional fields, and the tensors as a function of the parsed fields
    and (n, d, k).
    """

    theorem: str
    fields: dict[str, Reader]
    optional: dict[str, Reader]
    roles: Callable[[Fields, Sizes], list[Role]]


def squares(names: str, m: int) -> list[Role]:
    """F64 tensors of the shape m x m, by their names with spaces between."""
    return [Role(name, "F64", (m, m)) for name in names.split()]


def svec_length(d: int) -> int:
    """N = d(d+1)/2."""
    return d * (d + 1) // 2


def demand(fields: Fields, needed: set[str], conditional: set[str]) -> None:
    """Of the conditional fields exactly the needed ones are there."""
    require(
        set(fields) & conditional == needed,
        f"the fields {sorted(needed)} are missing, or there are too many",
    )


def quartic(value: Any) -> Fields:
    """The object `quartic` of section 5.1."""
    require(
        isinstance(value, dict) and value.get("method") in ("rows", "svec"),
        "unknown quartic method",
    )
    names = {"kappa", "method", "t"} if value["method"] == "svec" else {"kappa", "method"}
    require(set(value) == names, "quartic has wrong fields")
    return {name: value[name] if name == "method" else rational(value[name]) for name in names}


def quartic_factor(entry: Fields, d: int) -> list[Role]:
    """The factor of P3 by its method."""
    return squares("C_kappa", d if entry["method"] == "rows" else svec_length(d))


def _lipschitz_roles(fields: Fields, n: int, d: int) -> list[Role]:
    both = fields["trained"] == "vW"
    demand(fields, {"beta2"} if both else set(), {"beta2"})
    return [
        *squares("" if "version" in fields else "C_a", n),
        *quartic_factor(fields["quartic"], d),
        *squares("C_beta" if both else "", d),
    ]


def _interpolation_roles(fields: Fields, sizes: Sizes) -> list[Role]:
    n, d, _ = sizes
    return [*_lipschitz_roles(fields, n, d), Role("z", "F64", (n,))]


def _descent_roles(fields: Fields, sizes: Sizes) -> list[Role]:
    n, d, _ = sizes
    return [
        *_lipschitz_roles(fields, n, d),
        *squares("C_b" if fields["norm"] == "factor" else "", n),
    ]


def _relu_roles(fields: Fields, sizes: Sizes) -> list[Role]:
    _, d, k = sizes
    return [
        Role("W_hat", "F64", (k, d)),
        Role("T", "I64", (None,)),
        Role("C", "F64", (None, None)),
        Role("dropped", "I64", (None, 2)),
    ]


def _floor_roles(fields: Fields, sizes: Sizes) -> list[Role]:
    return [Role(name, "I64", (None,)) for name in ("members", "sizes", "kinds")]


def _gap_roles(fields: Fields, sizes: Sizes) -> list[Role]:
    n, d, _ = sizes
    N, method = svec_length(d), fields["method"]
    conditional = {"heads", "rank", "mu", "decay", "v_max"}
    if method == "span":
        demand(fields, {"mu"}, conditional)
        return [*squares("C", N), Role("z", "F64", (N,))]
    if method == "decay":
        demand(fields, {"heads", "decay", "v_max"}, conditional)
        sides = {"nonnegative": "C_lower", "nonpositive": "C_upper", "any": "C_lower C_upper"}[
            fields["heads"]
        ]
        return [Role("u", "F64", (n,)), *squares(sides, d)]
    demand(fields, {"heads"} | ({"rank"} & set(fields)), conditional)
    require(fields["heads"] != "any", "theorem P is for heads of one sign")
    s = fields.get("rank", d)
    require(s < d or "rank" not in fields, "rank is not below d")
    rows = [Role("rows", "I64", (s,))] if "rank" in fields else []
    return [Role("lambda", "F64", (n,)), *squares("C", s), *rows]


def _rank(value: Any) -> int:
    require(type(value) is int and value >= 1, "rank is not a positive integer")
    return value


def _identifies_roles(fields: Fields, sizes: Sizes) -> list[Role]:
    return squares("C" if "mu" in fields else "", svec_length(sizes[1]))


def _ambiguous_roles(fields: Fields, sizes: Sizes) -> list[Role]:
    n, d, _ = sizes
    return [*squares("C", d), *([Role("M", "I64", (d, d))] if n >= svec_length(d) else [])]


def _barrier_roles(fields: Fields, sizes: Sizes) -> list[Role]:
    d = sizes[1]
    large = "C_phi C_Phi" if fields["norm"] == "factor" else "C_phi"
    return [*squares("A_hat C_lo C_hi", d), *squares(large, svec_length(d))]


def _saddle_roles(fields: Fields, sizes: Sizes) -> list[Role]:
    _, d, k = sizes
    both = fields["trained"] == "vW"
    roles = [Role("U", "F64", (k, d)), *([Role("u", "F64", (k,))] if both else [])]
    return [*roles, *_radius_roles(fields, d)]


def _radius_roles(fields: Fields, d: int) -> list[Role]:
    """The factors of the Lipschitz constant of the Hessian; both layers have none."""
    if "radius" not in fields:
        return []
    both = fields["trained"] == "vW"
    demand(fields["radius"], {"Lip"} if both else {"lam", "quartic"}, {"Lip", "lam", "quartic"})
    return [] if both else [*squares("C_lam", d), *quartic_factor(fields["radius"]["quartic"], d)]


def _object(value: Any, required: dict[str, Reader], optional: dict[str, Reader]) -> Fields:
    require(
        isinstance(value, dict) and set(required) <= set(value) <= set(required) | set(optional),
        "object has wrong fields",
    )
    return {name: (required | optional)[name](entry) for name, entry in value.items()}


_CONSTANTS: dict[str, Reader] = rationals("lam", "Lip") | {"quartic": quartic}


def _radius(value: Any) -> Fields:
    return _object(value, rationals("R"), _CONSTANTS)


def _surroundings(value: Any) -> Fields:
    return _object(
        value,
        rationals("R", "epsilon"),
        _CONSTANTS | {"minimum": lambda entry: _object(entry, _MINIMUM, {})},
    )


_MINIMUM: dict[str, Reader] = rationals("mu", "distance")


def _second_roles(fields: Fields, sizes: Sizes) -> list[Role]:
    _, d, k = sizes
    both = fields["trained"] == "vW"
    p = k * d + (k if both else 0)
    nearby, minimum = _radius_roles(fields, d), "minimum" in fields.get("radius", {})
    if fields["method"] == "dense":
        require(p <= MAX_DENSE, f"more than {MAX_DENSE} parameters")
        return [*squares("C C_mu" if minimum else "C", p), *nearby]
    require(not both and not minimum, "blocks are for W only, and a minimum needs the dense method")
    return [Role("C", "F64", (k * d, d)), *nearby]


_TRAINED: dict[str, Reader] = {"trained": one_of("W", "vW")}
_LIPSCHITZ: dict[str, Reader] = _TRAINED | rationals("a2", "rho") | {"quartic": quartic}
_NORM: dict[str, Reader] = {"norm": one_of("rows", "factor")}
_GAP_OPTIONS: dict[str, Reader] = {
    "heads": one_of("nonnegative", "nonpositive", "any"),
    "rank": _rank,
}

CLAIMS = {
    "interpolation": Grammar(
        "newton-kantorovich/1",
        _LIPSCHITZ | rationals("R"),
        rationals("beta2", "R_lo"),
        _interpolation_roles,
    ),
    "descent": Grammar(
        "descent-path/1",
        _LIPSCHITZ | _NORM | rationals("b2", "eta", "rate", "path"),
        rationals("beta2"),
        _descent_roles,
    ),
    "relu-interpolation": Grammar("relu-cell/1", rationals("mu", "R"), {}, _relu_roles),
    "loss-floor": Grammar(
        "group-floor/1",
        {"heads": one_of("any", "nonnegative")} | rationals("floor", "gap"),
        {},
        _floor_roles,
    ),
    "optimality-gap": Grammar(
        "quadratic-gap/1",
        {"method": one_of("positive", "span", "decay")} | rationals("gap"),
        _GAP_OPTIONS | rationals("mu", "decay", "v_max"),
        _gap_roles,
    ),
    "identifies": Grammar("quadratic-span/1", {}, rationals("mu"), _identifies_roles),
    "ambiguous": Grammar(
        "quadratic-kernel/1", rationals("sigma2", "difference"), {}, _ambiguous_roles
    ),
    "below-barrier": Grammar(
        "quadratic-barrier/1",
        _NORM | rationals("phi", "Phi", "a_lo", "a_hi", "E0", "eta", "rate"),
        {},
        _barrier_roles,
    ),
    "strict-saddle": Grammar(
        "negative-curvature/1",
        _TRAINED | rationals("gamma", "eps"),
        {"radius": _radius},
        _saddle_roles,
    ),
    "second-order-stationary": Grammar(
        "second-order/1",
        _TRAINED | {"method": one_of("dense", "blocks")} | rationals("eps", "delta"),
        {"radius": _surroundings},
        _second_roles,
    ),
}


def read_fields(entry: Fields) -> Fields:
    """The fields of a claim object, parsed; every field must be known and every required one
    present.
    """
    grammar = CLAIMS[entry["kind"]]
    version = entry.get("version")
    free = version == 2 and entry["kind"] in ("interpolation", "descent")  # no witness of K
    require((version == 1 or free) and type(version) is int, "unknown claim version")
    require(entry.get("theorem") == grammar.theorem, "wrong theorem")
    required, optional = grammar.fields | {"loss_upper": rational}, grammar.optional
    names = set(entry) - {"kind", "version", "theorem"}
    require(set(required) <= names <= set(required) | set(optional), "claim has wrong fields")
    known = {name: (required | optional)[name](entry[name]) for name in names}
    return known | ({"version": 2} if free else {})
