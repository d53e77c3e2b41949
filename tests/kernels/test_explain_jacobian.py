"""Where the least singular value of the Jacobian comes from: every step of the chain against dense
matrices by their definitions, equality where it is planted, refusals.
"""

import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad

import globalmin as gm
from globalmin.errors import DataError
from globalmin.kernels.explain_jacobian import _root_of, explain_jacobian, projected_slopes
from globalmin.shallow.network import ShallowNetwork


def drawn(activation, n=8, d=5, k=9, seed=0):
    rng = np.random.default_rng(seed)
    heads = rng.choice([-1.0, 1.0], k) * rng.uniform(0.5, 1.5, k)
    return ShallowNetwork(rng.standard_normal((k, d)), heads, activation), rng.standard_normal(
        (n, d)
    )


def gaussian(function):
    def integrand(g):
        return function(g) * math.exp(-g * g / 2) / math.sqrt(2 * math.pi)

    return sum(quad(integrand, a, b)[0] for a, b in ((-12, 0), (0, 12)))


def least(A):
    return float(np.linalg.svd(A, compute_uv=False)[-1]) if A.shape[0] <= A.shape[1] else 0.0


def dense_chain(network, X):
    """J, J(I x P), the mean PA and the whitened slopes by dense matrices."""
    phi = network.activation
    norms = np.linalg.norm(network.W, axis=1)

    def slope(z):
        return float(phi.derivative(np.array([z]))[0])

    mu = np.array([gaussian(lambda g, s=s: slope(s * g)) for s in norms])
    gamma = np.array([gaussian(lambda g, s=s: slope(s * g) * g / s) for s in norms])
    m = network.v * mu
    P = np.eye(len(m)) - np.outer(m, m) / (m @ m) if np.linalg.norm(m) > 1e-12 else np.eye(len(m))
    D = phi.derivative(X @ network.W.T) * network.v
    A = P @ ((network.v * gamma)[:, None] * network.W)
    J = np.stack([np.kron(x, row) for x, row in zip(X, D, strict=True)])
    cut = np.stack([np.kron(x, P @ row) for x, row in zip(X, D, strict=True)])
    rows = (D - m) @ P @ np.linalg.pinv(A).T if np.abs(gamma).max() > 1e-10 else None
    return J, cut, A, rows


@pytest.mark.parametrize("activation", ["softplus", "softplus(3)", "quadratic", "relu"])
@pytest.mark.parametrize("seed", range(3))
def test_every_step_is_the_singular_value_of_the_matrix_it_names(activation, seed):
    """SJL-P7.1, SJL-L7.6, SJL-L7.7, SJL-P7.9, class a: values equal those of dense matrices, none
    is above the one before it.
    """
    network, X = drawn(activation, seed=seed)
    found = explain_jacobian(network, X)
    J, cut, A, Z = dense_chain(network, X)
    scale = np.linalg.svd(A, compute_uv=False)[-1]
    d = X.shape[1]
    whitened = [np.outer(x, z) for x, z in zip(X, Z, strict=True)]
    off = np.stack([(M - np.diag(np.diag(M))).ravel() for M in whitened])
    lengths = np.linalg.norm(off, axis=1)
    G = off @ off.T
    C = G / np.outer(lengths, lengths)
    orthogonal = max(
        (lengths**2).min() - np.linalg.norm(G - np.diag(np.diag(G)), 2),
        (lengths**2).min() * (1 - np.linalg.norm(C - np.eye(len(C)), 2)),
        0.0,
    )
    expected = [
        least(cut),
        scale * least(np.stack([M.ravel() for M in whitened])),
        scale * least(off),
        scale * math.sqrt(orthogonal),
    ]
    assert found.sigma_min == pytest.approx(least(J), rel=1e-6)
    assert found.sigma_max == pytest.approx(np.linalg.norm(J, 2), rel=1e-9)
    # the Gram matrix has half of the digits
    assert [step.value for step in found.steps] == pytest.approx(expected, rel=1e-4, abs=1e-5)
    values = [found.sigma_min, *(step.value for step in found.steps)]
    assert all(after <= before * (1 + 1e-9) for before, after in itertools.pairwise(values))
    factors = [step.factor for step in found.steps]
    assert math.prod(factors) * found.sigma_min == pytest.approx(values[-1], abs=1e-12)
    assert (found.letter, found.shape) == ("a", (8, d, 9))
    assert projected_slopes(network, X) == pytest.approx(
        np.stack([row.reshape(d, 9)[0] / x[0] for row, x in zip(cut, X, strict=True)]), abs=1e-6
    )


@pytest.mark.parametrize("activation", ["tanh", "sigmoid"])
def test_class_b_needs_no_whitening(activation):
    """SJL-R7.3: two steps, the mean of the centered Jacobian being zero."""
    network, X = drawn(activation)
    found = explain_jacobian(network, X)
    J, cut, _, Z = dense_chain(network, X)
    assert Z is None
    assert found.letter == "b"
    assert [step.item for step in found.steps] == ["SJL-P7.1", "SJL-P7.9"]
    assert found.sigma_min == pytest.approx(least(J), rel=1e-6)
    assert found.steps[0].value == pytest.approx(least(cut), rel=1e-6)


def test_projection_is_sharper_than_the_printed_subtraction_and_never_negative():
    """SJL-P7.1 (ours): on 30 draws the printed bound is negative somewhere, the projection never
    below it.
    """
    printed = []
    for seed in range(30):
        found = explain_jacobian(*drawn("softplus", seed=seed))
        printed.append(found.printed)
        assert found.steps[0].value ** 2 >= found.printed - 1e-9
        assert 0.0 < found.steps[0].value <= found.sigma_min
    assert min(printed) < 0.0


def test_nothing_is_lost_where_the_slopes_have_no_mean_and_the_weights_are_orthogonal():
    """z^2 with orthonormal W and heads of one size: projection and whitening are equalities; one
    sample makes its row orthogonal to nothing.
    """
    rng = np.random.default_rng(1)
    Q = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    network = ShallowNetwork(3.0 * Q, [1.0, -1.0, 1.0, -1.0], "quadratic")
    found = explain_jacobian(network, rng.standard_normal((6, 4)))
    assert [step.factor for step in found.steps[:2]] == pytest.approx([1.0, 1.0], rel=1e-9)
    x = np.array([[1.0, 2.0, 0.0, -1.0]])
    one = explain_jacobian(network, x)
    assert one.sigma_min == pytest.approx(2 * 3.0 * 6.0)  # 2 |W x| |x|, |x|^2 = 6
    assert [step.factor for step in one.steps] == pytest.approx(
        [1.0, 1.0, math.sqrt(1 - 18 / 36), 1.0], rel=1e-9
    )  # x x^T without its diagonal: |x|^4 - sum x_j^4


def test_the_text_names_the_costliest_step_and_the_picture_has_a_bar_for_each():
    network, X = drawn("tanh", n=6, d=12, k=30)
    found = gm.explain_jacobian(network, X)
    text = str(found)
    assert found.costliest is not None
    assert f"most is lost by: {found.costliest.name}" in text
    assert f"{found.steps[0].value:.4g}" in text
    assert "class b" in text
    axes = found.plot().axes[0]
    assert len(axes.patches) == 1 + len(found.steps)
    assert next(t.get_text() for t in axes.get_yticklabels()) == "measured"
    assert axes.patches[0].get_x() + axes.patches[0].get_width() == pytest.approx(found.sigma_min)
    values = [found.sigma_min, *(step.value for step in found.steps)]
    bars = axes.patches
    assert [bar.get_x() + bar.get_width() for bar in bars] == pytest.approx(values)
    assert {bar.get_x() for bar in bars} == {axes.get_xlim()[0]} == {min(values) / 3}
    assert axes.get_xlim()[1] == pytest.approx(4 * max(values))
    heights = [bar.get_y() + bar.get_height() / 2 for bar in bars]  # the measured one on top
    assert heights == pytest.approx(range(len(values) - 1, -1, -1))
    assert axes.get_yticks().tolist() == pytest.approx(heights)
    assert [t.get_text() for t in axes.texts] == [f"{value:.3g}" for value in values]
    assert [t.xy[1] for t in axes.texts] == pytest.approx(heights)
    tied = explain_jacobian(network, np.vstack([X, X[:1]]))
    nothing = tied.plot().axes[0]  # no positive value: an axis around 1
    assert nothing.get_xlim() == pytest.approx((1 / 3, 4.0))
    assert [bar.get_width() for bar in nothing.patches] == [0.0] * len(nothing.patches)
    assert tied.sigma_min == 0.0
    assert tied.costliest is None
    assert "full row rank" in str(tied)
    many = explain_jacobian(*drawn("softplus", n=30))
    assert "the chain ends at 0 with: whitened" in str(many)  # 30 rows in 25 dimensions
    narrow = explain_jacobian(*drawn("softplus", n=3, k=3))
    assert narrow.steps[-1] == ("whitened", "SJL-L7.7", 0.0, 0.0)


def test_wrong_inputs_are_refused():
    network, X = drawn("softplus")
    with pytest.raises(DataError, match="give n x 5 inputs"):
        explain_jacobian(network, X[:, :4])
    with pytest.raises(DataError, match="give n x 5 inputs"):
        explain_jacobian(network, X[0])
    with pytest.raises(DataError, match="not finite"):
        explain_jacobian(network, np.full((2, 5), np.nan))


def test_a_least_eigenvalue_counts_from_four_n_roundings_on():
    """Below 4 n eps times the largest eigenvalue it is rounding, and the value is 0."""
    n, eps = 6, np.finfo(float).eps
    for factor, seen in ((3.9, False), (4.1, True)):
        least_one = factor * n * eps * 8.0
        value = _root_of(np.diag([least_one, 1.0, 2.0, 3.0, 4.0, 8.0]))
        assert value == (pytest.approx(math.sqrt(least_one)) if seen else 0.0)


def test_the_largest_number_of_samples_is_taken_and_one_more_is_refused(monkeypatch):
    network, X = drawn("softplus")
    monkeypatch.setattr("globalmin.kernels.explain_jacobian.LARGEST", len(X))
    assert explain_jacobian(network, X).shape == (8, 5, 9)
    with pytest.raises(DataError, match="n from 1 to 8"):
        explain_jacobian(network, np.vstack([X, X[:1]]))
    with pytest.raises(DataError, match="n from 1 to 8"):
        explain_jacobian(network, X[:0])
