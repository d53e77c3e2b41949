"""The object `certificate` of section 3: network, data and claims, with every tensor accounted
for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from globalmin_check import limits
from globalmin_check.canonical import Fields, parse
from globalmin_check.claims import KINDS, NETWORKS
from globalmin_check.claims.deep_network import read_layers, take_weights
from globalmin_check.claims.kind import ClaimKind
from globalmin_check.claims.patch_network import take_table
from globalmin_check.container import (
    FORMAT,
    Tensor,
    Tensors,
    check_seal,
    data_digest,
    digest_of,
    read,
)
from globalmin_check.problem import ACTIVATIONS, Problem, Sizes, digits
from globalmin_check.verdict import Malformed, Rejected, Undecided


@dataclass(frozen=True)
class Claim:
    """One claim: its kind, and what that kind parsed (fields and tensors)."""

    kind: ClaimKind
    content: Any


@dataclass(frozen=True)
class DataFields:
    """The object `data`."""

    bias: bool
    n: int
    d: int
    sha256: str
    stored: bool


def read_certificate(blob: bytes, data_blob: bytes | None) -> tuple[Problem, tuple[Claim, ...]]:
    """Parse and cross-check a whole file; raises Malformed, Rejected (wrong data) or Undecided
    (data not given).
    """
    metadata, stored = read(blob)
    if metadata is None or metadata["format"] != FORMAT:
        raise Malformed(f"the format is not {FORMAT}")
    check_seal(blob, metadata["seal"])
    fields = Fields(
        parse(metadata["certificate"].encode("utf-8", "surrogatepass"), "the certificate"),
        "certificate",
    )
    if len(fields.string("producer")) > limits.PRODUCER_CHARACTERS:
        raise Malformed(
            f"certificate.producer is longer than {limits.PRODUCER_CHARACTERS} characters"
        )
    network = Fields(fields.take("network"), "network")
    kind, tensors = (
        network.choice("kind", ("shallow", "deep", "patches", *NETWORKS)),
        Tensors(stored),
    )
    claim_values = fields.array("claims")
    if kind in NETWORKS:
        problem = NETWORKS[kind](network, fields, tensors)
        return problem, _claims(claim_values, fields, tensors, problem.sizes, kind)
    fields.choice("loss", ("half-sum-of-squares",))
    form = read_layers(network) if kind == "deep" else None
    activation, parameter = _activation(network)
    data = _data(Fields(fields.take("data"), "data"))
    deep = None if form is None else take_weights(form, tensors, data.d)
    table = take_table(tensors, data.d) if kind == "patches" else ()
    columns = len(table[0]) if table else data.d
    W = tensors.take("W", "F64", None, columns) if deep is None else deep.weights[0]
    sizes = Sizes(data.n, data.d, W.shape[0], deep, table)
    v = tensors.take("v", "F64", sizes.k * max(len(table), 1) if deep is None else deep.head)
    inside = (
        (tensors.take("X", "F64", data.n, data.d), tensors.take("y", "F64", data.n))
        if data.stored
        else None
    )
    claims = _claims(claim_values, fields, tensors, sizes, kind)
    X, y = _samples(data, inside, data_blob)
    weights, shape = ((W,), f"{sizes.k} {columns}")
    if deep is not None:
        weights, shape = deep.weights, deep.description
    elif table:
        shape = f"{shape} {table}"
    network_digest = digest_of(
        f"globalmin-network/1 {kind} {activation} {parameter} {shape}", *weights, v
    )
    about = digits(network_digest, data.sha256)
    return Problem(activation, parameter, data.bias, sizes, X, y, W, v, about), claims


def _activation(fields: Fields) -> tuple[str, Fraction]:
    name = fields.choice("activation", ACTIVATIONS)
    parameter = Fraction(1)
    if name == "leaky_relu" or (name in ("softplus", "sigmoid") and fields.has("parameter")):
        parameter = fields.rational("parameter")
        if not (0 <= parameter < 1 if name == "leaky_relu" else parameter > 0 and parameter != 1):
            raise Malformed(
                f"network.parameter is outside the domain of {name} (a slope 1 is left out)"
            )
    fields.end()
    return name, parameter


def _data(fields: Fields) -> DataFields:
    data = DataFields(
        fields.boolean("bias"),
        fields.integer("n", 1),
        fields.integer("d", 1),
        fields.string("sha256"),
        fields.boolean("stored"),
    )
    if re.fullmatch("[0-9a-f]{64}", data.sha256) is None:
        raise Malformed("data.sha256 is not 64 lower-case hexadecimal digits")
    if 8 * data.n * (data.d + 1) > limits.FILE_BYTES:  # before anything of length n or d is built
        raise Malformed(
            f"data.n and data.d are more than a file of {limits.FILE_BYTES} bytes can hold"
        )
    fields.end()
    return data


def _claims(
    values: list[object], fields: Fields, tensors: Tensors, sizes: Sizes, network: str
) -> tuple[Claim, ...]:
    fields.end()
    if not 1 <= len(values) <= limits.CLAIMS:
        raise Malformed(f"the number of claims is {len(values)}, not between 1 and {limits.CLAIMS}")
    claims = tuple(
        _claim(Fields(value, f"claims.{i}"), i, tensors, sizes, network)
        for i, value in enumerate(values)
    )
    tensors.end()
    return claims


def _claim(fields: Fields, index: int, tensors: Tensors, sizes: Sizes, network: str) -> Claim:
    kind = KINDS[fields.choice("kind", tuple(KINDS))]
    reader = {1: kind.read, 2: kind.read_second}.get(fields.integer("version", 0))
    if reader is None:
        raise Malformed(f"claims.{index}.version is not one of {kind.name}")
    fields.choice("theorem", (kind.theorem,))
    if kind.network != network:
        raise Malformed(f"claims.{index} is a claim about another kind of network")
    content = reader(fields, tensors.of_claim(index), sizes)
    fields.end()
    return Claim(kind, content)


def _samples(
    data: DataFields, inside: tuple[Tensor, Tensor] | None, data_blob: bytes | None
) -> tuple[Tensor, Tensor]:
    outside = None if data_blob is None else _data_file(data_blob)
    pairs = [pair for pair in (inside, outside) if pair is not None]
    if not pairs:
        raise Undecided("the data are not stored in the file: give them with --data")
    for X, y in pairs:
        if X.shape != (data.n, data.d) or data_digest(X, y) != data.sha256:
            raise Rejected(
                "the data do not have the digest data.sha256: the certificate is about other "
                "numbers"
            )
    X, y = pairs[0]
    if data.bias and any(value != 1.0 for value in X.values[data.d - 1 :: data.d]):
        raise Rejected("data.bias is true, but the last column of X is not constant 1")
    return X, y


def _data_file(blob: bytes) -> tuple[Tensor, Tensor]:
    try:
        metadata, stored = read(blob)
        tensors = Tensors(stored)
        X = tensors.take("X", "F64", None, None)
        y = tensors.take("y", "F64", X.shape[0])
        tensors.end()
    except Malformed as error:
        raise Malformed(f"the data file: {error}") from None
    if metadata is not None:
        raise Malformed("the data file has metadata")
    return X, y
