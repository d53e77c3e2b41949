"""One module per claim kind; each has THEOREM, `read` (form), `work`, `check` and `statement`."""

from globalmin_check.claims import (
    ambiguous,
    below_barrier,
    deep_descent,
    descent,
    factorization_gap,
    global_basin,
    gram_positive,
    identifies,
    interpolation,
    loss_floor,
    optimality_gap,
    relu_descent,
    relu_interpolation,
    second_order,
    spurious_minimum,
    strict_saddle,
    unique_minimum,
)
from globalmin_check.claims.factorization_network import read_factorization
from globalmin_check.claims.filter_network import read_filter

KINDS = {
    "interpolation": interpolation,
    "descent": descent,
    "relu-interpolation": relu_interpolation,
    "loss-floor": loss_floor,
    "optimality-gap": optimality_gap,
    "identifies": identifies,
    "ambiguous": ambiguous,
    "below-barrier": below_barrier,
    "strict-saddle": strict_saddle,
    "second-order-stationary": second_order,
    "relu-descent": relu_descent,
    "gram-positive": gram_positive,
    "deep-descent": deep_descent,
    "spurious-minimum": spurious_minimum,
    "global-basin": global_basin,
    "unique-minimum": unique_minimum,
    "factorization-gap": factorization_gap,
}
NETWORKS = {"filter": read_filter, "factorization": read_factorization}  # kinds of files without samples X, y
