"""What gradient flow conserves and gradient descent nearly conserves, on five architectures and on
a torch module.

Run it with `python examples/balancedness.py [folder]`; it writes four pictures (SVG and PNG) to the
folder, default `figures`. About one CPU minute.
"""

import sys
from pathlib import Path

import numpy as np

from globalmin.balancedness import figures as figures
from globalmin.balancedness.network import (
    Convolution,
    Dense,
    HomogeneousNetwork,
    Shared,
    fully_connected,
    sparse,
)
from globalmin.balancedness.runs import follow_descent, follow_flow, pose_balance
from globalmin.balancedness.watch import watch_torch
from globalmin.drawing import save

END = 10.0
STEPS = np.array([0.05, 0.02, 0.01, 0.005, 0.0025])


def hankel(n_out: int, n_in: int) -> np.ndarray:
    """Weights shared along the antidiagonals of W, none on every ninth."""
    return np.add.outer(np.arange(n_out), np.arange(n_in)) % 9


def architectures() -> dict[str, HomogeneousNetwork]:
    """Ten inputs, two hidden layers, three outputs."""
    rng = np.random.default_rng(0)
    first = Convolution((1, 10), 4, patch_size=3, bias=True)
    layers = {
        "fully connected": (Dense(10, 8), Dense(8, 6), Dense(6, 3)),
        "sparse": (
            sparse(rng.random((8, 10)) < 0.5),
            sparse(rng.random((6, 8)) < 0.5),
            Dense(6, 3),
        ),
        "shared weights": (Shared(hankel(8, 10)), Shared(hankel(6, 8)), Dense(6, 3)),
        "convolutional": (first, Convolution(first.out_shape, 3), Dense(30, 3)),
    }
    networks = {name: HomogeneousNetwork(given, "relu") for name, given in layers.items()}
    return {"deep linear": fully_connected([10, 8, 6, 3], "linear"), **networks}


def data(n: int = 30) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    return rng.standard_normal((n, 10)), rng.standard_normal((n, 3))


def flows(folder: Path) -> dict[str, float]:
    """Conserved along the flow; kinks smoothed over a width of 0.01, since ReLU flows slide along
    them.
    """
    runs, found = {}, {}
    for name, network in architectures().items():
        run = follow_flow(
            pose_balance(network, *data(), kink_width=1e-2), network.draw(2), time=END
        )
        runs[name] = (run.time, run.values)
        found[f"flow, {name}: largest drift of {run.values.shape[1]} quantities"] = (
            run.largest_drift
        )
        found[f"flow, {name}: loss falls to a fraction"] = float(run.losses[-1] / run.losses[0])
    save(lambda: figures.conservation(runs), folder / "balancedness-flow")
    return found


def descents(folder: Path) -> dict[str, float]:
    """The drift of gradient descent and SGD over the same time, by step size."""
    drifts, found = {}, {}
    for name, network in architectures().items():
        problem, theta = pose_balance(network, *data()), network.draw(2)
        runs = [follow_descent(problem, theta, step_size=s, max_iter=round(END / s)) for s in STEPS]
        drifts[name] = np.array([run.largest_drift for run in runs])
        found[f"descent, {name}: exponent of the drift"] = float(
            np.polyfit(np.log(STEPS), np.log(drifts[name]), 1)[0]
        )
        found[f"descent, {name}: error of the exact identity"] = max(
            run.audit().identity_error for run in runs
        )
    save(lambda: figures.proportionality(STEPS, drifts), folder / "balancedness-steps")
    return found


def one_network(folder: Path) -> dict[str, float]:
    """All quantities of a sparse network along flow, descent and SGD; the drift divided by the step
    for a linear one.
    """
    network = architectures()["sparse"]
    theta, problem = network.draw(2), pose_balance(network, *data())
    flow = follow_flow(pose_balance(network, *data(), kink_width=1e-3), theta, time=END)
    runs = {
        f"descent, η = {s:g}": follow_descent(problem, theta, step_size=s, max_iter=round(END / s))
        for s in (0.5, 0.1)
    }
    sgd = follow_descent(problem, theta, step_size=0.1, max_iter=round(END / 0.1), batch_size=5)
    shown = {
        name: (run.time, run.values)
        for name, run in {**runs, "SGD, η = 0.1, batches of 5": sgd}.items()
    }
    save(
        lambda: figures.invariants((flow.time, flow.values), shown),
        folder / "balancedness-invariants",
    )
    linear = architectures()["deep linear"]
    problem, theta = pose_balance(linear, *data()), linear.draw(2)
    flow = follow_flow(problem, theta, time=2.0)
    places = np.linspace(0, flow.values.shape[1] - 1, 6).astype(
        int
    )  # six of the 57 quantities, for the eye
    scaled = {}
    for s in (0.05, 0.01):
        run = follow_descent(problem, theta, step_size=s, max_iter=round(2.0 / s))
        scaled[f"η = {s:g}"] = (run.time, run.drift[:, places], s)
    save(
        lambda: figures.drift_by_step(flow.time, flow.slope[:, places], scaled),
        folder / "balancedness-limit",
    )
    errors = [
        np.abs(drift[-1] / s - flow.slope[-1, places]).max() for _, drift, s in scaled.values()
    ]
    return {
        "sparse, SGD: error of the exact identity": sgd.audit().identity_error,
        "linear, limit of drift / step, largest": float(np.abs(flow.slope[-1, places]).max()),
        "linear, its error at step 0.05": float(errors[0]),
        "linear, its error at step 0.01": float(errors[1]),
    }


def torch_module() -> str:
    """A user's module, watched through its optimizer."""
    import torch

    torch.manual_seed(0)
    convolution, head = (
        torch.nn.Conv2d(1, 4, 3),
        [torch.nn.Linear(4 * 36, 16), torch.nn.ReLU(), torch.nn.Linear(16, 3)],
    )
    module = torch.nn.Sequential(convolution, torch.nn.ReLU(), torch.nn.Flatten(), *head)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.02)
    watch = watch_torch(module, optimizer)
    X, Y = torch.randn(64, 1, 8, 8), torch.randn(64, 3)
    for _ in range(100):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(module(X), Y).backward()
        optimizer.step()
    error = np.abs(watch.drift - watch.predicted).max()
    return f"{watch}\nlargest difference from the exact identity: {error:.2g} (single precision)"


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "figures")
    folder.mkdir(parents=True, exist_ok=True)
    for part in (flows, descents, one_network):
        for name, value in part(folder).items():
            print(f"{name}: {value:.4g}")
    print(torch_module())


if __name__ == "__main__":
    main()
