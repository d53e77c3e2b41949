"""Files of networks whose curves have shapes, tiny enough for the exact oracle: honest ones with a
decay that is as small as it may be, and hostile ones, honest but for one lie.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from tests.checker.regularized_cases import Case, derivative, file_of, rounded, with_zero_sum
from tests.corpus.whole_files import Whole, opened
from tests.mutation.regularized_instances import pick, random_case, root_above
from tests.oracles.fraction_regularized import read_regularized
from tests.oracles.fraction_shapes import multipliers, needed_squares

Rng = np.random.Generator
Array = np.ndarray
WORDS = ("increasing", "decreasing", "convex", "concave")
RISING = WORDS[:2]
Hostile = tuple[Case, Array, Array]
Lie = Callable[[Rng, Hostile], Hostile]


def _curve(rng: Rng, word: str) -> list[tuple[float, float, float]]:
    """Neurons (w, bias, v) of a curve with this shape, in numbers that multiply exactly."""
    side = 1.0 if word in ("increasing", "convex") else -1.0
    w, a = float(pick(rng, 0.5, 1.0, 2.0)), float(np.rint(4 * rng.standard_normal()) / 4)
    v = float(pick(rng, 0.25, 0.5, 1.0))
    kind = int(rng.integers(3))
    if kind == 0:  # one neuron
        sign = float(pick(rng, 1, -1))
        return [(sign * w, -sign * w * a, side * v * (sign if word in RISING else 1.0))]
    if kind == 1 or word not in RISING:  # a line
        sign = side if word in RISING else float(pick(rng, 1, -1))
        return [(w, -w * a, sign * v), (-w, w * a, -sign * v)]
    length = float(pick(rng, 0.25, 1.0))
    return [(w, -w * a, side * v), (w, -w * (a + length), -side * v)]


def honest(rng: Rng) -> Hostile:
    """A case, its dual vector and multipliers, with nearly the least decay they are true for."""
    case = random_case(rng, pick(rng, "columns", "free columns"))
    d, rules = case.X.shape[1], {"heads": "any", "linear": "none", "groups": "columns"}
    network = {k: x for k, x in case.network.items() if k not in ("monotone", "k1", "constraint")}
    network |= rules
    if network["hidden_bias"] == "none":
        network["hidden_bias"] = "free"
    words = [pick(rng, *WORDS, *WORDS, "none") for _ in range(d)]
    words[0] = pick(rng, *WORDS) if set(words) == {"none"} else words[0]
    parts = [(j, *part) for j, word in enumerate(words) for part in _curve(rng, word)]
    W = np.zeros((len(parts), d))
    for row, (j, w, *_) in zip(W, parts, strict=True):
        row[j] = w
    tau = float(network.get("tau", 1))
    if tau not in (0.5, 1.0, 2.0):  # biases are divided by it, exactly
        network["tau"], tau = Fraction(1), 1.0
    case = replace(
        case, W=W, v=np.array([part[3] for part in parts]), linear=None,
        bias=np.array([part[2] for part in parts]) / tau,
        network=network | {"shapes": words, "b": Fraction(1)},
    )  # fmt: skip
    u = _dual(rng, case)
    rho = _multipliers(rng, case, u)
    return replace(case, network=case.network | {"b": least_decay(rng, case, u, rho)}), u, rho


def _dual(rng: Rng, case: Case) -> Array:
    """A multiple of the derivative, its sum zero where it has to be; or zero."""
    u = rounded(float(pick(rng, 1.0, 0.5)) * derivative(case), 20)
    if case.om is not None:
        u[case.om == 0] = 0.0
    if "free" in (case.network["intercept"], case.network["hidden_bias"]):
        weight = np.abs(u)
        if not weight.any():
            return u
        u = with_zero_sum(u, int(np.argmax(weight)))
    return u


def _multipliers(rng: Rng, case: Case, u: Array) -> Array:
    """The sums so far, where they have the sign that the shape can take, or some of them."""
    rows = []
    for j, word in enumerate(case.network["shapes"]):
        if word not in RISING:
            continue
        rho, side = np.zeros(len(u)), 1.0 if word == "increasing" else -1.0
        z = np.unique(case.X[:, j])
        share = float(pick(rng, 1.0, 1.0, 0.5, 0.0))
        for value in z[:-1]:
            sums = -side * float(u[case.X[:, j] <= value].sum())
            rho[np.flatnonzero(case.X[:, j] == value)[0]] = share * max(sums, 0.0)
        rows.append(rho)
    return np.array(rows).reshape(-1, len(u))


def least_decay(rng: Rng, case: Case, u: Array, rho: Array) -> Fraction:
    """Just above the largest H of all columns, or with some room."""
    file = read_regularized(written((case, u, rho), p_up="0", p_low="0", gap="0"))
    _, _, found = file.claims[0]
    del found["u"]
    exact = [Fraction(float(x)) for x in u]
    assert multipliers(file, found) is not None
    square = max(max(needed_squares(file, j, exact, found)) for j in range(case.X.shape[1]))
    least = max(root_above(square), Fraction(1, 10**6))
    return least if rng.random() < 0.7 else 2 * least


def written(given: Hostile, **options: Any) -> bytes:
    """The file."""
    case, u, rho = given
    return file_of(case, u, witness={"rho": rho} if len(rho) else {}, **options)


def _decay(rng: Rng, given: Hostile) -> Hostile:
    case, u, rho = given
    b = Fraction(case.network["b"]) * (1 - Fraction(float(10 ** rng.uniform(-9, -1))))
    return replace(case, network=case.network | {"b": b}), u, rho


def _longer(rng: Rng, given: Hostile) -> Hostile:
    case, u, rho = given
    return case, float(pick(rng, 2.0, 1.5, -1.0)) * u, rho


def _entry(rng: Rng, given: Hostile) -> Hostile:
    case, u, rho = given
    u = u.copy()
    i = int(rng.integers(len(u)))
    u[i] = pick(rng, -u[i], u[i] + 2.0**-20, np.nextafter(u[i], 9.0))
    return case, u, rho


def _rho(rng: Rng, given: Hostile) -> Hostile:
    """A multiplier that is negative, elsewhere, or another number."""
    case, u, rho = given
    rho = rho.copy()
    if rho.size:
        place = tuple(int(rng.integers(side)) for side in rho.shape)
        old = rho[place]
        rho[place] = pick(rng, -old, -1e-300, old + 1.0, 0.0, np.nextafter(old, 9.0), 2 * old)
    return case, u, rho


def _moved(rng: Rng, given: Hostile) -> Hostile:
    """The multipliers of another column, or of other rows."""
    case, u, rho = given
    turned = np.roll(rho, 1, axis=int(rng.integers(2))) if rho.size else rho
    return case, u, np.ascontiguousarray(pick(rng, turned, rho[:, ::-1]))


def _word(rng: Rng, given: Hostile) -> Hostile:
    """Another shape of as many multipliers: the network, or the test, is that of the old one."""
    case, u, rho = given
    words = list(case.network["shapes"])
    j = int(rng.integers(len(words)))
    others = RISING if words[j] in RISING else ("convex", "concave", "none")
    words[j] = pick(rng, *others)
    return replace(case, network=case.network | {"shapes": words}), u, rho


def _dip(rng: Rng, given: Hostile) -> Hostile:
    """A bend of 1e-12 the wrong way between two places, or a neuron that is turned or moved."""
    case, u, rho = given
    assert case.bias is not None
    i = int(rng.integers(len(case.v)))
    if rng.random() < 0.5:
        W, v, bias = case.W.copy(), case.v.copy(), case.bias.copy()
        part = pick(rng, "v", "bias", "W")
        if part == "v":
            v[i] *= float(pick(rng, -1.0, 1 + 2.0**-40, 1 - 2.0**-40))
        elif part == "bias":
            bias[i] = np.nextafter(bias[i], float(pick(rng, -9.0, 9.0)))
        else:
            W[i] *= float(pick(rng, -1.0, 1 + 2.0**-52))
        return replace(case, W=W, v=v, bias=bias), u, rho
    size, t = float(pick(rng, 1e-12, -1e-12)), float(rng.standard_normal())
    W = np.vstack([case.W, np.tile(case.W[i] != 0, (3, 1)).astype(float)])
    bias = np.r_[case.bias, -t, -t - 0.01, -t - 0.02]
    return replace(case, W=W, v=np.r_[case.v, size, -2 * size, size], bias=bias), u, rho


def _sample(rng: Rng, given: Hostile) -> Hostile:
    case, u, rho = given
    X = case.X.copy()
    place = tuple(int(rng.integers(side)) for side in X.shape)
    X[place] = pick(rng, X[place] + 0.25, X.max() + 1.0, X[0, place[1]], -X[place])
    return replace(case, X=X), u, rho


def _rule(rng: Rng, given: Hostile) -> Hostile:
    """A free intercept where there is none, another bias rule, another tau."""
    case, u, rho = given
    network = dict(case.network)
    part = pick(rng, "intercept", "tau", "hidden_bias")
    if part == "intercept" and network["intercept"] == "none":
        return replace(case, network=network | {"intercept": "free"}, intercept=0.0), u, rho
    if part == "tau" and "tau" in network:
        return replace(case, network=network | {"tau": 2 * network["tau"]}), u, rho
    if network["hidden_bias"] == "penalized":
        network.pop("tau", None)
        return replace(case, network=network | {"hidden_bias": "free"}), u, rho
    network |= {"hidden_bias": "penalized", "tau": Fraction(1)}
    return replace(case, network=network), u, rho


LIES: dict[str, Lie] = {
    "decay": _decay,
    "longer": _longer,
    "entry": _entry,
    "rho": _rho,
    "moved rho": _moved,
    "word": _word,
    "dip": _dip,
    "sample": _sample,
    "rule": _rule,
}


def _malformed(rng: Rng, file: Whole) -> Whole:
    """A form that no class of shapes has, or multipliers of another size."""
    file = file.copy()
    d, name = file.tensors["X"].shape[1], "claims.0.rho"
    if name in file.tensors and rng.random() < 0.3:
        file.tensors[name] = pick(rng, file.tensors[name].T.copy(), file.tensors[name][:0])
        return file
    edits = ({"monotone": [1] * d}, {"heads": "nonnegative"}, {"shapes": ["none"] * d},
             {"shapes": ["convex"] * (d + 1)}, {"shapes": [True] * d})  # fmt: skip
    file.top["network"] |= pick(rng, *edits)
    return file


def _bounds(rng: Rng, file: Whole) -> Whole:
    file, name = file.copy(), pick(rng, "p_up", "p_low", "gap")
    change = Fraction(1, 10 ** int(pick(rng, 3, 12, 40)))
    file.claim[name] = str(Fraction(file.claim[name]) + (change if name == "p_low" else -change))
    return file


def hostile(rng: Rng) -> tuple[str, bytes]:
    """The name of an attack and its file."""
    given = honest(rng)
    if rng.random() < 0.15:
        name = pick(rng, "malformed", "bounds")
        edit = _malformed if name == "malformed" else _bounds
        return name, edit(rng, opened(written(given))).sealed()
    name = pick(rng, *LIES)
    return name, written(LIES[name](rng, given))
