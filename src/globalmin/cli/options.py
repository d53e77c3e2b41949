"""Options of the command line, checked where the user's value enters; what is wrong with them is a
usage error.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import typer

from globalmin._options import (
    ARCHITECTURES,
    TRAINED,
    Architecture,
    Method,
    Option,
    Scaling,
    Trained,
    Until,
    one_of,
)
from globalmin.errors import DataError


@dataclass(frozen=True)
class Columns:
    """Which columns are taken: those to use (none: all), to drop, to take for categories, and the
    one with sample weights.
    """

    use: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    sample_weight: str | None = None


ALL_COLUMNS = Columns()
_NOT_RECORDED = ("data", "targets", "out", "quiet", "columns", "force")


@dataclass(frozen=True)
class FitOptions:
    """What `globalmin fit` was asked to do."""

    data: Path
    targets: tuple[str, ...]
    activation: str
    width: int | str
    method: Method
    bias: bool
    scaling: Scaling
    seed: int
    test_size: float
    trained: Trained
    max_iter: int | None
    weight_decay: float
    out: Path
    quiet: bool
    depth: int = 1
    architecture: Architecture | None = None
    image: tuple[int, int] | None = None
    until: Until = "tolerance"
    columns: Columns = field(default_factory=Columns)
    force: bool = False

    @property
    def is_deep(self) -> bool:
        """Whether deep networks are trained, all layers."""
        return self.architecture is not None

    @property
    def is_solved(self) -> bool:
        """Whether the network is found by the convex problem of quadratic networks instead of by
        descent.
        """
        return self.activation == "quadratic" and self.method == "auto" and self.trained == "W"

    def recorded(self) -> dict[str, Any]:
        """The options that determine the result, without paths."""
        return {
            name: value
            for name, value in asdict(self).items()
            if name not in _NOT_RECORDED
            and (self.is_deep or name not in ("depth", "architecture", "image"))
        }


def check_width(width: str) -> int | str:
    """'auto' or a positive whole number."""
    if width == "auto":
        return width
    if not width.isascii() or not width.isdigit() or int(width) < 1:
        raise typer.BadParameter(f"--width {width} is neither 'auto' nor a positive whole number")
    return int(width)


def check_activation(name: str) -> str:
    """A name that the registry of activations knows."""
    from globalmin.activations import get_activation

    try:
        get_activation(name)
    except (DataError, ValueError, KeyError, TypeError) as error:
        raise typer.BadParameter(f"--activation {name}: {error}") from error
    return name


def check_decay(weight_decay: float, activation: str, method: str, trained: str) -> float:
    """Weight decay only where its minimum can be found and proved: quadratic networks, solved as a
    convex problem.
    """
    if weight_decay and (activation, method, trained) != ("quadratic", "auto", "W"):
        raise typer.BadParameter(
            f"--weight-decay {weight_decay:g} is for quadratic networks, whose penalized loss has "
            "a provable minimum; "
            "add --activation quadratic with --method auto and --trained W, or leave it out"
        )
    return weight_decay


DEEP_METHODS = ("auto", "levenberg_marquardt", "gradient_descent")


def check_deep(
    depth: int | None, architecture: str | None, image: str | None, method: str, trained: str
) -> tuple[int, Architecture | None, tuple[int, int] | None]:
    """Depth, architecture (None for a shallow network) and the pixels of an image; options that
    deep networks do not have are refused.
    """
    shape = None if image is None else _pixels(image)
    if depth is None and architecture is None and image is None:
        return 1, None, None
    if architecture is None:
        architecture = "fully_connected" if shape is None else "convolutional_resnet"
    known = check_choice("--architecture", architecture, ARCHITECTURES)
    layers = 3 if depth is None else depth
    if known != "fully_connected" and layers < 2:
        raise typer.BadParameter(f"--depth {layers} leaves no residual layer in {known}; give 2")
    if method not in DEEP_METHODS or trained != "W":
        raise typer.BadParameter(
            f"--method {method} --trained {trained}: deep networks train all layers by "
            f"{' or '.join(DEEP_METHODS[1:])}; leave --trained out"
        )
    return layers, known, shape


def _pixels(image: str) -> tuple[int, int]:
    parts = image.lower().split("x")
    if len(parts) != 2 or not all(p.isascii() and p.isdigit() and int(p) > 0 for p in parts):
        raise typer.BadParameter(f"--image {image} must be HEIGHTxWIDTH in pixels, such as 8x8")
    return int(parts[0]), int(parts[1])


def check_until(until: Until | None, method: str, trained: str, *, is_shallow: bool) -> Until:
    """What ends the training. Gradient descent needs very many steps to a tiny residual, but few to
    the point from which its convergence can be proved.
    """
    if until is None:
        return "descent" if method == "gradient_descent" and trained != "v" else "tolerance"
    if not is_shallow:
        raise typer.BadParameter(f"--until {until} is for shallow networks; leave it out")
    if until == "proved" and (method, trained) != ("gradient_descent", "W"):
        raise typer.BadParameter(
            "--until proved is about a whole run from its start: add --method gradient_descent, "
            "with --trained W"
        )
    return until


def check_targets(targets: Sequence[str]) -> tuple[str, ...]:
    """Every target once."""
    if len(set(targets)) != len(targets):
        raise typer.BadParameter("--target names a column twice; give every column once")
    return tuple(targets)


def check_columns(
    use: Sequence[str] | None,
    drop: Sequence[str] | None,
    category: Sequence[str] | None,
    sample_weight: str | None,
) -> Columns:
    """The columns that --use, --drop, --category and --sample-weight name."""
    return Columns(column_list(use), column_list(drop), column_list(category), sample_weight)


def refuse_columns(columns: Columns, reason: str) -> None:
    """Usage error for columns that are chosen where there is nothing to choose from."""
    if columns != ALL_COLUMNS:
        raise typer.BadParameter(f"--use, --drop and --category {reason}")


def column_list(given: Sequence[str] | None) -> tuple[str, ...]:
    """Names given one by one or separated by commas, each once."""
    names = [name.strip() for part in given or () for name in part.split(",")]
    return tuple(dict.fromkeys(name for name in names if name))


def check_output(out: Path, *, force: bool = False) -> Path:
    """A folder that can be made or written to, without an earlier fit unless that may be replaced;
    asked before any work is done.
    """
    if out.exists() and not out.is_dir():
        raise typer.BadParameter(f"--out {out} is a file; give a folder")
    if (out / "fit.json").exists() and not force:
        raise typer.BadParameter(
            f"--out {out} holds an earlier fit; give another folder, or --force to replace it"
        )
    nearest = next(folder for folder in (out, *out.absolute().parents) if folder.exists())
    if not nearest.is_dir():
        raise typer.BadParameter(f"--out {out} lies below the file {nearest}; give another folder")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise typer.BadParameter(f"--out {out} cannot be written: no permission in {nearest}")
    return out


def check_choice(option: str, value: str, choices: Collection[Option]) -> Option:
    """One of the choices; else the error of all such options, as a mistake in the command line."""
    try:
        return one_of(option, value, choices)
    except DataError as error:
        raise typer.BadParameter(str(error)) from error


def check_trained(trained: str) -> Trained:
    """W or vW."""
    return check_choice("--trained", trained, TRAINED)


def check_file(option: str, path: Path) -> Path:
    """A place where a file can be written; asked before any work is done."""
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise typer.BadParameter(
            f"{option} {path} is a folder or lies in a folder that does not exist; give a file name"
        )
    return path


def check_picture(picture: Path | None) -> Path | None:
    """A name that ends in .svg or .png."""
    if picture is not None and picture.suffix.lower() not in (".svg", ".png"):
        raise typer.BadParameter(
            f"--picture {picture} ends in neither .svg nor .png; give one of these suffixes"
        )
    return picture


def check_model(model: Path) -> Path:
    """A network file that can be read: ours, or of another framework."""
    from globalmin.cli.brought import SUFFIXES

    if model.suffix.lower() in (".pkl", ".pickle", ".joblib"):
        raise typer.BadParameter(
            f"{model.name}: pickles are not read, since they can run any code; load it in Python "
            "and give it to gm.examine or gm.certify, or write it as .onnx with gm.interop.to_onnx"
        )
    if model.suffix.lower() not in (".safetensors", *SUFFIXES):
        raise typer.BadParameter(
            f"{model.name} is not a file of a network; give the model.safetensors of an output "
            f"folder, or {', '.join(SUFFIXES)} of another framework"
        )
    return model
