"""Records and proofs made by hand: the report needs no training to be tested."""

import numpy as np

from globalmin.proving.proof import Proof, ProvedClaim, ProvedNumbers
from globalmin.report.record import FitRecord, Histogram, Series, TargetRecord


def target(name: str = "price", **changes) -> TargetRecord:
    """One target with 12 training rows and 4 held-out rows."""
    rng = np.random.default_rng(1)
    y, held = rng.standard_normal(12), rng.standard_normal(4)
    fields = {
        "name": name,
        "model": "model.safetensors",
        "certificate": "certificate.gmc",
        "network": {"activation": "softplus", "width": 6, "n_features": 5, "trained": "W",
        "n_trained": 30},
        "training": {"method": "levenberg_marquardt", "status": "converged", "message": "done",
        "n_iter": 9, "starts": 2,
                     "loss": 1e-25, "relative_residual": 3e-14},
        "trajectory": {"iteration": list(range(10)),
        "loss": [10.0 ** (1 - 3 * i) for i in range(10)]},
        "train": Series(y.tolist(), y.tolist()),
        "held_out": Series(held.tolist(), (held + 1).tolist()),
        "scores": {"train_r2": 1.0, "held_out_r2": -0.5, "ridge_train_r2": 0.6,
        "ridge_held_out_r2": 0.4},
        "spectrum": [10.0 ** -(i / 3) for i in range(12)],
    }  # fmt: skip
    return TargetRecord(**(fields | changes))


def record(*targets: TargetRecord, **data) -> FitRecord:
    """A record of these targets."""
    facts = {
        "name": "houses.csv", "n_rows": 16, "n_train": 12, "n_held_out": 4, "n_raw_features": 4,
        "n_features": 5, "bias": True,
        "scaling": "standardize", "rank": "5", "equal_rows": "none", "warnings": [],
        "sha256": {t.name: "ab" * 32 for t in targets},
    }  # fmt: skip
    environment = {"fingerprint": "0123456789abcdef", "python": "3.11"}
    return FitRecord(facts | data, {"activation": "softplus"}, environment, tuple(targets))


def accepted(kind: str = "interpolation", **numbers) -> Proof:
    """An accepted proof with one claim."""
    known = {"loss_upper": 1e-26, "R": 1e-13, "a": 0.01, "h": 1e-9} | numbers
    return Proof(
        "ACCEPTED",
        "every check holds",
        (ProvedClaim(kind, "ACCEPTED", "", "The checker's words.", ProvedNumbers.read(known)),),
    )


def relu_target() -> TargetRecord:
    """A ReLU target with margins."""
    return target(margins=Histogram([1e-3, 1e-2, 1e-1, 1.0], [3.0, 20.0, 37.0], 2e-3, 4.0))
