"""The comparison of descents: iterations to a second-order point against dimension, one picture a
family of functions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from globalmin._types import Array
from globalmin.report.figures import BLUE, GREEN, INK, MUTED, ORANGE, RED

if TYPE_CHECKING:
    from matplotlib.figure import Figure


STYLES = ((BLUE, "o"), (RED, "s"), (ORANGE, "D"), (GREEN, "^"), (INK, "v"), (MUTED, "P"))


def iterations_by_dimension(
    dimensions: Array, iterations: Mapping[str, Array], *, x_label: str, title: str
) -> Figure:
    """Medians over the runs with their range, on a logarithmic axis; dimensions where a run did not
    arrive are left out.

    Parameters
    ----------
    dimensions : of the family, increasing.
    iterations : method -> array of shape (dimensions, runs); NaN for a run that did not arrive.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.6, 3.6), layout="constrained")
    axes = figure.add_subplot()
    for i, ((color, marker), (name, counts)) in enumerate(
        zip(STYLES, iterations.items(), strict=False)
    ):
        arrived = np.isfinite(counts).all(axis=1)
        if not arrived.any():
            axes.plot(
                [],
                [],
                color=color,
                marker=marker,
                markersize=4,
                linestyle=":",
                label=f"{name}: never",
            )
            continue
        d, found = np.asarray(dimensions)[arrived], counts[arrived]
        axes.fill_between(
            d, found.min(axis=1), found.max(axis=1), color=color, alpha=0.15, linewidth=0
        )
        thick = 3.6 if i == 0 else 1.6  # plain descent shows below what coincides with it
        axes.plot(
            d,
            np.median(found, axis=1),
            color=color,
            marker=marker,
            markersize=2.5 * thick**0.5,
            linewidth=thick,
            label=name,
        )
    axes.set_yscale("log")
    axes.set_xticks(np.asarray(dimensions), [f"{size:g}" for size in dimensions])
    axes.set(xlabel=x_label, ylabel="iterations to a second-order point", title=title)
    axes.legend(fontsize=7.5, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure
