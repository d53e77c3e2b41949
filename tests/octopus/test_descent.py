"""Escape times: logarithms against direct simulation and exact arithmetic, the law, its lower
bounds, and noise.
"""

import math
from decimal import Decimal, localcontext
from itertools import pairwise

import numpy as np
import pytest

from globalmin.errors import DataError
from globalmin.octopus.descent import descent_escape_times, descent_values, perturbed_descent
from globalmin.octopus.escape import (
    buffer_steps_upper,
    escape_ratio,
    escape_ratio_lower,
    escape_step_lower,
    escape_times_lower,
    estimate_escape_times,
    octopus_escape_times,
)
from globalmin.octopus.function import Octopus
from globalmin.optimize.run import Status

E = math.e
GOLDEN = {
    1.0: [6, 21, 62, 173, 472],
    1.5: [8, 34, 123, 424, 1452],
    2.0: [11, 50, 211, 875, 3598],
    E: [13, 77, 399, 2047, 10460],
    3.0: [14, 89, 495, 2732, 15023],
}


def simulate(octopus, x, step_size, n_steps):
    """Plain gradient descent in float64: values by step, and the first steps past each saddle."""
    values, times = [], []
    for t in range(n_steps + 1):
        values.append(float(octopus.value(x)))
        times += [t] * (int(octopus.stage(x)) - len(times))
        x = x - step_size * octopus.gradient(x)
    return np.array(values), times


@pytest.mark.parametrize("L", GOLDEN)
def test_golden_escape_times(L):
    """DU-X7.a: x0 = 1/2, d = 5, step 1/(4L)."""
    times = octopus_escape_times(5, L, step_size=1 / (4 * L), start=[0.5] * 5)
    assert times.tolist() == GOLDEN[L]
    assert times.dtype == np.int64


def test_golden_escape_times_where_float64_freezes():
    """DU-X7.a: d = 10, L = 1: plain float64 stays at the seventh saddle for ever, the logarithms go
    on.
    """
    times = octopus_escape_times(10, 1.0, step_size=1 / 4, start=[0.5] * 10)
    assert times.tolist() == [6, 21, 62, 173, 472, 1284, 3483, 9443, 25589, 69339]
    x = np.full(10, 0.5)
    for _ in range(6000):
        x = x - 0.25 * Octopus(10, 1.0).gradient(x)
    assert int(Octopus(10, 1.0).stage(x)) == 6
    assert x[6] == 5e-324


@pytest.mark.parametrize(
    ("L", "gamma", "eta", "seed"), [(1.0, 1.0, 0.25, 0), (1.5, 0.5, 0.1, 1), (2.0, 2.0, 0.24, 2)]
)
def test_logarithms_equal_direct_simulation(L, gamma, eta, seed):
    """DU-X7.a: times and values along the run, d = 4, random starts."""
    octopus, x = Octopus(4, L, gamma), np.random.default_rng(seed).uniform(-1, 1, 4)
    values, times = simulate(octopus, x, eta, 3000)
    exact = descent_escape_times(octopus, x, eta)
    assert exact[: len(times)] == times
    assert len(times) >= 3
    steps = np.arange(0, 3001, 7)
    # afterwards the direct run may be a step or two off: rounding of what waits
    safe = steps < times[2]
    np.testing.assert_allclose(
        descent_values(octopus, x, eta, steps)[safe], values[steps][safe], rtol=1e-8, atol=1e-8
    )


def test_logarithms_equal_a_run_in_sixty_digits():
    """DU-X7.a: d = 3, every step in decimal arithmetic with the formulas of the specification."""
    d, L, gamma, tau, eta = 3, Decimal(2), Decimal(1), Decimal(E), Decimal("0.125")
    x = [Decimal(float(v)) for v in (0.013, 0.7, 0.002)]
    times, t = [], 0
    with localcontext() as context:
        context.prec = 60
        while len(times) < d:
            i = len(times)
            slope = [2 * L * (x[j] - 4 * tau) if j < i else 2 * L * x[j] for j in range(d)]
            if x[i] <= tau:
                slope[i] = -2 * gamma * x[i]
            else:
                u = x[i] / tau - 1
                slope[i] = (
                    2 * tau * (-gamma * (1 + u - 5 * u**2 + 3 * u**3) + L * (5 * u**3 - 7 * u**2))
                )
                if i + 1 < d:
                    slope[i] -= 30 * (L + gamma) * (u * (1 - u)) ** 2 / tau * x[i + 1] ** 2
                    slope[i + 1] = (
                        2 * (L - (L + gamma) * (10 * u**3 - 15 * u**4 + 6 * u**5)) * x[i + 1]
                    )
            x = [a - eta * s for a, s in zip(x, slope, strict=True)]
            t += 1
            times += [t] * (x[i] >= 2 * tau)
    assert descent_escape_times(Octopus(3, 2.0), [0.013, 0.7, 0.002], 0.125) == times


@pytest.mark.parametrize("L", [1.0, 1.5, 2.0, 3.0])
def test_ratios_approach_the_law_up_to_fifty_dimensions(L):
    """DU-K7, DU-X7.a: within 1 % from the fifth saddle on and to 1e-12 at the end, 1e22 to 1e37
    steps.
    """
    eta = 1 / (4 * L)
    times = octopus_escape_times(50, L, step_size=eta, seed=3)
    ratios = times[1:] / times[:-1] / escape_ratio(L, 1.0, eta)
    assert np.abs(ratios[4:] - 1).max() <= 0.01
    assert ratios[-1] == pytest.approx(1.0, abs=1e-12)
    assert times.dtype == np.float64


def test_ratio_is_the_closed_form():
    """DU-K7: the numbers of the specification, and the bound (L + gamma)/gamma below for every
    step.
    """
    expected = {1.0: 2.710, 1.5: 3.409, 2.0: 4.106, E: 5.105, 3.0: 5.497}
    for L, ratio in expected.items():
        assert escape_ratio(L, 1.0, 1 / (4 * L)) == pytest.approx(ratio, abs=6e-4)
        small = escape_ratio(L, 1.0, 1e-6)
        assert escape_ratio_lower(L, 1.0) <= small <= escape_ratio_lower(L, 1.0) * (1 + 1e-4)
        for eta in np.linspace(1e-3, 0.499, 20) / L:
            assert escape_ratio_lower(L, 1.0) <= escape_ratio(L, 1.0, float(eta))
    assert escape_ratio(2.0, 1.0, 0.25) == math.inf


def test_a_step_of_one_over_two_L_holds_descent_for_ever():
    """DU-K7: after the first saddle the next coordinate is exactly zero."""
    times = octopus_escape_times(4, 2.0, step_size=0.25, start=[0.5] * 4)
    assert math.isfinite(times[0])
    assert np.isinf(times[1:]).all()
    values = descent_values(Octopus(4), [0.5] * 4, 0.25, [0, 10, 10**30])
    assert values[-1] == pytest.approx(-Octopus(4).drop, rel=1e-12)


@pytest.mark.parametrize(
    ("L", "gamma", "eta"),
    [(1.0, 1.0, 0.25), (2.0, 1.0, 0.125), (3.0, 0.5, 1 / 6.5), (1.0, 1.0, 0.04)],
)
def test_lower_bounds_hold_for_every_start_and_are_near_the_fastest(L, gamma, eta):
    """DU-L7.2, DU-L7.3, DU-T7.3: 60 random starts and the corner (1, ..., 1), which is the fastest
    start of all.
    """
    octopus, rng = Octopus(6, L, gamma), np.random.default_rng(5)
    bound = escape_times_lower(octopus, eta)
    fastest = np.array(descent_escape_times(octopus, np.ones(6), eta))
    runs = np.array([descent_escape_times(octopus, rng.uniform(-1, 1, 6), eta) for _ in range(60)])
    assert (runs >= bound).all()
    assert (bound <= fastest).all()
    assert (fastest <= runs.min(axis=0)).all()
    assert fastest[-1] <= 2.5 * bound[-1]
    assert (
        escape_step_lower(6, L, gamma)
        <= escape_step_lower(6, L, gamma, eta)
        <= bound[-1] * (1 + 1e-9)
    )


def test_printed_bound_has_the_stated_size():
    """DU-T7.3: 1.36e5 steps for d = 10, L = e."""
    assert escape_step_lower(10, E, 1.0) == pytest.approx(1.36e5, rel=2e-3)


@pytest.mark.parametrize("eta", [0.25, 0.05, 0.011])
def test_buffers_are_crossed_as_fast_as_promised(eta):
    """DU-L7.2: at most 1/(2 eta gamma), rounded up, from the first step beyond tau to the first
    beyond 2 tau.
    """
    octopus = Octopus(1, 2.0)
    for x in np.linspace(0.1, 1.0, 40):
        inside = math.floor(math.log(E / x) / math.log1p(2 * eta)) + 1
        (time,) = descent_escape_times(octopus, [x], eta)
        assert time - inside <= buffer_steps_upper(octopus, eta)


@pytest.mark.parametrize("L", [1.0, 1.5, 2.0, E, 3.0])
def test_estimate_follows_the_runs_within_one_percent(L):
    """DU-K7: the affine law with the start's logarithms, against runs; the first saddles within two
    steps or 3 %.
    """
    octopus, eta, rng = Octopus(12, L), 1 / (4 * L), np.random.default_rng(6)
    for _ in range(20):
        x = rng.uniform(-1, 1, 12)
        times, law = (
            np.array(descent_escape_times(octopus, x, eta)),
            estimate_escape_times(octopus, x, eta),
        )
        assert (np.abs(times - law) <= np.maximum(0.03 * times, 2.0)).all()
        assert np.abs(law[4:] / times[4:] - 1).max() <= 0.02
        assert np.median(np.abs(law[4:] / times[4:] - 1)) <= 0.01


def test_values_fall_from_plateau_to_plateau():
    """DU-F7.3, DU-F7.4: between the times the function is at -k nu; at the end at the least value,
    after any number of steps.
    """
    octopus = Octopus(10, 3.0)
    times = descent_escape_times(octopus, [0.5] * 10, 1 / 12)
    middle = [(a + b) // 2 for a, b in pairwise(times[4:])]
    values = descent_values(octopus, [0.5] * 10, 1 / 12, [*middle, 10 * int(times[-1])])
    np.testing.assert_allclose(values[:-1], [-k * octopus.drop for k in range(5, 10)], rtol=1e-9)
    assert values[-1] == pytest.approx(octopus.least, rel=1e-12)
    with pytest.raises(DataError, match="increase"):
        descent_values(octopus, [0.5] * 10, 1 / 12, [5, 3])


@pytest.mark.parametrize(("L", "gamma"), [(1.0, 1.0), (3.0, 1.0), (2.0, 0.3)])
def test_descent_never_leaves_the_domain(L, gamma):
    """DU-L7.2: steps up to 1/(2L) from 200 starts and from the corner; outside there would be
    NaN.
    """
    octopus, rng = Octopus(3, L, gamma), np.random.default_rng(10)
    for share in (0.1, 0.5, 0.999):
        x = np.vstack([rng.uniform(-1, 1, (200, 3)), np.ones(3)])
        for _ in range(200):
            x = x - share * 0.5 / L * octopus.gradient(x)
            assert octopus.in_domain(x).all()


def test_perturbed_descent_follows_algorithm_two():
    """DU-A2: a second implementation with the public gradient and the same draws gives the same
    run.
    """
    octopus, rng = Octopus(4, 1.5), np.random.default_rng(7)
    run = perturbed_descent(octopus, None, 1 / 6, np.random.default_rng(7), n_values=150)
    assert run.status is Status.CONVERGED
    x, last, noises, values = rng.uniform(-1, 1, 4), -2, [], []
    for t in range(151):
        values.append(float(octopus.value(x)))
        G = octopus.gradient(x)
        if np.linalg.norm(G) <= E / 100 and t - last > 1:
            direction = rng.standard_normal(4)
            x = x + E / 100 * rng.random() ** 0.25 * direction / np.linalg.norm(direction)
            last, G = t, octopus.gradient(x)
            noises.append(t)
        x = x - G / 6
    assert run.noise_steps[: len(noises)] == noises[: len(run.noise_steps)]
    np.testing.assert_allclose(run.values, values, rtol=1e-9, atol=1e-9)
    assert len(noises) >= 3


def test_noise_is_uniform_in_the_ball():
    """DU-A2: the mean square of a uniform point of the d-ball is r^2 d/(d + 2), Monte Carlo with 4
    standard errors.
    """
    octopus, rng = Octopus(3), np.random.default_rng(8)
    draws = []
    for _ in range(2000):
        run = perturbed_descent(octopus, np.zeros(3), 0.1, rng, radius=0.5, max_iter=1)
        draws.append((run.x / (1 - 2 * 0.1 * np.array([-1.0, 2.0, 2.0]))) / 0.5)
    assert run.status is Status.MAX_ITER
    squares = (np.array(draws) ** 2).sum(axis=1)
    assert abs(squares.mean() - 0.6) <= 4 * squares.std() / math.sqrt(2000)
    assert squares.max() <= 1 + 1e-12
    assert np.abs(np.mean(draws, axis=0)).max() <= 4 * math.sqrt(0.2 / 2000)


def test_perturbed_descent_that_ends_early_says_infinity():
    times = octopus_escape_times(5, method="perturbed_gradient_descent", max_iter=60, seed=1)
    assert np.isinf(times[-1])
    assert np.isfinite(times[0])


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"step_size": 0.3}, "step_size=0.3"),
        ({"step_size": 0.0}, "step_size"),
        ({"method": "newton"}, "perturbed_gradient_descent"),
        ({"start": [0.5, 2.0]}, "start"),
        (
            {"start": [0.5] * 5, "radius": 50.0, "method": "perturbed_gradient_descent"},
            "left the domain",
        ),
    ],
)
def test_options_without_meaning_are_refused(options, word):
    with pytest.raises(DataError, match=word):
        octopus_escape_times(**options)


def test_law_refuses_constants_out_of_order():
    with pytest.raises(DataError, match="gamma"):
        escape_ratio(1.0, 2.0, 0.1)
    with pytest.raises(DataError, match="gamma"):
        escape_ratio_lower(1.0, 2.0)


def test_same_seed_same_times():
    for method in ("gradient_descent", "perturbed_gradient_descent"):
        first, second = (
            octopus_escape_times(6, 1.5, step_size=1 / 6, method=method, seed=9) for _ in range(2)
        )
        np.testing.assert_array_equal(first, second)


def test_the_defaults_of_perturbed_descent_are_those_of_the_thesis():
    """DU-F7.3, DU-F7.4: threshold gamma e/100 at its edge (one dimension, gradient x), radius
    e/100, a gap of one step.
    """
    octopus = Octopus(1, 1.0, 0.5)
    for x, noise in ((0.0135, True), (0.0137, False)):  # e/200 = 0.01359...
        run = perturbed_descent(octopus, [x], 0.1, np.random.default_rng(0), max_iter=1)
        assert bool(run.noise_steps) is noise
    given = {"radius": math.e / 100, "noise_gap": 1, "gradient_threshold": math.e / 200}
    default, same, other = (
        perturbed_descent(octopus, [0.001], 0.1, np.random.default_rng(1), max_iter=6, **options)
        for options in ({}, given, given | {"radius": math.e / 99})
    )
    assert default.x == same.x != other.x
    rng = np.random.default_rng(2)
    often = perturbed_descent(octopus, [0.1], 0.01, rng, gradient_threshold=9.0, max_iter=5)
    assert often.noise_steps == [0, 2, 4]
