"""What every picture is drawn with: one palette and style sheet, axes and ticks, and the ways to
keep a figure, as files or as inline SVG of a page. No global state; matplotlib is imported on use.

The colors are the names of a small palette; the page maps each to a CSS variable, so that one
drawing serves light and dark.
"""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from globalmin.drawn_values import csv_of, marks_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, MUTED, GRID = "#1f2a37", "#66717f", "#e2e7ed"
BLUE, ORANGE, GREEN, RED = "#2b5f9e", "#c4611a", "#18794e", "#b42318"
COLORS = (BLUE, ORANGE, GREEN, RED, MUTED, INK)  # of the curves of one picture, in this order
DASHED = (0, (4, 2))
PALETTE = {
    "ink": INK,
    "muted": MUTED,
    "grid": GRID,
    "blue": BLUE,
    "orange": ORANGE,
    "green": GREEN,
    "red": RED,
}

SIZE = (4.7, 3.1)
_PLAIN = 0x2000  # letters below are in the style sheet's font
# families with many scripts, asked for the letters that the style sheet's font has not
_LARGE_FONTS = ("CJK", "Sans SC", "Sans JP", "Sans KR", "Unicode", "WenQuanYi", "IPA", "Gothic")
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

STYLE: dict[str, Any] = {
    "figure.figsize": SIZE, "figure.facecolor": "none", "savefig.facecolor": "none",
    "axes.facecolor": "none",
    "font.family": ["DejaVu Sans"], "font.size": 8.5, "axes.labelsize": 8.5, "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "text.color": INK, "axes.labelcolor": MUTED, "xtick.color": MUTED, "ytick.color": MUTED,
    "axes.edgecolor": MUTED,
    "axes.spines.top": False, "axes.spines.right": False, "axes.linewidth": 0.6,
    "axes.axisbelow": True,
    "axes.grid": True, "grid.color": GRID, "grid.linewidth": 0.7, "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "xtick.major.size": 3, "ytick.major.size": 0, "xtick.minor.size": 0, "ytick.minor.size": 0,
    "lines.linewidth": 1.6, "lines.solid_capstyle": "round", "legend.frameon": False,
    "legend.fontsize": 8,
    "axes.unicode_minus": True, "svg.fonttype": "none", "path.simplify": True,
}  # fmt: skip


def style() -> AbstractContextManager[None]:
    """The one style sheet, as a context: drawing and saving both happen inside it."""
    import matplotlib

    return matplotlib.rc_context({**matplotlib.rcParamsDefault, **STYLE, "backend": "svg"})  # pyright: ignore[reportArgumentType]


def families_for(text: str) -> list[str]:
    """Font families to draw a text with: that of the style sheet, then an installed one that has
    the letters which it lacks (ideographs, Hangul); none is added where none is installed.
    """
    from matplotlib import font_manager
    from matplotlib.ft2font import FT2Font

    missing = {ord(letter) for letter in text if ord(letter) > _PLAIN}
    found = [*STYLE["font.family"]]
    if not missing:
        return found
    missing -= set(FT2Font(font_manager.findfont(found[0])).get_charmap())
    candidates = {font.name: font.fname for font in font_manager.fontManager.ttflist
                  if any(word in font.name for word in _LARGE_FONTS)}  # fmt: skip
    for name, path in sorted(candidates.items()):
        if not missing:
            break
        own = set(FT2Font(path).get_charmap())
        if missing & own:
            found.append(name)
            missing -= own
    return found


def save(draw: Callable[[], Figure], path: Path) -> tuple[Path, Path]:
    """Draw inside the style sheet and write `path`.svg, whose values show under the pointer, and
    `path`.png; returns both paths.
    """
    import matplotlib

    with style(), matplotlib.rc_context({"svg.hashsalt": "globalmin"}), _quiet_about_glyphs():
        figure = draw()
        svg, png = (path.parent / f"{path.name}.{ending}" for ending in ("svg", "png"))
        stream = io.StringIO()
        figure.savefig(stream, format="svg", metadata={"Date": None})
        document = stream.getvalue().rstrip().removesuffix("</svg>")
        svg.write_text(f"{document}{marks_of(figure)}\n</svg>\n", encoding="utf-8")
        if not use_installed_fonts(figure):
            figure.set_layout_engine("none")  # everything has its place from the first drawing
        figure.savefig(png, dpi=130, facecolor="white")
    return svg, png


WORLD_FONTS = (  # for letters that DejaVu Sans lacks, where one of them is installed
    "Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans", "WenQuanYi Zen Hei", "PingFang SC",
    "Microsoft YaHei", "Arial Unicode MS",
)  # fmt: skip


def use_installed_fonts(figure: Figure) -> bool:
    """Let texts with letters beyond DejaVu Sans fall back to fonts of this machine: a picture,
    unlike a page, is not set anew by the reader. Whether there are such texts.
    """
    from matplotlib.font_manager import fontManager
    from matplotlib.text import Text

    def is_text(artist: Any) -> bool:
        return isinstance(artist, Text) and any(
            ord(letter) > 0x2FFF for letter in artist.get_text()
        )

    foreign = figure.findobj(is_text)
    if foreign:
        installed = {font.name for font in fontManager.ttflist}
        fonts = ["DejaVu Sans", *(name for name in WORLD_FONTS if name in installed)]
        for text in foreign:
            text.set_fontfamily(fonts)  # pyright: ignore[reportAttributeAccessIssue]
    return bool(foreign)


def inline_svg(draw: Callable[[], Figure], *, name: str, label: str) -> str:
    """Draw inside the style sheet and return one `<svg>` element; the values of its points show
    under the pointer.

    Parameters
    ----------
    draw : makes the figure; called once.
    name : prefix of every id, unique on the page.
    label : what a screen reader says.
    """
    return inline_figure(draw, name=name, label=label).svg


class Inline(NamedTuple):
    """A drawing for a page: the `<svg>` element, and the numbers behind it as csv text."""

    svg: str
    csv: str


def inline_figure(draw: Callable[[], Figure], *, name: str, label: str) -> Inline:
    """The drawing of `inline_svg` with its numbers."""
    import matplotlib

    with style(), matplotlib.rc_context({"svg.hashsalt": "globalmin"}), _quiet_about_glyphs():
        stream = io.StringIO()
        figure = draw()
        figure.savefig(
            stream,
            format="svg",
            metadata={"Date": None, "Creator": None, "Format": None, "Type": None},
        )
        marks, table = marks_of(figure), csv_of(figure)
    svg = as_inline(stream.getvalue(), name, label)
    return Inline(svg.removesuffix("</svg>") + marks + "</svg>", table)


@contextmanager
def _quiet_about_glyphs() -> Iterator[None]:
    """Letters that the measuring font lacks are no news: a page is set in the reader's fonts."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph \d+ .* missing from font")
        yield


def as_inline(document: str, name: str, label: str) -> str:
    """The `<svg>` element of a stored drawing, ready to stand in a page; `name` and `label` as in
    `inline_svg`.
    """
    from markupsafe import escape

    svg = document[document.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", svg)
    svg = svg.replace("xlink:href=", "href=")
    svg = re.sub(r'\sid="', f' id="{name}-', svg)
    svg = re.sub(r'(href="#|url\(#)', rf"\g<1>{name}-", svg)
    svg = re.sub(
        r'^<svg [^>]*?(viewBox="[^"]*")[^>]*>',
        rf'<svg \g<1> role="img" aria-label="{escape(label)}">',
        svg,
    )
    for variable, color in PALETTE.items():
        svg = svg.replace(color, f"var(--{variable})")
    return re.sub(r"\n\s*", "\n", svg).strip()


def new_axes(xlabel: str, ylabel: str, *, grid: str = "y") -> tuple[Figure, Axes]:
    """One axes of the house size with its labels; `grid` names the axes with grid lines, "y" or
    "xy".
    """
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained")
    axes = figure.add_subplot()
    axes.set_xlabel(_plain(xlabel))
    axes.set_ylabel(ylabel)
    if "x" not in grid:
        axes.grid(visible=False, axis="x")
    return figure, axes


def _plain(text: str, limit: int = 48) -> str:
    """Text that is not read as mathematics by matplotlib, cut to a length an axis can carry."""
    shown = text if len(text) <= limit else text[: limit - 1] + "…"
    return shown.replace("$", r"\$")


def level(axes: Axes, value: float, text: str, color: str, *, offset: float) -> None:
    """A horizontal line with its label at the left end, so many points above or (negative) below
    it.
    """
    axes.axhline(value, color=color, linewidth=1.3, zorder=2)
    place = {
        "xycoords": ("axes fraction", "data"),
        "xytext": (0, offset),
        "textcoords": "offset points",
    }
    axes.annotate(
        text,
        (0.015, value),
        color=color,
        fontsize=8,
        ha="left",
        va="top" if offset < 0 else "bottom",
        **place,
    )


def padded_decades(low: float, high: float, *, below: float = 0.1) -> tuple[float, float]:
    """Limits outside [low, high]: 10 % of the span above, the fraction `below` of it below, at
    least half a decade.
    """
    a, b = math.log10(max(low, 1e-300)), math.log10(max(high, 1e-300))
    return 10.0 ** max(a - max(0.45, below * (b - a)), -307.0), 10.0 ** min(
        b + max(0.45, 0.1 * (b - a)), 307.0
    )


def decade_ticks(axes: Axes, which: str) -> None:
    """At most about seven ticks, at round powers of ten, set with superscripts of the text font."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    axis = axes.yaxis if which == "y" else axes.xaxis
    low, high = (
        math.log10(limit) for limit in (axes.get_ylim() if which == "y" else axes.get_xlim())
    )
    stride = next((s for s in (1, 2, 5, 10, 20, 50) if (high - low) / s <= 8), 100)
    exponents = range(math.ceil(low / stride) * stride, math.floor(high) + 1, stride)
    axis.set_major_locator(FixedLocator([10.0**e for e in exponents]))
    axis.set_major_formatter(FuncFormatter(lambda x, _: power_of_ten(round(math.log10(x)))))
    axis.set_minor_locator(NullLocator())


def integer_ticks(axes: Axes, which: str = "x") -> None:
    """Few ticks at whole numbers, thousands separated."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis = axes.xaxis if which == "x" else axes.yaxis
    axis.set_major_locator(MaxNLocator(integer=True, nbins=6, steps=[1, 2, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:,.0f}".replace("-", "−")))


def power_of_ten(exponent: int) -> str:
    """'10⁻³' for -3."""
    return "10" + str(exponent).translate(_SUPERSCRIPT)
