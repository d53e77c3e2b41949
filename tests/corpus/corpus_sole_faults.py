"""Rejected files in which one single check fails and all others hold: a checker that forgot it
would accept them.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from tests.corpus.corpus_accepted import seeded
from tests.corpus.drafts import Draft, claim
from tests.corpus.honest_instances import LINEAR, RELU, SMOOTH_NETWORKS, trained_model
from tests.corpus.small_producer import (
    Array,
    Model,
    NotProvableError,
    Slack,
    descent,
    exact,
    gram,
    interpolation,
    inverse_factor,
    lipschitz_part,
)

NONE = np.zeros((0, 2), dtype=np.int64)


def _tanh_model(name: str, noise: float = 1e-4) -> Model:
    """The first trained tanh network for which descent is provable."""
    rng = seeded(name)
    for _ in range(100):
        model = trained_model(rng, SMOOTH_NETWORKS["tanh"], (2, 2, 4), trained="W", noise=noise)
        try:
            descent(model)
        except NotProvableError:
            continue
        return model
    raise NotProvableError(name)


def radius_above_rho() -> Draft:
    """R = 2 rho: the formula is far below rho, but the claim says more than the ball on which it
    was proved.
    """
    model = _tanh_model("radius above rho")
    result = interpolation(model)
    result.fields["R"] = 2 * result.fields["rho"]
    return model.draft([result])


def ball_smaller_than_the_path() -> Draft:
    """Descent with the Lipschitz constant proved on half of the ball that the path needs."""
    model = _tanh_model("small ball")
    result = descent(model)
    part = lipschitz_part(model, "W", result.fields["path"] / 2, method="rows", slack=Slack())
    result.fields |= part.fields
    result.tensors |= part.tensors
    result.fields["eta"] /= 2
    result.fields["rate"] = Fraction(999999, 1000000)
    result.fields["path"] *= 2
    return model.draft([result])


def residual_too_large(kind: str) -> Draft:
    """Far from zero loss, everything else honest: only 2 Lip e < a (2 Lip g < a^2) fails."""
    model = trained_model(
        seeded("far " + kind), SMOOTH_NETWORKS["tanh"], (2, 2, 4), trained="W", noise=1.0
    )
    K, r, rho = gram(model, "W"), model.residual(), Fraction(64)
    part = lipschitz_part(model, "W", rho, method="rows", slack=Slack())
    fields = part.fields | {"loss_upper": Fraction(1000)}
    if kind == "interpolation":
        return model.draft(
            [claim(kind, fields | {"R": rho}, part.tensors | {"z": np.linalg.solve(K, r)})]
        )
    b2 = exact(2 * float(np.sum(np.abs(K))))
    fields |= {
        "b2": b2,
        "norm": "rows",
        "eta": 1 / (b2 * 10**6),
        "rate": Fraction(10**9 - 1, 10**9),
        "path": rho,
    }
    return model.draft([claim(kind, fields, part.tensors)])


def a2_not_positive(kind: str, a2: Fraction) -> Draft:
    """K - a2 I is positive definite all the more, and the factor proves it."""
    model = _tanh_model("a2 " + kind)
    result = interpolation(model) if kind == "interpolation" else descent(model)
    result.fields["a2"] = a2
    result.tensors["C_a"] = inverse_factor(gram(model, "W") - float(a2) * np.eye(2))
    return model.draft([result])


def activation_without_suprema(kind: str) -> Draft:
    """A linear network: everything would hold with b_2 = 0, but linear is not in the table of
    suprema.
    """
    model = trained_model(seeded("linear " + kind), LINEAR, (2, 3, 2), trained="W", noise=1e-3)
    return model.draft([interpolation(model) if kind == "interpolation" else descent(model)])


def _one_relu(y: float, mu: Fraction, R: Fraction, C: Array) -> Draft:
    """One ReLU neuron on one sample, x = w = v = 1: G = 1."""
    one = np.ones((1, 1))
    model = Model(RELU, one, np.array([y]), one, np.ones(1))
    fields = {"mu": mu, "R": R, "loss_upper": Fraction(1000)}
    return model.draft(
        [
            claim(
                "relu-interpolation",
                fields,
                {"W_hat": one, "T": np.array([0]), "C": C, "dropped": NONE},
            )
        ]
    )


def margin_violated_by_one_part_in_a_billion() -> Draft:
    """x = (1, 0) and (0, 1), G = I: the margin of the first pair asks z^2 mu^2 >= r^2 after
    refinement, and falls short of it.
    """
    mu = Fraction(1) - Fraction(1, 2**40)
    short = float(1 - Fraction(1, 10**9))
    model = Model(
        RELU, np.eye(2), np.array([2.0, 1.0]), np.array([[short, -4.0], [-4.0, 1.0]]), np.ones(2)
    )
    C = 2.0**20 * np.eye(2)
    fields = {"mu": mu, "R": Fraction(10), "loss_upper": Fraction(1000)}
    return model.draft(
        [
            claim(
                "relu-interpolation",
                fields,
                {"W_hat": model.W, "T": np.array([0, 1]), "C": C, "dropped": NONE},
            )
        ]
    )


def sole_faults() -> dict[str, Draft]:
    """All of them by name."""
    unit, half = np.ones((1, 1)), Fraction(1, 2)
    drafts = {
        "interpolation_only_R_above_rho": radius_above_rho(),
        "descent_only_ball_smaller_than_the_path": ball_smaller_than_the_path(),
        "relu_only_margin_and_no_zero_exists": _one_relu(-0.5, half, Fraction(10), 2**0.5 * unit),
        "relu_only_margin_although_a_zero_exists": _one_relu(
            2.0, half, Fraction(10), 2**0.5 * unit
        ),
        "relu_only_margin_by_one_part_in_a_billion": margin_violated_by_one_part_in_a_billion(),
        "relu_only_mu_zero": _one_relu(1.0, Fraction(0), Fraction(10), unit),
    }
    for kind in ("interpolation", "descent"):
        drafts[f"{kind}_only_residual_too_large"] = residual_too_large(kind)
        drafts[f"{kind}_only_a2_zero"] = a2_not_positive(kind, Fraction(0))
        drafts[f"{kind}_only_a2_negative"] = a2_not_positive(kind, Fraction(-1, 4))
        drafts[f"{kind}_only_activation_linear"] = activation_without_suprema(kind)
    return drafts
