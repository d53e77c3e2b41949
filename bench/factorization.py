"""Factorizations proved globally optimal: CPU seconds and memory of training, certifying and
checking, each in its own process.

Run `python -m bench.factorization [--size 2000] [--rank 10]` for the table in
docs/factorization.md.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

CASES = (
    (0.0, "auto"),
    (0.1, "auto"),
    (1.0, "auto"),
)  # noise in each entry; the signal has entries of variance r


def instance(size: int, rank: int, noise: float) -> np.ndarray:
    """A product of Gaussian factors plus noise."""
    rng = np.random.default_rng(0)
    signal = rng.standard_normal((size, rank)) @ rng.standard_normal((rank, size))
    return signal + noise * rng.standard_normal((size, size)) if noise else signal


def train(folder: Path, size: int, rank: int, noise: float) -> dict[str, object]:
    """Draw the matrix, factorize it from a small random start, store the factors."""
    from globalmin.factorization.train import factorize

    M = instance(size, rank, noise)
    begun = time.process_time()
    run = factorize(M, rank, seed=1)
    seconds = time.process_time() - begun
    np.savez(folder / "factors.npz", M=M, U=run.factors.U, V=run.factors.V)
    return {
        "train": seconds,
        "steps": run.n_iter,
        "sweeps": run.n_sweeps,
        "status": run.status.value,
    }


def certify(folder: Path, norm: str) -> dict[str, object]:
    """Make the certificate of the stored factors."""
    from globalmin.factorization.claims import certify_factorization

    with np.load(folder / "factors.npz") as stored:
        M, U, V = stored["M"], stored["U"], stored["V"]
    begun = time.process_time()
    certificate = certify_factorization(U, V, M, norm=norm)
    path = certificate.save(folder / "factors.gmc")
    summary = certificate.claims[0].summary
    share = summary["gap"] / summary["floor"] if summary["floor"] else None
    found = {
        "certify": time.process_time() - begun,
        "method": certificate.claims[0].fields["method"],
        "file": path.stat().st_size,
    }
    return found | {"gap_of_square": certificate.relative_gap, "gap_of_floor": share}


def check(folder: Path) -> dict[str, object]:
    """Run the independent checker on the file."""
    from globalmin_check import check_file

    begun = time.process_time()
    result = check_file(folder / "factors.gmc")
    return {"check": time.process_time() - begun, "verdict": result.verdict.value}


def _alone(*words: str) -> dict[str, object]:
    done = subprocess.run(
        [sys.executable, "-m", "bench.factorization", *words],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def _row(size: int, rank: int, noise: float, norm: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        trained = _alone(
            "--part",
            "train",
            "--folder",
            folder,
            "--size",
            str(size),
            "--rank",
            str(rank),
            "--noise",
            str(noise),
        )
        proved = _alone("--part", "certify", "--folder", folder, "--norm", norm)
        judged = _alone("--part", "check", "--folder", folder)
    of_floor = "-" if proved["gap_of_floor"] is None else f"{proved['gap_of_floor']:.1e}"
    return (
        f"| {size} x {size}, rank {rank}, noise {noise:g} | {trained['steps']} + "
        f"{trained['sweeps']} | {trained['train']:.1f} | {proved['method']} | "
        f"{proved['gap_of_square']:.1e} | {of_floor} | {judged['verdict']} | "
        f"{proved['certify']:.1f} | {judged['check']:.1f} | {int(str(proved['file'])) / 2**20:.0f} "
        f"MiB | {trained['memory']:.1f} / {proved['memory']:.1f} / {judged['memory']:.1f} GiB |"
    )


def main() -> None:
    """Print the table, or run one part of one row."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=2000)
    parser.add_argument("--rank", type=int, default=10)
    parser.add_argument("--noise", type=float, default=None)
    parser.add_argument("--norm", default="auto")
    parser.add_argument("--part", choices=("train", "certify", "check"))
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args()
    if given.part is None:
        heads = (
            "instance, steps + sweeps, train CPU s, method, gap of square, of floor, verdict, "
            "certify, check, file, memory"
        )
        print(f"| {heads.replace(', ', ' | ')} |")
        print("|---|---|---|---|---|---|---|---|---|---|---|")
        for noise, norm in CASES:
            if given.noise is None or given.noise == noise:
                print(_row(given.size, given.rank, noise, norm), flush=True)
        return
    parts = {"train": lambda: train(given.folder, given.size, given.rank, given.noise or 0.0)}
    parts |= {
        "certify": lambda: certify(given.folder, given.norm),
        "check": lambda: check(given.folder),
    }
    found = parts[given.part]()
    print(
        json.dumps(found | {"memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20})
    )


if __name__ == "__main__":
    main()
