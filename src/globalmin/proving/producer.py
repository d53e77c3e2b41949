"""`certify`: the strongest claims that hold for a trained network, with their witnesses."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from globalmin.deep.claims import descent as deep_descent
from globalmin.deep.network import DeepNetwork
from globalmin.errors import CannotCertify, DataError
from globalmin.kernels.claims import gram_positive
from globalmin.proving.certificate import Certificate
from globalmin.proving.claim import THEOREMS, Claim
from globalmin.quadratic.claims import ambiguous, below_barrier, identifies, optimality_gap
from globalmin.recovery.claims import unique_minimum
from globalmin.shallow.claims import (
    descent,
    interpolation,
    loss_floor,
    relu_descent,
    relu_interpolation,
    second_order,
    strict_saddle,
)
from globalmin.shallow.claims.linearized_point import (
    SMOOTH,
    LinearizedPoint,
    checked_arrays,
    is_too_narrow,
    measure,
)

if TYPE_CHECKING:
    from globalmin.data import Dataset
    from globalmin.shallow.network import ShallowNetwork

Builder = Callable[[], Claim]


def certify(
    network: ShallowNetwork | DeepNetwork,
    data: Dataset,
    claims: Iterable[str] | None = None,
    trained: str = "W",
    *,
    store_data: bool = True,
    step_size: float | None = None,
    weight_decay: float | None = None,
) -> Certificate:
    """Find claims about the stored weights that the checker will accept, with their witnesses.

    Parameters
    ----------
    network : ShallowNetwork | DeepNetwork
        Trained network and the data set it was trained on.
    data : Dataset
        Trained network and the data set it was trained on.
    claims : Iterable[str] | None
        Kinds to prove, all of them ("interpolation", "descent", "relu-interpolation",
        "relu-descent", "loss-floor"; for smooth networks "strict-saddle",
        "second-order-stationary", "unique-minimum"; for quadratic ones "optimality-gap",
        "identifies", "ambiguous", "below-barrier"; about the data alone "gram-positive", see also
        `certify_gram`; for deep networks "deep-descent", the only one); by default the strongest
        that hold: a positive loss floor if the data have one, otherwise descent and interpolation
        (smooth activations) or relu-interpolation; for quadratic networks the optimality gap where
        interpolation does not hold; for other smooth networks with fewer trained weights than
        samples, where no zero loss can be proved, a unique minimum (trained "W", at most 400
        weights, in its quick form).
    trained : str
        "W" or "vW", the parameters that descent or interpolation may move.
    store_data : bool
        Keep the data in the file; otherwise only their digest, see `Certificate.save_data`.
    step_size : float | None
        The step the claims descent, relu-descent, deep-descent and below-barrier should speak of;
        by default the largest they allow.
    weight_decay : float | None
        For quadratic networks, w > 0: the optimality gap is that of L + (w/2) |W|^2 instead of L.

    Raises
    ------
    CannotCertify
        With `reasons`, claim by claim, and the measured numbers.
    MemoryRefused
        Before anything large is allocated, naming the memory needed.
    """
    wanted = _checked_kinds(claims)
    if isinstance(network, DeepNetwork):
        return _certify_deep(network, data, wanted, store_data=store_data, step_size=step_size)
    checked_arrays(network, data)
    _check_decay(network, weight_decay)
    kinds = _default_kinds(network, data, trained, weight_decay) if wanted is None else wanted
    # of unique-minimum: the others have larger balls and take up to minutes
    form = "plain" if wanted is None else None
    builders = _builders(
        network, data, trained, step_size=step_size, weight_decay=weight_decay, form=form
    )
    built, reasons = _attempt(builders, kinds)
    if wanted is None and not built:
        built, more = _attempt(builders, _fallback_kinds(network, data, trained, kinds))
        reasons |= more
    if not built or (wanted is not None and reasons):
        raise CannotCertify(f"nothing certified: {_joined(reasons)}", reasons=reasons)
    return Certificate(tuple(built), network, data, store_data)


def _joined(reasons: dict[str, str]) -> str:
    """The reasons in one line, each once with all claims it stands in the way of."""
    kinds: dict[str, list[str]] = {}
    for kind, why in reasons.items():
        kinds.setdefault(why, []).append(kind)
    return "; ".join(f"{', '.join(names)}: {why}" for why, names in kinds.items())


def _certify_deep(
    network: DeepNetwork,
    data: Dataset,
    wanted: tuple[str, ...] | None,
    *,
    store_data: bool,
    step_size: float | None,
) -> Certificate:
    if wanted not in (None, ("deep-descent",)):
        raise DataError(
            f"claims={list(wanted or ())!r}: for a deep network the only claim is 'deep-descent'"
        )
    try:
        claim = deep_descent.build(network, data, step_size=step_size)
    except CannotCertify as failure:
        reasons = {"deep-descent": str(failure)}
        raise CannotCertify(
            f"nothing certified: deep-descent: {failure}", reasons=reasons
        ) from None
    return Certificate((claim,), network, data, store_data)


def _refuse_shallow(network: ShallowNetwork) -> Claim:
    raise CannotCertify(
        f"deep-descent is about a DeepNetwork, not {type(network).__name__}; ask for 'descent'"
    )


def _attempt(
    builders: dict[str, Builder], kinds: tuple[str, ...]
) -> tuple[list[Claim], dict[str, str]]:
    built: list[Claim] = []
    reasons: dict[str, str] = {}
    for kind in kinds:
        try:
            built.append(builders[kind]())
        except CannotCertify as failure:
            reasons[kind] = str(failure)
    return built, reasons


def _builders(
    network: ShallowNetwork,
    data: Dataset,
    trained: str,
    *,
    step_size: float | None,
    weight_decay: float | None,
    form: str | None,
) -> dict[str, Builder]:
    measured: list[LinearizedPoint] = []

    def point() -> LinearizedPoint:
        # descent and interpolation speak of the same point, and measuring it is most of the work
        if not measured:
            measured.append(measure(network, data, trained))
        return measured[0]

    return {
        "descent": lambda: descent.build(
            network, data, trained, step_size=step_size, point=point()
        ),
        "interpolation": lambda: interpolation.build(network, data, trained, point=point()),
        "relu-interpolation": lambda: relu_interpolation.build(network, data, trained),
        "relu-descent": lambda: relu_descent.build(network, data, trained, step_size=step_size),
        "loss-floor": lambda: loss_floor.build(network, data, trained),
        "optimality-gap": lambda: optimality_gap.build(network, data, weight_decay=weight_decay),
        "identifies": lambda: identifies.build(network, data),
        "ambiguous": lambda: ambiguous.build(network, data),
        "below-barrier": lambda: below_barrier.build(network, data, step_size=step_size),
        "strict-saddle": lambda: strict_saddle.build(network, data, trained),
        "second-order-stationary": lambda: second_order.build(network, data, trained),
        "gram-positive": lambda: gram_positive.build(network, data),
        "deep-descent": lambda: _refuse_shallow(network),
        "unique-minimum": lambda: unique_minimum.build(network, data, form=form),
    }


def _check_decay(network: ShallowNetwork, weight_decay: float | None) -> None:
    if weight_decay and network.activation.certificate_name != "quadratic":
        raise DataError(
            f"weight_decay={weight_decay!r} is for quadratic networks, whose penalized loss has a "
            f"provable minimum; leave it out for {network.activation}"
        )


def _default_kinds(
    network: ShallowNetwork, data: Dataset, trained: str, weight_decay: float | None
) -> tuple[str, ...]:
    if weight_decay:
        return ("optimality-gap",)
    if loss_floor.strongest_floor(network, data, trained)[1].floor > 0:
        quadratic = network.activation.certificate_name == "quadratic"
        return ("loss-floor", "optimality-gap") if quadratic else ("loss-floor",)
    if network.activation.name == "relu":
        return ("relu-interpolation",)
    if network.activation.certificate_name in SMOOTH:
        return ("descent", "interpolation")
    why = (
        "these data have no loss floor that a claim can state, and no claim of the certificate "
        f"format proves zero loss for {network.activation}"
    )
    raise CannotCertify(f"{why}; train with relu, {', '.join(SMOOTH)}", reasons={"activation": why})


def _fallback_kinds(
    network: ShallowNetwork, data: Dataset, trained: str, tried: tuple[str, ...]
) -> tuple[str, ...]:
    """What else may hold where the strongest claims do not: cheap to try, and true of a network
    that does not interpolate.
    """
    if network.activation.certificate_name == "quadratic":
        return ("optimality-gap",) if "optimality-gap" not in tried else ()
    small = (
        trained == "W" and network.W.size <= unique_minimum.PARAMETERS and "interpolation" in tried
    )
    return ("unique-minimum",) if small and is_too_narrow(network, data.n_samples, trained) else ()


def _checked_kinds(claims: Iterable[str] | None) -> tuple[str, ...] | None:
    if claims is None:
        return None
    kinds = (claims,) if isinstance(claims, str) else tuple(dict.fromkeys(claims))
    unknown = [kind for kind in kinds if kind not in THEOREMS]
    if unknown or not kinds:
        raise DataError(
            f"claims={list(kinds)!r} must name at least one of {', '.join(THEOREMS)}, and nothing "
            "else"
        )
    return kinds
