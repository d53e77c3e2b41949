"""ReLU networks with weight decay, all columns: our training beside torch's L-BFGS and pyscnn's
convex program on one table; the objective judges everybody. More tables, seeds and decays:
docs/peers.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from bench.contests.contest import Contender, Contest, Outcome
from bench.peer_objectives import judged, problem_of, pyscnn_network, torch_network

import globalmin as gm
from globalmin.regularized.network import RegularizedNetwork

TABLES = (("linnerud", "20 x 3"), ("diabetes", "442 x 10"))
SHARE = 0.3  # of the least decay without neurons


def contests() -> Iterator[Contest]:
    """A tiny table and a small one."""
    for table, shape in TABLES:
        yield _contest(table, shape)


def _contest(table: str, shape: str) -> Contest:
    problem = problem_of(table, "all", SHARE)
    options: dict[str, Any] = {"weight_decay": problem.penalty.weight_decay, "scaling": "none"}
    options |= {"certify": False, "random_state": 0}

    def trained() -> RegularizedNetwork:
        network: Any = gm.ReluNetworkRegressor(**options).fit(problem.X, problem.y).networks_[0]
        return network

    first = trained()
    least = judged(first, problem)["objective"]

    def over(train: Callable[[], RegularizedNetwork]) -> Outcome:
        return Outcome(judged(train(), problem)["objective"] / least)

    peers = {
        "globalmin": trained,
        "torch L-BFGS": partial(torch_network, problem, "L-BFGS", 0),
        # it has no intercept and gets labels less ours
        "pyscnn": partial(pyscnn_network, problem, float(first.intercept), 0),
    }
    return Contest(
        "ReLU network with weight decay",
        f"{table}, {shape}",
        [Contender(name, partial(over, train)) for name, train in peers.items()],
        "objective over ours",
    )
