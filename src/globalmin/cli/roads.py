"""Which road `globalmin fit` takes: a model with weight decay chosen by cross-validation, or an
interpolating, deep or patch network. Decided once, from the options that were given.

Options that only interpolating networks have imply their road, as before there was another; a line
on stderr says so. What both roads could mean is a usage error.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import typer

REGULARIZED = ("auto", "additive", "quadratic", "relu")
INTERPOLATING = ("shallow", "deep")
MODELS = (*REGULARIZED, *INTERPOLATING)

# options that networks with weight decay do not have
SHALLOW_OPTIONS = ("activation", "width", "method", "trained", "until", "max_iter", "bias")
DEEP_OPTIONS = ("depth", "architecture", "image")
PATCH_OPTIONS = ("patch_size", "stride", "filters", "head", "padding", "normalize")
# options that interpolating networks do not have
CHOICE_OPTIONS = ("loss", "interactions", "bins", "shape", "task", "gap", "sample_weight")


@dataclass(frozen=True)
class Road:
    """The road and, where an option implied it, which."""

    is_regularized: bool
    because: tuple[str, ...] = ()

    @property
    def note(self) -> str:
        """What the user is told who did not say --interpolate; empty otherwise."""
        if not self.because:
            return ""
        asks = "asks" if len(self.because) == 1 else "ask"
        return (
            f"{', '.join(self.because)} {asks} for an interpolating network; without, or with "
            "--model, a model with weight decay is chosen by cross-validation"
        )


def road_of(model: str, given: Collection[str], *, interpolate: bool, scaling: str) -> Road:
    """The road that these options ask for.

    Parameters
    ----------
    model : str
        The value of --model.
    given : Collection[str]
        Names of the parameters that were typed.
    interpolate : bool
        Whether --interpolate was.
    scaling : str
        The value of --scaling.
    """
    others = [*SHALLOW_OPTIONS, *DEEP_OPTIONS, *PATCH_OPTIONS]
    typed = tuple(_spelled(name) for name in others if name in given)
    typed += ("--scaling rows",) if scaling == "rows" else ()
    if interpolate and model in REGULARIZED[1:]:
        raise typer.BadParameter(
            f"--interpolate has no weight decay, --model {model} has; leave one of them out"
        )
    if interpolate or model in INTERPOLATING:
        _refuse_choices(given, "--interpolate" if interpolate else f"--model {model}")
        return Road(is_regularized=False)
    if "model" in given and typed:
        raise typer.BadParameter(
            f"{', '.join(typed)}: for interpolating networks, not for --model {model}; leave it "
            "out, or take --interpolate instead of --model"
        )
    if typed:
        _refuse_choices(given, typed[0])
        return Road(is_regularized=False, because=typed)
    return Road(is_regularized=True)


def _refuse_choices(given: Collection[str], road: str) -> None:
    wrong = [_spelled(name) for name in CHOICE_OPTIONS if name in given]
    if wrong:
        raise typer.BadParameter(
            f"{', '.join(wrong)}: for models with weight decay, not for {road}; leave one of them "
            "out"
        )


def _spelled(name: str) -> str:
    return "--bias/--no-bias" if name == "bias" else f"--{name.replace('_', '-')}"


def check_weight_decay(text: str, model: str) -> float | str:
    """Either cv, or a positive number, for one named model only."""
    if text == "cv":
        return text
    value = decay_number(text)
    if not value > 0:
        raise typer.BadParameter(f"--weight-decay {text} must be cv or a positive number")
    if model == "auto":
        raise typer.BadParameter(
            f"--weight-decay {text} means another penalty in every model; name one with --model "
            "additive, quadratic or relu, or --activation quadratic, or leave it at cv"
        )
    return value


def decay_number(text: str) -> float:
    """A number of at least 0; cv stands for none on the road of interpolation."""
    if text == "cv":
        return 0.0
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise typer.BadParameter(
            f"Invalid value for '--weight-decay': {text} is neither cv nor a number of at least 0"
        )
    return value
