"""Deep networks on disk: what is written comes back bit for bit, and damaged files are refused with
the reason.
"""

import numpy as np
import pytest

from globalmin.deep.network import DeepNetwork
from globalmin.deep.storage import load_deep_network, save_deep_network
from globalmin.errors import DataError
from globalmin.files import packed
from globalmin.shallow.network import ShallowNetwork
from globalmin.shallow.storage import save_network


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
    with pytest.raises(DataError, match="globalmin-network/1"):
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
