"""The benchmark beside peers: their networks are translated without changing an output, their
objectives are ours by another road, measurements survive interruption, scores are those of
scikit-learn, and the statistics are the textbook's.
"""

import json
import math
import sys
import time
import types
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from bench import peer_cells, peer_objectives, peer_report, peer_scores, regularized_peers
from bench.peer_cells import Cell, Store, run_cells, within
from bench.peer_models import METHODS, OURS, build
from scipy.optimize import minimize_scalar
from sklearn.metrics import d2_tweedie_score, log_loss, r2_score

import globalmin as gm
from globalmin.regularized.network import RegularizedNetwork
from globalmin.regularized.objective import Penalty, RegularizedProblem, objective


def small(loss="squared", groups="all", b=0.7):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((17, 3))
    y = X[:, 0] + np.abs(X[:, 1])
    return RegularizedProblem(
        X, np.sign(y - 1.0) if loss == "logistic" else y, Penalty(b), loss, groups=groups
    )


def random_network(seed=0, k=6, d=3):
    rng = np.random.default_rng(seed)
    draw = rng.standard_normal
    return RegularizedNetwork(draw((k, d)), draw(k), draw(k), 0.3)


def by_hand(network, problem):
    """The objective by loops over rows and neurons."""
    total = 0.0
    for x, y in zip(problem.X, problem.y, strict=True):
        f = network.intercept
        for w, bias, v in zip(network.W, network.bias, network.v, strict=True):
            f += v * max(float(sum(w * x)) + bias, 0.0)
        total += (
            0.5 * (f - y) ** 2 if problem.loss.name == "squared" else math.log1p(math.exp(-y * f))
        )
    squares = sum(sum(w * w) for w in network.W) + sum(network.bias**2) + sum(network.v**2)
    return total + 0.5 * problem.penalty.weight_decay * squares


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_balancing_keeps_every_output_and_pays_the_product_of_norms(loss):
    problem, given = small(loss), random_network()
    dead = RegularizedNetwork(
        np.vstack([given.W, np.zeros(3), np.ones(3)]),
        np.append(given.bias, [0.0, 1.0]),
        np.append(given.v, [5.0, 0.0]),
        given.intercept,
    )
    best = peer_objectives.balanced(dead)
    assert best.width == given.width  # neurons without output are gone
    np.testing.assert_allclose(best.predict(problem.X), given.predict(problem.X), rtol=1e-12)
    masses = np.linalg.norm(np.c_[given.W, given.bias], axis=1) * np.abs(given.v)
    assert problem.penalty.of(best) == pytest.approx(problem.penalty.weight_decay * masses.sum())
    assert objective(best, problem) == pytest.approx(by_hand(best, problem), rel=1e-12)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_the_best_intercept_is_that_of_a_search_on_the_line(loss):
    problem, given = small(loss), random_network(1)

    def at(c):
        return replace(given, intercept=float(c))

    found = peer_objectives.with_best_intercept(given, problem)
    line = minimize_scalar(lambda c: objective(at(c), problem), bounds=(-30, 30), method="bounded")
    # the search stops at 1e-5 in c, where the objective is flat to its square
    assert objective(found, problem) <= line.fun + 1e-9
    assert found.intercept == pytest.approx(line.x, abs=1e-3)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("method", ["L-BFGS", "Adam"])
def test_a_torch_module_with_the_translated_weights_has_the_same_outputs(loss, method):
    problem = small(loss)
    network = peer_objectives.torch_network(problem, method, 0, width=8, rounds=30)
    hidden, head = torch.nn.Linear(3, 8).double(), torch.nn.Linear(8, 1).double()
    with torch.no_grad():
        hidden.weight.copy_(torch.tensor(network.W))
        hidden.bias.copy_(torch.tensor(network.bias))
        head.weight.copy_(torch.tensor(network.v)[None])
        head.bias.fill_(network.intercept)
        outputs = head(torch.relu(hidden(torch.tensor(problem.X))))[:, 0].numpy()
    np.testing.assert_allclose(outputs, network.predict(problem.X), rtol=1e-10, atol=1e-12)
    start = peer_objectives.torch_network(problem, method, 0, width=8, rounds=0)
    assert objective(network, problem) < objective(start, problem)
    assert objective(network, problem) == pytest.approx(by_hand(network, problem), rel=1e-12)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_torch_minimizes_our_objective_and_no_other(loss):
    """Ours is proved to be within its gap of the minimum: a long run of torch comes as near."""
    problem = small(loss, b=1.5)
    ours = peer_objectives.ours(problem)
    assert ours["verdict"] == "ACCEPTED"
    network = peer_objectives.torch_network(problem, "L-BFGS", 0, width=30, rounds=400)
    found = peer_objectives.judged(network, problem)["objective"]
    assert found >= ours["lower_bound"] - 1e-9 * abs(ours["lower_bound"])
    assert found <= 1.02 * ours["objective"]
    # a gift of ours that changed much would mean that torch minimized something else
    assert objective(network, problem) == pytest.approx(found, rel=1e-3)


def test_torch_neurons_of_additive_networks_see_one_column_each():
    problem = small(groups="columns")
    network = peer_objectives.torch_network(problem, "Adam", 0, width=7, rounds=5)
    assert ((network.W != 0).sum(axis=1) == 1).all()
    assert [int(np.flatnonzero(w)[0]) for w in network.W] == [0, 1, 2, 0, 1, 2, 0]
    assert (network.bias != 0).all()


def stand_in(seen, W, v):
    """A package scnn that remembers what it is asked and answers with given weights."""

    def optimize(formulation, max_neurons, X, y, **options):
        seen.update(formulation=formulation, width=max_neurons, X=X, y=y, **options)
        return types.SimpleNamespace(parameters=[W, v[None]]), None

    modules = {
        name: types.ModuleType(name) for name in ("scnn", "scnn.optimize", "scnn.regularizers")
    }
    modules["scnn.optimize"].optimize = optimize
    modules["scnn.regularizers"].NeuronGL1 = lambda lam: lam
    return modules


def test_pyscnn_is_asked_for_our_objective_divided_by_n(monkeypatch):
    problem, given, seen = small(), random_network(2), {}
    Wb = np.c_[given.W, given.bias]
    for name, module in stand_in(seen, Wb, given.v).items():
        monkeypatch.setitem(sys.modules, name, module)
    network = peer_objectives.pyscnn_network(problem, 0.3, 5)
    np.testing.assert_array_equal(seen["X"], np.c_[problem.X, np.ones(17)])
    np.testing.assert_allclose(seen["y"][:, 0], problem.y - 0.3)
    assert (seen["seed"], seen["dtype"], seen["unitize_data"]) == (5, "float64", False)
    # its own objective at its own variables u_l = |v_l| w_l, from its documentation and source
    n, U = len(problem.y), np.abs(given.v)[:, None] * Wb
    f = np.maximum(seen["X"] @ U.T, 0.0) @ np.sign(given.v)
    theirs = np.sum((f - seen["y"][:, 0]) ** 2) / (2 * n)
    theirs += seen["regularizer"] * np.linalg.norm(U, axis=1).sum()
    judged = objective(peer_objectives.balanced(network), problem)
    assert n * theirs == pytest.approx(judged, rel=1e-12)


def test_ours_is_proved_and_described_at_the_decay_asked_for():
    problem = small(groups="columns", b=1.0)
    found = peer_objectives.ours(problem)
    assert found["verdict"] == "ACCEPTED"
    assert found["lower_bound"] <= found["objective"]
    share = 1.0 - found["lower_bound"] / found["objective"]
    assert found["relative_gap"] == pytest.approx(share, rel=0.5, abs=1e-8)  # floor of the file


def test_measurements_go_on_where_they_were(tmp_path, capsys):
    store, done = Store(tmp_path / "cells"), []

    def cell(k):
        return Cell(("table a/b", str(k)), lambda: done.append(k) or {"seconds": float(k)})

    def interrupted():
        raise KeyboardInterrupt

    cells = [cell(0), Cell(("table a/b", "1"), interrupted), cell(2)]
    with pytest.raises(KeyboardInterrupt):
        run_cells(cells, store)
    assert done == [0]
    assert not store.path(cells[1].name).exists()
    assert run_cells([cell(k) for k in range(3)], store) == 0
    assert done == [0, 1, 2]
    assert run_cells([cell(3)], store, seconds=-1.0) == 1
    assert "table a/b | 2: seconds 2" in capsys.readouterr().out
    found = store.read(cell(2).name)
    assert found["parts"] == ["table a/b", "2"]
    assert set(found) == {"parts", "seconds", "date", "commit"}
    assert list(store.all()) == [cell(k).name for k in range(3)]


def test_work_is_ended_at_its_limit_and_what_it_raises_is_its_result():
    def endless():
        while True:
            time.process_time()

    assert within(30.0, lambda: {"score": 1.0}) == {"score": 1.0}
    late = within(1.0, endless)
    assert late == {"error": "more than 1 CPU s", "seconds": 1.0}
    assert within(30.0, lambda: {"a": 1 / 0})["error"].startswith("ZeroDivisionError")


def tiny(kind):
    rng = np.random.default_rng(8)
    X = rng.standard_normal((60, 2))
    signal = X[:, 0] + np.abs(X[:, 1])
    labels = {
        "real": signal,
        "classes": np.digitize(signal, (0.3, 1.2)),
        "counts": rng.poisson(np.exp(0.5 * signal)).astype(float),
    }
    return peer_scores.Table(X, labels[kind], kind)


@pytest.mark.parametrize("kind", ["real", "classes", "counts"])
@pytest.mark.parametrize("method", ["additive", "MLP", "linear", "boosting"])
@pytest.mark.filterwarnings("ignore")
def test_scores_of_a_fold_are_those_of_scikit_learn(kind, method):
    table = tiny(kind)
    train, test = peer_scores.folds_of(table)[7]
    found = peer_scores.fold_scores(build(method, table), table, train, test)
    model = build(method, table).fit(table.X[train], table.y[train])
    outputs = model.predict(table.X[test])
    y = table.y[test]
    if kind == "classes":
        assert found["score"] == pytest.approx(np.mean(outputs == y))
        assert found["log_loss"] == pytest.approx(
            log_loss(y, model.predict_proba(table.X[test]), labels=[0, 1, 2])
        )
    else:
        score = r2_score if kind == "real" else lambda a, b: d2_tweedie_score(a, b, power=1)
        assert found["score"] == pytest.approx(score(y, outputs))
    assert found["seconds"] > 0


def test_every_method_is_built_for_every_kind_of_labels():
    ours = {
        "additive": "AdditiveNetwork",
        "pairs": "AdditiveNetwork",
        "quadratic": "Quadratic",
        "relu": "ReluNetwork",
    }
    assert tuple(ours) == OURS
    for method, name in ours.items():
        for kind in ("real", "classes"):
            model = build(method, tiny(kind))
            assert type(model).__name__.startswith(name)
            assert ("Classifier" in type(model).__name__) == (kind == "classes")
        assert build(method, tiny("counts")).loss == "poisson"
    assert build("pairs", tiny("real")).interactions == "pairs"
    known = replace(tiny("real"), monotone=(1, 0))
    assert build("additive", known).monotone == (1, 0)
    assert build("boosting", known).monotonic_cst == [1, 0]
    assert not METHODS["pairs"].takes(known)


def test_folds_are_five_times_five_and_cells_come_fold_by_fold(monkeypatch):
    folds = peer_scores.folds_of(tiny("classes"))
    assert len(folds) == 25
    counts = np.zeros(60, dtype=int)
    for train, test in folds:
        counts[test] += 1
        assert not set(train) & set(test)
    assert (counts == 5).all()
    large = replace(tiny("real"), X=np.zeros((2001, 2)), y=np.zeros(2001))
    assert len(peer_scores.folds_of(large)) == 5
    monkeypatch.setattr(peer_scores, "table_of", lambda name: tiny("real"))
    names = [c.parts for c in peer_scores.cells(["a", "b"], ["MLP", "linear"])][:5]
    pairs = [("a", "MLP"), ("a", "linear"), ("b", "MLP"), ("b", "linear")]
    assert names == [*((*pair, "00") for pair in pairs), ("a", "MLP", "01")]


def test_a_method_that_had_its_seconds_or_was_too_slow_gets_no_further_fold(tmp_path):
    store = Store(tmp_path)
    for fold, numbers in enumerate(({"seconds": 4.0}, {"seconds": 5.0})):
        store.write(Cell(("t", "m", f"{fold:02d}"), dict).name, numbers)
    late = {"seconds": 1.0, "error": "more than 1 CPU s"}
    store.write(Cell(("t", "late", "00"), dict).name, late)

    def is_skipped(budget, method, fold):
        return peer_scores.over_budget(store, budget)(Cell(("t", method, fold), dict))

    assert is_skipped(8.0, "m", "02")
    assert not is_skipped(10.0, "m", "02")
    assert not is_skipped(8.0, "m", "01")
    assert is_skipped(99.0, "late", "01")


def test_the_standard_error_is_corrected_for_training_sets_that_overlap():
    values = np.array([0.1, 0.3, -0.1, 0.2, 0.0])
    spread = sum((v - 0.1) ** 2 for v in values) / 4
    assert peer_report.corrected_error(values) == pytest.approx(math.sqrt((1 / 5 + 1 / 4) * spread))
    assert peer_report.corrected_error(values[:1]) == math.inf
    mine, theirs = {"00": 0.5, "01": 0.7, "09": 9.0}, {"00": 0.4, "01": 0.5, "02": 0.0}
    mean, error, count = peer_report.difference(mine, theirs)
    assert (mean, count) == (pytest.approx(0.15), 2)
    assert error == pytest.approx(math.sqrt((1 / 2 + 1 / 4) * 0.005))
    assert peer_report.difference(mine, {"77": 1.0}) is None


def score_cells():
    rows = {
        ("additive", "00"): 0.9,
        ("additive", "01"): 0.92,
        ("MLP", "00"): 0.5,
        ("MLP", "01"): 0.54,
    }
    found = {
        f"{m}{f}": {"parts": ["t", m, f], "score": s, "log_loss": 1 - s, "seconds": 2.0}
        for (m, f), s in rows.items()
    }
    found["slow"] = {"parts": ["t", "EBM", "00"], "error": "more than 9 CPU s", "seconds": 9.0}
    return found


def objective_cells():
    mine = {
        "parts": ["t", "all", "0.3", "ours", "0"],
        **{"objective": 10.0, "lower_bound": 9.9, "relative_gap": 0.01},
        **{"seconds": 1.0, "proved_seconds": 2.0},
    }
    seeds = [
        {"parts": ["t", "all", "0.3", "torch Adam", str(k)], "objective": 10.0 + k, "seconds": 3.0}
        for k in range(2)
    ]
    bad = {"parts": ["t", "all", "0.3", "pyscnn", "0"], "error": "no squares", "seconds": 0.0}
    return {str(k): numbers for k, numbers in enumerate([mine, *seeds, bad])}


def test_the_report_says_who_wins_by_how_much_and_who_failed(tmp_path, capsys):
    text = peer_report.score_tables(score_cells())
    assert "| ours: additive | **0.910 ± 0.010** | 0.090 | 2.00 | 2 |" in text
    assert "| MLP | 0.520 ± 0.020 |" in text
    assert "| EBM | more than 9 CPU s |" in text
    assert "Best of ours (additive) minus best peer (MLP): +0.3900" in text
    assert "we are ahead" in text
    row = (
        "| t | all | 0.3 | 10 | 1.0e-02 | 1.0 (2.0) | - | 1.00000 to 1.10000 (3.0 s) | no squares |"
    )
    assert row in peer_report.objective_table(objective_cells())
    for part, cells in (("objective", objective_cells()), ("scores", score_cells())):
        for name, numbers in cells.items():
            Store(tmp_path / part).write(name, numbers)
    marks = "".join(
        f"<!-- {n} -->stale<!-- end of {n} -->" for n in ("measured", "objective", "scores")
    )
    page = tmp_path / "page.md"
    page.write_text(f"a {marks} z", encoding="utf-8")
    words = ["report", "--folder", str(tmp_path), "--page", str(page)]
    assert regularized_peers.main(words) == 0
    filled = page.read_text(encoding="utf-8")
    assert row in filled
    assert "stale" not in filled
    assert (filled[:2], filled[-2:]) == ("a ", " z")
    with pytest.raises(ValueError, match="marks"):
        peer_report.filled("no marks", "objective", "")
    assert row in capsys.readouterr().out
    written = json.loads((tmp_path / "peers.json").read_text(encoding="utf-8"))
    assert written["versions"]["numpy"] == np.__version__
    assert set(written) == {"versions", "objective", "scores"}
    assert (tmp_path / "peers-scores.svg").stat().st_size > 1000
    assert (tmp_path / "peers-objective.svg").stat().st_size > 1000


def test_the_command_measures_both_parts_and_can_be_repeated(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(peer_objectives, "TABLES", {"t": lambda: (small().X, small().y, "squared")})
    monkeypatch.setattr(peer_objectives, "WIDTH", 4)
    monkeypatch.setattr(peer_objectives, "torch_network", lambda *given: random_network())
    monkeypatch.setattr(peer_objectives, "SHARES", (0.5,))
    monkeypatch.setattr(peer_objectives, "CLASSES", ("columns",))
    peer_objectives.problem_of.cache_clear()
    command = ["objective", "--folder", str(tmp_path)]
    assert regularized_peers.main(command) == 0
    found = Store(tmp_path / "objective").all()
    assert len(found) == 7
    ratios = [c["objective"] for c in found.values() if c["parts"][3] != "ours"]
    ours = next(c for c in found.values() if c["parts"][3] == "ours")
    assert ours["verdict"] == "ACCEPTED"
    assert min(ratios) >= ours["lower_bound"]
    monkeypatch.setattr(peer_scores, "table_of", lambda name: tiny("real"))
    words = ["scores", "t", "--methods", "linear", "--folder", str(tmp_path), "--budget", "0"]
    assert regularized_peers.main(words) == 0
    assert len(Store(tmp_path / "scores").all()) == 1  # the budget was used up by one fold
    capsys.readouterr()
    assert regularized_peers.main(words) == 0
    assert capsys.readouterr().out == "scores: 0 measurements missing\n"


def test_versions_and_commit_are_named():
    found = peer_cells.versions()
    assert found["torch"] == torch.__version__
    assert all(isinstance(value, str) for value in found.values())
    assert len(peer_cells.where()["commit"]) in (7, 8)
    assert gm.__name__ == "globalmin"
