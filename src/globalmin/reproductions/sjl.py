"""SJL, figures 1 to 4: activations, the sizes from which on no run ends in a spurious minimum,
errors by step.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from globalmin.references import states
from globalmin.reproductions.registry import Reproduction, Row, reproduction
from globalmin.reproductions.running import Setting
from globalmin.reproductions.sjl_errors import errors
from globalmin.reproductions.sjl_transitions import transition

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from globalmin._types import Array

ERF = "erf of example 2.4, √2 erf(z/√2)"


@states("SJL-E.fig1")
@reproduction(
    "SJL-E.fig1", title="The activations: softplus and sigmoid with b = 4, erf, tanh, ReLU"
)
def fig1(setting: Setting) -> Reproduction:
    """Curves of the activations, with the average slope of softplus (SJL, figure 1 and example
    2.4).
    """
    import numpy as np

    from globalmin.activations import get_activation

    names = {
        "softplus, b = 4": "softplus(4)",
        "sigmoid, b = 4": "sigmoid(4)",
        "tanh": "tanh",
        "ReLU": "relu",
        "erf itself": "erf",
    }
    z = np.linspace(-3.0, 3.0, setting.pick(thumbnail=121, paper=601))
    curves = {ERF: example_erf(z)}
    curves |= {shown: get_activation(name)(z) for shown, name in names.items()}
    return Reproduction(
        item="SJL-E.fig1",
        scale=setting.scale,
        table=_activation_rows(),
        data={"z": list(z), **{name: list(values) for name, values in curves.items()}},
        figures={"": lambda: draw_activations(z, curves)},
        choices=(
            "A drawing of the activations of example 2.4 and ReLU; the paper prints no number. Its "
            "'erf' is (2/sqrt pi) times the integral of exp(-t^2/2) from 0 to z, that is sqrt(2) "
            "erf(z/sqrt(2)), and is not among the activations of the library; erf itself, which "
            "is, is drawn beside it.",
        ),
    )


def _activation_rows() -> tuple[Row, ...]:
    import numpy as np

    from globalmin.activations import get_activation
    from globalmin.activations.moments import mean_slope

    t = np.linspace(0.0, 1.0, 2_001)
    bell = np.exp(-(t**2) / 2)
    integral = float(np.sum(bell[:-2:2] + 4 * bell[1:-1:2] + bell[2::2]) / 6_000)  # Simpson
    exact = "rounding"
    return (
        *(
            Row(
                f"average slope of softplus, b = 4, at s = {s:g}",
                None,
                float(mean_slope("softplus(4)", s)),
                tolerance=1e-9,
                reference=0.5,
                source="symmetry: the slopes at z and -z add to 1",
                error=exact,
            )
            for s in (0.5, 2.0)
        ),
        Row(
            "softplus, b = 4, at 0",
            None,
            float(get_activation("softplus(4)")(np.zeros(1))[0]),
            tolerance=1e-12,
            reference=math.log(2.0) / 4.0,
            source="log(2)/b",
            error=exact,
            catches=("softplus with b = 1", math.log(2.0)),
        ),
        Row(
            "erf of example 2.4 at 1",
            None,
            float(example_erf(np.ones(1))[0]),
            tolerance=1e-9,
            reference=2.0 / math.sqrt(math.pi) * integral,
            source="the printed integral by Simpson's rule",
            error="its error with 2,000 intervals is below 1e-12",
            catches=("erf itself", math.erf(1.0)),
        ),
    )


def example_erf(z: Array) -> Array:
    """The third activation of SJL, example 2.4: sqrt(2) erf(z/sqrt(2))."""
    import numpy as np

    from globalmin.activations import get_activation

    return np.sqrt(2.0) * get_activation("erf")(np.asarray(z) / np.sqrt(2.0))


@states("SJL-E.fig2a")
@reproduction("SJL-E.fig2a", title="No spurious minima from which width on: softplus, d = 10")
def fig2a(setting: Setting) -> Reproduction:
    """Softplus with b = 10, d = 10, by width (SJL, figure 2a)."""
    return transition("SJL-E.fig2a", setting)


@states("SJL-E.fig2b")
@reproduction("SJL-E.fig2b", title="No spurious minima from which dimension on: softplus, k = 10")
def fig2b(setting: Setting) -> Reproduction:
    """Softplus with b = 10, k = 10, by dimension (SJL, figure 2b)."""
    return transition("SJL-E.fig2b", setting)


@states("SJL-E.fig3a")
@reproduction("SJL-E.fig3a", title="No spurious minima from which width on: quadratic, d = 20")
def fig3a(setting: Setting) -> Reproduction:
    """Quadratic activation, d = 20 (the caption says 10, erratum S27), by width (SJL, figure
    3a).
    """
    return transition("SJL-E.fig3a", setting)


@states("SJL-E.fig3b")
@reproduction("SJL-E.fig3b", title="No spurious minima from which dimension on: quadratic, k = 5")
def fig3b(setting: Setting) -> Reproduction:
    """Quadratic activation, k = 5 (the caption says 10, erratum S27), by dimension (SJL, figure
    3b).
    """
    return transition("SJL-E.fig3b", setting)


@states("SJL-E.fig4a")
@reproduction("SJL-E.fig4a", title="Error by step on random labels: softplus, d = 10, n = 100")
def fig4a(setting: Setting) -> Reproduction:
    """Softplus (SJL, figure 4a)."""
    return errors("SJL-E.fig4a", setting)


@states("SJL-E.fig4b")
@reproduction("SJL-E.fig4b", title="Error by step on random labels: quadratic, d = 20, n = 100")
def fig4b(setting: Setting) -> Reproduction:
    """Quadratic activation (SJL, figure 4b)."""
    return errors("SJL-E.fig4b", setting)


def draw_activations(z: Any, curves: dict[str, Any]) -> Figure:
    """The curves of figure 1."""
    from globalmin.report.reproduction_figures import activation_curves

    return activation_curves(z, curves)
