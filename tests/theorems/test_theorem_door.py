"""The theorem door: every ID of the catalogue answers, honestly, and with the user's numbers."""

import importlib
import json
import math

import numpy as np
import pytest

import globalmin as gm
from globalmin.errors import DataError
from globalmin.facts.finding import HOMES, ask, fact, facts, subject_of
from globalmin.facts.instance import Instance
from globalmin.inspection.inspection import pose
from globalmin.octopus.function import Octopus
from globalmin.one_filter.network import FilterTeacher
from globalmin.references import catalogue
from globalmin.theorems.door import Door
from globalmin.theorems.sources import code_of_items, entries


@pytest.fixture(scope="module")
def data():
    return gm.generators.sphere_with_random_labels(12, 5, seed=0)


def instances(data):
    rng = np.random.default_rng(1)
    X, W = rng.standard_normal((25, 4)), rng.standard_normal((6, 4))
    planted = gm.Dataset(X, np.square(X @ W.T).sum(axis=1), bias=False, scaling="none")
    return [
        pose(data, 30, "softplus"),
        pose(data, 30, "relu"),
        pose(data, 3, "sigmoid"),
        pose(data, 6, "linear"),
        pose(planted, 12, "quadratic"),
        pose(planted, 12, "quadratic", scheme="du"),
    ]


def test_every_item_has_an_entry_and_no_entry_is_made_up():
    assert list(entries()) != []
    assert set(entries()) == set(catalogue())
    for entry in entries().values():
        assert len(entry.statement) > 20, entry.item
        assert entry.statement.endswith("."), entry.item
        assert entry.title, entry.item
        assert entry.formula.count("{") == entry.formula.count("}"), entry.item


def test_every_entry_has_a_door_or_says_that_there_is_nothing_to_compute():
    for item, entry in entries().items():
        found = gm.theorem(item)
        if entry.nothing:
            assert found.doors == (Door.NOTHING,), f"{item} has a door: {found.functions}"
            assert found.status == entry.nothing
        else:
            assert Door.NOTHING not in found.doors, f"{item} has no door and does not say so"


def test_every_function_named_exists():
    for item, names in code_of_items().items():
        assert item in entries(), item
        for name in names:
            parts = name.split(".")
            found = importlib.import_module(".".join(parts[:3]))
            for part in parts[3:]:
                found = getattr(found, part, None) or importlib.import_module(
                    f"{found.__name__}.{part}"
                )
            assert callable(found), name


def test_facts_are_registered_once_in_the_homes_of_the_families():
    for item, function in facts().items():
        assert item in entries(), item
        assert function.__module__ in HOMES
    with pytest.raises(DataError, match=r"two facts for OS-L6\.6"):
        fact("OS-L6.6")(lambda instance: instance)


def test_every_fact_answers_on_every_kind_of_instance(data):
    subjects = {
        FilterTeacher: FilterTeacher([1.0, 2.0, 0.5], [1.0, -0.4, 0.3]),
        Octopus: Octopus(4),
    }
    everywhere = instances(data)
    for item in facts():
        kind = subject_of(item)
        for instance in everywhere if kind is Instance else [subjects[kind]]:
            report = ask(item, instance)
            assert report.item == item
            assert report.says
            assert all(isinstance(value, float) for _, value in report.numbers), item
            assert not any(math.isnan(value) for _, value in report.numbers), item


def bounds_of(report):
    """Pairs (bound, measured) by the words of a report, for the lemmas below."""
    return dict(report.numbers)


def test_bounds_hold_on_data_and_are_not_trivial(data):
    """OS-L6.5, OS-L6.6, OS-L6.8, OS-LC.1, OS-K4, SJL-L7.11, SJL-L7.12, OS-LC.2 on one step."""
    it = pose(data, 30, "softplus")
    n = bounds_of(ask("OS-L6.6", it))
    assert 0.2 * n["B‖v‖‖X‖"] < n["‖J‖ at the drawn start"] <= n["B‖v‖‖X‖"]
    n = bounds_of(ask("OS-L6.5", it))
    assert 0.0 < n["λ_min(JJᵀ) ≥"] <= n["λ_min(JJᵀ), measured"]
    assert n["λ_max(JJᵀ), measured"] <= n["λ_max(JJᵀ) ≤"] < 4 * n["λ_max(JJᵀ), measured"]
    n = bounds_of(ask("OS-K4", it))
    for how in ("OS-L6.8", "OS-K4", "OS-LC.1"):
        assert 0.3 * n[f"‖J₁−J₀‖ ≤, {how}"] < n["‖J₁−J₀‖ measured"] <= n[f"‖J₁−J₀‖ ≤, {how}"]
    n = bounds_of(ask("SJL-L7.11", it))
    assert 0 < n["‖J₁−J₀‖ measured"] <= n["‖J₁−J₀‖ ≤ in one step of both layers"]
    n = bounds_of(ask("SJL-L7.12", it))
    low, high = n["lower multiple, (2/n) σ_min(J)²"], n["upper multiple, (2/n) ‖J‖²"]
    assert low <= n["‖∇L‖²/L at the drawn start"] <= high
    n = bounds_of(ask("OS-LC.2", pose(data, 30, "relu")))
    assert n["changed in one step"] <= n["signs of one sample that may change, ours"]


def test_the_secant_identity_is_exact_and_the_prediction_is_near(data):
    """DU-Q2.6, OS-DEFG.2."""
    for activation in ("softplus", "relu"):
        n = bounds_of(ask("DU-Q2.6", pose(data, 400, activation)))
        assert n["defect of the identity in one step (rounding)"] < 1e-12
        assert n["the same by the prediction"] == pytest.approx(n["‖r‖ after one step"], rel=0.05)
        assert n["what the step bends, ‖u₁ − u₀ − JΔW‖"] > 0.0


def test_lower_bounds_of_lambda_are_below_it(data):
    """OS-LH.1, OS-LH.2, OS-L6.4, OS-TI.1, OS-CI.2, DU-D2.1."""
    for item, activation in (("OS-LH.2", "softplus"), ("OS-LH.1", "softplus"), ("OS-TI.1", "relu")):
        n = bounds_of(ask(item, pose(data, 30, activation)))
        found = [value for what, value in n.items() if what.startswith("at least")]
        assert len(found) >= 3
        assert max(found) <= max(n["λ(X), computed"], n.get("λ̃(X), computed", 0.0))
        assert max(found) > 0.0


def test_the_teacher_of_planted_labels_is_found_and_its_barrier_attained(data):
    """GKZ-DIRECT, GKZ-T2.1, GKZ-T2.1c, GKZ-RATE, GKZ-T2.6b, GKZ-C2.2."""
    it = instances(data)[4]
    assert bounds_of(ask("GKZ-DIRECT", it))["mean squared misfit of the recovered network"] < 1e-18
    n = bounds_of(ask("GKZ-T2.1", it))
    exact = n["barrier, exact (ours)"]
    assert n["risk of the cheapest point of deficient rank"] == pytest.approx(exact, rel=1e-8)
    assert n["barrier, printed"] < exact < n["risk of the printed one, 3σ⁴"]
    assert n["curvature out of the cheapest point"] < 0
    few = pose(gm.Dataset(it.m.X[:7], it.m.y[:7], bias=False, scaling="none"), 12, "quadratic")
    n = bounds_of(ask("GKZ-T2.6b", few))
    assert n["largest difference on the samples (rounding)"] < 1e-9
    assert n["root mean square difference over N(0, I)"] > 1.0
    assert bounds_of(ask("GKZ-C2.2", it))["least loss of all widths, head summing to zero"] < 1e-18


def test_homogeneous_networks_conserve_their_balance(data):
    """DU-T4.1, DU-C4.1, DU-T4.2, DU-T4.3; softplus is out of scope."""
    for index in (1, 3, 4):
        report = ask("DU-T4.1", instances(data)[index])
        assert report.finding == "holds", report
    assert not ask("DU-T4.1", instances(data)[0]).is_in_scope


def test_an_answer_is_that_of_inspect(data):
    """One question, one answer: the same report from both doors."""
    inspection = gm.inspect(data, width=40, activation="softplus")
    for item in ("OS-C6", "OS-T2.1", "DU-T3.1", "SJL-T2.1", "FCL-T1"):
        assert gm.theorem(item, data, width=40).report == inspection.theorem(item)
    assert inspection.theorem("OS-L6.6") == gm.theorem("OS-L6.6", data, width=40).report
    with pytest.raises(DataError, match=r"DU-T7\.3"):
        inspection.theorem("DU-T7.3")


def test_the_door_in_words(data):
    found = gm.theorem("os-t2.1", data, width=40)
    text = str(found)
    assert found.item == "OS-T2.1"
    assert found.answer == "a hypothesis fails here"
    for part in ("OS-T2.1", found.title, "Corrected:", "On your data", "width ≥", "khatri_rao"):
        assert part in text
    assert max(map(len, text.splitlines())) < 180
    content = json.loads(found.to_json())
    assert content["report"]["finding"] == "fails"
    assert content["doors"] == ["MEASURED", "PROVED"]  # for one start: the claim trajectory
    assert "tests/kernels/test_widths.py" in " ".join(found.tests)
    assert gm.theorem("SJL-P7.8").status == "not computable: constant unknown"
    assert gm.theorem("OS-C2").doors == (Door.MEASURED, Door.PROVED)
    assert gm.theorem("DU-F2.1").doors == (Door.RUN,)
    assert gm.theorem("SJL-P7.8", data).answer == "not computable: constant unknown"
    assert gm.theorem("DU-T6.3", data).answer.startswith("not about")
    assert gm.theorem("GKZ-T2.3", data).answer == "not about this kind of network"


def test_unknown_items_and_other_subjects_are_refused_with_a_remedy(data):
    with pytest.raises(DataError, match=r"did you mean OS-T2\.1"):
        gm.theorem("OS-T2.11")
    with pytest.raises(DataError, match=r"docs/theorems\.md"):
        gm.theorem("xyz")
    with pytest.raises(DataError, match="FilterTeacher"):
        gm.theorem("DU-T5.5", data)
    with pytest.raises(DataError, match="Dataset"):
        gm.theorem("OS-T2.1", np.eye(3))
    assert gm.theorem("DU-T5.5", FilterTeacher([1.0, 0.0], [1.0, -1.0])).report.finding == "holds"
    assert gm.theorem("DU-T7.3", Octopus(6)).report.numbers


def test_the_command(tmp_path, capsys):
    from globalmin.cli.application import run

    table = tmp_path / "data.csv"
    rng = np.random.default_rng(0)
    rows = ["a,b,y", *(",".join(f"{x:.6f}" for x in rng.standard_normal(3)) for _ in range(9))]
    table.write_text("\n".join(rows) + "\n", encoding="utf-8")
    assert run(["theorem", "OS-L6.6"]) == 0
    assert "Size of the Jacobian" in capsys.readouterr().out
    options = ["--target", "y", "--width", "8", "--activation", "tanh", "--json"]
    assert run(["theorem", "os-l6.6", str(table), *options]) == 0
    content = json.loads(capsys.readouterr().out)
    bound, measured = (number["value"] for number in content["report"]["numbers"])
    assert 0.0 < measured <= bound
    assert run(["theorem", "OS-L6.66"]) == 2
    assert "OS-L6.6" in capsys.readouterr().err
    assert run(["theorem", "OS-L6.6", str(table)]) == 2
    assert "--target" in capsys.readouterr().err
