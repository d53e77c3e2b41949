"""Gradient flow against closed forms, on functions, JAX pytrees and torch modules."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from globalmin.errors import DataError
from globalmin.optimize.gradient_flow import METHODS, gradient_flow, integrate_flow
from globalmin.optimize.run import Status


def _quadratic(scales):
    return lambda theta: (0.5 * float(scales @ theta**2), scales * theta)


@pytest.mark.parametrize("method", METHODS)
def test_the_flow_of_a_quadratic_is_exponential(method):
    scales, theta = np.array([1.0, 3.0, 0.5]), np.array([1.0, -2.0, 3.0])
    loose = method in ("RK23", "Radau", "BDF")
    run = integrate_flow(
        _quadratic(scales), theta, time=2.0, method=method, rtol=1e-7 if loose else 1e-11
    )
    np.testing.assert_allclose(
        run.theta, theta * np.exp(-2.0 * scales), rtol=1e-4 if loose else 1e-8
    )
    assert run.status is Status.CONVERGED
    assert run.time[0] == 0.0
    assert run.time[-1] == 2.0
    assert (np.diff(run.losses) < 0).all()


def test_the_integral_is_followed_as_accurately_as_the_flow():
    scales, theta = np.array([1.0, 3.0]), np.array([1.0, -2.0])
    run = integrate_flow(
        _quadratic(scales),
        theta,
        time=1.5,
        integrand=lambda t, g: [g @ g, t[0]],
        measure=lambda t: t,
    )
    lost = run.losses[0] - run.losses  # d loss/dt = -||g||^2
    np.testing.assert_allclose(run.integral[:, 0], lost, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(run.integral[:, 1], 1 - np.exp(-run.time), rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(run.measured, theta * np.exp(-scales * run.time[:, None]), rtol=1e-9)


def test_a_pytree_loss_flows_in_double_precision_and_leaves_the_configuration_alone():
    start = {"a": jnp.ones(2, dtype=jnp.float32), "b": [jnp.full((1, 2), 2.0)]}

    def loss(p):
        return 0.5 * jnp.sum(p["a"] ** 2) + jnp.sum(p["b"][0] ** 2)

    before = jax.config.jax_enable_x64
    run = gradient_flow(loss, start, time=1.0, measure=lambda p: [p["a"][0], p["b"][0][0, 1]])
    assert jax.config.jax_enable_x64 == before
    np.testing.assert_allclose(run.parameters["a"], np.exp(-1.0), rtol=1e-10)
    np.testing.assert_allclose(run.measured[-1], [np.exp(-1.0), 2 * np.exp(-2.0)], rtol=1e-10)


def test_a_torch_module_flows_in_double_precision():
    module = torch.nn.Linear(2, 1, bias=False)
    with torch.no_grad():
        module.weight.copy_(torch.tensor([[1.0, -2.0]]))
    run = gradient_flow(lambda m: 0.5 * (m.weight**2).sum(), module, time=1.0)
    np.testing.assert_allclose(run.theta, np.exp(-1.0) * np.array([1.0, -2.0]), rtol=1e-10)
    np.testing.assert_array_equal(module.weight.detach().numpy(), [[1.0, -2.0]])


def test_the_run_ends_by_its_own_limits():
    oracle = _quadratic(np.ones(1))
    run = integrate_flow(oracle, np.ones(1), time=100.0, tol=1e-3)
    assert run.status is Status.CONVERGED
    assert run.gradient_norm[-1] <= 1e-3 < run.gradient_norm[-2]
    run = integrate_flow(oracle, np.ones(1), time=100.0, max_evaluations=50)
    assert run.status is Status.MAX_ITER
    assert "kink_width" in run.message
    run = integrate_flow(
        lambda t: (-float(t[0] ** 4), -4 * t**3), np.ones(1), time=1.0
    )  # blows up at t = 1/8
    assert run.status is Status.STALLED
    assert run.time[-1] == pytest.approx(0.125, abs=1e-3)
    run = integrate_flow(oracle, np.ones(1), time=1.0, max_records=3)
    assert len(run.time) == 3
    assert run.time[-1] == 1.0


def test_bad_options_are_refused():
    with pytest.raises(DataError, match="method='euler'"):
        integrate_flow(_quadratic(np.ones(1)), np.ones(1), time=1.0, method="euler")
    with pytest.raises(DataError, match="time=0"):
        integrate_flow(_quadratic(np.ones(1)), np.ones(1), time=0.0)
