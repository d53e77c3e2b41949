"""The landscape of over-parameterized networks (SJL) in two pictures: the least loss of quadratic
networks by the number of samples, and where the least singular value of the Jacobian comes from.

Run it with `python examples/sjl.py [folder]`; it writes the pictures (SVG and PNG) to the folder,
default `figures`. A few seconds.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import globalmin as gm
from globalmin.drawing import BLUE, DASHED, MUTED, new_axes, save

D = 6  # features; d(d+1)/2 = 21


def least_losses() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Samples, the least loss by theorem SJL-T2.1, and where descent from random weights ends."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, D)), rng.standard_normal(40)
    samples = np.arange(12, 41, 2)
    least, reached = [], []
    for n in samples:
        data = gm.Dataset(X[:n], y[:n], bias=False, scaling="none")
        report = gm.inspect(data, width=2 * D, activation="quadratic").theorem("SJL-T2.1")
        least.append(dict(report.numbers)["least loss of all quadratic networks, (1/2)Σr²"])
        start = gm.ShallowNetwork.initialize(data, 2 * D, "quadratic", seed=int(n))
        end = gm.train(start, data, "levenberg_marquardt", polish=False).network
        reached.append(gm.classify_point(end, data).loss)
    return samples, np.array(least) / samples, np.array(reached) / samples


def draw_losses(samples: np.ndarray, least: np.ndarray, reached: np.ndarray) -> Figure:
    """The two curves, and the number of samples up to which the minimum is zero."""
    figure, axes = new_axes("samples n", "loss  ½ Σ r² / n", grid="xy")
    axes.plot(samples, least, color=BLUE, label="least loss (SJL-T2.1)")
    axes.plot(samples, reached, "o", color=MUTED, markersize=4, label="reached from random weights")
    axes.axvline(D * (D + 1) / 2, color=MUTED, linestyle=DASHED, linewidth=1.0)
    edge = (D * (D + 1) / 2, float(least.max()))
    axes.annotate("d(d+1)/2", edge, xytext=(4, -8), textcoords="offset points")
    axes.legend(loc="lower right")
    return figure


def main(folder: Path) -> None:
    """Both pictures and the table of the second."""
    folder.mkdir(parents=True, exist_ok=True)
    samples, least, reached = least_losses()
    save(lambda: draw_losses(samples, least, reached), folder / "sjl-least-loss")
    print("largest distance of descent from the least loss:", np.abs(reached - least).max())
    rng = np.random.default_rng(0)
    W, v = rng.standard_normal((40, 20)) / np.sqrt(20), rng.choice([-1.0, 1.0], 40)
    X = rng.standard_normal((25, 20))
    for name in ("softplus", "tanh"):
        found = gm.explain_jacobian(gm.ShallowNetwork(W, v, name), X)
        save(found.plot, folder / f"sjl-jacobian-{name}")
        print(found)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path("figures"))
