"""The objects of a claim are functions of the stored numbers: every accepted file, and files built
to be tied at 128 bits.
"""

from fractions import Fraction
from math import isqrt
from operator import mul
from pathlib import Path

import numpy as np
import pytest
from tests.checker.records import exact_checks
from tests.corpus.corpus_previous_bugs import false_rate, postponed_path
from tests.oracles import fraction_checker
from tests.oracles import gmc_builder as gmc
from tests.oracles.fraction_network import Network
from tests.oracles.fraction_relu_descent import patterns

from globalmin_check.balls import precision
from globalmin_check.certificate import read_certificate
from globalmin_check.claims import relu_signs
from globalmin_check.claims.relu_signs import active, bracket
from globalmin_check.exact import inner_product

ACCEPTED = Path(__file__).parents[1] / "corpus" / "accepted"


def objects(blob: bytes, data: bytes | None, bits: int) -> list[object]:
    problem, claims = read_certificate(blob, data)
    with precision(bits):
        return [claim.kind.exact(claim.content, problem, exact_checks()) for claim in claims]


@pytest.mark.parametrize("initial", "abcdefghijklmnopqrstuvwxyz")
def test_the_objects_of_every_accepted_file_are_the_same_at_every_precision(initial: str) -> None:
    for path in sorted(ACCEPTED.glob(f"{initial}*.gmc")):
        data = path.with_suffix(".data")
        pair = path.read_bytes(), data.read_bytes() if data.exists() else None
        assert objects(*pair, 30) == objects(*pair, 128) == objects(*pair, 1024), path.name


@pytest.mark.parametrize(
    "blob", [postponed_path(Fraction(9, 10))[0], false_rate()], ids=["diverges", "rate"]
)
def test_pairs_that_128_bits_do_not_decide_are_decided_exactly(blob: bytes) -> None:
    """The pair is stable by one part in 2^200; the sets are those of the exact oracle."""
    problem, claims = read_certificate(blob, None)
    tau = claims[0].content.tau
    with precision(128):
        sets = bracket(problem, tau, exact_checks())
    possible, sure = patterns(Network(fraction_checker._read(blob, None), 160, False), tau)
    assert sets.possible == [list(map(int, column)) for column in zip(*possible, strict=True)]
    assert sets.sure == [list(map(int, column)) for column in zip(*sure, strict=True)]
    assert sets.unstable == 0
    with precision(128):
        wider = bracket(problem, tau * (1 + Fraction(1, 2**198)), exact_checks())
    assert wider.unstable == 1


def root(square: Fraction) -> Fraction:
    """The square root, exact if it is rational, else to 600 bits below the size of its square."""
    return Fraction(
        isqrt(square.numerator * square.denominator * 2**2400), 2**1200 * square.denominator
    )


def tied_tau(X: np.ndarray, W: np.ndarray, v: np.ndarray, i: int, neuron: int) -> Fraction:
    """The tau for which the margin of a pair equals s with the whole row of K; 1 if there is
    none.
    """
    x, w = (list(map(Fraction, row.tolist())) for row in (X[i], W[neuron]))
    K = [sum(map(mul, x, map(Fraction, row))) for row in X.tolist()]
    size = abs(Fraction(float(v[neuron]))) * root(sum((entry * entry for entry in K), Fraction(0)))
    return abs(sum(map(mul, x, w))) / size if size else Fraction(1)


def relu_file(X: np.ndarray, W: np.ndarray, v: np.ndarray, tau: Fraction) -> bytes:
    half = dict.fromkeys(("lam", "Lam", "eps", "eta", "rate", "path"), Fraction(1, 2))
    claim = gmc.claim("relu-descent", loss_upper=Fraction(1), norm="rows", tau=tau, **half)
    n = len(X)
    return gmc.build(
        X, np.zeros(n), W, v, [(claim, {"e": np.ones(n), "C": np.eye(n)})], activation="relu"
    )


def test_the_sets_agree_with_the_exact_oracle_on_tied_margins(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Margins at s and s (1 +- 2^-150), of both signs, rows whose inner products cancel; many need
    the exact comparison.
    """
    exact_pairs = []
    monkeypatch.setattr(
        relu_signs, "inner_product", lambda a, b: exact_pairs.append(1) or inner_product(a, b)
    )
    rng = np.random.default_rng(3)
    for _ in range(60):
        n, d, k = (int(size) for size in rng.integers(1, 4, 3))
        X, W = (
            rng.integers(-3, 4, shape) * 2.0 ** rng.integers(-90, 90, shape)
            for shape in ((n, d), (k, d))
        )
        if (
            rng.random() < 0.5
        ):  # pre-activations that cancel, up to a last term that balls do not see
            X, W = (
                np.hstack([X, X, np.ones((n, 1))]),
                np.hstack([W, -W, rng.choice([-1, 0, 1], (k, 1)) * 2.0**-300]),
            )
        v = rng.integers(-2, 3, k).astype(float)
        tie = tied_tau(X, W, v, int(rng.integers(n)), int(rng.integers(k))) or Fraction(1)
        for factor in (Fraction(1), 1 - Fraction(1, 2**150), 1 + Fraction(1, 2**150)):
            blob = relu_file(X, W, v, tie * factor)
            with precision(128):
                sets = bracket(read_certificate(blob, None)[0], tie * factor, exact_checks())
            possible, sure = patterns(
                Network(fraction_checker._read(blob, None), 160, False), tie * factor
            )
            assert sets.possible == [
                list(map(int, column)) for column in zip(*possible, strict=True)
            ]
            assert sets.sure == [list(map(int, column)) for column in zip(*sure, strict=True)]
    assert len(exact_pairs) > 500


def test_signs_of_exact_zeros_and_of_cancellations_are_exact() -> None:
    rng = np.random.default_rng(4)
    for _ in range(200):
        d = int(rng.integers(1, 5))
        half = rng.integers(-3, 4, (3, d)) * 2.0 ** rng.integers(-300, 300, (3, d))
        tail = rng.choice([0.0, 2.0**-1000, -(2.0**-1000)], (3, 1))
        X = np.hstack([half, half, np.ones((3, 1))])
        w = rng.integers(-3, 4, (2, d)) * 2.0 ** rng.integers(-300, 300, (2, d))
        W = np.hstack([w, -w, tail[:2]])
        claim = gmc.claim(
            "relu-interpolation", loss_upper=Fraction(1), mu=Fraction(1), R=Fraction(1)
        )
        witness = {"W_hat": W, "T": np.array([0]), "dropped": np.zeros((0, 2), int), "C": np.eye(3)}
        problem, claims = read_certificate(
            gmc.build(X, np.zeros(3), W, np.ones(2), [(claim, witness)], activation="relu"), None
        )
        with precision(128):
            pattern = active(problem.X.rows(), claims[0].content.W_hat, exact_checks())
        assert pattern == [[int(tail[0, 0] > 0), int(tail[1, 0] > 0)]] * 3
