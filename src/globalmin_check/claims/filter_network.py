"""Form of a one-filter network and its teacher in a certificate (sections 3 and 4 of the format
page).
"""

from __future__ import annotations

from fractions import Fraction

from globalmin_check.canonical import Fields
from globalmin_check.container import Tensors, digest_of
from globalmin_check.problem import Problem, Sizes, digits


def read_filter(network: Fields, fields: Fields, tensors: Tensors) -> Problem:
    """The stored numbers: X, y hold the teacher's filter and output weights, W, v those of the
    network.
    """
    network.end()
    fields.choice("loss", ("population-half-square",))
    law = Fields(fields.take("data"), "data")
    law.choice("law", ("gaussian-patches",))
    law.end()
    true_filter, true_head = (
        tensors.take("true_filter", "F64", None),
        tensors.take("true_head", "F64", None),
    )
    p, k = true_filter.shape[0], true_head.shape[0]
    filter_, head = tensors.take("filter", "F64", p), tensors.take("head", "F64", k)
    about = digits(
        digest_of(f"globalmin-network/1 filter {p} {k}", filter_, head),
        digest_of(f"globalmin-teacher/1 {p} {k}", true_filter, true_head),
    )
    return Problem(
        "relu", Fraction(1), False, Sizes(1, p, k), true_filter, true_head, filter_, head, about
    )
