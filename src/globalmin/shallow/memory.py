"""Memory a training method needs, and the refusal before it is allocated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from globalmin.data.memory import require_memory

if TYPE_CHECKING:
    from globalmin.shallow.problem import Point

GRAM_METHODS = ("levenberg_marquardt", "homotopy", "auto")
ARRAYS_OF_GRAM = 3  # X X^T, K and the factor of K + lambda I
ARRAYS_OF_LAYER = 8  # pre-activations, features, slopes of two points and temporaries


def estimate_memory(n: int, d: int, k: int, method: str = "levenberg_marquardt") -> int:
    """Bytes that a method allocates for n samples, d features, k neurons: 24 n^2 for the n x n
    form, plus a few n x k arrays.
    """
    gram = ARRAYS_OF_GRAM * n * n if method in GRAM_METHODS else 0
    return 8 * (gram + ARRAYS_OF_LAYER * n * k + 2 * n * d + 6 * k * d)


def check_memory(start: Point, *, method: str) -> None:
    """Refuse a run that cannot fit, before anything large is allocated."""
    (n, d), k = start.problem.X.shape, len(start.v)
    remedy = (
        " (24 n^2 bytes; 'gradient_descent', 'sgd' and 'lbfgs' need no n x n array)"
        if method in GRAM_METHODS
        else ""
    )
    require_memory(
        estimate_memory(n, d, k, method), f"method {method!r} with n={n} samples{remedy}"
    )
