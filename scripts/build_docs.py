"""Build the site: refresh the theorem table, copy the certificate specification in, run zensical in
strict mode, and turn the formulas into MathML, which browsers draw without a script.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import mathml
import theorem_table

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Write site/; the return code is that of the site generator."""
    theorem_table.main()
    target = ROOT / "docs" / "spec"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(ROOT / "spec", target)
    zensical = Path(sys.executable).parent / "zensical"
    ended = subprocess.run(
        [str(zensical), "build", "--clean", "--strict"], cwd=ROOT, check=False
    ).returncode
    for page in (ROOT / "site").rglob("*.html"):
        page.write_text(mathml.with_mathml(page.read_text(encoding="utf-8")), encoding="utf-8")
    return ended


if __name__ == "__main__":
    sys.exit(main())
