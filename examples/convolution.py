"""Convolutional filters: what finds the teacher, what falls into the trap, and the pictures of both
chapters.

Run it with `python examples/convolution.py [folder]`; it writes seven pictures (SVG and PNG) to the
folder, default `figures`.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

from globalmin import drawing
from globalmin.estimators.convolutional_filter import ConvolutionalFilterRegressor
from globalmin.one_filter import figures as one_filter_figures
from globalmin.one_filter.basin import ratio_teacher
from globalmin.one_filter.landscape import Basin, filter_landscape
from globalmin.one_filter.train import detect_phases, draw_network, population_run, sign_flips
from globalmin.patches import figures as patch_figures
from globalmin.patches.inputs import (
    angular_inputs,
    close_patches,
    extract_patches,
    filter_at_distance,
    gabor_filter,
    random_filter,
)
from globalmin.patches.model import filter_outputs
from globalmin.patches.train import fit_filter

STEP = 0.1


def two_outcomes(folder: Path) -> dict[str, float]:
    """Figures 5.1b and 5.2: k = 20 patches of 25 numbers, |a*| = 1, step 0.1; the four sign flips
    of one random start.
    """
    rng = np.random.default_rng(2)
    teacher = ratio_teacher(20, 1.0, 25, rng)
    starts = sign_flips(draw_network(25, 20, abs(teacher.s) / np.sqrt(20), rng))
    runs = [population_run(start, teacher, step_size=STEP, max_iter=1500) for start in starts]
    good = min(range(4), key=lambda i: runs[i].losses[-1])
    bad = next(i for i in range(4) if runs[i].basin is Basin.SPURIOUS)
    failed = population_run(starts[bad], teacher, step_size=STEP, max_iter=25_000)
    plateau = filter_landscape(teacher).spurious_loss
    drawing.save(
        lambda: one_filter_figures.success_and_failure(runs[good].losses, failed.losses, plateau),
        folder / "figure-5-1b",
    )
    run, seen = runs[good], detect_phases(runs[good], starts[good], teacher)
    curves = {
        "angle": run.phi,
        "|a - a*|": run.head_error,
        "|sum a - sum a*|": run.sum_error,
        "loss": run.losses,
    }
    shown = {name: np.maximum(values[:700], 1e-14) for name, values in curves.items()}
    drawing.save(
        lambda: one_filter_figures.phases(shown, first_phase_ends=seen.first_steps),
        folder / "figure-5-2",
    )
    return {
        "plateau": failed.losses[-1],
        "spurious loss": plateau,
        "success": run.losses[-1],
        "phase one ends": float(seen.first_steps or -1),
        "decades per step": seen.second_slope / 2 / np.log(10),
    }


def input_laws(folder: Path) -> dict[str, float]:
    """Figures 6.3a and 6.3b: smoother inputs and closer patches are learned faster."""
    w_star = np.array([1.0, 0.0])
    w0 = w_star + 0.8 * np.array([-0.6, 0.8])
    smooth, close, ends = {}, {}, {}
    for sigma in (0.2, 0.5, 1.0, 2.0):
        Z = angular_inputs(20_000, w_star, sigma, 1)
        fit = fit_filter(
            Z, filter_outputs(Z, w_star), w0, step_size=0.5, max_iter=200, tol=0.0, w_star=w_star
        )
        smooth[f"σ = {sigma}"], ends[f"6.3a {sigma}"] = fit.distances, fit.distances[-1]
    drawing.save(
        lambda: patch_figures.convergence(smooth, "step", "|w − w*|"), folder / "figure-6-3a"
    )
    truth = random_filter(5, 0)
    for spread in (0.05, 0.2, 0.5, 1.0, 2.0):
        Z = close_patches(10_000, 8, truth, spread, 2)
        start = filter_at_distance(truth, 0.7, 3)
        fit = fit_filter(
            Z, filter_outputs(Z, truth), start, step_size=1.0, max_iter=200, tol=0.0, w_star=truth
        )
        close[f"σ₂ = {spread}"], ends[f"6.3b {spread}"] = fit.distances, fit.distances[-1]
    drawing.save(
        lambda: patch_figures.convergence(close, "step", "|w − w*|"), folder / "figure-6-3b"
    )
    return ends


def digits(folder: Path) -> dict[str, float]:
    """Figures 6.3c, 6.3d and 6.4: a random and a Gabor filter recovered from 8 x 8 digits (5 x 5
    patches, stride 1).
    """
    X = load_digits().data / 16.0
    Z = extract_patches(X, 5, image_shape=(8, 8))
    pictures, ends = {}, {}
    for name, letter, truth in (
        ("random", "c", random_filter(25, 0)),
        ("Gabor", "d", gabor_filter(5)),
    ):
        y, curves, learned = filter_outputs(Z, truth), {}, truth
        for distance in (0.9, 0.6, 0.3):
            fit = fit_filter(
                Z,
                y,
                filter_at_distance(truth, distance, 1),
                method="sgd",
                step_size=1.0,
                max_iter=60,
                w_star=truth,
            )
            curves[f"|w₀ − w*| = {distance}"], learned = 2.0 * fit.losses / y.mean() ** 2, fit.w
            ends[f"{name} {distance} relative loss"] = curves[f"|w₀ − w*| = {distance}"][-1]
        path = folder / f"figure-6-3{letter}"
        drawing.save(
            lambda shown=curves: patch_figures.convergence(shown, "epoch", "relative loss"), path
        )
        model = ConvolutionalFilterRegressor(
            5, image_shape=(8, 8), init=filter_at_distance(truth, 0.3, 1)
        ).fit(X, y)
        ends[f"{name} estimator loss"] = model.loss_
        parts = {"true": truth, "SGD": learned, "estimator": model.coef_}
        pictures |= {f"{name}: {key}": values.reshape(5, 5) for key, values in parts.items()}
    drawing.save(lambda: patch_figures.filters(pictures), folder / "figure-6-4")
    return ends


def dead_start() -> str:
    """Pixels are never negative, so a filter of negative weights sees nothing; `fit` says so."""
    X = load_digits().data / 16.0
    y = filter_outputs(extract_patches(X, 5, image_shape=(8, 8)), gabor_filter(5))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = ConvolutionalFilterRegressor(5, image_shape=(8, 8), init=-np.ones(25)).fit(X, y)
    return f"{model.status_}: {caught[0].message}"


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "figures")
    folder.mkdir(parents=True, exist_ok=True)
    for part in (two_outcomes, input_laws, digits):
        for name, value in part(folder).items():
            print(f"{name}: {value:.9g}")
    print(dead_start())


if __name__ == "__main__":
    main()
