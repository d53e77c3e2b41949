"""DU, figures 6.3c, 6.3d and 6.4: a random and a Gabor filter learned by SGD from images, MNIST
from a file of your own, or the digits that scikit-learn carries.
"""

from __future__ import annotations

import gzip
import hashlib
import math
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import numpy as np

from globalmin.errors import DataError
from globalmin.references import states
from globalmin.reproductions.earlier import SURE, Earlier
from globalmin.reproductions.registry import Reproduction, Row, reproduction

if TYPE_CHECKING:
    from collections.abc import Mapping

    from globalmin.reproductions.running import Setting

SIZE = 5  # of the filter, ours
STEP, BATCH, METHOD = 1.0, 32, "sgd"  # the step times one over the largest curvature
EPOCHS, EARLY, DISTANCES = 60, 5, (0.9, 0.6, 0.3)
NAMES = ("random", "Gabor")
ATTEMPTS = 100  # draws of filter and start until a run does not die
LARGEST = 2**31  # bytes of images that a file may announce
# our earlier run on the digits, seeds from 500,000: log10 of the last loss over that after 5
# epochs, and the share of the distance to the teacher that is left, from 0.9
FALLS = {
    ("random", 0.9): Earlier(-0.875, 0.239, 24, ("the full gradient instead of SGD", -0.19)),
    ("random", 0.6): Earlier(-0.926, 0.229, 24, ("the full gradient instead of SGD", -0.21)),
    ("random", 0.3): Earlier(-0.959, 0.203, 24, ("the full gradient instead of SGD", -0.27)),
    ("Gabor", 0.9): Earlier(-0.877, 0.189, 24, ("the full gradient instead of SGD", -0.28)),
    ("Gabor", 0.6): Earlier(-0.903, 0.171, 24, ("the full gradient instead of SGD", -0.26)),
    ("Gabor", 0.3): Earlier(-0.935, 0.162, 24, ("the full gradient instead of SGD", -0.24)),
}
LEFT = {
    "random": Earlier(0.627, 0.100, 24, ("a fifth of the step", 0.82)),
    "Gabor": Earlier(0.578, 0.071, 24, ("a fifth of the step", 0.80)),
}
TEXT = "section 6.4"
UNKNOWN = "no earlier run of ours on these images"
CHOICES = (
    "Printed: SGD, MNIST, labels from one filter, N(0,1) entries (c) or Gabor (d), the relative "
    "loss on the axis. Not printed: size and stride of the filter, step, batch, epochs, starts, "
    "Gabor parameters; ours are 5 x 5, filters scaled to length 1, a step of one over the largest "
    "curvature the loss can have, batch 32, 60 epochs, starts at distance 0.9, 0.6, 0.3 from the "
    "teacher.",
    "The text cites figures 6.3a and 6.3c where it means 6.3c and 6.3d (erratum E22, misprint).",
)
DIGITS = (
    "MNIST is replaced by scikit-learn's 1,797 digits of 8 x 8 pixels, which need no download, "
    "patches at stride 1; `--data train-images-idx3-ubyte.gz` takes MNIST itself.",
)


def read_idx_images(path: str | Path) -> np.ndarray:
    """Images n x height x width, values 0 to 1, from a file in the format of MNIST, packed by gzip
    or not.

    The format: two zero bytes, 8 (bytes) and 3 (dimensions), three sizes of four bytes each, most
    significant first, then one byte a pixel. Anything else, a byte too few or too many included,
    raises `DataError`.
    """
    place = Path(path)
    try:
        with place.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        with cast("BinaryIO", gzip.open(place) if packed else place.open("rb")) as file:
            return _images(file, place)
    except (OSError, EOFError) as error:
        raise DataError(f"data {place} cannot be read: {error}") from error


def _images(file: BinaryIO, place: Path) -> np.ndarray:
    head = file.read(16)
    if len(head) < 16 or head[:4] != b"\x00\x00\x08\x03":
        labels = " (a file of labels)" if head[:4] == b"\x00\x00\x08\x01" else ""
        raise DataError(
            f"data {place} begins with {head[:4].hex() or 'nothing'}{labels}, not with 00000803: "
            "give a file of images in MNIST's idx format, such as train-images-idx3-ubyte"
        )
    shape = tuple(int.from_bytes(head[i : i + 4], "big") for i in (4, 8, 12))
    total = math.prod(shape)
    if not 0 < total <= LARGEST or min(shape[1:]) < SIZE:
        raise DataError(
            f"data {place} announces {shape[0]} images of {shape[1]} x {shape[2]} pixels; give at "
            f"least one of {SIZE} x {SIZE}, at most {LARGEST:,} bytes in all"
        )
    pixels = file.read(total + 1)
    if len(pixels) != total:
        raise DataError(
            f"data {place} announces {total} pixels and holds "
            f"{'more' if len(pixels) > total else len(pixels)}; it is cut or not what it says"
        )
    return np.frombuffer(pixels, dtype=np.uint8).reshape(shape) / 255.0


def file_digest(path: Path | None) -> str:
    """SHA-256 of a file, so that trials of another one are not taken for its own; "" without. What
    is no file of images is refused here, before the first trial.
    """
    if path is None:
        return ""
    read_idx_images(path)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def patches_of(data: str, images: int) -> np.ndarray:
    """Patches of the first `images` of a file at stride 2, or of all digits at stride 1."""
    from globalmin.patches.inputs import extract_patches

    if data:
        return extract_patches(read_idx_images(data)[:images], SIZE, 2)
    from sklearn.datasets import load_digits

    pixels = np.asarray(load_digits(return_X_y=True)[0]) / 16.0
    return extract_patches(pixels, SIZE, image_shape=(8, 8))


def safe_step(Z: np.ndarray) -> float:
    """One over the largest curvature that the loss can have, that where all patches are active."""
    mean = Z.mean(axis=1)
    return 1.0 / float(np.linalg.eigvalsh(mean.T @ mean / len(mean))[-1])


def _teacher(name: str, rng: np.random.Generator) -> np.ndarray:
    from globalmin.patches.inputs import gabor_filter, random_filter

    return random_filter(SIZE * SIZE, rng) if name == "random" else gabor_filter(SIZE)


def digits_trial(
    *, filter_name: str, distance: float, data: str, digest: str, images: int, seed: int
) -> dict[str, Any]:
    """SGD on images from a start at this distance: relative loss by epoch, the teacher, the start
    and the learned filter. Where no patch is active any more, filter and start are drawn again.
    """
    from globalmin.errors import GlobalMinError
    from globalmin.optimize.run import Status
    from globalmin.patches.inputs import filter_at_distance
    from globalmin.patches.model import filter_outputs
    from globalmin.patches.train import fit_filter

    Z, rng = patches_of(data, images), np.random.default_rng(seed)
    for attempt in range(ATTEMPTS):
        truth = _teacher(filter_name, rng)
        start, y = filter_at_distance(truth, distance, rng), filter_outputs(Z, truth)
        if not y.any():
            continue
        fit = fit_filter(
            Z,
            y,
            start,
            method=METHOD,  # pyright: ignore[reportArgumentType]
            step_size=STEP * safe_step(Z),
            batch_size=BATCH,
            max_iter=EPOCHS,
            tol=0.0,
            seed=seed,
        )
        if fit.status is not Status.DEAD:
            found = {"truth": truth, "start": start, "learned": fit.w, "dead": attempt}
            return {"relative": 2.0 * fit.losses / y.mean() ** 2, **found}
    raise GlobalMinError(f"seed {seed}: {ATTEMPTS} draws of filter and start are dead on {data}")


def _digits(
    setting: Setting, distances: tuple[float, ...], draws: int
) -> dict[tuple[str, float], list[dict[str, Any]]]:
    """Results by filter and distance of the start, one for each draw of filter, start and order of
    the samples.
    """
    source = {
        "data": "" if setting.data is None else str(setting.data),
        "digest": file_digest(setting.data),
        "images": setting.pick(thumbnail=2_000, paper=10_000),
    }
    points = [
        {"filter_name": name, "distance": r, **source, "seed": 1_000 * setting.seed + draw}
        for name in NAMES
        for r in distances
        for draw in range(draws)
    ]
    found: dict[tuple[str, float], list[dict[str, Any]]] = {}
    for point, one in zip(points, setting.trials(digits_trial, points), strict=True):
        found.setdefault((point["filter_name"], point["distance"]), []).append(one)
    return found


def _choices(setting: Setting, draws: int) -> tuple[str, ...]:
    images = setting.pick(thumbnail=2_000, paper=10_000)
    mine = (f"Images from the file given, the first {images:,}, patches at stride 2.",)
    return (
        *CHOICES,
        *(DIGITS if setting.data is None else mine),
        f"Means over {draws} draws of filter, start and order of the samples; a draw whose run "
        "dies (no patch active) is made again.",
    )


@states("DU-F6.3cd")
@reproduction(
    "DU-F6.3cd",
    title="Figures 6.3c, 6.3d: a random and a Gabor filter learned from real images, closer starts "
    "are faster",
    takes_data=True,
)
def fig63cd(setting: Setting) -> Reproduction:
    """Relative loss by epoch of SGD from three distances, random filter (c) and Gabor filter (d);
    geometric means over the draws.
    """
    from globalmin.patches.figures import convergence

    draws = setting.pick(thumbnail=10, paper=40)
    found = _digits(setting, DISTANCES, draws)
    logs = {key: np.log10([one["relative"] for one in some]) for key, some in found.items()}
    curves = {
        name: {
            f"|w₀ − w*| = {r:g}": 10.0 ** values.mean(axis=0)
            for (key, r), values in logs.items()
            if key == name
        }
        for name in NAMES
    }
    length = EPOCHS + 1
    return Reproduction(
        item="DU-F6.3cd",
        scale=setting.scale,
        table=tuple(_loss_rows(logs, judged=setting.data is None)),
        data={
            "filter": np.repeat([name for name, _ in logs], length),
            "distance": np.repeat([r for _, r in logs], length),
            "epoch": np.tile(np.arange(length), len(logs)),
            "relative_loss": 10.0
            ** np.concatenate([values.mean(axis=0) for values in logs.values()]),
        },
        figures={
            "c": lambda: convergence(curves["random"], "epoch", "relative loss, random filter"),
            "d": lambda: convergence(curves["Gabor"], "epoch", "relative loss, Gabor filter"),
        },
        choices=_choices(setting, draws),
    )


def _loss_rows(logs: Mapping[tuple[str, float], np.ndarray], *, judged: bool) -> list[Row]:
    rows = []
    for (name, r), values in logs.items():
        quantity = f"mean log10 of the last loss over that after {EARLY} epochs, {name}, from {r:g}"
        falls = values[:, EPOCHS] - values[:, EARLY]
        alone = Row(quantity, None, float(falls.mean()), note=UNKNOWN)
        rows.append(FALLS[name, r].row(quantity, falls) if judged else alone)
    for name in NAMES:
        ends = [logs[name, r][:, EARLY] for r in DISTANCES]
        behind = [  # draw by draw: the same filter, order and direction of the start
            float(np.mean(b - a) / (np.std(b - a, ddof=1) / math.sqrt(len(a))))
            for a, b in pairwise(ends)
        ]
        rows.append(
            Row(
                f"{name}: most that a closer start is behind after {EARLY} epochs, standard errors",
                "better initializations give faster rates",
                max(behind),
                SURE,
                "<=",
                where=TEXT,
                reference=0.0,
                source="the words as never behind",
                error=f"{SURE:g} standard errors of a mean of differences, draw by draw",
                catches=("starts exchanged", 6.0),
            )
        )
    return rows


def estimated(truth: np.ndarray, start: np.ndarray) -> np.ndarray:
    """The estimator's filter on the digits, labels of `truth`, from the same start."""
    from sklearn.datasets import load_digits

    from globalmin.estimators.convolutional_filter import ConvolutionalFilterRegressor
    from globalmin.patches.model import filter_outputs

    X = np.asarray(load_digits(return_X_y=True)[0]) / 16.0
    y = filter_outputs(patches_of("", 0), truth)
    model = ConvolutionalFilterRegressor(SIZE, image_shape=(8, 8), init=start).fit(X, y)
    return np.asarray(model.coef_).reshape(-1)


@states("DU-F6.4")
@reproduction("DU-F6.4", title="Figure 6.4: true and learned filters", takes_data=True)
def fig64(setting: Setting) -> Reproduction:
    """The random and the Gabor filter, after SGD and by the estimator's least-squares steps."""
    from globalmin.patches.figures import filters

    draws = setting.pick(thumbnail=10, paper=40)
    found = {name: some for (name, _), some in _digits(setting, DISTANCES[:1], draws).items()}
    firsts = {name: some[0] for name, some in found.items() if setting.data is None}
    fitted = {
        name: estimated(np.asarray(one["truth"]), np.asarray(one["start"]))
        for name, one in firsts.items()
    }
    pictures = {}
    for name in NAMES:
        pictures |= {
            f"{name}: true": found[name][0]["truth"],
            f"{name}: SGD": found[name][0]["learned"],
        }
        if name in fitted:
            pictures[f"{name}: estimator"] = fitted[name]
    return Reproduction(
        item="DU-F6.4",
        scale=setting.scale,
        table=tuple(_filter_rows(found, fitted, judged=setting.data is None)),
        data={
            "filter": np.repeat(list(pictures), SIZE * SIZE),
            "pixel": np.tile(np.arange(SIZE * SIZE), len(pictures)),
            "value": np.concatenate([np.asarray(values) for values in pictures.values()]),
        },
        figures={
            "": lambda: filters(
                {name: np.asarray(values).reshape(SIZE, SIZE) for name, values in pictures.items()}
            )
        },
        choices=_choices(setting, draws),
    )


def left(one: dict[str, Any]) -> float:
    """The distance of the learned filter to the teacher over that of the start."""
    misses = [np.linalg.norm(one[name] - one["truth"]) for name in ("learned", "start")]
    return float(misses[0] / misses[1])


def _filter_rows(
    found: Mapping[str, list[dict[str, Any]]], fitted: Mapping[str, np.ndarray], *, judged: bool
) -> list[Row]:
    rows = []
    for name in NAMES:
        quantity = f"share of |w₀ − w*| left after {EPOCHS} epochs, {name}"
        shares = [left(one) for one in found[name]]
        words: dict[str, Any] = {"published": "they have similar patterns", "where": TEXT}
        alone = Row(quantity, ours=float(np.mean(shares)), note=UNKNOWN, **words)
        rows.append(LEFT[name].row(quantity, shares, **words) if judged else alone)
    rows += [
        Row(
            f"|w − w*| of the estimator, {name}",
            None,
            float(np.linalg.norm(one - found[name][0]["truth"])),
            1e-6,
            note="ours: least squares on the active patches recovers all of it",
            reference=0.0,
            source="the teacher itself",
            error="rounding times the condition of the patches, 430",
            catches=("what 60 epochs of SGD leave", 0.5),
        )
        for name, one in fitted.items()
    ]
    return rows
