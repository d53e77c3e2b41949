"""Quadratic networks: samples that carry the population risk, networks that fit and disagree, small
decay, the runs of GKZ.
"""

from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest

from globalmin.data import Dataset
from globalmin.errors import CannotCertify, DataError, HypothesisError
from globalmin.proving.producer import certify, check
from globalmin.quadratic import ambiguity as quadratic_disagreement
from globalmin.quadratic import identifiability as quadratic_identifiability
from globalmin.quadratic import runs
from globalmin.quadratic import runs as quadratic_design
from globalmin.quadratic.barrier import barrier, exact_barrier_point, population_rate
from globalmin.quadratic.claims import below_barrier
from globalmin.quadratic.decay import smallest_provable_decay
from globalmin.quadratic.population_descent import compare_rates
from globalmin.quadratic.risk import population_gradient, population_risk, quadratic_outputs
from globalmin.quadratic.solve import solve_quadratic
from globalmin.shallow.network import ShallowNetwork


def gaussian_fourth_moment(indices):
    """E x_a x_b x_c x_d of independent standard normals, by Isserlis' formula."""
    a, b, c, d = indices
    return (a == b) * (c == d) + (a == c) * (b == d) + (a == d) * (b == c)


@pytest.mark.parametrize("d", [1, 2, 3, 4, 7])
def test_population_samples_have_the_fourth_moments_of_a_gaussian_exactly(d):
    """GKZ-R4: in fractions, every product of four coordinates, up to the common factor 1/2."""
    X = [
        [Fraction(entry) for entry in row]
        for row in quadratic_design.population_samples(d).tolist()
    ]
    for indices in combinations_with_replacement(range(d), 4):
        total = sum(
            row[indices[0]] * row[indices[1]] * row[indices[2]] * row[indices[3]] for row in X
        )
        assert total == Fraction(gaussian_fourth_moment(indices), 2)


@pytest.mark.parametrize("d", [1, 3, 11, 38])
def test_loss_on_the_population_samples_is_a_quarter_of_the_population_risk(d):
    """GKZ-R1: value and gradient at random networks."""
    rng = np.random.default_rng(d)
    X, W, Wstar = (
        quadratic_design.population_samples(d),
        rng.standard_normal((d + 1, d)),
        rng.standard_normal((d, d)),
    )
    r = quadratic_outputs(W, X) - quadratic_outputs(Wstar, X)
    assert 0.5 * r @ r == pytest.approx(
        quadratic_design.RISK_FACTOR * population_risk(W, Wstar), rel=1e-11
    )
    gradient = 2 * W @ ((X * r[:, None]).T @ X)
    expected = quadratic_design.RISK_FACTOR * population_gradient(W, Wstar)
    np.testing.assert_allclose(gradient, expected, atol=1e-11 * np.abs(expected).max())


def test_population_samples_refuse_what_they_cannot_serve():
    for bad in (0, -1, 2.0, True, 39):
        with pytest.raises(DataError, match="d="):
            quadratic_design.population_samples(bad)


@pytest.mark.parametrize("d", [1, 3, 6])
def test_descent_on_the_population_risk_is_certified_below_the_papers_barrier(d, tmp_path):
    """GKZ-RATE, GKZ-GD: accepted below 2 sigma^4, refused at the barrier point; the rate in floats
    is no worse.
    """
    Wstar = runs.conditioned_teacher(d, d + 1, seed=1)
    near = Wstar + 0.1 / d * np.random.default_rng(2).standard_normal(Wstar.shape)
    certificate = below_barrier.population_certificate(
        ShallowNetwork(near, np.ones(d + 1), "quadratic"), Wstar
    )
    result = check(certificate.save(tmp_path / "claim.gmc"))
    assert result.verdict.name == "ACCEPTED", result.reason
    numbers = result.claims[0].numbers
    assert numbers["E0"] == pytest.approx(
        quadratic_design.RISK_FACTOR * population_risk(near, Wstar), rel=1e-6
    )
    height = quadratic_design.RISK_FACTOR * barrier(
        Wstar, "exact" if d == 1 else "paper"
    )  # one feature: F is the number 3/2
    assert (
        height * (1 - 1.2e-5) <= numbers["barrier"] <= height
    )  # the witness of F > phi I keeps 1e-5 of room
    floats = population_rate(near, Wstar)
    assert floats is not None
    assert numbers["s2"] <= floats.s2 * (1 + 1e-9)
    deficient = ShallowNetwork(exact_barrier_point(Wstar), np.ones(d + 1), "quadratic")
    with pytest.raises(CannotCertify, match="not below the barrier"):
        below_barrier.population_certificate(deficient, Wstar)


@pytest.mark.parametrize(("n", "d"), [(1, 2), (5, 3), (20, 8), (54, 10)])
@pytest.mark.parametrize("size", [None, 1e-3, 1e4])
def test_two_networks_fit_the_same_data_and_disagree_by_the_number_computed(n, d, size):
    """GKZ-T2.6b, GKZ-T2.9b, SJL-T2.1: arbitrary labels; the disagreement by Monte Carlo with 5
    standard errors.
    """
    rng = np.random.default_rng(n)
    X, y = rng.standard_normal((n, d)), rng.standard_normal(n)
    found = quadratic_disagreement.disagreeing_networks(X, y, root_mean_square=size)
    scale = max(1.0, found.root_mean_square)
    np.testing.assert_allclose(found.first.predict(X), y, atol=1e-8)
    np.testing.assert_allclose(found.second.predict(X), y, atol=1e-9 * scale)
    assert found.on_samples <= 1e-9 * scale
    assert size is None or found.root_mean_square == pytest.approx(size, rel=1e-12)
    fresh = rng.standard_normal((20_000, d))
    squares = (found.second.predict(fresh) - found.first.predict(fresh)) ** 2
    assert abs(squares.mean() - found.root_mean_square**2) <= 5 * squares.std() / np.sqrt(
        squares.size
    )
    at_x = found.second.predict(found.x[None]) - found.first.predict(found.x[None])
    assert float(at_x[0]) == pytest.approx(found.at_x, rel=1e-6)


def test_samples_on_a_quadric_disagree_although_they_are_many():
    """GKZ-T2.6b: signs leave the diagonal undetermined whatever their number."""
    rng = np.random.default_rng(0)
    X, y = rng.choice([-1.0, 1.0], (40, 4)), rng.standard_normal(40)
    found = quadratic_disagreement.disagreeing_networks(X, y)
    assert found.on_samples <= 1e-12 * max(1.0, found.root_mean_square)
    assert found.loss == pytest.approx(solve_quadratic(X, y).loss, rel=1e-9)


def test_disagreement_is_refused_when_the_samples_determine_the_network():
    X = np.random.default_rng(1).standard_normal((6, 3))
    with pytest.raises(HypothesisError, match="determine"):
        quadratic_disagreement.disagreeing_networks(X, np.ones(6))
    with pytest.raises(DataError, match="root_mean_square"):
        quadratic_disagreement.disagreeing_networks(X[:4], np.ones(4), root_mean_square=-1.0)


@pytest.mark.parametrize("d", [1, 2, 5, 9])
def test_samples_are_counted_exactly(d):
    """GKZ-SPAN, GKZ-T2.8: N samples determine, N - 1 do not, and repeated ones do not count."""
    N = d * (d + 1) // 2
    X = np.random.default_rng(d).standard_normal((N, d))
    exact = quadratic_identifiability.samples_determine(X)
    assert (exact.determines, exact.rank, exact.rank_upper, exact.missing) == (True, N, N, 0)
    repeated = np.vstack([X[1:], X[1:], -2.0 * X[1:2]]) if d > 1 else np.zeros((3, 1))
    short = quadratic_identifiability.samples_determine(repeated)
    assert (short.determines, short.missing, short.needed) == (False, 1, N)
    with pytest.raises(DataError, match="reshape"):
        quadratic_identifiability.samples_determine(X[0])


def test_rank_that_floats_cannot_see_is_seen_and_one_not_settled_is_left_open():
    """GKZ-SPAN: rows that differ by 1e-200; a deficient rank beyond the exact limit is None."""
    assert (
        quadratic_identifiability.samples_determine(
            [[1.0, 0.0], [1.0, 1e-200], [1.0, -1e-200]]
        ).determines
        is True
    )
    signs = np.random.default_rng(2).choice([-1.0, 1.0], (40, 4))
    assert quadratic_identifiability.samples_determine(signs, max_exact=5).determines is None
    assert quadratic_identifiability.samples_determine(signs).determines is False


@pytest.mark.parametrize("kind", ["signs", "one-hot", "repeated feature"])
def test_mixed_heads_on_dependent_squares_get_the_weaker_claim_with_a_tiny_decay(kind, tmp_path):
    """SJL-T2.1, SJL-DUAL: theorem S is impossible; theorem D at the smallest decay proves the same
    loss to 1e-9.
    """
    rng = np.random.default_rng(3)
    X = {
        "signs": lambda: rng.choice([-1.0, 1.0], (60, 5)),
        "one-hot": lambda: np.column_stack(
            [np.eye(3)[rng.integers(0, 3, 80)], rng.standard_normal((80, 2))]
        ),
        "repeated feature": lambda: rng.standard_normal((60, 4))[:, [0, 1, 2, 3, 0]],
    }[kind]()
    y = rng.standard_normal(X.shape[0])
    solution, data = solve_quadratic(X, y), Dataset.from_preprocessed(X, y)
    with pytest.raises(CannotCertify, match="do not provably span"):
        certify(solution.network, data, claims=["optimality-gap"])
    found = smallest_provable_decay(solution.network.W, solution.network.v, X, y)
    certificate = certify(
        solution.network, data, claims=["optimality-gap"], weight_decay=found.weight_decay
    )
    result = check(certificate.save(tmp_path / "claim.gmc"))
    assert result.verdict.name == "ACCEPTED", result.reason
    numbers = result.claims[0].numbers
    assert numbers["gap"] <= 1e-9 * numbers["objective"]
    assert numbers["gap"] == pytest.approx(found.gap, rel=0.2)
    norm = float(np.linalg.norm(solution.network.W))
    assert (1 - 1e-7) * solution.loss <= found.estimate_floor(10 * norm) <= solution.loss
    for _ in range(20):
        W = rng.standard_normal(solution.network.W.shape)
        W *= 10 * norm / np.linalg.norm(W) * rng.uniform()
        other = ShallowNetwork(W, solution.network.v, "quadratic")
        assert 0.5 * np.sum((other.predict(X) - y) ** 2) >= found.estimate_floor(10 * norm)


def test_small_decay_needs_a_head():
    with pytest.raises(HypothesisError, match="head"):
        smallest_provable_decay(np.eye(2), np.zeros(2), np.eye(2), np.ones(2))


@pytest.mark.parametrize("d", [1, 2, 3, 5, 8])
def test_descent_over_deficient_ranks_ends_at_the_exact_barrier_and_never_below(d):
    """GKZ-X1: d = 2..8, values over sigma^4 against 2(d+2)/(d+1)."""
    found = runs.barrier_search(d, starts=6)
    assert found.values.min() >= found.exact * (1 - 1e-9)
    np.testing.assert_allclose(found.values, found.exact, rtol=1e-6)


def test_plateaus_of_small_starts_have_the_heights_of_the_census():
    """GKZ-X2, GKZ-CENSUS: every run reaches zero risk, and rests near saddles whose risks are those
    of the table.
    """
    found = runs.plateau_heights(runs.conditioned_teacher(3, 4, spread=3.0), starts=12)
    assert found.reached.all()
    assert found.risks.size >= 5
    np.testing.assert_allclose(found.risks, found.census, rtol=1e-8)


def test_certified_rate_of_the_identity_start_is_kept_and_not_far_from_the_measured_one():
    """GKZ-X2, GKZ-RATE: d = 5, m = 16 d^2; every step, and within a factor of ten in the
    logarithm.
    """
    found = compare_rates(5, 400, draws=4)
    assert found.below == 1.0
    assert found.reached.all()
    assert (found.measured <= found.certified + 1e-9).all()
    assert (np.log(found.measured) >= 10 * np.log(found.certified)).all()
    assert compare_rates(5, 10, draws=4).below == 0.0


def test_fits_are_wrong_elsewhere_below_the_critical_number_and_right_above():
    """GKZ-X3, GKZ-T2.9a: d = 3, N = 6."""
    below, above = runs.sample_transition(3, [4, 12], draws=3, max_iter=3_000)
    assert (below.is_critical, above.is_critical) == (False, True)
    assert below.training.max() <= 1e-6
    assert above.training.max() <= 1e-10
    assert below.population.min() >= 1e-3
    assert above.population.max() <= 1e-8


def test_share_of_starts_below_the_barrier_rises_with_width_and_the_data_scale_is_better():
    """GKZ-X4, GKZ-T2.5: d = 10; thresholds near 6 d^2 (paper's scale) and 3 to 4 d^2 (data)."""
    paper, data = (
        runs.start_shares(10, [2, 4, 8], scale=scale, draws=10) for scale in ("paper", "data")
    )
    assert paper[2.0] <= 0.1
    assert paper[8.0] >= 0.9
    assert data[4.0] >= 0.8 > paper[4.0]


def test_teachers_of_the_runs_have_the_stated_singular_values():
    np.testing.assert_allclose(
        np.linalg.svd(runs.conditioned_teacher(3, 5, spread=3.0), compute_uv=False),
        [3.0, 2.0, 1.0],
        rtol=1e-12,
    )
    with pytest.raises(DataError, match="d <= width"):
        runs.conditioned_teacher(3, 2)
