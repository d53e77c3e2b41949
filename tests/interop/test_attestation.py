"""in-toto statements: digests by another road, and files that do not belong together."""

import hashlib
import json

import numpy as np
import pytest

import globalmin as gm
from globalmin.cli import main


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table, a model of its rows with standardized columns, and the accepted certificate."""
    path = tmp_path_factory.mktemp("attest")
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((30, 4)).round(3)
    lines = ["a,b,c,y", *(",".join(map(repr, map(float, row))) for row in rows)]
    (path / "table.csv").write_text("\n".join(lines) + "\n")
    data = gm.Dataset.load(path / "table.csv", target="y")
    run = gm.train_auto(data, activation="softplus", seed=0)
    gm.certify(run.network, data).save(path / "fit.gmc")
    gm.save_network(path / "model.safetensors", run.network, data.preprocessing)
    return path


def test_the_statement_binds_the_files_by_their_digests(folder):
    found = gm.attest(
        folder / "fit.gmc", model=folder / "model.safetensors", data=folder / "table.csv"
    )
    assert found["_type"] == "https://in-toto.io/Statement/v1"
    assert [subject["name"] for subject in found["subject"]] == [
        "fit.gmc",
        "model.safetensors",
        "table.csv",
    ]
    for subject in found["subject"]:
        content = (folder / subject["name"]).read_bytes()
        assert subject["digest"] == {"sha256": hashlib.sha256(content).hexdigest()}
    predicate = found["predicate"]
    assert predicate["verdict"] == "ACCEPTED"
    assert predicate["model"] == {"network": 0, "tensors": ["W", "v"]}
    assert predicate["data"] == {"rows_compared": 30, "target": "y"}
    assert {claim["kind"] for claim in predicate["claims"]} >= {"descent"}
    # the digest of the rows, from the bytes of the table after standardizing
    raw = np.loadtxt(folder / "table.csv", delimiter=",", skiprows=1)
    data = gm.Dataset(raw[:, :3], raw[:, 3])
    line = f"globalmin-data/1 {data.X.shape[0]} {data.X.shape[1]}\n".encode()
    digest = hashlib.sha256(line + data.X.tobytes() + data.y.tobytes()).hexdigest()
    assert predicate["data_sha256"] == digest
    json.dumps(found, allow_nan=False)


def test_another_network_is_refused(folder, tmp_path):
    stored = gm.load_network(folder / "model.safetensors")
    W = stored.network.W.copy()
    W[0, 0] = np.nextafter(W[0, 0], 9.0)
    other = gm.ShallowNetwork(W, stored.network.v, stored.network.activation)
    gm.save_network(tmp_path / "other.safetensors", other, stored.preprocessing)
    with pytest.raises(gm.DataError, match="not those that the certificate speaks of"):
        gm.attest(folder / "fit.gmc", model=tmp_path / "other.safetensors")


def test_another_table_is_refused(folder, tmp_path):
    lines = (folder / "table.csv").read_text().splitlines()
    (tmp_path / "fewer.csv").write_text("\n".join(lines[:-1]) + "\n")
    with pytest.raises(gm.DataError, match="29 of the 30 certified rows"):
        gm.attest(
            folder / "fit.gmc", model=folder / "model.safetensors", data=tmp_path / "fewer.csv"
        )
    # rows that were held out do no harm
    (tmp_path / "more.csv").write_text("\n".join([*lines, "1.0,2.0,3.0,4.0"]) + "\n")
    found = gm.attest(
        folder / "fit.gmc", model=folder / "model.safetensors", data=tmp_path / "more.csv"
    )
    assert found["predicate"]["data"]["rows_compared"] == 30


def test_a_table_without_its_model_is_bound_by_name_only(folder):
    found = gm.attest(folder / "fit.gmc", data=folder / "table.csv")
    assert found["predicate"]["data"] == {"rows_compared": None}


def test_a_certificate_that_is_not_accepted_gets_no_statement(folder, tmp_path):
    content = bytearray((folder / "fit.gmc").read_bytes())
    content[-1] ^= 1
    (tmp_path / "broken.gmc").write_bytes(bytes(content))
    with pytest.raises(gm.CannotCertify, match="MALFORMED"):
        gm.attest(tmp_path / "broken.gmc")
    out = tmp_path / "statement.json"
    assert main(["attest", str(tmp_path / "broken.gmc"), "--out", str(out)]) == 1
    assert not out.exists()


def test_the_command_line_writes_it(folder, tmp_path, capsys):
    out = tmp_path / "statement.json"
    arguments = [str(folder / "fit.gmc"), "--model", str(folder / "model.safetensors")]
    assert main(["attest", *arguments, "--out", str(out)]) == 0
    capsys.readouterr()
    assert main(["attest", *arguments]) == 0
    assert json.loads(out.read_text()) == json.loads(capsys.readouterr().out)
