"""Sections 5.5 to 5.10 of spec/certificate-v1.md as data: the claims of quadratic networks and of second-order points.

Fields that depend on other fields are listed as optional; `roles` then demands exactly the right ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.oracles.claim_grammar import Grammar, Role, rational, require

Sizes = tuple[int, int, int]


def word(*words: str) -> Callable[[Any], str]:
    """A reader of one of the words."""

    def reader(value: Any) -> str:
        require(isinstance(value, str) and value in words, f"expected one of {words}")
        return value

    return reader


def _rank(value: Any) -> int:
    require(type(value) is int and value >= 1, "rank is not a positive integer")
    return value


def _quartic(value: Any) -> dict[str, Any]:
    require(isinstance(value, dict) and value.get("method") in ("rows", "svec"), "quartic has no method")
    names = {"kappa", "method"} | ({"t"} if value["method"] == "svec" else set())
    require(set(value) == names, "quartic has wrong fields")
    return {name: value[name] if name == "method" else rational(value[name]) for name in names}


def _radius(value: Any) -> dict[str, Any]:
    require(isinstance(value, dict) and set(value) == {"R", "lam", "quartic"}, "radius has wrong fields")
    return {"R": rational(value["R"]), "lam": rational(value["lam"]), "quartic": _quartic(value["quartic"])}


def _demand(fields: dict[str, Any], needed: set[str], conditional: set[str]) -> None:
    """Of the conditional fields exactly the needed ones are there."""
    require(set(fields) & conditional == needed, f"the fields {sorted(needed)} are missing, or there are too many")


def _gap_roles(fields: dict[str, Any], sizes: Sizes) -> list[Role]:
    n, d, _ = sizes
    N, method = d * (d + 1) // 2, fields["method"]
    conditional = {"heads", "rank", "mu", "decay", "v_max"}
    if method == "span":
        _demand(fields, {"mu"}, conditional)
        return [Role("C", "F64", (N, N)), Role("z", "F64", (N,))]
    if method == "decay":
        _demand(fields, {"heads", "decay", "v_max"}, conditional)
        sides = {"nonnegative": ["C_lower"], "nonpositive": ["C_upper"], "any": ["C_lower", "C_upper"]}[fields["heads"]]
        return [Role("u", "F64", (n,)), *(Role(side, "F64", (d, d)) for side in sides)]
    _demand(fields, {"heads"} | ({"rank"} & set(fields)), conditional)
    require(fields["heads"] != "any", "theorem P is for heads of one sign")
    s = fields.get("rank", d)
    require(s < d or "rank" not in fields, "rank is not below d")
    rows = [Role("rows", "I64", (s,))] if "rank" in fields else []
    return [Role("lambda", "F64", (n,)), Role("C", "F64", (s, s)), *rows]


def _identifies_roles(fields: dict[str, Any], sizes: Sizes) -> list[Role]:
    N = sizes[1] * (sizes[1] + 1) // 2
    return [Role("C", "F64", (N, N))] if "mu" in fields else []


def _ambiguous_roles(fields: dict[str, Any], sizes: Sizes) -> list[Role]:
    n, d, _ = sizes
    return [Role("C", "F64", (d, d)), *([Role("M", "I64", (d, d))] if 2 * n >= d * (d + 1) else [])]


def _barrier_roles(fields: dict[str, Any], sizes: Sizes) -> list[Role]:
    d = sizes[1]
    N = d * (d + 1) // 2
    large = ["C_phi", "C_Phi"] if fields["norm"] == "factor" else ["C_phi"]
    return [*(Role(name, "F64", (d, d)) for name in ("A_hat", "C_lo", "C_hi")), *(Role(name, "F64", (N, N)) for name in large)]


def _saddle_roles(fields: dict[str, Any], sizes: Sizes) -> list[Role]:
    _, d, k = sizes
    require("trained" in fields, "trained is missing")
    both = fields["trained"] == "vW"
    roles = [Role("U", "F64", (k, d)), *([Role("u", "F64", (k,))] if both else [])]
    if "radius" not in fields:
        return roles
    require(not both, "radius is for W only")
    N = d if fields["radius"]["quartic"]["method"] == "rows" else d * (d + 1) // 2
    return [*roles, Role("C_lam", "F64", (d, d)), Role("C_kappa", "F64", (N, N))]


def _second_roles(fields: dict[str, Any], sizes: Sizes) -> list[Role]:
    _, d, k = sizes
    require("trained" in fields, "trained is missing")
    both = fields["trained"] == "vW"
    p = k * d + (k if both else 0)
    if fields["method"] == "dense":
        require(p <= 400, "more than 400 parameters")
        return [Role("C", "F64", (p, p))]
    require(not both, "blocks are for W only")
    return [Role("C", "F64", (k * d, d))]


_TRAINED = {"trained": word("W", "vW")}
_BARRIER = dict.fromkeys(("phi", "Phi", "a_lo", "a_hi", "E0", "eta", "rate"), rational)
_GAP_OPTIONS = {"heads": word("nonnegative", "nonpositive", "any"), "rank": _rank} | dict.fromkeys(
    ("mu", "decay", "v_max"), rational
)

GRAMMARS = {
    "optimality-gap": Grammar(
        "quadratic-gap/1", {"method": word("positive", "span", "decay"), "gap": rational}, _GAP_OPTIONS, _gap_roles
    ),
    "identifies": Grammar("quadratic-span/1", {}, {"mu": rational}, _identifies_roles),
    "ambiguous": Grammar("quadratic-kernel/1", {"sigma2": rational, "difference": rational}, {}, _ambiguous_roles),
    "below-barrier": Grammar("quadratic-barrier/1", _BARRIER | {"norm": word("rows", "factor")}, {}, _barrier_roles),
    "strict-saddle": Grammar(
        "negative-curvature/1", {"gamma": rational, "eps": rational}, _TRAINED | {"radius": _radius}, _saddle_roles
    ),
    "second-order-stationary": Grammar(
        "second-order/1", {"eps": rational, "delta": rational, "method": word("dense", "blocks")}, _TRAINED, _second_roles
    ),
}
