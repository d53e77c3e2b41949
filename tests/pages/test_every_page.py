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
    "stream": 3, "additive stream": 3,
    "pairs": 1, "shapes": 1, "relu with weight decay": 1, "chosen": 1, "three classes": 3,
    "table as it is": 3, "squares": 1, "sweep": 1, "inspection": 3, "reproduction": 1,
    "explorer": 6,
}  # fmt: skip
TERMS = (
    "figure .value title",
    "figure a.get[download='terms.csv'][href^='data:text/csv']",
)
# side by side, one for each column that is used
PANELS = {"additive": 3, "additive stream": 3, "shapes": 3, "relu with weight decay": 2}
OWN_WAY = {
    "relu with weight decay": (
        "pre code",
        "figure .value title",
        "figure a.get[download='effects.csv'][href^='data:text/csv']",
    ),
    "pairs": TERMS[1:],
    "shapes": TERMS,
    "three classes": ("figure .value title", "figure a.get[download='terms-2.csv']"),
    "additive": TERMS,
    "chosen": ("figure .value title", "figure a.get[href^='data:text/csv']"),
    "explorer": ("button.get",),
    "reproduction": ("a[href$='.data.csv']", "figure .value title"),
    "squares": (
        "figure .value title",
        "figure a.get[download='interactions.csv'][href^='data:text/csv']",
    ),
}


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


def test_values_and_csv_of_every_figure(browser: Chromium, made: tuple[str, Path]) -> None:
    """Native titles under the pointer and a link that saves the numbers; the explorer has its own
    (test_explorer_page.py), reproductions link their data files, the additive page has the
    curves in its csv file and the rows among them in the figure only.
    """
    kind, path = made
    page = browser.open_page(path)
    if kind in OWN_WAY:
        for selector in OWN_WAY[kind]:
            assert page.evaluate(f"document.querySelectorAll({selector!r}).length") > 0
        page.close()
        return
    found = page.evaluate(
        "[...document.querySelectorAll('figure')].map((f) => [f.querySelector('h3').textContent, "
        "f.querySelectorAll('.value title').length, f.querySelector('a.get')?.href ?? '', "
        "f.querySelector('a.get')?.download ?? ''])"
    )
    for title, values, address, name in found:
        assert values > 0, title
        assert address.startswith("data:text/csv;charset=utf-8,"), title
        assert address.count("%0A") >= values * 0.9, title  # a line for every value shown
        assert name.endswith(".csv"), title
    under = page.evaluate(
        """(() => { const mark = document.querySelector('figure .value');
        mark.scrollIntoView({ block: 'center' });
        const { x, y, width, height } = mark.getBoundingClientRect();
        return document.elementFromPoint(x + width / 2, y + height / 2).classList.contains('value');
        })()"""
    )
    assert under  # nothing lies above it, so the pointer meets it
    page.close()


def test_panels_of_terms_are_wide_enough_to_read_on_a_phone(
    browser: Chromium, made: tuple[str, Path]
) -> None:
    """A panel keeps 15 rem, the picture scrolls by itself, and the page does not; on a desktop
    three are as wide as the page.
    """
    kind, path = made
    if kind not in PANELS:
        pytest.skip("has no panels")
    find = (
        "(() => { const box = document.querySelector('.panels'), svg = box.querySelector('svg');"
        "return [svg.getBoundingClientRect().width, box.clientWidth, box.scrollWidth, "
        "+getComputedStyle(box).getPropertyValue('--panels')] })()"
    )
    page = browser.open_page(path, width=390, height=844)
    wide, box, inside, panels = page.evaluate(find)
    assert panels == PANELS[kind]
    assert wide == pytest.approx(PANELS[kind] * 240)
    assert inside > box <= 390
    page.close()
    page = browser.open_page(path, width=1200, height=844)
    wide, box, inside, _ = page.evaluate(find)
    assert box == inside
    assert wide == pytest.approx(box * PANELS[kind] / 3)
    page.close()


def test_print_is_light_also_where_the_screen_is_dark(
    browser: Chromium, made: tuple[str, Path]
) -> None:
    _, path = made
    page = browser.open_page(path, dark=True)
    dark = {"name": "prefers-color-scheme", "value": "dark"}
    page.call("Emulation.setEmulatedMedia", media="print", features=[dark])
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.close()


def test_the_pointer_reads_products_and_single_columns(browser: Chromium, tmp_path: Path) -> None:
    """Every cell of the triangle and every bar has its name and coefficient, and nothing else has
    words; the csv file has them all.
    """
    import csv
    import json

    path = MADE["squares"](tmp_path)
    page = browser.open_page(path)
    found = page.evaluate(
        "[...document.querySelectorAll('.value title')].map((t) => t.textContent)"
    )
    page.close()
    rows = list(csv.DictReader((path.parent / "interactions.csv").open(encoding="utf-8")))
    d = sum(not row["second"] for row in rows)
    assert len(rows) == len(found) == d + d * (d + 1) // 2
    told = {tuple(text.split("\n")) for text in found}
    for row in rows:
        first, second = row["first"], row["second"]
        names = {first} if not second else {f"{first} × {second}", f"{second} × {first}"}
        names = {f"{first}²"} if first == second else names
        assert {(name, f"{float(row['coefficient']):.5g}") for name in names} & told, row
    facts = json.loads((path.parent / "fit.json").read_text(encoding="utf-8"))
    assert facts["all_terms"][0][0]["size"] == float(rows[0]["coefficient"])


@pytest.mark.parametrize("kind", ["squares", "relu with weight decay", "three classes"])
def test_how_to_check_again_is_on_the_page_also_in_print(
    browser: Chromium, tmp_path: Path, kind: str
) -> None:
    """Everything that opens by a click is left out in print; the command must not be."""
    path = MADE[kind](tmp_path)
    files = sorted(found.name for found in path.parent.glob("*.gmc"))
    page = browser.open_page(path)
    page.call("Emulation.setEmulatedMedia", media="print", features=[])
    shown = page.evaluate("document.querySelector('main').innerText")
    assert files
    for name in files:
        assert f"globalmin-check {name} --explain" in shown
    page.close()
