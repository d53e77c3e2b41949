"""What a result depends on besides the data: versions, BLAS, threads, cores. No path, no host, no
user.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

PACKAGES = (
    "globalmin",
    "globalmin-check",
    "numpy",
    "scipy",
    "scikit-learn",
    "python-flint",
    "safetensors",
    "matplotlib",
    "jinja2",
    "typer",
    "rich",
)


def environment() -> dict[str, Any]:
    """Versions and machine facts as a flat dictionary, with a `fingerprint` over all of them."""
    facts: dict[str, Any] = {
        "python": platform.python_version(),
        "system": platform.system(),
        "machine": platform.machine(),
    }
    facts |= {name: _version(name) for name in PACKAGES}
    facts |= {"cores": cores(), **blas()}
    text = json.dumps(facts, sort_keys=True)
    return {**facts, "fingerprint": hashlib.sha256(text.encode("utf-8")).hexdigest()[:16]}


def cores() -> int:
    """Processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def blas() -> dict[str, Any]:
    """Name, version, kernel and thread count of the BLAS that numpy loaded."""
    import numpy as np  # noqa: F401 (loads the library that is asked about)
    from threadpoolctl import threadpool_info

    found = sorted(
        (i for i in threadpool_info() if i.get("user_api") == "blas"),
        key=lambda i: str(i.get("filepath")),
    )
    if not found:
        return {"blas": "unknown", "blas threads": 0}
    info = found[0]
    name = " ".join(
        str(info[key]) for key in ("internal_api", "version", "architecture") if info.get(key)
    )
    return {"blas": name, "blas threads": int(info["num_threads"])}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
