"""Options given by name: every public function refuses a wrong one by the one message."""

import inspect
import re
import typing
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import globalmin as gm
from globalmin import _options
from globalmin.fused.train import train_many
from globalmin.octopus.escape import octopus_escape_times
from globalmin.optimize.trust_region import minimize
from globalmin.patches.train import fit_filter
from globalmin.quadratic.barrier import barrier
from globalmin.quadratic.solve import solve_quadratic
from globalmin.shallow.initialization import SCHEMES
from globalmin.shallow.methods.table import METHODS
from globalmin.shallow.widths import quadratic_width

RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((6, 3)), RNG.standard_normal(6)
DATA = gm.Dataset(X, Y)
NETWORK = gm.ShallowNetwork.initialize(DATA, width=12, activation="softplus", seed=0)
DEEP = gm.DeepNetwork.initialize(X, width=4, depth=2, activation="softplus", seed=0)
FACTORS = np.ones((2, 1)), np.ones((2, 1)), np.ones((2, 2))
WRONG = "sideways"
SOURCE = Path(__file__).resolve().parents[2] / "src" / "globalmin"


def _square(x: np.ndarray) -> float:
    return float(x @ x)


# what is called with the wrong option -> the option, one of the right values
CALLS: dict[str, tuple[Callable[..., object], str, str]] = {
    "Dataset": (lambda **o: gm.Dataset(X, Y, **o), "scaling", "rows"),
    "ShallowNetwork.initialize": (
        lambda **o: gm.ShallowNetwork.initialize(DATA, width=4, **o),
        "scheme",
        "sjl",
    ),
    "inspect": (lambda **o: gm.inspect(DATA, **o), "scheme", "du"),
    "train method": (lambda **o: gm.train(NETWORK, DATA, **o), "method", "lbfgs"),
    "train trained": (lambda **o: gm.train(NETWORK, DATA, **o), "trained", "vW"),
    "train until": (lambda **o: gm.train(NETWORK, DATA, **o), "until", "provable"),
    "train_many": (
        lambda **o: train_many(X, Y, np.zeros((1, 4, 3)), np.ones((1, 4)), step_size=0.1, **o),
        "trained",
        "vW",
    ),
    "certify": (lambda **o: gm.certify(NETWORK, DATA, **o), "trained", "vW"),
    "prove": (lambda **o: gm.prove(NETWORK, DATA, **o), "trained", "vW"),
    "classify_point": (lambda **o: gm.classify_point(NETWORK, DATA, **o), "trained", "vW"),
    "train_deep method": (lambda **o: gm.train_deep(DEEP, (X, Y), **o), "method", "gradient"),
    "train_deep until": (lambda **o: gm.train_deep(DEEP, (X, Y), **o), "until", "descent"),
    "DeepNetwork.initialize": (
        lambda **o: gm.DeepNetwork.initialize(X, width=4, depth=2, **o),
        "architecture",
        "resnet",
    ),
    "solve_quadratic": (lambda **o: solve_quadratic(X, Y, **o), "signs", "positive"),
    "certify_gram": (lambda **o: gm.certify_gram(X, **o), "kernel", "features"),
    "limit_gram": (lambda **o: gm.theory.limit_gram(X, **o), "kernel", "features"),
    "minimize method": (lambda **o: minimize(_square, np.ones(2), **o), "method", "cubic"),
    "minimize derivatives": (
        lambda **o: minimize(_square, np.ones(2), **o),
        "derivatives",
        "jax",
    ),
    "certify_factorization": (
        lambda **o: gm.certify_factorization(
            np.ones((2, 1)), np.ones((2, 1)), np.ones((2, 2)), **o
        ),
        "norm",
        "factor",
    ),
    "recover_teacher": (
        lambda **o: gm.recover_teacher(gm.Dataset(X, Y, bias=False, scaling="none"), 2, **o),
        "labels",
        "classification",
    ),
    "fit_filter": (
        lambda **o: fit_filter(X[:, None, :], Y, np.ones(3), **o),
        "method",
        "sgd",
    ),
    "octopus_escape_times": (
        lambda **o: octopus_escape_times(3, **o),
        "method",
        "perturbed_gradient_descent",
    ),
    "quadratic_width": (lambda **o: quadratic_width(3, **o), "signs", "positive"),
    "basin_estimate": (lambda **o: gm.theory.basin_estimate(9, 1, **o), "scheme", "sphere"),
    "barrier": (lambda **o: barrier(np.eye(3), **o), "kind", "paper"),
    "reproduce": (lambda **o: gm.reproduce("FCL-F2", **o), "scale", "paper"),
    "reproduce executor": (lambda **o: gm.reproduce("FCL-F2", **o), "executor", "dask"),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("wrong", [WRONG, 3], ids=["word", "number"])
def test_a_wrong_option_is_refused_by_the_one_message(name: str, wrong: object):
    call, option, right = CALLS[name]
    said = f"^{option}={wrong!r} is unknown; choose one of ('[^']+', )*'[^']*{re.escape(right)}"
    with pytest.raises(gm.DataError, match=said):
        call(**{option: wrong})


def test_no_room_writes_that_message_itself():
    found = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if "is unknown; choose" in path.read_text(encoding="utf-8")
    }
    # a number is understood as well there
    assert found == {"_options.py", "quadratic/barrier.py"}


def test_the_literals_are_the_tables_they_name():
    assert set(typing.get_args(_options.Method)) == {"auto", *METHODS}
    assert set(_options.SCHEMES) == set(SCHEMES)


OPTIONS = {"trained", "method", "signs", "heads", "kernel", "kind", "scheme", "until", "scaling"}


def test_no_public_function_takes_such_an_option_as_any_string():
    loose = set()
    for room in (gm, gm.theory, gm.landscape, gm.generators):
        for name in getattr(room, "__all__", dir(room)):
            found = getattr(room, name)
            if not inspect.isfunction(found) or name.startswith("_"):
                continue
            for argument, parameter in inspect.signature(found).parameters.items():
                if argument in OPTIONS and parameter.annotation in ("str", str, "str | None"):
                    loose.add(f"{name}({argument})")
    assert not loose
