"""The numbers in a drawing, read back from the figure: as places that show their value under the
pointer, and as csv text. Every page offers both without keeping its numbers twice.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

import numpy as np

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.typing import NDArray

MOST_MARKS, MOST_OF_ALL = 250, 2000  # places of one curve, of a figure, that answer the pointer
RADIUS = 5.0


class Series(NamedTuple):
    """One curve or cloud of points of one axes."""

    axes: Axes
    name: str
    points: NDArray[np.float64]


def series_of(figure: Figure) -> Iterator[Series]:
    """Curves, clouds of points, bars and histograms of a figure, axes by axes; lines that only mark
    a level are none.
    """
    from matplotlib.collections import PathCollection
    from matplotlib.patches import StepPatch

    for axes in figure.axes:
        for line in axes.get_lines():
            points = _floats(line.get_xydata())
            if line.get_transform() == axes.transData and len(points):
                yield Series(axes, _name(line.get_label()), points)
        for cloud in axes.collections:
            points = _floats(cloud.get_offsets())
            if isinstance(cloud, PathCollection) and len(points):
                yield Series(axes, _name(cloud.get_label()), points)
        every = [bar for group in axes.containers for bar in getattr(group, "patches", ())]
        bars = [_bar_end(bar) for bar in every if not hasattr(bar, "value_texts")]
        if bars:
            yield Series(axes, "bars", np.array(bars, dtype=np.float64))
        for stairs in axes.patches:
            if isinstance(stairs, StepPatch):
                counts, edges, _ = stairs.get_data()
                middles = (np.asarray(edges)[:-1] + np.asarray(edges)[1:]) / 2.0
                yield Series(axes, "", np.column_stack([middles, counts]).astype(np.float64))


def _bar_end(bar: object) -> tuple[float, float]:
    """Where a bar ends, along its longer way as drawn; both are read by the eye."""
    x, y = bar.get_x(), bar.get_y()  # pyright: ignore[reportAttributeAccessIssue]
    wide, high = bar.get_width(), bar.get_height()  # pyright: ignore[reportAttributeAccessIssue]
    return (x + wide, y + high / 2) if y != 0 else (x + wide / 2, y + high)


def _floats(points: object) -> NDArray[np.float64]:
    return np.ma.filled(np.ma.asarray(points, dtype=np.float64), np.nan)


def _name(label: object) -> str:
    text = str(label)
    return "" if text.startswith("_") else plain_text(text)


def plain_text(text: str) -> str:
    """A label without the marks of mathematics."""
    return text.replace(r"\$", "\0").replace("$", "").replace("\0", "$")


def tell_values(artist: Artist, texts: list[str]) -> None:
    """Give a mesh of cells the words that the pointer reads, row by row; or a bar its own. A cell
    with "" says nothing.
    """
    artist.value_texts = texts  # pyright: ignore[reportAttributeAccessIssue]


def _cells(figure: Figure) -> Iterator[tuple[float, float, float, float, str]]:
    """Left, bottom, width and height in points of every cell that has words."""
    for axes in figure.axes:
        for mesh in axes.collections:
            texts = getattr(mesh, "value_texts", None)
            if texts is None:
                continue
            corners: Any = mesh.get_coordinates()  # pyright: ignore[reportAttributeAccessIssue]
            low, high = (
                axes.transData.transform(part.reshape(-1, 2)) * (72.0 / figure.dpi)
                for part in (corners[:-1, :-1], corners[1:, 1:])
            )
            for one, other, text in zip(low, high, texts, strict=True):
                left, bottom = np.minimum(one, other)
                wide, tall = np.abs(other - one)
                if text:
                    yield left, bottom, wide, tall, text
        for bar in axes.patches:
            for text in getattr(bar, "value_texts", ()):
                box = bar.get_window_extent()
                scale = 72.0 / figure.dpi
                corner = (scale * box.x0, scale * box.y0)
                yield *corner, scale * box.width, scale * box.height, text


def marks_of(figure: Figure) -> str:
    """Invisible circles and cells with a title, in the coordinates of the saved drawing: browsers
    show the title under the pointer, without a script.
    """
    from markupsafe import escape

    height = float(figure.get_size_inches()[1]) * 72.0
    made: list[str] = []
    found = list(series_of(figure))
    most = max(2, min(MOST_MARKS, MOST_OF_ALL // max(1, len(found))))
    for one in found:
        xlabel, ylabel = _labels(one.axes)
        stride = -(-len(one.points) // most)
        shown = one.points[::stride]
        places = one.axes.transData.transform(shown) * (72.0 / figure.dpi)
        box = one.axes.get_window_extent().padded(2.0)
        for (x, y), (px, py) in zip(shown, places, strict=True):
            if not box.contains(px * figure.dpi / 72.0, py * figure.dpi / 72.0):
                continue
            words = f"{xlabel} {x:.5g}\n{one.name or ylabel} {y:.5g}"
            made.append(
                f'<circle class="value" cx="{px:.1f}" cy="{height - py:.1f}" r="{RADIUS:g}" '
                f'fill="transparent"><title>{escape(words)}</title></circle>'
            )
    for left, bottom, wide, high, words in _cells(figure):
        made.append(
            f'<rect class="value" x="{left:.1f}" y="{height - bottom - high:.1f}" '
            f'width="{wide:.1f}" height="{high:.1f}" fill="transparent">'
            f"<title>{escape(words)}</title></rect>"
        )
    return "".join(made)


def _labels(axes: Axes) -> tuple[str, str]:
    return plain_text(axes.get_xlabel()) or "x", plain_text(axes.get_ylabel()) or "y"


def csv_of(figure: Figure) -> str:
    """All points as csv: the panel where there are several, the curve, and two columns with the
    names of the axes of the first panel.
    """
    found = list(series_of(figure))
    if not found:
        return ""
    panels = list(dict.fromkeys(id(one.axes) for one in found))
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    several = len(panels) > 1
    writer.writerow([*(["panel"] if several else []), "series", *_labels(found[0].axes)])
    for one in found:
        title = plain_text(one.axes.get_title()) or str(panels.index(id(one.axes)) + 1)
        for x, y in one.points:
            row = [one.name, repr(float(x)), repr(float(y))]
            writer.writerow([title, *row] if several else row)
    return stream.getvalue()


def data_address(table: str) -> str:
    """The csv text as an address that a link with `download` saves, without a request."""
    return "data:text/csv;charset=utf-8," + quote(table)
