"""The files about the claim trajectory: honest runs, runs with one fault and the number of the
check that must see it, and faults of form.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from tests.checker.cases import build
from tests.checker.trajectory_cases import (
    Descended,
    descended,
    trajectory_claim,
    trajectory_file,
)
from tests.oracles import gmc_builder as gmc

Files = dict[str, bytes]


@cache
def _tanh() -> Descended:
    return descended(steps=12)


def trajectory_accepted() -> Files:
    """Every start, expansion and precision."""
    run = _tanh()
    square = descended(activation="quadratic", steps=8)
    return {
        "trajectory_tanh": trajectory_file(run),
        "trajectory_rows": trajectory_file(run, expansion="rows"),
        "trajectory_softplus_192_bits": trajectory_file(
            descended(activation="softplus", steps=12), bits=192
        ),
        "trajectory_erf": trajectory_file(descended(activation="erf", steps=8)),
        "trajectory_quadratic_rows": trajectory_file(square, expansion="rows"),
        "trajectory_ball_of_starts": trajectory_file(run, Delta=1e-6, delta0=1e-8),
        "trajectory_no_step": trajectory_file(replace(run, W0=run.net.W, K=0, walked=0.0)),
        "trajectory_seed": trajectory_file(descended(1, 1, 2, steps=6, seeded=True, seed=3)),
    }


def _changed(run: Descended, **fields: Any) -> bytes:
    claim, tensors = trajectory_claim(run)
    return build(run.net, [(gmc.written(claim | fields), tensors)])


def _with_start(run: Descended, moved: float) -> Descended:
    W0 = run.W0.copy()
    W0[1, 0] += moved
    return replace(run, W0=W0)


def _far(run: Descended) -> Descended:
    """No step, and labels far from the outputs."""
    net = replace(run.net, y=run.net.y + 10.0)
    return replace(run, net=net, W0=net.W, K=0, walked=100.0)


def _less(quartic: dict[str, str]) -> dict[str, str]:
    return quartic | {"kappa": gmc.rational(Fraction(quartic["kappa"]) * Fraction(9, 10))}


def trajectory_rejected() -> dict[str, tuple[bytes, str]]:
    """(bytes, what the reason must contain)."""
    run = _tanh()
    seeded = descended(1, 1, 2, steps=6, seeded=True, seed=3)
    claim, tensors = trajectory_claim(run)
    small = {name: tensor * (0.1 if name == "C_x" else 1) for name, tensor in tensors.items()}
    return {
        "trajectory_one_step_less": (trajectory_file(replace(run, K=11)), "J4"),
        "trajectory_one_step_more": (trajectory_file(replace(run, K=13)), "J4"),
        "trajectory_another_step": (
            _changed(run, eta=Fraction(run.eta) * Fraction(101, 100)),
            "J4",
        ),
        "trajectory_start_moved": (trajectory_file(_with_start(run, 1e-2)), "J4"),
        "trajectory_next_seed": (trajectory_file(replace(seeded, seed=4)), "J4"),
        "trajectory_norm_of_quadratic": (trajectory_file(descended(activation="quadratic")), "J3h"),
        "trajectory_Delta_zero": (_changed(run, Delta=Fraction(0)), "J3b"),
        "trajectory_eta_zero": (_changed(run, eta=Fraction(0)), "J3a"),
        "trajectory_rate_one": (_changed(run, rate=Fraction(1)), "J3g"),
        "trajectory_loss_zero": (_changed(run, loss_upper=Fraction(0)), "J5"),
        "trajectory_rho_below_Delta": (_changed(run, rho=Fraction(1, 10**12)), "J8"),
        "trajectory_step_too_long_for_b": (_changed(run, b2=Fraction(10**4)), "J9"),
        "trajectory_rate_too_small": (_changed(run, rate=Fraction(1, 10)), "J10"),
        "trajectory_path_too_short": (_changed(run, path=Fraction(1, 100)), "J11"),
        "trajectory_x2_too_small": (_changed(run, x2=Fraction(99, 100)), "x2 I - X^T X"),
        "trajectory_witness_of_x2_scaled": (build(run.net, [(claim, small)]), "J12"),
        "trajectory_not_smooth": (build(run.net, [(claim, tensors)], activation="relu"), "J1"),
        "trajectory_a2_zero": (_changed(run, a2=Fraction(0)), "J2a"),
        "trajectory_rho_negative": (_changed(run, rho=Fraction(-1)), "J2b"),
        "trajectory_kappa_zero": (_changed(run, quartic={"method": "rows", "kappa": "0"}), "J2c"),
        "trajectory_x2_negative": (_changed(run, x2=Fraction(-1)), "J3c"),
        "trajectory_delta0_negative": (_changed(run, delta0=Fraction(-1, 10**30)), "J3d"),
        "trajectory_b2_zero": (_changed(run, b2=Fraction(0)), "J3e"),
        "trajectory_rate_negative": (_changed(run, rate=Fraction(-1)), "J3f"),
        "trajectory_a2_tiny": (_changed(run, a2=Fraction(1, 10**40)), "J6"),
        "trajectory_residual_too_large": (trajectory_file(_far(run), rate=Fraction(1, 2)), "J7"),
        "trajectory_ball_too_small": (trajectory_file(run, rho=1e-12), "J8"),
        "trajectory_kappa_too_small": (_changed(run, quartic=_less(claim["quartic"])), "J14"),
        "trajectory_a2_too_large": (
            _changed(run, a2=Fraction(claim["a2"]) * Fraction(101, 100)),
            "J15",
        ),
        "trajectory_b2_too_small": (
            _changed(run, b2=Fraction(claim["b2"]) * Fraction(9, 10)),
            "J13",
        ),
    }


def trajectory_malformed() -> Files:
    """Faults that no number shows."""
    run = _tanh()
    claim, tensors = trajectory_claim(run)

    def said(**fields: Any) -> bytes:
        return build(run.net, [(claim | fields, tensors)])

    without = {name: tensor for name, tensor in tensors.items() if name != "W0"}
    lacking = {name: value for name, value in claim.items() if name != "delta0"}
    both = replace(run, net=replace(run.net, trained="vW"))
    return {
        "trajectory_too_many_steps": said(K=10**6 + 1),
        "trajectory_negative_steps": said(K=-1),
        "trajectory_odd_bits": said(bits=200),
        "trajectory_steps_as_text": said(K="12"),
        "trajectory_unknown_expansion": said(expansion="columns"),
        "trajectory_seed_and_start": said(seed=3),
        "trajectory_seed_too_large": build(
            run.net, [(lacking | {"seed": 10**18 - 1 + 1}, without)]
        ),
        "trajectory_without_start": build(run.net, [(claim, without)]),
        "trajectory_without_delta0": build(run.net, [(lacking, tensors)]),
        "trajectory_start_of_another_shape": build(
            run.net, [(claim, tensors | {"W0": np.zeros((2, 2))})]
        ),
        "trajectory_both_layers": build(both.net, [trajectory_claim(both)]),
    }
