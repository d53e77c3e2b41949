"""Floors of fully connected networks: feasibility, the search over cones against the exact maximum,
certificates that the checker accepts, and floors below brute-force minima.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from globalmin._types import Array
from globalmin.proving.producer import check, prove
from globalmin.regularized import full_dual
from globalmin.regularized.claims.subject import RegularizedCertificate
from globalmin.regularized.cone_search import search_cones
from globalmin.regularized.design import Design
from globalmin.regularized.full_run import FullRun, estimate_largest_decay, train_relu
from globalmin.regularized.full_training import train_full
from globalmin.regularized.objective import Penalty, RegularizedProblem, objective


def _problem(
    seed: int, b: float, loss: str = "squared", n: int = 25, d: int = 2, **penalty: Any
) -> RegularizedProblem:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.maximum(X[:, 0], 0.0) - 0.5 * X[:, -1] + 0.2 * rng.standard_normal(n)
    if loss in ("logistic", "hinge", "squared_hinge"):
        y = np.where(y > np.median(y), 1.0, -1.0)
    if loss == "poisson":
        y = rng.poisson(np.exp(y)).astype(float)
    return RegularizedProblem(X, y, Penalty(b, **penalty), loss, groups="all")


def _largest_on_circle(rows: Array, u: Array) -> float:
    """max over |w| = 1 of sum u_i relu(x_i.w), on a fine grid plus the directions of every arc."""
    angles = np.linspace(0.0, 2 * np.pi, 100_001)
    W = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    s = ((rows @ W[::50].T > 0) * u[:, None]).T @ rows
    W = np.vstack([W, s / np.maximum(np.linalg.norm(s, axis=1), 1e-300)[:, None]])
    return float((u @ np.maximum(rows @ W.T, 0.0)).max())


@pytest.mark.parametrize("seed", range(6))
def test_cones_close_above_the_maximum_and_not_below_it(seed: int) -> None:
    """Two dimensions, where the maximum is known."""
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.standard_normal(12), np.ones(12)])
    u = rng.standard_normal(12)
    top = max(_largest_on_circle(rows, u), _largest_on_circle(rows, -u))
    assert search_cones(rows, u, 1.001 * top, max_cones=5000).is_closed
    assert not search_cones(rows, u, 0.999 * top, max_cones=5000).is_closed


@pytest.mark.parametrize("loss", ["squared", "huber", "quantile", "logistic", "hinge", "poisson"])
@pytest.mark.parametrize("linear", ["none", "free", 0.5])
def test_feasible_vectors_satisfy_domain_and_equations(loss: str, linear: Any) -> None:
    problem = _problem(1, 2.0, loss, linear=linear)
    design = Design.of(problem)
    f = 0.1 * np.random.default_rng(0).standard_normal(25)
    u = full_dual.feasible(design, design.loss_terms(f)[1])
    assert u is not None
    assert np.isfinite(problem.loss.conjugate(u, problem.y)).all()
    A = full_dual.free_columns(design)
    assert np.abs(A.T @ u).max() <= 1e-10 * np.abs(u).max() * np.abs(A).sum()


def _is_accepted(problem: RegularizedProblem, run: FullRun) -> float:
    proof = prove(run.network, problem, run=run)
    assert proof.verdict == "ACCEPTED", proof.why
    numbers = proof.accepted_claims[0].numbers
    assert numbers.gap is not None
    # rounding of the file costs little against the floats of training
    assert numbers.gap <= run.gap + 1e-6 * abs(run.objective)
    return numbers.gap


@pytest.mark.parametrize("loss", ["squared", "huber", "logistic", "squared_hinge", "poisson"])
def test_spectral_certificates_are_accepted(loss: str) -> None:
    problem = _problem(2, 6.0, loss, n=40, d=3)
    run = train_relu(problem, starts=1, max_cones=0)
    assert run.bound is not None
    assert run.bound.constraint == "spectral"
    _is_accepted(problem, run)


@pytest.mark.parametrize(
    "penalty",
    [
        {"hidden_bias": "none"},
        {"linear": "free"},
        {"linear": 2.0, "intercept": 3.0},
        {"intercept": "none", "tau": 2.0},
    ],
)
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_every_rule_of_biases_and_linear_parts_is_accepted(loss: str, penalty: Any) -> None:
    problem = _problem(3, 4.0, loss, n=30, d=2, **penalty)
    _is_accepted(problem, train_relu(problem, starts=1, max_cones=2000))


def test_free_hidden_biases_are_proved_by_cones_and_nearly_as_well_by_slabs() -> None:
    """Two columns, where both roads lead to a floor."""
    problem = _problem(4, 2.0, n=12, hidden_bias="free")
    run = train_relu(problem, starts=2, max_cones=20000, gap=1e-3)
    assert run.bound is not None
    assert run.bound.constraint == "cones"
    assert _is_accepted(problem, run) <= 0.02 * run.objective
    slabs = train_relu(problem, starts=2, max_cones=0)
    assert slabs.bound is not None
    assert slabs.bound.constraint == "slabs"
    assert slabs.bound.floor <= run.objective
    assert _is_accepted(problem, slabs) <= 0.1 * run.objective


@pytest.mark.filterwarnings("error")
def test_rows_of_one_class_are_proved_though_the_sums_of_u_vanish() -> None:
    """The infimum, 0, is approached by the intercept alone; heights of 1e-310 were divided by."""
    problem = replace(_problem(4, 1.0, "logistic", n=12, hidden_bias="free"), y=np.ones(12))
    run = train_relu(problem, starts=1, max_cones=2000)
    proof = prove(run.network, problem, run=run)
    assert proof.verdict == "ACCEPTED"
    assert 0.0 <= proof.gap <= 1e-9 * 12 * np.log(2.0)  # of the loss of the output 0


def test_gap_is_small_where_few_columns_let_the_cones_close() -> None:
    """Two columns at a fifth of the largest decay: within a thousandth."""
    problem = _problem(5, 1.0, n=40)
    b = 0.2 * estimate_largest_decay(problem)
    problem = replace(problem, penalty=replace(problem.penalty, weight_decay=b))
    run = train_relu(problem, gap=1e-3)
    assert _is_accepted(problem, run) <= 1e-3 * run.objective


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_floor_is_below_every_random_network_and_every_local_minimum(loss: str) -> None:
    problem = _problem(6, 3.0, loss, n=15)
    run = train_relu(problem, starts=1, max_cones=1500)
    assert run.bound is not None
    design, rng = Design.of(problem), np.random.default_rng(0)
    for _ in range(300):
        k = int(rng.integers(1, 5))
        scale = rng.choice([0.1, 0.5, 1.0])
        W, v = scale * rng.standard_normal((k, 3)), scale * rng.standard_normal(k)
        c = 0.3 * rng.standard_normal(1)
        assert objective(design.network(W, v, c), problem) >= run.bound.floor
    for seed in range(3):
        assert objective(train_full(problem, seed=seed), problem) >= run.bound.floor


@pytest.mark.parametrize("fault", ["gamma", "scale", "rho", "be", "sum", "floor"])
def test_planted_faults_are_not_accepted(fault: str, tmp_path: Path) -> None:
    """The checker decides; a producer that is wrong in any of these ways gets no acceptance."""
    from globalmin.regularized.claims import dual_gap

    problem = _problem(7, 5.0, n=30, d=3)
    run = train_relu(problem, starts=1, max_cones=0)
    claim = dual_gap.build_full(run.network, problem, run.bound)
    fields: dict[str, Any] = dict(claim.fields)
    tensors: dict[str, Any] = {name: np.array(value) for name, value in claim.tensors.items()}
    if fault == "gamma":
        fields["gamma_plus"] = str(Fraction(fields["gamma_plus"]) / 2)
    elif fault == "scale":
        tensors["u"] = 2.0 * tensors["u"]
    elif fault == "rho":
        tensors["rho"] = 0.5 * tensors["rho"]
    elif fault == "be":
        tensors["be"] = tensors["be"] + 0.6
    elif fault == "sum":
        tensors["u"][0] += 1e-9
    else:
        fields["p_low"] = str(Fraction(fields["p_low"]) + 1)
        fields["gap"] = str(Fraction(fields["gap"]) - 1)
    wrong = replace(claim, fields=fields, tensors=tensors)
    path = RegularizedCertificate((wrong,), run.network, problem).save(tmp_path / "wrong.gmc")
    assert check(path).verdict != "ACCEPTED"
