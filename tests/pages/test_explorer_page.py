"""The explorer as a reader meets it: three verdicts, buttons, keyboard, pointer, files."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.pages.chromium import Chromium, Page

from globalmin.data import Dataset
from globalmin.errors import DataError
from globalmin.explore import render, save_page
from globalmin.explore.page import digest
from globalmin.explore.tables import MOST_FEATURES, MOST_ROWS

WAIT = 60.0  # seconds until a button's run must have ended, on a busy machine


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_page(tmp_path_factory.mktemp("explorer") / "page.html")


@pytest.fixture
def page(browser: Chromium, path: Path) -> Iterator[Page]:
    opened = browser.open_page(path)
    yield opened
    assert opened.complaints() == []
    assert opened.requests() == []
    opened.close()


def text(page: Page, element: str) -> str:
    return page.evaluate(f"document.getElementById('{element}').textContent")


def click(page: Page, element: str) -> None:
    page.evaluate(f"document.getElementById('{element}').click()")


def until_over(page: Page) -> str:
    end = time.monotonic() + WAIT
    while page.evaluate("globalminExplorer.session.player.isPlaying"):
        assert time.monotonic() < end
        time.sleep(0.05)
    return text(page, "word")


def test_the_first_screen_has_the_three_verdicts(page: Page) -> None:
    cards = page.evaluate(
        "[...document.querySelectorAll('.verdicts h2')].map((h) => [h.textContent, "
        "h.getBoundingClientRect().bottom])"
    )
    assert [name for name, _ in cards] == ["Zero loss is near", "Saddle or trap", "Not there yet"]
    assert all(bottom < 900 for _, bottom in cards)
    assert text(page, "word") == "Not there yet"
    assert page.evaluate("document.querySelector('.card.now').id") == "card-yet"


def test_nothing_in_the_page_is_called_proved(page: Page) -> None:
    for button in ("show-near", "show-saddle"):
        click(page, button)
        until_over(page)
        shown = page.evaluate("document.querySelector('main').innerText")
        claims = re.findall(r"[^.]*\bproved\b[^.]*\.", shown)
        assert [claim for claim in claims if "Nothing here is proved" not in claim] == []


def test_show_me_reaches_the_inequality_and_marks_the_step(page: Page) -> None:
    click(page, "show-near")
    assert until_over(page) == "Zero loss is near"
    assert "inequality holds in floats" in text(page, "sentence")
    assert "globalmin certify" in text(page, "sentence")
    assert page.evaluate("document.querySelector('.card.now').id") == "card-near"
    fired = page.evaluate("globalminExplorer.session.fired")
    assert f"holds from step {fired}" in text(page, "fig-loss")
    assert page.evaluate("document.querySelector('#fig-slice canvas') !== null")


def choose(page: Page, element: str, value: str) -> None:
    page.evaluate(
        f"(e => {{ e.value = '{value}'; e.dispatchEvent(new Event('change')); }})"
        f"(document.getElementById('{element}'))"
    )


def test_relu_has_its_own_ratio_and_says_what_it_does_not_show(page: Page) -> None:
    names = page.evaluate("[...document.getElementById('activation').options].map((o) => o.value)")
    assert names == ["softplus", "relu", "tanh", "sigmoid", "quadratic"]
    choose(page, "table", "2")
    choose(page, "activation", "relu")
    click(page, "train")
    assert until_over(page) == "Zero loss is near"
    assert "margin ratio =" in text(page, "sentence")
    assert "Lip" not in text(page, "sentence") + text(page, "keys")
    caption = text(page, "ratio-caption")
    assert "crosses no kink" in caption
    assert "says nothing about gradient descent" in caption
    # one ratio, so one curve: its legend has no entry for descent
    assert "descent converges" not in text(page, "fig-ratio")
    choose(page, "activation", "tanh")
    assert "2 Lip e/a" in text(page, "ratio-caption") + text(page, "keys")
    assert "descent converges" in text(page, "fig-ratio")


def test_a_saddle_is_shown_and_left(page: Page) -> None:
    click(page, "show-saddle")
    assert until_over(page) == "Saddle: there is a way down"
    seen = page.evaluate(
        "(({ point, seen }) => ({ loss: point.loss, slope: seen.slope, "
        "curvature: seen.way.curvature }))(globalminExplorer.session)"
    )
    assert seen["slope"] < 1e-6
    assert seen["curvature"] < 0.0
    click(page, "down")
    assert until_over(page) == "Zero loss is near"
    assert page.evaluate("globalminExplorer.session.point.loss") < 1e-20 * seen["loss"]


def test_gradient_descent_is_not_there_yet_and_says_so(page: Page) -> None:
    click(page, "show-yet")
    assert until_over(page) == "Not there yet"
    assert "Stopped after 2,000 steps" in text(page, "sentence")
    losses = page.evaluate("globalminExplorer.session.history.map((row) => row.loss)")
    assert losses[-1] < losses[0]


def test_too_few_neurons_are_named_with_the_width_that_is_needed(page: Page) -> None:
    page.evaluate("globalminExplorer.session.choose({ width: 3 })")
    said = page.evaluate("globalminExplorer.session.verdict.sentence")
    assert "6 numbers for 12 samples" in said
    assert "at least 6 neurons" in said


def test_the_form_works_by_keyboard_alone(page: Page) -> None:
    page.evaluate("document.getElementById('train').focus()")
    page.press("Enter")
    assert until_over(page) == "Zero loss is near"
    page.evaluate("document.querySelector('#fig-loss svg').focus()")
    page.press("ArrowRight")
    assert page.evaluate("document.querySelector('#fig-loss .tip').textContent").startswith(
        "step 0"
    )
    page.press("ArrowRight")
    assert page.evaluate("document.querySelector('#fig-loss .tip').textContent").startswith(
        "step 1"
    )


def test_the_pointer_reads_values(page: Page) -> None:
    click(page, "show-near")
    until_over(page)
    for figure in ("fig-loss", "fig-spectrum", "fig-fit", "fig-slice", "fig-trap"):
        page.evaluate(f"document.getElementById('{figure}').scrollIntoView({{ block: 'center' }})")
        box = page.evaluate(
            f"(({{ x, y, width, height }}) => [x + width / 2, y + height / 2])"
            f"(document.querySelector('#{figure} svg').getBoundingClientRect())"
        )
        page.move_to(*box)
        tip = page.evaluate(f"document.querySelector('#{figure} .tip').textContent")
        assert re.search(r"\d", tip), figure


def test_every_figure_offers_its_numbers(page: Page) -> None:
    click(page, "show-near")
    until_over(page)
    figures = page.evaluate(
        "[...document.querySelectorAll('figure')].map((f) => [f.id, "
        "f.numbers?.columns.length, f.numbers?.rows.length, !!f.querySelector('.get')])"
    )
    assert len(figures) == 7
    for name, columns, rows, offered in figures:
        assert offered, name
        assert columns >= 2, name
        assert rows >= 10, name


def test_the_trap_and_the_global_minimum_are_both_reached(page: Page) -> None:
    click(page, "trap-bad")
    assert text(page, "trap-word") == "Trap"
    assert "leads to the trap" in text(page, "trap-sentence")
    click(page, "trap-good")
    assert text(page, "trap-word") == "Global minimum reached"
    page.evaluate("document.querySelector('#fig-trap svg').focus()")
    for key in ("ArrowRight", "ArrowUp", "Enter"):
        page.press(key)
    assert text(page, "trap-word") in ("Trap", "Global minimum reached", "Not there yet")


def test_a_dropped_file_becomes_the_table(page: Page) -> None:
    rng = np.random.default_rng(3)
    rows = "\\n".join(",".join(f"{x:.4f}" for x in rng.standard_normal(3)) for _ in range(15))
    page.evaluate(
        f"""(() => {{ const bag = new DataTransfer();
        bag.items.add(new File(["a,b,y\\n{rows}\\n"], "mine.csv"));
        globalThis.dispatchEvent(new DragEvent("drop", {{ dataTransfer: bag, cancelable: true }}));
        return new Promise((done) => setTimeout(done, 300)); }})()"""
    )
    assert page.evaluate("globalminExplorer.session.table.title") == "mine.csv"
    assert text(page, "table-note") == "15 rows, 2 columns."
    assert page.evaluate("[...document.getElementById('target').options].map((o) => o.value)") == [
        "a",
        "b",
        "y",
    ]
    click(page, "train")
    assert until_over(page) == "Zero loss is near"


def test_equal_rows_with_other_labels_give_the_floor(page: Page) -> None:
    said = page.evaluate(
        """(() => { const e = globalminExplorer.engine, s = globalminExplorer.session;
        const table = e.standardized(e.tableFrom("a,y\\n1,1\\n1,3\\n2,2\\n"));
        s.tables.push({ ...table, title: "t", note: "", width: 4 });
        s.choose({ table: s.tables.length - 1, width: 4 });
        return [s.equal.floor, s.verdict.sentence]; })()"""
    )
    data = Dataset(np.array([[1.0], [1.0], [2.0]]), np.array([1.0, 3.0, 2.0]))
    assert said[0] == pytest.approx(float(data.degeneracy.loss_floor("softplus").floor))
    assert "Equal rows have different labels" in said[1]


def test_the_policy_allows_this_script_and_nothing_else(path: Path, browser: Chromium) -> None:
    written = path.read_text(encoding="utf-8")
    script = written.split("<script>")[1].split("</script>")[0]
    style = written.split("<style>")[1].split("</style>")[0]
    assert digest(script) in written
    assert digest(style) in written
    assert "unsafe" not in written.split("Content-Security-Policy")[1].split(">")[0]
    assert re.findall(r"https?://[^\"']*", script) == ["http://www.w3.org/2000/svg"]  # a name
    broken = path.with_name("broken.html")
    broken.write_text(written.replace("<script>", "<script>fetch('x');"), encoding="utf-8")
    page = browser.open_page(broken)
    assert page.complaints() != []  # another script does not run: the tests can see violations
    page.close()


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 1200])
def test_the_page_fits_the_window(browser: Chromium, path: Path, width: int, dark: bool) -> None:
    page = browser.open_page(path, width=width, height=844, dark=dark)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (ground == "rgb(255, 255, 255)") != dark
    assert page.complaints() == []
    page.close()


@pytest.mark.parametrize("width", [390, 1200])
def test_the_label_of_a_level_stays_above_the_axis(
    browser: Chromium, path: Path, width: int
) -> None:
    """Where the level 1 is the lowest value its label once lay across the axis."""
    page = browser.open_page(path, width=width, height=844)
    choose(page, "table", "2")
    label, axis = page.evaluate(
        "(() => { const svg = document.querySelector('#fig-ratio svg');"
        "const label = [...svg.querySelectorAll('text')].find("
        "(t) => /below 1/.test(t.textContent));"
        "const axes = [...svg.querySelectorAll('line.axis')].map((a) => a.getBoundingClientRect());"
        "return [label.getBoundingClientRect().bottom, "
        "axes.find((a) => a.width > 100).top]; })()"
    )
    assert label <= axis + 2
    page.close()


@pytest.mark.parametrize("width", [390, 1200])
def test_the_label_of_the_step_stands_beside_the_curve(
    browser: Chromium, path: Path, width: int
) -> None:
    """Curves fall, so the words stand at the foot of the figure; at the top they met the curve."""
    page = browser.open_page(path, width=width, height=844)
    click(page, "show-near")
    until_over(page)
    met = page.evaluate(
        """(() => { const svg = document.querySelector('#fig-loss svg');
        const box = svg.querySelector('text.strong').getBBox();
        return [...svg.querySelectorAll('path[stroke]')].map((path) => {
          const steps = [...Array(400).keys()].map((i) => (i / 399) * path.getTotalLength());
          return steps.map((s) => path.getPointAtLength(s)).filter((p) => p.x > box.x
            && p.x < box.x + box.width && p.y > box.y && p.y < box.y + box.height).length;
        }); })()"""
    )
    assert met == [0]
    page.close()


def test_the_first_sentence_names_the_ratio(page: Page) -> None:
    choose(page, "table", "2")
    said = text(page, "sentence")
    assert re.search(r"The ratio 2 Lip e/a is [\d.·⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+ and must fall below 1\.", said)


def test_a_table_of_ones_own_stands_first(browser: Chromium, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    data = Dataset(
        rng.standard_normal((MOST_ROWS + 50, 2)), rng.standard_normal(MOST_ROWS + 50),
        feature_names=["</script><b>", "b"], target_names=["y"],
    )  # fmt: skip
    page = browser.open_page(save_page(tmp_path / "own.html", data, "<i>own.csv"))
    assert page.evaluate("globalminExplorer.session.table.title") == "<i>own.csv"
    assert page.evaluate("globalminExplorer.session.start.task.n") == MOST_ROWS
    assert f"{MOST_ROWS} of {MOST_ROWS + 50} rows" in text(page, "table-note")
    assert page.evaluate("document.querySelectorAll('i').length") == page.evaluate(
        "document.querySelectorAll('.legend i').length"
    )
    assert page.complaints() == []
    page.close()


def test_what_the_page_cannot_show_is_refused() -> None:
    rng = np.random.default_rng(0)
    wide = Dataset(rng.standard_normal((5, MOST_FEATURES + 1)), rng.standard_normal(5))
    with pytest.raises(DataError, match=f"{MOST_FEATURES + 1} columns"):
        render(wide, "wide.csv")
    rows = Dataset(rng.standard_normal((5, 2)), rng.standard_normal(5), scaling="rows")
    with pytest.raises(DataError, match="rows"):
        render(rows)


def test_the_page_is_the_same_bytes_each_time() -> None:
    assert render() == render()
