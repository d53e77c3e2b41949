"""The quick search for neurons of two columns, the rounds that trust it no more than a proof, and
the rough paths on which a decay is chosen.
"""

from dataclasses import replace

import numpy as np
import pytest

import globalmin as gm
from globalmin.regularized.column_generation import QuickOracle, rounds
from globalmin.regularized.objective import Penalty, RegularizedProblem
from globalmin.regularized.pair_ascents import (
    _DIRECTIONS,
    _NEAR,
    _moments,
    _scan,
    ascend,
    cells_of,
    tops,
)
from globalmin.regularized.pairs import TOLERANCES, PairOracle, QuickPairs, tolerance_for
from globalmin.regularized.train import (
    _coarse,
    decay_path,
    largest_decay,
    oracle_for,
    rough_path,
)


def test_directions_are_spread_over_the_sphere():
    np.testing.assert_allclose(np.linalg.norm(_DIRECTIONS, axis=1), 1.0, rtol=1e-12)
    cosines = _DIRECTIONS @ _DIRECTIONS.T - 2 * np.eye(len(_DIRECTIONS))
    # caps around 512 even points: as wide as 4 pi / 512 asks for, within a factor of 1.6
    spacing = np.sqrt(4 * np.pi / len(_DIRECTIONS))
    nearest = np.arccos(cosines.max(axis=1))
    assert nearest.min() > spacing / 1.6
    assert nearest.max() < spacing * 1.6
    for a in (0, 100, 511):  # the neighbors are the nearest others
        assert set(_NEAR[a]) == set(np.argsort(-cosines[a])[: _NEAR.shape[1]])


def test_few_rows_are_their_own_cells_and_many_fall_together():
    rng = np.random.default_rng(0)
    few = np.c_[rng.standard_normal((40, 2)), np.ones(40)]
    place, middle = cells_of(few)
    np.testing.assert_array_equal(middle[place], few)
    many = np.c_[rng.standard_normal((5_000, 2)), np.ones(5_000)]
    place, middle = cells_of(many)
    assert len(middle) <= 16 * 16
    for cell in (0, 17, len(middle) - 1):
        np.testing.assert_allclose(middle[cell], many[place == cell].mean(axis=0), rtol=1e-12)
    assert np.bincount(many[:, 0].argsort().argsort() * 16 // 5_000).max() <= 313
    # neighbors: no cell is as wide as a quarter of the rows, but those at the ends
    widths = np.array([np.ptp(many[place == cell, 0]) for cell in range(len(middle))])
    assert np.median(widths) < 0.5


def test_the_scan_is_the_sum_where_rows_are_cells():
    rng = np.random.default_rng(1)
    Z, u = np.c_[rng.standard_normal((30, 2)), np.ones(30)], rng.standard_normal(30)
    values = np.empty(len(_DIRECTIONS))
    _scan(Z, u[:, None] * Z, _DIRECTIONS, values)
    np.testing.assert_allclose(values, np.maximum(_DIRECTIONS @ Z.T, 0.0) @ u, atol=1e-12)


def test_moments_of_cells_are_the_sums_of_their_rows():
    rng = np.random.default_rng(2)
    Z, u = np.c_[rng.standard_normal((600, 2)), np.ones(600)], rng.standard_normal(600)
    place, middle = cells_of(Z)
    moments = np.zeros_like(middle)
    _moments(Z, u, place, moments)
    for cell in range(len(middle)):
        here = place == cell
        np.testing.assert_allclose(moments[cell], u[here] @ Z[here], atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("scale", [(1.0, 1.0), (100.0, 0.01)])
def test_tops_lead_near_the_best_of_many_directions(seed: int, scale: tuple[float, float]):
    """An ascent from the tops is as high as 20,000 samples, columns of any size."""
    rng = np.random.default_rng(seed)
    Z = np.c_[rng.standard_normal((2_000, 2)) * scale, np.ones(2_000)]
    u = rng.standard_normal(2_000)
    W = tops(Z, u, cells_of(Z), 12)
    assert 1 <= len(W) <= 12
    sampled = rng.standard_normal((20_000, 3)) / np.array([*scale, 1.0])
    sampled /= np.linalg.norm(sampled, axis=1)[:, None]
    best = np.abs(np.maximum(sampled @ Z.T, 0.0) @ u).max()
    values = np.empty(len(W))
    ascend(Z, u, W, values, 1e-6)
    np.testing.assert_allclose(np.maximum(W @ Z.T, 0.0) @ u, values, rtol=1e-9)
    assert np.abs(values).max() >= best * (1 - 1e-3)  # what 20,000 samples miss is of this size


def test_what_a_search_leaves_open_is_a_part_of_the_gap_asked_for():
    most, least = TOLERANCES
    assert tolerance_for(1.0) == most
    assert tolerance_for(1e-12) == least
    assert tolerance_for(1e-6) == 1.25e-7
    problem = RegularizedProblem(np.eye(3), [0.0, 1.0, 2.0], Penalty(1.0), groups="pairs")
    assert oracle_for(problem, 1e-5).tolerance == 1.25e-6
    assert oracle_for(problem).tolerance == 1.25e-7
    assert oracle_for(problem).finest == 0.1 * 1.25e-7**0.5


class _Loop:
    """Rounds with given bounds and estimates."""

    def __init__(self, steps: list[tuple[float, float]]) -> None:
        self.steps, self.gap, self.grown = iter(steps), np.inf, 0

    def round(self) -> float:
        bound, self.gap = next(self.steps)
        return bound

    def grow(self) -> None:
        self.grown += 1


def test_estimates_that_were_too_small_do_not_end_the_rounds():
    """An estimate of 1e-9 that turns out to be 1e-3 must not be what progress is measured by."""
    hopeful = [(np.inf, 1e-9), (1e-3, 1e-3)]
    slow = [(np.inf, 1e-3 * 0.8**k) for k in range(1, 20)]
    assert rounds(_Loop([*hopeful, *slow, (1e-6, 1e-6)]), 1e-5, 300, 4) == 22
    # without progress of a tenth they do end
    same = [(1e-3, 1e-3)] * 50
    assert rounds(_Loop(same), 1e-5, 300, 4) == 5
    creeping = [(0.97**k, 0.97**k) for k in range(300)]
    assert rounds(_Loop(creeping), 1e-5, 200, 5) == 200  # .97^4 < .9 < .97^3
    assert rounds(_Loop(creeping), 1e-5, 200, 4) == 5


def test_tiny_tables_reach_the_gap_asked_for():
    """Ended at 1.1e-5: a search that left 2^-20 open, and patience that trusted an estimate."""
    X = np.random.default_rng(0).standard_normal((50, 3))
    y = (X[:, 0] - X[:, 0].mean()) / X[:, 0].std()
    problem = RegularizedProblem(X, y, Penalty(0.0328369140625), groups="pairs")
    run = gm.train_regularized(problem, gap=5e-7)
    assert run.relative_gap <= 5e-7
    proof = gm.prove(run.network, problem, run=run)
    assert proof.verdict == "ACCEPTED", proof.why
    assert proof.gap <= 1e-6 * proof.loss_upper


def _interacting(n: int) -> RegularizedProblem:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, 3))
    y = np.maximum(X[:, 0] + X[:, 1], 0.0) + 0.3 * X[:, 2] + 0.1 * rng.standard_normal(n)
    return RegularizedProblem(X, y - y.mean(), Penalty(1.0), groups="pairs")


def test_rough_paths_predict_as_exact_ones():
    """At a gap of 1e-3 the outputs differ by sqrt(2 gap P) in norm at most, on the rows."""
    problem = _interacting(200)
    decays = [float(b) for b in largest_decay(problem) * np.geomspace(1.0, 0.05, 4)]
    rough = list(rough_path(problem, decays))
    exact = list(decay_path(problem, decays, gap=1e-6))
    for one, other in zip(rough, exact, strict=True):
        np.testing.assert_array_equal(one.problem.X, problem.X)  # few rows are not binned
        apart = one.network.predict(problem.X) - other.network.predict(problem.X)
        assert apart @ apart <= 2 * 1.1e-3 * other.training.objective
        assert other.training.objective <= one.training.objective * (1 + 1e-6)
    assert not isinstance(QuickPairs(PairOracle.of(problem.X, [(0, 1)])), QuickOracle)
    columns = replace(problem, groups="columns")
    plain, same = decay_path(columns, decays[1:3]), rough_path(columns, decays[1:3])
    for one, other in zip(plain, same, strict=True):
        assert one.training.objective == other.training.objective


def test_many_rows_are_binned_on_rough_paths_and_for_the_start_only():
    problem = _interacting(700)
    rough = _coarse(problem)
    assert [np.unique(column).size for column in rough.X.T] == [16] * 3
    np.testing.assert_array_equal(next(iter(rough_path(problem, [30.0]))).problem.X, rough.X)
    run = gm.train_regularized(replace(problem, penalty=Penalty(8.0)), gap=1e-4)
    np.testing.assert_array_equal(run.problem.X, problem.X)
    assert run.relative_gap <= 1e-4
    assert isinstance(oracle_for(problem), PairOracle)


def test_the_decay_of_pairs_is_chosen_by_cross_validation():
    problem = _interacting(120)
    model = gm.AdditiveNetworkRegressor(interactions="pairs", gap=1e-4, cv=3, n_decays=6)
    model.fit(problem.X, problem.y)
    assert model.verdict_ == "ACCEPTED"
    assert model.optimal_
    means = model.cv_losses_.mean(axis=1)
    assert model.weight_decay_ == model.weight_decays_[means.argmin()]
    assert means.min() < 0.2 * means[0]
