r"""The same objective for all: $\sum_i \ell(f_i, y_i) + \frac b2\sum_l(|w_l|^2 + \beta_l^2 +
v_l^2)$, ReLU, hidden biases penalized, intercept free; ours with its proved floor, torch's L-BFGS
and Adam, and pyscnn.

Every peer's network is translated into a `RegularizedNetwork`, its neurons are balanced (which
changes no output and only lowers the penalty), and `objective` judges it: nobody's own figure is
believed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import cache
from typing import Any, Literal

import numpy as np
from bench.peer_cells import Cell, Store, within
from sklearn import datasets

import globalmin as gm
from globalmin.regularized.full_run import estimate_largest_decay
from globalmin.regularized.network import RegularizedNetwork
from globalmin.regularized.objective import Penalty, RegularizedProblem, objective
from globalmin.regularized.train import largest_decay

SHARES = (0.3, 0.1)
WIDTH = 100
SEEDS = (0, 1, 2)
CLASSES: tuple[Literal["columns", "all"], ...] = ("columns", "all")
OUR_PATTERNS = "pyscnn with our patterns"
LIMIT = 60.0  # CPU seconds of one cell


def _standard(X: Any) -> Any:
    spread = X.std(axis=0)
    return (X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def _real(X: Any, y: Any) -> tuple[Any, Any, str]:
    return _standard(X), (y - y.mean()) / y.std(), "squared"


def _one_class(loader: Any, label: int) -> tuple[Any, Any, str]:
    X, y = loader(return_X_y=True)
    return _standard(X), np.where(y == label, 1.0, -1.0), "logistic"


def _exercise() -> tuple[Any, Any, str]:
    X, Y = datasets.load_linnerud(return_X_y=True)
    return _real(X, Y[:, 0])


TABLES = {
    "diabetes": lambda: _real(*datasets.load_diabetes(return_X_y=True)),
    "breast cancer": lambda: _one_class(datasets.load_breast_cancer, 1),
    "wine class 0": lambda: _one_class(datasets.load_wine, 0),
    "linnerud": _exercise,
    "Friedman1 500": lambda: _real(*datasets.make_friedman1(500, noise=1.0, random_state=0)),
}


@cache
def problem_of(table: str, groups: Literal["columns", "all"], share: float) -> RegularizedProblem:
    """The table at a share of b_max, the least decay without neurons: exact for groups="columns",
    the highest value that a local search finds for "all".
    """
    X, y, loss = TABLES[table]()
    one = RegularizedProblem(X, y, Penalty(1.0), loss, groups=groups)
    largest = largest_decay(one) if groups == "columns" else estimate_largest_decay(one)
    return RegularizedProblem(X, y, Penalty(share * largest), loss, groups=groups)


def balanced(network: RegularizedNetwork) -> RegularizedNetwork:
    r"""The same outputs at the least penalty: $(w, v) \to (tw, v/t)$ with $t^2 = |v|/|w|$; neurons
    without output are dropped. For hidden biases that are penalized with tau = 1.
    """
    norms = np.sqrt(np.square(network.W).sum(axis=1) + np.square(network.bias))
    used = (norms > 0) & (network.v != 0)
    t = np.sqrt(np.abs(network.v[used]) / norms[used])
    return RegularizedNetwork(
        network.W[used] * t[:, None],
        network.bias[used] * t,
        network.v[used] / t,
        network.intercept,
    )


def with_best_intercept(
    network: RegularizedNetwork, problem: RegularizedProblem
) -> RegularizedNetwork:
    """The free intercept is the best for the other weights, found by Newton's method: a gift to
    those who have none. Kept only if it lowers the objective.
    """
    c = network.intercept
    rest = network.predict(problem.X) - c
    for _ in range(50):
        slope = problem.loss.derivative(rest + c, problem.y)
        curvature = problem.loss.second(rest + c, problem.y)
        step = float(slope.sum() / max(float(curvature.sum()), 1e-12))
        c -= step
        if abs(step) < 1e-12 * (1.0 + abs(c)):
            break
    moved = RegularizedNetwork(network.W, network.bias, network.v, c)
    return min((network, moved), key=lambda one: objective(one, problem))


def judged(network: RegularizedNetwork, problem: RegularizedProblem) -> dict[str, Any]:
    """What our objective says of somebody's network, balanced and with its best intercept."""
    best = with_best_intercept(balanced(network), problem)
    mass = np.abs(best.v) * np.sqrt(np.square(best.W).sum(axis=1) + np.square(best.bias))
    active = int((mass > 1e-6 * max(float(mass.sum()), 1e-300)).sum())
    return {"objective": objective(best, problem), "neurons": active}


def ours(problem: RegularizedProblem) -> dict[str, Any]:
    """Our estimator at this decay with its proof; CPU seconds of training alone beside."""
    kinds = {
        ("columns", "squared"): gm.AdditiveNetworkRegressor,
        ("columns", "logistic"): gm.AdditiveNetworkClassifier,
        ("all", "squared"): gm.ReluNetworkRegressor,
        ("all", "logistic"): gm.ReluNetworkClassifier,
    }
    kind = kinds[str(problem.groups), problem.loss.name]
    options = {"weight_decay": problem.penalty.weight_decay, "scaling": "none", "random_state": 0}
    began = time.process_time()
    kind(certify=False, **options).fit(problem.X, problem.y)
    trained = time.process_time()
    model: Any = kind(**options).fit(problem.X, problem.y)
    return {
        "objective": objective(model.network_, problem),
        "seconds": trained - began,
        "proved_seconds": time.process_time() - trained,
        "neurons": int(model.width_),
        "intercept": float(model.network_.intercept),
        "lower_bound": float(model.lower_bound_),
        "relative_gap": float(model.relative_gap_),
        "verdict": str(model.verdict_),
    }


def torch_peer(problem: RegularizedProblem, method: str, seed: int) -> dict[str, Any]:
    """One run of torch's L-BFGS or Adam, full batch, float64, from a random start of width 100."""
    began = time.process_time()
    network = torch_network(problem, method, seed)
    seconds = time.process_time() - began
    return {**judged(network, problem), "seconds": seconds}


def torch_network(
    problem: RegularizedProblem, method: str, seed: int, *, width: int = WIDTH, rounds: int = 2000
) -> RegularizedNetwork:
    """What torch trains: every neuron sees all columns, or one of them in turn for "columns"."""
    import torch

    torch.set_num_threads(1)
    torch.manual_seed(seed)
    X, y = torch.tensor(problem.X), torch.tensor(problem.y)
    Z = torch.cat([X, torch.ones(len(X), 1, dtype=torch.float64)], 1)
    seen = torch.tensor(_seen(problem, width))
    scale = 1.0 / np.sqrt(float(seen[0].sum()))
    W = (scale * torch.randn(width, Z.shape[1], dtype=torch.float64) * seen).requires_grad_()
    v = (torch.randn(width, dtype=torch.float64) / np.sqrt(width)).requires_grad_()
    c = torch.zeros(1, dtype=torch.float64, requires_grad=True)

    def value() -> Any:
        f = torch.relu(Z @ (W * seen).T) @ v + c
        residual = f - y if problem.loss.name == "squared" else y * f
        losses = {
            "squared": lambda r: 0.5 * r * r,
            "logistic": lambda r: torch.nn.functional.softplus(-r),
        }[problem.loss.name](residual)
        return losses.sum() + 0.5 * problem.penalty.weight_decay * (
            ((W * seen) ** 2).sum() + (v * v).sum()
        )

    _minimize([W, v, c], value, method, rounds)
    weights = (W * seen).detach().numpy()
    return RegularizedNetwork(weights[:, :-1], weights[:, -1], v.detach().numpy(), c.item())


def _seen(problem: RegularizedProblem, width: int) -> Any:
    """1 where a neuron sees a column; the constant column is seen by all."""
    d = problem.X.shape[1]
    seen = np.ones((width, d + 1))
    if problem.groups == "columns":
        seen[:, :d] = np.eye(d)[np.arange(width) % d]
    return seen


def _minimize(parameters: list[Any], value: Any, method: str, rounds: int) -> None:
    """L-BFGS with strong Wolfe steps in one call; Adam at 1e-2, annealed by a cosine to 0."""
    import torch

    schedule: Any = None
    if method == "L-BFGS":
        optimizer: Any = torch.optim.LBFGS(
            parameters,
            max_iter=rounds,
            max_eval=2 * rounds,
            history_size=30,
            tolerance_grad=1e-9,
            tolerance_change=1e-13,
            line_search_fn="strong_wolfe",
        )
        rounds = 1
    else:
        optimizer = torch.optim.Adam(parameters, lr=1e-2)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, rounds)

    def closure() -> Any:
        optimizer.zero_grad()
        total = value()
        total.backward()
        return total

    for _ in range(rounds):
        optimizer.step(closure)
        if schedule is not None:
            schedule.step()


def pyscnn_peer(
    problem: RegularizedProblem, intercept: float, seed: int, *, has_our_patterns: bool = False
) -> dict[str, Any]:
    """One run of pyscnn's convex ReLU program: augmented Lagrangian at its default tolerances,
    float64, over sampled activation patterns or over those of our neurons.
    """
    from scnn.optimize import optimize_model  # noqa: F401  # pyright: ignore[reportMissingImports]

    gates = _our_weights(problem) if has_our_patterns else None
    began = time.process_time()
    network = pyscnn_network(problem, intercept, seed, gates=gates)
    seconds = time.process_time() - began
    return {**judged(network, problem), "seconds": seconds}


def _our_weights(problem: RegularizedProblem) -> Any:
    """One column per neuron, the bias last."""
    decay = problem.penalty.weight_decay
    model = gm.ReluNetworkRegressor(
        weight_decay=decay, scaling="none", certify=False, random_state=0
    ).fit(problem.X, problem.y)
    network: Any = model.networks_[0]
    return np.column_stack([network.W, network.bias]).T


def pyscnn_network(
    problem: RegularizedProblem, intercept: float, seed: int, *, gates: Any = None
) -> RegularizedNetwork:
    r"""What pyscnn trains. It minimizes $\frac1{2n}\|f - y\|^2 + \lambda\sum_l|u_l|$, which for
    $u_l = |v_l| w_l$ and $\lambda = b/n$ is our objective divided by n. Its hidden bias is a column
    of ones; it has no intercept, so it gets labels less the one given (ours). Half as many patterns
    as neurons: each may have both signs.
    """
    import torch
    from scnn.activations import sample_gate_vectors  # pyright: ignore[reportMissingImports]
    from scnn.metrics import Metrics  # pyright: ignore[reportMissingImports]
    from scnn.models import ConvexReLU  # pyright: ignore[reportMissingImports]
    from scnn.optimize import optimize_model  # pyright: ignore[reportMissingImports]
    from scnn.regularizers import NeuronGL1  # pyright: ignore[reportMissingImports]
    from scnn.solvers import AL  # pyright: ignore[reportMissingImports]

    torch.set_num_threads(1)
    n = len(problem.y)
    Z = np.column_stack([problem.X, np.ones(n)])
    if gates is None:
        gates = sample_gate_vectors(seed, Z.shape[1], WIDTH // 2)
    start = ConvexReLU(gates, c=1, bias=False)
    model, _ = optimize_model(
        start,
        AL(start),
        Metrics(),
        Z,
        (problem.y - intercept)[:, None],
        regularizer=NeuronGL1(problem.penalty.weight_decay / n),
        unitize_data=False,
        dtype="float64",
        seed=seed,
    )
    W, v = (np.asarray(part, dtype=np.float64) for part in model.parameters)
    return RegularizedNetwork(W[:, :-1], W[:, -1], v.ravel(), intercept)


def cells(store: Store, tables: list[str]) -> Iterator[Cell]:
    """Ours first, since pyscnn is given our intercept; then everybody's first seed, and so on."""
    keys = [(t, g, share) for t in tables for share in SHARES for g in CLASSES]
    for key in keys:
        yield _cell(store, key, "ours", 0)
    for seed in SEEDS:
        for table, groups, share in keys:
            names = ["torch L-BFGS", "torch Adam"]
            if groups == "all" and TABLES[table]()[2] == "squared":
                names += ["pyscnn", OUR_PATTERNS] if seed == 0 else ["pyscnn"]
            for name in names:
                yield _cell(store, (table, groups, share), name, seed)


def _cell(
    store: Store, key: tuple[str, Literal["columns", "all"], float], name: str, seed: int
) -> Cell:
    parts = (*key[:2], f"{key[2]:g}")
    first = Cell((*parts, "ours", "0"), dict).name

    def trained(problem: RegularizedProblem) -> dict[str, Any]:
        if name == "ours":
            return ours(problem)
        if name in ("pyscnn", OUR_PATTERNS):
            intercept = (store.read(first) or {}).get("intercept", 0.0)
            given = name == OUR_PATTERNS
            return pyscnn_peer(problem, intercept, seed, has_our_patterns=given)
        return torch_peer(problem, name.removeprefix("torch "), seed)

    def work() -> dict[str, Any]:
        problem = problem_of(*key)  # built before the fork and the clock
        numbers = within(LIMIT, lambda: trained(problem))
        return {**numbers, "b": problem.penalty.weight_decay, "n": len(problem.y)}

    return Cell((*parts, name, str(seed)), work)
