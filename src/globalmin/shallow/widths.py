r"""How wide a network must be, and how over-parameterized an instance is: weights counted against
samples, the condition numbers of the papers, the widths that training tries.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from globalmin._options import SIGNS, Signs, Trained, one_of
from globalmin._types import Array
from globalmin.data.loss_floor import tied_groups
from globalmin.errors import DataError
from globalmin.references import states
from globalmin.shallow.degenerate import count_free_outputs

if TYPE_CHECKING:
    from globalmin.activations import Activation
    from globalmin.data.degeneracy import Degeneracy
    from globalmin.shallow.network import ShallowNetwork
    from globalmin.shallow.problem import HasData


EXCESS = 1.2  # trained weights per sample from which fits are found in practice


@states("OS-C2.2")
def moderate_ratio(n: int, d: int, k: int) -> float:
    r"""$\sqrt{kd}/n$: OS-C2.2 asks it to exceed a constant nobody knows (softplus, rows uniform on
    the sphere, $d \le n \le cd^2$).
    """
    return math.sqrt(k * d) / n


@states("OS-C2.4")
def moderate_relu_ratio(n: int, d: int, k: int) -> float:
    r"""$\sqrt{kd}\,d/n^2$: what must exceed an unknown constant for ReLU, OS-T2.3 with $\|X\| \le
    2\sqrt{n/d}$, $\sigma_{\min}(X*X) \ge c$.
    """
    return math.sqrt(k * d) * d / n**2


@states("SJL-T2.1", "SJL-T2.2")
def quadratic_width(d: int, *, signs: Signs = "mixed") -> int:
    """Least width from which quadratic networks have no spurious minimum: 2d (SJL-T2.1, mixed
    signs), d (SJL-T2.2, one sign).
    """
    one_of("signs", signs, SIGNS)
    return 2 * d if signs == "mixed" else d


@states("SJL-P7.4")
def sample_condition_ratio(W: Array, n: int) -> float:
    r"""$n\sigma_{\max}(W)^8/(\sigma_{\min}(W)^4d^2)$; SJL-P7.4 asks it to be at most a constant
    $c_0$ that nobody knows.
    """
    singular = np.linalg.svd(W, compute_uv=False)
    low = float(singular[-1]) if W.shape[0] >= W.shape[1] else 0.0
    return n * float(singular[0]) ** 8 / (low**4 * W.shape[1] ** 2) if low > 0.0 else math.inf


@states("SJL-C7.5")
def khatri_rao_ratios(n: int, d: int, sigma_min: float, sigma_max: float) -> tuple[float, float]:
    r"""$(\sigma_{\min}(X*X)/d, \sigma_{\max}(X*X)/\sqrt{nd})$, which SJL-C7.5 bounds below and
    above by unknown constants (Gaussian X).
    """
    return sigma_min / d, sigma_max / math.sqrt(n * d)


def free_outputs(facts: Degeneracy, activation: Activation) -> int:
    """Outputs that can be chosen independently as far as ties go: equal rows, rays or lines of
    homogeneous functions, zero rows.
    """
    return facts.X.shape[0] - sum(
        len(group.members) - int(group.kind != "zero") for group in tied_groups(facts, activation)
    )


def parallel_groups(facts: Degeneracy, activation: Activation) -> tuple[tuple[int, ...], ...]:
    """Groups of nonzero rows on which every network with this activation is determined by its value
    on one of them, exact.
    """
    return tuple(group.members for group in tied_groups(facts, activation) if group.kind != "zero")


def function_space_dimension(activation: Activation, rank: int) -> float:
    """Dimension of what networks of all widths span on inputs of this rank; infinite unless phi is
    a polynomial.
    """
    powers = {
        "linear": (0.0, 1.0),
        "quadratic": (0.0, 0.0, 1.0),
        "polynomial": activation.coefficients,
    }.get(activation.name)
    if powers is None:
        return math.inf
    return sum(
        math.comb(rank + j - 1, j) for j, coefficient in enumerate(powers) if coefficient != 0
    )


def recommended_width(outputs: float, rank: int, *, excess: float = EXCESS) -> int:
    """The smallest even k with k rank >= 1.2 outputs, and at least outputs/rank + 1: the width that
    "auto" tries first.
    """
    return _even(max(math.ceil(excess * outputs / rank), math.ceil(outputs / rank) + 1))


GROWTH = (1.0, 2.0, 3.0, 4.0, 6.0)  # of the width, in the order tried


def widths(
    data: HasData, width: int | str, activation: Activation, trained: Trained = "W"
) -> Iterator[int]:
    """The widths to try: the given one, or for "auto" the first promising one and then wider
    ones.
    """
    if width != "auto":
        if isinstance(width, bool | str) or int(width) != width or width < 1:
            raise DataError(f"width={width!r} is not usable; give a whole number >= 1 or 'auto'")
        yield int(width)
        return
    k = first_width(data, activation, trained)
    for factor in GROWTH if _is_rich(data, activation, trained) else GROWTH[:1]:
        yield _even(factor * k)


def first_width(data: HasData, activation: Activation, trained: Trained = "W") -> int:
    """The smallest even k with k d >= 1.2 n, counting only free outputs for n and the rank of X for
    d; at least n/d + 1.

    Even, because half of the head is positive and half negative.
    """
    outputs = min(
        count_free_outputs(data, activation), function_space_dimension(activation, _rank(data))
    )
    per_neuron = 1 if trained == "v" else _rank(data) + int(trained == "vW")
    return recommended_width(outputs, per_neuron)


def can_interpolate(network: ShallowNetwork, data: HasData, trained: Trained = "W") -> bool:
    """Whether counting leaves hope of zero loss: as many weights that matter as free outputs, and a
    rich enough activation.
    """
    outputs = count_free_outputs(data, network.activation)
    neurons = int(np.count_nonzero(network.v)) if trained == "W" else network.width
    weights = neurons * (_rank(data) * ("W" in trained) + ("v" in trained))
    return weights >= outputs and _is_rich(data, network.activation, trained)


def _is_rich(data: HasData, activation: Activation, trained: Trained) -> bool:
    X = np.asarray(data.X, dtype=np.float64)
    fixed_at_zero = (
        trained == "W" and not activation.vanishes_at_zero and not X.any(axis=1).all()
    )  # f(0) = phi(0) sum of v
    return not fixed_at_zero and function_space_dimension(
        activation, _rank(data)
    ) >= count_free_outputs(data, activation)


def _rank(data: HasData) -> int:
    return max(1, int(np.linalg.matrix_rank(np.asarray(data.X, dtype=np.float64))))


def _even(k: float) -> int:
    return max(2, 2 * math.ceil(k / 2))
