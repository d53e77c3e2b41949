"""The picture of the front page: losses that stop falling, and the floor that is proved.

    python examples/front_picture.py docs/figures

A ReLU network of 100 neurons is trained on the wine table (is it the first grape?) with logistic
loss and weight decay by Adam and by gradient descent with momentum, from three starts each. Nobody
could say from these curves whether they have arrived; the dashed line is the proved floor under
every network of every width, from an accepted certificate.
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.datasets import load_wine

import globalmin as gm
from globalmin import drawing

DECAY, WIDTH, STEPS = 6.0, 100, 400


def objective(parts: list[torch.Tensor], X: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Summed logistic loss plus (b/2)(|W|^2 + |bias|^2 + |v|^2); the intercept is free."""
    W, bias, v, intercept = parts
    outputs = torch.relu(X @ W.T + bias) @ v + intercept
    penalty = (W**2).sum() + (bias**2).sum() + (v**2).sum()
    return torch.nn.functional.softplus(-y * outputs).sum() + DECAY / 2 * penalty


def descend(X: np.ndarray, y: np.ndarray, method: str, seed: int) -> list[float]:
    """The objective at every step of torch's optimizer."""
    torch.manual_seed(seed)
    rows, labels = torch.tensor(X), torch.tensor(y)
    shapes = [(WIDTH, X.shape[1]), (WIDTH,), (WIDTH,), ()]
    parts = [(0.3 * torch.randn(shape, dtype=torch.float64)).requires_grad_() for shape in shapes]
    if method == "Adam":
        optimizer = torch.optim.Adam(parts, lr=0.01)
    else:
        optimizer = torch.optim.SGD(parts, lr=3e-4, momentum=0.9)
    values = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        value = objective(parts, rows, labels)
        value.backward()
        optimizer.step()
        values.append(value.item())
    return values


def main(folder: Path) -> None:
    """Train, prove, draw."""
    X, grape = load_wine(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    y = np.where(grape == 0, 1.0, -1.0)
    model = gm.ReluNetworkClassifier(weight_decay=DECAY, scaling="none", random_state=0)
    model.fit(X, y > 0)
    if model.verdict_ != "ACCEPTED":
        raise SystemExit(f"nothing is proved: {model.gap_statement()}")
    runs = {name: [descend(X, y, name, seed) for seed in range(3)] for name in ("Adam", "momentum")}

    def draw() -> plt.Figure:
        figure, axis = plt.subplots(figsize=(7.2, 3.4), layout="constrained")
        colors = {"Adam": "#4269d0", "momentum": "#efb118"}
        for name, curves in runs.items():
            for i, values in enumerate(curves):
                axis.plot(values, color=colors[name], lw=1.6, label=name if i == 0 else None)
        axis.axhline(model.lower_bound_, color="#2a7f3f", lw=2, ls="--")
        axis.set(xlabel="step", ylabel="training loss + weight decay")
        floor = np.floor(100 * model.lower_bound_) / 100
        axis.annotate(
            f"proved: no network, of any width, is below {floor}",
            (STEPS, model.lower_bound_), (0, -14), textcoords="offset points", ha="right",
            color="#2a7f3f",
        )  # fmt: skip
        axis.set_ylim(0.85 * model.lower_bound_, 2.5 * model.lower_bound_)
        axis.legend(frameon=False, title="torch, three starts each")
        axis.spines[["top", "right"]].set_visible(False)
        return figure

    drawing.save(draw, folder / "front")
    print(model.gap_statement())


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "out"))
