"""The planted bugs of the exact claims: relu-interpolation and loss-floor."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from tests.corpus.corpus_accepted import network
from tests.corpus.drafts import Draft
from tests.corpus.honest_instances import RELU, TIGHT, floor_draft, relu_draft
from tests.corpus.small_producer import Model, relu_interpolation
from tests.mutation.planted_bugs import Bug, Rng, scaled

FloorFormula = Callable[[float, float, float, float], Fraction]


def _relu(rng: Rng, **options: Any) -> tuple[Model, Draft]:
    draft = relu_draft(rng, slack=TIGHT, **options)
    return Model(RELU, draft.X, draft.y, draft.W, draft.v), draft


def mu_too_large_by_one_millionth(rng: Rng) -> Draft:
    """lambda_min(G) rounded the wrong way."""
    return scaled(_relu(rng)[1], "mu", 1 + 3e-6)


def mu_of_all_neurons(rng: Rng) -> Draft:
    """G summed over all neurons although T leaves one out."""
    model, draft = _relu(rng, few=True)
    claim = draft.claims[0]
    full = relu_interpolation(model, claim.tensors["W_hat"], slack=TIGHT)
    claim.fields["mu"], claim.tensors["C"] = full.fields["mu"], full.tensors["C"]
    claim.fields["R"] += 1
    return draft


def pattern_of_the_stored_weights(rng: Rng) -> Draft:
    """G with the activation pattern of W instead of W_hat."""
    model, draft = _relu(rng, noise=2.0)
    claim = draft.claims[0]
    other = relu_interpolation(model, draft.W, slack=TIGHT)
    claim.fields["mu"], claim.tensors["C"] = other.fields["mu"], other.tensors["C"]
    claim.fields["R"] += 10
    return draft


def relu_distance_forgets_the_witness(rng: Rng) -> Draft:
    """R = |r_hat|/sqrt(mu), without the distance from W to W_hat."""
    _, draft = _relu(rng)
    draft.claims[0].fields["R"] = Fraction(1, 10**6)
    return draft


def relu_margins_not_checked(rng: Rng) -> Draft:
    """A witness that does not interpolate: the cell is left before zero is reached."""
    model, draft = _relu(rng)
    W_hat = draft.W + 0.5 * rng.normal(size=draft.W.shape)
    claim = relu_interpolation(model, W_hat, slack=TIGHT)
    claim.fields["loss_upper"] = Fraction(1000)
    draft.claims = [claim]
    return draft


def relu_label_of_a_dropped_sample(rng: Rng) -> Draft:
    """A sample dropped as a multiple although its label is not the multiple."""
    _, draft = _relu(rng, dropped=True)
    draft.y[int(rng.integers(3, 6))] += float(rng.choice([-1, 1])) * 2.0**-30
    draft.claims[0].fields["loss_upper"] = Fraction(1000)
    return draft


def _floor(
    rng: Rng,
    name: str,
    ratios: tuple[float, float],
    kind: int,
    floor: Callable[[float, float, float, float], Fraction],
) -> Draft:
    c, e = ratios
    u = [float(x) for x in rng.integers(1, 4, size=2)]
    y = [float(x) for x in rng.integers(1, 5, size=2)]
    rows = [[c * x for x in u], [e * x for x in u]]
    return floor_draft(network(name), rows, y, [(kind, [0, 1])], floor(y[0], y[1], 1.0, e / c))


def _exact_floor(y1: float, y2: float, g1: float, g2: float) -> Fraction:
    a, b, p, q = map(Fraction, (y1, y2, g1, g2))
    return (a * a + b * b - (p * a + q * b) ** 2 / (p * p + q * q)) / 2


def floor_uses_the_first_power(rng: Rng) -> Draft:
    """Quadratic networks scale with c^2, not c."""
    return _floor(rng, "quadratic", (1.0, 2.0), 2, _exact_floor)


def floor_of_a_negative_ratio(rng: Rng) -> Draft:
    """ReLU is homogeneous for c > 0 only."""
    return _floor(rng, "relu", (1.0, -2.0), 2, lambda a, b, p, q: _exact_floor(a, b, p, -q))


def floor_not_centered(rng: Rng) -> Draft:
    """Half the sum of squares instead of the spread around the mean."""
    return _floor(
        rng,
        "softplus",
        (1.0, 1.0),
        0,
        lambda a, b, p, q: Fraction(a) ** 2 / 2 + Fraction(b) ** 2 / 2,
    )


def floor_of_a_ray_through_softplus(rng: Rng) -> Draft:
    """softplus is not homogeneous."""
    return _floor(rng, "softplus", (1.0, 2.0), 2, _exact_floor)


def floor_rounded_up(rng: Rng) -> Draft:
    """The floor as the double above it."""
    draft = _floor(rng, "relu", (1.0, 2.0), 2, _exact_floor)
    fields = draft.claims[0].fields
    fields["floor"] = Fraction(float(np.nextafter(float(fields["floor"]), np.inf))) + Fraction(
        1, 2**60
    )
    fields["gap"] = Fraction(1000)
    return draft


def gap_rounded_down(rng: Rng) -> Draft:
    """The gap as the double below it."""
    draft = _floor(rng, "relu", (1.0, 2.0), 2, _exact_floor)
    fields = draft.claims[0].fields
    fields["gap"] -= Fraction(1, 2**60)
    return draft


EXACT_BUGS: tuple[Bug, ...] = (
    mu_too_large_by_one_millionth,
    mu_of_all_neurons,
    pattern_of_the_stored_weights,
    relu_distance_forgets_the_witness,
    relu_margins_not_checked,
    relu_label_of_a_dropped_sample,
    floor_uses_the_first_power,
    floor_of_a_negative_ratio,
    floor_not_centered,
    floor_of_a_ray_through_softplus,
    floor_rounded_up,
    gap_rounded_down,
)
