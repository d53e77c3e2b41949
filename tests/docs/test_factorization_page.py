"""The page docs/factorization.md: its code runs as printed and prints what the page says (DU-T4.4,
DU-T4.5).
"""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/factorization.md"


def test_the_page_runs_from_top_to_bottom(tmp_path: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 3
    script = tmp_path / "page.py"
    script.write_text("\n".join(blocks), encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [sys.executable, script],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "ACCEPTED The stored factors U (300 x 5)" in done.stdout
    assert "log10_steps_lower=1460" in done.stdout
    assert "(iv) ratio': True" in done.stdout
    assert (tmp_path / "factors.gmc").exists()
    for picture in re.findall(r"!\[[^]]*\]\(([^)]*)\)", page):
        assert (PAGE.parent / picture).exists(), picture
