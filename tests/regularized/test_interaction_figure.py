"""The table and the picture of interactions: long names, names in other scripts, and what is left
out is said.
"""

import warnings

import numpy as np
import pytest

import globalmin as gm
from globalmin import drawing
from globalmin.regularized.interaction_figure import draw_interactions
from globalmin.regularized.interactions import Interactions, columns_of, shortened


def found(names, seed=0):
    rng, d = np.random.default_rng(seed), len(names)
    A = rng.standard_normal((d, d))
    return Interactions(tuple(names), 0.5, rng.standard_normal(d), A + A.T)


def drawn(figure):
    """Draw it, with every warning an error but that of a font that is not installed."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message="Glyph")
        figure.draw_without_rendering()
    return figure


def test_columns_of_a_text():
    assert [columns_of(text) for text in ("abc", "年齢", "e\u0301", "")] == [3, 4, 1, 0]


@pytest.mark.parametrize(
    "name", ["mean radius", "x" * 80, "総コレステロール値の平均と分散", "ab" * 13]
)
@pytest.mark.parametrize("most", [7, 24])
def test_a_name_is_shortened_in_its_middle(name, most):
    short = shortened(name, most)
    assert columns_of(short) <= most
    if columns_of(name) <= most:
        assert short == name
    else:
        head, tail = short.split("…")
        assert name.startswith(head)
        assert name.endswith(tail)
        assert columns_of(short) >= most - 2  # an ideograph of two columns may not fit


def test_strengths_are_the_norms_of_all_coefficients_of_a_column():
    interactions = found(["a", "b", "c"])
    rows = [row for row in interactions.table() if row.second is not None]
    for name, strength in zip("abc", interactions.strengths(), strict=True):
        own = [row.coefficient for row in rows if name in (row.first, row.second)]
        assert len(own) == 3
        assert strength == pytest.approx(np.linalg.norm(own), rel=1e-14)


def test_the_table_is_aligned_for_wide_letters():
    lines = str(found(["年齢", "b"])).splitlines()
    ends = {columns_of(line[: line.rindex("  ") + 2]) for line in lines}
    assert len(ends) == 1


def test_long_names_leave_room_for_the_triangle():
    figure = drawn(draw_interactions(found([f"{'long ' * 20}{j}" for j in range(6)])))
    triangle, bars = figure.axes[:2]
    assert all(len(label.get_text()) <= 24 for label in triangle.get_yticklabels())
    width = triangle.get_position().width * figure.get_figwidth()
    assert width > 6 * 0.2  # inches: every column of the triangle can be seen
    assert bars.get_position().width * figure.get_figwidth() > 1.0


@pytest.mark.parametrize("d", [1, 2, 5, 30])
def test_every_size_is_drawn_without_a_warning(d):
    figure = drawn(draw_interactions(found([f"c{j}" for j in range(d)]), most=30))
    assert len(figure.axes[0].get_xticks()) == d
    assert figure.get_supxlabel() == ""
    image = figure.axes[0].collections[0].get_array()
    assert int(image.mask.sum()) == d * (d - 1) // 2


def test_columns_that_are_left_out_are_said():
    figure = drawn(draw_interactions(found([f"c{j}" for j in range(200)])))
    assert figure.get_supxlabel().startswith("12 of 200 columns")


def test_colors_are_the_coefficients_of_products():
    """The product of two columns has twice the entry of the matrix."""
    one = found(["a", "b"])
    image = draw_interactions(one).axes[0].collections[0].get_array()
    image = image.reshape(2, 2)
    assert image[1, 0] == 2 * one.matrix[1, 0]
    assert image[0, 0] == one.matrix[0, 0]


def test_other_scripts_get_a_font_that_has_them():
    assert drawing.families_for("mean radius Ωé") == ["DejaVu Sans"]
    from matplotlib import font_manager

    installed = any("CJK" in font.name for font in font_manager.fontManager.ttflist)
    families = drawing.families_for("年齢")
    assert families[0] == "DejaVu Sans"
    assert len(families) == 1 + installed
    label = drawn(draw_interactions(found(["年齢", "性別"]))).axes[0].get_yticklabels()[0]
    assert label.get_fontproperties().get_family() == families


def test_interactions_of_the_squared_loss_are_the_function():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((50, 3)), rng.standard_normal((50, 2))
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    model = gm.QuadraticNetworkRegressor(weight_decay=1.0, bias_scale=4.0, certify=False)
    read = model.fit(X, y).interactions_
    outputs = [one.constant + Z @ one.linear + np.sum(Z @ one.matrix * Z, axis=1) for one in read]
    np.testing.assert_allclose(np.stack(outputs, axis=1), model.predict(X), rtol=1e-9)
    assert model.plot_interactions(target=1) is not None
    chosen = gm.QuadraticNetworkRegressorCV(n_decays=2, cv=2, certify=False).fit(X, y[:, 0])
    one = chosen.interactions_
    outputs = one.constant + Z @ one.linear + np.sum(Z @ one.matrix * Z, axis=1)
    np.testing.assert_allclose(outputs, chosen.predict(X), rtol=1e-9)
    plain = gm.QuadraticNetworkRegressor(bias=False, weight_decay=1.0, certify=False).fit(
        X, y[:, 0]
    )
    assert not plain.interactions_.linear.any()


def test_another_loss_and_another_activation_say_where_to_go():
    X, y = np.random.default_rng(0).standard_normal((30, 2)), np.ones(30)
    with pytest.raises(gm.DataError, match=r"SquaresNetworkRegressor\(loss='poisson'\)"):
        gm.QuadraticNetworkRegressor(loss="poisson").fit(X, y)
    model = gm.QuadraticNetworkRegressor(activation="polynomial(0,1,1)", certify=False)
    with pytest.raises(gm.DataError, match="matrix_"):
        _ = model.fit(X, X[:, 0]).interactions_
