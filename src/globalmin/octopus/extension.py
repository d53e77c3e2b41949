r"""The octopus on all of $R^d$: a benchmark that any optimizer can be given, in numpy, JAX and
torch (DU-T7.3).

The thesis takes its function from the domain to $R^d$ by a theorem that gives no formula. Here is
one, with constants that do not depend on the dimension. In units of $\tau$ ($r = |x|/\tau$) three
even functions of one variable, twice differentiable and given by polynomials between r = 1, 2, 5:

* the *well* A: $-\gamma r^2$, then $g_1$, then $L(r-4)^2 - \nu$ from r = 2 on: the way out of a
  saddle and down;
* the *gate* s: 0 up to r = 1, $10u^3 - 15u^4 + 6u^5$ with $u = r - 1$, and 1 from r = 2 on;
* the *wall* $\chi$: $(L+\gamma)r^2$ up to r = 1, increasing, constant from r = 5 on, such that
  $A + \chi$ has its only stationary point at 0.

$$\bar f(x) = \tau^2\Big(\sum_{j=1}^d A(r_j) + \sum_{j=2}^d (1 - s(r_{j-1}))\,\chi(r_j)\Big)$$

While a coordinate has not gone down its well, the wall presses the next one to zero. The proof that
this is the octopus on its domain, and of everything said below, is in docs/octopus.md.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from globalmin._types import Array, ArrayLike
from globalmin.errors import DataError
from globalmin.octopus.function import Octopus
from globalmin.references import states

GRADIENT = (100.2, 13.2)  # of L and gamma in the Lipschitz constant of the gradient
HESSIAN = (900.0, 130.0)  # of L/tau and gamma/tau in that of the Hessian


class Profile(NamedTuple):
    """An even function of one variable: `near` r^2 up to 1, a polynomial in r - 1 up to 2, one in
    r - `center` beyond, constant from `cap` = `center` on; coefficients lowest first.
    """

    near: Any
    middle: tuple[Any, ...]
    center: int
    far: tuple[Any, ...]
    cap: float = math.inf

    def at(self, xp: Any, x: Any, order: int = 0) -> Any:
        """The function or its derivative of this order (0 to 2) at x, elementwise, in the arrays
        of the library `xp`.

        Below 1 it is a function of x^2, so that automatic differentiation is right at 0 too.
        """
        r = xp.abs(x)
        near = (self.near * x * x, 2.0 * self.near * x, xp.full_like(x, 2.0 * self.near))[order]
        middle, far = self.middle, self.far
        for _ in range(order):
            middle, far = slope(middle), slope(far)
        # each polynomial sees its own interval only: clip would halve JAX's derivatives at the ends
        u = (r - 1.0) * ((r >= 1.0) & (r < 2.0))
        t = (r - self.center) * ((r >= 2.0) & (r < self.cap))
        sides = xp.where(r < 2.0, _polynomial(xp, middle, u), _polynomial(xp, far, t))
        return xp.where(r < 1.0, near, xp.sign(x) * sides if order == 1 else sides)


def slope(coefficients: tuple[Any, ...]) -> tuple[Any, ...]:
    """Coefficients of the derivative."""
    return tuple(k * c for k, c in enumerate(coefficients))[1:] or (0,)


def _polynomial(xp: Any, coefficients: tuple[Any, ...], u: Any) -> Any:
    value = xp.full_like(u, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        value = value * u + coefficient
    return value


@states("DU-T7.3", "DU-L7.4")
def profiles(L: Any, gamma: Any) -> tuple[Profile, Profile, Profile]:
    r"""Well, gate and wall for $\tau = 1$; exact if $L$ and $\gamma$ are fractions.

    The wall is $B - A$ with the profile B of an idle coordinate: $Lr^2$ up to 1, $L(r^2 - u^3/2 +
    u^4/16)$ with $u = r - 1$ up to 5, $L(r-4)^2 + 8L$ beyond.
    """
    nu = (37 * L + 13 * gamma) / 6
    g1 = (-gamma, -2 * gamma, -gamma, (10 * gamma - 14 * L) / 3, (5 * L - 3 * gamma) / 2)
    idle = (L, 2 * L, L, -L / 2, L / 16)
    well = Profile(-gamma, g1, 4, (-nu, 0, L))
    gate = Profile(0, (0, 0, 0, 10, -15, 6), 2, (1,))
    rise = tuple(b - a for b, a in zip(idle, g1, strict=True))
    wall = Profile(L + gamma, rise, 5, (8 * L + nu, 0, 0, L / 2, L / 16), 5)
    return well, gate, wall


@states("DU-T7.3", "DU-O7", "DU-C7.1")
@dataclass(frozen=True)
class ExtendedOctopus(Octopus):
    r"""The octopus on all of $R^d$, for BFGS, Adam and every other optimizer: finite and twice
    differentiable everywhere, and the octopus where that lives.

    Parameters
    ----------
    dimension : int
        d, the number of saddles on every way down.
    L : float
        Curvature of the walls, at least `gamma`.
    gamma : float
        Curvature of the way out of a saddle.
    tau : float
        Width, at least e.

    Notes
    -----
    `value` takes numpy arrays, JAX arrays (also traced: `jax.grad`, `jax.jit`, optax) and torch
    tensors (autograd), points (..., d), and answers in kind; `gradient` and `hessian` are numpy.
    Start in $[-1, 1]^d$, where gradient descent needs exponentially many steps.

    Theory
    ------
    Proved in docs/octopus.md, for every dimension: equal to `Octopus` on the domain; at least
    `least`, and equal to it at the $2^d$ minima $(\pm4\tau, \dots)$ only; every other stationary
    point has an eigenvalue of at most $-2\gamma$; a point that has not passed the last saddle has
    one too, or a gradient of at least $2\gamma\tau$; gradient and Hessian are Lipschitz with
    `gradient_lipschitz_upper` and `hessian_lipschitz_upper`. From d = 3 on there are strict saddles
    outside of the domain that the octopus does not have.

    Examples
    --------
    >>> octopus = ExtendedOctopus(3, L=math.e)
    >>> round(float(octopus.value([0.5, 0.3, -0.2])), 12), bool(octopus.in_domain([9.0, 9.0, 50.0]))
    (0.1033766377, False)
    >>> round(float(octopus.value([9.0, 9.0, 50.0])), 3)
    3760.914
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.mirrored:
            raise DataError(
                "mirrored=False: the extension is that of the octopus, of which the tube is the "
                "part with positive entries; leave it True"
            )

    @cached_property
    def profiles(self) -> tuple[Profile, Profile, Profile]:
        r"""Well, gate and wall, in units of $\tau$."""
        return profiles(float(self.L), float(self.gamma))

    @property
    def gradient_lipschitz_upper(self) -> float:
        r"""$\ell = 100.2L + 13.2\gamma$, a Lipschitz constant of the gradient on $R^d$; the least
        one is above 0.85 times this.
        """
        return GRADIENT[0] * self.L + GRADIENT[1] * self.gamma

    @property
    def hessian_lipschitz_upper(self) -> float:
        r"""$\rho = (900L + 130\gamma)/\tau$, a Lipschitz constant of the Hessian on $R^d$; the
        least one is above 0.9 times this.
        """
        return (HESSIAN[0] * self.L + HESSIAN[1] * self.gamma) / self.tau

    @property
    def loss_range_upper(self) -> float:
        r"""$(d-1)L + d\nu \ge \bar f(x) - \min\bar f$ for every start x in $[-1, 1]^d$."""
        return ((self.dimension - 1) * self.L - self.least) * (1.0 + 1e-12)

    def value(self, x: Any) -> Any:
        """The function at points (..., d) of numpy, JAX or torch, in arrays of the same library."""
        xp, unit = self._unit(x)
        well, gate, wall = (profile.at(xp, unit) for profile in self.profiles)
        held = (1.0 - gate[..., :-1]) * wall[..., 1:]
        return self.tau**2 * (well.sum(-1) + held.sum(-1))

    def gradient(self, x: ArrayLike) -> Array:
        """The gradient at points (..., d), of the same shape."""
        unit = self._points(x) / self.tau
        well, gate, wall = self.profiles
        G = well.at(np, unit, 1)
        before, after = unit[..., :-1], unit[..., 1:]
        G[..., 1:] += (1.0 - gate.at(np, before)) * wall.at(np, after, 1)
        G[..., :-1] -= gate.at(np, before, 1) * wall.at(np, after)
        return self.tau * G

    def hessian(self, x: ArrayLike) -> Array:
        """The Hessian at points (..., d), of shape (..., d, d): tridiagonal."""
        unit = self._points(x) / self.tau
        well, gate, wall = self.profiles
        diagonal = well.at(np, unit, 2)
        before, after = unit[..., :-1], unit[..., 1:]
        diagonal[..., 1:] += (1.0 - gate.at(np, before)) * wall.at(np, after, 2)
        diagonal[..., :-1] -= gate.at(np, before, 2) * wall.at(np, after)
        H, i = np.zeros((*unit.shape, self.dimension)), np.arange(self.dimension)
        H[..., i, i] = diagonal
        mixed = -gate.at(np, before, 1) * wall.at(np, after, 1)
        H[..., i[:-1], i[1:]] = H[..., i[1:], i[:-1]] = mixed
        return H

    def critical_counts(self) -> tuple[int, int]:
        """Numbers of the saddles inside the domain and of all minima."""
        return super().critical_counts()

    def distance_to_minimum(self, x: ArrayLike) -> Array:
        """How far points (..., d) are from the nearest minimum."""
        return np.linalg.norm(np.abs(self._points(x)) - 4.0 * self.tau, axis=-1)

    def _unit(self, x: Any) -> tuple[Any, Any]:
        """The library of the array, and x/tau in it."""
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(x, torch.Tensor):
            xp = torch
        else:
            xp = x.__array_namespace__() if hasattr(x, "__array_namespace__") else np
        if xp is np:
            x = self._points(x)
        elif x.ndim < 1 or x.shape[-1] != self.dimension:
            raise DataError(
                f"x has shape {tuple(x.shape)}; its last axis must have the dimension "
                f"{self.dimension}"
            )
        return xp, x / self.tau
