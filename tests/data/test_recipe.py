"""From raw columns to numbers: beside scikit-learn's own encoders, and back from JSON."""

import datetime as dt
import json

import numpy as np
import pytest
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder

from globalmin.data.columns import date_format, find_kind
from globalmin.data.raw_table import RawTable
from globalmin.data.recipe import FEWEST_ROWS, MOST_LEVELS, Recipe, learn_recipe
from globalmin.errors import DataError

CITIES = ["Oslo", "Rome", "Bern"]


def test_categories_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    cells = [CITIES[i] for i in rng.integers(3, size=40)]
    recipe = learn_recipe({"city": cells})
    expected = OneHotEncoder(sparse_output=False).fit(np.array(cells)[:, None])
    assert recipe.names == ("city=Bern", "city=Oslo", "city=Rome")
    assert np.array_equal(
        recipe.transform({"city": cells}), expected.transform(np.array(cells)[:, None])
    )
    two = learn_recipe({"city": ["a", "b", "a"]})
    binary = OneHotEncoder(sparse_output=False, drop="if_binary").fit([["a"], ["b"]])
    assert np.array_equal(two.transform({"city": ["b", "a"]}), binary.transform([["b"], ["a"]]))


def test_gaps_of_numbers_are_filled_as_scikit_learns_imputer_does():
    rng = np.random.default_rng(1)
    values = rng.standard_normal((30, 2))
    values[rng.random((30, 2)) < 0.3] = np.nan
    values[0, 0], values[1, 0] = 0.5, np.nan  # both columns have gaps
    values[0, 1], values[1, 1] = np.nan, 0.25
    recipe = learn_recipe({"a": values[:, 0].tolist(), "b": values[:, 1].tolist()})
    assert recipe.names == ("a", "a missing", "b", "b missing")
    filled = SimpleImputer(strategy="median", add_indicator=True).fit(values)
    other = rng.standard_normal((5, 2))
    other[2, 0] = np.nan
    found = recipe.transform({"a": other[:, 0].tolist(), "b": other[:, 1].tolist()})
    assert np.array_equal(found[:, [0, 2, 1, 3]], filled.transform(other))


def test_rare_levels_are_put_together_as_in_scikit_learn():
    counts = {f"l{j:02}": j + 1 for j in range(30)}
    cells = [level for level, count in counts.items() for _ in range(count)]
    recipe = learn_recipe({"c": cells})
    step = recipe.steps[0]
    assert len(step.levels) == MOST_LEVELS
    assert min(counts[level] for level in step.levels) >= FEWEST_ROWS
    encoder = OneHotEncoder(
        sparse_output=False,
        min_frequency=FEWEST_ROWS,
        max_categories=MOST_LEVELS + 1,
        handle_unknown="infrequent_if_exist",
    ).fit(np.array(cells)[:, None])
    asked = [*counts, "new"]
    assert np.array_equal(
        recipe.transform({"c": asked}), encoder.transform(np.array(asked)[:, None])
    )
    exactly = learn_recipe({"c": ["a"] * FEWEST_ROWS + ["b"] * (FEWEST_ROWS - 1) + list("cdefg")})
    assert exactly.steps[0].levels == ("a",)


def test_a_column_of_names_is_left_out_and_said_so():
    people = {"name": [f"person {i}" for i in range(30)], "age": [str(i) for i in range(30)]}
    recipe = learn_recipe(people)
    assert recipe.names == ("age",)
    assert "left out, no value of it is there often enough" in recipe.sentences()[0]
    with pytest.raises(DataError, match="no column is left for the inputs"):
        learn_recipe({"name": people["name"]})


def test_a_column_without_any_value_is_left_out_and_what_comes_tomorrow_says_nothing(recwarn):
    recipe = learn_recipe({"void": [None, None, None], "age": ["1", "2", "3"]})
    assert recipe.names == ("age",)
    assert recipe.sentences()[0] == "void: left out, no value of it is there often enough"
    assert recipe.transform({"void": ["7", None], "age": ["5", "6"]}).tolist() == [[5.0], [6.0]]
    assert Recipe.from_json(recipe.to_json()) == recipe
    assert not recwarn.list  # the former warning said that the training rows had no gaps


def test_gaps_of_categories_are_a_level_of_their_own():
    recipe = learn_recipe({"c": ["a", None, "b"]})
    assert recipe.names == ("c=a", "c=b", "c=(missing)")
    assert recipe.transform({"c": [None, "b"]}).tolist() == [[0, 0, 1], [0, 1, 0]]


def test_dates_become_day_month_weekday_and_hour():
    dates = ["2024-02-29", "2024-03-01 18:30", "2025-01-06"]
    recipe = learn_recipe({"when": dates})
    assert recipe.names == ("when days", "when month", "when weekday", "when hour")
    found = recipe.transform({"when": dates})
    epoch = dt.date(1970, 1, 1)
    assert found[0].tolist() == [(dt.date(2024, 2, 29) - epoch).days, 2, 4, 0]  # a Thursday
    assert found[1, 3] == 18.5
    assert found[2, 2] == 1  # a Monday
    # a time is its day and its share of the day, up to one rounding
    assert found[1, 0] == pytest.approx((dt.date(2024, 3, 1) - epoch).days + 18.5 / 24, rel=1e-15)
    only_days = learn_recipe({"when": ["2024-02-05", "2024-02-12"]})
    assert only_days.names == ("when days",)  # one month, one weekday, no hours


def test_gaps_of_dates_take_the_median_day():
    recipe = learn_recipe({"when": ["2024-01-01", None, "2024-01-05", "2024-01-03"]})
    found = recipe.transform({"when": [None]})
    row = dict(zip(recipe.names, found[0], strict=True))
    assert row["when days"] == (dt.date(2024, 1, 3) - dt.date(1970, 1, 1)).days
    assert row["when missing"] == 1


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["2024-12-31", "2024-01-01T10:00"], "iso"),
        (["31.12.2024"], "%d.%m.%Y"),
        (["12/31/2024", "01/02/2024"], "%m/%d/%Y"),
        (["31/12/2024", "01/02/2024"], "%d/%m/%Y"),
        (["2024/12/31"], "%Y/%m/%d"),
        (["C-85"], ""),
        (["hello"], ""),
        ([], ""),
    ],
)
def test_dates_are_recognized(texts, expected):
    assert date_format(texts) == expected


def test_dates_whose_day_and_month_cannot_be_told_apart_are_refused():
    with pytest.raises(DataError, match="day and month cannot be told apart"):
        find_kind(RawTable({"when": ["01/02/2024", "03/04/2024"]}), "when")


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (["1"] * 19 + ["cheap"], ["data row 20", "'cheap'", "19 of 20", "--category 'c'"]),
        (["1,5", "2,5"], ["'1,5'", "decimal comma"]),
        (["1", "inf"], ["infinite"]),
        (["1", "123456789012345678901234567890"], ["beyond 2^53"]),
        ([1, float("inf")], ["infinite"]),
    ],
)
def test_cells_that_are_slips_are_refused_with_place_and_remedy(cells, words):
    with pytest.raises(DataError) as caught:
        learn_recipe({"c": cells})
    assert all(word in str(caught.value) for word in words), caught.value


def test_mixed_text_is_a_category_and_so_are_numbers_that_are_named_one():
    assert find_kind(RawTable({"c": ["1", "x", "y"]}), "c").kind == "category"
    recipe = learn_recipe({"c": [1.0, 2.0, 3.0]}, kinds={"c": "category"})
    assert recipe.names == ("c=1", "c=2", "c=3")
    with pytest.raises(DataError, match="no category column 'd'"):
        learn_recipe({"c": ["1"]}, kinds={"d": "category"})
    with pytest.raises(DataError, match="kinds='color'"):
        learn_recipe({"c": ["1"]}, kinds={"c": "color"})
    with pytest.raises(DataError, match="not one of dates"):
        learn_recipe({"c": ["1"]}, kinds={"c": "date"})
    with pytest.raises(DataError, match="most_levels=0"):
        learn_recipe({"c": ["1"]}, most_levels=0)


def test_what_is_new_tomorrow_is_warned_of():
    recipe = learn_recipe({"c": ["a", "b", "c"], "x": ["1", "2", "3"]})
    with pytest.warns(UserWarning, match="'d'; they count as none of the known ones"):
        row = recipe.transform({"c": ["d"], "x": ["5"]})
    assert row.tolist() == [[0, 0, 0, 5]]
    two = learn_recipe({"c": ["a", "b"]})
    with pytest.warns(UserWarning, match="they count as 'a'"):
        assert two.transform({"c": ["z"]}).tolist() == [[0.0]]
    with pytest.warns(UserWarning, match="1 gap.s., the training rows had none"):
        assert recipe.transform({"c": ["a"], "x": [None]})[0, 3] == 2.0
    with pytest.raises(DataError, match="'cheap' is not a number; the column holds numbers"):
        recipe.transform({"c": ["a"], "x": ["cheap"]})
    with pytest.raises(DataError, match="no input column 'c'"):
        recipe.transform({"x": ["1"]})


def test_a_recipe_survives_json_bit_for_bit():
    table = {
        "age": [0.1, None, 0.3, 7.0],
        "city": ["Zürich", "名前", None, "Oslo"],
        "when": ["2024-01-01", "2024-02-02", None, "2025-03-03 01:00"],
    }
    recipe = learn_recipe(table)
    again = Recipe.from_json(recipe.to_json())
    assert again == recipe
    assert np.array_equal(again.transform(table), recipe.transform(table))
    assert again.sentences() == recipe.sentences()


@pytest.mark.parametrize(
    "change",
    [
        {"format": "other"},
        {"steps": 3},
        {"steps": [{"column": "a"}]},
    ],
)
def test_damaged_recipes_are_refused(change):
    fields = json.loads(learn_recipe({"a": ["1", "2"]}).to_json()) | change
    with pytest.raises(DataError, match=r"recipe of the columns|format"):
        Recipe.from_json(json.dumps(fields))
    with pytest.raises(DataError):
        Recipe.from_json("no json")


@pytest.mark.parametrize(
    "change",
    [{"kind": "color"}, {"levels": [1]}, {"gaps": 1}, {"fill": float("nan")}, {"parts": ["year"]}],
)
def test_damaged_steps_are_refused(change):
    fields = json.loads(learn_recipe({"a": ["1", "2"]}).to_json())
    fields["steps"][0] |= change
    with pytest.raises(DataError):
        Recipe.from_json(json.dumps(fields))
