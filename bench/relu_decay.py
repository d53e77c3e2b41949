"""Proved gaps of fully connected ReLU networks with weight decay, by table and decay, within a
limit of time each; and objectives beside L-BFGS and Adam of torch on the same objective.

    python -m bench.relu_decay gaps [tables] [decays]     # default: all, .5,.3,.1,.03,.01 of b_max
    python -m bench.relu_decay page                       # the table of docs/relu-decay.md
    python -m bench.relu_decay peers [tables]

Every cell is written to out/relu_decay.json when it is done; a cell that is there is not run again.

b_max, the least decay from which on the best network has no neurons, is a sampled local search for
full networks: an estimate from below. Every gap is that of a file that the checker accepted.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import datasets

from globalmin.proving.producer import prove
from globalmin.regularized.full_run import estimate_largest_decay, train_relu
from globalmin.regularized.objective import Penalty, RegularizedProblem, objective

SECONDS = 60.0  # by the clock, of training and of the search for a floor together
WITHIN = (1e-6, 1e-4, 1e-3, 1e-2, 5e-2, 0.2)
CONES = 1_000_000  # what the checker searches in about a quarter of a minute
CELLS = Path("out/relu_decay.json")


def _standard(X: Any) -> Any:
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def _components(k: int) -> Any:
    X, y = datasets.load_diabetes(return_X_y=True)
    _, _, V = np.linalg.svd(_standard(X), full_matrices=False)
    return _standard(X) @ V[:k].T, (y - y.mean()) / y.std(), "squared"


def _friedman(loader: Any, seed: int) -> Any:
    X, y = loader(n_samples=300, noise=1.0, random_state=seed)
    return _standard(X), (y - y.mean()) / y.std(), "squared"


def _one_class(loader: Any, label: int) -> Any:
    X, y = loader(return_X_y=True)
    return _standard(X), np.where(y == label, 1.0, -1.0), "logistic"


def _diabetes() -> Any:
    X, y = datasets.load_diabetes(return_X_y=True)
    return _standard(X), (y - y.mean()) / y.std(), "squared"


def _counts() -> Any:
    X, y = datasets.load_diabetes(return_X_y=True)
    return _standard(X), np.round(y / 25.0), "poisson"


def _exercise() -> Any:
    X, Y = datasets.load_linnerud(return_X_y=True)
    y = Y[:, 0]
    return _standard(X), (y - y.mean()) / y.std(), "squared"


def _digits(label: int) -> Any:
    X, y = datasets.load_digits(return_X_y=True)
    X = X[:, X.std(axis=0) > 0][:, ::4]
    return _standard(X[:600]), np.where(y[:600] == label, 1.0, -1.0), "logistic"


TABLES = {
    "iris_0": lambda: _one_class(datasets.load_iris, 0),
    "iris_1": lambda: _one_class(datasets.load_iris, 1),
    "iris_2": lambda: _one_class(datasets.load_iris, 2),
    "linnerud": _exercise,
    "diabetes_pc2": lambda: _components(2),
    "diabetes_pc3": lambda: _components(3),
    "diabetes_pc4": lambda: _components(4),
    "friedman2": lambda: _friedman(datasets.make_friedman2, 0),
    "breast_cancer": lambda: _one_class(datasets.load_breast_cancer, 1),
    "diabetes": _diabetes,
    "diabetes_counts": _counts,
    "wine_0": lambda: _one_class(datasets.load_wine, 0),
    "wine_1": lambda: _one_class(datasets.load_wine, 1),
    "digits_8_of_16_columns": lambda: _digits(8),
}


def gaps(names: list[str], shares: list[float]) -> None:
    """One line per table and decay, and the count at the end."""
    print("table                    n   d loss      b/b_max  objective  gap      bound     cpu s")
    cells = _stored()
    for name in names:
        X, y, loss = TABLES[name]()
        largest = estimate_largest_decay(_problem(X, y, loss, 1.0))
        for share in shares:
            key = f"{name} {share:g}"
            if key not in cells:
                cells[key] = _cell(_problem(X, y, loss, share * largest))
                CELLS.parent.mkdir(exist_ok=True)
                CELLS.write_text(json.dumps(cells, indent=1))
            found = cells[key]
            print(
                f"{name:<22} {len(y):>4} {X.shape[1]:>3} {loss:<9} {share:<8g} "
                f"{found['objective']:<10.6g} {found['gap']:<8.2g} {found['how']:<9} "
                f"{found['trained']:.1f} + {found['proved']:.1f} ({found['clock']:.0f} by the "
                "clock)",
                flush=True,
            )
    print(_counts_within([cells[f"{name} {share:g}"]["gap"] for name in names for share in shares]))


def _stored() -> dict[str, Any]:
    return json.loads(CELLS.read_text()) if CELLS.exists() else {}


def _cell(problem: RegularizedProblem) -> dict[str, Any]:
    """Train, prove, check; an infinite gap where nothing was accepted."""
    clock, start = time.perf_counter(), time.process_time()
    run = train_relu(problem, gap=1e-4, max_seconds=SECONDS / 2, max_cones=CONES)
    trained = time.process_time() - start
    proof = prove(run.network, problem, run=run)
    claim = proof.claim("dual-gap")
    numbers = None if claim is None else claim.numbers
    gap = np.inf if numbers is None or numbers.gap is None else numbers.gap
    return {
        "objective": run.objective,
        "gap": float(run.share_of(gap)),
        "how": proof.verdict if numbers is None else numbers.others.get("constraint"),
        "trained": trained,
        "proved": time.process_time() - start - trained,
        "clock": time.perf_counter() - clock,
    }


def _counts_within(found: list[float]) -> str:
    counts = [f"{sum(gap <= limit for gap in found)} within {limit:g}" for limit in WITHIN]
    return f"of {len(found)}: {', '.join(counts)}"


def page() -> None:
    """The stored cells as a table of markdown."""
    cells = _stored()
    names = list(dict.fromkeys(key.split()[0] for key in cells))
    shares = list(dict.fromkeys(key.split()[1] for key in cells))
    print("| table | " + " | ".join(shares) + " | longest cell, CPU s |")
    print("|---" * (len(shares) + 2) + "|")
    for name in names:
        row = [cells.get(f"{name} {share}") for share in shares]
        texts = [_text(cell) for cell in row]
        longest = max(cell["trained"] + cell["proved"] for cell in row if cell is not None)
        print(f"| {name} | " + " | ".join(texts) + f" | {longest:.0f} |")
    print(_counts_within([cell["gap"] for cell in cells.values()]))


def _text(cell: dict[str, Any] | None) -> str:
    if cell is None:
        return ""
    if not np.isfinite(cell["gap"]):
        return str(cell["how"])
    return f"{cell['gap']:.2g}" + (" c" if cell["how"] == "cones" else "")


def _problem(X: Any, y: Any, loss: str, b: float) -> RegularizedProblem:
    return RegularizedProblem(X, y, Penalty(b), loss, groups="all")


def peers(names: list[str]) -> None:
    """Objective of torch's L-BFGS and Adam, width 100, over ours."""
    for name in names:
        X, y, loss = TABLES[name]()
        largest = estimate_largest_decay(_problem(X, y, loss, 1.0))
        for share in (0.3, 0.1):
            problem = _problem(X, y, loss, share * largest)
            start = time.perf_counter()
            ours = objective(train_relu(problem, max_cones=0).network, problem)
            seconds = time.perf_counter() - start
            ratios = [
                f"{kind} {_torch(problem, kind, seed) / ours:.6f}"
                for kind in ("lbfgs", "adam")
                for seed in (0, 1)
            ]
            print(f"{name:<22} {share:<5g} ours {ours:.6g} in {seconds:.1f} s; {'; '.join(ratios)}")


def _torch(problem: RegularizedProblem, kind: str, seed: int) -> float:
    """The objective that a torch optimizer reaches from a random start of width 100."""
    import torch

    torch.manual_seed(seed)
    X, y = torch.tensor(problem.X), torch.tensor(problem.y)
    k, b = 100, problem.penalty.weight_decay
    W = (0.1 * torch.randn(k, X.shape[1] + 1, dtype=torch.float64)).requires_grad_()
    v = (0.1 * torch.randn(k, dtype=torch.float64)).requires_grad_()
    c = torch.zeros(1, dtype=torch.float64, requires_grad=True)
    Z = torch.cat([X, torch.ones(len(X), 1, dtype=torch.float64)], 1)

    def value() -> Any:
        f = torch.relu(Z @ W.T) @ v + c
        terms = {
            "squared": lambda: 0.5 * (f - y) ** 2,
            "logistic": lambda: torch.nn.functional.softplus(-y * f),
            "poisson": lambda: torch.exp(f) - y * f,
        }[problem.loss.name]()
        return terms.sum() + 0.5 * b * ((W * W).sum() + (v * v).sum())

    if kind == "lbfgs":
        method: Any = torch.optim.LBFGS(
            [W, v, c], max_iter=1000, history_size=30, line_search_fn="strong_wolfe"
        )
        rounds = 1
    else:
        method, rounds = torch.optim.Adam([W, v, c], lr=1e-2), 3000
    for _ in range(rounds):

        def closure() -> Any:
            method.zero_grad()
            total = value()
            total.backward()
            return total

        method.step(closure)
    return float(value().detach())


if __name__ == "__main__":
    names = sys.argv[2].split(",") if len(sys.argv) > 2 else list(TABLES)
    if sys.argv[1:2] == ["peers"]:
        peers(names)
    elif sys.argv[1:2] == ["page"]:
        page()
    else:
        shares = sys.argv[3] if len(sys.argv) > 3 else ".5,.3,.1,.03,.01"
        gaps(names, [float(share) for share in shares.split(",")])
