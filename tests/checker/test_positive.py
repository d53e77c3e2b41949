"""P1: indefinite matrices are never accepted, definite ones are, and the residual agrees with
floating point.
"""

from array import array

import numpy as np
import pytest
from flint import arb, ctx
from tests.checker.records import first_pass, last_pass

from globalmin_check import limits
from globalmin_check.balls import precision
from globalmin_check.container import Tensor
from globalmin_check.positive import require_positive_definite, require_shared, residual_norm
from globalmin_check.verdict import Rejected, TooCoarse


def tensor(C: np.ndarray) -> Tensor:
    C = np.ascontiguousarray(C, float)
    return Tensor("F64", C.shape, array("d", C.tobytes()), memoryview(C.tobytes()))


def lower(A: np.ndarray) -> list[list[arb]]:
    return [[arb(float(A[i, j])) for j in range(i + 1)] for i in range(len(A))]


def factor(A: np.ndarray) -> np.ndarray:
    return np.linalg.inv(np.linalg.cholesky(A))


def random_definite(m: int, condition: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((m, m)))[0]
    A = (Q * np.logspace(0, -np.log10(condition), m)) @ Q.T
    return (A + A.T) / 2


@pytest.mark.parametrize("strip", [2, 5, 512])
@pytest.mark.parametrize("triangular", [True, False])
@pytest.mark.parametrize("bits", [62, 128, 512, 1024])
def test_the_residual_agrees_with_floating_point(
    monkeypatch: pytest.MonkeyPatch, strip: int, triangular: bool, bits: int
) -> None:
    monkeypatch.setattr(limits, "STRIP", strip)
    rng = np.random.default_rng(1)
    B = rng.standard_normal((11, 11))
    A = B @ B.T + np.eye(11)
    A = (A + A.T) / 2
    C = factor(A) + 0.01 * rng.standard_normal((11, 11))
    C = np.tril(C) if triangular else C
    expected = np.linalg.norm(C @ A @ C.T - np.eye(11))
    with precision(max(bits, 128)):
        residual = residual_norm(lower(A), tensor(C), bits)
    assert abs(float(residual) - expected) < 1e-12 * expected + 1e-12
    assert residual.rad() < 1e-10


def test_radii_of_the_matrix_enter_the_residual() -> None:
    A = [[arb(1, 0.1)], [arb(0, 0.1), arb(1, 0.1)]]
    residual = residual_norm(A, tensor(np.eye(2)), 62)
    worst = np.linalg.norm([[0.1, 0.1], [0.1, 0.1]])
    assert residual.contains(arb(0))
    assert residual.contains(arb(worst * 0.999))


@pytest.mark.parametrize("condition", [1e3, 1e10, 1e14])
def test_definite_matrices_are_accepted_up_to_large_condition_numbers(condition: float) -> None:
    A = random_definite(20, condition, 3)
    checks = last_pass()
    require_positive_definite(checks, "1", "A", lower(A), tensor(factor(A)))
    assert checks.undecided() == ""
    assert checks.lines[0].outcome == "holds"


def test_the_exact_hilbert_matrix_of_order_12_is_accepted() -> None:
    from fractions import Fraction

    from globalmin_check.balls import ball

    m = 12
    exact = [[ball(Fraction(1, i + j + 1)) for j in range(i + 1)] for i in range(m)]
    with precision(300):
        from flint import arb_mat

        H = arb_mat([[arb(1) / (i + j + 1) for j in range(m)] for i in range(m)])
        inverse = H.inv()
        L = np.zeros((m, m), object)
        for i in range(
            m
        ):  # C = L^T for the Cholesky factor of the inverse, in 300 bits, then rounded to doubles
            for j in range(i + 1):
                rest = inverse[i, j] - sum((L[i, k] * L[j, k] for k in range(j)), arb(0))
                L[i, j] = rest.sqrt() if i == j else rest / L[j, j]
    C = np.array([[float(L[j, i]) if j >= i else 0.0 for j in range(m)] for i in range(m)])
    checks = last_pass()
    require_positive_definite(checks, "1", "A", exact, tensor(C))
    assert checks.lines[0].outcome == "holds"


@pytest.mark.parametrize("gap", [1e-6, 1e-12, 1e-300])
def test_indefinite_matrices_are_never_accepted_whatever_the_witness(gap: float) -> None:
    A = lower(np.diag([1.0, -gap]))
    rng = np.random.default_rng(7)
    witnesses = [np.diag([1.0, s]) for s in (0.0, 1e-3, 1.0, 1e3, 1e150)] + [
        rng.standard_normal((2, 2)) for _ in range(50)
    ]
    for C in witnesses:
        assert not residual_norm(A, tensor(C), 128) < 1


def test_indefinite_with_positive_diagonal_is_never_accepted() -> None:
    rng = np.random.default_rng(8)
    for _ in range(60):
        off = 1 + 10.0 ** rng.uniform(-12, 2)
        A = lower(np.array([[1.0, off], [off, 1.0]]))
        C = rng.standard_normal((2, 2)) * 10.0 ** rng.uniform(-6, 6)
        assert not residual_norm(A, tensor(C), 128) < 1
        best = np.array([[0.5, 0.5], [0.0, 0.0]]) / np.sqrt((1 + off) / 2)
        assert not residual_norm(A, tensor(best), 128) < 1


def test_the_best_witness_of_an_indefinite_matrix_reaches_exactly_one() -> None:
    residual = residual_norm(
        lower(np.array([[1.0, 2.0], [2.0, 1.0]])), tensor(np.array([[1.0, 0.0], [0.0, 0.0]])), 128
    )
    assert residual.contains(1)
    assert not residual < 1


@pytest.mark.parametrize(
    "A",
    [
        np.zeros((1, 1)),
        -np.eye(2),
        np.diag([1.0, 0.0]),
        np.array([[1.0, 100.0], [100.0, 1.0]]),
        np.array([[1e-300, 1e300], [1e300, 1.0]]),
    ],
)
def test_certainly_not_definite_is_an_infinite_residual(A: np.ndarray) -> None:
    assert residual_norm(lower(A), tensor(np.eye(len(A))), 128) == arb("inf")


@pytest.mark.parametrize("entry", [arb("nan"), arb(0, 1), arb(1, float("inf")), arb("inf")])
def test_unknown_entries_are_undecided(entry: arb) -> None:
    for A in ([[entry]], [[arb(1)], [entry, arb(1)]]):
        residual = residual_norm(A, tensor(np.eye(len(A))), 62)
        assert not residual < 1
        assert len(A) == 2 or not residual >= 1 or entry == arb("inf")


def test_matrices_beyond_the_range_of_doubles_are_scaled() -> None:
    A = [[arb(10) ** 400], [arb(0), arb(10) ** -250]]
    residual = residual_norm(A, tensor(np.diag([10.0**-200, 10.0**125])), 128)
    assert residual < 1e-10


def test_astronomical_scales_are_undecided() -> None:
    residual = residual_norm([[arb(2) ** 20000]], tensor(np.eye(1)), 62)
    assert residual.is_nan()


@pytest.mark.parametrize(
    "C", [np.zeros((2, 2)), np.eye(2) * 1e308, np.eye(2) * 5e-324, -np.eye(2) * 3]
)
def test_useless_witnesses_are_certain_failures(C: np.ndarray) -> None:
    assert residual_norm(lower(np.eye(2)), tensor(C), 128) >= 1
    with pytest.raises(Rejected, match="check 7"):
        require_positive_definite(last_pass(), "7", "A", lower(np.eye(2)), tensor(C))


@pytest.mark.parametrize("A", [[[-1.0]], [[0.0]], [[1.0, 0.0], [100.0, 1.0]]])
def test_a_matrix_that_cannot_be_positive_definite_is_refused_in_plain_words(
    A: list[list[float]],
) -> None:
    with pytest.raises(
        Rejected, match=r"check 7 \(P1: Z is positive definite\) fails: it is not: a diagonal entry"
    ):
        require_positive_definite(
            last_pass(), "7", "Z", [list(map(arb, row)) for row in A], tensor(np.eye(len(A)))
        )


def test_an_open_check_ends_the_pass_and_is_made_anew_at_the_next_precision() -> None:
    open_matrix = [[arb(1, 1.5)]]
    with pytest.raises(TooCoarse):
        require_positive_definite(first_pass(), "1", "A", open_matrix, tensor(np.eye(1)))
    last = last_pass()
    require_positive_definite(last, "1", "A", open_matrix, tensor(np.eye(1)))
    assert "check 1" in last.undecided()


def test_a_shared_residual_is_computed_once_per_precision_and_never_carried_to_another() -> None:
    made: list[int] = []

    def matrix() -> list[list[arb]]:
        made.append(ctx.prec)
        return [[arb(1)]]

    checks = last_pass()
    for bits in (128, 256):
        with precision(bits):
            require_shared(checks, "1", "A", matrix, tensor(np.eye(1)), of=("A",))
            require_shared(checks, "2", "A", matrix, tensor(np.eye(1)), of=("A",))
            require_shared(checks, "3", "A", matrix, tensor(np.eye(1) * 1.1), of=("A",))
            require_shared(checks, "4", "A", matrix, tensor(np.eye(1)), of=("B",))
    assert made == [128] * 3 + [256] * 3
