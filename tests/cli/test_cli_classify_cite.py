"""`globalmin classify` and `globalmin cite`."""

import numpy as np
import pytest

from globalmin.data import Dataset
from globalmin.proving.producer import check
from globalmin.shallow.network import ShallowNetwork
from globalmin.shallow.stationary import nearest_stationary
from globalmin.shallow.storage import save_networks
from globalmin.shallow.train import train
from globalmin_check import Verdict

HEAD = np.r_[np.ones(6), -np.ones(6)]


@pytest.fixture
def stored(table, tmp_path):
    """A table of 24 rows and a function that stores a quadratic network for it."""
    path = table(24)
    data = Dataset.load(path, target="price")

    def store(W, v=HEAD, activation="quadratic"):
        model = tmp_path / "net.safetensors"
        save_networks(model, [ShallowNetwork(W, v, activation)], [data.preprocessing])
        return model

    return path, store, data


def test_zero_weights_are_a_strict_saddle_with_a_direction_the_checker_confirms(
    run, stored, tmp_path
):
    """SJL-T2.1: the curvature printed is that of the loss along the printed direction, by
    differences.
    """
    path, store, data = stored
    model, out = store(np.zeros((12, 5))), tmp_path / "saddle.gmc"
    picture = tmp_path / "saddle.svg"
    ended = run(
        "classify", model, path, "-t", "price", "--out", out, "--picture", picture, "--json"
    )
    assert ended.code == 0, ended
    found = ended.json
    assert found["kind"] == "strict saddle"
    assert found["negative_eigenvalues"] > 0
    U, t = np.array(found["escape"]["U"]), 1e-3
    losses = [0.5 * np.sum((((s * data.X @ U.T) ** 2) @ HEAD - data.y) ** 2) for s in (-t, 0.0, t)]
    second = (losses[0] - 2 * losses[1] + losses[2]) / t**2
    assert second == pytest.approx(found["escape"]["curvature"], rel=1e-4)
    claim = found["proof"]["claims"][0]
    assert claim["kind"] == "strict-saddle"
    assert second <= -claim["numbers"]["gamma"] * (1 - 1e-4) < 0
    assert check(out).verdict is Verdict.ACCEPTED
    assert "curvature" in picture.read_text(encoding="utf-8")


def test_the_fitted_network_is_a_global_minimum_with_its_proved_gap(run, stored, tmp_path):
    path, _, _ = stored
    assert (
        run(
            "fit",
            path,
            "-t",
            "price",
            "--activation",
            "quadratic",
            "--out",
            tmp_path / "o",
            "--test-size",
            0,
        ).code
        == 0
    )
    picture = tmp_path / "gap.png"
    ended = run(
        "classify", tmp_path / "o" / "model.safetensors", path, "-t", "price", "--picture", picture
    )
    assert ended.code == 0, ended
    assert ended.out.startswith("point")
    assert "global minimum" in ended.out
    assert "gap" in ended.out
    assert "check again" not in ended.out
    assert picture.read_bytes()[:4] == b"\x89PNG"


def test_random_weights_are_not_stationary_and_nothing_is_claimed(run, stored, tmp_path):
    path, store, _ = stored
    model = store(np.random.default_rng(0).standard_normal((12, 5)))
    ended = run("classify", model, path, "-t", "price", "--json")
    assert ended.code == 0
    assert ended.json["kind"] == "not stationary"
    assert ended.json["proof"] is None
    out = tmp_path / "none.gmc"
    assert run("classify", model, path, "-t", "price", "--out", out).code == 1
    assert not out.exists()


def test_one_positive_neuron_at_its_own_minimum_is_second_order_stationary(run, stored, tmp_path):
    """A narrow network at the end of descent: no theorem makes it global, and the checker confirms
    the two tolerances.
    """
    path, store, data = stored
    w = np.full(5, 0.1)
    for _ in range(4000):
        w -= 1e-3 * 2 * data.X.T @ (((data.X @ w) ** 2 - data.y) * (data.X @ w))
    out = tmp_path / "second.gmc"
    ended = run(
        "classify", store(w[None, :], np.ones(1)), path, "-t", "price", "--out", out, "--json"
    )
    assert ended.code == 0, ended
    assert ended.json["kind"] in ("second-order stationary", "global minimum")
    assert check(out).verdict is Verdict.ACCEPTED


def test_doubtful_weights_are_not_decided_and_the_checker_confirms_the_two_tolerances(
    run, stored, tmp_path, monkeypatch
):
    """Two equal positive heads can be rotated into each other; beside that valley its curvature is
    the gradient's doing.
    """
    monkeypatch.setattr("globalmin.landscape.classify.SETTLED_LIMIT", 0)
    path, store, data = stored
    start = ShallowNetwork(
        np.random.default_rng(0).standard_normal((2, 5)), np.ones(2), "quadratic"
    )
    bottom = nearest_stationary(train(start, data, "trust_region").network, data.X, data.y)
    kinds, out = set(), tmp_path / "doubt.gmc"
    for seed in range(8):
        push = np.random.default_rng(seed).standard_normal((2, 5))
        ended = run(
            "classify",
            store(bottom.W + 1e-8 * push, np.ones(2)),
            path,
            "-t",
            "price",
            "--out",
            out,
            "--json",
        )
        kinds.add(ended.json["kind"])
        if ended.json["kind"] == "not decided":
            assert ended.code == 0, ended
            assert "train to a smaller gradient" in ended.json["reason"]
            assert ended.json["proof"]["claims"][0]["kind"] == "second-order-stationary"
    assert kinds == {"not decided", "second-order stationary"}


def test_kinks_have_no_landscape_here_and_say_so(run, stored):
    path, store, _ = stored
    ended = run("classify", store(np.ones((12, 5)), activation="relu"), path, "-t", "price")
    assert ended.code in (1, 3)
    assert "relu" in ended.err


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--out", "nowhere/x.gmc"),
        ("--picture", "x.pdf"),
        ("--trained", "v"),
        ("--picture", "nowhere/x.svg"),
    ],
)
def test_bad_options_of_classify_are_usage_errors(run, stored, option, value):
    path, store, _ = stored
    ended = run("classify", store(np.zeros((12, 5))), path, "-t", "price", option, value)
    assert ended.code == 2
    assert option in " ".join(ended.err.split())


def test_cite_names_the_work_and_the_functions_whatever_the_case(run):
    ended = run("cite", "sjl-t2.1")
    assert ended.code == 0
    assert "optimization landscape of over-parameterized" in " ".join(ended.out.split())
    assert "globalmin.landscape.classify.classify_point" in "".join(ended.out.split())
    whole = run("cite", "GKZ", "--json").json
    assert whole["work"] == "GKZ"
    assert "GKZ-SPAN" in whole["code"]


def test_cite_agrees_with_the_registry_of_the_decorator(run):
    import globalmin.landscape
    from globalmin.references import stated

    assert globalmin.landscape
    for name in stated()["SJL-T2.1"]:
        assert name in run("cite", "SJL-T2.1", "--json").json["code"]["SJL-T2.1"]


def test_cite_refuses_what_is_not_in_the_catalogue_and_offers_neighbors(run):
    ended = run("cite", "SJL-T2.11")
    assert ended.code == 2
    assert "did you mean SJL-T2.1" in " ".join(ended.err.split())
