r"""Trap or true side, asked of data: is a trained one-filter network at the opposite filter of
chapter 5, where descent is stuck? Nobody needs to know the teacher for this.

The samples are split at random. On one half the output weights are fitted at the filter v and at
its opposite -v; on the other half the two networks are compared, sample by sample. Given the first
half, the mean difference is a mean of independent numbers, and its interval is Student's: right for
samples of one law with finite fourth moments of the labels, as the number of samples grows. That is
an estimate with a confidence, not a proof; the population trap test, which knows the teacher, is
`trap_test`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.errors import DataError
from globalmin.one_filter.network import OneFilterNetwork


class Side(StrEnum):
    """Which of the two filters the data prefer."""

    TRAP = "trap"
    TRUE = "true side"
    UNDECIDED = "undecided"


@dataclass(frozen=True)
class Interval:
    """An estimate and its two-sided interval at the verdict's confidence."""

    estimate: float
    lower: float
    upper: float


@dataclass(frozen=True, eq=False)
class TrapVerdict:
    r"""What the data say of a filter v.

    Attributes
    ----------
    side : Side
        "trap": the opposite filter is better; "true side": v is; "undecided": the interval of the
        difference holds zero.
    confidence : float
        Of each interval; a wrong side has at most half of what is missing to 1, for large samples.
    difference : Interval
        Loss at v minus loss at -v on fresh samples, (1/2) E (f - y)^2, each with output weights
        fitted to the other half. An estimate for any law of the patches.
    alignment : Interval
        Estimate of $q W a^Ta^*\cos^2\varphi$ for Gaussian patches of standard deviation q around
        zero: below the barrier its sign decides where descent ends. Says nothing for other laws.
    relative_loss : Interval
        Loss of v with its fitted output weights over the mean of y^2/2, on fresh samples.
    network, opposite : OneFilterNetwork
        Filter v and -v with those output weights; in the trap, go on from `opposite`.
    n_fit, n_test : int
        Samples of the two halves.
    """

    side: Side
    confidence: float
    difference: Interval
    alignment: Interval
    relative_loss: Interval
    network: OneFilterNetwork = field(repr=False)
    opposite: OneFilterNetwork = field(repr=False)
    n_fit: int
    n_test: int

    def __str__(self) -> str:
        d, a = self.difference, self.alignment
        return (
            f"{self.side}: loss at v minus loss at -v {d.estimate:.4g}, {self.confidence:.0%} "
            f"interval [{d.lower:.4g}, {d.upper:.4g}] on {self.n_test} samples (estimate); "
            f"a . a* by second moments [{a.lower:.4g}, {a.upper:.4g}] (Gaussian patches only); "
            f"relative loss at v {self.relative_loss.estimate:.4g}"
        )


def trap_verdict(
    network: OneFilterNetwork,
    Z: ArrayLike,
    y: ArrayLike,
    *,
    confidence: float = 0.95,
    seed: int = 0,
) -> TrapVerdict:
    """Ask samples whether a one-filter network is in the trap of chapter 5.

    Parameters
    ----------
    network : OneFilterNetwork
        The trained network; only its filter counts, output weights are fitted anew.
    Z : ArrayLike
        Patches n x k x p of samples that the filter was not trained on: with those it was trained
        on the intervals are too short.
    y : ArrayLike
        Their n labels.
    confidence : float
        Of the intervals, between 0 and 1.
    seed : int
        Of the split into halves.
    """
    Z, y = _checked(network, Z, y, confidence)
    order = np.random.default_rng(seed).permutation(len(y))
    fit, test = np.split(order, [len(y) // 2])
    unit = network.v / np.linalg.norm(network.v)
    products = Z @ unit
    sides = [np.maximum(products, 0.0), np.maximum(-products, 0.0)]
    heads = [
        np.asarray(np.linalg.lstsq(side[fit], y[fit], rcond=None)[0], dtype=np.float64)
        for side in sides
    ]
    losses = [
        0.5 * (side[test] @ head - y[test]) ** 2 for side, head in zip(sides, heads, strict=True)
    ]
    difference = student(losses[0] - losses[1], confidence)
    scale = 0.5 * float(np.mean(y[test] ** 2)) or 1.0
    side = Side.TRAP if difference.lower > 0.0 else Side.UNDECIDED
    return TrapVerdict(
        side=Side.TRUE if difference.upper < 0.0 else side,
        confidence=confidence,
        difference=difference,
        alignment=student(alignments(Z[test], y[test], unit, heads[0]), confidence),
        relative_loss=student(losses[0] / scale, confidence),
        network=OneFilterNetwork(unit, heads[0]),
        opposite=OneFilterNetwork(-unit, heads[1]),
        n_fit=len(fit),
        n_test=len(test),
    )


def alignments(Z: Array, y: Array, unit: Array, a: Array) -> Array:
    r"""One number per sample whose mean is $q W a^Ta^*\cos^2\varphi$ for Gaussian patches:
    $\sqrt{2\pi}\,y\sum_i a_i((u^TZ_i/q)^2 - 1)$ with q the root mean square of the entries.

    By $E\,\sigma(z^Tw^*)zz^T = \frac{W}{\sqrt{2\pi}}(I + \hat w\hat w^T)$ for z in N(0, I).
    """
    q = math.sqrt(float(np.mean(Z**2))) or 1.0
    return math.sqrt(2.0 * math.pi) * y * (((Z @ unit / q) ** 2 - 1.0) @ a)


def student(values: Array, confidence: float) -> Interval:
    """The mean with Student's interval, right for large samples of any law with a variance."""
    from scipy.stats import t

    mean, n = float(np.mean(values)), len(values)
    error = float(np.std(values, ddof=1)) / math.sqrt(n)
    reach = float(t.ppf(0.5 + 0.5 * confidence, n - 1)) * error
    return Interval(mean, mean - reach, mean + reach)


def _checked(
    network: OneFilterNetwork, Z: ArrayLike, y: ArrayLike, confidence: float
) -> tuple[Array, Array]:
    patches, labels = np.asarray(Z, dtype=np.float64), np.asarray(y, dtype=np.float64)
    k = network.n_patches
    if patches.ndim != 3 or patches.shape[1:] != (k, network.patch_size):
        raise DataError(
            f"Z has shape {patches.shape}; the network needs patches (n, {k}, {network.patch_size})"
        )
    if labels.shape != (len(patches),) or not np.isfinite(labels).all():
        raise DataError(
            f"y has shape {labels.shape}; give one finite label for each of the {len(patches)} "
            "samples"
        )
    if not np.isfinite(patches).all():
        raise DataError("Z contains NaN or infinity; remove these samples")
    if len(patches) < 4 * k + 20:
        raise DataError(
            f"Z has {len(patches)} samples: too few to fit {k} output weights on one half and to "
            f"compare on the other; give at least {4 * k + 20}"
        )
    if not 0.0 < confidence < 1.0:
        raise DataError(f"confidence={confidence!r} must lie between 0 and 1")
    return patches, labels
