"""From the random start: runs are proved from a seed or from stored weights, what cannot be proved
says why, and the start belongs to its seed.
"""

import numpy as np
import pytest
from flint import ctx

import globalmin as gm
from globalmin.shallow.claims.replay import log_growth
from globalmin.shallow.from_start import descend, seeded_start
from globalmin.shallow.network import jacobian_gram, residual
from globalmin_check.claims.replay import _cell


@pytest.fixture(scope="module")
def data() -> gm.Dataset:
    return gm.generators.sphere_with_random_labels(6, 5, seed=0)


@pytest.mark.parametrize("activation", ["tanh", "softplus"])
def test_a_seed_is_proved_from_its_random_start(data: gm.Dataset, activation: str) -> None:
    """OS-T2.1, OS-T6.2 for one start: the conclusion with this width, these data."""
    proof = gm.prove_start(0, data, width=24, activation=activation, step_size=0.3)
    assert proof.verdict == "ACCEPTED"
    assert "cell of seed 0" in proof.statement
    assert proof.loss_lower == 0.0
    assert 0.0 < proof.loss_upper < 1.0


def test_stored_weights_are_a_start_too_and_the_file_is_kept(data: gm.Dataset, tmp_path) -> None:
    start = gm.ShallowNetwork.initialize(data, width=24, activation="tanh", seed=3)
    proof = gm.prove_start(start, data, step_size=0.3, path=tmp_path / "run.gmc")
    assert proof.verdict == "ACCEPTED"
    assert gm.check(tmp_path / "run.gmc").verdict == "ACCEPTED"
    assert "from the stored start" in proof.statement


def test_the_run_is_gradient_descent_from_the_start(data: gm.Dataset) -> None:
    """Against a plain loop: the same weights after K steps, the same norms and lengths."""
    start = gm.ShallowNetwork.initialize(data, width=24, activation="tanh", seed=1)
    run = descend(start, data, step_size=0.25)
    W, norms, lengths = start.W.copy(), [], []
    for _ in range(run.n_iter):
        r = np.tanh(data.X @ W.T) @ start.v - data.y
        G = ((1 - np.tanh(data.X @ W.T) ** 2) * start.v * r[:, None]).T @ data.X
        norms.append(np.linalg.norm(r))
        lengths.append(0.25 * np.linalg.norm(G))
        W -= 0.25 * G
    # rounding of a few hundred steps whose factors are near 1
    np.testing.assert_allclose(run.network.W, W, atol=1e-12)
    np.testing.assert_allclose(run.norms, norms, rtol=1e-10)
    np.testing.assert_allclose(run.lengths, lengths, rtol=1e-9)
    assert run.step_size == 0.25
    assert np.linalg.norm(residual(run.network, data.X, data.y)) < run.norms[-1]


def test_the_start_of_a_seed_is_the_one_the_checker_draws() -> None:
    W = seeded_start(11, 3, 4)
    before = ctx.prec
    ctx.prec = 128
    drawn = [float(_cell(f"11|{j}")) for j in range(12)]
    ctx.prec = before
    np.testing.assert_allclose(W.ravel(), drawn, rtol=1e-14)


def test_starts_of_seeds_are_normal_and_independent() -> None:
    """4,000 entries: mean, variance and the correlation of neighbors within 4 standard errors."""
    W = np.concatenate([seeded_start(seed, 20, 20).ravel() for seed in range(10)])
    n = W.size
    assert abs(W.mean()) < 4 / np.sqrt(n)
    assert abs(W.var() - 1) < 4 * np.sqrt(2 / n)
    assert abs(np.corrcoef(W[:-1], W[1:])[0, 1]) < 4 / np.sqrt(n)
    assert abs((W**4).mean() - 3) < 4 * np.sqrt(96 / n)


def test_the_precision_lost_is_what_the_replay_loses(data: gm.Dataset) -> None:
    """A ball of starts is stretched by exp(log_growth), to a few percent (|X|^2 is rounded up)."""
    from dataclasses import replace
    from fractions import Fraction

    from globalmin.proving.claim import Question
    from globalmin.proving.producer import certified
    from globalmin_check.engine import check_bytes

    start = gm.ShallowNetwork.initialize(data, width=24, activation="tanh", seed=1)
    run = descend(start, data, step_size=0.25)
    question = Question(run.network, data, options={"run": run})
    certificate, _ = certified(question, ("trajectory",))
    claim = certificate.claims[0]
    tiny = Fraction(1, 2**70)
    fields = {**claim.fields, "delta0": str(tiny)}
    wide = replace(certificate, claims=(replace(claim, fields=fields),))
    numbers = check_bytes(wide.to_bytes()).claims[0].numbers
    assert numbers is not None
    growth = np.log(float(numbers["delta"]) / float(tiny))
    assert growth == pytest.approx(log_growth(run, data.X, rows=False), rel=0.02)


def test_a_run_that_is_too_short_says_how_far_it_is(data: gm.Dataset) -> None:
    proof = gm.prove_start(0, data, width=24, activation="tanh", step_size=0.3, max_iter=3)
    assert proof.verdict == "NOT PROVED"
    assert proof.certificate is None
    assert "in 4 steps: 2 Lip ||r|| / a^2 = " in proof.reason


def test_a_step_that_is_too_long_for_the_landing_is_refused(data: gm.Dataset) -> None:
    """Descent still converges with eta b^2 between 1 and 2, and the theorem does not cover it."""
    start = gm.ShallowNetwork.initialize(data, width=24, activation="tanh", seed=0)
    largest = np.linalg.eigvalsh(jacobian_gram(start, data.X))[-1]
    proof = gm.prove_start(start, data, step_size=1.5 / largest)
    assert proof.verdict == "NOT PROVED"
    assert "the step must be at most about" in str(proof.reasons)


def test_repeated_rows_are_another_run() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4, 3))
    X[3], y = X[0], np.array([1.0, 2.0, 3.0, 1.0])
    twice = gm.Dataset(X, y, bias=False, scaling="none")
    proof = gm.prove_start(0, twice, width=24, activation="tanh", step_size=0.02)
    assert proof.verdict == "NOT PROVED"


@pytest.mark.parametrize(
    ("start", "options", "word"),
    [
        (0, {}, "width=None"),
        (0.5, {"width": 4}, "integer seed"),
        (True, {"width": 4}, "integer seed"),
        (-1, {"width": 4}, "from 0 to"),
        (10**18, {"width": 4}, "from 0 to"),
    ],
)
def test_bad_starts_name_the_argument(data: gm.Dataset, start, options, word: str) -> None:
    with pytest.raises(gm.DataError, match=word):
        gm.prove_start(start, data, **options)


def test_a_trajectory_without_its_run_names_the_remedy(data: gm.Dataset) -> None:
    start = gm.ShallowNetwork.initialize(data, width=24, activation="tanh", seed=0)
    with pytest.raises(gm.CannotCertify, match="prove_start"):
        gm.certify(start, data, claims="trajectory")
