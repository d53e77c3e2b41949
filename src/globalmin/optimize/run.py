"""What every run leaves behind, whatever was trained: how it ended, the path it took, and the
network.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any, Generic, Self, TypeVar

import numpy as np

from globalmin._types import Array, NDArray

Model = TypeVar("Model")


class Status(StrEnum):
    """How a run ended; `message` says it in words."""

    message: str

    CONVERGED = "converged", "the tolerance or the rounding floor was reached"
    PROVABLE = "provable", "the claim asked for can be expected to be provable at these weights"
    SECOND_ORDER = (
        "second_order",
        "gradient and least eigenvalue of the Hessian are within the tolerances (estimated in "
        "floats)",
    )
    NO_DECREASE = (
        "no_decrease",
        "the loss did not fall by the threshold after a perturbation, the stopping rule of the "
        "method",
    )
    STOPPED = "stopped", "the caller asked for it"
    MAX_ITER = "max_iter", "the iteration limit was reached before the tolerance"
    STALLED = "stalled", "no further decrease was found although the tolerance is not reached"
    DEAD = (
        "dead",
        "no patch is active (w . Z_i <= 0 for all patches), so the gradient is zero: start from "
        "another filter",
    )
    DIVERGED = "diverged", "the loss overflowed or is not finite; the best point seen is kept"
    INTERRUPTED = "interrupted", "interrupted by the user; the best point seen is kept"

    def __new__(cls, value: str, message: str) -> Self:
        """The value with its message."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.message = message
        return member

    @property
    def is_success(self) -> bool:
        """Whether the run reached what it was asked for."""
        return self in _SUCCESSES


_SUCCESSES = (
    Status.CONVERGED,
    Status.PROVABLE,
    Status.SECOND_ORDER,
    Status.NO_DECREASE,
    Status.STOPPED,
)


@dataclass(frozen=True)
class Trajectory:
    """The recorded steps of a run, one entry per recorded step in every array; a family adds its
    own columns.

    Attributes
    ----------
    iteration : number of the step; 0 is the start.
    loss : at that step.
    """

    iteration: NDArray[np.int64]
    loss: Array

    def __len__(self) -> int:
        return len(self.iteration)

    def columns(self) -> dict[str, NDArray]:
        """The arrays by name, ready for a table."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


@dataclass(frozen=True, eq=False, kw_only=True)
class Run(Generic[Model]):
    """The result of an iterative method; a family of networks adds fields of its own.

    Attributes
    ----------
    network : what was trained: the best one seen, or the last one where the family says so.
    status, message : how the run ended.
    trajectory : the recorded steps.
    n_iter : iterations.
    method : name of the method.
    loss : at `network`.
    start : where the run began; None if nothing was iterated.
    """

    network: Model
    status: Status
    message: str
    trajectory: Trajectory
    n_iter: int
    method: str
    loss: float
    start: Model | None = None

    @property
    def losses(self) -> Array:
        """Loss at the recorded steps."""
        return self.trajectory.loss

    @classmethod
    def of(cls, run: Run[Any], **more: Any) -> Self:
        """A run as the loop returns it, with what the family adds."""
        return cls(**vars(run) | more)
