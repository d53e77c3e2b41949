"""Claims about quadratic networks: produced, written to a file, accepted by the independent
checker; and the refusals.
"""

from fractions import Fraction

import numpy as np
import pytest

from globalmin.data import Dataset
from globalmin.errors import CannotCertify, DataError
from globalmin.proving.certificate import Certificate
from globalmin.proving.producer import certify, check
from globalmin.quadratic.ambiguity import bad_interpolant
from globalmin.quadratic.claims import below_barrier, identifies, optimality_gap
from globalmin.quadratic.duality import estimate_span_gap
from globalmin.quadratic.solve import solve_quadratic
from globalmin.shallow.claims import second_order
from globalmin.shallow.hessian import hessian
from globalmin.shallow.network import ShallowNetwork, loss

SCHEMES = ("mixed", "positive")


def sample(n, d, *, seed=0, planted=False):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    A = rng.standard_normal((d, d))
    return X, np.einsum("ij,jk,ik->i", X, A @ A.T, X) if planted else rng.standard_normal(n)


def accepted(certificate, tmp_path):
    """The numbers of the first claim, as the checker proved them."""
    result = check(certificate.save(tmp_path / "claim.gmc"))
    assert result.verdict.name == "ACCEPTED", result.reason
    return result.claims[0].numbers


def proved(network, X, y, kind, tmp_path, **options):
    certificate = certify(network, Dataset.from_preprocessed(X, y), claims=[kind], **options)
    assert certificate.claims[0].kind == kind
    return accepted(certificate, tmp_path)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(("n", "d"), [(10, 6), (60, 5), (200, 10)])
def test_positive_heads_are_within_1e_9_of_the_global_minimum(n, d, sign, tmp_path):
    """SJL-DUAL, SJL-T2.2k: theorem P from the residual of the solver's network, for heads >= 0 and
    <= 0.
    """
    X, y = sample(n, d)
    solution = solve_quadratic(X, y, head=sign * np.ones(d))
    numbers = proved(solution.network, X, y, "optimality-gap", tmp_path)
    assert numbers["method"] == "positive"
    assert numbers["gap"] <= 1e-9 * numbers["objective"]
    assert numbers["floor"] <= solution.loss * (1 + 1e-12) <= numbers["objective"] * (1 + 1e-9)


def test_planted_labels_of_positive_heads_give_a_gap_at_the_level_of_rounding(tmp_path):
    """SJL-DUAL: the minimum is zero, and loss and gap are zero up to rounding."""
    X, y = sample(80, 6, planted=True)
    solution = solve_quadratic(X, y, signs="positive")
    numbers = proved(solution.network, X, y, "optimality-gap", tmp_path)
    assert numbers["gap"] <= 1e-10 * 0.5 * float(y @ y)


def test_positive_heads_with_dependent_features_use_spanning_rows(tmp_path):
    """SJL-DUAL: X of rank s < d exactly; the proof is on the span of s samples."""
    rng = np.random.default_rng(3)
    B = rng.integers(-4, 5, (40, 3)).astype(float)
    X, y = np.column_stack([B, B[:, 0] + B[:, 1]]), rng.standard_normal(40)
    solution = solve_quadratic(X, y, signs="positive")
    certificate = certify(
        solution.network, Dataset.from_preprocessed(X, y), claims=["optimality-gap"]
    )
    assert certificate.claims[0].fields["rank"] == 3
    assert accepted(certificate, tmp_path)["gap"] <= 1e-8 * solution.loss


def test_features_dependent_only_up_to_rounding_are_refused_with_the_ranks():
    X, y = sample(40, 3)
    X = np.column_stack([X, X[:, 0] / 3.0 + X[:, 1] / 7.0])
    solution = solve_quadratic(X, y, signs="positive")
    with pytest.raises(CannotCertify, match="rank 3 up to rounding"):
        optimality_gap.build(solution.network, Dataset.from_preprocessed(X, y))


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_mixed_heads_are_within_1e_12_of_the_minimum_over_all_heads(scale, tmp_path):
    """SJL-T2.1: theorem S."""
    X, y = sample(60, 6)
    solution = solve_quadratic(X, scale * y)
    numbers = proved(solution.network, X, scale * y, "optimality-gap", tmp_path)
    assert numbers["method"] == "span"
    assert numbers["gap"] <= 1e-12 * numbers["objective"]


def test_gap_of_arbitrary_mixed_weights_is_the_exact_excess_loss(tmp_path):
    """SJL-T2.1: the gap is tight at any weights, against least squares."""
    X, y = sample(60, 5)
    rng = np.random.default_rng(1)
    network = ShallowNetwork(
        rng.standard_normal((4, 5)), np.array([1.0, -1.0, 2.0, -0.5]), "quadratic"
    )
    numbers = proved(network, X, y, "optimality-gap", tmp_path)
    excess = estimate_span_gap(X, network.predict(X) - y)
    assert excess * (1 - 1e-9) <= numbers["gap"] <= excess * (1 + 1e-6)


@pytest.mark.parametrize("signs", [*SCHEMES, "negative"])
@pytest.mark.parametrize("decay", [1e-2, 1.0, 100.0])
@pytest.mark.parametrize(("n", "d"), [(15, 8), (100, 6)])
def test_weight_decay_keeps_the_proof_for_every_head(n, d, decay, signs, tmp_path):
    """SJL-T2.2k: theorem D, samples fewer or more than d(d+1)/2."""
    X, y = sample(n, d)
    head = -0.5 * np.ones(d) if signs == "negative" else None
    solution = solve_quadratic(
        X, y, signs="positive" if head is not None else signs, head=head, weight_decay=decay
    )
    numbers = proved(solution.network, X, y, "optimality-gap", tmp_path, weight_decay=decay)
    assert numbers["method"] == "decay"
    assert numbers["gap"] <= 1e-9 * numbers["objective"]
    assert numbers["floor"] <= solution.objective * (1 + 1e-12)


def test_zero_network_is_the_proved_minimum_beyond_the_critical_decay(tmp_path):
    X, y = sample(50, 4)
    solution = solve_quadratic(X, y, weight_decay=1e4)
    assert not solution.network.W.any()
    numbers = proved(solution.network, X, y, "optimality-gap", tmp_path, weight_decay=1e4)
    assert numbers["gap"] <= 1e-14 * numbers["objective"]


def test_large_network_is_measured_in_floats_and_still_accepted(tmp_path, monkeypatch):
    monkeypatch.setattr("globalmin.shallow.claims.measured_point._PRECISE_PRODUCTS", 0)
    X, y = sample(300, 12)
    for solution in (solve_quadratic(X, y, signs="positive"), solve_quadratic(X, y)):
        numbers = proved(solution.network, X, y, "optimality-gap", tmp_path)
        assert numbers["gap"] <= 1e-9 * numbers["objective"]


def test_narrow_network_gets_an_honest_gap(tmp_path):
    """SJL-T2.2k: fewer neurons than the minimum needs; the gap is the distance to the minimum of
    the class.
    """
    X, y = sample(100, 6, planted=True)
    narrow, wide = (solve_quadratic(X, y, signs="positive", width=k) for k in (2, 6))
    numbers = proved(narrow.network, X, y, "optimality-gap", tmp_path)
    assert narrow.loss - wide.loss <= numbers["gap"] * (1 + 1e-12)
    assert numbers["gap"] >= 1e-3 * numbers["objective"]


def test_default_claims_are_the_gap_where_interpolation_cannot_hold():
    X, y = sample(60, 5)
    solution = solve_quadratic(X, y)
    certificate = certify(solution.network, Dataset.from_preprocessed(X, y))
    assert [claim.kind for claim in certificate.claims] == ["optimality-gap", "identifies"]
    decayed = solve_quadratic(X, y, weight_decay=1.0)
    claims = certify(decayed.network, Dataset.from_preprocessed(X, y), weight_decay=1.0).claims
    assert [claim.fields.get("method") for claim in claims] == ["decay", None]


def test_default_claims_are_interpolation_below_the_critical_number_of_samples(tmp_path):
    X, y = sample(12, 6)
    certificate = certify(solve_quadratic(X, y).network, Dataset.from_preprocessed(X, y))
    assert {claim.kind for claim in certificate.claims} <= {"descent", "interpolation"}
    accepted(certificate, tmp_path)


def test_too_few_samples_and_wrong_options_are_refused_with_the_reason():
    X, y = sample(12, 6)
    data, network = Dataset.from_preprocessed(X, y), solve_quadratic(X, y).network
    with pytest.raises(CannotCertify, match=r"fewer than d\(d\+1\)/2 = 21"):
        optimality_gap.build(network, data)
    with pytest.raises(CannotCertify, match="both signs"):
        optimality_gap.build(network, data, method="positive")
    with pytest.raises(DataError, match="weight_decay=-1"):
        optimality_gap.build(network, data, weight_decay=-1.0)
    with pytest.raises(DataError, match="method='best'"):
        optimality_gap.build(network, data, method="best")
    with pytest.raises(DataError, match="'decay' needs a positive one"):
        optimality_gap.build(network, data, method="decay")
    with pytest.raises(CannotCertify, match="activation is tanh"):
        optimality_gap.build(ShallowNetwork(network.W, network.v, "tanh"), data)
    with pytest.raises(DataError, match="for quadratic networks"):
        certify(ShallowNetwork(network.W, network.v, "tanh"), data, weight_decay=1.0)
    with pytest.raises(CannotCertify, match="do not provably span"):
        optimality_gap.build(
            network, Dataset.from_preprocessed(np.repeat(X, 3, axis=0), np.repeat(y, 3))
        )
    with pytest.raises(CannotCertify, match="all samples are zero"):
        optimality_gap.build(
            ShallowNetwork(network.W, np.abs(network.v), "quadratic"),
            Dataset.from_preprocessed(0 * X, y),
        )


@pytest.mark.parametrize("d", [1, 2, 5, 9])
def test_planted_network_is_identified_at_the_critical_number_and_ambiguous_below(d, tmp_path):
    """GKZ-T2.6a, GKZ-T2.6b: N = d(d+1)/2 samples determine the function, N - 1 do not."""
    N = d * (d + 1) // 2
    rng = np.random.default_rng(d)
    X, W = rng.standard_normal((N, d)), rng.standard_normal((d + 1, d))
    network = ShallowNetwork(W, np.ones(d + 1), "quadratic")
    numbers = proved(network, X, network.predict(X), "identifies", tmp_path)
    assert numbers["rank"] == N
    assert numbers["mu"] > 0
    with pytest.raises(CannotCertify, match="no symmetric matrix"):
        certify(network, Dataset.from_preprocessed(X, network.predict(X)), claims="ambiguous")
    if d == 1:
        return
    few = X[:-1]
    numbers = proved(network, few, network.predict(few), "ambiguous", tmp_path)
    second = bad_interpolant(few, W)
    assert second is not None
    assert numbers["difference"] <= second.population_risk * (1 + 1e-9)
    assert numbers["difference"] >= 0.99 * second.guaranteed
    with pytest.raises(CannotCertify, match="determine no network"):
        certify(network, Dataset.from_preprocessed(few, network.predict(few)), claims="identifies")


def test_many_samples_on_a_quadric_are_ambiguous_with_an_integer_matrix(tmp_path):
    """GKZ-T2.6b: samples with entries +-1 leave the diagonal undetermined."""
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (40, 4))
    network = ShallowNetwork(rng.standard_normal((4, 4)), np.ones(4), "quadratic")
    certificate = certify(
        network, Dataset.from_preprocessed(X, network.predict(X)), claims="ambiguous"
    )
    M = certificate.claims[0].tensors["M"]
    assert M.any()
    assert not np.einsum("ij,jk,ik->i", X, M, X).any()
    assert accepted(certificate, tmp_path)["sigma2"] > 0
    with pytest.raises(CannotCertify, match="rank 7 of 10"):
        identifies.build(network, Dataset.from_preprocessed(X, network.predict(X)))


def test_ambiguity_needs_positive_heads_and_full_rank():
    X, y = sample(5, 3)
    data = Dataset.from_preprocessed(X, y)
    with pytest.raises(CannotCertify, match="negative weight"):
        certify(ShallowNetwork(np.eye(3), [1.0, 1.0, -1.0], "quadratic"), data, claims="ambiguous")
    with pytest.raises(CannotCertify, match="not provably positive definite"):
        certify(ShallowNetwork(np.eye(3)[:2], [1.0, 1.0], "quadratic"), data, claims="ambiguous")


def test_rank_alone_is_certified_on_request():
    """GKZ-T2.6a: without the least eigenvalue."""
    X, y = sample(30, 4)
    claim = identifies.build(
        solve_quadratic(X, y).network, Dataset.from_preprocessed(X, y), stable=False
    )
    assert "mu" not in claim.fields
    assert not claim.tensors


def near_planted(distance, *, noise=0.1):
    rng = np.random.default_rng(0)
    X, v = rng.standard_normal((80, 4)), rng.uniform(0.5, 1.5, 6)
    W = np.linalg.qr(rng.standard_normal((6, 4)))[0] * 1.5
    y = ShallowNetwork(W, v, "quadratic").predict(X) + noise * rng.standard_normal(80)
    return ShallowNetwork(W + distance * rng.standard_normal(W.shape), v, "quadratic"), X, y


def test_descent_from_below_the_barrier_converges_at_the_claimed_rate(tmp_path):
    """GKZ-RATEemp: the excess loss falls by the claimed factor in each step of the claimed size."""
    network, X, y = near_planted(0.02)
    numbers = proved(network, X, y, "below-barrier", tmp_path)
    assert numbers["E0"] < numbers["barrier"]
    minimum = loss(network, X, y) - estimate_span_gap(X, network.predict(X) - y)
    eta, W, excess = float(Fraction(numbers["eta"])), network.W, []
    for _ in range(30):
        here = ShallowNetwork(W, network.v, "quadratic")
        r = here.predict(X) - y
        excess.append(loss(here, X, y) - minimum)
        W = W - eta * 2.0 * network.v[:, None] * (W @ (X.T * r) @ X)
    assert excess[0] <= numbers["E0"] <= excess[0] * (1 + 1e-4)
    ratios = np.array(excess[1:]) / np.array(excess[:-1])
    assert (ratios <= numbers["rate"] + 1e-12).all()


def test_below_barrier_takes_a_smaller_step_and_refuses_larger_ones(tmp_path):
    network, X, y = near_planted(0.02)
    data = Dataset.from_preprocessed(X, y)
    largest = float(Fraction(below_barrier.build(network, data).fields["eta"]))
    slow = proved(network, X, y, "below-barrier", tmp_path, step_size=largest / 2)
    assert Fraction(slow["eta"]) == Fraction(largest / 2)
    with pytest.raises(DataError, match="step_size"):
        below_barrier.build(network, data, step_size=2 * largest)


def test_weights_above_the_barrier_are_refused_with_the_numbers():
    network, X, y = near_planted(2.0)
    with pytest.raises(CannotCertify, match="not below the barrier"):
        below_barrier.build(network, Dataset.from_preprocessed(X, y))
    with pytest.raises(CannotCertify, match="v > 0"):
        below_barrier.build(
            ShallowNetwork(network.W, -network.v, "quadratic"), Dataset.from_preprocessed(X, y)
        )
    with pytest.raises(CannotCertify, match="do not provably span"):
        below_barrier.build(network, Dataset.from_preprocessed(X[:8], y[:8]))


def test_zero_weights_are_a_saddle_with_the_least_curvature_and_a_radius(tmp_path):
    """SJL-T2.1: at W = 0 the Hessian is block diagonal, 2 v_l Z with Z = -sum y_i x_i x_i^T."""
    X, y = sample(40, 4)
    network = ShallowNetwork(np.zeros((3, 4)), [1.0, -1.0, 2.0], "quadratic")
    numbers = proved(network, X, y, "strict-saddle", tmp_path)
    least = float(np.linalg.eigvalsh(hessian(network, X, y))[0])
    assert -least * (1 - 1e-9) <= numbers["gamma"] <= -least * (1 + 1e-12)
    assert numbers["gradient"] <= 1e-300
    assert numbers["radius"] > 0


@pytest.mark.parametrize("seed", range(4))
def test_planted_saddles_of_quadratic_networks_have_an_accepted_direction(seed, tmp_path):
    """SJL-T2.2: the minimum over fewer neurons, extended by zero neurons, is a saddle if it is not
    the global minimum.
    """
    X, y = sample(60, 5, seed=seed, planted=True)
    narrow = solve_quadratic(X, y, signs="positive", width=2, seed=seed)
    W = np.vstack([narrow.network.W, np.zeros((4, 5))])
    numbers = proved(ShallowNetwork(W, np.ones(6), "quadratic"), X, y, "strict-saddle", tmp_path)
    assert numbers["gamma"] > 0
    assert numbers["gradient"] <= numbers["eps"]


@pytest.mark.parametrize("activation", ["softplus", "tanh", "quadratic", "erf", "sigmoid"])
@pytest.mark.parametrize("trained", ["W", "vW"])
def test_random_weights_of_every_smooth_activation_have_one_of_the_two_claims(
    activation, trained, tmp_path
):
    rng = np.random.default_rng(5)
    X, y = sample(20, 3)
    network = ShallowNetwork(rng.standard_normal((4, 3)), rng.choice([-1.0, 1.0], 4), activation)
    least = float(np.linalg.eigvalsh(hessian(network, X, y, trained=trained))[0])
    numbers = proved(network, X, y, "second-order-stationary", tmp_path, trained=trained)
    assert max(-least, 0.0) <= numbers["delta"] <= max(-least, 0.0) + 1e-6 * abs(least) + 1e-6
    if least < -1e-6:
        numbers = proved(network, X, y, "strict-saddle", tmp_path, trained=trained)
        assert -least * (1 - 1e-6) <= numbers["gamma"] <= -least * (1 + 1e-9)


@pytest.mark.parametrize("method", ["dense", "blocks"])
def test_global_minimum_is_second_order_stationary_to_small_tolerances(method, tmp_path):
    """SJL-T2.2: at the minimum for heads >= 0 the blocks 2 v_l Z are >= 0, so both methods prove
    it.
    """
    X, y = sample(60, 4)
    network = solve_quadratic(X, y, signs="positive").network
    data = Dataset.from_preprocessed(X, y)
    claim = second_order.build(network, data, method=method)
    assert claim.fields["method"] == method
    assert claim.summary["delta"] <= 1e-4
    assert claim.summary["eps"] <= 1e-4
    accepted(Certificate((claim,), network, data), tmp_path)


def test_blocks_skip_neurons_with_zero_head_and_serve_many_parameters(tmp_path):
    X, y = sample(30, 6)
    rng = np.random.default_rng(0)
    v = rng.standard_normal(70)
    v[3] = 0.0
    numbers = proved(
        ShallowNetwork(rng.standard_normal((70, 6)), v, "tanh"),
        X,
        y,
        "second-order-stationary",
        tmp_path,
    )
    assert numbers["method"] == "blocks"
    with pytest.raises(CannotCertify, match="more than 400"):
        proved(
            ShallowNetwork(rng.standard_normal((70, 6)), v, "tanh"),
            X,
            y,
            "second-order-stationary",
            tmp_path,
            trained="vW",
        )


def test_second_order_claims_refuse_kinks_and_minima():
    X, y = sample(60, 4)
    data = Dataset.from_preprocessed(X, y)
    with pytest.raises(CannotCertify, match="not for relu"):
        certify(
            ShallowNetwork(np.eye(4), np.ones(4), "relu"), data, claims="second-order-stationary"
        )
    convex = solve_quadratic(X, y)
    with pytest.raises(CannotCertify, match="curvature"):
        certify(convex.network, data, claims="strict-saddle")
    with pytest.raises(DataError, match="method='sparse'"):
        second_order.build(convex.network, data, method="sparse")
