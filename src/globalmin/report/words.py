"""Numbers and sentences as a reader sees them, on the page and on the command line: what is
proved, with bounds rounded outward so that the printed inequality is true as well, and what is not.
"""

from __future__ import annotations

import math
import re
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

from globalmin.drawing import power_of_ten
from globalmin.proving.claim import Proves
from globalmin.proving.proof import Proof, ProvedClaim

Number = Fraction | float | int | str


def upper_text(value: Number, digits: int = 3) -> str:
    """`value` rounded up to `digits` significant digits, for a proved upper bound.

    Examples
    --------
    >>> upper_text(Fraction(1, 3)), upper_text("1/3000000000")
    ('0.334', '3.34e-10')
    """
    return _text(value, digits, ROUND_CEILING)


def lower_text(value: Number, digits: int = 3) -> str:
    """`value` rounded down to `digits` significant digits, for a proved lower bound."""
    return _text(value, digits, ROUND_FLOOR)


def nearest_text(value: Number | None, digits: int = 3) -> str:
    """`value` rounded to the nearest, for an estimate; a dash where there is none."""
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return "–"
    return _text(value, digits, ROUND_HALF_EVEN)


def typeset(text: str) -> str:
    r"""The same number as it is set on a page: '-3.34e-10' becomes '−3.34 × 10⁻¹⁰', with spaces
    that do not break.

    Examples
    --------
    >>> typeset("3.34e-10"), typeset("-0.5")
    ('3.34\xa0×\xa010⁻¹⁰', '−0.5')
    """
    mantissa, _, exponent = text.partition("e")
    mantissa = mantissa.replace("-", "−")
    return f"{mantissa}\u00a0×\u00a0{power_of_ten(int(exponent))}" if exponent else mantissa


def typeset_sentence(text: str) -> str:
    r"""A sentence with its powers of ten as they are set on a page; a narrow one would break a line
    at the hyphen of 8.5e-10.

    Examples
    --------
    >>> typeset_sentence("at most 8.5e-10 below 0.5")
    'at most 8.5\xa0×\xa010⁻¹⁰ below 0.5'
    """
    return re.sub(r"(?<![\w.])-?\d+(\.\d+)?e[+-]\d+", lambda found: typeset(found[0]), text)


def _text(value: Number, digits: int, rounding: str) -> str:
    if isinstance(value, float) and not math.isfinite(value):
        return "∞" if value > 0 else "-∞"
    exact = Fraction(value)
    if exact == 0:
        return "0"
    context = Context(prec=digits, rounding=rounding, Emin=-(10**6), Emax=10**6)
    rounded = context.divide(Decimal(exact.numerator), Decimal(exact.denominator))
    exponent = rounded.adjusted()
    if -4 < exponent < 6:
        plain = format(rounded, "f")
        return plain.rstrip("0").rstrip(".") if "." in plain else plain
    mantissa = format(rounded.scaleb(-exponent, context), "f").rstrip("0").rstrip(".")
    return f"{mantissa}e{exponent}"


NOT_GENERALIZATION = "Zero training loss is not generalization."

# verified numbers worth showing, in this order; "up" and "down" say how a bound may be rounded and
# stay true
SHOWN = {
    "loss_upper": ("loss of the stored weights ≤", "up"),
    "R": ("distance to zero-loss weights R ≤", "up"),
    "R_lo": ("no zero-loss weights closer than", "down"),
    "r": ("exactly one critical point within r =", "down"),
    "r_minus": ("its distance ≤", "up"),
    "starts": ("descent converges to it from within", "down"),
    "floor": ("no network of the class has a loss below", "down"),
    "penalized_floor": ("no network of the class has a penalized loss below", "down"),
    "gap": ("gap to the least loss of the class ≤", "up"),
    "objective": ("penalized loss of the stored weights ≤", "up"),
    "decay": ("weight decay w", "nearest"),
    "gamma": ("curvature downwards, at least", "down"),
    "radius": ("no local minimum within", "down"),
    "eps": ("norm of the gradient ≤", "up"),
    "delta": ("no curvature below minus", "up"),
    "E0": ("loss above the least one ≤", "up"),
    "barrier": ("rank-deficient weights are above it by ≥", "down"),
    "difference": ("mean squared difference of the two functions ≥", "down"),
    "rank": ("dimension that the samples span", "nearest"),
    "path": ("length of the path to zero loss ≤", "up"),
    "rate": ("factor per step of descent ≤", "up"),
    "eta": ("step size η", "nearest"),
    "a": ("smallest singular value a of J ≥", "down"),
    "b": ("largest singular value b of J ≤", "up"),
    "mu": ("smallest eigenvalue μ ≥", "down"),
    "Lip": ("Lipschitz constant of J ≤", "up"),
    "e": ("length of the Newton step e ≤", "up"),
    "h": ("h, which must be below 1/2, ≤", "up"),
}


BOUNDS = (Proves.GAP, Proves.FLOOR)
LONG = ("loss_upper", "floor", "penalized_floor", "objective")
SIGNS = {
    "nonnegative": "v ≥ 0",
    "nonpositive": "v ≤ 0",
}  # of the heads a bound covers; others cover every head


def bound_text(name: str, value: Number, digits: int = 3) -> str:
    """A verified number, rounded so that the printed bound is still true."""
    if name == "rate" and 0 < 1 - Fraction(value) < Fraction(1, 100):
        return f"1 - {lower_text(1 - Fraction(value), digits)}"
    rounding = SHOWN.get(name, ("", "nearest"))[1]
    return {"up": upper_text, "down": lower_text, "nearest": nearest_text}[rounding](value, digits)


def shown_numbers(claim: ProvedClaim) -> list[tuple[str, str, str]]:
    """(name, meaning, rounded value) of the verified numbers of a claim that the reader should
    see.
    """
    numbers = claim.numbers.by_name()
    if claim.numbers.is_penalized and "floor" in numbers:
        numbers["penalized_floor"] = numbers.pop("floor")
    elif claim.numbers.decay is not None:
        del numbers["decay"], numbers["objective"]  # the loss itself
    return [
        (name, SHOWN[name][0], bound_text(name, numbers[name], digits(claim, name)))
        for name in SHOWN
        if name in numbers
    ]


def digits(claim: ProvedClaim, name: str) -> int:
    """Digits to show: a floor and the loss just above it agree in many."""
    return 6 if name in LONG and claim.proves in BOUNDS else 3


def plain_statement(claim: ProvedClaim) -> str:
    """What an accepted claim says, in plain words with its verified numbers; empty for a kind
    without words of ours.
    """
    value = {name: typeset(text) for name, _, text in shown_numbers(claim)}
    value["floor"] = value.get("penalized_floor", value.get("floor", "?"))
    value["class"], value["uncovered"] = covered_networks(claim), uncovered_heads(claim)
    value["penalized"] = (
        f"L + (w/2)‖W‖² with w = {value['decay']}" if "decay" in value else "training loss"
    )
    value["ball"] = (
        f" No weights closer than {value['radius']} are a local minimum either."
        if "radius" in value
        else ""
    )
    sentence = claim.record.sentence if claim.record else ""
    return sentence.format_map(_Missing(value)) or claim.statement


def covered_networks(claim: ProvedClaim) -> str:
    """The networks that a loss floor or an optimality gap speaks of, such as "network with this
    activation and a head v ≥ 0".
    """
    sign = SIGNS.get(str(claim.numbers.heads))
    if claim.proves is Proves.GAP:
        is_limited = claim.numbers.is_penalized
        size = " and no head weight larger than the stored ones" if is_limited else ""
        return "quadratic network" + (f" with a head {sign}" if sign else " with any head") + size
    return "network with this activation and " + (f"a head {sign}" if sign else "any head")


def uncovered_heads(claim: ProvedClaim) -> str:
    """A sentence on what the bound leaves open if it covers the heads of one sign only, otherwise
    empty.
    """
    return (
        " Networks with other heads are not covered and may fit better."
        if claim.numbers.heads in SIGNS
        else ""
    )


class _Missing(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return "?"


def headline(proof: Proof) -> str:
    """One sentence for the top of the page and the last line of the table."""
    if proof.is_accepted and not proof.reaches_minimum:
        return _not_minimum(proof)
    bounded = proof.that(Proves.GAP)
    if bounded and not proof.that(Proves.ZERO_LOSS):
        what = " of the penalized loss" if bounded.numbers.is_penalized else ""
        over = covered_networks(bounded).replace("network", "networks", 1)
        return (
            f"The stored network is at the global minimum{what} over {over}, of any width, up to "
            "the proved gap."
        )
    floor = proof.that(Proves.FLOOR)
    if floor:
        return (
            f"The stored network is at {least_of_class(floor)}, up to the proved gap. "
            f"{why_not_zero(floor)}"
        )
    replayed = proof.claim("trajectory")
    if replayed is not None and replayed.numbers.rate is not None:
        return (
            "Gradient descent from its own start provably reaches training loss exactly zero, the "
            "global minimum."
        )
    if proof.is_accepted:
        return (
            "A network with training loss exactly zero, the global minimum, provably exists next "
            "to the stored one."
        )
    if proof.verdict == "UNDECIDED":
        return f"The checker could not decide the proof in the file: {proof.reason}."
    if proof.verdict in ("REJECTED", "MALFORMED"):
        return (
            f"The checker refused the file: {proof.reason}. Nothing is proved about this network."
        )
    return f"Nothing is proved about this network: {proof.reason}."


def least_of_class(floor: ProvedClaim) -> str:
    """What a network with a narrow gap to a loss floor has reached: "the global minimum", or that
    over the heads of one sign.
    """
    sign = SIGNS.get(str(floor.numbers.heads))
    return (
        f"the minimum over networks with this activation and a head {sign}"
        if sign
        else "the global minimum"
    )


def why_not_zero(floor: ProvedClaim) -> str:
    """A sentence on why the least loss of a loss floor is not zero."""
    sign = SIGNS.get(str(floor.numbers.heads))
    if sign is None:
        return "It is not zero: rows contradict each other or the activation."
    return f"It is not zero: with a head {sign} some labels are out of reach." + uncovered_heads(
        floor
    )


def _not_minimum(proof: Proof) -> str:
    """What an accepted file says whose claims leave open whether the network is at the global
    minimum.
    """
    told = [c.record.headline for c in proof.accepted_claims if c.record and c.record.headline]
    if told:
        return told[0]
    bound = proof.that(*BOUNDS)
    if bound is not None:
        return _wide_gap(bound)
    return (
        "What is proved is about the data and the class of networks. Nothing is proved about the "
        "loss of this one."
    )


def _wide_gap(bound: ProvedClaim) -> str:
    """An accepted lower bound that the stored network is not near: which networks it covers, and
    what it leaves open.
    """
    covered = covered_networks(bound)
    if bound.proves is Proves.GAP:
        first = (
            f"A lower bound for every {covered}, of any width, is proved. That this one attains it "
            "is not, the gap is wide."
        )
    else:
        first = (
            f"No {covered}, of any width, reaches zero loss on these data. That this one is at the "
            "minimum over them is not proved, the gap is wide."
        )
    return first + uncovered_heads(bound)


def limits(proof: Proof) -> list[str]:
    """What the page does not prove, in plain words."""
    items = [
        f"{NOT_GENERALIZATION} Nothing is said about data that are not in the file; look at the "
        "held-out score for that.",
        "The statement is about the stored numbers, after scaling and with the bias as an appended "
        "column. Whether the scaling was sensible is not proved.",
        "It is a statement over the real numbers. A program that evaluates the network in floating "
        "point will see rounding.",
    ]
    told = [c.record.limit for c in proof.accepted_claims if c.record and c.record.limit]
    items += dict.fromkeys(told)
    items.append(
        "Neither uniqueness nor simplicity is proved: other weights reach the same loss, and "
        "narrower networks may too."
    )
    items.append(
        "The seal in the file guards against accidents, not against somebody who writes another "
        "file: compare the data digest."
    )
    return items


def layers_trained(trained: str) -> str:
    """Which layers of a network moved: "W", "vW" or "v" of a shallow one, "all" of a deep one."""
    named = {"W": "first layer trained", "v": "head trained", "all": "all layers trained"}
    return named.get(trained, "both layers trained")
