"""Which fields and tensors each claim of version 1 has: section 5 of spec/certificate-v1.md as data."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

MAX_RATIONAL = 2500


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


@dataclass(frozen=True)
class Role:
    """A tensor a claim must have; None in the shape means any size."""

    name: str
    dtype: str
    shape: tuple[int | None, ...]


@dataclass(frozen=True)
class Grammar:
    """Fields (name -> reader), optional fields, and the tensors as a function of the parsed fields and (n, d, k)."""

    theorem: str
    fields: dict[str, Callable[[Any], Any]]
    optional: dict[str, Callable[[Any], Any]]
    roles: Callable[[dict[str, Any], tuple[int, int, int]], list[Role]]


def _one_of(*words: str) -> Callable[[Any], str]:
    def reader(value: Any) -> str:
        require(isinstance(value, str) and value in words, f"expected one of {words}")
        return value

    return reader


def _quartic(value: Any) -> dict[str, Any]:
    require(isinstance(value, dict) and value.get("method") in ("rows", "svec"), "unknown quartic method")
    names = {"kappa", "method", "t"} if value["method"] == "svec" else {"kappa", "method"}
    require(set(value) == names, "quartic has wrong fields")
    return {name: value[name] if name == "method" else rational(value[name]) for name in names}


def _lipschitz_roles(fields: dict[str, Any], n: int, d: int) -> list[Role]:
    N = d if fields["quartic"]["method"] == "rows" else d * (d + 1) // 2
    both = [Role("C_beta", "F64", (d, d))] if fields["trained"] == "vW" else []
    return [Role("C_a", "F64", (n, n)), Role("C_kappa", "F64", (N, N)), *both]


def _interpolation_roles(fields: dict[str, Any], sizes: tuple[int, int, int]) -> list[Role]:
    n, d, _ = sizes
    return [*_lipschitz_roles(fields, n, d), Role("z", "F64", (n,))]


def _descent_roles(fields: dict[str, Any], sizes: tuple[int, int, int]) -> list[Role]:
    n, d, _ = sizes
    factor = [Role("C_b", "F64", (n, n))] if fields["norm"] == "factor" else []
    return [*_lipschitz_roles(fields, n, d), *factor]


def _relu_roles(fields: dict[str, Any], sizes: tuple[int, int, int]) -> list[Role]:
    _, d, k = sizes
    return [
        Role("W_hat", "F64", (k, d)),
        Role("T", "I64", (None,)),
        Role("C", "F64", (None, None)),
        Role("dropped", "I64", (None, 2)),
    ]


def _floor_roles(fields: dict[str, Any], sizes: tuple[int, int, int]) -> list[Role]:
    return [Role("members", "I64", (None,)), Role("sizes", "I64", (None,)), Role("kinds", "I64", (None,))]


_LIPSCHITZ: dict[str, Callable[[Any], Any]] = {
    "trained": _one_of("W", "vW"),
    "a2": rational,
    "rho": rational,
    "quartic": _quartic,
}

CLAIMS = {
    "interpolation": Grammar("newton-kantorovich/1", _LIPSCHITZ | {"R": rational}, {"R_lo": rational}, _interpolation_roles),
    "descent": Grammar(
        "descent-path/1",
        _LIPSCHITZ | {"b2": rational, "norm": _one_of("rows", "factor"), "eta": rational, "rate": rational, "path": rational},
        {},
        _descent_roles,
    ),
    "relu-interpolation": Grammar("relu-cell/1", {"mu": rational, "R": rational}, {}, _relu_roles),
    "loss-floor": Grammar(
        "group-floor/1", {"heads": _one_of("any", "nonnegative"), "floor": rational, "gap": rational}, {}, _floor_roles
    ),
}


def read_fields(entry: dict[str, Any]) -> dict[str, Any]:
    """The fields of a claim object, parsed; every field must be known and every required one present."""
    grammar = CLAIMS[entry["kind"]]
    require(entry.get("version") == 1 and type(entry["version"]) is int, "unknown claim version")
    require(entry.get("theorem") == grammar.theorem, "wrong theorem")
    required, optional = grammar.fields | {"loss_upper": rational}, dict(grammar.optional)
    if "trained" in required:
        (required if entry.get("trained") == "vW" else {})["beta2"] = rational
    names = set(entry) - {"kind", "version", "theorem"}
    require(set(required) <= names <= set(required) | set(optional), "claim has wrong fields")
    return {name: (required | optional)[name](entry[name]) for name in names}
