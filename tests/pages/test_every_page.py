"""Every kind of page in a browser: no complaint in the console, no request, figures there, and
nothing wider than the window, in light and dark, on a desktop and a phone.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.pages.chromium import Chromium
from tests.pages.kinds import MADE

LEAST_FIGURES = {
    "fit": 3, "fit of two targets": 6, "relu": 3, "quadratic": 2, "deep": 2, "additive": 1,
    "sweep": 1, "inspection": 3, "reproduction": 1, "explorer": 7,
}  # fmt: skip


@pytest.fixture(scope="module", params=list(MADE))
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory):
    kind = request.param
    return kind, MADE[kind](tmp_path_factory.mktemp(kind.replace(" ", "_")))


@pytest.mark.parametrize(
    ("width", "dark"), [(1200, False), (1200, True), (390, False), (390, True)]
)
def test_a_page_opens_without_complaint_or_request(
    browser: Chromium, made: tuple[str, Path], width: int, dark: bool
) -> None:
    kind, path = made
    page = browser.open_page(path, width=width, height=844, dark=dark)
    assert page.complaints() == []
    assert page.requests() == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    drawn = page.evaluate(
        "[...document.querySelectorAll('figure svg')].map((svg) => "
        "[svg.getBoundingClientRect().width, svg.querySelectorAll('path, line, rect').length])"
    )
    assert len(drawn) >= LEAST_FIGURES[kind]
    assert all(wide > 150 and parts > 2 for wide, parts in drawn)
    broken = page.evaluate(
        "[...document.querySelectorAll('image, img')].filter((i) => "
        "i.getBoundingClientRect().width === 0).length"
    )
    assert broken == 0
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(255, 255, 255)") != dark
    page.close()
