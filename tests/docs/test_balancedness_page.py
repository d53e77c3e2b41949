"""The commands of the page on balancedness run as printed, one after the other."""

import re
import runpy
from pathlib import Path

import numpy as np

PAGE = Path(__file__).resolve().parents[2] / "docs" / "dynamics-balancedness.md"


def test_every_command_of_the_page_runs_as_printed(tmp_path, capsys):
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert len(blocks) == 4
    script = tmp_path / "page.py"
    script.write_text("\n".join(blocks), encoding="utf-8")
    names = runpy.run_path(str(script))
    assert capsys.readouterr().out.startswith(
        "0-3: 4 blocks, largest |D| 1.14064, largest drift 0.00125\n3-5: 16 blocks"
    )
    assert np.abs(names["flow"].drift).max() <= 1e-8
    assert names["run"].audit().identity_error <= 1e-13
    assert names["sgd"].audit().within_budget
    np.testing.assert_allclose(
        names["watch"].drift, names["watch"].predicted, atol=1e-5
    )  # JAX in single precision here
