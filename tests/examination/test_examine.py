"""The verdict on a network: each of the six, on instances whose answer is known by another road."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import brentq
from tests.interop.frameworks_cases import module, outputs, trained

import globalmin as gm
from globalmin.cli import main
from globalmin.examination.outcome import Verdict
from globalmin.landscape import gradient


def plain(X, y):
    return gm.Dataset(X, y, bias=False, scaling="none")


def residual_loss(network, data):
    return 0.5 * sum(
        (float(f) - float(y)) ** 2 for f, y in zip(network.predict(data.X), data.y, strict=True)
    )


def test_a_module_trained_to_zero_loss_is_a_proved_global_minimum(tmp_path):
    X, y, own = trained("tanh")
    found = gm.examine(own, (X, y))
    assert found.verdict is Verdict.GLOBAL_MINIMUM
    assert found.is_proved
    assert found.gap < 1e-18
    assert not found.polished.is_another
    assert found.polished.moved_share < 1e-6
    assert found.replayed <= 1e-12
    np.testing.assert_allclose(
        found.data.preprocessing.restore(found.network.predict(found.data.X)),
        outputs(own, X)[:, 0],
        rtol=0,
        atol=1e-12,
    )
    written = found.save(tmp_path / "kept")
    assert gm.check(written["given"]).verdict == gm.check(written["polished"]).verdict == "ACCEPTED"
    assert gm.load_network(written["model"]).network == found.polished.network
    assert "global minimum" in str(found)


def test_an_untrained_module_is_not_trained_far_enough_and_polishing_is_another_network():
    X, y, _ = trained("tanh")
    own = module("tanh", (5, 14, 1))
    found = gm.examine(own, (X, y))
    assert found.verdict is Verdict.NOT_TRAINED
    assert "a proved global minimum" in found.reason
    truth = 0.5 * float(np.sum((outputs(own, X)[:, 0] - y) ** 2))
    assert found.loss == pytest.approx(truth, rel=1e-9)
    assert found.gap >= truth * (1 - 1e-9)  # the least loss is 0, proved by the polished network
    assert found.gap == pytest.approx(truth, rel=1e-4)
    assert found.is_proved
    assert found.proof.claim("head-gap") is not None
    assert found.polished.is_another
    assert "another network" in str(found)
    assert found.polished.proof.reaches_minimum
    moved = np.sqrt(
        np.sum((found.polished.network.W - found.network.W) ** 2)
        + np.sum((found.polished.network.v - found.network.v) ** 2)
    )
    assert found.polished.moved == pytest.approx(moved)
    assert found.descent == pytest.approx(
        found.loss - residual_loss(found.polished.network, found.data)
    )


def test_a_module_that_adam_left_close_is_near():
    X, y, own = trained("tanh")
    torch = pytest.importorskip("torch")
    with torch.no_grad():
        own[2].bias += 1e-3
    found = gm.examine(own, (X, y))
    assert found.verdict is Verdict.NEAR
    assert found.loss == pytest.approx(0.5 * 30 * 1e-6, rel=1e-3)
    assert found.loss <= found.gap * (1 + 1e-9)
    assert found.gap <= 1e-3 * found.baseline
    assert "tolerance 0.001" in found.reason
    assert "a global minimum next to it is proved" in found.reason
    assert gm.examine(own, (X, y), near_tol=1e-8).verdict is Verdict.NOT_TRAINED


def test_a_strict_saddle_has_a_way_down_that_leads_down():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 3)), rng.standard_normal(30)
    network = gm.ShallowNetwork(np.zeros((6, 3)), [1.0, -1.0] * 3, "quadratic")
    data = plain(X, y)
    found = gm.examine(network, data, trained="W")
    assert found.verdict is Verdict.SADDLE
    assert found.proof.claim("strict-saddle") is not None
    step = found.point.escape.U * 1e-2
    below = gm.ShallowNetwork(network.W + step, network.v, "quadratic")
    assert residual_loss(below, data) < found.loss
    assert "either sign leads down" in str(found)
    assert found.polished.loss < found.loss  # it left the saddle, where the gradient is zero
    assert found.polished.is_another
    assert found.is_proved


def _one_neuron():
    data = plain(np.array([[1.0], [2.0], [10.0]]), np.array([0.9, 0.6, -1.0]))

    def slope(w):
        return gradient(gm.ShallowNetwork([[w]], [1.0], "tanh"), data.X, data.y)[0][0, 0]

    return data, slope


def test_a_spurious_minimum_is_a_trap_once_a_lower_loss_is_found_elsewhere():
    """L(w) of three samples has the minima L(-0.071) = 0.822 and L(1.095) = 2.076."""
    data, slope = _one_neuron()
    trap = gm.ShallowNetwork([[brentq(slope, 1.0, 1.2, xtol=1e-15)]], [1.0], "tanh")
    found = gm.examine(trap, data, trained="W")
    assert found.verdict is Verdict.TRAP
    assert found.elsewhere == pytest.approx(0.82167, abs=1e-4)
    assert found.loss == pytest.approx(2.07554, abs=1e-5)
    assert found.descent == pytest.approx(2.07554 - 0.82167, abs=1e-4)


def test_a_good_minimum_that_nothing_proves_is_not_called_global():
    data, slope = _one_neuron()
    best = gm.ShallowNetwork([[brentq(slope, -0.1, -0.05, xtol=1e-15)]], [1.0], "tanh")
    found = gm.examine(best, data, trained="W")
    assert found.verdict is Verdict.NOT_DECIDED
    assert found.gap >= found.loss * (1 - 1e-9)


def test_a_floor_of_contradicting_rows_is_part_of_the_gap():
    """Two equal rows with labels 1 and 3: no network is below 1; with the rest fitted it is 1."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((10, 3))
    y = rng.standard_normal(10)
    X[1], y[0], y[1] = X[0], 1.0, 3.0
    data = plain(X, y)
    start = gm.ShallowNetwork.initialize(data, width=8, activation="tanh", seed=0)
    run = gm.train(start, data, method="levenberg_marquardt", trained="vW")
    found = gm.examine(run.network, data)
    assert found.loss == pytest.approx(1.0, abs=1e-9)
    assert found.verdict is Verdict.GLOBAL_MINIMUM
    assert found.gap < 1e-6
    assert found.proof.loss_lower == pytest.approx(1.0, abs=1e-9)


def test_a_floor_of_nonnegative_heads_says_nothing_where_heads_may_move():
    """Squares with heads 1 cannot reach negative labels: W = 0 is best, unless a head turns."""
    rng = np.random.default_rng(0)
    data = plain(rng.standard_normal((12, 2)), -1.0 - rng.random(12))
    network = gm.ShallowNetwork(np.zeros((3, 2)), np.ones(3), "quadratic")
    fixed = gm.examine(network, data, trained="W")
    assert fixed.verdict is Verdict.GLOBAL_MINIMUM
    assert fixed.gap < 1e-9
    moving = gm.examine(network, data, trained="vW")
    assert moving.verdict is not Verdict.GLOBAL_MINIMUM
    assert moving.gap >= moving.loss * (1 - 1e-9)
    turned = gm.ShallowNetwork(0.1 * np.ones((3, 2)), -np.ones(3), "quadratic")
    assert residual_loss(turned, data) < moving.loss


def test_the_change_of_predictions_is_in_the_units_of_the_labels():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((12, 3))
    data = gm.Dataset(X, 1000.0 * np.sin(X[:, 0]) + 5e4)
    start = gm.ShallowNetwork.initialize(data, width=8, activation="tanh", seed=0)
    found = gm.examine(start, data)
    step = data.preprocessing
    before = step.restore(start.predict(data.X))
    after = step.restore(found.polished.network.predict(data.X))
    assert found.polished.outputs_moved == pytest.approx(np.abs(after - before).max(), rel=1e-6)
    assert found.baseline == pytest.approx(6.0)  # standardized labels: n / 2


def test_relu_and_deep_networks_are_examined():
    X, y, _ = trained("tanh")
    found = gm.examine(module("relu", (5, 14, 1)), (X, y))
    assert found.point is None
    assert found.verdict is Verdict.NOT_TRAINED
    assert found.polished.proof.is_accepted
    deep = gm.examine(module("tanh", (5, 8, 8, 1)), (X, y))
    assert isinstance(deep.network, gm.DeepNetwork)
    assert deep.polished.proof.is_accepted
    assert not deep.is_proved
    assert "in floats, not proved" in str(deep)


def test_what_cannot_be_examined_is_refused():
    X, y, own = trained("tanh")
    with pytest.raises(gm.DataError, match="cannot be examined"):
        gm.examine(3, (X, y))
    with pytest.raises(gm.DataError, match="Dataset"):
        gm.examine(gm.ShallowNetwork([[1.0]], [1.0]), (X, y))
    with pytest.raises(gm.DataError, match="outputs"):
        gm.examine(module("tanh", (5, 4, 2)), (X, y))
    with pytest.raises(gm.DataError, match="trained="):
        gm.examine(own, (X, y), trained="v")
    assert gm.examine(module("tanh", (5, 4, 2)), (X, y), output=1, max_iter=2).loss > 0


def test_the_command_examines_a_file(tmp_path, capsys):
    torch = pytest.importorskip("torch")
    X, y, own = trained("tanh")
    torch.save(own.state_dict(), tmp_path / "m.pt")
    names = {"delimiter": ",", "header": "a,b,c,d,e,y", "comments": "", "fmt": "%.17g"}
    np.savetxt(tmp_path / "d.csv", np.column_stack([X, y]), **names)
    given = ["examine", str(tmp_path / "m.pt"), str(tmp_path / "d.csv"), "-t", "y"]
    given += ["--activation", "tanh", "--out", str(tmp_path / "kept")]
    assert main([*given, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["verdict"] == "global minimum"
    assert found["given"]["proof"] == found["polished"]["proof"] == "ACCEPTED"
    assert gm.check(found["files"]["given"]).verdict == "ACCEPTED"
    assert main(given) == 0
    assert "global minimum" in capsys.readouterr().out
    again = ["examine", found["files"]["model"], str(tmp_path / "d.csv"), "-t", "y", "--json"]
    assert main(again) == 0
    assert json.loads(capsys.readouterr().out)["verdict"] == "global minimum"


def test_text_labels_of_a_classifier_are_refused_with_the_loss_that_takes_them():
    from sklearn.neural_network import MLPClassifier

    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 2))
    names = np.where(X[:, 0] > 0, "high", "low")
    model = MLPClassifier((3,), max_iter=3000, tol=1e-3, alpha=0.5, random_state=0).fit(X, names)
    with pytest.raises(gm.DataError, match=r"'high'.*loss='logistic'"):
        gm.examine(model, (X, names))
    with pytest.raises(gm.DataError, match="loss='logistic'"):  # numbers: the sigmoid at the end
        gm.examine(model, (X, X[:, 0]))
    found = gm.examine(model, (X, names), loss="logistic", starts=1, max_seconds=5.0)
    assert found.as_dict()["weight_decay"] == 0.5
    assert found.is_proved


def test_every_number_of_a_proved_gap_is_rounded_up():
    """A share of 1.0005 % is not "at most 1 %"."""
    rng = np.random.default_rng(0)
    network = gm.ShallowNetwork(rng.standard_normal((9, 3)), rng.standard_normal(9), "tanh")
    found = gm.examine(network, plain(rng.standard_normal((8, 3)), rng.standard_normal(8)))
    told = dict(replace(found, gap=1.0005, baseline=100.0).lines())["gap"]
    above, share = re.search(r"at most (\S+) above .*; (\S+) % of", told).groups()
    assert 1.0005 <= float(above) <= 1.02
    assert 1.0005 <= float(share) <= 1.02


def test_the_gap_of_rows_that_occur_several_times_counts_all_of_them():
    """The file has each row once, with a loss of about a third of that of all rows; least is 0."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((6, 3)), rng.standard_normal(6)
    data = plain(np.vstack([X, X, X]), np.concatenate([y, y, y]))
    start = gm.ShallowNetwork(rng.standard_normal((9, 3)), rng.standard_normal(9), "tanh")
    W = gm.train(start, data, "levenberg_marquardt").network.W
    near = start.with_weights(W=W + 1e-3 * rng.standard_normal(W.shape))
    found = gm.examine(near, data)
    assert found.loss == pytest.approx(residual_loss(near, data))
    assert found.polished.loss < 1e-12 * found.loss
    assert found.is_proved
    assert found.gap >= found.loss * (1 - 1e-12)
    assert found.gap <= 1.01 * found.loss
