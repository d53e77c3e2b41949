"""How fast finite deep networks approach the limiting Gram matrices: error against width for three
architectures.

Run `python -m bench.deep_width [picture.svg]`: a table on the screen, and a log-log picture. One
row per architecture, depth and width: the error of a layer Gram is the Frobenius norm of its
difference from the limit relative to the limit's, root mean square over the layers and the drawn
networks. Theory: 1/sqrt(m), slope -1/2; the standard error of the slope is the bootstrap's. A
second table: gradient descent on all layers against the promised rate.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

import numpy as np

from globalmin.deep.constants import rate_check
from globalmin.deep.gram import deep_gram, deep_ntk
from globalmin.deep.network import DeepNetwork
from globalmin.deep.train import train_deep

C_RES, ACTIVATION = 0.9, "softplus"


@dataclass(frozen=True)
class Case:
    """An architecture on inputs of unequal norms, with the widths to draw."""

    architecture: str
    depth: int
    shape: tuple[int, ...]
    widths: tuple[int, ...]

    def inputs(self) -> np.ndarray:
        """Three inputs with norms 0.6, 1 and 1.5."""
        X = np.random.default_rng(7).standard_normal((3, *self.shape))
        sizes = np.linalg.norm(X.reshape(3, -1), axis=1)
        return X * (np.array([0.6, 1.0, 1.5]) / sizes).reshape(3, *[1] * len(self.shape))

    def __str__(self) -> str:
        return f"{self.architecture} H={self.depth} {'x'.join(map(str, self.shape))}"


WIDE, NARROW, IMAGES = (
    (128, 256, 512, 1024, 2048),
    (64, 128, 256, 512, 1024),
    (32, 64, 128, 256, 512),
)
CASES = [
    *(Case("fully_connected", H, (4,), WIDE) for H in (2, 3, 4)),
    *(Case("resnet", H, (4,), WIDE) for H in (2, 3, 4)),
    *(Case("convolutional_resnet", H, (2, 5), NARROW) for H in (2, 3, 4)),
    Case("convolutional_resnet", 3, (1, 3, 4), IMAGES),
]
TRAINED = [
    Case("fully_connected", 3, (4,), (50, 100, 200, 400, 800)),
    Case("resnet", 3, (4,), (50, 100, 200, 400, 800)),
    Case("convolutional_resnet", 3, (2, 5), (25, 50, 100, 200, 400)),
]


def errors(case: Case, width: int, nets: int) -> np.ndarray:
    """Relative error of every layer Gram, nets x (H+1)."""
    X = case.inputs()
    limits = deep_ntk(X, case.architecture, case.depth, ACTIVATION, c_res=C_RES).layers
    rows = []
    for seed in range(nets):
        network = DeepNetwork.initialize(
            X, width, case.depth, case.architecture, ACTIVATION, c_res=C_RES, seed=(seed, width)
        )
        grams = network.layer_grams(X)
        rows.append(
            [np.linalg.norm(G - K) / np.linalg.norm(K) for G, K in zip(grams, limits, strict=True)]
        )
    return np.array(rows)


def squares(case: Case, *, nets: int = 48) -> list[np.ndarray]:
    """Mean square relative error of each drawn network, per width; narrow networks are cheap, so up
    to eight times as many.
    """
    largest = case.widths[-1]
    return [
        np.square(errors(case, m, nets * min(largest // m, 8))).mean(axis=1) for m in case.widths
    ]


def slope(widths: tuple[int, ...], drawn: list[np.ndarray]) -> float:
    """Exponent of the width in the least-squares fit of the log of the root mean square error."""
    return float(
        np.polyfit(np.log(widths), [0.5 * np.log(values.mean()) for values in drawn], 1)[0]
    )


def slope_with_error(
    widths: tuple[int, ...], drawn: list[np.ndarray], *, resamples: int = 400
) -> tuple[float, float]:
    """The exponent and its standard error, by the bootstrap over networks."""
    rng = np.random.default_rng(0)
    again = [
        slope(widths, [rng.choice(values, len(values)) for values in drawn])
        for _ in range(resamples)
    ]
    return slope(widths, drawn), float(np.std(again))


def draw(results: dict[str, tuple[Case, np.ndarray]], path: str) -> None:
    """Log-log picture with a line of slope -1/2."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    styles = {"fully_connected": "o-", "resnet": "s--", "convolutional_resnet": "^:"}
    for name, (case, measured) in results.items():
        axes.loglog(
            case.widths, measured, styles[case.architecture], label=name, markersize=4, linewidth=1
        )
    m = np.array([32.0, 2048.0])
    axes.loglog(m, 4.0 / np.sqrt(m), color="black", linewidth=2, label="slope -1/2")
    axes.set(
        xlabel="width m",
        ylabel="relative error of the layer Grams (rms)",
        title="Finite networks approach the recursions",
    )
    axes.legend(fontsize=7, ncols=2)
    figure.savefig(path)


def training_rows(case: Case) -> list[str]:
    """Gradient descent on all layers, 300 steps: the promise of DU-T3.1 to T3.3, the eigenvalues
    along the run, the movement.
    """
    X = case.inputs()
    y = np.array([1.0, -1.0, 0.5])
    lambda0 = float(
        np.linalg.eigvalsh(deep_gram(X, case.architecture, case.depth, ACTIVATION, c_res=C_RES))[0]
    )
    rows = []
    for m in case.widths[::2]:
        network = DeepNetwork.initialize(
            X, m, case.depth, case.architecture, ACTIVATION, c_res=C_RES, seed=0
        )
        trajectory = train_deep(network, (X, y), method="gradient_descent", max_iter=300).trajectory
        rate = rate_check(trajectory, lambda0)
        moved = trajectory.relative_movement[-1]
        rows.append(
            f"| {case} | {m} | {lambda0:.2e} | {np.nanmin(trajectory.lambda_last):.2e} | "
            f"{np.nanmin(trajectory.lambda_total):.2e} "
            f"| {rate.promised:.1e} | {rate.measured:.1e} | {rate.holds} | {moved.max():.3f} |"
        )
    return rows


def print_training() -> None:
    print(
        "\n| case | m | lambda_0 | min lambda(G^H) | min lambda(G) | promised rate | measured | "
        "holds | movement/sqrt(m) |"
    )
    print("|---" * 9 + "|")
    for case in TRAINED:
        print("\n".join(training_rows(case)), flush=True)


def main(arguments: list[str]) -> None:
    print("| case | " + " | ".join(f"width {k + 1}" for k in range(5)) + " | slope | CPU s |")
    print("|---" * 8 + "|")
    results = {}
    for case in CASES:
        began = time.process_time()
        drawn = squares(case)
        measured = np.array([np.sqrt(values.mean()) for values in drawn])
        results[str(case)] = (case, measured)
        exponent, error = slope_with_error(case.widths, drawn)
        cells = " | ".join(f"{m}: {e:.4f}" for m, e in zip(case.widths, measured, strict=True))
        print(
            f"| {case} | {cells} | {exponent:.3f} +- {error:.3f} | "
            f"{time.process_time() - began:.1f} |",
            flush=True,
        )
    print_training()
    if arguments:
        draw(results, arguments[0])
        print(f"picture: {arguments[0]}")


if __name__ == "__main__":
    main(sys.argv[1:])
