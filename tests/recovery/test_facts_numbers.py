"""Every number that the facts of FCL show of one instance, by quadrature, automatic differentiation
or a formula written out here, and the sizes at which a fact falls silent.
"""

import math
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq

from globalmin.activations import get_activation
from globalmin.recovery import concentration, facts

W = np.array([[1.5, 0.3], [-0.4, 1.8]])
B1, B2, B3 = 1 / 4, 1 / (6 * math.sqrt(3)), 1 / 8  # suprema of the sigmoid's derivatives
THETA, FAILURE = 0.3, 0.07


def sigmoid(z):
    return 1.0 / (1.0 + np.exp(-z))


def slope(z):
    return sigmoid(z) * (1.0 - sigmoid(z))


def instance(W=W, name="sigmoid", n=30):
    rng = np.random.default_rng(2)
    phi = get_activation(name)
    X = rng.standard_normal((n, W.shape[1]))
    y = (rng.random(n) < 0.5).astype(float)
    m = SimpleNamespace(
        X=X, y=y, n=n, d=X.shape[1], activation=phi, B=float(phi.supremum(1)),
        M=float(phi.supremum(2)),
    )  # fmt: skip
    start = SimpleNamespace(network=SimpleNamespace(W=W), is_given=True)
    return SimpleNamespace(m=m, start=start, failure=FAILURE, theta=THETA)


def numbers(report):
    return [value for _, value in report.numbers]


def gaussian(function):
    return quad(lambda z: function(z) * math.exp(-z * z / 2) / math.sqrt(2 * math.pi), -12, 12)[0]


def plane():
    """Nodes and weights of a rule for N(0, I) in two dimensions."""
    g, w = np.polynomial.hermite_e.hermegauss(60)
    w = w / math.sqrt(2 * math.pi)
    return np.stack(np.meshgrid(g, g, indexing="ij"), -1).reshape(-1, 2), np.outer(w, w).ravel()


def jacobian(W, X):
    """Rows phi'(w_j.x) x / K, for the mean of K neurons."""
    return (slope(X @ W.T)[:, :, None] * X[:, None, :]).reshape(len(X), -1) / len(W)


def curvature(W):
    """The population Hessian at the teacher W, by the rule."""
    X, weights = plane()
    J = jacobian(W, X)
    return (J * weights[:, None]).T @ J


def rho(s):
    a = [gaussian(lambda z, q=q: slope(s * z) * z**q) for q in range(3)]
    b = [gaussian(lambda z, q=q: slope(s * z) ** 2 * z**q) for q in (0, 2)]
    return min(b[0] - a[0] ** 2 - a[1] ** 2, b[1] - a[1] ** 2 - a[2] ** 2)


def effective(W):
    """rho / (kappa^2 lambda) from the singular values."""
    s = np.linalg.svd(W, compute_uv=False)
    return rho(s[-1]) / ((s[0] / s[-1]) ** 2 * np.prod(s / s[-1]))


def test_moments_of_the_activation():
    """FCL-DEF1, FCL-A2, FCL-F2, FCL-GAM at norm 1, by quadrature."""
    found = numbers(facts.activation_moments(instance()))
    he = [np.polynomial.hermite_e.HermiteE.basis(j) for j in range(5)]
    by_hand = [gaussian(lambda z, q=q: slope(z) * z**q) for q in range(3)]
    by_hand += [gaussian(lambda z, q=q: slope(z) ** 2 * z**q) for q in (0, 2)]
    by_hand += [rho(1.0)]
    by_hand += [gaussian(lambda z, j=j: sigmoid(z) * z**j) for j in range(5)]
    by_hand += [gaussian(lambda z, j=j: sigmoid(z) * he[j](z)) for j in range(1, 5)]
    assert found == pytest.approx(by_hand, rel=1e-7, abs=1e-9)
    assert facts.activation_moments(instance(name="quadratic")).numbers == ()


def test_curvature_at_the_teacher():
    """FCL-LMIN, FCL-HMAX, FCL-L1, FCL-L2, FCL-ORTH: Hessians by a rule in the plane."""
    it = instance()
    report = facts.population_curvature(it)
    least = effective(W) / 4
    most = B1**2 / 2 + (1 - THETA) * least
    Lip = 6 * math.sqrt(2 / math.pi) * B1 * B2 / 2**1.5
    step = 2 / (THETA * least + most)
    exact = np.linalg.eigvalsh(curvature(W))
    sigma = np.linalg.svd(W, compute_uv=False)[-1]
    by_hand = [
        step, 1 - step * THETA * least, least, exact[0], exact[-1], B1**2 / 2, Lip,
        (1 - THETA) * least / Lip, np.linalg.eigvalsh(curvature(sigma * np.eye(2)))[0],
    ]  # fmt: skip
    assert numbers(report) == pytest.approx(by_hand, rel=1e-6)
    assert report.step_size == pytest.approx(step / it.m.n)


def test_orders_and_the_explicit_number_of_samples():
    """FCL-C1, FCL-C2, FCL-C4: the orders by their formulas; the verdict changes at the explicit
    number.
    """
    report = facts.sample_sizes(instance(n=50))
    L, e = B1, effective(W)
    by_hand = [
        2 * 8 * math.log(2) ** 2 * ((L + 1) * L / e) ** 2,
        e / (math.sqrt(2) * L**2),
        L / (e / 4) * math.sqrt(2 * math.log(50) / 50),
    ]
    assert numbers(report)[:3] == pytest.approx(by_hand, rel=1e-6)
    enough, radius = numbers(report)[3:]
    Lip = 6 * math.sqrt(2 / math.pi) * B1 * B2 / 2**1.5
    assert radius == pytest.approx((1 - THETA) * e / 4 / Lip, rel=1e-6)

    def deviation(n):
        return concentration.hessian_deviation_limit(
            n, 2, 2, "sigmoid", delta=FAILURE, radius=radius
        )

    assert deviation(int(enough)) <= THETA * e / 8 * (1 + 1e-6)
    assert deviation(int(enough * (1 - 1e-5))) > THETA * e / 8 * (1 - 1e-6)
    for n, finding in ((int(enough), "holds"), (int(enough) - 1, "fails")):
        it = instance(n=50)
        it.m.n = n
        assert facts.sample_sizes(it).hypotheses[-1].finding == finding
    assert report.failure == FAILURE
    assert len(facts.sample_sizes(instance(name="softplus")).numbers) == 3


@pytest.mark.parametrize(("n", "d", "silent"), [(2, 2, False), (1, 2, True), (2, 1, True)])
def test_two_samples_of_two_features_are_the_least_for_the_orders(n, d, silent):
    """FCL-C1: log n and log d are in the denominators and factors of its orders."""
    it = instance(W=W[:d, :d], n=n)
    assert (facts.sample_sizes(it).numbers == ()) is silent


@pytest.mark.parametrize(
    ("K", "d", "finding"),
    [(2, 2, "holds"), (3, 2, "fails"), (6, 10, "holds"), (8, 8, "fails"), (1, 61, "fails")],
)
def test_the_theory_is_for_few_neurons_and_few_weights(K, d, finding):
    """K <= d and Kd <= 60, with equality on both."""
    it = SimpleNamespace(start=SimpleNamespace(network=SimpleNamespace(W=np.zeros((K, d)))))
    assert facts.few_neurons(it).finding == finding


def test_deviations_from_the_population():
    """FCL-L3 to FCL-L7 at the drawn layer as teacher."""
    it = instance()
    found, X, y, n = numbers(facts.deviations(it)), it.m.X, it.m.y, it.m.n
    J = jacobian(W, X)
    along = (sigmoid(X @ W.T).mean(axis=1) - y) * (J @ (W / np.linalg.norm(W)).ravel())
    psi2 = brentq(lambda s: np.exp(along**2 / s**2).mean() - 2, 1e-2, 10.0)
    cubes = np.mean([np.linalg.norm(x) ** 3 for x in X])
    by_hand = [
        concentration.hessian_deviation_limit(n, 2, 2, "sigmoid", delta=FAILURE),
        np.linalg.norm(J.T @ J / n - curvature(W), 2),
        concentration.gradient_deviation_limit(n, 2, 2, "sigmoid", delta=FAILURE),
        0.0,  # both gradients vanish at the teacher
        (3 * B1 * B2 / 2**1.5 + B3 / 2) * cubes,
        math.sqrt(8 / 3) * B1 / math.sqrt(2),
        psi2,
        4 * math.log(9),
    ]
    assert found == pytest.approx(by_hand, rel=1e-6, abs=1e-12)
    assert facts.deviations(instance(name="softplus")).numbers == ()
    assert facts.deviations(instance(name="softplus")).hypotheses[-1].finding == "fails"


def test_derivatives_along_the_gradient():
    """FCL-D1, FCL-D2, FCL-D3: loss, gradient and four derivatives by automatic differentiation."""
    it = instance()
    X, y, n = it.m.X, it.m.y, it.m.n

    def loss(V):
        p = jnp.mean(1 / (1 + jnp.exp(-jnp.asarray(X) @ V.T)), axis=1)
        return jnp.sum((p - y) ** 2) / (2 * n)

    def everything(V, A):
        line, along = (lambda t: loss(V + t * A)), []
        for _ in range(4):
            line = jax.grad(line)
            along.append(line(0.0))
        return along, jax.jacfwd(jax.hessian(loss))(V)

    with jax.enable_x64(True):
        G = np.asarray(jax.jit(jax.grad(loss))(jnp.asarray(W)))
        along, third = jax.jit(everything)(jnp.asarray(W), jnp.asarray(G / np.linalg.norm(G)))
        along, third = [float(value) for value in along], np.asarray(third).reshape(4, 16)
        by_hand = [float(loss(jnp.asarray(W))), np.linalg.norm(G), along[1], along[2]]
    by_hand += [np.linalg.norm(third, 2), along[3]]
    assert numbers(facts.derivatives(it)) == pytest.approx(by_hand, rel=1e-8)
    assert len(numbers(facts.derivatives(instance(name="softplus")))) == 6


def test_what_binary_labels_tell():
    """FCL-M1: covariances of least squares and of the likelihood by the rule in the plane."""
    it = instance()
    X, weights = plane()
    J, p = jacobian(W, X), sigmoid(X @ W.T).mean(axis=1)
    H, S, fisher = (
        (J * (weights * factor)[:, None]).T @ J
        for factor in (np.ones_like(p), p * (1 - p), 1 / (p * (1 - p)))
    )
    inverse = np.linalg.inv(H)
    squares, best = inverse @ S @ inverse, np.linalg.inv(fisher)
    found = numbers(facts.label_information(it))
    draws = np.random.default_rng(5).multivariate_normal(np.zeros(4), squares / it.m.n, 40_000)
    by_hand = [
        np.linalg.norm(W),
        math.sqrt(np.trace(squares) / it.m.n),
        np.median(np.linalg.norm(draws, axis=1)),
        math.sqrt(np.trace(best) / it.m.n),
    ]
    assert [found[0], found[1], found[3]] == pytest.approx(
        [by_hand[0], by_hand[1], by_hand[3]], rel=1e-6
    )
    assert found[2] == pytest.approx(by_hand[2], rel=0.03)  # two simulations of 20,000 and 40,000
    assert facts.label_information(instance(name="tanh")).numbers == ()
