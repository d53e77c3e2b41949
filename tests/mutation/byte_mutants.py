"""Byte-level mutants of sealed certificates: everything a bad disk, a bad editor or a careless
script does to a file.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Rng = np.random.Generator
Mutation = Callable[[Rng, bytes, bytes], bytes]


def _below(rng: Rng, bound: int) -> int:
    return int(rng.integers(bound))


def _flip_bit(rng: Rng, raw: bytes, _: bytes) -> bytes:
    i = _below(rng, len(raw))
    return raw[:i] + bytes([raw[i] ^ (1 << _below(rng, 8))]) + raw[i + 1 :]


def _flip_header_bit(rng: Rng, raw: bytes, _: bytes) -> bytes:
    i = _below(rng, 8 + int.from_bytes(raw[:8], "little"))
    return raw[:i] + bytes([raw[i] ^ (1 << _below(rng, 8))]) + raw[i + 1 :]


def _set_bytes(rng: Rng, raw: bytes, _: bytes) -> bytes:
    i = _below(rng, len(raw))
    block = rng.bytes(1 + _below(rng, 16))
    return (raw[:i] + block + raw[i + len(block) :])[: len(raw)]


def _zero_block(rng: Rng, raw: bytes, _: bytes) -> bytes:
    i, size = _below(rng, len(raw)), 1 + _below(rng, 64)
    return raw[:i] + b"\0" * len(raw[i : i + size]) + raw[i + size :]


def _insert(rng: Rng, raw: bytes, _: bytes) -> bytes:
    i = _below(rng, len(raw) + 1)
    return raw[:i] + rng.bytes(1 + _below(rng, 8)) + raw[i:]


def _delete(rng: Rng, raw: bytes, _: bytes) -> bytes:
    i = _below(rng, len(raw))
    return raw[:i] + raw[i + 1 + _below(rng, 8) :]


def _truncate(rng: Rng, raw: bytes, _: bytes) -> bytes:
    return raw[: _below(rng, len(raw))]


def _append(rng: Rng, raw: bytes, other: bytes) -> bytes:
    return raw + [b"\0", b"\n", b" ", other, raw][_below(rng, 5)]


def _swap_numbers(rng: Rng, raw: bytes, _: bytes) -> bytes:
    begin = 8 + int.from_bytes(raw[:8], "little")
    count = (len(raw) - begin) // 8
    i, j = sorted(begin + 8 * _below(rng, count) for _ in range(2))
    return (
        raw if i == j else raw[:i] + raw[j : j + 8] + raw[i + 8 : j] + raw[i : i + 8] + raw[j + 8 :]
    )


def _change_digit(rng: Rng, raw: bytes, _: bytes) -> bytes:
    end = 8 + int.from_bytes(raw[:8], "little")
    digits = [i for i in range(8, end) if 48 <= raw[i] <= 57]
    i = digits[_below(rng, len(digits))]
    return raw[:i] + b"%d" % _below(rng, 10) + raw[i + 1 :]


def _splice(rng: Rng, raw: bytes, other: bytes) -> bytes:
    return raw[: _below(rng, len(raw))] + other[_below(rng, len(other)) :]


def _body_of_other(rng: Rng, raw: bytes, other: bytes) -> bytes:
    return (
        raw[: 8 + int.from_bytes(raw[:8], "little")]
        + other[8 + int.from_bytes(other[:8], "little") :]
    )


def _change_length(rng: Rng, raw: bytes, _: bytes) -> bytes:
    size = int.from_bytes(raw[:8], "little")
    lengths = [
        0,
        size - 8,
        size + 8,
        2 * size,
        2**20,
        2**63,
        2**64 - 1,
        int.from_bytes(rng.bytes(8), "little"),
    ]
    return lengths[_below(rng, len(lengths))].to_bytes(8, "little") + raw[8:]


MUTATIONS: dict[str, Mutation] = {
    "flip a bit": _flip_bit,
    "flip a header bit": _flip_header_bit,
    "set bytes": _set_bytes,
    "zero a block": _zero_block,
    "insert": _insert,
    "delete": _delete,
    "truncate": _truncate,
    "append": _append,
    "swap two numbers": _swap_numbers,
    "change a digit": _change_digit,
    "splice": _splice,
    "body of another file": _body_of_other,
    "change the length": _change_length,
}


def byte_mutant(rng: Rng, raw: bytes, other: bytes) -> tuple[str, bytes]:
    """(name of the mutation, mutant), never the original bytes."""
    while True:
        name = list(MUTATIONS)[_below(rng, len(MUTATIONS))]
        mutant = MUTATIONS[name](rng, raw, other)
        if mutant not in (raw, other):
            return name, mutant
