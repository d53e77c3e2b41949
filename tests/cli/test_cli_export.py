"""`globalmin export`: the file predicts in onnxruntime what `globalmin predict` says."""

import numpy as np
import pytest

import globalmin as gm

runtime = pytest.importorskip("onnxruntime")


@pytest.fixture
def people(tmp_path):
    rng = np.random.default_rng(3)
    lines = ["age;city;since;kept"]
    for i in range(60):
        age = "" if i % 11 == 0 else str(rng.integers(20, 70))
        city = ["Oslo", "Rome", "Bern", ""][i % 4]
        kept = "yes" if (i % 4) + rng.integers(3) > 2 else "no"
        lines.append(f"{age};{city};{2020 + i % 4}-{1 + i % 12:02d}-1{i % 10};{kept}")
    path = tmp_path / "people.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_a_fitted_table_is_exported_with_everything_done_to_it(run, people, tmp_path):
    fitted = tmp_path / "fit"
    given = ("--model", "additive", "--weight-decay", "2", "--out", fitted)
    assert run("fit", people, "--target", "kept", *given).code == 0
    ended = run("export", fitted, "--out", tmp_path / "m.onnx", "--json")
    assert (ended.code, ended.err) == (0, "")
    told = ended.json
    assert told["inputs"] == ["age", "city", "since"]
    assert told["outputs"] == ["label", "scores", "probabilities"]
    assert told["bytes"] == (tmp_path / "m.onnx").stat().st_size
    said = run("predict", fitted, people, "--proba", "--json").json
    session = runtime.InferenceSession(tmp_path / "m.onnx")
    table = gm.read_raw_table(people, target=["kept"])
    label, _, shares = session.run(None, gm.interop.onnx_inputs(gm.load(fitted), table))
    assert label.tolist() == said["kept"]
    # the same doubles in another order of sums
    np.testing.assert_allclose(shares[:, 1], said["probability of yes"], rtol=1e-9)
    plain = run("export", fitted, "--out", tmp_path / "s.onnx", "--single")
    assert plain.out.startswith("inputs: age, city, since\noutputs: label, scores, prob")


def test_patch_networks_are_loaded_and_exported(run, tmp_path):
    X = np.random.default_rng(0).standard_normal((9, 8))
    layout = gm.patch_layout((8,), 3)
    network = gm.PatchNetwork(np.array([[1.0, -1.0, 0.5]]), np.ones((1, 6)), layout)
    gm.save_patch_network(tmp_path / "model.safetensors", network)
    assert np.array_equal(gm.load(tmp_path).predict(X), network.predict(X))
    assert run("export", tmp_path, "--out", tmp_path / "p.onnx").code == 0
    (got,) = runtime.InferenceSession(tmp_path / "p.onnx").run(None, {"X": X})
    np.testing.assert_allclose(got[:, 0], network.predict(X), rtol=1e-12, atol=1e-13)  # 18 terms


@pytest.mark.parametrize(
    ("out", "said"),
    [("m.pb", "name it m.onnx"), ("no/folder/m.onnx", "does not exist; give a file name")],
)
def test_wrong_names_are_refused_before_anything_is_read(run, tmp_path, out, said):
    (tmp_path / "model.safetensors").write_bytes(b"not read")
    ended = run("export", tmp_path, "--out", tmp_path / out)
    assert ended.code == 2
    assert said in " ".join(ended.err.split())
