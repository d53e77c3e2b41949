"""One module per claim kind; each ends with the record `CLAIM` that the engine works with."""

from globalmin_check.claims import (
    ambiguous,
    below_barrier,
    deep_descent,
    descent,
    factorization_gap,
    global_basin,
    gram_positive,
    head_gap,
    identifies,
    interpolation,
    loss_floor,
    optimality_gap,
    patch_interpolation,
    relu_descent,
    relu_interpolation,
    relu_linearized_descent,
    second_order,
    spurious_minimum,
    strict_saddle,
    trajectory,
    unique_minimum,
)
from globalmin_check.claims.factorization_network import read_factorization
from globalmin_check.claims.filter_network import read_filter
from globalmin_check.claims.kind import ClaimKind

MODULES = (
    interpolation,
    descent,
    relu_interpolation,
    loss_floor,
    optimality_gap,
    identifies,
    ambiguous,
    below_barrier,
    strict_saddle,
    second_order,
    relu_descent,
    gram_positive,
    deep_descent,
    spurious_minimum,
    global_basin,
    unique_minimum,
    factorization_gap,
    head_gap,
    trajectory,
    relu_linearized_descent,
    patch_interpolation,
)
KINDS: dict[str, ClaimKind] = {module.CLAIM.name: module.CLAIM for module in MODULES}
NETWORKS = {
    "filter": read_filter,
    "factorization": read_factorization,
}  # kinds of files without samples X, y
