"""The planted bugs of strict-saddle and second-order-stationary."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from tests.checker import second_order_cases as s
from tests.checker.cases import Smooth
from tests.corpus import honest_quadratic as h
from tests.corpus.drafts import Draft
from tests.corpus.small_producer import NotProvableError, inverse_factor
from tests.mutation.planted_bugs import Bug, Rng, scaled
from tests.mutation.planted_bugs_quadratic import LARGE, seed


def _activation(rng: Rng) -> str:
    return str(rng.choice(h.SMOOTH))


def _network(draft: Draft) -> Smooth:
    return Smooth(
        draft.X,
        draft.y,
        draft.W,
        draft.v,
        draft.network["activation"],
        draft.claims[0].fields["trained"],
    )


def _saddle(rng: Rng, **options: Any) -> Draft:
    return h.saddle(seed(rng), activation=_activation(rng), slack=1e-6, **options)


def gamma_too_large_by_one_millionth(rng: Rng) -> Draft:
    """The curvature rounded the wrong way."""
    return scaled(_saddle(rng), "gamma", 1 + 3e-6)


def gamma_of_a_direction_that_is_not_normalized(rng: Rng) -> Draft:
    """U^T H U without division by |U|^2 (the direction has length 3)."""
    return scaled(_saddle(rng, trained=str(rng.choice(["W", "vW"]))), "gamma", 9.0)


def gamma_of_another_direction(rng: Rng) -> Draft:
    """The next eigenvector is stored."""
    draft = _saddle(rng)
    vectors = np.linalg.eigh(s.hessian(_network(draft)))[1]
    draft.claims[0].tensors["U"] = vectors[:, 1].reshape(draft.W.shape)
    return draft


def gradient_in_the_maximum_norm(rng: Rng) -> Draft:
    """eps = the largest entry of the gradient."""
    draft = _saddle(rng)
    draft.claims[0].fields["eps"] = Fraction(float(np.max(np.abs(s.gradient(_network(draft))))))
    return draft


def gradient_of_w_only(rng: Rng) -> Draft:
    """Both layers are trained, but the gradient of the head is forgotten."""
    draft = _saddle(rng, trained="vW")
    net = _network(draft)
    draft.claims[0].fields["eps"] = Fraction(float(np.linalg.norm(s.gradient(net)[len(net.v) :])))
    return draft


def mixed_term_once(rng: Rng) -> Draft:
    """The term u_l phi'(z)(U_l . x) counted once instead of twice."""
    draft = _saddle(rng, trained="vW")
    net, tensors = _network(draft), draft.claims[0].tensors
    P, r = net.values()[1], net.residual()
    mixed = float(r @ np.sum(P * tensors["u"] * (net.X @ tensors["U"].T), axis=1))
    size = float(np.sum(tensors["u"] ** 2) + np.sum(tensors["U"] ** 2))
    draft.claims[0].fields["gamma"] += Fraction(abs(mixed) / size)
    return draft


def _spoiled_ball(rng: Rng, c_of: Any, *, activations: tuple[str, ...] = h.SMOOTH) -> Draft:
    """The largest ball that wrong weights c(net, R) would allow, with factors of the wrong
    matrices.
    """
    draft = h.saddle(seed(rng), activation=str(rng.choice(activations)), radius="rows", slack=1e-6)
    net, claim = _network(draft), draft.claims[0]
    gamma = float(claim.fields["gamma"])
    low, high = 0.0, 10.0
    for _ in range(50):
        R = (low + high) / 2
        lam, kappa, _, _ = _forms(net, c_of(net, R))
        low, high = (R, high) if R * np.sqrt(lam * kappa) < gamma * 0.999 else (low, R)
    if low == 0.0:
        raise NotProvableError("no ball")
    lam, kappa, A, B = _forms(net, c_of(net, low))
    claim.fields["radius"] = {
        "R": Fraction(low),
        "lam": Fraction(lam),
        "quartic": {"kappa": Fraction(kappa), "method": "rows"},
    }
    claim.tensors |= {"C_lam": inverse_factor(A), "C_kappa": inverse_factor(B)}
    return draft


def _forms(net: Smooth, c: Any) -> tuple[float, float, Any, Any]:
    second = (net.X.T * c) @ net.X
    fourth = (net.X.T * (c * np.sum(net.X**2, axis=1))) @ net.X
    lam, kappa = (float(np.linalg.eigvalsh(form)[-1]) * (1 + 1e-6) for form in (second, fourth))
    return lam, kappa, lam * np.eye(len(second)) - second, kappa * np.eye(len(fourth)) - fourth


def third_derivative_at_the_center_only(rng: Rng) -> Draft:
    """c with R = 0, as if the constant did not depend on the ball."""
    return _spoiled_ball(rng, lambda net, R: s.lipschitz_weights(net, 0.0))


def residual_does_not_move(rng: Rng) -> Draft:
    """c with the residual of the center, in activations where the third derivative counts."""

    def weights(net: Smooth, R: float) -> Any:
        head, reach = np.abs(net.v), R * np.linalg.norm(net.X, axis=1)
        n1 = np.linalg.norm(head * s.local_suprema(net, 1, R), axis=1)
        cap = s.THIRD[net.activation][0]
        return s.lipschitz_weights(net, R) - reach * n1 * np.max(head) * 0.9 * cap

    return _spoiled_ball(rng, weights, activations=("tanh", "erf"))


def factor_three_forgotten(rng: Rng) -> Draft:
    """n1 max |v| s_2 instead of three times that."""
    return _spoiled_ball(
        rng, lambda net, R: s.lipschitz_weights(net, R) / 3, activations=("quadratic",)
    )


def radius_beyond_the_constants(rng: Rng) -> Draft:
    """lam and kappa of a smaller ball."""
    draft = _saddle(rng, radius="rows")
    draft.claims[0].fields["radius"]["R"] *= Fraction(11, 10)
    return draft


def _second_order(rng: Rng, **options: Any) -> Draft:
    return h.second_order(seed(rng), activation=_activation(rng), slack=1e-6, **options)


def delta_too_small(rng: Rng) -> Draft:
    """The least eigenvalue rounded towards zero, with the factor that the wrong number would
    have.
    """
    draft = _second_order(rng, trained=str(rng.choice(["W", "vW"])))
    H = s.hessian(_network(draft))
    delta = -float(np.linalg.eigvalsh(H)[0]) * (1 - 1e-6)
    draft.claims[0].fields["delta"] = Fraction(delta)
    draft.claims[0].tensors["C"] = inverse_factor(H + delta * np.eye(len(H)))
    return draft


def gauss_newton_instead_of_the_hessian(rng: Rng) -> Draft:
    """J^T J is positive semidefinite, so any delta will do."""
    draft = _second_order(rng, trained=str(rng.choice(["W", "vW"])))
    J = s.jacobian(_network(draft))
    draft.claims[0].fields["delta"] = Fraction(1, 10**6)
    draft.claims[0].tensors["C"] = inverse_factor(J.T @ J + 1e-6 * np.eye(J.shape[1]))
    return draft


def head_after_the_weights(rng: Rng) -> Draft:
    """The parameters in the order W, v: the factor belongs to another matrix, and delta is too
    small for either.
    """
    draft = _second_order(rng, trained="vW")
    draft.claims[0].fields["delta"] *= Fraction(99, 100)
    C = draft.claims[0].tensors["C"]
    order = np.roll(np.arange(len(C)), -len(draft.v))
    draft.claims[0].tensors["C"] = C[np.ix_(order, order)]
    return draft


def delta_of_the_hessian_claimed_for_blocks(rng: Rng) -> Draft:
    """Blocks do not see J^T J, so their delta is larger than that of the whole Hessian."""
    draft = _second_order(rng, method="blocks")
    least = float(np.linalg.eigvalsh(s.hessian(_network(draft)))[0])
    draft.claims[0].fields["delta"] = Fraction(max(-least, 1e-9))
    return draft


def one_block_left_out(rng: Rng) -> Draft:
    """delta of the mildest neuron for all of them."""
    draft = _second_order(rng, method="blocks")
    blocks = s.blocks(_network(draft))
    delta = max(min(-float(np.linalg.eigvalsh(block)[0]) for block in blocks), 0.0) + 1e-9
    draft.claims[0].fields["delta"] = Fraction(delta)
    draft.claims[0].tensors["C"] = np.vstack(
        [inverse_factor(block + delta * np.eye(2)) for block in blocks]
    )
    return draft


def tolerances_of_other_labels(rng: Rng) -> Draft:
    """Labels changed after the claim was made."""
    draft = _second_order(rng) if rng.random() < 0.5 else _saddle(rng)
    draft.y += 10 ** rng.uniform(-2, 0) * rng.normal(size=len(draft.y))
    draft.claims[0].fields["loss_upper"] = LARGE
    return draft


SECOND_ORDER_BUGS: tuple[Bug, ...] = (
    gamma_too_large_by_one_millionth,
    gamma_of_a_direction_that_is_not_normalized,
    gamma_of_another_direction,
    gradient_in_the_maximum_norm,
    gradient_of_w_only,
    mixed_term_once,
    third_derivative_at_the_center_only,
    residual_does_not_move,
    factor_three_forgotten,
    radius_beyond_the_constants,
    delta_too_small,
    gauss_newton_instead_of_the_hessian,
    head_after_the_weights,
    delta_of_the_hessian_claimed_for_blocks,
    one_block_left_out,
    tolerances_of_other_labels,
)
