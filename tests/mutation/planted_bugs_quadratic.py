"""The planted bugs of the claims about quadratic networks: optimality-gap, identifies, ambiguous,
below-barrier.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from tests.corpus import honest_quadratic as h
from tests.corpus.drafts import Draft
from tests.corpus.small_producer import NotProvableError, inverse_factor, svec_rows
from tests.mutation.planted_bugs import Bug, Rng, scaled

LARGE = Fraction(10**6)


def seed(rng: Rng) -> int:
    """A seed for the honest instance."""
    return int(rng.integers(2**31))


def _residual(draft: Draft) -> Any:
    return (draft.X @ draft.W.T) ** 2 @ draft.v - draft.y


def _weighted(draft: Draft, weights: Any) -> Any:
    return (draft.X.T * weights) @ draft.X


def gap_without_the_penalty(rng: Rng) -> Draft:
    """Theorem D with the plain loss instead of the penalized one."""
    draft = h.gap_decay(seed(rng), trained=False)
    fields = draft.claims[0].fields
    fields["gap"] -= fields["decay"] / 2 * Fraction(float(np.sum(draft.W**2))) * Fraction(999, 1000)
    return draft


def gap_of_the_mean_loss(rng: Rng) -> Draft:
    """The loss divided by n in the gap."""
    draft = h.gap_positive(seed(rng), trained=False)
    draft.claims[0].fields["gap"] -= Fraction(float(np.sum(_residual(draft) ** 2))) * Fraction(2, 5)
    return draft


def gap_of_the_doubled_dual(rng: Rng) -> Draft:
    """-2 u . y - |u|^2, the dual value of the loss without the half."""
    draft = h.gap_positive(seed(rng), trained=False)
    lam = draft.claims[0].tensors["lambda"]
    floor = -float(lam @ draft.y) - float(lam @ lam) / 2
    draft.claims[0].fields["gap"] -= Fraction(abs(floor))
    return draft


def dual_is_the_residual(rng: Rng) -> Draft:
    """The residual of a network that is not at its minimum, taken as dual without a look at Z."""
    draft = h.gap_positive(seed(rng), trained=False)
    draft.y += 2
    r = _residual(draft)
    draft.claims[0].tensors |= {"lambda": r, "C": inverse_factor(_weighted(draft, r))}
    draft.claims[0].fields |= {"gap": LARGE, "loss_upper": LARGE}
    return draft


def dual_feasible_on_one_side_only(rng: Rng) -> Draft:
    """The dual of nonnegative heads claimed for every head."""
    draft = h.gap_decay(seed(rng), heads="nonnegative", trained=False)
    claim = draft.claims[0]
    c = float(claim.fields["decay"]) / 2
    u = 3 * np.abs(claim.tensors["u"]) + 1
    Z, unit = _weighted(draft, u), c * np.eye(2)
    claim.tensors = {
        "u": u,
        "C_lower": inverse_factor(unit + Z),
        "C_upper": inverse_factor(unit - Z),
    }
    claim.fields |= {"heads": "any", "gap": LARGE}
    return draft


def radius_of_the_dual_ball_doubled(rng: Rng) -> Draft:
    """c = w/v_max instead of w/(2 v_max)."""
    draft = h.gap_decay(seed(rng), heads="nonnegative", trained=False)
    draft.y += 5
    claim, r = draft.claims[0], _residual(draft)
    decay, least = float(claim.fields["decay"]), float(np.linalg.eigvalsh(_weighted(draft, r))[0])
    if least > -decay:
        raise NotProvableError("the residual is feasible")
    u = r * 0.99 * decay / -least
    claim.tensors = {"u": u, "C_lower": inverse_factor(decay * np.eye(2) + _weighted(draft, u))}
    claim.fields |= {"gap": LARGE, "loss_upper": LARGE}
    return draft


def head_of_the_other_sign(rng: Rng) -> Draft:
    """One head of the other sign in a class of one sign, by a rounding error."""
    draft = h.gap_positive(seed(rng), trained=False, heads=str(rng.choice(h.HEADS[:2])))
    draft.v[int(rng.integers(len(draft.v)))] *= -1e-300
    draft.claims[0].fields |= {"gap": LARGE, "loss_upper": LARGE}
    return draft


def head_above_v_max(rng: Rng) -> Draft:
    """v_max as the mean size of the heads."""
    draft = h.gap_decay(seed(rng), trained=False)
    draft.v *= rng.uniform(0.5, 1.5, size=len(draft.v))
    draft.v[0] *= 2
    draft.claims[0].fields |= {
        "v_max": Fraction(float(np.mean(np.abs(draft.v)))),
        "gap": LARGE,
        "loss_upper": LARGE,
    }
    return draft


def rank_by_a_float_tolerance(rng: Rng) -> Draft:
    """A column that is almost the copy of another one passes for its copy."""
    draft = h.gap_rank(seed(rng), trained=False)
    draft.X[:, 2] += 1e-13 * rng.normal(size=len(draft.X))
    draft.claims[0].fields |= {"gap": LARGE, "loss_upper": LARGE}
    return draft


def _without_roots(draft: Draft) -> Any:
    S = svec_rows(draft.X)[0]
    S[:, 1] /= np.sqrt(2)
    return S


def span_without_root_two(rng: Rng) -> Draft:
    """The projection of the residual measured with plain monomials: mu is that of another
    matrix.
    """
    draft = h.gap_span(seed(rng))
    draft.X *= [[0.05, 1.0]]
    G = (S := _without_roots(draft)).T @ S
    flipped = np.linalg.eigvalsh(svec_rows(draft.X)[0].T @ svec_rows(draft.X)[0])[0]
    mu = max(float(np.linalg.eigvalsh(G)[0]), float(flipped) * (1 + 1e-6))
    claim = draft.claims[0]
    claim.fields |= {"mu": Fraction(mu), "gap": LARGE, "loss_upper": LARGE}
    claim.tensors["C"] = inverse_factor(G - mu * np.eye(3))
    return draft


def span_mu_too_large_by_one_millionth(rng: Rng) -> Draft:
    """The least eigenvalue rounded the wrong way, with the factor that the wrong number would
    have.
    """
    draft = h.gap_span(seed(rng), slack=-1e-6)
    draft.claims[0].fields["gap"] = LARGE
    return draft


def span_gap_of_the_orthogonal_part(rng: Rng) -> Draft:
    """The part of the residual that no network reaches, instead of the part that one does."""
    draft = h.gap_span(seed(rng))
    r, S = _residual(draft), svec_rows(draft.X)[0]
    rest = r - S @ np.linalg.lstsq(S, r, rcond=None)[0]
    draft.claims[0].fields["gap"] = Fraction(float(rest @ rest) / 2)
    return draft


def identifies_by_counting(rng: Rng) -> Draft:
    """n >= d(d+1)/2 taken for the rank: two samples on one line."""
    draft = h.identifies(seed(rng), n=3)
    draft.X[1] = draft.X[0] * float(rng.choice([-1.0, 2.0, 0.5]))
    draft.claims[0].fields["loss_upper"] = LARGE
    return draft


def identifies_by_a_float_rank(rng: Rng) -> Draft:
    """All samples on two lines, and the determinant is a rounding error; mu from the perturbed
    matrix.
    """
    draft = h.identifies(seed(rng), n=4, stable=True)
    draft.X[2:] = draft.X[:2] * np.array([[2.0], [-0.5]])
    draft.claims[0].fields |= {"mu": Fraction(1e-18), "loss_upper": LARGE}
    S = svec_rows(draft.X)[0]
    draft.claims[0].tensors["C"] = inverse_factor(S.T @ S + 1e-14 * np.eye(3))
    return draft


def identifies_mu_too_large(rng: Rng) -> Draft:
    """The least eigenvalue rounded the wrong way."""
    return h.identifies(seed(rng), stable=True, slack=-1e-6)


def sigma2_too_large(rng: Rng) -> Draft:
    """The least eigenvalue of the network's matrix rounded the wrong way."""
    return h.ambiguous(seed(rng), slack=-1e-6)


def difference_of_the_frobenius_norm(rng: Rng) -> Draft:
    """4 sigma2^2 instead of 2 (d+2)/(d+1) sigma2^2: true for one matrix, not for all."""
    draft = h.ambiguous(seed(rng), d=3)
    draft.claims[0].fields["difference"] = 4 * draft.claims[0].fields["sigma2"] ** 2
    return draft


def kernel_rounded_to_integers(rng: Rng) -> Draft:
    """A null vector in floats, multiplied by 2^40 and rounded: it does not vanish exactly."""
    draft = h.ambiguous_kernel(seed(rng))
    turn = np.linalg.qr(rng.normal(size=(2, 2)))[0]
    draft.X = draft.X @ turn.T
    M = turn @ np.array([[0.0, 1.0], [1.0, 0.0]]) @ turn.T
    draft.claims[0].tensors["M"] = np.rint((M + M.T) / 2 * 2**40).astype(np.int64)
    draft.claims[0].fields["loss_upper"] = LARGE
    return draft


def kernel_of_identified_data(rng: Rng) -> Draft:
    """The labels of an ambiguous set, one sample moved off the axes."""
    draft = h.ambiguous_kernel(seed(rng))
    draft.X[int(rng.integers(4))] = rng.normal(size=2)
    draft.claims[0].fields["loss_upper"] = LARGE
    return draft


def _barrier(rng: Rng, **options: Any) -> Draft:
    return h.barrier(seed(rng), slack=1e-6, **options)


def barrier_phi_too_large(rng: Rng) -> Draft:
    """The least eigenvalue of F rounded the wrong way."""
    return scaled(_barrier(rng), "phi", 1 + 3e-6)


def barrier_norm_is_the_largest_diagonal_entry(rng: Rng) -> Draft:
    """Phi = max F_ii."""
    draft = _barrier(rng, norm="factor")
    draft.claims[0].fields["Phi"] = Fraction(
        float(np.max(np.sum(svec_rows(draft.X)[0] ** 2, axis=0)))
    )
    return draft


def barrier_step_of_the_textbook(rng: Rng) -> Draft:
    """eta = 2/Lip."""
    return scaled(_barrier(rng), "eta", 2.0)


def barrier_rate_of_the_strongly_convex_case(rng: Rng) -> Draft:
    """The tangent space's rate: 1 - 8 eta phi v_min s2 instead of 4."""
    draft = _barrier(rng)
    draft.claims[0].fields["rate"] = max(2 * draft.claims[0].fields["rate"] - 1, Fraction(0))
    return draft


def barrier_excess_in_another_convention(rng: Rng) -> Draft:
    """E0 of the mean loss."""
    return scaled(_barrier(rng), "E0", 1 / 7)


def barrier_eigenvalues_of_the_network(rng: Rng) -> Draft:
    """a_lo and a_hi of the stored network instead of the least-squares matrix."""
    draft = _barrier(rng)
    eigenvalues = np.linalg.eigvalsh((draft.W.T * draft.v) @ draft.W)
    draft.claims[0].fields |= {
        "a_lo": Fraction(float(eigenvalues[0]) + 1e-4),
        "a_hi": Fraction(float(eigenvalues[-1]) - 1e-4),
    }
    return draft


def barrier_of_other_labels(rng: Rng) -> Draft:
    """Labels changed after the claim was made."""
    draft = _barrier(rng)
    draft.y += 1e-2 * rng.normal(size=len(draft.y))
    draft.claims[0].fields["loss_upper"] = LARGE
    return draft


QUADRATIC_BUGS: tuple[Bug, ...] = (
    gap_without_the_penalty,
    gap_of_the_mean_loss,
    gap_of_the_doubled_dual,
    dual_is_the_residual,
    dual_feasible_on_one_side_only,
    radius_of_the_dual_ball_doubled,
    head_of_the_other_sign,
    head_above_v_max,
    rank_by_a_float_tolerance,
    span_without_root_two,
    span_mu_too_large_by_one_millionth,
    span_gap_of_the_orthogonal_part,
    identifies_by_counting,
    identifies_by_a_float_rank,
    identifies_mu_too_large,
    sigma2_too_large,
    difference_of_the_frobenius_norm,
    kernel_rounded_to_integers,
    kernel_of_identified_data,
    barrier_phi_too_large,
    barrier_norm_is_the_largest_diagonal_entry,
    barrier_step_of_the_textbook,
    barrier_rate_of_the_strongly_convex_case,
    barrier_excess_in_another_convention,
    barrier_eigenvalues_of_the_network,
    barrier_of_other_labels,
)
