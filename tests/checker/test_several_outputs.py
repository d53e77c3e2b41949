"""Several outputs that share the neurons: R2 with c outputs against a dense circle of directions,
the golden examples, what is refused, and the words of the statement.
"""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from tests.checker.regularized_cases import changed, file_of
from tests.checker.several_cases import golden_softmax, golden_squared, height
from tests.mutation.several_attacks import honest

from globalmin_check import limits
from globalmin_check.claims.convex_losses import Loss
from globalmin_check.claims.regularized_network import Form
from globalmin_check.claims.scaled import Scaled, scaled
from globalmin_check.claims.several_columns import shared_column_holds
from globalmin_check.claims.several_losses import (
    SeveralRows,
    first_row_outside,
    several_conjugates,
    several_losses,
)
from globalmin_check.engine import check_bytes

SEED = 523
DIRECTIONS = 200_001
SOFTMAX = Loss("softmax", Fraction(0))


def form_with(hidden_bias: str, tau: Fraction, outputs: int) -> Form:
    one = Fraction(1)
    return Form(
        d=1,
        neurons="relu",
        class_name="columns",
        listed=(),
        hidden_bias=hidden_bias,
        tau=tau,
        intercept="none",
        k0=one,
        linear="none",
        k1=one,
        heads="any",
        monotone=(),
        b=one,
        v_max=one,
        loss=SOFTMAX,
        outputs=outputs,
    )


def columns_of(U: np.ndarray) -> tuple[list[Scaled], int]:
    whole = scaled(U.ravel().tolist())
    c = U.shape[1]
    return [Scaled(whole.values[o::c], whole.unit) for o in range(c)], whole.unit


def largest_on_a_circle(x: np.ndarray, tau: float, U: np.ndarray) -> float:
    """H by brute force: a dense circle and the kinks."""
    angles = np.linspace(0, 2 * np.pi, DIRECTIONS)
    kinks = np.concatenate([np.arctan2(-x, tau), np.arctan2(x, -tau)])
    angles = np.concatenate([angles, kinks])
    best = 0.0
    for part in np.array_split(angles, 8):
        hidden = np.maximum(np.outer(x, np.cos(part)) + tau * np.sin(part), 0)
        best = max(best, float(np.linalg.norm(U.T @ hidden, axis=0).max()))
    return best


@pytest.mark.parametrize("number", range(24))
def test_one_column_is_decided_on_either_side_of_its_maximum(number: int):
    """R2 with c outputs: ties, constant columns, scales from 1e-3 to 1e3."""
    rng = np.random.default_rng([SEED, number])
    n, c = int(rng.integers(1, 9)), int(rng.integers(2, 5))
    x = rng.standard_normal(n) * 10 ** rng.uniform(-3, 3)
    if number % 3 == 0:
        x = np.rint(x)
    if number % 7 == 0:
        x[:] = x[0]
    U = rng.standard_normal((n, c)) * 10 ** rng.uniform(-3, 3)
    tau = Fraction(int(rng.integers(1, 5)), int(rng.integers(1, 4)))
    brute = largest_on_a_circle(x, float(tau), U)
    form, (parts, unit) = form_with("penalized", tau, c), columns_of(U)

    def holds(bound: float) -> bool:
        return shared_column_holds(form, scaled(x.tolist()), parts, unit, Fraction(bound))

    # the grid has steps of 3e-5 and misses a smooth maximum by at most a few 1e-10 of it
    assert not holds(brute * (1 - 1e-9))
    assert holds(brute * (1 + 1e-7))
    assert not holds(0.5 * brute)


@pytest.mark.parametrize("hidden_bias", ["free", "none"])
def test_free_and_absent_biases_are_decided_at_the_kinks(hidden_bias: str):
    """R2-free with c outputs, against many kinks between and at the values."""
    for number in range(12):
        rng = np.random.default_rng([SEED, 1, number])
        n, c = int(rng.integers(2, 8)), int(rng.integers(2, 4))
        x, U = rng.standard_normal(n), np.rint(rng.standard_normal((n, c)) * 1024) / 1024
        U[0] -= U.sum(axis=0)
        kinks = np.concatenate([x, np.linspace(-4, 4, 4001)]) if hidden_bias == "free" else [0.0]
        brute = max(
            float(np.linalg.norm(U.T @ np.maximum(s * (x - k), 0))) for k in kinks for s in (1, -1)
        )
        form, (parts, unit) = form_with(hidden_bias, Fraction(1), c), columns_of(U)
        sides = [
            shared_column_holds(form, scaled(x.tolist()), parts, unit, Fraction(brute * factor))
            for factor in (1 - 1e-12, 1 + 1e-12)
        ]
        assert sides == [False, True]


@pytest.mark.parametrize("make", [golden_softmax, golden_squared])
def test_the_golden_example_is_accepted_with_equality_and_not_beyond(make):
    """H = 2t: at b = 1/2 the matrix with t = 1/4 is feasible, the next double is not."""
    assert check_bytes(file_of(*make(0.25))).verdict.value == "ACCEPTED"
    beyond = check_bytes(file_of(*make(float(np.nextafter(0.25, 1)))))
    assert beyond.verdict.value == "REJECTED"
    assert "Y7" in beyond.reason


def test_loss_and_conjugate_of_the_softmax_meet_at_the_derivative():
    """l(f) + l*(u) = u.f at u = l'(f) (weighted), and l(f) + l*(u) >= u.f elsewhere."""
    rng = np.random.default_rng([SEED, 2])
    for _ in range(20):
        c, om = int(rng.integers(2, 6)), float(rng.choice([0.5, 1.0, 3.0]))
        f, y = rng.standard_normal(c) * 3, int(rng.integers(c))
        p = np.exp(f - f.max())
        p /= p.sum()
        K = np.floor(p * 2**40)
        K[int(np.argmax(p))] += 2**40 - K.sum()
        q = K / 2**40  # rational, in the simplex, within 1e-11 of p
        u = om * (q - np.eye(c)[y])
        rows = SeveralRows([y], [], scaled([om]))
        U = [Scaled([round(x * 2**41)], 2**41) for x in u]
        assert first_row_outside(SOFTMAX, U, rows) is None
        F = [Scaled(scaled([t]).values, scaled([t]).unit) for t in f]
        unit = max(part.unit for part in F)
        F = [Scaled(part.over(unit), unit) for part in F]
        both = float(several_losses(SOFTMAX, F, rows)) + float(several_conjugates(SOFTMAX, U, rows))
        # second order in the rounding of q, and a few roundings of doubles
        assert abs(both - float(u @ f)) < 1e-12
        other = om * (np.eye(c)[(y + 1) % c] - np.eye(c)[y])
        away = [Scaled([round(x * 2)], 2) for x in other]
        sides = several_losses(SOFTMAX, F, rows), several_conjugates(SOFTMAX, away, rows)
        assert float(sides[0]) + float(sides[1]) >= float(other @ f) - 1e-12


def test_far_outputs_do_not_overflow():
    case, U = golden_softmax()
    far = replace(case, intercept=np.array([4096.0, -4096.0]))
    result = check_bytes(file_of(far, U))
    assert result.verdict.value == "ACCEPTED", result.reason


def test_the_domain_is_tested_exactly():
    """One unit in the last place on either side of every condition."""
    rows = SeveralRows([0], [], Scaled([1], 1))
    unit = 2**60

    def outside(*values: int) -> bool:
        parts = [Scaled([value], unit) for value in values]
        return first_row_outside(SOFTMAX, parts, rows) is not None

    assert not outside(-unit, unit, 0)
    assert not outside(0, 0, 0)
    assert outside(-unit - 1, unit + 1, 0)
    assert outside(-unit, unit + 1, -1)
    assert outside(-1, 2, 0)
    assert outside(1, -1, 0)


def test_the_statement_names_outputs_and_losses():
    result = check_bytes(file_of(*golden_softmax()))
    statement = result.claims[0].statement
    assert "2 outputs that share the neurons" in statement
    assert "softmax loss of all outputs over 2 samples" in statement
    assert "output" not in check_bytes(file_of(*_one_output())).claims[0].statement.replace(
        "output weights", ""
    )


def _one_output():
    from tests.checker.regularized_cases import golden

    return golden()


def test_the_price_of_a_penalized_intercept_is_paid_for_every_output():
    """D falls by |sum_i U_i|^2/(2 k0)."""
    case, _ = golden_softmax(intercept="penalized", k0=Fraction(1, 8), b=Fraction(9))
    U = np.array([[-0.5, 0.5], [0.0, 0.0]])
    numbers = check_bytes(file_of(case, U)).claims[0].numbers
    assert numbers is not None
    entropy = 2 * 0.5 * math.log(0.5)
    # |(-1/2, 1/2)|^2/(2/8) = 2
    assert abs(float(numbers["floor"]) - (-entropy - 2.0)) < 1e-12


def test_honest_files_are_accepted_and_a_little_less_decay_is_not():
    accepted = refused = 0
    for number in range(40):
        case, U = honest(np.random.default_rng([SEED, 3, number]))
        assert check_bytes(file_of(case, U)).verdict.value == "ACCEPTED", number
        accepted += 1
        top = height(case, U)
        if top > 1e-6:
            less = changed(case, network={"b": Fraction(top * (1 - 1e-9))})
            result = check_bytes(file_of(less, U))
            assert result.verdict.value == "REJECTED", number
            assert "Y7" in result.reason
            refused += 1
    assert accepted == 40
    assert refused > 25


def test_numbers_of_very_different_size_are_undecided_beyond_the_limit(
    monkeypatch: pytest.MonkeyPatch,
):
    case, U = golden_softmax()
    assert check_bytes(file_of(case, U)).verdict.value == "ACCEPTED"
    tiny = replace(case, X=case.X * 2.0**-900)
    monkeypatch.setattr(limits, "EXACT_BITS", 500)
    result = check_bytes(file_of(tiny, U))
    assert result.verdict.value == "UNDECIDED"
    assert "bits, more than 500" in result.reason
