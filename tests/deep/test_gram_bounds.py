"""Lower bounds of lambda_min(K^(H)) hold and are tight: DU-P3.1, DU-P3.2, DU-L3.23, DU-L3.24,
DU-L3.25, DU-L3.31.
"""

from itertools import pairwise

import numpy as np
import pytest

from globalmin.activations.dual import dual_matrix
from globalmin.activations.moments import normalizer
from globalmin.deep.gram import deep_features, deep_gram
from globalmin.deep.gram_bounds import (
    depth_independent_limit,
    full_rank_hypotheses,
    hermite_limit,
    schur_limit,
    tensor_power_rank,
)
from globalmin.errors import DataError

SIGMAS = ("softplus", "sigmoid", "tanh", "swish")


def _sphere(n, d, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, d))
    return X / np.linalg.norm(X, axis=1)[:, None]


def _smallest(K):
    return float(np.linalg.eigvalsh(K)[0])


@pytest.mark.parametrize("activation", SIGMAS)
@pytest.mark.parametrize("depth", [2, 3, 5, 20])
def test_depth_independent_bound_holds_and_is_within_a_factor_of_ten(activation, depth):
    """DU-P3.2 and DU-L3.25, corrected (E14); unequal norms."""
    X = _sphere(6, 4) * np.linspace(0.6, 1.5, 6)[:, None]
    answer = depth_independent_limit(X, depth, activation)
    truth = _smallest(deep_gram(X, "resnet", depth, activation))
    assert 0 < answer.bound <= truth
    assert truth < 10 * answer.bound


def test_kappa_does_not_depend_on_the_depth_and_the_centered_gram_grows():
    """DU-L3.25: K^(h) - b b^T increases with h, so lambda_min(K^(h)) >= kappa_1 for all h."""
    X = _sphere(6, 4) * np.linspace(0.6, 1.5, 6)[:, None]
    kappas = {depth_independent_limit(X, depth).kappa for depth in (2, 7, 30)}
    assert len(kappas) == 1
    stages = deep_features(X, "resnet", 8)
    centered = [stage.S - np.outer(stage.b, stage.b) for stage in stages[1:]]
    for below, above in pairwise(centered):
        assert _smallest(above - below) > -1e-14
    assert _smallest(centered[0]) == pytest.approx(kappas.pop(), rel=1e-9)
    assert all(_smallest(stage.S) >= _smallest(centered[0]) for stage in stages[1:])


def test_the_printed_base_of_the_induction_is_false():
    """Erratum E14: lambda_min(K^(4)) is below the printed bound lambda_min(K^(0)), so DU-L3.25
    needs the corrected base.
    """
    X = np.eye(4)
    stages = deep_features(X, "resnet", 5)
    assert _smallest(stages[4].S) < _smallest(stages[0].S)
    assert _smallest(stages[4].S) >= depth_independent_limit(X, 5).kappa


@pytest.mark.parametrize("activation", SIGMAS)
@pytest.mark.parametrize("depth", [1, 2, 4, 6])
def test_schur_bound_holds_and_is_tight(activation, depth):
    """DU-P3.1, DU-L3.24: fully connected; within a factor of two for softplus, of ten for the
    others.
    """
    X = _sphere(6, 4) * np.linspace(0.6, 1.5, 6)[:, None] if depth > 1 else _sphere(4, 6)
    bound, truth = (
        schur_limit(X, depth, activation),
        _smallest(deep_gram(X, "fully_connected", depth, activation)),
    )
    assert 0 < bound <= truth * (1 + 1e-9)
    assert truth < (2.0 if activation == "softplus" else 10.0) * bound


@pytest.mark.parametrize("activation", SIGMAS)
def test_hermite_bound_holds_and_grows_with_the_terms(activation):
    """DU-L3.23: one-step partial sums."""
    K = _sphere(6, 4) @ _sphere(6, 4).T
    truth = normalizer(activation) * _smallest(dual_matrix(activation, K))
    values = [hermite_limit(K, activation, terms=terms) for terms in (2, 4, 8, 40)]
    assert values == sorted(values)
    assert 0 < values[-1] <= truth
    assert truth < 4 * values[-1]
    with pytest.raises(DataError, match="diagonal 1"):
        hermite_limit(2 * K, activation)


def test_tensor_powers_of_pairwise_non_parallel_rows_become_independent():
    """DU-L3.31: in the plane the (n-1)-fold powers of n directions are independent, lower powers
    are not.
    """
    angles = np.linspace(0, np.pi, 5, endpoint=False)
    X = np.column_stack([np.cos(angles), np.sin(angles)])
    assert [tensor_power_rank(X, power) for power in (1, 2, 3, 4, 5)] == [2, 3, 4, 5, 5]
    explicit = X
    for _ in range(3):
        explicit = np.einsum("ia,ib->iab", explicit, X).reshape(5, -1)
    assert np.linalg.matrix_rank(explicit) == 5
    assert tensor_power_rank(np.vstack([X, -2 * X[:1]]), 9) == 5


def test_hypotheses_of_full_rank_are_named_when_they_fail():
    """DU-P3.1 on data that violate it, one reason each, and the Gram matrix is then singular
    indeed.
    """
    X = _sphere(4, 3)
    assert full_rank_hypotheses(X) == (True, ())
    for rows, word in (
        (np.vstack([X, X[1]]), "rows 1 and 4 are parallel"),
        (np.vstack([X, -0.5 * X[2]]), "rows 2 and 4 are parallel"),
        (np.vstack([X, np.zeros(3)]), "row 4 is zero"),
    ):
        answer = full_rank_hypotheses(rows)
        assert not answer.holds
        assert word in answer.reasons[0]
    for activation in ("quadratic", "relu", "linear"):
        assert "Condition 3.2" in full_rank_hypotheses(X, activation).reasons[0]
    with pytest.raises(DataError, match="flatten"):
        full_rank_hypotheses(np.ones((2, 1, 3)))


def test_bounds_are_zero_for_repeated_rows_and_refused_without_residual_layers():
    X = np.vstack([_sphere(3, 3), _sphere(3, 3)[:1]])
    assert abs(depth_independent_limit(X, 3).bound) < 1e-16
    assert abs(schur_limit(X, 3)) < 1e-14
    with pytest.raises(DataError, match="depth=1"):
        depth_independent_limit(X, 1)
