"""Plans from Python and TOML: order of trials, identity, and what is refused with which words."""

import hashlib
import json

import numpy as np
import pytest
from tests.sweep import recipes

from globalmin.errors import DataError, PlanError
from globalmin.files import canonical_json
from globalmin.sweep import Plan
from globalmin.sweep.canonical import decode_result, encode_result, trial_id
from globalmin.sweep.driver import trials_of
from globalmin.sweep.plan import check_parameters, code_version, find_recipe, recipe_name

HERE = recipes.__name__


def _toml(tmp_path, text):
    path = tmp_path / "plan.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_toml_and_python_give_the_same_plan(tmp_path):
    path = _toml(
        tmp_path,
        f'recipe = "{HERE}:product"\nname = "products"\nseeds = 3\ntimeout = 5\nbatch_size = 7\n'
        "[grid]\na = [0, 1]\nb = [1, 2.5]\n[fixed]\nscale = 2.0\n",
    )
    plan = Plan(
        recipes.product, grid={"a": range(2), "b": [1, 2.5]}, fixed={"scale": 2.0},
        seeds=(0, 1, 2), name="products", timeout=5.0, batch_size=7,
    )  # fmt: skip
    assert Plan.from_toml(path) == plan
    assert Plan.from_json(plan.to_json()) == plan
    assert len(plan) == 12
    assert plan.parameter_names() == ["a", "b", "scale"]


def test_the_last_axis_runs_faster_and_seeds_fastest():
    plan = Plan(recipes.product, grid={"a": [3, 1], "b": ["x", "y"]}, seeds=[5, 2])
    seen = [(json.loads(trial.parameters), trial.seed) for trial in trials_of(plan, "code")]
    assert seen == [({"a": a, "b": b}, seed) for a in (3, 1) for b in ("x", "y") for seed in (5, 2)]


def test_a_list_of_trials_keeps_its_order_and_its_ragged_parameters():
    plan = Plan(recipes.product, trials=[{"a": 1, "b": 2}, {"a": 2, "b": 1, "scale": 3}], name="")
    assert list(plan.parameter_sets()) == [{"a": 1, "b": 2}, {"a": 2, "b": 1, "scale": 3}]
    assert plan.name == "product"
    assert Plan.from_json(plan.to_json()) == plan


def test_identity_is_the_digest_of_the_documented_text():
    text = '{"code":"c","parameters":{"a":1,"b":0.1},"recipe":"m:f","seed":7}'
    assert trial_id("m:f", {"b": 0.1, "a": 1}, 7, "c") == hashlib.sha256(text.encode()).hexdigest()


def test_identity_changes_with_everything_that_determines_a_trial():
    same = ("m:f", {"a": 1}, 0, "c")
    others = [
        ("m:g", {"a": 1}, 0, "c"),
        ("m:f", {"a": 2}, 0, "c"),
        ("m:f", {"a": 1}, 1, "c"),
        ("m:f", {"a": 1}, 0, "d"),
    ]
    assert len({trial_id(*one) for one in [same, *others]}) == 5
    assert trial_id(*same) == trial_id("m:f", {"a": np.int64(1).item()}, 0, "c")


def test_code_version_follows_the_source_and_the_version_attribute(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "first_recipe.py").write_text("def f(seed):\n    return {}\n", encoding="ascii")
    (tmp_path / "second_recipe.py").write_text(
        "def f(seed):\n    return {'x': 1}\n", encoding="ascii"
    )
    first, second = (find_recipe(f"{name}_recipe:f") for name in ("first", "second"))
    version = code_version("first_recipe:f", first)
    assert version != code_version("second_recipe:f", second)
    first.version = "2"
    assert code_version("first_recipe:f", first) == version + ", version 2"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("seeds = 3", ["'recipe' is missing", "package.module:function"]),
        ("recipe = 3", ["int", "package.module:function"]),
        ('recipe = "f"', ["package.module:function"]),
        ('recipe = "a b:f"', ["package.module:function"]),
        ('recipe = "m:f"\nseed = 3', ["unknown key 'seed'", "did you mean 'seeds'"]),
        ('recipe = "m:f"\nflavour = 3', ["unknown key 'flavour'", "known are"]),
        ('recipe = "m:f"\n[gird]\na = [1]', ["unknown key 'gird'", "did you mean 'grid'"]),
        ('recipe = "m:f"\n[grid]\na = 1', ["grid.a", "list"]),
        ('recipe = "m:f"\n[grid]\na = "abc"', ["grid.a", "list"]),
        ('recipe = "m:f"\n[grid]\na = []', ["grid.a", "empty"]),
        ('recipe = "m:f"\n[grid]\na = [1, 1]', ["grid.a", "twice"]),
        ('recipe = "m:f"\n[grid]\na = [nan]', ["grid.a", "finite"]),
        ('recipe = "m:f"\n[grid]\nseed = [1]', ["'seed'", "seeds"]),
        ('recipe = "m:f"\n[grid]\nstatus = [1]', ["'status'", "rename"]),
        ('recipe = "m:f"\n[grid]\n"a b" = [1]', ["'a b'", "rename"]),
        ('recipe = "m:f"\n[grid]\na = [1]\n[fixed]\na = 2', ["'a'", "both fixed and varied"]),
        ('recipe = "m:f"\ntrials = []', ["trials is empty"]),
        ('recipe = "m:f"\ntrials = 3', ["trials", "[[trials]]"]),
        ('recipe = "m:f"\ntrials = [3]', ["a trial is of type int"]),
        ('recipe = "m:f"\n[[trials]]\na = 1\n[[trials]]\na = 1', ["twice"]),
        ('recipe = "m:f"\n[[trials]]\na = 1\n[grid]\nb = [1]', ["both grid and trials"]),
        ('recipe = "m:f"\nfixed = 3', ["fixed is of type int"]),
        ('recipe = "m:f"\n[fixed]\na = 2020-01-01', ["fixed.a", "date"]),
        ('recipe = "m:f"\nseeds = 0', ["seeds = 0", "at least 1"]),
        ('recipe = "m:f"\nseeds = "ten"', ["seeds", "how many"]),
        ('recipe = "m:f"\nseeds = []', ["seeds"]),
        ('recipe = "m:f"\nseeds = [1, 1]', ["twice"]),
        ('recipe = "m:f"\nseeds = [-1]', ["whole numbers"]),
        ('recipe = "m:f"\nseeds = [0.5]', ["whole numbers"]),
        ('recipe = "m:f"\nseeds = [true]', ["whole numbers"]),
        ('recipe = "m:f"\nname = 3', ["name is of type int"]),
        ('recipe = "m:f"\ntimeout = 0', ["timeout", "more than 0"]),
        ('recipe = "m:f"\ntimeout = "1"', ["timeout"]),
        ('recipe = "m:f"\nbatch_size = 0', ["batch_size", "at least 1"]),
        (
            'recipe = "m:f"\nseeds = 1000000\n[grid]\na = [1,2,3,4,5,6,7,8,9,10,11]',
            ["11,000,000 trials", "split"],
        ),
        ("recipe = ", ["not TOML"]),
    ],
)
def test_a_bad_plan_is_refused_with_its_key_and_a_remedy(tmp_path, text, words):
    path = _toml(tmp_path, text)
    with pytest.raises(PlanError) as caught:
        Plan.from_toml(path)
    assert isinstance(caught.value, DataError)
    assert str(path) in str(caught.value)
    for word in words:
        assert word in str(caught.value)


def test_a_plan_that_is_not_there_or_no_text_is_refused(tmp_path):
    with pytest.raises(PlanError, match="cannot be read"):
        Plan.from_toml(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(PlanError, match="not TOML"):
        Plan.from_toml(tmp_path / "bytes.toml")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (object(), "object"),
        ({1: 2}, "no string"),
        ({"a": {1, 2}}, "set"),
        (b"x", "bytes"),
        ([float("inf")], "finite"),
    ],
)
def test_values_that_json_cannot_hold_are_refused(value, words):
    with pytest.raises(PlanError, match=words):
        Plan(recipes.product, fixed={"a": value})


def test_numpy_values_become_plain():
    plan = Plan(
        recipes.product,
        grid={"a": np.arange(2), "b": [np.float64(0.5), (1, 2)]},
        seeds=np.int64(2).item(),
    )
    assert plan.grid == {"a": [0, 1], "b": [0.5, [1, 2]]}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("no_such_module_here:f", "no module no_such_module_here"),
        (f"{HERE}:produkt", "did you mean product"),
        (f"{HERE}:zzz", "has no zzz"),
        (f"{HERE}:not_callable", "not a function"),
    ],
)
def test_recipes_that_cannot_be_found_are_refused(name, words):
    with pytest.raises(PlanError, match=words):
        find_recipe(name)


@pytest.mark.parametrize(
    ("content", "words"),
    [("import no_such_thing_x", "install what it needs"), ("1 / 0", "ZeroDivisionError")],
)
def test_a_recipe_whose_module_fails_is_refused(tmp_path, content, words):
    name = f"failing_{abs(hash(content)) % 10**8}"
    (tmp_path / f"{name}.py").write_text(content, encoding="ascii")
    with pytest.raises(PlanError, match=words):
        find_recipe(f"{name}:f", [str(tmp_path)])


def test_functions_without_an_importable_name_are_refused():
    with pytest.raises(PlanError, match="top level"):
        recipe_name(lambda seed: {})
    with pytest.raises(PlanError, match="importable name"):
        recipe_name(3)  # pyright: ignore[reportArgumentType]

    def main(seed):
        return {}

    main.__module__, main.__qualname__ = "__main__", "main"
    with pytest.raises(PlanError, match="__main__"):
        recipe_name(main)


def test_parameters_are_checked_against_the_recipe():
    check_parameters("f", recipes.needs_nothing_else, ["a"])
    check_parameters("f", recipes.needs_nothing_else, ["a", "b"])
    check_parameters("f", lambda **anything: {}, ["a", "zz"])
    check_parameters("f", max, ["x"])
    with pytest.raises(PlanError, match="did you mean 'scale'"):
        check_parameters("f", recipes.product, ["a", "b", "scal"])
    with pytest.raises(PlanError, match="needs b"):
        check_parameters("f", recipes.product, ["a"])
    with pytest.raises(PlanError, match="does not take 'seed'; it takes nothing"):
        check_parameters("f", lambda: {}, [])


def test_results_come_back_as_they_were():
    result = {
        "b": True,
        "i": np.int32(3),
        "f": np.float64(0.1),
        "n": float("nan"),
        "p": float("inf"),
        "m": -np.inf,
        "s": "x",
        "z": None,
    }
    text, blobs = encode_result(result, ["a"])
    back = decode_result(text)
    assert not blobs
    assert np.isnan(back.pop("n"))
    assert back == {
        "b": True,
        "i": 3,
        "f": 0.1,
        "p": float("inf"),
        "m": -float("inf"),
        "s": "x",
        "z": None,
    }
    assert type(back["i"]) is int
    assert canonical_json(json.loads(text)) == text


def test_arrays_are_stored_once_by_content():
    text, blobs = encode_result(
        {"x": np.arange(3), "y": np.arange(3), "z": np.arange(3.0)[::-1]}, []
    )
    assert len(blobs) == 2
    assert all(hashlib.sha256(content).hexdigest() == digest for digest, content in blobs.items())
    back = decode_result(text)
    assert back["x"] == back["y"] != back["z"]
    assert back["x"].startswith("sha256:")


@pytest.mark.parametrize(
    "kind", ["list", "no dict", "key", "taken", "reserved", "objects", "class"]
)
def test_results_that_no_table_can_hold_are_refused(kind):
    with pytest.raises((TypeError, ValueError), match="recipe"):
        encode_result(recipes.wrong(kind, 0), ["kind"])
