"""`globalmin fit --depth`, and `certify`, `classify`, `inspect` on its files."""

import json

import numpy as np
import pytest

import globalmin as gm


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("deep")


@pytest.fixture
def fitted(run, table, folder, tmp_path):
    """A table and the output folder of a deep fit, made once."""
    path = table(14)
    out = folder / "o"
    if not out.exists():
        ended = run("fit", path, "-t", "price", "--depth", 2, "--width", 16, "--activation",
                    "tanh", "--out", out, "--json")  # fmt: skip
        assert ended.code == 0, ended
        assert ended.json["targets"][0]["network"]["architecture"] == "fully_connected"
        assert ended.json["options"]["depth"] == 2
    return path, out


def test_a_deep_fit_writes_model_certificate_report_and_record(fitted):
    _, out = fitted
    assert {p.name for p in out.iterdir()} >= {
        "model.safetensors", "certificate.gmc", "report.html", "fit.json",
    }  # fmt: skip
    assert gm.check(out / "certificate.gmc").verdict == "ACCEPTED"
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "fully connected" in page
    assert "all layers" in page
    network, step, _ = gm.load_network(out / "model.safetensors")
    assert isinstance(network, gm.DeepNetwork)
    assert step.target_name == "price"


def test_certify_classify_and_inspect_take_deep_files(run, fitted, tmp_path):
    path, out = fitted
    rest = (path, "-t", "price", "--test-size", 0.2)
    model = out / "model.safetensors"
    ended = run("certify", model, *rest, "--out", tmp_path / "again.gmc", "--json")
    assert ended.code == 0, ended
    assert (tmp_path / "again.gmc").read_bytes() == (out / "certificate.gmc").read_bytes()
    ended = run("classify", model, *rest, "--json")
    assert ended.code == 0, ended
    assert ended.json["kind"] == "global minimum"
    assert ended.json["proof"]["verdict"] == "ACCEPTED"
    ended = run("inspect", *rest, "--network", model, "--json")
    assert ended.code == 0, ended
    assert "depth 2, width 16, tanh" in ended.json["network"]
    assert len(ended.json["eigenvalues"]) == 11
    assert run("inspect", *rest, "--network", model, "--width", 5).code == 2


def test_a_network_that_is_not_trained_is_no_minimum_and_has_no_proof(run, fitted, tmp_path):
    path, out = fitted
    network, step, _ = gm.load_network(out / "model.safetensors")
    start = gm.DeepNetwork.initialize(network.input_shape, 16, 2, activation="tanh", seed=3)
    gm.save_network(tmp_path / "start.safetensors", start, step)
    rest = (tmp_path / "start.safetensors", path, "-t", "price", "--test-size", 0.2)
    ended = run("classify", *rest, "--json")
    assert ended.code == 0
    assert ended.json["kind"] == "not stationary"
    assert run("certify", *rest, "--out", tmp_path / "x.gmc").code == 1


def test_the_report_of_gradient_descent_shows_the_predicted_curve(run, table, tmp_path):
    ended = run("fit", table(6), "-t", "price", "--depth", 2, "--width", 40, "--activation", "tanh",
                "--method", "gradient_descent", "--max-iter", 40, "--test-size", 0,
                "--out", tmp_path / "o", "--json")  # fmt: skip
    assert ended.code in (0, 1)
    record = json.loads((tmp_path / "o" / "fit.json").read_text(encoding="utf-8"))
    columns = record["targets"][0]["trajectory"]
    assert columns["predicted_loss"][0] == pytest.approx(columns["loss"][0])
    assert columns["predicted_loss"][-1] < columns["predicted_loss"][0]
    page = (tmp_path / "o" / "report.html").read_text(encoding="utf-8")
    assert "the kernel of all layers at the start predicts" in page


def test_images_of_an_archive_are_fitted_by_windows(run, tmp_path):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "images.npz", X=rng.standard_normal((5, 3, 3)), y=np.arange(5.0))
    ended = run("fit", tmp_path / "images.npz", "-t", "y", "--image", "3x3", "--depth", 2,
                "--width", 3, "--activation", "tanh", "--test-size", 0, "--out",
                tmp_path / "o", "--json")  # fmt: skip
    assert ended.code == 0, ended
    assert gm.load_network(tmp_path / "o" / "model.safetensors").network.input_shape == (1, 3, 3)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--depth", 2, "--method", "sgd"), "all layers"),
        (("--depth", 2, "--trained", "v"), "all layers"),
        (("--architecture", "dense"), "fully_connected"),
        (("--architecture", "resnet", "--depth", 1), "residual layer"),
        (("--image", "3by3"), "HEIGHTxWIDTH"),
    ],
)
def test_options_that_deep_networks_do_not_have_are_refused(run, table, options, words):
    ended = run("fit", table(6), "-t", "price", *options)
    assert ended.code == 2
    assert words in " ".join(ended.err.replace("│", " ").split())


def test_an_image_that_is_not_as_large_as_a_row_is_refused(run, table, tmp_path):
    ended = run("fit", table(6), "-t", "price", "--image", "3x3", "--out", tmp_path / "o")
    assert ended.code == 3
    assert "image_shape" in ended.err
