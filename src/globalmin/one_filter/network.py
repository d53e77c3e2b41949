r"""The two-layer convolutional network with one normalized filter, $f(Z,v,a) = \sum_i
a_i\,\sigma(Z_i^Tv)/\lVert v\rVert$: as a value on samples, and with its teacher, population loss
and gradients in closed form.

$f(Z, v, a) = \sum_{i=1}^k a_i\,\sigma(Z_i^T v)/\lVert v\rVert$ on k patches of size p with
independent standard Gaussian entries, $\sigma$ the ReLU, labels from a teacher $(w^*, a^*)$
(DU-M5). Every population quantity depends on v through the angle $\varphi = \angle(v, w^*)$ alone,
by $g(\varphi) = (\pi-\varphi)\cos\varphi + \sin\varphi$. The printed loss is wrong; this is the
corrected one.

Patches are an array of shape n x k x p, as `extract_patches` gives them (the thesis writes them as
columns). These are empirical quantities; the population theorems of chapter 5 say nothing about
them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.activations.moments import angle
from globalmin.data.validation import as_weights
from globalmin.errors import DataError
from globalmin.references import states

TERMS = 12  # of the series of sin x - x cos x; enough for |x| <= 1 in double precision


@dataclass(frozen=True)
class FilterTeacher:
    r"""The true filter w* (p numbers) and the true output weights a* (k numbers); neither is zero.

    Attributes
    ----------
    W : float
        $\lVert w^*\rVert$.
    s : float
        $1^T a^*$.
    size : float
        $\lVert a^*\rVert^2$.
    ratio : float
        $r = s^2/\lVert a^*\rVert^2$, between 0 and k.
    """

    w: Array
    a: Array

    def __post_init__(self) -> None:
        for name in ("w", "a"):
            value = np.asarray(getattr(self, name), dtype=np.float64)
            if (
                value.ndim != 1
                or value.size == 0
                or not np.all(np.isfinite(value))
                or not np.any(value)
            ):
                raise DataError(
                    f"{name}: the teacher needs a vector of finite numbers that is not zero, got "
                    f"shape {value.shape}"
                )
            object.__setattr__(self, name, value)

    @property
    def k(self) -> int:
        """Number of patches."""
        return self.a.size

    @property
    def p(self) -> int:
        """Size of a patch."""
        return self.w.size

    @property
    def W(self) -> float:
        """Norm of the filter."""
        return float(np.linalg.norm(self.w))

    @property
    def s(self) -> float:
        """Sum of the output weights."""
        return float(np.sum(self.a))

    @property
    def size(self) -> float:
        """Squared norm of the output weights."""
        return float(self.a @ self.a)

    @property
    def ratio(self) -> float:
        """The number r on which the landscape depends."""
        return self.s**2 / self.size


def sine_excess(x: ArrayLike) -> Array:
    r"""$\sin x - x\cos x$ to full relative accuracy: its series $\sum_m
    (-1)^{m+1}\frac{2m}{(2m+1)!}x^{2m+1}$ for small x.
    """
    x = np.asarray(x, dtype=np.float64)
    small = np.where(np.abs(x) < 1.0, x, 0.0)
    total = np.zeros_like(small)
    for m in range(TERMS, 0, -1):
        total = 2 * m / math.factorial(2 * m + 1) - small**2 * total
    return np.where(np.abs(x) < 1.0, small**3 * total, np.sin(x) - x * np.cos(x))


def g(phi: ArrayLike) -> Array:
    r"""$g(\varphi) = (\pi-\varphi)\cos\varphi + \sin\varphi$, decreasing from $\pi$ at 0 to 0 at
    $\pi$.
    """
    return sine_excess(math.pi - np.asarray(phi, dtype=np.float64))


def pi_minus_g(phi: ArrayLike) -> Array:
    r"""$\pi - g(\varphi)$ without cancellation near $\varphi = 0$."""
    phi = np.asarray(phi, dtype=np.float64)
    return 2.0 * math.pi * np.sin(phi / 2.0) ** 2 - sine_excess(phi)


@states("DU-M5", "DU-T5.1")
def population_loss(v: ArrayLike, a: ArrayLike, teacher: FilterTeacher) -> float:
    r"""$\ell(v,a) = \tfrac12 E(f(Z,v,a)-f(Z,w^*,a^*))^2$.

    With $M = (11^T + (\pi-1)I)/(2\pi)$: $\ell = \tfrac12(a-Wa^*)^T M (a-Wa^*) +
    \frac{\pi-g(\varphi)}{2\pi}\,W\,a^Ta^*$, which does not cancel near the optimum. Cost O(k + p).
    """
    a = _head(a, teacher)
    miss = a - teacher.W * teacher.a
    turned = float(pi_minus_g(angle(v, teacher.w))) * teacher.W * float(a @ teacher.a)
    return ((math.pi - 1.0) * float(miss @ miss) + float(miss.sum()) ** 2) / (
        4.0 * math.pi
    ) + turned / (2.0 * math.pi)


@states("DU-T5.2")
def population_gradient(v: ArrayLike, a: ArrayLike, teacher: FilterTeacher) -> tuple[Array, Array]:
    r"""$(\partial\ell/\partial v, \partial\ell/\partial a)$; the first is orthogonal to v, so
    descent never shortens v.
    """
    v, a = np.asarray(v, dtype=np.float64), _head(a, teacher)
    phi, length = angle(v, teacher.w), float(np.linalg.norm(v))
    unit = v / length
    along = teacher.w - unit * float(unit @ teacher.w)
    dv = -(float(a @ teacher.a) * (math.pi - phi) / (2.0 * math.pi * length)) * along
    da = _times_M(a) - teacher.W / (2.0 * math.pi) * (teacher.s + (float(g(phi)) - 1.0) * teacher.a)
    return dv, da


def _times_M(a: Array) -> Array:
    return (a.sum() + (math.pi - 1.0) * a) / (2.0 * math.pi)


def _head(a: ArrayLike, teacher: FilterTeacher) -> Array:
    a = np.asarray(a, dtype=np.float64)
    if a.shape != teacher.a.shape:
        raise DataError(f"a has shape {a.shape}, but the teacher has {teacher.k} output weights")
    return a


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


@dataclass(frozen=True, eq=False)
class OneFilterNetwork:
    """A filter v (p numbers, not zero) shared by k patches and output weights a (k numbers); the
    arrays are read-only copies.
    """

    v: Array
    a: Array

    def __post_init__(self) -> None:
        for name in ("v", "a"):
            remedy = "give a vector of finite numbers, at least one"
            value = as_weights(getattr(self, name), name, dimensions=(1,), remedy=remedy)
            object.__setattr__(self, name, value)
        if not np.any(self.v):
            raise DataError(
                "v is zero, and a zero filter has no direction: v/|v| is not defined; give another "
                "filter"
            )

    @property
    def patch_size(self) -> int:
        """Entries p of a patch."""
        return self.v.size

    @property
    def n_patches(self) -> int:
        """Patches k of a sample."""
        return self.a.size

    def predict(self, Z: ArrayLike) -> Array:
        """Outputs for patches n x k x p."""
        return one_filter_outputs(Z, self.v, self.a)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OneFilterNetwork):
            return NotImplemented
        return np.array_equal(self.v, other.v) and np.array_equal(self.a, other.a)

    def __hash__(self) -> int:
        return hash((self.v.tobytes(), self.a.tobytes()))


@states("DU-M5")
def one_filter_outputs(Z: ArrayLike, v: ArrayLike, a: ArrayLike) -> Array:
    r"""$f(Z_j, v, a)$ for every sample: patches n x k x p, filter p, output weights k. Does not
    depend on the length of v.
    """
    Z, unit, a, _ = _checked(Z, v, a)
    return np.maximum(_products(Z, unit), 0.0) @ a


@states("DU-M5")
def empirical_loss(Z: ArrayLike, y: ArrayLike, v: ArrayLike, a: ArrayLike) -> float:
    r"""$\frac{1}{2n}\sum_j (f(Z_j, v, a) - y_j)^2$."""
    miss = one_filter_outputs(Z, v, a) - np.asarray(y, dtype=np.float64)
    return 0.5 * float(np.mean(miss**2))


@states("DU-M5")
def empirical_gradient(
    Z: ArrayLike, y: ArrayLike, v: ArrayLike, a: ArrayLike
) -> tuple[Array, Array]:
    r"""$(\partial_v, \partial_a)$ of `empirical_loss`, with $\sigma'(0) = 0$; the first is
    orthogonal to v up to rounding.
    """
    Z, unit, a, length = _checked(Z, v, a)
    H = _products(Z, unit)
    active = np.maximum(H, 0.0)
    miss = (active @ a - np.asarray(y, dtype=np.float64)) / len(Z)
    by_unit = np.einsum("nkp,nk->p", Z, (H > 0.0) * (miss[:, None] * a), optimize=True)
    return (by_unit - unit * float(unit @ by_unit)) / length, active.T @ miss


def _products(Z: Array, unit: Array) -> Array:
    return Z @ unit


def _checked(Z: ArrayLike, v: ArrayLike, a: ArrayLike) -> tuple[Array, Array, Array, float]:
    Z, v, a = (np.asarray(x, dtype=np.float64) for x in (Z, v, a))
    if Z.ndim != 3 or len(Z) == 0 or Z.shape[1:] != (a.size, v.size):
        raise DataError(
            f"Z has shape {Z.shape}; with a filter of {v.size} and {a.size} output weights it must "
            f"be (n, {a.size}, {v.size}), as extract_patches gives it"
        )
    length = float(np.linalg.norm(v))
    if length == 0.0:
        raise DataError(
            "v is zero, and a zero filter has no direction: v/|v| is not defined; give another "
            "filter"
        )
    return Z, v / length, a, length
