"""One question, three doors, one answer: Python, estimator and command line prove the same.

Each of these questions once had three answers: `gm.certify` refused what the estimator and the
command line accepted, with two different bounds.
"""

import csv
import json

import numpy as np
import pytest
from safetensors.numpy import load, load_file

import globalmin as gm
from globalmin.cli import main
from globalmin.report.words import lower_text, upper_text
from globalmin.shallow.storage import load_networks

RNG = np.random.default_rng(7)


def table_of(path, X, y):
    """The rows as a csv file, with all digits."""
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow([*(f"x{j}" for j in range(X.shape[1])), "y"])
        for row, label in zip(X.tolist(), y.tolist(), strict=True):
            writer.writerow([*map(repr, row), repr(label)])
    return path


def by_command(tmp_path, capsys, X, y, *options):
    """`globalmin fit`: the target of its JSON, and the tensors of its file."""
    data, out = table_of(tmp_path / "table.csv", X, y), tmp_path / "out"
    arguments = [
        "fit",
        str(data),
        "--interpolate",
        "--target",
        "y",
        "--out",
        str(out),
        "--test-size",
        "0",
    ]
    code = main([*arguments, "--json", "--quiet", *options])
    target = json.loads(capsys.readouterr().out)["targets"][0]
    return code, target, load_file(out / "certificate.gmc")


def bounds_of(target):
    """Upper and lower bound and gap of the objective, of the claims in the JSON of a fit."""
    numbers = [claim["numbers"] for claim in target["claims"]]
    decayed = [n for n in numbers if n.get("decay", "0") != "0"] or numbers
    upper = min(n.get("objective", n["loss_upper"]) for n in decayed)
    lower = max(n.get("floor", 0.0) for n in decayed)
    return upper, lower


def printed(upper, lower):
    """As the command line prints them."""
    return upper_text(upper, 3), lower_text(lower, 3)


def same_rows(first, second):
    """Whether two files hold the same samples."""
    np.testing.assert_array_equal(first["X"], second["X"])
    np.testing.assert_array_equal(first["y"], second["y"])


def test_a_repeated_row_is_left_out_at_every_door(tmp_path, capsys):
    X, y = RNG.standard_normal((40, 5)), RNG.standard_normal(40)
    X[9], y[9] = X[5], y[5]
    code, target, file = by_command(tmp_path, capsys, X, y)
    stored = load_networks(tmp_path / "out" / "model.safetensors")
    data = gm.Dataset.from_raw(X, y, stored.preprocessing[0])
    network = stored.networks[0]
    assert (code, target["verdict"]) == (0, "ACCEPTED")
    assert len(file["y"]) == 39

    proof = gm.prove(network, data)
    certificate = gm.certify(network, data)
    assert proof.verdict == "ACCEPTED"
    assert proof.certificate == certificate.to_bytes()
    assert (tmp_path / "out" / "certificate.gmc").read_bytes() == proof.certificate
    assert bounds_of(target) == (proof.loss_upper, proof.loss_lower)
    assert "1 of 40 rows repeat another row" in proof.notes_on_data[0]

    model = gm.ShallowNetworkRegressor(random_state=0).fit(X, y)
    assert model.verdict_ == "ACCEPTED"
    same_rows(load(model.certificate_), file)
    again = gm.prove(model.network_, gm.Dataset.from_raw(X, y, model.preprocessing_))
    assert (again.loss_upper, again.loss_lower) == (model.loss_upper_, model.loss_lower_)


def dependent_squares():
    """Signs have the square 1: the squares of the features and of the bias coincide."""
    X = RNG.choice([-1.0, 1.0], size=(60, 4))
    return X, X[:, 0] * X[:, 1] - X[:, 2] + 0.3 * RNG.standard_normal(60)


def test_dependent_squares_have_one_gap_at_every_door(tmp_path, capsys):
    X, y = dependent_squares()
    code, target, file = by_command(tmp_path, capsys, X, y, "--activation", "quadratic")
    assert (code, target["verdict"]) == (0, "ACCEPTED")

    model = gm.QuadraticNetworkRegressor().fit(X, y)
    assert model.verdict_ == "ACCEPTED"
    assert printed(*bounds_of(target)) == printed(model.loss_upper_, model.loss_lower_)
    assert model.gap_ <= 1e-9 * model.loss_upper_
    same_rows(load(model.certificate_), file)

    data = gm.Dataset(X, y)
    network = gm.train_auto(data, activation="quadratic").network
    proof = gm.prove(network, data)
    certificate = gm.certify(network, data)
    assert proof.verdict == "ACCEPTED"
    assert [claim.kind for claim in certificate.claims] == [claim.kind for claim in proof.claims]
    assert printed(proof.loss_upper, proof.loss_lower) == printed(*bounds_of(target))
    assert upper_text(proof.gap, 2) == upper_text(model.gap_, 2)
    assert certificate.summary()["gap"] == pytest.approx(proof.gap, rel=1e-9)
    same_rows(load(proof.certificate), file)


@pytest.mark.parametrize("weight_decay", [0.0, 1.0])
def test_auto_means_the_convex_problem_at_every_door(tmp_path, capsys, weight_decay):
    X = RNG.standard_normal((50, 4))
    y = X[:, 0] * X[:, 1] + X[:, 2] + 0.1 * RNG.standard_normal(50)
    options = ["--activation", "quadratic", "--weight-decay", str(weight_decay)]
    code, target, file = by_command(tmp_path, capsys, X, y, *options)
    assert (code, target["verdict"]) == (0, "ACCEPTED")
    assert target["training"]["status"] == "converged"

    model = gm.QuadraticNetworkRegressor(weight_decay=weight_decay).fit(X, y)
    assert printed(model.loss_upper_, model.loss_lower_) == printed(*bounds_of(target))
    same_rows(load(model.certificate_), file)

    data = gm.Dataset(X, y)
    start = gm.ShallowNetwork.initialize(data, width=10, activation="quadratic", seed=0)
    for run in (
        gm.train_auto(data, activation="quadratic", weight_decay=weight_decay),
        gm.train(start, data, "auto", weight_decay=weight_decay),
    ):
        assert run.status == "converged"
        assert run.method == target["training"]["method"]
        proof = gm.prove(run.network, data, weight_decay=weight_decay)
        assert proof.verdict == "ACCEPTED"
        same_rows(load(proof.certificate), file)
        if weight_decay == 0 or set(np.abs(run.network.v)) == {1.0}:
            assert printed(proof.loss_upper, proof.loss_lower) == printed(*bounds_of(target))
    if not weight_decay:
        shallow = gm.ShallowNetworkRegressor(activation="quadratic", random_state=0).fit(X, y)
        assert shallow.verdict_ == "ACCEPTED"
        assert printed(shallow.loss_upper_, shallow.loss_lower_) == printed(*bounds_of(target))


def test_a_run_of_the_convex_problem_tells_its_stages():
    X = RNG.standard_normal((80, 5))
    data = gm.Dataset(X, np.sin(X[:, 0]) + X[:, 1] ** 2)
    for weight_decay in (0.0, 0.5):
        run = gm.train_auto(data, activation="quadratic", weight_decay=weight_decay)
        columns = run.trajectory.columns()
        spectrum = columns.pop("sigma_min")  # not measured at every step, by any method
        assert np.isfinite(spectrum[[0, -1]]).all()
        assert all(np.isfinite(values).all() for values in columns.values())
        assert len(run.losses) >= 3
        assert run.losses[0] == pytest.approx(0.5 * data.y @ data.y)
        assert run.losses[-1] == pytest.approx(run.loss, rel=1e-9)
        assert run.trajectory.iteration[-1] == run.n_iter
        assert (np.diff(run.trajectory.path_length) >= 0).all()
