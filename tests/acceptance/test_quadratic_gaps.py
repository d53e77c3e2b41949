"""Quadratic networks solved to a gap that the independent checker accepts (SJL-DUAL, SJL-T2.1,
SJL-T2.2k).

The cells of the table in docs/figures.md (`python -m bench.quadratic`): the proved gap is below
1e-8 of the proved minimum, or, where the minimum is zero, of the loss of the zero network.
"""

import numpy as np
import pytest
from bench import quadratic, quadratic_peers

from globalmin.optimize.run import Status

BOTH = (["small", "large"], ["random", "planted"])
SMALL = list(quadratic.instances([20], list(quadratic.CLASSES), *BOTH))
LARGER = list(quadratic.instances([50], list(quadratic.CLASSES), *BOTH)) + list(
    quadratic.instances([100], ["positive", "decay"], *BOTH)
)
LARGEST = list(quadratic.instances([300], ["positive", "decay"], *BOTH))


def require_proved(instance):
    X, y = instance.data()
    _, found = quadratic.solve(instance, X, y)
    proof = quadratic.prove(instance, X, y, found)
    print(instance, proof)
    assert found.status is Status.CONVERGED
    assert proof.verdict == "ACCEPTED"
    assert proof.gap < 1e-8
    is_zero = instance.claim == "interpolation" or (
        instance.labels == "planted" and instance.kind != "decay"
    )
    assert proof.of_zero_network == is_zero


@pytest.mark.parametrize("instance", SMALL, ids=str)
def test_twenty_features_are_proved(instance):
    require_proved(instance)


@pytest.mark.campaign
@pytest.mark.parametrize("instance", LARGER, ids=str)
def test_fifty_and_a_hundred_features_are_proved(instance):
    require_proved(instance)


@pytest.mark.campaign
@pytest.mark.parametrize("instance", LARGEST, ids=str)
def test_three_hundred_features_are_proved(instance):
    require_proved(instance)


def test_the_proved_gap_is_relative_to_the_floor_and_else_to_the_zero_network():
    assert quadratic.proved_gap({"gap": 1.0, "floor": 4.0}, 8.0) == (0.25, False)
    assert quadratic.proved_gap({"gap": 1.0, "floor": 0.0}, 8.0) == (0.125, True)
    assert quadratic.proved_gap({"loss_upper": 2.0}, 8.0) == (0.25, True)
    assert quadratic.proved_gap({}, 8.0) == (np.inf, True)


def test_a_peer_beyond_its_limit_is_ended_and_reported():
    limits = quadratic_peers.Limits(seconds=1.0, gib=32.0)
    done = quadratic_peers.PeerOutcome(0.5, np.eye(2), "")

    def never():
        while True:
            pass

    def greedy():
        np.ones(2**33)
        return done

    np.testing.assert_array_equal(quadratic_peers.run_within(limits, lambda: done).M, np.eye(2))
    assert quadratic_peers.run_within(limits, never) == quadratic_peers.PeerOutcome(
        1.0, None, ">limit"
    )
    assert quadratic_peers.run_within(limits, greedy).reason == "out of 32 GiB"
