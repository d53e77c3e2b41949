"""R19: a process that fits, proves, checks and sweeps for a long time does not grow.

`GLOBALMIN_SOAK=7200 pytest -m campaign tests/acceptance/test_soak.py` soaks for two hours.
"""

import os
import time
import warnings
from pathlib import Path

import pytest
from tests.sweep import recipes

import globalmin as gm
from globalmin import sweep

SECONDS = float(os.environ.get("GLOBALMIN_SOAK", "600"))
ACTIVATIONS = ("softplus", "tanh", "relu", "quadratic")


def resident():
    """Megabytes that this process holds."""
    fields = Path("/proc/self/statm").read_text(encoding="ascii").split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def open_files():
    return len(os.listdir("/proc/self/fd"))


def work(number, folder):
    """One round: a fit of every kind with its file and check, and a small sweep; the number of fits
    that `certify` refused (training may end in a local minimum: round 34,921 does, with tanh).
    """
    refused = 0
    for index, activation in enumerate(ACTIVATIONS):
        data = gm.generators.sphere_with_random_labels(8 + number % 5, 4, seed=number)
        run = gm.train_auto(data, width=6 + index, activation=activation, seed=number)
        try:
            proof = gm.certify(run.network, data)
        except gm.CannotCertify:
            refused += 1
            continue
        assert gm.check(proof.save(folder / "fit.gmc")).verdict.value == "ACCEPTED"
    rows = gm.generators.sphere_with_random_labels(30, 3, seed=number)
    gm.AdditiveNetworkRegressor(weight_decay=0.2).fit(rows.X, rows.y)
    if number % 10 == 0:
        out = folder / f"sweep-{number % 20}"
        plan = sweep.Plan(recipes.needs_nothing_else, grid={"a": list(range(number, number + 20))})
        sweep.run(plan, out, workers=1)
    return refused


def soak(seconds, folder, record):
    """Rounds until the time is up; memory after a tenth of it, files and memory at the end."""
    started, number, warm, files = time.monotonic(), 0, 0.0, 0
    peak, refused = 0.0, 0
    while (now := time.monotonic() - started) < seconds or number < 12:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            refused += work(number, folder)
        number += 1
        if not warm and now > seconds / 5 and number > 5:
            warm, files = resident(), open_files()
        peak = max(peak, resident() if warm else 0.0)
    growth = 100 * (peak / warm - 1)
    print(f"{number} rounds in {now:.0f} s: {warm:.0f} MB, then at most {peak:.0f} MB")
    record("seconds", round(now))
    record("rounds", number)
    record("could not certify", refused)
    assert refused <= number / 100, "a fit in four hundred may end in a local minimum, not more"
    record("largest growth in percent", round(growth, 2))
    record("largest change of open files", open_files() - files)
    assert open_files() == files
    return growth


def test_a_short_soak_leaves_no_files_open(tmp_path, record_property):
    soak(10.0, tmp_path, record_property)


@pytest.mark.campaign
def test_a_long_soak_does_not_grow(tmp_path, record_property):
    assert soak(SECONDS, tmp_path, record_property) < 5.0
