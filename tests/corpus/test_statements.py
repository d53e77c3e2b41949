"""What the accepted files state, tried in floats: zeros are found within R, descent obeys rate and
path, floors hold.
"""

import numpy as np
import pytest
from tests.corpus.accepted_claims import Case, model_of, name_of, opened
from tests.corpus.small_producer import Model

ROUNDING = 1e-9
FLOOR_OF_ROUNDING = 1e-13


def distance(a: Model, b: Model) -> float:
    return float(np.sqrt(np.sum((a.W - b.W) ** 2) + np.sum((a.v - b.v) ** 2)))


@pytest.mark.parametrize("case", opened("interpolation"), ids=name_of)
def test_newton_finds_zero_loss_within_the_radius_and_not_before_the_lower_one(case: Case):
    _, draft, claim = case
    start = here = model_of(draft)
    trained = claim.fields["trained"]
    for _ in range(60):
        J, r = here.jacobian(trained), here.residual()
        here = here.moved(-J.T @ np.linalg.solve(J @ J.T, r), trained)
    reached = distance(here, start)
    assert np.linalg.norm(here.residual()) < FLOOR_OF_ROUNDING * (1 + np.abs(draft.y).max()) * 100
    assert reached <= float(claim.fields["R"]) * (1 + ROUNDING) + FLOOR_OF_ROUNDING
    assert reached >= float(claim.fields.get("R_lo", 0)) * (1 - ROUNDING) - FLOOR_OF_ROUNDING


@pytest.mark.parametrize("case", opened("descent"), ids=name_of)
def test_gradient_descent_obeys_rate_and_path(case: Case):
    _, draft, claim = case
    here = model_of(draft)
    trained, eta, rate = (
        claim.fields["trained"],
        float(claim.fields["eta"]),
        float(claim.fields["rate"]),
    )
    path, size = 0.0, float(np.linalg.norm(here.residual()))
    for _ in range(500):
        step = -eta * here.jacobian(trained).T @ here.residual()
        here = here.moved(step, trained)
        path += float(np.linalg.norm(step))
        after = float(np.linalg.norm(here.residual()))
        if size < 1e-10:
            break
        assert after <= rate * size * (1 + ROUNDING)
        size = after
    assert path <= float(claim.fields["path"]) * (1 + ROUNDING)


@pytest.mark.parametrize("case", opened("relu-interpolation"), ids=name_of)
def test_the_linear_solve_in_the_cell_of_the_witness_interpolates_within_the_radius(case: Case):
    _, draft, claim = case
    gone = {int(j) for j in claim.tensors["dropped"][:, 0]}
    kept = [i for i in range(len(draft.y)) if i not in gone]
    witness = Model(draft.network, draft.X[kept], draft.y[kept], claim.tensors["W_hat"], draft.v)
    J = witness.jacobian("W").reshape(len(kept), *draft.W.shape)
    J[:, [level for level in range(len(draft.v)) if level not in claim.tensors["T"]]] = 0
    flat = J.reshape(len(kept), -1)
    found = witness.moved(-flat.T @ np.linalg.solve(flat @ flat.T, witness.residual()), "W")
    everywhere = Model(draft.network, draft.X, draft.y, found.W, draft.v)
    assert np.linalg.norm(everywhere.residual()) < 1e-13 * (1 + np.abs(draft.y).max())
    assert (
        distance(everywhere, model_of(draft))
        <= float(claim.fields["R"]) * (1 + ROUNDING) + FLOOR_OF_ROUNDING
    )


@pytest.mark.parametrize("case", opened("loss-floor")[:60], ids=name_of)
def test_no_random_network_of_any_width_is_below_the_floor(case: Case):
    _, draft, claim = case
    rng = np.random.default_rng(6)
    lowest = np.inf
    for _ in range(60):
        k = int(rng.integers(1, 12))
        W = rng.normal(size=(k, draft.X.shape[1])) * 10 ** rng.uniform(-1, 1)
        features = Model(draft.network, draft.X, draft.y, W, np.ones(k)).parts()[0]
        # the best head for these features by least squares is the strongest attack on the floor
        v = np.linalg.lstsq(features, draft.y, rcond=None)[0]
        v = np.maximum(v, 0) if claim.fields["heads"] == "nonnegative" else v
        lowest = min(lowest, 0.5 * float(np.sum((features @ v - draft.y) ** 2)))
    assert lowest >= float(claim.fields["floor"]) * (1 - ROUNDING) - FLOOR_OF_ROUNDING
