"""Several outputs that share their neurons: the oracle against a dense circle, the master problem
against its optimality conditions, training against a general solver, dual matrices exact.
"""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine

import globalmin as gm
from globalmin.losses import get_loss
from globalmin.regularized.objective import objective
from globalmin.regularized.shared_columns import SharedColumnOracle
from globalmin.regularized.shared_dual import centered_outputs, exact_outputs
from globalmin.regularized.shared_master import SharedMaster
from globalmin.regularized.shared_training import _Loop, _start, _turns
from globalmin.regularized.train import decay_path, largest_decay, oracle_for

SEED = 77


def table(n: int, d: int, c: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([SEED, seed])
    X = rng.standard_normal((n, d))
    X[:, 0] = np.rint(2 * X[:, 0]) / 2
    scores = np.abs(X[:, :1]) * np.linspace(-2, 2, c) + 0.5 * rng.standard_normal((n, c))
    return X, scores


def problem_of(loss: str, penalty: gm.Penalty, c: int = 3, **options) -> gm.RegularizedProblem:
    X, scores = table(60, 3, c)
    y = scores.argmax(axis=1).astype(float) if loss == "softmax" else scores
    return gm.RegularizedProblem(X, y, penalty, loss, **options)


@pytest.mark.parametrize("tau", [1.0, 0.3])
def test_the_oracle_finds_the_largest_sum(tau: float):
    """R2 with c outputs, ties and a constant column among the values."""
    X, scores = table(30, 3, 4)
    X[:, 2] = 0.7
    U = scores
    oracle = SharedColumnOracle.of(X, tau=tau)
    heights, found = oracle.search(U, 0.0)
    angles = np.linspace(0, 2 * np.pi, 100_001)
    for j in range(3):
        hidden = np.maximum(np.outer(X[:, j], np.cos(angles)) + tau * np.sin(angles), 0)
        brute = np.linalg.norm(U.T @ hidden, axis=0).max()
        # a smooth maximum is missed by at most (step^2/2) of it, step 6e-5; a kink by the step
        assert brute <= heights[j] * (1 + 1e-12)
        assert heights[j] <= brute * (1 + 1e-4)
    rows = oracle.features(found.group, found.weights)
    np.testing.assert_allclose(np.linalg.norm(rows @ U, axis=1), found.values, rtol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(found.weights, axis=1), 1.0, rtol=1e-12)


def test_the_oracle_of_free_biases():
    X, scores = table(30, 2, 3)
    U = scores - scores.mean(axis=0)
    heights, found = SharedColumnOracle.of(X, hidden_bias="free").search(U, 0.0)
    for j in range(2):
        sums = [np.maximum(s * (X[:, j] - z), 0) @ U for z in X[:, j] for s in (1, -1)]
        assert heights[j] == pytest.approx(max(map(np.linalg.norm, sums)), rel=1e-12)
    oracle = SharedColumnOracle.of(X, hidden_bias="free")
    rows = oracle.features(found.group, found.weights)
    np.testing.assert_allclose(np.linalg.norm(rows @ U, axis=1), found.values, rtol=1e-9)


@pytest.mark.parametrize("loss", ["softmax", "squared"])
@pytest.mark.parametrize("b", [0.05, 1.0, 20.0])
def test_the_master_problem_ends_at_its_optimality_conditions(loss: str, b: float):
    """|g_l| <= b with g_l = -b V_l/|V_l| at heads that are not zero; intercepts balanced."""
    problem = problem_of(loss, gm.Penalty(b))
    rng = np.random.default_rng(3)
    rows = np.maximum(rng.standard_normal((9, 60)), 0)
    rows[1] = rows[0] * (1 + 1e-3 * rng.random(60))  # nearly the same neuron
    master = SharedMaster(
        problem.loss, problem.y, problem.weights, b, True, 0.0, rows, np.zeros((9, 3)), np.zeros(3)
    )
    before = master.value
    master.solve(1e-9)
    assert master.value < before
    u = master.dual()
    slopes, size = rows @ u, np.linalg.norm(master.V, axis=1)
    assert np.abs(u.sum(axis=0)).max() < 1e-7
    assert np.linalg.norm(slopes, axis=1).max() <= b * (1 + 1e-6)
    used = size > 0
    pulls = slopes[used] + b * master.V[used] / size[used, None]
    assert np.abs(pulls).max(initial=0.0) < 1e-6 * b
    if b == 20.0:
        assert not used.all()


def test_the_newton_system_is_the_derivative_of_the_gradient():
    """Curvature of loss and norms against central differences of the gradient."""
    problem = problem_of("softmax", gm.Penalty(0.7))
    rng = np.random.default_rng(4)
    rows, V = np.maximum(rng.standard_normal((4, 60)), 0), rng.standard_normal((4, 3))
    c0, places = rng.standard_normal(3), np.arange(4)

    def system(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        parts = theta.reshape(3, 5).T  # entry (o, l): output o, the intercept and then the neurons
        master = SharedMaster(
            problem.loss, problem.y, problem.weights, 0.7, True, 0.3, rows, parts[1:], parts[0]
        )
        u = master.dual()
        slope0 = u.sum(axis=0) + 0.3 * master.c0
        return master._system(places, np.linalg.norm(master.V, axis=1), rows @ u, slope0)

    theta = np.vstack([c0, V]).T.ravel()
    matrix, _ = system(theta)
    step = 1e-6
    for j in range(theta.size):
        ends = [system(theta + sign * step * np.eye(15)[j])[1] for sign in (1, -1)]
        # the right side is minus the gradient; differences of doubles over 1e-6
        np.testing.assert_allclose((ends[1] - ends[0]) / (2 * step), matrix[j], atol=1e-6)


def test_turns_are_newton_steps_of_the_angles():
    """Slope and curvature of the objective in the angle of one neuron, by central differences."""
    X, scores = table(9, 2, 3)  # few rows: wide cones
    problem = gm.RegularizedProblem(X, scores.argmax(axis=1), gm.Penalty(0.3), "softmax")
    loop = _Loop(problem, oracle_for(problem), _start(problem))
    for _ in range(2):
        loop.round()
        loop.grow()
    loop.master.solve(1e-12)
    single = loop.pool.cones[:, 0] == loop.pool.cones[:, 1]
    inside = np.flatnonzero(single & (np.linalg.norm(loop.master.V, axis=1) > 0.1))
    assert inside.size
    group, weights = loop.pool.group[inside], loop.pool.weights[inside]
    across, rows, room = loop.oracle.turns(group, weights, loop.pool.cones[inside])
    for j, i in enumerate(inside):
        t = 1e-4 * min(abs(room[j]).min(), 1.0)

        def value(t: float, i: int = i, j: int = j) -> float:
            w = (weights[j] + t * across[j]) / np.hypot(1.0, t)
            master = loop.master
            rest = master.rows.copy()
            rest[i] = loop.oracle.features(group[[j]], w[None])[0]
            return master.value_at(master.V, master.c0, rest.T @ master.V + master.c0)

        step, promised = _turns(loop.master, inside[[j]], rows[[j]])
        slope = (value(t) - value(-t)) / (2 * t)
        bend = (value(t) - 2 * value(0.0) + value(-t)) / t**2
        assert -step[0] * bend == pytest.approx(slope, rel=1e-2, abs=1e-6)
        assert promised == pytest.approx(slope**2 / (2 * bend), rel=2e-2, abs=1e-9)


def brute_force(problem: gm.RegularizedProblem, width: int = 12, starts: int = 3) -> float:
    """The least objective that L-BFGS finds with so many neurons per column, written anew."""
    import jax
    import jax.numpy as jnp
    from scipy.optimize import minimize

    X, c, b = problem.X, problem.outputs, problem.penalty.weight_decay
    columns = np.repeat(np.arange(X.shape[1]), width)
    k = columns.size
    with jax.enable_x64(True):
        y = jnp.asarray(problem.y)

        def value(theta):
            w, beta, v = theta[:k], theta[k : 2 * k], theta[2 * k : -c].reshape(k, c)
            f = jnp.maximum(X[:, columns] * w + beta, 0) @ v + theta[-c:]
            if problem.loss.name == "softmax":
                own = jnp.take_along_axis(f, y.astype(int)[:, None], axis=1)[:, 0]
                rows = jax.scipy.special.logsumexp(f, axis=1) - own
            else:
                rows = jnp.sum((f - y) ** 2, axis=1) / 2
            return jnp.sum(rows) + b / 2 * jnp.sum(theta[:-c] ** 2)

        both = jax.jit(jax.value_and_grad(value))
        rng = np.random.default_rng(5)
        runs = [
            minimize(
                lambda t: tuple(np.asarray(x, float) for x in both(t)),
                0.5 * rng.standard_normal(2 * k + k * c + c),
                jac=True,
                method="L-BFGS-B",
                options={"maxiter": 4000, "ftol": 1e-14, "gtol": 1e-9},
            ).fun
            for _ in range(starts)
        ]
    return float(min(runs))


@pytest.mark.parametrize("loss", ["softmax", "squared"])
def test_training_is_as_low_as_brute_force_and_its_floor_is_below(loss: str):
    problem = problem_of(loss, gm.Penalty(2.0))
    run = gm.train_regularized(problem)
    assert run.relative_gap <= 1e-6
    lowest = brute_force(problem)
    value = objective(run.network, problem)
    assert value == pytest.approx(run.training.objective, rel=1e-12)
    assert value <= lowest * (1 + 1e-6)
    assert run.training.floor <= lowest


RULES = {
    "plain": {},
    "free biases": {"hidden_bias": "free"},
    "no intercept": {"intercept": "none"},
    "penalized intercept": {"intercept": 0.25},
    "tau": {"tau": 0.25},
}


@pytest.mark.parametrize("loss", ["softmax", "squared"])
@pytest.mark.parametrize("rule", RULES)
def test_every_rule_is_proved_with_a_gap_of_a_millionth(loss: str, rule: str):
    weight = np.linspace(0.0, 2.0, 60)
    problem = problem_of(loss, gm.Penalty(0.7, **RULES[rule]), sample_weight=weight)
    run = gm.train_regularized(problem)
    proof = gm.prove(run.network, problem, run=run)
    assert proof.verdict == "ACCEPTED", proof.why
    assert proof.gap <= 1.1e-6 * run.training.objective
    again = gm.prove(run.network, problem)  # without the run: the derivative at the outputs
    assert again.verdict == "ACCEPTED", again.why
    assert again.gap <= 1e-3 * run.training.objective


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_real_tables_reach_a_millionth(load):
    X, y = load(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    problem = gm.RegularizedProblem(X, y, gm.Penalty(0.5), "softmax")
    run = gm.train_regularized(problem)
    assert run.relative_gap <= 1e-6
    # heads sum to zero over the classes: a softmax does not feel what all outputs share
    assert np.abs(run.network.v.sum(axis=1)).max() < 1e-5 * np.abs(run.network.v).max()


def test_the_largest_decay_is_where_neurons_begin():
    problem = problem_of("softmax", gm.Penalty(1.0))
    top = largest_decay(problem)
    runs = list(decay_path(problem, [1.001 * top, 0.98 * top, 0.5 * top], gap=1e-7))
    assert [run.network.width > 0 for run in runs] == [False, True, True]


@pytest.mark.parametrize("loss", ["softmax", "squared"])
def test_exact_dual_matrices_have_exact_sums_and_domains(loss: str):
    weight = np.r_[0.0, np.full(29, 0.1), np.linspace(0.3, 3.0, 30)]
    problem = problem_of(loss, gm.Penalty(1.0), sample_weight=weight)
    rng = np.random.default_rng(8)
    for share in (1.0, 1e-6):
        f = rng.standard_normal((60, 3)) * 20  # probabilities next to 0 and 1
        U = share * weight[:, None] * problem.loss.derivative(f, problem.y)
        moved = centered_outputs(problem, U)
        assert moved is not None
        exact = [[Fraction(x) for x in row] for row in exact_outputs(problem, moved).tolist()]
        assert all(sum(column) == 0 for column in zip(*exact, strict=True))
        assert not any(exact[0])
        if loss == "softmax":
            for row, y, om in zip(exact, problem.y.astype(int), weight, strict=True):
                assert sum(row) == 0
                assert row[y] >= -Fraction(om)
                assert all(x >= 0 for k, x in enumerate(row) if k != y)
        scale = np.abs(moved).max()
        near = np.array([[float(x) for x in row] for row in exact])
        # the first row has weight 0; sums of 60 roundings of 2^-45 and the repair
        np.testing.assert_allclose(near[1:], moved[1:], atol=60 * 2.0**-44 * scale)


def test_no_room_for_a_column_is_no_matrix():
    """All samples of one class: the column of the other has nothing to give."""
    X, y = np.zeros((3, 1)), np.zeros(3)
    problem = gm.RegularizedProblem(X, y, gm.Penalty(1.0), get_loss("softmax", 2))
    assert centered_outputs(problem, np.tile([-0.5, 0.5], (3, 1))) is None


def test_networks_with_several_outputs_are_stored(tmp_path):
    problem = problem_of("softmax", gm.Penalty(1.0))
    network = gm.train_regularized(problem).network
    gm.save_network(tmp_path / "net.safetensors", network)
    again = gm.load_network(tmp_path / "net.safetensors").network
    assert isinstance(again, gm.SharedNetwork)
    np.testing.assert_array_equal(again.predict(problem.X), network.predict(problem.X))
    parts = np.column_stack([network.output(o).predict(problem.X) for o in range(3)])
    np.testing.assert_allclose(parts, network.predict(problem.X), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": "pairs"}, "take groups='columns'"),
        ({"groups": "all"}, "take groups='columns'"),
        ({"monotone": [1, 0, 0]}, "one network per output"),
        ({"penalty": gm.Penalty(1.0, hidden_bias="none")}, "neurons are ReLU with a bias"),
        ({"penalty": gm.Penalty(1.0, linear="free")}, "linear='none'"),
        ({"penalty": gm.SquaresPenalty(1.0)}, "neurons are ReLU"),
    ],
)
def test_classes_that_several_outputs_do_not_have_are_refused(options: dict, message: str):
    with pytest.raises(gm.DataError, match=message):
        problem_of("softmax", **({"penalty": gm.Penalty(1.0)} | options))


def test_other_refusals():
    problem = problem_of("softmax", gm.Penalty(1.0))
    network = gm.train_regularized(problem).network
    with pytest.raises(gm.DataError, match="the network has 1 output"):
        gm.prove(network.output(0), problem)
    with pytest.raises(gm.DataError, match="no linear part"):
        type(network)(network.W, network.bias, network.v, network.intercept, np.ones(3))
    with pytest.raises(gm.DataError, match="two or more outputs"):
        gm.SharedNetwork(network.W, network.bias, network.v, [0.0])
    column = problem.X[:, :1]
    one = gm.RegularizedProblem(column, problem.y, gm.Penalty(1.0), "softmax", groups="all")
    with pytest.raises(gm.DataError, match="take groups='columns'"):
        gm.train_relu(one)
    from globalmin.errors import CannotCertify
    from globalmin.regularized.claims import unused_terms

    with pytest.raises(CannotCertify, match="one output"):
        unused_terms.build(network, problem)
