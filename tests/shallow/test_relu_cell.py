"""Theorem RI (DU-CERT-0) in floats: Gram matrix, choice of neurons by brute force, and the zero it
promises.
"""

import itertools
import math

import numpy as np
import pytest

from globalmin.shallow.relu_margins import cell_gram, cell_slopes, choose_neurons, relative_margins


def instance(seed, n=5, d=4, k=6, size=1e-3):
    rng = np.random.default_rng(seed)
    X, W, v = rng.standard_normal((n, d)), rng.standard_normal((k, d)), rng.standard_normal(k)
    return X, W, v, size * rng.standard_normal(n)


def test_gram_matrix_equals_the_product_of_dense_jacobians():
    X, W, v, _ = instance(0)
    neurons = np.array([0, 2, 3])
    J = np.stack([np.concatenate([v[j] * (W[j] @ x > 0) * x for j in neurons]) for x in X])
    np.testing.assert_allclose(cell_gram(X, cell_slopes(X @ W.T, v), neurons), J @ J.T, atol=1e-12)


def test_margins_are_the_smallest_distance_of_a_neuron_from_any_kink():
    X, W, _, _ = instance(1)
    expected = [min(abs(w @ x) / np.linalg.norm(x) for x in X) for w in W]
    np.testing.assert_allclose(relative_margins(X @ W.T, X), expected, rtol=1e-13)
    with_zero_row = np.vstack([X, np.zeros(X.shape[1])])
    np.testing.assert_allclose(
        relative_margins(with_zero_row @ W.T, with_zero_row), expected, rtol=1e-13
    )
    assert (relative_margins(np.zeros((1, 3)), np.zeros((1, 4))) == math.inf).all()


def valid(X, slopes, margins, norm, subset):
    mu = np.linalg.eigvalsh(cell_gram(X, slopes, np.array(subset)))[0]
    return mu > 1e-12 and all(margins[j] * math.sqrt(mu) >= norm for j in subset)


@pytest.mark.parametrize("seed", range(12))
def test_choice_of_neurons_is_the_largest_valid_set_found_by_brute_force(seed):
    X, W, v, r = instance(seed, n=3, size=3e-2)
    Z = X @ W.T
    slopes, margins, norm = cell_slopes(Z, v), relative_margins(Z, X), float(np.linalg.norm(r))
    cell = choose_neurons(X, slopes, margins, norm)
    subsets = [
        s
        for m in range(1, 7)
        for s in itertools.combinations(range(6), m)
        if valid(X, slopes, margins, norm, s)
    ]
    if not subsets:
        assert cell is None or cell.ratio > 1
        return
    assert cell is not None
    assert cell.ratio <= 1
    assert tuple(cell.neurons) == max(subsets, key=len)
    assert all(set(s) <= set(cell.neurons.tolist()) for s in subsets)


def test_brute_force_meets_all_three_outcomes():
    """The seeds above contain full sets, proper subsets and failures, so that the comparison says
    something.
    """
    outcomes = set()
    for seed in range(12):
        X, W, v, r = instance(seed, n=3, size=3e-2)
        Z = X @ W.T
        cell = choose_neurons(
            X, cell_slopes(Z, v), relative_margins(Z, X), float(np.linalg.norm(r))
        )
        outcomes.add(
            "none"
            if cell is None or cell.ratio > 1
            else "all"
            if cell.neurons.size == 6
            else "some"
        )
    assert outcomes == {"none", "all", "some"}


@pytest.mark.parametrize("seed", range(4))
def test_the_step_of_the_theorem_reaches_zero_loss_inside_the_cell(seed):
    X, W, v, r = instance(seed, k=12, size=1e-4)
    y = np.maximum(X @ W.T, 0.0) @ v - r
    slopes = cell_slopes(X @ W.T, v)
    cell = choose_neurons(X, slopes, relative_margins(X @ W.T, X), float(np.linalg.norm(r)))
    assert cell is not None
    assert cell.ratio <= 1
    alpha = np.linalg.solve(cell_gram(X, slopes, cell.neurons), r)
    moved = W.copy()
    moved[cell.neurons] -= (slopes[:, cell.neurons] * alpha[:, None]).T @ X
    assert np.linalg.norm(moved - W) <= np.linalg.norm(r) / math.sqrt(cell.mu) * (1 + 1e-9)
    assert ((X @ moved.T > 0) == (X @ W.T > 0)).all()
    np.testing.assert_allclose(np.maximum(X @ moved.T, 0.0) @ v, y, atol=1e-13)


def test_singular_cells_and_neurons_on_a_kink_are_left_out():
    X, W, v, r = instance(2)
    Z = X @ W.T
    norm = float(np.linalg.norm(r))
    assert (
        choose_neurons(
            np.vstack([X, X[:1]]),
            cell_slopes(np.vstack([Z, Z[:1]]), v),
            relative_margins(Z, X),
            norm,
        )
        is None
    )
    margins = relative_margins(Z, X)
    margins[1] = 0.0
    cell = choose_neurons(X, cell_slopes(Z, v), margins, norm)
    assert cell is not None
    assert 1 not in cell.neurons
    assert choose_neurons(X, cell_slopes(Z, v), np.zeros(6), norm) is None
