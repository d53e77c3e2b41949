"""unique-minimum: certified balls hold one minimum and gradient descent obeys the rate; every
overstatement is refused.
"""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from tests.checker.cases import (
    Smooth,
    build,
    inverse_factor,
    local_suprema,
    loss_bound,
    svec_matrix,
)
from tests.checker.second_order_cases import (
    THIRD,
    blocks,
    gradient,
    hessian,
    jacobian,
    third_derivative,
)
from tests.oracles import gmc_builder as gmc
from tests.oracles.fraction_checker import check_bytes as slow_check

from globalmin_check.engine import check_bytes

Pair = tuple[dict[str, Any], dict[str, Any]]
ACTIVATIONS = ["softplus", "sigmoid", "tanh", "erf", "quadratic"]
FORMS = ["plain", "split", "tensor", "mixed"]


def verdicts(net: Smooth, pair: Pair, **options: Any) -> tuple[str, str]:
    raw = build(net, [pair], **options)
    fast, slow = check_bytes(raw), slow_check(raw)
    assert fast.verdict.value == slow.verdict, (fast.reason, slow.reason)
    return fast.verdict.value, fast.reason


def minimum(activation: str, *, noise: float = 0.02, n: int = 12, seed: int = 0) -> Smooth:
    """A network at a strict local minimum in W of labels near the outputs of first weights, by
    damped Newton steps.
    """
    rng = np.random.default_rng(seed)
    X, W = (
        rng.standard_normal((n, 2)),
        np.array([[1.0, 0.3], [-0.2, 0.9]]) + 0.1 * rng.standard_normal((2, 2)),
    )
    # more neurons would move along the orthogonal group at the same loss
    k = 1 if activation == "quadratic" else 2
    first = Smooth(X, np.zeros(n), W[:k], np.array([1.0, -0.75])[:k], activation)
    net = replace(first, y=first.residual() + noise * rng.standard_normal(n))
    for _ in range(80):
        H, g = hessian(net), gradient(net)
        shift = max(0.0, 1e-3 - float(np.linalg.eigvalsh(H)[0]))
        net = replace(net, W=net.W - np.linalg.solve(H + shift * np.eye(len(g)), g).reshape(k, 2))
    assert np.linalg.norm(gradient(net)) < 1e-10
    assert np.linalg.eigvalsh(hessian(net))[0] > 0
    return net


def _third_slices(net: Smooth, whole: bool) -> np.ndarray:
    """Derivatives of the Hessian or of its residual part by its definition, all triples of
    parameters.
    """
    k, d = net.W.shape
    J, r = jacobian(net), net.residual()
    D, third = net.values()[2] * net.v, third_derivative(net) * net.v
    F2, F3 = np.zeros((len(r), k * d, k * d)), np.zeros((len(r), k * d, k * d, k * d))
    for j in range(k):
        part = slice(j * d, (j + 1) * d)
        F2[:, part, part] = np.einsum("i,ia,ib->iab", D[:, j], net.X, net.X)
        F3[:, part, part, part] = np.einsum("i,ia,ib,ic->iabc", third[:, j], net.X, net.X, net.X)
    T = np.einsum("ia,ibc->abc", J, F2)
    return (T + T.transpose(1, 0, 2) + T.transpose(1, 2, 0) if whole else T) + np.einsum(
        "i,iabc->abc", r, F3
    )


def _sizes(net: Smooth, r: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, float]:
    head, reach = np.abs(net.v), r * np.linalg.norm(net.X, axis=1)
    cap, slope = THIRD[net.activation]
    n1 = np.linalg.norm(head * local_suprema(net, 1, r), axis=1)
    s3 = np.minimum(cap, np.abs(third_derivative(net)) + slope * reach[:, None])
    top2, top3 = np.max(head * local_suprema(net, 2, r), axis=1), np.max(head * s3, axis=1)
    return n1, top2, top3, np.abs(net.residual()) + reach * n1, float(slope * head.max())


def _quartic(net: Smooth, q: np.ndarray, t: float | None) -> tuple[dict[str, Any], np.ndarray]:
    if t is None:
        A = (net.X.T * (q * np.sum(net.X**2, axis=1))) @ net.X
    else:
        S, u = svec_matrix(net.X)
        A = (S.T * q) @ S - t * (np.outer(u, u) - np.eye(len(u)))
    kappa = float(np.linalg.eigvalsh(A)[-1]) * 1.001 + 1e-9
    field = (
        {"kappa": kappa, "method": "rows"}
        if t is None
        else {"kappa": kappa, "method": "svec", "t": t}
    )
    return field, inverse_factor(kappa * np.eye(len(A)) - A)


def unique_claim(
    net: Smooth, form: str, r: float, *, t: float | None = None, **changes: Any
) -> tuple[Pair, float]:
    """The claim at radius r with its witness, and the modulus it reaches (negative: the claim is
    false as it stands).
    """
    n1, top2, top3, e, top4 = _sizes(net, r)
    H, N, p = hessian(net), np.zeros((net.W.size, net.W.size)), net.W.size
    for j, block in enumerate(blocks(net)):
        N[2 * j : 2 * j + 2, 2 * j : 2 * j + 2] = block
    tau, fields, tensors, S = (
        (0.25 if form in ("split", "mixed") else 0.0),
        {},
        {},
        np.zeros((p, p)),
    )
    a = b = 0.0
    if form in ("plain", "split"):
        c = (3 if form == "plain" else 1) * n1 * top2 + e * top3
        second = (net.X.T * c) @ net.X
        lam = float(np.linalg.eigvalsh(second)[-1]) * 1.001 + 1e-9
        fields["quartic"], tensors["C_kappa"] = _quartic(net, c, t)
        fields["lam"], tensors["C_lam"] = lam, inverse_factor(lam * np.eye(2) - second)
        a = float(np.sqrt(lam * fields["quartic"]["kappa"]))
    if form == "split":
        fields["square"], tensors["C_square"] = _quartic(net, top2**2, t)
        b = (1 / tau - 1) * fields["square"]["kappa"]
    if form == "tensor":
        F = _third_slices(net, True).reshape(p, -1)
        flat2 = float(np.linalg.eigvalsh(F @ F.T)[-1]) * 1.001 + 1e-9
        fields["flat2"], tensors["C_flat"] = flat2, inverse_factor(flat2 * np.eye(p) - F @ F.T)
        fields["quartic"], tensors["C_kappa"] = _quartic(
            net, 1.5 * top2**2 + (4 * n1 * top3 + e * top4) / 2, t
        )
        a, b = float(np.sqrt(flat2)), fields["quartic"]["kappa"]
    if form == "mixed":
        q = (1 / tau - 0.5) * top2**2 + (2 * n1 * top3 + e * top4) / 2
        fields["quartic"], tensors["C_kappa"] = _quartic(net, q, t)
        b, T, V = fields["quartic"]["kappa"], _third_slices(net, False), []
        for j in range(len(net.v)):
            part = T[:, 2 * j : 2 * j + 2, 2 * j : 2 * j + 2]
            V.append(
                np.linalg.cholesky(
                    np.sqrt(np.linalg.eigvalsh(np.einsum("aij,ajk->ik", part, part))[-1] + 1e-12)
                    * np.eye(2)
                )
            )
            Y = V[j] @ V[j].T
            whole = (Y + np.einsum("aij,jk,akl->il", part, np.linalg.inv(Y), part)) / 2
            S[2 * j : 2 * j + 2, 2 * j : 2 * j + 2] = whole
        tensors["V"] = np.vstack(V)
    if tau:
        fields["tau"] = tau
    low, high = (1 - tau) * H + tau * N - r * S, (1 + tau) * H - tau * N + r * S
    m0, M0 = float(np.linalg.eigvalsh(low)[0]) * 0.999, float(np.linalg.eigvalsh(high)[-1]) * 1.001
    mu = (m0 - a * r - b * r * r) * 0.999
    if mu <= 0 or m0 <= 0:
        return ({}, {}), min(mu, m0)
    tensors |= {
        "C_m": inverse_factor(low - m0 * np.eye(p)),
        "C_M": inverse_factor(M0 * np.eye(p) - high),
    }
    M = (M0 + a * r + b * (1 + tau) / (1 - tau) * r * r) * 1.001
    eta = 2 / (mu + M) * 0.999
    s = float(np.linalg.norm(gradient(net))) / m0 * 1.01 + 1e-13
    fields |= {
        "form": form,
        "r": r,
        "r_minus": s,
        "mu": mu,
        "M": M,
        "eta": eta,
        "rate": 1 - 0.999 * eta * mu,
    }
    fields |= {"m0": m0, "M0": M0, "loss_upper": loss_bound(net)}
    return (
        gmc.claim("unique-minimum", theorem="local-convexity/1", **(fields | changes)),
        tensors,
    ), mu


def largest_claim(net: Smooth, form: str, *, t: float | None = None) -> Pair:
    r = 4.0
    while unique_claim(net, form, r, t=t)[1] <= 0:
        r *= 0.8
    return unique_claim(net, form, 0.9 * r, t=t)[0]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_the_ball_around_a_minimum_is_accepted_and_convex(activation: str, form: str) -> None:
    net = minimum(activation)
    fields, tensors = largest_claim(net, form)
    assert verdicts(net, (fields, tensors)) == ("ACCEPTED", "every check of 1 claim holds")
    r, mu, M = (float(Fraction(fields[key])) for key in ("r", "mu", "M"))
    rng = np.random.default_rng(1)
    for _ in range(100):
        step = rng.standard_normal(net.W.shape)
        spectrum = np.linalg.eigvalsh(
            hessian(replace(net, W=net.W + r * step / np.linalg.norm(step)))
        )
        assert mu <= spectrum[0] <= spectrum[-1] <= M


@pytest.mark.parametrize("form", FORMS)
def test_no_point_of_the_ball_found_by_search_has_less_curvature_than_claimed(form: str) -> None:
    """Attack: descend on the least eigenvalue over the sphere of the certified radius, many starts,
    noisy labels.
    """
    for seed, activation in enumerate(ACTIVATIONS):
        net = minimum(activation, noise=0.05, seed=seed)
        fields, _ = largest_claim(net, form)
        r, mu = float(Fraction(fields["r"])), float(Fraction(fields["mu"]))
        rng = np.random.default_rng(seed)
        for _ in range(4):
            step = rng.standard_normal(net.W.shape)
            for _ in range(15):
                step *= r / np.linalg.norm(step)
                here = replace(net, W=net.W + step)
                values, vectors = np.linalg.eigh(hessian(here))
                assert values[0] >= mu
                slope = np.einsum(
                    "abc,b,c->a", _third_slices(here, True), vectors[:, 0], vectors[:, 0]
                ).reshape(net.W.shape)
                step = step - r * slope / np.linalg.norm(slope)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("activation", ["tanh", "sigmoid"])
def test_gradient_descent_obeys_the_claimed_rate(activation: str, form: str) -> None:
    net = minimum(activation)
    fields, _ = largest_claim(net, form)
    r, s, eta, rate = (float(Fraction(fields[key])) for key in ("r", "r_minus", "eta", "rate"))
    rng = np.random.default_rng(2)
    for _ in range(5):
        step = rng.standard_normal(net.W.shape)
        here = replace(net, W=net.W + (r - 2 * s) * step / np.linalg.norm(step))
        distance = np.linalg.norm(here.W - net.W)
        for _ in range(200):
            here = replace(here, W=here.W - eta * gradient(here).reshape(2, 2))
            new = np.linalg.norm(here.W - net.W)
            assert new <= rate * distance + 2 * s + 1e-12
            distance = new


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("t", [0.0, 0.5])
def test_the_svec_method_is_accepted(form: str, t: float) -> None:
    net = minimum("tanh", n=8)
    assert verdicts(net, largest_claim(net, form, t=t))[0] == "ACCEPTED"


SPOILED = [
    ("mu", 1.01, "U4"),
    ("M", 0.99, "U5"),
    ("r_minus", 0.5, "U6"),
    ("eta", 1.01, "U8"),
    ("rate", 1 - 1e-3, "U9"),
    ("loss_upper", 1e-3, "U3"),
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("name", "factor", "number"), SPOILED)
def test_every_number_that_is_too_good_is_refused(
    form: str, name: str, factor: float, number: str
) -> None:
    net = minimum("sigmoid", noise=0.01)
    net = replace(net, W=net.W + 1e-7)
    fields, tensors = largest_claim(net, form)
    verdict, reason = verdicts(
        net, (fields | {name: str(Fraction(fields[name]) * Fraction(factor))}, tensors)
    )
    assert (verdict, f"check {number} " in reason) == ("REJECTED", True), reason


@pytest.mark.parametrize("form", FORMS)
def test_constants_that_are_too_small_are_refused(form: str) -> None:
    net = minimum("tanh")
    fields, tensors = largest_claim(net, form)
    smaller = {
        key: str(Fraction(fields[key]) / 2) for key in ("lam", "flat2", "M0") if key in fields
    }
    for key, value in smaller.items():
        assert verdicts(net, (fields | {key: value}, tensors))[0] == "REJECTED"
    for key in ("quartic", "square"):
        if key in fields:
            half = fields[key] | {"kappa": str(Fraction(fields[key]["kappa"]) / 2)}
            assert verdicts(net, (fields | {key: half}, tensors))[0] == "REJECTED"
    assert (
        "U10"
        in verdicts(
            net, (fields | {"m0": str(Fraction(fields["m0"]) * Fraction(101, 100))}, tensors)
        )[1]
    )
    wider = fields | {"r": str(Fraction(fields["r"]) * Fraction(3, 2))}
    assert verdicts(net, (wider, tensors))[0] == "REJECTED"


@pytest.mark.parametrize("form", FORMS)
def test_witnesses_that_prove_nothing_are_refused(form: str) -> None:
    net, other = minimum("tanh"), minimum("sigmoid")
    fields, tensors = largest_claim(net, form)
    for role in tensors:
        verdict = verdicts(net, (fields, tensors | {role: np.zeros_like(tensors[role])}))[0]
        assert verdict == ("UNDECIDED" if role == "V" else "REJECTED")
    assert verdicts(net, (fields, largest_claim(other, form)[1]))[0] == "REJECTED"
    assert verdicts(other, (fields, tensors))[0] == "REJECTED"


SIGNS = [
    ("r", "0"),
    ("r", "-1"),
    ("mu", "0"),
    ("eta", "0"),
    ("eta", "-1"),
    ("rate", "1"),
    ("rate", "-1"),
    ("m0", "-1"),
]


@pytest.mark.parametrize(
    ("name", "value"),
    [*SIGNS, ("r_minus", "-1"), ("M0", "0"), ("tau", "0"), ("tau", "1"), ("tau", "2")],
)
def test_numbers_outside_their_range_are_refused(name: str, value: str) -> None:
    net = minimum("tanh")
    fields, tensors = largest_claim(net, "mixed")
    verdict, reason = verdicts(net, (fields | {name: value}, tensors))
    assert (verdict, "check U2" in reason) == ("REJECTED", True)


def test_form_of_the_claim() -> None:
    net = minimum("tanh")
    fields, tensors = largest_claim(net, "mixed")
    faults: list[Pair] = [
        ({key: value for key, value in fields.items() if key != "tau"}, tensors),
        (fields | {"lam": "1"}, tensors),
        (fields | {"form": "best"}, tensors),
        (fields | {"form": "plain"}, tensors),
        (fields | {"version": 2}, tensors),
        (fields | {"theorem": "negative-curvature/1"}, tensors),
        (fields | {"square": fields["quartic"]}, tensors),
        (fields | {"trained": "W"}, tensors),
        (fields, {role: value for role, value in tensors.items() if role != "V"}),
        (fields, tensors | {"C_m": np.eye(4, 3)}),
        (fields, tensors | {"V": np.eye(2)}),
        (fields, tensors | {"V": np.full((4, 2), np.nan)}),
        (fields, tensors | {"C_lam": np.eye(2)}),
    ]
    for pair in faults:
        assert verdicts(net, pair)[0] == "MALFORMED"


def golden(r: Fraction, **changes: Any) -> tuple[Smooth, Pair]:
    """W = y = 1: H = 4, c = 12 (1 + r), a = c; mu = 4 - 12 (1 + r) r."""
    net = Smooth(np.ones((1, 1)), np.ones(1), np.ones((1, 1)), np.ones(1), "quadratic")
    c, m0, M0 = 12 * (1 + r) + Fraction(1, 10**6), 4 - Fraction(1, 10**6), 4 + Fraction(1, 10**6)
    mu, M = m0 - c * r, M0 + c * r
    fields = {
        "form": "plain",
        "r": r,
        "r_minus": Fraction(0),
        "mu": mu - Fraction(1, 10**9),
        "M": M + Fraction(1, 10**9),
    }
    fields |= {
        "m0": m0,
        "M0": M0,
        "lam": c,
        "quartic": {"kappa": c, "method": "rows"},
        "loss_upper": Fraction(0),
    }
    eta = 2 / (fields["mu"] + fields["M"])
    fields |= {"eta": eta, "rate": 1 - eta * fields["mu"]} | changes
    wide = np.array([[1e3]])
    return net, (
        gmc.claim("unique-minimum", theorem="local-convexity/1", **fields),
        dict.fromkeys(("C_m", "C_M", "C_lam", "C_kappa"), wide),
    )


def test_the_golden_example_is_accepted_up_to_the_exact_radius() -> None:
    """L''' = 12 w exactly: mu = 4 - 12 (1 + r) r is positive for r < (sqrt(21) - 3)/6 = .2637."""
    for r, verdict in (
        (Fraction(1, 5), "ACCEPTED"),
        (Fraction(26, 100), "ACCEPTED"),
        (Fraction(27, 100), "REJECTED"),
    ):
        assert verdicts(*golden(r))[0] == verdict


def test_two_critical_points_are_never_in_one_ball() -> None:
    """L = (w^2 - 1)^2/2 has a maximum at 0: no ball that reaches it can be accepted, whatever the
    numbers say.
    """
    for mu in (Fraction(1, 100), Fraction(1)):
        net, (fields, tensors) = golden(Fraction(1), mu=mu, eta=Fraction(1, 100), rate=1 - mu / 100)
        assert verdicts(net, (fields, tensors))[0] == "REJECTED"


def test_a_singular_hessian_is_never_accepted() -> None:
    """Two equal neurons at zero residual: the Hessian is singular, and a tiny m0 does not help."""
    net = minimum("tanh", noise=0.0)
    fields, tensors = largest_claim(net, "plain")
    twin = replace(net, W=np.vstack([net.W[0], net.W[0]]), v=np.ones(2))
    twin = replace(twin, y=twin.residual() + twin.y)
    tiny = fields | {"m0": str(Fraction(1, 10**12)), "mu": str(Fraction(1, 10**13))}
    assert verdicts(twin, (tiny, tensors))[0] != "ACCEPTED"


@pytest.mark.parametrize("activation", ["relu", "abs", "linear", "leaky_relu"])
def test_kinked_activations_are_refused(activation: str) -> None:
    net, (fields, tensors) = golden(Fraction(1, 5))
    parameter = {"parameter": Fraction(1, 2)} if activation == "leaky_relu" else {}
    raw = gmc.build(
        net.X, net.y, net.W, net.v, [(fields, tensors)], activation=activation, **parameter
    )
    assert check_bytes(raw).verdict.value == slow_check(raw).verdict == "REJECTED"
    assert "U1" in check_bytes(raw).reason


@pytest.mark.parametrize("form", FORMS)
def test_work_beyond_the_budget_is_undecided_before_it_is_done(
    form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = minimum("tanh")
    raw = build(net, [largest_claim(net, form)])
    monkeypatch.setattr("globalmin_check.limits.WORK", 1000)
    monkeypatch.setattr(
        "globalmin_check.claims.unique_minimum.check", None
    )  # would fail if it were called
    result = check_bytes(raw)
    assert (result.verdict.value, "budget" in result.reason) == ("UNDECIDED", True)


def test_a_tie_is_never_accepted_at_any_precision() -> None:
    """The modulus mu = m0 - a r exactly, a a square root: the matrices are proved once, the tie
    stays open at every precision.
    """
    net, (fields, tensors) = golden(Fraction(1, 5))
    m0, c, M = (Fraction(fields[key]) for key in ("m0", "lam", "M"))
    mu = m0 - c / 5
    tie = {"mu": str(mu), "eta": str(2 / (mu + M)), "rate": str(1 - 2 * mu / (mu + M))}
    assert verdicts(net, (fields | tie, tensors))[0] == "UNDECIDED"


def test_more_parameters_than_the_format_allows_are_malformed() -> None:
    net, (fields, _) = golden(Fraction(1, 5))
    wide = replace(net, W=np.ones((401, 1)), v=np.ones(401))
    square = np.zeros((401, 401))
    tensors = {"C_m": square, "C_M": square, "C_lam": np.ones((1, 1)), "C_kappa": np.ones((1, 1))}
    assert verdicts(wide, (fields, tensors))[0] == "MALFORMED"
