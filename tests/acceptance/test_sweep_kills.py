"""100 kill -9 of workers and driver during a sweep of 2,000 trials: nothing acknowledged is lost or
computed twice (R10).
"""

import pytest
from tests.sweep.torment import Torment

TRIALS = 2000


def _torment(folder, kills, pause, record):
    torment = Torment(folder, TRIALS, kills, pause=pause)
    repeated = torment.run()
    print(f"{torment.counts}, {repeated} executions whose result was not yet acknowledged")
    assert sum(torment.counts.values()) == kills
    assert min(torment.counts.values()) >= kills // 4
    # an execution may be repeated only if its result had not reached the ledger: what two workers
    # had in hand or on the way
    assert repeated <= 4 * kills
    for name, value in (("kills", kills), ("trials", TRIALS), ("lost", 0), ("repeated", repeated)):
        record(name, value)


def test_100_kills_lose_nothing_and_the_table_is_that_of_an_undisturbed_run(
    tmp_path, record_property
):
    _torment(tmp_path, 100, 0.02, record_property)


@pytest.mark.campaign
def test_500_kills(tmp_path, record_property):
    _torment(tmp_path, 500, 0.2, record_property)
