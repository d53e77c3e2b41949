"""CVXPY with Clarabel or SCS on the convex problem behind a quadratic network, for
`bench.quadratic`.

They are in the environment of the peers (`scripts/peers.sh` makes it and prints its python), not in
that of `make setup`. A peer works in a forked copy of this process under limits on its CPU seconds
and memory, because solvers look at their own time limit only between iterations, which can take an
hour.
"""

from __future__ import annotations

import importlib.util
import multiprocessing
import os
import resource
import signal
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

NAMES = {"CLARABEL": "clarabel", "SCS": "scs"}
INSTALL = "run this with the python that scripts/peers.sh prints"
Result = TypeVar("Result")


@dataclass(frozen=True)
class Limits:
    """What a peer may use."""

    seconds: float
    gib: float


@dataclass(frozen=True)
class PeerOutcome:
    """CPU seconds (canonicalization included), the symmetric matrix found or None, and the reason
    if there is none.
    """

    seconds: float
    M: np.ndarray | None
    reason: str


def installed(names: list[str]) -> list[str]:
    """Those of the peers that are installed."""
    return [name for name in names if all(map(importlib.util.find_spec, ("cvxpy", NAMES[name])))]


def best_time(work: Callable[[], Result]) -> tuple[float, Result]:
    """Least CPU seconds of up to five runs (one if it takes long), and the result."""
    times: list[float] = []
    while True:
        began = time.process_time()
        result = work()
        times.append(time.process_time() - began)
        if len(times) == 5 or sum(times) > 0.5:
            return min(times), result


def run_peer(
    solver: str, data: tuple[np.ndarray, np.ndarray], *, signs: str, c: float, limits: Limits
) -> PeerOutcome:
    r"""One peer on $\min \tfrac12\|A(M) - y\|^2 + c\|M\|_*$, over M >= 0 for signs = "positive"."""
    return run_within(limits, lambda: _solve(solver, data, signs, c))


def run_within(limits: Limits, solve: Callable[[], PeerOutcome]) -> PeerOutcome:
    """The outcome of `solve` in a forked copy of this process, ended by the kernel if it uses more
    CPU seconds than allowed.
    """
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_work, args=(sender, limits, solve))
    child.start()
    sender.close()
    try:
        outcome = receiver.recv()
    except EOFError:
        outcome = None
    child.join()
    if outcome is not None:
        return outcome
    is_late = child.exitcode == -signal.SIGXCPU
    return PeerOutcome(
        limits.seconds, None, ">limit" if is_late else f"ended by signal {-(child.exitcode or 0)}"
    )


def _work(sender: Any, limits: Limits, solve: Callable[[], PeerOutcome]) -> None:
    seconds, size = int(limits.seconds), int(limits.gib * 2**30)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # a solver out of memory may report it at length
    began = time.process_time()
    try:
        outcome = solve()
    except MemoryError:
        outcome = PeerOutcome(time.process_time() - began, None, f"out of {limits.gib:g} GiB")
    except Exception as failure:  # whatever a peer raises is its result
        outcome = PeerOutcome(time.process_time() - began, None, str(failure).split(".")[0])
    sender.send(outcome)


def _solve(solver: str, data: tuple[np.ndarray, np.ndarray], signs: str, c: float) -> PeerOutcome:
    X, y = data
    seconds, found = best_time(lambda: _solved(solver, X, y, signs, c))
    M, status = found
    return PeerOutcome(seconds, M, "" if M is not None else status)


def convex_point(solver: str, X: np.ndarray, y: np.ndarray, c: float) -> np.ndarray:
    """The symmetric matrix that a solver finds for heads of both signs; one that finds none raises
    ArithmeticError.
    """
    M, status = _solved(solver, X, y, "mixed", c)
    if M is None:
        raise ArithmeticError(f"{solver}: {status}")
    return M


def _solved(
    solver: str, X: np.ndarray, y: np.ndarray, signs: str, c: float
) -> tuple[np.ndarray | None, str]:
    """Build the problem and solve it: the matrix, made feasible, and the solver's word."""
    import cvxpy as cp

    d = X.shape[1]
    rows, columns = np.triu_indices(d)
    S = X[:, rows] * X[:, columns] * np.where(rows == columns, 1.0, 2.0)
    parts = [cp.Variable((d, d), PSD=True) for _ in range(1 if signs == "positive" else 2)]
    M = parts[0] if len(parts) == 1 else parts[0] - parts[1]
    residual = S @ cp.vec(M, order="C")[rows * d + columns] - y
    penalty = c * sum(cp.trace(part) for part in parts)
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(residual) + penalty))
    options = {"SCS": {"max_iters": 100_000}}.get(solver, {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem.solve(solver=solver, **options)
    values = [part.value for part in parts]
    if any(value is None for value in values):
        return None, str(problem.status)
    cones = [positive_part((value + value.T) / 2.0) for value in values]
    return (cones[0] if len(cones) == 1 else cones[0] - cones[1]), str(problem.status)


def positive_part(M: np.ndarray) -> np.ndarray:
    """The nearest positive semidefinite matrix: a peer's point is made feasible before it is
    judged.
    """
    eigenvalues, vectors = np.linalg.eigh(M)
    return (vectors * np.maximum(eigenvalues, 0.0)) @ vectors.T
