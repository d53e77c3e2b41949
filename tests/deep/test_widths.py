"""The widths of the deep theorems, without constants."""

import math

import pytest

from globalmin.deep.width_orders import deep_width_order, residual_width_order


def test_orders_of_magnitude_for_deep_networks_grow_as_printed():
    """DU-T3.1, DU-T3.2, DU-T3.3: powers of n, lambda and the depth; no constants."""
    assert deep_width_order(200, 3, 1e-3) / deep_width_order(100, 3, 1e-3) == pytest.approx(16)
    assert deep_width_order(100, 3, 1e-3) / deep_width_order(100, 3, 1e-2) == pytest.approx(1e4)
    assert residual_width_order(100, 8, 1e-6) / residual_width_order(100, 4, 1e-6) == pytest.approx(
        2**-4
    )
    assert residual_width_order(100, 8, 1e-6, pixels=9) / residual_width_order(
        100, 4, 1e-6, pixels=9
    ) == (pytest.approx(2**-2))
    assert deep_width_order(100, 3, 0.0) == math.inf
