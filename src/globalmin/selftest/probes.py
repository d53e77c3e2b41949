"""The probes: each measures one figure of docs/reliability.md at a small size, on what is installed
here.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from globalmin import sweep
from globalmin.selftest.files import SIZES, damaged, forged, made
from globalmin_check import check_file

DAMAGED, NONSENSE, TRIALS = 1000, 500, 60
LIMIT = 60.0  # seconds that a program of ours may take here
VERDICTS = ("ACCEPTED", "REJECTED", "MALFORMED", "UNDECIDED")


@dataclass(frozen=True)
class Reached:
    """What a probe found."""

    words: str
    passed: bool


@dataclass(frozen=True)
class Scene:
    """A folder to work in, the files made there, and the seed."""

    folder: Path
    files: dict[str, Path]
    seed: int

    @classmethod
    def at(cls, folder: Path, seed: int) -> Scene:
        """Make the files."""
        return cls(folder, made(folder / "files", seed), seed)

    def verdict(self, raw: bytes) -> str:
        """Of bytes, by the checker; an exception is its name."""
        path = self.folder / "probe.gmc"
        path.write_bytes(raw)
        try:
            return check_file(path).verdict.value
        except Exception as error:
            return type(error).__name__


def completeness(scene: Scene) -> Reached:
    """Every file is accepted, by the program as a process of its own."""
    codes = {name: checker(path).returncode for name, path in scene.files.items()}
    refused = [name for name, code in codes.items() if code]
    words = f"{len(codes) - len(refused)} of {len(codes)} accepted"
    return Reached(words + (f", not {', '.join(refused)}" if refused else ""), not refused)


def checker(path: Path) -> subprocess.CompletedProcess[str]:
    """`globalmin-check`."""
    command = [sys.executable, "-m", "globalmin_check", str(path)]
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)


def bytes_changed(scene: Scene) -> Reached:
    """Damaged files are never accepted and never crash the checker."""
    rng = np.random.default_rng(scene.seed)
    whole = [path.read_bytes() for path in scene.files.values()]
    files = [damaged(whole[i % len(whole)], rng) for i in range(DAMAGED)]
    found = [scene.verdict(raw) for raw in files if raw not in whole]
    accepted = found.count("ACCEPTED")
    crashed = sum(verdict not in VERDICTS for verdict in found)
    words = f"{len(found)} damaged files, {accepted} accepted, {crashed} crashes"
    return Reached(words, accepted == crashed == 0)


def labels_forged(scene: Scene) -> Reached:
    """False files with a right seal are not accepted."""
    zero_loss = [path for name, path in scene.files.items() if name != "floor"]
    found = [scene.verdict(raw) for path in zero_loss for raw in forged(path.read_bytes())]
    accepted = found.count("ACCEPTED")
    return Reached(f"{len(found)} false files, {accepted} accepted", bool(found) and not accepted)


def nonsense(scene: Scene) -> Reached:
    """Bytes that were never a file are malformed."""
    rng = np.random.default_rng(scene.seed + 1)
    found = []
    for number in range(NONSENSE):
        size = int(rng.integers(200))
        length = (size // 8 * 8).to_bytes(8, "little") if number % 2 else b""
        found.append(scene.verdict(length + rng.bytes(size)))
    right = found.count("MALFORMED")
    return Reached(f"{right} of {len(found)} inputs malformed", right == len(found))


DRIVER = """
import sys
from globalmin import sweep
from globalmin.selftest.recipe import plan
sweep.run(plan(int(sys.argv[2])), sys.argv[1], workers=2, progress=False)
"""


def sweep_killed(scene: Scene) -> Reached:
    """A sweep whose driver is killed goes on, and computes nothing again that was recorded."""
    folder = scene.folder / "sweep"
    driver = subprocess.Popen([sys.executable, "-c", DRIVER, str(folder), str(TRIALS)])
    try:
        deadline = time.monotonic() + LIMIT
        while _done(folder) < TRIALS // 4 and driver.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
    finally:
        driver.send_signal(signal.SIGKILL)
        driver.wait()
    before = {row["trial"]: row["value"] for row in sweep.rows(folder) if row["status"] == "done"}
    summary = sweep.resume(folder, workers=1, progress=False)
    after = {row["trial"]: row["value"] for row in sweep.rows(folder)}
    lost = len(before.items() - after.items())
    again = summary.computed - (TRIALS - len(before))
    words = f"killed at {len(before)} of {TRIALS} trials, {lost} lost, {again} computed again"
    return Reached(words, len(before) > 0 and lost == again == 0 and summary.done == TRIALS)


def _done(folder: Path) -> int:
    from globalmin.errors import StoreError

    try:
        return sweep.status(folder).done
    except StoreError:  # the driver has not made it yet
        return 0


ALONE = """
import sys
from globalmin_check import check_file
assert check_file(sys.argv[1], route="exact").verdict.value == "ACCEPTED"
foreign = {name.partition(".")[0] for name in sys.modules} & {"globalmin", "numpy", "scipy"}
print(",".join(sorted(foreign)) or "nothing else")
"""


def checker_alone(scene: Scene) -> Reached:
    """The checker imports neither the trainer nor numpy."""
    command = [sys.executable, "-c", ALONE, str(scene.files["softplus"])]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    words = done.stdout.strip() or done.stderr.strip().splitlines()[-1]
    return Reached(f"imported besides flint: {words}", words == "nothing else")


def same_bytes(scene: Scene) -> Reached:
    """The same seed gives the same files."""
    again = made(scene.folder / "again", scene.seed)
    equal = sum(path.read_bytes() == again[name].read_bytes() for name, path in scene.files.items())
    return Reached(f"{equal} of {len(again)} files equal", equal == len(again))


def speed(scene: Scene) -> Reached:
    """CPU time of a check, the best of three."""
    seconds = []
    for _ in range(3):
        started = time.process_time()
        check_file(scene.files["softplus"])
        seconds.append(time.process_time() - started)
    n, _, width = SIZES["softplus"]
    return Reached(f"{1e3 * min(seconds):.1f} ms (n={n}, width {width})", min(seconds) < 0.05)


@dataclass(frozen=True)
class Probe:
    """A figure at the size of a self-test."""

    what: str
    asked: str
    measure: Callable[[Scene], Reached]


PROBES = {
    "R1": Probe("damaged files", "none accepted, no crash", bytes_changed),
    "R2": Probe("false files, sealed anew", "none accepted", labels_forged),
    "R5": Probe("bytes that are no file", "all malformed", nonsense),
    "R8": Probe("files of five kinds", "all accepted", completeness),
    "R10": Probe("a sweep killed and resumed", "nothing lost, nothing again", sweep_killed),
    "R16": Probe("the checker alone", "python-flint and nothing else", checker_alone),
    "R18": Probe("the same seed twice", "the same bytes", same_bytes),
    "R21": Probe("one check, CPU time", "at most 50 ms", speed),
}
