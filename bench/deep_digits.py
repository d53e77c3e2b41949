"""Deep networks on handwritten digits beside their peers, and the price of a proof.

`python -m bench.deep_digits` fits the 1,797 digits of scikit-learn (8 x 8 pixels, three quarters to
train, three splits) by `DeepNetworkClassifier` and `DeepNetworkRegressor`, by scikit-learn's
MLPClassifier, and by regression with the limiting kernel of our own networks, and prints the share
of held-out digits that each gets right. `python -m bench.deep_digits proof` trains, certifies and
checks a fully connected tanh network with n = 500, width 300, depth 3. CPU seconds.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Callable

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

import globalmin as gm
from globalmin._types import Array

SPLITS = 3
CLASSES = np.arange(10)


def deep_classifier(architecture: str) -> Callable[[Array, Array, Array], Array]:
    """One network per digit, tanh, depth 3."""

    def fit(X: Array, y: Array, new: Array) -> Array:
        model = gm.DeepNetworkClassifier(architecture=architecture, certify=False, random_state=0)
        return model.fit(X, y).predict(new)

    return fit


def deep_regressor(X: Array, y: Array, new: Array) -> Array:
    """Ten targets, 1 for the digit and 0 for the others."""
    labels = (y[:, None] == CLASSES).astype(float)
    model = gm.DeepNetworkRegressor(certify=False, random_state=0).fit(X, labels)
    return model.predict(new).argmax(axis=1)


def limit_kernel(architecture: str) -> Callable[[Array, Array, Array], Array]:
    """Regression with the kernel that the networks of the classifier tend to, no penalty."""

    def fit(X: Array, y: Array, new: Array) -> Array:
        n, d = len(X), X[0].size
        shift, scale = X.mean(), X.std() * np.sqrt(d)  # as the estimator scales images
        rows = (np.concatenate([X, new]).reshape(-1, d) - shift) / scale
        rows = np.concatenate([rows, np.ones((len(rows), 1))], axis=1)
        network = gm.DeepNetwork.initialize(rows, 64, 3, architecture, "tanh")
        K = network.limit_gram(rows).total
        labels = np.where(y[:, None] == CLASSES, 1.0, -1.0)
        return (K[n:, :n] @ np.linalg.solve(K[:n, :n], labels)).argmax(axis=1)

    return fit


def mlp(X: Array, y: Array, new: Array) -> Array:
    """scikit-learn's perceptron with its defaults, pixels divided by 16."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MLPClassifier(random_state=0).fit(X.reshape(len(X), -1) / 16, y)
    return model.predict(new.reshape(len(new), -1) / 16)


def deep_mlp(X: Array, y: Array, new: Array) -> Array:
    """The same with three layers of 100 tanh neurons."""
    options = {"hidden_layer_sizes": (100, 100, 100), "activation": "tanh", "max_iter": 500}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MLPClassifier(**options, random_state=0).fit(X.reshape(len(X), -1) / 16, y)
    return model.predict(new.reshape(len(new), -1) / 16)


METHODS: dict[str, Callable[[Array, Array, Array], Array]] = {
    "DeepNetworkClassifier, fully connected": deep_classifier("fully_connected"),
    "DeepNetworkClassifier, residual": deep_classifier("resnet"),
    "DeepNetworkRegressor, ten targets": deep_regressor,
    "limit kernel, fully connected": limit_kernel("fully_connected"),
    "limit kernel, residual": limit_kernel("resnet"),
    "MLPClassifier, defaults": mlp,
    "MLPClassifier, tanh 100-100-100": deep_mlp,
}


def digits(splits: int = SPLITS) -> None:
    """The table of scores."""
    data = load_digits()
    print("| method | held out, right | CPU s a fit |\n|---|---|---|", flush=True)
    for name, method in METHODS.items():
        scores, started = [], time.process_time()
        for seed in range(splits):
            X, new, y, wanted = train_test_split(
                data.images, data.target, test_size=0.25, random_state=seed
            )
            scores.append(float((method(X, y, new) == wanted).mean()))
        seconds = (time.process_time() - started) / splits
        each = ", ".join(f"{100 * score:.1f} %" for score in scores)
        print(f"| {name} | {each} | {seconds:.1f} |", flush=True)


def proof(n: int = 500, width: int = 300, depth: int = 3, seed: int = 0) -> None:
    """Train, certify and check one fully connected tanh network."""
    rng = np.random.default_rng(seed)
    data = gm.Dataset(rng.standard_normal((n, 20)), rng.standard_normal(n), scaling="rows")
    start = gm.DeepNetwork.initialize(data, width, depth, "fully_connected", "tanh", seed=seed)
    seconds = [time.process_time()]
    run = gm.train_deep(start, data)
    seconds.append(time.process_time())
    certificate = gm.certify(run.network, data)
    certificate.save("deep.gmc")
    seconds.append(time.process_time())
    verdict = gm.check("deep.gmc").verdict
    seconds.append(time.process_time())
    parts = np.diff(seconds)
    size = os.path.getsize("deep.gmc") / 1e6
    os.remove("deep.gmc")
    form = f"fully connected tanh, n = {n}, width {width}, depth {depth}"
    print(
        f"| {form} | {run.network.n_parameters:,} "
        f"| {run.n_iter} steps, {parts[0]:.1f} | {parts[1]:.1f} | {parts[2]:.1f} | {size:.1f} MB | "
        f"{verdict} |"
    )


if __name__ == "__main__":
    if "proof" in sys.argv[1:]:
        proof()
    else:
        digits(1 if "quick" in sys.argv[1:] else SPLITS)
