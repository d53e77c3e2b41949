"""One module per claim kind; each ends with the record `CLAIM` that the engine works with."""

from globalmin_check.claims import (
    additive_stream_gap,
    ambiguous,
    below_barrier,
    deep_descent,
    deep_trajectory,
    descent,
    dual_gap,
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
    relu_trajectory,
    second_order,
    sgd_trajectory,
    spurious_minimum,
    stream_gap,
    strict_saddle,
    trajectory,
    unique_minimum,
    unused_terms,
)
from globalmin_check.claims.additive_network import read_additive_stream
from globalmin_check.claims.factorization_network import read_factorization
from globalmin_check.claims.filter_network import read_filter
from globalmin_check.claims.kind import ClaimKind
from globalmin_check.claims.regularized_network import read_regularized
from globalmin_check.claims.stream_network import read_stream

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
    relu_trajectory,
    deep_trajectory,
    sgd_trajectory,
    dual_gap,
    unused_terms,
    patch_interpolation,
    stream_gap,
    additive_stream_gap,
)
KINDS: dict[str, ClaimKind] = {module.CLAIM.name: module.CLAIM for module in MODULES}
NETWORKS = {
    "filter": read_filter,
    "factorization": read_factorization,
    "regularized": read_regularized,
    "stream": read_stream,
    "additive-stream": read_additive_stream,
}  # kinds of files with a form of their own
