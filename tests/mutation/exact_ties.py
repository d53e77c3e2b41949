"""Ties in closed form, where the slow checker compares exact rationals and leaves no enclosure
behind.

Each function returns the field and the value at which one check has no room, computed from the
stored numbers alone.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from tests.corpus.whole_files import Whole
from tests.mutation.oracle_margins import Tie, rational, square_root
from tests.oracles import fraction_factorization_claims as f
from tests.oracles import fraction_patch_claims as patches
from tests.oracles.fraction_network import Network, dot
from tests.oracles.fraction_quadratic_claims import outer_sum, quadratic_form
from tests.oracles.fraction_relu_descent import bracket, bracket_of
from tests.oracles.fraction_relu_linearized import patterns_of
from tests.oracles.strict_container import read

Matrix = list[list[Fraction]]


def exact(array: np.ndarray) -> Matrix:
    """A stored matrix as rationals."""
    return [[Fraction(float(x)) for x in row] for row in array]


def _vector(array: np.ndarray) -> list[Fraction]:
    return [Fraction(float(x)) for x in array]


def dual_gap(file: Whole) -> Tie | None:
    """O5: the penalized loss minus the dual value."""
    if file.claim["method"] == "span":
        return None
    X, W = exact(file.tensors["X"]), exact(file.tensors["W"])
    y, v = _vector(file.tensors["y"]), _vector(file.tensors["v"])
    u = _vector(
        file.tensors["claims.0." + ("lambda" if file.claim["method"] == "positive" else "u")]
    )
    B = outer_sum(W, v)
    r = [quadratic_form(B, x) - label for x, label in zip(X, y, strict=True)]
    decay = rational(file, "decay") if "decay" in file.claim else Fraction(0)
    objective = (dot(r, r) + decay * sum((w * w for row in W for w in row), Fraction(0))) / 2
    return _above("gap", objective + dot(u, y) + dot(u, u) / 2)


def _above(path: str, value: Fraction) -> Tie | None:
    return Tie(path, value, 1) if value > 0 else None


def _turned(file: Whole) -> tuple[Matrix, Matrix, Matrix]:
    """M, S, P of theorem EY on the claimed side."""
    M, U, V = (exact(file.tensors[name]) for name in "MUV")
    return (f.transpose(M), U, V) if file.claim.get("side") == "left" else (M, V, U)


def factor_loss(file: Whole) -> Tie | None:
    """F2: the loss of the factors."""
    M, S, P = _turned(file)
    return _above("loss_upper", f.square(f.minus(f.product(P, f.transpose(S)), M)) / 2)


def _outside(file: Whole) -> tuple[Matrix, Matrix]:
    """M (I - Q) and Q."""
    M, S, _ = _turned(file)
    inverse = f.inverse(f.product(f.transpose(S), S)) or []
    Q = f.product(f.product(S, inverse), f.transpose(S))
    return f.product(M, f.minus(f.scaled_identity(len(S), Fraction(1)), Q)), Q


def outside_norm(file: Whole) -> Tie | None:
    """F5: the squared Frobenius norm of M (I - Q)."""
    return _above("b", f.square(_outside(file)[0])) if file.claim["method"] == "frobenius" else None


def excess(file: Whole) -> Fraction:
    """The bound of theorem EY for the loss minus the best loss of this rank."""
    M, S, P = _turned(file)
    if file.claim["method"] == "zero":
        return f.square(f.minus(f.product(P, f.transpose(S)), M)) / 2
    a, b, tau = (rational(file, name) for name in ("a", "b", "tau"))
    B, Q = _outside(file)
    inside = f.square(f.product(f.minus(f.product(P, f.transpose(S)), M), Q))
    leak = f.square(f.product(f.product(f.transpose(B), M), Q))
    return (inside + leak / (tau - b) + len(S[0]) * max(tau - a, Fraction(0))) / 2


def factor_gap(file: Whole) -> Tie | None:
    """F7."""
    return _above("gap", excess(file))


def factor_floor(file: Whole) -> Tie | None:
    """F8."""
    loss = factor_loss(file)
    value = loss.value - excess(file) if loss else Fraction(0)
    return Tie("floor", value, -1) if value > 0 and file.claim["method"] != "zero" else None


def cell_margin(file: Whole) -> Tie | None:
    """R6: the least mu at which every pair of the cell keeps its side."""
    certificate = read(file.sealed())
    claim, X, v = certificate.claims[0], certificate.X, certificate.v
    gone = set(claim.tensors["dropped"].integers()[0::2])
    kept = [i for i in range(len(X)) if i not in gone]
    W_hat = claim.tensors["W_hat"].rows()
    everything = Network(certificate, 64).exact_residual(W_hat) or []
    r2 = sum((everything[i] ** 2 for i in kept), Fraction(0))
    needed = Fraction(0)
    for level in claim.tensors["T"].integers():
        z = {i: dot(W_hat[level], X[i]) for i in kept}
        for i in kept:
            if z[i] == 0:
                return None
            reach = sum((dot(X[i], X[j]) ** 2 for j in kept if z[j] > 0), Fraction(0))
            plain, refined = (
                dot(X[i], X[i]) * r2 / z[i] ** 2,
                square_root(v[level] ** 2 * reach * r2 / z[i] ** 2),
            )
            needed = max(needed, min(plain, refined))
    return _above("mu", needed)


def _patch_cell(file: Whole) -> patches.Cell:
    found = patches.read_patches(file.sealed())
    return patches.Cell(found, found.claims[0])


def patch_loss(file: Whole) -> Tie | None:
    """Q4: the loss of the stored filters."""
    found = _patch_cell(file).file
    r = found.residual(found.filters)
    return _above("loss_upper", dot(r, r) / 2)


def patch_radius(file: Whole) -> Tie | None:
    """Q5: the distance of the witness and the step from it."""
    cell, mu = _patch_cell(file), rational(file, "mu")
    distance = square_root(patches.distance2(cell.hat, cell.file.filters))
    return _above("R", distance + square_root(cell.square / mu))


def patch_margin(file: Whole) -> Tie | None:
    """Q6: the least mu at which every patch keeps its side of every filter that moves."""
    cell, needed = _patch_cell(file), Fraction(0)
    for j in cell.moving:
        slopes = [cell.slope(i, j) for i in cell.solved]
        for sample in cell.file.patches:
            for head, z in zip(cell.file.heads[j], sample, strict=True):
                product = dot(cell.hat[j], z)
                if head == 0 or not any(z):
                    continue
                if product == 0:
                    return None
                share = cell.square / product**2
                reach = sum((dot(z, b) ** 2 for b in slopes), Fraction(0))
                needed = max(needed, min(dot(z, z) * share, square_root(reach * share)))
    return _above("mu", needed)


def relu_residual(file: Whole) -> Tie | None:
    """V8: lam at which the residual is just (lam - eps) tau."""
    certificate = read(file.sealed())
    r = Network(certificate, 64).exact_residual(certificate.W) or []
    return _above("lam", rational(file, "eps") + square_root(dot(r, r)) / rational(file, "tau"))


def _bracket(file: Whole) -> tuple[Matrix, Matrix]:
    """H_mid and E of theorem RD, or of theorem RL where the file names the pairs."""
    certificate = read(file.sealed())
    net, tensors = Network(certificate, 64), certificate.claims[0].tensors
    if "U" in tensors:
        return bracket_of(net, *patterns_of(net, set(tensors["U"].integers())))
    return bracket(net, rational(file, "tau"))


def relu_spread(file: Whole) -> Tie | None:
    """V9, L9: the largest (E e)_i/e_i."""
    E = _bracket(file)[1]
    e = read(file.sealed()).claims[0].tensors["e"].numbers()
    return _above("eps", max(dot(row, e) / x for row, x in zip(E, e, strict=True)))


def relu_rows(file: Whole) -> Tie | None:
    """V10, L10 by rows: the largest absolute row sum of H_mid."""
    if file.claim["norm"] != "rows":
        return None
    middle = _bracket(file)[0]
    return _above("Lam", max(sum(map(abs, row), Fraction(0)) for row in middle))
