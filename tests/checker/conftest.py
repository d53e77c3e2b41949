"""The checker works at 128 bits from the start; its unit tests do too."""

from collections.abc import Iterator

import pytest

from globalmin_check.balls import precision


@pytest.fixture(autouse=True)
def at_128_bits() -> Iterator[None]:
    with precision(128):
        yield
