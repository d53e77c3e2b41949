"""A producer with planted bugs: each function trains an honest instance and then writes a claim
that is false by one typical mistake.

Every mistake is carried through to the witness as far as the buggy producer would: its factors
belong to its own wrong matrices. The truth oracle confirms that the claim is false; a draw where
the mistake happens to be harmless is not counted.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from tests.corpus.drafts import Draft
from tests.corpus.honest_instances import SMOOTH_NETWORKS, TIGHT, trained_model
from tests.corpus.small_producer import (
    Model,
    NotProvableError,
    descent,
    exact,
    gram,
    interpolation,
    inverse_factor,
    local_suprema,
)

Rng = np.random.Generator
Bug = Callable[[Rng], Draft]


def _model(
    rng: Rng,
    trained: str = "W",
    noise: float = 1e-3,
    words: tuple[str, ...] = tuple(SMOOTH_NETWORKS),
) -> Model:
    return trained_model(
        rng, SMOOTH_NETWORKS[str(rng.choice(words))], (3, 2, 3), trained=trained, noise=noise
    )


def _interpolation(rng: Rng, trained: str = "W", **options: Any) -> tuple[Model, Draft]:
    noise = float(10 ** rng.uniform(-5, -2.5))
    model = _model(rng, trained, noise)
    return model, model.draft([interpolation(model, trained=trained, slack=TIGHT, **options)])


def _descent(rng: Rng, trained: str = "W", **options: Any) -> tuple[Model, Draft]:
    noise = float(10 ** rng.uniform(-6, -3.5))
    model = _model(rng, trained, noise)
    return model, model.draft([descent(model, trained=trained, slack=TIGHT, **options)])


def scaled(draft: Draft, name: str, factor: float) -> Draft:
    """Multiply one number of the first claim."""
    fields = draft.claims[0].fields
    fields = fields["quartic"] if name == "kappa" else fields
    fields[name] = fields[name] * Fraction(factor)
    return draft


def a2_too_large_by_one_millionth(rng: Rng) -> Draft:
    """lambda_min rounded the wrong way."""
    model, draft = _interpolation(rng)
    K = gram(model, "W")
    a2 = exact(float(np.linalg.eigvalsh(K)[0]) * (1 + 1e-6))
    draft.claims[0].fields["a2"] = a2
    draft.claims[0].tensors["C_a"] = inverse_factor(K - float(a2) * np.eye(len(K)))
    return draft


def a2_from_single_precision(rng: Rng) -> Draft:
    """lambda_min of the float32 Gram matrix, taken as it is."""
    model, draft = _descent(rng)
    K = gram(model, "W").astype(np.float32).astype(np.float64)
    a2 = Fraction(float(np.float32(np.linalg.eigvalsh(K)[0]))) * Fraction(1 + 2**-22)
    draft.claims[0].fields["a2"] = a2
    draft.claims[0].tensors["C_a"] = inverse_factor(K - float(a2) * np.eye(len(K)))
    return draft


def _kappa_draft(
    rng: Rng, q_of: Callable[[Model, float], Any], *, trained: str = "W", rank_one: bool = False
) -> Draft:
    """kappa from wrong weights q, everything after it consistent with the wrong kappa."""
    model, draft = _interpolation(rng, trained)
    fields, tensors = draft.claims[0].fields, draft.claims[0].tensors
    q, X = q_of(model, float(fields["rho"])), model.X
    A = (X * (q * np.sum(X**2, axis=1))[:, None]).T @ X
    top = (
        float(np.linalg.eigvalsh(A)[-1])
        if not rank_one
        else float(np.max(q * np.sum(X**2, axis=1) ** 2)) / 2
    )
    fields["quartic"] = {"kappa": exact(top * (1 + 1e-6)), "method": "rows"}
    tensors["C_kappa"] = inverse_factor(float(fields["quartic"]["kappa"]) * np.eye(len(A)) - A)
    return draft


def second_supremum_too_small(rng: Rng) -> Draft:
    """b_2 halved: the Lipschitz constant of a flatter activation."""
    return _kappa_draft(
        rng, lambda m, rho: (np.max(np.abs(m.v) * local_suprema(m, 2, rho), axis=1) / 2) ** 2
    )


def curvature_at_the_center_only(rng: Rng) -> Draft:
    """s_2 without the term b_3 rho |x_i|, rho enlarged as if it did not matter."""

    def weights(model: Model, rho: float) -> Any:
        return np.max(np.abs(model.v) * np.abs(model.parts()[2]), axis=1) ** 2

    model = _model(rng, "W", 1e-3, ("softplus", "sigmoid", "tanh", "erf"))
    claim = interpolation(model, slack=TIGHT)
    claim.fields["rho"] = Fraction(1)
    draft = model.draft([claim])
    q, X = weights(model, 1.0), model.X
    A = (X * (q * np.sum(X**2, axis=1))[:, None]).T @ X
    claim.fields["quartic"] = {
        "kappa": exact(float(np.linalg.eigvalsh(A)[-1]) * (1 + 1e-6)),
        "method": "rows",
    }
    claim.tensors["C_kappa"] = inverse_factor(
        float(claim.fields["quartic"]["kappa"]) * np.eye(len(A)) - A
    )
    return draft


def heads_do_not_move(rng: Rng) -> Draft:
    """Both layers trained, but |v_l| + rho replaced by |v_l|, with a radius where it matters."""
    model = _model(rng, "vW", 1e-3, ("softplus", "tanh"))
    claim = interpolation(model, trained="vW", slack=TIGHT)
    claim.fields["rho"] = Fraction(4)
    q = np.max(np.abs(model.v) * local_suprema(model, 2, 4.0), axis=1) ** 2
    A = (model.X * (q * np.sum(model.X**2, axis=1))[:, None]).T @ model.X
    claim.fields["quartic"] = {
        "kappa": exact(float(np.linalg.eigvalsh(A)[-1]) * (1 + 1e-6)),
        "method": "rows",
    }
    claim.tensors["C_kappa"] = inverse_factor(
        float(claim.fields["quartic"]["kappa"]) * np.eye(len(A)) - A
    )
    return model.draft([claim])


def mean_head_instead_of_the_largest(rng: Rng) -> Draft:
    """c_i with the mean over neurons."""
    return _kappa_draft(
        rng, lambda m, rho: np.mean(np.abs(m.v) * local_suprema(m, 2, rho), axis=1) ** 2
    )


def largest_sample_instead_of_the_sum(rng: Rng) -> Draft:
    """The quartic form bounded by its largest term, halved by an eager simplification."""
    return _kappa_draft(
        rng,
        lambda m, rho: np.max(np.abs(m.v) * local_suprema(m, 2, rho), axis=1) ** 2,
        rank_one=True,
    )


def beta_without_the_radius_of_slopes(rng: Rng) -> Draft:
    """beta from the mean slope."""
    model, draft = _interpolation(rng, "vW")
    weights = np.mean(np.abs(model.parts()[1]), axis=1) ** 2
    B = (model.X * weights[:, None]).T @ model.X
    beta2 = exact(float(np.linalg.eigvalsh(B)[-1]) * 0.99)
    draft.claims[0].fields["beta2"] = beta2
    draft.claims[0].tensors["C_beta"] = inverse_factor(float(beta2) * np.eye(len(B)) - B)
    return draft


def beta_too_small_by_one_millionth(rng: Rng) -> Draft:
    """The norm of diag(s_1) X rounded the wrong way."""
    return scaled(_interpolation(rng, "vW")[1], "beta2", 1 - 3e-6)


def kappa_rounded_down(rng: Rng) -> Draft:
    """svec in one dimension or on orthogonal data is exact, so one millionth less is false."""
    model = trained_model(rng, SMOOTH_NETWORKS["softplus"], (1, 2, 3), trained="W", noise=1e-3)
    return scaled(
        model.draft([interpolation(model, slack=TIGHT, method="svec")]), "kappa", 1 - 3e-6
    )


def radius_too_small(rng: Rng) -> Draft:
    """R smaller by 1e-5."""
    return scaled(_interpolation(rng)[1], "R", 1 - 1e-5)


def radius_is_the_newton_step(rng: Rng) -> Draft:
    """R = e, as if the map were linear."""
    _, draft = _interpolation(rng, lower=True)
    draft.claims[0].fields["R"] = scaled(draft, "R_lo", 1 + 1e-6).claims[0].fields["R_lo"]
    del draft.claims[0].fields["R_lo"]
    return draft


def lower_radius_too_large(rng: Rng) -> Draft:
    """R_lo = R: nothing proved from below."""
    _, draft = _interpolation(rng, lower=True)
    draft.claims[0].fields["R_lo"] = draft.claims[0].fields["R"]
    return draft


def loss_rounded_down(rng: Rng) -> Draft:
    """The loss rounded to the nearest single below."""
    model, draft = (_interpolation if rng.random() < 0.5 else _descent)(rng)
    loss = 0.5 * float(np.sum(model.residual() ** 2))
    draft.claims[0].fields["loss_upper"] = Fraction(
        float(np.nextafter(np.float32(loss), np.float32(0)))
    ) * Fraction(1 - 2**-22)
    return draft


def mean_loss(rng: Rng) -> Draft:
    """The loss of another convention: divided by n."""
    return scaled(_descent(rng)[1], "loss_upper", 1 / 3)


def labels_of_other_data(rng: Rng) -> Draft:
    """The claim of these weights on slightly other labels; the loss bound is generous."""
    _, draft = (_interpolation if rng.random() < 0.5 else _descent)(rng)
    draft.y = draft.y + 10 ** rng.uniform(-2, 0) * rng.choice([-1, 1], size=len(draft.y))
    draft.claims[0].fields["loss_upper"] = Fraction(1000)
    return draft


def data_rounded_after_certifying(rng: Rng) -> Draft:
    """Weights stored in half precision after the claim was made."""
    _, draft = _interpolation(rng)
    draft.W = draft.W.astype(np.float16).astype(np.float64)
    draft.claims[0].fields["loss_upper"] = Fraction(1000)
    return draft


def parameter_forgotten(rng: Rng) -> Draft:
    """Trained with softplus(2), stored as softplus."""
    model = trained_model(rng, SMOOTH_NETWORKS["softplus_2"], (3, 2, 3), trained="W", noise=1e-4)
    draft = model.draft([interpolation(model, slack=TIGHT)])
    draft.network = dict(SMOOTH_NETWORKS["softplus"])
    draft.claims[0].fields["loss_upper"] = Fraction(1000)
    return draft


def both_layers_claimed_for_one(rng: Rng) -> Draft:
    """K of both layers certified under trained = W."""
    _, draft = _interpolation(rng, "vW")
    claim = draft.claims[0]
    claim.fields["trained"] = "W"
    del claim.fields["beta2"], claim.tensors["C_beta"]
    return draft


def step_too_large(rng: Rng) -> Draft:
    """eta larger by 1e-5."""
    return scaled(_descent(rng)[1], "eta", 1 + 1e-5)


def step_two_over_the_norm(rng: Rng) -> Draft:
    """The textbook step 2/b^2."""
    _, draft = _descent(rng)
    draft.claims[0].fields["eta"] = 2 / draft.claims[0].fields["b2"]
    draft.claims[0].fields["rate"] = Fraction(999999, 1000000)
    return draft


def path_without_curvature(rng: Rng) -> Draft:
    """path = g/a instead of 2g/(a + alpha)."""
    model, draft = _descent(rng)
    g, a = float(np.linalg.norm(model.residual())), float(draft.claims[0].fields["a2"]) ** 0.5
    draft.claims[0].fields["path"] = exact(g / a)
    return draft


def rate_without_curvature(rng: Rng) -> Draft:
    """rate = 1 - eta a^2 instead of 1 - eta alpha^2."""
    _, draft = _descent(rng)
    fields = draft.claims[0].fields
    fields["rate"] = 1 - fields["eta"] * fields["a2"]
    return draft


def norm_too_small_by_one_millionth(rng: Rng) -> Draft:
    """lambda_max rounded the wrong way, with the factor that the wrong number would have."""
    model, draft = _descent(rng, norm="factor")
    K = gram(model, "W")
    b2 = exact(float(np.linalg.eigvalsh(K)[-1]) * (1 - 1e-6))
    draft.claims[0].fields["b2"] = b2
    draft.claims[0].tensors["C_b"] = inverse_factor(float(b2) * np.eye(len(K)) - K)
    return draft


def norm_is_the_largest_diagonal_entry(rng: Rng) -> Draft:
    """b2 = max K_ii, which a Gram matrix exceeds."""
    model, draft = _descent(rng, norm="rows")
    draft.claims[0].fields["b2"] = exact(float(np.max(np.diag(gram(model, "W")))))
    return draft


def hypothesis_not_checked(rng: Rng) -> Draft:
    """A network far from zero loss: the claim is written although 2 Lip e > a."""
    model = _model(rng, "W", 1.0)
    honest = _model(rng, "W", 1e-4)
    claim = interpolation(honest, slack=TIGHT)
    claim.fields |= {"loss_upper": Fraction(1000), "rho": Fraction(10), "R": Fraction(10)}
    K = gram(model, "W")
    a2 = exact(float(np.linalg.eigvalsh(K)[0]) * 0.99)
    if a2 <= 0:
        raise NotProvableError("singular")
    claim.fields["a2"] = a2
    claim.tensors |= {
        "C_a": inverse_factor(K - float(a2) * np.eye(len(K))),
        "z": np.linalg.solve(K, model.residual()),
    }
    return model.draft([claim])


SMOOTH_BUGS: tuple[Bug, ...] = (
    a2_too_large_by_one_millionth,
    a2_from_single_precision,
    second_supremum_too_small,
    curvature_at_the_center_only,
    heads_do_not_move,
    mean_head_instead_of_the_largest,
    largest_sample_instead_of_the_sum,
    beta_without_the_radius_of_slopes,
    beta_too_small_by_one_millionth,
    kappa_rounded_down,
    radius_too_small,
    radius_is_the_newton_step,
    lower_radius_too_large,
    loss_rounded_down,
    mean_loss,
    labels_of_other_data,
    data_rounded_after_certifying,
    parameter_forgotten,
    both_layers_claimed_for_one,
    step_too_large,
    step_two_over_the_norm,
    path_without_curvature,
    rate_without_curvature,
    norm_too_small_by_one_millionth,
    norm_is_the_largest_diagonal_entry,
    hypothesis_not_checked,
)
