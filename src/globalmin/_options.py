"""Options given by name: their types, once for all rooms, and the one check of their values.

Light on purpose: the command line reads it before numpy is loaded.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, TypeVar, cast, get_args

from globalmin.errors import DataError

Trained = Literal["W", "vW", "v"]  # the layers that move; "v" alone is linear (OS-T3.2)
Signs = Literal["mixed", "positive"]  # of the head that quadratic solvers choose
Heads = Literal["any", "nonnegative"]  # the heads a floor holds for
Scheme = Literal["os", "sjl", "positive", "du", "identity"]  # laws of the start of a network
Scaling = Literal["standardize", "rows", "none"]
Architecture = Literal["fully_connected", "resnet", "convolutional_resnet"]
PatchHead = Literal["average", "signed", "trained"]  # output weights of a patch network
PatchScaling = Literal["none", "unit", "contrast"]  # what is done to every patch by itself
PatchMethod = Literal["auto", "gradient_descent", "least_squares"]  # of `train_patches`
Labels = Literal["regression", "classification"]  # what a teacher's outputs became
Estimator = Literal["squares", "likelihood"]  # of the weights of a teacher
Inputs = Literal["standard", "gaussian"]  # the law of the rows a teacher saw
Until = Literal["tolerance", "provable", "descent", "proved"]  # what ends a training
Landing = Literal["descent", "loss"]  # what is proved where a run from its start ends
StartMethod = Literal["gradient_descent", "sgd"]  # whose runs are proved from their start
ExecutorName = Literal["local", "dask", "ray"]  # of sweeps
Method = Literal[  # of `train` and the estimators
    "auto",
    "least_squares",
    "levenberg_marquardt",
    "homotopy",
    "gradient_descent",
    "sgd",
    "gradient_flow",
    "lbfgs",
    "perturbed_gradient_descent",
    "trust_region",
]
TRAINABLE: tuple[Trained, ...] = get_args(Trained)
TRAINED: tuple[Trained, ...] = ("W", "vW")  # what theorems about moving hidden weights speak of
SIGNS: tuple[Signs, ...] = get_args(Signs)
HEADS: tuple[Heads, ...] = get_args(Heads)
SCHEMES: tuple[Scheme, ...] = get_args(Scheme)
SCALINGS: tuple[Scaling, ...] = get_args(Scaling)
ARCHITECTURES: tuple[Architecture, ...] = get_args(Architecture)
PATCH_HEADS: tuple[PatchHead, ...] = get_args(PatchHead)
PATCH_SCALINGS: tuple[PatchScaling, ...] = get_args(PatchScaling)
PATCH_METHODS: tuple[PatchMethod, ...] = get_args(PatchMethod)
LABELS: tuple[Labels, ...] = get_args(Labels)
ESTIMATORS: tuple[Estimator, ...] = get_args(Estimator)
INPUTS: tuple[Inputs, ...] = get_args(Inputs)
UNTIL: tuple[Until, ...] = get_args(Until)
LANDINGS: tuple[Landing, ...] = get_args(Landing)
START_METHODS: tuple[StartMethod, ...] = get_args(StartMethod)
EXECUTORS: tuple[ExecutorName, ...] = get_args(ExecutorName)

Option = TypeVar("Option", bound=str)


def one_of(
    name: str,
    value: object,
    choices: Collection[Option],
    *,
    remedy: str = "",
    error: type[DataError] = DataError,
) -> Option:
    """The value of an option if it is one of the choices; else the one error for all such options,
    with argument, value and choices.

    Parameters
    ----------
    remedy : what may be given besides the choices, as the end of the sentence.
    error : the room's own kind of DataError.
    """
    if not isinstance(value, str) or value not in choices:
        known = ", ".join(map(repr, choices))
        raise error(f"{name}={value!r} is unknown; choose one of {known} {remedy}".rstrip())
    return cast(Option, value)
