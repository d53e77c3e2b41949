"""A check of scikit-learn's contract: passed, not skipped."""

import unittest
from collections.abc import Callable
from typing import Any

import pytest


def require_passed(
    estimator: Any, check: Callable[[Any], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run the check; one that is skipped has failed."""
    # without it scikit-learn skips its array API check without a word
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")
    try:
        check(estimator)
    except (unittest.SkipTest, pytest.skip.Exception) as skipped:
        pytest.fail(f"the check was skipped: {skipped}")
