"""`train(until="proved")`: the run keeps its start, the ladder proves it from there, other runs are
refused with a reason, and the growth of the replay's error is estimated as the checker finds it.
"""

from dataclasses import replace

import numpy as np
import pytest

import globalmin as gm
from globalmin.errors import CannotCertify, DataError
from globalmin.proving.claim import Claim, Question
from globalmin.proving.producer import certified
from globalmin.shallow.claims.replay import estimate_replay_errors, log_growth
from globalmin.shallow.claims.trajectory import build
from globalmin.shallow.from_start import StartedRun, descend, started
from globalmin.shallow.trajectory import ShallowRun
from globalmin_check.engine import check_bytes

STEP = 0.3


@pytest.fixture(scope="module")
def data() -> gm.Dataset:
    return gm.generators.sphere_with_random_labels(6, 5, seed=0)


@pytest.fixture(scope="module")
def start(data: gm.Dataset) -> gm.ShallowNetwork:
    return gm.ShallowNetwork.initialize(data, width=24, activation="tanh", seed=3)


@pytest.fixture(scope="module")
def run(start: gm.ShallowNetwork, data: gm.Dataset) -> ShallowRun:
    return gm.train(start, data, "gradient_descent", until="proved", step_size=STEP)


def test_the_run_keeps_its_start_and_is_proved_from_it(
    run: ShallowRun, start: gm.ShallowNetwork, data: gm.Dataset
) -> None:
    """OS-T2.1: the conclusion about the start of this very run, with the claims about its end."""
    assert run.status == "provable"
    assert run.start is not None
    assert run.step_size == STEP
    np.testing.assert_array_equal(run.start.W, start.W)
    proof = gm.prove(run.network, data, run=run)
    assert proof.verdict == "ACCEPTED"
    assert [claim.kind for claim in proof.claims] == ["trajectory", "descent", "interpolation"]
    assert proof.claims[0].numbers.others["steps"] == run.n_iter
    assert "from the stored start" in proof.claims[0].statement
    assert proof.reasons == {}


def test_without_the_run_the_ladder_says_nothing_of_a_start(
    run: ShallowRun, data: gm.Dataset
) -> None:
    kinds = [claim.kind for claim in gm.certify(run.network, data).claims]
    assert kinds == ["descent", "interpolation"]
    with_run = gm.certify(run.network, data, run=run)
    assert [claim.kind for claim in with_run.claims] == ["trajectory", *kinds]


def test_it_is_the_run_of_descend(run: ShallowRun, data: gm.Dataset) -> None:
    """Two loops, one rule: the same step, the same moment, the same weights to the last bit."""
    assert run.start is not None
    other, ours = descend(run.start, data, step_size=STEP), started(run)
    assert ours.n_iter == other.n_iter
    assert ours.seed is None
    np.testing.assert_array_equal(ours.network.W, other.network.W)
    # between recorded steps the residual is interpolated; a hundredth of a bit each is nothing
    np.testing.assert_allclose(ours.norms, other.norms, rtol=1e-3)
    assert ours.lengths.sum() == pytest.approx(other.lengths.sum(), rel=1e-12)
    assert log_growth(ours, data.X, rows=False) == pytest.approx(
        log_growth(other, data.X, rows=False), rel=1e-4
    )


def test_a_run_to_the_tolerance_can_be_proved_from_its_start_too(
    start: gm.ShallowNetwork, data: gm.Dataset
) -> None:
    run = gm.train(start, data, "gradient_descent", tol=1e-3, step_size=STEP)
    assert run.status == "converged"
    assert gm.prove(run.network, data, run=run, is_quick=True).claims[0].kind == "trajectory"


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"step_size": None}, "no start and step"),
        ({"start": None}, "no start and step"),
        ({"n_iter": 5}, "not that of the last of 5 steps"),
        ({"loss": 1.0}, "not that of the last"),
    ],
)
def test_what_cannot_be_replayed_says_why(run: ShallowRun, changes: dict, word: str) -> None:
    with pytest.raises(CannotCertify, match=word):
        started(replace(run, **changes))


def test_a_run_that_moved_the_head_is_refused(start: gm.ShallowNetwork, data: gm.Dataset) -> None:
    run = gm.train(start, data, "gradient_descent", trained="vW", max_iter=3, step_size=0.01)
    with pytest.raises(CannotCertify, match="both layers moved"):
        started(run)


def test_the_ladder_goes_on_below_and_tells_what_was_in_the_way(
    start: gm.ShallowNetwork, data: gm.Dataset
) -> None:
    run = gm.train(start, data, "levenberg_marquardt")
    proof = gm.prove(run.network, data, run=run)
    assert proof.verdict == "ACCEPTED"
    assert proof.claim("trajectory") is None
    assert "levenberg_marquardt has no start and step" in proof.reasons["trajectory"]


@pytest.mark.parametrize("options", [{"method": "auto"}, {"method": "sgd"}, {"trained": "vW"}])
def test_only_plain_gradient_descent_on_the_hidden_layer_is_followed_until_proved(
    start: gm.ShallowNetwork, data: gm.Dataset, options: dict
) -> None:
    with pytest.raises(DataError, match="replays from its start"):
        gm.train(start, data, **{"method": "gradient_descent", "until": "proved", **options})


def test_the_error_of_the_replay_grows_as_the_checker_finds_it(
    run: ShallowRun, data: gm.Dataset
) -> None:
    """1, 10 and 100 steps from weights where the descent theorem holds: the checker's three delta_K
    against the estimate, in units of the rounding of one step, which hardly changes.
    """
    units, growths = [], []
    for K in (1, 10, 100):
        later = gm.train(run.network, data, "gradient_descent", max_iter=K, step_size=STEP)
        proof = gm.prove(later.network, data, run=later, claims=("trajectory",))
        estimate = estimate_replay_errors(started(later), data.X)
        units.append(np.log(proof.claims[0].numbers.delta or 0.0) - estimate[-1])
        growths.append(estimate[-1])
    assert growths[2] > growths[1] + 2.0 > growths[0] + 4.0  # there is something to foresee
    assert max(units) - min(units) < 0.2


def test_the_errors_of_three_steps_by_hand(data: gm.Dataset) -> None:
    """e_1 = 1, e_2 = l_1 + 1, e_3 = l_2 (l_1 + 1) + 1, with l from the data by numpy."""
    start = gm.ShallowNetwork.initialize(data, width=24, activation="tanh", seed=1)
    run = descend(start, data, step_size=0.25)
    estimate = estimate_replay_errors(run, data.X)
    assert len(estimate) == run.n_iter + 1
    bend = 4 / 3**1.5  # sup |tanh''|
    C = bend * np.abs(start.v).max() * np.linalg.svd(data.X)[1][0]  # the rows have norm 1
    _, l1, l2 = 1.0 + 0.25 * C * run.norms[:3]
    assert estimate[0] == -np.inf
    np.testing.assert_allclose(np.exp(estimate[1:4]), [1, l1 + 1, l2 * (l1 + 1) + 1], rtol=1e-7)


def test_beyond_two_row_sums_are_used_by_themselves() -> None:
    """eta beta^2 = 2.8 with softplus, whose slopes are at most 1 and mostly a half: |J|^2 is far
    below beta^2 and the step still allowed. The bound of all |J| costs ln 1.8 in every step,
    row sums of K(w_t) cost nothing. The checker accepts the one and has lost the run with the
    other.
    """
    data = gm.generators.sphere_with_random_labels(12, 5, seed=0)
    start = gm.ShallowNetwork.initialize(data, width=24, activation="softplus", seed=0)
    beta = np.linalg.norm(start.v) * np.linalg.norm(data.X, 2)
    run = descend(start, data, step_size=2.8 / beta**2)
    claim = build(run.network, data, run)
    assert claim.fields["expansion"] == "rows"
    assert claim.fields["bits"] == 128
    lost = log_growth(run, data.X, rows=False) - log_growth(run, data.X, rows=True)
    assert lost > 68.0  # nats, the 98 bits between the rounding of 128 bits and Delta
    assert sealed(claim, run, data).verdict == "ACCEPTED"
    norm = replace(claim, fields={**claim.fields, "expansion": "norm"})
    result = sealed(norm, run, data)
    assert result.verdict == "UNDECIDED"
    assert "known to no more than Delta" in result.reason


def test_below_two_the_bound_of_all_slopes_is_cheaper_and_taken(
    run: ShallowRun, data: gm.Dataset
) -> None:
    claim = gm.certify(run.network, data, ("trajectory",), run=run).claims[0]
    assert claim.fields["expansion"] == "norm"


def sealed(claim: Claim, run: StartedRun, data: gm.Dataset):
    """The checker's result on a file with this claim."""
    question = Question(run.network, data, options={"run": run})
    certificate, _ = certified(question, ("trajectory",))
    return check_bytes(replace(certificate, claims=(claim,)).to_bytes())
