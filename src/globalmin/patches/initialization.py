r"""How often a random filter starts close enough to the teacher: DU-T6.6 and DU-C6.1, as printed
and sharper.
"""

from __future__ import annotations

import math

import numpy as np

from globalmin._types import ArrayLike
from globalmin.errors import DataError
from globalmin.references import states


@states("DU-T6.6")
def good_start_lower(alpha: float, p: int) -> float:
    r"""Lower bound of $P(\lVert w_0-w^*\rVert \le \sqrt{1-\alpha^2}\,W)$ for $w_0$ uniform in the
    ball of radius $\alpha W$.

    $\frac12 - \alpha\,\Gamma(\frac p2+1)/(\sqrt\pi\,\Gamma(\frac p2+\frac12))$: sharper than the
    printed `good_start_printed`.
    """
    _check(alpha, p)
    ratio = math.exp(math.lgamma(p / 2.0 + 1.0) - math.lgamma(p / 2.0 + 0.5))
    return 0.5 - alpha * ratio / math.sqrt(math.pi)


@states("DU-T6.6")
def good_start_printed(alpha: float, p: int) -> float:
    r"""The printed bound $\frac12 - \sqrt{\pi p/2}\,\alpha$ for $\alpha \le 1/\sqrt{2\pi p}$: true
    and loose.
    """
    _check(alpha, p)
    return 0.5 - math.sqrt(math.pi * p / 2.0) * alpha


@states("DU-C6.1")
def good_angle_start(phi_star: float, p: int) -> float:
    r"""Radius over W of DU-C6.1: $\cos\varphi_*$, which must be below $1/\sqrt{8\pi p}$.

    Then $P(\lVert w_0-w^*\rVert \le W\sin\varphi_*) > 1/4$.
    """
    radius = math.cos(phi_star)
    if not 0.0 < radius < 1.0 / math.sqrt(8.0 * math.pi * p):
        raise DataError(
            f"phi_star={phi_star}: DU-C6.1 needs 0 < cos(phi_star) < "
            f"{1.0 / math.sqrt(8.0 * math.pi * p):.4g}"
        )
    return radius


def is_good_start(w: ArrayLike, w_star: ArrayLike) -> bool:
    r"""$\lVert w_0-w^*\rVert < W$, the start condition of DU-T6.2 and DU-T6.3."""
    w, w_star = np.asarray(w, dtype=np.float64), np.asarray(w_star, dtype=np.float64)
    return bool(np.linalg.norm(w - w_star) < np.linalg.norm(w_star))


def _check(alpha: float, p: int) -> None:
    if not 0.0 <= alpha <= 1.0 or p < 1:
        raise DataError(f"alpha={alpha} must lie in [0, 1] and p={p} be at least 1")
