"""The marimo notebooks run from top to bottom, with their own choices and with others."""

import importlib.util
from pathlib import Path

import pytest

marimo = pytest.importorskip("marimo", reason="marimo is in the dependency group of the tests")

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
CHOICES = {
    "table": "wave", "csv": None, "width": 20, "activation": "softplus", "method": "auto",
    "seed": 0,
}  # fmt: skip


def run(name="live_fit", defaults=CHOICES, **changes):
    """What a notebook defines when these choices are made."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    given = {} if not changes else {"defs": {"choices": {**defaults, **changes}}}
    _, defined = module.app.run(**given)
    return defined


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of marimo's own dependencies
def test_the_live_fit_ends_with_an_accepted_certificate():
    defined = run()
    assert defined["choices"] == CHOICES
    assert str(defined["proof"].verdict) == "ACCEPTED"
    assert defined["proof"].certificate is not None
    assert len(defined["figure"].axes) == 2
    assert defined["run"].loss < 1e-20


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_other_choices_are_fitted_too():
    own = b"a,b,y\n" + b"".join(b"%d,%d,%d\n" % (i, i * i % 7, i * 3 % 5) for i in range(10))
    defined = run(csv=own, width=12)
    assert defined["data"].X.shape == (10, 3)
    assert defined["start"].width == 12
    assert str(defined["proof"].verdict) == "ACCEPTED"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_what_is_not_reached_is_not_called_proved():
    slow = run(method="gradient_descent")
    assert slow["run"].method == "gradient_descent"
    assert slow["run"].loss > 1e-20  # twenty thousand steps are not enough
    assert slow["proof"].certificate is None or slow["proof"].is_accepted


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_three_verdicts_of_a_class():
    defined = run("teach_three_verdicts")
    verdicts = defined["verdicts"]
    assert verdicts["trained"] == "global minimum"
    assert verdicts["a few steps from the start"] == "not trained far enough"
    assert verdicts["all zero"] == "saddle"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_wider_networks_are_proved_and_one_neuron_is_not():
    few = {"n": 8, "d": 4, "trials": 1, "widths": (1, 8)}
    defined = run("researcher_sweep_of_widths", {}, **few)
    assert defined["shares"] == {1: 0.0, 8: 1.0}  # 4 weights for 8 labels, and 32
    assert min(defined["asked"].values()) > 1000 > defined["recommended"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_table_ends_in_the_same_predictions_elsewhere():
    runtime = pytest.importorskip("onnxruntime")
    defined = run("practitioner_table", {}, weight_decay=2.0, rows=40)
    assert defined["model"].verdict_ == "ACCEPTED"
    (got,) = runtime.InferenceSession(defined["graph"]).run(None, defined["feeds"])
    # the same doubles in another order of sums
    assert got[:, 0] == pytest.approx(defined["predicted"], rel=1e-9)
