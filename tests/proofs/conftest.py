"""All of proofs/ compiled once for all tests of one worker."""

from __future__ import annotations

from pathlib import Path

import pytest
from scripts.proofs import build, compiler


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if compiler() is None:
        pytest.skip("no coqc of Debian 12 on this machine: bash scripts/debian.sh installs it")
    return tmp_path_factory.mktemp("proofs")


@pytest.fixture(scope="session")
def proofs(compiled: Path):
    return build(compiled)
