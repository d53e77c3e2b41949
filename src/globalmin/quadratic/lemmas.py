r"""The two identities of Kronecker products behind the derivatives of SJL, section 5."""

from __future__ import annotations

import numpy as np

from globalmin._types import Array
from globalmin.errors import DataError
from globalmin.references import states


@states("SJL-L5.1")
def kron_with_product(u: Array, M: Array, v: Array) -> Array:
    r"""$u \otimes (Mv)$, which is $\mathrm{blockdiag}(M,\dots,M)(u \otimes v)$: M acts on every
    block.
    """
    return (np.kron(u, v).reshape(u.shape[0], v.shape[0]) @ M.T).ravel()


@states("SJL-L5.2")
def kron_pairing(a: Array, b: Array, M: Array) -> float:
    r"""$(a \otimes b)^T\mathrm{vec}(M) = b^TMa$, vec stacking the columns of M."""
    if M.shape != (b.shape[0], a.shape[0]):
        raise DataError(
            f"M has shape {M.shape}; give {b.shape[0]} x {a.shape[0]}, the lengths of b and a"
        )
    return float(b @ M @ a)
