"""The comparison of descents, at its smallest sizes: who arrives at a second-order point, and who
is held at a saddle.
"""

import math
from dataclasses import replace

import pytest
from bench import dynamics

ARRIVING = ("perturbed gradient descent", "trust region", "cubic regularization")


def test_on_the_octopus_only_plain_descent_is_slow():
    """DU-T7.3: d = 10, L = 1.5: hundreds of steps with noise, tens with curvature, a million
    without either.
    """
    problem = dynamics.octopus(10, 0)
    counts = {method: dynamics.iterations(problem, method, 0) for method in dynamics.METHODS}
    assert counts["gradient descent"] > 5e5
    assert counts["perturbed gradient descent"] < 500
    assert counts["SGD"] < 500
    assert max(counts["trust region"], counts["cubic regularization"]) < 100


@pytest.mark.parametrize("make", [dynamics.quadratic_network, dynamics.factorization])
def test_a_dead_neuron_holds_descent_for_ever_and_noise_frees_it(make):
    """DU-A2: with exact zeros in the start, descent and SGD end at a strict saddle; noise or
    curvature lead on.
    """
    problem = make(5, 0, dead=True)
    counts = {method: dynamics.iterations(problem, method, 0) for method in ARRIVING}
    assert all(math.isfinite(count) for count in counts.values())
    assert max(counts["trust region"], counts["cubic regularization"]) < 60
    held = replace(problem, max_iter=2500)
    assert math.isnan(dynamics.iterations(held, "gradient descent", 0))
    assert math.isnan(dynamics.iterations(held, "SGD", 0))


@pytest.mark.parametrize("make", [dynamics.quadratic_network, dynamics.factorization])
def test_from_a_small_random_start_everybody_arrives(make):
    """DU-T7.1: the same functions without the zeros."""
    problem = make(4, 1)
    for method in dynamics.METHODS:
        assert math.isfinite(dynamics.iterations(problem, method, 1))
