"""What every executor's worker does with a task: find the recipe, run its trials, encode what came
of them.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import sys
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from globalmin.errors import PlanError
from globalmin.sweep.canonical import encode_result
from globalmin.sweep.ledger import Outcome, Trial
from globalmin.sweep.recipe import Recipe, code_version, find_recipe
from globalmin.sweep.task import Task

Finished = tuple[Outcome, dict[str, bytes]]


def run_task(task: Task) -> Iterator[Finished]:
    """Outcomes one by one, or all at the end for a batch. Raises PlanError if this worker's code is
    not the driver's.
    """
    recipe = find_recipe(task.recipe, task.paths)
    code = code_version(task.recipe, recipe)
    if code != task.code:
        raise PlanError(
            f"a worker has another version of {task.recipe} ({code}) than the driver "
            f"({task.code}); install the same"
        )
    if task.batch:
        yield from _run_batch(recipe, task)
    else:
        for trial in task.trials:
            yield _run_trial(recipe, trial, task.timeout)


def _run_trial(recipe: Recipe, trial: Trial, timeout: float | None) -> Finished:
    start = time.perf_counter()
    parameters = json.loads(trial.parameters)
    try:
        with _deadline(timeout):
            result = recipe(**parameters, seed=trial.seed)
        return _success(trial, parameters, result, time.perf_counter() - start)
    except BaseException as error:
        return _failure(trial, error, time.perf_counter() - start), {}


def _run_batch(recipe: Recipe, task: Task) -> list[Finished]:
    start = time.perf_counter()
    sets = [{**json.loads(trial.parameters), "seed": trial.seed} for trial in task.trials]
    try:
        with _deadline(task.timeout):
            results = list(recipe.batch([dict(one) for one in sets]))  # pyright: ignore[reportFunctionMemberAccess]
        if len(results) != len(sets):
            raise ValueError(
                f"{task.recipe}.batch returned {len(results)} results for {len(sets)} trials; "
                "return one for each"
            )
    except BaseException:
        if len(sets) > 1:  # whose fault it is, only running them one by one can tell
            return [_run_batch(recipe, _single(task, trial))[0] for trial in task.trials]
        error = sys.exc_info()[1] or RuntimeError("unknown")
        return [(_failure(task.trials[0], error, time.perf_counter() - start), {})]
    seconds = (time.perf_counter() - start) / len(sets)
    return [
        _batched(trial, one, result, seconds)
        for trial, one, result in zip(task.trials, sets, results, strict=True)
    ]


def _single(task: Task, trial: Trial) -> Task:
    return Task(
        task.key,
        task.recipe,
        task.code,
        (trial,),
        batch=True,
        timeout=task.timeout,
        paths=task.paths,
    )


def _batched(
    trial: Trial, parameters: Mapping[str, Any], result: object, seconds: float
) -> Finished:
    if isinstance(result, BaseException):
        return _failure(trial, result, seconds), {}
    try:
        return _success(trial, [name for name in parameters if name != "seed"], result, seconds)
    except (TypeError, ValueError) as error:
        return _failure(trial, error, seconds), {}


def _success(
    trial: Trial, parameters: Sequence[str] | Mapping[str, Any], result: object, seconds: float
) -> Finished:
    text, blobs = encode_result(result, parameters)
    return Outcome(trial.id, text, None, seconds, tuple(blobs)), blobs


def _failure(trial: Trial, error: BaseException, seconds: float) -> Outcome:
    trace = error.__traceback__
    ours = trace is not None and trace.tb_frame.f_code.co_filename == __file__
    error = error.with_traceback(
        trace.tb_next if ours and trace else trace
    )  # the reader wants the recipe's frames only
    return Outcome(trial.id, None, "".join(traceback.format_exception(error)), seconds)


@contextlib.contextmanager
def _deadline(timeout: float | None) -> Iterator[None]:
    """End this process when the block takes longer: the only way that stops compiled code too. The
    driver sees a dead worker.
    """
    if timeout is None:
        yield
        return
    faulthandler.dump_traceback_later(
        timeout, exit=True, file=2 if CRASH_LOG is None else CRASH_LOG
    )
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


CRASH_LOG: int | None = None  # file descriptor where a dying local worker leaves its traceback
