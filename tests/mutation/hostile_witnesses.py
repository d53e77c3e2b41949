"""Hostile witnesses: the arrays that a certificate offers as proof, scaled, permuted, exchanged,
emptied or taken from elsewhere.

A witness is anything the checker must not trust: factors of P1, weight vectors, directions, index
sets, integer kernels, nodes. `strengthened` moves the numbers of the claim beyond what they were;
together with factors made for them that is the best lie. Every function returns a new file that is
well-formed as far as its shapes go.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from tests.corpus.whole_files import Whole
from tests.mutation.oracle_margins import short, with_field

Rng = np.random.Generator
Change = Callable[[Rng, np.ndarray], np.ndarray]
STORED = {"filter": ("filter", "head", "true_filter", "true_head"), "factorization": ("U", "V")}
SHIFTS = (-900, -500, -300, -120, -66, -60, -30, -3, -1, 1, 3, 30, 60, 120, 300, 450)
PREFIX = "claims.0."

# +1: the claim says more when the number grows, -1: when it shrinks
DIRECTIONS = {
    "a2": 1, "kappa": -1, "beta2": -1, "R": -1, "R_lo": 1, "b2": -1, "eta": 1, "rate": -1,
    "path": -1, "mu": 1, "floor": 1,
    "gap": -1, "loss_upper": -1, "rho": -1, "decay": -1, "v_max": 1, "sigma2": 1, "difference": 1,
    "phi": 1, "Phi": -1,
    "a_lo": 1, "a_hi": -1, "E0": -1, "gamma": 1, "eps": -1, "delta": -1, "lam": -1, "Lip": -1,
    "epsilon": -1, "distance": -1,
    "tau": -1, "Lam": -1, "t": -1, "r": 1, "r_minus": -1, "M": -1, "m0": 1, "M0": -1, "flat2": -1,
    "a": 1, "b": -1,
    "c_res": 1, "c_sigma": 1, "p_up": -1, "p_low": 1,
}  # fmt: skip
ELSEWHERE = {
    ("relu-descent", "lam"): 1,
    ("relu-linearized-descent", "lam"): 1,
    ("relu-trajectory", "lam"): 1,
    ("gram-positive", "lam"): 1,
    ("gram-positive", "kappa"): 1,
    ("strict-saddle", "R"): 1,
    ("second-order-stationary", "R"): 1,
}
PROVED_BY_P1 = {
    "a2",
    "kappa",
    "beta2",
    "b2",
    "mu",
    "decay",
    "sigma2",
    "phi",
    "Phi",
    "a_lo",
    "a_hi",
    "lam",
    "delta",
    "Lam",
}
PROVED_BY_P1 |= {"m0", "M0", "flat2", "a", "b"}
UNTOUCHED = {"step", "t"}  # quadrature and svec: no direction in which they say more


def rational_paths(file: Whole) -> list[str]:
    """Dotted paths of every rational of the first claim."""
    found, objects = [], [("", file.claim)]
    for prefix, inside in objects:
        for name, value in inside.items():
            if isinstance(value, dict):
                objects.append((f"{prefix}{name}.", value))
            elif isinstance(value, str) and name in DIRECTIONS:
                found.append(prefix + name)
    return found


def strengthened(rng: Rng, file: Whole, only: set[str] | None = None) -> Whole:
    """One or two numbers of the claim moved in the direction in which it says more, by a relative
    1e-12 up to a factor of 8.
    """
    is_deep = file.claim["kind"] in ("deep-descent", "deep-trajectory")
    untouched = set() if is_deep else UNTOUCHED
    paths = [path for path in rational_paths(file) if path.split(".")[-1] not in untouched]
    some = [path for path in paths if only is None or path.split(".")[-1] in only] or paths
    for path in rng.choice(some, size=int(rng.integers(1, 3))):
        name = str(path).split(".")[-1]
        direction = ELSEWHERE.get((file.claim["kind"], name), DIRECTIONS[name])
        inside = file.claim
        for part in str(path).split(".")[:-1]:
            inside = inside[part]
        before = Fraction(inside[name])
        share = Fraction(float(10 ** rng.uniform(-12 if only is None else -3, 0.9)))
        if name == "rate":
            after = 1 - min((1 - before) * (1 + share), Fraction(1))
        else:
            after = before * (1 + share) if direction > 0 else before / (1 + share)
            after = after if before else direction * share
        file = with_field(file, str(path), short(after, 200))
    return file


def nudged(rng: Rng, file: Whole) -> Whole:
    """One number of the claim scaled by a power of two or by a hair in either direction, emptied,
    negated, or another rule.
    """
    if file.claim.get("method") == "series" and rng.random() < 0.5:
        result = Whole(copy.deepcopy(file.top), dict(file.tensors))
        result.claim.update(
            {"nodes": int(rng.integers(1, 20)), "step": str(Fraction(int(rng.integers(1, 9)), 8))}
        )
        return result
    path = str(rng.choice(rational_paths(file)))
    *outer, name = path.split(".")
    inside = file.claim
    for part in outer:
        inside = inside[part]
    value = Fraction(inside[name])
    factors = [
        Fraction(2) ** int(rng.integers(-60, 61)),
        1 + Fraction(float(rng.normal() * 10.0 ** rng.uniform(-15, 0))),
    ]
    factors += [Fraction(0), Fraction(-1), 1 + Fraction(1, 2 ** int(rng.integers(50, 300)))]
    return with_field(
        file, path, value * factors[int(rng.choice(5, p=[0.2, 0.45, 0.05, 0.05, 0.25]))]
    )


def side_by_side(rng: Rng, first: Whole, second: Whole) -> Whole:
    """Two claims about the same stored numbers in one file, half of the time with two witness
    arrays exchanged between them.
    """
    top = copy.deepcopy(first.top)
    top["claims"] = [*top["claims"], copy.deepcopy(second.claim)]
    other = {
        "claims.1." + name[len(PREFIX) :]: array
        for name, array in second.tensors.items()
        if name.startswith(PREFIX)
    }
    tensors = dict(first.tensors) | other
    mine = {name: PREFIX + name[len(PREFIX) :] for name in other}
    twins = [
        name
        for name in other
        if mine[name] in tensors and tensors[mine[name]].shape == other[name].shape
    ]
    if twins and rng.random() < 0.5:
        name = str(rng.choice(twins))
        tensors[mine[name]], tensors[name] = tensors[name], tensors[mine[name]]
    return Whole(top, tensors)


def _scaled(rng: Rng, array: np.ndarray) -> np.ndarray:
    return np.ldexp(array, int(rng.choice(SHIFTS)))


def _rows_scaled(rng: Rng, array: np.ndarray) -> np.ndarray:
    shape = (len(array),) + (1,) * (array.ndim - 1)
    return np.ldexp(array, rng.choice(SHIFTS, size=shape))


def _ratio(rng: Rng, array: np.ndarray) -> np.ndarray:
    """Entries of one sign and of extreme ratio, as a weight vector that blows up every rounding
    error.
    """
    signs = np.where(array < 0, -1.0, 1.0)
    return signs * np.ldexp(
        rng.uniform(0.5, 1, array.shape), rng.choice([-990, -400, 0, 400, 990], size=array.shape)
    )


def _zeroed(rng: Rng, array: np.ndarray) -> np.ndarray:
    result = array.copy()
    result[int(rng.integers(len(result)))] = 0.0
    return result if rng.random() < 0.7 else np.zeros_like(array)


def _negated(rng: Rng, array: np.ndarray) -> np.ndarray:
    return array * rng.choice([-1.0, 1.0], size=array.shape)


def _rows_negated(rng: Rng, array: np.ndarray) -> np.ndarray:
    """P1 does not see the sign of a row: an equal proof."""
    return array * rng.choice([-1.0, 1.0], size=(len(array),) + (1,) * (array.ndim - 1))


def _permuted(rng: Rng, array: np.ndarray) -> np.ndarray:
    """Rows of a factor may change places (an equal proof); columns may not."""
    result = array[rng.permutation(len(array))]
    return (
        result
        if array.ndim == 1 or rng.random() < 0.5
        else result[:, rng.permutation(array.shape[1])]
    )


def _transposed(_: Rng, array: np.ndarray) -> np.ndarray:
    return array.T if array.ndim == 2 and array.shape[0] == array.shape[1] else array[::-1]


def _deficient(rng: Rng, array: np.ndarray) -> np.ndarray:
    result = array.copy()
    result[:] = result[int(rng.integers(len(result)))]
    return result


def _denormal(rng: Rng, array: np.ndarray) -> np.ndarray:
    return np.sign(array) * 5e-324 * rng.integers(1, 9, size=array.shape)


def _huge(rng: Rng, array: np.ndarray) -> np.ndarray:
    return np.sign(array) * 1.7e308 * rng.uniform(0.1, 1, size=array.shape)


def _extreme_entry(rng: Rng, array: np.ndarray) -> np.ndarray:
    result = array.copy()
    place = tuple(int(rng.integers(side)) for side in result.shape)
    result[place] = float(rng.choice([0.0, -0.0, 5e-324, -1e-300, 1e-160, 1e154, -1e300]))
    return result


def _noisy(rng: Rng, array: np.ndarray) -> np.ndarray:
    return array * (1 + 10.0 ** rng.uniform(-17, 0) * rng.standard_normal(array.shape))


CHANGES: tuple[Change, ...] = (
    _scaled,
    _rows_scaled,
    _ratio,
    _zeroed,
    _negated,
    _rows_negated,
    _permuted,
    _transposed,
    _deficient,
    _denormal,
    _huge,
    _extreme_entry,
    _noisy,
    _noisy,
)


def arrays(file: Whole) -> list[str]:
    """The names of the witness arrays: those of the claim, and the stored start where a claim has
    no witness of its own.
    """
    own = sorted(name for name in file.tensors if name.startswith(PREFIX))
    return own or [
        name
        for name in STORED.get(file.top["network"]["kind"], ("W", "v", "X", "y"))
        if name in file.tensors
    ]


def spoiled(rng: Rng, file: Whole, other: Whole) -> Whole:
    """One witness array changed, exchanged with another one, or taken from another file of the same
    kind.
    """
    names = arrays(file)
    name = str(rng.choice(names))
    array = file.tensors[name]
    twins = [
        n
        for n in names
        if n != name
        and file.tensors[n].shape == array.shape
        and file.tensors[n].dtype == array.dtype
    ]
    draw = rng.random()
    if draw < 0.1 and twins:
        twin = str(rng.choice(twins))
        return Whole(file.top, file.tensors | {name: file.tensors[twin], twin: array})
    if draw < 0.25 and name in other.tensors and other.tensors[name].shape == array.shape:
        return Whole(file.top, file.tensors | {name: other.tensors[name]})
    if array.dtype.kind == "i":
        return _other_indices(rng, file, name)
    with np.errstate(all="ignore"):
        limited = name.startswith(PREFIX)
        change = CHANGES[int(rng.integers(len(CHANGES)))] if limited else _moderately
        result = change(rng, array)
    return Whole(file.top, file.tensors | {name: np.where(np.isfinite(result), result, array)})


def _moderately(rng: Rng, array: np.ndarray) -> np.ndarray:
    """Stored numbers of a start, within a range in which the slow checker stays quick."""
    change = (_negated, _permuted, _noisy, _noisy, _zeroed)[int(rng.integers(5))]
    return (
        change(rng, array)
        if rng.random() < 0.8
        else np.ldexp(array, rng.integers(-20, 21, size=array.shape))
    )


def _increasing(rng: Rng, bound: int, size: int) -> np.ndarray:
    return np.sort(rng.choice(bound, size=min(size, bound), replace=False)).astype(np.int64)


def _other_indices(rng: Rng, file: Whole, name: str) -> Whole:
    """Another index set of the same form: neurons, dropped samples, rows, groups, orders, an
    integer kernel.
    """
    role, tensors = name[len(PREFIX) :], dict(file.tensors)
    if role == "T":
        k = len(file.tensors["W"])
        tensors[name] = _increasing(rng, k, int(rng.integers(1, k + 1)))
    elif role == "S":
        tensors[name] = _increasing(rng, len(file.tensors["y"]), len(tensors[name]))
    elif role == "U":
        pairs = len(file.tensors["v"]) * len(file.tensors["y"])
        tensors[name] = _increasing(rng, pairs, int(rng.integers(0, pairs + 1)))
    elif role == "rows":
        tensors[name] = _increasing(rng, len(file.tensors["y"]), len(tensors[name]))
    elif role == "dropped":
        return _other_drops(rng, file)
    elif role in ("members", "sizes", "kinds"):
        return _other_groups(rng, file)
    elif role == "M":
        half = rng.integers(-2, 3, size=tensors[name].shape)
        tensors[name] = half + half.T if rng.random() < 0.8 else half
    elif role == "Q":
        first = 1 if file.claim["kernel"] == "resnet" else 0
        tensors[name] = _increasing(rng, 3, int(rng.integers(1, 3))) + first
    return Whole(file.top, tensors)


def _other_drops(rng: Rng, file: Whole) -> Whole:
    n = len(file.tensors["y"])
    gone = _increasing(rng, n, int(rng.integers(0, n)))
    kept = [i for i in range(n) if i not in set(gone.tolist())]
    pairs = [(j, int(rng.choice([-1, *kept]))) for j in gone.tolist()]
    C = np.eye(len(kept)) * float(10 ** rng.uniform(-2, 2))
    changed = {PREFIX + "dropped": np.array(pairs, dtype=np.int64).reshape(-1, 2), PREFIX + "C": C}
    return Whole(file.top, file.tensors | changed)


def _other_groups(rng: Rng, file: Whole) -> Whole:
    n = len(file.tensors["y"])
    order = rng.permutation(n)[: int(rng.integers(1, n + 1))]
    sizes = [len(order)] if rng.random() < 0.5 or len(order) == 1 else [1, len(order) - 1]
    kinds = rng.integers(0, 6, size=len(sizes))
    groups = {"members": order, "sizes": np.array(sizes), "kinds": kinds}
    return Whole(
        file.top,
        file.tensors | {PREFIX + role: array.astype(np.int64) for role, array in groups.items()},
    )


def reworded(rng: Rng, file: Whole) -> Whole:
    """Another word for the same numbers: a cheaper method, the other side, another class of heads,
    only one layer.
    """
    result = Whole(copy.deepcopy(file.top), dict(file.tensors))
    claim, tensors = result.claim, result.tensors
    if claim.get("norm") == "factor":
        claim["norm"] = "rows"
        for role in ("C_b", "C_Phi", "C_Lam"):
            tensors.pop(PREFIX + role, None)
    elif claim.get("side"):
        claim["side"] = "left" if claim["side"] == "right" else "right"
    elif claim.get("kernel") in ("weights", "features"):
        claim["kernel"] = "features" if claim["kernel"] == "weights" else "weights"
    elif claim.get("heads") and claim["kind"] == "loss-floor":
        claim["heads"] = "nonnegative" if claim["heads"] == "any" else "any"
    elif claim.get("heads") and claim.get("method") == "positive":
        claim["heads"] = "nonpositive" if claim["heads"] == "nonnegative" else "nonnegative"
    elif claim["kind"] in ("spurious-minimum", "global-basin") and "eta" in claim:
        del claim["eta"]
    elif "activation" in file.top["network"]:
        names = ("tanh", "erf", "softplus", "sigmoid", "quadratic")
        result.top["network"] = {**file.top["network"], "activation": str(rng.choice(names))}
        result.top["network"].pop("parameter", None)
    return result
