"""The published experiments near a teacher, over many data sets: how often all starts meet, and how
far from the teacher.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from globalmin._types import Array
from globalmin.activations import get_activation
from globalmin.data.generators import planted_logistic, planted_regression
from globalmin.errors import DataError
from globalmin.recovery.descent import SPREAD_WARNING, local_spread
from globalmin.references import states

TEACHERS = ("orthonormal", "gaussian")
MODELS = {"regression": planted_regression, "classification": planted_logistic}


@dataclass(frozen=True)
class LocalSetting:
    """One point (n, d) of the published figures; what the paper leaves open has a default here.

    Attributes
    ----------
    n, d, K : samples, features, neurons.
    labels : "classification" or "regression".
    teacher : "orthonormal" rows times sigma, or "gaussian" entries N(0, sigma^2).
    starts, radius : descents a data set, and their distance from the teacher in units of its norm.
    """

    n: int
    d: int = 20
    K: int = 3
    labels: str = "classification"
    teacher: str = "orthonormal"
    sigma: float = 1.0
    starts: int = 20
    radius: float = 0.1
    max_iter: int = 2_000
    step: float | str = "safe"

    def __post_init__(self) -> None:
        if self.labels not in MODELS or self.teacher not in TEACHERS:
            raise DataError(
                f"labels={self.labels!r}, teacher={self.teacher!r}: choose from {tuple(MODELS)} "
                f"and {TEACHERS}"
            )
        if not 1 <= self.K <= self.d or self.n < 1 or not self.sigma > 0:
            raise DataError(
                f"n={self.n}, d={self.d}, K={self.K}, sigma={self.sigma}: n >= 1, 1 <= K <= d, "
                "sigma > 0 are needed"
            )

    def draw(self, seed: int) -> tuple[Array, Array, Array]:
        """Inputs, labels and the teacher's weights of one data set."""
        rng = np.random.default_rng(seed)
        W = rng.standard_normal((self.K, self.d))
        W = self.sigma * (np.linalg.qr(W.T)[0].T if self.teacher == "orthonormal" else W)
        X, phi = rng.standard_normal((self.n, self.d)), get_activation("sigmoid")
        found = MODELS[self.labels](X, lambda inputs: phi(inputs @ W.T).mean(axis=1), seed=rng)
        return found.X, found.y, W


@dataclass(frozen=True)
class LocalExperiment:
    """Over the data sets of one setting: success rate by SD_n, and the errors beside it.

    Attributes
    ----------
    success_rate : share of the data sets with SD_n <= 1e-2 (Figure 3).
    mean_error : of ||What - W*||_F over data sets and starts (Figure 4); mean_relative_error: over
        the teacher's norm.
    spreads, errors : SD_n and the mean error of every data set.
    """

    success_rate: float
    mean_error: float
    mean_relative_error: float
    spreads: Array
    errors: Array
    warning: str = SPREAD_WARNING


@states("FCL-E1", "FCL-E2")
def local_experiment(
    setting: LocalSetting, *, datasets: int = 50, seed: int = 0
) -> LocalExperiment:
    """Success rate by SD_n and estimation error over several data sets, each with its own teacher.

    Theory
    ------
    FCL-E1 (Figure 3: 50 data sets, 20 starts, 2,000 steps) and FCL-E2 (Figure 4: starts at .1
    ||W*||_F). The paper states neither the step nor the teacher, nor n.
    """
    if datasets < 1:
        raise DataError(f"datasets={datasets} must be at least 1")
    spreads, errors, relative = [], [], []
    for number in range(datasets):
        X, y, W = setting.draw(seed + number)
        found = local_spread(
            X,
            y,
            W,
            starts=setting.starts,
            radius=setting.radius,
            max_iter=setting.max_iter,
            step=setting.step,
            seed=seed + number,
        )
        spreads.append(found.sd)
        errors.append(found.mean_error)
        relative.append(found.mean_error / float(np.linalg.norm(W)))
    rate = float(np.mean([sd <= 1e-2 for sd in spreads]))
    return LocalExperiment(
        rate, float(np.mean(errors)), float(np.mean(relative)), np.array(spreads), np.array(errors)
    )
