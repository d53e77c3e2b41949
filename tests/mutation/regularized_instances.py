"""Random honest files of regularized networks, tiny enough for the exact oracle: every class,
constraint, loss, bias rule and part.

Numbers are often small multiples of 1/4, so that repeated values, kinks at samples and exact ties
occur.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import isqrt
from typing import Any

import numpy as np
from tests.checker.regularized_cases import (
    Case,
    build,
    derivative,
    dual_claim,
    quadratic_witness,
    rounded,
    spectral_witness,
    with_zero_sum,
)
from tests.checker.slab_cases import slab_witness
from tests.oracles.fraction_dual import in_domain, largest_square
from tests.oracles.fraction_regularized import (
    RegularizedFile,
    equations,
    read_regularized,
    repaired,
)

Rng = np.random.Generator
Array = np.ndarray
CONSTRAINTS = ("columns", "free columns", "cones", "spectral", "quadratic", "unused", "slabs")
LOSSES = ("squared", "huber", "quantile", "hinge", "squared_hinge", "logistic", "poisson")
SMOOTH = ("squared", "huber", "squared_hinge", "logistic")


def pick(rng: Rng, *options: Any) -> Any:
    """One of the options."""
    return options[int(rng.integers(len(options)))]


def numbers(rng: Rng, *shape: int) -> Array:
    """Gaussian numbers, or multiples of 1/4 with many repetitions."""
    values = rng.standard_normal(shape)
    return np.rint(values * 2) / 4 if rng.random() < 0.6 else values


def _loss(rng: Rng, names: tuple[str, ...]) -> dict[str, Any]:
    name = pick(rng, *names)
    if name == "huber":
        return {"name": name, "parameter": Fraction(pick(rng, 1, 2, 3), 2)}
    return {"name": name, "parameter": Fraction(7, 8)} if name == "quantile" else {"name": name}


def _labels(rng: Rng, name: str, n: int) -> Array:
    if name in ("hinge", "squared_hinge", "logistic"):
        return rng.choice([-1.0, 1.0], n)
    return rng.integers(0, 4, n).astype(float) if name == "poisson" else numbers(rng, n)


def _class(rng: Rng, constraint: str, d: int) -> dict[str, Any]:
    if constraint == "quadratic":
        return {"neurons": "quadratic", "groups": "all", "v_max": Fraction(1)}
    if constraint in ("columns", "free columns"):
        return {"groups": pick(rng, "columns", [[j] for j in range(d)])}
    if constraint in ("spectral", "slabs"):
        return {"groups": pick(rng, "all", [list(range(d))])}
    whole: list[Any] = ["columns", "all", "pairs"] if d > 1 else ["columns", "all"]
    return {"groups": pick(rng, *whole, *([[[0], [0, 1]]] if d > 1 else []))}


def _rules(rng: Rng, constraint: str) -> dict[str, Any]:
    biases = {"free columns": ("free",), "slabs": ("free",), "unused": ("penalized",)}
    few = ("penalized", "none")
    rules: dict[str, Any] = {"hidden_bias": pick(rng, *biases.get(constraint, few))}
    if constraint == "cones" and rng.random() < 0.2:
        rules["hidden_bias"] = "free"
    quadratic = constraint == "quadratic"
    rules["intercept"] = pick(rng, "none", "free", "none" if quadratic else "penalized")
    rules["linear"] = "none" if quadratic else pick(rng, "none", "none", "free", "penalized")
    rules["heads"] = "any" if constraint == "unused" else pick(rng, "any", "any", "nonnegative")
    if rules["hidden_bias"] == "penalized":
        rules["tau"] = Fraction(pick(rng, 1, 1, 2, 3), pick(rng, 1, 2))
    for part, name in (("intercept", "k0"), ("linear", "k1")):
        if rules[part] == "penalized":
            rules[name] = Fraction(pick(rng, 1, 2), 2)
    return rules


def random_case(rng: Rng, constraint: str) -> Case:
    """A network of a random class with random data."""
    n, d, k = int(rng.integers(1, 6)), int(rng.integers(1, 3)), int(rng.integers(1, 3))
    if constraint == "cones" and d == 2:
        n = min(n, 4)
    loss = _loss(rng, SMOOTH if constraint == "unused" and rng.random() < 0.8 else LOSSES)
    network = _class(rng, constraint, d) | _rules(rng, constraint)
    network["b"] = Fraction(float(10 ** rng.uniform(-1, 0.7)))
    X, W, v = numbers(rng, n, d), numbers(rng, k, d), np.clip(numbers(rng, k), -1, 1)
    if network["heads"] == "nonnegative":
        v = np.abs(v)
    columns = ("columns", "free columns")
    if constraint in columns and network["heads"] == "any" and rng.random() < 0.3:
        network["monotone"] = [int(x) for x in rng.integers(-1, 2, d)]
    groups = network["groups"]
    narrow = groups == "columns" or (
        isinstance(groups, list) and constraint not in ("spectral", "slabs")
    )
    for row in W if narrow and d > 1 else []:
        row[int(rng.integers(d))] = 0.0
    for row, head in zip(W, v, strict=True):
        signs = np.array(network.get("monotone", [0] * d))
        row[row * head * signs < 0] *= -1
    return Case(
        X,
        _labels(rng, loss["name"], n),
        W,
        v,
        bias=None if network["hidden_bias"] == "none" else numbers(rng, k),
        intercept=None if network["intercept"] == "none" else float(numbers(rng, 1)[0]),
        linear=None if network["linear"] == "none" else numbers(rng, d),
        om=rng.choice([0.0, 0.5, 1.0, 2.0], n) if rng.random() < 0.25 else None,
        loss=loss,
        network=network,
    )


def opened_case(case: Case) -> RegularizedFile:
    """The case as the slow checker reads it."""
    zero = {"p_up": "0", "p_low": "0", "gap": "0"}
    quadratic = case.form()["neurons"] == "quadratic"
    size = case.X.shape[1] + (case.bias is not None)
    witness = {"C_lower": np.eye(size), "C_upper": np.eye(size)} if quadratic else {}
    if case.form()["heads"] == "nonnegative":
        witness.pop("C_upper", None)
    claim = {"kind": "dual-gap", "version": 1, "theorem": "convex-dual/1", "parts": 1} | zero
    claim["constraint"] = "quadratic" if quadratic else "cones"
    return read_regularized(build(case, [(claim, {"u": np.zeros(len(case.X))} | witness)]))


def feasible(rng: Rng, case: Case) -> tuple[Array, list[int] | None]:
    """A dual vector in the domains with exact equations, and the rows of its repair: a multiple of
    the derivative, or zero.
    """
    file = opened_case(case)
    width, n = len(equations(file)), len(case.X)
    for share in (1.0, 0.5, 0.25):
        u = rounded(share * derivative(case))
        if case.om is not None:
            u[case.om == 0] = 0.0
        exact = [Fraction(x) for x in u]
        if not width:
            return u, None
        for size in range(min(width, n), 0, -1):
            rows = sorted(int(i) for i in rng.permutation(n)[:size])
            final = repaired(file, exact, rows)
            if final is not None and _is_feasible(file, final):
                return u, rows
    return np.zeros(n), None


def _is_feasible(file: RegularizedFile, u: list[Fraction]) -> bool:
    inside = all(
        in_domain(file.loss, file.parameter, x / om, y) if om else x == 0
        for x, y, om in zip(u, file.y, file.om, strict=True)
    )
    zero = Fraction(0)
    return inside and all(
        sum((c * x for c, x in zip(column, u, strict=True)), zero) == 0
        for column in equations(file)
    )


def root_above(square: Fraction, bits: int = 80) -> Fraction:
    """A rational just above the root."""
    shift = 2 * (bits + max(0, square.denominator.bit_length()))
    return Fraction(isqrt((square.numerator << shift) // square.denominator) + 1, 1 << shift // 2)


def largest(file: RegularizedFile, u: list[Fraction]) -> list[Fraction]:
    """A rational just above H_g(u), for each maximal group, both signs."""
    found = []
    for group in file.network["groups"]:
        rows = file.group_rows(group)
        shifts = rows if file.network["hidden_bias"] == "free" else [[Fraction(0)] * len(rows[0])]
        square = max(
            largest_square(
                [[a - b for a, b in zip(row, shift, strict=True)] for row in rows],
                [sign * x for x in u],
            )
            for shift in shifts
            for sign in (1, -1)
        )
        found.append(root_above(square))
    return found


def honest(rng: Rng, constraint: str) -> tuple[Case, dict[str, Any]]:
    """A case and the options of `dual_claim` under which its file is true: b is above H, or the
    witness above its bound.
    """
    case = random_case(rng, constraint)
    u, repair = feasible(rng, case)
    options: dict[str, Any] = {"repair": repair, "u": u}
    if constraint in ("spectral", "slabs", "quadratic"):
        return case, options | {"constraint": constraint}
    file = opened_case(case)
    exact = [Fraction(x) for x in u]
    final = repaired(file, exact, repair) if repair else exact
    tops = largest(file, final or exact)
    top = max(tops)
    tight = rng.random() < 0.5
    b = max(top, Fraction(1, 10**6)) * (1 if tight else Fraction(float(1 + rng.uniform(0, 1))))
    # a search by cones needs a little room
    room = Fraction(1) if constraint in ("columns", "free columns") else 1 + Fraction(1, 10**7)
    b *= room
    if not constraint.endswith("columns"):
        b = min(b, max(top, Fraction(1, 10**6)) * 3)
    case = replace(case, network=case.network | {"b": b})
    single = all(len(group) == 1 for group in file.network["groups"])
    options["constraint"] = "columns" if single and rng.random() < 0.8 else "cones"
    if constraint == "unused":
        options |= {"kind": "unused-terms", "h": [min(t * room, b) for t in tops], "unused": []}
        if case.loss["name"] in SMOOTH:
            options["Lam"] = [_trace(file, group) for group in file.network["groups"]]
    return case, options


def _trace(file: RegularizedFile, group: Any) -> Fraction:
    """More than the largest eigenvalue: the trace, and one."""
    rows = file.group_rows(group)
    return 1 + sum(
        (om * x * x for om, row in zip(file.om, rows, strict=True) for x in row), Fraction(0)
    )


def written(case: Case, options: dict[str, Any]) -> bytes:
    """The file of a case; witnesses are made here, for the u that they belong to."""
    options = dict(options)
    u, constraint = options.pop("u"), options.pop("constraint")
    if (
        constraint in ("spectral", "slabs", "quadratic") and options["repair"]
    ):  # a witness for what is used
        exact = repaired(opened_case(case), [Fraction(x) for x in u], options["repair"])
        u = np.array([float(x) for x in exact or u])
    if constraint == "spectral" and "witness" not in options:
        u, gammas, witness = spectral_witness(case, u)
        options |= gammas | {"witness": witness}
    if constraint == "slabs" and "witness" not in options:
        u, fields, witness = slab_witness(case, u, count=3)
        options |= fields | {"witness": witness}
        if not options["repair"]:
            u = with_zero_sum(u, int(np.argmax(np.abs(u))))
    if constraint == "quadratic" and "witness" not in options:
        u, witness = quadratic_witness(case, u)
        options["witness"] = witness
    return build(case, [dual_claim(case, u, constraint, **options)])
