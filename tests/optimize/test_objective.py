"""The adapter: a Python function, a JAX pytree loss and a torch module become the same function of
one vector.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from globalmin.errors import DataError
from globalmin.optimize.objective import as_objective

X = np.random.default_rng(0).standard_normal((12, 3))
Y = np.sin(X.sum(axis=1))
W0 = np.random.default_rng(1).standard_normal((4, 3))
V0 = np.random.default_rng(2).standard_normal(4)


def _pytree_loss(tree):
    return 0.5 * jnp.sum((jnp.tanh(X @ tree["W"].T) @ tree["v"] - Y) ** 2)


class _Net(torch.nn.Module):
    def __init__(self, dtype):
        super().__init__()
        self.v = torch.nn.Parameter(torch.tensor(V0, dtype=dtype))
        self.W = torch.nn.Parameter(torch.tensor(W0, dtype=dtype))

    def forward(self, x):
        return torch.tanh(x @ self.W.T) @ self.v


def _module_loss(module):
    return 0.5 * ((module(torch.tensor(X)) - torch.tensor(Y)) ** 2).sum()


def _by_hand(x):
    """Loss, gradient and Hessian of the same network with numpy and the formulas of the landscape
    room.
    """
    from globalmin.shallow.hessian import gradient, hessian
    from globalmin.shallow.network import ShallowNetwork, residual

    network = ShallowNetwork(x[4:].reshape(4, 3), x[:4], "tanh")
    r = residual(network, X, Y)
    in_W, in_v = gradient(network, X, Y, trained="vW")
    return 0.5 * r @ r, np.concatenate([in_v, in_W.ravel()]), hessian(network, X, Y, trained="vW")


def _assert_same(objective, x):
    value, slope = objective.value_and_gradient(x)
    u = np.random.default_rng(3).standard_normal(x.size)
    expected = _by_hand(x)
    assert value == pytest.approx(expected[0], rel=1e-13)
    np.testing.assert_allclose(slope, expected[1], rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(objective.hessian(x), expected[2], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(
        objective.hessian_times(x, u), expected[2] @ u, rtol=1e-10, atol=1e-12
    )


def test_a_pytree_loss_has_the_derivatives_of_the_formulas_in_double_precision():
    before = jax.config.jax_enable_x64
    start = {"W": jnp.asarray(W0, dtype=jnp.float32), "v": V0}  # flattened by key: W before v
    objective = as_objective(
        lambda tree: _pytree_loss({"W": tree["b_W"], "v": tree["a_v"]}), {"a_v": V0, "b_W": W0}
    )
    assert objective.kind == "pytree"
    _assert_same(objective, objective.start)
    restored = as_objective(_pytree_loss, start).restore(np.arange(16.0))
    assert restored["W"].shape == (4, 3)
    assert restored["W"].dtype == np.float64
    assert jax.config.jax_enable_x64 == before
    assert jnp.zeros(1).dtype == (jnp.float64 if before else jnp.float32)


def test_a_torch_module_in_double_precision_has_the_derivatives_of_the_formulas():
    objective = as_objective(_module_loss, _Net(torch.float64))
    assert objective.kind == "torch"
    _assert_same(objective, objective.start)


def test_a_single_precision_module_is_differentiated_in_double_precision():
    module, inputs, labels = (
        _Net(torch.float32),
        torch.tensor(X, dtype=torch.float32),
        torch.tensor(Y, dtype=torch.float32),
    )
    objective = as_objective(lambda: 0.5 * torch.square(module(inputs) - labels).sum(), module)
    x = objective.start
    value, slope = objective.value_and_gradient(x)

    def same_loss(flat):
        v, W = flat[:4], flat[4:].reshape(4, 3)
        return 0.5 * np.sum(
            (np.tanh(inputs.double().numpy() @ W.T) @ v - labels.double().numpy()) ** 2
        )

    differences = as_objective(same_loss, x, derivatives="central_differences")
    assert value == pytest.approx(
        same_loss(x), rel=1e-14
    )  # single precision would agree to 1e-7 only
    np.testing.assert_allclose(slope, differences.value_and_gradient(x)[1], rtol=1e-7, atol=1e-8)


def test_the_module_is_not_changed_and_the_restored_copy_keeps_its_type():
    module = _Net(torch.float32)
    objective = as_objective(_module_loss, module)
    objective.value_and_gradient(objective.start + 1.0)
    copied = objective.restore(objective.start + 1.0)
    np.testing.assert_allclose(module.W.detach().numpy(), W0.astype(np.float32))
    np.testing.assert_allclose(copied.W.detach().numpy(), W0.astype(np.float32) + 1.0, rtol=1e-6)
    assert copied.W.dtype == torch.float32
    assert module.W.grad is None


def test_frozen_parameters_of_a_module_are_left_alone():
    module = _Net(torch.float64)
    module.v.requires_grad_(False)
    objective = as_objective(_module_loss, module)
    assert objective.size == 12
    np.testing.assert_array_equal(objective.restore(np.zeros(12)).v.detach().numpy(), V0)


def test_tensors_written_in_place_inside_the_closure_keep_their_meaning():
    module = _Net(torch.float32)

    def loss():
        outputs = torch.zeros(12)
        for i in range(12):
            outputs[i] = module(torch.tensor(X[i : i + 1], dtype=torch.float32))[0]
        return outputs.square().sum()

    value, slope = as_objective(loss, module).value_and_gradient(np.concatenate([V0, W0.ravel()]))
    whole = as_objective(
        lambda: module(torch.tensor(X, dtype=torch.float32)).square().sum(), module
    )
    expected = whole.value_and_gradient(np.concatenate([V0, W0.ravel()]))
    assert value == pytest.approx(expected[0], rel=1e-6)
    np.testing.assert_allclose(slope, expected[1], rtol=1e-5, atol=1e-5)


def _quartic(x):
    return x[0] ** 4 / 4 - x[0] ** 2 / 2 + x[0] * x[1] + x[1] ** 2


def _quartic_gradient(x):
    return [x[0] ** 3 - x[0] + x[1], x[0] + 2 * x[1]]


def _quartic_hessian(x):
    return [[3 * x[0] ** 2 - 1, 1.0], [1.0, 2.0]]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"gradient": _quartic_gradient},
        {"gradient": _quartic_gradient, "hessian": _quartic_hessian},
        {"hessian": _quartic_hessian},
        {"gradient": _quartic_gradient, "derivatives": "central_differences"},
        {"derivatives": "central_differences"},
    ],
)
def test_a_plain_function_with_given_traced_or_difference_derivatives(options):
    objective, x, u = (
        as_objective(_quartic, [0.3, -0.7], **options),
        np.array([0.3, -0.7]),
        np.array([1.0, 2.0]),
    )
    value, slope = objective.value_and_gradient(x)
    close = 1e-3 if options == {"derivatives": "central_differences"} else 1e-8
    assert value == pytest.approx(_quartic(x), rel=1e-14)
    np.testing.assert_allclose(slope, _quartic_gradient(x), rtol=1e-8)
    np.testing.assert_allclose(objective.hessian(x), _quartic_hessian(x), rtol=close, atol=close)
    np.testing.assert_allclose(
        objective.hessian_times(x, u), np.array(_quartic_hessian(x)) @ u, rtol=close, atol=close
    )


def test_jax_is_asked_only_for_what_is_missing():
    """A loss that JAX cannot trace is fine as long as no Hessian is needed."""
    objective = as_objective(lambda x: math.cos(x[0]), [0.3], gradient=lambda x: [-math.sin(x[0])])
    assert objective.value_and_gradient(np.array([0.3])) == (
        math.cos(0.3),
        pytest.approx([-math.sin(0.3)]),
    )
    with pytest.raises(DataError, match="hessian="):
        objective.hessian(np.array([0.3]))


def test_the_function_sees_an_array_of_the_shape_of_the_start():
    objective = as_objective(lambda A: jnp.sum(A @ A.T), np.ones((2, 3)))
    assert objective.value_and_gradient(objective.start)[0] == 12.0
    assert objective.restore(objective.start).shape == (2, 3)


def test_a_function_that_jax_cannot_trace_is_refused_with_the_three_remedies():
    objective = as_objective(lambda x: math.sin(x[0]), [0.3])
    with pytest.raises(DataError, match="central_differences") as caught:
        objective.value_and_gradient(objective.start)
    assert "gradient=" in str(caught.value)
    assert "jax.numpy" in str(caught.value)


@pytest.mark.parametrize(
    ("loss", "start", "options", "message"),
    [
        (3.0, [1.0], {}, "callable"),
        (_quartic, [], {}, "no leaves"),
        (_quartic, np.zeros(0), {}, "at least one"),
        (_quartic, [np.nan, 1.0], {}, "finite"),
        (_quartic, [1.0, 2.0], {"derivatives": "numeric"}, "derivatives"),
        (_pytree_loss, {"W": "text"}, {}, "leaf"),
        (_pytree_loss, {"W": np.array([np.nan])}, {}, "NaN"),
        (_pytree_loss, {"W": W0, "v": V0}, {"gradient": _quartic_gradient}, "pytree"),
        (_module_loss, _Net(torch.float64), {"derivatives": "central_differences"}, "torch module"),
    ],
)
def test_wrong_arguments_are_named(loss, start, options, message):
    with pytest.raises(DataError, match=message):
        as_objective(loss, start, **options)


def test_losses_and_derivatives_of_the_wrong_size_are_named():
    x = np.zeros(2)
    with pytest.raises(DataError, match="one number"):
        as_objective(lambda x: x, x, derivatives="central_differences").value_and_gradient(x)
    with pytest.raises(DataError, match="gradient returned"):
        as_objective(_quartic, x, gradient=lambda x: [1.0]).value_and_gradient(x)
    with pytest.raises(DataError, match="hessian returned"):
        as_objective(_quartic, x, hessian=lambda x: [1.0]).hessian(x)
    many = as_objective(lambda module: module(torch.tensor(X)), _Net(torch.float64))
    with pytest.raises(DataError, match="one number"):
        many.value_and_gradient(many.start)
    constant = as_objective(lambda module: torch.tensor(1.0), _Net(torch.float64))
    with pytest.raises(DataError, match="does not depend"):
        constant.value_and_gradient(constant.start)
    with pytest.raises(DataError, match="arguments"):
        as_objective(lambda module, batch: module(batch).sum(), _Net(torch.float64))
