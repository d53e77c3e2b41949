"""Every hypothesis of every theorem of OS, on data and activations where it is known by hand
whether it holds: the findings of `inspect` are true statements.
"""

from functools import cache

import numpy as np
import pytest

import globalmin as gm
from globalmin.facts.finding import ask
from globalmin.inspection import inspect

MARKS = {"holds": "+", "fails": "-", "constant unknown": "?"}


def sphere(n, d, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def shapes():
    """Rows by name; all of norm 1 unless the name says otherwise."""
    X = sphere(11, 6)
    return {
        "generic": sphere(12, 6),
        "d = n": sphere(6, 6),
        "d > n": sphere(5, 6),
        "n > d(d+1)/2": sphere(11, 4),
        "norm 2": 2.0 * sphere(12, 6),
        "one zero row": np.vstack([X, np.zeros((1, 6))]),
        "two zero rows": np.vstack([X, np.zeros((2, 6))]),
        "equal rows": np.vstack([X, X[3]]),
        "opposite rows": np.vstack([X, -X[3]]),
        "zero labels": sphere(12, 6),
    }


@cache
def look(name, activation):
    X = shapes()[name]
    y = np.random.default_rng(1).standard_normal(len(X))
    y = 0.0 * y if name == "zero labels" else y
    return inspect(gm.Dataset(X, y, bias=False, scaling="none"), 20, activation)


def marks(report):
    return "".join(MARKS[h.finding.value] for h in report.hypotheses)


# Hypotheses in the order of the reports:
#   OS-T6.2, T2.1, LH.1, T2.6  smooth, unit rows, y != 0, gap > 0, then width, probability
#   OS-C6                      smooth, y != 0, lambda > 0, then width, probability
#   OS-T6.3, T2.3, T2.5        ReLU, unit rows, y != 0, gap > 0, then width, probability
#   OS-C2.2                    softplus, unit rows, d <= n, three unknown constants
#   OS-C2.4                    ReLU, unit rows, d <= n, two unknown constants
#   OS-T3.2                    phi' bounded, lambda~ > 0, then width
#   OS-C1, C2                  phi'' bounded, ratio
#   OS-C4                      phi'' bounded, J of full row rank, then probability
#   OS-C3                      ReLU, radius
# Widths and probabilities are judged only where the rest leaves numbers; 20 neurons are too few.
TABLE = {
    ("generic", "softplus"): {
        "OS-T6.2": "++++-+", "OS-T2.1": "++++-+", "OS-LH.1": "++++-+", "OS-T2.6": "++++-+",
        "OS-C6": "+++-+", "OS-C2.2": "+++???", "OS-T3.2": "++-", "OS-C1": "+-", "OS-C2": "+-",
        "OS-C4": "++-", "OS-T6.3": "-+++-+", "OS-C2.4": "-++??", "OS-C3": "--",
    },
    ("generic", "relu"): {  # a kink: no smooth theorem, all of ReLU's
        "OS-T6.2": "-+++", "OS-T2.1": "-+++", "OS-LH.1": "-+++", "OS-T2.6": "-+++", "OS-C6": "-++",
        "OS-C2.2": "-++???", "OS-T3.2": "++-", "OS-C1": "--", "OS-C2": "--", "OS-C4": "-+",
        "OS-T6.3": "++++-+", "OS-T2.3": "++++-+", "OS-T2.5": "++++-+", "OS-C2.4": "+++??",
        "OS-C3": "+-",
    },
    ("generic", "abs"): {  # a kink that is not ReLU's
        "OS-T6.2": "-+++", "OS-C6": "-++", "OS-T3.2": "++-", "OS-C1": "--", "OS-C4": "-+",
        "OS-T6.3": "-+++-+", "OS-T2.3": "-+++-+", "OS-T2.5": "-+++-+", "OS-C2.4": "-++??",
        "OS-C3": "--",
    },
    ("generic", "quadratic"): {  # phi' unbounded, phi'' bounded
        "OS-T6.2": "-+++", "OS-T2.1": "-+++", "OS-LH.1": "-+++", "OS-T2.6": "-+++", "OS-C6": "-++",
        "OS-C2.2": "-++???", "OS-T3.2": "-+", "OS-C1": "+-", "OS-C2": "+-", "OS-C4": "++-",
    },
    ("generic", "tanh"): {  # mu = 0 by symmetry; the third power of the data serves
        "OS-T6.2": "++++-+", "OS-T2.1": "+++-", "OS-T2.6": "+++-", "OS-LH.1": "++++-+",
        "OS-C6": "+++-+", "OS-C2.2": "-++???",
    },
    ("generic", "sigmoid"): {"OS-T2.1": "+++-", "OS-T2.6": "+++-", "OS-LH.1": "++++-+"},
    ("generic", "erf"): {"OS-T2.1": "+++-", "OS-T2.6": "+++-", "OS-LH.1": "++++-+"},
    ("d = n", "softplus"): {"OS-C2.2": "+++???", "OS-T2.1": "++++-+", "SJL-C7.5": "?+?"},
    ("d = n", "relu"): {"OS-C2.4": "+++??", "OS-T2.3": "++++-+"},
    ("d > n", "softplus"): {"OS-C2.2": "++-???", "SJL-C7.5": "?-?"},
    ("d > n", "relu"): {"OS-C2.4": "++-??"},
    ("n > d(d+1)/2", "softplus"): {  # 11 rows, 10 products: the fourth power (35) serves
        "OS-T6.2": "++++-+", "OS-T2.1": "+++-", "OS-T2.6": "+++-", "OS-LH.1": "++++-+",
        "OS-C6": "+++-+",
    },
    ("n > d(d+1)/2", "relu"): {"OS-T2.3": "+++-", "OS-T6.3": "++++-+", "OS-T2.5": "++++-+"},
    ("n > d(d+1)/2", "quadratic"): {"OS-T6.2": "-++-", "OS-LH.1": "-++-", "OS-C6": "-+-"},
    ("norm 2", "softplus"): {
        "OS-T6.2": "+-++", "OS-T2.1": "+-++", "OS-LH.1": "+-++", "OS-T2.6": "+-++",
        "OS-C6": "+++-+", "OS-C2.2": "+-+???", "OS-T3.2": "++-",
    },
    ("norm 2", "relu"): {
        "OS-T6.3": "+-++", "OS-T2.3": "+-++", "OS-T2.5": "+-++", "OS-C2.4": "+-+??",
    },
    ("one zero row", "softplus"): {  # J has a zero row; phi(0) != 0, so the features do not
        "OS-T6.2": "+-+-", "OS-T2.1": "+-+-", "OS-LH.1": "+-+-", "OS-T2.6": "+-+-", "OS-C6": "++-",
        "OS-T3.2": "++-", "OS-C1": "+-", "OS-C2": "+-", "OS-C4": "+-",
    },
    ("one zero row", "tanh"): {"OS-T3.2": "+-", "OS-C6": "++-"},
    ("one zero row", "relu"): {"OS-T6.3": "+-+-", "OS-T2.3": "+-+-", "OS-T3.2": "+-"},
    ("two zero rows", "softplus"): {"OS-T3.2": "+-", "OS-C6": "++-"},
    ("equal rows", "softplus"): {
        "OS-T6.2": "+++-", "OS-T2.1": "+++-", "OS-LH.1": "+++-", "OS-T2.6": "+++-", "OS-C6": "++-",
        "OS-T3.2": "+-", "OS-C1": "+-", "OS-C2": "+-", "OS-C4": "+-",
    },
    ("equal rows", "relu"): {
        "OS-T6.3": "+++-", "OS-T2.3": "+++-", "OS-T2.5": "+++-", "OS-T3.2": "+-", "OS-C3": "+-",
    },
    ("opposite rows", "relu"): {  # ReLU tells x from -x, their products and separation do not
        "OS-T6.3": "++++-+", "OS-T2.3": "+++-", "OS-T2.5": "+++-", "OS-T3.2": "++-",
    },
    ("opposite rows", "tanh"): {"OS-T6.2": "+++-", "OS-C6": "++-", "OS-T3.2": "+-"},
    ("opposite rows", "softplus"): {"OS-T6.2": "++++-+", "OS-T2.1": "+++-", "OS-T3.2": "++-"},
    ("zero labels", "softplus"): {
        "OS-T6.2": "++-+", "OS-T2.1": "++-+", "OS-LH.1": "++-+", "OS-T2.6": "++-+", "OS-C6": "+-+",
    },
    ("zero labels", "relu"): {"OS-T6.3": "++-+", "OS-T2.3": "++-+", "OS-T2.5": "++-+"},
}  # fmt: skip
CASES = [
    (name, phi, item, row) for (name, phi), rows in TABLE.items() for item, row in rows.items()
]


@pytest.mark.parametrize(("name", "activation", "item", "expected"), CASES)
def test_hypotheses_hold_fail_or_are_unknown_as_known_by_hand(name, activation, item, expected):
    assert marks(look(name, activation).theorem(item)) == expected


SCOPE = {  # what each theorem is about
    "OS-T6.2": {"softplus", "tanh"}, "OS-T2.1": {"softplus", "tanh"},
    "OS-LH.1": {"softplus", "tanh"}, "OS-T2.6": {"softplus", "tanh"},
    "OS-C6": {"softplus", "tanh"}, "OS-C2.2": {"softplus"},
    "OS-T3.2": {"softplus", "tanh", "relu", "abs"},
    "OS-C1": {"softplus", "tanh", "quadratic"}, "OS-C2": {"softplus", "tanh", "quadratic"},
    "OS-C4": {"softplus", "tanh", "quadratic"},
    "OS-T6.3": {"relu"}, "OS-T2.3": {"relu"}, "OS-T2.5": {"relu"}, "OS-C2.4": {"relu"},
    "OS-C3": {"relu"}, "DU-T3.1": {"softplus", "tanh"}, "DU-T3.2": {"softplus", "tanh"},
}  # fmt: skip


@pytest.mark.parametrize("item", SCOPE)
def test_each_theorem_is_about_its_own_activations(item):
    """Analytic and no polynomial for DU-T3.1 and DU-T3.2, softplus alone for OS-C2.2."""
    found = {
        phi
        for phi in ("softplus", "tanh", "relu", "abs", "quadratic")
        if look("generic", phi).theorem(item).is_in_scope
    }
    assert found == SCOPE[item]


@pytest.mark.parametrize("activation", ["tanh", "sigmoid", "erf"])
def test_a_vanishing_moment_is_zero_and_the_higher_power_is_offered(activation):
    """OS-T2.1, OS-T2.6, OS-LH.1: mu_2(phi')^2 sigma_min(X^{*3})^2 by the product itself."""
    found = look("generic", activation)
    assert found.quantity("μ_φ") == 0.0
    X = shapes()["generic"]
    third = np.stack([np.kron(np.kron(x, x), x) for x in X])
    g, w = np.polynomial.hermite_e.hermegauss(200)
    slope = found.instance.m.activation.derivative(g)
    mu2 = float((w / np.sqrt(2 * np.pi)) @ (slope * (g**2 - 1) / np.sqrt(2)))
    lam = (mu2 * np.linalg.svd(third, compute_uv=False)[-1]) ** 2
    report = found.theorem("OS-LH.1")
    assert dict(report.numbers)["at least, r = 2"] == pytest.approx(lam, rel=1e-9)
    assert lam < dict(report.numbers)["λ(X), computed"] < 20 * lam
    for item in ("OS-T2.1", "OS-T2.6"):
        offered = found.theorem(item)
        assert "OS-LH.1 with r = 2" in offered.instead
        assert "exactly 0" in offered.hypotheses[3].measured
        assert offered.width == float("inf")
    assert dict(found.theorem("OS-T2.6").numbers) == {
        "step with OS-LH.1 in place of μ_φ σ_min(X*X)": pytest.approx(sgd_step_by(found, lam))
    }


def sgd_step_by(found, lam):
    """OS-T2.6 with sqrt(lam) in place of mu sigma, failure .1, 120 weights."""
    B, X_norm, y_norm = (found.quantity(q) for q in ("B", "‖X‖", "‖y‖"))
    nu = 40 * (3 * B * X_norm / lam**0.5) ** (1 / 120)
    return lam * 12 / (9 * nu * B**4 * y_norm**2 * X_norm**2)


def test_nearly_parallel_rows_are_a_warning_only_where_no_exact_fact_says_more():
    X = sphere(5, 3)
    close = np.vstack([X, X[1] + [1e-9, 0.0, 0.0]])
    found = inspect(gm.Dataset(close, np.arange(6.0), bias=False, scaling="none"), 8)
    assert any("rows 1 and 5" in w and "nearly parallel" in w for w in found.warnings)
    with_zero = np.vstack([close, np.zeros((1, 3))])
    found = inspect(gm.Dataset(with_zero, np.arange(7.0), bias=False, scaling="none"), 8)
    assert not any("nearly parallel" in w for w in found.warnings)
    generic = inspect(gm.Dataset(X, np.arange(5.0), bias=False, scaling="none"), 8)
    assert generic.warnings == ()


def test_meta_theorems_at_near_fits_and_away_from_them():
    """OS-C6.11, OS-T6.10, OS-T6.13: hold where the labels are nearly the outputs only."""
    X = sphere(3, 12)
    for activation, items in (("softplus", ("OS-C6.11", "OS-T6.10")), ("relu", ("OS-T6.13",))):
        data = gm.Dataset(X, np.ones(3), bias=False, scaling="none")
        net = gm.ShallowNetwork.initialize(data, 4000, activation, scheme="du", seed=0)
        for gap, expected in ((1e-5, "holds"), (10.0, "fails")):
            near = gm.Dataset(X, net.predict(X) + gap, bias=False, scaling="none")
            it = inspect(near, network=net).instance
            for item in items:
                assert ask(item, it).finding == expected, (item, gap)
