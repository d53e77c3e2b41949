"""Moment tensors (FCL-DEF2, FCL-DEF3, FCL-TP, FCL-VR), subspace (FCL-PM), decomposition (FCL-KCL),
magnitudes (FCL-RM) and the whole start (FCL-ALG2, FCL-ALPHA, FCL-T3, FCL-C3), each by another road.
"""

import itertools
from functools import partial

import numpy as np
import pytest

from globalmin.activations import get_activation
from globalmin.errors import DataError
from globalmin.recovery.matching import match_neurons
from globalmin.recovery.moments import hermite_moment
from globalmin.recovery.tensor_decomposition import (
    decompose_symmetric,
    joint_diagonalize,
    leading_subspace,
    shifted_power_subspace,
)
from globalmin.recovery.tensor_initialization import (
    LITERAL,
    TUNED,
    TensorOptions,
    recover_magnitudes,
    tensor_start,
)
from globalmin.recovery.tensor_moments import (
    MatrixMoment,
    first_moment,
    linear_fit,
    projected_tensor,
    reduced_labels,
    without_projected_quadratic,
)


def symmetrized(T):
    axes = list(itertools.permutations(range(T.ndim)))
    return sum(np.transpose(T, p) for p in axes) / len(axes)


def full_moment(X, r, order):
    """mean of r He_order(x), the whole d^order tensor, by the definition with all placements."""
    d, n = X.shape[1], len(r)
    eye = np.eye(d)
    if order == 2:
        return np.einsum("n,na,nb->ab", r, X, X) / n - r.mean() * eye
    if order == 3:
        v = X.T @ r / n
        return np.einsum("n,na,nb,nc->abc", r, X, X, X) / n - 3 * symmetrized(
            np.einsum("a,bc->abc", v, eye)
        )
    M = np.einsum("n,na,nb->ab", r, X, X) / n
    pairs = 6 * symmetrized(np.einsum("ab,cd->abcd", M, eye))
    return (
        np.einsum("n,na,nb,nc,nd->abcd", r, X, X, X, X) / n
        - pairs
        + 3 * r.mean() * symmetrized(np.einsum("ab,cd->abcd", eye, eye))
    )


def samples(seed=0, n=200, d=4):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), rng.standard_normal(n), rng


def quadrature(W, name, points=24):
    """Nodes of a product Gauss rule as samples with weights: X, n times weight times output, for
    exact population moments.
    """
    z, w = np.polynomial.hermite_e.hermegauss(points)
    X = np.array(list(itertools.product(z, repeat=W.shape[1])))
    weights = np.prod(np.array(list(itertools.product(w, repeat=W.shape[1]))), axis=1) / (
        2 * np.pi
    ) ** (W.shape[1] / 2)
    return X, len(X) * weights * get_activation(name)(X @ W.T).mean(axis=1)


@pytest.mark.parametrize("dense", [True, False])
def test_the_implicit_matrix_is_the_contraction_of_the_full_tensor(dense):
    X, r, rng = samples()
    alpha, V = rng.standard_normal(4), rng.standard_normal((4, 2))
    third, second = (MatrixMoment(X, r, order=j, alpha=alpha, dense=dense) for j in (3, 2))
    np.testing.assert_allclose(third.times(V), full_moment(X, r, 3) @ alpha @ V, atol=1e-12)
    np.testing.assert_allclose(second.times(V), full_moment(X, r, 2) @ V, atol=1e-12)


def test_the_projected_tensors_are_contractions_of_the_full_ones():
    X, r, rng = samples(1)
    alpha, V = rng.standard_normal(4), np.linalg.qr(rng.standard_normal((4, 3)))[0]
    three = np.einsum("abc,ai,bj,ck->ijk", full_moment(X, r, 3), V, V, V)
    four = np.einsum("abcd,ai,bj,ck,d->ijk", full_moment(X, r, 4), V, V, V, alpha)
    np.testing.assert_allclose(projected_tensor(X, r, V), three, atol=1e-12)
    np.testing.assert_allclose(projected_tensor(X, r, V, order=4, alpha=alpha), four, atol=1e-11)


@pytest.mark.parametrize("name", ["sigmoid", "softplus"])
def test_population_moments_are_sums_over_neurons(name):
    """FCL-DEF2 with the half that is missing in print, by product quadrature; both label models
    share these moments.
    """
    W = np.array([[0.6, 0.2], [-0.1, 0.9]])
    X, r = quadrature(W, name)
    norms = np.linalg.norm(W, axis=1)
    units, V, alpha = W / norms[:, None], np.eye(2), np.array([0.3, 0.8])
    m = [None, *(hermite_moment(norms, name, j) / 2 for j in (1, 2, 3, 4))]
    np.testing.assert_allclose(first_moment(X, r), m[1] @ units, atol=1e-9)
    np.testing.assert_allclose(
        MatrixMoment(X, r, order=2).times(V),
        np.einsum("i,ia,ib->ab", m[2], units, units),
        atol=1e-9,
    )
    np.testing.assert_allclose(
        projected_tensor(X, r, V),
        np.einsum("i,ia,ib,ic->abc", m[3], units, units, units),
        atol=1e-9,
    )
    four = np.einsum("i,ia,ib,ic,i->abc", m[4], units, units, units, units @ alpha)
    np.testing.assert_allclose(projected_tensor(X, r, V, order=4, alpha=alpha), four, atol=1e-8)


def test_reduced_labels_are_orthogonal_to_what_was_removed():
    X, y, _ = samples(2)
    assert abs(reduced_labels(X, y, "mean").mean()) < 1e-15
    r = reduced_labels(X, y, "linear")
    np.testing.assert_allclose(np.column_stack([X, np.ones(len(y))]).T @ r, 0.0, atol=1e-11)
    np.testing.assert_allclose(
        linear_fit(X, y)[1],
        np.linalg.lstsq(np.column_stack([X, np.ones(len(y))]), y, rcond=None)[0][:4],
    )
    np.testing.assert_array_equal(reduced_labels(X, y, "nothing"), y)
    V = np.eye(4)[:, :2]
    q = without_projected_quadratic(X, y, V)
    assert abs(q @ (X[:, 0] * X[:, 1])) < 1e-10
    with pytest.raises(DataError, match="removal"):
        reduced_labels(X, y, "cubic")


def test_variance_reduction_shrinks_the_noise_of_the_third_moment():
    """FCL-VR: same mean, far smaller spread, over 40 draws of a sigmoid teacher."""
    W = 1.5 * np.eye(2, 4)
    target = np.einsum(
        "i,ia,ib,ic->abc", hermite_moment([1.5, 1.5], "sigmoid", 3) / 2, W / 1.5, W / 1.5, W / 1.5
    )
    errors = {"nothing": [], "linear": []}
    for seed in range(40):
        X = np.random.default_rng(seed).standard_normal((2_000, 4))
        y = get_activation("sigmoid")(X @ W.T).mean(axis=1)
        for removal, found in errors.items():
            found.append(projected_tensor(X, reduced_labels(X, y, removal), np.eye(4)) - target)
    raw, reduced = (np.sqrt(np.mean(np.square(e))) for e in errors.values())
    assert reduced < raw / 4
    mean, sd = np.mean(errors["linear"], axis=0), np.std(errors["linear"], axis=0)
    assert np.all(np.abs(mean) < 5 * sd / np.sqrt(40) + 1e-3)


class Dense:
    def __init__(self, A):
        self.A, self.dimension = A, len(A)

    def times(self, V):
        return self.A @ V


@pytest.mark.parametrize(
    "find",
    [leading_subspace, partial(shifted_power_subspace, iterations=2_000)],
    ids=["squared", "shifted"],
)
def test_both_subspace_iterations_find_the_largest_absolute_eigenvalues(find):
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((20, 20)))[0]
    eigenvalues = np.concatenate([[3.0, -2.5, 2.0], rng.uniform(-1, 1, 17)])
    found = find(Dense(Q * eigenvalues @ Q.T), 3)
    np.testing.assert_allclose(found.V @ found.V.T, Q[:, :3] @ Q[:, :3].T, atol=1e-4)
    assert found.gap == pytest.approx((2.0 - np.abs(eigenvalues[3:]).max()) / 3.0, abs=1e-3)


def test_subspace_of_full_dimension_and_of_zero():
    assert leading_subspace(Dense(np.diag([1.0, -2.0])), 2).gap == pytest.approx(0.5)
    assert leading_subspace(Dense(np.zeros((3, 3))), 2).gap == 0.0
    with pytest.raises(DataError, match="K=4"):
        leading_subspace(Dense(np.eye(3)), 4)


def planted(K, seed):
    rng = np.random.default_rng(seed)
    U = rng.standard_normal((K, K))
    U /= np.linalg.norm(U, axis=0)
    weights = rng.choice([-1.0, 1.0], K) * rng.uniform(0.5, 1.5, K)
    return U, weights, np.einsum("ai,bi,ci,i->abc", U, U, U, weights), rng


def cosines(found, U):
    return np.abs(found.U.T @ U).max(axis=0)


@pytest.mark.parametrize("K", [1, 2, 3, 5, 8])
def test_exact_tensors_are_decomposed_to_rounding(K):
    for seed in range(5):
        U, weights, T, _ = planted(K, seed)
        found = decompose_symmetric(T)
        assert np.all(cosines(found, U) > 1 - 1e-12)
        assert found.residual < 1e-10
        np.testing.assert_allclose(
            np.sort(np.abs(found.weights)), np.sort(np.abs(weights)), rtol=1e-9
        )


def test_noise_of_a_thousandth_moves_well_conditioned_components_little():
    U, _, T, rng = planted(3, 0)
    U, _ = np.linalg.qr(U + 2 * np.eye(3))
    T = np.einsum("ai,bi,ci,i->abc", U, U, U, [1.0, -1.2, 0.8])
    noise = symmetrized(rng.standard_normal(T.shape))
    found = decompose_symmetric(T + 1e-3 * np.linalg.norm(T) * noise / np.linalg.norm(noise))
    assert np.all(1 - cosines(found, U) < 1e-5)


def test_the_joint_diagonalizer_diagonalizes():
    rng = np.random.default_rng(1)
    U = rng.standard_normal((4, 4))
    R = np.einsum("ai,li,bi->lab", U, rng.standard_normal((30, 4)), U)
    B = joint_diagonalize(R)
    D = B @ R @ B.T
    off = D - np.einsum("lii,ij->lij", D, np.eye(4))
    assert np.abs(off).max() < 1e-10 * np.abs(D).max()
    with pytest.raises(DataError, match="matrices"):
        joint_diagonalize(np.zeros((3, 2, 4)))


@pytest.mark.parametrize("name", ["sigmoid", "tanh", "softplus"])
def test_exact_moments_give_back_exact_weights(name):
    """FCL-RM: signs and norms from the first moment, whatever the signs of the directions."""
    rng = np.random.default_rng(0)
    W = rng.standard_normal((3, 6))
    norms = np.linalg.norm(W, axis=1)
    units = W / norms[:, None]
    Q1 = hermite_moment(norms, name, 1) @ units / 3
    found, betas, clipped = recover_magnitudes(
        np.array([[1.0], [-1.0], [-1.0]]) * units, Q1, name, largest_norm=50.0
    )
    np.testing.assert_allclose(found, W, atol=1e-8)
    assert not clipped.any()
    np.testing.assert_allclose(betas, hermite_moment(norms, name, 1))
    shorter = recover_magnitudes(units, Q1, name, largest_norm=float(norms.min()) * 1.01)
    assert shorter[2].sum() == 2


def draw(n, d, sigma, name="sigmoid", seed=0):
    rng = np.random.default_rng(seed)
    W = sigma * np.linalg.qr(rng.standard_normal((d, 3)))[0].T
    X = rng.standard_normal((n, d))
    return X, get_activation(name)(X @ W.T).mean(axis=1), W


def test_the_tuned_start_is_near_and_the_literal_one_is_not():
    """FCL-ALG2, FCL-ALPHA, FCL-T3, FCL-C3 at n = 10,000: the pieces of the tuning, medians of 3
    draws.
    """
    pieces = {
        "tuned": TUNED,
        "literal": LITERAL,
        "best": TensorOptions(alpha="best", split=True, slopes=False),
    }
    medians = {}
    for name, options in pieces.items():
        errors = []
        for seed in range(3):
            X, y, W = draw(10_000, 10, 1.5, seed=seed)
            errors.append(
                match_neurons(
                    tensor_start(X, y, 3, options=options, seed=seed).weights, W
                ).relative_error
            )
        medians[name] = np.median(errors)
    assert medians["tuned"] < 0.2
    assert medians["tuned"] < medians["best"] < medians["literal"]
    assert medians["literal"] > 0.6


@pytest.mark.parametrize(("name", "bound"), [("tanh", 0.2), ("softplus", 0.5)])
def test_other_activations_take_their_own_path(name, bound):
    X, y, W = draw(50_000, 6, 1.5, name)
    start = tensor_start(X, y, 3, name)
    assert start.orders.tensor == (3 if name == "tanh" else 4)
    assert match_neurons(start.weights, W).relative_error < bound


def test_the_second_estimate_of_the_norms_agrees_with_the_first():
    X, y, _ = draw(100_000, 5, 1.5)
    start = tensor_start(X, y, 3)
    np.testing.assert_allclose(start.cross_norms, np.linalg.norm(start.weights, axis=1), rtol=0.25)


def test_unknown_options_and_too_small_parts_are_refused():
    with pytest.raises(DataError, match="alpha"):
        TensorOptions(alpha="second_moment")
    X, y, _ = draw(20, 10, 1.0)
    with pytest.raises(DataError, match="split"):
        tensor_start(X, y, 3, options=LITERAL)
