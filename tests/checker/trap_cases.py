"""Starts of the one-filter network and honest claims about them, in plain floats and without the
trainer's theory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from math import atan2, cos, pi, sin, sqrt
from typing import Any

import numpy as np
from tests.oracles import gmc_builder as gmc

BELOW = [(2, 0.2), (25, 4.0), (25, 1.0), (36, 9.0), (100, 25.0)]  # (k, r) with r < (k + pi - 1)/pi
ABOVE = [(2, 1.9), (5, 4.0), (25, 10.0), (36, 20.0), (49, 20.0)]


@dataclass(frozen=True)
class Start:
    """Filter and output weights of the network, then those of the teacher."""

    v: np.ndarray
    a: np.ndarray
    w: np.ndarray
    true: np.ndarray

    @property
    def k(self) -> int:
        return len(self.true)

    @property
    def W(self) -> float:
        return float(np.linalg.norm(self.w))

    @property
    def b(self) -> float:
        return float(self.a @ self.true)

    @property
    def phi(self) -> float:
        u, w = self.v / np.linalg.norm(self.v), self.w / self.W
        return 2 * atan2(float(np.linalg.norm(u - w)), float(np.linalg.norm(u + w)))

    def matrix(self) -> np.ndarray:
        """M = (11^T + (pi-1) I)/(2 pi)."""
        return (np.ones((self.k, self.k)) + (pi - 1) * np.eye(self.k)) / (2 * pi)

    def loss(self) -> float:
        """Half the mean square, by the three second moments of student and teacher."""
        M, cross = self.matrix(), self.matrix() + (_g(self.phi) - pi) / (2 * pi) * np.eye(self.k)
        student, teacher = self.a @ M @ self.a, self.W**2 * self.true @ M @ self.true
        return max(float(student - 2 * self.W * self.a @ cross @ self.true + teacher) / 2, 0.0)

    def barrier(self) -> float:
        """Least loss with a . a* = 0, by the multiplier of the constraint."""
        return float(
            self.W**2
            * (self.true @ self.true) ** 2
            / (2 * self.true @ np.linalg.solve(self.matrix(), self.true))
        )

    def best_head(self, g: float) -> np.ndarray:
        """Output weights of least loss at an angle with this g, by a linear system."""
        return self.W * np.linalg.solve(
            self.matrix(), self.matrix() @ self.true + (g - pi) / (2 * pi) * self.true
        )

    def trap(self) -> Start:
        """The spurious stationary point."""
        return replace(self, v=-self.w, a=self.best_head(0.0))

    def beta(self) -> float:
        nu, height = float(np.linalg.norm(self.v)), float(np.linalg.norm(self.true))
        b_max = self.W * height**2 + height * sqrt(4 * pi * self.loss() / (pi - 1))
        return max(
            self.W * b_max / (2 * nu**2), (self.k + pi - 1) / (2 * pi)
        ) + 1.81971 * self.W * height / (2 * pi * nu)

    def descend(self, eta: float) -> Start:
        """One step of gradient descent on v and a together."""
        length = float(np.linalg.norm(self.v))
        unit = self.v / length
        dv = -self.b * (pi - self.phi) / (2 * pi * length) * (self.w - unit * (unit @ self.w))
        da = self.matrix() @ (self.a - self.best_head(_g(self.phi)))
        return replace(self, v=self.v - eta * dv, a=self.a - eta * da)


def _g(phi: float) -> float:
    return (pi - phi) * cos(phi) + sin(phi)


def teacher_head(k: int, r: float, seed: int = 0) -> np.ndarray:
    """A unit vector a* with (1 . a*)^2 = r."""
    across = np.random.default_rng(seed).standard_normal(k)
    across -= across.mean()
    return sqrt(r) / k + sqrt(max(1 - r / k, 0.0)) * across / np.linalg.norm(across)


def near_trap(k: int, r: float, *, p: int = 3, turn: float = 0.05, seed: int = 0) -> Start:
    """A start whose filter is `turn` away from the opposite of the true one; the output weights are
    nearly those of the trap.
    """
    rng = np.random.default_rng(seed)
    w, v = rng.standard_normal(p), np.zeros(p)
    start = Start(v, np.zeros(k), w, teacher_head(k, r, seed))
    across = rng.standard_normal(p)
    across -= w * (across @ w) / (w @ w)
    v = -cos(turn) * w / start.W + sin(turn) * across / np.linalg.norm(across)
    return replace(start, v=v, a=start.best_head(0.0) + 1e-3 * rng.standard_normal(k) / k)


def near_teacher(k: int, r: float, *, p: int = 3, seed: int = 0) -> Start:
    """A start in the basin of the teacher."""
    rng = np.random.default_rng(seed)
    start = near_trap(k, r, p=p, seed=seed)
    return replace(
        start,
        v=start.w + 0.3 * rng.standard_normal(p) / p,
        a=start.W * start.true * (1 + 0.1 * rng.standard_normal(k)),
    )


def claim(
    start: Start, kind: str = "spurious-minimum", *, step: float | None = 0.99, **changes: Any
) -> dict[str, Any]:
    """An honest claim; `step` is the fraction of 2/beta that is claimed, None claims the flow
    alone; `...` removes a field.
    """
    fields: dict[str, Any] = {
        "loss_upper": Fraction(start.loss()) * Fraction(1000001, 1000000) + Fraction(1, 10**12)
    }
    if step is not None:
        fields["eta"] = Fraction(step * 2 / start.beta())
    if kind == "spurious-minimum":
        fields["floor"] = Fraction(start.trap().loss()) * Fraction(999999, 1000000)
    fields |= changes
    return gmc.claim(kind, **{key: value for key, value in fields.items() if value is not ...})


def certificate(*claims: dict[str, Any]) -> dict[str, Any]:
    """The certificate object of a filter file."""
    return {
        "claims": list(claims),
        "data": {"law": "gaussian-patches"},
        "loss": "population-half-square",
        "network": {"kind": "filter"},
        "producer": "tests",
    }


def tensors(start: Start) -> dict[str, np.ndarray]:
    """The four tensors of a filter file."""
    return {"filter": start.v, "head": start.a, "true_filter": start.w, "true_head": start.true}


def build(start: Start, *claims: dict[str, Any]) -> bytes:
    """A sealed filter file."""
    return gmc.pack(certificate(*claims), tensors(start))
