"""The hook on torch modules, JAX pytrees and our own networks, against slow definitions and the
exact identity.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from torch import nn

import globalmin as gm
from globalmin.balancedness.network import fully_connected
from globalmin.balancedness.runs import follow_descent, pose_balance
from globalmin.balancedness.watch import balancedness_of, watch_network, watch_pytree, watch_torch
from globalmin.errors import DataError, HypothesisError


def _train(module, optimizer, shape, steps=25, seed=0):
    generator = torch.Generator().manual_seed(seed)
    X = torch.randn(16, *shape, generator=generator, dtype=torch.float64)
    Y = torch.randn(16, 3, generator=generator, dtype=torch.float64)
    for _ in range(steps):
        optimizer.zero_grad()
        (0.5 * (module(X) - Y) ** 2).sum(dim=1).mean().backward()
        optimizer.step()


def _perceptron(seed=0, activation=None, **options):
    torch.manual_seed(seed)
    layers = [
        nn.Linear(6, 5, **options),
        activation or nn.ReLU(),
        nn.Linear(5, 4, **options),
        nn.LeakyReLU(),
        nn.Linear(4, 3),
    ]
    return nn.Sequential(*layers).double()


def _convolutional(seed=0):
    torch.manual_seed(seed)
    body = nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(4, 6, 3, groups=2, bias=False),
    )
    return nn.Sequential(
        body, nn.PReLU(), nn.Flatten(), nn.Dropout(0.2), nn.Linear(6 * 2 * 2, 3)
    ).double()


@pytest.mark.parametrize("bias", [True, False])
def test_a_torch_perceptron_is_measured_by_neuron_with_its_bias_on_the_incoming_side(bias):
    module = _perceptron(bias=bias)
    found = balancedness_of(module)
    W = [module[i].weight.detach().numpy() for i in (0, 2, 4)]
    b = [module[i].bias.detach().numpy() ** 2 if bias else 0.0 for i in (0, 2)]
    np.testing.assert_allclose(
        found["0-2"], (W[0] ** 2).sum(axis=1) + b[0] - (W[1] ** 2).sum(axis=0), rtol=1e-12
    )
    np.testing.assert_allclose(
        found["2-4"], (W[1] ** 2).sum(axis=1) + b[1] - (W[2] ** 2).sum(axis=0), rtol=1e-12
    )


def test_a_torch_convolution_is_measured_by_channel_through_pooling_and_groups():
    module = _convolutional()
    found = balancedness_of(module)
    first, second, last = (
        module[0][0],
        module[0][3].weight.detach().numpy(),
        module[4].weight.detach().numpy(),
    )
    entering = (first.weight.detach().numpy() ** 2).sum(
        axis=(1, 2, 3)
    ) + first.bias.detach().numpy() ** 2
    leaving = [
        (second[:3, 0] ** 2).sum(),
        (second[:3, 1] ** 2).sum(),
        (second[3:, 0] ** 2).sum(),
        (second[3:, 1] ** 2).sum(),
    ]
    np.testing.assert_allclose(found["0.0-0.3"], entering - leaving, rtol=1e-12)
    columns = (last.reshape(3, 6, 4) ** 2).sum(axis=(0, 2))
    np.testing.assert_allclose(
        found["0.3-4"], (second**2).sum(axis=(1, 2, 3)) - columns, rtol=1e-12
    )


@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_plain_sgd_of_torch_follows_the_exact_identity(decay):
    """DU-T4.1, DU-T4.3 on a user's model: every recorded drift is the sum of eta^2 D(g), dropout
    included.
    """
    for module, shape in ((_perceptron(), (6,)), (_convolutional(), (2, 8, 8))):
        optimizer = torch.optim.SGD(module.parameters(), lr=0.05, weight_decay=decay)
        watch = watch_torch(module, optimizer)
        _train(module, optimizer, shape)
        assert watch.values.shape[0] == 26
        assert np.abs(watch.drift).max() > 1e-4
        np.testing.assert_allclose(watch.drift, watch.predicted, atol=1e-13)


def test_a_linear_gap_of_torch_is_watched_as_a_matrix():
    torch.manual_seed(0)
    module = nn.Sequential(
        nn.Linear(6, 4, bias=False), nn.Identity(), nn.Linear(4, 3, bias=False)
    ).double()
    optimizer = torch.optim.SGD(module.parameters(), lr=0.05)
    watch = watch_torch(module, optimizer)
    assert watch.values.shape[1] == 10
    _train(module, optimizer, (6,))
    np.testing.assert_allclose(watch.drift, watch.predicted, atol=1e-13)
    assert "4 x 4 matrix" in str(watch)


def test_other_optimizers_are_recorded_without_prediction():
    module = _perceptron()
    for optimizer in (
        torch.optim.Adam(module.parameters()),
        torch.optim.SGD(module.parameters(), lr=0.01, momentum=0.9),
    ):
        watch = watch_torch(module, optimizer)
        _train(module, optimizer, (6,), steps=3)
        assert watch.values.shape[0] == 4
        assert np.isnan(watch.predicted[1:]).all()
        assert np.abs(watch.drift[-1]).max() > 0


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"lr": 0.05}, {"lr": 0.02}),
        ({"lr": 0.05, "weight_decay": 0.1}, {"lr": 0.05, "weight_decay": 0.2}),
        ({"lr": 0.05, "maximize": True}, {"lr": 0.05, "maximize": True}),
    ],
)
def test_groups_that_step_differently_or_upward_are_recorded_without_prediction(first, second):
    """One step size and one decay for all are what the identity of a step is about."""
    module = _perceptron()
    optimizer = torch.optim.SGD(
        [
            {"params": module[0].parameters(), **first},
            {"params": [*module[2].parameters(), *module[4].parameters()], **second},
        ]
    )
    watch = watch_torch(module, optimizer)
    _train(module, optimizer, (6,), steps=2)
    assert np.isnan(watch.predicted[1:]).all()


def test_small_steps_drift_less_and_record_can_be_called_by_hand():
    drifts = []
    for lr in (0.02, 0.01, 0.005):
        module = _perceptron()
        watch = watch_torch(module)
        _train(module, torch.optim.SGD(module.parameters(), lr=lr), (6,), steps=round(1 / lr))
        drifts.append(np.abs(watch.record(None)).max())
    np.testing.assert_allclose(np.divide(drifts[:-1], drifts[1:]), 2.0, rtol=0.1)


def test_what_breaks_the_law_is_named_and_skipped():
    shared = nn.Linear(5, 5)
    cases = {
        "Tanh is not known": nn.Sequential(
            nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 3)
        ),
        "BatchNorm1d is not": nn.Sequential(
            nn.Linear(6, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Linear(5, 4), nn.Linear(4, 3)
        ),
        "used by several": nn.Sequential(
            nn.Linear(6, 5), nn.Linear(5, 5), shared, nn.ReLU(), shared
        ),
        "without Flatten": nn.Sequential(
            nn.Conv1d(1, 2, 3), nn.Conv1d(2, 2, 3), nn.ReLU(), nn.Linear(4, 3)
        ),
        "mixes its neurons": nn.Sequential(
            nn.Linear(6, 6), nn.Linear(6, 6), nn.MaxPool1d(2), nn.Linear(3, 3)
        ),
        "reads a Linear": nn.Sequential(nn.Linear(6, 6), nn.Linear(6, 6), nn.Conv1d(1, 2, 3)),
        "Flatten keeps": nn.Sequential(
            nn.Conv1d(1, 2, 3), nn.Conv1d(2, 2, 3), nn.Flatten(0, 1), nn.Linear(4, 3)
        ),
    }
    for reason, module in cases.items():
        watch = watch_torch(module)
        assert any(reason in text for text in watch.skipped.values()), reason
        assert reason in str(watch)
        assert watch.boundaries
    frozen = _perceptron()
    frozen[4].weight.requires_grad_(False)
    assert watch_torch(frozen).skipped == {"2-4": "a layer is frozen"}


def test_modules_that_cannot_be_read_are_refused_with_a_remedy():
    class Custom(nn.Module):
        pass

    with pytest.raises(DataError, match="hidden in its forward method"):
        watch_torch(Custom())
    with pytest.raises(HypothesisError, match="Sigmoid is not known"):
        watch_torch(nn.Sequential(nn.Linear(2, 2), nn.Sigmoid(), nn.Linear(2, 2)))
    module = _perceptron()
    with pytest.raises(DataError, match="does not own all"):
        watch_torch(module, torch.optim.SGD(module[0].parameters(), lr=0.1))
    with pytest.raises(DataError, match="pass the optimizer"):
        watch_torch(module).record(module[0])
    parts = [module[i] for i in range(5)]
    np.testing.assert_array_equal(balancedness_of(parts)["0-2"], balancedness_of(module)["0-2"])


def _jax_loss(params, X, Y):
    x = X
    for W, b in params[:-1]:
        x = jax.nn.relu(x @ W + b)
    return 0.5 * jnp.mean(jnp.sum((x @ params[-1][0] + params[-1][1] - Y) ** 2, axis=1))


def test_a_jax_pytree_is_watched_through_a_plain_training_loop():
    with jax.enable_x64(True):
        rng = np.random.default_rng(0)
        X, Y = jnp.asarray(rng.standard_normal((16, 6))), jnp.asarray(rng.standard_normal((16, 3)))
        shapes = [(6, 5), (5, 4), (4, 3)]
        params = [
            (jnp.asarray(rng.standard_normal(s) / 2), jnp.asarray(rng.standard_normal(s[1]) / 5))
            for s in shapes
        ]
        watch = watch_pytree(params, layout="in_out", activation="relu")
        gradient = jax.jit(jax.grad(_jax_loss))
        for _ in range(20):
            g = gradient(params, X, Y)
            params = jax.tree_util.tree_map(lambda p, s: p - 0.05 * s, params, g)
            watch.record(params, gradients=g, step_size=0.05)
    np.testing.assert_allclose(watch.drift, watch.predicted, atol=1e-13)
    assert np.abs(watch.drift).max() > 1e-4
    W, b = np.asarray(params[0][0]), np.asarray(params[0][1])
    wanted = (W**2).sum(axis=0) + b**2 - (np.asarray(params[1][0]) ** 2).sum(axis=1)
    np.testing.assert_allclose(balancedness_of(params, layout="in_out")["1-2"], wanted, rtol=1e-12)


def test_pytrees_may_be_mappings_plain_matrices_or_channels_last_convolutions():
    rng = np.random.default_rng(1)
    W, V, kernel, head = (
        rng.standard_normal(s) for s in ((5, 6), (3, 5), (3, 3, 2, 4), (4 * 7, 3))
    )
    wanted = (W**2).sum(axis=1) - (V**2).sum(axis=0)
    np.testing.assert_allclose(balancedness_of([W, V], layout="out_in")["1-2"], wanted)
    tree = {"Dense_0": {"kernel": W.T}, "Dense_1": {"kernel": V.T, "bias": np.ones(3)}}
    np.testing.assert_allclose(balancedness_of(tree, layout="in_out")["1-2"], wanted)
    found = balancedness_of([W, V], layout="out_in", activation="quadratic")["1-2"]
    np.testing.assert_allclose(found, (W**2).sum(axis=1) - 2 * (V**2).sum(axis=0))
    found = balancedness_of([kernel, head], layout="in_out")["1-2"]
    rows = (head.reshape(7, 4, 3) ** 2).sum(axis=(0, 2))
    np.testing.assert_allclose(found, (kernel**2).sum(axis=(0, 1, 2)) - rows)


def test_pytrees_that_do_not_fit_are_refused():
    W, V = np.ones((5, 6)), np.ones((3, 5))
    with pytest.raises(DataError, match="layout="):
        balancedness_of([W, V])
    with pytest.raises(DataError, match="layout='in_out'"):
        balancedness_of([W.T, V.T], layout="out_in")
    with pytest.raises(DataError, match="other layout"):
        balancedness_of([(W.T, np.ones(5)), V.T], layout="out_in")
    with pytest.raises(DataError, match="at least two"):
        balancedness_of([W], layout="out_in")
    with pytest.raises(HypothesisError, match="not homogeneous"):
        balancedness_of([W, V], layout="out_in", activation="tanh")
    with pytest.raises(DataError, match="one weight array"):
        balancedness_of([{"a": W, "b": W}, V], layout="out_in")


def test_our_own_networks_are_watched_from_the_monitor_of_their_training():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((12, 4)), rng.standard_normal(12)
    network = gm.DeepNetwork.initialize((4,), 6, 2, "fully_connected", "relu", seed=0)
    watch = watch_network(network)
    options = {"method": "gradient_descent", "step_size": 1e-3, "max_iter": 50}
    gm.train_deep(network, (X, y), monitor=lambda step: watch.record(step.network()), **options)
    again = follow_descent(
        pose_balance(network, X, y), network.parameters, step_size=12e-3, max_iter=50
    )  # the mean over 12
    assert np.abs(watch.drift).max() > 1e-3
    np.testing.assert_allclose(watch.values[1:], again.values, rtol=1e-10, atol=1e-12)


def test_a_shallow_network_trained_in_both_layers_is_watched():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((12, 4)), rng.standard_normal(12)
    shallow = gm.ShallowNetwork(
        rng.standard_normal((3, 4)), rng.standard_normal(3), gm.get_activation("leaky_relu(0.1)")
    )
    np.testing.assert_allclose(
        balancedness_of(shallow)["1-2"], (shallow.W**2).sum(axis=1) - shallow.v**2, rtol=1e-13
    )
    watch = watch_network(shallow)
    options = {"method": "gradient_descent", "trained": "vW", "step_size": 1e-3, "max_iter": 20}
    gm.train(
        shallow,
        gm.Dataset(X, y, bias=False, scaling="none"),
        monitor=lambda step: watch.record(step.network()),
        **options,
    )
    twin = fully_connected([4, 3, 1], "leaky_relu(0.1)")
    theta = np.concatenate([shallow.W.ravel(), shallow.v])
    again = follow_descent(pose_balance(twin, X, y), theta, step_size=12e-3, max_iter=20)
    np.testing.assert_allclose(watch.values[-1], again.values[-1], rtol=1e-10)
    assert np.abs(watch.drift[-1]).max() > 1e-3
