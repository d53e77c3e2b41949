"""Networks of other frameworks on the command line: certify, classify, gap and inspect."""

import json

import numpy as np
import pytest
from tests.interop.frameworks_cases import module, trained

import globalmin as gm
from globalmin.cli import main

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("brought")
    X, y, own = trained("tanh")
    header = {"delimiter": ",", "header": "a,b,c,d,e,y", "comments": "", "fmt": "%.17g"}
    np.savetxt(path / "data.csv", np.column_stack([X, y]), **header)
    torch.save(own.state_dict(), path / "weights.pt")
    torch.save(module("relu", (5, 6, 1)).state_dict(), path / "relu.pth")
    from safetensors.torch import save_file

    save_file(own.state_dict(), path / "theirs.safetensors")
    return path


def run(capsys, folder, command, model, *options):
    given = [command, str(folder / model), str(folder / "data.csv"), "--target", "y", *options]
    code = main(given)
    return code, capsys.readouterr()


@pytest.mark.parametrize("model", ["weights.pt", "theirs.safetensors"])
def test_a_state_dict_is_certified_with_its_activation(capsys, folder, model):
    out = folder / "theirs.gmc"
    options = ["--activation", "tanh", "--json", "--out", str(out)]
    code, said = run(capsys, folder, "certify", model, *options)
    found = json.loads(said.out)
    assert (code, found["verdict"]) == (0, "ACCEPTED")
    assert gm.check(out).verdict == "ACCEPTED"
    assert "tensors do not name it" in said.err
    code, said = run(capsys, folder, "certify", model)
    assert code == 3
    assert "activation=" in said.err


def test_an_onnx_file_is_certified_classified_and_inspected(capsys, folder):
    pytest.importorskip("onnx")
    net = gm.interop.from_torch(folder / "weights.pt", activation="tanh")
    gm.interop.to_onnx(net, folder / "theirs.onnx")
    for command in ("certify", "classify"):
        code, said = run(capsys, folder, command, "theirs.onnx", "--json")
        assert code == 0
        assert "outputs agree" in said.err
        assert "ACCEPTED" in said.out
    code, said = run(capsys, folder, "inspect", "theirs.onnx", "--json")
    assert code == 0
    assert '"width": 14' in said.out


def test_the_gap_of_a_relu_network_is_proved(capsys, folder):
    options = ["--activation", "relu", "--weight-decay", "2", "--json"]
    code, said = run(capsys, folder, "gap", "relu.pth", *options)
    found = json.loads(said.out)
    assert (code, found["verdict"]) == (0, "ACCEPTED")
    assert 0 < found["lower_bound"] <= found["best_objective"] <= found["objective"]


def test_files_and_tables_that_do_not_fit_are_refused(capsys, folder, tmp_path):
    (tmp_path / "model.txt").write_text("no network")
    np.savetxt(tmp_path / "few.csv", np.eye(3), delimiter=",", header="a,b,y", comments="")
    table, few = str(folder / "data.csv"), str(tmp_path / "few.csv")
    assert main(["certify", str(tmp_path / "model.txt"), table, "-t", "y"]) == 2
    assert "not a file of a network" in capsys.readouterr().err
    weights = str(folder / "weights.pt")
    assert main(["certify", weights, few, "-t", "y", "--activation", "tanh"]) == 3
    assert "reads 5 features and few.csv has 2 columns" in capsys.readouterr().err
    assert main(["inspect", weights, weights, table, "-t", "y"]) == 2
    assert "one network at most" in capsys.readouterr().err


def test_the_folder_of_a_fit_stands_for_its_model_and_its_certificate(run, table, tmp_path):
    data, out = table(), tmp_path / "out"
    given = ("--interpolate", "--width", "8", "--test-size", "0", "--out", out)
    assert run("fit", data, "-t", "price", *given).code == 0
    for command in ("certify", "classify", "inspect"):
        by_folder = run(command, out, data, "-t", "price", "--json")
        by_file = run(command, out / "model.safetensors", data, "-t", "price", "--json")
        assert by_folder.code == by_file.code == 0, by_folder.err
        assert by_folder.json == by_file.json
    code, told, err = run("attest", out, "--model", out, "--data", data, "-t", "price")
    assert (code, err) == (0, "")
    assert json.loads(told)["subject"][1]["name"] == "model.safetensors"


@pytest.mark.parametrize("command", ["examine", "classify", "gap", "inspect"])
def test_a_folder_without_a_model_is_a_usage_error_that_names_those_below(
    run, table, tmp_path, command
):
    (tmp_path / "several" / "one").mkdir(parents=True)
    decay = ("--weight-decay", "1") if command == "gap" else ()
    ended = run(command, tmp_path / "several", table(), "-t", "price", *decay)
    assert ended.code == 2
    assert "has no model.safetensors" in " ".join(ended.err.split())
    (tmp_path / "several" / "one" / "model.safetensors").write_bytes(b"")
    ended = run(command, tmp_path / "several", table(), "-t", "price", *decay)
    assert ended.code == 2
    assert "one/model.safetensors" in "".join(ended.err.split())


def test_a_table_that_is_a_folder_is_a_usage_error_of_inspect(run, tmp_path):
    ended = run("inspect", tmp_path, "-t", "price")
    assert ended.code == 2
    assert "is a folder" in ended.err


def test_a_folder_of_several_fits_is_not_taken_for_one_of_several_targets(run, table, tmp_path):
    for name in ("first", "second"):
        data = table(name=f"{name}.csv")
        given = ("--model", "additive", "--weight-decay", "2", "--out", tmp_path / "all" / name)
        assert run("fit", data, "-t", "price", *given).code == 0
    ended = run("predict", tmp_path / "all", tmp_path / "first.csv")
    assert (ended.code, ended.out) == (2, "")
    assert "holds several fits" in " ".join(ended.err.split())


def test_gap_of_neurons_that_it_does_not_take_names_the_command_that_does(run, folder, tmp_path):
    model, data = folder / "weights.pt", folder / "data.csv"
    given = ("-t", "y", "--activation", "tanh", "--weight-decay", "1")
    ended = run("gap", model, data, *given)
    assert ended.code == 3
    assert "`examine` without a weight decay" in " ".join(ended.err.split())
