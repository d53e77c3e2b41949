"""What the accepted files about quadratic networks and second-order points state, tried in floats:
no trained network beats the gap, a second network with equal outputs is written down, descent obeys
the rate, differences see the curvature."""

from dataclasses import replace

import numpy as np
import pytest
from tests.checker.quadratic_cases import Quadratic
from tests.corpus.accepted_claims import Case, model_of, name_of, opened
from tests.corpus.drafts import Draft
from tests.corpus.small_producer import Array, Model, svec_rows

ROUNDING = 1e-9


def network_of(draft: Draft) -> Quadratic:
    return Quadratic(draft.X, draft.y, draft.W, draft.v)


def matrix_of(s: Array, d: int) -> Array:
    """The symmetric matrix whose svec is s."""
    M = np.zeros((d, d))
    M[np.triu_indices(d)] = s
    return (M + M.T) * np.where(np.eye(d), 0.5, np.sqrt(0.5))


def attack_heads(heads: str, d: int) -> Array:
    """As many heads of the class as can be of use, of size 1."""
    signs = {"nonnegative": [1.0], "nonpositive": [-1.0], "any": [1.0, -1.0]}[heads]
    return np.repeat(signs, d + 1)


@pytest.mark.parametrize("case", opened("optimality-gap"), ids=name_of)
def test_no_trained_network_of_the_class_beats_the_gap(case: Case):
    _, draft, claim = case
    rng, d = np.random.default_rng(8), draft.X.shape[1]
    decay, v_max = float(claim.fields.get("decay", 0)), float(claim.fields.get("v_max", 1))
    v = attack_heads(claim.fields.get("heads", "any"), d) * v_max
    attack = Quadratic(draft.X, draft.y, rng.normal(size=(len(v), d)), v).trained(decay)
    lowest = attack.loss() + decay / 2 * float(np.sum(attack.W**2))
    stored = network_of(draft).loss() + decay / 2 * float(np.sum(draft.W**2))
    assert lowest >= stored - float(claim.fields["gap"]) - ROUNDING * (1 + stored)


@pytest.mark.parametrize(
    "case", [case for case in opened("identifies") if "double" not in case[0]], ids=name_of
)
def test_different_quadratic_functions_differ_on_the_samples(case: Case):
    _, draft, claim = case
    S = svec_rows(draft.X)[0]
    least = float(np.linalg.svd(S, compute_uv=False)[S.shape[1] - 1]) ** 2
    assert least > 1e-12
    assert least >= float(claim.fields.get("mu", 0)) * (1 - ROUNDING)


@pytest.mark.parametrize("case", opened("ambiguous"), ids=name_of)
def test_another_network_with_the_same_head_has_the_same_outputs_and_differs(case: Case):
    _, draft, claim = case
    net, d = network_of(draft), draft.X.shape[1]
    M = matrix_of(np.linalg.svd(svec_rows(draft.X)[0])[2][-1], d)
    change = float(claim.fields["sigma2"]) * M / np.linalg.norm(M, 2)
    values, vectors = np.linalg.eigh(net.M + change)
    W, positive = np.zeros_like(net.W), np.flatnonzero(net.v > 0)[:d]
    W[positive] = (np.sqrt(np.maximum(values, 0) / net.v[positive]) * vectors).T
    other = replace(net, W=W)
    np.testing.assert_allclose(other.residual(), net.residual(), atol=1e-11)
    moment = 2 * float(np.sum(change**2)) + float(np.trace(change)) ** 2
    assert moment >= float(claim.fields["difference"]) * (1 - ROUNDING)
    np.testing.assert_allclose(other.M - net.M, change, atol=1e-11)


@pytest.mark.parametrize("case", opened("below-barrier"), ids=name_of)
def test_descent_below_the_barrier_obeys_the_rate(case: Case):
    _, draft, claim = case
    here, S = network_of(draft), svec_rows(draft.X)[0]
    fit = S @ np.linalg.lstsq(S, draft.y, rcond=None)[0]
    eta, rate = float(claim.fields["eta"]), float(claim.fields["rate"])
    excess = 0.5 * float(np.sum((here.residual() + draft.y - fit) ** 2))
    assert excess <= float(claim.fields["E0"]) * (1 + ROUNDING) + 1e-14
    for _ in range(200):
        here = replace(
            here, W=here.W - eta * 2 * here.v[:, None] * (here.W @ here.weighted(here.residual()))
        )
        after = 0.5 * float(np.sum((here.residual() + draft.y - fit) ** 2))
        assert after <= rate * excess * (1 + ROUNDING) + 1e-14
        assert np.linalg.eigvalsh(here.M)[0] > 0
        excess = after


def gradient(model: Model, trained: str) -> Array:
    return model.jacobian(trained).T @ model.residual()


def slope_along(model: Model, direction: Array, trained: str) -> Array:
    """The Hessian times a direction, by central differences of the gradient."""
    step = 1e-5 / np.linalg.norm(direction)
    ahead, behind = (
        gradient(model.moved(sign * step * direction, trained), trained) for sign in (1, -1)
    )
    return (ahead - behind) / (2 * step)


@pytest.mark.parametrize("case", opened("strict-saddle"), ids=name_of)
def test_the_loss_bends_down_along_the_direction_and_in_the_whole_ball(case: Case):
    _, draft, claim = case
    model, trained, gamma = model_of(draft), claim.fields["trained"], float(claim.fields["gamma"])
    parts = [claim.tensors["u"]] if trained == "vW" else []
    U = np.concatenate([*parts, claim.tensors["U"].ravel()])
    U /= np.linalg.norm(U)
    assert (
        np.linalg.norm(gradient(model, trained))
        <= float(claim.fields["eps"]) * (1 + ROUNDING) + 1e-14
    )
    assert U @ slope_along(model, U, trained) <= -gamma + 1e-6 * (1 + gamma)
    rng, R = np.random.default_rng(9), float(claim.fields.get("radius", {"R": 0})["R"])
    for _ in range(20):
        step = rng.normal(size=len(U))
        nearby = model.moved(step * R / np.linalg.norm(step), trained)
        assert U @ slope_along(nearby, U, trained) <= 1e-6 * (1 + gamma)


@pytest.mark.parametrize("case", opened("second-order-stationary"), ids=name_of)
def test_no_eigenvalue_of_the_measured_hessian_is_below_minus_delta(case: Case):
    _, draft, claim = case
    model, trained, delta = model_of(draft), claim.fields["trained"], float(claim.fields["delta"])
    g = gradient(model, trained)
    assert np.linalg.norm(g) <= float(claim.fields["eps"]) * (1 + ROUNDING) + 1e-14
    H = np.array([slope_along(model, unit, trained) for unit in np.eye(len(g))])
    assert np.linalg.eigvalsh((H + H.T) / 2)[0] >= -delta - 1e-6 * (1 + delta)
