"""Words and pictures of the claims about quadratic networks and points of the landscape."""

import numpy as np
import pytest
from tests.report.records import accepted, record, target

from globalmin import drawing
from globalmin.proving.proof import Proof, ProvedClaim, ProvedNumbers
from globalmin.report import figures
from globalmin.report.measures import estimate_quadratic
from globalmin.report.page import render
from globalmin.report.record import color_of
from globalmin.report.words import headline, limits, plain_statement
from globalmin.shallow.network import ShallowNetwork

FACTS = {
    "zero": 50.0,
    "linear": 12.0,
    "threshold": 0.0,
    "dual_eigenvalues": [-1e-12, 1e-12],
    "n": 24,
    "needed": 15,
}
GAP = {
    "objective": 10.0,
    "floor": 9.999999,
    "gap": 1e-9,
    "method": "span",
    "heads": "any",
    "decay": "0",
    "loss_upper": 10.0,
}
DECAY = GAP | {"method": "decay", "decay": "2", "loss_upper": 8.0}
NUMBERS = {
    "optimality-gap": GAP,
    "identifies": {"loss_upper": 1.0, "rank": 15.0},
    "ambiguous": {"loss_upper": 1.0, "difference": 0.25, "sigma2": 0.1},
    "below-barrier": {"loss_upper": 1.0, "E0": 0.1, "barrier": 3.0, "eta": "1/8", "rate": 0.5},
    "strict-saddle": {
        "loss_upper": 7.0,
        "gamma": 2.5,
        "eps": 1e-9,
        "radius": 0.125,
        "trained": "W",
    },
    "second-order-stationary": {"loss_upper": 7.0, "eps": 1e-9, "delta": 1e-6, "trained": "W"},
    "unique-minimum": {
        "loss_upper": 7.0,
        "r": 0.125,
        "r_minus": 1e-9,
        "starts": 0.124,
        "mu": 2.5,
        "eta": "1/8",
        "rate": 0.5,
    },
}


def proof_of(kind, numbers=None):
    return Proof(
        "ACCEPTED",
        "",
        (
            ProvedClaim(
                kind,
                "ACCEPTED",
                "",
                "The checker's words.",
                ProvedNumbers.read(numbers or NUMBERS[kind]),
            ),
        ),
    )


def page_of(proof, **facts):
    solved = {
        "method": "convex",
        "message": "",
        "n_iter": 9,
        "starts": 1,
        "loss": 10.0,
        "relative_residual": 0.4,
    }
    return render(
        record(target(quadratic=FACTS | facts, training={"status": "converged", **solved})), [proof]
    )


@pytest.mark.parametrize("kind", NUMBERS)
def test_every_kind_has_words_of_its_own_without_a_hole(kind):
    words = plain_statement(proof_of(kind).claims[0])
    assert words != "The checker's words."
    assert "?" not in words
    assert "{" not in words


@pytest.mark.parametrize(
    ("kind", "color", "words"),
    [
        (
            "optimality-gap",
            "green",
            "at the global minimum over quadratic networks with any head, of any width",
        ),
        ("identifies", "amber", "Nothing is proved about the loss"),
        ("ambiguous", "amber", "Nothing is proved about the loss"),
        ("below-barrier", "amber", "they are not there yet"),
        (
            "strict-saddle",
            "amber",
            "not a local minimum: along the direction in the file the loss curves downwards",
        ),
        ("second-order-stationary", "amber", "Whether they are a global minimum is not proved"),
        ("unique-minimum", "amber", "Whether it is global is not proved"),
    ],
)
def test_only_the_optimality_gap_says_that_this_is_the_minimum(kind, color, words):
    proof = proof_of(kind)
    assert color_of(proof) == color
    assert words in headline(proof)
    assert f'class="verdict {color}"' in page_of(proof)


def test_a_wide_gap_is_no_proof_of_the_minimum():
    proof = proof_of("optimality-gap", GAP | {"gap": 0.5, "floor": 9.5})
    assert not proof.reaches_minimum
    assert "the gap is wide" in headline(proof)


def test_weight_decay_is_named_wherever_its_loss_is_meant():
    proof = proof_of("optimality-gap", DECAY)
    assert "L + (w/2)‖W‖² with w = 2" in plain_statement(proof.claims[0])
    assert "of the penalized loss" in headline(proof)
    page = page_of(proof, threshold=40.0, dual_eigenvalues=[-40.0, 1.0, 40.0])
    assert "The dual certificate" in page
    assert "weight decay w" in page
    assert "no network of the class has a penalized loss below" in page
    assert "no network of the class has a loss below" not in page
    assert "penalized" not in page_of(proof_of("optimality-gap"))
    assert any("Another activation" in item for item in limits(proof))


def test_heads_of_one_sign_are_part_of_the_statement():
    assert "with a head v ≤ 0" in plain_statement(
        proof_of("optimality-gap", GAP | {"heads": "nonpositive"}).claims[0]
    )
    assert "with a head v ≥ 0" in plain_statement(
        proof_of("optimality-gap", GAP | {"heads": "nonnegative"}).claims[0]
    )


def test_the_page_of_a_solved_network_shows_the_bracket_and_no_curve_of_steps():
    page = page_of(proof_of("optimality-gap"))
    assert "Distance to the global minimum" in page
    assert "Training loss</h3>" not in page
    assert "Spectrum of the Gram matrix" not in page
    unproved = render(record(target(quadratic=FACTS)), [accepted()])
    assert "Training loss</h3>" in unproved


def test_barrier_and_sample_count_have_their_panels():
    assert "Below the barrier" in page_of(proof_of("below-barrier"))
    assert "Samples and unknowns" in page_of(proof_of("identifies"))
    assert "another network fits as well" in page_of(proof_of("ambiguous"))


def _axes(draw):
    with drawing.style():
        (axes,) = draw().axes
    return axes


def test_the_bracket_has_a_rung_for_each_positive_value_and_survives_a_zero_gap():
    axes = _axes(lambda: figures.bracket(0.0, [("zero", 5.0), ("better", -1.0)]))
    assert [text.get_text() for text in axes.get_yticklabels()] == ["zero", "this network"]
    low, high = axes.get_xlim()
    assert low < 1e-299
    assert high > 5.0


def test_eigenvalues_on_the_edge_of_the_band_are_set_apart():
    axes = _axes(
        lambda: figures.dual_spectrum(np.array([2.0, -2.0, 0.5]), threshold=2.0, two_sided=True)
    )
    inside, edge = axes.lines[0], axes.lines[1]
    np.testing.assert_array_equal(inside.get_ydata(), [0.5])
    np.testing.assert_array_equal(np.sort(edge.get_ydata()), [-2.0, 2.0])
    levels = [line.get_ydata()[0] for line in axes.lines if line.get_color() == drawing.GREEN]
    assert levels == [-2.0, 2.0]


def test_the_parabola_of_the_escape_has_the_given_curvature():
    steps = np.linspace(-1.0, 1.0, 41)
    losses = 3.0 - 2.0 * steps**2 + 4.0 * steps**4
    axes = _axes(lambda: figures.escape_curve(steps, losses, curvature=-4.0, proved=True))
    dashed, curve = axes.lines[0], axes.lines[1]
    np.testing.assert_array_equal(curve.get_ydata(), losses)
    np.testing.assert_allclose(dashed.get_ydata(), 3.0 - 2.0 * dashed.get_xdata() ** 2)
    assert any("proved: curvature ≤ −4" in text.get_text() for text in axes.texts)


def test_the_facts_about_a_quadratic_network_agree_with_loops():
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((7, 3)), rng.standard_normal(7)
    network = ShallowNetwork(rng.standard_normal((2, 3)), np.array([0.5, -0.5]), "quadratic")
    facts = estimate_quadratic(network, X, y, weight_decay=3.0)
    Z = sum(
        (sum(v * (w @ x) ** 2 for v, w in zip(network.v, network.W, strict=True)) - t)
        * np.outer(x, x)
        for x, t in zip(X, y, strict=True)
    )
    np.testing.assert_allclose(facts["dual_eigenvalues"], np.linalg.eigvalsh(Z), atol=1e-12)
    assert facts["zero"] == pytest.approx(0.5 * sum(t * t for t in y))
    assert facts["threshold"] == pytest.approx(3.0)  # w/(2 max|v|)
    assert (facts["n"], facts["needed"], facts["linear"]) == (7, 6, None)
    plain = estimate_quadratic(network, X, y)
    assert plain["linear"] == pytest.approx(0.5 * np.linalg.lstsq(X, y, rcond=None)[1][0])
