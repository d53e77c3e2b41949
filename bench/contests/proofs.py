"""Proof and check beside the training they verify: the trained network is the same for all three.

Ratios are over the training, so "proof .2" is a proof that costs a fifth of it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from bench.contests.contest import Contender, Contest, Outcome
from bench.contests.training import SIZES, TOLERANCE, start_of

import globalmin as gm
from globalmin_check import check_file


def contests() -> Iterator[Contest]:
    """One for each size of the contest of training."""
    with tempfile.TemporaryDirectory() as folder:
        for n, d, k in SIZES:
            yield _contest(n, d, k, Path(folder) / f"{n}.gmc")


def _contest(n: int, d: int, k: int, path: Path) -> Contest:
    network, data = start_of(n, d, k)
    trained = gm.train(network, data, method="levenberg_marquardt").network

    def train() -> Outcome:
        run = gm.train(network, data, method="levenberg_marquardt", tol=TOLERANCE)
        return Outcome(run.relative_residual)

    def prove() -> Outcome:
        gm.certify(trained, data, claims=["interpolation"]).save(path)
        return Outcome(path.stat().st_size / 1e6)

    def check() -> Outcome:
        result = check_file(path)
        if result.verdict.name != "ACCEPTED":
            raise RuntimeError(f"{path.name} is {result.verdict.name}: {result.reason}")
        return Outcome(path.stat().st_size / 1e6)

    contenders = [
        Contender("train", train),
        Contender("proof", prove),
        Contender("check", check),
    ]
    size = f"n = {n:,}, d = {d}, k = {k}"
    return Contest("prove and check", size, contenders, "file, MB", is_quick=n <= 442)
