"""A result as JSON."""

from __future__ import annotations

import json
import math
from dataclasses import asdict

from globalmin_check.verdict import Result, Verdict


def as_json(result: Result) -> str:
    """One object; infinite numbers become strings."""
    return json.dumps(_plain(asdict(result)), indent=2, allow_nan=False)


def _plain(value: object) -> object:
    if isinstance(value, Verdict):
        return value.value
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
