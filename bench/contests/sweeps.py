"""Trivial trials, two workers, by the clock with start-up: our engine, which keeps every record on
disk, beside joblib, Dask and Ray bare, which keep none.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterator

from bench.contests.contest import Contender, Contest, Outcome

from globalmin import sweep

LOCAL, CLUSTER, WORKERS = 5_000, 1_000, 2


def trial(x: int, seed: int) -> dict[str, float]:
    """Nothing, so that only the engine is measured."""
    return {"value": float(x * x + seed)}


def ours(count: int, executor: str) -> Outcome:
    """A plan of `count` trials in a fresh folder."""
    plan = sweep.Plan("bench.contests.sweeps:trial", grid={"x": list(range(count))}, paths=["."])
    with tempfile.TemporaryDirectory() as folder:
        done = sweep.run(plan, folder, executor, WORKERS, progress=False)
    return Outcome(float(done.computed))


def bare_joblib(count: int) -> Outcome:
    """joblib.Parallel; its processes are ended, so that the next run starts them as ours does."""
    from joblib import Parallel, delayed
    from joblib.externals.loky import get_reusable_executor

    done = list(Parallel(n_jobs=WORKERS)(delayed(trial)(x, 0) for x in range(count)))
    get_reusable_executor().shutdown(wait=True)
    return Outcome(float(len(done)))


def bare_dask(count: int) -> Outcome:
    """dask.distributed, a local cluster, `client.map`."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=WORKERS,
            threads_per_worker=1,
            dashboard_address=None,
            silence_logs=logging.ERROR,
        ) as cluster,
        Client(cluster) as client,
    ):
        done = client.gather(client.map(trial, range(count), [0] * count))
    return Outcome(float(len(done)))


def bare_ray(count: int) -> Outcome:
    """ray.remote."""
    import ray

    ray.init(num_cpus=WORKERS, include_dashboard=False, logging_level=logging.ERROR)
    try:
        remote = ray.remote(trial)
        done = ray.get([remote.remote(x, 0) for x in range(count)])
    finally:
        ray.shutdown()
    return Outcome(float(len(done)))


def contests() -> Iterator[Contest]:
    """Local processes, then the two clusters."""
    local = [
        Contender("globalmin", lambda: ours(LOCAL, "local")),
        Contender("joblib, bare", lambda: bare_joblib(LOCAL)),
    ]
    yield Contest("sweep", f"{LOCAL:,} trials, processes", local, "trials", clock="wall")
    for name, bare in (("dask", bare_dask), ("ray", bare_ray)):
        pair = [
            Contender("globalmin", lambda name=name: ours(CLUSTER, name)),
            Contender(f"{name}, bare", lambda bare=bare: bare(CLUSTER)),
        ]
        size = f"{CLUSTER:,} trials, {name}"
        yield Contest("sweep", size, pair, "trials", clock="wall", is_quick=False)
