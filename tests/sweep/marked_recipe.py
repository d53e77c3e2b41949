"""A recipe that leaves marks; without numpy, so that the processes which tests kill by the hundred
start fast.
"""

import os
import random
import time
from pathlib import Path


def marked(a, seed, folder, pause=0.0):
    """Leaves one line for every execution that came to its end, then returns."""
    time.sleep(pause)
    value = random.Random(f"{a} {seed}").gauss()  # noqa: S311
    with open(Path(folder) / f"{os.getpid()}.marks", "a", encoding="ascii") as marks:
        marks.write(f"{a} {seed}\n")
    return {"value": value, "sign": value > 0}
