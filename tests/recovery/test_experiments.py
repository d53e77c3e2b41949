"""The published experiments near a teacher (FCL-E1, FCL-E2) at small sizes."""

import numpy as np
import pytest

from globalmin.activations import get_activation
from globalmin.errors import DataError
from globalmin.recovery.descent import local_spread
from globalmin.recovery.experiments import LocalSetting, local_experiment


def test_a_data_set_comes_from_its_teacher():
    X, y, W = LocalSetting(n=400, d=5, K=2, labels="regression", sigma=1.5).draw(0)
    np.testing.assert_allclose(W @ W.T, 2.25 * np.eye(2), atol=1e-12)
    np.testing.assert_array_equal(y, get_activation("sigmoid")(X @ W.T).mean(axis=1))
    X, y, W = LocalSetting(n=40_000, d=5, K=2, teacher="gaussian").draw(1)
    assert set(y) == {0.0, 1.0}
    p = get_activation("sigmoid")(X @ W.T).mean(axis=1)
    assert abs(np.mean((y - p) * p)) < 5 * np.sqrt(np.mean(p**3 * (1 - p)) / len(y))


def test_rate_and_error_are_averages_over_the_data_sets():
    """FCL-E1, FCL-E2: noiseless labels: every data set succeeds at W* itself."""
    setting = LocalSetting(
        n=1_500,
        d=4,
        K=2,
        labels="regression",
        sigma=1.5,
        starts=3,
        max_iter=1_200,
        step="curvature",
    )
    found = local_experiment(setting, datasets=2, seed=5)
    singles = [
        local_spread(*setting.draw(seed), starts=3, max_iter=1_200, step="curvature", seed=seed)
        for seed in (5, 6)
    ]
    np.testing.assert_allclose(found.spreads, [one.sd for one in singles])
    assert found.mean_error == pytest.approx(np.mean([one.mean_error for one in singles]))
    assert found.success_rate == 1.0
    assert found.mean_relative_error < 1e-3


def test_binary_labels_meet_far_from_the_teacher():
    """FCL-E1: success by SD_n although the mean relative error exceeds one half: the warning stays
    beside the number.
    """
    setting = LocalSetting(n=1_500, d=5, K=2, starts=3, max_iter=3_000, step="curvature")
    found = local_experiment(setting, datasets=2)
    assert found.success_rate == 1.0
    assert found.mean_relative_error > 0.5
    assert "far from the teacher" in found.warning


def test_wrong_settings_are_refused():
    for options in ({"labels": "counts"}, {"teacher": "sparse"}, {"K": 30}, {"sigma": 0.0}):
        with pytest.raises(DataError):
            LocalSetting(n=10, **options)
    with pytest.raises(DataError, match="datasets"):
        local_experiment(LocalSetting(n=10, d=3), datasets=0)
