"""The benchmark beside peers, held-out part: measurements survive interruption, scores are those of
scikit-learn, the statistics are the textbook's, and the page says who wins.
"""

import json
import math
import time
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch")

import torch
from bench import peer_cells, peer_report, peer_scores, regularized_peers
from bench.peer_cells import Cell, Store, run_cells, within
from bench.peer_models import METHODS, OURS, build
from sklearn.metrics import d2_tweedie_score, log_loss, r2_score


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
        "additive free": "AdditiveNetwork",
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
    assert build("boosting", tiny("counts")).loss == "poisson"
    assert build("pairs", tiny("real")).interactions == "pairs"
    known = replace(tiny("real"), monotone=(1, 0))
    assert build("additive", known).monotone == (1, 0)
    assert build("additive free", known).monotone is None
    assert not METHODS["additive free"].takes(tiny("real"))
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
    assert "we are ahead" in text  # 0.39 / 0.01225 is beyond 12.7, the 97.5 % point of t with 1
    near = {
        name: {**c, "score": c["score"] + 0.3} for name, c in score_cells().items() if "score" in c
    }
    near["MLP01"]["score"] += 0.02
    near["additive00"]["score"], near["additive01"]["score"] = 0.85, 0.9
    assert "no difference at 5 %" in peer_report.score_tables(near)  # 0.045 / 0.0043 is not
    tied = {name: {**c, "score": 0.5} for name, c in score_cells().items() if "score" in c}
    assert peer_report.score_tables(tied).count("**0.500 ± 0.000**") == 2
    lucky = {"parts": ["t", "boosting", "00"], "score": 1.0, "log_loss": 0.0, "seconds": 1.0}
    text = peer_report.score_tables({**score_cells(), "lucky": lucky})
    assert "| boosting | 1.000 |" in text  # one fold of two is printed, and neither bold nor "best"
    assert "Best of ours (additive) minus best peer (MLP)" in text
    first = {name: c for name, c in score_cells().items() if c["parts"][2] == "00"}
    assert "minus best peer (MLP): +0.4000 on one fold." in peer_report.score_tables(first)
    assert "| MLP | 0.500 | 0.500 | 2.00 | 1 |" in peer_report.score_tables(first)
    late = {**score_cells(), "z": {**score_cells()["MLP00"], "parts": ["iris", "MLP", "00"]}}
    assert peer_report.score_tables(late).index("### iris") == 0  # tables in their order
    untimed = {name: {**c, "is_timed": False} for name, c in score_cells().items()}
    assert "| MLP | 0.520 ± 0.020 | 0.480 | ? | 2 |" in peer_report.score_tables(untimed)
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


def test_a_page_keeps_the_tables_that_were_not_measured_again(tmp_path):
    old = "### digits 3 or 8\n\nolder digits\n\n### iris\n\nolder iris\n"
    texts = {"measured": "older", "objective": "older objective", "scores": old}
    page = tmp_path / "page.md"
    marks = [f"<!-- {name} -->\n\n{text}\n<!-- end of {name} -->" for name, text in texts.items()]
    page.write_text("\n".join(marks), encoding="utf-8")
    for name, numbers in score_cells().items():
        parts = ["iris", *numbers["parts"][1:]]
        told = {**numbers, "parts": parts, "date": "2026-01-02", "commit": "0123abcd"}
        Store(tmp_path / "scores").write(name, told)
    for _ in range(2):  # a second time changes nothing
        assert (
            regularized_peers.main(["report", "--folder", str(tmp_path), "--page", str(page)]) == 0
        )
        text = page.read_text(encoding="utf-8")
        assert text.index("### iris") < text.index("### digits 3 or 8")  # in their order
        assert text.count("### ") == 2
        assert "older digits" in text
        assert "older objective" in text
        assert "older iris" not in text
        assert "Measured 2026-01-02 at 0123abcd." in text
    assert not (tmp_path / "peers-objective.svg").exists()


def test_versions_and_commit_are_named():
    found = peer_cells.versions()
    assert found["torch"] == torch.__version__
    assert all(isinstance(value, str) for value in found.values())
    assert len(peer_cells.where()["commit"]) in (7, 8)
