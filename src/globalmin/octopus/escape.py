"""How many steps a descent takes past each saddle of the octopus: the public function."""

from __future__ import annotations

import math

import numpy as np

from globalmin._types import Array, ArrayLike, NDArray
from globalmin.errors import DataError
from globalmin.octopus.descent import checked_start, descent_escape_times
from globalmin.octopus.function import Octopus
from globalmin.octopus.perturbed import perturbed_descent
from globalmin.references import states

EXACT = 2**53  # whole numbers up to here are float64 numbers
METHODS = ("gradient_descent", "perturbed_gradient_descent")


@states("DU-F7.3", "DU-F7.4")
def octopus_escape_times(
    dimension: int = 5,
    L: float = 2.0,
    gamma: float = 1.0,
    step_size: float = 1 / 8,
    method: str = "gradient_descent",
    *,
    seed: int = 0,
    tau: float = math.e,
    start: ArrayLike | None = None,
    radius: float | None = None,
    noise_gap: int = 1,
    gradient_threshold: float | None = None,
    max_iter: int | None = None,
) -> NDArray[np.int64] | Array:
    r"""Cumulative steps after which a descent has passed the saddles 1 to d of the octopus: first t
    with $|x_k| \ge 2\tau$.

    Parameters
    ----------
    dimension : int
        The function, see `Octopus`.
    L, gamma, tau : float
        The function, see `Octopus`.
    step_size : float
        At most 1/(2L), where gradient descent stays at the second saddle for ever; the thesis takes
        1/(4L).
    method : str
        "gradient_descent", in logarithms, so that neither rounding nor the number of steps is a
        limit; or "perturbed_gradient_descent", Algorithm 2 with the options `radius`, `noise_gap`,
        `gradient_threshold`, `max_iter`, whose defaults are those of the thesis.
    seed : int
        Of the start, uniform on $[-1, 1]^d$, and of the noise.
    start : ArrayLike | None
        Instead of a random one, in $[-1, 1]^d$.

    Returns
    -------
    NDArray[np.int64] | Array
        One number a saddle: int64 if all are below $2^{53}$, else float64; infinite where a saddle
        is never passed.

    Theory
    ------
    Gradient descent: each time is about `escape_ratio` times the one before (DU-K7) and at least
    `escape_times_lower` (DU-L7.3). Perturbed gradient descent: a constant number of steps a saddle,
    up to a logarithm of the dimension (DU-T7.3).

    Examples
    --------
    >>> octopus_escape_times(5, 2.0, start=[0.5] * 5)
    array([  11,   50,  211,  875, 3598])
    """
    octopus = Octopus(dimension, L, gamma, tau)
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise DataError(f"seed={seed!r} must be a whole number, at least 0")
    rng = np.random.default_rng(seed)
    x = checked_start(octopus, start, rng)
    if method == "gradient_descent":
        times = descent_escape_times(octopus, x, step_size)
    elif method == "perturbed_gradient_descent":
        options = {
            "radius": radius,
            "noise_gap": noise_gap,
            "gradient_threshold": gradient_threshold,
            "max_iter": max_iter,
        }
        times = perturbed_descent(octopus, x, step_size, rng, **options).escape_times  # pyright: ignore[reportArgumentType]
    else:
        raise DataError(f"method={method!r} is unknown; choose one of {', '.join(METHODS)}")
    return (
        np.array(times, dtype=np.int64) if times[-1] < EXACT else np.array(times, dtype=np.float64)
    )
