"""Points of the octopus that several tests look at."""

import numpy as np


def points_everywhere(octopus, count, seed):
    """Random points of every stage and of every buffer, with random signs."""
    rng, d, tau = np.random.default_rng(seed), octopus.dimension, octopus.tau
    stage = np.arange(count) % (d + 1)
    x = rng.uniform(0.0, tau, (count, d))
    for row, i in zip(x, stage, strict=True):
        row[:i] = rng.uniform(2 * tau, 6 * tau, i)
        if i < d:
            row[i] = rng.uniform(0.0, 2 * tau)
    return x * (rng.choice([-1.0, 1.0], x.shape) if octopus.mirrored else 1.0)
