"""Limiting Gram matrices too large to hold: products with them block by block, and an estimate of
their least eigenvalue by Lanczos steps.

Blocks are computed in doubles and kept in single precision as far as a budget of memory goes; the
others are computed again for every product. Each pair of blocks is held once.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin._types import Array, ArrayLike, NDArray
from globalmin.activations import get_activation
from globalmin.activations.dual_blocks import block_kernel
from globalmin.activations.dual_pairs import KINKED
from globalmin.data.validation import as_matrix, available_bytes
from globalmin.errors import DataError
from globalmin.files import canonical_json
from globalmin.kernels.limit_gram import Kind, kernel_order
from globalmin.kernels.tail_bound import prove_lambda_lower, share_done

if TYPE_CHECKING:
    from globalmin.activations import Activation

BLOCK = 512
SHARE = 0.25  # of the memory that is available, for kept blocks
_STEPS = 200
_TOLERANCE = 1e-2  # of the estimate: what its residual may be; its error is far less then


@dataclass(eq=False)
class StreamedGram:
    """`limit_gram` as an operator.

    Attributes
    ----------
    X : Array
        n x d rows.
    phi : Activation
        The activation.
    order : int
        1 for the kernel of the weights, 0 for that of the features.
    budget : int
        Bytes for kept blocks.
    """

    X: Array
    phi: Activation
    order: int
    budget: int
    _kept: dict[tuple[int, int], NDArray[Any]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        norms = np.sqrt(np.einsum("ij,ij->i", self.X, self.X))
        if not norms.all():
            raise DataError("X has a zero row; drop it: a streamed matrix has none")
        self._kernel, diagonals = block_kernel(self.phi, norms, (self.order,))
        self.diagonal = diagonals[0] * norms**2 if self.order else diagonals[0]

    def block(self, i: int, j: int) -> Array:
        """The entries of rows i, i + 1, ... and columns j, j + 1, ..., one block of each."""
        rows, columns = (slice(k, min(k + BLOCK, len(self.X))) for k in (i, j))
        C = self.X[rows] @ self.X[columns].T
        values = self._kernel(rows, columns, C)[0]
        if self.order:
            values *= C
        if i == j:
            np.fill_diagonal(values, self.diagonal[rows])
        return values

    def blocks(self) -> Iterator[tuple[int, int, NDArray[Any]]]:
        """Every pair of blocks once, i <= j; kept ones in single precision."""
        n = len(self.X)
        for i in range(0, n, BLOCK):
            for j in range(i, n, BLOCK):
                found = self._kept.get((i, j))
                if found is None:
                    found = self.block(i, j)
                    if self.budget >= 4 * found.size:
                        found = found.astype(np.float32)
                        self.budget -= found.nbytes
                        self._kept[i, j] = found
                yield i, j, found

    def times(self, v: Array, watch: Callable[[float], None] | None = None) -> Array:
        """The product with a vector; sums of blocks in doubles."""
        n, total = len(self.X), np.zeros(len(self.X))
        for i, j, block in self.blocks():
            w = v.astype(block.dtype, copy=False)
            total[i : i + BLOCK] += block @ w[j : j + BLOCK]
            if i != j:
                total[j : j + BLOCK] += w[i : i + BLOCK] @ block
            if watch is not None and j + BLOCK >= n:
                watch(share_done(n, i + BLOCK))
        return total


@dataclass(frozen=True)
class StreamedEigenvalue:
    """The least eigenvalue of a limiting Gram matrix that was never held.

    Attributes
    ----------
    estimate : float
        The least Ritz value: up to rounding an upper bound of lambda_min.
    residual : float
        Some eigenvalue is within this of the estimate, up to rounding.
    largest : float
        The largest Ritz value, up to rounding a lower bound of lambda_max.
    lower : float | None
        Proved lower bound of lambda_min (`prove_lambda_lower`); None for functions without a kink.
    n, steps : int
        Rows, and Lanczos steps.
    seconds : float
        CPU seconds.
    is_interrupted : bool
        Whether Ctrl-C ended it; the figures are those of the steps before.
    """

    estimate: float
    residual: float
    largest: float
    lower: float | None
    n: int
    steps: int
    seconds: float
    is_interrupted: bool = False

    def to_json(self) -> str:
        """One JSON object."""
        return canonical_json(asdict(self))

    def __str__(self) -> str:
        proved = "nothing is proved"
        if self.lower is not None:
            proved = f"proved at least {self.lower:.4g}"
        end = ", interrupted" if self.is_interrupted else ""
        return (
            f"lambda_min of {self.n:,} rows: about {self.estimate:.4g} (residual "
            f"{self.residual:.1g}, {self.steps} Lanczos steps{end}), {proved}; lambda_max about "
            f"{self.largest:.4g}\n"
        )


def streamed_lambda_min(
    X: ArrayLike,
    activation: str | Activation = "relu",
    *,
    kernel: Kind = "weights",
    tol: float = _TOLERANCE,
    max_iter: int = _STEPS,
    memory: int | None = None,
    prove: bool = True,
    seed: int = 0,
    watch: Callable[[str, float], None] | None = None,
) -> StreamedEigenvalue:
    """Estimate lambda_min of `limit_gram(X, activation, kernel=kernel)`, and prove a lower bound
    where that is known how, without ever holding the matrix.

    Parameters
    ----------
    X : ArrayLike
        n x d inputs without zero rows.
    activation : str | Activation
        Any activation of ours.
    kernel : Kind
        As in `limit_gram`.
    tol : float
        Lanczos ends where the residual is at most this share of the estimate.
    max_iter : int
        Lanczos steps at most; each is a product with the matrix.
    memory : int | None
        Bytes for blocks that are kept between the products; None: a quarter of what is available.
    prove : bool
        Whether to prove the lower bound, for relu, leaky_relu and abs.
    seed : int
        Of the first vector.
    watch : Callable[[str, float], None] | None
        Told what is being done, and which share of it is.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((300, 20))
    >>> found = streamed_lambda_min(X / np.linalg.norm(X, axis=1)[:, None])
    >>> 0.03 < found.lower < found.estimate < 0.1
    True
    """
    X, phi, order = as_matrix(X), get_activation(activation), kernel_order(kernel)
    if max_iter < 1 or not 0 < tol < 1:
        raise DataError(f"max_iter={max_iter!r}, tol={tol!r}: give at least 1 step, 0 < tol < 1")
    began = time.process_time()
    tell = watch or (lambda what, share: None)
    lower = None
    if prove and phi.name in KINKED and phi.name != "linear":
        lower = prove_lambda_lower(
            X, phi, kernel=kernel, watch=lambda share: tell("lower bound", share)
        ).lower
    budget = int(SHARE * available_bytes()) if memory is None else int(memory)
    gram = StreamedGram(X, phi, order, budget)
    found = StreamedEigenvalue(math.nan, math.inf, math.nan, lower, len(X), 0, 0.0)
    start = np.random.default_rng(seed).standard_normal(len(X))
    try:
        for low, residual, high in lanczos(gram, start, tell):
            found = replace(
                found, estimate=low, residual=residual, largest=high, steps=found.steps + 1
            )
            if residual <= tol * abs(low) or found.steps >= min(max_iter, len(X)):
                break
    except KeyboardInterrupt:
        if not found.steps:
            raise
        found = replace(found, is_interrupted=True)
    return replace(found, seconds=time.process_time() - began)


def lanczos(
    gram: StreamedGram, start: Array, tell: Callable[[str, float], None]
) -> Iterator[tuple[float, float, float]]:
    """After each step the least Ritz value, its residual and the largest one; every vector is made
    orthogonal to all before it, twice.
    """
    basis = [start / np.linalg.norm(start)]
    alpha: list[float] = []
    beta: list[float] = []
    while True:
        step = f"Lanczos step {len(basis)}"
        image = gram.times(basis[-1], lambda share, step=step: tell(step, share))
        alpha.append(float(basis[-1] @ image))
        held = np.stack(basis)
        for _ in range(2):
            image -= held.T @ (held @ image)
        beta.append(float(np.linalg.norm(image)))
        T = np.diag(alpha) + np.diag(beta[:-1], 1) + np.diag(beta[:-1], -1)
        values, vectors = np.linalg.eigh(T)
        yield float(values[0]), beta[-1] * abs(float(vectors[-1, 0])), float(values[-1])
        if beta[-1] <= 1e-12 * max(abs(values[0]), abs(values[-1])):
            return  # an invariant subspace: nothing is left to add
        basis.append(image / beta[-1])
