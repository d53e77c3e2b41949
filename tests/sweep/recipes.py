"""Recipes for the tests of sweeps; cheap, seeded, and leaving marks where a test wants to count
executions.
"""

import os
import signal
import time
from pathlib import Path

import numpy as np
from tests.sweep.marked_recipe import marked


def product(a, b, seed, scale=1.0):
    """Scalars of every kind and one array."""
    rng = np.random.default_rng(seed)
    return {
        "loss": scale * a * b + rng.random(),
        "count": int(rng.integers(10)),
        "even": a % 2 == 0,
        "word": f"{a}-{b}",
        "nothing": None,
        "diverged": float("inf") if a == 0 else float("nan"),
        "curve": rng.random(3),
    }


def poisoned(a, seed, folder, pause=0.0):
    """Some trials raise, some end their worker in ugly ways."""
    if a == 1:
        raise ValueError(f"no luck with seed {seed}")
    if a == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    if a == 3:
        os._exit(7)
    if a == 4:
        raise SystemExit("leaving")
    return marked(a, seed, folder, pause)


def sleeper(a, seed):
    """Takes for ever when a is 1."""
    time.sleep(3600 if a == 1 else 0)
    return {"value": a}


def wrong(kind, seed):
    """Results that no table can hold."""
    return {
        "list": {"x": [1, 2]},
        "no dict": 3,
        "key": {1: 2},
        "taken": {"kind": "x"},
        "reserved": {"seed": 1},
        "objects": {"x": np.array([None])},
        "class": {"x": object()},
    }[kind]


def batched(a, seed, folder=""):
    """What one trial of the batch computes."""
    return {"value": a + seed / 10, "line": np.full(2, a)}


def _batch(sets):
    if any(one["a"] == 7 for one in sets) and len(sets) > 1:
        raise RuntimeError("this batch cannot be computed at once")
    for one in sets:
        if one["folder"]:
            with open(Path(one["folder"]) / f"{os.getpid()}.marks", "a", encoding="ascii") as marks:
                marks.write(f"{one['a']} {one['seed']}\n")
    if any(one["a"] == 9 for one in sets):
        os.kill(os.getpid(), signal.SIGKILL)
    return [ValueError("five") if one["a"] == 5 else batched(one["a"], one["seed"]) for one in sets]


batched.batch = _batch


def short_batch(a, seed):
    """A batch that forgets a result."""
    return {"value": a}


short_batch.batch = lambda sets: [{"value": one["a"]} for one in sets[1:]]


def needs_nothing_else(a, *, seed, b=2):
    """Keyword-only seed and a default."""
    return {"value": a + b}


not_callable = 3


def heavy(a, seed):
    """An array of 8 kB."""
    return {"x": np.full(1000, float(a))}


def poisoned_product(a, b, seed):
    """`product`, except for lists."""
    if isinstance(b, list):
        raise ValueError("no lists here")
    return product(a, b, seed)


def poisoned_array(a, seed, folder, pause=0.0):
    """`poisoned` with an array in its result."""
    return {**poisoned(a, seed, folder, pause), "line": np.full(3, a + seed / 10)}
