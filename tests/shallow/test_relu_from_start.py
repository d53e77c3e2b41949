"""ReLU networks through `prove_start`: accepted where the theorem is reached, a plain bound of the
loss where that is asked for, and a reason otherwise.
"""

from __future__ import annotations

import numpy as np
import pytest

import globalmin as gm
from globalmin.proving.claim import Proves
from globalmin.shallow.claims.relu_linearized import build
from globalmin.shallow.claims.relu_trajectory import landing_claim
from globalmin.shallow.relu_from_start import descend_kinked

ETA = 0.25


@pytest.fixture(scope="module")
def data() -> gm.Dataset:
    return gm.generators.sphere_with_random_labels(5, 8, seed=0)


@pytest.fixture(scope="module")
def proof(data: gm.Dataset) -> gm.Proof:
    return gm.prove_start(0, data, width=60, activation="relu", step_size=ETA)


def test_a_wide_relu_network_is_proved_from_its_random_start(proof: gm.Proof) -> None:
    """OS-T6.3 and DU-T2.2, for one start."""
    assert proof.verdict == "ACCEPTED", proof.why
    assert "cell of seed 0" in proof.statement
    assert "zero training loss" in proof.statement
    assert proof.reaches_minimum
    claim = proof.claims[0]
    assert claim.kind == "relu-trajectory"
    assert claim.proves is Proves.ZERO_LOSS
    assert claim.numbers.others["steps"] >= 1


def test_a_stored_start_is_proved_too(data: gm.Dataset, tmp_path) -> None:
    start = gm.ShallowNetwork.initialize(data, width=60, activation="relu", seed=3)
    found = gm.prove_start(start, data, step_size=ETA, path=tmp_path / "run.gmc")
    assert found.verdict == "ACCEPTED", found.why
    assert "stored start" in found.statement
    assert gm.check(tmp_path / "run.gmc").verdict == "ACCEPTED"


def test_a_bound_of_the_loss_is_no_minimum(data: gm.Dataset) -> None:
    start = gm.ShallowNetwork.initialize(data, width=12, activation="leaky_relu", seed=1)
    found = gm.prove_start(start, data, step_size=ETA, landing="loss", max_iter=20)
    assert found.verdict == "ACCEPTED", found.why
    assert found.claims[0].proves is Proves.POINT
    assert not found.reaches_minimum
    assert "Nothing is said about later steps" in found.statement
    assert found.claims[0].numbers.others["steps"] <= 20


def test_zero_loss_nearby_stands_beside_a_bound_of_the_loss(data: gm.Dataset) -> None:
    start = gm.ShallowNetwork.initialize(data, width=20, activation="relu", seed=1)
    found = gm.prove_start(start, data, step_size=ETA, landing="loss", tol=1e-7, max_iter=3000)
    assert found.verdict == "ACCEPTED", found.why
    assert [claim.kind for claim in found.claims] == ["relu-trajectory", "relu-interpolation"]
    assert found.reaches_minimum


def test_a_run_that_does_not_get_there_says_why(data: gm.Dataset) -> None:
    found = gm.prove_start(0, data, width=60, activation="relu", step_size=ETA, max_iter=2)
    assert found.verdict == "NOT PROVED"
    assert "relu-linearized-descent" in found.why
    assert 'landing="loss"' in found.why
    far = gm.prove_start(0, data, width=60, activation="relu", step_size=1e6, landing="loss")
    assert far.verdict == "NOT PROVED"


def test_the_step_of_the_theory_is_taken_unless_another_is_given(data: gm.Dataset) -> None:
    start = gm.ShallowNetwork.initialize(data, width=60, activation="relu", seed=3)
    runs = [
        descend_kinked(start, data, landing="loss", tol=0.5, max_iter=50, step_size=step)
        for step in (None, "theory")
    ]
    assert runs[0].step_size == runs[1].step_size < 1.0
    assert runs[0].norms[0] == pytest.approx(
        float(np.linalg.norm(start.predict(data.X) - data.y)), rel=1e-12
    )


def test_the_landing_leaves_room_for_the_distance(data: gm.Dataset) -> None:
    """tau covers the residual that Delta may add: larger than that of relu-linearized-descent."""
    start = gm.ShallowNetwork.initialize(data, width=60, activation="relu", seed=3)
    run = descend_kinked(start, data, tol=0.0, max_iter=5000, step_size=ETA)
    near = landing_claim(run.network, data, ETA).summary
    there = build(run.network, data, step_size=ETA).summary
    assert near["tau"] > there["tau"]
    assert near["tau"] == pytest.approx(there["tau"], rel=1e-3)


@pytest.mark.parametrize("options", [{"trained": "vW"}, {"method": "sgd"}])
def test_what_is_not_covered_is_refused(data: gm.Dataset, options: dict) -> None:
    start = gm.ShallowNetwork.initialize(data, width=12, activation="relu", seed=1)
    with pytest.raises(gm.DataError, match="network with kinks"):
        gm.prove_start(start, data, **options)


def test_the_claim_needs_its_run(data: gm.Dataset) -> None:
    start = gm.ShallowNetwork.initialize(data, width=12, activation="relu", seed=1)
    with pytest.raises(gm.CannotCertify, match="prove_start"):
        gm.certify(start, data, claims=("relu-trajectory",))
