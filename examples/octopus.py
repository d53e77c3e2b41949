"""Saddles that hold gradient descent for a time exponential in the dimension: the numbers and the
pictures of the chapter.

Run it with `python examples/octopus.py [folder]`; it writes the pictures (SVG and PNG) to the
folder, default `figures`.
"""

import math
import sys
from pathlib import Path

import numpy as np

import globalmin as gm
from globalmin.drawing import save
from globalmin.octopus import figures as saddle_figures
from globalmin.octopus.descent import descent_values, perturbed_descent
from globalmin.octopus.warmups import (
    band_exit_steps,
    descent_path,
    far_escape_steps,
    far_gradient,
    saddle_gradient,
)

WALLS = (1.0, 1.5, 2.0, 3.0)  # L, with gamma = 1 and the step 1/(4L)
GRADIENT, PERTURBED = "gradient descent", "perturbed gradient descent"


def warm_ups(folder: Path) -> None:
    """Figure 7.1."""
    band = descent_path(saddle_gradient, [0.95, 0.004], 0.25, band_exit_steps(0.004))
    far = descent_path(far_gradient, [-9.5, 0.8], 0.25, far_escape_steps(9.5, 0.8))
    save(lambda: saddle_figures.warmups(band, far), folder / "figure-7-1")
    print(
        "thin band, x2 = 1e-3, 1e-6, 1e-9: steps", [band_exit_steps(x) for x in (1e-3, 1e-6, 1e-9)]
    )
    print("far start, R = 10, 20, 40: steps", [far_escape_steps(R) for R in (10, 20, 40)])


def plane(folder: Path) -> None:
    """Figures 7.2 and 7.5: two dimensions, tau = e."""
    tube, octopus = gm.landscape.Octopus(2, mirrored=False), gm.landscape.Octopus(2)
    starts = [(1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0)]
    path = descent_path(tube.gradient, starts[0], 1 / 8, 60)
    paths = [descent_path(octopus.gradient, start, 1 / 8, 60) for start in starts]
    save(lambda: saddle_figures.tube_and_octopus(tube, octopus, path, paths), folder / "figure-7-2")
    save(lambda: saddle_figures.domains(octopus.tau), folder / "figure-7-5")


def objective(folder: Path, d: int, name: str) -> None:
    """Figures 7.3 (d = 5) and 7.4 (d = 10), as published and, on a logarithmic axis, to the end of
    descent.
    """
    short, whole, least = {}, {}, {}
    for L in WALLS:
        octopus, title, steps = gm.landscape.Octopus(d, L), f"L = {L:g}, γ = 1", np.arange(1001)
        start = np.random.default_rng(0).uniform(-1, 1, d)
        noisy = perturbed_descent(
            octopus, start, 1 / (4 * L), np.random.default_rng(1), n_values=1000
        )
        plain = descent_values(octopus, start, 1 / (4 * L), steps)
        short[title] = {GRADIENT: (steps, plain), PERTURBED: (steps, noisy.values)}
        last = gm.landscape.octopus_escape_times(d, L, 1.0, 1 / (4 * L), start=start)[-1]
        late = np.unique(np.geomspace(1, 3 * last, 1500).astype(np.int64))
        values = descent_values(octopus, start, 1 / (4 * L), late)
        whole[title] = {GRADIENT: (late, values), PERTURBED: (steps[1:], noisy.values[1:])}
        least[title] = octopus.least
    save(lambda: saddle_figures.objective_by_step(short, least=least), folder / name)
    save(
        lambda: saddle_figures.objective_by_step(whole, least=least, logarithmic=True),
        folder / f"{name}-whole",
    )


def law(folder: Path) -> None:
    """Escape times up to d = 50 against the law and the proved bound, and perturbed descent up to d
    = 100.
    """
    dimensions, saddles = np.array([5, 10, 20, 40, 60, 80, 100]), np.arange(1, 51)
    descent, laws, bounds, perturbed = {}, {}, {}, {}
    for L in WALLS:
        name, eta, octopus = f"L = {L:g}", 1 / (4 * L), gm.landscape.Octopus(50, L)
        start = np.random.default_rng(0).uniform(-1, 1, 50)
        times = gm.landscape.octopus_escape_times(50, L, 1.0, eta, start=start)
        estimate = gm.landscape.estimate_escape_times(octopus, start, eta)
        descent[name], laws[name] = (saddles, times), (saddles, estimate)
        bounds[name] = (saddles, gm.landscape.escape_times_lower(octopus, eta))
        noisy = [median_perturbed(int(d), L) for d in dimensions]
        perturbed[name] = (dimensions, np.array(noisy))
        print(
            f"L = {L:g}: law {gm.landscape.escape_ratio(L, 1.0, eta):.4f}, last ratio "
            f"{times[-1] / times[-2]:.4f}, T_50 = {times[-1]:.3e}; perturbed T_d {noisy}"
        )
    save(
        lambda: saddle_figures.escape_times(descent, laws, bounds, perturbed),
        folder / "octopus-escape-times",
    )


def median_perturbed(d: int, L: float) -> float:
    """Median over 5 seeds of the last escape time with noise."""
    runs = [
        gm.landscape.octopus_escape_times(
            d, L, 1.0, 1 / (4 * L), "perturbed_gradient_descent", seed=seed
        )
        for seed in range(5)
    ]
    return float(np.median([run[-1] for run in runs]))


def table() -> None:
    """Medians over 8 starts, both methods."""
    print(
        "| d | L | gradient descent T_d | last ratio (law) | perturbed T_d | per saddle "
        "|\n|---|---|---|---|---|---|"
    )
    for d in (5, 10):
        for L in (*WALLS, math.e):
            eta = 1 / (4 * L)
            plain = np.median(
                [gm.landscape.octopus_escape_times(d, L, 1.0, eta, seed=s) for s in range(8)],
                axis=0,
            )
            noisy = [
                gm.landscape.octopus_escape_times(
                    d, L, 1.0, eta, "perturbed_gradient_descent", seed=s
                )
                for s in range(8)
            ]
            middle = np.median(noisy, axis=0)
            ratio, expected = plain[-1] / plain[-2], gm.landscape.escape_ratio(L, 1.0, eta)
            pace = (middle[-1] - middle[0]) / (d - 1)
            print(
                f"| {d} | {L:.4g} | {plain[-1]:.4g} | {ratio:.3f} ({expected:.3f}) | "
                f"{middle[-1]:g} | {pace:.1f} |"
            )


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "figures")
    folder.mkdir(parents=True, exist_ok=True)
    warm_ups(folder)
    plane(folder)
    objective(folder, 5, "figure-7-3")
    objective(folder, 10, "figure-7-4")
    law(folder)
    table()
    for L in (1.0, 1.5, math.e, 5.0):
        bounds = gm.landscape.octopus_smoothness_upper(gm.landscape.Octopus(5, L))
        print(f"L = {L:.4g}: proved ell <= {bounds.gradient:.4g}, rho <= {bounds.hessian:.4g}, no "
              f"second-order point below eps {bounds.epsilon:.4f}")  # fmt: skip


if __name__ == "__main__":
    main()
