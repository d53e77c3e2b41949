r"""Mean decay of stochastic gradient descent over many runs, against what a theorem promises: OS-C4
at the given weights, or OS-T2.6 (2.10).
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array, NDArray
from globalmin.activations.moments import slope_coefficients
from globalmin.drawing import BLUE, DASHED, RED, SIZE, style
from globalmin.errors import DataError, HypothesisError
from globalmin.kernels.rates import printed_stochastic_guarantee
from globalmin.linalg.spectrum import extremes
from globalmin.references import states
from globalmin.shallow.degenerate import pose
from globalmin.shallow.methods.gradient_descent import check_step
from globalmin.shallow.methods.sgd_kernel import CODES, NOWHERE, Rule, Sampler
from globalmin.shallow.sgd_guarantee import StochasticGuarantee, guarantee_at
from globalmin.shallow.step_sizes import sgd_step, spectral_norm, stochastic_nu

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from globalmin.shallow.network import ShallowNetwork
    from globalmin.shallow.problem import HasData, Point

BAND = 1.96  # standard errors of the band that is drawn, 95 % at each time
JUDGED = 4.0  # standard errors that a mean may be above the bound: 30 times at once, below 1e-3
WORK = 1_000_000  # updates of all runs together, unless told
DECAYED = 100.0  # factor by which the bound falls in the updates made, where the work allows
THEOREMS = ("OS-C4", "OS-T2.6")


@dataclass(frozen=True, eq=False)
class SGDDecay:
    r"""What so many runs did, and what was promised.

    Attributes
    ----------
    theorem : "OS-C4" or "OS-T2.6".
    guarantee : its step, factor per update, radius and failure probability.
    step_size : of the runs.
    updates : the times t that were looked at.
    mean, error : mean over the runs of $\|r_t\|^2 1\{t < T\}$, T the first time outside of the
        radius, and its standard error.
    bound : $\mathrm{rate}^t\|r_0\|^2$.
    exits : runs that left the radius.
    """

    theorem: str
    guarantee: StochasticGuarantee
    step_size: float
    runs: int
    updates: NDArray[np.int64]
    mean: Array = field(repr=False)
    error: Array = field(repr=False)
    bound: Array = field(repr=False)
    exits: int

    @property
    def low(self) -> Array:
        """Lower end of the 95 % band of the mean."""
        return np.maximum(self.mean - BAND * self.error, 0.0)

    @property
    def high(self) -> Array:
        """Upper end of the 95 % band of the mean."""
        return self.mean + BAND * self.error

    @property
    def excess(self) -> float:
        """The largest number of standard errors by which a mean is above the bound (rounding
        aside); infinite where runs overflowed.
        """
        over = self.mean - self.bound * (1.0 + 1e-9)
        if not np.isfinite(over).all():
            return math.inf
        return float(np.max(over / np.maximum(self.error, 1e-300)))

    @property
    def exit_probability(self) -> float:
        """The probability of at least so many exits if each has the promised probability."""
        from scipy.stats import binom

        return float(binom.sf(self.exits - 1, self.runs, self.guarantee.failure))

    @property
    def is_consistent(self) -> bool:
        """Whether the runs agree with the theorem: no mean is more than 4 standard errors above the
        bound, and the exits are not more than chance allows (probability 1e-6).
        """
        return self.excess <= JUDGED and self.exit_probability > 1e-6

    def figure(self) -> Figure:
        """The mean with its band and the bound, logarithmic; draw inside `drawing.style()`."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=SIZE, layout="constrained")
        axes = figure.add_subplot()
        axes.fill_between(self.updates, self.low, self.high, color=BLUE, alpha=0.25, linewidth=0)
        axes.plot(self.updates, self.mean, color=BLUE, label=f"mean of {self.runs} runs, 95 % band")
        axes.plot(
            self.updates, self.bound, color=RED, linestyle=DASHED, label=f"bound of {self.theorem}"
        )
        axes.set_yscale("log")
        axes.set_xlabel("update t")
        axes.set_ylabel("‖r‖² while inside the radius")
        axes.legend()
        return figure

    def plot(self, path: str | os.PathLike[str]) -> Path:
        """Write the figure; the ending says which kind of file."""
        path = Path(path)
        with style():
            self.figure().savefig(path, dpi=130)
        return path


@states("OS-C4", "OS-T2.6")
def sgd_decay(
    network: ShallowNetwork,
    data: HasData,
    *,
    theorem: str = "OS-C4",
    runs: int = 200,
    updates: int | None = None,
    step_size: float | None = None,
    points: int = 30,
    failure: float = 0.1,
    seed: int = 0,
) -> SGDDecay:
    """Run one-sample stochastic gradient descent many times from one network, and compare the mean
    decay with a theorem.

    Parameters
    ----------
    network : ShallowNetwork
        The start of every run; hidden weights are trained. OS-C4 wants weights near a fit, such as
        those of `train(until="descent")`; OS-T2.6 a random start of the scheme "os" and rows of
        norm 1.
    data : HasData
        Anything with X and y, such as a `Dataset`.
    theorem : str
        "OS-C4" or "OS-T2.6".
    runs : int
        Number of runs, each with samples of its own.
    updates : int | None
        Updates of a run; by default until the bound has fallen by 100, and at most a million in all
        runs together.
    step_size : float | None
        By default the step of the theorem. The bound stays that of the theorem: another step shows
        what it is worth.
    points : int
        Times at which the loss is looked at.
    failure : float
        For OS-T2.6: failure probability of its event.
    seed : int
        Of the samples.

    Returns
    -------
    SGDDecay
        With `mean`, `low`, `high`, `bound`, `exits`, `is_consistent` and `plot(path)`.

    Raises
    ------
    HypothesisError
        If a hypothesis of the theorem fails.
    """
    start = pose(network, data, "W")
    _check(network, theorem, runs, points)
    promised = (
        guarantee_at(network, start)
        if theorem == "OS-C4"
        else _at_random_start(network, start, failure)
    )
    eta = promised.step_size if step_size is None else check_step(step_size)
    times = _times(promised, runs, updates, points)
    squares, exits = _many(network, start, eta, promised.radius, times, runs=runs, seed=seed)
    with np.errstate(over="ignore", invalid="ignore"):
        mean, error = squares.mean(axis=0), squares.std(axis=0, ddof=1) / math.sqrt(runs)
    bound = promised.envelope(times, start.square)
    return SGDDecay(theorem, promised, eta, runs, times, mean, error, bound, exits)


def _check(network: ShallowNetwork, theorem: str, runs: int, points: int) -> None:
    if theorem not in THEOREMS:
        raise DataError(f"theorem={theorem!r} is unknown; give one of {', '.join(THEOREMS)}")
    if int(runs) != runs or runs < 2 or int(points) != points or points < 2:
        raise DataError(f"runs={runs!r} and points={points!r} must be whole numbers >= 2")
    if network.activation.name not in CODES:
        raise DataError(
            f"the compiled runs know {', '.join(CODES)}, and the activation is "
            f"{network.activation}; follow single runs by train(method='sgd')"
        )


def _at_random_start(network: ShallowNetwork, start: Point, failure: float) -> StochasticGuarantee:
    """OS-T2.6 on these data; its hypotheses are those of its step."""
    X, y, phi = start.problem.X, start.problem.y, network.activation
    if not 0.0 < failure < 1.0:
        raise DataError(f"failure={failure!r} must be a probability between 0 and 1")
    if not np.allclose(np.linalg.norm(X, axis=1), 1.0, rtol=1e-9):
        raise HypothesisError(
            "OS-T2.6 (2.10) is about rows of norm 1; use Dataset(..., scaling='rows') or the "
            "theorem 'OS-C4'",
            hypothesis="rows of norm 1",
        )
    sgd_step(X, y, phi, n_weights=network.W.size, failure=failure)
    mu = abs(float(slope_coefficients(phi, 2)[1]))
    sigma, B = math.sqrt(extremes((X @ X.T) ** 2).low), float(phi.supremum(1))
    norms = {"B": B, "X_norm": spectral_norm(X), "n_weights": network.W.size}
    nu = stochastic_nu(mu * sigma, failure=failure, **norms)
    y_norm = float(np.linalg.norm(y))
    return printed_stochastic_guarantee(len(y), mu, sigma, y_norm=y_norm, nu=nu, **norms)


def _times(
    promised: StochasticGuarantee, runs: int, updates: int | None, points: int
) -> NDArray[np.int64]:
    if updates is None:
        wanted = math.log(DECAYED) / max(1.0 - promised.rate, 1e-300)
        updates = int(min(math.ceil(wanted), WORK // runs))
    if int(updates) != updates or updates < 1:
        raise DataError(f"updates={updates!r} must be a whole number >= 1, or None")
    return np.unique(np.linspace(0, updates, points).round().astype(np.int64))


def _many(
    network: ShallowNetwork,
    start: Point,
    eta: float,
    radius: float,
    times: NDArray[np.int64],
    *,
    runs: int,
    seed: int,
) -> tuple[Array, int]:
    """||r||^2 of every run at every time, zero once it has been outside of the radius, and how many
    were.
    """
    problem, phi = start.problem, network.activation
    rule = Rule(CODES[phi.name], float(phi.parameter or 0.0), eta, True, False, radius)
    squares, exits = np.zeros((runs, len(times))), 0
    squares[:, 0] = start.square
    for run in range(runs):
        rng = np.random.default_rng([seed, run])
        sampler = Sampler(problem.X, problem.y, start.W, start.v, rule)
        for place, steps in enumerate(np.diff(times), start=1):
            _, left_at = sampler.run(rng.integers(len(problem.y), size=(int(steps), 1)))
            if left_at != NOWHERE:
                exits += 1
                break
            with np.errstate(over="ignore", invalid="ignore"):
                squares[run, place] = problem.at(sampler.W, start.v).square
    return squares, exits
