"""Other people's optimizers on the octopus on all of R^d: none meets a NaN, and the table of the
page is what the bench measures.
"""

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("optax")
pytest.importorskip("torch")

from bench import octopus_optimizers as bench

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "octopus.md").read_text(encoding="utf-8")
METHODS = bench.methods()


def rows():
    """The table of the page: method -> cells."""
    text = PAGE.split(bench.BEGIN)[1].split(bench.END)[0].strip().splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in text]
    return {name: dict(zip(bench.DIMENSIONS, rest, strict=True)) for name, *rest in cells}


@pytest.mark.parametrize("name", METHODS)
def test_every_optimizer_arrives_in_two_dimensions_and_the_page_says_how_soon(name):
    """DU-T7.3: every point finite (the bench raises otherwise)."""
    results = [bench.measure(name, METHODS[name], 2, seed) for seed in range(bench.STARTS)]
    printed = rows()[name][2]
    assert bench.cell(results).startswith(("stuck", "limit")) == printed.startswith(("s", "l"))
    if printed.replace(",", "").isdigit():
        asked = np.median([r.asked for r in results])
        assert all(r.arrived for r in results)
        assert asked == pytest.approx(float(printed.replace(",", "")), rel=0.2, abs=3)


def test_plain_descent_is_held_where_quasi_newton_and_noise_are_not():
    """DU-T7.3 in d = 6: after 1,000 gradients descent has not passed the last saddle."""
    held = bench.Count(6)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bench, "LIMIT", 1_000)
        result = bench.measure("torch SGD", METHODS["torch SGD"], 6, 0)
    assert (result.arrived, result.at_limit) == (False, True)
    assert result.passed < held.octopus.dimension
    for name in ("scipy BFGS", "gm.perturbed_torch", "gm.minimize, trust region"):
        found = bench.measure(name, METHODS[name], 6, 0)
        assert found.arrived
        assert found.asked < 400


def test_a_run_that_meets_nan_is_an_error():
    with pytest.raises(FloatingPointError, match="not finite after 0"):
        bench.Count(2).gradient(np.array([np.nan, 0.0]))


def test_cells_say_whether_all_some_or_none_arrive():
    there, stuck = bench.Result(40, True, 3, False), bench.Result(9, False, 1, False)
    limit = bench.Result(5000, False, 2, True)
    assert bench.cell([there, there]) == "40"
    assert bench.cell([there, stuck, limit]) == "1 of 3"
    assert bench.cell([stuck, stuck, limit]) == "stuck at 1"
    assert bench.cell([limit, limit]) == "limit at 2"


def test_the_page_has_every_method_and_no_nan():
    assert set(rows()) == set(METHODS)
    assert "nan" not in str(rows()).lower()
