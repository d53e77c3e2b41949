"""The claim gram-positive: closed forms, Hermite series with proved quadrature, residual networks,
traps.
"""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from flint import acb, arb
from tests.checker.gram_cases import build, claim, deep_claim, resnet_claim
from tests.checker.records import exact_checks
from tests.oracles import gmc_builder as gmc

from globalmin_check import Result, Verdict
from globalmin_check.balls import precision
from globalmin_check.certificate import read_certificate
from globalmin_check.claims.gaussian import Trapezoid
from globalmin_check.claims.limit_gram import Series, norms
from globalmin_check.engine import check_bytes

SMOOTH = ["softplus", "sigmoid", "tanh", "erf"]


def checked(name: str, X: np.ndarray, fields: dict, tensors: dict, **options: Any) -> Result:
    return check_bytes(build(name, X, [(fields, tensors)], **options))


@pytest.fixture(scope="module")
def X() -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.standard_normal((6, 4)) * rng.uniform(0.4, 1.2, (6, 1))


@pytest.mark.parametrize("kernel", ["weights", "features"])
@pytest.mark.parametrize("name", ["relu", *SMOOTH])
def test_honest_files_are_accepted(X: np.ndarray, name: str, kernel: str) -> None:
    """DU-D2.1 and OS-LH.1 as checked statements."""
    result = checked(name, X, *claim(name, X, kernel))
    assert result.verdict is Verdict.ACCEPTED, result.reason
    assert "proves nothing about a finite network" in result.statement


@pytest.mark.parametrize("kernel", ["weights", "features"])
@pytest.mark.parametrize("name", ["relu", *SMOOTH])
def test_a_bound_above_the_eigenvalue_is_refused(X: np.ndarray, name: str, kernel: str) -> None:
    fields, tensors = claim(name, X, kernel)
    above = gmc.rational(Fraction(fields["lam"]) * Fraction(102, 100))
    result = checked(name, X, fields | {"lam": above}, tensors)
    assert result.verdict is not Verdict.ACCEPTED
    assert "check G7 " in result.reason


def test_golden_one_row_relu_is_one_half() -> None:
    x = np.ones((1, 1))
    fields, tensors = claim("relu", x, lam=Fraction(1, 2) - Fraction(1, 10**9))
    witness = {"C": np.array([[10**4.5]])}
    assert checked("relu", x, fields, tensors | witness).verdict is Verdict.ACCEPTED
    assert (
        checked("relu", x, fields | {"lam": "1/2"}, tensors | witness).verdict
        is not Verdict.ACCEPTED
    )


def test_golden_antiparallel_rows_have_angle_pi_exactly() -> None:
    """H = I/2: D = 0 is decided exactly and theta is pi, not an arc cosine near it."""
    rows = np.array([[1.0, 0.0], [-1.0, 0.0], [0.1, 0.3], [-0.3, -0.9]])
    fields, tensors = claim("relu", rows[:2])
    assert fields["lam"] == gmc.rational(0.495)
    assert checked("relu", rows[:2], fields, tensors).verdict is Verdict.ACCEPTED
    assert checked("relu", rows, *claim("relu", rows)).verdict is Verdict.ACCEPTED


@pytest.mark.parametrize(
    ("name", "factor"), [("relu", 1.0), ("softplus", 1.0), ("tanh", 1.0), ("relu", 3.0)]
)
def test_positively_parallel_rows_are_never_accepted(name: str, factor: float) -> None:
    """Equal rows are singular for every kernel, parallel ones for ReLU; a bound near zero is not
    accepted either.
    """
    rows = np.array([[1.0, 0.5], [factor, factor * 0.5], [0.2, -1.0]])
    fields, tensors = claim(name, rows[[0, 2]])
    wide = {"C": np.diag([1e8, 1e8, 1.0])}
    assert (
        checked(name, rows, fields | {"lam": "1/1000000000000000000"}, tensors | wide).verdict
        is not Verdict.ACCEPTED
    )


def test_nearly_parallel_rows_are_accepted() -> None:
    rows = np.array([[1.0, 0.0], [1.0, 1e-7]])
    eigenvalue = 1e-7 / (2 * np.pi)  # (K_11 + K_22)/4 - K_12 (pi - theta)/(2 pi) to first order
    lam = eigenvalue * 0.99
    H = np.array([[0.5, 0.5 - eigenvalue], [0.5 - eigenvalue, 0.5]])
    C = np.linalg.inv(np.linalg.cholesky(H - lam * np.eye(2)))
    fields, tensors = claim("relu", np.eye(2), lam=lam)
    result = checked("relu", rows, fields, tensors | {"C": C})
    assert result.verdict is Verdict.ACCEPTED, result.reason


def test_zero_rows_are_rejected(X: np.ndarray) -> None:
    zero = np.vstack([X[:5], np.zeros((1, 4))])
    for name in ("relu", "tanh"):
        result = checked(name, zero, *claim(name, X))
        assert "check G3 " in result.reason
        assert "row 5 is zero" in result.reason


@pytest.mark.parametrize("name", ["quadratic", "linear", "abs", "tanh"])
def test_the_closed_form_is_for_relu_only(X: np.ndarray, name: str) -> None:
    assert "check G1 " in checked(name, X, *claim("relu", X)).reason


@pytest.mark.parametrize("name", ["quadratic", "linear", "abs", "relu"])
def test_the_series_is_for_smooth_activations_with_bounded_slope(X: np.ndarray, name: str) -> None:
    assert "check G1 " in checked(name, X, *claim("tanh", X)).reason


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("s", [0.25, 1.0, 3.0])
def test_coefficients_enclose_an_independent_rigorous_integral(name: str, s: float) -> None:
    """Lemma TR against the library's adaptive integration of analytic functions without branch
    cuts.
    """

    def slope(u: acb) -> acb:
        if name == "tanh":
            return 1 / u.cosh() ** 2
        if name == "erf":
            return 2 * (-u * u).exp() / acb.pi().sqrt()
        sigma = 1 / (1 + (-u).exp())
        return sigma if name == "softplus" else sigma * (1 - sigma)

    def hermite(z: acb, r: int) -> acb:
        before, now = acb(0), acb(1)
        for k in range(r):
            before, now = now, (z * now - acb(k).sqrt() * before) / acb(k + 1).sqrt()
        return now

    with precision(128):
        rule = Trapezoid(name, Fraction(1), Fraction(1, 32), 512)
        orders = [0, 1, 2, 3, 8, 15]
        for c, r in zip(rule.coefficients([arb(s)], orders)[0], orders, strict=True):
            weight = (2 * acb.pi()).sqrt()
            exact = acb.integral(
                lambda z, _, r=r, w=weight: slope(s * z) * hermite(z, r) * (-z * z / 2).exp() / w,
                -14,
                14,
            ).real
            assert c.overlaps(exact + arb(0, 1e-20))
            assert c.rad() < 1e-12


def test_a_coarse_rule_has_a_wide_ball_that_still_encloses() -> None:
    with precision(128):
        fine = Trapezoid("tanh", Fraction(1), Fraction(1, 64), 1024)
        for step, nodes in (
            (Fraction(1, 2), 4),
            (Fraction(1), 8),
            (Fraction(1, 4), 16),
            (Fraction(2), 1),
        ):
            coarse = Trapezoid("tanh", Fraction(1), step, nodes)
            for s in (0.5, 2.0, 6.0):
                for wide, narrow in zip(
                    *(rule.coefficients([arb(s)], [0, 2, 6])[0] for rule in (coarse, fine)),
                    strict=True,
                ):
                    assert wide.overlaps(narrow)
                    assert wide.rad() > 1e-6


@pytest.mark.parametrize("name", SMOOTH)
def test_means_enclose_monte_carlo_and_known_values(name: str) -> None:
    """E[phi], E[phi^2], E[phi'^2]: four standard errors of two million draws; erf' and the odd
    means exactly.
    """
    draws = np.random.default_rng(1).standard_normal(2_000_000)
    from tests.checker.cases import jet

    value, slope, _ = jet(name, 1.3 * draws)
    with precision(128):
        rule = Trapezoid(name, Fraction(1), Fraction(1, 16), 260)
        for what, sample in (("phi", value), ("phi^2", value**2), ("phi'^2", slope**2)):
            ball = rule.mean(arb(1.3), what)
            assert abs(float(ball) - sample.mean()) < 4 * sample.std() / np.sqrt(draws.size) + 1e-12
            assert ball.rad() < 1e-15
        if name in ("tanh", "erf"):
            assert rule.mean(arb(1.3), "phi").contains(0)
        if name == "sigmoid":
            assert rule.mean(arb(1.3), "phi").contains(arb(1) / 2)
        if name == "erf":
            assert rule.mean(arb(1.3), "phi'^2").overlaps(
                4 / arb.pi() / (1 + 4 * arb(1.3) ** 2).sqrt()
            )


def test_the_series_of_erf_approaches_its_closed_form_from_below(X: np.ndarray) -> None:
    """E[phi' phi'] of erf is (4/pi)/sqrt((1+2K_ii)(1+2K_jj) - 4K_ij^2); more orders give a larger
    bound, never above.
    """
    K = X @ X.T
    one = 1 + 2 * np.diag(K)
    full = K * (4 / np.pi) / np.sqrt(np.outer(one, one) - 4 * K**2)
    problem = read_certificate(build("erf", X, [claim("erf", X)]), None)[0]
    partial = []
    for top in (2, 6, 12, 250):
        with precision(128):
            rule = Trapezoid("erf", Fraction(1), Fraction(1, 32), 512)
            rows = Series(problem, norms(problem, exact_checks()), rule).partial_sum(
                range(top + 1), False
            )
        lower = np.array([[float(rows[max(i, j)][min(i, j)]) for j in range(6)] for i in range(6)])
        assert np.linalg.eigvalsh(full - lower)[0] > -1e-14
        partial.append(np.linalg.eigvalsh(lower)[0])
    assert partial == sorted(partial)
    assert partial[-1] == pytest.approx(np.linalg.eigvalsh(full)[0], rel=1e-6)


@pytest.mark.parametrize("name", SMOOTH)
def test_the_residual_network_bound_is_checked_and_tight(X: np.ndarray, name: str) -> None:
    """DU-P3.2 made explicit: 0.999 of the bound is accepted, 1.001 of it is not."""
    fields, tensors, bound = resnet_claim(name, X)
    result = checked(name, X, fields, tensors)
    assert result.verdict is Verdict.ACCEPTED, result.reason
    above = checked(name, X, fields | {"lam": gmc.rational(bound * 1.001)}, tensors)
    assert above.verdict is Verdict.REJECTED
    assert "check G6 " in above.reason


def test_the_slope_of_softplus_and_sigmoid_enters(X: np.ndarray) -> None:
    for name in ("softplus", "sigmoid"):
        fields, tensors = claim(name, X, slope=2.0)
        assert checked(name, X, fields, tensors, parameter=2).verdict is Verdict.ACCEPTED
        assert checked(name, X, fields, tensors).verdict is not Verdict.ACCEPTED


def test_too_short_a_rule_is_rejected_and_too_coarse_a_rule_not_accepted(X: np.ndarray) -> None:
    fields, tensors = claim("tanh", X)
    assert "check G5 " in checked("tanh", X, fields | {"nodes": 31}, tensors).reason
    assert (
        checked("tanh", X, fields | {"step": "2", "nodes": 5}, tensors).verdict
        is not Verdict.ACCEPTED
    )


def test_work_is_counted_before_it_is_done(X: np.ndarray) -> None:
    fields, tensors = claim("tanh", X)
    result = checked("tanh", X, fields | {"nodes": 10**12}, tensors)
    assert result.verdict is Verdict.UNDECIDED
    assert "budget" in result.reason


FORM: dict[str, tuple[dict, dict]] = {
    "orders not increasing": ({}, {"Q": np.array([0, 2, 1], np.int64)}),
    "negative order": ({}, {"Q": np.array([-1, 2], np.int64)}),
    "no order": ({}, {"Q": np.zeros(0, np.int64)}),
    "order too large": ({}, {"Q": np.array([4097], np.int64)}),
    "kernel unknown": ({"kernel": "deep"}, {}),
    "depth without resnet": ({"depth": 3}, {}),
    "nodes zero": ({"nodes": 0}, {}),
    "C rectangular": ({}, {"C": np.ones((6, 5))}),
}


@pytest.mark.parametrize("name", list(FORM))
def test_faults_of_form_are_malformed(X: np.ndarray, name: str) -> None:
    changes, witnesses = FORM[name]
    fields, tensors = claim("tanh", X)
    assert checked("tanh", X, fields | changes, tensors | witnesses).verdict is Verdict.MALFORMED


def test_order_zero_in_a_residual_claim_and_a_closed_residual_claim_are_malformed(
    X: np.ndarray,
) -> None:
    fields, tensors, _ = resnet_claim("tanh", X)
    zero = {"Q": np.arange(13, dtype=np.int64)}
    assert checked("tanh", X, fields, tensors | zero).verdict is Verdict.MALFORMED
    assert checked("tanh", X, fields | {"method": "closed"}, tensors).verdict is Verdict.MALFORMED


@pytest.mark.parametrize("key", ["lam", "kappa", "c_res", "c_sigma", "step"])
def test_numbers_that_are_not_positive_are_rejected(X: np.ndarray, key: str) -> None:
    fields, tensors, _ = resnet_claim("tanh", X)
    result = checked("tanh", X, fields | {key: "0"}, tensors)
    assert result.verdict is Verdict.REJECTED
    assert "check G2" in result.reason


def test_pixels_must_divide_the_columns() -> None:
    X, windows = np.array([[1.0, 0.5, -0.25, 1.0], [0.5, -1.0, 0.75, 0.5]]), np.array([[0, 1]] * 2)
    fields, tensors = deep_claim("tanh", X, [(1.0, False)], windows=windows)
    assert "not a multiple of pixels" not in checked("tanh", X, fields, tensors).reason
    result = checked("tanh", X[:, :3].copy(), fields, tensors)
    assert result.verdict is Verdict.MALFORMED
    assert "not a multiple of pixels" in result.reason
