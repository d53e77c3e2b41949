"""Printed sentences say exactly what is proved: what is fixed, what moves, what decays, which
network and which data.
"""

import math
from array import array
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.checker import factorization_cases as f
from tests.checker import quadratic_cases as q
from tests.checker import second_order_cases as s
from tests.checker.cases import (
    build,
    descent_claim,
    floor_claim,
    interpolation_claim,
    trained_network,
)
from tests.checker.relu_descent_cases import build as build_relu_descent
from tests.checker.relu_descent_cases import claim as relu_descent_claim
from tests.checker.relu_descent_cases import trained_relu
from tests.oracles import gmc_builder as gmc

from globalmin_check import Result, Verdict
from globalmin_check.command.cli import _text
from globalmin_check.container import Tensor
from globalmin_check.engine import check_bytes
from globalmin_check.problem import Problem, Sizes
from globalmin_check.verdict import DESCENT_NOTE, GENERALIZATION_NOTE


def column(values: list[float]) -> Tensor:
    raw = np.array(values).tobytes()
    return Tensor("F64", (len(values),), array("d", raw), memoryview(raw))


def accepted(blob: bytes) -> Result:
    result = check_bytes(blob)
    assert result.verdict is Verdict.ACCEPTED, result.reason
    return result


def test_no_zero_is_closer_says_with_this_head_because_other_heads_have_closer_zeros() -> None:
    """n = d = k = 1, phi = z^2, w = v = 1, y = 0.9: with the head 0.98 a zero lies at 0.0462, below
    R_lo = 0.0475.
    """
    one = np.ones((1, 1))
    fields = {
        "a2": Fraction(399, 100),
        "rho": Fraction(1, 10),
        "R": Fraction(6, 100),
        "R_lo": Fraction(475, 10000),
    }
    quartic = {"kappa": Fraction(401, 100), "method": "rows"}
    claim = gmc.claim(
        "interpolation", trained="W", loss_upper=Fraction(1), quartic=quartic, **fields
    )
    tensors = {"C_a": 10 * one, "z": np.array([0.1 / 4]), "C_kappa": 10 * one}
    result = accepted(
        gmc.build(one, [0.9], one, np.ones(1), [(claim, tensors)], activation="quadratic")
    )
    nearest = min(math.hypot(v - 1, math.sqrt(0.9 / v) - 1) for v in np.linspace(0.9, 1, 2001))
    assert nearest < 0.0475
    assert "No values of W, with this head, have zero loss closer than 0.0475" in result.statement


def test_the_statement_names_network_and_data_by_digest() -> None:
    net = trained_network(4, 2, 4)
    first, again = (accepted(build(net, [interpolation_claim(net)])).statement for _ in range(2))
    digest = gmc.data_digest(net.X, net.y)[:12]
    assert first == again
    assert first.endswith(f", data {digest}.)")
    other = trained_network(4, 2, 4, seed=7)
    assert accepted(build(other, [interpolation_claim(other)])).statement[-40:] != first[-40:]


def test_the_digest_of_the_network_covers_every_number_and_the_activation() -> None:
    net = trained_network(4, 2, 4)
    floor = floor_claim([(0, [0])], floor=Fraction(0), loss_upper=Fraction(100), gap=Fraction(100))

    def name(W: np.ndarray, v: np.ndarray, activation: str = "tanh", parameter: Any = None) -> str:
        blob = gmc.build(net.X, net.y, W, v, [floor], activation=activation, parameter=parameter)
        return accepted(blob).statement.split("(Network ")[1][:12]

    one = name(net.W, net.v)
    others = [
        name(net.W + 1e-16 * (net.W + 1), net.v),
        name(net.W, -net.v),
        name(net.W, net.v, "erf"),
    ]
    others += [name(net.W, net.v, "softplus"), name(net.W, net.v, "softplus", Fraction(2))]
    assert len({one, *others}) == 6


def test_the_random_coordinate_of_the_bias_is_named() -> None:
    X, W = np.array([[1.0, 1.0], [2.0, 1.0]]), np.eye(2)
    sigma2 = Fraction(999, 1000)
    claim = gmc.claim(
        "ambiguous",
        loss_upper=Fraction(10**6),
        sigma2=sigma2,
        difference=Fraction(8, 3) * sigma2**2,
    )
    for bias in (True, False):
        blob = gmc.build(
            X,
            np.zeros(2),
            W,
            np.ones(2),
            [(claim, {"C": 30 * np.eye(2)})],
            activation="quadratic",
            bias=bias,
        )
        statement = accepted(blob).statement
        assert "over standard normal x in R^2" in statement
        assert ("the coordinate of the bias is random here as well, not 1" in statement) is bias


def test_relu_descent_says_what_decays_along_the_flow() -> None:
    fit = trained_relu(8, 12, 200, 80)
    statement = accepted(build_relu_descent(fit, [relu_descent_claim(fit)])).statement
    assert (
        "Along every gradient flow on W from the stored weights the norm of the residual is at "
        "time t at most exp(-" in statement
    )


def test_strict_saddle_says_that_the_gradient_need_not_vanish() -> None:
    net = s.random_smooth(4, 2, 2, activation="quadratic", seed=0)
    statement = accepted(build(net, [s.saddle_claim(net)])).statement
    assert "it need not be zero" in statement
    assert "does not say that the stored weights are a critical point" in statement


def test_the_matrix_of_a_residual_network_is_defined_where_it_is_claimed() -> None:
    from tests.checker.test_gram_positive import resnet_claim

    X = np.array([[1.0, 0.2], [-0.3, 0.8]])
    fields, tensors, _ = resnet_claim("tanh", X)
    blob = gmc.build(
        X, np.zeros(2), np.zeros((1, 2)), np.zeros(1), [(fields, tensors)], activation="tanh"
    )
    statement = accepted(blob).statement
    for words in (
        "K^(h) = K^(h-1) + t (b mu^T + mu b^T)",
        "t = c_res/H",
        "H = 4, c_res = 1/2, c_sigma = 3/2",
    ):
        assert words in statement


def vacuous(result: Result) -> str:
    text = _text(result, as_json=False, explain=False)
    assert ("says next to nothing: see the note" in result.reason) == bool(result.claims[0].vacuous)
    assert ("note on claim 0: it says next to nothing" in text) == bool(result.claims[0].vacuous)
    assert ("But this says next to nothing" in _text(result, as_json=False, explain=True)) == bool(
        result.claims[0].vacuous
    )
    return result.claims[0].vacuous


def test_a_floor_that_follows_from_losses_not_being_negative_is_called_vacuous() -> None:
    net = trained_network(
        4, 2, 4
    )  # trained to a tiny loss: floor 0 then proves that it is nearly the global minimum
    small = floor_claim([(0, [0])], floor=Fraction(0), loss_upper=Fraction(1, 10**6))
    assert vacuous(accepted(build(net, [small]))) == ""
    zero = floor_claim([(0, [0])], floor=Fraction(0), loss_upper=Fraction(10) ** 40)
    assert "losses not being negative" in vacuous(accepted(build(net, [zero])))
    X, y = np.ones((2, 2)), np.array([0.0, 1.0])
    claim = floor_claim(
        [(0, [0, 1])], floor=Fraction(1, 4), loss_upper=Fraction(100), gap=Fraction(100)
    )
    blob = gmc.build(X, y, np.zeros((1, 2)), np.zeros(1), [claim], activation="tanh")
    assert "losses not being negative" in vacuous(accepted(blob))
    sharp = floor_claim([(0, [0, 1])], floor=Fraction(1, 4), loss_upper=Fraction(1, 2))
    assert (
        vacuous(
            accepted(gmc.build(X, y, np.zeros((1, 2)), np.zeros(1), [sharp], activation="tanh"))
        )
        == ""
    )


def test_the_edge_of_a_vacuous_gap() -> None:
    """A thousandth of the loss of the zero function, and the loss itself: beyond both a gap says
    nothing.
    """
    problem = Problem("tanh", Fraction(1), False, Sizes(2, 1, 1), *(column([30.0, 40.0]),) * 4)
    assert problem.follows_from_zero(1.2500001, 1.0)
    assert not problem.follows_from_zero(1.2499999, 1.0)
    assert problem.follows_from_zero(2.0, 2.0)
    assert not problem.follows_from_zero(1.9999999, 2.0)


@pytest.mark.parametrize(
    ("eps", "delta", "words"),
    [(None, None, ""), (1e40, None, "eps"), (None, 1e40, "delta"), (1e40, 1e40, "eps")],
)
def test_tolerances_beyond_the_scale_of_the_point_are_called_vacuous(
    eps: Any, delta: Any, words: str
) -> None:
    net = s.random_smooth(4, 2, 2, activation="tanh", seed=0)
    fields, tensors = s.second_order_claim(net)
    if eps:
        fields = fields | {"eps": str(Fraction(eps))}
    if delta:
        fields, tensors = (
            fields | {"delta": str(Fraction(delta))},
            tensors | {"C": np.eye(len(tensors["C"])) / math.sqrt(delta)},
        )
    found = vacuous(accepted(build(net, [(fields, tensors)])))
    assert found.startswith(words)
    assert bool(found) == bool(words)


def test_the_edge_of_a_vacuous_gradient_tolerance() -> None:
    """|J|_F (|r| + |y|) from plain loops; just above it is vacuous, just below it is not."""
    net = s.random_smooth(4, 2, 2, activation="tanh", seed=0)
    fields, tensors = s.second_order_claim(net)
    Z = net.X @ net.W.T
    J2 = sum(
        (net.v[j] * (1 - math.tanh(Z[i, j]) ** 2)) ** 2 * (net.X[i] @ net.X[i])
        for i in range(4)
        for j in range(2)
    )
    r = np.tanh(Z) @ net.v - net.y
    edge = math.sqrt(J2) * (np.linalg.norm(r) + np.linalg.norm(net.y))
    for share, empty in ((1 - 1e-9, False), (1 + 1e-9, True)):
        changed = fields | {"eps": str(Fraction(edge * share))}
        assert bool(accepted(build(net, [(changed, tensors)])).claims[0].vacuous) is empty


def test_a_gap_as_large_as_the_loss_is_called_vacuous() -> None:
    net = q.random_network(6, 2, 3).trained()
    fields, tensors = q.gap_positive(net)
    assert vacuous(accepted(q.build(net, [(fields, tensors)]))) == ""
    loose = fields | {"gap": str(Fraction(10) ** 6)}
    assert "losses not being negative" in vacuous(accepted(q.build(net, [(loose, tensors)])))


def test_a_factorization_gap_as_large_as_the_loss_is_called_vacuous() -> None:
    assert vacuous(accepted(f.build(f.noisy()))) == ""
    assert "losses not being negative" in vacuous(
        accepted(f.build(f.noisy(), gap=Fraction(10) ** 6))
    )
    assert "losses not being negative" in vacuous(accepted(f.build(f.noisy(noise=1.0), "zero")))
    assert vacuous(accepted(f.build(f.noisy(noise=0.0, off=0.0), "zero"))) == ""


def test_notes_belong_to_their_claims() -> None:
    net = trained_network(4, 2, 4)
    floor = floor_claim([(0, [0])], floor=Fraction(0), loss_upper=Fraction(100), gap=Fraction(100))
    alone = accepted(build(net, [floor]))
    assert not {DESCENT_NOTE, GENERALIZATION_NOTE} & set(alone.notes)
    both = accepted(build(net, [interpolation_claim(net), descent_claim(net)]))
    assert [DESCENT_NOTE in claim.notes for claim in both.claims] == [False, True]
    assert [both.notes.count(note) for note in (DESCENT_NOTE, GENERALIZATION_NOTE)] == [1, 1]


def test_all_numbers_of_an_explanation_belong_to_one_precision() -> None:
    net = trained_network(4, 2, 4)
    result = accepted(build(net, [interpolation_claim(net)]))
    assert result.claims[0].bits == 128
    assert "(enclosures at 128 bits)" in _text(result, as_json=False, explain=True)
    numbers = [line.number for line in result.claims[0].checks]
    assert len(numbers) == len(set(numbers))
