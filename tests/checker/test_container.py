"""The container: every fault of form is malformed, every limit holds exactly, every byte is covered
by the seal.
"""

import hashlib
import json
import os
import struct
from typing import Any

import numpy as np
import pytest
from tests.checker.cases import build, interpolation_claim, trained_network
from tests.oracles import gmc_builder as gmc

from globalmin_check import Verdict, check_file, limits
from globalmin_check.container import data_digest, read, read_regular_file
from globalmin_check.engine import check_bytes
from globalmin_check.verdict import Malformed


@pytest.fixture(scope="module")
def honest() -> bytes:
    net = trained_network(4, 2, 4)
    return build(net, [interpolation_claim(net)])


def raw_container(header: Any, body: bytes = b"", *, pad: int | None = None) -> bytes:
    text = header if isinstance(header, bytes) else gmc.canonical(header).encode()
    text += b" " * (-len(text) % 8 if pad is None else pad)
    return struct.pack("<Q", len(text)) + text + body


def entry(begin: int, end: int, shape: list[int], dtype: str = "F64") -> dict:
    return {"data_offsets": [begin, end], "dtype": dtype, "shape": shape}


def malformed(blob: bytes) -> str:
    result = check_bytes(blob)
    assert result.verdict is Verdict.MALFORMED
    assert result.claims == ()
    return result.reason


def test_the_builder_and_the_reader_agree() -> None:
    X, y = np.array([[1.0, -0.0], [5e-324, 1e308]]), np.array([0.5, -3.0])
    metadata, tensors = read(gmc.build_data(X, y))
    assert metadata is None
    assert tensors["X"].rows() == X.tolist()
    assert tensors["y"].values.tolist() == y.tolist()
    assert data_digest(tensors["X"], tensors["y"]) == gmc.data_digest(X, y)
    line = b"globalmin-data/1 2 2\n" + X.tobytes() + y.tobytes()
    assert gmc.data_digest(X, y) == hashlib.sha256(line).hexdigest()


def test_an_honest_file_is_accepted(honest: bytes) -> None:
    assert check_bytes(honest).verdict is Verdict.ACCEPTED


@pytest.mark.parametrize("length", [0, 1, 7, 8, 100])
def test_truncated_files_are_malformed(honest: bytes, length: int) -> None:
    malformed(honest[:length])
    malformed(honest[: len(honest) - length - 1])


def test_trailing_bytes_are_malformed(honest: bytes) -> None:
    malformed(honest + b"\0")
    malformed(honest + b"\0" * 8)


def test_every_single_byte_is_covered(honest: bytes) -> None:
    for position in range(0, len(honest), 7):
        changed = bytearray(honest)
        changed[position] ^= 1
        assert check_bytes(bytes(changed)).verdict is Verdict.MALFORMED


@pytest.mark.parametrize("length", [2**20 + 8, 2**32, 2**63, 2**64 - 8])
def test_huge_header_lengths_are_malformed(length: int) -> None:
    malformed(struct.pack("<Q", length) + b"{}" + b" " * 6)


def test_the_header_limit_is_exact() -> None:
    at_limit = b'{"a":"' + b"x" * (limits.HEADER_BYTES - 8) + b'"}'
    assert "longer" not in malformed(raw_container(at_limit))
    above = b'{"a":"' + b"x" * limits.HEADER_BYTES + b'"}'
    assert "longer" in malformed(raw_container(above))


def test_the_file_limit_is_exact(monkeypatch: pytest.MonkeyPatch, honest: bytes) -> None:
    monkeypatch.setattr(limits, "FILE_BYTES", len(honest))
    assert check_bytes(honest).verdict is Verdict.ACCEPTED
    monkeypatch.setattr(limits, "FILE_BYTES", len(honest) - 1)
    assert "longer" in malformed(honest)


def test_the_tensor_limit_is_exact() -> None:
    def blob(count: int) -> bytes:
        return raw_container(
            {f"t{i:04d}": entry(8 * i, 8 * i + 8, [1]) for i in range(count)}, b"\0" * 8 * count
        )

    assert len(read(blob(limits.TENSORS))[1]) == limits.TENSORS
    with pytest.raises(Malformed, match="more than 1024 tensors"):
        read(blob(limits.TENSORS + 1))


def test_the_element_limit_is_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ELEMENTS", 6)
    assert read(raw_container({"t": entry(0, 48, [2, 3])}, b"\0" * 48))[1]["t"].shape == (2, 3)
    with pytest.raises(Malformed, match="more than 6 elements"):
        read(raw_container({"t": entry(0, 56, [7])}, b"\0" * 56))


BAD_ENTRIES = [
    entry(0, 8, [1], "F32"),
    entry(0, 8, [1], "f64"),
    entry(0, 8, []),
    entry(0, 8, [1, 1, 1]),
    entry(0, 0, [0]),
    entry(0, 0, [0, 3]),
    entry(0, 0, [3, 0], "I64"),
    entry(0, 0, [0, 0], "I64"),
    entry(0, 8, [-1]),
    entry(0, 16, [1]),
    entry(8, 16, [1]),
    entry(8, 0, [1]),
    entry(0, 8, [10**17, 10**17]),
    entry(0, 8 * 10**17, [10**17]),
    {"data_offsets": [0], "dtype": "F64", "shape": [1]},
    {"data_offsets": [0, 8, 8], "dtype": "F64", "shape": [1]},
    {"data_offsets": [0, 8], "dtype": "F64", "shape": [True]},
    {"data_offsets": [False, 8], "dtype": "F64", "shape": [1]},
    {"data_offsets": [0, 8], "dtype": "F64", "shape": ["1"]},
    {"data_offsets": [0, 8], "dtype": "F64", "shape": 1},
    {"data_offsets": [0, 8], "dtype": "F64"},
    {"data_offsets": [0, 8], "dtype": "F64", "extra": 1, "shape": [1]},
    [0, 8],
    None,
]


@pytest.mark.parametrize("bad", BAD_ENTRIES, ids=repr)
def test_bad_tensor_entries_are_malformed(bad: object) -> None:
    with pytest.raises(Malformed):
        read(raw_container({"t": bad}, b"\0" * 8))


def test_an_integer_tensor_may_be_empty() -> None:
    assert read(raw_container({"t": entry(0, 0, [0, 2], "I64")}))[1]["t"].rows() == []


@pytest.mark.parametrize(
    ("first", "second", "size"),
    [
        ((0, 8), (16, 24), 24),
        ((0, 16), (8, 16), 16),
        ((8, 16), (0, 8), 16),
        ((0, 8), (8, 16), 24),
        ((0, 8), (0, 8), 8),
    ],
    ids=["hole", "overlap", "wrong order", "trailing", "same place"],
)
def test_holes_overlaps_and_order_are_malformed(first: tuple, second: tuple, size: int) -> None:
    header = {"a": entry(*first, [(first[1] - first[0]) // 8]), "b": entry(*second, [1])}
    with pytest.raises(Malformed):
        read(raw_container(header, b"\0" * size))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_nan_and_infinities_are_refused_before_arithmetic(value: float) -> None:
    with pytest.raises(Malformed, match="NaN or an infinity"):
        read(gmc.container({"t": np.array([1.0, value])}, None))


@pytest.mark.parametrize("bits", [0x7FF0 << 48, 0xFFF0 << 48, (0x7FF0 << 48) + 1, 2**64 - 1])
@pytest.mark.parametrize("place", [0, 5, 8])
def test_every_kind_of_nan_and_infinity_is_seen_wherever_it_stands(bits: int, place: int) -> None:
    values = np.full(9, 2.0**1023)
    values[::2] = -np.finfo(np.float64).max
    assert list(read(gmc.container({"t": values}, None))[1]["t"].values) == values.tolist()
    for others in (values, np.arange(9.0)):
        spoiled = others.copy()
        spoiled.view(np.uint64)[place] = bits
        with pytest.raises(Malformed, match="NaN or an infinity"):
            read(gmc.container({"t": spoiled}, None))


@pytest.mark.parametrize(
    "header",
    [b"[]", b"1", b'"x"', b"null", b"", b"{", b'{"a":1,"a":1}', b'{"\xc3\xa9":1}', b"{}\n"],
)
def test_bad_headers_are_malformed(header: bytes) -> None:
    malformed(raw_container(header))


def test_padding_must_be_spaces_and_minimal() -> None:
    with pytest.raises(Malformed, match="padded"):
        read(raw_container(b"{}", pad=14))
    with pytest.raises(Malformed, match="multiple of 8"):
        read(raw_container(b"{}", pad=5))
    with pytest.raises(Malformed):
        read(raw_container(b"{}\0\0\0\0\0\0"))
    assert read(raw_container(b"{}", pad=6)) == (None, {})


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        [],
        "x",
        {},
        {"certificate": "{}", "format": gmc.FORMAT},
        {"certificate": "{}", "format": gmc.FORMAT, "seal": 1},
        {"certificate": "{}", "format": gmc.FORMAT, "seal": "0" * 64, "more": "x"},
        {"certificate": 1, "format": gmc.FORMAT, "seal": ""},
    ],
)
def test_metadata_has_exactly_three_strings(metadata: object) -> None:
    malformed(raw_container({"__metadata__": metadata}))


def test_a_file_without_metadata_is_no_certificate() -> None:
    assert "format" in malformed(gmc.build_data(np.ones((1, 1)), np.ones(1)))


@pytest.mark.parametrize("name", ["globalmin-certificate/2", "globalmin-certificate/1 ", "", "x"])
def test_other_formats_are_malformed(honest: bytes, name: str) -> None:
    certificate, tensors = gmc.unpack(honest)
    metadata = {"certificate": gmc.canonical(certificate), "format": name, "seal": gmc.BLANK_SEAL}
    assert "format" in malformed(gmc.seal(gmc.container(tensors, metadata)))


@pytest.mark.parametrize("seal", ["0" * 64, "F" * 64, "", "0" * 63, "0" * 65])
def test_a_wrong_seal_is_malformed(honest: bytes, seal: str) -> None:
    certificate, tensors = gmc.unpack(honest)
    metadata = {"certificate": gmc.canonical(certificate), "format": gmc.FORMAT, "seal": seal}
    assert "seal" in malformed(gmc.container(tensors, metadata))


def test_an_upper_case_seal_is_malformed(honest: bytes) -> None:
    length = struct.unpack("<Q", honest[:8])[0]
    seal = json.loads(honest[8 : 8 + length])["__metadata__"]["seal"]
    malformed(honest.replace(seal.encode(), seal.upper().encode()))


def test_an_escaped_seal_key_inside_the_certificate_does_not_confuse_the_seal(
    honest: bytes,
) -> None:
    certificate, tensors = gmc.unpack(honest)
    assert (
        check_bytes(gmc.pack({**certificate, "producer": '","seal":"' + "0" * 64}, tensors)).verdict
        is Verdict.ACCEPTED
    )


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "{}", '{"claims":[]}', "null", '{"a":1,"a":1}', "é", "\ud800", "[" * 10**5],
)
def test_a_bad_certificate_string_is_malformed(honest: bytes, text: str) -> None:
    _, tensors = gmc.unpack(honest)
    metadata = {"certificate": text, "format": gmc.FORMAT, "seal": gmc.BLANK_SEAL}
    malformed(gmc.seal(gmc.container(tensors, metadata)))


def test_files_that_cannot_be_read_raise(tmp_path: Any) -> None:
    with pytest.raises(FileNotFoundError):
        check_file(tmp_path / "missing.gmc")
    with pytest.raises(OSError, match="directory"):
        check_file(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        check_file(tmp_path / "pipe")


def test_a_file_is_read_at_most_to_the_limit(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "long.gmc").write_bytes(b"\0" * 100)
    monkeypatch.setattr(limits, "FILE_BYTES", 10)
    assert len(read_regular_file(tmp_path / "long.gmc")) == 11
    assert check_file(str(tmp_path / "long.gmc")).verdict is Verdict.MALFORMED


def test_an_empty_file_is_malformed(tmp_path: Any) -> None:
    (tmp_path / "empty.gmc").write_bytes(b"")
    assert check_file(tmp_path / "empty.gmc").verdict is Verdict.MALFORMED


def test_random_bytes_get_a_verdict() -> None:
    rng = np.random.default_rng(5)
    for size in range(0, 400, 3):
        assert check_bytes(rng.bytes(size)).verdict is Verdict.MALFORMED
        assert check_bytes(raw_container(rng.bytes(size))).verdict is Verdict.MALFORMED
