"""`python -m scripts.campaign`: the reliability figures, measured, kept and published.

python -m scripts.campaign run              # all in full, hours; goes on where it was stopped
python -m scripts.campaign run R1 hostile   # some of them
python -m scripts.campaign table            # what is kept in out/campaign and docs/reliability.json
python -m scripts.campaign publish          # the same as docs/reliability.md

A figure is measured by tests of the suite; what each test measured is one file in out/campaign,
written when it ends, so Ctrl-C loses the running test only.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from scripts.campaign.figures import FOLDER, ROOT, Figure, figures
from scripts.campaign.page import PAGE, page, table
from scripts.campaign.stored import STORED, store


def run(figure: Figure, folder: Path = FOLDER) -> int:
    """Measure what is not kept; pytest's exit code."""
    keep = ["-p", "scripts.campaign.keep", f"--kept={folder / figure.id}"]
    judged = ["--judged=" + ",".join(figure.judged)]
    threads = {"SCIPY_ARRAY_API": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-s", *keep, *judged, *figure.selection]
    return subprocess.run(command, cwd=ROOT, env={**os.environ, **threads}, check=False).returncode


def main() -> int:
    """Parse the command line and do one of the three jobs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("job", choices=("run", "table", "publish"))
    parser.add_argument("figures", nargs="*", metavar="FIGURE", help=", ".join(figures()))
    options = parser.parse_args()
    unknown = [id for id in options.figures if id not in figures()]
    if unknown:
        parser.error(f"no figure {unknown[0]!r}; there are {', '.join(figures())}")
    chosen = [figures()[id] for id in options.figures or figures()]
    if options.job == "run":
        for figure in chosen:
            print(f"--- {figure.id}: {figure.what}", flush=True)
            if run(figure) == 2:  # Ctrl-C
                return 130
    print(table(chosen))
    if options.job == "publish":
        store()
        PAGE.write_text(page(), encoding="utf-8")
        print(f"wrote {PAGE.relative_to(ROOT)} and {STORED.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
