"""The bytes of a certificate: opened by another library, canonical, sealed over every byte,
deterministic, written atomically.
"""

import hashlib
import json
import os
from fractions import Fraction

import numpy as np
import pytest
import safetensors
from safetensors.numpy import load_file
from tests.shallow.claims.trained_networks import interpolating

from globalmin.files import canonical_json, data_digest, save_atomically
from globalmin.proving.certificate import data_bytes, sealed_bytes
from globalmin.proving.claim import rational
from globalmin.proving.producer import certify

TENSORS = {
    "v": np.array([1.0, -0.0, 5e-324]),
    "W": np.arange(6.0).reshape(3, 2),
    "claims.0.T": np.array([0, 2], dtype=np.int64),
    "claims.0.dropped": np.zeros((0, 2), dtype=np.int64),
}


def header_of(content):
    length = int.from_bytes(content[:8], "little")
    return content[8 : 8 + length], content[8 + length :]


def test_another_library_reads_back_the_same_numbers(tmp_path):
    path = tmp_path / "file.gmc"
    path.write_bytes(sealed_bytes({"claims": []}, TENSORS))
    loaded = load_file(path)
    assert loaded.keys() == TENSORS.keys()
    for name, tensor in TENSORS.items():
        assert loaded[name].dtype == tensor.dtype
        assert loaded[name].shape == tensor.shape
        assert loaded[name].tobytes() == tensor.tobytes()
    with safetensors.safe_open(path, framework="numpy") as file:
        metadata = file.metadata()
    assert set(metadata) == {"certificate", "format", "seal"}
    assert metadata["format"] == "globalmin-certificate/1"
    assert json.loads(metadata["certificate"]) == {"claims": []}


def test_header_is_canonical_padded_and_without_holes():
    content = sealed_bytes({"b": 1, "a": [True, "x"]}, TENSORS)
    header, body = header_of(content)
    text = header.rstrip(b" ")
    assert (8 + len(header)) % 8 == 0
    assert len(header) - len(text) < 8
    parsed = json.loads(text)
    assert json.dumps(parsed, sort_keys=True, separators=(",", ":")).encode() == text
    assert parsed["__metadata__"]["certificate"] == '{"a":[true,"x"],"b":1}'
    offset = 0
    for name in sorted(TENSORS):
        begin, end = parsed[name]["data_offsets"]
        assert begin == offset
        assert end - begin == 8 * int(np.prod(parsed[name]["shape"]))
        offset = end
    assert offset == len(body)


def test_seal_is_the_digest_of_the_file_with_the_seal_zeroed():
    content = sealed_bytes({"claims": ["0" * 80]}, TENSORS)
    header, _ = header_of(content)
    seal = json.loads(header)["__metadata__"]["seal"].encode()
    assert content.count(seal) == 1
    assert hashlib.sha256(content.replace(seal, b"0" * 64)).hexdigest().encode() == seal


def test_data_digest_follows_the_format_byte_by_byte():
    X, y = np.array([[1.0, -0.0]]), np.array([2.5])
    expected = hashlib.sha256(
        b"globalmin-data/1 1 2\n" + X.astype("<f8").tobytes() + y.astype("<f8").tobytes()
    ).hexdigest()
    assert data_digest(X, y) == expected
    assert data_digest(np.asfortranarray(X), y) == expected
    assert data_digest(np.array([[1.0, 0.0]]), y) != expected


def test_data_file_holds_x_and_y_without_metadata(tmp_path):
    X, y = np.arange(6.0).reshape(3, 2), np.arange(3.0)
    path = tmp_path / "data.safetensors"
    path.write_bytes(data_bytes(X, y))
    loaded = load_file(path)
    np.testing.assert_array_equal(loaded["X"], X)
    np.testing.assert_array_equal(loaded["y"], y)
    assert "__metadata__" not in json.loads(header_of(path.read_bytes())[0])


def test_rationals_are_exact_and_in_lowest_terms():
    assert rational(0.5) == "1/2"
    assert rational(-3.0) == "-3"
    assert rational(0.0) == rational(-0.0) == "0"
    assert Fraction(rational(0.1)) == Fraction(0.1)
    assert Fraction(rational(5e-324)) == Fraction(1, 2**1074)
    assert len(rational(5e-324)) < 2500
    assert len(rational(1.7e308)) < 2500


def test_floating_point_literals_that_are_not_numbers_are_refused():
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json({"a": float("nan")})


def test_the_same_certificate_gives_the_same_bytes_twice():
    network, data = interpolating()
    first = certify(network, data).to_bytes()
    assert first == certify(network, data).to_bytes()
    again, data_again = interpolating()
    assert first == certify(again, data_again).to_bytes()


def test_a_saved_certificate_carries_network_data_and_claims(tmp_path):
    network, data = interpolating(bias=True)
    certificate = certify(network, data)
    path = certificate.save(tmp_path / "fit.gmc")
    assert path.read_bytes() == certificate.to_bytes()
    loaded = load_file(path)
    for name, tensor in {"X": data.X, "y": data.y, "W": network.W, "v": network.v}.items():
        assert loaded[name].tobytes() == np.ascontiguousarray(tensor).tobytes()
    with safetensors.safe_open(path, framework="numpy") as file:
        content = json.loads(file.metadata()["certificate"])
    assert content["loss"] == "half-sum-of-squares"
    assert content["network"] == {"activation": "softplus", "kind": "shallow"}
    assert content["data"] == {
        "bias": True,
        "n": 20,
        "d": 6,
        "sha256": data_digest(data.X, data.y),
        "stored": True,
    }
    assert [claim["kind"] for claim in content["claims"]] == ["descent", "interpolation"]
    assert len(content["producer"]) <= 100


def test_without_stored_data_the_file_holds_their_digest_only(tmp_path):
    network, data = interpolating()
    certificate = certify(network, data, store_data=False)
    loaded = load_file(certificate.save(tmp_path / "fit.gmc"))
    assert "X" not in loaded
    assert "y" not in loaded
    np.testing.assert_array_equal(
        load_file(certificate.save_data(tmp_path / "data.safetensors"))["X"], data.X
    )


def test_saving_leaves_no_temporary_file_and_keeps_the_old_one_when_writing_fails(
    tmp_path, monkeypatch
):
    path = tmp_path / "fit.gmc"
    save_atomically(path, b"old")
    save_atomically(path, b"new")
    assert [entry.name for entry in tmp_path.iterdir()] == ["fit.gmc"]

    def full_disk(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space"):
        save_atomically(path, b"newer")
    assert path.read_bytes() == b"new"
    assert [entry.name for entry in tmp_path.iterdir()] == ["fit.gmc"]


def test_saving_into_a_missing_folder_names_it(tmp_path):
    with pytest.raises(FileNotFoundError, match="missing"):
        save_atomically(tmp_path / "missing" / "fit.gmc", b"")


def test_saved_files_obey_the_umask(tmp_path):
    previous = os.umask(0o027)
    try:
        path = save_atomically(tmp_path / "fit.gmc", b"x")
    finally:
        os.umask(previous)
    assert path.stat().st_mode & 0o777 == 0o640
