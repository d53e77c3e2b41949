"""The claims spurious-minimum and global-basin (DU-CERT5, DU-B5): honest files, each check
falsified alone, angles, form.
"""

from dataclasses import replace
from fractions import Fraction
from functools import cache
from math import cos, pi, sin
from typing import Any

import numpy as np
import pytest
from tests.checker import trap_cases
from tests.checker.trap_cases import ABOVE, BELOW, Start, build, claim, near_teacher, near_trap
from tests.oracles import fraction_checker, fraction_filter_claims
from tests.oracles import gmc_builder as gmc
from tests.oracles.fraction_intervals import Interval

from globalmin_check import Result, Verdict
from globalmin_check.engine import check_bytes

KINDS = ["spurious-minimum", "global-basin"]


def checked(start: Start, kind: str = "spurious-minimum", **changes: Any) -> Result:
    return check_bytes(build(start, claim(start, kind, **changes)))


def agreed(blob: bytes) -> str:
    """The verdict, after both checkers and the truth oracle gave the same one."""
    fast, slow = check_bytes(blob), fraction_checker.check_bytes(blob)
    assert fast.verdict.name == slow.verdict, (fast.reason, slow.reason)
    assert fraction_checker.oracle_truth(blob) is {"ACCEPTED": True, "REJECTED": False}.get(
        slow.verdict
    )
    if slow.verdict == "REJECTED":
        assert f"check {slow.reason.split()[-1]} " in fast.reason, (fast.reason, slow.reason)
    return slow.verdict


def start_of(kind: str, k: int = 25, r: float = 4.0, seed: int = 0) -> Start:
    return (near_trap if kind == "spurious-minimum" else near_teacher)(k, r, seed=seed)


@pytest.mark.parametrize("step", [0.5, 0.9999, None])
@pytest.mark.parametrize(("k", "r"), BELOW)
def test_starts_near_the_trap_are_accepted(k: int, r: float, step: float | None) -> None:
    """DU-CERT5: below the threshold descent from near the trap stays there."""
    result = checked(near_trap(k, r), step=step)
    assert result.verdict is Verdict.ACCEPTED, result.reason
    assert "converges to the spurious local minimum" in result.statement
    assert ("gradient descent with the claimed step" in result.statement) == (step is not None)


@pytest.mark.parametrize("step", [0.9999, None])
@pytest.mark.parametrize(("k", "r"), BELOW + ABOVE)
def test_starts_near_the_teacher_are_accepted(k: int, r: float, step: float | None) -> None:
    """DU-B5, side G: also above the threshold."""
    result = checked(near_teacher(k, r), "global-basin", step=step)
    assert result.verdict is Verdict.ACCEPTED, result.reason
    assert "zero loss, the global minimum" in result.statement


def test_reported_numbers_are_those_of_linear_algebra() -> None:
    start = near_trap(25, 4.0)
    numbers = checked(start).claims[0].numbers or {}
    expected = {
        "loss_upper": start.loss(),
        "barrier": start.barrier(),
        "beta": start.beta(),
        "floor": start.trap().loss(),
    }
    assert {key: numbers[key] for key in expected} == pytest.approx(expected, rel=3e-6)


@pytest.mark.parametrize(("k", "r"), [*ABOVE, (1, 1.0)])
def test_no_start_above_the_threshold_is_in_a_trap(k: int, r: float) -> None:
    """DU-B5: (S) occurs only below the threshold; with a . a* < 0 the loss is never below the
    barrier there, nor for k = 1.
    """
    rng = np.random.default_rng(k)
    base = near_trap(max(k, 2), min(r, 2.0) if k == 1 else r)
    if k == 1:
        base = replace(base, true=np.ones(1), a=-0.1 * np.ones(1))
    for scale in (1e-9, 0.01, 1.0):
        head = -scale * base.true + 0.3 * (
            base.best_head(0.0) - base.true * (base.best_head(0.0) @ base.true)
        ) * rng.uniform(0, 4)
        head = head - base.true * max(head @ base.true + scale, 0.0)
        for v in (-base.w, base.v, rng.standard_normal(3)):
            result = checked(replace(base, v=v, a=head))
            assert result.verdict is Verdict.REJECTED
            assert "check T3 " in result.reason, result.reason


FIELD_FAULTS: dict[str, tuple[str, dict[str, Any], str]] = {
    "eta zero": ("both", {"eta": Fraction(0)}, "T5a"),
    "eta negative": ("both", {"eta": Fraction(-1, 10)}, "T5a"),
    "eta beta just above two": ("both", {"step": 1 + 1e-9}, "T5b"),
    "eta enormous": ("both", {"eta": Fraction(10**40)}, "T5b"),
    "loss_upper a little too small": ("both", {"loss_upper": "shrunk"}, "T4"),
    "loss_upper zero": ("both", {"loss_upper": Fraction(0)}, "T4"),
    "floor zero": ("spurious-minimum", {"floor": Fraction(0)}, "T6"),
    "floor negative": ("spurious-minimum", {"floor": Fraction(-1)}, "T6"),
    "floor just above the trap": ("spurious-minimum", {"floor": "raised"}, "T7"),
}


@pytest.mark.parametrize("name", list(FIELD_FAULTS))
@pytest.mark.parametrize("kind", KINDS)
def test_a_field_changed_alone_is_rejected_by_its_check(kind: str, name: str) -> None:
    where, changes, number = FIELD_FAULTS[name]
    if where not in ("both", kind):
        kind = where
    start = start_of(kind)
    special = {
        "shrunk": Fraction(start.loss() * (1 - 1e-9)),
        "raised": Fraction(start.trap().loss() * (1 + 1e-9)),
    }
    result = checked(
        start, kind, **{key: special.get(value, value) for key, value in changes.items()}
    )
    assert result.verdict is Verdict.REJECTED
    assert f"check {number} " in result.reason, result.reason


def changed_starts(kind: str) -> dict[str, tuple[Start, str]]:
    good = start_of(kind)
    across = np.zeros(25)
    across[:2] = -good.true[1], good.true[0]
    exact = replace(
        good, true=np.array([1.0, 0.0] + [0.0] * 23), a=np.array([0.0, 1.0] + [0.0] * 23)
    )
    return {
        "v zero": (replace(good, v=np.zeros(3)), "T1a"),
        "w* zero": (replace(good, w=np.zeros(3)), "T1b"),
        "a* zero, so b = 0": (replace(good, true=np.zeros(25)), "T1c"),
        "b of the wrong sign": (replace(good, a=-good.a), "T2"),
        "a zero": (replace(good, a=np.zeros(25)), "T2"),
        "a across a*": (exact, "T2"),
        "loss far above the barrier": (replace(good, a=100 * good.a), "T3"),
    }


@pytest.mark.parametrize("name", list(changed_starts("global-basin")))
@pytest.mark.parametrize("kind", KINDS)
def test_numbers_changed_alone_are_rejected_by_their_check(kind: str, name: str) -> None:
    start, number = changed_starts(kind)[name]
    fields = claim(start_of(kind), kind, loss_upper=Fraction(10**6), step=None)
    result = check_bytes(build(start, fields))
    assert result.verdict is Verdict.REJECTED
    assert f"check {number} " in result.reason, result.reason


@pytest.mark.parametrize("kind", KINDS)
def test_the_barrier_divides_accepted_from_rejected(kind: str) -> None:
    """Bisection of the scale of a to the barrier: a relative 1e-9 below is accepted, 1e-9 above
    rejected.
    """
    start = start_of(kind)
    low, high = 1.0, 10.0
    for _ in range(60):
        middle = (low + high) / 2
        inside = replace(start, a=middle * start.a).loss() < start.barrier()
        low, high = (middle, high) if inside else (low, middle)
    assert checked(replace(start, a=low * (1 - 1e-9) * start.a), kind).verdict is Verdict.ACCEPTED
    outside = checked(replace(start, a=low * (1 + 1e-9) * start.a), kind)
    assert outside.verdict is Verdict.REJECTED
    assert "check T3 " in outside.reason


def test_a_loss_equal_to_the_barrier_is_not_accepted() -> None:
    """With s = 0, phi = 0, a = 2 W a* the loss is the barrier itself: no precision decides, and
    nobody may accept.
    """
    start = Start(
        np.array([1.0, 0.0]), np.array([2.0, -2.0]), np.array([1.0, 0.0]), np.array([1.0, -1.0])
    )
    assert start.loss() == pytest.approx(start.barrier(), rel=1e-15)
    assert agreed(build(start, claim(start, "global-basin"))) == "UNDECIDED"


@pytest.mark.parametrize("scale", [1.0, 3.0, 2.0**-10])
def test_exact_angles_are_exact(scale: float) -> None:
    """Parallel and opposite filters: the determinant is zero, the angle 0 or pi itself, and the
    minima prove themselves.
    """
    w = np.array([1.0, 2.0, 4.0])
    opposite = replace(near_trap(25, 1.0), v=-scale * w, w=w)
    opposite = replace(opposite, a=opposite.best_head(0.0))
    assert agreed(build(opposite, claim(opposite))) == "ACCEPTED"
    parallel = replace(near_teacher(25, 4.0), v=scale * w, w=w)
    parallel = replace(parallel, a=parallel.W * parallel.true)
    assert (
        agreed(build(parallel, claim(parallel, "global-basin", loss_upper=Fraction(1, 10**30))))
        == "ACCEPTED"
    )


@pytest.mark.parametrize("true", [np.array([1.0, 2.0]), np.array([1.0, -0.25, 0.5])])
def test_an_opposite_filter_is_not_in_the_global_basin(true: np.ndarray) -> None:
    """T8: above the threshold the point with b > 0, phi = pi lies below the barrier, and descent
    cannot leave phi = pi.
    """
    w = np.array([1.0, 2.0, 2.0])
    start = Start(-0.5 * w, np.zeros(len(true)), w, true)
    start = replace(
        start, a=start.best_head(0.0) if start.best_head(0.0) @ true > 0 else 0.01 * true
    )
    result = checked(start, "global-basin")
    assert result.verdict is Verdict.REJECTED
    assert "check T8 " in result.reason
    if start.loss() < start.barrier():
        turned = replace(start, v=start.v + np.array([2.0**-40, 0.0, 0.0]))
        assert checked(turned, "global-basin").verdict is Verdict.ACCEPTED


def counterexample() -> Start:
    v = 0.001 * np.array([cos(2.81), sin(2.81)])
    return Start(v, np.array([-0.18, 0.37]), np.array([1.0, 0.0]), np.array([1.0, 0.0]))


def test_the_counterexample_to_the_older_test_is_refused_for_descent_not_for_the_flow() -> None:
    """DU-B5 with the norm of v0: the old step bound 2/beta(1) = 1.4686 allows 1.39, and descent
    then leaves the trap.
    """
    start = counterexample()
    assert 2 / replace(start, v=1000 * start.v).beta() > 1.39
    with_step = checked(start, eta=Fraction("1.39"))
    assert with_step.verdict is Verdict.REJECTED
    assert "check T5b " in with_step.reason
    assert checked(start, step=None).verdict is Verdict.ACCEPTED
    for _ in range(1000):
        start = start.descend(1.39)
    assert start.b > 0
    assert start.phi < 1e-3


@pytest.mark.parametrize("kind", KINDS)
def test_descent_obeys_accepted_claims(kind: str) -> None:
    """Three hundred steps at nearly 2/beta, also with a short v: b keeps its sign, the loss falls,
    never below its limit.
    """
    for seed, shrink in ((0, 1.0), (1, 0.05)):
        start = start_of(kind, 5, 1.0, seed)
        start = replace(start, v=shrink * start.v)
        assert checked(start, kind, step=0.999).verdict is Verdict.ACCEPTED
        eta, side, floor = (
            0.999 * 2 / start.beta(),
            np.sign(start.b),
            start.trap().loss() if kind == KINDS[0] else 0.0,
        )
        for _ in range(300):
            after = start.descend(eta)
            assert np.sign(after.b) == side
            assert floor - 1e-14 <= after.loss() <= start.loss() + 1e-14
            assert side < 0 or after.phi <= start.phi + 1e-14
            start = after


@cache
def mutated_forms() -> dict[str, bytes]:
    """Files with one fault of form each."""
    start = near_trap(2, 0.2)
    good, stored = claim(start), trap_cases.tensors(start)
    whole = trap_cases.certificate(good)
    basin = claim(start, "global-basin")
    forms = {
        f"claim lacks {key}": (
            trap_cases.certificate({k: v for k, v in good.items() if k != key}),
            stored,
        )
        for key in good
        if key != "eta"
    }
    forms |= {
        f"certificate lacks {key}": ({k: v for k, v in whole.items() if k != key}, stored)
        for key in whole
    }
    forms |= {
        f"no tensor {name}": (whole, {k: v for k, v in stored.items() if k != name})
        for name in stored
    }
    for name, value in stored.items():
        forms[f"{name} too long"] = (whole, stored | {name: np.append(value, 0.0)})
        forms[f"{name} a matrix"] = (whole, stored | {name: value[:, None]})
        forms[f"{name} of integers"] = (whole, stored | {name: np.ones(len(value), np.int64)})
        forms[f"{name} with NaN"] = (whole, stored | {name: np.full(len(value), np.nan)})
    for key in ("eta", "floor", "loss_upper"):
        for word, bad in (
            ("null", None),
            ("a number", 1),
            ("a decimal", "0.1"),
            ("not in lowest terms", "2/4"),
            ("true", True),
        ):
            forms[f"{key} is {word}"] = (trap_cases.certificate(good | {key: bad}), stored)
    floors = gmc.claim(
        "loss-floor", heads="any", floor=Fraction(0), gap=Fraction(1), loss_upper=Fraction(1)
    )
    forms |= {
        "extra tensor": (whole, stored | {"W": np.ones(2)}),
        "extra tensor of the claim": (whole, stored | {"claims.0.z": np.ones(2)}),
        "extra field": (trap_cases.certificate(good | {"gap": "1"}), stored),
        "floor in global-basin": (trap_cases.certificate(basin | {"floor": "1/100"}), stored),
        "theorem of the other claim": (
            trap_cases.certificate(good | {"theorem": "filter-basin/1"}),
            stored,
        ),
        "version 2": (trap_cases.certificate(good | {"version": 2}), stored),
        "version true": (trap_cases.certificate(good | {"version": True}), stored),
        "kind unknown": (trap_cases.certificate(good | {"kind": "trap"}), stored),
        "claim is a list": (trap_cases.certificate([]), stored),  # type: ignore[arg-type]
        "no claim": (whole | {"claims": []}, stored),
        "too many claims": (whole | {"claims": [good] * 65}, stored),
        "loss of the other networks": (whole | {"loss": "half-sum-of-squares"}, stored),
        "another law": (whole | {"data": {"law": "uniform-patches"}}, stored),
        "law null": (whole | {"data": {"law": None}}, stored),
        "data null": (whole | {"data": None}, stored),
        "data of the other networks": (
            whole | {"data": {"bias": False, "d": 3, "n": 1, "sha256": "0" * 64, "stored": True}},
            stored,
        ),
        "more than the law": (whole | {"data": {"law": "gaussian-patches", "n": 1}}, stored),
        "an activation": (whole | {"network": {"kind": "filter", "activation": "relu"}}, stored),
        "producer too long": (whole | {"producer": "x" * 101}, stored),
        "extra field of the certificate": (whole | {"note": "x"}, stored),
        "claim about a shallow network": (trap_cases.certificate(floors), stored),
    }
    return {name: gmc.pack(certificate, arrays) for name, (certificate, arrays) in forms.items()}


@pytest.mark.parametrize("name", list(mutated_forms()))
def test_faults_of_form_are_malformed_for_both_checkers(name: str) -> None:
    assert agreed(mutated_forms()[name]) == "MALFORMED"


@pytest.mark.parametrize("kind", KINDS)
def test_filter_claims_in_a_shallow_file_are_malformed(kind: str) -> None:
    one = np.ones((1, 1))
    blob = gmc.build(
        one, np.ones(1), one, np.ones(1), [(claim(start_of(kind), kind), {})], activation="relu"
    )
    assert check_bytes(blob).verdict is Verdict.MALFORMED


def test_a_broken_seal_and_a_wrong_format_are_malformed() -> None:
    start = near_trap(2, 0.2)
    blob = bytearray(build(start, claim(start)))
    blob[-1] ^= 1
    assert agreed(bytes(blob)) == "MALFORMED"


def test_both_claims_in_one_file_need_both_sides() -> None:
    start = near_trap(25, 4.0)
    result = check_bytes(
        build(start, claim(start), claim(start, step=None), claim(start, "global-basin"))
    )
    assert [item.verdict.name for item in result.claims] == ["ACCEPTED", "ACCEPTED", "REJECTED"]
    assert result.verdict is Verdict.REJECTED


def random_file(seed: int) -> bytes:
    """A start anywhere, a claim honest or not: about half of the files are accepted."""
    rng = np.random.default_rng(seed)
    k, p, kind = int(rng.integers(1, 7)), int(rng.integers(1, 5)), KINDS[seed % 2]
    w, true, v = rng.standard_normal(p), rng.standard_normal(k), rng.standard_normal(p)
    start = Start(v, np.zeros(k), w, true)
    sign = -1.0 if kind == "spurious-minimum" else 1.0
    start = replace(start, v=(sign * w + 0.2 * rng.uniform() * v) * 10 ** rng.uniform(-3, 3))
    noise = 10 ** rng.uniform(-8, 0.3) * rng.standard_normal(k)
    start = replace(start, a=(start.best_head(0.0) if sign < 0 else start.W * true) + noise)
    changes: list[dict[str, Any]] = [
        {},
        {},
        {"step": None},
        {"step": float(rng.uniform(0.9, 1.1))},
        {"loss_upper": Fraction(start.loss() * (1 + rng.choice([-1, 1]) * 1e-12))},
        {"loss_upper": Fraction(start.loss() / 2)},
        {"eta": Fraction(int(rng.integers(-1, 2)))},
        {"floor": Fraction(start.trap().loss() * (1 + rng.choice([-1, 1]) * 1e-12))}
        if sign < 0
        else {"step": 1.5},
    ]
    return build(start, claim(start, kind, **changes[int(rng.integers(len(changes)))]))


def test_both_checkers_agree_on_random_and_mutated_files() -> None:
    verdicts = [agreed(random_file(seed)) for seed in range(80)]
    assert min(verdicts.count("ACCEPTED"), verdicts.count("REJECTED")) >= 20
    assert "UNDECIDED" not in verdicts


def test_the_arc_tangent_of_the_oracle_encloses_known_values() -> None:
    """Artan 0, artan 1 = pi/4 and the addition theorem artan(1/2) + artan(1/3) = pi/4, at two
    precisions.
    """
    for bits in (192, 512):
        quarter = fraction_filter_claims.pi(bits) * Interval.of(Fraction(1, 4), bits)
        half, third, one = (
            fraction_filter_claims.artan(Interval.of(x, bits))
            for x in (Fraction(1, 2), Fraction(1, 3), 1)
        )
        for value in (one, half + third):
            gap = value - quarter
            assert gap.low <= 0 <= gap.high
            assert gap.upper - gap.lower < Fraction(1, 2 ** (bits - 20))
        assert fraction_filter_claims.artan(Interval.of(0, bits)).upper == 0
    assert pi == pytest.approx(float(quarter.upper) * 4)
