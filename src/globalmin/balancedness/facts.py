"""The conservation laws of DU chapter 4 at the drawn network, both layers trained by the flow."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from globalmin.balancedness.conserved import neuron_imbalance
from globalmin.facts.finding import TheoremReport, check, fact, number
from globalmin.shallow.network import head_gradient, jacobian_transpose_times, residual

if TYPE_CHECKING:
    from globalmin.facts.instance import Instance


@fact("DU-T4.1", "DU-C4.1", "DU-T4.2", "DU-T4.3")
def conserved(it: Instance) -> TheoremReport:
    """What gradient flow on both layers keeps, and how exactly at these weights."""
    m, net = it.m, it.start.network
    degree = m.activation.homogeneity
    says = "homogeneous activation: gradient flow keeps ‖w_l‖² − p v_l² of every hidden neuron"
    homogeneous = check(
        "φ is homogeneous of some degree p", degree is not None, f"{m.activation}", is_scope=True
    )
    if degree is None:
        return TheoremReport("DU-T4.1", says, (homogeneous,))
    r = residual(net, m.X, m.y)
    G, g = jacobian_transpose_times(net, m.X, r), head_gradient(net, m.X, r)
    terms = np.sum(net.W * G, axis=1)
    defect = float(np.abs(terms - degree * net.v * g).max())
    D = neuron_imbalance(net.W, net.v[None, :], degree=degree)
    scale = float(np.abs(terms).max())
    numbers = [
        ("degree p", float(degree)),
        ("sum over the neurons, ‖W‖² − p‖v‖²", float(D.sum())),
        ("smallest of them", float(D.min())),
        ("largest of them", float(D.max())),
        ("largest rate of change under the flow (rounding)", 2.0 * defect),
        ("largest change in one step of descent", _drift(it.step_size, G, g, degree)),
    ]
    if m.activation.name == "linear":
        full = net.W @ G.T - np.outer(g, net.v)
        numbers.append(
            ("rate of change of WWᵀ − vvᵀ (rounding)", float(np.abs(full + full.T).max()))
        )
    exact = check(
        "nothing changes beyond rounding", defect <= 1e-9 * max(scale, 1.0), number(defect)
    )
    return TheoremReport("DU-T4.1", says, (homogeneous, exact), numbers=tuple(numbers))


def _drift(step_size: float, G: np.ndarray, g: np.ndarray, degree: int) -> float:
    r"""$\eta^2\max_l|\|G_l\|^2 - p g_l^2|$: what one step of descent adds, exactly."""
    return step_size**2 * float(np.abs(np.sum(G**2, axis=1) - degree * g**2).max())
