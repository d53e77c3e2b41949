"""Networks of Flax in: nnx modules, and parameters of linen."""

import numpy as np
import pytest
from tests.interop.frameworks_cases import ROWS, by_loops, trained

import globalmin as gm
from globalmin.interop import UnsupportedModel, from_flax, from_torch

flax = pytest.importorskip("flax")
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
from flax import linen, nnx  # noqa: E402

FUNCTIONS = {
    "relu": nnx.relu,
    "tanh": nnx.tanh,
    "sigmoid": nnx.sigmoid,
    "softplus": nnx.softplus,
    "swish": nnx.silu,
    "gelu": lambda z: jax.nn.gelu(z, approximate=False),
    "leaky_relu(0.01)": nnx.leaky_relu,
    "quadratic": jnp.square,
}
SINGLE = {"rtol": 1e-4, "atol": 1e-4}  # jax computes in float32, sums of a few terms up to 30


def sequential(function, outputs=2):
    seeds = nnx.Rngs(0)
    parts = nnx.Linear(5, 6, rngs=seeds), function, nnx.Linear(6, outputs, rngs=seeds)
    return nnx.Sequential(*parts)


@pytest.mark.parametrize("activation", FUNCTIONS)
def test_a_sequential_module_is_read_with_its_outputs(activation):
    own = sequential(FUNCTIONS[activation])
    net = from_flax(own)
    assert net.activations == (gm.get_activation(activation).spelling,)
    assert net.agreement.arithmetic == "float64"
    assert net.agreement.relative <= 1e-12
    np.testing.assert_allclose(net.predict(ROWS), own(jnp.asarray(ROWS)), **SINGLE)
    if activation in ("relu", "tanh"):
        np.testing.assert_allclose(net.predict(ROWS[:1])[0], by_loops(net, ROWS[0]), atol=1e-13)


class Own(nnx.Module):
    def __init__(self, function, seeds):
        self.last = nnx.Linear(6, 1, rngs=seeds)
        self.first = nnx.Linear(5, 6, rngs=seeds)
        self.drop = nnx.Dropout(0.5, rngs=seeds)
        self.function = function

    def __call__(self, x):
        return self.last(self.drop(self.function(self.first(x))))


def test_a_module_of_ones_own_is_read_by_its_outputs():
    for name in ("tanh", "softplus"):
        net = from_flax(Own(FUNCTIONS[name], nnx.Rngs(0)))
        assert net.activations == (name,)
        assert net.agreement.relative <= 1e-12
    assert from_flax(Own(nnx.tanh, nnx.Rngs(0)), activation="tanh").widths == (6,)
    with pytest.raises(UnsupportedModel, match="do not give with relu"):
        from_flax(Own(nnx.tanh, nnx.Rngs(0)), activation="relu")
    with pytest.raises(UnsupportedModel, match="any activation here"):
        from_flax(Own(nnx.gelu, nnx.Rngs(0)))  # jax's default: the tanh approximation


class Linen(linen.Module):
    @linen.compact
    def __call__(self, x):
        return linen.Dense(2)(linen.tanh(linen.Dense(6)(x)))


def test_parameters_of_linen_are_read_with_or_without_their_module():
    variables = Linen().init(jax.random.key(0), jnp.ones((1, 5)))
    net = from_flax((Linen(), variables))
    assert net.activations == ("tanh",)
    assert net.agreement.relative <= 1e-12
    np.testing.assert_allclose(net.predict(ROWS), Linen().apply(variables, ROWS), **SINGLE)
    alone = from_flax(variables, activation="tanh")
    assert np.array_equal(alone.predict(ROWS), net.predict(ROWS))
    assert alone.agreement is None
    with pytest.raises(UnsupportedModel, match="activation="):
        from_flax(variables)
    with pytest.raises(UnsupportedModel, match="Conv_0"):
        from_flax({"params": {"Conv_0": {"kernel": np.ones((3, 3, 1, 2))}}}, activation="relu")


def test_everything_unsupported_is_told_at_once():
    seeds = nnx.Rngs(0)
    own = nnx.Sequential(nnx.Linear(5, 6, rngs=seeds), nnx.elu, nnx.LayerNorm(6, rngs=seeds))
    with pytest.raises(UnsupportedModel) as error:
        from_flax(own)
    assert len(error.value.findings) == 2
    with pytest.raises(UnsupportedModel, match="tanh approximation"):
        from_flax(sequential(nnx.gelu))  # jax's default
    with pytest.raises(gm.DataError, match="no flax module"):
        from_flax(3)


def test_a_network_of_flax_is_certified():
    X, y, theirs = trained("tanh")
    net = from_torch(theirs)
    with jax.enable_x64(True):
        own = sequential(nnx.tanh, outputs=1)
        for part, layer in zip((own.layers[0], own.layers[2]), net.layers, strict=True):
            part.kernel = nnx.Param(jnp.asarray(layer.W.T))
            part.bias = nnx.Param(jnp.asarray(layer.b))
        posed = from_flax(own).with_data(X, y)
    assert gm.prove(posed.network, posed.data).verdict == "ACCEPTED"
