"""The library that the oracle is compared with works at 300 bits, far beyond the oracle's own
160.
"""

from collections.abc import Iterator

import pytest

from globalmin_check.balls import precision


@pytest.fixture(autouse=True)
def at_three_hundred_bits() -> Iterator[None]:
    with precision(300):
        yield
