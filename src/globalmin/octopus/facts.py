"""The theorems of DU chapter 7 for one octopus, with the step 1/(4L) of its experiments."""

from __future__ import annotations

import math

from globalmin.facts.finding import TheoremReport, check, fact, number, unknown
from globalmin.octopus import escape
from globalmin.octopus.constants import (
    gaussian_miss_probability,
    gaussian_radius,
    octopus_smoothness_upper,
)
from globalmin.octopus.function import Octopus
from globalmin.octopus.warmups import two_saddle_times
from globalmin.optimize.perturbed import Smoothness, perturbed_descent_steps


@fact("DU-T7.3", "DU-L7.2", "DU-L7.3", "DU-K7", "DU-C7.1", subject=Octopus)
def slow_descent(octopus: Octopus) -> TheoremReport:
    """How long gradient descent is held, at least."""
    eta, (L, gamma) = 1.0 / (4.0 * octopus.L), (octopus.L, octopus.gamma)
    d = octopus.dimension
    first, second = two_saddle_times(0.5, 0.5, L, gamma, eta)
    smooth = octopus_smoothness_upper(octopus)
    return TheoremReport(
        "DU-T7.3",
        "gradient descent from anywhere in [−1, 1]^d needs a time exponential in the dimension; "
        "with a little noise it does not",
        (check("L ≥ γ > 0, step 1/(4L)", 0.0 < gamma <= L),),
        step_size=eta,
        numbers=(
            (
                "factor between the times of two saddles in a row",
                escape.escape_ratio(L, gamma, eta),
            ),
            ("the same, at least, for every step", escape.escape_ratio_lower(L, gamma)),
            ("time of a second saddle over that of the first, starts ½", second / first),
            (
                "steps to pass all saddles ≥, ours",
                float(escape.escape_times_lower(octopus, eta)[-1]),
            ),
            ("the same, by the proof", escape.escape_step_lower(d, L, gamma, eta)),
            ("the same, as printed", escape.escape_step_lower(d, L, gamma)),
            ("steps across a buffer ≤", float(escape.buffer_steps_upper(octopus, eta))),
            ("ε below which no point on the way is second-order stationary", smooth.epsilon),
        ),
    )


@fact("DU-T7.1", "DU-T7.2", "DU-A2", subject=Octopus)
def perturbed_descent(octopus: Octopus) -> TheoremReport:
    """The order of the steps that perturbed descent needs, on the domain of this octopus."""
    found = octopus_smoothness_upper(octopus)
    smooth = Smoothness(found.gradient, found.hessian, found.value)
    # at most 4γ²/ρ, hence at most the ℓ²/ρ of the theorem: ℓ >= 2L and L >= γ
    epsilon = found.epsilon
    order = perturbed_descent_steps(smooth, octopus.dimension, epsilon=epsilon)
    return TheoremReport(
        "DU-T7.1",
        "with noise at small gradients descent leaves every strict saddle; the number of steps is "
        "polynomial",
        (unknown("steps ≤ C (ℓB/ε²) log⁴(dℓB/(ε²δ))", f"without C: {number(order)}"),),
        numbers=(
            ("ℓ, Lipschitz constant of the gradient ≤", found.gradient),
            ("ρ, Lipschitz constant of the Hessian ≤", found.hessian),
            ("B, range of the values ≤", found.value),
            ("ε asked about", epsilon),
        ),
        instead="gm.perturbed_gradient_descent, then gm.estimate_second_order at its end",
    )


@fact("DU-C7.2", subject=Octopus)
def any_start(octopus: Octopus) -> TheoremReport:
    """The octopus moved under a Gaussian start."""
    d = octopus.dimension
    radius = gaussian_radius(d, 0.01)
    printed = max(math.log(d), 1e-9)
    return TheoremReport(
        "DU-C7.2",
        "scaled and moved, the octopus holds gradient descent from any concentrated start",
        (),
        numbers=(
            ("half-width R that misses a standard Gaussian start in 1 of 100", radius),
            ("how often it misses", gaussian_miss_probability(d, radius)),
            ("how often the printed R = log d misses", gaussian_miss_probability(d, printed)),
        ),
    )
