"""Build the site: refresh the theorem table, copy the certificate specification in, run zensical in
strict mode.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import theorem_table

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Write site/; the return code is that of the site generator."""
    theorem_table.main()
    target = ROOT / "docs" / "spec"
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(ROOT / "spec", target)
    zensical = Path(sys.executable).parent / "zensical"
    return subprocess.run(
        [str(zensical), "build", "--clean", "--strict"], cwd=ROOT, check=False
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
