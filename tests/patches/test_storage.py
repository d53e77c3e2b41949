"""Patch networks on disk: round trip, same bytes, damage refused."""

import json

import numpy as np
import pytest

import globalmin as gm
from globalmin.errors import DataError
from globalmin.files import canonical_json, packed


def network():
    layout = gm.patch_layout((5, 4, 2), 2, 2, padding=1, bias=True, normalize="contrast")
    rng = np.random.default_rng(0)
    shapes = (3, layout.entries), (3, layout.n_patches)
    return gm.PatchNetwork(*(rng.standard_normal(shape) for shape in shapes), layout)


def test_a_network_survives_the_disk_bit_for_bit(tmp_path):
    path = tmp_path / "model.safetensors"
    gm.save_patch_network(path, network(), {"from": "a test"})
    stored = gm.load_patch_network(path)
    assert stored.network == network()
    assert stored.metadata == {"from": "a test"}
    X = np.random.default_rng(1).standard_normal((6, 5, 4, 2))
    np.testing.assert_array_equal(stored.network.predict(X), network().predict(X))
    content = path.read_bytes()
    gm.save_patch_network(path, network(), {"from": "a test"})
    assert path.read_bytes() == content


def damaged(name, value):
    layout = network().layout.as_dict()
    header = {
        "format": "globalmin-patch-network/1",
        "activation": "relu",
        "layout": canonical_json(layout),
        "extra": "{}",
    }
    tensors = {"filters": np.array(network().filters), "head": np.array(network().head)}
    if name in tensors:
        tensors[name] = value
    elif name in header:
        header[name] = value
    else:
        header["layout"] = json.dumps(layout | {name: value})
    return packed(tensors, header)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("format", "globalmin-network/1"),
        ("activation", "tanh"),
        ("extra", "[]"),
        ("layout", "[]"),
        ("layout", "{"),
        ("filters", np.ones((2, 9))),
        ("head", np.ones((3, 2))),
        ("filters", np.ones((3, 9), dtype=np.int64)),
        ("filters", np.full((3, 9), np.nan)),
        ("shape", [5, 4]),
        ("stride", [0, 1]),
        ("normalize", "most"),
    ],
)
def test_damaged_files_are_refused_with_their_name(tmp_path, name, value):
    path = tmp_path / "bad.safetensors"
    path.write_bytes(damaged(name, value))
    with pytest.raises(DataError, match=r"bad\.safetensors"):
        gm.load_patch_network(path)


def test_files_that_are_none_are_refused(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        gm.load_patch_network(tmp_path / "none")
    (tmp_path / "text").write_text("no tensors")
    with pytest.raises(DataError, match="not a readable"):
        gm.load_patch_network(tmp_path / "text")
    with pytest.raises(DataError, match="does not exist"):
        gm.save_patch_network(tmp_path / "folder" / "x", network())
    with pytest.raises(DataError, match="strings"):
        gm.save_patch_network(tmp_path / "x", network(), {"a": 1})
