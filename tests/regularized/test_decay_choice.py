"""The choice of a decay from held-out losses that come one after the other."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import globalmin as gm
from globalmin.regularized.preparation import followed

DECAYS = np.array([8.0, 4.0, 2.0, 1.0, 0.5, 0.25])


def _one_by_one(totals: list[float], asked: list[float]) -> Iterator[list[float]]:
    for total in totals:
        asked.append(total)
        yield [0.25 * total, 0.75 * total]


@pytest.mark.parametrize(
    ("totals", "worse", "seen", "chosen"),
    [
        ([5.0, 4.0, 3.0, 2.0, 1.0, 0.5], 1, 6, 0.25),  # falls to the end
        ([5.0, 4.0, 4.5, 3.0, 9.0, 9.0], 1, 3, 4.0),  # one that is worse ends it
        ([5.0, 4.0, 4.5, 3.0, 9.0, 9.0], 2, 6, 1.0),  # two in a row, not one
        ([5.0, 4.0, 4.5, 4.5, 1.0, 1.0], 2, 4, 4.0),
        ([5.0, 4.0, 4.0, 4.0, 1.0, 1.0], 2, 4, 4.0),  # a loss that is equal is not better
    ],
)
def test_a_path_ends_after_so_many_decays_in_a_row_without_a_better_loss(
    totals: list[float], worse: int, seen: int, chosen: float
) -> None:
    asked: list[float] = []
    found = followed(DECAYS, _one_by_one(totals, asked), worse)
    assert asked == totals[:seen]  # no decay is tried in vain
    assert found.weight_decay == chosen
    assert found.decays.tolist() == DECAYS[:seen].tolist()
    assert found.losses.sum(axis=1).tolist() == totals[:seen]


def test_a_relu_network_gives_its_decays_a_second_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Losses 5, 4, 6, 3, 7, 7: the third is worse, and the fourth is found all the same."""
    asked: list[float] = []
    model: Any = gm.ReluNetworkRegressor(weight_decay="cv", certify=False, random_state=0)
    monkeypatch.setattr(
        type(model),
        "_held_out_losses",
        lambda *_: _one_by_one([5.0, 4.0, 6.0, 3.0, 7.0, 7.0, 1.0, 1.0], asked),
    )
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 2))
    model.fit(X, np.abs(X[:, 0]))
    assert asked == [5.0, 4.0, 6.0, 3.0, 7.0, 7.0]
    assert model.weight_decay_ == model.weight_decays_[3]
