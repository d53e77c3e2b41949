"""Every command that reads a table takes it as `fit` does: text, dates and gaps become numbers by
one recipe, or are refused with what to do; columns are used, dropped and named categories.
"""

import csv
import json

import numpy as np
import pytest

import globalmin as gm

TOLD = (
    "年齢: a number; gaps take the median",
    "city: a category (Oslo, Rome, 東京)",
    "since: a date",
)
ROADS = {
    "inspect": ("inspect", "{t}", "-t", "rent", "--json"),
    "inspect lambda": ("inspect", "{t}", "-t", "rent", "--lambda-min", "--json"),
    "theorem": ("theorem", "OS-T2.1", "{t}", "-t", "rent", "--json"),
    "explore": ("explore", "{t}", "-t", "rent", "--out", "{o}.html", "--json"),
    "starts": ("starts", "{t}", "-t", "rent", "--width", "6", "--seeds", "1", "--max-iter", "5",
               "--out", "{o}", "--json"),
    "fit": ("fit", "{t}", "-t", "rent", "--interpolate", "--max-iter", "5", "--out", "{o}",
            "--json"),
}  # fmt: skip
BROUGHT = {
    "certify": (),
    "classify": (),
    "examine": ("--max-iter", "3"),
    "gap": ("--weight-decay", "1"),
    "inspect": (),
}


@pytest.fixture(scope="module")
def flats(tmp_path_factory):
    """24 flats: a running number, a name, gaps, text, a date, a Japanese column name, a class."""
    rng = np.random.default_rng(5)
    path = tmp_path_factory.mktemp("flats") / "flats.csv"
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, delimiter=";")
        writer.writerow(["id", "name", "年齢", "city", "since", "area", "sold", "rent"])
        for i in range(24):
            age = "" if i % 7 == 3 else int(rng.integers(1, 90))
            city, area = ["Oslo", "東京", "Rome"][i % 3], repr(float(rng.standard_normal()))
            rent = repr(float(rng.standard_normal()))
            cells = [i, f"flat {i}", age, city, f"2024-03-{i + 1:02}", area, "no"]
            writer.writerow([*cells, rent])
    return path


@pytest.fixture(scope="module")
def theirs(tmp_path_factory):
    """A ReLU network of torch that reads two numbers."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(1)
    layers = [torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1)]
    path = tmp_path_factory.mktemp("theirs") / "theirs.pt"
    torch.save(torch.nn.Sequential(*layers).double().state_dict(), path)
    return path


def asked(road, table, out):
    return [part.replace("{t}", str(table)).replace("{o}", str(out)) for part in ROADS[road]]


@pytest.mark.parametrize("road", ROADS)
def test_text_dates_and_gaps_become_numbers_and_are_told(run, flats, tmp_path, road):
    arguments = asked(road, flats, tmp_path / "out")
    ended = run(*arguments, "--drop", "id,name,sold")
    assert ended.code in (0, 1), ended.err
    told = " ".join(ended.json["data"]["recipe"]) if road == "fit" else ended.err
    assert all(words in told for words in TOLD), told
    chosen = run(*asked(road, flats, tmp_path / "next"), "--use", "area,id", "--category", "id")
    assert chosen.code in (0, 1), chosen.err
    told = " ".join(chosen.json["data"]["recipe"]) if road == "fit" else chosen.err
    # a category because it is named one (else a number), and then of values that are there once
    assert "id: left out, no value of it is there often enough" in told
    assert "年齢" not in told


@pytest.mark.parametrize("road", ROADS)
@pytest.mark.parametrize(
    "wrong",
    [
        (("--drop", "Id"), ("no --drop column 'Id'", "did you mean 'id'")),
        (("--use", "cities"), ("no --use column 'cities'", "did you mean 'city'")),
        (("--drop", "rent"), ("named by --drop and as target", "choose one")),
        (("--target", "sold"), ("the target 'sold' holds text ('no')", "write 1 and -1")),
    ],
)
def test_what_is_wrong_with_the_columns_is_told(run, flats, tmp_path, road, wrong):
    options, words = wrong
    given = asked(road, flats, tmp_path / "out")
    if options[0] == "--target":
        given[given.index("-t") + 1] = options[1]
        options = ()
    ended = run(*given, *options)
    assert ended.code == 3
    assert all(word in ended.err for word in words), ended.err
    assert not (tmp_path / "out").exists()


def test_all_commands_make_the_same_numbers(run, flats, tmp_path):
    """The rows of starts and of fit have one digest; the page has the numbers of the recipe."""
    drop = ("--drop", "id,name,sold")
    started = run(*asked("starts", flats, tmp_path / "s"), *drop).json
    fitted = run(*asked("fit", flats, tmp_path / "f"), "--test-size", "0", *drop).json
    assert started["data"]["sha256"] == fitted["data"]["sha256"]["rent"]
    assert started["recipe"] == fitted["data"]["recipe"]
    raw = gm.read_raw_table(flats).without(["id", "name", "sold", "rent"])
    X = gm.learn_recipe(raw).transform(raw)
    run(*asked("explore", flats, tmp_path / "p"), *drop)
    page = (tmp_path / "p.html").read_text(encoding="utf-8")
    block = page.split('id="numbers">')[1].split("</script>")[0]
    first = json.loads(block)["tables"][0]
    np.testing.assert_allclose(first["raw"], X, rtol=1e-12, atol=1e-12)  # restored from scaled rows


def test_explore_and_theorem_without_a_table_have_no_columns_to_choose(run, tmp_path):
    for command in (("explore", "--out", tmp_path / "p.html"), ("theorem", "OS-T2.1")):
        ended = run(*command, "--drop", "id")
        assert ended.code == 2
        assert "choose columns of DATA" in ended.err


@pytest.mark.parametrize("command", BROUGHT)
def test_a_network_from_elsewhere_reads_the_columns_that_are_named(run, flats, theirs, command):
    out = () if command in ("inspect", "examine") else ("--out", theirs.parent / "given.gmc")
    options = (*BROUGHT[command], "--activation", "relu", "-t", "rent", "--json", *out)
    named = run(command, theirs, flats, *options, "--use", "area,id")
    left = run(command, theirs, flats, *options, "--drop", "name,年齢,city,since,sold")
    assert named.code in (0, 1), named.err
    assert left.code in (0, 1), left.err
    # the order of --use is that of the network's columns; without it, that of the table
    swapped = run(command, theirs, flats, *options, "--use", "id,area")
    assert without_times(swapped.json) == without_times(left.json)
    if command in ("examine", "gap", "inspect"):  # numbers of the rows, whatever is proved
        assert without_times(named.json) != without_times(left.json)
    for drop, words in (
        ("name", ("'年齢', line 5 (data row 4): the value is missing", "--drop '年齢'")),
        ("name,年齢", ("'city' is a category", "write the numbers that it gave")),
        ("name,年齢,city", ("'since' is a date", "--drop 'since'")),
        ("name,年齢,city,since,sold,area", ("reads 2 features", "--use names them")),
    ):
        ended = run(command, theirs, flats, *options, "--drop", drop)
        assert ended.code == 3
        assert all(word in ended.err for word in words), ended.err


def without_times(found):
    """JSON without the seconds of the run."""
    if isinstance(found, dict):
        return {k: without_times(v) for k, v in found.items() if "seconds" not in k}
    return [without_times(v) for v in found] if isinstance(found, list) else found


def test_a_model_of_globalmin_names_its_columns(run, flats, tmp_path):
    out = tmp_path / "fit"
    run(*asked("fit", flats, out), "--use", "area,city")
    for command, extra in BROUGHT.items():
        ended = run(command, out / "model.safetensors", flats, "-t", "rent", *extra, "--drop", "id")
        assert ended.code == 2, ended.err
        assert "names the columns that it reads" in ended.err


def test_weights_are_recovered_from_numbers_alone(run, tmp_path):
    rng = np.random.default_rng(3)
    rows = rng.standard_normal((300, 3))
    path = tmp_path / "t.csv"
    lines = [f"{i},{a!r},{b!r},{c!r}" for i, (a, b, c) in enumerate(rows.tolist())]
    path.write_text("\n".join(["id,a,b,y", *lines]) + "\n")
    options = ("-t", "y", "--neurons", "1", "--no-certify", "--json", "--max-iter", "20")
    dropped = run("recover", path, *options, "--drop", "id", "--out", tmp_path / "o")
    assert [row["feature"] for row in dropped.json["weights"]] == ["a", "b"]
    text = path.read_text().replace("\n5,", "\n,")
    path.write_text(text)
    ended = run("recover", path, *options, "--out", tmp_path / "p")
    assert ended.code == 3
    assert "'id', line 7 (data row 6): the value is missing" in ended.err
    assert "--drop 'id'" in ended.err
