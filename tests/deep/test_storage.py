"""Deep networks on disk: what is written comes back bit for bit, and damaged files are refused with
the reason.
"""

import numpy as np
import pytest

from globalmin.data import Dataset
from globalmin.deep.network import DeepNetwork
from globalmin.deep.storage import load_deep_network, save_deep_network
from globalmin.errors import DataError
from globalmin.files import packed
from globalmin.shallow.network import ShallowNetwork
from globalmin.shallow.storage import load_network, load_networks, save_network, save_networks


@pytest.mark.parametrize(
    ("architecture", "shape", "activation"),
    [
        ("fully_connected", (3,), "softplus(4)"),
        ("resnet", (3,), "tanh"),
        ("convolutional_resnet", (2, 5), "swish"),
        ("convolutional_resnet", (1, 3, 4), "polynomial(1,0.5,0.25)"),
    ],
)
def test_a_saved_network_comes_back_and_gives_the_same_bytes(
    tmp_path, architecture, shape, activation
):
    network = DeepNetwork.initialize(shape, 5, 2, architecture, activation, seed=1)
    save_deep_network(tmp_path / "one.safetensors", network, {"note": "mine"})
    loaded, metadata = load_deep_network(tmp_path / "one.safetensors")
    assert loaded == network
    assert metadata == {"note": "mine"}
    save_deep_network(tmp_path / "two.safetensors", loaded, metadata)
    assert (tmp_path / "one.safetensors").read_bytes() == (
        tmp_path / "two.safetensors"
    ).read_bytes()


def test_other_files_are_refused(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        load_deep_network(tmp_path / "nothing")
    (tmp_path / "text").write_text("not a network")
    with pytest.raises(DataError, match="not a readable"):
        load_deep_network(tmp_path / "text")
    save_network(tmp_path / "shallow", ShallowNetwork(np.ones((2, 3)), np.ones(2)))
    with pytest.raises(DataError, match="ShallowNetwork, not one DeepNetwork"):
        load_deep_network(tmp_path / "shallow")


HEADER = {
    "format": "globalmin-deep-network/1",
    "activation": "tanh",
    "architecture": "resnet",
    "input_shape": "[3]",
    "patch_size": "1",
    "extra": "{}",
}
TENSORS = {
    "W.1": np.ones((4, 3)),
    "W.2": np.ones((4, 4)),
    "a": np.ones(4),
    "scales": np.array([0.5, 0.1]),
}


@pytest.mark.parametrize(
    ("tensors", "header"),
    [
        ({"W.3": np.ones((4, 4))}, {}),
        ({"a": np.ones(3)}, {}),
        ({"scales": np.array([0.5, np.nan])}, {}),
        ({}, {"input_shape": "[4]"}),
        ({}, {"input_shape": "three"}),
        ({}, {"patch_size": "x"}),
        ({}, {"extra": "[]"}),
        ({}, {"architecture": "nonsense"}),
        ({}, {"activation": "nonsense"}),
    ],
    ids=str,
)
def test_damaged_files_are_refused_with_their_name(tmp_path, tensors, header):
    path = tmp_path / "damaged"
    path.write_bytes(
        packed(
            {k: v for k, v in (TENSORS | tensors).items() if k != "W.2" or "W.3" not in tensors},
            HEADER | header,
        )
    )
    with pytest.raises(DataError, match="damaged"):
        load_deep_network(path)


def test_metadata_must_be_strings(tmp_path):
    with pytest.raises(DataError, match="strings"):
        save_deep_network(tmp_path / "x", DeepNetwork.initialize(2, 3, 1, seed=0), {"n": 3})  # pyright: ignore[reportArgumentType]


def test_a_file_of_the_first_format_is_still_read(tmp_path):
    (tmp_path / "old").write_bytes(packed(TENSORS, HEADER))
    network = load_network(tmp_path / "old").network
    assert (network.depth, network.architecture, network.width) == (2, "resnet", 4)
    assert load_deep_network(tmp_path / "old").network == network


def test_several_deep_networks_go_through_the_door_of_all_networks(tmp_path):
    rng = np.random.default_rng(0)
    data = Dataset(rng.standard_normal((6, 4)), rng.standard_normal((6, 2)), bias=False)
    networks = [
        DeepNetwork.initialize(
            (1, 2, 2), 3, 2, "convolutional_resnet", "tanh", patch_size=1, seed=s
        )
        for s in range(2)
    ]
    steps = data.preprocessings
    save_networks(tmp_path / "two", networks, steps, {"note": "mine"})
    stored = load_networks(tmp_path / "two")
    assert list(stored.networks) == networks
    assert stored.metadata == {"note": "mine"}
    assert [p.as_dict() for p in stored.preprocessing] == [p.as_dict() for p in steps]
    with pytest.raises(DataError, match="2 networks"):
        load_network(tmp_path / "two")
    with pytest.raises(DataError, match="not one DeepNetwork"):
        load_deep_network(tmp_path / "two")
    before = (tmp_path / "two").read_bytes()
    save_networks(tmp_path / "two", stored.networks, stored.preprocessing, stored.metadata)
    assert (tmp_path / "two").read_bytes() == before


def test_networks_of_two_kinds_or_forms_are_not_put_into_one_file(tmp_path):
    shallow = ShallowNetwork(np.ones((2, 3)), np.ones(2), "tanh")
    deep = DeepNetwork.initialize(3, 2, 2, activation="tanh")
    with pytest.raises(DataError, match="one kind"):
        save_networks(tmp_path / "x", [shallow, deep])
    with pytest.raises(DataError, match="one depth"):
        save_networks(tmp_path / "x", [deep, DeepNetwork.initialize(3, 2, 3, activation="tanh")])
    wide = Dataset(np.eye(5), np.arange(5.0))
    with pytest.raises(DataError, match="do not belong together"):
        save_network(tmp_path / "x", deep, wide.preprocessing)
