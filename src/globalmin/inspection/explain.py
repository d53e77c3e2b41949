"""`explain`: every lemma of a chapter along a run of yours, slack by step, what was promised and
what happened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from globalmin.errors import DataError
from globalmin.facts.explanation import Explanation
from globalmin.optimize.run import Run

if TYPE_CHECKING:
    from globalmin._types import ArrayLike


def explain(
    run: Run[Any] | ArrayLike,
    data: Any = None,
    *,
    teacher: ArrayLike | None = None,
    step_size: float | None = None,
    accuracy: float | None = None,
    seed: int = 0,
) -> Explanation:
    """What theory says of a run that was made: every lemma of its chapter with its slack by step,
    what the theorems promise, what happened, and one picture.

    Parameters
    ----------
    run : Run | ArrayLike
        What `gm.train`, `gm.factorize`, `one_filter.train.population_run` or
        `patches.train.fit_filter` returned, by gradient descent; what `gm.landscape.follow_octopus`
        returned; what `balancedness.runs.follow_flow` or `follow_descent` returned. Or the points
        of any optimizer on an octopus, one row per step.
    data : Any
        What it was trained on: a Dataset for a shallow network, the FilterTeacher for one filter
        with a head, patches n x k x p for one filter with averages, the matrix for factors, the
        Octopus for points on it. Runs of `follow_octopus`, `follow_flow` and `follow_descent` know
        it themselves.
    teacher : ArrayLike | None
        For patches: the filter that made the labels; the learned one by default.
    step_size : float | None
        For patches and factors: the step of the run; found from the losses, or the default one.
        For points on an octopus: the step, if they are gradient descent.
    accuracy : float | None
        For factors: the eps of Theorem 4.4; 1 % of the norm of the matrix by default.
    seed : int
        For patches: of the directions along which constants are measured.

    Returns
    -------
    Explanation
        Print it, `plot()` it, or read `lemmas` and `promises`.

    Raises
    ------
    DataError
        For a run that no chapter speaks of, and for data it was not made on.

    Examples
    --------
    >>> import globalmin as gm
    >>> data = gm.generators.sphere_with_random_labels(8, 5, seed=0)
    >>> net = gm.ShallowNetwork.initialize(data, width=40, activation="softplus", seed=0)
    >>> run = gm.train(net, data, method="gradient_descent", max_iter=50)
    >>> gm.explain(run, data).holds
    True
    """
    from globalmin.factorization.train import FactorizationRun
    from globalmin.one_filter.train import OneFilterRun
    from globalmin.patches.train import FilterRun
    from globalmin.shallow.trajectory import ShallowRun

    told = _told_by_itself(run, data, step_size)
    if told is not None:
        return told
    if data is None:
        raise DataError("data: give what the run was trained on, as in gm.explain(run, data)")
    if isinstance(run, ShallowRun):
        from globalmin.inspection.explain_shallow import explain_shallow

        return explain_shallow(run, data)
    if isinstance(run, OneFilterRun):
        from globalmin.one_filter import explain as one_filter

        return one_filter.explain_run(run, data)
    if isinstance(run, FilterRun):
        from globalmin.patches import explain as patches

        return patches.explain_run(run, data, teacher=teacher, step_size=step_size, seed=seed)
    if isinstance(run, FactorizationRun):
        from globalmin.factorization import explain as factors

        return factors.explain_run(run, data, accuracy=accuracy, step_size=step_size)
    raise DataError(
        f"run: no chapter is told along a {type(run).__name__}; give a run of gm.train, "
        "gm.factorize, population_run, fit_filter, follow_octopus, follow_flow or follow_descent"
    )


def _told_by_itself(run: Any, data: Any, step_size: float | None) -> Explanation | None:
    """Runs that know what they were made on, and points on an octopus."""
    from globalmin.balancedness.runs import BalanceRun
    from globalmin.octopus.function import Octopus
    from globalmin.octopus.runs import OctopusRun

    if isinstance(run, OctopusRun):
        from globalmin.octopus import explain as octopus

        if data is not None and data != run.octopus:
            raise DataError(f"data: the run was made on {run.octopus}, not on {data}")
        return octopus.explain_run(run)
    if isinstance(run, BalanceRun):
        from globalmin.balancedness import explain as balancedness

        return balancedness.explain_run(run)
    if isinstance(data, Octopus) and not isinstance(run, Run):
        from globalmin.octopus import explain as octopus

        return octopus.explain_path(data, run, step_size)
    return None
