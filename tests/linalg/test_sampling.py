"""Random vectors: the uniform law on a ball."""

import math

import numpy as np
import pytest

from globalmin.linalg.sampling import uniform_in_ball

DRAWS = 20_000


@pytest.mark.parametrize("together", [False, True])
def test_draws_are_uniform_on_the_ball(together):
    rng = np.random.default_rng(0)
    draws = (
        uniform_in_ball(3, 2.0, rng, DRAWS)
        if together
        else np.array([uniform_in_ball(3, 2.0, rng) for _ in range(DRAWS)])
    )
    radii = np.linalg.norm(draws, axis=1)
    assert draws.shape == (DRAWS, 3)
    assert radii.max() <= 2.0
    shares = [(radii <= 2.0 * s).mean() for s in (0.25, 0.5, 0.75)]
    np.testing.assert_allclose(shares, [0.25**3, 0.5**3, 0.75**3], atol=5 * 0.5 / math.sqrt(DRAWS))
    np.testing.assert_allclose(draws.mean(axis=0), 0.0, atol=5 * 2 / math.sqrt(5 * DRAWS))


def test_a_ball_of_radius_zero_is_a_point():
    assert not uniform_in_ball(4, 0.0, np.random.default_rng(1)).any()
