"""A small honest producer: trains tiny networks in floats and writes claims with witnesses, one
function per claim.

It shares nothing with `globalmin.certificates`. The planted-bug campaign imports it and lies with
its help; `Slack` holds every margin that an honest producer leaves, so that a test can also ask for
none.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.corpus.drafts import ClaimDraft, Draft, claim
from tests.corpus.float_activations import evaluate, suprema

Array = NDArray[np.floating[Any]]


class NotProvableError(Exception):
    """The instance does not satisfy the theorem's hypotheses."""


@dataclass(frozen=True)
class Slack:
    """Relative room left in each number of a claim."""

    a2: float = 0.02
    kappa: float = 0.02
    radius: float = 0.01
    norm: float = 0.02
    step: float = 0.01
    loss: float = 1e-6


@dataclass(frozen=True)
class Model:
    """A network on its data, in floats."""

    network: dict[str, Any]
    X: Array
    y: Array
    W: Array
    v: Array

    @property
    def parameter(self) -> float | None:
        """The activation's parameter."""
        return float(Fraction(self.network["parameter"])) if "parameter" in self.network else None

    def parts(self) -> tuple[Array, Array, Array]:
        """phi, phi', phi'' at z_il."""
        return evaluate(self.network["activation"], self.X @ self.W.T, self.parameter)

    def residual(self) -> Array:
        """f(x_i) - y_i."""
        return self.parts()[0] @ self.v - self.y

    def jacobian(self, trained: str) -> Array:
        """dr/dW, with dr/dv in front if both layers are trained."""
        value, slope, _ = self.parts()
        J = np.einsum("l,il,ia->ila", self.v, slope, self.X).reshape(len(self.y), -1)
        return np.hstack([value, J]) if trained == "vW" else J

    def moved(self, step: Array, trained: str) -> Model:
        """The model after a step in the trained parameters."""
        k = len(self.v) if trained == "vW" else 0
        W = self.W + step[k:].reshape(self.W.shape)
        return Model(self.network, self.X, self.y, W, self.v + step[:k] if k else self.v)

    def draft(self, claims: list[ClaimDraft], *, bias: bool = False, stored: bool = True) -> Draft:
        """The certificate draft."""
        return Draft(
            dict(self.network),
            self.X.copy(),
            self.y.copy(),
            self.W.copy(),
            self.v.copy(),
            claims,
            bias=bias,
            stored=stored,
        )


def exact(x: float) -> Fraction:
    """A float as a rational with a short mantissa, so that files stay small."""
    mantissa, exponent = np.frexp(float(x))
    return Fraction(round(float(mantissa) * 2**30)) * Fraction(2) ** (int(exponent) - 30)


def random_model(
    rng: np.random.Generator,
    network: dict[str, Any],
    sizes: tuple[int, int, int],
    *,
    bias: bool = False,
) -> Model:
    """Gaussian data and weights, (n, d, k) = sizes; d counts the bias column."""
    n, d, k = sizes
    X = rng.normal(size=(n, d)).round(6)
    if bias:
        X[:, -1] = 1.0
    y = rng.normal(size=n).round(6)
    v = rng.choice([-1.0, 1.0], size=k) * rng.uniform(0.5, 1.5, size=k).round(6)
    return Model(network, X, y, rng.normal(size=(k, d)).round(6), v)


def gauss_newton(model: Model, trained: str, *, steps: int = 30, target: float = 1e-13) -> Model:
    """Damped Gauss-Newton steps until the residual is below the target; the damping is proportional
    to the residual.
    """
    for _ in range(steps):
        r, J = model.residual(), model.jacobian(trained)
        size = float(np.linalg.norm(r))
        if not np.isfinite(size) or size < target:
            break
        K = J @ J.T
        step = -J.T @ np.linalg.solve(K + 1e-3 * min(size, 1.0) ** 2 * np.eye(len(r)), r)
        model = model.moved(step * min(1.0, 1.0 / (1e-300 + float(np.linalg.norm(step)))), trained)
    return model


def inverse_factor(A: Array) -> Array:
    """inv(L) with A = L L^T, the witness of P1; for an A that is not positive definite the nearest
    thing to one, a lie that P1 must see through."""
    A = (A + A.T) / 2
    try:
        return np.linalg.inv(np.linalg.cholesky(A))
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(A)
        return (vectors / np.sqrt(np.maximum(np.abs(values), 1e-300))).T


def gram(model: Model, trained: str) -> Array:
    """K = J J^T."""
    J = model.jacobian(trained)
    return J @ J.T


def svec_rows(X: Array) -> tuple[Array, Array]:
    """(S, u): rows svec(x_i x_i^T), and svec(I)."""
    pairs = [(a, b) for a in range(X.shape[1]) for b in range(a, X.shape[1])]
    S = np.stack([X[:, a] * X[:, b] * (1.0 if a == b else np.sqrt(2.0)) for a, b in pairs], axis=1)
    return S, np.array([float(a == b) for a, b in pairs])


def local_suprema(model: Model, order: int, rho: float) -> Array:
    """min(b_j, |phi^(j)| + b_{j+1} rho |x_i|)."""
    b = suprema(model.network["activation"], model.parameter)
    reach = b[order] * rho * np.linalg.norm(model.X, axis=1)[:, None]
    return np.minimum(b[order - 1], np.abs(model.parts()[order]) + reach)


def quartic(
    model: Model, trained: str, rho: float, *, method: str, slack: Slack
) -> tuple[dict[str, Any], Array]:
    """The field `quartic` and its factor C_kappa."""
    heads = np.abs(model.v) + (rho if trained == "vW" else 0.0)
    q = np.max(heads * local_suprema(model, 2, rho), axis=1) ** 2
    X = model.X
    if method == "rows":
        A = (X * (q * np.sum(X**2, axis=1))[:, None]).T @ X
        kappa = _above(float(np.linalg.eigvalsh(A)[-1]), slack.kappa)
        return {"kappa": kappa, "method": "rows"}, inverse_factor(float(kappa) * np.eye(len(A)) - A)
    S, u = svec_rows(X)
    A, tilt = S.T @ (q[:, None] * S), np.outer(u, u) - np.eye(len(u))
    grid = np.linspace(-1, 1, 81) * max(float(np.linalg.eigvalsh(A)[-1]), 1e-30)
    t = exact(min(grid, key=lambda s: float(np.linalg.eigvalsh(A - s * tilt)[-1])))
    B = A - float(t) * tilt
    kappa = _above(float(np.linalg.eigvalsh(B)[-1]), slack.kappa)
    return {"kappa": kappa, "method": "svec", "t": t}, inverse_factor(
        float(kappa) * np.eye(len(u)) - B
    )


def _above(x: float, slack: float) -> Fraction:
    return exact(max(x, 1e-12) * (1 + slack))


@dataclass(frozen=True)
class Lipschitz:
    """Fields and tensors shared by interpolation and descent, with the constants in floats."""

    fields: dict[str, Any]
    tensors: dict[str, Array]
    a2: float
    lip: float


def lipschitz_part(
    model: Model, trained: str, rho: Fraction, *, method: str, slack: Slack
) -> Lipschitz:
    """a2, kappa, beta2 with their factors."""
    K = gram(model, trained)
    a2 = exact(float(np.linalg.eigvalsh(K)[0]) * (1 - slack.a2))
    if a2 <= 0:
        raise NotProvableError("Gram matrix is singular")
    field, C_kappa = quartic(model, trained, float(rho), method=method, slack=slack)
    fields: dict[str, Any] = {"trained": trained, "a2": a2, "rho": rho, "quartic": field}
    tensors = {"C_a": inverse_factor(K - float(a2) * np.eye(len(K))), "C_kappa": C_kappa}
    m = np.sqrt(float(field["kappa"]))
    if trained == "W":
        return Lipschitz(fields, tensors, float(a2), m)
    weights = np.max(local_suprema(model, 1, float(rho)), axis=1) ** 2
    B = (model.X * weights[:, None]).T @ model.X
    beta2 = _above(float(np.linalg.eigvalsh(B)[-1]), slack.kappa)
    fields["beta2"], tensors["C_beta"] = beta2, inverse_factor(float(beta2) * np.eye(len(B)) - B)
    return Lipschitz(fields, tensors, float(a2), (m + np.sqrt(m**2 + 4 * float(beta2))) / 2)


def loss_upper(model: Model, slack: Slack) -> Fraction:
    """A rational above the loss."""
    return exact(max(0.5 * float(np.sum(model.residual() ** 2)), 1e-26) * (1 + slack.loss) + 1e-28)


def interpolation(
    model: Model,
    *,
    trained: str = "W",
    method: str = "rows",
    lower: bool = False,
    slack: Slack | None = None,
) -> ClaimDraft:
    """The interpolation claim, or NotProvableError."""
    slack = slack or Slack()
    K, r = gram(model, trained), model.residual()
    z = np.linalg.solve(K, r)
    e = float(np.sqrt(max(z @ K @ z, 0.0))) * (1 + 1e-9) + 1e-14
    rho = exact(4 * e)
    part = lipschitz_part(model, trained, rho, method=method, slack=slack)
    h = 2 * part.lip * e / np.sqrt(part.a2)
    if h > 0.99:
        raise NotProvableError(f"2 Lip e / a = {h:.3g}")
    fields = part.fields | {
        "R": exact(2 * e / (1 + np.sqrt(1 - h)) * (1 + slack.radius)),
        "loss_upper": loss_upper(model, slack),
    }
    if lower:
        fields["R_lo"] = exact(2 * e / (1 + np.sqrt(1 + h)) * (1 - slack.radius))
    return claim("interpolation", fields, part.tensors | {"z": z})


def descent(
    model: Model,
    *,
    trained: str = "W",
    method: str = "rows",
    norm: str = "rows",
    slack: Slack | None = None,
) -> ClaimDraft:
    """The descent claim, or NotProvableError."""
    slack = slack or Slack()
    K, g = gram(model, trained), float(np.linalg.norm(model.residual())) * (1 + 1e-9) + 1e-16
    smallest = float(np.linalg.eigvalsh(K)[0])
    if smallest <= 0:
        raise NotProvableError("Gram matrix is singular")
    rho = exact(2.5 * g / np.sqrt(smallest))
    part = lipschitz_part(model, trained, rho, method=method, slack=slack)
    alpha2 = part.a2 - 2 * part.lip * g
    if alpha2 <= 0.01 * part.a2:
        raise NotProvableError("2 Lip g too close to a^2")
    S = 2 * g / (np.sqrt(part.a2) + np.sqrt(alpha2))
    if S * (1 + slack.radius) > float(rho):
        raise NotProvableError("S > rho")
    top = (
        float(np.max(np.sum(np.abs(K), axis=1)))
        if norm == "rows"
        else float(np.linalg.eigvalsh(K)[-1])
    )
    b2 = exact(top * (1 + slack.norm))
    eta = exact((1 - slack.step) / (np.sqrt(float(b2)) + part.lip * S) ** 2)
    rate = 1 - eta * exact(alpha2 * (1 - slack.radius))
    fields = part.fields | {
        "b2": b2,
        "norm": norm,
        "eta": eta,
        "rate": rate,
        "path": exact(S * (1 + slack.radius)),
    }
    tensors = dict(part.tensors)
    if norm == "factor":
        tensors["C_b"] = inverse_factor(float(b2) * np.eye(len(K)) - K)
    return claim("descent", fields | {"loss_upper": loss_upper(model, slack)}, tensors)


def relu_interpolation(
    model: Model,
    W_hat: Array,
    *,
    T: list[int] | None = None,
    dropped: list[tuple[int, int]] | None = None,
    slack: Slack | None = None,
) -> ClaimDraft:
    """The relu-interpolation claim of the stored model with witness W_hat; the margins are the
    caller's luck.
    """
    slack = slack or Slack()
    T = list(range(len(model.v))) if T is None else T
    gone = [] if dropped is None else dropped
    kept = [i for i in range(len(model.y)) if i not in {j for j, _ in gone}]
    X = model.X[kept]
    active = (X @ W_hat[T].T > 0) * model.v[T]
    G = (active @ active.T) * (X @ X.T)
    mu = exact(float(np.linalg.eigvalsh(G)[0]) * (1 - slack.a2))
    if mu <= 0:
        raise NotProvableError("G is singular")
    r = (np.maximum(model.X @ W_hat.T, 0) @ model.v - model.y)[kept]
    R = (np.linalg.norm(W_hat - model.W) + (np.linalg.norm(r) + 1e-15) / np.sqrt(float(mu))) * (
        1 + slack.radius
    )
    tensors = {
        "W_hat": W_hat,
        "T": np.array(T, dtype=np.int64),
        "C": inverse_factor(G - float(mu) * np.eye(len(G))),
        "dropped": np.array(gone, dtype=np.int64).reshape(-1, 2),
    }
    return claim(
        "relu-interpolation",
        {"mu": mu, "R": exact(R), "loss_upper": loss_upper(model, slack)},
        tensors,
    )


def loss_floor(
    model: Model, groups: list[tuple[int, list[int]]], floor: Fraction, *, heads: str = "any"
) -> ClaimDraft:
    """The loss-floor claim for given groups (kind, members) and floor."""
    upper = loss_upper(model, Slack())
    tensors = {
        "members": np.array([i for _, members in groups for i in members], dtype=np.int64),
        "sizes": np.array([len(members) for _, members in groups], dtype=np.int64),
        "kinds": np.array([kind for kind, _ in groups], dtype=np.int64),
    }
    return claim(
        "loss-floor",
        {
            "heads": heads,
            "floor": floor,
            "gap": max(upper - floor, Fraction(0)),
            "loss_upper": upper,
        },
        tensors,
    )
