"""Quadratic networks beside what a user would pick instead, in one run: seconds of
cross-validation, held-out scores, and a sparse table of ratings that is fitted, proved and checked.

    python -m bench.quadratic_held_out speed     # against PolynomialFeatures + RidgeCV
    python -m bench.quadratic_held_out scores    # beside ridge, logistic, machines of rank 8
    python -m bench.quadratic_held_out ratings   # users x items, one-hot, with a proof

Factorization machines: fastFM and polylearn do not build on this Python, myfm does; install it in
an environment of its own (with setuptools < 81) and name its site-packages in FM_PACKAGES.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sparse
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

import globalmin as gm
from globalmin_check import check_file

Table = tuple[str, str, Any, np.ndarray]


def ratings(users: int, items: int, n: int, seed: int = 0) -> tuple[Any, np.ndarray]:
    """A table like MovieLens: one-hot user and item, popular items first, half stars from biases
    and tastes of rank three.
    """
    rng = np.random.default_rng(seed)
    who = rng.integers(0, users, n)
    what = np.minimum((items * rng.random(n) ** 2).astype(int), items - 1)
    tastes, kinds = 0.35 * rng.standard_normal((users, 3)), 0.35 * rng.standard_normal((items, 3))
    biases = 0.4 * rng.standard_normal(users)[who] + 0.4 * rng.standard_normal(items)[what]
    stars = 3.5 + biases + 2.0 * (tastes[who] * kinds[what]).sum(axis=1)
    y = np.clip(np.round(2 * (stars + 0.5 * rng.standard_normal(n))) / 2, 0.5, 5.0)
    ones, rows = np.ones(2 * n), np.tile(np.arange(n), 2)
    columns = np.concatenate([who, users + what])
    return sparse.csr_array((ones, (rows, columns)), shape=(n, users + items)), y


def tables() -> Iterator[Table]:
    """Name, task, rows, labels."""
    diabetes: Any = load_diabetes(return_X_y=True)
    yield "diabetes", "regression", *diabetes
    wine = np.asarray(load_wine(return_X_y=True)[0])
    yield "wine, alcohol", "regression", wine[:, 1:], wine[:, 0]
    yield "ratings (60 x 40)", "sparse", *ratings(60, 40, 2_000)
    cancer: Any = load_breast_cancer(return_X_y=True)
    yield "breast cancer", "classification", *cancer


class TorchFactorizationMachine(RegressorMixin, BaseEstimator):
    """f = c + w.x + sum over i < j of (V_i . V_j) x_i x_j, rank 8, weight decay 1e-4, Adam."""

    def __init__(self, rank: int = 8, decay: float = 1e-4, steps: int = 1_500) -> None:
        self.rank, self.decay, self.steps = rank, decay, steps

    def fit(self, X: Any, y: Any) -> TorchFactorizationMachine:
        """Train on standardized labels."""
        import torch

        torch.manual_seed(0)
        rows, labels = self._tensor(X), torch.tensor((y - y.mean()) / y.std())
        self.center_, self.unit_ = float(y.mean()), float(y.std())
        d = rows.shape[1]
        shapes = ((1,), (d,), (d, self.rank))
        parts = [torch.zeros(shapes[0]), torch.zeros(shapes[1]), 0.05 * torch.randn(shapes[2])]
        self.parts_ = [part.double().requires_grad_() for part in parts]
        optimizer = torch.optim.Adam(self.parts_, lr=0.01)
        for _ in range(self.steps):
            optimizer.zero_grad()
            penalty = sum((part**2).sum() for part in self.parts_[1:])
            loss = ((self._outputs(rows) - labels) ** 2).mean() + self.decay * penalty
            loss.backward()
            optimizer.step()
        return self

    def _tensor(self, X: Any) -> Any:
        import torch

        return torch.tensor(X.toarray() if sparse.issparse(X) else np.asarray(X))

    def _outputs(self, rows: Any) -> Any:
        c, w, V = self.parts_
        return c + rows @ w + 0.5 * ((rows @ V) ** 2 - (rows**2) @ (V**2)).sum(dim=1)

    def predict(self, X: Any) -> np.ndarray:
        """Outputs in the units of y."""
        return self._outputs(self._tensor(X)).detach().numpy() * self.unit_ + self.center_


class GibbsFactorizationMachine(RegressorMixin, BaseEstimator):
    """The peer myfm: a Bayesian factorization machine of rank 8, 200 draws."""

    def fit(self, X: Any, y: Any) -> GibbsFactorizationMachine:
        """Draw from the posterior."""
        import myfm  # pyright: ignore[reportMissingImports]

        self.model_ = myfm.MyFMRegressor(rank=8).fit(sparse.csr_matrix(X), y, n_iter=200)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Means of the draws."""
        return np.asarray(self.model_.predict(sparse.csr_matrix(X)))


def polynomial_ridge(cv: int | None = None) -> Any:
    """Every monomial of degree two, standardized, 41 penalties; leave-one-out, or folds."""
    penalties = np.logspace(-3, 5, 41)
    features = PolynomialFeatures(2, include_bias=False)
    return make_pipeline(StandardScaler(), features, StandardScaler(), RidgeCV(penalties, cv=cv))


def peers(task: str) -> dict[str, Any]:
    """Name and model of everything that is compared on a task."""
    if task == "classification":
        logistic = LogisticRegressionCV(max_iter=2_000)
        degree_two = make_pipeline(
            StandardScaler(), PolynomialFeatures(2, include_bias=False), StandardScaler()
        )
        return {
            "quadratic network": gm.QuadraticNetworkClassifier(cv=3, n_decays=10, certify=False),
            "logistic": make_pipeline(StandardScaler(), logistic),
            "degree 2 + logistic": make_pipeline(degree_two, clone(logistic)),
        }
    dense = task == "regression"
    scaled = [StandardScaler()] if dense else []
    found: dict[str, Any] = {
        "quadratic network": gm.QuadraticNetworkRegressorCV(certify=False)
        if dense
        else gm.SquaresNetworkRegressor(loss="squared", cv=3, n_decays=10, gap=1e-4, certify=False),
        "ridge": make_pipeline(*scaled, RidgeCV(np.logspace(-3, 5, 41))),
        "torch FM, rank 8": make_pipeline(*scaled, TorchFactorizationMachine()),
    }
    if dense:
        found["degree 2 + ridge"] = polynomial_ridge()
    if os.environ.get("FM_PACKAGES"):
        sys.path.append(os.environ["FM_PACKAGES"])
        found["myfm, rank 8"] = make_pipeline(*scaled, GibbsFactorizationMachine())
    return found


def timed(work: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    """CPU seconds and the result."""
    began = time.process_time()
    result = work(*arguments)
    return time.process_time() - began, result


def fitted(model: Any, X: Any, y: Any) -> Any:
    """A fitted copy."""
    copy: Any = clone(model)
    return copy.fit(X, y)


SHUFFLES = {"regression": 5, "sparse": 1, "classification": 1}


def scores() -> None:
    """Held-out R^2 or accuracy over shuffled folds, mean and standard error over the shuffles."""
    for name, task, X, y in tables():
        shuffles = SHUFFLES[task]
        score = accuracy_score if task == "classification" else r2_score
        for peer, model in peers(task).items():
            found, seconds = [], 0.0
            for seed in range(shuffles):
                outputs = np.empty_like(y)
                for train, test in KFold(5, shuffle=True, random_state=seed).split(X):
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        cost, found_model = timed(fitted, model, X[train], y[train])
                    seconds += cost
                    outputs[test] = found_model.predict(X[test])
                found.append(score(y, outputs))
            error = np.std(found, ddof=1) / np.sqrt(len(found)) if len(found) > 1 else 0.0
            mean = f"{np.mean(found):.4f} +- {error:.4f}"
            print(f"| {name} | {peer} | {mean} | {seconds / (5 * shuffles):.2f} |", flush=True)


def speed() -> None:
    """CPU seconds of cross-validation and their ratios; certificates are not part of it."""
    cancer = np.asarray(load_breast_cancer(return_X_y=True)[0])
    wine = np.asarray(load_wine(return_X_y=True)[0])
    for name, X, y in (
        ("diabetes", *load_diabetes(return_X_y=True)),
        ("wine, alcohol", wine[:, 1:], wine[:, 0]),
        ("breast cancer, radius", cancer[:, 1:], cancer[:, 0]),
    ):
        models = {
            "leave-one-out": polynomial_ridge(),
            "5 folds": polynomial_ridge(5),
            "ours": gm.QuadraticNetworkRegressorCV(certify=False),
        }
        rounds = [
            {key: timed(fitted, model, X, y)[0] for key, model in models.items()} for _ in range(3)
        ]
        best = {key: min(part[key] for part in rounds) for key in models}
        ratios = [best["ours"] / best[key] for key in ("leave-one-out", "5 folds")]
        cells = [f"{best[key]:.3f}" for key in models]
        print(f"| {name} | {' | '.join(cells)} | {ratios[0]:.1f} | {ratios[1]:.2f} |", flush=True)


def prove_ratings(users: int = 600, items: int = 400, n: int = 10_000) -> None:
    """One sparse table: CPU seconds of fit with proof, of the check alone, size and gap."""
    X, y = ratings(users, items, n)
    held = np.arange(n) % 10 == 0
    train, test = ~held, held
    ridge = RidgeCV(np.logspace(-3, 3, 25)).fit(X[train], y[train])
    print(f"ridge on the one-hot columns: R^2 {r2_score(y[test], ridge.predict(X[test])):.4f}")
    for decay in (70.0, 20.0):
        model = gm.SquaresNetworkRegressor(loss="squared", weight_decay=decay)
        seconds, proved = timed(fitted, model, X[train], y[train])
        with tempfile.TemporaryDirectory() as folder:
            path = proved.save_certificate(Path(folder) / "ratings.gmc")
            size = path.stat().st_size / 2**20
            cost, result = timed(check_file, path)
        score = r2_score(y[test], proved.predict(X[test]))
        print(
            f"weight decay {decay:g}: fit with proof {seconds:.1f} s, {proved.width_} neurons, "
            f"relative gap {proved.relative_gap_:.2g}, R^2 {score:.4f}; file {size:.0f} MiB, "
            f"check {cost:.1f} s, {result.verdict.value}",
            flush=True,
        )


def main(arguments: list[str]) -> None:
    parts = {"speed": speed, "scores": scores, "ratings": prove_ratings}
    for name in arguments or parts:
        print(f"\n## {name}\n", flush=True)
        parts[name]()


if __name__ == "__main__":
    main(sys.argv[1:])
