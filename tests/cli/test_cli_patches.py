"""`globalmin fit --patch-size`: signals and images from a table, model, predictions, certificate
and exit code.
"""

import csv
import json

import numpy as np
import pytest
from sklearn.datasets import load_digits
from tests.cli.folders import everything_below

import globalmin as gm


@pytest.fixture
def signals(tmp_path):
    """Write a table of signals x0, x1, ... with the target y; returns its path."""

    def write(X, y):
        path = tmp_path / "signals.csv"
        names = [f"x{i}" for i in range(X.shape[1])] + ["y"]
        rows = [",".join(map(repr, row)) for row in np.column_stack([X, y]).tolist()]
        path.write_text("\n".join([",".join(names), *rows]) + "\n")
        return path

    return write


def teacher(X, head):
    layout = gm.patch_layout((12,), 4, 4)
    return gm.PatchNetwork(np.array([[0.6, 0.0, -0.8, 0.0]]), np.array([head]), layout).predict(X)


def test_a_table_of_signals_gives_model_predictions_and_the_trap_verdict(run, signals, tmp_path):
    X = 50.0 * np.random.default_rng(0).standard_normal((300, 12))
    y = teacher(X, [1.0, -0.5, 0.4])
    out = tmp_path / "o"
    ended = run("fit", signals(X, y), "-t", "y", "--patch-size", 4, "--stride", 4, "--no-bias",
                "--test-size", 0.4, "--out", out, "--json")  # fmt: skip
    # 180 rows and 3 output weights: zero loss cannot be proved by them, and the exit code says so
    assert ended.code == 1, ended
    assert everything_below(out) >= {"model.safetensors", "predictions.csv", "fit.json"}
    assert ended.json["training"]["status"] == "converged"
    assert ended.json["trap"].startswith("true side")
    network = gm.load_patch_network(out / "model.safetensors").network
    np.testing.assert_allclose(network.filters, [[0.6, 0.0, -0.8, 0.0]], atol=1e-9)
    with (out / "predictions.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    np.testing.assert_array_equal([float(r["prediction"]) for r in rows], network.predict(X))
    assert sum(r["part"] == "held out" for r in rows) == 120
    assert json.loads((out / "fit.json").read_text())["network"]["patch_size"] == [4]


def test_the_best_output_weights_for_these_filters_are_no_global_minimum(run, signals, tmp_path):
    """Noise: head-gap is accepted, its minimum is that over output weights alone; exit code 1."""
    rng = np.random.default_rng(4)
    X = rng.standard_normal((100, 12))
    y = teacher(X, [1.0, -0.5, 0.4]) + 0.1 * rng.standard_normal(100)
    ended = run("fit", signals(X, y), "-t", "y", "--patch-size", 4, "--stride", 4, "--no-bias",
                "--test-size", 0, "--out", tmp_path / "o", "--json")  # fmt: skip
    assert ended.json["verdict"] == "ACCEPTED"
    assert ended.json["claims"][0]["kind"] == "head-gap"
    assert ended.code == 1


def test_images_with_enough_output_weights_are_proved(run, signals, tmp_path):
    digits = load_digits()
    X, y = digits.data[:30] / 16.0, digits.target[:30].astype(float)
    out = tmp_path / "o"
    ended = run("fit", signals(X, y), "-t", "y", "--patch-size", "3x3", "--image", "8x8",
                "--filters", 2, "--test-size", 0, "--out", out)  # fmt: skip
    assert ended.code == 0, ended
    assert "ACCEPTED" in ended.out
    assert gm.check(out / "certificate.gmc").verdict == "ACCEPTED"
    assert str(out / "certificate.gmc") in ended.out


def test_fixed_output_weights_and_rounded_labels_are_fitted_without_a_proof(run, signals, tmp_path):
    X = np.random.default_rng(3).standard_normal((60, 12))
    y = teacher(X, [1 / 3] * 3)
    ended = run("fit", signals(X, y), "-t", "y", "--patch-size", 4, "--stride", 4, "--no-bias",
                "--head", "average", "--out", tmp_path / "o")  # fmt: skip
    assert ended.code == 1, ended
    assert "labels without any rounding" in " ".join(ended.out.split())
    assert not (tmp_path / "o" / "certificate.gmc").exists()


def test_fixed_output_weights_are_proved_by_their_filters(run, signals, tmp_path):
    X = np.random.default_rng(3).standard_normal((20, 12))
    y = np.random.default_rng(4).standard_normal(20)
    out = tmp_path / "o"
    ended = run("fit", signals(X, y), "-t", "y", "--patch-size", 4, "--stride", 4, "--filters", 12,
                "--head", "signed", "--test-size", 0, "--out", out, "--json")  # fmt: skip
    assert ended.json["claims"][0]["kind"] == "patch-interpolation", ended
    assert ended.code == 0
    assert gm.check(out / "certificate.gmc").verdict == "ACCEPTED"


def test_a_stored_patch_network_is_certified_again(run, signals, tmp_path):
    """`certify` on the model of `fit`: the filters, or with --trained v the output weights; rows
    held out are left out by the same split.
    """
    X = np.random.default_rng(5).standard_normal((24, 12))
    y = np.random.default_rng(6).standard_normal(24)
    table, out = signals(X, y), tmp_path / "o"
    run("fit", table, "-t", "y", "--patch-size", 4, "--stride", 4, "--filters", 8, "--seed", 3,
        "--test-size", 0.25, "--out", out, "--json")  # fmt: skip
    model, split = out / "model.safetensors", ("--test-size", 0.25, "--seed", 3)
    ended = run("certify", model, table, "-t", "y", *split, "--out", tmp_path / "w.gmc", "--json")
    assert ended.code == 0, ended
    assert ended.json["claims"][0]["kind"] == "patch-interpolation"
    assert gm.check(tmp_path / "w.gmc").verdict == "ACCEPTED"
    heads = run("certify", model, table, "-t", "y", *split, "--trained", "v", "--out",
                tmp_path / "v.gmc", "--json")  # fmt: skip
    assert heads.json["claims"][0]["kind"] == "head-gap"
    whole = run("certify", model, table, "-t", "y", "--out", tmp_path / "x.gmc", "--json")
    assert whole.code == 1  # the six rows held out are not fitted


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--patch-size", "4", "--width", "9"], "--width 9 does not go with --patch-size"),
        (["--patch-size", "4", "--activation", "tanh"], "--activation tanh"),
        (["--patch-size", "four"], "--patch-size four"),
        (["--patch-size", "4", "--image", "5x5"], "--image 5x5 has 25 numbers"),
        (["--patch-size", "4", "--head", "free"], "--head='free'"),
        (["--patch-size", "4", "--padding", "valid"], "--padding valid"),
    ],
)
def test_options_that_do_not_go_together_are_usage_errors(
    run, signals, tmp_path, arguments, message
):
    X = np.random.default_rng(1).standard_normal((20, 12))
    path = signals(X, X[:, 0])
    ended = run("fit", path, "-t", "y", *arguments, "--out", tmp_path / "o")
    assert ended.code == 2, ended
    assert message in " ".join(ended.err.split())
    assert not (tmp_path / "o").exists()


def test_a_patch_that_is_too_large_is_bad_data(run, signals, tmp_path):
    X = np.random.default_rng(2).standard_normal((20, 12))
    ended = run("fit", signals(X, X[:, 0]), "-t", "y", "--patch-size", 13, "--out", tmp_path / "o")
    assert ended.code == 3
    assert "larger than the signal" in ended.err
