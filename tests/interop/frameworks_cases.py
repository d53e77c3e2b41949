"""Models of other frameworks that the tests share, and what they compute by another road: loops."""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise

import numpy as np
import pytest

import globalmin as gm

ROWS = np.random.default_rng(3).standard_normal((40, 5)) * [1.0, 10.0, 0.1, 1.0, 3.0]
TORCH = {
    "relu": "ReLU",
    "tanh": "Tanh",
    "sigmoid": "Sigmoid",
    "softplus": "Softplus",
    "gelu": "GELU",
    "swish": "SiLU",
    "leaky_relu": "LeakyReLU",
}
PLAIN = {
    "relu": lambda z: max(z, 0.0),
    "tanh": math.tanh,
    "sigmoid": lambda z: 1.0 / (1.0 + math.exp(-z)),
    "softplus": lambda z: max(z, 0.0) + math.log1p(math.exp(-abs(z))),
    "gelu": lambda z: 0.5 * z * (1.0 + math.erf(z / math.sqrt(2.0))),
    "swish": lambda z: z / (1.0 + math.exp(-z)),
    "linear": lambda z: z,
}


def module(activation="tanh", widths=(5, 8, 1), dtype="float32", seed=0, bias=True):
    """A torch module of these layers."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(seed)
    parts = []
    for below, above in pairwise(widths):
        parts += [torch.nn.Linear(below, above, bias=bias)]
        parts += [getattr(torch.nn, TORCH[activation])()]
    return torch.nn.Sequential(*parts[:-1]).to(getattr(torch, dtype))


def outputs(of, X=ROWS):
    """A torch module's own outputs in float64."""
    import copy

    torch = pytest.importorskip("torch")
    with torch.no_grad():
        return copy.deepcopy(of).double()(torch.tensor(X)).numpy()


def _leaky(slope: float, z: float) -> float:
    return z if z >= 0 else slope * z


def by_loops(network: gm.interop.ImportedNetwork, x: np.ndarray) -> list[float]:
    """One row through the layers, number by number, summed exactly at each neuron."""
    values = [float(number) for number in x]
    for layer in network.layers:
        sums = [
            math.fsum([*(w * a for w, a in zip(row, values, strict=True)), b])
            for row, b in zip(layer.W.tolist(), layer.bias.tolist(), strict=True)
        ]
        name, _, slope = layer.activation.rstrip(")").partition("(")
        leaky = float(slope or 0.01)
        plain = PLAIN[name] if name != "leaky_relu" else partial(_leaky, leaky)
        values = [plain(z) for z in sums]
    return values


def trained(activation="tanh", n=30, width=14, seed=0):
    """Rows, labels and a torch module that LBFGS of torch trained to zero loss."""
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 5))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 2.0
    net = module(activation, (5, width, 1), "float64", seed)
    rows, labels = torch.as_tensor(X), torch.as_tensor(y)[:, None]
    options = {"max_iter": 3000, "tolerance_grad": 1e-15, "tolerance_change": 0.0}
    method = torch.optim.LBFGS(net.parameters(), line_search_fn="strong_wolfe", **options)

    def closure():
        method.zero_grad()
        loss = ((net(rows) - labels) ** 2).sum() / 2
        loss.backward()
        return loss

    method.step(closure)
    return X, y, net
