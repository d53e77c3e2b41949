"""The lemmas of DU chapter 2 on one instance, by formulas written out here, and where each falls
silent: another activation, a singular limit, too many pre-activations.
"""

import math
from dataclasses import replace

import numpy as np
import pytest

import globalmin as gm
from globalmin.facts.finding import ask
from globalmin.inspection.inspection import pose

FAILURE = 0.07
N, D, K = 7, 5, 40


def limit(X):
    """H-infinity by its angle formula."""
    C = np.clip(X @ X.T, -1.0, 1.0)
    np.fill_diagonal(C, 1.0)
    return C * (np.pi - np.arccos(C)) / (2 * np.pi)


@pytest.fixture(scope="module")
def it():
    data = gm.generators.sphere_with_random_labels(N, D, seed=4)
    return pose(data, K, "relu", failure=FAILURE, scheme="du")


@pytest.fixture(scope="module")
def singular():
    """A row twice: the limit is singular, for certain."""
    X = gm.generators.sphere_with_random_labels(N, D, seed=4).X
    data = gm.Dataset(np.vstack([X, X[:1]]), np.arange(N + 1.0), bias=False, scaling="none")
    return pose(data, K, "relu", failure=FAILURE, scheme="du")


@pytest.fixture(scope="module")
def smooth():
    return pose(gm.generators.sphere_with_random_labels(N, D, seed=4), K, "softplus")


def findings(report):
    return [h.finding.value for h in report.hypotheses]


def test_signs_that_can_flip_within_the_radius(it):
    """DU-L2.2, DU-L2.5: R = sqrt(2 pi) delta lambda / (16 n^2), every other number by its sum."""
    report, X, W = ask("DU-L2.2", it), it.m.X, it.start.network.W
    lam = np.linalg.eigvalsh(limit(X))[0]
    R = math.sqrt(2 * math.pi) * FAILURE * lam / (16 * N**2)
    flips = np.array([sum(abs(w @ x) < R for w in W) for x in X])
    bound = np.abs(X @ X.T) * (flips[:, None] + flips) / K
    numbers = list(dict(report.numbers).values())
    pairs = 2 / math.sqrt(2 * math.pi) * N * K * R / FAILURE
    expected = N * K * math.erf(R / math.sqrt(2))
    by_hand = [R, lam / 4, np.linalg.norm(bound, 2), pairs, expected, flips.sum()]
    assert numbers == pytest.approx(by_hand, rel=1e-7)
    assert report.failure == FAILURE
    assert findings(report) == ["holds", "holds", "holds"]


def test_flips_are_counted_where_there_are_some(it):
    """DU-L2.2 with a limit a thousand times as large: R is large enough for signs to flip."""
    m = replace(it.m, slope=replace(it.m.slope, low=1e3 * it.m.slope.low))
    report, R = ask("DU-L2.2", replace(it, m=m)), math.sqrt(2 * math.pi) * FAILURE * m.lam / 784
    flips = (np.abs(m.X @ it.start.network.W.T) < R).sum(axis=1)
    assert flips.sum() > 5
    numbers = list(dict(report.numbers).values())
    assert numbers[0] == pytest.approx(R)
    assert numbers[2] == pytest.approx(
        np.linalg.norm(np.abs(m.X @ m.X.T) * (flips[:, None] + flips) / K, 2)
    )
    assert numbers[5] == flips.sum()


def test_movement_against_the_radius_that_does_no_harm(it):
    """DU-L2.3, DU-L2.4, DU-C2.1: R' = 2 |X| |r| / (sqrt k lambda), twice that for descent."""
    report = ask("DU-L2.3", it)
    lam = np.linalg.eigvalsh(limit(it.m.X))[0]
    r = it.start.network.predict(it.m.X) - it.m.y
    moved = 2 * np.linalg.norm(it.m.X, 2) * np.linalg.norm(r) / (math.sqrt(K) * lam)
    R = math.sqrt(2 * math.pi) * FAILURE * lam / (16 * N**2)
    assert list(dict(report.numbers).values()) == pytest.approx([moved, 2 * moved, R], rel=1e-7)
    assert findings(report) == ["holds", "holds", "holds", "fails"]
    for factor, last in ((0.999, "holds"), (1.001, "fails")):
        small = replace(it.start, residual_norm=it.start.residual_norm * R / moved * factor)
        assert findings(ask("DU-L2.3", replace(it, start=small)))[-1] == last


@pytest.mark.parametrize("item", ["DU-L2.2", "DU-L2.3"])
def test_nothing_is_computed_without_a_positive_limit_of_relu(item, smooth, singular):
    """DU-L2.2, DU-L2.3: another activation or a singular limit, and no numbers are given."""
    for instance, expected in (
        (smooth, ["fails", "holds", "holds"]),
        (singular, ["holds", "holds", "fails"]),
    ):
        report = ask(item, instance)
        assert findings(report) == expected
        assert report.numbers == ()


def test_conditions_of_ours_on_the_flow(it, smooth, monkeypatch):
    """DU-CERT-L1, DU-CERT-L1C, DU-CERT-L2: computed for ReLU up to n k = the limit, and beyond it
    the size is named; a start with small residual satisfies them, the drawn one does not.
    """
    report, net, X = ask("DU-CERT-L1", it), it.start.network, it.m.X
    slopes = (X @ net.W.T > 0) * net.v
    least = np.linalg.eigvalsh((slopes @ slopes.T) * (X @ X.T))[0]
    assert dict(report.numbers)["λ_min(H) at the drawn start"] == pytest.approx(least, rel=1e-7)
    assert ask("DU-CERT-L1", smooth).numbers == ()
    assert findings(ask("DU-CERT-L1", smooth)) == ["fails", "holds"]
    near = gm.Dataset(X, net.predict(X) + 1e-5, bias=False, scaling="none")
    close = ask("DU-CERT-L1", pose(near, network=net))
    assert findings(close) == ["holds", "holds"]
    assert len(close.numbers) == 4
    for _, rate in close.numbers[1:]:  # below the limit that the start sets
        assert 0 < rate <= least * (1 + 1e-9)
    far = ask("DU-CERT-L1", pose(gm.Dataset(X, net.predict(X) + 10, bias=False), network=net))
    assert findings(far) == ["holds", "fails"]
    assert len(far.numbers) == 1
    for limit_of_size, computed in ((N * K, True), (N * K - 1, False)):
        monkeypatch.setattr("globalmin.kernels.facts_signs.FLOW_LIMIT", limit_of_size)
        assert (ask("DU-CERT-L1", it).numbers != ()) is computed
    assert findings(ask("DU-CERT-L1", it)) == ["holds", "fails"]


def test_widths_step_and_rate_of_the_thesis(it):
    """DU-L2.1, DU-T2.2, DU-T2.3: widths, eta = lambda/(4 n^2), the factor of the norm per step."""
    lam = np.linalg.eigvalsh(limit(it.m.X))[0]
    X2, y2 = np.linalg.norm(it.m.X, 2) ** 2, float(it.m.y @ it.m.y)
    first = ask("DU-L2.1", it)
    assert first.width == pytest.approx(32 * X2 * math.log(N / FAILURE) / lam, rel=1e-7)
    assert first.failure == FAILURE
    misfit = (y2 + N / 2) / FAILURE
    for item, constant in (("DU-T2.2", 512), ("DU-T2.3", 8192)):
        width = constant / math.pi * N**5 * misfit / (FAILURE**2 * lam**4)
        assert ask(item, it).width == pytest.approx(width, rel=1e-6), item
    descent = ask("DU-T2.3", it)
    assert descent.step_size == pytest.approx(lam / (4 * N**2), rel=1e-7)
    assert 1 - descent.rate**2 == pytest.approx(lam**2 / (8 * N**2), rel=1e-4)


def test_theorems_of_the_thesis_without_their_hypotheses(singular, smooth):
    """DU-L2.1, DU-T2.2, DU-T2.3: no width helps a singular limit; none is named for others."""
    for item in ("DU-L2.1", "DU-T2.2", "DU-T2.3"):
        assert ask(item, singular).width == math.inf
        assert ask(item, smooth).width is None
        assert ask(item, smooth).failure is None
