"""One module per claim kind; each has THEOREM, `read` (form), `work`, `check` and `statement`."""

from globalmin_check.claims import descent, interpolation, loss_floor, relu_interpolation

KINDS = {
    "interpolation": interpolation,
    "descent": descent,
    "relu-interpolation": relu_interpolation,
    "loss-floor": loss_floor,
}
