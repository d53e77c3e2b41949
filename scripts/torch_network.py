"""A network that somebody trained with torch, for the demo: standardized rows of a table in one
file, the state dict in another.

    python scripts/torch_network.py table.csv rows.csv theirs.pt
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch

ROWS, WIDTH = 60, 12


def main(table: str, rows: str, weights: str) -> None:
    """Train with L-BFGS until the loss no longer falls."""
    names = Path(table).read_text(encoding="utf-8").partition("\n")[0]
    data = np.loadtxt(table, delimiter=",", skiprows=1)[:ROWS]
    data = (data - data.mean(axis=0)) / data.std(axis=0)
    np.savetxt(rows, data, delimiter=",", header=names, comments="", fmt="%.17g")
    torch.manual_seed(0)
    X, y = torch.tensor(data[:, :-1]), torch.tensor(data[:, -1:])
    layers = torch.nn.Linear(X.shape[1], WIDTH), torch.nn.Tanh(), torch.nn.Linear(WIDTH, 1)
    module = torch.nn.Sequential(*layers).double()
    method = torch.optim.LBFGS(
        module.parameters(), max_iter=5000, tolerance_grad=1e-14, tolerance_change=0,
        line_search_fn="strong_wolfe",
    )  # fmt: skip

    def closure() -> torch.Tensor:
        method.zero_grad()
        loss = ((module(X) - y) ** 2).sum() / 2
        loss.backward()
        return loss

    method.step(closure)
    print(f"torch: loss {closure().item():.2e} after training {ROWS} rows, {WIDTH} neurons")
    torch.save(module.state_dict(), weights)


if __name__ == "__main__":
    main(*sys.argv[1:4])
