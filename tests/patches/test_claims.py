"""Patch networks on the road to a proof: the dense network is the same function in exact rationals,
zero loss is proved by shared filters and by output weights, and nothing that would tear shared
filters apart is claimed.
"""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.datasets import load_digits
from tests.oracles import gmc_builder as gmc

import globalmin as gm
from globalmin.errors import DataError
from globalmin.patches.claims.dense import dense_network, dense_rows
from globalmin.proving.claim import Question, subject_of
from globalmin_check.engine import check_bytes


def exact_outputs(network, Z):
    """sum_j sum_i a_ji relu(w_j . z_i) in rationals."""
    outputs = []
    for patches in Z.tolist():
        total = Fraction(0)
        for w, a in zip(network.filters.tolist(), network.head.tolist(), strict=True):
            for z, weight in zip(patches, a, strict=True):
                inner = sum(Fraction(x) * Fraction(y) for x, y in zip(w, z, strict=True))
                total += Fraction(weight) * max(inner, Fraction(0))
        outputs.append(total)
    return outputs


def exact_dense(network, X):
    outputs = []
    for x in X.tolist():
        total = Fraction(0)
        for w, v in zip(network.W.tolist(), network.v.tolist(), strict=True):
            inner = sum(Fraction(s) * Fraction(t) for s, t in zip(w, x, strict=True))
            total += Fraction(v) * max(inner, Fraction(0))
        outputs.append(total)
    return outputs


@pytest.mark.parametrize("normalize", ["none", "unit", "contrast"])
@pytest.mark.parametrize("bias", [False, True])
def test_the_dense_network_is_the_patch_network_in_exact_rationals(normalize, bias):
    rng = np.random.default_rng(0)
    layout = gm.patch_layout((4, 3, 2), 2, 1, padding=1, bias=bias, normalize=normalize)
    shapes = (2, layout.entries), (2, layout.n_patches)
    network = gm.PatchNetwork(*(rng.standard_normal(shape) for shape in shapes), layout)
    X = rng.standard_normal((3, layout.n_features))
    data = gm.Dataset(X, np.ones(3), bias=False, scaling="none")
    dense, rows = dense_network(network), dense_rows(network, data)
    assert dense.width == 2 * layout.n_patches
    assert exact_dense(dense, rows.X) == exact_outputs(network, layout.patches(X))


def fitted(n=40, filters=4):
    images = load_digits()
    X, y = images.images[:n] / 16.0, images.target[:n].astype(float)
    layout = gm.patch_layout((8, 8), 3, 2, padding="same", bias=True)
    run = gm.train_patches(X, y, layout, filters=filters, head="trained", restarts=0)
    return run, gm.Dataset(X.reshape(n, -1), y, bias=False, scaling="none")


def test_zero_loss_of_a_patch_network_is_proved_and_checked(tmp_path):
    """OS-T3.2 for patch networks: 64 output weights, 40 digits; the file speaks of the same
    filters at every patch.
    """
    run, data = fitted()
    proof = gm.prove(run.network, data, trained="v", path=tmp_path / "patches.gmc")
    assert proof.verdict == "ACCEPTED"
    assert proof.reaches_minimum
    assert proof.loss_lower == 0
    assert any("shared" in note for note in proof.notes)
    assert gm.check(tmp_path / "patches.gmc").verdict == "ACCEPTED"
    top, tensors = gmc.unpack((tmp_path / "patches.gmc").read_bytes())
    assert [claim["kind"] for claim in top["claims"]] == ["head-gap"]
    # every neuron of the file is one of the four filters, moved
    weights = {tuple(row[row != 0].tolist()) for row in tensors["W"]}
    whole = {tuple(row[row != 0].tolist()) for row in run.network.filters}
    assert {w for w in weights if len(w) == run.network.filters.shape[1]} == whole


def test_a_file_whose_filters_were_changed_is_refused(tmp_path):
    run, data = fitted()
    gm.prove(run.network, data, trained="v", path=tmp_path / "patches.gmc")
    top, tensors = gmc.unpack((tmp_path / "patches.gmc").read_bytes())
    for name, change in (
        ("W", lambda W: W * np.where(np.arange(len(W)) == 3, 1.5, 1.0)[:, None]),
        ("v", lambda v: v + 1e-3),
        ("y", lambda y: y + 1e-3),
    ):
        other = tensors | {name: np.array(change(tensors[name]))}
        assert check_bytes(gmc.pack(gmc.refresh_digest(top, other), other)).verdict != "ACCEPTED"


def test_no_claim_that_moves_hidden_weights_of_the_dense_network_is_tried():
    """Filters are shared; weights that move alone would be another network."""
    run, data = fitted()
    subject = subject_of(run.network)
    asked = subject.prepare(Question(run.network, data, trained="v"), None)
    assert asked.kinds == {"head-gap", "loss-floor"}
    assert asked.trained == "v"
    with pytest.raises(DataError, match="relu-interpolation"):
        gm.prove(run.network, data, claims=["relu-interpolation"])


def test_more_samples_than_output_weights_leave_the_minimum_open():
    """One filter, 16 output weights, 40 digits: the best weights for this filter, no more."""
    run, data = fitted(filters=1)
    proof = gm.prove(run.network, data)
    assert not proof.reaches_minimum
    assert any("filters of zero loss are nearby is not proved" in note for note in proof.notes)
    assert proof.loss_upper > 1e-3


def test_data_in_another_form_are_refused():
    run, data = fitted()
    for wrong in (
        gm.Dataset(data.X, data.y),
        gm.Dataset(data.X, data.y, bias=False),
        gm.Dataset(data.X[:, :-1], data.y, bias=True, scaling="none"),
        gm.Dataset(data.X[:, :-1], data.y, bias=False, scaling="none"),
    ):
        with pytest.raises(DataError, match="scaling='none'"):
            gm.prove(run.network, wrong)
