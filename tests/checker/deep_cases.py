"""Small honest deep-descent claims built from raw arrays with numpy, without the trainer's deep
networks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from tests.checker.cases import SUPREMA, inverse_factor, jet
from tests.oracles import gmc_builder as gmc

Arrays = list[np.ndarray]


@dataclass(frozen=True)
class Deep:
    """Weights, head (channels x pixels, flat), scales and windows (pixels x q, -1 outside; None
    without pixels).
    """

    X: np.ndarray
    y: np.ndarray
    weights: Arrays
    v: np.ndarray
    scales: list[float]
    residual: list[bool]
    activation: str
    windows: np.ndarray | None = None

    @property
    def pixels(self) -> int:
        return 1 if self.windows is None else len(self.windows)

    def theta(self) -> np.ndarray:
        return np.concatenate([*(W.ravel() for W in self.weights), self.v])

    def at(self, theta: np.ndarray) -> Deep:
        weights, start = [], 0
        for W in self.weights:
            weights.append(theta[start : start + W.size].reshape(W.shape))
            start += W.size
        return replace(self, weights=weights, v=theta[start:])

    def patches(self, x: np.ndarray) -> np.ndarray:
        """Windows of one sample: channels x pixels to (q channels) x pixels, by a plain loop."""
        if self.windows is None:
            return x
        padded = np.hstack([x, np.zeros((len(x), 1))])  # pixel -1 is the last column
        return np.array(
            [np.concatenate([padded[:, pixel] for pixel in window]) for window in self.windows]
        ).T

    def layers(self, x: np.ndarray) -> tuple[Arrays, Arrays]:
        """Features and pre-activations of one sample."""
        features, before = [x.reshape(-1, self.pixels)], []
        for W, s, skip in zip(self.weights, self.scales, self.residual, strict=True):
            before.append(W @ self.patches(features[-1]))
            out = s * jet(self.activation, before[-1])[0]
            features.append(features[-1] + out if skip else out)
        return features, before

    def outputs(self) -> np.ndarray:
        return np.array([self.v @ self.layers(x)[0][-1].ravel() for x in self.X])

    def fold(self, g: np.ndarray, channels: int) -> np.ndarray:
        """Transpose of `patches`, by a plain loop."""
        if self.windows is None:
            return g
        result = np.zeros((channels, self.pixels))
        for place, window in enumerate(self.windows):
            for o, pixel in enumerate(window):
                if pixel >= 0:
                    result[:, pixel] += g[o * channels : (o + 1) * channels, place]
        return result

    def backward(self, features: Arrays, before: Arrays) -> tuple[Arrays, Arrays]:
        """p_h and q_h of one sample, h = 1..H."""
        p, ps, qs = self.v.reshape(-1, self.pixels), [], []
        for h in reversed(range(len(self.weights))):
            q = jet(self.activation, before[h])[1] * p
            ps.insert(0, p)
            qs.insert(0, q)
            pulled = self.scales[h] * self.fold(self.weights[h].T @ q, len(features[h]))
            p = p + pulled if self.residual[h] else pulled
        return ps, qs

    def jacobian(self) -> np.ndarray:
        rows = []
        for x in self.X:
            features, before = self.layers(x)
            _, qs = self.backward(features, before)
            blocks = [
                s * q @ self.patches(f).T
                for s, q, f in zip(self.scales, qs, features, strict=False)
            ]
            rows.append(
                np.concatenate([*(block.ravel() for block in blocks), features[-1].ravel()])
            )
        return np.array(rows)

    def lipschitz(self, omega: list[float], t: float) -> float:
        """Lam of the claim's page in floats, sample by sample."""
        L, beta = SUPREMA[self.activation][:2]
        places = (
            np.bincount(self.windows[self.windows >= 0]) if self.windows is not None else np.ones(1)
        )
        q, total = np.sqrt(places.max()), 0.0
        for x in self.X:
            features, before = self.layers(x)
            ps, qs = self.backward(features, before)
            xi, dx, dz = [np.linalg.norm(features[0])], [0.0], []
            for h, s in enumerate(self.scales):
                dz.append(q * ((omega[h] + t) * dx[h] + xi[h]))
                dx.append(s * L * dz[h] + (dx[h] if self.residual[h] else 0.0))
                xi.append(np.linalg.norm(features[h + 1]) + t * dx[h + 1])
            total, dp = total + dx[-1] ** 2, 1.0
            for h in reversed(range(len(self.scales))):
                dq = beta * dz[h] * (np.abs(ps[h]).max() + t * dp) + L * dp
                Q = np.linalg.norm(qs[h]) + t * dq
                total += (self.scales[h] * q * (dq * xi[h] + Q * dx[h])) ** 2
                dp = self.scales[h] * q * ((omega[h] + t) * dq + Q) + (
                    dp if self.residual[h] else 0.0
                )
        return float(np.sqrt(total))


def line_windows(pixels: int, q: int = 3) -> np.ndarray:
    """The q neighbours of every pixel of a line, -1 outside."""
    places = np.arange(pixels)[:, None] + np.arange(q) - (q - 1) // 2
    return np.where((places >= 0) & (places < pixels), places, -1)


def random_deep(
    depth: int,
    *,
    kind: str = "dense",
    activation: str = "tanh",
    n: int = 4,
    m: int = 6,
    seed: int = 0,
) -> Deep:
    """Random weights as in DU-M3a-c and random data."""
    rng = np.random.default_rng(seed)
    pixels, q, channels = (4, 3, 2) if kind == "conv" else (1, 1, 5)
    X = rng.standard_normal((n, channels * pixels))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    skips = [kind != "dense" and h > 0 for h in range(depth)]
    widths = [channels] + [m] * depth
    weights = [rng.standard_normal((m, q * widths[h])) for h in range(depth)]
    scales = [0.5 / (depth * np.sqrt(m)) if skip else 1.0 / np.sqrt(m) for skip in skips]
    windows = line_windows(pixels) if kind == "conv" else None
    return Deep(
        X,
        rng.standard_normal(n),
        weights,
        rng.standard_normal(m * pixels),
        scales,
        skips,
        activation,
        windows,
    )


def gauss_newton(net: Deep, steps: int) -> Deep:
    for _ in range(steps):
        J = net.jacobian()
        net = net.at(net.theta() - J.T @ np.linalg.solve(J @ J.T, net.outputs() - net.y))
    return net


def claim(
    net: Deep, *, t: float | None = None, norm: str = "factor", **changes: Any
) -> tuple[dict, dict]:
    """An honest claim with its tensors."""
    J = net.jacobian()
    G, n = J @ J.T, len(net.y)
    a2, b2 = float(np.linalg.eigvalsh(G)[0]) * 0.999, float(np.linalg.eigvalsh(G)[-1]) * 1.001
    if norm == "rows":
        b2 = float(np.abs(G).sum(axis=1).max()) * 1.001
    grams = [W @ W.T if W.shape[0] <= W.shape[1] else W.T @ W for W in net.weights]
    omega = [float(np.sqrt(np.linalg.eigvalsh(A)[-1] * 1.001)) for A in grams]
    g = float(np.linalg.norm(net.outputs() - net.y)) * (1 + 1e-9) + 1e-14
    a = np.sqrt(a2)
    radius = g / a * 1.2 if t is None else t
    Lam = net.lipschitz(omega, radius) * (1 + 1e-9)
    eta = Fraction(float(0.999 / (np.sqrt(b2) + Lam * radius) ** 2))
    fields: dict[str, Any] = {"a2": a2, "b2": b2, "t": radius, "eta": eta, "norm": norm}
    fields["rate"] = max(
        1 - eta * Fraction(float(a - Lam * radius)) ** 2 * Fraction(999, 1000), Fraction(0)
    )
    fields["loss_upper"] = Fraction(g * g)
    tensors = {"C_a": inverse_factor(G - a2 * np.eye(n)), "omega": np.array(omega)}
    for h, (A, om) in enumerate(zip(grams, omega, strict=True), start=1):
        tensors[f"C_omega_{h}"] = inverse_factor(om**2 * np.eye(len(A)) - A)
    if norm == "factor":
        tensors["C_b"] = inverse_factor(b2 * np.eye(n) - G)
    return gmc.claim("deep-descent", **(fields | changes)), tensors


def build(net: Deep, claims: list[tuple[dict, dict]], **changes: Any) -> bytes:
    """A certificate file with a deep network; `changes` overwrite the object `network`."""
    layers = [
        {"residual": skip, "scale": gmc.rational(s)}
        for skip, s in zip(net.residual, net.scales, strict=True)
    ]
    network: dict[str, Any] = {"activation": net.activation, "kind": "deep", "layers": layers}
    tensors: dict[str, Any] = {"X": net.X, "y": net.y, "v": net.v}
    tensors |= {f"W_{h}": W for h, W in enumerate(net.weights, start=1)}
    if net.windows is not None:
        network["pixels"] = net.pixels
        tensors["patches"] = net.windows.astype(np.int64)
    for index, (_, roles) in enumerate(claims):
        tensors |= {f"claims.{index}.{role}": array for role, array in roles.items()}
    certificate = gmc.certificate_object(
        net.X, net.y, [item for item, _ in claims], activation=net.activation
    )
    return gmc.pack(certificate | {"network": network | changes}, tensors)
