"""How fast the explorer trains in a browser: `python -m bench.explorer` from the root of the
repository (headless Chromium, as in tests/pages). Prints milliseconds of Levenberg-Marquardt runs,
once without and once with the spectrum and both inequalities at every step, by the wall clock and,
for all runs together, the time that the script had on the processor.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.pages.chromium import Chromium, Page, find_chromium

from globalmin.explore import save_page

RUN = """(() => {
  const s = globalminExplorer.session, e = globalminExplorer.engine;
  const times = [];
  for (let i = 0; i < 5; i++) {
    s.choose({ table: 2, width: 50, activation: "softplus", seed: i, start: "random",
               method: "levenberg_marquardt", limit: null });
    const task = s.start.task;
    const start = new e.Point(task, s.start.W, s.start.v);
    let [begun, steps, last] = [performance.now(), 0, start];
    for (const point of e.METHODS.levenberg_marquardt(start)) [steps, last] = [steps + 1, point];
    const bare = performance.now() - begun;
    begun = performance.now();
    s.run();
    times.push([i, steps, last.loss, bare, performance.now() - begun]);
  }
  return times;
})()"""


def script_seconds(page: Page) -> float:
    """Processor time of the page so far."""
    found = page.call("Performance.getMetrics")["metrics"]
    return next(metric["value"] for metric in found if metric["name"] == "ThreadTime")


def main() -> None:
    """Print the table."""
    program = find_chromium()
    assert program is not None, "no chromium on this machine: bash scripts/debian.sh installs it"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Chromium(program, Path(folder) / "profile")
        try:
            page = browser.open_page(save_page(Path(folder) / "page.html"))
            page.call("Performance.enable", timeDomain="timeTicks")
            before = script_seconds(page)
            print("n = 200, d = 10, k = 50, softplus: seed, steps, loss, ms training, ms watched")
            for seed, steps, loss, bare, watched in page.evaluate(RUN):
                print(f"{seed} {steps:4d} {loss:9.2e} {bare:7.0f} {watched:7.0f}")
            spent = 1000.0 * (script_seconds(page) - before) / 5.0
            print(f"processor, training and watched run together: {spent:.0f} ms a seed")
        finally:
            browser.close()


if __name__ == "__main__":
    main()
