"""Gradient descent from random starts, proved: how many of the seeds, how many steps and bits, and
what the check costs.

`python -m bench.starts FOLDER` measures what FOLDER does not hold yet, one seed of every setting
after the other, and prints the table of docs/from-start.md; an interrupted run goes on where it
ended, `--table` prints what is there. Everything below was fixed before the first seed was drawn:
the data (never looked at before), the step as a multiple of that of OS-T6.2, and how many seeds.
3.9 times that step is eta beta^2 = 1.95 with beta = sup|phi'| |v| |X|: just below 2, where the
bound of all |J| begins to cost precision.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from fractions import Fraction
from itertools import takewhile
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import globalmin as gm
from globalmin.shallow.from_start import descend, seeded_network
from globalmin.shallow.start_probability import common_step, probability_below

DATA_SEED, MULTIPLE, MAX_ITER = 17, 3.9, 20_000


@dataclass(frozen=True)
class Setting:
    """n rows on the unit sphere of R^d with N(0,1) labels, k neurons, the seeds 0..N-1."""

    activation: str
    n: int
    d: int
    k: int
    N: int

    def __str__(self) -> str:
        return f"{self.activation} ({self.n}, {self.d}, {self.k})"


LIKELY = Setting("tanh", 20, 10, 40, 459)  # all of them: 99 % at 99 % confidence
SETTINGS = (
    Setting("tanh", 20, 10, 40, 20),
    Setting("softplus", 20, 10, 40, 20),
    LIKELY,
    Setting("softplus", 100, 20, 10, 20),
    Setting("tanh", 100, 20, 40, 20),
    Setting("softplus", 100, 20, 40, 20),
    Setting("tanh", 100, 20, 200, 10),
    Setting("softplus", 100, 20, 200, 10),
)


@dataclass(frozen=True)
class Outcome:
    """What one seed gave; CPU seconds of the descent, of the producer and of the checker."""

    seed: int
    verdict: str
    steps: int = 0
    bits: int = 0
    delta: float = 0.0
    descend_seconds: float = 0.0
    certify_seconds: float = 0.0
    check_seconds: float = 0.0


def outcome(setting: Setting, seed: int) -> Outcome:
    """Descend from the cell of the seed, write the claim, check the file."""
    data = gm.generators.sphere_with_random_labels(setting.n, setting.d, seed=DATA_SEED)
    eta = MULTIPLE * common_step(data, setting.k, setting.activation)
    network = seeded_network(seed, data, setting.k, setting.activation)
    began = time.process_time()
    try:
        run = descend(network, data, step_size=eta, max_iter=MAX_ITER, seed=seed)
        landed = time.process_time()
        certificate = gm.certify(run.network, data, ("trajectory",), run=run)
    except gm.errors.CannotCertify as reason:
        return Outcome(seed, f"none: {reason}")
    certified = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "start.gmc"
        certificate.save(path)
        result = gm.check(path)
    numbers = result.claims[0].numbers or {}
    return Outcome(
        seed,
        result.verdict.value,
        run.n_iter,
        int(float(numbers.get("replay_bits", 0))),
        float(numbers.get("delta", 0.0)),
        landed - began,
        certified - landed,
        time.process_time() - certified,
    )


def path_of(setting: Setting, folder: Path) -> Path:
    """Where the outcomes of a setting are kept; row 1 and LIKELY are the same seeds."""
    return folder / f"{setting.activation}-{setting.n}-{setting.d}-{setting.k}.jsonl"


def known(setting: Setting, folder: Path) -> list[Outcome]:
    """The outcomes kept so far, those of the seeds 0, 1, ... without a gap."""
    path = path_of(setting, folder)
    lines = path.read_text(encoding="ascii").splitlines() if path.exists() else []
    found = {one["seed"]: Outcome(**one) for one in map(json.loads, lines)}
    seeds = range(setting.N)
    return [found[seed] for seed in takewhile(found.__contains__, seeds)]


def measure(folder: Path) -> None:
    """All seeds that are missing, one of every setting in turn, so that an interrupted run has
    some of each; which ones are there never depends on how they ended.
    """
    for seed in range(max(setting.N for setting in SETTINGS)):
        for setting in SETTINGS:
            if len(known(setting, folder)) == seed < setting.N:
                found = outcome(setting, seed)
                with path_of(setting, folder).open("a", encoding="ascii") as file:
                    file.write(json.dumps(asdict(found)) + "\n")


def row(setting: Setting, found: list[Outcome]) -> str:
    """One line of the table; everything that is not ACCEPTED is a failure."""
    proved = [one for one in found if one.verdict == "ACCEPTED"]
    bound = probability_below(len(proved), len(found), Fraction(1, 100))
    # the bound belongs to the number of seeds that was fixed before
    said = f"at least {float(bound):g}" if len(found) == setting.N else f"({setting.N} planned)"
    line = f"| {setting} | {len(proved)} of {len(found)} | {said} |"
    if not proved:
        return f"{line} - | - | - | - | - |"
    steps, bits = ([getattr(one, name) for one in proved] for name in ("steps", "bits"))
    checks = [one.check_seconds for one in proved]
    total = sum(o.descend_seconds + o.certify_seconds + o.check_seconds for o in found)
    return (
        f"{line} {min(steps)} to {max(steps)} | {min(bits)} to {max(bits)} | "
        f"{max(one.delta for one in proved):.0e} | {sum(checks) / len(checks):.1f} (most "
        f"{max(checks):.1f}) | {total / 60.0:.1f} |"
    )


def main(folder: Path, *, only_table: bool) -> None:
    """Measure and print."""
    folder.mkdir(parents=True, exist_ok=True)
    if not only_table:
        measure(folder)
    print(
        "| network (n, d, k) | proved | probability of success, 99 % | K | bits | largest delta_K "
        "| check, CPU s | all, CPU min |"
    )
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for setting in SETTINGS:
        if found := known(setting, folder):
            print(row(setting, found))


if __name__ == "__main__":
    given = [word for word in sys.argv[1:] if not word.startswith("-")]
    main(Path(given[0] if given else "bench-starts"), only_table="--table" in sys.argv)
