"""SJL in `inspect`, theorem part by theorem part: for each an instance where it holds, one where it
fails by every single hypothesis, and its numbers by another road.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize

import globalmin as gm
from globalmin.facts.finding import Finding, ask
from globalmin.inspection.inspection import pose
from globalmin.linalg.spectrum import extremes
from globalmin.quadratic.solve import solve_quadratic
from globalmin.shallow.network import ShallowNetwork, jacobian_gram

HOLDS, FAILS, UNKNOWN = Finding.HOLDS, Finding.FAILS, Finding.UNKNOWN
D = 3
MIXED = np.array([1.0, 2.0, 0.5, 1.5, -1.0, -0.7, -2.0, -1.0])
RNG = np.random.default_rng(0)
X30, X5 = RNG.standard_normal((30, D)), RNG.standard_normal((5, D))
Y30, Y5 = RNG.standard_normal(30), RNG.standard_normal(5)
W8 = RNG.standard_normal((8, D))
TEACHER = RNG.standard_normal((2, D))


def planted_by(X, W=TEACHER, v=(1.0, 1.0)):
    return (X @ W.T) ** 2 @ np.asarray(v)


def instance(X, y, W=W8, v=MIXED, activation="quadratic"):
    """The data with a network that is given, not drawn."""
    data = gm.Dataset(X, y, bias=False, scaling="none")
    it = pose(data, width=len(v), activation=activation)
    net = ShallowNetwork(W, v, activation)
    missed = float(np.linalg.norm(net.predict(X) - y))
    gram = extremes(jacobian_gram(net, X))
    return replace(it, start=replace(it.start, network=net, residual_norm=missed, gram=gram))


def found(item, it):
    """Finding of the report and of its hypotheses by a word of their statement."""
    report = ask(item, it)
    return report, {h.statement: h for h in report.hypotheses}


def failing(report):
    return [h.statement for h in report.hypotheses if h.finding is FAILS]


def numbers(report):
    return dict(report.numbers)


# --- SJL-T2.1 and its two parts
# --------------------------------------------------------------------------------------------------

EXACTLY_D = np.array([1.0, 2.0, 0.5, 0.0, -1.0, -0.7, -2.0, -1.0])
ONE_PLUS_SHORT = np.array([1.0, 2.0, 0.0, 0.0, -1.0, -0.7, -2.0, -1.0])


@pytest.mark.parametrize(
    ("X", "y", "v", "activation", "parts"),
    [
        (X5, Y5, MIXED, "quadratic", ([], [])),
        (X5, Y5, EXACTLY_D, "quadratic", ([], [])),
        (X5, Y5, -EXACTLY_D, "quadratic", ([], [])),
        (X30, Y30, MIXED, "quadratic", ([], ["n ≤ d(d+1)/2 = 6", "independent"])),
        (X30, Y30, -MIXED, "quadratic", ([], ["n ≤ d(d+1)/2 = 6", "independent"])),
        (X5, Y5, ONE_PLUS_SHORT, "quadratic", (["at least d = 3"], ["at least d = 3"])),
        (X5, Y5, -ONE_PLUS_SHORT, "quadratic", (["at least d = 3"], ["at least d = 3"])),
        (X5, Y5, np.abs(MIXED), "quadratic", (["at least d = 3"], ["at least d = 3"])),
        (X5, Y5, MIXED, "softplus", (["φ(z) = z²"], ["φ(z) = z²"])),
        (np.vstack([X5, -X5[:1]]), np.append(Y5, Y5[0]), MIXED, "quadratic", ([], ["independent"])),
    ],
)
def test_mixed_heads_have_a_benign_landscape_for_any_n_and_zero_loss_for_few_samples(
    X, y, v, activation, parts
):
    """SJL-T2.1 for any n; SJL-T2.1b needs n <= d(d+1)/2 and independent products besides."""
    it = instance(X, y, v=v, activation=activation)
    for item, expected in zip(("SJL-T2.1", "SJL-T2.1b"), parts, strict=True):
        report = ask(item, it)
        names = failing(report)
        assert len(names) == len(expected), names
        assert all(word in name for word, name in zip(expected, names, strict=True)), names
        assert report.finding is (FAILS if expected else HOLDS)
        assert report.width == 2 * D


def test_the_critical_number_of_samples_is_still_fitted_and_one_more_is_not():
    """SJL-T2.1b, the edge n = N = 6 against n = 7."""
    for n, finding in ((6, HOLDS), (7, FAILS)):
        it = instance(X30[:n], Y30[:n])
        report = ask("SJL-T2.1b", it)
        assert report.finding is finding
        least = numbers(report)["least loss of all quadratic networks, (1/2)Σr²"]
        assert (least < 1e-12) == (finding is HOLDS)


def test_numbers_of_the_mixed_theorem_are_the_least_loss_and_the_curvature_at_zero():
    """SJL-T2.1: the least loss by descent from W, the curvature by the dense Hessian at W = 0."""
    it = instance(X30, Y30)
    n = numbers(ask("SJL-T2.1", it))

    def loss(flat):
        W = flat.reshape(8, D)
        r = ((X30 @ W.T) ** 2) @ MIXED - Y30
        return 0.5 * r @ r, (2 * MIXED[:, None] * (((X30 @ W.T) * r[:, None]).T @ X30)).ravel()

    ends = [
        minimize(loss, np.random.default_rng(s).standard_normal(24), jac=True).fun for s in (1, 2)
    ]
    assert n["least loss of all quadratic networks, (1/2)Σr²"] == pytest.approx(min(ends), rel=1e-6)
    assert n["loss of the network"] == pytest.approx(loss(W8.ravel())[0], rel=1e-12)
    H = gm.landscape.hessian(ShallowNetwork(0 * W8, MIXED, "quadratic"), X30, Y30)
    assert n["most negative curvature at the saddle W = 0"] == pytest.approx(
        np.linalg.eigvalsh(H)[0], rel=1e-10
    )


# --- SJL-T2.2, T2.2k, T2.2a, DUAL
# --------------------------------------------------------------------------------------------------

POSITIVE = np.array([1.0, 0.5, 2.0, 0.0])
W4 = W8[:4]


@pytest.mark.parametrize(
    ("y", "v", "activation", "planted", "any_labels"),
    [
        (planted_by(X30), POSITIVE, "quadratic", [], []),
        (-planted_by(X30), -POSITIVE, "quadratic", [], []),
        (planted_by(X30), np.array([1.0, 2.0, 0.0, 0.0]), "quadratic", ["one sign"], ["one sign"]),
        (planted_by(X30), np.array([1.0, 2.0, 1.0, -1.0]), "quadratic", ["one sign"], ["one sign"]),
        (-planted_by(X30), POSITIVE, "quadratic", ["planted"], []),
        (planted_by(X30), -POSITIVE, "quadratic", ["planted"], []),
        (np.abs(Y30), POSITIVE, "quadratic", ["planted"], []),
        (planted_by(X30, v=(1.0, -1e-3)), POSITIVE, "quadratic", ["planted"], []),
        (planted_by(X30), POSITIVE, "tanh", ["φ(z) = z²"], ["φ(z) = z²"]),
    ],
)
def test_heads_of_one_sign_are_told_from_the_labels_and_the_network(
    y, v, activation, planted, any_labels
):
    """SJL-T2.2 with planting decided by the convex fit; SJL-T2.2k needs none."""
    it = instance(X30, y, W=W4, v=v, activation=activation)
    for item, expected in (("SJL-T2.2", planted), ("SJL-T2.2k", any_labels)):
        report = ask(item, it)
        names = failing(report)
        assert len(names) == len(expected), names
        assert all(word in name for word, name in zip(expected, names, strict=True)), names
        assert report.finding is (FAILS if expected else HOLDS)
        assert report.width == D


def test_positive_heads_can_be_planned():
    """SJL-T2.2, SJL-T2.2a: scheme="positive" draws v = 1 and W ~ N(0, 1/d)."""
    data = gm.Dataset(X30, planted_by(X30), bias=False, scaling="none")
    report = gm.inspect(data, width=4, activation="quadratic", scheme="positive").theorem(
        "SJL-T2.2"
    )
    assert report.finding is HOLDS
    for scheme in ("os", "du"):
        mixed = gm.inspect(data, width=4, activation="quadratic", scheme=scheme)
        assert mixed.theorem("SJL-T2.2").finding is FAILS
        asked = [h.statement for h in mixed.theorem("SJL-T2.2").hypotheses]
        assert len(asked) == 2, asked  # planting is not decided where the head settles it
    net = ShallowNetwork.initialize(data, 4000, "quadratic", scheme="positive", seed=1)
    assert (net.v == 1.0).all()
    assert net.W.var() == pytest.approx(1 / D, rel=0.05)  # 12000 entries: 4 deviations of 1.3 %


def test_least_loss_of_one_sign_is_enclosed_and_reached_by_descent():
    """SJL-T2.2k: upper and lower number against L-BFGS; the KKT numbers by their definitions."""
    v, y = np.array([1.0, 0.5, 2.0, 1.0]), Y30 + 1.0
    it = instance(X30, y, W=W4, v=v)
    n = numbers(ask("SJL-T2.2k", it))

    def loss(flat):
        W = flat.reshape(4, D)
        r = ((X30 @ W.T) ** 2) @ v - y
        return 0.5 * r @ r, (2 * v[:, None] * (((X30 @ W.T) * r[:, None]).T @ X30)).ravel()

    best = minimize(loss, W4.ravel(), jac=True, options={"gtol": 1e-10}).fun
    assert n["and ≥"] <= best * (1 + 1e-9)
    assert n["least loss of heads of this sign ≤"] == pytest.approx(best, rel=1e-7)
    assert n["and ≥"] == pytest.approx(best, rel=1e-5)
    r = ((X30 @ W4.T) ** 2) @ v - y
    Z = (X30 * r[:, None]).T @ X30
    assert n["λ_min(±Σ rᵢxᵢxᵢᵀ) of the network, ≥ 0 at the minimum"] == pytest.approx(
        np.linalg.eigvalsh(Z)[0], rel=1e-10
    )
    M = (W4 * v[:, None]).T @ W4
    assert n["⟨M, Σ rᵢxᵢxᵢᵀ⟩ of the network, 0 at the minimum"] == pytest.approx(
        float(np.sum(M * Z)), rel=1e-9
    )


@pytest.mark.parametrize(
    ("X", "v", "W", "flip", "expected"),
    [
        (X30, np.full(4, 0.5), W4, 1.0, []),
        (X30, np.full(4, -0.5), W4, -1.0, []),
        (X30, np.array([0.5, 0.5, 0.5, 0.4]), W4, 1.0, ["equal"]),
        (X30, np.zeros(4), W4, 1.0, ["equal"]),
        (X30, np.full(3, 0.5), W4[:3], 1.0, ["k > d"]),
        (X30 * [1.0, 1.0, 0.0], np.full(4, 0.5), W4, 1.0, ["column rank"]),
        (X30, np.full(4, 0.5), W4, -1.0, ["planted"]),
    ],
)
def test_approximate_points_with_planted_labels(X, v, W, flip, expected):
    """SJL-T2.2a: equal heads, k > d, full column rank, planted labels."""
    report = ask("SJL-T2.2a", instance(X, flip * planted_by(X), W=W, v=v))
    names = failing(report)
    assert len(names) == len(expected)
    assert all(word in name for word, name in zip(expected, names, strict=True)), names
    if not expected:
        n = numbers(report)
        y, small = np.abs(planted_by(X)), 1e-6 * np.linalg.norm(planted_by(X))
        kappa = np.linalg.eigvalsh(X.T @ X / len(X))[0]
        trace = y.mean() / kappa
        assert n["trace of the teacher's M* ≤"] == pytest.approx(trace, rel=1e-10)
        w = n["‖W‖ of every such point ≤"]
        top = np.linalg.eigvalsh((X * y[:, None]).T @ X / len(X))[-1]
        assert kappa**2 * 0.25 * w**3 - top * 0.5 * w == pytest.approx(small / 60, rel=1e-4)
        assert n["loss of every such point ≤"] == pytest.approx(
            small * w / 4 + small * trace / 2, rel=1e-9
        )
        printed = small / math.sqrt(0.5) * math.sqrt(1 + 14 * trace) + small * trace
        key = "the printed bound with that trace, Gaussian inputs, probability unknown"
        assert n[key] == pytest.approx(printed, rel=1e-9)


def test_the_printed_bound_of_approximate_points_by_its_two_branches():
    """SJL-T2.2a as printed, times n for the loss (1/2) sum of squares."""
    from globalmin.quadratic.approximate import printed_planted_excess as printed

    small = printed(10, head=4.0, gradient_norm=0.3, negative_curvature=0.8, nuclear_norm=2.5)
    assert small == pytest.approx(0.15 * 6.0 + 0.1 * 2.5)
    large = printed(10, head=4.0, gradient_norm=100.0, negative_curvature=0.8, nuclear_norm=2.5)
    assert large == pytest.approx(50.0 * 20.0 + 0.25)


@pytest.mark.parametrize(
    ("v", "expected"),
    [
        (MIXED, []),
        (MIXED[[0, 1, 2, 4, 5, 6, 7]], ["more than d"]),
        (np.abs(MIXED), ["more than d"]),
    ],
)
def test_approximate_points_with_mixed_heads(v, expected):
    """SJL-T2.1q needs d + 1 heads of each sign; its number dominates the exact excess."""
    it = instance(X30, Y30, W=W8[: len(v)], v=v)
    report = ask("SJL-T2.1q", it)
    assert [word in name for word, name in zip(expected, failing(report), strict=True)] == [
        True for _ in expected
    ]
    if not expected:
        n = numbers(report)
        net = it.start.network
        H = gm.landscape.hessian(net, X30, Y30)
        assert n["L − min L"] <= n["L − min L of the network ≤"]
        assert -np.linalg.eigvalsh(H)[0] >= 0
        S = np.stack([np.outer(x, x).ravel() for x in X30])
        r = net.predict(X30) - Y30
        part = S @ np.linalg.lstsq(S, r, rcond=None)[0]
        assert n["L − min L"] == pytest.approx(0.5 * part @ part, rel=1e-9)


def test_stationarity_in_the_matrix_is_seen_at_the_minimum_and_not_elsewhere():
    """SJL-L6.1: hypotheses at the least-squares network and at another one."""
    net = solve_quadratic(X30, Y30).network
    there = instance(X30, Y30, W=net.W, v=net.v)
    assert ask("SJL-L6.1", there).finding is HOLDS
    report = ask("SJL-L6.1", instance(X30, Y30))
    assert failing(report) == ["Σ rᵢxᵢxᵢᵀ = 0"]
    assert ask("SJL-L6.1", instance(X30, Y30, activation="tanh")).finding is FAILS
    n = numbers(report)
    gradient = gm.landscape.gradient(ShallowNetwork(W8, MIXED, "quadratic"), X30, Y30)[0]
    assert n["‖∇L‖ of the network"] == pytest.approx(np.linalg.norm(gradient), rel=1e-10)
    H = gm.landscape.hessian(ShallowNetwork(W8, MIXED, "quadratic"), X30, Y30)
    u = gradient.ravel() / np.linalg.norm(gradient)
    assert n["curvature along the gradient"] == pytest.approx(u @ H @ u, rel=1e-9)


def test_the_dual_bound_is_below_every_network_of_the_sign_and_asks_for_one_sign():
    """SJL-DUAL: the number is a feasible dual value, so below descent; equal to it at the
    minimum.
    """
    v = np.array([1.0, 0.5, 2.0, 1.0])
    report = ask("SJL-DUAL", instance(X30, Y30, W=W4, v=v))
    assert report.finding is HOLDS
    assert ask("SJL-DUAL", instance(X30, Y30)).finding is FAILS
    assert ask("SJL-DUAL", instance(X30, Y30, W=W4, v=v, activation="tanh")).finding is FAILS
    fit = numbers(ask("SJL-T2.2k", instance(X30, Y30, W=W4, v=v)))
    bound = numbers(report)["loss of every such network ≥"]
    assert 0.0 < bound <= fit["least loss of heads of this sign ≤"]
    flipped = ask("SJL-DUAL", instance(X30, -Y30, W=W4, v=-v))
    assert numbers(flipped)["loss of every such network ≥"] == pytest.approx(bound, rel=1e-9)


# --- SJL-T2.5 and the assumptions
# --------------------------------------------------------------------------------------------------

X9 = RNG.standard_normal((9, D))
ONES = np.ones(8)
SOFT = ShallowNetwork(W8, ONES, "softplus").predict(X9)
DEFICIENT = W8 * [1.0, 1.0, 0.0]
NO_ROW = np.vstack([W8[:7], np.zeros((1, D))])


def soft(W=W8, v=ONES, X=X9, activation="softplus"):
    return instance(X, ShallowNetwork(W, v, activation).predict(X), W, v, activation)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, []),
        ({"activation": "tanh"}, []),
        ({"activation": "quadratic"}, ["bounded"]),
        ({"activation": "relu"}, ["bounded"]),
        ({"activation": "linear"}, ["affine"]),
        ({"v": np.append(ONES[:7], 0.0)}, ["(2.2)"]),
        ({"W": NO_ROW}, ["(2.2)"]),
        ({"W": W8[:2], "v": ONES[:2], "X": X9}, ["k ≥ d", "(2.3)"]),
        ({"X": X9[:2]}, ["d ≤ n (2.3)"]),
        ({"X": X9[:3]}, []),
        ({"W": W8[:3], "v": ONES[:3]}, []),
        ({"W": DEFICIENT}, ["(2.3)"]),
        ({"W": DEFICIENT, "activation": "tanh"}, []),
    ],
)
def test_local_theorem_lists_every_assumption_with_its_finding(given, expected):
    """SJL-T2.5: SJL-A2.3, (2.2), (2.3); class b has no sigma_min(W) in (2.3)."""
    report = ask("SJL-T2.5", soft(**given))
    names = failing(report)
    assert len(names) == len(expected), names
    assert all(word in name for word, name in zip(expected, names, strict=True)), names
    assert report.finding is (FAILS if expected else UNKNOWN)  # C₀, c₀ and a law
    if "bounded" not in str(expected) and "affine" not in str(expected):
        assert len(report.hypotheses) == 11


@pytest.mark.parametrize(
    ("name", "slope", "curvature", "letter"),
    [
        ("softplus", HOLDS, HOLDS, "a"),
        ("tanh", HOLDS, HOLDS, "b"),
        ("sigmoid", HOLDS, HOLDS, "b"),
        ("erf", HOLDS, HOLDS, "b"),
        ("quadratic", HOLDS, HOLDS, "a"),
        ("polynomial(0,-1,0,1)", FAILS, HOLDS, ""),
        ("polynomial(0,0,-1,0,1)", HOLDS, FAILS, ""),
        ("polynomial(0,-1,-1,1,1)", FAILS, FAILS, ""),
    ],
)
def test_activations_are_told_apart_by_their_mean_slope_and_curvature(
    name, slope, curvature, letter
):
    """SJL-A2.3, SJL-Ex2.4: z^3 - z has mu = 3 s^2 - 1, z^4 - z^2 has gamma = 12 s^2 - 2."""
    report = ask("SJL-A2.3", soft(activation=name))
    assert [h.finding for h in report.hypotheses] == [slope, curvature]
    assert (f"class {letter}" in report.says) if letter else ("neither" in report.says)
    phi, density = gm.get_activation(name), lambda g: math.exp(-g * g / 2) / math.sqrt(2 * math.pi)
    slopes = quad(lambda g: float(phi.derivative(np.array([g]))[0]) * density(g), -12, 12)[0]
    bends = quad(lambda g: float(phi.derivative(np.array([g]))[0]) * g * density(g), -12, 12)[0]
    n = numbers(report)
    assert (n["μ(1)"], n["γ(1)"]) == pytest.approx((slopes, bends), abs=1e-9)


def test_a_curvature_that_vanishes_at_some_scales_breaks_the_local_theorem():
    """SJL-T2.5 with a bounded activation of neither class."""

    def bump(z, c):
        return np.exp(-c * z * z / 2)

    bent = gm.register_activation(
        "two_bumps",
        lambda z: z + bump(z, 1) - bump(z, 4),
        lambda z: 1 - z * bump(z, 1) + 4 * z * bump(z, 4),
        lambda z: (z * z - 1) * bump(z, 1) + (4 - 16 * z * z) * bump(z, 4),
        suprema=[3.0, 6.0, 20.0, 100.0],
        replace=True,
    )
    # mu = 1; gamma(s) = -(1+s^2)^(-3/2) + 4 (1+4s^2)^(-3/2), 3 at s = 0, negative for large s
    report = ask("SJL-T2.5", soft(activation=bent.name))
    assert [name for name in failing(report) if "γ(s)" in name]
    assert not [name for name in failing(report) if "μ(s)" in name]


def test_numbers_of_the_local_theorem_are_those_of_the_statement():
    """SJL-T2.5: (2.3), (2.4), (2.5), (2.7) and the rate with all constants 1; planting is seen at
    the teacher only.
    """
    report, statements = found("SJL-T2.5", soft())
    s = np.linalg.svd(W8, compute_uv=False)
    n = numbers(report)
    radius = s[-1] ** 3 / s[0] * D**2.5 / (9**1.5 * 8)
    assert n["radius without its constant (2.4)"] == pytest.approx(radius)
    assert n["radius of the head without its constant (2.5)"] == pytest.approx(radius / 8**0.5)
    assert n["step on ‖r‖²/(2n) without its constant, 1/((σ_max² + 1)k)"] == pytest.approx(
        1 / (8 * (s[0] ** 2 + 1))
    )
    exponent = "what the step is multiplied by in the rate of the loss, σ_min²d²/n"
    assert n[exponent] == pytest.approx(s[-1] ** 2 * D**2 / 9)
    ratio = 9 * s[0] ** 8 / (s[-1] ** 4 * D**2)
    measured = statements["n ≤ c₀ σ_min(W)⁴ d²/σ_max(W)⁸ (2.3)"].measured
    assert float(measured.split()[2].replace(",", "")) == pytest.approx(ratio, rel=1e-2)
    b = found("SJL-T2.5", soft(activation="tanh"))[1]["n ≤ c₀ d²/σ_max(W)⁸ (2.3), class b"]
    assert float(b.measured.split()[2].replace(",", "")) == pytest.approx(s[0] ** 8, rel=1e-2)
    Z = X9 @ W8.T
    slopes = (1 / (1 + np.exp(-Z)))[:, :, None] * X9[:, None, :]
    J = np.hstack([np.logaddexp(0, Z), slopes.reshape(9, -1)])
    a = np.linalg.svd(J, compute_uv=False)[-1]  # half of a^2 is left at half of the largest radius
    shrinks = n["its step on (1/2)Σr²"] * a**2 / 2
    assert n["1 − its factor of ‖r‖ per step"] == pytest.approx(shrinks, rel=1e-6)
    planted = "labels planted by a network of this width"
    assert statements[planted].finding is HOLDS
    other = instance(X9, SOFT + 0.1, W8, ONES, "softplus")
    assert found("SJL-T2.5", other)[1][planted].finding is UNKNOWN


# --- section 7
# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "item", "expected"),
    [
        ({}, "SJL-P7.1", HOLDS),
        ({"activation": "linear"}, "SJL-P7.1", FAILS),
        ({}, "SJL-P7.4", UNKNOWN),
        ({"activation": "linear"}, "SJL-P7.4", FAILS),
        ({"activation": "quadratic"}, "SJL-P7.4", FAILS),
        ({"v": np.append(ONES[:7], 0.0)}, "SJL-P7.4", FAILS),
        ({"W": W8[:2], "v": ONES[:2]}, "SJL-P7.4", FAILS),
        ({"X": X9[:2]}, "SJL-P7.4", FAILS),
        ({"W": DEFICIENT}, "SJL-P7.4", FAILS),
        ({"activation": "tanh"}, "SJL-R7.3", UNKNOWN),
        ({}, "SJL-R7.3", FAILS),
        ({"activation": "linear"}, "SJL-R7.3", FAILS),
        ({"X": X9[:2], "activation": "tanh"}, "SJL-R7.3", FAILS),
        ({}, "SJL-C7.5", UNKNOWN),
        ({"X": X9[:2]}, "SJL-C7.5", FAILS),
        ({}, "SJL-L7.10", UNKNOWN),
        ({"v": np.append(ONES[:7], 0.0)}, "SJL-L7.10", FAILS),
        ({"activation": "tanh"}, "SJL-L7.10", FAILS),
        ({"W": W8[:2], "v": ONES[:2]}, "SJL-L7.10", FAILS),
        ({}, "SJL-L5.3", HOLDS),
        ({"W": W8[:2], "v": ONES[:2]}, "SJL-L5.3", FAILS),
        ({"X": X9[:6]}, "SJL-L5.6", HOLDS),
        ({"X": X9[:7]}, "SJL-L5.6", FAILS),
        ({}, "SJL-L7.11", HOLDS),
        ({"activation": "relu"}, "SJL-L7.11", FAILS),
        ({"X": X9[:6]}, "SJL-L7.12", HOLDS),
        ({"X": np.vstack([X9[:3], X9[:1]])}, "SJL-L7.12", FAILS),
    ],
)
def test_parts_of_section_seven_hold_and_fail(given, item, expected):
    """SJL-P7.1, SJL-P7.4, SJL-R7.3, SJL-C7.5, SJL-L7.10, SJL-L5.3, SJL-L5.6, SJL-L7.11,
    SJL-L7.12.
    """
    assert ask(item, soft(**given)).finding is expected


def test_ratios_of_the_spectrum_are_those_of_the_dense_matrices():
    """SJL-P7.4, SJL-R7.3, SJL-C7.5: every factor counts."""
    it = soft()
    J = np.stack([np.kron(1 / (1 + np.exp(-W8 @ x)), x) for x in X9])
    a, b = np.linalg.svd(J, compute_uv=False)[[-1, 0]]
    s = np.linalg.svd(W8, compute_uv=False)
    n = numbers(ask("SJL-P7.4", it))
    assert n["σ_min(J)/(σ_min(W) d)"] == pytest.approx(a / (s[-1] * D), rel=1e-6)
    assert n["σ_max(J)/(σ_max(W)√(nk))"] == pytest.approx(b / (s[0] * math.sqrt(72)), rel=1e-9)
    odd = soft(activation="tanh")
    J = np.stack([np.kron(1 - np.tanh(W8 @ x) ** 2, x) for x in X9])
    least = np.linalg.svd(J, compute_uv=False)[-1]
    assert numbers(ask("SJL-R7.3", odd))["σ_min(J)/d"] == pytest.approx(least / D, rel=1e-6)
    squares = np.linalg.svd(np.stack([np.kron(x, x) for x in X9[:5]]), compute_uv=False)
    says = ask("SJL-C7.5", soft(X=X9[:5])).says
    assert f"{squares[-1] / D:.3g} d" in says
    assert f"{squares[0] / math.sqrt(15):.3g} √(nd)" in says
    narrow = numbers(ask("SJL-P7.4", soft(W=W8[:2], v=ONES[:2])))
    assert list(narrow) == ["σ_max(J)/(σ_max(W)√(nk))"]  # no infinite number in the JSON
