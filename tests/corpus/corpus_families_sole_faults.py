"""Files of rejected/ about the families' claims, each built so that exactly one check of its claim
fails.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
from tests.checker import deep_cases as deep
from tests.checker import gram_cases as gram
from tests.checker import surroundings_cases as ball
from tests.checker import trap_cases as trap
from tests.checker.cases import build
from tests.corpus import corpus_families_accepted as a
from tests.corpus.whole_files import opened, put

Faults = dict[str, tuple[bytes, str]]


def _gram_without_a_bound() -> bytes:
    """One sample of length 1: the matrix is 1/2, and the witness of lam = 1/10 serves lam = 0 as
    well.
    """
    X = np.array([[1.0, 0.0]])
    file = opened(gram.build("relu", X, [gram.claim("relu", X, slack=0.2)]))
    put(lam=0)(file)
    return file.sealed()


def _deep_beyond_the_singular_value() -> bytes:
    """A radius with a < Lam t < 2a: the residual is small enough, the path is not controlled."""
    net = deep.gauss_newton(deep.random_deep(2, kind="dense", n=2, m=3), 8)
    omega = [float(np.linalg.norm(W, 2)) * 1.0005 for W in net.weights]
    singular, t = float(np.linalg.svd(net.jacobian(), compute_uv=False)[-1]), 1e-9
    while net.lipschitz(omega, t) * t < 1.1 * singular:
        t *= 1.2
    return deep.build(net, [deep.claim(net, t=t)])


class _Steep(deep.Deep):
    """Quadratic layers have no bounded slope; a made-up constant stands for the Lipschitz constant
    that does not exist.
    """

    def lipschitz(self, omega: list[float], t: float) -> float:
        return 1e3


def _deep_with_an_unbounded_slope() -> bytes:
    """Everything that is computed from the stored numbers holds; only the theorem does not cover
    the activation.
    """
    net = deep.random_deep(1, kind="dense", n=2, m=3, activation="quadratic")
    return deep.build(net := _Steep(**vars(deep.gauss_newton(net, 12))), [deep.claim(net)])


def _deep_with_negative_norms() -> bytes:
    file = opened(a.deep_file("dense"))
    file.tensors["claims.0.omega"] *= -1
    return file.sealed()


def _filters() -> Faults:
    """Starts on the wrong side of the wall, and where the two filters are opposite although the
    head is right.
    """
    near, start = trap.near_trap(2, 0.2, p=2), trap.near_teacher(2, 0.2, p=2)
    wrong = replace(trap.near_teacher(5, 4.0, p=2), v=np.zeros(2)).trap()
    low = Fraction(1, 10**6)
    above = replace(start, a=5 * start.a)
    return {
        "trap_near_the_teacher": (trap.build(start, trap.claim(start, step=None, floor=low)), "T2"),
        "basin_near_the_trap": (
            trap.build(near, trap.claim(near, "global-basin", step=None)),
            "T2",
        ),
        "basin_of_the_flow_above_the_barrier": (
            trap.build(above, trap.claim(above, "global-basin", step=None)),
            "T3",
        ),
        "basin_at_the_opposite_filter": (
            trap.build(wrong, trap.claim(wrong, "global-basin", step=None)),
            "T8",
        ),
        "basin_without_a_filter": (_no_filter(wrong), "T1a"),
    }


def _no_filter(start: trap.Start) -> bytes:
    file = opened(trap.build(start, trap.claim(start, "global-basin", step=None)))
    file.tensors["filter"] *= 0.0
    put(loss_upper=1000)(file)
    return file.sealed()


def _factorization_without_a_bound() -> bytes:
    """a = 0 with the witness that serves it, a generous gap and no floor."""
    file = opened(a.factorization_file("frobenius"))
    file.tensors["claims.0.C_a"] /= 1000**0.5
    put(a=0, gap=1000, floor=0)(file)
    return file.sealed()


def _ball_beyond_convexity() -> bytes:
    """A ball on which the Hessian may turn: Lam R > mu, everything else holds."""
    net, R = ball.near_a_minimum("tanh", "W"), 1e-4
    mu = float(np.linalg.eigvalsh(ball.hessian(net))[0])
    while ball.constants(net, R)[0] * R < 1.1 * mu:
        R *= 1.3
    return build(net, [ball.surroundings_claim(net, R, minimum=True)])


def family_sole_faults() -> Faults:
    """File name without ending -> bytes and the number of the check."""
    return _filters() | {
        "gram_lam_zero_with_a_witness": (_gram_without_a_bound(), "G2a"),
        "deep_beyond_the_singular_value": (_deep_beyond_the_singular_value(), "N4"),
        "deep_quadratic_layers": (_deep_with_an_unbounded_slope(), "N1"),
        "deep_norms_negative": (_deep_with_negative_norms(), "N2g"),
        "factorization_a_zero_with_a_witness": (_factorization_without_a_bound(), "F3a"),
        "second_order_radius_beyond_convexity": (_ball_beyond_convexity(), "T11d"),
    }
