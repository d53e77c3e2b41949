"""Files of many rows store no witness of K, are small, and are accepted by the fast route; the size
is no reason to refuse before memory is.
"""

import numpy as np
import pytest

import globalmin as gm
from globalmin.linalg.positive_definite import Gram, ball_matrix, shift_without_witness
from globalmin.linalg.spectrum import extremes_by_iteration, lowest_by_iteration
from globalmin.proving.certificate import refuse_if_too_large
from globalmin.shallow.claims.high_precision import precise_residual
from globalmin.shallow.claims.linearized_point import STORED_ROWS, fast_radius, is_fast, measure
from globalmin_check import check_file


def fitted(n: int, activation: str = "softplus") -> tuple:
    data = gm.generators.sphere_with_random_labels(n, 10, seed=n)
    run = gm.train_auto(data, width=2 * n // 10, activation=activation, seed=1)
    return run.network, data


@pytest.mark.parametrize("activation", ["softplus", "tanh"])
def test_a_large_file_holds_no_witness_of_k_and_is_accepted_by_floats(tmp_path, activation: str):
    network, data = fitted(STORED_ROWS + 20, activation)
    certificate = gm.certify(network, data)
    assert [claim.version for claim in certificate.claims] == [2, 2]
    path = certificate.save(tmp_path / "c.gmc")
    assert not any("C_a" in claim.tensors for claim in certificate.claims)
    result = check_file(path, route="fast")
    assert result.verdict.value == "ACCEPTED", result.reason
    assert [claim.route for claim in result.claims] == ["fast", "fast"]


def test_small_files_and_other_activations_keep_their_witness():
    network, data = fitted(60)
    assert [claim.version for claim in gm.certify(network, data).claims] == [1, 1]
    assert not is_fast(network, STORED_ROWS)
    assert is_fast(network, STORED_ROWS + 1)
    for name in ("erf", "softplus(2)"):
        other = gm.ShallowNetwork(network.W, network.v, name)
        assert not is_fast(other, 10**4)
    assert measure(network, data, witness=True).version == 1


def test_small_residuals_are_found_by_pairs_and_smaller_ones_by_balls():
    """The measured residual is that of balls to the margin of the claims, whoever computed it."""
    network, data = fitted(60)
    balls = precise_residual(network, data.X, data.y)
    found = measure(network, data).residual
    assert found.radius.min() > balls.radius.max()  # pairs
    assert np.linalg.norm(found.r - balls.r) <= 1e-9 * np.linalg.norm(balls.r)
    assert balls.norm_above() <= found.norm_above() <= balls.norm_above() * (1 + 2e-9)
    zero = gm.ShallowNetwork(np.eye(3), np.ones(3), "quadratic")
    X = np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 2.0]])
    exact = measure(zero, gm.Dataset.from_preprocessed(X, np.array([2.0, 5.0]))).residual
    assert not exact.radius.any()
    assert not exact.r.any()


def test_the_size_limit_is_memory_where_the_fast_route_knows_the_claim():
    network, _ = fitted(60)
    refuse_if_too_large(9_000, network, fast=True)
    with pytest.raises(gm.CannotCertify):
        refuse_if_too_large(9_000, network)
    with pytest.raises(gm.errors.MemoryRefused):
        refuse_if_too_large(100_000, network, fast=True)


def test_extremes_by_iteration_are_the_eigenvalues():
    B = np.random.default_rng(0).normal(size=(150, 160))
    A = B @ B.T
    values = np.linalg.eigvalsh(A)
    found = extremes_by_iteration(A, np.linalg.cholesky(A))
    assert found == pytest.approx((values[0], values[-1]), rel=1e-8)
    gram = Gram(A, 0.0, lambda: ball_matrix(A))
    assert gram.extremes == pytest.approx((values[0], values[-1]), rel=1e-8)
    assert gram.highest == pytest.approx(values[-1], rel=1e-8)


@pytest.mark.parametrize("n", [150, 400])
@pytest.mark.parametrize("kind", ["random", "cluster", "spread", "two equal"])
def test_the_least_eigenvalue_by_steps_is_known_to_five_digits(n: int, kind: str):
    rng = np.random.default_rng(n)
    values = {
        "random": rng.uniform(0.1, 2.0, n),
        "cluster": np.r_[1.0 + 1e-4 * rng.random(10), rng.uniform(1.1, 50.0, n - 10)],
        "spread": np.geomspace(1e-7, 1.0, n),
        "two equal": np.r_[0.3, 0.3, rng.uniform(0.31, 2.0, n - 2)],
    }[kind]
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    A = (Q * values) @ Q.T
    gram = Gram((A + A.T) / 2, 0.0, lambda: ball_matrix(A))
    low = float(np.linalg.eigvalsh(gram.values)[0])
    # a Ritz value is never below; within 5e-5, the room that a claim leaves
    assert low * (1 - 1e-8) <= gram.lowest <= low * (1 + 4e-5)
    found = lowest_by_iteration(np.asfortranarray(np.linalg.cholesky(gram.values)))
    assert found is None or found == pytest.approx(gram.lowest, rel=1e-6)
    claimed = shift_without_witness(gram, 20)
    assert claimed is not None
    assert claimed.bound < low


def test_the_least_eigenvalue_of_a_matrix_without_factor_is_that_of_all_of_them():
    rng = np.random.default_rng(0)
    B = rng.normal(size=(150, 100))
    A = B @ B.T - np.eye(150)
    assert Gram(A, 0.0, lambda: ball_matrix(A)).lowest == pytest.approx(-1.0, rel=1e-9)
    assert lowest_by_iteration(np.eye(3, order="F")) == pytest.approx(1.0)
    assert lowest_by_iteration(np.full((4, 4), np.nan, order="F")) is None


def test_a_bound_without_witness_leaves_room_and_is_refused_where_floats_see_nothing():
    B = np.random.default_rng(1).normal(size=(40, 60))
    A = B @ B.T
    found = shift_without_witness(Gram(A, 0.0, lambda: ball_matrix(A)), 20)
    low = np.linalg.eigvalsh(A)[0]
    assert found is not None
    assert (1 - 1e-4) * low < found.bound < low * (1 - 1e-6)
    thin = B[:, :39] @ B[:, :39].T + 1e-12 * np.eye(40)
    assert shift_without_witness(Gram(thin, 0.0, lambda: ball_matrix(thin)), 20) is None


def test_the_radius_of_the_fast_route_is_that_of_the_checker():
    """The producer's estimate is above what the checker will find, and not far."""
    from tests.checker.problem_cases import problem

    from globalmin_check.fast.linearization import Linearization
    from globalmin_check.fast.products import Products

    network, data = fitted(60)
    stored = problem("softplus", data.X, data.y, network.W, network.v)
    radii = np.array(
        [float(r.rad()) for r in Linearization(stored, False, Products(b"")).residual()]
    )
    estimate = fast_radius(network, data.X)
    rounding = 2.0**-52 * np.abs(network.predict(data.X) - data.y)
    assert (radii <= estimate + rounding + 1e-28).all()
    assert (estimate <= 3 * radii + 1e-30).all()
