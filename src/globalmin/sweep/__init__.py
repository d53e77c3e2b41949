"""Sweeps: many trials of one recipe, on local processes, Dask or Ray, that survive kill -9 and
compute nothing twice.

>>> from globalmin import sweep
>>> grid = {"width": [5, 10], "n": [20, 40]}
>>> plan = sweep.Plan("my_module:train", grid=grid, fixed={"d": 5}, seeds=10)
>>> sweep.run(plan, "out", executor="local", workers=2)  # doctest: +SKIP
Summary(total=40, done=40, failed=0, ...)
>>> sweep.export("out", "out.parquet")  # doctest: +SKIP

**Plan.** `Plan(recipe, grid=None, trials=None, fixed=None, seeds=1, name="", batch_size=None,
timeout=None)`, or `Plan.from_toml(path)` with the same keys. `recipe` is "package.module:function"
or the function itself (top level of an importable module). `grid` maps a parameter to its list of
values (product, the last axis runs fastest); `trials` is a list of parameter dicts instead of it;
`fixed` goes into every trial; `seeds` is a count (0, 1, ...) or a list. A trial is one parameter
dict with one seed; seeds run fastest.

**Recipe.** `recipe(**parameters, seed) -> dict` of scalars (bool, int, float with nan and inf, str,
None; numpy scalars too) and numpy arrays. It must not repeat a parameter's name. An exception fails
that trial alone; its traceback is kept. Optional attributes: `recipe.batch`, a function that takes
a list of parameter dicts (each with its "seed") and returns a list of results or exceptions of the
same length, so that thousands of tiny trainings are one task and one transaction; `recipe.version`,
any text, to be changed when code outside the recipe's module changes its results. Trial id =
SHA-256 of recipe, parameters, seed and code version.

**Run.** `run(plan, folder, executor="local", workers=None, *, address=None, progress=None) ->
Summary`; calling it again on the same folder computes only what is missing; with a changed plan,
trials already there are kept. `resume(folder, ...)` does the same from the stored plan. `executor`
is "local" (spawned processes), "dask" or "ray" (`address` of a scheduler, or a local cluster of
`workers`). Failed trials never stop a sweep: look at `Summary.failed`. Ctrl-C records what is
running, then raises `Interrupted` (a KeyboardInterrupt).

**Read.** `status(folder) -> Status`; `rows(folder, arrays=False) -> list[dict]` in plan order:
trial, parameters, seed, status ("done", "failed", "waiting"), results, error; with `arrays=True`
arrays come as numpy arrays, else as "sha256:..." texts; `export(folder, path)` writes the same
table; `failures(folder)` gives the tracebacks; `gc(folder)` removes what killed runs left behind.

Errors: `PlanError` (what the plan says), `StoreError` (the folder), both from `globalmin.errors`.
"""

from globalmin.sweep.driver import Interrupted, Summary, resume, run
from globalmin.sweep.plan import Plan
from globalmin.sweep.reading import Failure, Status, export, failures, gc, rows, status

__all__ = [
    "Failure",
    "Interrupted",
    "Plan",
    "Status",
    "Summary",
    "export",
    "failures",
    "gc",
    "resume",
    "rows",
    "run",
    "status",
]
