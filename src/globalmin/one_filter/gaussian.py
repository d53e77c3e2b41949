r"""Gaussian identities behind the one-filter formulas, and their form for other rotation-invariant
patches.
"""

from __future__ import annotations

import math

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.activations.half_spaces import angle
from globalmin.errors import DataError
from globalmin.one_filter.teacher import FilterTeacher, g, pi_minus_g
from globalmin.references import states


@states("DU-L5.6")
def half_space_second_moment_times(w: ArrayLike) -> Array:
    r"""$E[zz^T 1\{z^Tw \ge 0\}]\,w = w/2$ for $z \sim N(0, I)$."""
    return 0.5 * np.asarray(w, dtype=np.float64)


@states("DU-L5.6")
def half_space_mean(w: ArrayLike) -> Array:
    r"""$E[z 1\{z^Tw \ge 0\}] = w/(\sqrt{2\pi}\lVert w\rVert)$ for $z \sim N(0, I)$; w is not
    zero.
    """
    w = np.asarray(w, dtype=np.float64)
    length = float(np.linalg.norm(w))
    if length == 0.0:
        raise DataError("w is zero: its half-space is the whole space; give another filter")
    return w / (math.sqrt(2.0 * math.pi) * length)


@states("DU-L5.6")
def relu_product_mean(w: ArrayLike, w_star: ArrayLike) -> float:
    r"""$E[\sigma(z^Tw)\sigma(z^Tw^*)] = g(\varphi)\lVert w\rVert W/(2\pi)$, the arc-cosine kernel
    of order 1.
    """
    lengths = float(np.linalg.norm(w)) * float(np.linalg.norm(w_star))
    return float(g(angle(w, w_star))) * lengths / (2.0 * math.pi)


@states("DU-R5.2")
def rotation_invariant_loss(
    v: ArrayLike, a: ArrayLike, teacher: FilterTeacher, mean_relu: float, second_moment: float
) -> float:
    r"""The population loss when the patches are independent and rotation-invariant, not Gaussian.

    Parameters
    ----------
    mean_relu : $\mu_1 = E\,\sigma(z^Tu)$ for a unit vector u; $1/\sqrt{2\pi}$ for N(0, I).
    second_moment : $E\lVert z\rVert^2/p$; 1 for N(0, I).

    Notes
    -----
    $\tfrac12(d^T M d) + m\frac{\pi-g(\varphi)}{2\pi}W a^Ta^*$ with $d = a - Wa^*$ and $M = \mu_1^2
    11^T + (m/2 - \mu_1^2)I$.
    """
    a = np.asarray(a, dtype=np.float64)
    off, diagonal = _moments(mean_relu, second_moment)
    miss = a - teacher.W * teacher.a
    quadratic = (diagonal - off) * float(miss @ miss) + off * float(miss.sum()) ** 2
    turned = second_moment * float(pi_minus_g(angle(v, teacher.w))) / (2.0 * math.pi)
    return 0.5 * quadratic + turned * teacher.W * float(a @ teacher.a)


@states("DU-R5.2")
def rotation_invariant_gradient(
    v: ArrayLike, a: ArrayLike, teacher: FilterTeacher, mean_relu: float, second_moment: float
) -> tuple[Array, Array]:
    """Gradients of `rotation_invariant_loss` in v and a."""
    v, a = np.asarray(v, dtype=np.float64), np.asarray(a, dtype=np.float64)
    off, diagonal = _moments(mean_relu, second_moment)
    phi, length = angle(v, teacher.w), float(np.linalg.norm(v))
    unit = v / length
    slope = second_moment * float(a @ teacher.a) * (math.pi - phi) / (2.0 * math.pi * length)
    miss = a - teacher.W * teacher.a
    turned = second_moment * float(pi_minus_g(phi)) / (2.0 * math.pi) * teacher.W * teacher.a
    return -slope * (teacher.w - unit * float(unit @ teacher.w)), (
        diagonal - off
    ) * miss + off * miss.sum() + turned


@states("DU-R5.2")
def sphere_moments(patch_size: int, radius: float = 1.0) -> tuple[float, float]:
    r"""$(\mu_1, E\lVert z\rVert^2/p)$ of the uniform law on the sphere: $\mu_1 =
    R\,\Gamma(p/2)/(2\sqrt\pi\,\Gamma((p+1)/2))$.
    """
    if patch_size < 1 or not radius > 0.0:
        raise DataError(f"patch_size={patch_size} and radius={radius} must be positive")
    half_mean = math.exp(math.lgamma(patch_size / 2.0) - math.lgamma((patch_size + 1) / 2.0)) / (
        2.0 * math.sqrt(math.pi)
    )
    return radius * half_mean, radius**2 / patch_size


@states("DU-T5.4")
def initial_cosine_quantile(probability: float, patch_size: int) -> float:
    r"""Quantile of $\cos\varphi_0$ for a uniform first filter: $\cos\varphi_0 = 2B-1$, $B \sim$
    Beta((p-1)/2, (p-1)/2); p >= 2.

    Of order $1/\sqrt p$ (the thesis prints that for the angle itself).
    """
    if not 0.0 <= probability <= 1.0 or patch_size < 2:
        raise DataError(
            f"probability={probability} must lie in [0, 1] and patch_size={patch_size} be at least "
            "2"
        )
    from scipy.stats import beta

    half = (patch_size - 1) / 2.0
    return 2.0 * float(beta.ppf(probability, half, half)) - 1.0


def _moments(mean_relu: float, second_moment: float) -> tuple[float, float]:
    off, diagonal = mean_relu**2, second_moment / 2.0
    if not 0.0 < off <= diagonal * (1.0 + 1e-12):
        raise DataError(
            f"mean_relu={mean_relu} and second_moment={second_moment} belong to no law: 0 < "
            "mean_relu^2 <= second_moment/2"
        )
    return off, diagonal
