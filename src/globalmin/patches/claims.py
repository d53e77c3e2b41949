"""Patch networks on the one road to a proof: written as the dense ReLU network of their patches,
whose output weights alone may move.

A filter at a patch is a neuron whose weights are zero outside of the patch, so a patch network with
m filters and k patches *is* a dense network with mk neurons, number for number, and its output
weights a_ji are the head of that network. A claim about all heads for the stored hidden weights
(`head-gap`) is therefore a claim about the patch network with its shared filters: with mk >= n,
output weights of zero loss exist next to the stored ones, the global minimum. A claim that moves
hidden weights would tear the shared filters apart; none is tried. A floor for every ReLU network
(`loss-floor`) holds for patch networks too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from globalmin.data import Dataset
from globalmin.errors import CannotCertify, DataError
from globalmin.patches.network import PatchNetwork
from globalmin.proving.claim import ClaimRecord, Question, Subject
from globalmin.shallow.claims import subject as dense
from globalmin.shallow.network import ShallowNetwork

SAID_OF_PATCHES = frozenset({"head-gap", "loss-floor"})
NOTE = (
    "the patch network is written as the dense network of its {m} filters at {k} patches; the "
    "filters stay as they are and shared, only the output weights move"
)


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


def prepare(question: Question, wanted: Sequence[ClaimRecord] | None) -> Question:
    """The question about the dense network and its head."""
    network: PatchNetwork = question.network
    note = NOTE.format(m=network.n_filters, k=network.layout.n_patches)
    asked = replace(
        question,
        network=dense_network(network),
        data=dense_rows(network, question.data),
        trained="v",
        notes=(*question.notes, note),
        kinds=SAID_OF_PATCHES,
        _known={},
    )
    return dense.prepare(asked, wanted)


def refusal(question: Question) -> CannotCertify:
    """Why nothing can be tried."""
    return CannotCertify("no claim about the output weights of this patch network can be tried")


SUBJECT = Subject(PatchNetwork, dense.certificate, prepare=prepare, refusal=refusal)
