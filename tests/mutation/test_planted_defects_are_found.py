"""The campaign itself under test: with a defect planted in the fast checker it must find a problem,
without one it must not.

Only functions that any version of the checker has are replaced, wherever they were imported.
"""

import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from flint import arb, ctx
from tests.mutation.soundness_campaign import SEED, attacks, judged

from globalmin_check import balls, positive
from globalmin_check.claims import relu_cell, smooth

Patch = Callable[[pytest.MonkeyPatch], None]
FILES = 60


def replaced(patch: pytest.MonkeyPatch, original: Any, new: Any) -> None:
    """Put `new` in the place of a function in every module of the checker that has it."""
    for name, module in list(sys.modules.items()):
        if name.split(".")[0] == "globalmin_check":
            for attribute, value in list(vars(module).items()):
                if value is original:
                    patch.setattr(module, attribute, new)


def _decided_by(rule: Callable[[Any, str, Any], bool | None]) -> Patch:
    return lambda patch: replaced(patch, balls.decide, rule)


DECIDE = balls.decide


def _open_is_true(left: Any, relation: str, right: Any) -> bool | None:
    outcome = DECIDE(left, relation, right)
    return True if outcome is None else outcome


def _skipped_at_more_bits(left: Any, relation: str, right: Any) -> bool | None:
    return True if ctx.prec > 128 else DECIDE(left, relation, right)


def _midpoints_only(left: Any, relation: str, right: Any) -> bool | None:
    a, b = (x.mid() if isinstance(x, arb) and x.is_finite() else x for x in (left, right))
    return DECIDE(a, relation, b)


def _step_twice_as_long(left: Any, relation: str, right: Any) -> bool | None:
    return DECIDE(
        left, relation, 2 if relation == "<=" and isinstance(right, int) and right == 1 else right
    )


def _rounded_to_doubles(left: Any, relation: str, right: Any) -> bool | None:
    a, b = (
        Fraction(float(x)) if isinstance(x, Fraction) and abs(x) < 10**300 else x
        for x in (left, right)
    )
    return DECIDE(a, relation, b)


def _residual_a_little_above_one(patch: pytest.MonkeyPatch) -> None:
    norm = positive.residual_norm
    replaced(patch, norm, lambda A, C, bits: norm(A, C, bits) - arb(2) ** -100)


def _residual_halved(patch: pytest.MonkeyPatch) -> None:
    norm = positive.residual_norm
    replaced(patch, norm, lambda A, C, bits: norm(A, C, bits) / 2)


def _kappa_without_its_root(patch: pytest.MonkeyPatch) -> None:
    replaced(patch, smooth.lipschitz, lambda claim: balls.ball(claim.kappa))


def _kink_is_active(patch: pytest.MonkeyPatch) -> None:
    build = relu_cell.Cell.__init__

    def built(cell: Any, *arguments: Any, **options: Any) -> None:
        build(cell, *arguments, **options)
        rows = zip(cell.pattern, cell.Z, strict=True)
        cell.pattern = [
            [1 if on or Z[cell.neurons[p]].contains(0) else 0 for p, on in enumerate(row)]
            for row, Z in rows
        ]

    patch.setattr(relu_cell.Cell, "__init__", built)


def _smallest_instead_of_largest(patch: pytest.MonkeyPatch) -> None:
    def smallest(values: Any) -> arb:
        first, *rest = values
        for value in rest:
            first = first.min(value)
        return first

    replaced(patch, balls.largest, smallest)


DEFECTS: dict[str, tuple[Patch, str]] = {
    "P1 accepts a residual of 1 + 2^-100": (_residual_a_little_above_one, "ambiguous"),
    "P1 accepts a residual of 2": (_residual_halved, "identifies"),
    "a pre-activation of zero counts as active": (_kink_is_active, "relu-interpolation"),
    "an open comparison counts as true": (_decided_by(_open_is_true), "strict-saddle"),
    "no comparison is made beyond 128 bits": (_decided_by(_skipped_at_more_bits), "below-barrier"),
    "the radius of a ball is ignored": (_decided_by(_midpoints_only), "factorization-gap"),
    "rationals are rounded to doubles": (_decided_by(_rounded_to_doubles), "spurious-minimum"),
    "a step is compared with 2 instead of 1": (_decided_by(_step_twice_as_long), "descent"),
    "the Lipschitz constant is kappa, not its root": (_kappa_without_its_root, "interpolation"),
    "the smallest instead of the largest": (_smallest_instead_of_largest, "deep-descent"),
}


@pytest.mark.parametrize("name", DEFECTS)
def test_the_campaign_finds_a_planted_defect(name: str, monkeypatch: pytest.MonkeyPatch):
    plant, kind = DEFECTS[name]
    files = list(attacks(kind, FILES, SEED))  # drawn while the checker is sound
    assert not judged(kind, files, SEED).problems
    with monkeypatch.context() as patch:
        plant(patch)
        tally = judged(kind, files, SEED)
    unsound = [
        problem
        for problem in tally.problems
        if "ACCEPTED although" in problem or ": ACCEPTED (" in problem
    ]
    print(
        f"{name}: {len(tally.problems)} problems in {FILES} files of {kind}, {len(unsound)} of "
        "them acceptances"
    )
    assert unsound
