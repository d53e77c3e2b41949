"""Filling a template of a page: one environment, one style sheet, everything escaped that is not
marked as safe.
"""

from __future__ import annotations

from typing import Any


def filled(name: str, **values: Any) -> str:
    """The template `name` with these values and the common style sheet as `css`."""
    from importlib.resources import files

    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("globalmin.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    sheet = files("globalmin.report").joinpath("templates/report.css").read_text(encoding="utf-8")
    return environment.get_template(name).render(css=markup(sheet), **values)


def markup(text: str) -> Any:
    """Text that a template takes as it is: our own style sheet, or SVG with its labels escaped."""
    from markupsafe import Markup

    return Markup(text)  # noqa: S704 (see above)
