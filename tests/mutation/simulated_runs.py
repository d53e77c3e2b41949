"""Gradient descent itself, run in enclosures of 1,500 bits: does the run break what the certificate
promises?

The formulas are written down here once more, from the definition of the loss; nothing of the two
checkers is used but the arithmetic library. A run refutes a claim only if the violation is certain.
What a few steps do not refute need not be true.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from flint import arb, arb_mat, ctx, fmpq
from tests.corpus.whole_files import Whole
from tests.mutation.oracle_margins import rational

BITS = 1500
STEPS = 3
Vector = list[arb]


class KinkError(Exception):
    """A pre-activation of a ReLU network cannot be told from zero, so any derivative is allowed
    there.
    """


def _ball(value: Fraction | float) -> arb:
    exact = Fraction(value)
    return arb(fmpq(exact.numerator, exact.denominator))


def _relu(z: arb) -> tuple[arb, arb]:
    if z > 0:
        return z, arb(1)
    if z < 0:
        return arb(0), arb(0)
    raise KinkError


def _sigmoid(z: arb) -> tuple[arb, arb]:
    s = 1 / (1 + (-z).exp())
    return s, s * (1 - s)


def _softplus(z: arb) -> tuple[arb, arb]:
    return (1 + z.exp()).log(), _sigmoid(z)[0]


SHAPES: dict[str, Callable[[arb], tuple[arb, arb]]] = {
    "relu": _relu,
    "quadratic": lambda z: (z * z, 2 * z),
    "tanh": lambda z: (z.tanh(), 1 - z.tanh() ** 2),
    "erf": lambda z: (z.erf(), 2 * (-z * z).exp() / arb.pi().sqrt()),
    "sigmoid": _sigmoid,
    "softplus": _softplus,
}


def activation(network: dict) -> Callable[[arb], tuple[arb, arb]]:
    """phi and phi'; with a slope b, softplus is softplus(b z)/b and sigmoid is sigmoid(b z)."""
    name, b = network["activation"], _ball(Fraction(network.get("parameter", "1")))
    shape = SHAPES[name]
    if name == "softplus":
        return lambda z: (shape(b * z)[0] / b, shape(b * z)[1])
    return (lambda z: (shape(b * z)[0], b * shape(b * z)[1])) if name == "sigmoid" else shape


class Shallow:
    """f(x) = sum_l v_l phi(w_l . x) on its samples; W moves, and v too if both layers are
    trained.
    """

    def __init__(self, file: Whole) -> None:
        self.phi = activation(file.top["network"])
        X, y, W, v = (file.tensors[name].tolist() for name in ("X", "y", "W", "v"))
        self.X, self.y = [list(map(arb, x)) for x in X], list(map(arb, y))
        self.W, self.v = [list(map(arb, w)) for w in W], list(map(arb, v))
        self.both = file.claim.get("trained") == "vW"

    def residual(self) -> tuple[Vector, list[list[tuple[arb, arb]]]]:
        """f(x_i) - y_i, and phi, phi' at every pair."""
        pairs = [
            [self.phi(sum((a * b for a, b in zip(w, x, strict=True)), arb(0))) for w in self.W]
            for x in self.X
        ]
        outputs = [
            sum((h * p[0] for h, p in zip(self.v, row, strict=True)), arb(0)) for row in pairs
        ]
        return [f - label for f, label in zip(outputs, self.y, strict=True)], pairs

    def step(self, eta: arb) -> None:
        """One step on L = (1/2) sum r^2."""
        r, pairs = self.residual()
        heads = list(self.v)
        for neuron, w in enumerate(self.W):
            pulls = [e * heads[neuron] * row[neuron][1] for e, row in zip(r, pairs, strict=True)]
            self.W[neuron] = [
                a - eta * sum((p * x[j] for p, x in zip(pulls, self.X, strict=True)), arb(0))
                for j, a in enumerate(w)
            ]
            if self.both:
                self.v[neuron] -= eta * sum(
                    (e * row[neuron][0] for e, row in zip(r, pairs, strict=True)), arb(0)
                )


class Deep:
    """The deep network of a file, one sample after the other; all layers and the head move."""

    def __init__(self, file: Whole) -> None:
        network = file.top["network"]
        self.phi, self.pixels = activation(network), network.get("pixels", 1)
        self.windows = file.tensors["patches"].tolist() if "patches" in file.tensors else [[0]]
        self.scales = [_ball(Fraction(layer["scale"])) for layer in network["layers"]]
        self.skips = [layer["residual"] for layer in network["layers"]]
        self.weights = [
            arb_mat(file.tensors[f"W_{h + 1}"].tolist()) for h in range(len(self.scales))
        ]
        self.X, self.y = file.tensors["X"].tolist(), list(map(arb, file.tensors["y"].tolist()))
        self.v = arb_mat(
            [
                list(map(arb, file.tensors["v"].tolist()[pixel :: self.pixels]))
                for pixel in range(self.pixels)
            ]
        )

    def _patches(self, rows: arb_mat) -> arb_mat:
        below = rows.tolist()
        none = [arb(0)] * len(below[0])
        return arb_mat(
            [
                [entry for pixel in window for entry in (below[pixel] if pixel >= 0 else none)]
                for window in self.windows
            ]
        )

    def _forward(self, x: list[float]) -> list[tuple[arb_mat, arb_mat, arb_mat]]:
        """(features below, patches, slopes) of every layer, then the last features."""
        here, record = (
            arb_mat([list(map(arb, x[pixel :: self.pixels])) for pixel in range(self.pixels)]),
            [],
        )
        for W, scale, skip in zip(self.weights, self.scales, self.skips, strict=True):
            patches = self._patches(here)
            jets = [[self.phi(z) for z in row] for row in (patches * W.transpose()).tolist()]
            record.append((here, patches, arb_mat([[jet[1] for jet in row] for row in jets])))
            above = arb_mat([[scale * jet[0] for jet in row] for row in jets])
            here = here + above if skip else above
        return [*record, (here, here, here)]

    def residual(self) -> tuple[Vector, list]:
        """f(x_i) - y_i and the records of the passes."""
        records = [self._forward(x) for x in self.X]
        outputs = [_inner(record[-1][0], self.v) for record in records]
        return [f - label for f, label in zip(outputs, self.y, strict=True)], records

    def step(self, eta: arb) -> None:
        """One step on L = (1/2) sum r^2."""
        r, records = self.residual()
        weights, head = list(self.weights), self.v
        for error, record in zip(r, records, strict=True):
            pulled = self.v * error
            head = head - record[-1][0] * error * eta
            for h in reversed(range(len(self.weights))):
                below, patches, slopes = record[h]
                q = _entrywise(slopes, pulled) * self.scales[h]
                weights[h] = weights[h] - q.transpose() * patches * eta
                down = self._folded(q * self.weights[h], below.ncols())
                pulled = pulled + down if self.skips[h] else down
        self.weights, self.v = weights, head

    def _folded(self, rows: arb_mat, channels: int) -> arb_mat:
        result = [[arb(0)] * channels for _ in range(self.pixels)]
        for row, window in zip(rows.tolist(), self.windows, strict=True):
            for place, pixel in enumerate(window):
                for channel in range(channels if pixel >= 0 else 0):
                    result[pixel][channel] += row[place * channels + channel]
        return arb_mat(result)


def _inner(A: arb_mat, B: arb_mat) -> arb:
    return sum((a * b for a, b in zip(A.entries(), B.entries(), strict=True)), arb(0))


def _entrywise(A: arb_mat, B: arb_mat) -> arb_mat:
    return arb_mat(
        A.nrows(), A.ncols(), [a * b for a, b in zip(A.entries(), B.entries(), strict=True)]
    )


def square(r: Vector) -> arb:
    """|r|^2."""
    return sum((e * e for e in r), arb(0))


def refuted_by_its_run(file: Whole, least: Fraction = Fraction(0)) -> bool:
    """Whether the first steps certainly contradict the claimed rate (of |r|, or for below-barrier
    of L - least).
    """
    before = ctx.prec
    ctx.prec = BITS
    try:
        run = Deep(file) if file.top["network"]["kind"] == "deep" else Shallow(file)
        eta, rate = _ball(rational(file, "eta")), _ball(rational(file, "rate"))
        factor = rate if file.claim["kind"] == "below-barrier" else rate * rate
        size = square(run.residual()[0]) - 2 * _ball(least)
        for _ in range(STEPS):
            run.step(eta)
            following = square(run.residual()[0]) - 2 * _ball(least)
            if following > factor * size:
                return True
            size = following
        return False
    except KinkError:
        return False
    finally:
        ctx.prec = before
