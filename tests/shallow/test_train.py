"""Restarts, widths, starts and memory."""

import numpy as np
import pytest

from globalmin.activations import get_activation
from globalmin.data import Dataset, generators
from globalmin.errors import DataError, MemoryRefused
from globalmin.optimize.run import Status
from globalmin.proving.producer import certify
from globalmin.shallow.initialization import os_head
from globalmin.shallow.methods.table import METHODS, method_for
from globalmin.shallow.network import ShallowNetwork, jacobian_gram, outputs
from globalmin.shallow.problem import estimate_memory
from globalmin.shallow.starts import (
    MAX_STARTS,
    between,
    draws,
    oscillation_of,
    redrawn,
    separating,
    tree_edges,
    usable,
    with_reach,
)
from globalmin.shallow.train import _plan, train, train_auto
from globalmin.shallow.widths import (
    GROWTH,
    can_interpolate,
    first_width,
    function_space_dimension,
    widths,
)


def sphere(n=30, d=6, seed=0):
    return generators.sphere_with_random_labels(n, d, seed=seed)


def few_features(n=30, d=1, seed=1):
    rng = np.random.default_rng(seed)
    return Dataset(rng.standard_normal((n, d)), rng.standard_normal(n))


def test_method_by_activation():
    assert method_for(get_activation("softplus")) == "levenberg_marquardt"
    assert [method_for(get_activation(a)) for a in ("relu", "leaky_relu", "abs")] == [
        "homotopy"
    ] * 3
    first_order = {
        "gradient_descent",
        "sgd",
        "gradient_flow",
        "lbfgs",
        "perturbed_gradient_descent",
    }
    others = {"levenberg_marquardt", "homotopy", "trust_region", "least_squares"}
    assert set(METHODS) == others | first_order


def test_first_width_is_the_smallest_even_one_with_a_fifth_more_weights_than_samples():
    phi = get_activation("softplus")
    for n, d in [(100, 10), (100, 20), (442, 10), (7, 3)]:
        k = first_width(sphere(n, d), phi)
        assert k % 2 == 0
        assert k * d >= 1.2 * n
        assert k >= n / d + 1
        assert (k - 2) * d < 1.2 * n or k - 2 < n / d + 1


def test_widths_grow_to_six_times_the_first_and_a_given_width_stays():
    data, phi = sphere(100, 10), get_activation("softplus")
    tried = list(widths(data, "auto", phi))
    assert tried == [12, 24, 36, 48, 72]
    assert list(widths(data, 7, phi)) == [7]
    for bad in (0, 2.5, "wide", True):
        with pytest.raises(DataError, match="width="):
            list(widths(data, bad, phi))


def test_capacity_counts_monomials():
    assert function_space_dimension(get_activation("linear"), 4) == 4
    assert function_space_dimension(get_activation("quadratic"), 4) == 10
    assert function_space_dimension(get_activation("polynomial(1,0,0,1)"), 2) == 1 + 4
    assert function_space_dimension(get_activation("tanh"), 4) == float("inf")


def test_counting_says_where_interpolation_is_hopeless():
    data = sphere(30, 6)
    assert can_interpolate(ShallowNetwork.initialize(data, 6), data)
    assert not can_interpolate(ShallowNetwork.initialize(data, 4), data)
    assert not can_interpolate(ShallowNetwork.initialize(data, 50, "quadratic"), data)
    at_zero = Dataset.from_preprocessed(np.vstack([np.zeros(3), np.eye(3)]), np.ones(4))
    assert not can_interpolate(ShallowNetwork.initialize(at_zero, 8), at_zero)
    assert can_interpolate(ShallowNetwork.initialize(at_zero, 8), at_zero, "vW")


def test_a_hopeless_width_is_tried_once_and_says_so():
    run = train_auto(sphere(60, 4), 4)
    assert run.starts == 1
    assert not run.status.is_success


def test_restarts_begin_with_the_network_itself_and_keep_its_head():
    network = ShallowNetwork.initialize(sphere(), 8)
    first, second = (n for n, _ in zip(redrawn(network, 0), range(2), strict=False))
    assert first is network
    assert np.array_equal(second.v, network.v)
    assert not np.array_equal(second.W, network.W)
    assert second.W.shape == network.W.shape


def test_auto_starts_again_after_a_bad_start():
    data = sphere(20, 5)
    # all pre-activations are far below zero at these positive inputs: no neuron is alive, at any
    # sharpness of the homotopy
    dead = ShallowNetwork(np.full((8, 5), -1e4), np.tile([0.3, -0.3], 4), get_activation("relu"))
    run = train(dead, Dataset.from_preprocessed(np.abs(data.X), data.y), "auto", seed=0)
    assert run.status is Status.CONVERGED
    assert run.starts > 1


def test_results_are_functions_of_the_seed():
    data = sphere(40, 6)
    a, b, c = (train_auto(data, seed=s) for s in (0, 0, 1))
    assert np.array_equal(a.network.W, b.network.W)
    assert not np.array_equal(a.network.W, c.network.W)


def test_an_odd_head_has_no_idle_neuron():
    network = ShallowNetwork.initialize(sphere(), 7)
    size = np.abs(os_head(np.asarray(sphere().y), 7)).max()
    assert network.v.tolist() == pytest.approx([size] * 3 + [-size] * 3 + [size])
    idle = network.with_weights(v=os_head(np.asarray(sphere().y), 7))
    assert np.array_equal(usable(idle).v, network.v)
    even = ShallowNetwork.initialize(sphere(), 8)
    assert usable(even) is even


def test_the_two_step_use_fits_at_odd_widths_just_above_the_count_of_labels():
    """With the published zero in the head 2 of 20 fitted."""
    for seed in range(4):
        data = sphere(100, 10, seed=seed)
        run = train(ShallowNetwork.initialize(data, 11, seed=seed), data)
        assert run.relative_residual < 1e-10


@pytest.mark.parametrize(("name", "oscillation"), [("tanh", 2.0), ("sigmoid", 1.0), ("erf", 2.0)])
def test_bounded_activations_get_a_head_that_reaches_the_labels(name, oscillation):
    network = ShallowNetwork.initialize(sphere(), 8, name)
    assert oscillation_of(network.activation) == oscillation
    assert np.allclose(with_reach(network).v, network.v * 8 / oscillation)


def test_unbounded_activations_keep_their_head():
    for name in ("softplus", "relu", "abs", "gelu", "swish", "quadratic", "linear"):
        assert oscillation_of(get_activation(name)) is None


@pytest.mark.parametrize("activation", ["tanh", "sigmoid", "erf", "gelu", "swish"])
def test_other_activations_interpolate_at_the_first_width(activation):
    run = train_auto(sphere(100, 10), activation=activation)
    assert run.status is Status.CONVERGED
    assert run.relative_residual < 1e-13


def test_between_gives_the_shortest_vector_with_the_values_one_and_minus_one():
    rng = np.random.default_rng(0)
    P, Q = rng.standard_normal((6, 4)), rng.standard_normal((6, 4))
    for p, q, w in zip(P, Q, between(P, Q), strict=True):
        assert np.allclose(
            w, np.linalg.lstsq(np.stack([p, q]), np.array([1.0, -1.0]), rcond=None)[0]
        )
    assert np.allclose(between(P[:1], 2 * P[:1]) @ P[0], 1.0)


def test_tree_of_a_line_of_points_connects_neighbors():
    x = np.random.default_rng(0).permutation(12).astype(float)
    edges = tree_edges(np.stack([x, np.ones(12)], axis=1))
    assert len(edges) == 11
    assert all(abs(x[i] - x[j]) == 1 for i, j in edges)


def test_separating_start_outputs_zero_and_has_a_regular_gram_where_the_published_has_not():
    data = few_features(30, 1)
    network = ShallowNetwork.initialize(data, 120)
    start = separating(network, data, np.random.default_rng(0))
    assert np.max(np.abs(outputs(start, data.X))) < 1e-9
    published = np.linalg.eigvalsh(jacobian_gram(network, data.X))
    ours = np.linalg.eigvalsh(jacobian_gram(start, data.X))
    assert published[0] < 1e-15 * published[-1]
    assert ours[0] > 1e-9 * ours[-1]


@pytest.mark.parametrize("activation", ["softplus", "relu", "tanh"])
def test_one_feature_with_random_labels_is_interpolated_by_a_wider_network(activation):
    run = train_auto(few_features(), activation=activation)
    assert run.status is Status.CONVERGED
    assert run.relative_residual < 1e-10
    assert run.width > first_width(few_features(), get_activation(activation))


def test_first_draw_is_the_published_initialization():
    data, phi = sphere(), get_activation("softplus")
    first, second = draws(data, 8, phi, ("published", "separating"), seed=3)
    assert np.array_equal(first.W, ShallowNetwork.initialize(data, 8, phi, seed=3).W)
    assert not np.array_equal(first.W, second.W)


@pytest.mark.parametrize(("n", "d"), [(1, 1), (1, 4), (2, 1)])
def test_tiny_data_are_fitted(n, d):
    run = train_auto(few_features(n, d), activation="softplus")
    assert run.status is Status.CONVERGED


def test_zero_labels_are_fitted():
    rng = np.random.default_rng(0)
    run = train_auto(Dataset.from_preprocessed(rng.standard_normal((6, 3)), np.zeros(6)))
    assert run.status is Status.CONVERGED
    assert run.loss < 1e-24


def test_memory_is_counted_and_refused_before_it_is_allocated(monkeypatch):
    assert estimate_memory(10_000, 100, 120) < 3 * 2**30
    assert estimate_memory(10_000, 100, 120, "gradient_descent") < 2**28
    data = sphere(30, 6)
    network = ShallowNetwork.initialize(data, 8)
    monkeypatch.setattr("globalmin.data.validation.available_bytes", lambda: 10_000)
    with pytest.raises(MemoryRefused, match=r"levenberg_marquardt.*n=30"):
        train(network, data, "levenberg_marquardt")
    assert train(network, data, "lbfgs", tol=1e-3).status is Status.CONVERGED


def test_auto_tries_six_starts_in_all():
    plans = [_plan(number, "levenberg_marquardt", None) for number in range(len(GROWTH))]
    assert sum(map(len, plans)) == MAX_STARTS


def test_repeated_rows_with_equal_labels_do_not_end_the_search_before_a_provable_fit():
    """ReLU: the provability of one sample per group of repeated rows is asked, as the certificate
    drops the others.
    """
    base = sphere(20, 6)
    data = Dataset(
        np.vstack([base.X, base.X[:3]]), np.append(base.y, base.y[:3]), bias=False, scaling="none"
    )
    run = train_auto(data, activation="relu", seed=0)
    assert certify(run.network, data).claims[0].kind == "relu-interpolation"


@pytest.mark.parametrize("method", ["auto", *sorted(set(METHODS) - {"least_squares"})])
def test_a_misspelled_option_is_refused(method):
    data = sphere(8, 4)
    net = ShallowNetwork.initialize(data, width=4, activation="softplus", seed=0)
    with pytest.raises(DataError, match="max_itr is no option"):
        train(net, data, method=method, max_itr=3)
    with pytest.raises(DataError, match="max_itr is no option"):
        train_auto(data, 4, method=method, max_itr=3)
