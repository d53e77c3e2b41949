"""The files about runs of ReLU and deep networks from their start: honest runs, runs with one fault
and the number of the check that must see it, runs that no pass decides, and faults of form.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from tests.checker.deep_trajectory_cases import DeepWalk, deep_trajectory_file, deep_walk
from tests.checker.relu_descent_cases import ReluFit
from tests.checker.relu_trajectory_cases import (
    Walked,
    build_relu,
    relu_trajectory_claim,
    relu_trajectory_file,
    walked,
)
from tests.corpus.corpus_families_rejected import sooner
from tests.corpus.edits import add, zero
from tests.corpus.whole_files import (
    Edit,
    array,
    hidden,
    network,
    new_tensor,
    opened,
    put,
    several,
    shape_of,
    times,
    without,
    word,
)

Files = dict[str, bytes]
Table = dict[str, tuple[str, Edit, str]]
MORE, LESS = 1.01, 0.99
TINY = Fraction(1, 2**60)


def golden(w: float = 1.0, y: float = 0.25, steps: int = 3, **options: Any) -> bytes:
    """One neuron, x = v = 1, eta = 1/2: every weight of the run is a double."""
    fit = ReluFit(np.ones((1, 1)), np.array([y]), np.array([[w]]), np.ones(1))
    run = Walked(fit, fit.W, 0.5, 0, 0.0).followed(steps)
    return relu_trajectory_file(run, **({"Delta": float(TINY), "steps": 8} | options))


def _no_step(run: Walked) -> Walked:
    return replace(run, W0=run.fit.W, K=0, walked=0.0)


def _no_deep_step(run: DeepWalk) -> DeepWalk:
    return replace(run, start=run.net, K=0, walked=0.0)


def relu_accepted() -> Files:
    """relu-trajectory: every landing, start and activation."""
    run, loose = walked(steps=12), walked(3, 3, 12, steps=6, seed=8)
    lost = walked(2, 2, 3, steps=5, off=3.0)
    zero_pairs = replace(run.fit, v=run.fit.v * np.array([0.0, 1, 1, 1, 1, 1]))
    silent = replace(run, fit=replace(zero_pairs, W=run.W0), K=0, walked=0.0).followed(6)
    return {
        "relu_trajectory": relu_trajectory_file(run),
        "relu_trajectory_rows": relu_trajectory_file(run, norm="rows"),
        "relu_trajectory_unstable_pairs": relu_trajectory_file(loose),
        "relu_trajectory_no_step": relu_trajectory_file(_no_step(run)),
        "relu_trajectory_ball_of_starts": relu_trajectory_file(run, Delta=1e-6, delta0=1e-7),
        "relu_trajectory_192_bits": relu_trajectory_file(run, bits=192),
        "relu_trajectory_silent_neuron": relu_trajectory_file(silent, landing="loss"),
        "relu_trajectory_seed": relu_trajectory_file(
            walked(1, 1, 2, steps=4, seeded=True, seed=3, off=0.1)
        ),
        "relu_trajectory_golden": golden(),
        "relu_trajectory_loss": relu_trajectory_file(lost, landing="loss"),
        "relu_trajectory_loss_of_a_dead_neuron": golden(0.5, -0.25, 6, landing="loss"),
        "relu_trajectory_loss_abs": relu_trajectory_file(
            walked(steps=5, activation="abs"), landing="loss"
        ),
        "relu_trajectory_loss_leaky": relu_trajectory_file(
            walked(steps=5, activation="leaky_relu"), landing="loss"
        ),
    }


@cache
def _small() -> DeepWalk:
    return deep_walk(2, n=1, m=2, steps=3)


def deep_accepted() -> Files:
    """deep-trajectory: every architecture and start."""
    run = _small()
    return {
        "deep_trajectory": deep_trajectory_file(run),
        "deep_trajectory_two_rows": deep_trajectory_file(deep_walk(1, steps=2), norm="rows"),
        "deep_trajectory_resnet": deep_trajectory_file(deep_walk(2, n=1, m=2, kind="res", steps=2)),
        "deep_trajectory_convolution": deep_trajectory_file(
            deep_walk(2, n=1, m=2, kind="conv", steps=1)
        ),
        "deep_trajectory_softplus_256_bits": deep_trajectory_file(
            deep_walk(1, n=1, m=2, activation="softplus", steps=2), bits=256
        ),
        "deep_trajectory_no_step": deep_trajectory_file(_no_deep_step(run)),
        "deep_trajectory_ball_of_starts": deep_trajectory_file(run, Delta=1e-6, delta0=1e-8),
        "deep_trajectory_seed": deep_trajectory_file(
            deep_walk(1, n=1, m=1, steps=1, seed=5, seeded=True)
        ),
    }


def _one_bit(W: Any) -> Any:
    return np.nextafter(W, 2.0)


def _too_wide(file: Any) -> None:
    """A Delta that eats a margin, with a tau that allows it."""
    put(Delta=Fraction(1, 2), tau=100, path=1000)(file)


def _too_long(file: Any) -> None:
    """A step just too long, with a tau for its longer path."""
    sides = Fraction(file.claim["lam"]) + Fraction(file.claim["Lam"])
    several(put(eta=Fraction(201, 100) / sides), times("tau", 2), times("path", 4))(file)


def _too_far(file: Any) -> None:
    """The first radius t with Lam t above a; a short step and a slow rate hide it from the rest."""
    net, t = _small().net, float(Fraction(file.claim["t"]))
    omega, a = file.tensors["claims.0.omega"].tolist(), float(Fraction(file.claim["a2"])) ** 0.5
    while net.lipschitz(omega, t) * t < 1.1 * a:
        t *= 1.05
    put(t=t, eta=Fraction(1, 10**9), rate=1 - Fraction(1, 10**15), path=100)(file)


RELU: Table = {
    "activation_abs": ("relu_trajectory", hidden(network(activation="abs")), "RT1"),
    "loss_of_tanh": ("relu_trajectory_loss", hidden(network(activation="tanh")), "RT1"),
    "tau_zero": ("relu_trajectory_golden", put(tau=0), "RT2a"),
    "lam_zero": ("relu_trajectory_golden", put(lam=0), "RT2b"),
    "Lam_zero": ("relu_trajectory_golden", put(Lam=0), "RT2c"),
    "eta_zero": ("relu_trajectory_golden", put(eta=0), "RT2d"),
    "path_negative": ("relu_trajectory_golden", times("path", -1), "RT2e"),
    "eps_negative": ("relu_trajectory_golden", put(eps=Fraction(-1, 10**9)), "RT2f"),
    "rate_negative": ("relu_trajectory_golden", put(rate=-1), "RT2g"),
    "rate_one": ("relu_trajectory_golden", put(rate=1), "RT2h"),
    "weight_zero": ("relu_trajectory_golden", array("e", zero), "RT2i"),
    "eps_is_lam": ("relu_trajectory_golden", put(eps=2, lam=2), "RT3"),
    "eta_too_large": ("relu_trajectory_no_step", _too_long, "RT4"),
    "rate_too_small": ("relu_trajectory", sooner("rate", 0.5), "RT5"),
    "path_below_its_rest": ("relu_trajectory_no_step", times("path", 0.5), "RT6"),
    "loss_with_eta_zero": ("relu_trajectory_loss", put(eta=0), "RT7a"),
    "Delta_zero": ("relu_trajectory", put(Delta=0), "RT7b"),
    "x2_negative": ("relu_trajectory", put(x2=-1), "RT7c"),
    "delta0_negative": ("relu_trajectory", put(delta0=Fraction(-1, 10**30)), "RT7d"),
    "one_step_less": ("relu_trajectory", word(K=11), "RT8"),
    "one_step_more": ("relu_trajectory", word(K=13), "RT8"),
    "another_step": ("relu_trajectory", times("eta", MORE), "RT8"),
    "start_moved": ("relu_trajectory", array("W0", add((1, 0), 1e-2)), "RT8"),
    "start_changed_in_one_bit": ("relu_trajectory_golden", array("W0", _one_bit), "RT8"),
    "golden_one_step_less": ("relu_trajectory_golden", word(K=2), "RT8"),
    "next_seed": ("relu_trajectory_seed", word(seed=4), "RT8"),
    "loss_upper_zero": ("relu_trajectory", put(loss_upper=0), "RT9"),
    "x2_too_small": ("relu_trajectory", times("x2", 0.9), "RT10"),
    "witness_of_x2_scaled": ("relu_trajectory", array("C_x", lambda C: 0.1 * C), "RT10"),
    "bound_too_small": ("relu_trajectory_loss", times("bound", 0.998), "RT11"),
    "bound_of_the_stored_weights_alone": (
        "relu_trajectory_loss",
        put(Delta=Fraction(1, 1000)),
        "RT11",
    ),
    "label_changed": ("relu_trajectory_no_step", hidden(array("y", add(0, 0.5))), "RT12"),
    "tau_too_small": ("relu_trajectory", times("tau", LESS), "RT12"),
    "residual_of_the_stored_weights_alone": (
        "relu_trajectory_no_step",
        put(Delta=Fraction(1, 50)),
        "RT12",
    ),
    "eps_too_small": ("relu_trajectory_unstable_pairs", times("eps", LESS), "RT13"),
    "Lam_too_small": ("relu_trajectory", times("Lam", LESS), "RT14"),
    "Lam_too_small_for_the_rows": ("relu_trajectory_rows", times("Lam", LESS), "RT14"),
    "lam_too_large": ("relu_trajectory", times("lam", 1.002), "RT15"),
    "Delta_beyond_a_margin": ("relu_trajectory_no_step", _too_wide, "RT16"),
    "pair_left_out": ("relu_trajectory_unstable_pairs", array("U", lambda U: U[:-1]), ""),
    "path_too_short": ("relu_trajectory", times("path", LESS), "RT17"),
}
DEEP: Table = {
    "activation_relu": ("deep_trajectory", network(activation="relu"), "DT1"),
    "a2_zero": ("deep_trajectory", put(a2=0), "DT2a"),
    "b2_zero": ("deep_trajectory", put(b2=0), "DT2b"),
    "t_zero": ("deep_trajectory", put(t=0), "DT2c"),
    "eta_zero": ("deep_trajectory", put(eta=0), "DT2d"),
    "rate_negative": ("deep_trajectory", put(rate=-1), "DT2e"),
    "rate_one": ("deep_trajectory", put(rate=1), "DT2f"),
    "omega_negative": ("deep_trajectory", array("omega", lambda om: -om), "DT2g"),
    "Delta_zero": ("deep_trajectory", put(Delta=0), "DT3a"),
    "delta0_negative": ("deep_trajectory", put(delta0=Fraction(-1, 10**30)), "DT3b"),
    "one_step_less": ("deep_trajectory", word(K=2), "DT4"),
    "one_step_more": ("deep_trajectory", word(K=4), "DT4"),
    "another_step": ("deep_trajectory", times("eta", LESS), "DT4"),
    "start_moved": ("deep_trajectory", array("W0_2", add((0, 0), 1e-2)), "DT4"),
    "head_of_the_end": ("deep_trajectory", array("v0", lambda v: v + 1e-3), "DT4"),
    "next_seed": ("deep_trajectory_seed", word(seed=6), "DT4"),
    "loss_upper_zero": ("deep_trajectory", put(loss_upper=0), "DT5"),
    "radius_beyond_a": ("deep_trajectory_no_step", _too_far, "DT6"),
    "label_changed": ("deep_trajectory_no_step", hidden(array("y", add(0, 0.5))), "DT7"),
    "residual_of_the_stored_weights_alone": (
        "deep_trajectory_no_step",
        put(Delta=Fraction(1, 100)),
        "DT7",
    ),
    "step_too_long": ("deep_trajectory_no_step", times("eta", 2), "DT8"),
    "rate_too_small": ("deep_trajectory", sooner("rate", 0.5), "DT9"),
    "path_too_short": ("deep_trajectory", times("path", LESS), "DT10"),
    "omega_1_too_small": ("deep_trajectory", array("omega", lambda om: om * [0.99, 1]), "DT11.1"),
    "omega_2_too_small": ("deep_trajectory", array("omega", lambda om: om * [1, 0.99]), "DT11.2"),
    "b2_too_small": ("deep_trajectory", times("b2", LESS), "DT12"),
    "b2_too_small_for_the_rows": ("deep_trajectory_two_rows", times("b2", LESS), "DT12"),
    "a2_too_large": ("deep_trajectory", times("a2", 1.002), "DT13"),
}
UNDECIDED: Table = {
    "relu_trajectory_start_on_a_kink": (
        "relu_trajectory_golden",
        several(array("W0", zero), word(K=1)),
        "RT8",
    ),
    "relu_trajectory_ball_of_starts_touches_a_kink": (  # after one step w = 1/8
        "relu_trajectory_loss_of_a_dead_neuron",
        put(Delta=1, delta0=Fraction(1, 8), bound=10),
        "RT8",
    ),
    "relu_trajectory_ball_of_starts_too_wide": (
        "relu_trajectory",
        put(delta0=Fraction(1, 10**8)),
        "RT8",
    ),
    "relu_trajectory_steps_beyond_the_budget": (
        "relu_trajectory_unstable_pairs",
        word(K=10**6, bits=2048),
        "budget",
    ),
    "deep_trajectory_ball_of_starts_too_wide": (
        "deep_trajectory",
        put(delta0=Fraction(1, 10**8)),
        "DT4",
    ),
    "deep_trajectory_steps_beyond_the_budget": (
        "deep_trajectory_convolution",
        word(K=10**6, bits=2048),
        "budget",
    ),
}
FORM: dict[str, tuple[str, Edit]] = {
    "relu_trajectory_too_many_steps": ("relu_trajectory", word(K=10**6 + 1)),
    "relu_trajectory_odd_bits": ("relu_trajectory", word(bits=129)),
    "relu_trajectory_unknown_landing": ("relu_trajectory", word(landing="interpolation")),
    "relu_trajectory_without_landing": ("relu_trajectory", word(landing=...)),
    "relu_trajectory_bound_of_a_descent": ("relu_trajectory", put(bound=1)),
    "relu_trajectory_rate_of_a_loss": ("relu_trajectory_loss", put(rate=0)),
    "relu_trajectory_loss_without_bound": ("relu_trajectory_loss", word(bound=...)),
    "relu_trajectory_seed_and_start": ("relu_trajectory", word(seed=3)),
    "relu_trajectory_without_delta0": ("relu_trajectory", word(delta0=...)),
    "relu_trajectory_without_start": ("relu_trajectory", without("W0")),
    "relu_trajectory_start_of_another_shape": ("relu_trajectory", shape_of("W0", 2, 2)),
    "relu_trajectory_pairs_decreasing": (
        "relu_trajectory_unstable_pairs",
        array("U", lambda _: np.array([3, 0])),
    ),
    "relu_trajectory_seed_too_large": ("relu_trajectory_seed", word(seed=10**18)),
    "deep_trajectory_too_many_steps": ("deep_trajectory", word(K=10**6 + 1)),
    "deep_trajectory_negative_steps": ("deep_trajectory", word(K=-1)),
    "deep_trajectory_odd_bits": ("deep_trajectory", word(bits=130)),
    "deep_trajectory_seed_and_start": ("deep_trajectory", word(seed=3)),
    "deep_trajectory_without_a_layer": ("deep_trajectory", without("W0_2")),
    "deep_trajectory_without_head": ("deep_trajectory", without("v0")),
    "deep_trajectory_head_of_another_length": ("deep_trajectory", shape_of("v0", 3)),
    "deep_trajectory_layer_too_many": (
        "deep_trajectory",
        new_tensor("W0_3", np.ones((2, 2))),
    ),
    "deep_trajectory_without_path": ("deep_trajectory", word(path=...)),
    "deep_trajectory_of_a_shallow_network": (
        "relu_trajectory",
        word(kind="deep-trajectory", theorem="replayed-deep-descent/1"),
    ),
}


def started_accepted() -> Files:
    """Honest runs."""
    return relu_accepted() | deep_accepted()


@cache
def _honest() -> Files:
    return started_accepted()


def _edited(base: str, edit: Edit) -> bytes:
    file = opened(_honest()[base]).copy()
    edit(file)
    return file.sealed()


def _diverging() -> dict[str, tuple[bytes, str]]:
    """Honest replays of runs whose steps are too long to go on."""
    deep = deep_trajectory_file(deep_walk(2, n=1, m=2, steps=2, share=2.5), rate=Fraction(1, 2))
    fit = ReluFit(np.ones((1, 1)), np.array([0.75]), np.array([[0.8125]]), np.ones(1))
    run = Walked(fit, fit.W, 2.5, 0, 0.0).followed(3)
    found = relu_trajectory_claim(
        run, Delta=1e-12, rate=Fraction(1, 2), path=Fraction(10), tau=Fraction(10)
    )
    assert found is not None
    return {
        "relu_trajectory_diverging": (build_relu(run, [found]), "RT4"),
        "deep_trajectory_diverging": (deep, "DT8"),
    }


def started_rejected() -> dict[str, tuple[bytes, str]]:
    """(bytes, what the reason must contain)."""
    tables = (("relu_trajectory", RELU), ("deep_trajectory", DEEP))
    files = {
        f"{kind}_{name}": (_edited(base, edit), number)
        for kind, table in tables
        for name, (base, edit, number) in table.items()
    }
    return files | _diverging()


def started_undecided() -> dict[str, tuple[bytes, str]]:
    """Runs that are perhaps as claimed; no pass shows it."""
    return {name: (_edited(base, edit), word) for name, (base, edit, word) in UNDECIDED.items()}


def started_malformed() -> Files:
    """Faults that no number shows."""
    return {name: _edited(base, edit) for name, (base, edit) in FORM.items()}
