"""Hostile files of regularized networks: an honest file with one lie, the bounds p_up and p_low
made to fit the lie, so that only the constraint can see it; or bounds that are too good.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from tests.checker.regularized_cases import Case
from tests.corpus.whole_files import Whole, opened
from tests.mutation.regularized_instances import honest, numbers, pick, written

Rng = np.random.Generator
Options = dict[str, Any]
WITNESSED = ("gamma", "delta", "slabs")  # fields of witnesses
Lie = Callable[[Rng, Case, Options], tuple[Case, Options]]


def _small(rng: Rng) -> Fraction:
    return Fraction(float(10 ** rng.uniform(-9, -1)))


def _decay(rng: Rng, case: Case, options: Options) -> tuple[Case, Options]:
    """A smaller b: the stored u is too large for it."""
    return _with(case, b=Fraction(case.network["b"]) * (1 - _small(rng))), options


def _longer(rng: Rng, case: Case, options: Options) -> tuple[Case, Options]:
    """The dual vector is longer than H allows."""
    factor = float(pick(rng, 1 + float(_small(rng)), 2.0, -1.0))
    return case, options | {"u": factor * options["u"]}


def _entry(rng: Rng, case: Case, options: Options) -> tuple[Case, Options]:
    """One entry of u changed: equations, domains and H are at stake."""
    u = options["u"].copy()
    i = int(rng.integers(len(u)))
    u[i] = pick(rng, -u[i], u[i] + float(_small(rng)), 0.0, np.nextafter(u[i], 9.0))
    return case, options | {"u": u}


def _sample(rng: Rng, case: Case, options: Options) -> tuple[Case, Options]:
    """One number of X changed."""
    X = case.X.copy()
    place = tuple(int(rng.integers(side)) for side in X.shape)
    X[place] += pick(rng, float(_small(rng)), 1.0, -2.0)
    return replace(case, X=X), options


def _column(rng: Rng, case: Case, options: Options) -> tuple[Case, Options]:
    """One more column, which the network does not use: its group needs the test too."""
    if case.form()["neurons"] == "quadratic" or "h" in options or "monotone" in case.network:
        return _sample(rng, case, options)
    n, k = len(case.X), len(case.W)
    X = np.hstack([case.X, pick(rng, 1.0, 4.0) * numbers(rng, n, 1)])
    linear = None if case.linear is None else np.append(case.linear, 0.0)
    wide = replace(case, X=X, W=np.hstack([case.W, np.zeros((k, 1))]), linear=linear)
    groups = pick(rng, "columns", case.network["groups"])
    single = groups == "columns" or (
        isinstance(groups, list) and all(len(group) == 1 for group in groups)
    )
    if options["constraint"] not in ("spectral", "slabs"):
        options = options | {"constraint": "columns" if single else "cones"}
    return _with(wide, groups=groups), options


def _rule(rng: Rng, case: Case, options: Options) -> tuple[Case, Options]:
    """Another rule for a part that is there: free instead of penalized."""
    network = dict(case.network)
    part = pick(rng, "hidden_bias", "intercept", "linear")
    name = {"hidden_bias": "tau", "intercept": "k0", "linear": "k1"}[part]
    if network.get(part) == "penalized":
        network[part] = "free"
        network.pop(name, None)
    elif network.get(part) == "free":
        network[part] = "penalized"
        network[name] = Fraction(1)
    return replace(case, network=network), options


def _tau(rng: Rng, case: Case, options: Options) -> tuple[Case, Options]:
    """Another tau, k0 or k1."""
    names = [name for name in ("tau", "k0", "k1", "v_max") if name in case.network]
    if not names:
        return _decay(rng, case, options)
    name = pick(rng, *names)
    factor = pick(rng, 2, Fraction(1, 2), 1 + _small(rng), -1, 0)
    return _with(case, **{name: case.network[name] * factor}), options


def _heads(rng: Rng, case: Case, options: Options) -> tuple[Case, Options]:
    """The class of all heads, for a u that is good for one sign only; or the other way."""
    other = "any" if case.form()["heads"] == "nonnegative" else "nonnegative"
    return _with(case, heads=other), options


def _monotone(rng: Rng, case: Case, options: Options) -> tuple[Case, Options]:
    """Other signs of the slopes."""
    d = case.X.shape[1]
    return _with(case, monotone=[int(x) for x in rng.integers(-1, 2, d)]), options


def _loss(rng: Rng, case: Case, options: Options) -> tuple[Case, Options]:
    """Another loss or parameter."""
    name = pick(rng, "squared", "huber", "quantile", "poisson", "logistic", "hinge")
    extra = {"huber": Fraction(1, 4), "quantile": Fraction(1, 8)}
    parameter = {"parameter": extra[name]} if name in extra else {}
    return replace(case, loss={"name": name} | parameter), options


def _weights(rng: Rng, case: Case, options: Options) -> tuple[Case, Options]:
    """Weights that were not there, zero or negative ones among them."""
    om = rng.choice([-1.0, 0.0, 0.25, 1.0, 3.0], len(case.X), p=[0.05, 0.15, 0.3, 0.3, 0.2])
    return replace(case, om=om), options


def _outside(rng: Rng, case: Case, options: Options) -> tuple[Case, Options]:
    """A stored neuron that is not of the class: another column, another sign."""
    W, v = numbers(rng, *case.W.shape), case.v * float(pick(rng, -1, 1, 3))
    return replace(case, W=W, v=v), options


def _terms(rng: Rng, case: Case, options: Options) -> tuple[Case, Options]:
    """Smaller h or Lam, or more groups said to be unused."""
    if "h" not in options:
        return _longer(rng, case, options)
    options = dict(options)
    name = pick(rng, "h", "Lam", "unused")
    if name == "unused":
        options["unused"] = list(range(len(options["h"])))
    else:
        factor = pick(rng, 1 - _small(rng), Fraction(1, 2), Fraction(1, 10))
        options[name] = [x * factor for x in options.get(name, options["h"])]
    return case, options


def _with(case: Case, **network: Any) -> Case:
    return replace(case, network=case.network | network)


LIES: dict[str, Lie] = {
    "decay": _decay,
    "longer u": _longer,
    "entry of u": _entry,
    "sample": _sample,
    "column": _column,
    "rule": _rule,
    "tau": _tau,
    "heads": _heads,
    "monotone": _monotone,
    "loss": _loss,
    "weights": _weights,
    "outside": _outside,
    "terms": _terms,
}


def _bounds(rng: Rng, file: Whole) -> Whole:
    """p_up or p_low too good by a little, or a gap that is too small."""
    file, name = file.copy(), pick(rng, "p_up", "p_low", "gap")
    change = _small(rng) * pick(rng, 1, Fraction(1, 10**12), Fraction(1, 10**40))
    sign = 1 if name == "p_low" else -1
    file.claim[name] = str(Fraction(file.claim[name]) + sign * change)
    return file


def _witness(rng: Rng, file: Whole) -> Whole:
    """One number of a witness, a multiplier, or an end of a slab."""
    file = file.copy()
    names = [name for name in file.tensors if name.startswith("claims.0.")]
    fields = [name for name in file.claim if name.startswith(WITNESSED)]
    if fields and rng.random() < 0.3:
        name = pick(rng, *fields)
        change = 1 + pick(rng, 1, -1) * _small(rng)
        if isinstance(file.claim[name], str):
            file.claim[name] = str(Fraction(file.claim[name]) * change)
        else:
            values = list(file.claim[name])
            place = int(rng.integers(len(values)))
            values[place] = str(Fraction(values[place]) * pick(rng, change, -1, 0))
            file.claim[name] = values
        return file
    array = file.tensors[pick(rng, *names)]
    place = tuple(int(rng.integers(side)) for side in array.shape)
    if array.dtype.kind == "i":
        array[place] += int(pick(rng, 1, -1))
    else:
        array[place] *= pick(rng, 1 + float(_small(rng)), 1 - float(_small(rng)), -1.0, 0.0, 2.0)
    return file


def _groups(rng: Rng, file: Whole) -> Whole:
    """The list of groups lacks one, has one twice or out of order, or the class has another name;
    the statement then is about that class.
    """
    file, d = file.copy(), file.tensors["X"].shape[1]
    lists = [[[0]], [[0], [0]], [[1, 0]], [[]], [[d]], [[j] for j in range(d)], "columns", "pairs"]
    file.top["network"]["groups"] = pick(rng, *lists, "all", "every pair")
    return file


EDITS: dict[str, Callable[[Rng, Whole], Whole]] = {
    "bounds": _bounds,
    "witness": _witness,
    "groups": _groups,
}


def hostile(rng: Rng, constraint: str) -> tuple[str, bytes]:
    """The name of an attack and its file."""
    case, options = honest(rng, constraint)
    if rng.random() < 0.35:
        name = pick(rng, *EDITS)
        return name, EDITS[name](rng, opened(written(case, options))).sealed()
    name = pick(rng, *LIES)
    lied = LIES[name](rng, case, options)
    if options["constraint"] in ("spectral", "slabs", "quadratic") and rng.random() < 0.5:
        # the witness of the honest file under the lie
        file = opened(written(case, options))
        roles = {
            role.removeprefix("claims.0."): array
            for role, array in file.tensors.items()
            if role.startswith("claims.0.")
        }
        gammas = {key: file.claim[key] for key in file.claim if key.startswith(WITNESSED)}
        witness = {key: array for key, array in roles.items() if key not in ("u", "repair")}
        lied = lied[0], lied[1] | gammas | {"witness": witness}
    return name, written(*lied)
