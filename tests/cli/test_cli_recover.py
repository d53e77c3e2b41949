"""`globalmin recover`: table with error bars, files, exit codes, and what it refuses."""

import csv
import json

import numpy as np
import pytest

import globalmin as gm

W = np.array([[1.5, 0.2, 0.0], [0.0, -0.5, 1.8]])


@pytest.fixture
def planted(tmp_path):
    """A csv file of inputs a, b, c and a target planted by W."""

    def write(kind="regression", n=800, name="planted.csv", **change):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((n, 3)) * change.get("scale", 1.0) + change.get("mean", 0.0)
        p = (1 / (1 + np.exp(-(X @ W.T) - change.get("offset", 0.0)))).mean(axis=1)
        y = p if kind == "regression" else (rng.random(n) < p).astype(int)
        rows = [
            [*map(repr, map(float, x)), repr(label.item())] for x, label in zip(X, y, strict=True)
        ]
        path = tmp_path / name
        text = "\n".join(",".join(row) for row in [["a", "b", "c", "y"], *rows])
        path.write_text(text + "\n", encoding="utf-8")
        return path

    return write


def weights(folder):
    with (folder / "weights.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_weights_error_bars_model_and_certificate_are_written(run, planted, tmp_path):
    out = tmp_path / "out"
    path = planted("classification", 4_000)
    ended = run(
        "recover", path, "-t", "y", "--width", 2, "--labels", "classification", "--out", out, "-q"
    )
    assert ended.code == 0, ended
    assert "±" in ended.out
    assert "one minimum within" in ended.out
    files = {"weights.csv", "recovery.json", "model.safetensors", "certificate.gmc"}
    assert {f.name for f in out.iterdir()} == files
    assert gm.check(out / "certificate.gmc").verdict.value == "ACCEPTED"
    rows = weights(out)
    assert [(r["neuron"], r["feature"]) for r in rows] == [
        (k, f) for k in ("0", "1") for f in ("a", "b", "c")
    ]
    found = np.array([[float(r["weight"]) for r in rows]]).reshape(2, 3)
    order = (
        gm.recover_teacher(
            gm.Dataset.load(path, target="y", bias=False, scaling="none"),
            2,
            labels="classification",
            certify=False,
        )
        .match(W)
        .order
    )
    for r, true in zip([rows[3 * k + j] for k in order for j in range(3)], W.flat, strict=True):
        half = 1.959964 * float(r["standard_error"])
        assert float(r["high"]) - float(r["low"]) == pytest.approx(2 * half, rel=1e-5)
        assert abs(float(r["weight"]) - true) < 4 * float(r["standard_error"])
    record = json.loads((out / "recovery.json").read_text(encoding="utf-8"))
    assert record["ball"]["radius"] > 0
    assert 0.05 < record["expected_error"] < 0.3
    assert record["warnings"] == []
    from globalmin.shallow.storage import load_network

    np.testing.assert_allclose(load_network(out / "model.safetensors").network.W, found)


def test_json_and_a_recovery_in_doubt(run, planted, tmp_path):
    """Too few binary labels: exit code 1, the reason in the output, and no certificate of before
    left.
    """
    out = tmp_path / "out"
    out.mkdir()
    (out / "certificate.gmc").write_bytes(b"stale")
    path = planted("classification", 150)
    arguments = ("--labels", "classification", "--no-certify", "--out", out, "--json")
    ended = run("recover", path, "-t", "y", "--width", 2, *arguments)
    assert ended.code == 1
    assert ended.json["exit_code"] == 1
    assert any("not known" in w for w in ended.json["warnings"])
    assert not (out / "certificate.gmc").exists()


def test_whitened_inputs_and_offsets(run, planted, tmp_path):
    out = tmp_path / "out"
    path = planted(n=3_000, mean=0.5, scale=2.0, offset=0.3)
    ended = run(
        "recover", path, "-t", "y", "--width", 2, "--inputs", "gaussian", "--offsets",
        "--no-certify", "--out", out,
    )  # fmt: skip
    assert ended.code == 0, ended
    rows = weights(out)
    assert [r["feature"] for r in rows[:4]] == ["a", "b", "c", "offset"]
    assert [float(r["weight"]) for r in rows if r["feature"] == "offset"] == pytest.approx(
        [0.3] * 2
    )
    wrong = run("recover", path, "-t", "y", "--width", 2, "--no-certify", "--out", out)
    assert wrong.code == 1
    assert "warning" in wrong.out


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--width", 4), (1, "K <= d")),
        (("--width", 2, "--activation", "relu"), (1, "kinks")),
        (("--width", 2, "--labels", "classification"), (3, "{0, 1}")),
        (("--width", 2, "--estimator", "likelihood"), (2, "--labels classification")),
        (("--width", 2, "--activation", "cubic"), (2, "--activation")),
        (("--width", 0), (2, "--width")),
        ((), (2, "--width")),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_written(
    run, planted, tmp_path, arguments, expected
):
    out, (code, word) = tmp_path / "out", expected
    ended = run("recover", planted(n=60), "-t", "y", "--out", out, *arguments)
    assert ended.code == code, ended
    assert word in ended.err
    assert not out.exists()


def test_constant_labels_and_missing_columns_are_malformed_input(run, tmp_path):
    path = tmp_path / "constant.csv"
    rows = np.random.default_rng(0).standard_normal((40, 2))
    path.write_text("a,b,y\n" + "".join(f"{a},{b},0.5\n" for a, b in rows), encoding="utf-8")
    ended = run("recover", path, "-t", "y", "--width", 2, "--out", tmp_path / "out")
    assert ended.code == 3
    assert "constant labels" in ended.err
    assert run("recover", path, "-t", "z", "--width", 2).code == 3
