"""R8: every certificate that a trainer's run leads to is accepted; where nothing can be certified
it is said, and nothing is written.
"""

import warnings
from collections import Counter

import numpy as np
import pytest

import globalmin as gm
from globalmin.errors import CannotCertify, DataError, HypothesisError
from globalmin.shallow.methods.table import METHODS

SEED = 20268
ACTIVATIONS = ("softplus", "tanh", "sigmoid", "erf", "quadratic", "relu")
STEPS = 400  # of the methods that take small ones


def problem(rng):
    """A small problem with more weights than samples."""
    n, d = int(rng.integers(2, 9)), int(rng.integers(2, 6))
    data = gm.generators.sphere_with_random_labels(n, d, seed=int(rng.integers(2**31)))
    activation = str(rng.choice(ACTIVATIONS))
    width = int(np.ceil(n / d)) + int(rng.integers(1, 8))
    seed = int(rng.integers(2**31))
    return data, gm.ShallowNetwork.initialize(data, width, activation, seed=seed)


def outcome(rng, method, folder):
    """What came of one problem: the verdict, or why there is no file."""
    data, start = problem(rng)
    trained = "v" if method == "least_squares" else "W"
    try:
        run = gm.train(start, data, method=method, trained=trained, max_iter=STEPS)
    except (DataError, HypothesisError):  # a kink, say, where the method needs derivatives
        return "method refused"
    path = folder / "fit.gmc"
    path.unlink(missing_ok=True)
    try:
        gm.certify(run.network, data, trained=trained).save(path)
    except CannotCertify:
        assert not path.exists()
        return "could not certify"
    return gm.check(path).verdict.value


def trained(method, count, seed, folder, record):
    """So many problems by one method."""
    seen = Counter()
    for number in range(count):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            seen[outcome(np.random.default_rng([seed, number]), method, folder)] += 1
    judged = count - seen["method refused"]
    print(f"{method}: {dict(seen)}")
    files = judged - seen["could not certify"]
    record("problems", judged)
    record("files accepted", seen["ACCEPTED"])
    record("files refused", files - seen["ACCEPTED"])
    record("could not certify", seen["could not certify"])
    assert files == seen["ACCEPTED"]
    return seen


@pytest.mark.parametrize("method", METHODS)
def test_every_file_of_a_dozen_problems_is_accepted(method, tmp_path, record_property):
    seen = trained(method, 12, SEED, tmp_path, record_property)
    assert seen["ACCEPTED"] >= 1


@pytest.mark.campaign
@pytest.mark.parametrize("method", METHODS)
def test_every_file_of_a_thousand_problems_is_accepted(method, tmp_path, record_property):
    trained(method, 160, SEED + 1, tmp_path, record_property)
