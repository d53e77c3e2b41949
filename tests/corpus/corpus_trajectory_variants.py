"""The files about trajectories of both layers, into a loss and of single samples: honest runs, runs
with one fault and the number of the check that must see it, and faults of form.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from tests.checker.cases import Smooth, build
from tests.checker.trajectory_cases import (
    Descended,
    descended,
    trajectory_claim,
    trajectory_file,
)
from tests.checker.trajectory_variants import (
    Sampled,
    loss_claim,
    loss_file,
    sampled,
    sgd_claim,
    sgd_file,
)
from tests.oracles import gmc_builder as gmc

Files = dict[str, bytes]
Faults = dict[str, tuple[bytes, str]]


@cache
def _both() -> Descended:
    return descended(steps=12, trained="vW", share=0.9)


@cache
def _loss() -> Descended:
    return descended(steps=6)


@cache
def _sampled() -> Sampled:
    return sampled(epochs=8, noise=1e-4, tilt=0.5)


def variants_accepted() -> Files:
    """Every expansion, landing and start."""
    run = _loss()
    return {
        "trajectory_both_layers_rows": trajectory_file(_both()),
        "trajectory_both_layers_blocks": trajectory_file(_both(), expansion="blocks"),
        "trajectory_loss_global": loss_file(run),
        "trajectory_loss_local": loss_file(run, constants="local"),
        "trajectory_loss_quadratic": loss_file(
            descended(activation="quadratic", steps=4), constants="local", expansion="rows"
        ),
        "trajectory_loss_far_from_its_start": loss_file(_ten_to_minus_thirty(), Delta=41.0),
        "sgd_trajectory_tanh": sgd_file(_sampled()),
        "sgd_trajectory_longer_blocks": sgd_file(_sampled(), block=3),
        "sgd_trajectory_ball_of_starts": sgd_file(_sampled(), Delta=1e-8, delta0=1e-11),
        "sgd_trajectory_softplus_192_bits": sgd_file(
            sampled(activation="softplus", epochs=3, noise=1e-5), bits=192
        ),
        "sgd_trajectory_no_step": sgd_file(sampled(epochs=0, noise=1e-7)),
        "sgd_trajectory_seed": sgd_file(
            sampled(1, 1, 2, epochs=4, noise=1e-4, seeded=True, seed=3)
        ),
    }


def _ten_to_minus_thirty() -> Descended:
    """softplus, W0 = 10, V = -30, no step: local constants at V say nothing of W0."""
    one = np.ones((1, 1))
    net = Smooth(one, np.zeros(1), -30 * one, np.ones(1), "softplus")
    return Descended(net, 10 * one, 0.5, 0, 0.0)


def _changed(make: Any, run: Any, options: dict[str, Any] | None = None, **fields: Any) -> bytes:
    claim, tensors = make(run, **(options or {}))
    return build(run.net, [(gmc.written(claim | fields), tensors)])


def _less(quartic: dict[str, str]) -> dict[str, str]:
    return quartic | {"kappa": gmc.rational(Fraction(quartic["kappa"]) * Fraction(9, 10))}


def _scaled(make: Any, run: Any, role: str, options: dict[str, Any] | None = None) -> bytes:
    claim, tensors = make(run, **(options or {}))
    return build(run.net, [(claim, tensors | {role: tensors[role] * 0.1})])


def _both_rejected() -> Faults:
    run, rows = _both(), trajectory_claim(_both())[0]
    square = descended(activation="quadratic", trained="vW", steps=2)
    W0 = run.W0.copy()
    W0[0, 0] += 1e-2
    return {
        "trajectory_both_layers_head_of_the_end": (
            trajectory_file(replace(run, v0=run.net.v)),
            "J4",
        ),
        "trajectory_both_layers_start_moved": (trajectory_file(replace(run, W0=W0)), "J4"),
        "trajectory_both_layers_one_step_less": (trajectory_file(replace(run, K=11)), "J4"),
        "trajectory_both_layers_another_step": (
            _changed(trajectory_claim, run, eta=Fraction(run.eta) * Fraction(101, 100)),
            "J4",
        ),
        "trajectory_both_layers_of_quadratic": (trajectory_file(square), "J3h"),
        "trajectory_both_layers_beta2_negative": (
            _changed(trajectory_claim, run, beta2=Fraction(-1)),
            "J2d",
        ),
        "trajectory_both_layers_beta2_too_small": (
            _changed(trajectory_claim, run, beta2=Fraction(rows["beta2"]) * Fraction(9, 10)),
            "J14",
        ),
        "trajectory_both_layers_ball_below_path_and_Delta": (
            trajectory_file(run, rho=1e-12),
            "J8",
        ),
    }


def _loss_rejected() -> Faults:
    run, local = _loss(), {"constants": "local"}
    claim = loss_claim(run, **local)[0]
    square = descended(activation="quadratic", steps=4)
    far = loss_claim(_ten_to_minus_thirty(), constants="local", Delta=41.0, rho=0.0)
    return {
        "trajectory_loss_one_step_more": (loss_file(replace(run, K=7)), "J4"),
        "trajectory_loss_bound_too_small": (loss_file(run, room=0.999), "J16"),
        "trajectory_loss_local_bound_too_small": (loss_file(run, room=0.999, **local), "J16"),
        "trajectory_loss_of_the_stored_weights": (
            _changed(loss_claim, run, loss_upper=Fraction(0)),
            "J5",
        ),
        "trajectory_loss_rho_below_Delta": (
            _changed(loss_claim, run, local, rho=Fraction(1, 10**10)),
            "J17",
        ),
        "trajectory_loss_local_far_from_its_start": (
            build(_ten_to_minus_thirty().net, [far]),
            "J17",
        ),
        "trajectory_loss_global_of_quadratic": (loss_file(square, expansion="rows"), "J3i"),
        "trajectory_loss_norm_of_quadratic": (loss_file(square, **local), "J3h"),
        "trajectory_loss_not_smooth": (
            build(run.net, [loss_claim(run)], activation="relu"),
            "J1",
        ),
        "trajectory_loss_kappa_too_small": (
            _changed(loss_claim, run, local, quartic=_less(claim["quartic"])),
            "J14",
        ),
        "trajectory_loss_b2_too_small": (
            _changed(loss_claim, run, local, b2=Fraction(claim["b2"]) * Fraction(9, 10)),
            "J13",
        ),
        "trajectory_loss_witness_of_x2_scaled": (_scaled(loss_claim, run, "C_x"), "J12"),
    }


def _exchanged(run: Sampled) -> Sampled:
    order = run.order.copy()
    i = int(np.flatnonzero(np.diff(order))[0])
    order[[i, i + 1]] = order[[i + 1, i]]
    return replace(run, order=order)


def _sgd_rejected() -> Faults:
    run = _sampled()
    claim, seeded = sgd_claim(run)[0], sampled(1, 1, 2, epochs=4, noise=1e-4, seeded=True, seed=3)
    W0 = run.W0.copy()
    W0[1, 0] += 1e-2
    m2 = Fraction(float(run.net.v @ run.net.v)) * Fraction(1001, 1000)  # rows of length 1
    still = sampled(epochs=0, noise=1e-7)

    def said(**fields: Any) -> bytes:
        return _changed(sgd_claim, run, **fields)

    return {
        "sgd_trajectory_two_samples_exchanged": (sgd_file(_exchanged(run)), "Q4"),
        "sgd_trajectory_one_step_less": (sgd_file(replace(run, order=run.order[:-1])), "Q4"),
        "sgd_trajectory_another_step": (said(eta=Fraction(run.eta) * Fraction(101, 100)), "Q4"),
        "sgd_trajectory_start_moved": (sgd_file(replace(run, W0=W0)), "Q4"),
        "sgd_trajectory_next_seed": (sgd_file(replace(seeded, seed=4)), "Q4"),
        "sgd_trajectory_not_smooth": (build(run.net, [sgd_claim(run)], activation="relu"), "Q1"),
        "sgd_trajectory_of_quadratic": (
            build(run.net, [sgd_claim(run)], activation="quadratic"),
            "Q3e",
        ),
        "sgd_trajectory_a2_zero": (said(a2=Fraction(0)), "Q2a"),
        "sgd_trajectory_rho_negative": (said(rho=Fraction(-1)), "Q2b"),
        "sgd_trajectory_kappa_zero": (said(quartic={"method": "rows", "kappa": "0"}), "Q2c"),
        "sgd_trajectory_eta_zero": (said(eta=Fraction(0)), "Q3a"),
        "sgd_trajectory_Delta_zero": (said(Delta=Fraction(0)), "Q3b"),
        "sgd_trajectory_x2_negative": (said(x2=Fraction(-1)), "Q3c"),
        "sgd_trajectory_delta0_negative": (said(delta0=Fraction(-1, 10**30)), "Q3d"),
        "sgd_trajectory_loss_zero": (said(loss_upper=Fraction(0)), "Q5"),
        "sgd_trajectory_ball_beyond_curvature": (sgd_file(run, rho=3.0), "Q6"),
        "sgd_trajectory_step_too_long": (
            _changed(sgd_claim, still, eta=2 / m2 * Fraction(1002, 1000), path=Fraction(10**6)),
            "Q7",
        ),
        "sgd_trajectory_residual_too_large": (
            sgd_file(sampled(epochs=0, noise=30.0), path=Fraction(10**6)),
            "Q8",
        ),
        "sgd_trajectory_ball_below_path_and_Delta": (
            sgd_file(sampled(epochs=0, noise=3e-3), path=Fraction(10**6)),
            "Q9",
        ),
        "sgd_trajectory_path_too_short": (said(path=Fraction(1, 10**6)), "Q10"),
        "sgd_trajectory_x2_too_small": (said(x2=Fraction(99, 100)), "Q11"),
        "sgd_trajectory_kappa_too_small": (said(quartic=_less(claim["quartic"])), "Q12"),
        "sgd_trajectory_a2_too_large": (
            said(a2=Fraction(claim["a2"]) * Fraction(101, 100)),
            "Q13",
        ),
    }


def variants_rejected() -> Faults:
    """(bytes, what the reason must contain)."""
    return _both_rejected() | _loss_rejected() | _sgd_rejected()


def variants_malformed() -> Files:
    """Faults that no number shows."""
    run, both, loss = _sampled(), _both(), _loss()
    claim, tensors = sgd_claim(run)
    joint, roles = trajectory_claim(both)
    small, few = loss_claim(loss)

    def ordered(*order: float) -> bytes:
        return build(run.net, [(claim, tensors | {"order": np.array(order)})])

    without = {name: tensor for name, tensor in roles.items() if name != "v0"}
    no_order = {name: tensor for name, tensor in tensors.items() if name != "order"}
    return {
        "sgd_trajectory_order_beyond_the_samples": ordered(0, 2),
        "sgd_trajectory_order_negative": ordered(0, -1),
        "sgd_trajectory_order_of_doubles": ordered(0.0, 1.0),
        "sgd_trajectory_without_order": build(run.net, [(claim, no_order)]),
        "sgd_trajectory_steps_beside_the_order": build(run.net, [(claim | {"K": 16}, tensors)]),
        "sgd_trajectory_block_too_short": build(run.net, [(claim | {"block": 1}, tensors)]),
        "sgd_trajectory_both_layers": build(
            run.net,
            [(claim | {"trained": "vW", "beta2": "1"}, tensors | {"C_beta": np.eye(2)})],
        ),
        "trajectory_both_layers_without_head": build(both.net, [(joint, without)]),
        "trajectory_both_layers_by_norm": build(both.net, [(joint | {"expansion": "norm"}, roles)]),
        "trajectory_blocks_of_one_layer": trajectory_file(loss, expansion="blocks"),
        "trajectory_landing_spelled_out": build(loss.net, [(small | {"landing": "descent"}, few)]),
        "trajectory_loss_of_both_layers": build(loss.net, [(small | {"trained": "vW"}, few)]),
        "trajectory_loss_with_a_rate": build(loss.net, [(small | {"rate": "1/2"}, few)]),
        "trajectory_loss_local_without_constants": build(
            loss.net, [(small | {"constants": "local"}, few)]
        ),
    }
