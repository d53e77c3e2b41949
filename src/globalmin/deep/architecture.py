"""Which deep network is meant when nothing is said: one architecture and one depth for networks
and for their limits, and the checks of what is said.
"""

from __future__ import annotations

from globalmin._options import Architecture
from globalmin.data.pixels import whole_number
from globalmin.errors import DataError

DEFAULT_ARCHITECTURE: Architecture = "fully_connected"
DEFAULT_DEPTH = 3


def check_depth(depth: int, architecture: Architecture) -> int:
    """The depth as an integer, large enough for the architecture."""
    H = whole_number(depth, "depth")
    if H < 2 and architecture in ("resnet", "convolutional_resnet"):
        raise DataError(
            f"depth={H} leaves no residual layer in architecture={architecture!r}; give depth >= "
            "2, or architecture='fully_connected' for one hidden layer"
        )
    return H


def check_residual(c_res: float) -> float:
    """The strength of the residual branches, between 0 and 1."""
    if not 0.0 < c_res < 1.0:
        raise DataError(f"c_res={c_res!r} must satisfy 0 < c_res < 1")
    return float(c_res)
