"""Quadratic networks on sparse tables: the same network, floor and file as on the dense one,
without a dense copy in training, and a size limit that is said before training.
"""

import numpy as np
import pytest
import scipy.sparse as sparse

import globalmin as gm
from globalmin.data import sparse as tables
from globalmin.regularized import squares_spectrum
from globalmin.regularized.squares import rows_with_bias
from globalmin.regularized.squares_training import largest_squares_decay
from globalmin_check.checks import Budget, ExactChecks
from globalmin_check.claims import dual_quadratic
from globalmin_check.claims.scaled import Scaled


def ratings(users=14, items=10, n=150, seed=0):
    """One-hot users and items, half stars from a taste of rank one."""
    rng = np.random.default_rng(seed)
    who, what = rng.integers(0, users, n), rng.integers(0, items, n)
    taste = rng.standard_normal(users)[who] * rng.standard_normal(items)[what]
    y = np.round(2 * (3 + taste + 0.3 * rng.standard_normal(n))) / 2
    ones, rows = np.ones(n), np.arange(n)
    parts = [
        sparse.csr_array((ones, (rows, column)), (n, size))
        for column, size in ((who, users), (what, items))
    ]
    return sparse.hstack(parts, format="csr"), y


@pytest.mark.parametrize("form", [sparse.csc_matrix, sparse.coo_array])
def test_a_sparse_table_is_the_dense_one(form):
    X, y = ratings()
    options = {"loss": "squared", "weight_decay": 3.0, "scaling": "none", "gap": 1e-9}
    thin = gm.SquaresNetworkRegressor(**options).fit(form(X), y)
    full = gm.SquaresNetworkRegressor(**options).fit(X.toarray(), y)
    assert thin.verdict_ == full.verdict_ == "ACCEPTED"
    assert thin.lower_bound_ == pytest.approx(full.lower_bound_, rel=1e-8)
    assert thin.objective_ == pytest.approx(full.objective_, rel=1e-8)
    # outputs of a strictly convex loss differ by at most sqrt(2 gap): 1e-9 of about 100
    assert thin.predict(form(X)) == pytest.approx(full.predict(X.toarray()), abs=1e-3)
    assert thin.predict(X) == pytest.approx(thin.predict(X.toarray()), rel=1e-12)


@pytest.mark.parametrize(
    ("loss", "decay"), [("logistic", 0.5), ("hinge", 8.0), ("squared_hinge", 2.0)]
)
def test_classes_of_sparse_rows_are_proved(loss, decay):
    X, y = ratings(users=8, items=6)
    model = gm.QuadraticNetworkClassifier(loss=loss, weight_decay=decay, gap=1e-3).fit(X, y > 3)
    assert model.verdict_ == "ACCEPTED"
    assert model.optimal_
    assert model.score(X, y > 3) > 0.7
    assert sparse.issparse(model.runs_[0].problem.X)


@pytest.mark.parametrize(
    ("loss", "parameter"), [("huber", 1.0), ("quantile", 0.7), ("poisson", None)]
)
def test_the_decay_is_chosen_on_sparse_rows(loss, parameter):
    X, y = ratings(users=8, items=6)
    model = gm.SquaresNetworkRegressor(
        loss=loss, loss_parameter=parameter, n_decays=2, ratio=0.3, cv=2, gap=1e-3
    )
    model.fit(X, np.maximum(y, 0.0))
    assert model.verdict_ == "ACCEPTED"
    assert model.cv_losses_.shape[1] == 2
    assert np.isfinite(model.cv_losses_).all()


def test_training_never_makes_the_rows_dense(monkeypatch):
    X, y = ratings()
    made = []
    monkeypatch.setattr(tables, "as_dense", lambda X: made.append(X) or X.toarray())
    monkeypatch.setattr(
        type(X), "toarray", lambda self, *a, **k: made.append(self.shape) or self.todense()
    )
    gm.SquaresNetworkRegressor(weight_decay=2.0, certify=False).fit(X, y).predict(X)
    assert X.shape not in made


def test_columns_are_divided_by_their_largest_entry_and_not_shifted():
    X, y = ratings()
    scaled = X.multiply(np.arange(1.0, X.shape[1] + 1.0)).tocsr()
    one = gm.SquaresNetworkRegressor(weight_decay=2.0, gap=1e-9, certify=False).fit(X, y)
    other = gm.SquaresNetworkRegressor(weight_decay=2.0, gap=1e-9, certify=False).fit(scaled, y)
    assert not one.preprocessing_.x_shift.any()
    assert other.preprocessing_.x_scale.tolist() == list(range(1, X.shape[1] + 1))
    assert other.predict(scaled) == pytest.approx(one.predict(X), rel=1e-9)
    assert one.predict(X.toarray()) == pytest.approx(one.predict(X), rel=1e-9)


def test_a_model_of_dense_rows_takes_sparse_ones():
    X, y = ratings()
    model = gm.SquaresNetworkRegressor(weight_decay=2.0, certify=False).fit(X.toarray(), y)
    assert model.preprocessing_.x_shift.any()
    assert model.predict(X) == pytest.approx(model.predict(X.toarray()), rel=1e-9)


def test_the_ends_of_a_large_spectrum_are_those_of_the_dense_matrix(monkeypatch):
    """Lanczos's method against all eigenvalues."""
    X, y = ratings(users=25, items=15, n=300)
    problem = gm.RegularizedProblem(X, y - y.mean(), gm.SquaresPenalty(1.0), groups="all")
    Z, u = rows_with_bias(problem), y - y.mean()
    dense = np.linalg.eigvalsh(rows_with_bias(problem).toarray().T @ (u[:, None] * Z.toarray()))
    largest = largest_squares_decay(problem)
    monkeypatch.setattr(squares_spectrum, "_LARGE", 1)
    assert squares_spectrum.spectrum_ends(Z, u) == pytest.approx((dense[0], dense[-1]), rel=1e-9)
    assert largest_squares_decay(problem) == pytest.approx(largest, rel=1e-9)
    values, vectors = squares_spectrum.outermost(Z, u)
    assert len(values) == 24
    assert values[[0, -1]] == pytest.approx(dense[[0, -1]])
    residual = Z.T @ (u[:, None] * (Z @ vectors)) - vectors * values
    assert np.abs(residual).max() < 1e-8 * np.abs(values).max()
    assert squares_spectrum.spectrum_ends(Z, 0 * u) == (0.0, 0.0)
    run = gm.train_squares(problem, gap=1e-7)
    monkeypatch.undo()
    assert run.relative_gap <= 1e-7
    assert run.objective == pytest.approx(gm.train_squares(problem, gap=1e-7).objective, rel=1e-7)


def test_too_large_a_table_is_refused_before_training(monkeypatch):
    monkeypatch.setattr(
        gm.SquaresNetworkRegressor, "_fit_labels", lambda *_: pytest.fail("trained")
    )
    wide = sparse.csr_array((10, 2_001))
    with pytest.raises(gm.DataError, match=r"2001 columns.*certify=False"):
        gm.SquaresNetworkRegressor().fit(wide, np.arange(10.0))
    long = sparse.csr_array((2**17, 129))
    with pytest.raises(gm.DataError, match=r"131072 rows and 129 columns.*16777216 entries"):
        gm.SquaresNetworkRegressor().fit(long, np.arange(2.0**17))


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (sparse.csr_array(np.array([[1.0, np.nan], [0.0, 1.0]])), "NaN"),
        (sparse.csr_array(np.array([[1j, 0], [0, 1]])), "complex"),
        (sparse.csr_array((0, 3)), "at least one row"),
    ],
)
def test_sparse_rows_that_are_no_table_are_refused(bad, words):
    with pytest.raises(gm.DataError, match=words):
        gm.RegularizedProblem(bad, np.zeros(bad.shape[0]), gm.SquaresPenalty(1.0), groups="all")


def test_relu_networks_say_that_they_need_dense_rows():
    X, y = ratings()
    with pytest.raises(gm.DataError, match="sparse"):
        gm.RegularizedProblem(X, y, gm.Penalty(1.0))


def test_the_checker_finds_the_same_on_its_road_for_zeros(monkeypatch, tmp_path):
    """The road of integers over nonzeros against that of balls, with entries of both signs."""
    X, y = ratings(users=24, items=16, n=80)
    X.data = np.random.default_rng(1).choice([-1.5, -0.75, 0.5, 2.0], X.data.size)
    options = {"loss": "squared", "weight_decay": 3.0, "scaling": "none", "gap": 1e-4}
    path = gm.SquaresNetworkRegressor(**options).fit(X, y).save_certificate(tmp_path / "a.gmc")
    used, enclosed = [], dual_quadratic._enclosed
    monkeypatch.setattr(
        dual_quadratic, "_enclosed", lambda *given: used.append(1) or enclosed(*given)
    )
    thin = gm.check(path)
    assert used
    used.clear()
    monkeypatch.setattr("globalmin_check.claims.dual_gap.sparse_sums", lambda *_: [])
    monkeypatch.setattr(Scaled, "places", None)
    full = gm.check(path)
    assert not used
    assert thin.verdict == full.verdict == "ACCEPTED"
    assert thin.claims[0].numbers == full.claims[0].numbers


def test_sums_over_nonzeros_are_the_matrix():
    """Integers against a dense product, for entries and weights of both signs."""
    rng = np.random.default_rng(0)
    rows = rng.integers(-4, 5, (30, 40)) * (rng.random((30, 40)) < 0.05)
    u = rng.integers(-9, 10, 30)
    budget = ExactChecks(Budget())
    found = dual_quadratic.sparse_sums((rows.tolist(), 2), Scaled(u.tolist(), 4), budget)
    dense = rows.T @ (u[:, None] * rows)
    assert [[*line] for line in found] == [dense[i, : i + 1].tolist() for i in range(40)]
    balls = dual_quadratic._enclosed(found, 16)
    assert [float(line[-1]) for line in balls] == (np.diag(dense) / 16).tolist()
    assert (
        dual_quadratic.sparse_sums((np.ones((3, 8), int).tolist(), 1), Scaled([1] * 3, 1), budget)
        == []
    )


def test_places_are_kept_for_mostly_zeros_only():
    assert Scaled([0] * 7 + [5], 1).places == [7]
    assert Scaled([0] * 6 + [5, 1], 1).places is None
