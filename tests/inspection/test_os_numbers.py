"""Width, step, rate and probability of every theorem of OS, by formulas written out here; and one
instance where each theorem holds.
"""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import globalmin as gm
from globalmin.facts.finding import ask
from globalmin.inspection import inspect
from globalmin.inspection.inspection import pose

DELTA, FAILURE = 1.3, 0.07


def at_width(found, k):
    """The same instance with a network of which only the size is known: 10^12 neurons fit into no
    memory.
    """
    it = found.instance
    size = SimpleNamespace(width=k, W=SimpleNamespace(size=k * it.m.d), v=it.start.network.v)
    return replace(it, start=replace(it.start, network=size))


@pytest.fixture(scope="module")
def data():
    return gm.generators.sphere_with_random_labels(12, 6, seed=3)


@pytest.fixture(scope="module")
def sizes(data):
    """Norms and singular values, from the definitions."""
    X, y = data.X, data.y
    products = np.stack([np.kron(x, x) for x in X])
    distances = [
        np.linalg.norm(X[i] - s * X[j]) for i in range(12) for j in range(i) for s in (1, -1)
    ]
    return SimpleNamespace(
        X2=np.linalg.eigvalsh(X @ X.T)[-1],
        y2=float(y @ y),
        sigma=np.linalg.svd(products, compute_uv=False)[-1],
        separation=min(distances),
    )


def softplus_lambda(X):
    """lambda(X) by quadrature in two dimensions: E[s(u)s(v)] on a grid of nodes."""
    g, w = np.polynomial.hermite_e.hermegauss(80)
    w = w / math.sqrt(2 * math.pi)
    n, K = len(X), np.clip(X @ X.T, -1, 1)
    s = 1 / (1 + np.exp(-g))
    kernel = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            c = K[i, j]
            other = c * g[:, None] + math.sqrt(max(1 - c * c, 0)) * g
            kernel[i, j] = w @ (s * ((1 / (1 + np.exp(-other))) @ w))
    return np.linalg.eigvalsh(kernel * K)[0]


def test_smooth_theorems(data, sizes):
    """OS-T6.2, OS-T2.1, OS-LH.1: (6.18) with c B = 1, O1's exponent."""
    found = inspect(data, 20, "softplus", delta=DELTA)
    mu = 0.20662096414
    for item, lam in (
        ("OS-T6.2", softplus_lambda(data.X)),
        ("OS-T2.1", (mu * sizes.sigma) ** 2),
        ("OS-LH.1", (mu * sizes.sigma) ** 2),
    ):
        r = found.theorem(item)
        root = 32 * (1 + (1 + DELTA)) * math.sqrt(12 * sizes.X2) / lam
        assert r.width == pytest.approx(root**2, rel=1e-7), item
        assert r.step_size == pytest.approx(12 / (2 * sizes.y2 * sizes.X2))
        assert 1 - r.rate == pytest.approx(lam / (32 * sizes.X2), rel=1e-6)
        assert r.failure == pytest.approx(1 / 12 + math.exp(-(DELTA**2) * 12 / (2 * sizes.X2)))
        numbers = dict(r.numbers)
        apart = numbers["width with sup |φ'| and sup |φ''| kept apart, same proof"]
        assert apart == pytest.approx(r.width / 16)  # sup |phi''| = 1/4
        residual = np.linalg.norm(found.instance.start.network.predict(data.X) - data.y)
        path = math.sqrt(32 * 12 / (sizes.y2 * lam)) * residual
        assert numbers["path from this start, at most"] == pytest.approx(path, rel=1e-7)


def test_steep_activation_has_the_slope_in_its_step_and_the_curvature_in_its_width(data, sizes):
    """OS-T6.2 for softplus(10): B = 1 in the step, 2.5 for both in the printed width."""
    r = inspect(data, 20, "softplus(10)").theorem("OS-T2.1")
    lam = (0.392595599 * sizes.sigma) ** 2
    root = 32 * 2.5 * (1 + 2 * 2.5) * math.sqrt(12 * sizes.X2) / lam
    assert r.width == pytest.approx(root**2, rel=1e-6)
    assert r.step_size == pytest.approx(12 / (2 * sizes.y2 * sizes.X2))
    assert 1 - r.rate == pytest.approx(lam / (32 * sizes.X2), rel=1e-6)


def test_stochastic_theorem(data, sizes):
    """OS-T2.6: nu from the failure probability, width of OS-T2.1, both probabilities added."""
    found = inspect(data, 20, "softplus", delta=DELTA, failure=FAILURE)
    r, gap = found.theorem("OS-T2.6"), 0.20662096414 * sizes.sigma
    nu = 4 / FAILURE * (3 * math.sqrt(sizes.X2) / gap) ** (1 / 120)
    assert dict(r.numbers)["ν, the least ≥ 3 with 1 − P(E) ≤ failure"] == pytest.approx(nu)
    assert dict(r.numbers)["1 − P(E), at most"] == pytest.approx(FAILURE)
    assert r.step_size == pytest.approx(gap**2 * 12 / (9 * nu * sizes.y2 * sizes.X2))
    assert 1 - r.rate**2 == pytest.approx(gap**4 / (144 * 12 * nu * sizes.X2), rel=1e-4)
    start = 1 / 12 + math.exp(-(DELTA**2) * 12 / (2 * sizes.X2))
    assert r.failure == pytest.approx(start + FAILURE)
    assert r.width == found.theorem("OS-T2.1").width
    assert r.finding == "fails"
    assert ask("OS-T2.6", at_width(found, math.ceil(r.width))).finding == "holds"
    assert ask("OS-T2.6", at_width(found, math.ceil(r.width) - 1)).finding == "fails"


def test_existence_is_decided_at_a_ratio_of_one(data):
    """OS-C2: 2 Lip e <= a, with equality; just above it fails."""
    it = inspect(data, 20).instance
    for ratio, finding in ((1.0, "holds"), (1.0 + 1e-12, "fails"), (1.9, "fails")):
        assert ask("OS-C2", replace(it, start=replace(it.start, newton_ratio=ratio))).finding == (
            finding
        )


@pytest.mark.parametrize("item", ["DU-T2.2", "DU-T2.3"])
def test_thesis_theorems_add_up_three_failures(data, item):
    """Start, kernel and patterns each fail with the probability that was allowed."""
    assert inspect(data, 20, "relu", failure=FAILURE).theorem(item).failure == pytest.approx(
        3 * FAILURE
    )
    assert inspect(data, 20, "relu", failure=0.4).theorem(item).failure == 1.0


def test_relu_theorems(data, sizes):
    """OS-T6.3, OS-T2.3, OS-T2.5: C = (24 sqrt 2 200^1.5)^2, probabilities as printed."""
    found = inspect(data, 20, "relu", delta=DELTA)
    K = np.clip(data.X @ data.X.T, -1, 1)
    np.fill_diagonal(K, 1.0)
    lam = np.linalg.eigvalsh(K * (np.pi - np.arccos(K)) / (2 * np.pi))[0]
    tail = math.exp(-(DELTA**2) * 12 / sizes.X2)
    for item, value, failure in (
        ("OS-T6.3", lam, 2 / 12 + tail),
        ("OS-T2.3", sizes.sigma**2 / (2 * math.pi), 1 / 12 + 12 * math.exp(-12) + tail),
        ("OS-T2.5", sizes.separation / (100 * 12**2), 2 / 12 + tail),
    ):
        r = found.theorem(item)
        width = 9.216e9 * (1 + DELTA) ** 2 * 12 * sizes.X2**3 / value**4
        assert r.width == pytest.approx(width, rel=1e-6), item
        assert r.step_size == pytest.approx(12 / (3 * sizes.y2 * sizes.X2))
        assert 1 - r.rate == pytest.approx(value / (24 * sizes.X2), rel=1e-6)
        assert r.failure == pytest.approx(failure)
        assert ask(item, at_width(found, math.ceil(r.width * (1 + 1e-12)))).finding == "holds"
        assert ask(item, at_width(found, int(r.width * (1 - 1e-12)))).finding == "fails"
    residual = np.linalg.norm(found.instance.start.network.predict(data.X) - data.y)
    distance = 6 * math.sqrt(2 * 12 / (lam * sizes.y2)) * residual
    shown = dict(found.theorem("OS-T6.3").numbers)["distance from the start, at most"]
    assert shown == pytest.approx(distance, rel=1e-7)


def test_a_promise_of_probability_zero_is_no_promise():
    """Two samples: 2/n = 1, so OS-T6.3 says nothing at any width; a small delta does the same."""
    two = inspect(gm.generators.sphere_with_random_labels(2, 8, seed=0), 4, "relu")
    report = ask("OS-T6.3", at_width(two, 10**30))
    assert report.failure == 1.0
    assert report.finding == "fails"
    assert report.hypotheses[-1].statement == "the promise has a positive probability"
    small = inspect(gm.generators.sphere_with_random_labels(2, 8, seed=0), 4, delta=0.01)
    assert small.theorem("OS-C6").hypotheses[-1].finding == "fails"


def test_explicit_width(data):
    """OS-C6: its width, and its probability at the larger of that and the width asked about."""
    found = inspect(data, 20, "softplus", delta=DELTA, theta=0.3)
    r, lam, X2 = found.theorem("OS-C6"), softplus_lambda(data.X), found.quantity("‖X‖") ** 2
    head = math.sqrt(1 + 0.271515) + DELTA
    root = 2 * 0.25 * math.sqrt(found.quantity("κ₄") * 12) * head / (0.7 * lam)
    assert r.width == pytest.approx(root**2, rel=1e-5)
    assert r.width % 2 == 0
    q = 0.3 + 0.7 * math.log(0.7)
    failure = 12 * math.exp(-q * r.width * lam / X2) + math.exp(-(DELTA**2) * 12 / (2 * X2))
    assert r.failure == pytest.approx(failure, rel=1e-6)


def test_random_features_are_measured_at_the_network(data):
    """OS-T3.2: lambda_min(Phi Phi^T) by numpy, and what it means where the width is too small."""
    for width, singular in ((40, False), (8, True)):
        found = inspect(data, width, "softplus", failure=FAILURE)
        r, net = found.theorem("OS-T3.2"), found.instance.start.network
        Phi = np.logaddexp(0, data.X @ net.W.T)
        low = np.linalg.eigvalsh(Phi @ Phi.T)[0]
        shown = dict(r.numbers)["λ_min(ΦΦᵀ) at the drawn start"]
        assert shown == (0.0 if singular else pytest.approx(low, rel=1e-6))
        assert ("fits all labels here already" in r.instead) is not singular
        assert r.failure == FAILURE
    wide = ask("OS-T3.2", inspect(data, 40, "tanh").instance)
    assert wide.finding == "fails"


def test_random_features_hold_at_the_width_they_ask_for():
    """OS-T3.2: two orthogonal rows, where the width is a few thousand."""
    data = gm.Dataset(np.eye(2), [1.0, -1.0], bias=False, scaling="none")
    needed = int(inspect(data, 4, "tanh").theorem("OS-T3.2").width)
    assert 100 < needed < 100_000
    assert inspect(data, needed, "tanh").theorem("OS-T3.2").finding == "holds"
    assert inspect(data, needed - 1, "tanh").theorem("OS-T3.2").finding == "fails"


def test_printed_smooth_theorems_hold_at_a_network_that_is_drawn():
    """OS-T6.2, OS-T2.1, OS-LH.1, OS-T2.6 on two orthogonal rows: about 10^6 neurons, drawn."""
    data = gm.Dataset(np.eye(2), [1.0, -1.0], bias=False, scaling="none")
    needed = {r.item: r.width for r in inspect(data, 4, "softplus(4)").theorems}
    k = 2 * math.ceil(max(needed[item] for item in ("OS-T6.2", "OS-T2.1", "OS-LH.1")) / 2)
    assert k < 3_000_000
    it = pose(data, k, "softplus(4)")
    for item in ("OS-T6.2", "OS-T2.1", "OS-LH.1", "OS-T2.6", "OS-C6", "OS-C1", "OS-C2"):
        assert ask(item, it).finding == "holds", item
    assert inspect(data, 4, "softplus(4)").theorem("OS-T6.2").finding == "fails"


def test_stochastic_descent_at_given_weights():
    """OS-C4: fails at the start, holds at the weights after training, with the numbers of the
    definition.
    """
    data = gm.generators.sphere_with_random_labels(4, 12, seed=0)
    start = gm.ShallowNetwork.initialize(data, 30, "softplus", seed=0)
    assert inspect(data, network=start).theorem("OS-C4").finding == "fails"
    trained = gm.train(start, data, method="levenberg_marquardt", tol=1e-9).network
    r = inspect(data, network=trained).theorem("OS-C4")
    assert r.finding == "holds"
    s = 1 / (1 + np.exp(-data.X @ trained.W.T))
    J = np.stack([np.outer(a, x).ravel() for a, x in zip(s * trained.v, data.X, strict=True)])
    singular = np.linalg.svd(J, compute_uv=False)
    a, b, level = singular[-1], singular[0], 2 * singular[-1] / 3
    m = min(np.linalg.norm(trained.v), np.linalg.norm(J, axis=1).max() + a - level)
    g = np.linalg.norm(trained.predict(data.X) - data.y)
    rho = dict(r.numbers)["radius that is not left"]
    Lip = (a - level) / rho
    crude = 0.25 * np.abs(trained.v).max() * np.linalg.norm(data.X, 2)  # OS-L6.8
    assert 0.1 * crude < Lip <= crude * (1 + 1e-12)  # the two agree where the ball is large
    assert r.failure == pytest.approx(2 * 2 * m * g / (level**2 * rho), rel=1e-6)
    b2 = b + 2 * Lip * rho
    highest = g + 2 * b2 * rho
    eta = min(level**2 / ((b2**2 + Lip * highest) * m**2), rho / (m * highest))
    assert r.step_size == pytest.approx(eta, rel=1e-6)
    assert r.rate**2 == pytest.approx(1 - eta * level**2 / 4, rel=1e-9)


def test_stochastic_descent_for_many_samples_takes_the_crude_constant(monkeypatch):
    """OS-C4 beyond the size of cheap eigenvalues, forced: the bound is weaker, never better."""
    data = gm.generators.sphere_with_random_labels(4, 12, seed=0)
    start = gm.ShallowNetwork.initialize(data, 30, "softplus", seed=0)
    it = inspect(data, network=gm.train(start, data, tol=1e-7).network).instance
    exact = ask("OS-C4", it)
    monkeypatch.setattr("globalmin.kernels.facts_weights.ALL_LIMIT", 2)
    crude, v = ask("OS-C4", it), it.start.network.v
    Lip = 0.25 * np.abs(v).max() * math.sqrt(it.m.kappa4)
    radius = dict(crude.numbers)["radius that is not left"]
    assert radius == pytest.approx(it.start.a / (3 * Lip))
    failure = 13.5 * 2 * np.linalg.norm(v) * Lip * it.start.residual_norm / it.start.a**3
    assert crude.failure == pytest.approx(failure)
    assert exact.failure <= crude.failure * (1 + 1e-9) < 1
    assert ask("OS-C4", inspect(data, 30, "relu").instance).step_size is None


def test_a_singular_jacobian_has_no_guarantee_whatever_the_number_of_samples(monkeypatch):
    """OS-C4 with a row twice: no step, by the search of a radius and by the crude constant."""
    X = gm.generators.sphere_with_random_labels(4, 12, seed=0).X
    data = gm.Dataset(np.vstack([X, X[:1]]), np.arange(5.0), bias=False, scaling="none")
    it = inspect(data, 30).instance
    assert it.start.a == 0.0
    for limit in (1500, 2):
        monkeypatch.setattr("globalmin.kernels.facts_weights.ALL_LIMIT", limit)
        report = ask("OS-C4", it)
        assert (report.step_size, report.failure, report.numbers) == (None, None, ())


def test_dual_kernels_need_rows_that_are_not_zero():
    """DU-DA0: refused where one of the first two rows is zero, three roads to one number else."""
    X = sphere_rows()
    for zero in (0, 1, None):
        moved = X.copy()
        if zero is not None:
            moved[zero] = 0.0
        data = gm.Dataset(moved, np.arange(4.0), bias=False, scaling="none")
        report = ask("DU-DA0", inspect(data, 8).instance)
        assert report.finding == ("holds" if zero is None else "fails")
        assert len(report.numbers) == (5 if zero is None else 0)
    values = [value for _, value in report.numbers]
    g, w = np.polynomial.hermite_e.hermegauss(60)
    w = w / math.sqrt(2 * math.pi)
    a, b, c = (float(p @ q) for p, q in ((X[0], X[0]), (X[1], X[1]), (X[0], X[1])))
    u = math.sqrt(a) * g[:, None] + 0.0 * g
    other = c / math.sqrt(a) * g[:, None] + math.sqrt(b - c * c / a) * g
    weights = np.outer(w, w)
    value = (weights * np.logaddexp(0, u) * np.logaddexp(0, other)).sum()
    slope = (weights / (1 + np.exp(-u)) / (1 + np.exp(-other))).sum()
    assert values[:3] == pytest.approx([value] * 3, rel=1e-5)
    assert values[3] == pytest.approx(slope, rel=1e-7)
    assert values[4] == pytest.approx(1 / (w @ np.logaddexp(0, g) ** 2), rel=1e-7)


def sphere_rows():
    return gm.generators.sphere_with_random_labels(4, 3, seed=5).X


def test_too_few_weights_need_width_and_not_training():
    """OS-C1, OS-C2, OS-C4 with kd < n: no training helps."""
    found = inspect(gm.generators.sphere_with_random_labels(30, 5, seed=0), 4)
    for item in ("OS-C1", "OS-C2", "OS-C4"):
        failing = [h for h in found.theorem(item).hypotheses if h.finding == "fails"]
        assert [h.remedy for h in failing] == ["a wider network"], item
        assert "kd = 20 weights for n = 30 samples" in failing[0].measured


@pytest.mark.parametrize(
    ("item", "constant", "drops"), [("DU-T2.2", 512.0, 2.0), ("DU-T2.3", 8192.0, 4.0)]
)
def test_thesis_widths_of_a_table_with_rows_of_any_norm(item, constant, drops):
    """DU-T2.2, DU-T2.3 print a width for rows that are not of norm 1: the movement of a neuron,
    drops ||X||_F ||r||/(sqrt m lambda), is then the radius, and one neuron less may fail.
    """
    rng = np.random.default_rng(4)
    X = rng.standard_normal((7, 4)) * rng.uniform(0.2, 6.0, (7, 1))
    y = rng.standard_normal(7)
    found = inspect(gm.Dataset(X, y, bias=False, scaling="none"), 20, "relu", failure=FAILURE)
    r, norms = found.theorem(item), np.linalg.norm(X, axis=1)
    lam = found.quantity("λ(X)")
    misfit = (y @ y + norms @ norms / 2) / FAILURE
    m = constant / math.pi * norms @ norms * norms.sum() ** 4 * misfit / (FAILURE**2 * lam**4)
    assert r.width == pytest.approx(m, rel=1e-9)
    radius = math.sqrt(2 * math.pi) * FAILURE * lam / (8 * drops * norms.sum() ** 2)
    moved = drops * np.linalg.norm(X) * math.sqrt(misfit) / (math.sqrt(r.width) * lam)
    assert moved == pytest.approx(radius, rel=1e-9)
    assert "rows" not in " ".join(h.statement for h in r.hypotheses if h.finding == "fails")
    if item == "DU-T2.3":
        assert r.step_size == pytest.approx(lam / (4 * (norms @ norms) ** 2))
    assert ask(item, at_width(found, math.ceil(r.width * (1 + 1e-12)))).finding == "holds"
    assert ask(item, at_width(found, int(r.width * (1 - 1e-12)))).finding == "fails"
