"""Verdicts on networks with weight decay, on instances whose global minimum is known."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq

import globalmin as gm
from globalmin.cli import main
from globalmin.examination.outcome import Verdict
from globalmin.regularized.objective import objective

# one neuron through (-1, 0) and (1, .) is best here: the floor of the doctest of optimality_gap
X, Y = np.array([[-1.0], [1.0]]), np.array([-1.0, 1.0])
FLOOR = 0.5821


def test_a_network_above_the_minimum_is_not_trained_far_enough_and_the_best_is_near(tmp_path):
    found = gm.examine(([[1.0]], [0.0], [0.5]), (X, Y), weight_decay=0.5)
    assert isinstance(found, gm.PenalizedExamination)
    # by hand: (1/2)(1 + 1/4) from the residuals -1 and -1/2, (1/4)(1 + 1/4) from the weights
    assert found.loss == pytest.approx(0.625 + 0.3125, rel=1e-12)
    assert found.verdict is Verdict.NOT_TRAINED
    assert found.is_proved
    assert found.gap == pytest.approx(0.9375 - FLOOR, abs=1e-3)  # four digits of the floor
    assert found.descent == pytest.approx(0.9375 - FLOOR, abs=1e-3)
    assert "% lower" in found.reason
    written = found.save(tmp_path / "folder")
    assert sorted(written) == ["given", "model", "polished"]
    best = gm.load_network(written["model"]).network
    again = gm.examine(best, (X, Y), weight_decay=0.5)
    assert again.verdict is Verdict.NEAR
    assert "within" not in again.reason
    assert "tolerance 0.001" in again.reason
    at = gm.examine(best, (X, Y), weight_decay=0.5, gap_tol=1e-2)
    assert at.verdict is Verdict.GLOBAL_MINIMUM
    for line in ("verdict   near the global minimum", "squared loss, weight decay 0.5", "ACCEPTED"):
        assert line in str(again)


@pytest.mark.parametrize(
    ("above", "verdict"), [(1.03, Verdict.NOT_TRAINED), (1.005, Verdict.NOT_DECIDED)]
)
def test_one_per_cent_is_what_training_must_win(above, verdict):
    """The best network with its head made larger, until the objective is so much above."""
    best = gm.examine(([[1.0]], [0.0], [0.5]), (X, Y), weight_decay=0.5).found
    value = objective(best.best_network, best.problem)

    def stretched(t):
        return replace(best.best_network, v=t * best.best_network.v)

    t = brentq(lambda t: objective(stretched(t), best.problem) - above * value, 1.0, 3.0)
    found = gm.examine(stretched(t), (X, Y), weight_decay=0.5)
    assert found.loss == pytest.approx(above * value, rel=1e-9)
    assert found.verdict is verdict


def test_a_constant_is_the_minimum_of_the_logistic_loss_at_a_large_decay():
    """Balanced labels and a decay above the largest one: nothing beats n log 2."""
    nothing = gm.RegularizedNetwork([[0.0]], [0.0], [0.0])
    found = gm.examine(nothing, (X, Y), loss="logistic", weight_decay=50.0, gap_tol=1e-6)
    assert found.loss == pytest.approx(2 * math.log(2), rel=1e-12)
    assert found.verdict is Verdict.GLOBAL_MINIMUM
    assert found.as_dict()["loss"] == "logistic"


def test_what_is_missing_is_named():
    weights = ([[1.0]], [0.0], [0.5])
    with pytest.raises(gm.DataError, match="give b > 0"):
        gm.examine(weights, (X, Y), loss="logistic")
    with pytest.raises(gm.DataError, match="tau: for a penalized objective; give weight_decay"):
        gm.examine(gm.ShallowNetwork([[1.0]], [0.5], "relu"), (X, Y), tau=2.0)
    with pytest.raises(gm.DataError, match="output=1: the model has one output"):
        gm.examine(weights, (X, Y), weight_decay=1.0, output=1)


def test_the_command_says_the_same(tmp_path, capsys):
    pytest.importorskip("onnx")
    table = tmp_path / "data.csv"
    table.write_text("x,y\n-1,-1\n1,1\n", encoding="utf-8")
    network = gm.RegularizedNetwork([[1.0]], [0.0], [0.5])
    gm.interop.to_onnx(network, tmp_path / "m.onnx")
    given = ["examine", str(tmp_path / "m.onnx"), str(table), "-t", "y", "--json"]
    assert main([*given, "--loss", "logistic"]) == 2
    capsys.readouterr()
    code = main([*given, "--weight-decay", "0.5", "--out", str(tmp_path / "out")])
    said = json.loads(capsys.readouterr().out)
    assert (code, said["exit_code"]) == (0, 0)
    assert said["verdict"] == "not trained far enough"
    assert said["lower_bound"] == pytest.approx(FLOOR, abs=1e-4)
    assert sorted(said["files"]) == ["given", "model", "polished"]
