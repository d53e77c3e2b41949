"""`inspect`: findings, numbers and refusals; degenerate data are explained, never a traceback."""

import json
import math

import numpy as np
import pytest

import globalmin as gm
from globalmin.data import validation
from globalmin.errors import DataError, MemoryRefused
from globalmin.facts.finding import Hypothesis, TheoremReport, check, number, unknown
from globalmin.inspection import Finding, inspect
from globalmin.references import catalogue
from globalmin.shallow.widths import first_width


def rows(X, y=None, seed=0):
    X = np.asarray(X, dtype=float)
    y = np.random.default_rng(seed).standard_normal(len(X)) if y is None else y
    return gm.Dataset(X, y, bias=False, scaling="none")


def failing(report):
    return {h.statement: h.measured for h in report.hypotheses if h.finding is Finding.FAILS}


@pytest.fixture(scope="module")
def relu():
    return inspect(
        gm.generators.sphere_with_random_labels(20, 6, seed=0), width=30, activation="relu"
    )


@pytest.fixture(scope="module")
def softplus():
    return inspect(gm.generators.sphere_with_random_labels(20, 6, seed=0), width=30)


def test_a_report_is_only_as_good_as_its_worst_hypothesis():
    """Fails before unknown before holds; scope is what the theorem is about."""
    good, bad, open_ = check("a", True), check("b", False, is_scope=True), unknown("c")
    for hypotheses, finding in (
        ((good,), "holds"),
        ((good, open_), "constant unknown"),
        ((bad, open_), "fails"),
    ):
        assert TheoremReport("OS-C1", "", hypotheses).finding.value == finding
    assert not TheoremReport("OS-C1", "", (good, bad)).is_in_scope
    assert TheoremReport("OS-C1", "", (good, Hypothesis("d", Finding.FAILS))).is_in_scope
    assert [number(x) for x in (40.0, 0.01961, 6.1e9, math.inf, None)] == [
        "40",
        "0.0196",
        "6.1e+09",
        "∞",
        "–",
    ]


def test_every_row_names_an_item_of_the_catalogue_once_and_the_numbers_agree_with_the_theory(
    softplus, relu
):
    """OS-T6.2, OS-C6, OS-T6.3, DU-T2.2, SJL-T2.1, GKZ-T2.8, FCL-T1: widths are those of the pure
    functions at the measured numbers.
    """
    from globalmin.kernels import widths

    items = [r.item for r in softplus.theorems]
    assert len(items) == len(set(items)) > 30
    assert set(items) <= set(catalogue())
    lam, X_norm = softplus.quantity("λ(X)"), softplus.quantity("‖X‖")
    assert softplus.theorem("OS-T6.2").width == pytest.approx(
        widths.smooth_width(20, lam, X_norm=X_norm, B=1.0, M=1.0)
    )
    explicit = widths.explicit_width(
        20,
        lam,
        kappa4=softplus.quantity("κ₄"),
        B=1.0,
        M=0.25,
        variance=softplus.quantity("Var φ"),
        theta=0.5,
        delta=1.0,
    )
    assert (
        softplus.theorem("OS-C6").width
        == softplus.explicit_width
        == explicit
        < softplus.theorem("OS-T6.2").width
    )
    lam = relu.quantity("λ(X)")
    assert relu.theorem("OS-T6.3").width == pytest.approx(widths.relu_width(20, lam, X_norm=X_norm))
    assert relu.theorem("DU-T2.3").width == pytest.approx(16 * relu.theorem("DU-T2.2").width)
    assert relu.theorem("SJL-T2.1").width == 12
    assert math.isinf(relu.explicit_width)


def test_measured_quantities_agree_with_dense_definitions(relu):
    """λ(X) by the arccosine formula, sigma_min(X*X) by an explicit Khatri-Rao product, the rest by
    numpy.
    """
    X = gm.generators.sphere_with_random_labels(20, 6, seed=0).X
    K = np.clip(X @ X.T, -1, 1)
    np.fill_diagonal(K, 1.0)
    H = K * (np.pi - np.arccos(K)) / (2 * np.pi)
    assert relu.quantity("λ(X)") == pytest.approx(np.linalg.eigvalsh(H)[0], rel=1e-9)
    products = np.stack([np.kron(x, x) for x in X])
    assert relu.quantity("σ_min(X*X)") == pytest.approx(
        np.linalg.svd(products, compute_uv=False)[-1], rel=1e-7
    )
    assert relu.quantity("δ") == pytest.approx(
        min(np.linalg.norm(X[i] - s * X[j]) for i in range(20) for j in range(i) for s in (1, -1))
    )
    assert relu.spectrum == pytest.approx(np.linalg.eigvalsh(H))
    with pytest.raises(DataError, match="not in the table"):
        relu.quantity("nothing")
    with pytest.raises(DataError, match="not in the table"):
        relu.theorem("OS-C99")


def test_theorems_about_other_networks_are_set_apart(softplus, relu):
    inside = {
        name: {r.item for r in i.theorems if r.is_in_scope}
        for name, i in (("softplus", softplus), ("relu", relu))
    }
    assert "OS-T6.2" in inside["softplus"] - inside["relu"]
    assert {"OS-T6.3", "DU-T2.1", "OS-C3"} <= inside["relu"] - inside["softplus"]
    assert "SJL-T2.1" not in inside["softplus"] | inside["relu"]
    assert "SJL-T2.1" in {
        r.item
        for r in inspect(rows(np.eye(3)), width=6, activation="quadratic").theorems
        if r.is_in_scope
    }
    assert set(relu.required_widths()) <= inside["relu"]


@pytest.mark.parametrize("activation", ["softplus", "relu", "tanh", "quadratic"])
def test_recommended_width_is_what_training_takes(activation):
    data = gm.generators.sphere_with_random_labels(40, 5, seed=1)
    found = inspect(data, activation=activation)
    assert (
        found.recommended_width == found.width == first_width(data, gm.get_activation(activation))
    )


def test_equal_rows_are_named_and_make_lambda_exactly_zero():
    X = np.random.default_rng(0).standard_normal((5, 3))
    for activation, item in (("softplus", "OS-C6"), ("relu", "DU-T2.2")):
        found = inspect(rows(np.vstack([X, X[2]])), width=8, activation=activation)
        assert found.quantity("λ(X)") == 0.0
        assert failing(found.theorem(item))["λ(X) > 0"] == "λ = 0: rows 2 and 5 are equal"
        assert found.theorem(item).width == math.inf
        assert any("rows 2, 5 are equal but have different labels" in w for w in found.warnings)
    assert found.theorem("DU-T2.1").finding is Finding.FAILS


@pytest.mark.parametrize(
    ("factor", "word"), [(1.0, "equal"), (0.5, "parallel"), (-1.0, "antiparallel")]
)
def test_rows_on_one_line_are_told_apart(factor, word):
    """DU-T2.1: short rows, whose inner product is positive and below 1, and its opposite."""
    X = 0.1 * np.random.default_rng(1).standard_normal((5, 3))
    found = inspect(rows(np.vstack([X, factor * X[1]])), width=8, activation="relu")
    assert (
        failing(found.theorem("DU-T2.1"))["no two rows parallel, none zero"]
        == f"rows 1 and 5 are {word} (exact)"
    )


def test_antiparallel_rows_break_the_hypothesis_but_not_lambda():
    """DU-T2.1 is sufficient, not necessary: ReLU tells x from -x, tanh cannot."""
    X = np.random.default_rng(1).standard_normal((5, 3))
    data = rows(np.vstack([X, -X[1]]))
    found = inspect(data, width=8, activation="relu")
    assert (
        failing(found.theorem("DU-T2.1"))["no two rows parallel, none zero"]
        == "rows 1 and 5 are antiparallel (exact)"
    )
    assert found.quantity("λ(X)") > 0
    assert failing(found.theorem("OS-T2.5"))["separation δ > 0"].startswith(
        "δ = 0: rows 1 and 5 are antiparallel"
    )
    odd = inspect(data, width=8, activation="tanh")
    assert odd.quantity("λ(X)") == 0.0
    assert "rows 1 and 5 are equal up to sign" in failing(odd.theorem("OS-C6"))["λ(X) > 0"]


def test_zero_rows_and_rays_are_named():
    X = np.random.default_rng(2).standard_normal((4, 3))
    found = inspect(rows(np.vstack([X, np.zeros((1, 3))])), width=8, activation="relu")
    assert failing(found.theorem("OS-T6.3"))["λ(X) > 0"] == "λ = 0: row 4 is zero"
    assert failing(found.theorem("DU-T2.1"))["no two rows parallel, none zero"] == "row 4 is zero"
    ray = inspect(rows(np.vstack([X, 2 * X[:1]])), width=8, activation="relu")
    assert "rows 0 and 4 are multiples of each other" in failing(ray.theorem("OS-T6.3"))["λ(X) > 0"]


def test_one_feature_says_that_all_rows_are_parallel():
    found = inspect(rows([[1.0], [2.0], [-1.5]]), width=4, activation="softplus")
    assert any("d = 1" in w and "bias" in w for w in found.warnings)
    assert failing(found.theorem("OS-T2.1"))["μ_φ σ_min(X*X) > 0"].endswith(
        "n = 3 exceeds d(d+1)/2 = 1"
    )
    assert failing(
        inspect(rows([[1.0], [2.0], [-1.5]]), width=4, activation="relu").theorem("DU-T2.1")
    )


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "activation",
    ["softplus", "relu", "tanh", "quadratic", "linear", "abs", "leaky_relu(0.1)", "erf"],
)
def test_no_combination_of_degenerate_rows_and_activation_ends_in_a_traceback(activation):
    X = np.random.default_rng(3).standard_normal((4, 3))
    shapes = [
        np.vstack([X, X[:1]]),
        np.vstack([X, -X[:1]]),
        np.vstack([X, 0 * X[:2]]),
        X[:, :1],
        X[:1],
        np.zeros((2, 2)),
    ]
    for Z, y in [*((Z, None) for Z in shapes), (X, np.zeros(4))]:
        found = inspect(rows(Z, y), width=5, activation=activation)
        assert str(found).startswith("instance")
        json.loads(found.to_json())


def test_unusable_arguments_are_refused_with_the_remedy():
    data = rows(np.eye(3))
    for width in (0, -1, 2.5, True, "wide"):
        with pytest.raises(DataError, match="width"):
            inspect(data, width=width)
    with pytest.raises(DataError, match="sine"):
        inspect(data, activation="sine of the times")
    with pytest.raises(DataError, match="theta"):
        inspect(data, theta=1.0)
    with pytest.raises(DataError, match="scheme"):
        inspect(data, scheme="none")
    two = gm.Dataset(np.eye(3), np.eye(3)[:, :2], bias=False, scaling="none")
    with pytest.raises(DataError, match="for_target"):
        inspect(two)


def test_what_does_not_fit_is_refused_before_anything_is_computed(monkeypatch):
    data = gm.generators.sphere_with_random_labels(300, 5, seed=0)
    monkeypatch.setattr(validation, "available_bytes", lambda: 2**20)
    monkeypatch.setattr(
        "globalmin.inspection.inspection.measure", lambda *_: pytest.fail("it started to compute")
    )
    with pytest.raises(MemoryRefused, match="n=300 samples"):
        inspect(data, width=10)


def test_large_data_use_iterations_that_agree_with_dense_eigenvalues(monkeypatch):
    """The road for n above 1,500, forced at n = 60."""
    data = gm.generators.sphere_with_random_labels(60, 9, seed=4)
    dense = inspect(data, width=30, activation="softplus")
    for module in ("linalg.spectrum", "inspection.prediction"):
        monkeypatch.setattr(f"globalmin.{module}.ALL_LIMIT", 10)
    lanczos = inspect(data, width=30, activation="softplus")
    for q, other in zip(dense.quantities, lanczos.quantities, strict=True):
        assert q.value == pytest.approx(other.value, rel=1e-5), q.symbol
    assert lanczos.spectrum is None
    shared = np.isin(dense.prediction.steps, lanczos.prediction.steps)
    assert lanczos.prediction.residual_norms == pytest.approx(
        dense.prediction.residual_norms[shared], rel=1e-8
    )


def test_text_and_json_tell_the_same_story(relu):
    text, content = str(relu), json.loads(relu.to_json())
    assert content["format"] == "globalmin-inspection/1"
    assert [t["item"] for t in content["theorems"]] == [r.item for r in relu.theorems]
    assert content["explicit_width"] is None
    for report in relu.theorems:
        assert report.item in text
    assert max(map(len, text.splitlines())) <= 240
    assert "constant unknown" in text
    assert "+ no two rows parallel" in text


def test_a_start_at_which_the_descent_theorem_holds_is_reported_with_step_and_rate():
    """OS-C1 and OS-C2 at the drawn start, and OS-C6 satisfied at its own width."""
    data = gm.generators.sphere_with_random_labels(2, 8, seed=0)
    wide = int(inspect(data, width=2).explicit_width)
    found = inspect(data, width=wide)
    for item in ("OS-C6", "OS-C1", "OS-C2"):
        assert found.theorem(item).finding is Finding.HOLDS
    assert 0 < found.theorem("OS-C1").rate < 1
    assert found.step_size == found.theorem("OS-C1").step_size
    assert found.theorem("OS-T6.2").finding is Finding.FAILS


def test_relu_start_with_tiny_misfit_lets_the_kink_theorem_hold():
    """OS-C3 in the table: labels equal to the drawn outputs, up to a little."""
    data = gm.generators.sphere_with_random_labels(3, 12, seed=1)
    start = gm.ShallowNetwork.initialize(data, width=4000, activation="relu", scheme="du", seed=0)
    near = rows(data.X, start.predict(data.X) + 1e-3)
    found = inspect(near, width=4000, activation="relu", scheme="du", seed=0)
    assert found.theorem("OS-C3").finding is Finding.HOLDS
    assert found.theorem("DU-L2.1").finding is Finding.HOLDS
    assert found.step_size == found.theorem("OS-C3").step_size
