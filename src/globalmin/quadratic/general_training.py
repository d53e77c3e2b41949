r"""Networks with a general quadratic activation $\alpha z^2 + \beta z + \gamma$ (GKZ-C2.2): one
least-squares problem.
"""

from __future__ import annotations

import numpy as np

from globalmin._types import Array
from globalmin.data.memory import matrix_bytes, require_memory
from globalmin.linalg.symmetric import design_matrix, unsvec
from globalmin.quadratic.general_activation import general_network
from globalmin.quadratic.solve import TOL, QuadraticSolution, checked_data, solved
from globalmin.references import states
from globalmin.shallow.complete_square import require_coefficients
from globalmin.shallow.network import outputs


@states("GKZ-C2.2")
def solve_general_quadratic(
    X: object, y: object, coefficients: tuple[float, float, float], *, tol: float = TOL
) -> QuadraticSolution:
    r"""The global minimum of L over networks $\sum_lv_l(\alpha z_l^2 + \beta z_l + \gamma)$ whose
    head sums to zero.

    The width is any. Such networks are exactly the functions $x^TMx + b \cdot x$ (b = 0 if $\beta =
    0$), so this is least squares on the monomials of degree two and, unless $\beta = 0$, one. For a
    free constant append the constant feature 1. The network returned has 4d + 2 neurons with head
    +-1.

    Parameters
    ----------
    X, y : samples (n x d) and labels (n).
    coefficients : $(\alpha, \beta, \gamma)$ with $\alpha \ne 0$.
    """
    samples, labels = checked_data(X, y)
    _, beta, _ = require_coefficients(coefficients)
    n, d = samples.shape
    require_memory(
        matrix_bytes(n, d * (d + 3) // 2, copies=3),
        f"least squares on the {d * (d + 3) // 2} monomials of {n} samples",
    )
    S = design_matrix(samples)
    features = np.hstack([S, samples]) if beta != 0.0 else S
    solution = np.asarray(np.linalg.lstsq(features, labels, rcond=None)[0], dtype=np.float64)
    b = solution[S.shape[1] :] if beta != 0.0 else np.zeros(d)
    r = features @ solution - labels
    correction = features @ np.linalg.lstsq(features, r, rcond=None)[0]
    network = general_network(unsvec(solution[: S.shape[1]]), b, coefficients)
    loss, excess = _half_square(outputs(network, samples) - labels), _half_square(correction)
    scale = _half_square(labels)
    lower = 0.0 if loss <= 1e-3 * tol * scale else max(_half_square(r) - excess, 0.0)
    is_close = loss - lower <= max(tol * loss, 1e-3 * tol * scale)
    run = solved(
        network,
        is_close=is_close,
        gap=loss - lower,
        losses=(scale, loss),
        n_iter=1,
        method="least squares",
    )
    return QuadraticSolution.of(
        run,
        M=unsvec(solution[: S.shape[1]]),
        objective=loss,
        lower_estimate=lower,
        gap=loss - lower,
        dual=r,
        weight_decay=0.0,
    )


def _half_square(vector: Array) -> float:
    return 0.5 * float(vector @ vector)
