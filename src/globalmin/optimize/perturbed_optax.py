"""Perturbed gradient descent (DU-A2) as a transform of optax: noise where the gradient is small,
around any optimizer, also under `jax.jit`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from globalmin.errors import DataError
from globalmin.optimize.perturbed_torch import checked_schedule
from globalmin.references import states

if TYPE_CHECKING:
    import optax


class PerturbedState(NamedTuple):
    """Steps done, the step of the last noise, how often there was noise, the running average of the
    gradients with its weight, and the state of the optimizer inside.
    """

    steps: Any
    last: Any
    perturbations: Any
    mean: Any
    weight: Any
    inner: Any


@states("DU-A2")
def perturbed_optax(
    inner: Any,
    *,
    gradient_threshold: float,
    radius: float = 1e-3,
    wait: int = 100,
    average: float = 0.0,
    noise_if: Callable[[Any], Any] | None = None,
    seed: int = 0,
) -> optax.GradientTransformation:
    r"""An optax optimizer that leaves saddles: any optimizer of yours, with a little noise where
    the gradient is small.

    Parameters
    ----------
    inner : Any
        The optimizer: `optax.sgd(step_size)` makes it Algorithm 2. An update with noise is the
        noise alone; the optimizer and its state are left out of it.
    gradient_threshold, radius, average : float
        As in `perturbed_torch`.
    wait, seed : int
        As in `perturbed_torch`.
    noise_if : Callable[[Any], Any] | None
        A function of the parameters that JAX can trace, asked before noise is added; False leaves
        it out until `wait` + 1 steps later. Then `update` must be given the parameters.

    Returns
    -------
    optax.GradientTransformation
        `init(params)`, `update(gradients, state, params)`; `state.perturbations` counts the noise.

    Theory
    ------
    DU-A2 with `optax.sgd` and full gradients, which is what DU-T7.2 covers. For minibatches or
    another optimizer nothing is proved here.
    """
    try:
        import optax
    except ModuleNotFoundError as error:
        raise DataError("optax is not installed; pip install 'globalmin[optax]'") from error
    schedule = checked_schedule(radius, gradient_threshold, wait, average, seed)
    steps = _Steps(inner, schedule, noise_if)
    return optax.GradientTransformation(steps.init, steps.update)  # pyright: ignore[reportArgumentType]


class _Steps:
    def __init__(self, inner: Any, schedule: dict[str, Any], noise_if: Any) -> None:
        self.inner, self.schedule, self.noise_if = inner, schedule, noise_if

    def init(self, params: Any) -> PerturbedState:
        """The state at the start."""
        import jax
        import jax.numpy as jnp

        zero, last = jnp.zeros((), jnp.int32), jnp.asarray(-self.schedule["wait"] - 1, jnp.int32)
        mean = jax.tree.map(jnp.zeros_like, params) if self.schedule["average"] else ()
        return PerturbedState(zero, last, zero, mean, jnp.zeros(()), self.inner.init(params))

    def update(
        self, updates: Any, state: PerturbedState, params: Any = None
    ) -> tuple[Any, PerturbedState]:
        """The noise where it is time for it, else the update of the optimizer inside."""
        import jax
        import jax.numpy as jnp

        state, norm = self._seen(updates, state)
        due = norm <= self.schedule["gradient_threshold"]
        due &= state.steps - state.last > self.schedule["wait"]
        wanted = due
        if self.noise_if is not None:
            if params is None:
                raise DataError("params=None: with noise_if call update(gradients, state, params)")
            wanted = jax.lax.cond(
                due, lambda: jnp.asarray(self.noise_if(params), bool), lambda: due
            )
        moves, inside = jax.lax.cond(
            wanted,
            lambda: (self._noise(updates, state.perturbations), state.inner),
            lambda: self.inner.update(updates, state.inner, params),
        )
        return moves, state._replace(
            steps=state.steps + jnp.where(wanted, 0, 1),
            last=jnp.where(due, state.steps, state.last),
            perturbations=state.perturbations + jnp.where(wanted, 1, 0),
            inner=inside,
        )

    def _seen(self, gradients: Any, state: PerturbedState) -> tuple[PerturbedState, Any]:
        """The state with the running average moved on, and the norm that is compared."""
        import jax

        memory = self.schedule["average"]
        if not memory:
            return state, _norm(gradients)
        weight = memory * state.weight + 1.0 - memory
        mean = jax.tree.map(lambda m, g: memory * m + (1.0 - memory) * g, state.mean, gradients)
        return state._replace(mean=mean, weight=weight), _norm(mean) / weight

    def _noise(self, gradients: Any, count: Any) -> Any:
        """Uniform on the ball, over all leaves together."""
        import jax

        key = jax.random.fold_in(jax.random.key(self.schedule["seed"]), count)
        leaves, shape = jax.tree.flatten(gradients)
        keys = jax.random.split(key, len(leaves) + 1)
        draws = [
            jax.random.normal(k, leaf.shape, leaf.dtype)
            for k, leaf in zip(keys[1:], leaves, strict=True)
        ]
        size = sum(leaf.size for leaf in leaves)
        length = self.schedule["radius"] * jax.random.uniform(keys[0]) ** (1.0 / size)
        scale = length / _norm(draws)
        return jax.tree.unflatten(shape, [(scale * draw).astype(draw.dtype) for draw in draws])


def _norm(tree: Any) -> Any:
    """The Euclidean norm over all leaves together."""
    import jax
    import jax.numpy as jnp

    return jnp.sqrt(sum(jnp.sum(jnp.square(leaf)) for leaf in jax.tree.leaves(tree)))
