"""Random vectors."""

from __future__ import annotations

import numpy as np

from globalmin._types import Array


def uniform_in_ball(
    size: int, radius: float, rng: np.random.Generator, count: int | None = None
) -> Array:
    """A draw from the uniform distribution on the ball of this radius, or `count` of them as rows:
    a Gaussian direction, a radius with density s^(size-1).
    """
    if count is None:
        direction = rng.standard_normal(size)
        return radius * rng.random() ** (1.0 / size) * direction / np.linalg.norm(direction)
    directions = rng.standard_normal((count, size))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return radius * rng.random((count, 1)) ** (1.0 / size) * directions
