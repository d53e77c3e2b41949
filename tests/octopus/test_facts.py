"""What `gm.theorem` says of an octopus, number by number, written out a second time."""

import math

import pytest

from globalmin.octopus import facts
from globalmin.octopus.constants import octopus_smoothness_upper
from globalmin.octopus.extension import ExtendedOctopus
from globalmin.octopus.function import Octopus


@pytest.mark.parametrize("octopus", [Octopus(4, 2.6, 0.5), ExtendedOctopus(4, 2.6, 0.5)])
def test_how_long_descent_is_held(octopus):
    """DU-T7.3, DU-L7.2, DU-L7.3, DU-K7, DU-C7.1: L = 2.6, gamma = 0.5, the step 1/10.4."""
    report = facts.slow_descent(octopus)
    said = [value for _, value in report.numbers]
    kappa = 1 + math.log(2) / math.log1p(1 / 10.4)
    assert report.step_size == pytest.approx(1 / 10.4)
    assert said[0] == pytest.approx(kappa)
    assert said[1] == pytest.approx(6.2)
    assert said[2] == pytest.approx(kappa + 1)  # equal starts
    sums = 1 + kappa + kappa**2 + kappa**3
    assert said[3] == pytest.approx(sums / math.log1p(1 / 10.4))  # tau = e
    assert said[4] == pytest.approx(6.2**3 * 10.4)
    assert said[5] == pytest.approx(6.2**3)
    assert said[6] == 11
    assert said[7] == octopus_smoothness_upper(octopus).epsilon
    assert [c.finding.name for c in report.hypotheses] == ["HOLDS"]


def test_the_order_of_the_steps_of_perturbed_descent():
    """DU-T7.1, DU-T7.2, DU-A2: l B/eps^2 log^4(d l B/(eps^2 delta)) with delta = 1/10."""
    octopus = Octopus(3, 2.0)
    report, bounds = facts.perturbed_descent(octopus), octopus_smoothness_upper(octopus)
    said = [value for _, value in report.numbers]
    eps = bounds.epsilon
    assert eps <= bounds.gradient**2 / bounds.hessian  # what the theorem asks
    assert said == [bounds.gradient, bounds.hessian, bounds.value, eps]
    ratio = bounds.gradient * bounds.value / eps**2
    order = ratio * math.log(3 * ratio / 0.1) ** 4
    assert report.hypotheses[0].measured == f"without C: {order:.3g}"


def test_a_gaussian_start_and_the_cube_that_holds_it():
    """DU-C7.2: R = sqrt(2 ln(200 d)), and the printed R = log d; misses by the error function."""
    said = [value for _, value in facts.any_start(Octopus(5)).numbers]
    radius = math.sqrt(2 * math.log(1000))

    def miss(R):
        return 1 - math.erf(R / math.sqrt(2)) ** 5

    assert said == pytest.approx([radius, miss(radius), miss(math.log(5))])
