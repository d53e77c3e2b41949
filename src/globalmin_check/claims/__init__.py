"""One module per claim kind; each has THEOREM, `read` (form), `work`, `check` and `statement`."""

from globalmin_check.claims import (
    ambiguous,
    below_barrier,
    deep_descent,
    descent,
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
}
