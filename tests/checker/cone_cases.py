"""Small problems for the searches over cones, in integers and in floats."""

from __future__ import annotations

import numpy as np


def integer_problem(rng: np.random.Generator, p: int) -> tuple[list[list[int]], list[int]]:
    """Few rows of small integers, some zero or repeated."""
    n = int(rng.integers(1, 6))
    rows = rng.integers(-4, 5, (n, p)).tolist()
    return rows, rng.integers(-5, 6, n).tolist()
