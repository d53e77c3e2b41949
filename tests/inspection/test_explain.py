"""`gm.explain`: slacks against inequalities written out here, planted violations seen, runs that no
chapter speaks of refused.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest

import globalmin as gm
from globalmin.errors import DataError
from globalmin.factorization.train import descend_factors
from globalmin.facts.explanation import Explanation, Lemma, Promise, steps_to_read
from globalmin.one_filter.landscape import barrier, smoothness
from globalmin.one_filter.network import population_gradient
from globalmin.one_filter.train import population_run, sample_run
from globalmin.patches.constants import estimate_constants
from globalmin.patches.inputs import close_patches, gaussian_patches, random_filter
from globalmin.patches.model import filter_gradient, filter_outputs
from globalmin.patches.rates import good_angles, max_step, plan_sgd
from globalmin.patches.train import fit_filter

TEACHER = gm.FilterTeacher([2.0, 0.0, 0.0], [0.8, -0.6, 0.3])
START = gm.OneFilterNetwork([math.cos(1.1), math.sin(1.1), 0.0], [0.5, -0.2, 0.1])


def weights_along(eta: float, n: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """(v, a) of gradient descent on the population loss, by its gradient."""
    v, a, path = START.v, START.a, []
    for _ in range(n + 1):
        path.append((v, a))
        dv, da = population_gradient(v, a, TEACHER)
        v, a = v - eta * dv, a - eta * da
    return path


def test_slacks_of_chapter_five_are_the_inequalities_along_the_weights() -> None:
    """DU-L5.2, DU-L5.4, DU-L5.8, DU-L5.10, DU-L5.12, DU-L5.9, DU-C5.1, DU-T5.3x: from the vectors
    themselves, W = 2.
    """
    eta = 0.003
    run = population_run(START, TEACHER, step_size=eta, max_iter=60)
    found = gm.explain(run, TEACHER)
    assert found.holds
    path = weights_along(eta, 60)
    phi = np.array([math.acos(v[0] / np.linalg.norm(v)) for v, _ in path])
    sums = np.array([a.sum() for _, a in path])
    b = np.array([a @ (2 * TEACHER.a) for _, a in path])
    s, size = 2 * TEACHER.s, 4 * TEACHER.size
    np.testing.assert_allclose(found.lemma("DU-L5.2").slack[1:], phi[:-1] - phi[1:], atol=1e-12)
    np.testing.assert_allclose(found.lemma("DU-L5.4").slack[1:], s**2 - s * sums[1:], atol=1e-12)
    np.testing.assert_allclose(found.lemma("DU-L5.8").slack[1:], size + s**2 - b[1:], atol=1e-12)
    c = (3 + math.pi - 1) / (2 * math.pi)
    g0 = (math.pi - 1.1) * math.cos(1.1) + math.sin(1.1)
    bound = (1 - eta * c) ** np.arange(61) * abs(s - sums[0]) + (math.pi - g0) * s / (2 + math.pi)
    np.testing.assert_allclose(found.lemma("DU-L5.10").slack, bound - abs(s - sums), atol=1e-12)
    lengths = np.array([v @ v for v, _ in path])
    np.testing.assert_allclose(found.lemma("DU-L5.9").slack, 2 - lengths, atol=1e-12)
    beta0 = min(b[0], (g0 - 1) / (math.pi - 1) * size)
    np.testing.assert_allclose(found.lemma("DU-C5.1").slack, b - beta0, atol=1e-12)
    rate = 1 - eta * math.cos(1.1) * beta0 / 8
    np.testing.assert_allclose(found.measured, np.sin(phi) ** 2, atol=1e-12)
    np.testing.assert_allclose(
        found.envelope, math.sin(1.1) ** 2 * rate ** np.arange(61), rtol=1e-12
    )
    np.testing.assert_allclose(
        found.lemma("DU-T5.3x").slack, found.envelope - found.measured, atol=1e-14
    )
    assert found.lemma("DU-L5.2").scale == found.lemma("DU-L5.5").scale == 1.0
    assert found.lemma("DU-L5.4").scale == pytest.approx(size + s**2)
    height = math.sqrt(size)
    assert found.lemma("DU-L5.10").scale == pytest.approx(abs(s) + height)
    miss = np.array([np.linalg.norm(a - 2 * TEACHER.a) for _, a in path])
    g = (math.pi - phi) * np.cos(phi) + np.sin(phi)
    eps = np.maximum(miss / height, math.pi - g)
    near = ((2 + math.pi) * eps / (4 * math.pi) + (1 + eps) / (2 * math.pi)) * eps * size
    np.testing.assert_allclose(found.lemma("DU-L5.12").slack, near - run.losses, atol=1e-10)
    heads = (1 - eta * (math.pi - 1) / (2 * math.pi)) ** np.arange(61) * miss[0]
    heads = heads + (math.pi - g0) / (math.pi - 1) * height
    np.testing.assert_allclose(found.lemma("DU-L5.11").slack, heads - miss, atol=1e-10)


def test_promises_of_chapter_five_say_when_and_why_not() -> None:
    """DU-T5.3x, DU-B5, DU-C5.2, DU-T5.5: phase one in time; the trap test at the first step below
    the barrier and its largest step; silence with the reason.
    """
    slow = gm.explain(population_run(START, TEACHER, step_size=0.003, max_iter=2400), TEACHER)
    kept = slow.promise("DU-T5.3x")
    assert kept.kept is True
    assert kept.happened < kept.promised < 2400
    run = population_run(START, TEACHER, step_size=0.1, max_iter=30)
    quick = gm.explain(run, TEACHER)
    assert quick.promise("DU-T5.3x").kept is None
    assert "above 0.00868" in quick.promise("DU-T5.3x").words
    trap = quick.promise("DU-B5")
    assert run.losses[0] < barrier(TEACHER)
    assert "from step 0 on it goes to the global" in trap.words
    assert trap.promised == pytest.approx(2 / smoothness(START.v, START.a, TEACHER))
    assert (trap.happened, trap.kept) == (0.1, True)
    head = quick.promise("DU-C5.2")
    assert head.promised == pytest.approx(2 * math.pi * math.log(2) / (math.pi - 1) / 0.1)
    assert head.kept is True
    weak = gm.OneFilterNetwork(START.v, [0.004, -0.002, 0.001])
    late = gm.explain(population_run(weak, TEACHER, step_size=0.02, max_iter=200), TEACHER)
    own_g = (math.pi - 1.1) * math.cos(1.1) + math.sin(1.1)
    b = population_run(weak, TEACHER, step_size=0.02, max_iter=200).b
    first = int(np.argmax(b >= (own_g - 1) / (math.pi - 1) * TEACHER.size * 2 / 2))
    assert first > 5
    assert late.promise("DU-C5.2").happened == first
    assert late.promise("DU-C5.2").kept is True
    other = gm.OneFilterNetwork([-0.5, 1.0, 0.0], [-0.5, 0.2, -0.1])
    lost = gm.explain(population_run(other, TEACHER, step_size=0.1, max_iter=300), TEACHER)
    assert lost.verdict.startswith("trapped")
    assert "spurious" in lost.promise("DU-B5").words
    assert lost.promise("DU-T5.5").kept is True
    assert "length 1" in lost.promise("DU-T5.3x").words
    assert "basin set" in lost.promise("DU-C5.2").words
    flipped = gm.OneFilterNetwork(START.v, -START.a)
    side = gm.explain(population_run(flipped, TEACHER, step_size=0.001, max_iter=3), TEACHER)
    assert "not in the basin set" in side.promise("DU-T5.3x").words
    assert "never fell below" in side.promise("DU-B5").words
    assert side.verdict.startswith("undecided")
    assert side.promise("DU-T5.5").kept is None


def test_the_head_may_be_late_by_the_rest_of_a_step_and_no_more(monkeypatch) -> None:
    """DU-C5.2: promised after 20.3 steps of 0.1: the 21st keeps it, the 22nd does not; a run of 20
    steps says nothing.
    """
    run = population_run(START, TEACHER, step_size=0.1, max_iter=30)
    for first, kept in ((20, True), (21, True), (22, False)):
        reached = np.where(np.arange(31) < first, 0.0, 9.0)
        monkeypatch.setattr(type(run), "b", property(lambda _, b=reached: b))
        said = gm.explain(run, TEACHER).promise("DU-C5.2")
        assert (said.happened, said.kept) == (first, kept)
    monkeypatch.undo()
    short = population_run(START, TEACHER, step_size=0.1, max_iter=19)
    assert gm.explain(short, TEACHER).promise("DU-C5.2").kept is None


def test_bounds_of_sum_and_head_speak_up_to_their_largest_step() -> None:
    """DU-L5.10, DU-L5.11: a step of 2 pi/(k + pi - 1) is allowed, a longer one is not."""
    most = 2.0 * math.pi / (3 + math.pi - 1.0)
    for step, spoken in ((most, True), (1.01 * most, False)):
        found = gm.explain(population_run(START, TEACHER, step_size=step, max_iter=3), TEACHER)
        assert (found.lemma("DU-L5.10").n_steps > 0) is spoken
        assert (found.lemma("DU-L5.11").n_steps > 0) is spoken


def test_first_step_below_the_barrier_is_the_one_named() -> None:
    """DU-B5: a start above the barrier; the step is the first with a smaller loss."""
    start = gm.OneFilterNetwork(START.v, [3.0, 2.0, -1.0])
    run = population_run(start, TEACHER, step_size=0.05, max_iter=200)
    first = int(np.argmax(run.losses < barrier(TEACHER)))
    assert first > 0
    assert f"from step {first} on" in gm.explain(run, TEACHER).promise("DU-B5").words


def test_another_teacher_or_a_run_on_samples_is_refused() -> None:
    """DU-X5.a: the recursion must meet the recorded angles."""
    run = population_run(START, TEACHER, step_size=0.1, max_iter=30)
    with pytest.raises(DataError, match="not gradient descent on the loss of this teacher"):
        gm.explain(run, gm.FilterTeacher([0.0, 1.0, 0.0], TEACHER.a))
    with pytest.raises(DataError, match="FilterTeacher"):
        gm.explain(run, np.eye(3))
    with pytest.raises(DataError, match="give what the run was trained on"):
        gm.explain(run)
    samples = sample_run(START, gaussian_patches(20, 3, 3, 0), np.ones(20), max_iter=2)
    with pytest.raises(DataError, match="made on samples"):
        gm.explain(samples, TEACHER)


def patch_problem(k: int, spread: float, n: int = 400) -> tuple[np.ndarray, ...]:
    w_star = random_filter(3, 0)
    Z = close_patches(n, k, w_star, spread, 1, sigma=0.7)
    return Z, w_star, w_star + 0.4 * random_filter(3, 5), filter_outputs(Z, w_star)


def test_slacks_of_chapter_six_are_the_inequalities_of_its_proofs() -> None:
    """DU-T6.3, DU-D6.2: inner product, size of the gradient and contraction at every step, by the
    gradient and the constants; the step is found from the losses.
    """
    Z, w_star, w0, y = patch_problem(3, 0.05)
    known = estimate_constants(Z, w_star, n_bootstrap=0, seed=4)
    low, high = good_angles(known, math.asin(0.4))
    eta = 0.8 * max_step(known, math.asin(0.4))
    assert eta > 0
    run = fit_filter(Z, y, w0, step_size=eta, max_iter=40, tol=0.0)
    found = gm.explain(run, Z, teacher=w_star, seed=4)
    assert found.holds
    assert f"step {eta:.4g}" in found.about
    inner, size, shrink = found.lemmas[1:4]
    w, seen = w0, 0
    for t in range(40):
        gradient, gap = filter_gradient(Z, y, w), w - w_star
        r2 = float(gap @ gap)
        phi = math.asin(math.sqrt(r2))
        margin = known.gamma(phi) - 6 * known.cross(phi)
        assert inner.slack[t] == pytest.approx(gradient @ gap - margin * r2, abs=1e-9)
        most = known.largest(0.0) + 10 * known.cross(phi) + 4 * known.beta
        assert size.slack[t] == pytest.approx(
            most * math.sqrt(r2) - np.linalg.norm(gradient), abs=1e-9
        )
        w = w - eta * gradient
        if eta <= max_step(known, phi):
            seen += 1
            expected = (1 - eta * margin / 2) * r2 - np.sum((w - w_star) ** 2)
            assert shrink.slack[t] == pytest.approx(expected, abs=1e-9)
            assert found.envelope[t] >= found.measured[t] * (1 - 1e-9)
        else:
            assert math.isnan(shrink.slack[t])
    assert seen > 5
    assert found.measured[-1] == pytest.approx(np.linalg.norm(w - w_star))
    ends = [p for p in found.promises if p.item == "DU-T6.3"]
    assert ends[0].promised == pytest.approx(max_step(known, math.asin(0.4)), rel=1e-6)
    assert ends[0].happened == pytest.approx(eta)
    assert ends[1].promised == pytest.approx(math.sin(low))
    assert high > math.asin(0.4)
    explicit = gm.explain(run, Z, teacher=w_star, step_size=eta, seed=4)
    np.testing.assert_allclose(explicit.measured, found.measured, rtol=1e-9)


def test_a_run_that_begins_at_its_teacher_is_explained_too() -> None:
    """No loss, no step: what is found again is the run, to the last bit."""
    Z, w_star, _, y = patch_problem(4, 0.1, 50)
    run = fit_filter(Z, y, w_star, method="gradient_descent", step_size=0.1, max_iter=3)
    assert run.losses.tolist() == [0.0]
    found = gm.explain(run, Z, teacher=w_star, step_size=0.1)
    assert found.lemma("DU-D6.2").holds
    assert found.measured.tolist() == [0.0]


def test_one_neuron_has_both_terms_and_its_own_theorem() -> None:
    """DU-L6.1, DU-T6.2, DU-T6.4: k = 1, no cross term, and a plan for SGD."""
    Z, w_star, w0, y = patch_problem(1, 0.0)
    run = fit_filter(Z, y, w0, step_size=0.02, max_iter=300, tol=0.0)
    found = gm.explain(run, Z, teacher=w_star)
    assert found.holds
    assert found.lemma("DU-L6.1").n_steps == len(found.steps) <= 200
    assert found.lemma("DU-L6.1").least >= 0.0
    assert found.lemma("DU-T6.2").n_steps > 0
    assert found.promise("DU-T6.4").promised > 1
    assert found.promise("DU-T6.1").words.startswith("the start beats")
    Z = gaussian_patches(400, 1, 3, 2)  # of different lengths
    run = fit_filter(Z, filter_outputs(Z, w_star), w0, step_size=0.01, max_iter=2, tol=0.0)
    known = estimate_constants(Z, w_star, n_bootstrap=0)
    longest = float(np.max(np.sum(Z**2, axis=2)))
    plan = plan_sgd(known, 0.4, gradient_bound=longest, eps=0.2, delta=0.1, W=1.0)
    promised = gm.explain(run, Z, teacher=w_star).promise("DU-T6.4").promised
    assert promised == pytest.approx(plan.n_steps, rel=1e-6)


def test_steps_of_sgd_do_not_depend_on_the_unit_of_the_teacher() -> None:
    """DU-T6.4: teacher, start and labels three times as large ask for as many steps."""
    Z, w_star, w0, _ = patch_problem(1, 0.05, n=100)
    promised = []
    for unit in (1.0, 3.0):
        y = filter_outputs(Z, unit * w_star)
        run = fit_filter(Z, y, unit * w0, step_size=0.02, max_iter=2, tol=0.0)
        found = gm.explain(run, Z, teacher=unit * w_star, step_size=0.02)
        promised.append(found.promise("DU-T6.4").promised)
    assert promised[0] > 1
    assert promised[1] == pytest.approx(promised[0], rel=1e-6)


def test_runs_that_chapter_six_does_not_follow_are_refused() -> None:
    """DU-M6: other methods, other labels, a run without a step, no step that fits."""
    Z, w_star, w0, y = patch_problem(2, 0.05, n=100)
    with pytest.raises(DataError, match="method='sgd'"):
        gm.explain(fit_filter(Z, y, w0, method="sgd", max_iter=2), Z, teacher=w_star)
    run = fit_filter(Z, y, w0, step_size=0.1, max_iter=5, tol=0.0)
    with pytest.raises(DataError, match="in the run and"):
        gm.explain(run, Z, teacher=w_star, step_size=0.2)
    with pytest.raises(DataError, match="teacher"):
        gm.explain(run, Z, teacher=-w_star)
    with pytest.raises(DataError, match="made no step"):
        gm.explain(fit_filter(Z, y, w_star, max_iter=5), Z, teacher=w_star)
    far = gm.explain(
        fit_filter(Z, y, w_star + 1.5 * random_filter(3, 5), step_size=0.1, max_iter=3), Z,
        teacher=w_star,
    )  # fmt: skip
    assert far.promise("DU-T6.3").words.startswith("silent")


def trained_softplus() -> tuple[gm.Dataset, gm.ShallowNetwork]:
    data = gm.generators.sphere_with_random_labels(10, 6, seed=0)
    net = gm.ShallowNetwork.initialize(data, width=60, activation="softplus", seed=0)
    return data, gm.train(net, data, tol=1e-4, method="gradient_descent").network


def test_shallow_run_is_under_the_envelope_of_its_start() -> None:
    """OS-C1, OS-LC.2, SJL-L7.12, DU-Q2.6: rate, path, signs and gradient along a run from weights
    at which the theorem speaks; the planted violation is seen.
    """
    data, net = trained_softplus()
    run = gm.train(net, data, method="gradient_descent", max_iter=80, tol=0.0)
    found = gm.explain(run, data)
    assert found.holds
    assert run.start == net
    assert all(lemma.n_steps > 0 for lemma in found.lemmas)
    rate = next(p for p in found.promises if p.item == "OS-C1")
    assert rate.kept is True
    np.testing.assert_allclose(found.envelope, found.measured[0] * rate.promised**found.steps)
    np.testing.assert_allclose(found.lemmas[0].slack, found.envelope - found.measured)
    assert found.promise("DU-Q2.6").promised == pytest.approx(run.losses[-1], rel=0.05)
    path = run.trajectory
    worse = replace(
        path,
        loss=path.loss * 1.01**path.iteration,
        pattern_changes=path.pattern_changes + 9_999,
    )
    seen = gm.explain(replace(run, trajectory=worse), data)
    assert not seen.holds
    assert seen.lemma("OS-LC.2").holds is False
    assert seen.lemmas[0].holds is False


def test_relu_run_stands_beside_chapter_two() -> None:
    """DU-T2.3, DU-C2.1, DU-L2.2, OS-C3: the width asked for is not met, so the rate is no promise;
    the movement is one where the rate was met.
    """
    data = gm.generators.sphere_with_random_labels(8, 6, seed=1)
    net = gm.ShallowNetwork.initialize(data, width=800, activation="relu", scheme="du", seed=0)
    run = gm.train(net, data, method="gradient_descent", step_size=0.05, max_iter=60, tol=0.0)
    found = gm.explain(run, data)
    assert found.holds
    lambda0 = float(np.linalg.eigvalsh(gm.theory.limit_gram(data.X, "relu"))[0])
    rate = found.promise("DU-T2.3")
    assert rate.promised == pytest.approx(math.sqrt(1 - 0.05 * lambda0 / 2))
    assert rate.kept is None
    assert found.promise("DU-L2.2").promised == pytest.approx(lambda0 / 2)
    moved = found.promise("DU-C2.1")
    r0 = math.sqrt(2 * run.losses[0])
    X_norm = np.linalg.norm(data.X, 2)
    assert moved.promised == pytest.approx(4 * X_norm * r0 / (math.sqrt(800) * lambda0))
    assert moved.happened == pytest.approx(np.linalg.norm(run.network.W - net.W, axis=1).max())
    assert moved.kept is True
    with pytest.raises(DataError, match="gradient descent"):
        gm.explain(gm.train(net, data, method="levenberg_marquardt", max_iter=2), data)
    both = gm.train(net, data, method="gradient_descent", trained="vW", max_iter=5, tol=0.0)
    with pytest.raises(DataError, match="trained='W'"):
        gm.explain(both, data)


def test_factorization_monitors_by_step() -> None:
    """DU-T4.4, DU-L4.4: Lemma 4.1 and (4.16) from the recorded columns; the finish is left out; a
    rise of the loss is seen.
    """
    rng = np.random.default_rng(0)
    M = rng.standard_normal((12, 3)) @ rng.standard_normal((3, 9))
    norm = float(np.linalg.norm(M))
    run = gm.factorize(M, 3)
    found = gm.explain(run, M)
    assert found.holds
    assert found.steps[-1] == run.n_iter
    balance, rise, low, size, drop = found.lemmas
    n = len(found.steps)
    np.testing.assert_allclose(balance.slack, 0.01 * norm - run.imbalance[:n])
    np.testing.assert_allclose(rise.slack[1:], -np.diff(run.losses[:n]))
    np.testing.assert_allclose(low.slack, 2 * norm**2 - run.losses[:n])
    largest = np.maximum(run.norm_u, run.norm_v)[:n] ** 2
    np.testing.assert_allclose(size.slack, 5 * math.sqrt(3) * norm - largest)
    assert drop.holds is None  # the default step is above 1/beta
    beta = (66 * math.sqrt(3) + 2) * norm
    small = descend_factors(M, gm.Factors(run.start.U, run.start.V), step_size=0.9 / beta,
                            max_iter=50, tol=0.0)  # fmt: skip
    told = gm.explain(small, M, step_size=0.9 / beta, accuracy=0.2 * norm)
    assert told.lemma("DU-L4.4").n_steps == 50
    assert told.lemma("DU-L4.4").holds is True
    gradient = small.gradients[:-1]
    np.testing.assert_allclose(
        told.lemma("DU-L4.4").slack[1:],
        -np.diff(small.losses) - 0.45 / beta * gradient**2, atol=1e-9 * norm**2,
    )  # fmt: skip
    path = small.trajectory
    risen = path.loss.copy()
    risen[7] *= 1.5
    broken = gm.explain(replace(small, trajectory=replace(path, loss=risen)), M)
    assert not broken.holds
    assert broken.lemmas[1].holds is False


def test_explanation_prints_draws_and_has_json(tmp_path) -> None:
    """A red cell, a silent row and a full row; JSON without NaN."""
    t = np.arange(5)
    found = Explanation(
        "a run", "it ended", t,
        (
            Lemma("DU-L5.2", "kept " * 30, np.array([np.nan, 1, 1, 1e-13, 0.5])),
            Lemma("DU-L5.3", "broken", np.array([1, 1, -1e-6, 1, 1.0])),
            Lemma("DU-L5.4", "silent", np.full(5, np.nan)),
        ),
        (Promise("DU-B5", "words", 1.0, 2.0, False), Promise("DU-T5.5", "nothing")),
        np.exp(-t), 2 * np.exp(-t),
    )  # fmt: skip
    assert [lemma.holds for lemma in found.lemmas] == [True, False, None]
    assert [lemma.n_steps for lemma in found.lemmas] == [4, 5, 0]
    assert found.lemmas[1].least == -1e-6
    assert not found.holds
    text = str(found)
    assert text.splitlines()[:2] == ["a run", "it ended"]
    assert "- DU-L5.3" in text
    assert "? DU-L5.4" in text
    assert max(map(len, text.splitlines())) <= 100
    content = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert content["lemmas"][1]["holds"] is False
    assert content["promises"][0]["promised"] == 1.0
    assert content["lemmas"][2]["least_slack"] is None
    above, below = found.plot(tmp_path / "explained.png").axes
    assert (tmp_path / "explained.png").stat().st_size > 1000
    assert [line.get_label() for line in above.get_lines()] == ["loss, measured", "promised"]
    cells = [patch.get_facecolor() for patch in below.patches]
    assert len(cells) == 15
    assert cells[7][0] > 0.6  # red
    assert cells[0][3] == cells[10][3] == 0.0
    assert cells[1][3] > cells[3][3] > 0.0
    assert found.lemma("DU-L5.3").says == "broken"


def test_steps_that_are_read_are_few_and_include_the_ends() -> None:
    """All of them up to 200, then geometrically spaced."""
    np.testing.assert_array_equal(steps_to_read(150), np.arange(151))
    many = steps_to_read(100_000)
    assert len(many) <= 200
    assert (many[0], many[-1]) == (0, 100_000)
    assert np.all(np.diff(many) > 0)


def test_a_run_without_a_chapter_is_refused() -> None:
    """A run of another kind, and one without a start."""
    data, net = trained_softplus()
    run = gm.train(net, data, method="gradient_descent", max_iter=5, tol=0.0)
    with pytest.raises(DataError, match="no chapter is told"):
        gm.explain(type("Other", (), {})(), data)
    with pytest.raises(DataError, match="gradient descent"):
        gm.explain(replace(run, start=None), data)


@pytest.mark.parametrize("share", [0.4, 1.6])
def test_step_is_found_on_both_sides_of_the_best_one(share: float) -> None:
    """DU-M6: two steps have the same first loss; the later losses tell them apart."""
    Z, w_star, w0, y = patch_problem(2, 0.05, n=100)
    gradient = filter_gradient(Z, y, w0)
    tried = np.geomspace(0.1, 100.0, 400)
    losses = [np.mean((filter_outputs(Z, w0 - eta * gradient) - y) ** 2) for eta in tried]
    eta = share * float(tried[int(np.argmin(losses))])
    run = fit_filter(Z, y, w0, step_size=eta, max_iter=6, tol=0.0)
    assert run.losses[1] < run.losses[0]
    assert f"step {eta:.4g}," in gm.explain(run, Z, teacher=w_star).about
