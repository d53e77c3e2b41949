"""Take the picture of docs/explore.md: the explorer after training, in headless Chromium."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from tests.pages.chromium import Chromium, find_chromium

from globalmin.explore import save_page

PICTURE = Path(__file__).resolve().parent.parent / "docs" / "figures" / "explore.png"


def main() -> None:
    program = find_chromium()
    if program is None:
        raise SystemExit("no chromium on this machine: bash scripts/debian.sh installs it")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = Chromium(program, Path(folder) / "profile")
        try:
            page = browser.open_page(save_page(Path(folder) / "page.html"), height=1960)
            page.evaluate("document.getElementById('show-near').click()")
            while page.evaluate("globalminExplorer.session.player.isPlaying"):
                time.sleep(0.1)
            page.evaluate("scrollTo(0, 0)")
            page.screenshot(PICTURE, whole=False)
        finally:
            browser.close()


if __name__ == "__main__":
    main()
