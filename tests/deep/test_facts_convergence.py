"""DU-T3.1, DU-T3.2 and DU-T3.3 in `inspect`: explicit widths, and images for the third."""

import math

import numpy as np
import pytest

import globalmin as gm
from globalmin.deep import constants
from globalmin.deep.gram import deep_gram
from globalmin.deep.width_orders import deep_width_order, residual_width_order
from globalmin.errors import DataError

rng = np.random.default_rng(11)
X = rng.standard_normal((6, 9))
Y = rng.standard_normal(6)


def look(rows, activation="tanh", **options):
    data = gm.Dataset(rows, Y[: len(rows)], bias=False, scaling="none")
    return gm.inspect(data, 20, activation, **options)


@pytest.mark.parametrize(
    ("item", "architecture"),
    [("DU-T3.1", "fully_connected"), ("DU-T3.2", "resnet"), ("DU-T3.3", "convolutional_resnet")],
)
def test_the_rows_of_the_table_are_the_explicit_widths(item, architecture):
    """DU-T3.1, DU-T3.2, DU-T3.3 on rows of any norm: width, step, rate and lambda_0 of theorem DW,
    c_res = 1/2; never an unknown constant."""
    found = look(X, depth=2, failure=0.2, image_shape=(3, 3)).theorem(item)
    inputs = X.reshape(6, 1, 3, 3) if item == "DU-T3.3" else X
    direct = gm.theory.deep_width(inputs, Y, architecture, 2, "tanh", delta=0.2)
    lam = np.linalg.eigvalsh(deep_gram(inputs, architecture, 2, "tanh", c_res=0.5))[0]
    assert found.width == pytest.approx(direct.width, rel=0.02)
    assert found.step_size == pytest.approx(direct.step_size, rel=0.05)
    assert found.rate == pytest.approx(direct.rate, abs=1e-6)
    numbers = dict(found.numbers)
    assert numbers["λ₀ = λ_min(K^(H))"] == pytest.approx(lam, rel=1e-9)
    promised = numbers["promised decrease of log L per step, η λ₀/2"]
    assert promised == pytest.approx(found.step_size * lam / 2, rel=1e-9)
    pixels = 9 if item == "DU-T3.3" else 1
    order = (
        deep_width_order(6, 2, lam, 0.2)
        if item == "DU-T3.1"
        else residual_width_order(6, 2, lam, 0.2, pixels=pixels)
    )
    assert numbers["the thesis's order of the width, without its constant"] == pytest.approx(
        order, rel=1e-9
    )
    assert found.finding == "fails"
    assert [h.finding.value for h in found.hypotheses][-1] == "fails"
    assert {h.finding.value for h in found.hypotheses[:-1]} == {"holds"}
    assert "width 20" in found.hypotheses[-1].measured


def test_on_unit_rows_the_lemmas_own_width_stands_beside():
    """DU-T3.1 by DU-L3.1 to L3.5: (R'/R)^2 with ||r_0||^2 = (||y||^2 + 4 n)/failure."""
    U = X / np.linalg.norm(X, axis=1)[:, None]
    found = look(U, depth=2).theorem("DU-T3.1")
    lam = float(np.linalg.eigvalsh(deep_gram(U, "fully_connected", 2, "tanh"))[0])
    r = math.sqrt((float(Y @ Y) + 24) / 0.1)
    expected = constants.proof_width("tanh", 2, 6, residual=r, lambda0=lam)
    numbers = dict(found.numbers)
    assert numbers["width by the lemmas' own constants, R′ ≤ R (estimate)"] == pytest.approx(
        expected, rel=1e-6
    )
    assert found.width < expected  # ours is the sharper chain
    assert "width by the lemmas' own constants, R′ ≤ R (estimate)" not in dict(
        look(X, depth=2).theorem("DU-T3.1").numbers
    )


def test_tables_are_signals_and_short_rows_are_outside():
    """DU-T3.3 has no literal verdict: rows of three features and more are signals."""
    direct = gm.theory.deep_width(X.reshape(6, 1, 9), Y, "convolutional_resnet", 3, "tanh")
    assert look(X).theorem("DU-T3.3").width == pytest.approx(direct.width, rel=0.02)
    narrow = look(X[:, :2]).theorem("DU-T3.3")
    assert not narrow.is_in_scope
    assert narrow.width is None
    with pytest.raises(DataError, match="image_shape"):
        look(X, image_shape=(2, 4))


def test_channels_come_last_as_in_the_estimators():
    """DU-T3.3 on rows of 3 x 3 pixels with two channels each, (height, width, channels)."""
    rows = np.random.default_rng(1).standard_normal((4, 18))
    images = rows.reshape(4, 3, 3, 2).transpose(0, 3, 1, 2)
    K = deep_gram(images, "convolutional_resnet", 2, "tanh", c_res=0.5)
    least = {
        shape: dict(look(rows, depth=2, image_shape=shape).theorem("DU-T3.3").numbers)[
            "λ₀ = λ_min(K^(H))"
        ]
        for shape in ((3, 3, 2), (3, 6))
    }
    assert least[3, 3, 2] == pytest.approx(np.linalg.eigvalsh(K)[0], rel=1e-9)
    assert least[3, 6] != pytest.approx(least[3, 3, 2], rel=1e-3)


def test_repeated_rows_and_large_tables_say_why():
    twice = np.vstack([X, X[:1]])
    data = gm.Dataset(twice, rng.standard_normal(7), bias=False, scaling="none")
    for item in ("DU-T3.1", "DU-T3.2", "DU-T3.3"):
        found = gm.inspect(data, 20, "tanh").theorem(item)
        assert found.width == math.inf
        assert found.step_size is None
    large = rng.standard_normal((60, 9))
    data = gm.Dataset(large, rng.standard_normal(60), bias=False, scaling="none")
    report = gm.inspect(data, 20, "tanh").theorem("DU-T3.3")
    assert report.finding == "fails"
    assert "400 samples × pixels" in report.hypotheses[-1].statement
    assert report.is_in_scope


@pytest.mark.parametrize("item", ["DU-T3.1", "DU-T3.2"])
def test_the_limit_of_size_counts_samples_where_there_are_no_images(item):
    sized = [h for h in look(X, depth=2).theorem(item).hypotheses if "computed" in h.statement]
    assert [h.statement for h in sized] == [
        "at most 1,000 samples, for which this is computed here"
    ]
    assert sized[0].measured == "6"
