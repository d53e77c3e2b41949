"""Both layers near a planted teacher: SJL-T2.5's orders, OS-C5 at a start, the computed basin, and
SJL-PL's trap.
"""

import math

import numpy as np
import pytest

from globalmin.data import Dataset
from globalmin.errors import DataError, HypothesisError
from globalmin.kernels.rates import polyak_path_limit
from globalmin.recovery import planted as lp
from globalmin.shallow.methods.gradient_descent import gradient_descent
from globalmin.shallow.network import ShallowNetwork, jacobian_gram, loss, outputs, residual


def planted(n=6, d=4, k=12, name="softplus", seed=0):
    rng = np.random.default_rng(seed)
    teacher = ShallowNetwork(rng.standard_normal((k, d)), rng.choice([-1.0, 1.0], k), name)
    X = rng.standard_normal((n, d))
    return teacher, X, outputs(teacher, X)


def moved(teacher, distance, seed):
    rng = np.random.default_rng([seed, 3])
    dW, dv = rng.standard_normal(teacher.W.shape), rng.standard_normal(teacher.v.shape)
    factor = distance / math.hypot(np.linalg.norm(dW), np.linalg.norm(dv))
    return teacher.with_weights(teacher.W + factor * dW, teacher.v + factor * dv)


def dense_jacobian(network, X):
    Z = X @ network.W.T
    slopes = network.activation.derivative(Z) * network.v
    return np.hstack(
        [network.activation(Z), (slopes[:, :, None] * X[:, None, :]).reshape(len(X), -1)]
    )


def test_orders_of_the_theorem():
    """SJL-T2.5: radius, head radius, step, exponent; for an odd activation sigma_min counts as 1
    (SJL-A2.3).
    """
    teacher = planted(n=20, d=4, k=9)[0]
    high, low = np.linalg.svd(teacher.W, compute_uv=False)[[0, -1]]
    found = lp.planted_scales(teacher, 20)
    assert not found.odd_class
    assert found.radius == pytest.approx(low**3 / high * 4**2.5 / (20**1.5 * 9))
    assert found.head_radius == pytest.approx(found.radius / 3)
    assert found.step == pytest.approx(1 / (9 * (high**2 + 1)))
    assert found.exponent == pytest.approx(low**2 * 16 / 20)
    for name in ("tanh", "sigmoid", "erf"):
        odd = lp.planted_scales(ShallowNetwork(teacher.W, teacher.v, name), 20)
        assert odd.odd_class
        assert odd.exponent == pytest.approx(16 / 20)
    with pytest.raises(HypothesisError, match="k >= d"):
        lp.planted_scales(ShallowNetwork(np.ones((2, 3)), np.ones(2), "tanh"), 5)


@pytest.mark.parametrize("name", ["softplus", "tanh"])
def test_descent_near_the_teacher_is_at_least_as_fast_as_certified(name):
    """OS-C5, SJL-T2.5: a start near the teacher passes, and the run decays at the certified rate or
    faster, path below S.
    """
    teacher, X, y = planted(name=name)
    start = moved(teacher, 1e-3, 1)
    found = lp.joint_descent(start, X, y)
    assert found is not None
    assert found.rho >= found.quantities.S
    network, bound, path = start, np.linalg.norm(residual(start, X, y)), 0.0
    for _ in range(300):
        r = residual(network, X, y)
        step = found.quantities.eta * (dense_jacobian(network, X).T @ r)
        k = len(network.v)
        network = network.with_weights(
            network.W - step[k:].reshape(network.W.shape), network.v - step[:k]
        )
        bound, path = bound * found.quantities.rate, path + np.linalg.norm(step)
        assert np.linalg.norm(residual(network, X, y)) <= bound * (1 + 1e-9) + 1e-14
    assert path <= found.quantities.S


def test_far_from_any_fit_nothing_is_claimed():
    """OS-C5 is silent where 2 Lip ||r|| >= a^2, and where the Jacobian has no full row rank."""
    teacher, X, y = planted()
    assert lp.joint_descent(moved(teacher, 5.0, 0), X, y) is None
    assert lp.joint_descent(teacher, np.vstack([X, X[:1]]), np.append(y, y[0] + 1.0)) is None
    assert lp.planted_basin(teacher, np.vstack([X, X[:1]])) is None


@pytest.mark.parametrize("name", ["softplus", "tanh"])
def test_every_start_in_the_basin_converges_as_promised(name):
    """SJL-T2.5 without unknown constants: 12 starts on the sphere of the basin; step, rate and
    reach hold for all of them.
    """
    teacher, X, y = planted(name=name)
    basin = lp.planted_basin(teacher, X)
    assert basin is not None
    assert basin.radius + basin.path <= basin.reach * (1 + 1e-9)
    J = dense_jacobian(teacher, X)
    singular = np.linalg.svd(J, compute_uv=False)
    assert (basin.point.a, basin.point.b) == pytest.approx((singular[-1], singular[0]), rel=1e-6)
    for seed in range(12):
        start = moved(teacher, basin.radius, seed)
        single = lp.joint_descent(start, X, y, eta=basin.step)
        assert (
            single is not None
        )  # the basin's promise is implied by OS-C5 at the start itself, with room
        assert single.quantities.rate <= basin.rate
        assert basin.path >= single.quantities.S
        run = gradient_descent(
            start,
            Dataset(X, y, bias=False, scaling="none"),
            trained="vW",
            step_size=basin.step,
            max_iter=200,
        )
        losses = np.asarray(run.losses)
        assert np.all(
            losses <= losses[0] * basin.rate ** (2 * np.arange(len(losses))) * (1 + 1e-9) + 1e-28
        )


def test_the_jacobian_moves_no_more_than_the_basin_assumes():
    """OS-C5's Lip on random pairs of the reach: by dense Jacobians, and never by a factor of 40 too
    large.
    """
    teacher, X, _ = planted()
    basin = lp.planted_basin(teacher, X)
    worst = 0.0
    for seed in range(40):
        one, two = (moved(teacher, basin.reach, s) for s in (seed, seed + 100))
        gap = math.hypot(np.linalg.norm(one.W - two.W), np.linalg.norm(one.v - two.v))
        worst = max(worst, np.linalg.norm(dense_jacobian(one, X) - dense_jacobian(two, X), 2) / gap)
    assert worst <= basin.Lip <= 40 * worst


def test_share_trades_radius_for_rate():
    teacher, X, _ = planted()
    small, large = (lp.planted_basin(teacher, X, share=s) for s in (0.2, 0.8))
    assert small.radius < large.radius
    assert small.rate < large.rate
    with pytest.raises(DataError, match="share"):
        lp.planted_basin(teacher, X, share=1.0)


def test_a_loss_below_the_trap_keeps_the_path_inside():
    """SJL-PL: the path bound at the trapped loss is the radius itself; and the inputs are
    measurable at a teacher.
    """
    teacher, X, y = planted()
    eigenvalues = np.linalg.eigvalsh(jacobian_gram(teacher, X, trained="vW"))
    m_L, m_U = 2 * eigenvalues[0], 2 * eigenvalues[-1]
    trap = lp.trapped_loss(m_L, m_U, 0.3)
    assert polyak_path_limit(m_L, m_U, trap) == pytest.approx(0.3)
    assert loss(moved(teacher, 1e-6, 0), X, y) < trap
    with pytest.raises(DataError, match="m_L"):
        lp.trapped_loss(2.0, 1.0, 0.1)
