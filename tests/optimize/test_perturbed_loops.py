"""Perturbed gradient descent inside training loops of torch and optax: Algorithm 2 to the letter
with full gradients, the schedule with those of minibatches.
"""

import inspect
import itertools
import math

import numpy as np
import pytest

import globalmin as gm
from globalmin.errors import DataError
from globalmin.linalg.sampling import uniform_in_ball
from globalmin.optimize import perturbed

torch = pytest.importorskip("torch")
jax = pytest.importorskip("jax")
optax = pytest.importorskip("optax")


def slope(x):
    """Of the double well: saddle at 0, minima at +-1 on the first axis."""
    return np.concatenate([[x[0] ** 3 - x[0]], 2 * x[1:]])


def well(x):
    return x[0] ** 4 / 4 - x[0] ** 2 / 2 + (x[1:] ** 2).sum()


def algorithm_2(x, steps, *, eta, radius, threshold, wait, seed):
    """DU-A2 written out: every point, the perturbed ones among them, and the steps of the noise."""
    points, noises, noisy = [x], [], -wait - 1
    for t in range(steps):
        if np.linalg.norm(slope(x)) <= threshold and t - noisy > wait:
            rng = np.random.default_rng([seed, len(noises)])
            x, noisy = x + uniform_in_ball(x.size, radius, rng), t
            noises.append(t)
            points.append(x)
        x = x - eta * slope(x)
        points.append(x)
    return np.array(points), noises


NUMBERS = {"gradient_threshold": 0.3, "radius": 0.1, "wait": 3, "seed": 7}


def torch_points(x, calls, **options):
    """Points of the optimizer on one parameter split into two, the loss by autograd."""
    first, rest = (torch.tensor(part, requires_grad=True) for part in np.split(x, [1]))
    optimizer = gm.perturbed_torch([first, rest], **options)
    points = [x]
    for _ in range(calls):
        optimizer.zero_grad()
        well(torch.cat([first, rest])).backward()
        optimizer.step()
        points.append(torch.cat([first, rest]).detach().numpy())
    return np.array(points), optimizer


def test_the_torch_optimizer_is_algorithm_2_with_a_call_more_for_each_noise():
    """DU-A2: every point against a loop written out, 40 steps with four perturbations."""
    start = np.array([0.02, 0.01, -0.03])
    expected, noises = algorithm_2(start, 40, eta=0.05, radius=0.1, threshold=0.3, wait=3, seed=7)
    assert len(noises) >= 3
    points, optimizer = torch_points(start, len(expected) - 1, step_size=0.05, **NUMBERS)
    np.testing.assert_allclose(points, expected, rtol=1e-13, atol=1e-15)
    assert isinstance(optimizer, torch.optim.Optimizer)
    group = optimizer.param_groups[0]
    assert (group["perturbations"], group["steps"]) == (len(noises), 40)


def optax_points(x, calls, inner, jit=False, **options):
    """Points of the transform on a pytree, in double precision, and the numbers of noises."""
    optimizer = gm.perturbed_optax(inner, **options)
    with jax.enable_x64(True):
        params = {"a": jax.numpy.asarray(x[:1]), "b": jax.numpy.asarray(x[1:])}
        state = optimizer.init(params)

        def step(params, state):
            gradients = jax.grad(lambda p: well(jax.numpy.concatenate([p["a"], p["b"]])))(params)
            moves, state = optimizer.update(gradients, state, params)
            return optax.apply_updates(params, moves), state

        step = jax.jit(step) if jit else step
        points, counts = [x], [0]
        for _ in range(calls):
            params, state = step(params, state)
            points.append(np.concatenate([params["a"], params["b"]]))
            counts.append(int(state.perturbations))
    return np.array(points), np.array(counts)


@pytest.mark.parametrize("jit", [False, True])
def test_the_optax_transform_is_algorithm_2_with_a_call_more_for_each_noise(jit):
    """DU-A2: between the noises gradient steps, noise exactly where the algorithm has it."""
    points, counts = optax_points(np.array([0.02, 0.01]), 46, optax.sgd(0.05), jit, **NUMBERS)
    t, noisy = 0, -4
    for (x, y), (before, after) in zip(
        itertools.pairwise(points), itertools.pairwise(counts), strict=True
    ):
        if np.linalg.norm(slope(x)) <= 0.3 and t - noisy > 3:
            noisy = t
            assert after == before + 1
            assert 0 < np.linalg.norm(y - x) <= 0.1 * (1 + 1e-12)
        else:
            t += 1
            assert after == before
            np.testing.assert_allclose(y, x - 0.05 * slope(x), rtol=1e-12)
    assert counts[-1] >= 3


def test_the_noise_of_optax_is_uniform_on_the_ball():
    """DU-A2: (length/radius)^p is uniform on [0, 1], directions have mean zero: 400 draws in p = 5,
    five standard deviations.
    """
    optimizer = gm.perturbed_optax(optax.sgd(0.1), gradient_threshold=math.inf, radius=2.0, wait=0)
    zero = {"a": jax.numpy.zeros(2), "b": jax.numpy.zeros((1, 3))}
    state = optimizer.init(zero)

    def draw(count):
        moves, _ = optimizer.update(zero, state._replace(perturbations=count))
        return jax.numpy.concatenate([moves["a"], moves["b"][0]])

    draws = np.asarray(jax.vmap(draw)(jax.numpy.arange(400)), dtype=np.float64)
    lengths = np.linalg.norm(draws, axis=1)
    assert lengths.max() <= 2.0 * (1 + 1e-6)
    assert abs(((lengths / 2) ** 5).mean() - 0.5) < 5 * math.sqrt(1 / 12 / 400)
    directions = draws / lengths[:, None]
    assert (abs(directions.mean(axis=0)) < 5 * math.sqrt(1 / 5 / 400)).all()
    assert (abs((directions**2).mean(axis=0) - 0.2) < 5 * math.sqrt(2 / 175 / 400) * 2).all()


def test_the_noise_of_optax_is_uniform_on_an_interval_too():
    """p = 1, where length and direction must not come from the same number: 2,000 draws, the
    largest distance of the distribution functions at most 2.2/sqrt(2000) (missed once in 10,000).
    """
    optimizer = gm.perturbed_optax(optax.sgd(0.1), gradient_threshold=math.inf, radius=2.0, wait=0)
    zero = jax.numpy.zeros(1)
    state = optimizer.init(zero)

    def draw(count):
        return optimizer.update(zero, state._replace(perturbations=count))[0][0]

    draws = np.sort(np.asarray(jax.vmap(draw)(jax.numpy.arange(2000)), dtype=np.float64))
    gap = np.abs((draws + 2.0) / 4.0 - (np.arange(2000) + 0.5) / 2000).max()
    assert gap <= 2.2 / math.sqrt(2000)


def test_a_gradient_as_large_as_the_threshold_is_small():
    """DU-A2: noise where the norm is at most the threshold; |(3, 4)| = 5 in both."""
    options = {"gradient_threshold": 5.0, "radius": 1e-3, "wait": 3}
    gradient = np.array([3.0, 4.0])
    weights = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    weights.grad = torch.from_numpy(gradient)
    optimizer = gm.perturbed_torch([weights], 0.1, **options)
    optimizer.step()
    assert optimizer.param_groups[0]["perturbations"] == 1
    steps = gm.perturbed_optax(optax.sgd(0.1), **options)
    _, state = steps.update(jax.numpy.asarray(gradient), steps.init(jax.numpy.zeros(2)))
    assert int(state.perturbations) == 1


def test_both_leave_the_saddle_where_their_plain_forms_stay_for_ever():
    """DU-A2, DU-T7.1: from the saddle itself."""
    options = {"gradient_threshold": 1e-3, "radius": 1e-3, "wait": 1000}
    by_torch, _ = torch_points(np.zeros(3), 300, step_size=0.1, **options)
    by_optax, _ = optax_points(np.zeros(3), 300, optax.sgd(0.1), jit=True, **options)
    assert abs(abs(by_torch[-1, 0]) - 1) < 1e-6
    assert abs(abs(by_optax[-1, 0]) - 1) < 1e-6


def test_around_adam_the_noise_does_not_pass_through_adam():
    """DU-A2 around another optimizer: the first update is the noise, the state inside untouched."""
    optimizer = gm.perturbed_optax(optax.adam(0.1), gradient_threshold=1e-3, radius=1e-3)
    zero = jax.numpy.zeros(4)
    state = optimizer.init(zero)
    moves, after = optimizer.update(zero, state)
    assert 0 < float(jax.numpy.linalg.norm(moves)) <= 1e-3 * (1 + 1e-6)
    assert int(after.inner[0].count) == 0
    points, _ = optax_points(
        np.zeros(2),
        400,
        optax.adam(0.05),
        jit=True,
        gradient_threshold=1e-3,
        radius=1e-3,
        wait=1000,
    )
    assert abs(abs(points[-1, 0]) - 1) < 1e-3


def minibatches(optimizer, weights, calls, seed=0):
    """Minibatch gradients of the double well, with a noise along the second axis that is never
    small.
    """
    rng = np.random.default_rng(seed)
    for _ in range(calls):
        optimizer.zero_grad()
        (well(weights) + weights[1] * rng.choice([-1.0, 1.0])).backward()
        optimizer.step()


@pytest.mark.parametrize(
    ("options", "leaves"),
    [
        ({"gradient_threshold": 1e-2}, False),
        ({"gradient_threshold": math.inf}, True),
        ({"gradient_threshold": 0.4, "average": 0.9}, True),
    ],
)
def test_minibatches_hide_the_saddle_from_the_norm_but_not_from_a_schedule_or_an_average(
    options, leaves
):
    """DU-A2 with stochastic gradients: each has norm 1 at the saddle; the first axis, along which
    the saddle is left, has no noise of its own.
    """
    weights = torch.zeros(2, dtype=torch.float64, requires_grad=True)
    optimizer = gm.perturbed_torch([weights], 0.1, radius=1e-3, wait=200, **options)
    minibatches(optimizer, weights, 400)
    assert (abs(abs(float(weights[0].detach())) - 1) < 0.05) is leaves
    assert (optimizer.param_groups[0]["perturbations"] > 0) is leaves


def test_the_running_average_is_corrected_for_its_start():
    """The first norm compared is that of the first gradient, whatever the memory, in both loops."""
    for threshold, noise in ((0.99, False), (1.01, True)):
        options = {"gradient_threshold": threshold, "average": 0.9}
        weight = torch.ones(1, dtype=torch.float64, requires_grad=True)
        optimizer = gm.perturbed_torch([weight], 0.1, **options)
        weight.sum().backward()
        optimizer.step()
        assert bool(optimizer.param_groups[0]["perturbations"]) is noise
        transform = gm.perturbed_optax(optax.sgd(0.1), **options)
        one = jax.numpy.ones(1)
        state = transform.init(one)
        _, state = transform.update(one, state)
        assert bool(state.perturbations) is noise
        _, state = transform.update(-one, state)  # mean of 1 and -1 with weights 0.09 and 0.1
        assert float(state.mean[0] / state.weight) == pytest.approx(-0.01 / 0.19, rel=1e-5)


def test_noise_is_left_out_where_the_caller_sees_no_negative_curvature():
    """DU-A2: `noise_if` is asked where noise is due, and again wait + 1 steps later."""
    asked = []

    def curved():
        asked.append(0)
        return False

    options = {"gradient_threshold": math.inf, "wait": 2}
    points, optimizer = torch_points(
        np.array([0.5, 0.5]), 9, step_size=0.1, noise_if=curved, **options
    )
    assert len(asked) == 3
    assert optimizer.param_groups[0]["perturbations"] == 0
    np.testing.assert_allclose(points[1], points[0] - 0.1 * slope(points[0]))
    for wanted in (False, True):
        transform = gm.perturbed_optax(optax.sgd(0.1), noise_if=lambda p, w=wanted: w, **options)
        x = jax.numpy.ones(2)
        state = transform.init(x)
        for _ in range(3):
            _, state = transform.update(x, state, x)
        assert int(state.perturbations) == wanted
        assert int(state.last) == 0
    with pytest.raises(DataError, match="params"):
        transform.update(x, state)


def test_a_run_resumed_from_its_state_is_the_same_run():
    start, options = np.array([0.02, 0.01, -0.03]), {"step_size": 0.05, **NUMBERS, "average": 0.5}
    whole, _ = torch_points(start, 40, **options)
    half, optimizer = torch_points(start, 20, **options)
    first, rest = (torch.tensor(part, requires_grad=True) for part in np.split(half[-1], [1]))
    resumed = gm.perturbed_torch([first, rest], **options)
    resumed.load_state_dict(optimizer.state_dict())
    for _ in range(20):
        resumed.zero_grad()
        well(torch.cat([first, rest])).backward()
        resumed.step()
    np.testing.assert_array_equal(torch.cat([first, rest]).detach().numpy(), whole[-1])


def test_schedulers_groups_and_closures_work_as_with_every_torch_optimizer():
    a, b = (torch.ones(1, requires_grad=True) for _ in range(2))
    frozen = torch.ones(1)
    groups = [{"params": [a]}, {"params": [b, frozen], "lr": 0.5}]
    optimizer = gm.perturbed_torch(groups, 0.1, gradient_threshold=0.0)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.5)

    def closure():
        optimizer.zero_grad()
        loss = (a + b).sum()
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == 2.0
    scheduler.step()
    optimizer.step(closure)
    assert (a.item(), b.item(), frozen.item()) == pytest.approx((0.85, 0.25, 1.0))


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"gradient_threshold": -1.0}, "gradient_threshold"),
        ({"gradient_threshold": math.nan}, "gradient_threshold"),
        ({"radius": 0.0}, "radius"),
        ({"wait": -1}, "wait"),
        ({"wait": 1.5}, "wait"),
        ({"average": 1.0}, "average"),
        ({"seed": -1}, "seed"),
    ],
)
def test_wrong_numbers_are_named(options, name):
    options = {"gradient_threshold": 1.0} | options
    with pytest.raises(DataError, match=name):
        gm.perturbed_torch([torch.ones(1)], 0.1, **options)
    with pytest.raises(DataError, match=name):
        gm.perturbed_optax(optax.sgd(0.1), **options)


def test_a_wrong_step_is_named():
    with pytest.raises(DataError, match="step_size"):
        gm.perturbed_torch([torch.ones(1)], 0.0, gradient_threshold=1.0)


def test_the_three_forms_of_the_algorithm_have_the_same_defaults():
    """Noise of radius 1e-3 at least 100 steps apart, of this gradient alone, from seed 0."""
    wanted = {"radius": 1e-3, "wait": 100, "average": 0.0, "seed": 0}
    for form in (gm.perturbed_torch, gm.perturbed_optax):
        asked = inspect.signature(form).parameters
        assert {name: asked[name].default for name in wanted} == wanted
    group = gm.perturbed_torch([torch.ones(1)], 0.1, gradient_threshold=1.0).param_groups[0]
    assert {name: group[name] for name in wanted} == wanted
    start = gm.perturbed_optax(optax.sgd(0.1), gradient_threshold=1.0).init(np.zeros(1))
    assert int(start.last) == -wanted["wait"] - 1
    assert inspect.signature(gm.perturbed_gradient_descent).parameters["seed"].default == 0
    assert (wanted["radius"], wanted["wait"]) == (perturbed.RADIUS, perturbed.WAIT)
