"""One browser for all tests of pages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.pages.chromium import Chromium, find_chromium


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    program = find_chromium()
    if program is None:
        pytest.skip("no chromium on this machine: bash scripts/debian.sh installs it")
    started = Chromium(program, tmp_path_factory.mktemp("profile"))
    yield started
    started.close()
