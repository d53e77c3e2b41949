"""Sentences of the report and the command line: what is proved, with its numbers, and what is not."""

from __future__ import annotations

from fractions import Fraction

from globalmin.report.proof import Proof, ProvedClaim
from globalmin.report.rounding import Number, lower_text, nearest_text, typeset, upper_text

NOT_GENERALIZATION = "Zero training loss is not generalization."

# verified numbers worth showing, in this order; "up" and "down" say how a bound may be rounded and stay true
SHOWN = {
    "loss_upper": ("loss of the stored weights ≤", "up"),
    "R": ("distance to zero-loss weights R ≤", "up"),
    "R_lo": ("no zero-loss weights closer than", "down"),
    "floor": ("no network has a loss below", "down"),
    "gap": ("gap to the global minimum ≤", "up"),
    "path": ("length of the path to zero loss ≤", "up"),
    "rate": ("residual per step multiplied by ≤", "up"),
    "eta": ("step size η", "nearest"),
    "a": ("smallest singular value a of J ≥", "down"),
    "b": ("largest singular value b of J ≤", "up"),
    "mu": ("smallest eigenvalue μ of the Gram matrix ≥", "down"),
    "Lip": ("Lipschitz constant of J ≤", "up"),
    "e": ("length of the Newton step e ≤", "up"),
    "h": ("h, which must be below 1/2, ≤", "up"),
}


def bound_text(name: str, value: Number, digits: int = 3) -> str:
    """A verified number, rounded so that the printed bound is still true."""
    if name == "rate" and 0 < 1 - Fraction(value) < Fraction(1, 100):
        return f"1 - {lower_text(1 - Fraction(value), digits)}"
    rounding = SHOWN.get(name, ("", "nearest"))[1]
    return {"up": upper_text, "down": lower_text, "nearest": nearest_text}[rounding](value, digits)


def shown_numbers(claim: ProvedClaim) -> list[tuple[str, str, str]]:
    """(name, meaning, rounded value) of the verified numbers of a claim that the reader should see."""
    # a floor and the loss just above it agree in many digits
    digits = {"loss_upper": 6, "floor": 6} if claim.kind == "loss-floor" else {}
    return [
        (name, SHOWN[name][0], bound_text(name, claim.numbers[name], digits.get(name, 3)))
        for name in SHOWN
        if name in claim.numbers
    ]


def plain_statement(claim: ProvedClaim) -> str:
    """What an accepted claim says, in plain words with its verified numbers; empty for a kind without words of ours."""
    value = {name: typeset(text) for name, _, text in shown_numbers(claim)}
    value["heads"] = " with a head v ≥ 0" if claim.numbers.get("heads") == "nonnegative" else ""
    return _SENTENCES[claim.kind].format_map(_Missing(value)) if claim.kind in _SENTENCES else claim.statement


class _Missing(dict[str, str]):
    def __missing__(self, key: str) -> str:
        return "?"


_ZERO = "No loss is below zero, so this is the global minimum. The stored weights themselves have a loss of at most {loss_upper}."
_SENTENCES = {
    "interpolation": "Weights with training loss exactly zero exist within distance {R} of the stored ones. " + _ZERO,
    "relu-interpolation": "Weights with training loss exactly zero exist within distance {R} of the stored ones, for the ReLU "
    "network as it is, kinks included. " + _ZERO,
    "descent": "Gradient descent with step {eta}, in exact arithmetic and started at the stored weights, converges to training "
    "loss exactly zero. Every step multiplies the residual by at most {rate}; the whole path is no longer than {path}. " + _ZERO,
    "loss-floor": "Zero loss is impossible on these data: no network of this kind{heads}, of any width and with any weights, "
    "has a training loss below {floor}. The stored weights have a loss of at most {loss_upper}, so they are within {gap} of the "
    "global minimum.",
}


def headline(proof: Proof) -> str:
    """One sentence for the top of the page and the last line of the table."""
    if proof.is_accepted and not proof.reaches_minimum:
        return "No network of this kind reaches zero loss. That this one is at the global minimum is not proved, the gap is wide."
    if proof.claim("loss-floor"):
        return "The stored network is at the global minimum, up to the proved gap. It is not zero: rows contradict each other."
    if proof.is_accepted:
        return "A network with training loss exactly zero, the global minimum, provably exists next to the stored one."
    if proof.verdict == "UNDECIDED":
        return f"The checker could not decide the proof in the file: {proof.reason}."
    if proof.verdict in ("REJECTED", "MALFORMED"):
        return f"The checker refused the file: {proof.reason}. Nothing is proved about this network."
    return f"Nothing is proved about this network: {proof.reason}."


def limits(proof: Proof) -> list[str]:
    """What the page does not prove, in plain words."""
    items = [
        f"{NOT_GENERALIZATION} Nothing is said about data that are not in the file; look at the held-out score for that.",
        "The statement is about the stored numbers, after scaling and with the bias as an appended column. Whether the scaling "
        "was sensible is not proved.",
        "It is a statement over the real numbers. A program that evaluates the network in floating point will see rounding.",
    ]
    if proof.claim("interpolation", "relu-interpolation"):
        items.append("The exact zero-loss weights are proved to exist; they are not the stored ones, and in general not doubles.")
    if proof.claim("descent"):
        items.append(
            "The rate is that of gradient descent in exact arithmetic from the stored weights, not of the run that found them."
        )
    items.append("Neither uniqueness nor simplicity is proved: other weights reach the same loss, and narrower networks may too.")
    items.append(
        "The seal in the file guards against accidents, not against somebody who writes another file: compare the data digest."
    )
    return items
