"""How likely is a random start to succeed: the bound is that of Clopper and Pearson, failures
count, and the files behind the sentence speak of one setting.
"""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import beta

import globalmin as gm
from globalmin.shallow.start_probability import (
    _require_one_setting,
    common_step,
    probability_below,
)
from globalmin.shallow.step_sizes import general_step


@pytest.mark.parametrize(
    ("proved", "seeds", "expected"), [(20, 20, 0.794), (44, 44, 0.900), (100, 100, 0.954)]
)
def test_all_proved_gives_the_root_of_alpha(proved: int, seeds: int, expected: float) -> None:
    """The table of the claim's page: alpha^(1/N) at 99 %."""
    found = float(probability_below(proved, seeds, Fraction(1, 100)))
    assert found == pytest.approx(expected, abs=1.1e-3)  # printed with three digits, rounded
    assert 0 <= 0.01 ** (1 / seeds) - found < 1e-4  # the grid of 1/10,000


@pytest.mark.parametrize(("proved", "seeds"), [(0, 5), (1, 5), (4, 5), (17, 20), (455, 459)])
def test_failures_give_the_lower_end_of_clopper_and_pearson(proved: int, seeds: int) -> None:
    exact = beta.ppf(0.05, proved, seeds - proved + 1) if proved else 0.0
    found = float(probability_below(proved, seeds, Fraction(1, 20)))
    assert 0 <= exact - found < 1e-4 + 1e-12


def test_the_bound_covers_as_often_as_it_says() -> None:
    """Exactly, by summing over all outcomes: at every q the bound exceeds q with probability at
    most alpha, and at some q nearly that often.
    """
    n, alpha = 12, Fraction(1, 10)
    bounds = [probability_below(s, n, alpha) for s in range(n + 1)]
    worst = 0.0
    for q in np.linspace(0.01, 0.99, 197):
        wrong = sum(binomial(n, s, q) for s in range(n + 1) if float(bounds[s]) > q)
        assert wrong <= 0.1 + 1e-12
        worst = max(worst, wrong)
    assert worst > 0.09


def binomial(n: int, s: int, q: float) -> float:
    from math import comb

    return comb(n, s) * q**s * (1 - q) ** (n - s)


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> gm.StartShare:
    data = gm.generators.sphere_with_random_labels(4, 6, seed=0)
    folder = tmp_path_factory.mktemp("starts")
    options = {"width": 20, "seeds": 4, "activation": "tanh", "step_size": 0.3}
    first = gm.prove_starts(data, **options, out=folder, workers=1)
    again = gm.prove_starts(data, **options, out=folder, workers=1)  # nothing is computed twice
    assert again.certificates == first.certificates
    return first


def test_four_seeds_are_proved_and_the_sentence_says_what_it_rests_on(found) -> None:
    assert (found.n_proved, found.n_seeds) == (4, 4)
    assert found.probability_lower == pytest.approx(0.01**0.25, abs=1e-4)
    assert "From 4 of 4 starts" in found.statement
    assert "SHA-256 are taken as independent" in found.statement
    assert "Nothing is said of other data" in found.statement
    assert (found.steps > 0).all()
    assert len(found.certificates) == 4


def test_each_file_is_about_its_own_seed_and_files_of_two_settings_are_refused(found) -> None:
    _require_one_setting(found.certificates, 4)
    exchanged = {0: found.certificates[1], 1: found.certificates[0]}
    with pytest.raises(RuntimeError, match="is about seed 1"):
        _require_one_setting(exchanged, 4)
    data = gm.generators.sphere_with_random_labels(4, 6, seed=1)
    proof = gm.prove_start(1, data, width=20, activation="tanh", step_size=0.3)
    assert proof.certificate is not None
    with pytest.raises(RuntimeError, match="different data"):
        _require_one_setting({0: found.certificates[0], 1: proof.certificate}, 4)


def test_seeds_that_fail_count_and_say_why() -> None:
    data = gm.generators.sphere_with_random_labels(4, 6, seed=0)
    options = {"width": 20, "activation": "tanh", "step_size": 0.3}
    none = gm.prove_starts(data, seeds=2, max_iter=2, workers=1, **options)
    assert (none.n_proved, none.probability_lower) == (0, 0.0)
    assert set(none.reasons) == {0, 1}
    assert "does not come within the reach" in none.reasons[0]


def test_variants_cost_confidence() -> None:
    """Ten variants at 99 % are one at 99.9 %."""
    assert probability_below(50, 50, Fraction(1, 1000)) < probability_below(
        50, 50, Fraction(1, 100)
    )


def test_the_step_is_fixed_by_data_and_head_alone() -> None:
    """OS-T6.2 on unit rows; elsewhere the bound of |J| that holds at every W (OS-L6.6)."""
    unit = gm.generators.sphere_with_random_labels(8, 5, seed=0)
    size = np.linalg.norm(unit.X, 2) * np.linalg.norm(unit.y)
    assert common_step(unit, 10, "tanh", "theory") == pytest.approx(8 / (2 * size**2))
    rng = np.random.default_rng(0)
    table = gm.Dataset(rng.standard_normal((8, 3)), rng.standard_normal(8))
    v = np.full(10, np.linalg.norm(table.y) / np.sqrt(80))
    step = common_step(table, 10, "softplus", "theory")
    assert step == pytest.approx(general_step(table.X, v, 1.0))


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"seeds": 0}, "seeds=0"),
        ({"confidence": 1.0}, "confidence=1.0"),
        ({"variants": 0}, "variants"),
    ],
)
def test_bad_options_name_the_argument(options, word: str) -> None:
    data = gm.generators.sphere_with_random_labels(4, 6, seed=0)
    with pytest.raises(gm.DataError, match=word):
        gm.prove_starts(data, **({"width": 4, "seeds": 2} | options))
