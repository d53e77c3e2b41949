"""The architectures of DU chapter 4 at test size, the same everywhere."""

import numpy as np

from globalmin.balancedness.network import (
    Convolution,
    Dense,
    HomogeneousNetwork,
    Shared,
    fully_connected,
    sparse,
)

RNG = np.random.default_rng(0)
MASKS = RNG.random((5, 6)) < 0.6, RNG.random((4, 5)) < 0.7
CONVOLUTIONS = (Convolution((1, 6), 3, bias=True), Convolution((3, 6), 2))
IMAGES = (
    Convolution((1, 2, 3), 2, patch_size=1),
    Convolution((2, 2, 3), 3, patch_size=1, bias=True),
)
# rows (0, 1), (2, 3) and (4) of the first table share weights; the second table shares its weights
# over columns (0, 1), (2, 3, 4)
SHARED = (
    np.array(
        [
            [1, 2, 0, 3, 1, 2],
            [3, 3, 2, 1, 0, 0],
            [4, 5, 5, 0, 4, 6],
            [6, 0, 4, 5, 0, 5],
            [7, 8, 9, 9, 8, 0],
        ]
    ),
    np.array([[1, 1, 2, 3, 2], [4, 4, 3, 0, 2], [1, 4, 5, 5, 5], [4, 0, 2, 3, 3]]),
)


def _deep(layers, activation="relu"):
    return HomogeneousNetwork(layers, activation)


NETWORKS = {
    "fully connected relu": fully_connected([6, 5, 4, 3], "relu"),
    "with biases": fully_connected([6, 5, 4, 3], "relu", bias=True),
    "leaky relu": fully_connected([6, 5, 4, 3], "leaky_relu(0.1)"),
    "absolute value": fully_connected([6, 5, 4, 3], "abs"),
    "linear": fully_connected([6, 5, 4, 3], "linear"),
    "linear with biases": fully_connected([6, 5, 4, 3], "linear", bias=True),
    "mixed": fully_connected([6, 5, 4, 3], ["relu", "linear"]),
    "quadratic": fully_connected([6, 5, 4, 3], "quadratic", bias=True),
    "cubic": fully_connected([6, 4, 3], "polynomial(0,0,0,1)"),
    "sparse": _deep((sparse(MASKS[0]), sparse(MASKS[1], bias=True), Dense(4, 3))),
    "shared": _deep((Shared(SHARED[0], bias=True), Shared(SHARED[1]), Dense(4, 3))),
    "convolutional": _deep((*CONVOLUTIONS, Dense(12, 3))),
    "convolutional linear": _deep((*CONVOLUTIONS, Dense(12, 3)), "linear"),
    "images": _deep((*IMAGES, Dense(18, 3, bias=True)), "leaky_relu(0.3)"),
    "dense then convolution": _deep(
        (Dense(6, 18, bias=True), CONVOLUTIONS[1], Dense(12, 3)), "linear"
    ),
}
FIVE = ("fully connected relu", "linear", "sparse", "shared", "convolutional")


def data(seed=1, n=12):
    """Inputs, targets and one-hot targets."""
    rng = np.random.default_rng(seed)
    X, Y = rng.standard_normal((n, 6)), rng.standard_normal((n, 3))
    return X, Y, np.eye(3)[rng.integers(0, 3, n)]


def start(network, seed=2, scale=0.1):
    """Random weights with random biases."""
    return network.draw(seed) + scale * np.random.default_rng(seed + 100).standard_normal(
        network.n_parameters
    )
