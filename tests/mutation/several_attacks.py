"""Hostile files of networks with several outputs: an honest file with one lie, its bounds made to
fit the lie; or bounds that are too good, or a form that no class has.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from tests.checker.regularized_cases import Case, file_of
from tests.checker.several_cases import exchanged, height, with_zero_sums
from tests.corpus.whole_files import Whole, opened
from tests.mutation.regularized_attacks import EDITS
from tests.mutation.regularized_instances import numbers, pick

Rng = np.random.Generator
Array = np.ndarray
Lie = Callable[[Rng, Case, Array], tuple[Case, Array]]


def random_case(rng: Rng) -> Case:
    """A network of a random class with random data, two to four outputs."""
    n, d, k, c = (int(rng.integers(*ends)) for ends in ((1, 6), (1, 3), (1, 3), (2, 5)))
    network: dict[str, Any] = {
        "groups": pick(rng, "columns", [[j] for j in range(d)]),
        "hidden_bias": pick(rng, "penalized", "penalized", "free", "none"),
        "intercept": pick(rng, "none", "free", "penalized"),
        "outputs": c,
        "b": Fraction(1),
    }
    if network["hidden_bias"] == "penalized":
        network["tau"] = Fraction(pick(rng, 1, 1, 2, 3), pick(rng, 1, 2))
    if network["intercept"] == "penalized":
        network["k0"] = Fraction(pick(rng, 1, 2), 2)
    W = numbers(rng, k, d)
    for row in W if d > 1 else []:
        row[int(rng.integers(d))] = 0.0
    is_softmax = rng.random() < 0.7
    y = rng.integers(0, c, n).astype(float) if is_softmax else numbers(rng, n, c)
    return Case(
        numbers(rng, n, d),
        y,
        W,
        numbers(rng, k, c),
        bias=None if network["hidden_bias"] == "none" else numbers(rng, k),
        intercept=None if network["intercept"] == "none" else numbers(rng, c),
        om=rng.choice([0.0, 0.5, 1.0, 2.0], n) if rng.random() < 0.25 else None,
        loss={"name": "softmax" if is_softmax else "squared"},
        network=network,
    )


def honest(rng: Rng) -> tuple[Case, Array]:
    """A case and a dual matrix under which its file is true; b is often just above H."""
    case = random_case(rng)
    if case.loss["name"] == "softmax":
        U = exchanged(rng, case)
    else:
        U = numbers(rng, len(case.X), case.network["outputs"])
        if case.om is not None:
            U[case.om == 0] = 0.0
        if "free" in (case.network["intercept"], case.network["hidden_bias"]):
            used = np.flatnonzero(np.ones(len(U)) if case.om is None else case.om)
            U[used] = with_zero_sums(U[used]) if len(used) else 0.0
    top = height(case, U)
    room = pick(rng, 1 + 1e-9, 1 + 1e-6, 1 + float(rng.random()))
    b = Fraction(max(top * room, 1e-6))
    return replace(case, network=case.network | {"b": b}), U


def _small(rng: Rng) -> float:
    return float(10 ** rng.uniform(-8, -1))


def _with(case: Case, **network: Any) -> Case:
    return replace(case, network=case.network | network)


def _decay(rng: Rng, case: Case, U: Array) -> tuple[Case, Array]:
    """A smaller b: the stored matrix is too large for it."""
    return _with(case, b=case.network["b"] * (1 - Fraction(_small(rng)))), U


def _longer(rng: Rng, case: Case, U: Array) -> tuple[Case, Array]:
    """A longer matrix, or one of the other sign."""
    return case, U * pick(rng, 1 + _small(rng), 2.0, -1.0)


def _entry(rng: Rng, case: Case, U: Array) -> tuple[Case, Array]:
    """One entry changed: both sums, domains and H are at stake."""
    U = U.copy()
    place = tuple(int(rng.integers(side)) for side in U.shape)
    x = U[place]
    U[place] = pick(rng, -x, x + _small(rng), 0.0, np.nextafter(x, 9.0), x + 5e-324)
    return case, U


def _shifted_row(rng: Rng, case: Case, U: Array) -> tuple[Case, Array]:
    """Two entries of a column changed against each other: columns keep their sums, rows do not."""
    U, o = U.copy(), int(rng.integers(U.shape[1]))
    i, j = int(rng.integers(len(U))), int(rng.integers(len(U)))
    part = pick(rng, 0.25, 2.0**-20, 2.0**-50)
    U[i, o] += part
    U[j, o] -= part
    return case, U


def _shifted_column(rng: Rng, case: Case, U: Array) -> tuple[Case, Array]:
    """Two entries of a row changed against each other: rows keep their sums, columns do not."""
    U, i = U.copy(), int(rng.integers(len(U)))
    o, p = int(rng.integers(U.shape[1])), int(rng.integers(U.shape[1]))
    part = pick(rng, 0.25, 2.0**-20, 2.0**-50)
    U[i, o] += part
    U[i, p] -= part
    return case, U


def _sample(rng: Rng, case: Case, U: Array) -> tuple[Case, Array]:
    """One number of X changed."""
    X = case.X.copy()
    X[tuple(int(rng.integers(side)) for side in X.shape)] += pick(rng, _small(rng), 1.0, -2.0)
    return replace(case, X=X), U


def _column(rng: Rng, case: Case, U: Array) -> tuple[Case, Array]:
    """One more column that the network does not use: it needs the test too."""
    X = np.hstack([case.X, pick(rng, 1.0, 4.0) * numbers(rng, len(case.X), 1)])
    wide = replace(case, X=X, W=np.hstack([case.W, np.zeros((len(case.W), 1))]))
    return _with(wide, groups=pick(rng, "columns", case.network["groups"])), U


def _label(rng: Rng, case: Case, U: Array) -> tuple[Case, Array]:
    """Another label: a class that is not there, half a class, or one that U was not made for."""
    y = case.y.copy()
    y[int(rng.integers(len(y)))] = pick(rng, 0.0, 1.0, -1.0, 0.5, case.network["outputs"])
    return replace(case, y=y), U


def _rule(rng: Rng, case: Case, U: Array) -> tuple[Case, Array]:
    """Free instead of penalized, or the other way; another tau or k0."""
    network = dict(case.network)
    part, name = pick(rng, ("hidden_bias", "tau"), ("intercept", "k0"))
    if network[part] == "penalized":
        if rng.random() < 0.5:
            network[part] = "free"
            del network[name]
        else:
            network[name] *= pick(rng, 2, Fraction(1, 2), -1, 0)
    elif network[part] == "free":
        network[part], network[name] = "penalized", Fraction(1)
    return replace(case, network=network), U


def _weights(rng: Rng, case: Case, U: Array) -> tuple[Case, Array]:
    """Other weights, zero or negative ones among them."""
    om = rng.choice([-1.0, 0.0, 0.25, 1.0, 3.0], len(case.X), p=[0.05, 0.15, 0.3, 0.3, 0.2])
    return replace(case, om=om), U


def _outside(rng: Rng, case: Case, U: Array) -> tuple[Case, Array]:
    """A stored neuron that sees several columns, or other heads."""
    return replace(case, W=numbers(rng, *case.W.shape), v=numbers(rng, *case.v.shape)), U


def _class(rng: Rng, case: Case, U: Array) -> tuple[Case, Array]:
    """A form that no class with several outputs has."""
    d = case.X.shape[1]
    return _with(
        case,
        **pick(
            rng,
            {"heads": "nonnegative"},
            {"monotone": [1] * d},
            {"linear": "free"},
            {"outputs": case.network["outputs"] + 1},
            {"outputs": 1},
            {"groups": "all"},
            {"neurons": "quadratic", "v_max": Fraction(1)},
        ),
    ), U


LIES: dict[str, Lie] = {
    "decay": _decay,
    "longer": _longer,
    "entry": _entry,
    "shifted row": _shifted_row,
    "shifted column": _shifted_column,
    "sample": _sample,
    "column": _column,
    "label": _label,
    "rule": _rule,
    "weights": _weights,
    "outside": _outside,
    "class": _class,
}


def _claim(rng: Rng, file: Whole) -> Whole:
    """Another constraint, a repair, a claim that is for one output, or another loss."""
    file = file.copy()
    change = pick(rng, "cones", "repair", "kind", "loss", "outputs")
    if change == "cones":
        file.claim["constraint"] = "cones"
    elif change == "repair":
        file.claim["repair"] = 1
        file.tensors["claims.0.repair"] = np.zeros(1, np.int64)
    elif change == "kind":
        file.claim.update(kind="unused-terms", theorem="unused-terms/1", unused=[])
        file.claim["h"] = [file.top["network"]["b"]] * file.tensors["X"].shape[1]
    elif change == "loss":
        file.top["loss"] = {"name": pick(rng, "softmax", "squared", "logistic", "poisson")}
    else:
        del file.top["network"]["outputs"]
    return file


def hostile(rng: Rng) -> tuple[str, bytes]:
    """The name of an attack and its file."""
    case, U = honest(rng)
    edits = {**EDITS, "claim": _claim}
    if rng.random() < 0.35:
        name = pick(rng, *edits)
        return name, edits[name](rng, opened(file_of(case, U))).sealed()
    name = pick(rng, *LIES)
    return name, file_of(*LIES[name](rng, case, U))
