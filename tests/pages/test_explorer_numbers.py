"""The numbers of the explorer against the Python engine: same start, same data, same steps."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.pages.chromium import Chromium, Page

from globalmin.activations import get_activation
from globalmin.data import Dataset
from globalmin.explore import save_page
from globalmin.one_filter.landscape import barrier, filter_landscape, trap_test
from globalmin.one_filter.network import FilterTeacher, population_gradient, population_loss
from globalmin.shallow.hessian import hessian
from globalmin.shallow.methods.gradient_descent import gradient_descent
from globalmin.shallow.methods.levenberg_marquardt import levenberg_marquardt
from globalmin.shallow.network import ShallowNetwork, jacobian_gram
from globalmin.shallow.problem import Problem
from globalmin.shallow.provability import estimate_provability
from globalmin.shallow.step_sizes import theory_step

AGREES = 1e-6  # promised; sums in another order differ by about 1e-13, a long run amplifies them
SETTLED = 100


@pytest.fixture(scope="module")
def page(browser: Chromium, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    path = save_page(tmp_path_factory.mktemp("explorer") / "page.html")
    opened = browser.open_page(path)
    yield opened
    assert opened.complaints() == []
    opened.close()


def table(page: Page, index: int) -> Dataset:
    """The table of the page as a data set, through its own preprocessing."""
    from globalmin.data.preprocessing import Preprocessing

    entry = json.loads(page.evaluate("document.getElementById('numbers').textContent"))["tables"]
    found = entry[index]
    fields = found["preprocessing"] | {
        "feature_names": found["features"],
        "target_name": found["target"],
    }
    raw, labels = np.array(found["raw"]), np.array(found["labels"])
    return Dataset.from_raw(raw, labels, Preprocessing.from_dict(fields))


def run_there(page: Page, **choices: Any) -> dict[str, Any]:
    """Choose and run to the end in the page; what it recorded."""
    return page.evaluate(
        f"""(() => {{
          const s = globalminExplorer.session;
          s.choose({json.dumps(choices)});
          const first = [...s.point.spectrum];
          const begun = performance.now();
          s.run();
          return {{ history: s.history, fired: s.fired, isNumpy: s.isNumpy, eta: s.eta, first,
                   last: [...s.point.spectrum], W: [...s.point.W], v: [...s.point.v],
                   kind: s.verdict.kind, seconds: (performance.now() - begun) / 1000 }};
        }})()"""
    )


@pytest.mark.parametrize(
    ("index", "width", "activation", "seed"),
    [(0, 20, "softplus", 0), (1, 40, "tanh", 1), (2, 50, "softplus", 0), (3, 40, "sigmoid", 2),
     (0, 21, "quadratic", 3), (2, 50, "softplus", 1), (2, 50, "relu", 0), (0, 30, "relu", 1),
     (3, 41, "relu", 2)],
)  # fmt: skip
def test_levenberg_marquardt_agrees_step_by_step(
    page: Page, index: int, width: int, activation: str, seed: int
) -> None:
    data = table(page, index)
    network = ShallowNetwork.initialize(data, width, activation, seed=seed)
    theirs = run_there(
        page, table=index, width=width, activation=activation, seed=seed, start="random",
        method="levenberg_marquardt", limit=None,
    )  # fmt: skip
    ours = levenberg_marquardt(network, data)
    assert theirs["isNumpy"]
    losses = np.array([row["loss"] for row in theirs["history"]])
    # a run of hundreds of steps that never settles amplifies rounding as a pendulum does
    steps = min(len(losses), len(ours.losses), SETTLED)
    if steps < SETTLED:
        assert abs(len(losses) - len(ours.losses)) <= 2  # where rounding ends the run
    # below 1e-20 of the first loss the residual is rounding
    floor = 1e-20 * ours.losses[0]
    np.testing.assert_allclose(losses[:steps], ours.losses[:steps], rtol=AGREES, atol=floor)
    spectra = [
        np.linalg.eigvalsh(jacobian_gram(net, data.X))[::-1] for net in (network, ours.network)
    ]
    ends = 2 if steps < SETTLED else 1
    for found, expected in zip((theirs["first"], theirs["last"])[:ends], spectra, strict=False):
        # an eigenvalue in floats is known to eps times the largest one
        exact = 1e-13 * expected[0]
        np.testing.assert_allclose(found[::-1], expected, rtol=AGREES, atol=exact)


@pytest.mark.parametrize(
    ("index", "activation", "width"),
    [(0, "softplus", 30), (2, "softplus", 50), (3, "softplus", 30), (2, "relu", 60),
     (3, "relu", 60)],
)  # fmt: skip
def test_the_inequality_is_that_of_the_python_engine(
    page: Page, index: int, activation: str, width: int
) -> None:
    data = table(page, index)
    theirs = run_there(
        page, table=index, width=width, activation=activation, seed=0, start="random",
        method="levenberg_marquardt", limit=None,
    )  # fmt: skip
    trace: dict[int, float] = {}

    def watch(step: Any) -> None:
        trace[step.iteration] = estimate_provability(step.network(), data.X, data.y)

    network = ShallowNetwork.initialize(data, width, activation, seed=0)
    levenberg_marquardt(network, data, monitor=watch)
    fired = next(step for step, ratio in sorted(trace.items()) if ratio < 1.0)
    assert theirs["fired"] == fired
    assert theirs["kind"] == "near"
    row = theirs["history"][fired]
    assert row["newton"] == pytest.approx(trace[fired], rel=1e-5)  # e is near the rounding of r
    before = theirs["history"][fired - 1]
    assert before["newton"] >= 1.0
    assert before["newton"] == pytest.approx(trace[fired - 1], rel=AGREES)


def test_the_descent_ratio_is_that_of_the_python_engine(page: Page) -> None:
    data = table(page, 0)
    theirs = run_there(
        page, table=0, width=20, activation="softplus", seed=0, start="random",
        method="levenberg_marquardt", limit=None,
    )  # fmt: skip
    at = theirs["fired"] + 1
    found: dict[int, float] = {}

    def watch(step: Any) -> None:
        found[step.iteration] = estimate_provability(
            step.network(), data.X, data.y, claim="descent"
        )

    network = ShallowNetwork.initialize(data, 20, "softplus", seed=0)
    levenberg_marquardt(network, data, monitor=watch)
    assert theirs["history"][at]["descent"] == pytest.approx(found[at], rel=1e-5)


@pytest.mark.parametrize(
    ("index", "activation"),
    [(0, "softplus"), (2, "tanh"), (1, "quadratic"), (3, "sigmoid"), (2, "relu"),
     (3, "relu")],
)  # fmt: skip
def test_gradient_descent_agrees_step_by_step(page: Page, index: int, activation: str) -> None:
    data = table(page, index)
    network = ShallowNetwork.initialize(data, 16, activation, seed=4)
    theirs = page.evaluate(
        f"""(() => {{
          const s = globalminExplorer.session;
          s.choose({{ table: {index}, width: 16, activation: "{activation}", seed: 4, step: 1,
                     start: "random", method: "gradient_descent", limit: 40 }});
          while (s.advance(0, {{ single: true }}));
          return {{ losses: s.history.map((row) => row.loss), eta: s.eta }};
        }})()"""
    )
    start = Problem(data.X, data.y, network.activation).at(network.W, network.v)
    if activation != "quadratic":  # there the engine estimates |J| by power iteration
        assert theirs["eta"] == pytest.approx(theory_step(network, start), rel=1e-9)
    else:
        assert theirs["eta"] == pytest.approx(theory_step(network, start), rel=1e-2)
    ours = gradient_descent(network, data, step_size=theirs["eta"], max_iter=40)
    np.testing.assert_allclose(theirs["losses"], ours.losses, rtol=1e-10)


def test_two_hundred_points_at_width_fifty_are_trained_to_zero_loss(page: Page) -> None:
    theirs = run_there(
        page, table=2, width=50, activation="softplus", seed=0, start="random",
        method="levenberg_marquardt", limit=None,
    )  # fmt: skip
    assert theirs["history"][-1]["loss"] < 1e-20
    assert theirs["kind"] == "near"
    assert theirs["seconds"] > 0.0  # bench/explorer.py says how fast


@pytest.mark.parametrize("name", ["softplus", "tanh", "sigmoid", "quadratic"])
def test_the_hessian_and_its_least_eigenvalue(page: Page, name: str) -> None:
    data = table(page, 0)
    network = ShallowNetwork.initialize(data, 6, name, seed=2)
    found = page.evaluate(
        f"""(() => {{
          const s = globalminExplorer.session;
          s.choose({{ table: 0, width: 6, activation: "{name}", seed: 2, start: "random" }});
          const H = globalminExplorer.engine.hessian(s.point);
          const {{ value, vector }} = globalminExplorer.engine.leastEigenpair(H, 12);
          return {{ H: [...H], value, vector: [...vector] }};
        }})()"""
    )
    H = hessian(network, data.X, data.y)
    np.testing.assert_allclose(np.reshape(found["H"], H.shape), H, rtol=1e-9, atol=1e-10)
    values = np.linalg.eigvalsh(H)
    assert found["value"] == pytest.approx(values[0], rel=1e-9, abs=1e-12 * values[-1])
    direction = np.array(found["vector"])
    np.testing.assert_allclose(H @ direction, values[0] * direction, atol=1e-6 * abs(values[-1]))


@pytest.mark.parametrize("name", ["softplus", "tanh", "sigmoid", "quadratic", "relu"])
def test_both_ratios_at_given_weights(page: Page, name: str) -> None:
    """Near weights of zero loss, where the local bounds of the second derivative matter."""
    data = table(page, 2)
    start = ShallowNetwork.initialize(data, 60, name, seed=5)
    near = levenberg_marquardt(start, data, tol=1e-3, polish=False).network
    found = page.evaluate(
        f"""(() => {{
          const s = globalminExplorer.session, e = globalminExplorer.engine;
          s.choose({{ table: 2, width: 60, activation: "{name}", seed: 5, start: "random" }});
          const W = Float64Array.from({near.W.ravel().tolist()});
          const {{ newton, descent }} = e.inequalities(new e.Point(s.start.task, W, s.start.v));
          return [newton, descent];
        }})()"""
    )
    # of relu the page has the one ratio of theorem RI, the engine gives it for both claims
    claims = ("interpolation", "descent")[: 1 if name == "relu" else 2]
    for ratio, claim in zip(found, claims, strict=False):
        expected = estimate_provability(near, data.X, data.y, claim=claim)
        found_here = np.inf if ratio is None else ratio  # 200 squares of 10 numbers: J J^T singular
        assert found_here == pytest.approx(expected, rel=AGREES)


@pytest.mark.parametrize("n", [1, 2, 3, 30])
def test_eigenvalues_of_hard_matrices(page: Page, n: int) -> None:
    rng = np.random.default_rng(n)
    low_rank = rng.standard_normal((n, max(1, n // 3)))
    for A in (np.eye(n), np.zeros((n, n)), low_rank @ low_rank.T, np.diag(10.0 ** -np.arange(n))):
        entries = f"Float64Array.from({A.ravel().tolist()})"
        code = f"[...globalminExplorer.engine.eigenvalues({entries}, {n})]"
        expected = np.linalg.eigvalsh(A)
        exact = 1e-13 * max(abs(expected[-1]), 1e-300)
        np.testing.assert_allclose(page.evaluate(code), expected, rtol=1e-12, atol=exact)


def test_the_activations_have_the_suprema_of_the_engine(page: Page) -> None:
    suprema = json.loads(page.evaluate("document.getElementById('numbers').textContent"))["suprema"]
    for name, bounds in suprema.items():
        expected = [float(get_activation(name).supremum(order)) for order in (1, 2, 3)]
        assert [np.inf if bound is None else bound for bound in bounds] == expected


@pytest.mark.parametrize("a", [(1.0, -0.5, 0.2), (1.0, -1.0, 0.5, -0.3), (1.0, 0.9, 0.8)])
def test_the_one_filter_network_is_that_of_the_python_engine(
    page: Page, a: tuple[float, ...]
) -> None:
    teacher = FilterTeacher(np.array([1.0, 0.0]), np.array(a))
    rng = np.random.default_rng(7)
    scene = filter_landscape(teacher)
    found = page.evaluate(
        f"(() => {{ const e = globalminExplorer.engine, t = e.filterTeacher({list(a)});"
        "return { barrier: t.barrier, hasTrap: t.hasTrap,"
        " angle: t.saddleG === null ? null : e.angleOfTurn(t.saddleG) }; })()"
    )
    assert found["barrier"] == pytest.approx(barrier(teacher), rel=1e-13)
    assert found["hasTrap"] == scene.has_spurious_minimum
    assert found["angle"] == pytest.approx(scene.saddle_angle, abs=1e-12)
    for _ in range(20):
        v, head = rng.standard_normal(2), rng.standard_normal(len(a))
        loss, gradient, basin = page.evaluate(
            f"""(() => {{ const e = globalminExplorer.engine, t = e.filterTeacher({list(a)});
            const v = {v.tolist()}, a = {head.tolist()}, g = e.filterGradient(v, a, t);
            return [e.filterLoss(v, a, t), [...g.dv, ...g.da], e.filterBasin(v, a, t)]; }})()"""
        )
        assert loss == pytest.approx(population_loss(v, head, teacher), rel=1e-12)
        expected = np.concatenate(population_gradient(v, head, teacher))
        np.testing.assert_allclose(gradient, expected, rtol=1e-9, atol=1e-12)
        words = {"trap": "spurious minimum", "global": "global minimum"}
        assert words.get(basin, basin) == str(trap_test(v, head, teacher))


def test_the_map_of_the_trap_is_the_least_loss_at_that_height(page: Page) -> None:
    """Minimized over the output weights by brute force: another road than the formula."""
    from scipy.optimize import minimize

    a = np.array([1.0, -0.5, 0.2])
    teacher = FilterTeacher(np.array([1.0, 0.0]), a)
    for phi, b in ((0.3, 0.7), (2.0, -0.4), (3.0, 0.0)):
        v = np.array([np.cos(phi), np.sin(phi)])
        least = minimize(
            lambda head, v=v: population_loss(v, head, teacher),
            b * a,
            constraints={"type": "eq", "fun": lambda head, b=b: head @ a - b * (a @ a)},
            options={"ftol": 1e-14},
        )
        code = "globalminExplorer.engine"
        found = page.evaluate(f"{code}.shadowLoss({phi}, {b}, {code}.filterTeacher({a.tolist()}))")
        assert found == pytest.approx(least.fun, rel=1e-6)
        head = page.evaluate(f"{code}.shadowHead({b}, {code}.filterTeacher({a.tolist()}))")
        np.testing.assert_allclose(head, least.x, atol=1e-4)


def exported(page: Page, folder: Path) -> tuple[Path, Path]:
    """Weights and rows as the page saves them."""
    weights, rows = page.evaluate(
        """(() => { const s = globalminExplorer.session, e = globalminExplorer.engine;
        const bytes = e.networkFile(s.point, s.table);
        return [btoa(String.fromCharCode(...bytes)), e.tableText(s.table)]; })()"""
    )
    model, data = folder / "explorer.safetensors", folder / "explorer.csv"
    model.write_bytes(base64.b64decode(weights))
    data.write_text(rows, encoding="utf-8")
    return model, data


@pytest.mark.parametrize(("index", "target"), [(0, "y"), (3, "progression")])
def test_exported_weights_are_certified(
    page: Page, tmp_path: Path, index: int, target: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from globalmin.cli import main

    run_there(
        page, table=index, width=40, activation="softplus", seed=0, start="random",
        method="levenberg_marquardt", limit=None,
    )  # fmt: skip
    model, data = exported(page, tmp_path)
    code = main(["certify", str(model), str(data), "--target", target, "--json"])
    said = json.loads(capsys.readouterr().out)
    assert code == 0
    assert said["verdict"] == "ACCEPTED"


def test_a_table_of_ones_own_is_standardized_as_by_the_engine(page: Page, tmp_path: Path) -> None:
    text = 'name;größe;"a ""b""";preis\nx;1.5;2;3\ny;2.5;2;1\nz;-1;2;0.25\nw;7;2;5\n'
    found = page.evaluate(
        f"""(() => {{ const e = globalminExplorer.engine, s = globalminExplorer.session;
        const table = e.standardized(e.tableFrom({json.dumps(text)}));
        const {{ X, y, n, d }} = e.stored(table);
        return {{ features: table.features, target: table.target, dropped: table.dropped,
                 X: [...X], y: [...y], n, d, csv: e.tableText(table) }}; }})()"""
    )
    raw = np.array([[1.5, 2.0], [2.5, 2.0], [-1.0, 2.0], [7.0, 2.0]])
    data = Dataset(raw, np.array([3.0, 1.0, 0.25, 5.0]))
    assert (found["features"], found["target"]) == (["größe", 'a "b"'], "preis")
    assert found["dropped"] == ["name"]
    np.testing.assert_allclose(np.reshape(found["X"], data.X.shape), data.X, rtol=1e-14)
    np.testing.assert_allclose(found["y"], data.y, rtol=1e-14)
    path = tmp_path / "own.csv"
    path.write_text(found["csv"], encoding="utf-8")
    assert np.array_equal(Dataset.load(path, target="preis").X, data.X)


@pytest.mark.parametrize(
    ("text", "said"),
    [("a,b\n1,2\n", "fewer than two rows"), ("1,2\n3,4\n5,6\n", "header line"),
     ("a,b\n1,2\n3\n", "Line 3 has 1 cells"), ("a,b\n1,x\n2,y\n", "Fewer than two columns")],
)  # fmt: skip
def test_bad_tables_are_refused_with_the_remedy(page: Page, text: str, said: str) -> None:
    code = f"globalminExplorer.engine.tableFrom({json.dumps(text)})"
    with pytest.raises(RuntimeError, match=said):
        page.evaluate(code)


@pytest.mark.parametrize(("index", "width"), [(0, 20), (1, 20)])
def test_a_run_without_progress_ends_where_that_of_the_engine_does(
    page: Page, index: int, width: int
) -> None:
    """All neurons equal: the first ends after twelve refused steps in a row, the second when sixty
    systems did not lower the residual by one per cent. When the refusals begin is decided by
    rounding: engine runs from starts that differ in the last bit end after 35 to 46 steps.
    """
    data = table(page, index)
    drawn = ShallowNetwork.initialize(data, width, "softplus", seed=0)
    ours = levenberg_marquardt(drawn.with_weights(W=np.tile(drawn.W[0], (width, 1))), data)
    theirs = run_there(
        page, table=index, width=width, activation="softplus", seed=0, start="equal",
        method="levenberg_marquardt", limit=None,
    )  # fmt: skip
    assert ours.status.name == "STALLED"
    there = [row["loss"] for row in theirs["history"]]
    if index == 0:
        for losses in (list(ours.losses), there):
            refused = len(losses) - losses.index(losses[-1]) - 1
            assert refused == 12
            assert losses[-1] == min(losses)
    else:
        assert len(there) == pytest.approx(len(ours.losses), abs=2)  # rounding decides
    assert theirs["history"][-1]["loss"] == pytest.approx(ours.loss, rel=1e-6)


def test_a_point_is_stationary_from_one_millionth_on(page: Page) -> None:
    """On the way to a saddle the relative gradient falls through 4e-4 and 9e-6, which are not
    small enough to be called a saddle, to 1e-9.
    """
    for limit in (10, 15, 20):
        run_there(
            page, table=0, width=20, activation="softplus", seed=0, start="equal",
            method="levenberg_marquardt", limit=limit,
        )  # fmt: skip
        slope, still, kind = page.evaluate(
            "(({ seen, verdict }) => [seen.slope, seen.isStationary, verdict.kind])"
            "(globalminExplorer.session)"
        )
        assert (slope < 1e-6) == still == (limit == 20)
        assert slope < 1e-3  # so that a coarser rule is seen
        assert (kind == "saddle") == still
