"""Networks as JAX sees them, and stored tensors, to compare the checker's derivatives with."""

from __future__ import annotations

from array import array
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
from flint import arb
from tests.checker.cases import Smooth

from globalmin_check.container import Tensor
from globalmin_check.problem import Problem, Sizes

jax.config.update("jax_enable_x64", True)
PHI = {
    "softplus": jax.nn.softplus,
    "sigmoid": jax.nn.sigmoid,
    "tanh": jnp.tanh,
    "erf": jax.scipy.special.erf,
    "quadratic": jnp.square,
    "relu": jax.nn.relu,
    "leaky_relu": lambda z: jnp.where(z >= 0, z, 0.25 * z),
    "abs": jnp.abs,
    "linear": lambda z: z,
}


def tensor(values: np.ndarray) -> Tensor:
    raw = np.ascontiguousarray(values, float).tobytes()
    return Tensor("F64", np.shape(values), array("d", raw), memoryview(raw))


def symmetric(rows: list[list[arb]]) -> np.ndarray:
    m = len(rows)
    return np.array([[float(rows[max(i, j)][min(i, j)]) for j in range(m)] for i in range(m)])


def problem(net: Smooth, b: Fraction = Fraction(1)) -> Problem:
    n, d, k = *net.X.shape, len(net.v)
    return Problem(
        net.activation, b, False, Sizes(n, d, k), *map(tensor, (net.X, net.y, net.W, net.v))
    )


def phi(name: str, b: float):
    if name == "softplus":
        return lambda z: jax.nn.softplus(b * z) / b
    return (lambda z: jax.nn.sigmoid(b * z)) if name == "sigmoid" else PHI[name]


def loss(net: Smooth, b: float = 1.0):
    k = len(net.v)

    def value(theta: jnp.ndarray) -> jnp.ndarray:
        v = theta[:k] if net.trained == "vW" else net.v
        W = theta[-net.W.size :].reshape(net.W.shape)
        return 0.5 * jnp.sum((phi(net.activation, b)(net.X @ W.T) @ v - net.y) ** 2)

    return value, np.concatenate([net.v, net.W.ravel()]) if net.trained == "vW" else net.W.ravel()
