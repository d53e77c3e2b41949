"""Quadratic networks: every descent ends at the proved minimum, every saddle met or planted has an
accepted direction, and the critical number of samples is exact (SJL-T2.1, SJL-T2.2, GKZ-CENSUS,
GKZ-T2.6a, GKZ-T2.6b).
"""

import numpy as np
import pytest
from bench import quadratic_landscape as campaign

from globalmin.landscape.classify import classify_point
from globalmin.quadratic.barrier import barrier, exact_barrier_point, tight_point
from globalmin.quadratic.risk import population_risk
from globalmin.quadratic.runs import RISK_FACTOR
from globalmin.quadratic.solve import solve_quadratic
from globalmin.shallow.network import ShallowNetwork
from globalmin.shallow.stationary import PointKind

EXCESS = 1.1e-12  # of the loss of W = 0, proved


def every_end_is_the_proved_minimum(outcome, count):
    """Every run reached the target; the first `count` are proved one by one, the others agree with
    a proved one.
    """
    data, runs = outcome.problem.data, outcome.runs
    assert runs.reached.all()
    assert outcome.proved == count
    assert outcome.worst <= EXCESS
    solution = solve_quadratic(data.X, data.y, head=outcome.problem.head)
    verdict, numbers = campaign.verdict(solution.network, data, outcome.problem.claim)
    assert verdict == "ACCEPTED"
    floor = numbers.get("floor", 0.0)
    zero = 0.5 * float(data.y @ data.y)
    for W in runs.W:
        loss = 0.5 * float(
            np.sum(
                (ShallowNetwork(W, outcome.problem.head, "quadratic").predict(data.X) - data.y) ** 2
            )
        )
        assert floor * (1 - 1e-12) <= loss <= floor + EXCESS * zero


def no_saddle_is_without_a_direction(saddles):
    """What was classified as a saddle, or is near one, has an accepted certificate of negative
    curvature; everything else is the minimum or no stationary point.
    """
    allowed = {"saddle, ACCEPTED", "curves downwards, ACCEPTED", "global minimum", "not stationary"}
    assert {name.split(": ", 1)[1] for name in saddles} <= allowed
    assert "nearby: curves downwards, ACCEPTED" not in saddles
    assert not [name for name in saddles if name.startswith("plateau: not")]


@pytest.mark.parametrize("n", campaign.SAMPLES)
def test_descents_from_random_starts_end_at_the_proved_minimum(n):
    """SJL-T2.1: 25 starts each for n below and above d(d+1)/2 = 36, arbitrary labels, d = 8, k =
    16; the campaign has 1,000.
    """
    outcome = campaign.descend_all(campaign.Problem(n), 25)
    campaign.prove_ends(outcome, most=5)
    every_end_is_the_proved_minimum(outcome, 5)
    campaign.prove_saddles(outcome, most=4)
    no_saddle_is_without_a_direction(outcome.saddles)
    assert (
        outcome.saddles["plateau: saddle, ACCEPTED"]
        + outcome.saddles["plateau: curves downwards, ACCEPTED"]
        >= 1
    )


@pytest.mark.campaign
def test_a_thousand_descents_end_at_the_proved_minimum_one_by_one():
    """SJL-T2.1: 1,000 starts, each end with its own accepted certificate, each plateau with an
    accepted direction.
    """
    total = 0
    for n in campaign.SAMPLES:
        outcome = campaign.descend_all(campaign.Problem(n), 250)
        campaign.prove_saddles(campaign.prove_ends(outcome))
        every_end_is_the_proved_minimum(outcome, 250)
        no_saddle_is_without_a_direction(outcome.saddles)
        total += outcome.proved
    assert total == 1_000


@pytest.mark.parametrize("n", [20, 60])
def test_planted_saddles_are_classified_with_a_direction_the_checker_confirms(n):
    """SJL-T2.1, SJL-T2.2: W = 0 and minima over one to three neurons, padded with zero neurons."""
    problem = campaign.Problem(n)
    planted = campaign.planted_saddles(problem)
    assert len(planted) >= 10
    for network in planted:
        found = classify_point(network, problem.data)
        assert found.kind is PointKind.STRICT_SADDLE
        assert found.escape is not None
        verdict, numbers = campaign.verdict(network, problem.data, "strict-saddle")
        assert verdict == "ACCEPTED"
        assert numbers["curvature"] <= found.escape.curvature * (1 - 1e-9) < 0
        assert numbers["radius"] > 0


@pytest.mark.parametrize("d", [1, 2, 4])
def test_whole_census_of_the_population_risk_is_confirmed_by_the_checker(d):
    """GKZ-CENSUS: all 2^d - 1 saddles; the certified curvature is the closed form to nine
    digits.
    """
    rows = campaign.census_saddles(d)
    assert len(rows) == 2**d - 1
    for point, verdict, numbers in rows:
        assert verdict == "ACCEPTED"
        assert numbers["gamma"] == pytest.approx(-RISK_FACTOR * point.least_curvature, rel=1e-9)
        assert numbers["loss"] == pytest.approx(RISK_FACTOR * point.risk, rel=1e-9)


@pytest.mark.campaign
def test_census_of_eight_features_is_confirmed_by_the_checker():
    """GKZ-CENSUS: 255 saddles."""
    assert all(verdict == "ACCEPTED" for _, verdict, _ in campaign.census_saddles(8))


@pytest.mark.parametrize(
    ("d", "draws"), [(1, 20), (2, 20), (3, 20), (5, 20), (8, 10), (13, 4), (20, 2), (30, 1)]
)
def test_every_planted_network_is_identified_at_the_critical_number_and_ambiguous_below(d, draws):
    """GKZ-T2.6a, GKZ-T2.6b, GKZ-T2.8: exact rank in every draw, accepted certificates at n =
    d(d+1)/2 and at one sample less.
    """
    found = campaign.identification(d, draws)
    assert found.identified == draws
    assert found.identifies == "ACCEPTED"
    assert found.ambiguous == ("ACCEPTED" if d > 1 else "no sample left")
    assert found.error <= 1e-8


@pytest.mark.campaign
@pytest.mark.parametrize("d", range(1, 31))
def test_hundred_planted_networks_are_identified_in_every_dimension_up_to_thirty(d):
    """GKZ-T2.6a: 100 of 100 draws (20 from d = 20 on)."""
    draws = 100 if d < 20 else 20
    assert campaign.identification(d, draws, seed=1).identified == draws


@pytest.mark.parametrize("d", [1, 2, 5, 12, 30])
def test_barrier_is_attained_by_the_explicit_construction_to_twelve_digits(d):
    """GKZ-T2.1: exact barrier 2(d+2)/(d+1) sigma^4 at rank d - 1, and 3 sigma^4 at the paper's
    point (GKZ-T2.1c).
    """
    Wstar = campaign.conditioned_teacher(d, d + 1, seed=d)  # sigma = 1
    exact, paper = exact_barrier_point(Wstar), tight_point(Wstar)
    assert population_risk(exact, Wstar) == pytest.approx(barrier(Wstar), rel=1e-12)
    assert barrier(Wstar) == pytest.approx(2 * (d + 2) / (d + 1), rel=1e-12)
    assert population_risk(paper, Wstar) == pytest.approx(3.0, rel=1e-12)
    assert np.linalg.matrix_rank(exact) == np.linalg.matrix_rank(paper) == d - 1


def test_campaign_draws_a_picture(tmp_path):
    outcome = campaign.descend_all(campaign.Problem(60), 8, every=1)
    campaign.draw_picture(outcome, tmp_path / "descents.svg")
    assert (tmp_path / "descents.svg").read_text(encoding="utf-8").count("<path") > 10
