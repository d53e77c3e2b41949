"""The rate of DU-T3.1, DU-T3.2, DU-T3.3."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

from globalmin.deep.constants import rate_check
from globalmin.errors import DataError


def _history(losses, eta=0.1):
    return SimpleNamespace(iteration=np.arange(len(losses)), loss=np.array(losses), step_size=eta)


def test_a_run_at_exactly_the_promised_rate_holds_and_a_slower_one_fails_where_it_should():
    """DU-T3.1: L_k <= (1 - eta lambda_0/2)^k L_0, here with eta lambda_0/2 = 0.1."""
    k = np.arange(30)
    exact = rate_check(_history(5 * 0.9**k), 2.0)
    assert exact.holds
    assert exact.measured == pytest.approx(exact.promised)
    slow = rate_check(_history(5 * 0.91**k), 2.0)
    assert not slow.holds
    assert (slow.at, slow.worst) == (29, pytest.approx((0.91 / 0.9) ** 29))


def test_rounding_at_the_end_of_a_run_is_not_held_against_it():
    losses = [1.0, 1e-10, 1e-27, 3e-27, 2e-27]
    assert rate_check(_history(losses), 10.0).holds


def test_a_start_without_loss_has_nothing_to_promise():
    assert rate_check(_history([0.0, 0.0]), 1.0).holds


@pytest.mark.parametrize(("eta", "lambda0"), [(0.0, 1.0), (1.0, -1.0), (3.0, 1.0), (math.nan, 1.0)])
def test_rates_without_meaning_are_refused(eta, lambda0):
    with pytest.raises(DataError, match="lambda0"):
        rate_check(_history([1.0, 0.5], eta), lambda0)
