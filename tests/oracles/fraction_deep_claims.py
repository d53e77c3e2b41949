"""Section 5.13 of spec/certificate-v1.md and deep networks on rational intervals: a slow checker of
its own for deep files.

`check_bytes` and `oracle_truth` answer for files with a deep network as those of `fraction_checker`
do for the others. G is formed from the Jacobian itself, entry by entry, and the Lipschitz constant
from plain loops over samples and layers.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tests.oracles.claim_grammar import (
    Fields,
    MalformedError,
    NoDataError,
    OtherDataError,
    Role,
    one_of,
    rationals,
    require,
)
from tests.oracles.definiteness import eliminated, shifted, witnessed
from tests.oracles.fraction_activations import derivatives, suprema
from tests.oracles.fraction_claims import Check, Truth, Witnessed, guarded, inner
from tests.oracles.fraction_intervals import (
    Interval,
    at_most,
    larger,
    largest,
    less,
    smaller,
    total,
)
from tests.oracles.fraction_network import row_sum_bound
from tests.oracles.strict_container import (
    MAX_CLAIMS,
    Claim,
    Tensor,
    _claim_tensors,
    _data_entry,
    _data_tensors,
    _expect,
    _network,
    read_sealed,
)

BOUNDED = ("softplus", "sigmoid", "tanh", "erf")
PRECISIONS = (192, 512)
FIELDS = rationals("a2", "b2", "t", "eta", "rate", "loss_upper") | {
    "norm": one_of("rows", "factor")
}
Layer = list[list[Interval]]  # one list of channels per pixel


@dataclass(frozen=True)
class DeepCertificate:
    """A file with a deep network, as exact numbers."""

    activation: str
    parameter: Fraction
    scales: list[Fraction]
    residual: list[bool]
    windows: list[list[int]]
    weights: list[list[list[Fraction]]]
    head: list[Fraction]
    X: list[list[Fraction]]
    y: list[Fraction]
    bias: bool
    claims: list[Claim]

    @property
    def pixels(self) -> int:
        """Number of pixels."""
        return len(self.windows)


def _layers(value: Any) -> tuple[list[Fraction], list[bool]]:
    require(isinstance(value, list) and bool(value), "layers is not a list of layers")
    scales, kinds = [], []
    for layer in value:
        require(
            isinstance(layer, dict) and set(layer) == {"residual", "scale"},
            "a layer has wrong fields",
        )
        require(type(layer["residual"]) is bool, "residual is not a boolean")
        scales.append(rationals("scale")["scale"](layer["scale"]))
        require(scales[-1] > 0, "scale is not positive")
        kinds.append(layer["residual"])
    return scales, kinds


def _matrices(
    kinds: list[bool], windows: list[list[int]], channels: int, tensors: dict[str, Tensor]
) -> list[Tensor]:
    weights = []
    for h, residual in enumerate(kinds, start=1):
        require(
            f"W_{h}" in tensors and len(tensors[f"W_{h}"].shape) == 2,
            f"W_{h} is missing or not a matrix",
        )
        rows = channels if residual else tensors[f"W_{h}"].shape[0]
        weights.append(_expect(tensors, f"W_{h}", "F64", (rows, len(windows[0]) * channels)))
        channels = rows
    return weights


def _windows(network: dict[str, Any], tensors: dict[str, Tensor]) -> list[list[int]]:
    if "pixels" not in network:
        return [[0]]
    p = network["pixels"]
    require(type(p) is int and p >= 1, "pixels is not a positive integer")
    require(
        "patches" in tensors and len(tensors["patches"].shape) == 2,
        "patches missing or not a matrix",
    )
    q = tensors["patches"].shape[1]
    flat = _expect(tensors, "patches", "I64", (p, q)).integers()
    require(all(-1 <= i < p for i in flat), "a pixel out of range")
    return [flat[i : i + q] for i in range(0, len(flat), q)]


def _roles(fields: Fields, n: int, shapes: list[tuple[int, ...]]) -> list[Role]:
    """The tensors of deep-descent; `shapes` are those of W_1, ..., W_H and of the head."""
    orders = [min(shape) for shape in shapes[:-1]]
    roles = [Role("C_a", "F64", (n, n)), Role("omega", "F64", (len(orders),))]
    roles += [Role("C_b", "F64", (n, n))] if fields["norm"] == "factor" else []
    return roles + [Role(f"C_omega_{h}", "F64", (m, m)) for h, m in enumerate(orders, start=1)]


@dataclass(frozen=True)
class DeepGrammar:
    """Theorem, fields, optional fields and tensors of a claim about deep networks."""

    theorem: str
    fields: dict[str, Any]
    optional: dict[str, Any]
    roles: Callable[[Fields, int, list[tuple[int, ...]]], list[Role]]


GRAMMARS = {"deep-descent": DeepGrammar("deep-path/1", FIELDS, {}, _roles)}


def _deep_claims(
    entries: Any, n: int, shapes: list[tuple[int, ...]], tensors: dict[str, Tensor]
) -> list[Claim]:
    require(
        isinstance(entries, list) and 1 <= len(entries) <= MAX_CLAIMS,
        "claims must be a list of 1 to 64",
    )
    result = []
    for index, entry in enumerate(entries):
        require(
            isinstance(entry, dict) and entry.get("kind") in list(GRAMMARS),
            "not a claim about a deep network",
        )
        kind = entry["kind"]
        grammar = GRAMMARS[kind]
        require(
            type(entry.get("version")) is int and entry["version"] == 1, "unknown claim version"
        )
        require(entry.get("theorem") == grammar.theorem, "wrong theorem")
        names, readers = set(entry) - {"kind", "version", "theorem"}, grammar.fields
        require(
            set(readers) <= names <= set(readers) | set(grammar.optional), "claim has wrong fields"
        )
        fields: Fields = {name: (readers | grammar.optional)[name](entry[name]) for name in names}
        roles = grammar.roles(fields, n, shapes)
        result.append(Claim(kind, fields, _claim_tensors(index, roles, tensors)))
    return result


def read_deep(raw: bytes, data: bytes | None = None) -> DeepCertificate:
    """Parse a certificate with a deep network."""
    top, tensors = read_sealed(raw)
    require(
        top["loss"] == "half-sum-of-squares" and isinstance(top["network"], dict),
        "unknown loss or network",
    )
    network = dict(top["network"])
    require(network.get("kind") == "deep" and "layers" in network, "not a deep network")
    scales, kinds = _layers(network.pop("layers"))
    n, d, stored = _data_entry(top["data"])
    samples = _data_tensors(stored, tensors, data)
    windows = _windows(network, tensors)
    network.pop("pixels", None)
    activation, parameter = _network(network | {"kind": "shallow"})
    p = len(windows)
    require(d % p == 0, "pixels do not divide d")
    weights = _matrices(kinds, windows, d // p, tensors)
    head = _expect(tensors, "v", "F64", (weights[-1].shape[0] * p,))
    shapes = [*(W.shape for W in weights), head.shape]
    claims = _deep_claims(top["claims"], n, shapes, tensors)
    require(not tensors, "tensor that nobody asked for")
    if not samples:
        raise NoDataError("the data are not in the file and were not given")
    X, y = samples["X"], samples["y"]
    digest = hashlib.sha256(b"globalmin-data/1 %d %d\n" % (n, d) + X.raw + y.raw).hexdigest()
    if X.shape != (n, d) or digest != top["data"]["sha256"]:
        raise OtherDataError("data digest does not match")
    matrices = [W.rows() for W in weights]
    slope = Fraction(1) if parameter is None else parameter
    numbers = (head.numbers(), X.rows(), y.numbers(), top["data"]["bias"], claims)
    return DeepCertificate(activation, slope, scales, kinds, windows, matrices, *numbers)


class DeepPasses:
    """Forward and backward pass of one sample in intervals."""

    def __init__(self, c: DeepCertificate, x: list[Fraction], bits: int) -> None:
        self.c, self.bits = c, bits
        p = c.pixels
        self.features: list[Layer] = [
            [[self.of(value) for value in x[pixel::p]] for pixel in range(p)]
        ]
        self.slopes: list[Layer] = []
        self.patches: list[Layer] = []
        for W, scale, residual in zip(c.weights, c.scales, c.residual, strict=True):
            self._forward(W, self.of(scale), residual)
        self.p: list[Layer] = []
        self.q: list[Layer] = []
        self._backward()

    def of(self, value: Fraction | int) -> Interval:
        """The interval of a rational."""
        return Interval.of(value, self.bits)

    def _jet(self, z: Interval) -> tuple[Interval, Interval]:
        """Phi is increasing; phi' is monotone on each side of zero, or increasing."""
        points = [z.lower, z.upper] + ([Fraction(0)] if z.lower < 0 < z.upper else [])
        values = [
            derivatives(self.c.activation, t, self.bits, self.c.parameter)[:2] for t in points
        ]
        hulls = []
        for k in (0, 1):
            low = high = values[0][k]
            for value in values[1:]:
                low, high = smaller(low, value[k]), larger(high, value[k])
            hulls.append(Interval.between(low, high))
        return hulls[0], hulls[1]

    def _forward(self, W: list[list[Fraction]], scale: Interval, residual: bool) -> None:
        below = self.features[-1]
        nothing = [self.of(0)] * len(below[0])
        patches = [
            [e for pixel in window for e in (below[pixel] if pixel >= 0 else nothing)]
            for window in self.c.windows
        ]
        rows = [[self.of(value) for value in row] for row in W]
        jets = [[self._jet(inner(row, list(patch))) for row in rows] for patch in patches]
        values = [[scale * jet[0] for jet in row] for row in jets]
        if residual:
            values = [
                [a + b for a, b in zip(*pair, strict=True)]
                for pair in zip(below, values, strict=True)
            ]
        self.patches.append(patches)
        self.slopes.append([[jet[1] for jet in row] for row in jets])
        self.features.append(values)

    def _backward(self) -> None:
        c, p = self.c, self.c.pixels
        above: Layer = [[self.of(value) for value in c.head[pixel::p]] for pixel in range(p)]
        for h in reversed(range(len(c.weights))):
            q = [
                [a * b for a, b in zip(*pair, strict=True)]
                for pair in zip(self.slopes[h], above, strict=True)
            ]
            self.p.insert(0, above)
            self.q.insert(0, q)
            channels, scale = len(self.features[h][0]), self.of(c.scales[h])
            pulled = [[self.of(0)] * channels for _ in range(p)]
            for pixel, window in enumerate(c.windows):
                for o, source in enumerate(window):
                    if source < 0:
                        continue
                    for ch in range(channels):
                        column = [self.of(row[o * channels + ch]) for row in c.weights[h]]
                        pulled[source][ch] = pulled[source][ch] + scale * inner(column, q[pixel])
            if c.residual[h]:
                pulled = [
                    [a + b for a, b in zip(*pair, strict=True)]
                    for pair in zip(above, pulled, strict=True)
                ]
            above = pulled

    def output(self) -> Interval:
        """F(x) = <v, x_H>."""
        p = self.c.pixels
        heads = [[self.of(value) for value in self.c.head[pixel::p]] for pixel in range(p)]
        return total(
            (inner(a, b) for a, b in zip(self.features[-1], heads, strict=True)), self.bits
        )

    def jacobian(self) -> list[Interval]:
        """The whole row of J."""
        row: list[Interval] = []
        for h, q in enumerate(self.q):
            scale = self.of(self.c.scales[h])
            for neuron in range(len(q[0])):
                for column in range(len(self.patches[h][0])):
                    pairs = [
                        q[pixel][neuron] * self.patches[h][pixel][column]
                        for pixel in range(self.c.pixels)
                    ]
                    row.append(scale * total(pairs, self.bits))
        return row + [entry for pixel in self.features[-1] for entry in pixel]

    def spread(
        self, omega: list[Fraction], t: Fraction, suprema_: tuple[Interval, Interval]
    ) -> Interval:
        """dx_H^2 + sum_h T_h^2."""
        c, of = self.c, self.of
        L, beta = suprema_
        counts = Counter(pixel for window in c.windows for pixel in window if pixel >= 0)
        root = of(max(counts.values(), default=1)).sqrt()
        xi, dx, dz = [_norm(self.features[0])], [of(0)], []
        for h, scale in enumerate(c.scales):
            dz.append(root * (of(omega[h] + t) * dx[h] + xi[h]))
            dx.append(of(scale) * L * dz[h] + (dx[h] if c.residual[h] else of(0)))
            xi.append(_norm(self.features[h + 1]) + of(t) * dx[h + 1])
        result, dp = dx[-1].square(), of(1)
        for h in reversed(range(len(c.scales))):
            top = largest(abs(entry) for row in self.p[h] for entry in row) + of(t) * dp
            dq = beta * dz[h] * top + L * dp
            Q = _norm(self.q[h]) + of(t) * dq
            factor = of(c.scales[h]) * root
            result = result + (factor * (dq * xi[h] + Q * dx[h])).square()
            dp = factor * (of(omega[h] + t) * dq + Q) + (dp if c.residual[h] else of(0))
        return result


def _norm(layer: Layer) -> Interval:
    flat = [entry for row in layer for entry in row]
    return inner(flat, flat).sqrt()


def _omega_matrix(W: list[list[Fraction]], omega: Fraction, bits: int) -> list[list[Interval]]:
    rows = W if len(W) <= len(W[0]) else [list(column) for column in zip(*W, strict=True)]
    exact = [
        [sum((a * b for a, b in zip(x, y, strict=True)), Fraction(0)) for y in rows] for x in rows
    ]
    return [
        [Interval.of((omega**2 if i == j else 0) - entry, bits) for j, entry in enumerate(row)]
        for i, row in enumerate(exact)
    ]


def deep_checks(c: DeepCertificate, claim: Claim, judge: Witnessed, bits: int) -> Iterator[Check]:
    """Theorem DS."""
    f = claim.fields

    def of(value: Fraction | int) -> Interval:
        return Interval.of(value, bits)

    yield from sign_checks(c, claim)
    samples = [DeepPasses(c, x, bits) for x in c.X]
    r = [sample.output() - of(y) for sample, y in zip(samples, c.y, strict=True)]
    yield "loss_upper", at_most(inner(r, r) * of(Fraction(1, 2)), of(f["loss_upper"]))
    omega = claim.tensors["omega"].numbers()
    Lam = lipschitz(samples, omega, f["t"], truth=isinstance(judge, Truth))
    a, b, t, eta = of(f["a2"]).sqrt(), of(f["b2"]).sqrt(), of(f["t"]), of(f["eta"])
    yield "Lam t < a", less(Lam * t, a)
    yield "residual", at_most(inner(r, r).sqrt(), a * t - Lam * t.square() * of(Fraction(1, 2)))
    yield "eta", at_most(eta * (b + Lam * t).square(), of(1))
    yield "rate", at_most(of(1) - eta * (a - Lam * t).square(), of(f["rate"]))
    yield from spectrum_checks(c, claim, judge, samples)


def sign_checks(c: DeepCertificate, claim: Claim) -> Iterator[Check]:
    """Activation and signs."""
    f = claim.fields
    yield "activation", c.activation in BOUNDED
    for name in ("a2", "b2", "t", "eta"):
        yield f"{name} > 0", f[name] > 0
    yield "0 <= rate < 1", 0 <= f["rate"] < 1
    yield "omega > 0", min(claim.tensors["omega"].numbers()) > 0


def lipschitz(
    samples: list[DeepPasses], omega: list[Fraction], t: Fraction, *, truth: bool
) -> Interval:
    """Lam on the ball of radius t; for the truth an interval down to the true suprema."""
    c, of = samples[0].c, samples[0].of
    rounded, exact = (
        suprema(c.activation, c.parameter),
        suprema(c.activation, c.parameter, exact=True),
    )
    bounds = [
        Interval.between(of((exact if truth else rounded)[k] or 0), of(rounded[k] or 0))
        for k in (0, 1)
    ]
    spreads = (sample.spread(omega, t, (bounds[0], bounds[1])) for sample in samples)
    return total(spreads, samples[0].bits).sqrt()


def spectrum_checks(
    c: DeepCertificate, claim: Claim, judge: Witnessed, samples: list[DeepPasses]
) -> Iterator[Check]:
    """The norms of the weights and the eigenvalues of G."""
    f, bits, truth = claim.fields, samples[0].bits, isinstance(judge, Truth)
    omega, of = claim.tensors["omega"].numbers(), samples[0].of
    for h, (W, om) in enumerate(zip(c.weights, omega, strict=True), start=1):
        yield (
            f"omega_{h}",
            judge.definite(_omega_matrix(W, om, bits), claim.tensors[f"C_omega_{h}"].rows()),
        )
    rows = [sample.jacobian() for sample in samples]
    G = [[inner(x, y) for y in rows] for x in rows]
    if truth:
        yield "b2", eliminated(shifted(G, f["b2"], sign=-1))[0]
    elif f["norm"] == "rows":
        yield "b2", at_most(row_sum_bound(G), of(f["b2"]))
    else:
        yield "b2", witnessed(shifted(G, f["b2"], sign=-1), claim.tensors["C_b"].rows())
    yield "a2", judge.definite(shifted(G, -f["a2"]), claim.tensors["C_a"].rows())


CHECKS = {"deep-descent": deep_checks}


def _judged(c: DeepCertificate, judge: Witnessed) -> tuple[bool | None, str]:
    undecided = ""
    for bits in PRECISIONS:
        outcomes = [("bias column", not c.bias or all(row[-1] == 1 for row in c.X))]
        for index, claim in enumerate(c.claims):
            outcomes += [
                (f"claim {index}: {name}", x)
                for name, x in guarded(CHECKS[claim.kind](c, claim, judge, bits))
            ]
        failed = [name for name, outcome in outcomes if outcome is False]
        if failed:
            return False, failed[0]
        undecided = next((name for name, outcome in outcomes if outcome is None), "")
        if not undecided:
            return True, "every check holds"
    return None, undecided


def check_bytes(raw: bytes, data: bytes | None = None) -> tuple[str, str]:
    """(verdict, reason) of a file with a deep network."""
    try:
        certificate = read_deep(raw, data)
    except MalformedError as error:
        return "MALFORMED", str(error)
    except OtherDataError as error:
        return "REJECTED", str(error)
    except NoDataError as error:
        return "UNDECIDED", str(error)
    accepted, reason = _judged(certificate, Witnessed())
    return {True: "ACCEPTED", False: "REJECTED", None: "UNDECIDED"}[accepted], reason


def oracle_truth(raw: bytes, data: bytes | None = None) -> bool | None:
    """Do the claims' inequalities hold for the exact quantities, whatever the witness?"""
    try:
        certificate = read_deep(raw, data)
    except (MalformedError, NoDataError):
        return None
    except OtherDataError:
        return False
    return _judged(certificate, Truth())[0]
