"""The files of rejected/ about limits of deep networks (kernel "layers" of gram-positive): one
fault each, with the number of the check that must see it.
"""

from __future__ import annotations

import numpy as np
from tests.corpus.edits import zero
from tests.corpus.whole_files import Edit, array, network, times


def layer(h: int, **fields: str) -> Edit:
    """Change the h-th layer."""
    return lambda file: file.claim["layers"][h].update(fields)


LAYERS: dict[str, tuple[str, Edit, str]] = {
    "layers_of_relu": ("gram_layers_dense_tanh", network(activation="relu"), "G1"),
    "layers_lam_negative": ("gram_layers_dense_tanh", times("lam", -1), "G2a"),
    "layers_step_negative": ("gram_layers_dense_tanh", times("step", -1), "G2e"),
    "layers_nodes_too_near": (
        "gram_layers_dense_tanh",
        lambda file: file.claim.update(nodes=3),
        "G5",
    ),
    "layers_scale_negative": ("gram_layers_dense_tanh", layer(1, scale2="-1/2"), "G8"),
    "layers_window_zero": (
        "gram_layers_windows_tanh",
        array("patches", lambda w: np.array([[0, 1], [-1, -1]])),
        "G9",
    ),
    "layers_lam_too_large": ("gram_layers_dense_tanh", times("lam", 1.2), "G7"),
    "layers_all_lam_too_large": ("gram_layers_dense_all_tanh", times("lam", 1.2), "G7"),
    "layers_windows_lam_too_large": ("gram_layers_windows_tanh", times("lam", 1.2), "G7"),
    "layers_windows_all_lam_too_large": ("gram_layers_windows_all_tanh", times("lam", 1.2), "G7"),
    "layers_of_the_last_block_only": (
        "gram_layers_residual_all_sigmoid",
        lambda file: file.claim.update(blocks="last"),
        "G7",
    ),
    "layers_scale_halved": ("gram_layers_dense_tanh", layer(1, scale2="1/4"), "G7"),
    "layers_one_fewer": (
        "gram_layers_windows_all_tanh",
        lambda file: file.claim["layers"].pop(),
        "G7",
    ),
    "layers_other_windows": (
        "gram_layers_windows_tanh",
        array("patches", lambda w: np.array([[0, -1], [1, -1]])),
        "G7",
    ),
    "layers_sample_changed": ("gram_layers_dense_tanh", array("X", lambda X: X[::-1] * 0.3), "G7"),
    "layers_factor_zero": ("gram_layers_windows_tanh", array("C", zero), "G7"),
}
