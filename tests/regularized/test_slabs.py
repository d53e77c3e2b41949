"""Free hidden biases in any number of columns: the bounds of the slabs hold and are tight, and the
checker accepts what is made of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from globalmin._types import Array
from globalmin.proving.producer import prove
from globalmin.regularized.claims.slab_gap import slab_matrix
from globalmin.regularized.full_run import estimate_largest_decay, train_relu
from globalmin.regularized.objective import Penalty, RegularizedProblem
from globalmin.regularized.slabs import _largest, slab_proof


def _largest_sum(X: Array, u: Array, W: Array) -> float:
    """max over the kinks of the rows of sum_i u_i relu(w.x_i + beta), for unit w."""
    t = X @ (W / np.linalg.norm(W, axis=1)[:, None]).T
    return max(float((u @ np.maximum(t - t[k], 0.0)).max()) for k in range(len(X)))


@pytest.mark.parametrize("seed", range(4))
def test_bounds_are_above_every_sum_and_tight_in_one_column(seed: int) -> None:
    """One column: w = 1, -1 and the kinks are everything, and 24 slabs come within 5 %."""
    rng = np.random.default_rng(seed)
    X, u = rng.standard_normal((15, 1)), rng.standard_normal(15)
    u -= u.mean()
    H = max(_largest_sum(X, sign * u, np.array([[1.0], [-1.0]])) for sign in (1, -1))
    bound = slab_proof(X, u, max_slabs=24).bound
    assert H <= bound <= 1.05 * H


def test_the_multiplier_of_an_inequality_is_positive() -> None:
    """On the ball c w - w^2 has the maximum c^2/4 inside, above every value on the sphere."""
    value, gamma, _ = _largest(-np.eye(2), np.array([0.1, 0.0]))
    assert gamma > 0
    assert 0.1**2 / 4 <= value <= 0.1**2 / 4 + 1e-8


@pytest.mark.parametrize("seed", range(6))
def test_bounds_of_each_sign_hold_in_several_columns(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((20, 4)) * 10 ** rng.uniform(-1, 1, 4)
    X[3], X[4] = X[2], X.mean(axis=0)
    u = rng.standard_normal(20)
    u -= u.mean()
    proof = slab_proof(X, u, max_slabs=5)
    W = rng.standard_normal((3000, 4))
    for place, sign in enumerate((1.0, -1.0)):
        top = max(slab.bounds[place] for slab in proof.slabs)
        assert _largest_sum(X, sign * u, W) <= top * (1 + 1e-12)
    # the slabs are those of the theorem, end to end over every kink
    reach = np.linalg.norm(X - proof.center, axis=1).max()
    assert proof.slabs[0].low <= -reach
    assert proof.slabs[-1].high >= reach
    assert all(a.high == b.low for a, b in zip(proof.slabs, proof.slabs[1:], strict=False))


def test_the_matrix_of_a_slab_is_its_bound() -> None:
    """At b just above the bound of a slab the matrix is positive definite, just below it is not:
    the form at (w, beta, 1) is b minus the quadratic bound.
    """
    rng = np.random.default_rng(7)
    X, u = rng.standard_normal((12, 3)), rng.standard_normal(12)
    u -= u.mean()
    proof = slab_proof(X, u, max_slabs=4)
    for slab in proof.slabs:
        for place, sign in enumerate((1.0, -1.0)):
            bound, size = slab.bounds[place], abs(slab.bounds[place])
            for factor, is_definite in ((1e-6, True), (-1e-3, False)):
                M = slab_matrix(X - proof.center, bound + factor * size, sign * u, slab, place)
                assert (np.linalg.eigvalsh(M)[0] > 0) == is_definite


@pytest.mark.parametrize(
    ("loss", "penalty"),
    [
        ("squared", {}),
        ("logistic", {}),
        ("squared", {"intercept": "none"}),
        ("huber", {"intercept": 2.0}),
        ("squared", {"linear": "free"}),
        ("squared", {"linear": 0.5}),
    ],
)
def test_eight_columns_with_free_biases_are_accepted(loss: str, penalty: dict[str, Any]) -> None:
    """At half the largest decay: within a tenth of the objective; there was no floor before. With a
    linear part within a fifth: the neurons then answer to noise in eight dimensions, where the
    quadratic bound of H is 1.33 to 1.36 times H, with 16 slabs as with 64, with four times the
    steps of play and with seven kappas, while a floor at H itself would be within .2 %. So it is
    the bound for this u, and neither training nor the number of slabs.
    """
    rng = np.random.default_rng(3)
    X = rng.standard_normal((60, 8))
    y = np.maximum(X[:, 0], 0.0) - 0.5 * X[:, 1] + 0.3 * rng.standard_normal(60)
    y = np.where(y > np.median(y), 1.0, -1.0) if loss == "logistic" else y - y.mean()

    def problem(b: float) -> RegularizedProblem:
        rules = Penalty(b, hidden_bias="free", **penalty)
        return RegularizedProblem(X, y, rules, loss, groups="all")

    chosen = problem(0.5 * estimate_largest_decay(problem(1.0)))
    run = train_relu(chosen, starts=1)
    assert run.bound is not None
    assert run.bound.constraint == "slabs"
    proof = prove(run.network, chosen, run=run)
    assert proof.verdict == "ACCEPTED", proof.why
    numbers = proof.accepted_claims[0].numbers
    assert numbers.gap is not None
    share = 0.2 if "linear" in penalty else 0.1
    assert numbers.gap <= share * run.objective
