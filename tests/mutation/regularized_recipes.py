"""Honest files of the dual bound for the campaign of the postponing attacker: losses with
logarithms, so that balls decide, and floors that are positive; and files that are false by
construction.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from tests.checker.regularized_cases import (
    Case,
    dual_claim,
    file_of,
    quadratic_witness,
    spectral_witness,
)
from tests.checker.regularized_cases import build as sealed
from tests.corpus.whole_files import Whole, opened

Rng = np.random.Generator
CONSTRAINTS = ("spectral", "quadratic", "columns", "spectral", "quadratic", "cones")


def _case(rng: Rng, constraint: str, name: str) -> Case:
    n, d, k = 3, 1 if constraint == "columns" else 2, 2
    network: dict[str, Any] = {"b": Fraction(2), "groups": "columns" if d == 1 else "all"}
    if constraint == "quadratic":
        network |= {"neurons": "quadratic", "v_max": Fraction(1)}
    y = rng.choice([-1.0, 1.0], n) if name == "logistic" else rng.integers(1, 3, n).astype(float)
    return Case(
        rng.standard_normal((n, d)),
        y,
        0.3 * rng.standard_normal((k, d)),
        0.5 * rng.uniform(-1, 1, k),
        bias=0.3 * rng.standard_normal(k),
        loss={"name": name},
        network=network,
    )


def _dual(rng: Rng, case: Case) -> np.ndarray:
    """Inside the domain, where the floor is positive."""
    share = rng.uniform(0.2, 0.4, len(case.y))
    return -case.y * share


def dual_gap(rng: Rng, number: int) -> bytes:
    """A file of the constraint and the loss of this number."""
    constraint = CONSTRAINTS[number % len(CONSTRAINTS)]
    case = _case(rng, constraint, ("logistic", "poisson")[number // 2 % 2])
    u = _dual(rng, case)
    options: dict[str, Any] = {}
    if constraint == "spectral":
        u, gammas, witness = spectral_witness(case, u)
        options = gammas | {"witness": witness}
    elif constraint == "quadratic":
        u, witness = quadratic_witness(case, u)
        options = {"witness": witness}
    else:
        u = 0.2 * u
    return _with_room(case, dual_claim(case, u, constraint, **options))


def unused_terms(rng: Rng, number: int) -> bytes:
    """A file about masses, or about an unused group, where the constants are generous."""
    case = _case(rng, "columns", "logistic")
    h, Lam = [Fraction(1)], [Fraction(1000)]
    options: dict[str, Any] = {"Lam": Lam} if number % 2 else {}
    claim = dual_claim(case, 0.2 * _dual(rng, case), kind="unused-terms", h=h, unused=[], **options)
    return _with_room(case, claim)


def _with_room(case: Case, pair: tuple[dict[str, Any], dict[str, np.ndarray]]) -> bytes:
    """Bounds with a little room, and a generous gap."""
    claim, tensors = pair
    up, low = (Fraction(claim[name]) for name in ("p_up", "p_low"))
    fields = {"p_up": up * Fraction(101, 100), "p_low": low * Fraction(99, 100), "gap": 2 * up}
    return sealed(case, [(claim | {name: str(x) for name, x in fields.items()}, tensors)])


def floor_above_the_network(rng: Rng, kind: str) -> Whole:
    """p_low is above the objective of the stored network itself, and D(u) may be too."""
    case = _case(rng, "columns", "logistic")
    case = Case(case.X, case.y, 10 * case.W, case.v, bias=case.bias, loss=case.loss,
                network=case.network)  # fmt: skip
    extra: dict[str, Any] = {"h": [Fraction(2)], "unused": []} if kind == "unused-terms" else {}
    file = opened(file_of(case, float(rng.uniform(0.5, 2)) * _dual(rng, case), kind=kind, **extra))
    above = Fraction(file.claim["p_up"]) * (1 + Fraction(float(10 ** rng.uniform(-9, 0))))
    file.claim["p_low"] = str(above)
    file.claim["gap"] = str(above)
    return file
