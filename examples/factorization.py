"""Matrix factorization: gradient descent from a small random start, the proof that it ended at the
best rank, and the pictures.

Run it with `python examples/factorization.py [folder]`; it writes two pictures (SVG and PNG) to the
folder, default `figures`. Figures 4.1 and 4.2 of the thesis: `globalmin reproduce DU-F4.1 DU-F4.2`.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

import globalmin as gm
from globalmin.drawing import save
from globalmin.factorization import figures as figures
from globalmin.factorization.landscape import (
    footnote_schedule,
    printed_schedule,
    schedule_report,
)
from globalmin.factorization.rank_one import (
    RankOneState,
    draw_rank_one,
    first_stage_at_most,
    rank_one_run,
)
from globalmin.factorization.train import descend_factors


def proof(size: int = 300, rank: int = 10) -> str:
    """A noisy matrix of rank 10: factorize, certify, check."""
    rng = np.random.default_rng(0)
    M = rng.standard_normal((size, rank)) @ rng.standard_normal(
        (rank, size)
    ) + 0.1 * rng.standard_normal((size, size))
    run = gm.factorize(M, rank)
    certificate = gm.certify_factorization(run.factors.U, run.factors.V, M)
    with tempfile.TemporaryDirectory() as folder:
        result = gm.check(certificate.save(Path(folder) / "factors.gmc"))
    return f"{result.verdict}: {result.statement}"


def schedules(folder: Path) -> dict[str, float]:
    """Theorem 4.4: printed steps, the footnote's family, constant steps on one instance."""
    rng = np.random.default_rng(0)
    M = rng.standard_normal((20, 2)) @ rng.standard_normal((2, 20))
    M /= np.linalg.norm(M)
    start, accuracy = gm.Factors.initialize((20, 20), 2, scale=1e-4, seed=1), 0.1
    report = schedule_report(start, M, accuracy)
    kinds = {
        "printed": printed_schedule(accuracy, 2, 1.0),
        "footnote, exponent .6": footnote_schedule(accuracy, 2, 1.0),
        "constant .1": 0.1,
    }
    runs = {
        name: descend_factors(
            M,
            start,
            step_size=steps,
            max_iter=20_000 if callable(steps) else 3_000,
            tol=0.0,
            record_every=10,
        )
        for name, steps in kinds.items()
    }
    save(
        lambda: figures.schedules(
            {name: (run.iteration, run.losses) for name, run in runs.items()}
        ),
        folder / "schedules-4-4",
    )
    ends = {
        f"4.4 {name}: loss after {run.n_iter} steps": float(run.losses[-1])
        for name, run in runs.items()
    }
    return ends | {
        "4.4 printed: log10 of the steps needed": report.log10_steps_lower,
        "4.4 zero in float64 from log10": report.log10_underflow,
    }


def rank_one(folder: Path) -> dict[str, float]:
    """Theorem 4.5: the map of four numbers for dimensions up to a million."""
    curves, found = {}, {}
    for d in (10, 1000, 10**6):
        drawn = draw_rank_one(d, 1.7, 0.1, seed=0)
        start = RankOneState(abs(drawn.alpha), abs(drawn.beta), drawn.alpha_rest, drawn.beta_rest)
        run = rank_one_run(start, 1.7, 0.1)
        curves[f"d = {d}"] = (run.distance / 1.7, run.first_stage)
        found |= {
            f"4.5 d = {d}: T_1": float(run.first_stage or -1),
            f"4.5 d = {d}: its bound": float(first_stage_at_most(start, 1.7, 0.1)),
        }
        found |= {
            f"4.5 d = {d}: steps": float(run.steps or -1),
            f"4.5 d = {d}: rate": run.tail_rate,
        }
    save(lambda: figures.rank_one_phases(curves), folder / "rank-one-4-5")
    return found


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "figures")
    folder.mkdir(parents=True, exist_ok=True)
    print(proof())
    for part in (schedules(folder), rank_one(folder)):
        for name, value in part.items():
            print(f"{name}: {value:.6g}")


if __name__ == "__main__":
    main()
