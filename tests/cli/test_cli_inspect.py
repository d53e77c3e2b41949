"""`globalmin inspect`: table, JSON, page; degenerate tables are explained."""

import json

import pytest

import globalmin as gm


def test_table_and_json_name_widths_and_theorems(run, table):
    path = table(12)
    ended = run("inspect", path, "-t", "price", "--activation", "relu", "--width", "40")
    assert ended.code == 0, ended
    assert "recommended" in ended.out
    assert "DU-T2.2" in ended.out
    ended = run("inspect", path, "-t", "price", "--json")
    assert ended.code == 0
    assert ended.json["instance"]["n_features"] == 5
    assert {"OS-C6", "OS-T6.2"} <= {t["item"] for t in ended.json["theorems"]}


def test_unit_rows_are_one_option_away(run, table):
    path = table(12)
    scaled = run("inspect", path, "-t", "price", "--scaling", "rows", "--no-bias", "--json").json
    reports = {t["item"]: t for t in scaled["theorems"]}
    assert {h["statement"]: h["finding"] for h in reports["OS-T6.2"]["hypotheses"]}[
        "all rows have norm 1"
    ] == "holds"


def test_page_has_the_pictures_and_no_link_outside(run, table, tmp_path):
    ended = run("inspect", table(12), "-t", "price", "--page", tmp_path / "page.html")
    assert ended.code == 0, ended
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 3
    assert "OS-C6" in page
    assert "http://" not in page
    assert "https://" not in page


def test_a_network_file_is_measured_with_its_own_scaling(run, table, tmp_path):
    """`--network`: width and misfit are those of the stored network on the stored scaling."""
    path = table(12)
    data = gm.Dataset.load(path, target="price")
    net = gm.ShallowNetwork.initialize(data, 7, "tanh", seed=3)
    file = tmp_path / "model.safetensors"
    gm.save_network(file, net, data.preprocessing)
    ended = run("inspect", path, "-t", "price", "--network", file, "--json")
    assert ended.code == 0, ended
    expected = gm.inspect(data, network=net)
    assert ended.json["instance"] == expected.to_dict()["instance"]
    assert ended.json["instance"]["activation"] == "tanh"
    assert ended.json["quantities"] == expected.to_dict()["quantities"]
    assert run("inspect", path, "-t", "price", "--network", file, "--width", "8").code == 3
    asked = run("theorem", "OS-C1", path, "-t", "price", "--network", file, "--json")
    assert asked.json["report"]["step_size"] == expected.theorem("OS-C1").step_size


def test_deviations_and_probabilities_are_options(run, table):
    """Each changes the row that depends on it, as in Python."""
    path = table(6)
    data = gm.Dataset.load(path, target="price", scaling="rows", bias=False)
    rows = ("--scaling", "rows", "--no-bias", "--width", "40", "--json")
    ended = run("inspect", path, "-t", "price", *rows,
                "--delta", "2", "--theta", ".25", "--failure", ".2", "--depth", "4")  # fmt: skip
    expected = gm.inspect(data, 40, delta=2.0, theta=0.25, failure=0.2, depth=4)
    plain = gm.inspect(data, 40)
    told = {"command": "inspect", "exit_code": 0}
    assert ended.json == told | json.loads(expected.to_json())
    assert expected.to_dict() != plain.to_dict()


@pytest.mark.parametrize("change", ["equal", "opposite", "zero"])
def test_degenerate_rows_are_explained_without_a_traceback(run, table, change):
    def spoil(rows):
        if change == "zero":
            rows[3][:4] = ["0"] * 4
        else:
            sign = "-" if change == "opposite" else ""
            rows[3][:4] = [(sign + x).replace("--", "") for x in rows[1][:4]]

    ended = run(
        "inspect",
        table(8, change=spoil),
        "-t",
        "price",
        "--activation",
        "relu",
        "--scaling",
        "none",
        "--no-bias",
        "--json",
    )
    assert ended.code == 0, ended
    report = next(t for t in ended.json["theorems"] if t["item"] == "DU-T2.1")
    measured = [h["measured"] for h in report["hypotheses"] if h["finding"] == "fails"]
    word = {"equal": "are equal", "opposite": "antiparallel", "zero": "row 3 is zero"}[change]
    assert any(word in text for text in measured), measured
    assert "Traceback" not in ended.err


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--width", "0"), 2),
        (("--activation", "sine"), 2),
        (("--scheme", "none"), 2),
        (("--scaling", "log"), 2),
        (("--page", "."), 2),
        (("--seed", "-1"), 2),
        (("--delta", "0"), 2),
        (("--theta", "1"), 2),
        (("--failure", "1.5"), 2),
        (("--depth", "0"), 2),
    ],
)
def test_usage_errors_exit_with_2_and_name_the_option(run, table, arguments, code):
    ended = run("inspect", table(6), "-t", "price", *arguments)
    assert ended.code == code
    assert arguments[0] in " ".join(ended.err.split())
    assert "Traceback" not in ended.err


def test_unknown_target_exits_with_3_and_memory_with_4(run, table, monkeypatch):
    assert run("inspect", table(6), "-t", "cost").code == 3
    monkeypatch.setattr("globalmin.data.validation.available_bytes", lambda: 1000)
    ended = run("inspect", table(6), "-t", "price", "--json")
    assert ended.code == 4
    assert "GiB" in json.loads(ended.out)["error"]["message"]


def test_the_former_name_of_scheme_is_understood(run, table):
    ended = run("inspect", table(6), "-t", "price", "--head", "none")
    assert ended.code == 2
    assert "--scheme='none' is unknown; choose one of 'os', 'sjl', 'positive', 'du'" in ended.err


def test_the_least_eigenvalue_alone_without_the_matrix(run, table, tmp_path):
    path = table(30)
    ended = run("inspect", path, "-t", "price", "--lambda-min", "--json")
    assert ended.code == 0, ended
    data = gm.Dataset.load(path, target="price", bias=True)
    exact = gm.theory.estimate_lambda_min(gm.theory.limit_gram(data.X, "relu"))
    assert ended.json["estimate"] == pytest.approx(exact, rel=1e-2)
    assert ended.json["lower"] <= exact
    assert ended.json["n"] == 30
    ended = run("inspect", path, "-t", "price", "--lambda-min", "--activation", "softplus")
    assert ended.code == 0, ended
    assert "nothing is proved" in ended.out
    ended = run("inspect", path, "-t", "price", "--lambda-min", "--page", tmp_path / "p.html")
    assert ended.code == 2
    assert "--lambda-min" in ended.err
