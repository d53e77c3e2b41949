"""The claim unused-terms (R6): masses, unused groups, the ball of fitted values, its wording, and
what is refused.
"""

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.checker.regularized_cases import Case, build, changed, dual_claim, file_of
from tests.corpus.whole_files import opened
from tests.oracles.fraction_checker import check_bytes as slow_check

from globalmin_check.engine import check_bytes

F = Fraction
T = 0.353


def trained() -> Case:
    """The worked example of the page: the golden column at its optimal network, and a second column
    of size 1/128.
    """
    t = 0.5 / math.sqrt(2)  # u = f - y = (t, -t); f = (-1 + t, 1 - t) = c0 + (0, 2 v w)
    size = math.sqrt((1 - t) * math.sqrt(2))  # |v| = |w|, w along (1, 1): v |w| sqrt 2 = 2 (1 - t)
    return Case(
        np.array([[-1.0, 1 / 128], [1.0, -1 / 128]]),
        np.array([-1.0, 1.0]),
        np.array([[size / math.sqrt(2), 0.0]]),
        np.array([size]),
        bias=np.array([size / math.sqrt(2)]),
        intercept=-(1 - t),
        network={"b": F(1, 2)},
    )


def claimed(case: Case | None = None, **fields: Any) -> bytes:
    """An honest file, fields given here win."""
    usual = {
        "h": [F(1, 2), F(T) / 64],
        "Lam": [F(3), 2 + F(1, 1024)],
        "unused": [1],
    }
    return file_of(case or trained(), np.array([T, -T]), kind="unused-terms", **(usual | fields))


def verdict(raw: bytes) -> str:
    fast, slow = check_bytes(raw).verdict.value, slow_check(raw).verdict
    assert fast == slow
    return fast


def test_the_worked_example_proves_its_second_column_unused():
    result = check_bytes(claimed())
    assert result.verdict.value == "ACCEPTED"
    numbers = result.claims[0].numbers
    assert numbers is not None
    assert float(numbers["gap"]) < 1e-3
    text = result.statement
    assert "Every optimal network has no non-zero neuron in the groups of columns [1]." in text
    assert "is: [1] at most" in text  # nothing of the first one, where h = b
    assert "in the sum of squares" in text
    assert any("does not say that one exists" in note for note in result.notes)
    assert any("between the samples" in note for note in result.notes)
    assert "unique" not in text


def test_masses_are_those_of_the_theorem():
    claim, _ = dual_claim(
        trained(), np.array([T, -T]), kind="unused-terms", h=[F(1, 2), F(1, 4)], unused=[]
    )
    text = check_bytes(claimed(h=[F(1, 2), F(1, 4)], unused=[])).statement
    mass = F(claim["gap"]) / (F(1, 2) - F(1, 4))
    said = F(
        text.split("[1] at most ")[1].split(".", 1)[0]
        + "."
        + text.split("[1] at most ")[1].split(".")[1].split(" ")[0].rstrip(";")
    )
    assert mass <= said <= mass * F(102, 100)


@pytest.mark.parametrize(
    ("fields", "number"),
    [
        ({"h": [F(1, 2), F(-1, 100)]}, "Z7a"),
        ({"h": [F(6, 10), F(T) / 64]}, "Z7b"),
        ({"h": [F(1, 2), F(T) / 65]}, "Z7c"),
        ({"h": [F(4, 10), F(T) / 64]}, "Z7c"),
        ({"Lam": [F(3), F(2)]}, "Z8"),
        ({"Lam": [F(3), F(1)]}, "Z8"),
        ({"Lam": [F(1), F(3)]}, "Z8"),
        ({"unused": [0]}, "Z9a"),
        ({"h": [F(1, 2), F(49, 100)]}, "Z9b"),
        ({"gap": F(-1)}, "Z2"),
        ({"p_up": F(57, 100), "gap": F(1, 1000)}, "Z12"),
        ({"p_low": F(582, 1000), "gap": F(1, 1000)}, "Z13"),
    ],
)
def test_each_condition_is_checked(fields: dict[str, Any], number: str):
    raw = claimed(**fields)
    assert verdict(raw) == "REJECTED"
    assert f"check {number} " in check_bytes(raw).reason


def test_conditions_of_the_dual_bound_are_checked_too():
    case = trained()
    assert "Z5" in check_bytes(file_of(
        case, np.array([T, -T / 2]), kind="unused-terms", h=[F(1, 2)] * 2, unused=[]
    )).reason  # fmt: skip
    both = replace(case, W=case.W + 1)
    assert "Z1" in check_bytes(claimed(both)).reason
    linear = changed(case, linear=np.zeros(2))
    assert "Z6" in check_bytes(claimed(linear)).reason


@pytest.mark.parametrize(
    ("loss", "y", "factor"),
    [
        ("logistic", [-1.0, 1.0], F(1, 4)),
        ("squared_hinge", [-1.0, 1.0], F(1)),
        ("huber", [-1.0, 1.0], F(1)),
    ],
)
def test_the_constant_of_each_loss(loss: str, y: list[float], factor: Fraction):
    """Lam is compared with sum om x x^T/mu, mu = 1/om or 4/om."""
    parameter = {"parameter": F(5)} if loss == "huber" else {}
    case = changed(
        trained(), y=np.array(y), loss={"name": loss} | parameter, om=np.array([1.0, 3.0])
    )
    # rows (-1, 1), (1, 1) with weights 1, 3: [[4, 2], [2, 4]], eigenvalues 2 and 6
    usual = {"unused": [], "h": [F(1, 2)] * 2}
    assert verdict(claimed(case, Lam=[6 * factor + F(1, 1000), F(5)], **usual)) == "ACCEPTED"
    assert "Z8" in check_bytes(claimed(case, Lam=[6 * factor, F(5)], **usual)).reason


def test_weights_are_named_in_the_ball_and_other_losses_have_none():
    case = changed(trained(), om=np.array([1.0, 1.0]))
    assert "in the sum of weighted squares" in check_bytes(claimed(case)).statement
    quantile = changed(trained(), loss={"name": "quantile", "parameter": F(1, 2)})
    raw = file_of(quantile, np.array([T, -T]), kind="unused-terms", h=[F(1, 2)] * 2, unused=[])
    result = check_bytes(raw)
    assert result.verdict.value == "ACCEPTED"
    assert "fitted values" not in result.statement
    assert "the sum of |v||w|" not in result.statement


def test_pairs_are_numbered_in_lexicographic_order():
    rng = np.random.default_rng(0)
    case = Case(
        np.hstack([rng.standard_normal((3, 2)), 1e-3 * rng.standard_normal((3, 1))]),
        rng.standard_normal(3),
        np.zeros((1, 3)),
        np.zeros(1),
        bias=np.zeros(1),
        network={"groups": "pairs", "b": F(100)},
    )
    h = [F(100), F(100), F(50)]
    raw = file_of(case, np.array([0.1, 0.2, -0.1]), "cones", kind="unused-terms", h=h, unused=[])
    assert verdict(raw) == "ACCEPTED"
    assert "[1, 2] at most" in check_bytes(raw).statement


@pytest.mark.parametrize(
    "edit",
    [
        {"h": ["1/2"]},
        {"h": "1/2"},
        {"Lam": ["3", "3", "3"]},
        {"unused": [1, 0]},
        {"unused": [2]},
        {"unused": [-1]},
        {"unused": [True]},
        {"unused": ["1"]},
        {"constraint": "spectral"},
        {"constraint": "quadratic"},
    ],
)
def test_faults_of_form(edit: dict[str, Any]):
    file = opened(claimed())
    file.claim.update(edit)
    assert verdict(file.sealed()) == "MALFORMED"


def test_a_group_is_unused_just_as_long_as_the_gap_is_small():
    """(b - h)^2 = .24451 and Lam = 2.00098: the gap may be .06109 and not more."""
    assert verdict(claimed(gap=F(6109, 10**5))) == "ACCEPTED"
    assert "Z9b" in check_bytes(claimed(gap=F(611, 10**4))).reason


def test_unused_groups_need_their_constants():
    file = opened(claimed())
    file.claim.pop("Lam")
    assert verdict(file.sealed()) == "MALFORMED"
    file.claim["unused"] = []
    assert verdict(file.sealed()) == "ACCEPTED"


@pytest.mark.parametrize(
    ("network", "loss"),
    [
        ({"heads": "nonnegative"}, "squared"),
        ({"monotone": [0, 0]}, "squared"),
        ({"hidden_bias": "free"}, "squared"),
        ({}, "poisson"),
        ({}, "hinge"),
    ],
)
def test_classes_and_losses_that_the_theorem_does_not_cover(network: dict[str, Any], loss: str):
    """(c) needs unconstrained neurons and a Lipschitz derivative."""
    file = opened(claimed())
    file.top["network"].update(network)
    if "hidden_bias" in network:
        file.top["network"].pop("tau")
    file.top["loss"] = {"name": loss}
    file.tensors["y"] = np.array([1.0, 1.0])
    assert verdict(file.sealed()) == "MALFORMED"


def test_two_claims_about_one_network():
    case, u = trained(), np.array([T, -T])
    first = dual_claim(case, u)
    bounds: dict[str, Any] = {name: F(first[0][name]) for name in ("p_up", "p_low", "gap")}
    second = dual_claim(case, u, kind="unused-terms", h=[F(1, 2)] * 2, unused=[], **bounds)
    result = check_bytes(build(case, [first, second]))
    assert result.verdict.value == "ACCEPTED"
    assert len(result.claims) == 2
