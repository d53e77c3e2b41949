"""From the start with both layers, by single samples, and into a loss: runs are proved, their
estimates are those of the replay, and what cannot be proved says why.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import globalmin as gm
from globalmin.proving.claim import Proves, Question
from globalmin.proving.producer import certified
from globalmin.shallow.claims.replay import log_growth
from globalmin.shallow.claims.sgd_trajectory import (
    SampleConstants,
    landing_radius,
    sample_constants,
    stochastic_landing,
)
from globalmin.shallow.from_start import StartedRun, descend
from globalmin.shallow.lipschitz import estimate_lipschitz
from globalmin.shallow.network import jacobian_gram
from globalmin.shallow.stochastic_start import descend_by_samples
from globalmin_check.engine import check_bytes


@pytest.fixture(scope="module")
def data() -> gm.Dataset:
    return gm.generators.sphere_with_random_labels(5, 4, seed=0)


def start_of(data: gm.Dataset, activation: str = "tanh") -> gm.ShallowNetwork:
    return gm.ShallowNetwork.initialize(data, width=20, activation=activation, seed=1)


@pytest.mark.parametrize("activation", ["tanh", "softplus"])
def test_both_layers_are_proved_from_a_start(data: gm.Dataset, activation: str) -> None:
    proof = gm.prove_start(start_of(data, activation), data, trained="vW")
    assert proof.verdict == "ACCEPTED", proof.why
    assert "both layers (one common step)" in proof.statement
    assert proof.reaches_minimum


def test_the_weights_of_a_seed_are_stored_for_both_layers(data: gm.Dataset) -> None:
    proof = gm.prove_start(0, data, width=20, activation="tanh", trained="vW")
    assert proof.verdict == "ACCEPTED", proof.why
    assert "from the stored start" in proof.statement
    numbers = proof.claims[0].numbers.others
    assert numbers["trained"] == "vW"
    assert numbers["seed"] == ""


def test_single_samples_are_proved_from_the_cell_of_a_seed(data: gm.Dataset) -> None:
    """OS-T2.6 for one start and one order."""
    options = {"width": 20, "activation": "tanh", "method": "sgd"}
    proof = gm.prove_start(0, data, **options)
    assert proof.verdict == "ACCEPTED", proof.why
    assert "cell of seed 0" in proof.statement
    assert "each block of 5 further steps meets all samples" in proof.statement
    assert proof.reaches_minimum
    other = gm.prove_start(0, data, **options, shuffle_seed=1)
    assert other.certificate != proof.certificate


@pytest.mark.parametrize("activation", ["tanh", "quadratic"])
def test_a_run_into_a_loss_is_proved_and_promises_no_minimum(
    data: gm.Dataset, activation: str
) -> None:
    proof = gm.prove_start(start_of(data, activation), data, landing="loss", max_iter=30)
    assert proof.verdict == "ACCEPTED", proof.why
    assert proof.claims[0].proves is Proves.POINT
    assert not proof.reaches_minimum
    record = proof.claims[0].record
    assert record is not None
    assert "zero" not in record.sentence
    numbers = proof.claims[0].numbers
    assert float(numbers.others["steps"]) <= 30
    assert numbers.loss_upper is not None
    # Delta moves the residual by 1e-8 of its size or so
    assert 1.0 <= float(numbers.others["bound"]) / numbers.loss_upper < 1.0 + 1e-4


def test_a_run_into_a_loss_ends_at_its_tolerance(data: gm.Dataset) -> None:
    run = descend(start_of(data), data, step_size=0.3, landing="loss", tol=0.1)
    assert run.norms[-1] > 0.1 * np.linalg.norm(data.y)
    proof = gm.prove_start(start_of(data), data, step_size=0.3, landing="loss", tol=0.1)
    assert float(proof.claims[0].numbers.others["steps"]) == run.n_iter
    none = descend(start_of(data), data, step_size=0.3, landing="loss", max_iter=0)
    assert none.n_iter == 0


def test_the_run_of_both_layers_is_gradient_descent(data: gm.Dataset) -> None:
    """Against a plain loop: the same weights after K steps, the same lengths."""
    start = start_of(data)
    run = descend(start, data, step_size=0.02, trained="vW")
    W, v, lengths = start.W.copy(), start.v.copy(), []
    for _ in range(run.n_iter):
        Q = np.tanh(data.X @ W.T)
        r = Q @ v - data.y
        G, g = ((1 - Q**2) * v * r[:, None]).T @ data.X, Q.T @ r
        lengths.append(0.02 * np.sqrt(np.sum(G**2) + g @ g))
        W, v = W - 0.02 * G, v - 0.02 * g
    # rounding of a few hundred steps whose factors are near 1
    np.testing.assert_allclose(run.network.W, W, atol=1e-12)
    np.testing.assert_allclose(run.network.v, v, atol=1e-12)
    np.testing.assert_allclose(run.lengths, lengths, rtol=1e-9)


def test_the_run_by_samples_is_stochastic_descent(data: gm.Dataset) -> None:
    start = start_of(data)
    run = descend_by_samples(start, data, step_size=0.4)
    assert run.order is not None
    assert len(run.order) % 5 == 0
    for epoch in run.order.reshape(-1, 5):
        assert sorted(epoch) == [0, 1, 2, 3, 4]
    W, lengths = start.W.copy(), []
    for i in run.order:
        Q = np.tanh(W @ data.X[i])
        r = Q @ start.v - data.y[i]
        G = r * np.outer((1 - Q**2) * start.v, data.X[i])
        lengths.append(0.4 * np.linalg.norm(G))
        W = W - 0.4 * G
    np.testing.assert_allclose(run.network.W, W, atol=1e-11)
    np.testing.assert_allclose(run.lengths, lengths, rtol=1e-6, atol=1e-14)


def checked_growth(run: StartedRun, data: gm.Dataset, kind: str) -> float:
    """The logarithm of what becomes of a tiny ball of starts in the checker's replay."""
    question = Question(run.network, data, options={"run": run})
    certificate, _ = certified(question, (kind,))
    claim, tiny = certificate.claims[0], Fraction(1, 2**70)
    wide = replace(claim, fields={**claim.fields, "delta0": str(tiny)})
    raw = replace(certificate, claims=(wide,)).to_bytes()
    numbers = check_bytes(raw).claims[0].numbers
    assert numbers is not None
    return float(np.log(float(numbers["delta"]) / float(tiny)))


def test_the_precision_lost_is_what_the_replay_loses(data: gm.Dataset) -> None:
    """The estimate of the producer against the checker, to a few percent (|X|^2 is rounded up)."""
    both = descend(start_of(data), data, step_size=0.02, trained="vW")
    single = descend_by_samples(start_of(data), data, step_size=0.4)
    for run, kind in ((both, "trajectory"), (single, "sgd-trajectory")):
        growth = checked_growth(run, data, kind)
        assert growth == pytest.approx(log_growth(run, data.X, rows=False), rel=0.02)


def test_the_landing_of_samples_has_the_letters_of_the_theorem() -> None:
    """eta = 1/2, m = 1, ell = 2, beta = 3, n = 4: cc = 3/8, kap = 2/3, gam = (3/8) (1/10/3)^2."""
    found = stochastic_landing(
        SampleConstants(1.0, 2.0, 3.0), 0.5, 4, alpha=0.1, g=1e-6, Delta=1e-7, rho=1.0
    )
    gam, D = 0.375 * (0.1 / 3.0) ** 2, (1e-6 + 3e-7) / 0.1
    M = 4 / gam * 0.5 * np.sqrt(5.0 / 0.375) * D
    np.testing.assert_allclose([found.gam, found.D, found.M], [gam, D, M], rtol=1e-12)
    assert found.ratio == pytest.approx(max(16 * (2 / 3) * D * D / gam, D + M + 1e-7), rel=1e-12)
    too_long = stochastic_landing(
        SampleConstants(1.0, 2.0, 3.0), 2.0, 4, alpha=0.1, g=1e-6, Delta=1e-7, rho=1.0
    )
    assert too_long.ratio == np.inf


def test_the_bounds_of_samples_hold_and_are_attained_at_zero_weights(data: gm.Dataset) -> None:
    """m, beta at W = 0, where every slope of tanh is 1; the radius takes a quarter of a."""
    start = start_of(data)
    bounds = sample_constants(start, data.X)
    still = start.with_weights(W=np.zeros_like(start.W))
    K = jacobian_gram(still, data.X)
    assert bounds.m**2 == pytest.approx(float(np.diag(K).max()), rel=1e-12)
    assert bounds.beta**2 == pytest.approx(float(np.linalg.eigvalsh(K)[-1]), rel=1e-12)
    longest = float(np.max(np.sum(data.X**2, axis=1)))
    expected = 0.7698003589195010 * float(np.abs(start.v).max()) * longest
    assert bounds.ell == pytest.approx(expected, rel=1e-7)
    rho = landing_radius(start, data.X, 0.1)
    assert rho * estimate_lipschitz(start, data.X, rho) == pytest.approx(0.025, rel=1e-3)


def test_runs_that_are_too_short_say_how_far_they_are(data: gm.Dataset) -> None:
    short = gm.prove_start(start_of(data), data, method="sgd", max_iter=12)
    assert short.verdict == "NOT PROVED"
    assert "in 10 steps: its ratio is" in short.reason
    both = gm.prove_start(start_of(data), data, trained="vW", max_iter=3)
    assert "2 Lip ||r|| / a^2 = " in both.reason


def test_a_step_beyond_stability_is_refused(data: gm.Dataset) -> None:
    start = start_of(data)
    long = 2.5 / sample_constants(start, data.X).m ** 2
    proof = gm.prove_start(start, data, method="sgd", step_size=long, max_iter=50)
    assert proof.verdict == "NOT PROVED"


def test_the_step_of_the_theorem_for_samples_is_tiny(data: gm.Dataset) -> None:
    """OS-T2.6 asks for a step with which nothing happens in a few hundred steps."""
    start = start_of(data, "softplus")
    proof = gm.prove_start(start, data, method="sgd", step_size="theory", max_iter=50)
    assert proof.verdict == "NOT PROVED"
    assert "in 50 steps" in proof.reason
    with pytest.raises(gm.HypothesisError, match=r"OS-T2\.6 needs mu"):
        gm.prove_start(start_of(data), data, method="sgd", step_size="theory")


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"trained": "v"}, "trained"),
        ({"method": "adam"}, "method"),
        ({"landing": "moon"}, "landing"),
        ({"trained": "vW", "method": "sgd"}, "trained='vW' with method='sgd'"),
        ({"trained": "vW", "landing": "loss"}, "landing='loss'"),
        ({"method": "sgd", "landing": "loss"}, "its own theorem"),
    ],
)
def test_variants_that_do_not_exist_are_named(data: gm.Dataset, options, word: str) -> None:
    with pytest.raises(gm.DataError, match=word):
        gm.prove_start(start_of(data), data, **options)


def test_claims_without_their_run_name_the_remedy(data: gm.Dataset) -> None:
    with pytest.raises(gm.CannotCertify, match="method='sgd'"):
        gm.certify(start_of(data), data, claims="sgd-trajectory")


def test_single_samples_of_kinked_networks_and_repeated_rows_are_refused(data: gm.Dataset) -> None:
    relu = gm.ShallowNetwork.initialize(data, width=20, activation="relu", seed=1)
    for other in ({"method": "sgd"}, {"trained": "vW"}):
        with pytest.raises(gm.DataError, match="a network with kinks leave them out"):
            gm.prove_start(relu, data, max_iter=5, **other)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4, 3))
    X[3], y = X[0], np.array([1.0, 2.0, 3.0, 1.0])
    twice = gm.Dataset(X, y, bias=False, scaling="none")
    proof = gm.prove_start(0, twice, width=24, activation="tanh", method="sgd", max_iter=20_000)
    assert proof.verdict == "NOT PROVED"
