"""The table of methods: each is a function (network, data, **options) -> ShallowRun."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from inspect import signature
from typing import TYPE_CHECKING

from globalmin._options import TRAINABLE, Method, Trained, one_of
from globalmin.errors import DataError
from globalmin.shallow.methods.gradient_descent import gradient_descent
from globalmin.shallow.methods.gradient_flow import gradient_flow
from globalmin.shallow.methods.homotopy import homotopy, left_slope
from globalmin.shallow.methods.lbfgs import lbfgs
from globalmin.shallow.methods.least_squares import least_squares
from globalmin.shallow.methods.levenberg_marquardt import levenberg_marquardt
from globalmin.shallow.methods.saddle_escape import perturbed_gradient_descent, trust_region
from globalmin.shallow.methods.sgd import sgd
from globalmin.shallow.trajectory import Options

if TYPE_CHECKING:
    from globalmin.activations import Activation
    from globalmin.shallow.trajectory import ShallowRun

METHODS: dict[Method, Callable[..., ShallowRun]] = {
    "levenberg_marquardt": levenberg_marquardt,
    "homotopy": homotopy,
    "gradient_descent": gradient_descent,
    "sgd": sgd,
    "gradient_flow": gradient_flow,
    "lbfgs": lbfgs,
    "perturbed_gradient_descent": perturbed_gradient_descent,
    "trust_region": trust_region,
    "least_squares": least_squares,
}
HEAD_METHODS = ("least_squares", "gradient_descent", "sgd")  # those that can train the head alone
STEPPED = ("gradient_descent", "sgd", "perturbed_gradient_descent")  # the methods with a step size
# the methods that "auto" chooses and starts again when they stall
RESTARTED = "levenberg_marquardt", "homotopy"


def method_for(activation: Activation, trained: Trained = "W") -> Method:
    """What "auto" means: the homotopy for an activation with a kink, Levenberg-Marquardt for the
    others; least squares for the head alone.
    """
    if trained == "v":
        return "least_squares"
    return "levenberg_marquardt" if left_slope(activation) is None else "homotopy"


def check_method(method: str, step_size: float | str | None = None) -> None:
    """Refuse an unknown method, and a step size given to a method without one."""
    one_of("method", method, ("auto", *METHODS))
    if step_size is not None and method not in STEPPED:
        raise DataError(
            f"step_size={step_size!r} has no meaning for method={method!r}; drop it, or use one of "
            f"{', '.join(STEPPED)}"
        )


def check_trained(method: str, trained: Trained, until: str = "tolerance") -> None:
    """Refuse to train the head alone by a method that moves hidden weights, or until a claim about
    moving them holds.
    """
    one_of("trained", trained, TRAINABLE)
    if trained == "v" and method not in (*HEAD_METHODS, "auto"):
        raise DataError(
            f"method={method!r} moves the hidden weights, and trained='v' keeps them; the loss is "
            f"a convex quadratic function of the head: give 'auto' or one of "
            f"{', '.join(HEAD_METHODS)}"
        )
    if trained == "v" and until != "tolerance":
        raise DataError(
            f"until={until!r} waits for claims about moving hidden weights, and trained='v' keeps "
            "them; leave it out: the gap of the head is provable at any weights"
        )
    if until == "proved" and (method != "gradient_descent" or trained != "W"):
        raise DataError(
            f"until='proved' is about a whole run of gradient descent on W, which the checker "
            f"replays from its start; method={method!r}, trained={trained!r} has no such proof: "
            "give method='gradient_descent' and trained='W', or until='descent'"
        )


@cache
def _own_options(method: Method) -> frozenset[str]:
    return frozenset(signature(METHODS[method]).parameters) - {"network", "data", "options"}


def check_options(method: Method, names: Iterable[str]) -> None:
    """Refuse options that the method does not have: a misspelled one would change nothing,
    silently.
    """
    names = list(names)
    if not names:
        return
    own = _own_options(method)
    unknown = [
        name for name in names if name not in own | set(Options.__annotations__) | {"step_size"}
    ]  # see check_method
    if unknown:
        taken = ", ".join(sorted(own)) or "none of its own"
        raise DataError(f"{unknown[0]} is no option of method={method!r}; its own options: {taken}")
