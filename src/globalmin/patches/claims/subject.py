"""Patch networks on the one road to a proof: as they are, where the shared filters may move, and
as the dense ReLU network of their patches, where the output weights may.

A filter at a patch is a neuron whose weights are zero outside of the patch, so a patch network with
m filters and k patches *is* a dense network with mk neurons, number for number, and its output
weights a_ji are the head of that network. A claim about all heads for the stored hidden weights
(`head-gap`) is therefore a claim about the patch network with its shared filters: with mk >= n,
output weights of zero loss exist next to the stored ones, the global minimum. A claim that moves
hidden weights of the dense network would tear the shared filters apart; none is tried. Filters that
move as one are the subject of `patch-interpolation`, whose file holds the samples and the table of
patches. A floor for every ReLU network (`loss-floor`) holds for patch networks too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from globalmin.errors import CannotCertify, MemoryRefused
from globalmin.patches.claims import interpolation
from globalmin.patches.claims.dense import dense_network, dense_rows, table
from globalmin.patches.network import PatchNetwork
from globalmin.proving.claim import ClaimRecord, NetworkForm, Question, Subject
from globalmin.shallow.claims import subject as dense

FIXED_HEAD = (interpolation.KIND,)  # what may be claimed where output weights are not trained
SAID_OF_PATCHES = frozenset({"head-gap", "loss-floor"})
NOTE = (
    "the patch network is written as the dense network of its {m} filters at {k} patches; the "
    "filters stay as they are and shared, only the output weights move"
)

NOT_BY_FILTERS = "that filters of zero loss are nearby is not proved: {}"


def form(network: PatchNetwork) -> NetworkForm:
    """The object `network` of the format, and the tensors W, v and patches."""
    tensors = {"W": network.filters, "v": network.head.ravel(), "patches": table(network)}
    return NetworkForm({"activation": "relu", "kind": "patches"}, tensors)


def prepare(question: Question, wanted: Sequence[ClaimRecord] | None) -> Question:
    """The question about the filters where they are asked for or have a proof, else the one about
    the dense network and its head.
    """
    network: PatchNetwork = question.network
    rows = dense_rows(network, question.data)
    if question.trained != "v" or wanted is not None:
        shared = replace(question, data=rows, kinds=frozenset({interpolation.KIND}), _known={})
        try:
            interpolation.built_once(shared)
        except (CannotCertify, MemoryRefused) as failure:
            if wanted is not None:
                return shared
            question = replace(question, notes=(*question.notes, NOT_BY_FILTERS.format(failure)))
        else:
            return shared
    note = NOTE.format(m=network.n_filters, k=network.layout.n_patches)
    asked = replace(
        question,
        network=dense_network(network),
        data=rows,
        trained="v",
        notes=(*question.notes, note),
        kinds=SAID_OF_PATCHES,
        _known={},
    )
    return dense.prepare(asked, wanted)


def refusal(question: Question) -> CannotCertify:
    """Why nothing can be tried."""
    return CannotCertify("no claim about the output weights of this patch network can be tried")


SUBJECT = Subject(PatchNetwork, dense.certificate, form, prepare, refusal)
