"""Hostile files about convolutions and about the linearized path of a ReLU network: nothing false
is accepted, and the two checkers agree.

A convolution's file is attacked where only it can be wrong (windows, pixels, channels, layers),
then with spoiled witnesses, strengthened numbers and two labels for one image; a linearized path
with sets U that are too small or residuals that are too large for them, all other witnesses made
for the lie. The default run makes 50 files
of each kind, `-m campaign` 2,000.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from tests.checker import deep_cases as deep
from tests.checker import relu_linearized_cases as linearized
from tests.checker.cases import inverse_factor
from tests.checker.relu_descent_cases import ReluFit, weights_of
from tests.corpus.whole_files import Whole, opened
from tests.figures import Record, record_hostile
from tests.mutation.hostile_witnesses import nudged, spoiled, strengthened
from tests.mutation.simulated_runs import refuted_by_its_run
from tests.oracles import gmc_builder as gmc
from tests.oracles.fraction_checker import check_bytes as slow_check
from tests.oracles.fraction_checker import oracle_truth

from globalmin_check.engine import check_bytes

Rng = np.random.Generator
WINDOWS = (
    deep.line_windows(2),
    deep.line_windows(3),
    np.array([[0, 1, 2, 3], [1, -1, 3, -1], [2, 3, -1, -1], [3, -1, -1, 0]]),
)


def convolution(rng: Rng) -> Whole:
    """An honest file about two images, one or two layers."""
    windows = WINDOWS[int(rng.integers(len(WINDOWS)))]
    (p, q), m, depth = windows.shape, int(rng.integers(1, 3)), int(rng.integers(1, 3))
    channels = int(rng.integers(1, 3))
    widths = [channels] + [m] * depth
    weights = [rng.standard_normal((m, q * widths[h])) for h in range(depth)]
    net = deep.Deep(
        rng.standard_normal((2, channels * p)),
        np.zeros(2),
        weights,
        rng.standard_normal(m * p),
        [0.5] * depth,
        [h > 0 for h in range(depth)],
        str(rng.choice(["tanh", "softplus", "erf", "sigmoid"])),
        windows,
    )
    net = replace(net, y=net.outputs() + float(10 ** rng.uniform(-6, -4)) * rng.standard_normal(2))
    return opened(deep.build(net, [deep.claim(net, norm=str(rng.choice(["rows", "factor"])))]))


def _window(rng: Rng, file: Whole) -> Whole:
    """One place of one window looks elsewhere."""
    patches = file.tensors["patches"].copy()
    place = tuple(int(rng.integers(side)) for side in patches.shape)
    patches[place] = int(rng.integers(-1, len(patches)))
    return Whole(file.top, file.tensors | {"patches": patches})


def _pixels(rng: Rng, file: Whole) -> Whole:
    """The windows of two pixels exchanged, or all of them moved."""
    patches = file.tensors["patches"]
    return Whole(file.top, file.tensors | {"patches": patches[rng.permutation(len(patches))]})


def _channels(rng: Rng, file: Whole) -> Whole:
    """The columns of a weight matrix in another order."""
    W = file.tensors["W_1"]
    return Whole(file.top, file.tensors | {"W_1": W[:, rng.permutation(W.shape[1])]})


def _layer(rng: Rng, file: Whole) -> Whole:
    """Another scale, or a skip connection left out."""
    file = file.copy()
    layer = file.top["network"]["layers"][-1]
    if rng.random() < 0.5 and layer["residual"]:
        layer["residual"] = False
    else:
        layer["scale"] = str(Fraction(layer["scale"]) * Fraction(float(2 ** rng.uniform(-1, 1))))
    return file


def _same_image(rng: Rng, file: Whole) -> Whole:
    """Both samples are the same image with two labels: no weights fit them."""
    X = file.tensors["X"]
    return Whole(file.top, file.tensors | {"X": np.vstack([X[:1], X[:1]])})


CONVOLUTION: dict[str, Callable[[Rng, Whole], Whole]] = {
    "window": _window,
    "pixels": _pixels,
    "channels": _channels,
    "layer": _layer,
    "same image": _same_image,
    "strengthened": lambda rng, file: strengthened(rng, file),
    "spoiled": lambda rng, file: spoiled(rng, file, file),
    "nudged": lambda rng, file: nudged(rng, file),
}


def hostile_convolution(rng: Rng) -> tuple[str, Whole]:
    """The next file about a convolution."""
    name = str(rng.choice(list(CONVOLUTION)))
    return name, CONVOLUTION[name](rng, convolution(rng))


def small_relu(rng: Rng) -> ReluFit:
    """A few neurons, some of them near their kinks, the residual moderate."""
    n, k = int(rng.integers(1, 4)), int(rng.integers(2, 6))
    X = np.eye(n, n + 1) + 0.3 * rng.standard_normal((n, n + 1))
    W, v = rng.standard_normal((k, n + 1)), rng.standard_normal(k)
    W[0] = np.linalg.lstsq(X, rng.uniform(0.5, 2, n), rcond=None)[0]
    W[-1] *= float(10 ** rng.uniform(-3, 0))
    v[-1] *= float(10 ** rng.uniform(-2, 0))
    fit = ReluFit(X, np.zeros(n), W, v)
    size = float(10 ** rng.uniform(-3, 0))
    return replace(fit, y=fit.residual() + size * rng.standard_normal(n))


def hostile_set(rng: Rng) -> tuple[str, Whole]:
    """A file whose U is the least one (perhaps of a smaller residual), a part of it, or arbitrary;
    every number and every factor is made for that U.
    """
    while True:
        fit, steps = small_relu(rng), int(rng.integers(1, 5))
        least = linearized.least_set(fit, steps)
        name, U = "arbitrary", rng.random((len(fit.y), len(fit.v))) < rng.random() * 0.3
        if least is not None and rng.random() < 0.8:
            name = str(rng.choice(["honest", "too small", "too far", "too far"]))
            U = least.U & (rng.random(U.shape) < (0.5 if name == "too small" else 1.0))
            if name == "too far":
                fit = replace(fit, y=fit.y - fit.residual() * float(2 ** rng.uniform(0, 8)))
        found = linearized.linearized(fit, U, steps)
        if found is None:
            continue
        n, size = len(fit.y), float(np.linalg.norm(fit.residual()))
        fields = {
            "tau": found.tau,
            "lam": found.lam,
            "Lam": found.Lam,
            "eps": found.eps,
            "eta": found.eta,
            "rate": found.rate,
            "path": float(np.sqrt(found.Lam + found.eps) * found.tau * 1.001),
            "norm": "factor",
            "steps": steps,
            "loss_upper": Fraction(size * size) + Fraction(1, 10**30),
        }
        tensors = {
            "e": weights_of(found.E),
            "C": inverse_factor(found.H - found.lam * np.eye(n)),
            "C_Lam": inverse_factor(found.Lam * np.eye(n) - found.H),
            "U": np.flatnonzero(U.ravel()).astype(np.int64),
        }
        claim = gmc.claim("relu-linearized-descent", **fields)
        return name, opened(linearized.build(fit, [(claim, tensors)]))


KINDS: dict[str, Callable[[Rng], tuple[str, Whole]]] = {
    "convolution": hostile_convolution,
    "linearized path": hostile_set,
}


def attack(kind: str, files: int, seed: int) -> Counter[tuple[str, str]]:
    """Verdicts by style; every file that is accepted must be true and must obey its own run."""
    rng, counts = np.random.default_rng([len(kind), seed]), Counter[tuple[str, str]]()
    for index in range(files):
        with np.errstate(all="ignore"):
            name, file = KINDS[kind](rng)
        raw = file.sealed()
        fast, slow = check_bytes(raw).verdict.value, slow_check(raw)
        where = f"{kind}, seed {seed}, file {index} ({name}): {fast}"
        assert fast == slow.verdict or "UNDECIDED" in (fast, slow.verdict), f"{where}, {slow}"
        if fast == "ACCEPTED":
            assert name != "same image", where
            assert oracle_truth(raw) is not False, where
            assert not refuted_by_its_run(file), where
        counts[name, fast] += 1
    print(f"\n{kind}: {dict(counts)}")
    return counts


def assert_teeth(counts: Counter[tuple[str, str]]) -> None:
    """A tenth of the files at least is accepted, and a third rejected."""
    verdicts = Counter[str]()
    for (_, verdict), count in counts.items():
        verdicts[verdict] += count
    assert verdicts["ACCEPTED"] >= 0.1 * counts.total()
    assert verdicts["REJECTED"] >= counts.total() / 3


@pytest.mark.parametrize("kind", list(KINDS))
def test_nothing_false_of_fifty_is_accepted(kind: str) -> None:
    assert_teeth(attack(kind, 50, 0))


@pytest.mark.campaign
@pytest.mark.parametrize("kind", list(KINDS))
def test_nothing_false_of_two_thousand_is_accepted(kind: str, record_property: Record) -> None:
    counts = attack(kind, 2000, 1)
    record_hostile(record_property, {}, counts.total())
    assert_teeth(counts)
