"""The numbers of balancedness, one at a time: counts, budgets and limits of the drift, and the test
of sufficient descent at its edge.
"""

import numpy as np
import pytest
from tests.balancedness.homogeneous_cases import NETWORKS, data, start

from globalmin.balancedness import conserved as balancedness
from globalmin.balancedness.conserved import Boundary, boundaries_of, conserved
from globalmin.errors import DataError

ZERO = np.zeros(1, dtype=np.intp)


def single(degree):
    """One neuron between two weights."""
    return Boundary("1-2", ZERO, ZERO, 1, degree)


@pytest.mark.parametrize(
    "name", ["linear", "mixed", "fully connected relu", "convolutional linear"]
)
def test_counts_are_the_lengths_of_the_parts(name):
    """DU-T4.1, DU-T4.2: a block each, or the upper triangle of a matrix."""
    network = NETWORKS[name]
    parts = network.split(start(network))
    every = boundaries_of(network)
    lengths = tuple(conserved([b], parts).size for b in every)
    assert balancedness.conserved_counts(every) == lengths
    assert any(count > b.n_blocks for b, count in zip(every, lengths, strict=True)) is (
        any(b.is_linear for b in every)
    )


def test_the_budget_of_a_step_and_the_limit_from_the_loss():
    """DU-C4.1: eta^2 max(|g|^2, p |g'|^2) and 2 eta max(1, p)(L_0 - L_k), for p = 1 and 2."""
    gradients = [np.array([3.0]), np.array([2.0])]
    pair = (single(1), single(3))
    np.testing.assert_allclose(balancedness.step_budget(pair, gradients, 0.1), [0.09, 0.12])
    limits = balancedness.drift_limit_from_loss(pair, 0.1, [5.0, 9.0, 3.5])
    np.testing.assert_allclose(limits, [0.3, 0.9])


def test_the_limit_from_the_loss_holds_along_a_run_and_is_not_far_off():
    """DU-C4.1: gradient descent on (u^2 w - 1)^2/2, degree 2: every step is sufficient, the drift
    stays below the limit and above a hundredth of it.
    """
    theta, eta = np.array([0.9, 1.4]), 0.02
    losses, squares, boundary = [], [], single(2)
    drift = -conserved([boundary], [theta[:1], theta[1:]])
    for _ in range(200):
        residual = theta[0] ** 2 * theta[1] - 1.0
        g = residual * np.array([2 * theta[0] * theta[1], theta[0] ** 2])
        losses.append(residual**2 / 2)
        squares.append(float(g @ g))
        theta = theta - eta * g
    losses.append((theta[0] ** 2 * theta[1] - 1.0) ** 2 / 2)
    drift += conserved([boundary], [theta[:1], theta[1:]])
    limit = balancedness.drift_limit_from_loss([boundary], eta, losses)
    assert balancedness.sufficient_descent(losses, squares, eta)
    assert 0.01 * limit[0] < abs(drift[0]) <= limit[0]


def test_sufficient_descent_looks_at_every_step_and_holds_at_its_edge():
    """L_(l+1) <= L_l - (eta/2) g^2, each step against the one before it."""
    assert balancedness.sufficient_descent([4.0, 3.0, 2.5], [4.0, 2.0], 0.5)
    assert not balancedness.sufficient_descent([4.0, 3.0 + 1e-9, 2.5], [4.0, 2.0], 0.5)
    assert not balancedness.sufficient_descent([4.0, 3.0, 2.5 + 1e-9], [4.0, 2.0], 0.5)
    assert not balancedness.sufficient_descent([4.0, 2.0, 2.5], [4.0, 2.0], 0.5)  # it rises
    with pytest.raises(DataError, match="one more"):
        balancedness.sufficient_descent([4.0, 3.0], [4.0, 2.0], 0.5)


def test_a_step_with_weight_decay_changes_what_is_conserved_exactly_so():
    """DU-T4.1, DU-T4.3: the parameters moved, against the formula, for relu, linear and quadratic
    networks; rounding only.
    """
    for name in ("fully connected relu", "linear", "quadratic"):
        network, (X, Y, _) = NETWORKS[name], data()
        theta = start(network)
        _, gradient = network.loss_and_gradient(theta, X, Y, "squared")
        every = boundaries_of(network)
        before = conserved(every, network.split(theta))
        after = conserved(every, network.split((1 - 0.1 * 0.3) * theta - 0.1 * gradient))
        change = balancedness.step_change(
            every, network.split(gradient), 0.1, decay=0.3, before=before
        )
        np.testing.assert_allclose(after - before, change, rtol=1e-9, atol=1e-11)


def test_the_imbalance_counts_what_leaves_p_times():
    """DU-T4.1, DU-T4.3: two plain matrices, degrees 1 and 3, and the defect along a gradient."""
    W, W_next = np.array([[1.0, 2.0], [0.0, 3.0]]), np.array([[2.0, 1.0]])
    np.testing.assert_allclose(balancedness.neuron_imbalance(W, W_next), [5 - 4, 9 - 1])
    np.testing.assert_allclose(balancedness.neuron_imbalance(W, W_next, degree=3), [-7, 6])
    defect = balancedness.conservation_defect(single(3), [2.0], [5.0], [7.0], [11.0])
    np.testing.assert_allclose(defect, [2 * 7 - 3 * 5 * 11])
