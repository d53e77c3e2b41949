"""One word per thing: the arguments of all public functions against docs/glossary.md."""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import globalmin as gm
from globalmin._renamed import renamed

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (`[^|]+) \| ([^|]+) \| ([^|]+) \|$", PAGE, flags=re.MULTILINE)
WORDS = {word for first, _, _ in ROWS for word in re.findall(r"`(\w+)`", first)}
# The word to use, for each synonym of the last column; what stands in brackets is allowed.
SYNONYMS = {
    word: first.strip("`")
    for first, _, last in ROWS
    for word in re.findall(r"\b[A-Za-z]\w+\b", re.sub(r"\(.*?\)|`.*", "", last))
}
# Function -> arguments that are a contract with users or mean something else there.
CONTRACT = {
    "recover_teacher": {"neurons", "labels"},  # neurons of the teacher; kind of the labels
    "plan_recovery": {"labels"},
    "watch_torch": {"optimizer"},  # torch's own word
    "register_activation": {"phi"},  # the function itself
    "DeepNetwork": {"weights"},
    "HomogeneousNetwork": {"layers"},  # the layers themselves
    "ImportedNetwork": {"layers"},
    "Penalty": {"intercept"},  # of the network, not a constant feature
    "RegularizedNetwork": {"intercept"},
    "ReluNetworkClassifier": {"intercept"},
    "ReluNetworkRegressor": {"intercept"},
    "SharedNetwork": {"intercept"},
    "SquaresNetwork": {"intercept"},
    "SquaresPenalty": {"intercept"},
    "optimality_gap": {"intercept"},
    "RegularizedProblem": {"penalty"},  # all of it, the decay among others
    "PatchNetworkRegressor": {"normalize"},  # every patch by itself, not the columns
    "patch_layout": {"normalize"},
}


def _public() -> Iterator[tuple[str, object]]:
    for room in (gm, gm.theory, gm.landscape, gm.interop, gm.generators):
        for name in getattr(room, "__all__", dir(room)):
            found = getattr(room, name)
            if name.startswith("_") or not callable(found):
                continue
            yield name, found
            if inspect.isclass(found) and found.__module__.startswith("globalmin"):
                for method in vars(found):
                    if not method.startswith("_") and callable(getattr(found, method)):
                        yield f"{name}.{method}", getattr(found, method)


FUNCTIONS = dict(_public())


def _arguments(found: object) -> set[str]:
    try:
        return set(inspect.signature(found).parameters)
    except ValueError:  # exceptions without a signature of their own
        return set()


def test_the_glossary_is_read_and_consistent():
    assert {"tol", "step_size", "width", "scheme", "seed", "max_iter", "trained"} <= WORDS
    assert {"tolerance", "eta", "max_steps", "n_steps", "neurons", "rng"} <= set(SYNONYMS)
    assert not WORDS & set(SYNONYMS)
    assert len(FUNCTIONS) > 100


@pytest.mark.parametrize("name", FUNCTIONS)
def test_no_public_argument_is_a_forbidden_synonym(name: str):
    used = _arguments(FUNCTIONS[name]) - CONTRACT.get(name, set())
    assert not {word: SYNONYMS[word] for word in used & set(SYNONYMS)}
    assert not [word for word in used if "tolerance" in word]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_random_state_is_the_word_of_estimators_and_seed_of_all_others(name: str):
    arguments = _arguments(FUNCTIONS[name])
    estimator = hasattr(FUNCTIONS[name], "get_params")
    assert ("seed" if estimator else "random_state") not in arguments


def test_every_word_of_the_glossary_is_used():
    used = set().union(*map(_arguments, FUNCTIONS.values()))
    assert not {word for word in WORDS if word not in used}


def test_a_former_keyword_still_works_and_warns():
    with pytest.warns(DeprecationWarning, match="parallel_pairs: tolerance is now called tol"):
        assert gm.theory.parallel_pairs([[1.0, 0.0], [1.0, 1e-9]], tolerance=1e-6) == ((0, 1),)
    with pytest.warns(DeprecationWarning, match="start is now called scheme"):
        gm.theory.basin_estimate(9, 1, n_initializations=10, start="sphere", max_iter=100)
    with pytest.warns(DeprecationWarning, match="limit_gram: kind is now called kernel"):
        old = gm.theory.limit_gram([[1.0, 0.0], [0.6, 0.8]], kind="features")
    assert (old == gm.theory.limit_gram([[1.0, 0.0], [0.6, 0.8]], kernel="features")).all()


def test_both_names_at_once_are_refused_and_positions_are_left_alone():
    @renamed(old="new")
    def plus(a: int, new: int = 1) -> int:
        return a + new

    assert plus(1, 2) == plus(1, new=2) == 3
    with pytest.raises(gm.DataError, match="old is the former name of new; give new only"):
        plus(1, new=2, old=3)
