"""The files of malformed/: bytes that are not a version-1 certificate, each by one named fault, all
with a correct seal unless the seal is the fault."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from tests.corpus.corpus_malformed_claims import claim_faults, index_faults
from tests.corpus.corpus_malformed_quadratic import quadratic_malformed
from tests.corpus.drafts import Draft, canonical, container, layout, resealed, seal
from tests.corpus.resealing import (
    Header,
    with_certificate,
    with_certificate_text,
    with_header,
    with_text,
)


def _unsealed(raw: bytes, place: int, value: bytes) -> bytes:
    return raw[:place] + value + raw[place + len(value) :]


def container_faults(draft: Draft) -> dict[str, bytes]:
    """Faults of the bytes around the header."""
    raw = seal(draft)
    N = int.from_bytes(raw[:8], "little")
    return {
        "empty_file": b"",
        "seven_bytes": raw[:7],
        "length_only": raw[:8],
        "length_beyond_the_file": _unsealed(raw, 0, (len(raw)).to_bytes(8, "little")),
        "length_two_to_the_63": _unsealed(raw, 0, (2**63).to_bytes(8, "little")),
        "length_off_by_eight": _unsealed(raw, 0, (N - 8).to_bytes(8, "little")),
        "length_zero": (0).to_bytes(8, "little") + raw[8:],
        "truncated_by_one_byte": resealed(raw[:-1]),
        "truncated_by_one_number": resealed(raw[:-8]),
        "trailing_byte": resealed(raw + b"\0"),
        "trailing_number": resealed(raw + b"\0" * 8),
        "a_zip_archive": b"PK\x03\x04" + b"\0" * 60,
        "text": b"this is not a certificate, but it is long enough to be read as one\n",
        "header_padded_with_eight_more_spaces": resealed(
            (N + 8).to_bytes(8, "little") + raw[8 : 8 + N] + b" " * 8 + raw[8 + N :]
        ),
        "header_padded_in_front": resealed((N + 8).to_bytes(8, "little") + b" " * 8 + raw[8:]),
        "header_not_padded": _not_padded(draft),
        "header_padded_with_newlines": _newline_padding(draft),
    }


def _text_and_body(draft: Draft) -> tuple[bytes, bytes]:
    raw = seal(draft)
    end = 8 + int.from_bytes(raw[:8], "little")
    return raw[8:end].rstrip(b" "), raw[end:]


def _not_padded(draft: Draft) -> bytes:
    for length in range(8):
        changed = draft.copy()
        changed.overrides["producer"] = "p" * length
        text, body = _text_and_body(changed)
        if (8 + len(text)) % 8:
            return resealed(len(text).to_bytes(8, "little") + text + body)
    raise ValueError("every length is a multiple of eight")


def _newline_padding(draft: Draft) -> bytes:
    for length in range(8):
        changed = draft.copy()
        changed.overrides["producer"] = "p" * length
        text, body = _text_and_body(changed)
        missing = -(8 + len(text)) % 8
        if missing:
            return resealed(
                (len(text) + missing).to_bytes(8, "little") + text + b"\n" * missing + body
            )
    raise ValueError("every length is a multiple of eight")


def header_faults(draft: Draft) -> dict[str, bytes]:
    """Faults of the outer JSON object and of its tensor entries."""
    entry = '"v":{"data_offsets"'

    def tensor(change: Callable[[Header], Any]) -> bytes:
        return with_header(draft, lambda h: change(h["v"]))

    def metadata(change: Callable[[Header], Any]) -> bytes:
        return with_header(draft, lambda h: change(h["__metadata__"]))

    deep = "[" * 9 + "]" * 9
    return {
        "header_duplicate_key": with_text(draft, lambda t: t[:-1] + "," + t[t.index('"y":') :]),
        "header_keys_not_sorted": with_text(
            draft, lambda t: "{" + t[t.index('"y":') : -1] + "," + t[1 : t.index(',"y":')] + "}"
        ),
        "header_with_a_space": with_text(draft, lambda t: t.replace(entry, '"v": {"data_offsets"')),
        "header_is_an_array": with_text(draft, lambda t: "[" + t + "]"),
        "header_not_json": with_text(draft, lambda t: t[:-1]),
        "header_two_objects": with_text(draft, lambda t: t + "{}"),
        "header_nested_too_deep": with_text(draft, lambda t: t[:-1] + ',"z":' + deep + "}"),
        "header_very_deep": with_text(
            draft, lambda t: t[:-1] + ',"z":' + "[" * 50000 + "]" * 50000 + "}"
        ),
        "header_null": with_text(draft, lambda t: t[:-1] + ',"z":null}'),
        "header_float_offset": with_text(
            draft, lambda t: t.replace('"v":{"data_offsets":[', '"v":{"data_offsets":[0.0,')
        ),
        "header_nan_literal": with_text(draft, lambda t: t[:-1] + ',"z":NaN}'),
        "header_exponent_literal": with_text(draft, lambda t: t[:-1] + ',"z":1e3}'),
        "header_integer_of_19_digits": with_text(
            draft, lambda t: t[:-1] + ',"z":1' + "0" * 18 + "}"
        ),
        "header_escaped_slash": with_text(
            draft, lambda t: t.replace("certificate/1", "certificate\\/1")
        ),
        "header_escaped_letter": with_text(
            draft, lambda t: t.replace('"format"', '"\\u0066ormat"')
        ),
        "metadata_missing": with_header(draft, lambda h: h.pop("__metadata__")),
        "metadata_extra_field": metadata(lambda m: m.update(comment="x")),
        "metadata_format_2": metadata(lambda m: m.update(format="globalmin-certificate/2")),
        "metadata_without_format": metadata(lambda m: m.pop("format")),
        "metadata_certificate_not_a_string": metadata(lambda m: m.update(certificate={})),
        "metadata_is_a_string": with_header(draft, lambda h: h.update(__metadata__="certificate")),
        "tensor_dtype_f32": tensor(lambda e: e.update(dtype="F32")),
        "tensor_dtype_missing": tensor(lambda e: e.pop("dtype")),
        "tensor_extra_field": tensor(lambda e: e.update(comment="x")),
        "tensor_three_dimensions": tensor(lambda e: e.update(shape=[*e["shape"], 1, 1])),
        "tensor_no_dimension": tensor(lambda e: e.update(shape=[])),
        "tensor_shape_true": tensor(lambda e: e.update(shape=[True])),
        "tensor_shape_negative": tensor(lambda e: e.update(shape=[-1])),
        "tensor_offsets_overlap": tensor(
            lambda e: e.update(data_offsets=[x - 8 for x in e["data_offsets"]])
        ),
        "tensor_offsets_leave_a_hole": tensor(
            lambda e: e.update(data_offsets=[e["data_offsets"][0] + 8, e["data_offsets"][1]])
        ),
        "tensor_offsets_three": tensor(lambda e: e.update(data_offsets=[*e["data_offsets"], 0])),
        "tensor_offsets_negative": tensor(
            lambda e: e.update(data_offsets=[-8, e["data_offsets"][1]])
        ),
        "tensor_of_10_to_the_12_numbers": tensor(lambda e: e.update(shape=[10**12])),
        "tensor_shape_product_overflows": tensor(lambda e: e.update(shape=[10**17, 10**17])),
        "tensor_entry_is_a_number": with_header(draft, lambda h: h.update(v=3)),
        "tensors_not_in_sorted_order": _unsorted_body(draft),
    }


def _unsorted_body(draft: Draft) -> bytes:
    """The offsets of v and y exchanged, a legal safetensors file."""

    def change(header: Header) -> None:
        v, y = header["v"]["data_offsets"], header["y"]["data_offsets"]
        header["y"]["data_offsets"] = [v[0], v[0] + y[1] - y[0]]
        header["v"]["data_offsets"] = [v[0] + y[1] - y[0], y[1]]

    return with_header(draft, change)


def seal_faults(draft: Draft) -> dict[str, bytes]:
    """Faults of the seal and of the bytes it covers."""
    raw = seal(draft)
    place = raw.rfind(b'"seal":"') + 8
    digest = raw[place : place + 64]
    first = b"1" if digest[:1] != b"1" else b"2"
    return {
        "seal_zero": _unsealed(raw, place, b"0" * 64),
        "seal_one_digit_changed": _unsealed(raw, place, first),
        "seal_upper_case": _unsealed(raw, place, digest.upper()),
        "seal_too_short": with_header(draft, lambda h: h["__metadata__"].update(seal="0" * 56)),
        "seal_not_a_string": with_header(draft, lambda h: h["__metadata__"].update(seal=0)),
        "last_bit_of_the_data_changed": raw[:-8] + bytes([raw[-8] ^ 1]) + raw[-7:],
        "producer_changed_after_sealing": raw.replace(b"tests", b"Tests", 1),
    }


def certificate_faults(draft: Draft) -> dict[str, bytes]:
    """Faults of the inner object."""

    def network(**fields: Any) -> bytes:
        return with_certificate(draft, lambda top: top.update(network={"kind": "shallow"} | fields))

    def data(**fields: Any) -> bytes:
        return with_certificate(draft, lambda top: top["data"].update(fields))

    return {
        "certificate_with_a_space": with_certificate_text(
            draft, lambda t: t.replace('"loss":', '"loss": ')
        ),
        "certificate_duplicate_key": with_certificate_text(
            draft, lambda t: t.replace('"loss":', '"loss":"x","loss":')
        ),
        "certificate_not_json": with_certificate_text(draft, lambda t: t[1:]),
        "certificate_empty": with_certificate_text(draft, lambda t: ""),
        "certificate_trailing_space": with_certificate_text(draft, lambda t: t + " "),
        "certificate_not_ascii": with_certificate_text(
            draft, lambda t: t.replace("tests", "t\u00e9sts")
        ),
        "certificate_extra_field": with_certificate(draft, lambda top: top.update(note="x")),
        "certificate_without_loss": with_certificate(draft, lambda top: top.pop("loss")),
        "certificate_without_producer": with_certificate(draft, lambda top: top.pop("producer")),
        "certificate_other_loss": with_certificate(
            draft, lambda top: top.update(loss="mean-of-squares")
        ),
        "certificate_producer_of_101_characters": with_certificate(
            draft, lambda top: top.update(producer="x" * 101)
        ),
        "certificate_producer_is_a_number": with_certificate(
            draft, lambda top: top.update(producer=1)
        ),
        "certificate_float_literal": with_certificate_text(
            draft, lambda t: t.replace('"n":3', '"n":3.0')
        ),
        "claims_empty": with_certificate(draft, lambda top: top.update(claims=[])),
        "claims_is_an_object": with_certificate(
            draft, lambda top: top.update(claims=top["claims"][0])
        ),
        "claims_holds_a_string": with_certificate(
            draft, lambda top: top.update(claims=["interpolation"])
        ),
        "network_unknown_activation": network(activation="gelu"),
        "network_kind_deep": with_certificate(
            draft, lambda top: top["network"].update(kind="deep")
        ),
        "network_parameter_one": network(activation="softplus", parameter="1"),
        "network_parameter_zero": network(activation="softplus", parameter="0"),
        "network_parameter_negative": network(activation="sigmoid", parameter="-2"),
        "network_parameter_for_tanh": network(activation="tanh", parameter="2"),
        "network_leaky_relu_without_slope": network(activation="leaky_relu"),
        "network_leaky_relu_slope_one": network(activation="leaky_relu", parameter="1"),
        "network_leaky_relu_slope_negative": network(activation="leaky_relu", parameter="-1/2"),
        "network_parameter_integer": network(activation="softplus", parameter=2),
        "network_extra_field": network(activation="softplus", width="3"),
        "data_n_zero": data(n=0),
        "data_n_other": data(n=4),
        "data_d_other": data(d=1),
        "data_n_true": data(n=True),
        "data_bias_is_a_number": data(bias=0),
        "data_extra_field": data(mean="0"),
        "data_not_stored_but_present": data(stored=False),
        "data_digest_short": data(sha256="00"),
    }


def _data_container(tensors: dict[str, Any]) -> bytes:
    entries, body = layout(tensors)
    return container(canonical(entries), body)


def outside_faults(drafts: dict[str, Draft]) -> dict[str, tuple[bytes, bytes]]:
    """Certificates whose data are outside, with a bad second file."""
    draft = drafts["interpolation_data_stored_outside"]
    raw, X, y = seal(draft), draft.X, draft.y
    entries, body = layout({"X": X, "y": y})
    return {
        "data_file_empty": (raw, b""),
        "data_file_with_metadata": (
            raw,
            container(canonical({**entries, "__metadata__": {"format": "x"}}), body),
        ),
        "data_file_without_y": (raw, _data_container({"X": X})),
        "data_file_with_a_third_tensor": (raw, _data_container({"X": X, "y": y, "z": y})),
        "data_file_trailing_byte": (raw, container(canonical(entries), body + b"\0")),
        "data_file_header_with_a_space": (
            raw,
            container(canonical(entries).replace(",", ", ", 1), body),
        ),
        "data_file_with_nan": (raw, _data_container({"X": np.full_like(X, np.nan), "y": y})),
        "data_file_integers": (
            raw,
            _data_container({"X": X, "y": np.ones(len(y), dtype=np.int64)}),
        ),
        "data_file_is_the_certificate": (raw, raw),
    }


def malformed(drafts: dict[str, Draft]) -> dict[str, tuple[bytes, bytes | None]]:
    """All of them: file name -> (certificate bytes, data file bytes or None)."""
    base = drafts["interpolation_softplus_W_rows"]
    alone = (
        container_faults(base) | header_faults(base) | seal_faults(base) | certificate_faults(base)
    )
    alone |= claim_faults(drafts) | index_faults(drafts) | quadratic_malformed(drafts)
    return {**{name: (raw, None) for name, raw in alone.items()}, **outside_faults(drafts)}
