"""Loss-floor claims of rejected/: groups that the rows, labels or activation do not allow, and
floors that are too large.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from tests.corpus.corpus_accepted import EQUAL, LINE, NEGATIVE, ODD, RAY, ZERO, network
from tests.corpus.drafts import Draft
from tests.corpus.fault import Fault
from tests.corpus.honest_instances import LINEAR, RELU, floor_draft


def floor_faults() -> dict[str, Fault]:
    """Wrong groups, wrong activations, wrong numbers."""
    ray, line, pair = [[1.0, 2.0], [2.0, 4.0]], [[1.0, 2.0], [-2.0, -4.0]], [[1.0, 2.0], [1.0, 2.0]]
    ones, tenth, half = [1.0, 1.0], Fraction(1, 10), Fraction(1, 2)
    softplus, tanh = network("softplus"), network("tanh")

    def made(
        net: dict[str, Any],
        rows: Any,
        labels: Any,
        group: Any,
        floor: Fraction,
        *,
        heads: str = "any",
    ) -> Draft:
        return floor_draft(net, rows, labels, [group], floor, heads=heads)

    drafts = {
        "ray_of_negative_ratio": made(RELU, line, ones, (RAY, [0, 1]), tenth),
        "ray_for_softplus": made(softplus, ray, ones, (RAY, [0, 1]), tenth),
        "ray_for_tanh": made(tanh, ray, ones, (RAY, [0, 1]), tenth),
        "ray_rows_not_proportional": made(
            RELU, [[1.0, 2.0], [2.0, 4.5]], ones, (RAY, [0, 1]), tenth
        ),
        "ray_of_zero_row": made(RELU, [[1.0, 2.0], [0.0, 0.0]], ones, (RAY, [0, 1]), tenth),
        "ray_for_abs": made(network("abs"), ray, ones, (RAY, [0, 1]), tenth),
        "ray_from_a_zero_reference_row": made(
            RELU, [[0.0, 0.0], [1.0, 2.0]], ones, (RAY, [0, 1]), tenth
        ),
        "line_for_linear": made(LINEAR, line, ones, (LINE, [0, 1]), tenth),
        "odd_for_linear": made(LINEAR, [[1.0, 2.0], [-1.0, -2.0]], ones, (ODD, [0, 1]), tenth),
        "odd_pair_of_zero_rows": made(
            tanh, [[0.0, 0.0], [0.0, 0.0]], ones, (ODD, [0, 1]), Fraction(0)
        ),
        "zero_for_softplus": made(softplus, [[0.0, 0.0]], [1.0], (ZERO, [0]), half),
        "zero_for_sigmoid": made(network("sigmoid"), [[0.0, 0.0]], [1.0], (ZERO, [0]), half),
        "zero_row_is_not_zero": made(RELU, [[0.0, 1e-300]], [1.0], (ZERO, [0]), half),
        "equal_rows_differ_in_the_last_bit": made(
            RELU,
            [[1.0, 2.0], [1.0, 2.0000000000000004]],
            [0.0, 1.0],
            (EQUAL, [0, 1]),
            Fraction(1, 4),
        ),
        "line_for_relu": made(RELU, line, ones, (LINE, [0, 1]), tenth),
        "line_for_tanh": made(tanh, line, ones, (LINE, [0, 1]), tenth),
        "odd_for_softplus": made(
            softplus, [[1.0, 2.0], [-1.0, -2.0]], ones, (ODD, [0, 1]), Fraction(1)
        ),
        "odd_for_quadratic": made(
            network("quadratic"), [[1.0, 2.0], [-1.0, -2.0]], ones, (ODD, [0, 1]), Fraction(1)
        ),
        "odd_with_ratio_two": made(tanh, line, ones, (ODD, [0, 1]), tenth),
        "negative_label_for_any_head": made(
            RELU, [[1.0, 2.0]], [-2.0], (NEGATIVE, [0]), Fraction(2)
        ),
        "negative_label_is_positive": made(
            RELU, [[1.0, 2.0]], [2.0], (NEGATIVE, [0]), Fraction(2), heads="nonnegative"
        ),
        "negative_label_group_of_two": made(
            RELU, pair, [-2.0, -2.0], (NEGATIVE, [0, 1]), Fraction(4), heads="nonnegative"
        ),
        "nonnegative_heads_with_leaky_relu_of_slope_zero": made(
            network("leaky_relu", "0"),
            pair,
            [-2.0, 1.0],
            (EQUAL, [0, 1]),
            Fraction(5, 2),
            heads="nonnegative",
        ),
        "nonnegative_heads_with_tanh": made(
            tanh, pair, [0.0, 1.0], (EQUAL, [0, 1]), Fraction(1, 4), heads="nonnegative"
        ),
        "larger_than_the_exact_one": made(
            RELU, ray, ones, (RAY, [0, 1]), tenth + Fraction(1, 10**12)
        ),
        "negative": made(RELU, ray, ones, (RAY, [0, 1]), -tenth),
        "equal_claims_the_uncentered_sum": made(
            softplus, pair, [2.0, 1.0], (EQUAL, [0, 1]), Fraction(5, 2)
        ),
    }
    reasons = {
        "larger_than_the_exact_one": "floor",
        "negative": "floor",
        "equal_claims_the_uncentered_sum": "floor",
    }
    faults = {
        f"floor_{name}": Fault(draft, reasons.get(name, "")) for name, draft in drafts.items()
    }
    negative_head = made(
        RELU, [[1.0, 2.0]], [-2.0], (NEGATIVE, [0]), Fraction(2), heads="nonnegative"
    )
    negative_head.v = np.array([0.75, -0.5])
    faults["floor_nonnegative_heads_but_one_is_not"] = Fault(negative_head)
    return faults
