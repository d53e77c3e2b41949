r"""The head alone, $\min_v \frac12\|\Phi v - y\|^2$ with $\Phi = \phi(XW^T)$: solved, not descended
(OS section 3).
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Unpack

import numpy as np

from globalmin._types import Array
from globalmin.data.validation import require_memory
from globalmin.errors import DataError
from globalmin.optimize.follow import End, Iterate
from globalmin.optimize.follow import follow as follow_all
from globalmin.optimize.run import Status
from globalmin.references import states
from globalmin.shallow.degenerate import pose
from globalmin.shallow.trajectory import Options, shallow_run, shallow_watch

if TYPE_CHECKING:
    from globalmin.shallow.network import ShallowNetwork
    from globalmin.shallow.problem import HasData, Point
    from globalmin.shallow.trajectory import ShallowRun

REFINEMENTS = 2  # each lowers the error of the normal equations to that of one residual


@states("OS-T3.2")
def least_squares(network: ShallowNetwork, data: HasData, **options: Unpack[Options]) -> ShallowRun:
    r"""The head of least norm among those of least loss, for the hidden weights as they are.

    $\hat v = \Phi^+ y$ by a singular value decomposition: singular values below $\max(n, k)$ units
    in the last place of the largest count as zero. With full row rank (OS-T3.2 says how many random
    features give it) the loss is zero and $\hat v = \Phi^T(\Phi\Phi^T)^{-1}y$.

    Parameters
    ----------
    network, data : the hidden weights (the head is replaced) and the data.
    options : as in `globalmin.train`; `trained` must be "v", and `max_iter` has no effect.

    Theory
    ------
    OS-T3.2.
    """
    trained = options.get("trained", "v")
    if trained != "v":
        raise DataError(
            f"method='least_squares' trains the head alone, and trained={trained!r}; give "
            "trained='v', or another method"
        )
    start = pose(network, data, trained)
    (n, _), k = start.problem.X.shape, network.width
    require_memory(
        8 * (3 * n * k + min(n, k) * (n + k)), f"the {n} x {k} features and their factors"
    )
    asked: Options = {**options, "max_iter": None}  # there is one step
    watch = shallow_watch(network, start, asked, method="least_squares", default_max_iter=2)
    return shallow_run(watch, follow_all(watch, _solution(start)))


def _solution(start: Point) -> Generator[Iterate[Point], None, End[Point]]:
    v, rank = least_norm_head(start.features, start.problem.y)
    point = start.with_head(v)
    yield Iterate(point)
    note = (
        f"the least loss over all heads, {point.in_words()} (rank {rank} of {len(v)} features at "
        f"{len(start.problem.y)} samples)"
    )
    return End(Status.CONVERGED, point, note)


def least_norm_head(Phi: Array, y: Array) -> tuple[Array, int]:
    r"""$\Phi^+ y$ and the numerical rank of $\Phi$, refined by the residual."""
    left, singular, right = np.linalg.svd(Phi, full_matrices=False)
    limit = max(Phi.shape) * np.finfo(np.float64).eps * float(singular[0])
    rank = int(np.count_nonzero(singular > limit))
    left, singular, right = left[:, :rank], singular[:rank], right[:rank]
    v = np.zeros(Phi.shape[1])
    for _ in range(1 + REFINEMENTS):
        v = v + right.T @ ((left.T @ (y - Phi @ v)) / singular)
    return v, rank
