"""Files that an earlier checker got wrong: accepted though false, or read with memory or time that
they do not deserve.

relu-descent: the sets PA and S once depended on the precision, while an outcome, once proved, was
kept. A pair whose margin is 2^-200 from a tie was undecided at 128 bits (H_mid smaller) and decided
at 256 (E = 0); a vector e of extreme ratio postponed V9.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from tests.oracles import gmc_builder as gmc

HAIR = Fraction(1, 2**200)


def _inner(a: list[float], b: list[float]) -> Fraction:
    return sum((Fraction(p) * Fraction(q) for p, q in zip(a, b, strict=True)), Fraction(0))


def postponed_path(share: Fraction) -> tuple[bytes, dict[str, Fraction]]:
    """A ReLU network on two orthogonal samples, claimed with H_mid of the coarse sets; lam is this
    share of its least entry.

    Gradient descent from it diverges for a share of 9/10 and dies with a residual of 0.469 for 1/2.
    """
    tiny, a = 2.0**-100, 0.70703125
    X = [[1.0, tiny, 1.0, tiny], [a, a * tiny, -a, -a * tiny]]
    w = [1.0, 0.0, -0.5, 0.0]
    K = [_inner(x, x) for x in X]
    z = [_inner(w, x) for x in X]
    tau = z[0] / K[0] * (1 - HAIR)
    coarse = [K[0] / 2, K[1]]
    Lam, lam, eps = max(coarse) * (1 + Fraction(1, 2**60)), min(coarse) * share, Fraction(1, 2**100)
    eta = 2 / (lam + Lam)
    fields = {
        "tau": tau,
        "lam": lam,
        "Lam": Lam,
        "eps": eps,
        "eta": eta,
        "rate": 1 - eta * (lam - eps),
        "path": Fraction(2),
    }
    y = [float(z[0] - (lam - eps) * tau / 4), float(z[1])]
    claim = gmc.claim("relu-descent", loss_upper=Fraction(1), norm="rows", **fields)
    C = np.diag([float(1 / (h - lam)) ** 0.5 for h in coarse])
    tensors = {"e": np.array([1e-300, 1e300]), "C": C}
    return gmc.build(
        np.array(X), np.array(y), np.array([w]), np.ones(1), [(claim, tensors)], activation="relu"
    ), fields


def false_rate() -> bytes:
    """One sample, two neurons: the claimed rate 1/2 is too small by about 1e-39, without any
    extreme number.
    """
    v, z = (1.25, 1.0000000000000002 * 1.1), (8.0, 0.75)
    stable, tied = (Fraction(entry) ** 2 for entry in v)
    half = tied / 2
    theta = Fraction(1, 2**130)
    eps = half * (1 - theta)
    eta = Fraction(3, 2) * (1 + half * theta / (stable + tied) / 2) / (stable + tied)
    lam = eps + 1 / (2 * eta)
    tau = Fraction(z[1]) / Fraction(v[1]) * (1 - HAIR)
    y = float(sum(Fraction(a) * Fraction(b) for a, b in zip(v, z, strict=True)) - Fraction(1, 4))
    fields = {
        "tau": tau,
        "lam": lam,
        "Lam": stable + half,
        "eps": eps,
        "eta": eta,
        "rate": Fraction(1, 2),
        "path": Fraction(3),
    }
    claim = gmc.claim("relu-descent", loss_upper=Fraction(1), norm="rows", **fields)
    tensors = {"e": np.array([4 / 3]), "C": np.array([[float(1 / (stable + tied - lam)) ** 0.5]])}
    W = np.array(z).reshape(2, 1)
    return gmc.build(
        np.ones((1, 1)), np.array([y]), W, np.array(v), [(claim, tensors)], activation="relu"
    )


def many_samples_not_stored(n: int) -> bytes:
    """A file of 1 kB about n samples that it does not hold: reading its form once took memory
    proportional to n.
    """
    claim = gmc.claim("relu-interpolation", loss_upper=Fraction(1), mu=Fraction(1), R=Fraction(1))
    data = {"bias": False, "d": 1, "n": n, "sha256": "0" * 64, "stored": False}
    network = {"activation": "relu", "kind": "shallow"}
    certificate = {
        "claims": [claim],
        "data": data,
        "loss": "half-sum-of-squares",
        "network": network,
        "producer": "tests",
    }
    one = np.ones((1, 1))
    witness = {"W_hat": one, "T": np.array([0]), "dropped": np.zeros((0, 2), int), "C": one}
    return gmc.pack(
        certificate,
        {"W": one, "v": np.ones(1)}
        | {f"claims.0.{role}": array for role, array in witness.items()},
    )


def previous_bugs_rejected() -> dict[str, tuple[bytes, str]]:
    """Files that must be refused, with the check that refuses them."""
    return {
        "previous_bug_01_relu_descent_diverges": (postponed_path(Fraction(9, 10))[0], "V10"),
        "previous_bug_02_relu_descent_rate_false_by_1e-39": (false_rate(), "V10"),
        "previous_bug_03_relu_descent_neuron_dies": (postponed_path(Fraction(1, 2))[0], "V10"),
    }


def previous_bugs_malformed() -> dict[str, bytes]:
    """Files that are refused for their form."""
    return {"previous_bug_04_more_samples_than_any_file_holds": many_samples_not_stored(10**17)}
