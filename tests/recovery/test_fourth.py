"""Fourth derivatives (FCL-D3) against nested automatic differentiation and the suprema."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from globalmin.activations import get_activation
from globalmin.errors import HypothesisError
from globalmin.recovery.geometry import fourth_derivative, fourth_directional_derivative

PHI = {
    "sigmoid": jax.nn.sigmoid,
    "sigmoid(2)": lambda z: jax.nn.sigmoid(2 * z),
    "softplus": jax.nn.softplus,
    "softplus(3)": lambda z: jax.nn.softplus(3 * z) / 3,
    "tanh": jnp.tanh,
    "erf": jax.scipy.special.erf,
}


@pytest.mark.parametrize("name", PHI)
def test_fourth_derivatives_agree_with_automatic_differentiation_and_stay_below_the_supremum(name):
    z = np.linspace(-6, 6, 2001)
    with jax.enable_x64(True):
        f = PHI[name]
        for _ in range(4):
            f = jax.grad(f)
        expected = np.asarray(jax.vmap(f)(jnp.asarray(z)))
    found = fourth_derivative(z, name)
    np.testing.assert_allclose(found, expected, atol=1e-11)
    bound = float(get_activation(name).supremum(4))
    assert 0.99 * bound <= np.abs(found).max() <= bound


@pytest.mark.parametrize("name", ["sigmoid", "tanh", "softplus"])
def test_the_fourth_directional_derivative_is_that_of_the_loss_on_a_line(name):
    """FCL-D3: t -> f_n(W + tA), four times differentiated at 0."""
    rng = np.random.default_rng(0)
    W, A = rng.standard_normal((2, 3, 4))
    X, y = rng.standard_normal((30, 4)), rng.random(30)
    with jax.enable_x64(True):
        g = lambda t: (  # noqa: E731
            jnp.mean((PHI[name](jnp.asarray(X) @ (jnp.asarray(W) + t * A).T).mean(axis=1) - y) ** 2)
            / 2
        )
        for _ in range(4):
            g = jax.grad(g)
        expected = float(g(0.0))
    assert fourth_directional_derivative(W, A, X, y, name) == pytest.approx(expected, rel=1e-10)


def test_other_activations_are_refused():
    with pytest.raises(HypothesisError, match="fourth"):
        fourth_derivative(0.0, "swish")
