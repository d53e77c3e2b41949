"""A patch network as the dense network of its patches, and the rows and the table of patches that
files hold.
"""

from __future__ import annotations

import numpy as np

from globalmin._types import NDArray
from globalmin.data import Dataset
from globalmin.errors import DataError
from globalmin.patches.network import PatchNetwork
from globalmin.shallow.network import ShallowNetwork


def dense_network(network: PatchNetwork) -> ShallowNetwork:
    """The same function as a dense network: one neuron per filter and patch, on the rows of
    `dense_rows`.
    """
    layout = network.layout
    (m, p), k = network.filters.shape, layout.n_patches
    entries = p - int(layout.bias)
    if layout.normalize == "none":
        table, width = layout.table, layout.n_features
    else:
        table, width = np.arange(k * entries).reshape(k, entries), k * entries
    W = np.zeros((m, k, width + 2))  # the column after the last takes what meets the padding
    for i in range(k):
        W[:, i, table[i]] = network.filters[:, :entries]
        if layout.bias:
            W[:, i, width + 1] = network.filters[:, -1]
    kept = [*range(width), *([width + 1] if layout.bias else [])]
    return ShallowNetwork(W[:, :, kept].reshape(m * k, -1), network.head.ravel(), "relu")


def dense_rows(network: PatchNetwork, data: Dataset) -> Dataset:
    """The samples as that network reads them: the rows themselves, or their scaled patches one
    after the other; with a last column 1 for thresholds.
    """
    layout, X = network.layout, data.X
    if data.bias or data.preprocessing.scaling != "none" or X.shape[1] != layout.n_features:
        raise DataError(
            f"data has {X.shape[1]} columns, bias={data.bias} and "
            f"scaling={data.preprocessing.scaling!r}; a patch network of {layout.n_features} "
            "numbers per sample needs Dataset(rows, y, bias=False, scaling='none')"
        )
    if layout.normalize != "none":
        Z = layout.patches(X)
        X = (Z[:, :, :-1] if layout.bias else Z).reshape(len(Z), -1)
    if layout.bias:
        X = np.concatenate([X, np.ones((len(X), 1))], axis=1)
    return Dataset.from_preprocessed(X, data.y, bias=layout.bias)


def table(network: PatchNetwork) -> NDArray[np.int64]:
    """For every patch and entry the column of `dense_rows`, -1 for the zero of the padding."""
    layout = network.layout
    k, p = layout.n_patches, layout.entries
    entries = p - int(layout.bias)
    if layout.normalize == "none":
        places, width = layout.table, layout.n_features
        places = np.where(places == width, -1, places)
    else:
        places, width = np.arange(k * entries).reshape(k, entries), k * entries
    if layout.bias:
        places = np.concatenate([places, np.full((k, 1), width)], axis=1)
    return np.ascontiguousarray(places, dtype=np.int64)
