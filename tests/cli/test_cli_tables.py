"""`globalmin fit` and `predict` on tables as they are: text, dates, gaps, weights, columns chosen,
headers that are missing, folders that are there already.
"""

import csv
import json

import numpy as np
import pytest

import globalmin as gm


@pytest.fixture
def people(tmp_path):
    """A table of 90 passengers: names, text, dates, gaps and a text target."""
    rng = np.random.default_rng(8)
    path = tmp_path / "people.csv"
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["name", "sex", "age", "boarded", "fare", "copies", "survived"])
        for i in range(90):
            sex = ["male", "female"][int(rng.integers(2))]
            age = "" if i % 6 == 0 else str(int(rng.integers(1, 80)))
            alive = rng.random() < (0.85 if sex == "female" else 0.2)
            day = 1 + int(rng.integers(28))
            cells = [f"Person {i}", sex, age, f"1912-04-{day:02}", repr(float(rng.random()))]
            writer.writerow([*cells, str(1 + i % 3), "yes" if alive else "no"])
    return path


def test_a_table_of_text_dates_and_gaps_is_fitted_reported_and_predicted(run, people, tmp_path):
    out = tmp_path / "fit"
    ended = run("fit", people, "-t", "survived", "--model", "additive", "--out", out)
    assert ended.code == 0, ended.err
    assert "age: a number; gaps take the median" in ended.out
    assert "boarded: a date, by days, weekday" in ended.out
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "How the columns became numbers" in page
    assert "name: left out, no value of it is there often enough" in page
    assert "Days count from 1 January 1970, weekdays from Monday = 1." in page
    facts = json.loads((out / "fit.json").read_text())
    assert facts["classes"] == ["no", "yes"]
    # the model, used tomorrow, says what it said today
    told = list(csv.DictReader((out / "predictions.csv").open()))
    predicted = run("predict", out, people, "--out", tmp_path / "p.csv", "--proba")
    assert (predicted.code, predicted.out) == (0, "")
    found = list(csv.DictReader((tmp_path / "p.csv").open()))
    assert [row["survived"] for row in found] == [row["prediction"] for row in told]
    shares = [float(row["probability of yes"]) for row in found]
    assert [row["survived"] == "yes" for row in found] == [share > 0.5 for share in shares]
    as_json = run("predict", out / "model.safetensors", people, "--json").json
    assert as_json["survived"] == [row["survived"] for row in found]
    again = gm.load(out).predict(gm.read_raw_table(people))
    assert again.tolist() == as_json["survived"]
    assert run("report", out).code == 0


@pytest.fixture
def two_values(tmp_path):
    """A table with a target of two values."""

    def write(low, high):
        rng = np.random.default_rng(1)
        rows = [
            (x, high if x + 0.5 * rng.standard_normal() > 0 else low) for x in rng.normal(size=60)
        ]
        path = tmp_path / "two.csv"
        path.write_text("x,kept\n" + "\n".join(f"{x},{kept}" for x, kept in rows) + "\n")
        return path

    return write


@pytest.mark.parametrize(("low", "high"), [("0", "1"), ("-3", "12")])
def test_classes_of_numbers_are_predicted_as_the_table_writes_them(
    run, two_values, tmp_path, low, high
):
    """`predict` once wrote 0.0 where the table and predictions.csv have 0."""
    path, out = two_values(low, high), tmp_path / "fit"
    given = ("--model", "additive", "--weight-decay", 1, "--task", "classification")
    assert run("fit", path, "-t", "kept", *given, "--out", out).code == 0
    said = list(csv.DictReader(run("predict", out, path, "--proba").out.splitlines()))
    assert [*said[0]] == ["kept", f"probability of {low}", f"probability of {high}"]
    assert {row["kept"] for row in said} == {low, high}
    told = csv.DictReader((out / "predictions.csv").open())
    assert [row["kept"] for row in said] == [row["prediction"] for row in told]
    assert {str(name) for name in run("predict", out, path, "--json").json["kept"]} == {low, high}


def test_two_values_that_are_not_whole_are_numbers_and_name_no_classes(run, two_values, tmp_path):
    """They once ended in an internal error."""
    path, out = two_values("1.5", "2"), tmp_path / "fit"
    given = ("fit", path, "-t", "kept", "--model", "additive", "--weight-decay", 1, "--out", out)
    ended = run(*given, "--task", "classification")
    assert (ended.code, out.exists()) == (3, False)
    assert "not whole, 1.5 for one" in " ".join(ended.err.split())
    ended = run(*given, "--json")
    assert (ended.code, ended.json["task"]) == (0, "regression")


def test_medians_and_levels_come_from_the_training_rows_only(run, tmp_path):
    """The held-out rows hold a value that would move the median, and a level of their own."""
    n, held = 40, 8
    test_rows = set(np.random.default_rng(0).permutation(n)[:held].tolist())
    with (tmp_path / "t.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["x", "g", "z", "y"])
        for i in range(n):
            is_held = i in test_rows
            x = "" if i == next(i for i in range(n) if i not in test_rows) else str(i % 5)
            writer.writerow(["1000" if is_held else x, "new" if is_held else "ab"[i % 2], i, 3 * i])
    ended = run(
        "fit", tmp_path / "t.csv", "-t", "y", "--model", "additive", "--weight-decay", "1",
        "--out", tmp_path / "o", "--json",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    recipe = gm.load(tmp_path / "o").recipe
    assert recipe is not None
    steps = {step.column: step for step in recipe.steps}
    assert steps["x"].fill <= 4.0
    assert steps["g"].levels == ("a", "b")


def test_columns_are_used_dropped_and_named_categories(run, people, tmp_path):
    def columns(*options):
        out = tmp_path / f"fit{len(list(tmp_path.iterdir()))}"
        ended = run(
            "fit", people, "-t", "survived", "--model", "additive", "--weight-decay", "2",
            "--out", out, *options,
        )  # fmt: skip
        assert ended.code == 0, ended.err
        return gm.load(out).recipe.names

    assert columns("--use", "sex", "--use", "fare") == ("sex=male", "fare")
    assert columns("--drop", "name,age,boarded", "--drop", "copies") == ("sex=male", "fare")
    assert columns("--use", "copies", "--category", "copies") == (
        "copies=1",
        "copies=2",
        "copies=3",
    )
    assert "copies" not in columns("--sample-weight", "copies")


def test_sample_weights_are_copies_of_rows(run, people, tmp_path):
    """A weight of 2 is the row twice: the same objective, at one weight decay."""
    rows = list(csv.reader(people.open()))
    with (tmp_path / "repeated.csv").open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(rows[0])
        for row in rows[1:]:
            writer.writerows([row] * int(row[5]))
    shared = ["-t", "survived", "--model", "additive", "--weight-decay", "2", "--test-size", "0"]
    shared += ["--scaling", "none", "--use", "sex,fare", "--json"]
    weighted = run("fit", people, *shared, "--sample-weight", "copies", "--out", tmp_path / "a")
    repeated = run("fit", tmp_path / "repeated.csv", *shared, "--out", tmp_path / "b")
    # both are within 1e-6 of the same minimum
    assert weighted.json["objective"][0] == pytest.approx(repeated.json["objective"][0], rel=2e-6)


def test_a_table_without_a_header_keeps_its_first_row(run, tmp_path):
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((30, 3)).round(3)
    np.savetxt(tmp_path / "bare.csv", rows, delimiter=",", fmt="%.3f")
    ended = run(
        "fit", tmp_path / "bare.csv", "-t", "column 3", "--model", "additive", "--weight-decay",
        "1", "--out", tmp_path / "o", "--test-size", "0", "--json",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    assert "is data like the others" in ended.err
    assert ended.json["data"]["n_train"] == 30
    wrong = run("fit", tmp_path / "bare.csv", "-t", "y", "--out", tmp_path / "p")
    assert wrong.code == 3
    assert "'column 1', 'column 2', 'column 3'" in wrong.err


def test_an_earlier_fit_is_not_replaced_without_force(run, people, tmp_path):
    arguments = ["fit", people, "-t", "survived", "--model", "additive", "--weight-decay", "2"]
    assert run(*arguments, "--out", tmp_path / "o").code == 0
    before = (tmp_path / "o" / "certificate.gmc").read_bytes()
    refused = run(*arguments, "--out", tmp_path / "o", "--seed", "1")
    assert refused.code == 2
    assert "holds an earlier fit" in refused.err
    assert (tmp_path / "o" / "certificate.gmc").read_bytes() == before
    assert run(*arguments, "--out", tmp_path / "o", "--seed", "1", "--force").code == 0
    assert (tmp_path / "o" / "certificate.gmc").read_bytes() != before


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--use", "sx"], ["no --use column 'sx'", "did you mean 'sex'"]),
        (["--drop", "survived"], ["'survived' is named by --drop and as target"]),
        (["--category", "nope"], ["no --category column 'nope'"]),
        (["--sample-weight", "nope"], ["no --sample-weight column 'nope'"]),
        (["--sample-weight", "age"], ["'age', line 2", "missing or negative"]),
        (["--use", "name"], ["no column is left for the inputs", "left out"]),
    ],
)
def test_wrong_columns_are_refused_and_nothing_is_left(run, people, tmp_path, options, words):
    ended = run("fit", people, "-t", "survived", "--out", tmp_path / "o", *options)
    assert ended.code == 3
    assert all(word in ended.err for word in words), ended.err
    assert not (tmp_path / "o").exists()


def test_a_missing_label_is_refused_with_its_line(run, people, tmp_path):
    lines = people.read_text().splitlines()
    lines[4] = lines[4].rpartition(",")[0] + ","
    people.write_text("\n".join(lines) + "\n")
    ended = run("fit", people, "-t", "survived", "--out", tmp_path / "o")
    assert ended.code == 3
    assert "'survived', line 5 (data row 4): the label is missing" in ended.err


def test_predict_refuses_what_it_cannot_use(run, people, tmp_path):
    arguments = ["fit", people, "-t", "survived", "--model", "additive", "--weight-decay", "2"]
    assert run(*arguments, "--out", tmp_path / "o").code == 0
    (tmp_path / "short.csv").write_text("sex,age\nmale,3\n")
    ended = run("predict", tmp_path / "o", tmp_path / "short.csv")
    assert (ended.code, ended.out) == (3, "")
    assert "no input column 'name'" in ended.err
    (tmp_path / "text.csv").write_text(
        "name,sex,age,boarded,fare,copies\na,male,old,1912-04-01,1,1\n"
    )
    ended = run("predict", tmp_path / "o", tmp_path / "text.csv", "--out", tmp_path / "p.csv")
    assert ended.code == 3
    assert "'old' is not a number" in ended.err
    assert not (tmp_path / "p.csv").exists()
    ended = run("predict", people, people)
    assert ended.code == 3
    assert "safetensors" in ended.err


def test_a_model_without_names_takes_the_columns_that_are_left(run, table, tmp_path):
    path = table(30)
    rows = np.loadtxt(path, delimiter=",", skiprows=1)
    model = gm.AdditiveNetworkRegressor(weight_decay=5.0, certify=False)
    model.fit(rows[:, :4], rows[:, 4]).save(tmp_path / "m.safetensors")
    ended = run("predict", tmp_path / "m.safetensors", path, "--drop", "price", "--json")
    assert ended.json["prediction"] == model.predict(rows[:, :4]).tolist()
    refused = run("predict", tmp_path / "m.safetensors", path)
    assert refused.code == 3
    assert "X has 5 features, but 4 features are expected" in refused.err
