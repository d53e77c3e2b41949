"""Hostile files of networks with several outputs: nothing false is accepted, the two checkers
agree, and no network of a tiny class is below a floor that was proved.

The default run makes 80 files, `-m campaign` 1,200.
"""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from tests.checker.regularized_cases import Case, file_of
from tests.checker.several_cases import golden_softmax, golden_squared
from tests.figures import Record, record_hostile
from tests.mutation.both_checkers import attack
from tests.mutation.several_attacks import honest, hostile

from globalmin_check.engine import check_bytes

SEED = 918
FILES, CAMPAIGN = 80, 1200
OPTIMA, ALL_OPTIMA = 8, 120


def test_nothing_false_is_accepted_and_the_checkers_agree():
    counts = attack(hostile, FILES, [SEED])
    print(dict(counts))
    # an attack that is never accepted, or always, has no teeth
    assert counts["ACCEPTED"] >= FILES // 10
    assert counts["false"] >= FILES // 6


@pytest.mark.campaign
def test_nothing_false_of_twelve_hundred_is_accepted(record_property: Record):
    counts = attack(hostile, CAMPAIGN, [SEED + 1])
    record_hostile(record_property, counts, counts["files"])
    print(dict(counts))


def lowest_objective(case: Case, rng: np.random.Generator, starts: int = 6) -> float:
    """The least objective that local searches from many starts find, with 2 n + 2 neurons in every
    column: written anew, with the rules of the case.
    """
    form: Any = case.form()
    n, d = case.X.shape
    c, k = case.v.shape[1], 2 * n + 2
    b, tau = float(case.network["b"]), float(case.network.get("tau", 1))
    k0 = float(case.network.get("k0", 0))
    om = np.ones(n) if case.om is None else case.om
    columns = np.repeat(np.arange(d), k)
    size = columns.size

    def value(theta: np.ndarray) -> tuple[float, np.ndarray]:
        w, beta, v = theta[:size], theta[size : 2 * size], theta[2 * size : -c].reshape(size, c)
        c0 = theta[-c:] * (form["intercept"] != "none")
        beta = beta * (form["hidden_bias"] != "none")
        scale = tau if form["hidden_bias"] == "penalized" else 1.0
        z = case.X[:, columns] * w + scale * beta
        hidden = np.maximum(z, 0)
        f = hidden @ v + c0
        if case.loss["name"] == "softmax":
            y = case.y.astype(int)
            top = f.max(axis=1, keepdims=True)
            p = np.exp(f - top)
            fit = om @ (np.log(p.sum(axis=1)) + top[:, 0] - f[range(n), y])
            g = p / p.sum(axis=1, keepdims=True) - np.eye(c)[y]
        else:
            g = f - case.y
            fit = om @ np.square(g).sum(axis=1) / 2
        g = om[:, None] * g
        counted = form["hidden_bias"] == "penalized"
        squares = w @ w + np.sum(v * v) + counted * (beta @ beta)
        total = fit + b / 2 * squares + k0 / 2 * (c0 @ c0)
        back = (g @ v.T) * (z > 0)
        dw = np.sum(back * case.X[:, columns], axis=0) + b * w
        db = scale * back.sum(axis=0) + counted * b * beta
        db = db * (form["hidden_bias"] != "none")
        d0 = (g.sum(axis=0) + k0 * c0) * (form["intercept"] != "none")
        return total, np.concatenate([dw, db, (hidden.T @ g + b * v).ravel(), d0])

    found = []
    for _ in range(starts):
        start = rng.standard_normal(2 * size + size * c + c)
        run = minimize(value, start, jac=True, method="L-BFGS-B", options={"maxiter": 3000})
        found.append(float(run.fun))
    return min(found)


def floors_hold(count: int, seed: int, starts: int) -> list[float]:
    """Accepted floors against the best networks that many local searches find."""
    rooms = []
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        case, U = honest(rng)
        result = check_bytes(file_of(case, U))
        assert result.verdict.value == "ACCEPTED", (number, result.reason)
        assert result.claims[0].numbers is not None
        floor = float(result.claims[0].numbers["p_low"])
        lowest = lowest_objective(case, rng, starts)
        size = 1 + abs(floor)
        # 1e-9: what floats lose in the search
        assert lowest >= floor - 1e-9 * size, (number, lowest, floor)
        rooms.append((lowest - floor) / size)
    return rooms


def test_no_network_is_below_a_proved_floor():
    assert min(floors_hold(OPTIMA, SEED + 2, 2)) < 0.3  # a floor that says something


@pytest.mark.campaign
def test_no_network_of_many_problems_is_below_a_proved_floor():
    rooms = floors_hold(ALL_OPTIMA, SEED + 3, 5)
    print(len(rooms), "floors, smallest room", min(rooms))


@pytest.mark.parametrize("make", [golden_softmax, golden_squared])
def test_the_golden_floor_is_the_minimum(make: Any):
    """b = 1/2: U with t = 1/4 is optimal for both losses, and brute force finds its value."""
    case, U = make()
    result = check_bytes(file_of(case, U))
    assert result.verdict.value == "ACCEPTED", result.reason
    assert result.claims[0].numbers is not None
    floor = float(result.claims[0].numbers["p_low"])
    lowest = lowest_objective(case, np.random.default_rng(0))
    # squared: D = 2t * 2 - 2 t^2 at t = 1/4; softmax: 2 log 4 - 3/2 log 3
    exact = {"softmax": 2 * np.log(4) - 1.5 * np.log(3), "squared": 0.875}
    assert abs(floor - exact[case.loss["name"]]) < 1e-12
    assert floor <= lowest + 1e-9
    assert lowest <= floor + 1e-6
