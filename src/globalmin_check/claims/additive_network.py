"""Form of an additive ReLU network on rows that lie elsewhere, in shards (section 3 of the format
page, "Additive streams").
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from globalmin_check.canonical import Fields
from globalmin_check.claims.stream_network import (
    Stream,
    StreamSizes,
    digest_of_shards,
    read_names,
    read_shards,
)
from globalmin_check.container import Tensor, Tensors, digest_of
from globalmin_check.problem import Problem, digits
from globalmin_check.verdict import Malformed


@dataclass(frozen=True, kw_only=True)
class AdditiveStream(Stream):
    """The stored numbers of a stream, with the hidden biases and the intercept."""

    biases: Tensor
    intercept: Tensor


def read_additive_stream(network: Fields, fields: Fields, tensors: Tensors) -> Problem:
    """The stored numbers of an additive stream; form only."""
    network.end()
    fields.choice("loss", ("half-sum-of-squares",))
    data = Fields(fields.take("data"), "data")
    shards, columns = read_shards(data.array("shards")), read_names(data.array("columns"))
    data.end()
    d = len(columns) - 1
    if d < 1:
        raise Malformed("data.columns are not at least one input and the label")
    W = tensors.take("W", "F64", None, d)
    k = W.shape[0]
    biases, v = tensors.take("bias", "F64", k), tensors.take("v", "F64", k)
    intercept = tensors.take("intercept", "F64", 1)
    shift, scale = tensors.take("shift", "F64", d + 1), tensors.take("scale", "F64", d + 1)
    stored = digest_of(
        f"globalmin-network/1 additive-stream {k} {d}", W, biases, v, intercept, shift, scale
    )
    sizes = StreamSizes(sum(shard.rows for shard in shards), d, k, shards=len(shards))
    about = digits(stored, digest_of_shards(shards))
    return AdditiveStream(
        "relu",
        Fraction(1),
        False,
        sizes,
        shift,
        scale,
        W,
        v,
        about,
        columns,
        shards,
        biases=biases,
        intercept=intercept,
    )
