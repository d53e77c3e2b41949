"""Form of a file of a regularized network, sections 3 to 5 of spec/certificate-v1.md: the reader of
the slow checker.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from typing import Any

from tests.oracles.claim_grammar import Fields, Reader, one_of, rational, rationals, require
from tests.oracles.fraction_dual import SIGNED, dot
from tests.oracles.strict_container import MAX_CLAIMS, Tensor, _expect, read_sealed

Row = list[Fraction]
Matrix = list[Row]
LOSSES = (
    "squared",
    "huber",
    "quantile",
    "hinge",
    "squared_hinge",
    "logistic",
    "poisson",
    "softmax",
)
SMOOTH = {"squared": 1, "huber": 1, "squared_hinge": 1, "logistic": 4}
PARTS = ("none", "free", "penalized")
SHAPES = ("none", "increasing", "decreasing", "convex", "concave")
THEOREMS = {"dual-gap": "convex-dual/1", "unused-terms": "unused-terms/1"}


@dataclass(frozen=True)
class RegularizedFile:
    """A file of a regularized network as exact numbers; absent parts are zero. With c > 1 outputs
    v and, for the squared loss, y are flat, and the constants are in `intercepts`.
    """

    network: Fields
    loss: str
    parameter: Fraction
    X: Matrix
    y: Row
    om: Row
    W: Matrix
    v: Row
    bias: Row
    intercept: Fraction
    linear: Row
    claims: list[tuple[str, Fields, dict[str, Tensor]]]
    c: int = 1
    intercepts: Row = field(default_factory=list)

    @property
    def tau(self) -> Fraction:
        """The bias feature, or 1."""
        return self.network.get("tau", Fraction(1))

    def group_rows(self, group: Sequence[int]) -> Matrix:
        """The rows x_ig."""
        tail = [self.tau] if self.network["hidden_bias"] == "penalized" else []
        return [[row[j] for j in group] + tail for row in self.X]

    def outputs(self) -> Row:
        """The f_i."""
        result = []
        for row in self.X:
            f = self.intercept + dot(self.linear, row)
            for w, beta, v in zip(self.W, self.bias, self.v, strict=True):
                z = dot(w, row) + self.tau * beta
                f += v * (z * z if self.network["neurons"] == "quadratic" else max(z, Fraction(0)))
            result.append(f)
        return result


def _sign_of(value: Any) -> int:
    require(type(value) is int and value in (-1, 0, 1), "monotone has another entry")
    return value


def _positive(value: Any) -> Fraction:
    number = rational(value)
    require(number > 0, "a number of the objective is not positive")
    return number


def _groups(value: Any, d: int) -> list[tuple[int, ...]]:
    """All groups of the class that are not inside another one."""
    if isinstance(value, str):
        require(value in ("columns", "pairs", "all"), "unknown class")
        require(value != "pairs" or d >= 2, "one column has no pair")
        size = {"columns": 1, "pairs": 2, "all": d}[value]
        return list(combinations(range(d), size))
    require(isinstance(value, list) and 1 <= len(value) <= 4096, "groups are not a list")
    groups = []
    for entry in value:
        require(isinstance(entry, list) and len(entry) > 0, "an empty group")
        require(all(type(j) is int and 0 <= j < d for j in entry), "a column out of range")
        require(entry == sorted(set(entry)), "a group is not increasing")
        groups.append(tuple(entry))
    require(len(set(groups)) == len(groups), "a group twice")
    return [g for g in groups if not any(set(g) < set(other) for other in groups)]


def _network(entry: Fields, d: int) -> Fields:
    require(entry.get("neurons") in ("relu", "quadratic"), "unknown neurons")
    relu = entry["neurons"] == "relu"
    readers: dict[str, Reader] = {
        "kind": one_of("regularized"),
        "neurons": one_of("relu", "quadratic"),
        "groups": lambda value: _groups(value, d),
        "hidden_bias": one_of(*PARTS) if relu else one_of("none", "penalized"),
        "intercept": one_of(*PARTS) if relu else one_of("none", "free"),
        "linear": one_of(*PARTS) if relu else one_of("none"),
        "heads": one_of("any", "nonnegative"),
        "b": _positive,
    }
    for part, name in (("hidden_bias", "tau"), ("intercept", "k0"), ("linear", "k1")):
        if entry.get(part) == "penalized":
            readers[name] = _positive
    if not relu:
        readers["v_max"] = _positive
        require(entry.get("groups") == "all", "quadratic neurons see all columns")
    if relu and "monotone" in entry:
        readers["monotone"] = lambda value: [_sign_of(x) for x in value]
        require(isinstance(entry["monotone"], list), "monotone is not a list")
        require(len(entry["monotone"]) == d, "monotone has another length")
    if relu and "shapes" in entry:
        words = entry["shapes"]
        require(isinstance(words, list) and len(words) == d, "shapes of another length")
        require(all(type(word) is str and word in SHAPES for word in words), "unknown shape")
        require(any(word != "none" for word in words), "no shape at all")
        readers["shapes"] = list
    if "outputs" in entry:
        readers["outputs"] = lambda value: _index(2, 4096, value)
    require(set(entry) == set(readers), "network has wrong fields")
    network = {name: reader(entry[name]) for name, reader in readers.items()}
    single = all(len(group) == 1 for group in network["groups"])
    require("monotone" not in network or single, "monotone pairs")
    plain = single and network["heads"] == "any" and network["linear"] == "none"
    alone = "monotone" not in network and "outputs" not in network
    usual = plain and alone and network["hidden_bias"] != "none"
    require("shapes" not in network or usual, "shapes of another class")
    shared = relu and single and network["heads"] == "any" and network["linear"] == "none"
    fit = shared and "monotone" not in network
    require("outputs" not in network or fit, "several outputs of another class")
    return network


def _loss(entry: Any) -> tuple[str, Fraction]:
    require(isinstance(entry, dict) and entry.get("name") in LOSSES, "unknown loss")
    name = entry["name"]
    has = name in ("huber", "quantile")
    require(set(entry) == ({"name", "parameter"} if has else {"name"}), "loss has wrong fields")
    a = rational(entry["parameter"]) if has else Fraction(0)
    require(not has or a > 0, "parameter not positive")
    require(name != "quantile" or a < 1, "quantile not below 1")
    return name, a


def _numbers(tensors: dict[str, Tensor], name: str, shape: tuple[int, ...]) -> Row:
    return _expect(tensors, name, "F64", shape).numbers()


def _index(low: int, high: int, value: Any) -> int:
    require(type(value) is int and low <= value <= high, "an integer out of range")
    return value


def _readers(entry: Fields, network: Fields, n: int, name: str) -> dict[str, Reader]:
    readers: dict[str, Reader] = rationals("p_up", "p_low", "gap") | {
        "constraint": one_of("columns", "cones", "spectral", "slabs", "quadratic"),
        "parts": lambda value: _index(1, 2, value),
    }
    require("outputs" not in network or entry.get("constraint") == "columns", "of one output")
    require("outputs" not in network or "repair" not in entry, "a repair of several outputs")
    if "repair" in entry:
        readers["repair"] = lambda value: _index(1, n, value)
    if entry.get("constraint") == "spectral":
        readers |= rationals(*(f"gamma_{sign}" for sign in _signs(network)))
    if entry.get("constraint") == "slabs":
        require(type(entry.get("slabs")) is list, "slabs is no list")
        count = len(entry["slabs"]) - 1
        require(1 <= count <= 64, "too few or too many slabs")
        readers["slabs"] = lambda value: _list_of_rationals(value, count + 1)
        for sign in _signs(network):
            for name in ("gamma", "delta"):
                readers[f"{name}_{sign}"] = lambda value: _list_of_rationals(value, count)
    if entry["kind"] == "unused-terms":
        readers |= _unused_readers(entry, network, name)
    return readers


def _list_of_rationals(value: Any, count: int) -> Row:
    require(type(value) is list and len(value) == count, "one number per slab")
    return [rational(x) for x in value]


def _signs(network: Fields) -> list[str]:
    return ["minus"] if network["heads"] == "nonnegative" else ["plus", "minus"]


def _roles(fields: Fields, network: Fields, n: int) -> dict[str, tuple[int, ...]]:
    """The F64 tensors of a claim, after the constraint was compared with the class."""
    method, groups = fields["constraint"], network["groups"]
    quadratic = network["neurons"] == "quadratic"
    require((method == "quadratic") == quadratic, "constraint of other neurons")
    require(method != "columns" or all(len(g) == 1 for g in groups), "columns of several columns")
    roles: dict[str, tuple[int, ...]] = {"u": (n,) if fields["parts"] == 1 else (2, n)}
    if "outputs" in network:
        roles["u"] = (fields["parts"] * n, network["outputs"])
    if "shapes" in network:
        require(method == "columns", "shapes by another constraint")
        rising = sum(word in ("increasing", "decreasing") for word in network["shapes"])
        roles |= {"rho": (rising, n)} if rising else {}
    size = len(groups[0]) + (network["hidden_bias"] == "penalized")
    if method == "spectral":
        fit = len(groups) == 1 and network["hidden_bias"] != "free" and "monotone" not in network
        require(fit, "spectral for another class")
        roles |= dict.fromkeys(("rho", "sig", "al", "be"), (n,))
        roles |= {f"C_{sign}": (size + 1, size + 1) for sign in _signs(network)}
    if method == "slabs":
        fit = len(groups) == 1 and network["hidden_bias"] == "free" and "monotone" not in network
        require(fit, "slabs for another class")
        count = len(fields["slabs"]) - 1
        roles |= dict.fromkeys(("rho", "sig", "al", "be"), (count, n)) | {"center": (size,)}
        for sign in _signs(network):
            roles |= {f"C_{sign}_{j}": (size + 2, size + 2) for j in range(count)}
    if quadratic:
        roles |= {role: (size, size) for role in ["C_lower", "C_upper"][: len(_signs(network))]}
    return roles


def _claim(
    entry: Any, index: int, tensors: dict[str, Tensor], network: Fields, about: tuple[int, str]
) -> tuple[str, Fields, dict[str, Tensor]]:
    n, name = about
    require(isinstance(entry, dict) and entry.get("kind") in list(THEOREMS), "another claim")
    require(entry.get("theorem") == THEOREMS[entry["kind"]], "the wrong theorem")
    require(type(entry.get("version")) is int and entry["version"] == 1, "unknown version")
    readers = _readers(entry, network, n, name)
    require(set(entry) - {"kind", "version", "theorem"} == set(readers), "claim has wrong fields")
    fields = {key: reader(entry[key]) for key, reader in readers.items()}
    prefix = f"claims.{index}."
    taken = {
        role: _expect(tensors, prefix + role, "F64", shape)
        for role, shape in _roles(fields, network, n).items()
    }
    if "repair" in fields:
        taken["repair"] = _expect(tensors, prefix + "repair", "I64", (fields["repair"],))
        rows = taken["repair"].integers()
        require(rows == sorted(set(rows)), "repair is not increasing")
        require(rows[0] >= 0 and rows[-1] < n, "repair is out of range")
    return entry["kind"], fields, taken


def _unused_readers(entry: Fields, network: Fields, name: str) -> dict[str, Reader]:
    fit = network["neurons"] == "relu" and network["hidden_bias"] == "penalized"
    require(fit and network["heads"] == "any" and "monotone" not in network, "not for this class")
    require("shapes" not in network, "not for shapes")
    require("outputs" not in network, "not for several outputs")
    require(entry.get("constraint") in ("columns", "cones"), "not for this constraint")
    count = len(network["groups"])

    def several(value: Any) -> Row:
        require(isinstance(value, list) and len(value) == count, "one number per group")
        return [rational(x) for x in value]

    def indices(value: Any) -> list[int]:
        require(isinstance(value, list), "not a list")
        found = [_index(0, count - 1, x) for x in value]
        require(found == sorted(set(found)), "not increasing")
        require(not found or "Lam" in entry, "unused groups need Lam")
        return found

    readers: dict[str, Reader] = {"h": several, "unused": indices}
    if "Lam" in entry:
        require(name in SMOOTH, "Lam for a loss without a Lipschitz derivative")
        readers["Lam"] = several
    return readers


def read_regularized(raw: bytes) -> RegularizedFile:
    """Parse a file of a regularized network."""
    top, tensors = read_sealed(raw)
    data = top["data"]
    require(isinstance(data, dict) and set(data) == {"n", "d", "weighted"}, "data: wrong fields")
    n, d, weighted = data["n"], data["d"], data["weighted"]
    require(type(n) is int and type(d) is int and n >= 1 and d >= 1, "no samples")
    require(type(weighted) is bool, "weighted is not a boolean")
    network, (name, a) = _network(top["network"], d), _loss(top["loss"])
    flat = _numbers(tensors, "X", (n, d))
    require("W" in tensors and len(tensors["W"].shape) == 2, "no matrix W")
    k = tensors["W"].shape[0]
    w = _numbers(tensors, "W", (k, d))
    c, zero = network.get("outputs", 1), Fraction(0)
    require((name == "softmax") <= (c > 1), "softmax of one output")
    require(c == 1 or name in ("softmax", "squared"), "several outputs of another loss")
    each = () if c == 1 else (c,)
    y = _numbers(tensors, "y", (n,) if name == "softmax" else (n, *each))
    require(name != "softmax" or all(label in range(c) for label in y), "labels are no classes")
    om = _numbers(tensors, "om", (n,)) if weighted else [Fraction(1)] * n
    require(min(om) >= 0, "a negative weight")
    require(name not in SIGNED or all(abs(label) == 1 for label in y), "labels are not signs")
    require(name != "poisson" or min(y) >= 0, "a negative count")
    entries = top["claims"]
    require(isinstance(entries, list) and 1 <= len(entries) <= MAX_CLAIMS, "1 to 64 claims")

    def part(rule: str, tensor: str, size: int) -> Row:
        absent = network[rule] == "none"
        return [zero] * size if absent else _numbers(tensors, tensor, (size,))

    constants = part("intercept", "intercept", c)
    file = RegularizedFile(
        network,
        name,
        a,
        [flat[i * d : (i + 1) * d] for i in range(n)],
        y,
        om,
        [w[i * d : (i + 1) * d] for i in range(k)],
        _numbers(tensors, "v", (k, *each)),
        part("hidden_bias", "bias", k),
        constants[0],
        part("linear", "linear", d),
        [_claim(entry, i, tensors, network, (n, name)) for i, entry in enumerate(entries)],
        c,
        constants,
    )
    require(not tensors, "tensor that nobody asked for")
    return file
