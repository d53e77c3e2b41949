"""Re-sealed semantic mutants: well-formed files with other numbers, as an adversary who knows the
format would write them.

A mutant need not be false: a nudge within the slack leaves the claim true. The truth oracle
decides; these functions only say which family a mutant belongs to.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from tests.corpus.drafts import ClaimDraft, Draft

Rng = np.random.Generator
Family = Callable[[Rng, Draft, list[Draft]], bool]

# +1: the claim says more when the number grows, -1: when it shrinks
DIRECTIONS = {
    "a2": 1, "kappa": -1, "beta2": -1, "R": -1, "R_lo": 1, "b2": -1, "eta": 1, "rate": -1,
    "path": -1, "mu": 1,
    "floor": 1, "gap": -1, "loss_upper": -1, "rho": -1, "v_max": 1, "sigma2": 1, "difference": 1,
    "phi": 1, "Phi": -1,
    "a_lo": 1, "a_hi": -1, "E0": -1, "gamma": 1, "eps": -1, "delta": -1, "lam": -1,
}  # fmt: skip
MUST_REFUSE = ("sign", "swap", "label", "tighten", "foreign witness")


def scalars(draft: Draft, index: int) -> list[tuple[dict[str, Any], str]]:
    """Every rational of a claim, as (dictionary, key), those of `radius` and `quartic` among
    them.
    """
    objects, found = [draft.claims[index].fields], []
    for fields in objects:
        found += [(fields, name) for name, value in fields.items() if isinstance(value, Fraction)]
        objects += [value for value in fields.values() if isinstance(value, dict)]
    return found


def _magnitude(rng: Rng, low: float, high: float) -> float:
    return float(10 ** rng.uniform(low, high))


def _short(value: Fraction) -> Fraction:
    """The rational rounded to 60 bits, so that repeated mutation does not lengthen it."""
    if value == 0:
        return value
    shift = value.denominator.bit_length() - value.numerator.bit_length() + 60
    scale = Fraction(2) ** shift
    return Fraction(round(value * scale)) / scale


def _any_claim(rng: Rng, draft: Draft) -> int:
    return int(rng.integers(len(draft.claims)))


def _float_tensors(draft: Draft, rng: Rng) -> list[np.ndarray]:
    arrays = [draft.X, draft.y, draft.W, draft.v]
    witness = [
        a for a in draft.claims[_any_claim(rng, draft)].tensors.values() if a.dtype.kind == "f"
    ]
    return [a for a in arrays + witness if a.size]


def _entry(rng: Rng, array: np.ndarray) -> tuple[int, ...]:
    return tuple(int(rng.integers(size)) for size in array.shape)


def sign(rng: Rng, draft: Draft, _: list[Draft]) -> bool:
    """Flip the sign of one nonzero entry of the data, the weights or the witness."""
    arrays = _float_tensors(draft, rng)
    array = arrays[int(rng.integers(len(arrays)))]
    place = _entry(rng, array)
    array[place] = -array[place]
    return bool(array[place] != 0)


def swap(rng: Rng, draft: Draft, _: list[Draft]) -> bool:
    """Exchange two samples' rows, two labels, or two heads, but not their partners."""
    array = [draft.X, draft.y, draft.v][int(rng.integers(3))]
    i, j = (int(rng.integers(len(array))) for _ in range(2))
    array[[i, j]] = array[[j, i]]
    return not np.array_equal(array[i], array[j])


def label(rng: Rng, draft: Draft, _: list[Draft]) -> bool:
    """Change one label."""
    i = int(rng.integers(len(draft.y)))
    before = float(draft.y[i])
    draft.y[i] += rng.choice([-1, 1]) * _magnitude(rng, -10, 0.5)
    return before != draft.y[i]


def tighten(rng: Rng, draft: Draft, _: list[Draft]) -> bool:
    """Move one number of the claim in the direction in which it says more."""
    choices = [pair for pair in scalars(draft, _any_claim(rng, draft)) if pair[1] in DIRECTIONS]
    fields, name = choices[int(rng.integers(len(choices)))]
    before = fields[name]
    # no minimum within R: more is said by a larger R
    direction = 1 if name == "R" and "lam" in fields else DIRECTIONS[name]
    step = Fraction(_magnitude(rng, -8, 0)) * direction
    fields[name] = _short(before * (1 + step) if before else step)
    if name == "rate":
        fields[name] = _short(1 - (1 - before) * (1 - step))
    return fields[name] != before


def nudge(rng: Rng, draft: Draft, _: list[Draft]) -> bool:
    """Multiply one number of the claim by something near 1, or replace it by a special value."""
    choices = scalars(draft, _any_claim(rng, draft))
    fields, name = choices[int(rng.integers(len(choices)))]
    before = fields[name]
    special = [Fraction(0), -before, Fraction(1), before * 2**40, before / 2**40]
    factor = 1 + Fraction(float(rng.choice([-1, 1])) * _magnitude(rng, -12, -1))
    fields[name] = special[int(rng.integers(5))] if rng.random() < 0.2 else _short(before * factor)
    return fields[name] != before


def foreign_witness(rng: Rng, draft: Draft, others: list[Draft]) -> bool:
    """Take one witness tensor, or the whole claim, from another file with the same shapes."""
    index = _any_claim(rng, draft)
    mine = draft.claims[index]
    for k in rng.permutation(len(others)):
        theirs = others[int(k)].claims[0]
        if theirs.fields["kind"] != mine.fields["kind"] or {
            n: t.shape for n, t in theirs.tensors.items()
        } != {n: t.shape for n, t in mine.tensors.items()}:
            continue
        names = [n for n in mine.tensors if not np.array_equal(mine.tensors[n], theirs.tensors[n])]
        if not names:
            continue
        if rng.random() < 0.3:
            draft.claims[index] = others[int(k)].copy().claims[0]
        else:
            name = names[int(rng.integers(len(names)))]
            mine.tensors[name] = theirs.tensors[name].copy()
        return True
    return False


def weights(rng: Rng, draft: Draft, _: list[Draft]) -> bool:
    """Perturb all weights or all data by relative noise."""
    array = [draft.W, draft.v, draft.X][int(rng.integers(3))]
    before = array.copy()
    array *= 1 + _magnitude(rng, -16, -1) * rng.normal(size=array.shape)
    return not np.array_equal(before, array)


def low_bits(rng: Rng, draft: Draft, _: list[Draft]) -> bool:
    """Flip one of the low 20 bits of one number."""
    arrays = _float_tensors(draft, rng)
    array = arrays[int(rng.integers(len(arrays)))]
    place = _entry(rng, array)
    bits = np.array(array[place]).view(np.int64) ^ (1 << int(rng.integers(20)))
    array[place] = np.int64(bits).view(np.float64)
    return bool(np.isfinite(array[place]))


def indices(rng: Rng, draft: Draft, _: list[Draft]) -> bool:
    """Change one entry of an integer tensor."""
    arrays = [
        a
        for a in draft.claims[_any_claim(rng, draft)].tensors.values()
        if a.dtype.kind == "i" and a.size
    ]
    if not arrays:
        return False
    array = arrays[int(rng.integers(len(arrays)))]
    array[_entry(rng, array)] += int(rng.choice([-2, -1, 1, 2]))
    return True


def activation(rng: Rng, draft: Draft, _: list[Draft]) -> bool:
    """Say another activation or parameter."""
    names = [
        "softplus",
        "sigmoid",
        "tanh",
        "erf",
        "quadratic",
        "linear",
        "abs",
        "relu",
        "leaky_relu",
    ]
    before = dict(draft.network)
    name = str(rng.choice(names))
    draft.network = {"activation": name, "kind": "shallow"}
    if name == "leaky_relu" or (name in ("softplus", "sigmoid") and rng.random() < 0.5):
        draft.network["parameter"] = str(rng.choice(["1/2", "3/4", "1/100"]))
    return draft.network != before


def mode(rng: Rng, draft: Draft, _: list[Draft]) -> bool:
    """Say another method for the same numbers: row sums instead of a factor, rows instead of svec,
    heads of another sign.
    """
    claim = draft.claims[_any_claim(rng, draft)]
    fields, tensors = claim.fields, claim.tensors
    if fields.get("norm") == "factor":
        fields["norm"] = "rows"
        tensors.pop(next(role for role in ("C_b", "C_Phi", "C_Lam") if role in tensors))
    elif fields.get("trained") == "vW":
        fields["trained"] = "W"
        fields.pop("beta2", None)
        tensors.pop("C_beta" if "C_beta" in tensors else "u", None)
        if fields.get("method") == "dense":
            tensors["C"] = tensors["C"][len(draft.v) :, len(draft.v) :]
    elif fields.get("method") in ("dense", "blocks"):
        fields["method"] = "blocks" if fields["method"] == "dense" else "dense"
        tensors["C"] = _other_shape(tensors["C"], draft.X.shape[1])
    elif "heads" in fields:
        _other_heads(rng, claim)
    else:
        return False
    return True


def _other_shape(C: np.ndarray, d: int) -> np.ndarray:
    """The diagonal blocks of a dense factor one below the other, or the block diagonal matrix of
    such blocks.
    """
    blocks = range(len(C) // d)
    if C.shape[1] > d:
        return np.vstack([C[d * i : d * (i + 1), d * i : d * (i + 1)] for i in blocks])
    dense = np.zeros((len(C), len(C)))
    for i in blocks:
        dense[d * i : d * (i + 1), d * i : d * (i + 1)] = C[d * i : d * (i + 1)]
    return dense


def _other_heads(rng: Rng, claim: ClaimDraft) -> None:
    """Another class of heads, with the factors that it asks for."""
    classes = {
        "loss-floor": ("any", "nonnegative"),
        "optimality-gap": ("nonnegative", "nonpositive"),
    }[claim.fields["kind"]]
    classes += ("any",) if claim.fields.get("method") == "decay" else ()
    others = [heads for heads in classes if heads != claim.fields["heads"]]
    claim.fields["heads"] = others[int(rng.integers(len(others)))]
    if claim.fields.get("method") == "decay":
        factor = claim.tensors.pop("C_lower", None)
        factor = claim.tensors.pop("C_upper", factor)
        sides = {
            "nonnegative": ["C_lower"],
            "nonpositive": ["C_upper"],
            "any": ["C_lower", "C_upper"],
        }[claim.fields["heads"]]
        claim.tensors |= {side: factor.copy() for side in sides if factor is not None}


EXTREME_NUMBERS = [
    0.0,
    -0.0,
    5e-324,
    -2.2250738585072014e-308,
    1e-300,
    1e154,
    1.7976931348623157e308,
    -1e200,
]
EXTREME_RATIONALS = [
    Fraction(10**2490),
    Fraction(1, 10**2490),
    -Fraction(10**2490),
    Fraction(1, 3),
    Fraction(0),
]


def extreme(rng: Rng, draft: Draft, _: list[Draft]) -> bool:
    """Scale a tensor by a power of two, or put the largest, the smallest or a zero number
    somewhere.
    """
    if rng.random() < 0.3:
        choices = scalars(draft, _any_claim(rng, draft))
        fields, name = choices[int(rng.integers(len(choices)))]
        fields[name] = EXTREME_RATIONALS[int(rng.integers(len(EXTREME_RATIONALS)))]
        return True
    arrays = _float_tensors(draft, rng)
    array = arrays[int(rng.integers(len(arrays)))]
    if rng.random() < 0.5:
        array[_entry(rng, array)] = EXTREME_NUMBERS[int(rng.integers(len(EXTREME_NUMBERS)))]
    else:
        array[...] = np.ldexp(array, int(rng.integers(-900, 900)))
    return bool(np.all(np.isfinite(array)))


FAMILIES: dict[str, Family] = {
    "sign": sign,
    "swap": swap,
    "label": label,
    "tighten": tighten,
    "foreign witness": foreign_witness,
    "nudge": nudge,
    "weights": weights,
    "low bits": low_bits,
    "indices": indices,
    "activation": activation,
    "mode": mode,
    "extreme": extreme,
}


def loosen(rng: Rng, draft: Draft) -> None:
    """Give away what an adversary would give away so that only the deep checks can find the fault:
    the loss bound, the radius.
    """
    for claim in draft.claims:
        for name in ("loss_upper", "gap", "path", "eps"):
            if name in claim.fields and rng.random() < 0.7:
                claim.fields[name] = Fraction(1000)
        if "R" in claim.fields and rng.random() < 0.3:
            claim.fields["R"] = claim.fields.get("rho", Fraction(1000))


def semantic_mutant(
    rng: Rng, draft: Draft, others: list[Draft], family: str | None = None
) -> tuple[str, Draft]:
    """(family, mutant); half of the mutants are loosened elsewhere, so that the loss bound alone
    does not catch them.
    """
    while True:
        name = family or str(rng.choice(list(FAMILIES)))
        mutant = draft.copy()
        if rng.random() < 0.5:
            loosen(rng, mutant)
        with np.errstate(
            all="ignore"
        ):  # overflow is part of the attack; families refuse what is not finite
            changed = FAMILIES[name](rng, mutant, others)
        if changed:
            return name, mutant
        family = None
