"""Networks on disk: exact round trips, deterministic bytes, whole files only, and a reason for
every refusal.
"""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from globalmin.activations import register_activation, registry
from globalmin.data.preprocessing import Preprocessing
from globalmin.errors import DataError
from globalmin.shallow import storage
from globalmin.shallow.network import ShallowNetwork
from globalmin.shallow.storage import (
    FORMAT,
    load_network,
    load_networks,
    save_network,
    save_networks,
)


def network(seed=0, activation="softplus", k=3, d=4):
    rng = np.random.default_rng(seed)
    return ShallowNetwork(rng.normal(size=(k, d)) * 1e-5, rng.normal(size=k), activation)


def preprocessing(seed=0, **changes):
    rng = np.random.default_rng(seed)
    fields = {
        "scaling": "standardize", "bias": True, "x_shift": rng.normal(size=3),
        "x_scale": rng.uniform(0.1, 3, size=3),
        "y_shift": 0.1, "y_scale": 1 / 3, "feature_names": ("a", "größe", "c"), "target_name": "y",
    }  # fmt: skip
    return Preprocessing(**(fields | changes))


def rewritten(path, *, tensors=None, metadata=None, drop=()):
    """The file with some tensors or metadata exchanged, written by the safetensors library."""
    from safetensors import safe_open

    with safe_open(path, framework="numpy") as stream:
        header = dict(stream.metadata())
    content = load_file(path) | (tensors or {})
    save_file(
        {n: t for n, t in content.items() if n not in drop},
        path,
        {k: v for k, v in (header | (metadata or {})).items() if k not in drop},
    )


SPELLINGS = [
    "softplus",
    "softplus(0.1)",
    "sigmoid(3)",
    "tanh",
    "relu",
    "leaky_relu(0.3)",
    "polynomial(1,0.1,-2e-30)",
    "polynomial(0)",
]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_network_returns_bit_for_bit(tmp_path, spelling):
    path = tmp_path / "network.safetensors"
    save_network(path, network(activation=spelling))
    loaded = load_network(path)
    assert loaded.network == network(activation=spelling)
    assert loaded.network.activation.spelling == network(activation=spelling).activation.spelling
    assert loaded.preprocessing is None
    assert loaded.metadata == {}


def test_preprocessing_and_metadata_return_bit_for_bit(tmp_path):
    path = tmp_path / "network.safetensors"
    before = preprocessing()
    save_network(str(path), network(), before, {"note": "größte ✓", "": "x"})
    _, after, metadata = load_network(str(path))
    assert metadata == {"note": "größte ✓", "": "x"}
    np.testing.assert_array_equal(after.x_shift, before.x_shift)
    np.testing.assert_array_equal(after.x_scale, before.x_scale)
    assert after.as_dict() == before.as_dict()


def test_several_networks_share_a_file(tmp_path):
    path = tmp_path / "networks.safetensors"
    networks = [network(seed, k=2 + seed) for seed in range(12)]
    save_networks(
        path, networks, [preprocessing(seed, target_name=f"t{seed}") for seed in range(12)]
    )
    loaded = load_networks(path)
    assert list(loaded.networks) == networks
    assert [p.target_name for p in loaded.preprocessing] == [f"t{seed}" for seed in range(12)]
    with pytest.raises(DataError, match="holds 12 networks; read it with load_networks"):
        load_network(path)


def test_other_programs_can_read_the_file(tmp_path):
    path = tmp_path / "network.safetensors"
    save_network(path, network(), preprocessing())
    tensors = load_file(path)
    assert sorted(tensors) == ["0.W", "0.v", "0.x_scale", "0.x_shift"]
    np.testing.assert_array_equal(tensors["0.W"], network().W)
    size = int.from_bytes(path.read_bytes()[:8], "little")
    header = json.loads(path.read_bytes()[8 : 8 + size])
    assert header["__metadata__"]["format"] == FORMAT
    assert header["__metadata__"]["activation"] == "softplus"
    assert (8 + size) % 8 == 0


def test_the_same_network_gives_the_same_bytes_in_every_process(tmp_path):
    program = (
        "import sys, numpy as np\n"
        "from globalmin.shallow.network import ShallowNetwork\n"
        "from globalmin.shallow.storage import save_network\n"
        "save_network(sys.argv[1], ShallowNetwork([[1.0, 2.0]], [3.0], 'softplus(4)'), None, {'b': "
        "'1', 'a': '2'})\n"
    )
    contents = set()
    for hash_seed in ("0", "1"):
        path = tmp_path / f"{hash_seed}.safetensors"
        environment = dict(
            os.environ, PYTHONHASHSEED=hash_seed, PYTHONPATH=os.pathsep.join(sys.path)
        )
        subprocess.run([sys.executable, "-c", program, str(path)], check=True, env=environment)
        contents.add(path.read_bytes())
    assert len(contents) == 1


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, failing):
    path = tmp_path / "network.safetensors"
    save_network(path, network(0))

    def fail(*_):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os if failing == "fsync" else storage.Path, failing, fail)
        with pytest.raises(OSError, match="No space"):
            save_network(path, network(1))
    assert load_network(path).network == network(0)
    assert [p.name for p in tmp_path.iterdir()] == ["network.safetensors"]
    save_network(path, network(1))
    assert load_network(path).network == network(1)


def test_files_have_the_usual_permissions(tmp_path):
    path, other = tmp_path / "network.safetensors", tmp_path / "other"
    save_network(path, network())
    other.write_text("")
    assert path.stat().st_mode == other.stat().st_mode


def test_missing_files_and_folders_are_named(tmp_path):
    with pytest.raises(DataError, match=r"absent\.safetensors: there is no such file"):
        load_network(tmp_path / "absent.safetensors")
    with pytest.raises(DataError, match="there is no such file"):
        load_network(tmp_path)
    with pytest.raises(DataError, match=r"the folder .* does not exist"):
        save_network(tmp_path / "folder" / "network.safetensors", network())


@pytest.mark.parametrize(
    "content",
    [b"", b"abc", b"a,b\n1,2\n" * 10, b"\xff" * 100, (2).to_bytes(8, "little") + b"{}" + b"rest"],
)
def test_other_files_are_refused(tmp_path, content):
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match="not a readable safetensors file"):
        load_network(path)


def test_every_truncation_is_refused(tmp_path):
    path = tmp_path / "network.safetensors"
    save_network(path, network(k=1, d=1))
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(DataError):
            load_network(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"metadata": {"format": "globalmin-network/2"}},
            "holds 'globalmin-network/2' where 'globalmin-network/1' is needed",
        ),
        ({"metadata": {"format": "globalmin-certificate/1"}}, "holds 'globalmin-certificate/1'"),
        ({"drop": ["format"]}, "holds 'no format'"),
        ({"metadata": {"activation": "rectifier"}}, "unknown; .* registered before loading"),
        ({"metadata": {"parameter": "1),("}}, "activation"),
        ({"drop": ["activation"]}, "activation"),
        ({"metadata": {"networks": "2"}}, "the tensors must be"),
        ({"metadata": {"networks": "0"}}, "networks='0'"),
        ({"metadata": {"networks": "999999999"}}, "networks="),
        ({"metadata": {"networks": "²"}}, "networks="),
        ({"metadata": {"extra": "{"}}, "'extra' is missing or damaged"),
        ({"metadata": {"extra": "[" * 100_000}}, "'extra' is missing or damaged"),
        ({"drop": ["extra"]}, "'extra' is missing"),
        ({"metadata": {"preprocessing": "{}"}}, "'preprocessing' is missing or damaged"),
        ({"metadata": {"preprocessing": "[]"}}, "preprocessing has 0 entries for 1 networks"),
        ({"metadata": {"preprocessing": "[3]"}}, "preprocessing of network 0 is damaged"),
        ({"metadata": {"preprocessing": "[{}]"}}, "preprocessing of network 0 is damaged"),
        ({"drop": ["0.v"]}, "the tensors must be"),
        ({"tensors": {"more": np.ones(1)}}, "the tensors must be"),
        ({"tensors": {"0.v": np.ones(3, dtype=np.float32)}}, "all F64"),
        ({"tensors": {"0.v": np.ones(2)}}, "v has 2 entries"),
        ({"tensors": {"0.W": np.ones(4)}}, "W has shape"),
        ({"tensors": {"0.W": np.full((3, 4), np.nan)}}, "W contains NaN"),
        ({"tensors": {"0.v": np.array([1.0, np.inf, 0.0])}}, "v contains NaN or infinity"),
        ({"tensors": {"0.x_scale": np.zeros(3)}}, "preprocessing of network 0 is damaged"),
        ({"tensors": {"0.x_shift": np.zeros(2)}}, "preprocessing of network 0 is damaged"),
        ({"tensors": {"0.x_shift": np.full(3, np.nan)}}, "preprocessing of network 0 is damaged"),
        (
            {"tensors": {"0.x_shift": np.zeros(5), "0.x_scale": np.ones(5)}},
            "network 0 is damaged|preprocessing gives 6",
        ),
    ],
)
def test_damaged_files_are_refused_with_a_reason(tmp_path, change, message):
    path = tmp_path / "network.safetensors"
    save_network(path, network(), preprocessing())
    rewritten(path, **change)
    with pytest.raises(DataError, match=message) as caught:
        load_network(path)
    assert "network.safetensors" in str(caught.value)


def test_preprocessing_of_another_width_is_refused(tmp_path):
    path = tmp_path / "network.safetensors"
    with pytest.raises(DataError, match="network 0 has 4 inputs, but its preprocessing gives 3"):
        save_network(path, network(), preprocessing(bias=False))
    save_network(path, network(), preprocessing())
    fields = preprocessing(bias=False).as_dict()
    rewritten(path, metadata={"preprocessing": json.dumps([fields])})
    with pytest.raises(DataError, match="network 0 has 4 inputs, but its preprocessing gives 3"):
        load_network(path)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([],), "non-empty list"),
        (([network(), network(activation="tanh")],), "one common activation"),
        (([network()], []), "preprocessing has 0 entries for 1 networks"),
        (([network()], None, {"a": 1}), "metadata must map strings to strings"),
    ],
)
def test_wrong_arguments_are_refused_before_anything_is_written(tmp_path, arguments, message):
    with pytest.raises(DataError, match=message):
        save_networks(tmp_path / "network.safetensors", *arguments)
    assert list(tmp_path.iterdir()) == []


def test_an_activation_of_the_user_is_needed_again_at_loading(tmp_path, monkeypatch):
    monkeypatch.setattr(registry, "_REGISTERED", {})
    wave = register_activation("wave", np.sin, np.cos, suprema=[1])
    path = tmp_path / "network.safetensors"
    save_network(path, network(activation=wave))
    assert load_network(path).network.activation is wave
    monkeypatch.setattr(registry, "_REGISTERED", {})
    with pytest.raises(DataError, match="registered before loading"):
        load_network(path)
