"""Random labels on the unit sphere, softplus, hidden weights trained to a relative residual of
1e-10: ours beside least squares and L-BFGS of every library, and a bare loop of twenty lines.

Everybody gets the same data, the same start (OS head, N(0,1) rows) and float64; derivatives are
analytic or compiled. Whoever does not arrive stops at its own tightest tolerance or after `LIMIT`
evaluations; the residual says so.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np
from bench.contests.contest import Contender, Contest, Outcome
from scipy.linalg import cho_factor, cho_solve
from scipy.special import expit

import globalmin as gm
from globalmin.shallow.network import jacobian_transpose_times, residual

SIZES = ((100, 20, 10), (442, 11, 50), (1_000, 50, 50), (2_000, 50, 50))
LIMIT, TOLERANCE = 3_000, 1e-10
SEED = 0


def _relative(network: gm.ShallowNetwork, data: gm.Dataset) -> float:
    r = residual(network, data.X, data.y)
    return float(np.linalg.norm(r) / np.linalg.norm(data.y))


def ours(network: gm.ShallowNetwork, data: gm.Dataset) -> Outcome:
    """`gm.train`, Levenberg-Marquardt; a step cannot do without K (n^2 k) and its factor."""
    run = gm.train(network, data, method="levenberg_marquardt", tol=TOLERANCE, polish=False)
    n, k = len(data.X), network.width
    return Outcome(run.relative_residual, run.n_iter * (n**3 / 3 + n**2 * k))


def bare_loop(network: gm.ShallowNetwork, data: gm.Dataset) -> Outcome:
    """Levenberg-Marquardt in the n x n form, as short as one can write it."""
    X, y, W, v = data.X, data.y, network.W, network.v
    G, level, damping = X @ X.T, TOLERANCE * np.linalg.norm(y), 1.0
    Z = X @ W.T
    r = np.logaddexp(0.0, Z) @ v - y
    for _ in range(LIMIT):
        if np.linalg.norm(r) <= level:
            break
        S = expit(Z) * v
        K = (S @ S.T) * G
        while True:
            K.flat[:: len(y) + 1] += damping
            a = cho_solve(cho_factor(K, check_finite=False), r, check_finite=False)
            K.flat[:: len(y) + 1] -= damping
            trial = W - (S * a[:, None]).T @ X
            Z_trial = X @ trial.T
            r_trial = np.logaddexp(0.0, Z_trial) @ v - y
            if np.linalg.norm(r_trial) < np.linalg.norm(r):
                break
            damping *= 4.0
        W, Z, r, damping = trial, Z_trial, r_trial, damping / 10.0
    return Outcome(_relative(network.with_weights(W=W), data))


def _jacobian(network: gm.ShallowNetwork, X: np.ndarray) -> np.ndarray:
    S = network.activation.derivative(X @ network.W.T) * network.v
    return (S[:, :, None] * X[:, None, :]).reshape(len(X), -1)


def scipy_trust_region(network: gm.ShallowNetwork, data: gm.Dataset) -> Outcome:
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
    return Outcome(_relative(at(fit.x), data))


def scipy_lbfgs(network: gm.ShallowNetwork, data: gm.Dataset) -> Outcome:
    """scipy.optimize.minimize, L-BFGS-B, on the loss with its gradient."""
    from scipy.optimize import minimize

    def loss_and_gradient(theta: np.ndarray) -> tuple[float, np.ndarray]:
        at = network.with_weights(W=theta.reshape(network.W.shape))
        r = residual(at, data.X, data.y)
        return 0.5 * float(r @ r), jacobian_transpose_times(at, data.X, r).ravel()

    options = {"maxiter": LIMIT, "maxfun": 2 * LIMIT, "ftol": 1e-20, "gtol": 1e-14}
    fit = minimize(
        loss_and_gradient, network.W.ravel(), jac=True, method="L-BFGS-B", options=options
    )
    return Outcome(_relative(network.with_weights(W=fit.x.reshape(network.W.shape)), data))


@cache
def _compiled_lbfgs() -> Any:
    """L-BFGS of optax to the tolerance, one compiled loop."""
    import jax
    import jax.numpy as jnp
    import optax  # pyright: ignore[reportMissingImports]

    jax.config.update("jax_enable_x64", True)

    @jax.jit
    def run(W: Any, X: Any, y: Any, v: Any) -> Any:
        def loss(W: Any) -> Any:
            return 0.5 * jnp.sum((jax.nn.softplus(X @ W.T) @ v - y) ** 2)

        method, level = optax.lbfgs(), 0.5 * TOLERANCE**2 * jnp.sum(y**2)
        value_and_gradient = optax.value_and_grad_from_state(loss)

        def step(carry: Any) -> Any:
            W, state, _, number = carry
            value, gradient = value_and_gradient(W, state=state)
            update, state = method.update(
                gradient, state, W, value=value, grad=gradient, value_fn=loss
            )
            return optax.apply_updates(W, update), state, value, number + 1

        start = (W, method.init(W), jnp.inf, 0)
        return jax.lax.while_loop(lambda c: (c[2] > level) & (c[3] < LIMIT), step, start)[0]

    return run


def optax_lbfgs(network: gm.ShallowNetwork, data: gm.Dataset) -> Outcome:
    """optax.lbfgs, compiled (the compilation is not timed)."""
    W = np.asarray(_compiled_lbfgs()(network.W, data.X, data.y, network.v))
    return Outcome(_relative(network.with_weights(W=W), data))


@cache
def _compiled_least_squares() -> Any:
    """Levenberg-Marquardt of optimistix."""
    import jax
    import optimistix  # pyright: ignore[reportMissingImports]

    jax.config.update("jax_enable_x64", True)
    solver = optimistix.LevenbergMarquardt(rtol=1e-12, atol=1e-12)

    @jax.jit
    def run(W: Any, X: Any, y: Any, v: Any) -> Any:
        def residuals(W: Any, _: Any) -> Any:
            return jax.nn.softplus(X @ W.T) @ v - y

        return optimistix.least_squares(residuals, solver, W, max_steps=LIMIT, throw=False).value

    return run


def optimistix_least_squares(network: gm.ShallowNetwork, data: gm.Dataset) -> Outcome:
    """optimistix.LevenbergMarquardt, compiled (not timed)."""
    W = np.asarray(_compiled_least_squares()(network.W, data.X, data.y, network.v))
    return Outcome(_relative(network.with_weights(W=W), data))


def torch_lbfgs(network: gm.ShallowNetwork, data: gm.Dataset) -> Outcome:
    """torch.optim.LBFGS with strong Wolfe line search, by autograd."""
    import torch

    torch.set_num_threads(1)
    X, y, v = (torch.from_numpy(np.array(a)) for a in (data.X, data.y, network.v))
    W = torch.from_numpy(np.array(network.W)).requires_grad_(True)
    options: dict[str, Any] = {"tolerance_grad": 0.0, "tolerance_change": 0.0}
    method = torch.optim.LBFGS(
        [W], max_iter=LIMIT, max_eval=2 * LIMIT, line_search_fn="strong_wolfe", **options
    )

    def closure() -> Any:
        method.zero_grad()
        loss = 0.5 * torch.sum((torch.nn.functional.softplus(X @ W.T) @ v - y) ** 2)
        loss.backward()
        return loss

    method.step(closure)
    return Outcome(_relative(network.with_weights(W=W.detach().numpy()), data))


def sklearn_perceptron(network: gm.ShallowNetwork, data: gm.Dataset) -> Outcome:
    """scikit-learn's MLPRegressor (tanh, both layers and biases trained: an easier problem), with
    L-BFGS.
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
    return Outcome(float(np.linalg.norm(model.predict(data.X) - data.y) / np.linalg.norm(data.y)))


Trainer = Callable[[gm.ShallowNetwork, gm.Dataset], Outcome]
TRAINERS: dict[str, tuple[Trainer, int]] = {  # with the most rows that take seconds, not minutes
    "globalmin": (ours, 2_000),
    "bare numpy loop": (bare_loop, 2_000),
    "optax L-BFGS": (optax_lbfgs, 2_000),
    "scipy L-BFGS-B": (scipy_lbfgs, 2_000),
    "scipy trf": (scipy_trust_region, 442),
    "optimistix LM": (optimistix_least_squares, 100),
    "torch L-BFGS": (torch_lbfgs, 442),
    "sklearn MLP": (sklearn_perceptron, 1_000),
}


def start_of(n: int, d: int, k: int) -> tuple[gm.ShallowNetwork, gm.Dataset]:
    """The data, and the network that everybody begins with."""
    data = gm.generators.sphere_with_random_labels(n, d, seed=SEED)
    return gm.ShallowNetwork.initialize(data, width=k, activation="softplus", seed=SEED), data


def contests() -> Iterator[Contest]:
    """One for each size."""
    for n, d, k in SIZES:
        network, data = start_of(n, d, k)
        contenders = [
            Contender(name, lambda train=train, network=network, data=data: train(network, data))
            for name, (train, most) in TRAINERS.items()
            if n <= most
        ]
        size = f"n = {n:,}, d = {d}, k = {k}"
        yield Contest("train to 1e-10", size, contenders, "relative residual", is_quick=n <= 1_000)
