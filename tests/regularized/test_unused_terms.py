"""The claim unused-terms from the trainer: columns of noise are proved unused, and files are
accepted.
"""

from typing import Any, cast

import numpy as np
import pytest

import globalmin as gm
from globalmin.errors import CannotCertify
from globalmin.losses import get_loss
from globalmin.regularized.claims import unused_terms
from globalmin.regularized.network import RegularizedNetwork
from globalmin.regularized.objective import Penalty, RegularizedProblem
from globalmin.regularized.train import train_regularized
from globalmin_check.engine import check_bytes


def problem(loss: str = "squared", **rules: Any) -> RegularizedProblem:
    """One column that matters and two of noise."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 3))
    y = np.abs(X[:, 0]) + 0.1 * rng.standard_normal(60)
    if loss == "logistic":
        y = np.where(y > np.median(y), 1.0, -1.0)
    elif loss == "poisson":
        y = np.round(2 * y)
    return RegularizedProblem(X, y, Penalty(8.0, **rules), loss=get_loss(loss))


def trained(task: RegularizedProblem) -> tuple[RegularizedNetwork, np.ndarray]:
    run = train_regularized(task)
    return run.network, run.u


@pytest.mark.parametrize(("loss", "least"), [("squared", 1), ("logistic", 1), ("poisson", 0)])
def test_columns_of_noise_are_proved_unused(loss: str, least: int):
    task = problem(loss)
    network, u = trained(task)
    claim = unused_terms.build(network, task, u)
    unused = claim.fields["unused"]
    assert isinstance(unused, list)
    assert len(unused) >= least
    assert ("Lam" in claim.fields) == (loss != "poisson")
    raw = gm.certify(network, cast("Any", task), claims=["unused-terms"]).to_bytes()
    result = check_bytes(raw)
    assert result.verdict.value == "ACCEPTED", result.reason


def test_other_classes_are_refused_with_the_reason():
    task = problem(hidden_bias="free")
    network, u = trained(task)
    with pytest.raises(CannotCertify, match="penalized hidden biases"):
        unused_terms.build(network, task, u)
