"""The sweep that the self-test kills."""

from __future__ import annotations

import random
import time

from globalmin.sweep import Plan


def waiting(a: int, seed: int) -> dict[str, float]:
    """A number after a moment."""
    time.sleep(0.02)
    return {"value": random.Random(f"{a} {seed}").random()}  # noqa: S311 - no secret


def plan(trials: int) -> Plan:
    """So many trials."""
    return Plan(waiting, grid={"a": list(range(trials))})
