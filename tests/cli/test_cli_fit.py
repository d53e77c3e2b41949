"""`globalmin fit` on tables it can fit: what is written, what is printed, and the exit code."""

import json

import numpy as np
import pytest
from tests.cli.folders import everything_below

from globalmin.proving.producer import check
from globalmin.shallow.storage import load_network, load_networks
from globalmin_check import Verdict

FILES = {"model.safetensors", "certificate.gmc", "report.html", "fit.json"}


def test_a_small_table_is_fitted_proved_and_accepted(run, table, tmp_path):
    ended = run(
        "fit",
        "--interpolate",
        table(),
        "--target",
        "price",
        "--out",
        tmp_path / "o",
        "--test-size",
        0,
    )
    assert ended.code == 0, ended
    assert everything_below(tmp_path / "o") == FILES
    assert check(tmp_path / "o" / "certificate.gmc").verdict is Verdict.ACCEPTED
    assert "ACCEPTED" in ended.out
    assert "loss_upper" in ended.out
    assert f"globalmin-check {tmp_path / 'o' / 'certificate.gmc'}" in ended.out
    assert "Zero training loss is not generalization" in ended.out


def test_the_saved_model_reproduces_the_training_targets(run, table, tmp_path):
    path = table()
    run(
        "fit", "--interpolate", path, "--target", "price", "--out", tmp_path / "o", "--test-size", 0
    )
    stored = load_network(tmp_path / "o" / "model.safetensors")
    raw = np.loadtxt(path, delimiter=",", skiprows=1)
    assert stored.preprocessing is not None
    outputs = stored.preprocessing.restore(
        stored.network.predict(stored.preprocessing.transform(raw[:, :4]))
    )
    np.testing.assert_allclose(outputs, raw[:, 4], atol=1e-10)


def test_relu_is_fitted_proved_and_drawn_with_its_margins(run, table, tmp_path):
    ended = run(
        "fit",
        "--interpolate",
        table(),
        "-t",
        "price",
        "--activation",
        "relu",
        "--out",
        tmp_path / "o",
        "--test-size",
        0,
        "--json",
    )
    assert ended.code == 0, ended
    assert [c["kind"] for c in ended.json["targets"][0]["claims"]] == ["relu-interpolation"]
    assert "Margins at the kinks" in (tmp_path / "o" / "report.html").read_text(encoding="utf-8")


def test_json_is_one_object_with_the_documented_keys(run, table, tmp_path):
    ended = run(
        "fit", "--interpolate", table(), "--target", "price", "--out", tmp_path / "o", "--json"
    )
    result = ended.json
    assert ended.code == 0
    assert ended.err == ""
    assert set(result) == {
        "command",
        "exit_code",
        "out",
        "report",
        "data",
        "options",
        "environment",
        "targets",
    }
    (target,) = result["targets"]
    assert {
        "name",
        "verdict",
        "claims",
        "certificate",
        "model",
        "training",
        "scores",
        "loss_floor",
        "seconds",
    } <= set(target)
    assert target["verdict"] == "ACCEPTED"
    assert {"train_r2", "held_out_r2", "ridge_train_r2", "ridge_held_out_r2"} == set(
        target["scores"]
    )
    assert set(target["seconds"]) == {"train", "prove", "check"}
    assert all(claim["numbers"]["loss_upper"] >= 0 for claim in target["claims"])


def test_one_fifth_of_the_rows_is_held_out_and_not_trained_on(run, table, tmp_path):
    ended = run("fit", "--interpolate", table(24), "--target", "price", "--out", tmp_path / "o")
    record = json.loads((tmp_path / "o" / "fit.json").read_text(encoding="utf-8"))
    assert ended.code == 0
    assert (record["data"]["n_rows"], record["data"]["n_train"], record["data"]["n_held_out"]) == (
        24,
        19,
        5,
    )
    assert len(record["targets"][0]["train"]["target"]) == 19
    assert len(record["targets"][0]["held_out"]["target"]) == 5
    assert "ridge regression" in ended.out


def test_several_targets_give_one_network_and_one_certificate_each(run, table, tmp_path):
    names = ("rent / month", "<script>alert(1)</script>")
    path = table(12, targets=names)
    ended = run(
        "fit",
        "--interpolate",
        path,
        "-t",
        names[0],
        "-t",
        names[1],
        "--out",
        tmp_path / "o",
        "--test-size",
        0,
        "--json",
    )
    assert ended.code == 0, ended
    certificates = {"certificate-rent_month.gmc", "certificate-script_alert_1_script.gmc"}
    assert everything_below(tmp_path / "o") == (FILES - {"certificate.gmc"}) | certificates
    assert len(load_networks(tmp_path / "o" / "model.safetensors").networks) == 2
    assert [t["verdict"] for t in ended.json["targets"]] == ["ACCEPTED", "ACCEPTED"]
    page = (tmp_path / "o" / "report.html").read_text(encoding="utf-8")
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


def test_the_same_command_writes_the_same_bytes(run, table, tmp_path):
    path = table(12)
    for name in ("one", "two"):
        assert (
            run(
                "fit", "--interpolate", path, "-t", "price", "--out", tmp_path / name, "--seed", 3
            ).code
            == 0
        )
    for file in FILES:
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes(), (
            file
        )


def test_gradient_descent_is_certified_by_the_descent_claim(run, table, tmp_path):
    arguments = ("--method", "gradient_descent", "--width", 60, "--test-size", 0, "--json")
    ended = run(
        "fit", "--interpolate", table(8), "-t", "price", "--out", tmp_path / "o", *arguments
    )
    assert ended.code == 0, ended
    assert "descent" in [c["kind"] for c in ended.json["targets"][0]["claims"]]
    assert "later step" in (tmp_path / "o" / "report.html").read_text(encoding="utf-8")


def test_gradient_descent_until_proved_is_proved_from_its_start_and_drawn(run, table, tmp_path):
    """OS-T2.1 for the run of this very fit; the page shows the residual and the replay's error."""
    arguments = ("--method", "gradient_descent", "--until", "proved", "--width", 60, "--json")
    ended = run(
        "fit",
        "--interpolate",
        table(8),
        "-t",
        "price",
        "--out",
        tmp_path / "o",
        "--test-size",
        0,
        *arguments,
    )
    assert ended.code == 0, ended
    target = ended.json["targets"][0]
    assert [c["kind"] for c in target["claims"]] == ["trajectory", "descent", "interpolation"]
    assert target["claims"][0]["numbers"]["steps"] == target["training"]["n_iter"]
    page = (tmp_path / "o" / "report.html").read_text(encoding="utf-8")
    assert "Gradient descent from its own start provably reaches" in page
    assert "From the random start" in page
    assert "error of the replay, 128 bits" in page
    assert "later step" in page


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("--until", "proved"), "add --method gradient_descent"),
        (("--until", "proved", "--method", "gradient_descent", "--trained", "vW"), "--trained W"),
        (("--until", "descent", "--depth", 2), "shallow networks"),
        (("--until", "never"), "never"),
    ],
)
def test_until_is_refused_where_it_means_nothing(run, table, arguments, word):
    ended = run("fit", "--interpolate", table(8), "-t", "price", *arguments)
    assert ended.code == 2
    assert word in " ".join(ended.err.split())


def test_repeated_rows_are_told_to_be_in_the_way_of_a_proof_from_the_start(run, table, tmp_path):
    def repeat(rows):
        rows[1] = list(rows[0])

    path = table(8, change=repeat)
    arguments = ("--method", "gradient_descent", "--until", "proved", "--width", 60, "-q")
    ended = run(
        "fit",
        "--interpolate",
        path,
        "-t",
        "price",
        "--out",
        tmp_path / "o",
        "--test-size",
        0,
        *arguments,
    )
    assert ended.code == 0, ended
    assert "not in the certificate: trajectory: rows repeat" in ended.err


def test_both_layers_can_be_trained(run, table, tmp_path):
    ended = run(
        "fit",
        "--interpolate",
        table(12),
        "-t",
        "price",
        "--trained",
        "vW",
        "--out",
        tmp_path / "o",
        "--test-size",
        0,
        "--json",
    )
    assert ended.code == 0, ended
    assert ended.json["targets"][0]["network"]["trained"] == "vW"


def test_a_network_too_narrow_is_saved_and_reported_as_not_proved(run, table, tmp_path):
    ended = run(
        "fit",
        "--interpolate",
        table(),
        "-t",
        "price",
        "--width",
        2,
        "--out",
        tmp_path / "o",
        "--test-size",
        0,
        "--json",
    )
    assert ended.code == 1, ended
    assert everything_below(tmp_path / "o") == FILES - {"certificate.gmc"}
    (target,) = ended.json["targets"]
    assert target["verdict"] == "NOT PROVED"
    assert target["certificate"] is None
    assert target["reasons"]
    assert 'class="verdict red"' in (tmp_path / "o" / "report.html").read_text(encoding="utf-8")


def test_a_loss_floor_far_below_the_loss_is_accepted_but_not_a_proof_of_the_minimum(
    run, table, tmp_path
):
    # one neuron has a head v > 0 and softplus > 0, so that no such network can reach the negative
    # labels
    ended = run(
        "fit",
        "--interpolate",
        table(),
        "-t",
        "price",
        "--width",
        1,
        "--out",
        tmp_path / "o",
        "--test-size",
        0,
        "--json",
    )
    assert ended.code == 1, ended
    (target,) = ended.json["targets"]
    assert target["verdict"] == "ACCEPTED"
    assert [c["kind"] for c in target["claims"]] == ["loss-floor"]
    page = (tmp_path / "o" / "report.html").read_text(encoding="utf-8")
    assert 'class="verdict amber"' in page
    assert "is not proved, the gap is wide" in page


def test_a_second_fit_replaces_the_first_and_leaves_other_files_alone(run, table, tmp_path):
    path, out = table(), tmp_path / "o"
    assert (
        run("fit", "--interpolate", path, "-t", "price", "--out", out, "--test-size", 0).code == 0
    )
    (out / "notes.txt").write_text("mine", encoding="utf-8")
    assert (
        run(
            "fit",
            "--interpolate",
            path,
            "-t",
            "price",
            "--out",
            out,
            "--width",
            2,
            "--test-size",
            0,
            "--force",
        ).code
        == 1
    )
    assert everything_below(out) == (FILES - {"certificate.gmc"}) | {"notes.txt"}
    assert (out / "notes.txt").read_text(encoding="utf-8") == "mine"


def test_nothing_but_the_output_folder_is_left_behind(run, table, tmp_path):
    run(
        "fit",
        "--interpolate",
        table(),
        "-t",
        "price",
        "--out",
        tmp_path / "deep" / "er" / "o",
        "--test-size",
        0,
    )
    top = {path.name for path in tmp_path.iterdir()}
    assert top == {"table.csv", "deep"}
    assert {path.name for path in (tmp_path / "deep" / "er").iterdir()} == {"o"}


@pytest.mark.parametrize("scaling", ["rows", "none"])
def test_other_scalings_and_no_bias_work(run, table, tmp_path, scaling):
    ended = run(
        "fit",
        "--interpolate",
        table(12),
        "-t",
        "price",
        "--no-bias",
        "--scaling",
        scaling,
        "--out",
        tmp_path / "o",
        "--test-size",
        0,
    )
    assert ended.code == 0, ended


def test_certificate_model_and_record_name_no_place_and_no_time(run, table, tmp_path):
    run("fit", "--interpolate", table(12), "-t", "price", "--out", tmp_path / "o")
    for file in FILES:
        content = (tmp_path / "o" / file).read_bytes()
        assert str(tmp_path).encode() not in content
        assert b"seconds" not in content
