"""Optimizers on the octopus: how many gradients until the minimum, for d = 2 to 20, and which get
stuck at which saddle.

Run `python -m bench.octopus_optimizers docs` for the table of docs/octopus.md and its picture
(about a CPU minute); without an argument the table is printed only. Every method gets the same
starts, uniform on the cube, and its own default tolerances; what counts is the first point within
0.1 of a minimum at which it asks for a gradient (Nelder-Mead and Powell: for a value).
"""

from __future__ import annotations

import contextlib
import math
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402  (the number of threads is read at import)
import scipy.optimize  # noqa: E402

import globalmin as gm  # noqa: E402
from globalmin.drawing import COLORS, save  # noqa: E402

DIMENSIONS = (2, 3, 5, 10, 15, 20)
STARTS = 3
LIMIT = 5_000
NEAR = 0.1
BEGIN, END = "<!-- bench.octopus_optimizers -->", "<!-- end -->"


class Arrival(Exception):
    """The optimizer asked for a point near a minimum, or for more than the limit."""


class Count:
    """The octopus of one run: counts what is asked, ends the run at a minimum or at the limit."""

    def __init__(self, d: int, *, values: bool = False) -> None:
        self.octopus, self.values = gm.landscape.ExtendedOctopus(d, L=2.0), values
        self.asked, self.arrived, self.passed = 0, False, 0

    def see(self, x: np.ndarray) -> None:
        """One more gradient at x."""
        if not np.isfinite(x).all():
            raise FloatingPointError(f"not finite after {self.asked} gradients: {x}")
        self.asked += 1
        self.passed = int(self.octopus.stage(x))
        self.arrived = float(self.octopus.distance_to_minimum(x)) < NEAR
        if self.arrived or self.asked >= LIMIT:
            raise Arrival

    def value(self, x: np.ndarray) -> float:
        """The value, counted if the method sees no gradients."""
        if self.values:
            self.see(x)
        return float(self.octopus.value(x))

    def gradient(self, x: np.ndarray) -> np.ndarray:
        """The gradient, counted."""
        self.see(x)
        return self.octopus.gradient(x)


class Result(NamedTuple):
    """What became of one run."""

    asked: int
    arrived: bool
    passed: int
    at_limit: bool


Method = Callable[[Count, np.ndarray], object]
SECOND = ("Newton-CG", "trust-ncg", "trust-krylov", "trust-exact")
FREE = ("Nelder-Mead", "Powell")
SCIPY = ("CG", "BFGS", "L-BFGS-B", "TNC", "SLSQP", *SECOND, *FREE)


def by_scipy(method: str) -> Method:
    """One of scipy's minimizers, with derivatives if it takes them, without a limit of its own."""
    options = {"TNC": {"maxfun": LIMIT}, "L-BFGS-B": {"maxfun": LIMIT, "maxiter": LIMIT}}
    limits = options.get(method, {"maxiter": 20 * LIMIT})

    def run(count: Count, start: np.ndarray) -> object:
        more = {} if method in FREE else {"jac": count.gradient}
        if method in SECOND:
            more["hess"] = count.octopus.hessian
        return scipy.optimize.minimize(count.value, start, method=method, options=limits, **more)

    return run


def by_torch(make: Callable[[list[object]], object]) -> Method:
    """A torch optimizer; gradients in closed form, five times as fast as autograd, which the tests
    compare with them.
    """

    def run(count: Count, start: np.ndarray) -> None:
        import torch

        x = torch.tensor(start, requires_grad=True)
        optimizer = make([x])
        while True:
            x.grad = torch.from_numpy(count.gradient(x.detach().numpy()))
            optimizer.step()  # type: ignore[attr-defined]

    return run


def by_optax(make: Callable[[], object]) -> Method:
    """An optax optimizer in double precision; gradients as for torch."""

    def run(count: Count, start: np.ndarray) -> None:
        import jax
        import optax

        with jax.enable_x64(True):
            optimizer, x = make(), jax.numpy.asarray(start)
            state = optimizer.init(x)  # type: ignore[attr-defined]

            @jax.jit
            def step(slope: jax.Array, x: jax.Array, state: object) -> tuple[jax.Array, object]:
                moves, state = optimizer.update(slope, state, x)  # type: ignore[attr-defined]
                return optax.apply_updates(x, moves), state  # type: ignore[return-value]

            while True:
                x, state = step(count.gradient(np.asarray(x)), x, state)

    return run


def ours(method: str) -> Method:
    """Our second-order methods."""

    def run(count: Count, start: np.ndarray) -> object:
        return gm.minimize(
            count.value,
            start,
            method=method,
            gradient=count.gradient,
            hessian=count.octopus.hessian,
        )

    return run


def methods() -> dict[str, Method]:
    """All of them by name."""
    import optax
    import torch

    noise = {"gradient_threshold": math.e / 100, "radius": math.e / 100, "wait": 1}
    found = {f"scipy {method}": by_scipy(method) for method in SCIPY}
    found["torch SGD"] = by_torch(lambda x: torch.optim.SGD(x, 1 / 8))  # type: ignore[arg-type]
    found["torch SGD, momentum 0.9"] = by_torch(
        lambda x: torch.optim.SGD(x, 1 / 40, momentum=0.9)  # type: ignore[arg-type]
    )
    found["optax Adam"] = by_optax(lambda: optax.adam(0.1))
    found["gm.perturbed_torch"] = by_torch(lambda x: gm.perturbed_torch(x, 1 / 8, **noise))
    found["gm.perturbed_optax around Adam"] = by_optax(
        lambda: gm.perturbed_optax(optax.adam(0.1), **noise)
    )
    found["gm.minimize, trust region"] = ours("trust-exact")
    found["gm.minimize, cubic"] = ours("cubic")
    return found


def measure(name: str, method: Method, d: int, seed: int) -> Result:
    """One run."""
    count = Count(d, values=name.removeprefix("scipy ") in FREE)
    start = np.random.default_rng((d, seed)).uniform(-1.0, 1.0, d)
    with contextlib.suppress(Arrival):
        method(count, start)
    return Result(count.asked, count.arrived, count.passed, count.asked >= LIMIT)


def cell(results: list[Result]) -> str:
    """The median number if all arrive; how many do; or how many saddles were passed."""
    arrived = [r.asked for r in results if r.arrived]
    if len(arrived) == len(results):
        return f"{np.median(arrived):,.0f}"
    if arrived:
        return f"{len(arrived)} of {len(results)}"
    passed = np.median([r.passed for r in results])
    return f"{'limit' if all(r.at_limit for r in results) else 'stuck'} at {passed:.0f}"


def table(found: dict[str, list[str]]) -> str:
    """Markdown."""
    head = " | ".join(f"d = {d}" for d in DIMENSIONS)
    lines = [f"| | {head} |", "|---" * (len(DIMENSIONS) + 1) + "|"]
    return "\n".join(
        [*lines, *(f"| {name} | " + " | ".join(row) + " |" for name, row in found.items())]
    )


SHOWN = ("scipy BFGS", "scipy L-BFGS-B", "torch SGD", "optax Adam", "gm.perturbed_torch",
         "gm.minimize, trust region")  # fmt: skip


def picture(found: dict[str, list[str]], file: Path) -> None:
    """Medians against the dimension, where every start arrives."""

    def draw() -> object:
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6.4, 3.4), layout="constrained")
        axes = figure.add_subplot()
        for name, color in zip(SHOWN, COLORS, strict=True):
            cells = zip(DIMENSIONS, (cell.replace(",", "") for cell in found[name]), strict=True)
            medians = {d: float(cell) for d, cell in cells if cell.isdigit()}
            axes.semilogy(list(medians), list(medians.values()), "o-", color=color, label=name)
        axes.set_xticks(DIMENSIONS)
        axes.set_xlabel("dimension")
        axes.set_title("gradients until the minimum (only where all starts arrive)", fontsize=9)
        axes.legend(fontsize=7, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
        return figure

    save(draw, file)  # type: ignore[arg-type]


def write(found: dict[str, list[str]], docs: Path) -> None:
    """Table and picture into the page."""
    page = docs / "octopus.md"
    before, rest = page.read_text(encoding="utf-8").split(BEGIN)
    text = f"{before}{BEGIN}\n{table(found)}\n{END}{rest.split(END)[1]}"
    page.write_text(text, encoding="utf-8")
    picture(found, docs / "figures" / "octopus-optimizers")


def main() -> None:
    found: dict[str, list[str]] = {}
    for name, method in methods().items():
        found[name] = [
            cell([measure(name, method, d, seed) for seed in range(STARTS)]) for d in DIMENSIONS
        ]
        print(f"| {name} | " + " | ".join(found[name]), flush=True)
    if len(sys.argv) > 1:
        write(found, Path(sys.argv[1]))


if __name__ == "__main__":
    main()
