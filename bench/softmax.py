"""Classes: one softmax network against one logistic network per class. CPU seconds of the search
for the decay, of fit, proof and check, the proved gap, and held-out scores on the same folds.

    python -m bench.softmax                 # all tables
    python -m bench.softmax iris wine       # some of them
"""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

import globalmin as gm
from globalmin_check import check_file


def generated(n: int = 10_000) -> tuple[np.ndarray, np.ndarray]:
    """Ten columns, four classes drawn from a softmax of curves of four of them."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 10))
    curves = [np.abs(X[:, 0]), np.sin(2 * X[:, 1]), 0.8 * X[:, 2], X[:, 3] ** 2 - 1]
    scores = 1.5 * np.column_stack(curves)
    return X, (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)


TABLES = {
    "iris": lambda: load_iris(return_X_y=True),
    "wine": lambda: load_wine(return_X_y=True),
    "digits": lambda: load_digits(return_X_y=True),
    "generated": generated,
}


def proof(name: str, loss: str, X: np.ndarray, y: np.ndarray) -> None:
    """One row: the decay of the first network is used for all of it."""
    began = time.process_time()
    decay = gm.AdditiveNetworkClassifier(loss=loss, certify=False, gap=1e-3).fit(X, y).weight_decay_
    searched = time.process_time()
    parts = decay if isinstance(decay, list) else [decay]
    bare = gm.AdditiveNetworkClassifier(
        loss=loss, certify=False, weight_decay=float(np.exp(np.mean(np.log(parts))))
    ).fit(X, y)
    fitted = time.process_time()
    verdicts, gaps, checks = [], [], 0.0
    for run in bare.runs_:
        with tempfile.TemporaryDirectory() as folder:
            path = gm.certify(run.network, run.problem).save(Path(folder) / "model.gmc")
            start = time.process_time()
            result = check_file(path)
            checks += time.process_time() - start
        verdicts.append(result.verdict.value)
        numbers = result.claims[0].numbers or {}
        gaps.append(float(numbers["gap"]) / float(numbers["objective"]))
    proved = time.process_time()
    print(
        f"| {name} {X.shape[0]:,} x {X.shape[1]}, {len(set(y))} classes | {loss} | "
        f"{searched - began:.2f} | {fitted - searched:.2f} | {proved - fitted - checks:.2f} | "
        f"{checks:.2f} | {int(np.sum(bare.width_))} | {max(gaps):.1e} | {set(verdicts)} |",
        flush=True,
    )


def scores(name: str, loss: str, X: np.ndarray, y: np.ndarray, rounds: int) -> None:
    """Accuracy and log loss, mean and standard deviation over the folds."""
    found = []
    for seed in range(rounds):
        for train, test in StratifiedKFold(5, shuffle=True, random_state=seed).split(X, y):
            model = gm.AdditiveNetworkClassifier(loss=loss, certify=False, gap=1e-4)
            model.fit(X[train], y[train])
            shares = model.predict_proba(X[test])
            found.append((model.score(X[test], y[test]), log_loss(y[test], shares)))
    means, spreads = np.mean(found, axis=0), np.std(found, axis=0)
    print(
        f"{name}, {loss}: accuracy {means[0]:.4f} +- {spreads[0]:.4f}, log loss {means[1]:.4f} +- "
        f"{spreads[1]:.4f}, {len(found)} folds",
        flush=True,
    )


def main() -> None:
    """Run the tables that are named, or all."""
    warnings.simplefilter("ignore")
    gm.AdditiveNetworkClassifier(weight_decay=1.0).fit(*load_iris(return_X_y=True))
    gm.AdditiveNetworkClassifier(weight_decay=1.0, loss="logistic").fit(
        *load_iris(return_X_y=True)
    )  # compiled code is loaded once
    print("table, loss, decay by CV, fit, prove, check (CPU s), neurons, proved gap, verdicts")
    for name in sys.argv[1:] or TABLES:
        X, y = TABLES[name]()
        for loss in ("softmax", "logistic"):
            proof(name, loss, X, y)
        if len(X) < 1000:
            for loss in ("softmax", "logistic"):
                scores(name, loss, X, y, rounds=2)


if __name__ == "__main__":
    main()
