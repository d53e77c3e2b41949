"""Trained tiny instances for the corpus and the campaigns: every claim kind, trained mode,
activation and method, from a seed.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from tests.corpus.drafts import ClaimDraft, Draft
from tests.corpus.small_producer import (
    Array,
    Model,
    NotProvableError,
    Slack,
    descent,
    gauss_newton,
    interpolation,
    loss_floor,
    random_model,
    relu_interpolation,
)

SMOOTH_NETWORKS: dict[str, dict[str, Any]] = {
    "softplus": {"activation": "softplus", "kind": "shallow"},
    "softplus_2": {"activation": "softplus", "kind": "shallow", "parameter": "2"},
    "sigmoid": {"activation": "sigmoid", "kind": "shallow"},
    "sigmoid_3_halves": {"activation": "sigmoid", "kind": "shallow", "parameter": "3/2"},
    "tanh": {"activation": "tanh", "kind": "shallow"},
    "erf": {"activation": "erf", "kind": "shallow"},
    "quadratic": {"activation": "quadratic", "kind": "shallow"},
}
LINEAR = {"activation": "linear", "kind": "shallow"}
RELU = {"activation": "relu", "kind": "shallow"}
TIGHT = Slack(a2=1e-6, kappa=1e-6, radius=1e-6, norm=1e-6, step=1e-6, loss=1e-7)


def first_provable(
    rng: np.random.Generator, attempt: Callable[[np.random.Generator], Draft], tries: int = 100
) -> Draft:
    """The first draft an attempt succeeds in writing."""
    for _ in range(tries):
        try:
            with np.errstate(all="ignore"):  # a diverging training run ends in NotProvableError
                return attempt(rng)
        except (NotProvableError, np.linalg.LinAlgError):
            continue
    raise NotProvableError(f"no provable instance in {tries} attempts")


def trained_model(
    rng: np.random.Generator,
    network: dict[str, Any],
    sizes: tuple[int, int, int],
    *,
    trained: str,
    noise: float,
    bias: bool = False,
) -> Model:
    """A network trained to zero loss, then moved away a little so that the claim says something."""
    model = gauss_newton(random_model(rng, network, sizes, bias=bias), trained)
    if not np.all(np.isfinite(model.residual())):
        raise NotProvableError("training diverged")
    step = rng.normal(size=model.jacobian(trained).shape[1])
    return model.moved(noise * step / np.linalg.norm(step), trained)


def interpolation_draft(
    rng: np.random.Generator,
    network: dict[str, Any],
    sizes: tuple[int, int, int] = (3, 2, 3),
    *,
    trained: str = "W",
    method: str = "rows",
    noise: float = 1e-3,
    lower: bool = False,
    bias: bool = False,
    stored: bool = True,
    slack: Slack | None = None,
) -> Draft:
    """A certificate with one interpolation claim."""

    def attempt(draws: np.random.Generator) -> Draft:
        model = trained_model(draws, network, sizes, trained=trained, noise=noise, bias=bias)
        return model.draft(
            [interpolation(model, trained=trained, method=method, lower=lower, slack=slack)],
            bias=bias,
            stored=stored,
        )

    return first_provable(rng, attempt)


def descent_draft(
    rng: np.random.Generator,
    network: dict[str, Any],
    sizes: tuple[int, int, int] = (3, 2, 3),
    *,
    trained: str = "W",
    method: str = "rows",
    norm: str = "rows",
    noise: float = 1e-4,
    bias: bool = False,
    stored: bool = True,
    slack: Slack | None = None,
) -> Draft:
    """A certificate with one descent claim."""

    def attempt(draws: np.random.Generator) -> Draft:
        model = trained_model(draws, network, sizes, trained=trained, noise=noise, bias=bias)
        return model.draft(
            [descent(model, trained=trained, method=method, norm=norm, slack=slack)],
            bias=bias,
            stored=stored,
        )

    return first_provable(rng, attempt)


def margins_hold(model: Model, W_hat: Array, claim: ClaimDraft) -> bool:
    """Condition (RI) in floats with room to spare."""
    gone = {int(j) for j in claim.tensors["dropped"][:, 0]}
    kept = [i for i in range(len(model.y)) if i not in gone]
    z = model.X[kept] @ W_hat[claim.tensors["T"]].T
    r = (np.maximum(model.X @ W_hat.T, 0) @ model.v - model.y)[kept]
    reach = np.linalg.norm(model.X[kept], axis=1)[:, None] * np.linalg.norm(r)
    return bool(np.all(np.abs(z) * np.sqrt(float(claim.fields["mu"])) > 2 * reach))


def relu_draft(
    rng: np.random.Generator,
    sizes: tuple[int, int, int] = (3, 2, 5),
    *,
    noise: float = 1e-2,
    few: bool = False,
    dropped: bool = False,
    stored: bool = True,
    slack: Slack | None = None,
) -> Draft:
    """A certificate with one relu-interpolation claim.

    With `few` one neuron is left out of T; with `dropped` a zero row and two multiples of kept
    samples are appended and dropped.
    """

    def attempt(draws: np.random.Generator) -> Draft:
        model = random_model(draws, RELU, sizes)
        if dropped:
            X = np.vstack([model.X, np.zeros(sizes[1]), 2 * model.X[0], model.X[1]])
            model = Model(
                RELU,
                X,
                np.concatenate([model.y, [0.0, 2 * model.y[0], model.y[1]]]),
                model.W,
                model.v,
            )
        n = sizes[0]
        W_hat = gauss_newton(
            Model(RELU, model.X[:n], model.y[:n], model.W, model.v), "W", target=1e-14
        ).W
        step = draws.normal(size=W_hat.shape)
        stored_model = Model(
            RELU, model.X, model.y, W_hat + noise * step / np.linalg.norm(step), model.v
        )
        gone = [(n, -1), (n + 1, 0), (n + 2, 1)] if dropped else []
        T = list(range(1, sizes[2])) if few else None
        claim = relu_interpolation(stored_model, W_hat, T=T, dropped=gone, slack=slack)
        if not margins_hold(stored_model, W_hat, claim):
            raise NotProvableError("margins")
        return stored_model.draft([claim], stored=stored)

    return first_provable(rng, attempt)


def floor_draft(
    network: dict[str, Any],
    rows: list[list[float]],
    labels: list[float],
    groups: list[tuple[int, list[int]]],
    floor: Fraction,
    *,
    heads: str = "any",
    stored: bool = True,
) -> Draft:
    """A certificate with one loss-floor claim on hand-made data; the weights are small fixed
    numbers.
    """
    X, y = np.array(rows, dtype=float), np.array(labels, dtype=float)
    d = X.shape[1]
    W = np.array([[0.5, -0.25, 0.125, 1.0][:d], [-0.75, 0.5, 0.25, -0.5][:d]])
    v = np.array([0.75, 0.5] if heads == "nonnegative" else [0.75, -0.5])
    model = Model(network, X, y, W, v)
    return model.draft([loss_floor(model, groups, floor, heads=heads)], stored=stored)
