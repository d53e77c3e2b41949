"""Us and the peers side by side, in one process run: seconds to fit random labels on the sphere,
and the residual reached.

Every peer gets the same data, the same start (OS head, N(0,1) rows), analytic derivatives and
float64. Peers stop at their own tightest tolerance or after `LIMIT` evaluations; ratios are their
CPU seconds over ours.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable

import numpy as np

import globalmin as gm
from globalmin.shallow.network import jacobian_transpose_times, residual

SIZES = ((100, 20, 10), (200, 20, 22), (442, 10, 60))
LIMIT = 3_000


def _jacobian(network: gm.ShallowNetwork, X: np.ndarray) -> np.ndarray:
    S = network.activation.derivative(X @ network.W.T) * network.v
    return (S[:, :, None] * X[:, None, :]).reshape(len(X), -1)


def ours(network: gm.ShallowNetwork, data: gm.Dataset) -> gm.ShallowNetwork:
    return gm.train(network, data, method="levenberg_marquardt").network


def scipy_trust_region(network: gm.ShallowNetwork, data: gm.Dataset) -> gm.ShallowNetwork:
    """scipy.optimize.least_squares, method trf, with the dense analytic Jacobian."""
    from scipy.optimize import least_squares

    def at(theta: np.ndarray) -> gm.ShallowNetwork:
        return network.with_weights(W=theta.reshape(network.W.shape))

    fit = least_squares(
        lambda theta: residual(at(theta), data.X, data.y),
        network.W.ravel(),
        jac=lambda theta: _jacobian(at(theta), data.X),  # pyright: ignore[reportArgumentType]
        method="trf",
        xtol=1e-15,
        ftol=1e-15,
        gtol=1e-15,
        max_nfev=200,
    )
    return at(fit.x)


def scipy_lbfgs(network: gm.ShallowNetwork, data: gm.Dataset) -> gm.ShallowNetwork:
    """scipy.optimize.minimize, L-BFGS-B, on the loss with its gradient."""
    from scipy.optimize import minimize

    def loss_and_gradient(theta: np.ndarray) -> tuple[float, np.ndarray]:
        at = network.with_weights(W=theta.reshape(network.W.shape))
        r = residual(at, data.X, data.y)
        return 0.5 * float(r @ r), jacobian_transpose_times(at, data.X, r).ravel()

    options = {"maxiter": LIMIT, "maxfun": 2 * LIMIT, "ftol": 1e-16, "gtol": 1e-14}
    fit = minimize(
        loss_and_gradient, network.W.ravel(), jac=True, method="L-BFGS-B", options=options
    )
    return network.with_weights(W=fit.x.reshape(network.W.shape))


def gradient_descent(network: gm.ShallowNetwork, data: gm.Dataset) -> gm.ShallowNetwork:
    """Plain gradient descent with the theory's step, as in the papers."""
    return gm.train(
        network, data, method="gradient_descent", step_size="theory", max_iter=LIMIT * 5
    ).network


def sklearn_mlp(network: gm.ShallowNetwork, data: gm.Dataset) -> float:
    """scikit-learn's MLPRegressor (tanh, both layers and biases trained: an easier problem),
    L-BFGS; its relative residual.
    """
    from sklearn.neural_network import MLPRegressor

    model = MLPRegressor(
        hidden_layer_sizes=(network.width,),
        activation="tanh",
        solver="lbfgs",
        alpha=0.0,
        max_iter=LIMIT,
        tol=0.0,
        random_state=0,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(data.X, data.y)
    return float(np.linalg.norm(model.predict(data.X) - data.y) / np.linalg.norm(data.y))


PEERS: dict[str, Callable[[gm.ShallowNetwork, gm.Dataset], gm.ShallowNetwork | float]] = {
    "globalmin, n x n Levenberg-Marquardt": ours,
    "scipy least_squares (trf, dense J)": scipy_trust_region,
    "scipy L-BFGS-B": scipy_lbfgs,
    "plain gradient descent": gradient_descent,
    "scikit-learn MLPRegressor (lbfgs)": sklearn_mlp,
}


def measure(name: str, network: gm.ShallowNetwork, data: gm.Dataset) -> tuple[float, float]:
    """CPU seconds and relative residual of one peer."""
    began = time.process_time()
    result = PEERS[name](network, data)
    seconds = time.process_time() - began
    if isinstance(result, float):
        return seconds, result
    return seconds, float(np.linalg.norm(residual(result, data.X, data.y)) / np.linalg.norm(data.y))


def main() -> None:
    for n, d, k in SIZES:
        data = gm.generators.sphere_with_random_labels(n, d, seed=0)
        network = gm.ShallowNetwork.initialize(data, width=k, activation="softplus", seed=0)
        ours(network, data)  # imports and first calls are not timed
        print(
            f"\nn = {n}, d = {d}, k = {k}\n\n| method | CPU s | times ours | relative residual "
            "|\n|---|---|---|---|"
        )
        base = None
        for name in PEERS:
            seconds, relative = measure(name, network, data)
            base = base or seconds
            print(f"| {name} | {seconds:.3f} | {seconds / base:.1f} | {relative:.1e} |", flush=True)


if __name__ == "__main__":
    main()
