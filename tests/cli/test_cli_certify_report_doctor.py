"""`globalmin certify`, `globalmin report` and `globalmin doctor`."""

import json
import re

import pytest

from globalmin.proving.producer import check
from globalmin_check import Verdict


@pytest.fixture
def fitted(run, table, tmp_path):
    """A table and the output folder of a fit on all its rows but the held-out ones."""
    path = table(20)
    assert run("fit", "--interpolate", path, "-t", "price", "--out", tmp_path / "o").code == 0
    return path, tmp_path / "o"


def test_certify_proves_the_stored_network_on_the_rows_it_was_trained_on(run, fitted, tmp_path):
    path, out = fitted
    ended = run(
        "certify",
        out / "model.safetensors",
        path,
        "-t",
        "price",
        "--test-size",
        0.2,
        "--out",
        tmp_path / "again.gmc",
        "--json",
    )
    assert ended.code == 0, ended
    assert ended.json["verdict"] == "ACCEPTED"
    assert check(tmp_path / "again.gmc").verdict is Verdict.ACCEPTED
    assert (tmp_path / "again.gmc").read_bytes() == (out / "certificate.gmc").read_bytes()


def test_certify_on_rows_the_network_does_not_fit_exits_with_1_and_writes_nothing(
    run, fitted, tmp_path
):
    path, out = fitted
    ended = run(
        "certify", out / "model.safetensors", path, "-t", "price", "--out", tmp_path / "again.gmc"
    )
    assert ended.code == 1
    assert "NOT PROVED" in ended.out
    assert {p.name for p in tmp_path.iterdir()} == {"table.csv", "o"}


@pytest.mark.parametrize("name", ["net.onnx", "net.pt", "net.txt"])
def test_certify_refuses_other_formats_and_says_what_to_do(run, table, tmp_path, name):
    (tmp_path / name).write_bytes(b"x")
    ended = run("certify", tmp_path / name, table(6), "-t", "price")
    assert ended.code == (2 if name == "net.txt" else 3)
    remedy = {"net.onnx": "export", "net.pt": "state_dict()", "net.txt": "safetensors"}[name]
    assert remedy in ended.err or "is not installed; pip install" in ended.err


def test_certify_refuses_a_damaged_model_and_an_unknown_target(run, fitted, tmp_path):
    path, out = fitted
    (tmp_path / "bad.safetensors").write_bytes(b"12345678")
    assert run("certify", tmp_path / "bad.safetensors", path, "-t", "price").code == 3
    ended = run("certify", out / "model.safetensors", path, "-t", "cost")
    assert ended.code == 3
    assert "'cost'" in ended.err


def test_report_writes_the_same_page_again_from_the_files(run, fitted):
    _, out = fitted
    page = (out / "report.html").read_bytes()
    (out / "report.html").unlink()
    ended = run("report", out)
    assert ended.code == 0
    assert (out / "report.html").read_bytes() == page


def test_report_shows_red_when_the_certificate_was_changed_or_is_gone(run, fitted):
    _, out = fitted
    content = bytearray((out / "certificate.gmc").read_bytes())
    content[-3] ^= 4
    (out / "certificate.gmc").write_bytes(bytes(content))
    assert run("report", out, "--json").json["targets"][0]["verdict"] == "MALFORMED"
    assert 'class="verdict red"' in (out / "report.html").read_text(encoding="utf-8")
    (out / "certificate.gmc").unlink()
    ended = run("report", out)
    assert ended.code == 1
    assert "missing from the folder" in (out / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "damage",
    ["", "[]", '{"format": "other"}', "{", '{"format": "globalmin-fit/1", "targets": []}', "NaN"],
)
def test_report_refuses_a_folder_that_is_not_ours(run, tmp_path, damage):
    assert run("report", tmp_path).code == 3
    (tmp_path / "fit.json").write_text(damage, encoding="utf-8")
    ended = run("report", tmp_path)
    assert ended.code == 3
    assert "fit" in ended.err
    assert not (tmp_path / "report.html").exists()


def test_report_reads_no_certificate_outside_its_folder(run, fitted):
    _, out = fitted
    record = json.loads((out / "fit.json").read_text(encoding="utf-8"))
    record["targets"][0]["certificate"] = "../certificate.gmc"
    (out / "fit.json").write_text(json.dumps(record), encoding="utf-8")
    assert run("report", out).code == 3


def test_doctor_finds_everything_working_and_names_no_place(run):
    ended = run("doctor", "--json")
    assert ended.code == 0, ended
    assert set(ended.json["trials"].values()) == {"ok"}
    assert len(ended.json["trials"]) == 4
    assert re.fullmatch("[0-9a-f]{16}", ended.json["environment"]["fingerprint"])
    assert "/" not in json.dumps(ended.json["environment"])
    assert run("doctor").code == 0


def test_doctor_reports_a_broken_checker(run, monkeypatch):
    def fail():
        raise ImportError("no flint here")

    monkeypatch.setattr("globalmin.cli.doctor._try_flint", fail)
    ended = run("doctor")
    assert ended.code == 1
    assert "no flint here" in ended.out
