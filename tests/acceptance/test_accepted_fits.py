"""Random labels on the unit sphere: the fits of the issue end in files that the independent checker
accepts (OS-C2, DU-CERT-0).

Twenty seeds a configuration; the same rows make the table in docs/figures.md (`python -m
bench.acceptance`).
"""

import numpy as np
import pytest
from bench import acceptance

SEEDS = 20


@pytest.mark.parametrize("configuration", acceptance.ALL, ids=str)
def test_the_promised_share_of_seeds_is_accepted(configuration):
    outcomes = [acceptance.outcome(configuration, seed) for seed in range(SEEDS)]
    refused = {seed: one.verdict for seed, one in enumerate(outcomes) if one.verdict != "ACCEPTED"}
    print(acceptance.row(configuration, outcomes))
    assert len(refused) <= round((1 - configuration.target) * SEEDS), refused
    assert max(one.starts for one in outcomes) <= 6
    accepted = [one.relative_residual for one in outcomes if one.verdict == "ACCEPTED"]
    assert np.median(accepted) < 1e-12
