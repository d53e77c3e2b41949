r"""Perturbed gradient descent (DU-A2) inside a training loop of torch: an optimizer that adds a
little noise where the gradient is small, also the gradient of a minibatch.

A call of `step` with noise moves by the noise alone; the next call then has the gradient at the
perturbed point. With full gradients the points are those of Algorithm 2, one call more for each
noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin.errors import DataError
from globalmin.linalg.sampling import uniform_in_ball
from globalmin.optimize.minimization import check_positive
from globalmin.references import states

if TYPE_CHECKING:
    import torch


def checked_schedule(
    radius: float, gradient_threshold: float, wait: int, average: float, seed: int
) -> dict[str, Any]:
    """When and how far to perturb, or a DataError that names what has no meaning."""
    if math.isnan(gradient_threshold) or gradient_threshold < 0.0:
        raise DataError(
            f"gradient_threshold={gradient_threshold!r} must be at least 0 (math.inf: noise every "
            "wait + 1 steps, whatever the gradient)"
        )
    for name, value in (("wait", wait), ("seed", seed)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
            raise DataError(f"{name}={value!r} must be a whole number, at least 0")
    if not 0.0 <= average < 1.0:
        raise DataError(f"average={average!r} must be at least 0 and below 1")
    return {
        "radius": check_positive("radius", radius),
        "gradient_threshold": float(gradient_threshold),
        "wait": int(wait),
        "average": float(average),
        "seed": int(seed),
    }


@states("DU-A2")
def perturbed_torch(
    parameters: Iterable[Any],
    step_size: float,
    *,
    gradient_threshold: float,
    radius: float = 1e-3,
    wait: int = 100,
    average: float = 0.0,
    noise_if: Callable[[], bool] | None = None,
    seed: int = 0,
) -> torch.optim.Optimizer:
    r"""A torch optimizer that leaves saddles: gradient descent, or SGD, with a little noise where
    the gradient is small.

    Parameters
    ----------
    parameters : Iterable[Any]
        Those of the module, or groups of them, as for every torch optimizer.
    step_size : float
        Called `lr` in the groups, so that torch's schedulers move it.
    gradient_threshold : float
        Noise only where the norm of the gradient, over all groups, is at most this. `math.inf`:
        noise every `wait` + 1 steps, for minibatches whose gradients are never small.
    radius : float
        Of the ball in which the noise is uniform, over all parameters together.
    wait : int
        Noise only if more than so many steps have passed since the last noise.
    average : float
        The norm is that of a running average of the gradients with this memory (0.9: about ten
        minibatches), so that the noise of minibatches does not hide a saddle. 0: of this gradient.
    noise_if : Callable[[], bool] | None
        Asked before noise is added; False leaves it out until `wait` + 1 steps later, for example
        where `gm.estimate_second_order` finds no negative curvature. Without it the noise goes on
        at a minimum, as in the algorithm.
    seed : int
        Of the noise.

    Returns
    -------
    torch.optim.Optimizer
        With `step`, `zero_grad`, `state_dict` as always; `param_groups[0]["perturbations"]` counts
        the noise. A resumed run continues as the interrupted one would have.

    Theory
    ------
    DU-A2; DU-T7.2 covers full gradients only (`average` = 0 and the whole loss in every step). For
    minibatches nothing is proved here.
    """
    schedule = checked_schedule(radius, gradient_threshold, wait, average, seed)
    schedule["lr"] = check_positive("step_size", step_size)
    optimizer = optimizer_class()(parameters, schedule)
    optimizer.noise_if = noise_if
    return optimizer


@cache
def optimizer_class() -> Any:
    """The subclass of `torch.optim.Optimizer`, made when torch is first needed."""
    try:
        import torch
    except ModuleNotFoundError as error:
        raise DataError(
            "torch is not installed; pip install 'globalmin[torch]', or use "
            "gm.perturbed_gradient_descent"
        ) from error
    return type("PerturbedSGD", (_Steps, torch.optim.Optimizer), {"__doc__": _Steps.__doc__})


class _Steps:
    """Algorithm 2 as an optimizer of torch; the counters live in the first group, so that
    `state_dict` has them.
    """

    param_groups: list[dict[str, Any]]
    state: Any
    noise_if: Callable[[], bool] | None

    def __init__(self, parameters: Iterable[Any], schedule: dict[str, Any]) -> None:
        super().__init__(parameters, schedule)  # pyright: ignore[reportCallIssue]
        first = self.param_groups[0]
        first |= {"steps": 0, "last": -schedule["wait"] - 1, "perturbations": 0}

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One gradient step, or the noise; `closure`, if given, computes loss and gradients."""
        import torch

        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        with torch.no_grad():
            if not self._perturbed():
                self._descend()
        return loss

    def _moving(self) -> list[tuple[Any, dict[str, Any]]]:
        return [
            (parameter, group)
            for group in self.param_groups
            for parameter in group["params"]
            if parameter.grad is not None
        ]

    def _descend(self) -> None:
        for parameter, group in self._moving():
            parameter.add_(parameter.grad, alpha=-group["lr"])
        self.param_groups[0]["steps"] += 1

    def _perturbed(self) -> bool:
        """Add noise if it is time for it."""
        import torch

        first, moving = self.param_groups[0], self._moving()
        small = bool(moving) and self._gradient_norm(moving) <= first["gradient_threshold"]
        if not small or first["steps"] - first["last"] <= first["wait"]:
            return False
        first["last"] = first["steps"]
        if self.noise_if is not None and not self.noise_if():
            return False
        sizes = [parameter.numel() for parameter, _ in moving]
        rng = np.random.default_rng([first["seed"], first["perturbations"]])
        noise = torch.from_numpy(uniform_in_ball(sum(sizes), first["radius"], rng))
        for (parameter, _), part in zip(moving, noise.split(sizes), strict=True):
            parameter.add_(part.reshape(parameter.shape).to(parameter))
        first["perturbations"] += 1
        return True

    def _gradient_norm(self, moving: list[tuple[Any, dict[str, Any]]]) -> float:
        """Of the gradient, or of the running average of the gradients, corrected for its start."""
        memory = self.param_groups[0]["average"]
        square = 0.0
        for parameter, _ in moving:
            mean = parameter.grad
            if memory:
                kept = self.state[parameter]
                kept["weight"] = memory * kept.get("weight", 0.0) + 1.0 - memory
                kept["mean"] = memory * kept.get("mean", 0.0) + (1.0 - memory) * mean
                mean = kept["mean"] / kept["weight"]
            square += float((mean.double() ** 2).sum())
        return math.sqrt(square)
