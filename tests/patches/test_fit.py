"""Patch networks on data: derivatives, any scale, several filters, flips, honest endings."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.datasets import load_digits

from globalmin.errors import DataError
from globalmin.optimize.run import Status
from globalmin.patches import creases
from globalmin.patches.cells import Scaled, cell_path, gradient_path
from globalmin.patches.creases import (
    Held,
    crease_path,
    ending,
    least_curvature,
    most_wanting,
)
from globalmin.patches.fit import Draws, train_patches
from globalmin.patches.layout import patch_layout
from globalmin.patches.network import (
    PatchNetwork,
    patch_gradient,
    patch_jacobian,
    patch_outputs,
    patch_slope,
)

SIGNAL = patch_layout((36,), 9, 9)


def drawn(seed, layout=SIGNAL, m=1, k_head=None):
    rng = np.random.default_rng(seed)
    head = rng.standard_normal((m, layout.n_patches)) if k_head is None else k_head
    return PatchNetwork(rng.standard_normal((m, layout.entries)), head, layout)


def gaussian(n=600, seed=100):
    return np.random.default_rng(seed).standard_normal((n, 36))


def test_output_is_the_double_sum_and_derivatives_are_those_of_automatic_differentiation():
    """DU-M5, DU-M6: the definition by loops; the Jacobian, J^T r and J d by JAX."""
    rng = np.random.default_rng(0)
    Z, W, A = (rng.standard_normal(shape) for shape in ((7, 4, 3), (2, 3), (2, 4)))
    loop = [
        sum(A[j, i] * max(float(W[j] @ z[i]), 0.0) for j in range(2) for i in range(4)) for z in Z
    ]
    np.testing.assert_allclose(patch_outputs(Z, W, A), loop, rtol=1e-12)
    H, miss = Z @ W.T, rng.standard_normal(7)
    direction = rng.standard_normal(W.shape), rng.standard_normal(A.shape)
    with jax.enable_x64(True):

        def outputs(W, A):
            return jnp.einsum("nkm,mk->n", jnp.maximum(jnp.asarray(Z) @ W.T, 0.0), A)

        by_W, by_A = jax.jacobian(outputs, argnums=(0, 1))(jnp.asarray(W), jnp.asarray(A))
    J = np.concatenate([np.reshape(by_W, (7, -1)), np.reshape(by_A, (7, -1))], axis=1)
    np.testing.assert_allclose(patch_jacobian(Z, H, A, trains_head=True), J, atol=1e-14)
    np.testing.assert_allclose(patch_jacobian(Z, H, A, trains_head=False), J[:, :6], atol=1e-14)
    found = np.concatenate([part.ravel() for part in patch_gradient(Z, H, A, miss)])
    np.testing.assert_allclose(found, J.T @ miss, atol=1e-13)
    flat = np.concatenate([part.ravel() for part in direction])
    np.testing.assert_allclose(patch_slope(Z, H, A, direction), J @ flat, atol=1e-13)


def test_at_kinks_the_three_forms_of_the_jacobian_have_slope_zero():
    """sigma'(0) = 0: patches that a filter annihilates move nothing, as if they were not there."""
    rng = np.random.default_rng(3)
    Z, A, miss = (rng.standard_normal(shape) for shape in ((6, 4, 3), (2, 4), 6))
    Z[:, 1, 2] = Z[:, 1, 0] = 0.0
    W = np.array([[1.0, 0.0, 2.0], [0.5, -1.0, 1.0]])
    H, direction = Z @ W.T, (rng.standard_normal((2, 3)), rng.standard_normal((2, 4)))
    assert (H[:, 1, 0] == 0.0).all()
    gone = Z.copy()
    gone[:, 1] *= (H[:, 1, 1] > 0.0)[:, None]  # what the second filter does not see is not there
    only = A * np.array([[1.0, 0.0, 1.0, 1.0], [1.0] * 4])  # nor what the first annihilates
    J = patch_jacobian(Z, H, A, trains_head=True)
    np.testing.assert_allclose(J[:, :3], patch_jacobian(gone, H, only, trains_head=False)[:, :3])
    found = np.concatenate([part.ravel() for part in patch_gradient(Z, H, A, miss)])
    np.testing.assert_allclose(found, J.T @ miss, atol=1e-13)
    flat = np.concatenate([part.ravel() for part in direction])
    np.testing.assert_allclose(patch_slope(Z, H, A, direction), J @ flat, atol=1e-13)


def test_curvature_at_the_end_is_the_least_eigenvalue_of_the_hessian():
    """The Hessian in filters and output weights together, by differences of the gradient."""
    rng = np.random.default_rng(1)
    Z, W, A, y = (rng.standard_normal(shape) for shape in ((9, 4, 3), (2, 3), (2, 4), 9))
    problem = Scaled(Z, y, trains_head=True)
    point = problem.at((W, A))
    J = patch_jacobian(Z, point.H, A, trains_head=True)

    def gradient(flat):
        near = problem.at((flat[:6].reshape(2, 3), flat[6:].reshape(2, 4)))
        parts = patch_gradient(Z, near.H, near.weights[1], near.miss)
        return np.concatenate([part.ravel() for part in parts]) / 9

    flat = np.concatenate([W.ravel(), A.ravel()])
    step = 1e-6 * np.eye(14)
    hessian = np.stack([(gradient(flat + e) - gradient(flat - e)) / 2e-6 for e in step])
    values = np.linalg.eigvalsh(0.5 * (hessian + hessian.T))
    expected = values[0] / values[-1]
    assert expected < -0.01
    assert least_curvature(problem, point, J, np.zeros((0, 14))) == pytest.approx(
        expected, rel=1e-6
    )


@pytest.mark.parametrize("head", ["average", "trained"])
@pytest.mark.parametrize("bias", [False, True])
def test_patches_scaled_by_a_hundredth_to_a_hundred_give_the_same_relative_loss(head, bias):
    """Noisy labels, so that the relative loss is not rounding; within 1 % (it is 1e-6), and
    labels times 1000 as well.
    """
    X = gaussian(150)
    layout = patch_layout((36,), 9, 9, bias=bias)
    k_head = np.full((1, 4), 0.25) if head == "average" else None
    y = drawn(3, layout, k_head=k_head).predict(X)
    y = y + 0.3 * y.std() * np.random.default_rng(4).standard_normal(len(y))
    losses = {}
    for scale in (1e-2, 1.0, 5.0, 100.0):
        run = train_patches(scale * X, y, layout, head=head, restarts=0)
        assert run.status is not Status.DIVERGED
        assert np.all(np.diff(run.losses) <= 0.0)  # no step raises the loss
        losses[scale] = run.relative_loss
    assert 0.001 < losses[1.0] < 0.5
    for scale, loss in losses.items():
        assert loss == pytest.approx(losses[1.0], rel=1e-6), scale
    taller = train_patches(X, 1000.0 * y, layout, head=head, restarts=0)
    assert taller.relative_loss == pytest.approx(losses[1.0], rel=1e-6)
    assert taller.loss == pytest.approx(0.5 * np.mean((1000 * y) ** 2) * losses[1.0], rel=1e-6)


@pytest.mark.parametrize("scale", [0.01, 1.0, 5.0, 100.0])
def test_a_teacher_is_found_at_every_scale(scale):
    """DU-M5, DU-T5.4: the filter and the output weights, from a random draw and its flips."""
    X = gaussian()
    truth = drawn(5)
    run = train_patches(scale * X, truth.predict(X), SIGNAL, head="trained", seed=1)
    assert run.status is Status.CONVERGED
    unit = truth.filters[0] / np.linalg.norm(truth.filters[0])
    np.testing.assert_allclose(run.network.filters[0], unit, atol=1e-8)
    size = np.linalg.norm(truth.filters[0]) / scale
    np.testing.assert_allclose(run.network.head, size * truth.head, atol=1e-7 * size)


@pytest.mark.parametrize(("head", "m"), [("average", 3), ("trained", 3), ("signed", 2)])
def test_several_filters_are_fitted_to_zero_loss(head, m):
    X = gaussian(500)
    signs = (-1.0) ** np.arange(m) if head == "signed" else np.ones(m)
    k_head = None if head == "trained" else np.repeat(signs[:, None] / 4, 4, axis=1)
    truth = drawn(6, m=m, k_head=k_head)
    run = train_patches(X, truth.predict(X), SIGNAL, head=head, filters=m, restarts=4, seed=2)
    assert run.status is Status.CONVERGED, run.message
    Y = gaussian(50, 101)
    np.testing.assert_allclose(run.network.predict(Y), truth.predict(Y), atol=1e-6)
    if head == "average":
        assert (run.network.head == 0.25).all()


def test_images_with_overlap_padding_and_channels_are_fitted():
    """8 x 8 digits and their edges as two channels, a 3 x 3 filter at every pixel."""
    images = load_digits().images[:150] / 16.0
    X = np.stack([images, np.abs(np.gradient(images, axis=2))], axis=3)
    layout = patch_layout((8, 8, 2), 3, 2, padding="same", bias=True)
    truth = drawn(7, layout)
    run = train_patches(X, truth.predict(X), layout, head="trained", seed=3, restarts=0)
    assert run.relative_loss < 1e-2  # measured: local minima of 2e-4 and less
    miss = run.network.predict(X) - truth.predict(X)
    assert run.loss == pytest.approx(0.5 * np.mean(miss**2), rel=1e-6)
    assert run.network.pictures.shape == (1, 3, 3, 2)


def test_flips_are_needed_and_used():
    """DU-T5.4: without restarts and flips some starts of a teacher with sum a* = 0 end in the trap;
    with them every seed arrives.
    """
    X = gaussian(800, 8)
    truth = PatchNetwork(np.eye(9)[:1], np.array([[1.0, -1.0, 1.0, -1.0]]), SIGNAL)
    y = truth.predict(X)
    first, all_flips = [], []
    for seed in range(8):
        whole = train_patches(X, y, SIGNAL, head="trained", seed=seed, restarts=0)
        all_flips.append(whole.status is Status.CONVERGED)
        first.append(whole.starts == 1)
    assert all(all_flips)
    assert not all(first)


def test_the_trap_is_a_stationary_point_and_is_not_called_converged():
    """DU-L5.1: a start beside the opposite filter stays there; the status says local minimum or
    stalled, never converged.
    """
    X = gaussian(2000, 9)
    truth = PatchNetwork(np.eye(9)[:1], np.array([[1.0, -0.5, 0.2, -0.6]]), SIGNAL)
    start = PatchNetwork(-truth.filters, -truth.head, SIGNAL)
    run = train_patches(X, truth.predict(X), SIGNAL, head="trained", start=start)
    assert run.status in (Status.SECOND_ORDER, Status.STALLED, Status.MAX_ITER)
    assert run.relative_loss > 0.1
    assert run.network.filters[0] @ truth.filters[0] < 0.0


@pytest.mark.parametrize("seed", range(12, 18))
def test_noise_ends_at_a_local_minimum_that_brute_force_cannot_improve(seed):
    """A second_order ending with fixed output weights, mostly on kinks: 1,200 random moves of
    several sizes find no lower loss.
    """
    X, rng = gaussian(200, 10), np.random.default_rng(11)
    truth = drawn(seed, k_head=np.full((1, 4), 0.25))
    y = truth.predict(X) + 0.3 * rng.standard_normal(200)
    run = train_patches(X, y, SIGNAL, seed=4, restarts=0)
    assert run.status is Status.SECOND_ORDER, run.message
    assert "local minimum" in run.message
    Z, W = SIGNAL.patches(X), run.network.filters
    for size in (1e-1, 1e-2, 1e-4, 1e-6):
        for _ in range(300):
            near = W + size * np.linalg.norm(W) * rng.standard_normal(W.shape)
            loss = np.mean((patch_outputs(Z, near, run.network.head) - y) ** 2) / 2
            assert loss >= run.loss * (1 - 1e-13)  # rounding of 200 squares


def test_two_kinks_by_hand_are_left_to_the_right_sides():
    """One entry, patches 1 and -1, output weights 1 and 1: f(w) = |w|. Labels 2 from w = 0 held at
    both kinks: descent must leave to an active side; label -1: w = 0 is the minimum.
    """
    Z, A = np.array([[[1.0], [-1.0]]]), np.ones((1, 2))
    up = Scaled(Z, np.array([2.0]), trains_head=False)
    start = up.at((np.array([[1e-12]]), A))
    ends = list(crease_path(up, start))
    assert ends[-1].point.loss < 1e-20
    down = Scaled(Z, np.array([-1.0]), trains_head=False)
    path = crease_path(down, down.at((np.array([[0.7]]), A)))
    seen = []
    while True:
        try:
            seen.append(next(path).point)
        except StopIteration as over:
            ended = over.value
            break
    assert seen[-1].weights[0][0, 0] == pytest.approx(0.0, abs=1e-12)
    assert ended.status is Status.SECOND_ORDER
    assert "1 kinks" in ended.note or "2 kinks" in ended.note


def test_the_line_search_stops_where_a_patch_changes_sides():
    """One entry, samples with the patches 1 and -1 and labels -2 and -1, from w = 1 by -3: both
    change sides at w = 0, a third of the way, where the loss is least and no halving comes.
    """
    problem = Scaled(np.array([[[1.0]], [[-1.0]]]), np.array([-2.0, -1.0]), trains_head=False)
    start = problem.at((np.ones((1, 1)), np.ones((1, 1))))
    best, kink = creases._line_search(problem, start, np.array([-3.0]), Held())
    assert best is not None
    assert best.weights[0][0, 0] == pytest.approx(0.0, abs=1e-15)
    assert kink in ((0, 0, 0), (1, 0, 0))


def test_a_held_step_goes_to_its_kinks_and_is_pushed_by_them_only():
    """C step = -height, and J^T (J step + miss) + C^T forces = 0: the forces are multipliers."""
    rng = np.random.default_rng(6)
    Z, W, A, y = (rng.standard_normal(shape) for shape in ((9, 4, 3), (1, 3), (1, 4), 9))
    point = Scaled(Z, y, trains_head=False).at((W, A))
    J = patch_jacobian(Z, point.H, A, trains_head=False)
    C, height = Z[:2, 0], np.array([0.3, -0.2])
    step, forces = creases._held_step(J, point, C, height)
    np.testing.assert_allclose(C @ step, -height, rtol=1e-9)
    np.testing.assert_allclose(J.T @ (J @ step + point.miss) + C.T @ forces, 0.0, atol=1e-9)


def test_no_direction_along_the_kinks_has_no_curvature():
    rng = np.random.default_rng(1)
    Z, W, A, y = (rng.standard_normal(shape) for shape in ((9, 4, 3), (1, 3), (1, 4), 9))
    problem = Scaled(Z, y, trains_head=True)
    point = problem.at((W, A))
    J = patch_jacobian(Z, point.H, A, trains_head=True)
    assert least_curvature(problem, point, J, np.eye(7)) == 0.0


def test_a_point_that_is_no_minimum_is_never_called_one():
    """The ending at random weights, where the slope is not zero, and at a kink that wants to be
    left.
    """
    Z = SIGNAL.patches(gaussian(50, 18))
    problem = Scaled(Z, np.random.default_rng(19).standard_normal(50), trains_head=False)
    point = problem.at((drawn(20).filters, np.full((1, 4), 0.25)))
    assert ending(problem, point, Held()).status is Status.STALLED
    one = Scaled(np.array([[[1.0]]]), np.array([2.0]), trains_head=False)
    origin = one.at((np.zeros((1, 1)), np.ones((1, 1))))
    assert ending(one, origin, Held([(0, 0, 0)])).status is Status.STALLED


def test_a_held_kink_is_let_go_to_the_side_that_its_force_wants():
    """One patch z = 1 at w = 0 with output weight 1: c = r. A force in [0, c] stays, below 0 goes
    to the inactive side, above c to the active one.
    """
    place = (0, 0, 0)
    for label, force, freed, active in (
        (-2.0, 1.0, None, set()),  # c = 2: between
        (-2.0, -0.5, place, set()),
        (-2.0, 2.5, place, {place}),
        (2.0, 0.0, place, {place}),  # c = -2: a concave kink is never a minimum
    ):
        problem = Scaled(np.ones((1, 1, 1)), np.array([label]), trains_head=False)
        point, held = problem.at((np.zeros((1, 1)), np.ones((1, 1)))), Held([place])
        assert most_wanting(point, np.array([force]), held) == freed
        assert held.active == active
        assert held.kinks == ([place] if freed is None else [])


def test_every_draw_comes_with_its_sign_flips():
    """DU-T5.4: (v, a), (-v, a), (v, -a), (-v, -a); the filters alone for the average head."""
    problem = Scaled(SIGNAL.patches(gaussian(30, 21)), np.ones(30), trains_head=True)
    for head, expected in (("trained", 4), ("signed", 4), ("average", 2)):
        flips = list(Draws(problem, 2, head, np.random.default_rng(0)).flips(0))
        assert len(flips) == expected
        W, A = flips[0]
        signs = {(np.sign(w[0, 0] / W[0, 0]), np.sign(a[0, 0] / A[0, 0])) for w, a in flips}
        assert len(signs) == expected


def test_a_cell_step_is_the_least_squares_solution_of_its_cell():
    """Fixed output weights: from inside the teacher's cell one undamped step is the teacher."""
    Z = patch_layout((36,), 9, 9).patches(gaussian(60, 13))
    W, A = np.random.default_rng(14).standard_normal((2, 9)), np.array([[0.25] * 4, [-0.25] * 4])
    problem = Scaled(Z, patch_outputs(Z, W, A), trains_head=False)
    margin = np.abs(Z @ W.T).min() / np.linalg.norm(Z, axis=2).max()
    near = W + 0.4 * margin * np.array([[1.0] + [0.0] * 8, [0.0, 1.0] + [0.0] * 7])
    steps = [iterate.point for iterate in cell_path(problem, problem.at((near, A)))]
    assert steps[-1].loss < 1e-28
    assert len(steps) <= 8


def test_gradient_steps_fall_by_their_promise():
    """Every step lowers the loss by at least a quarter of the linear prediction."""
    Z = SIGNAL.patches(gaussian(100, 15))
    problem = Scaled(Z, drawn(16).predict(gaussian(100, 15)), trains_head=True)
    start = problem.at((drawn(17).filters.copy(), drawn(17).head.copy()))
    losses = [start.loss]
    for iterate, _ in zip(gradient_path(problem, start), range(40), strict=False):
        losses.append(iterate.point.loss)
    assert len(losses) == 41
    assert np.all(np.diff(losses) < 0.0)


@pytest.mark.parametrize("trains_head", [False, True])
def test_a_gradient_step_ends_where_the_linearized_loss_is_least(trains_head):
    """t = |g|^2/|J g|^2 with g = J^T miss, filters and output weights together."""
    rng = np.random.default_rng(7)
    Z, W, A = (rng.standard_normal(shape) for shape in ((30, 4, 3), (2, 3), (2, 4)))
    problem = Scaled(Z, patch_outputs(Z, W, A), trains_head=trains_head)
    near = (W + 1e-3 * rng.standard_normal(W.shape), A + 1e-3 * rng.standard_normal(A.shape))
    point = problem.at(near)
    J = patch_jacobian(Z, point.H, near[1], trains_head=trains_head)
    g = J.T @ point.miss
    moved = np.concatenate([part.ravel() for part in near])[: len(g)] - g * (g @ g) / np.sum(
        (J @ g) ** 2
    )
    head = moved[6:].reshape(2, 4) if trains_head else near[1]
    wanted = problem.at((moved[:6].reshape(2, 3), head)).loss
    assert next(gradient_path(problem, point)).point.loss == pytest.approx(wanted, rel=1e-9)
    assert wanted < point.loss


def test_degenerate_data_end_honestly():
    zero = train_patches(gaussian(20), np.zeros(20), SIGNAL)
    assert zero.status is Status.CONVERGED
    assert not zero.network.predict(gaussian(20)).any()
    blank = train_patches(np.zeros((5, 36)), np.ones(5), SIGNAL, restarts=0)
    assert blank.status is Status.DEAD
    assert blank.dead_starts > 0
    negative = train_patches(gaussian(50), -np.ones(50), SIGNAL, restarts=0)
    assert negative.relative_loss >= 0.99
    assert negative.status is not Status.CONVERGED


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"filters": 0}, "filters=0"),
        ({"head": "free"}, "head='free'"),
        ({"method": "sgd"}, "method='sgd'"),
        ({"restarts": -1}, "restarts=-1"),
        ({"start": drawn(1, patch_layout((36,), 6, 6))}, "give a network of the same"),
    ],
)
def test_wrong_options_are_refused(change, match):
    with pytest.raises(DataError, match=match):
        train_patches(gaussian(10), np.ones(10), SIGNAL, **change)


def test_wrong_labels_and_weights_are_refused():
    with pytest.raises(DataError, match="one finite label"):
        train_patches(gaussian(10), np.ones(9), SIGNAL)
    with pytest.raises(DataError, match="do not fit patches"):
        PatchNetwork(np.ones((1, 8)), np.ones((1, 4)), SIGNAL)
    assert drawn(1) == drawn(1)
    assert hash(drawn(1)) == hash(drawn(1))
    assert drawn(1) != drawn(2)
