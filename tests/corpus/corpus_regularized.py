"""The files about regularized networks: honest ones of every constraint, loss and rule, files with
one fault and the number of the check that must see it, and faults of form.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from tests.checker.regularized_cases import (
    Case,
    changed,
    derivative,
    file_of,
    golden,
    quadratic_witness,
    rounded,
    spectral_witness,
    with_zero_sum,
)
from tests.checker.slab_cases import slab_witness
from tests.corpus.whole_files import Whole, opened

F = Fraction
Files = dict[str, bytes]
SLOPES = ("rho", "sig", "al", "be")


def _free_parts() -> tuple[Case, np.ndarray]:
    rng = np.random.default_rng(7)
    case = Case(
        rng.standard_normal((5, 2)),
        rng.standard_normal(5),
        np.array([[0.5, 0.0]]),
        np.ones(1),
        bias=np.zeros(1),
        intercept=0.25,
        linear=np.array([0.5, -0.5]),
        network={"b": F(50)},
    )
    return case, derivative(case)


def _wide(groups: Any = "all", **network: Any) -> Case:
    rng = np.random.default_rng(11)
    W = rng.standard_normal((2, 3)) * [[1, 1, 0], [0, 1, 1]]
    return Case(
        rng.standard_normal((4, 3)),
        rng.standard_normal(4),
        W,
        np.array([0.5, 1.0]),
        bias=rng.standard_normal(2),
        network={"groups": groups, "b": F(3)} | network,
    )


def _spectral(**network: Any) -> bytes:
    case = _wide(**network)
    u, gammas, witness = spectral_witness(case, derivative(case))
    return file_of(case, u, "spectral", witness=witness, **gammas)


def _slabs(**network: Any) -> bytes:
    case = _wide(hidden_bias="free", **network)
    u, fields, witness = slab_witness(case, with_zero_sum(derivative(case), 0))
    return file_of(case, with_zero_sum(u, 0), "slabs", witness=witness, **fields)


def _quadratic(**network: Any) -> bytes:
    rules = {"neurons": "quadratic", "groups": "all", "v_max": F(1)} | network
    loss = {"name": "huber", "parameter": F(1)}
    case = changed(_wide(), network=rules, intercept=0.25, loss=loss)
    u = with_zero_sum(0.5 * derivative(case), 0)
    u, witness = quadratic_witness(case, u)
    return file_of(case, with_zero_sum(u, 0), "quadratic", witness=witness)


def _losses() -> Files:
    case = replace(golden()[0], intercept=None)
    one = {"huber": F(1, 2), "quantile": F(7, 8)}
    dual = {"quantile": [0.125, -0.3], "poisson": [-0.2, 0.1], "squared": [0.2, -0.3]}
    files = {}
    for name in ("huber", "quantile", "hinge", "squared_hinge", "logistic", "poisson"):
        loss = {"name": name} | ({"parameter": one[name]} if name in one else {})
        y = np.array([2.0, 0.0]) if name == "poisson" else case.y
        u = np.array(dual.get(name, [0.2, -0.3]))
        files[f"dual_gap_{name}"] = file_of(replace(case, y=y, loss=loss), u)
    weights = np.array([0.5, 2.0])
    files["dual_gap_weighted"] = file_of(replace(case, om=weights), np.array(dual["squared"]))
    return files


def _unused(**fields: Any) -> bytes:
    case, u = golden()
    X = np.hstack([case.X, -case.X / 128])
    case = replace(case, X=X, W=np.array([[0.8, 0.0]]), v=np.array([0.9]), bias=np.array([0.7]))
    case = replace(case, intercept=-0.65)
    usual = {"h": [F(1, 2), F(1, 100)], "Lam": [F(3), 2 + F(1, 1024)], "unused": [1]}
    return file_of(case, u, kind="unused-terms", **(usual | fields))


def regularized_accepted() -> Files:
    """Every constraint, class, loss and rule."""
    case, u = golden()
    free, v = _free_parts()
    rules = {"intercept": "penalized", "k0": F(1, 4), "linear": "penalized", "k1": F(1, 8)}
    small = rounded(0.1 * derivative(_wide()))
    falling = changed(case, network={"monotone": [1], "b": F(1)})
    return _losses() | {
        "dual_gap_columns": file_of(case, u),
        "dual_gap_free_bias_with_equality": file_of(*golden(t=0.25, hidden_bias="free")),
        "dual_gap_no_bias": file_of(*golden(t=0.25, hidden_bias="none")),
        "dual_gap_two_parts": file_of(case, np.array([u, u * 2.0**-60])),
        "dual_gap_repair": file_of(free, v, repair=[0, 2, 3]),
        "dual_gap_penalized_parts": file_of(changed(free, network=rules), v),
        "dual_gap_nondecreasing": file_of(falling, u),
        "dual_gap_nonnegative": file_of(
            changed(case, network={"heads": "nonnegative"}, intercept=None), np.array([9.0, 9.0])
        ),
        "dual_gap_pairs": file_of(_wide("pairs"), small, "cones"),
        "unused_terms_pairs_by_cones": file_of(
            _wide("pairs"), small, "cones", kind="unused-terms", h=[F(2), F(3), F(1)], unused=[]
        ),
        "dual_gap_all_columns_by_cones": file_of(_wide(), small, "cones"),
        "dual_gap_listed_groups": file_of(_wide([[0, 1], [1], [1, 2]]), small, "cones"),
        "dual_gap_spectral": _spectral(),
        "dual_gap_spectral_nonnegative": _spectral(heads="nonnegative"),
        "dual_gap_slabs": _slabs(),
        "dual_gap_slabs_nonnegative": _slabs(heads="nonnegative"),
        "dual_gap_quadratic": _quadratic(),
        "dual_gap_quadratic_nonnegative": _quadratic(heads="nonnegative"),
        "unused_terms_second_column": _unused(),
        "unused_terms_masses_only": _unused(unused=[]),
    }


def _edited(raw: bytes, edit: Callable[[Whole], None]) -> bytes:
    file = opened(raw)
    edit(file)
    return file.sealed()


def _set(place: str, value: Any) -> Callable[[Whole], None]:
    """Set a field of the claim, of the network, or one tensor."""

    def edit(file: Whole) -> None:
        holder, _, name = place.partition(".")
        if holder == "claim":
            file.claim[name] = value
        elif holder == "network":
            file.top["network"][name] = value
        else:
            file.tensors[name if name in file.tensors else f"claims.0.{name}"] = value

    return edit


def _beside(raw: bytes, name: str, change: Fraction) -> bytes:
    """A bound moved, with the gap wide enough."""

    def edit(file: Whole) -> None:
        file.claim[name] = str(Fraction(file.claim[name]) + change)
        if name != "gap":
            file.claim["gap"] = str(Fraction(file.claim["gap"]) + 1)

    return _edited(raw, edit)


def _outer_ends(end: Fraction) -> Callable[[Whole], None]:
    """The first and the last end of the slabs moved; decided rows stay decided."""

    def edit(file: Whole) -> None:
        file.claim["slabs"] = [str(-end), *file.claim["slabs"][1:-1], str(end)]

    return edit


def _negative_delta(file: Whole) -> None:
    file.claim["delta_plus"] = ["-1/1000", *file.claim["delta_plus"][1:]]


def regularized_rejected() -> dict[str, tuple[bytes, str]]:
    """(bytes, what the reason must contain)."""
    case, u = golden()
    plain, free = file_of(case, u), _free_parts()
    two = replace(case, X=np.hstack([case.X, 2 * case.X]), W=np.array([[0.5, 0.0]]))
    tiny = F(1, 10**30)
    stray = changed(two, W=np.array([[0.5, 0.5]]), network={"b": F(2)})
    spectral, quadratic, slabs = _spectral(), _quadratic(), _slabs()
    curved = opened(spectral).tensors["claims.0.be"] * (1 + 1e-10)
    spoiled = opened(spectral).tensors["claims.0.C_plus"] * 1.5
    spoiled_lower = opened(quadratic).tensors["claims.0.C_lower"] * 1.5
    pairs = changed(_wide("pairs"), network={"b": F(1, 20)})
    small = rounded(0.1 * derivative(_wide()))
    unused = _unused(unused=[])
    linear = replace(free[0], intercept=None)
    zero_weight = replace(case, om=np.array([0.0, 1.0]), intercept=None)
    above = changed(_wide(), network={"b": F(1)})
    return {
        "dual_gap_neuron_of_two_columns": (file_of(stray, u), "Y1"),
        "dual_gap_gap_too_small": (_beside(plain, "gap", -tiny), "Y2"),
        "dual_gap_repair_of_too_many_rows": (
            file_of(free[0], free[1], repair=[0, 1, 2, 3], p_up=F(99), p_low=F(-99), gap=F(999)),
            "Y3",
        ),
        "dual_gap_weight_zero": (
            file_of(zero_weight, np.array([1e-30, -0.1]), p_low=F(-1), gap=F(9)),
            "Y4",
        ),
        "dual_gap_sum_not_zero": (file_of(case, np.array([0.25, -0.24])), "Y5"),
        "dual_gap_moment_not_zero": (file_of(linear, free[1]), "Y6"),
        "dual_gap_golden_above": (file_of(*golden(t=0.354)), "Y7"),
        "dual_gap_unused_column_above": (file_of(two, u), "Y7"),
        "dual_gap_free_bias_above": (
            file_of(*golden(t=float(np.nextafter(0.25, 1)), hidden_bias="free")),
            "Y7",
        ),
        "dual_gap_pair_above": (file_of(pairs, small, "cones"), "Y8"),
        "dual_gap_all_columns_above": (file_of(above, 20 * small, "cones"), "Y8"),
        "dual_gap_curvature_too_large": (_edited(spectral, _set("tensor.be", curved)), "Y9"),
        "dual_gap_sig_too_small": (
            _edited(
                spectral, _set("tensor.sig", opened(spectral).tensors["claims.0.sig"] * (1 - 1e-11))
            ),
            "Y9",
        ),
        "dual_gap_spectral_factor": (_edited(spectral, _set("tensor.C_plus", spoiled)), "Y10"),
        "dual_gap_slabs_too_short": (_edited(slabs, _outer_ends(F(427, 200))), "Y14"),
        "dual_gap_slabs_delta_negative": (_edited(slabs, _negative_delta), "Y14"),
        "dual_gap_slabs_curvature_too_large": (
            _edited(slabs, _set("tensor.be", opened(slabs).tensors["claims.0.be"] * (1 + 1e-6))),
            "Y9",
        ),
        "dual_gap_slabs_row_not_decided": (
            _edited(slabs, _set("tensor.rho", 0 * opened(slabs).tensors["claims.0.rho"])),
            "Y9",
        ),
        "dual_gap_slabs_factor": (
            _edited(
                slabs,
                _set("tensor.C_minus_1", opened(slabs).tensors["claims.0.C_minus_1"] * 1.5),
            ),
            "Y10",
        ),
        "dual_gap_slabs_sum_not_zero": (
            _edited(slabs, _set("tensor.u", opened(slabs).tensors["claims.0.u"] * [1, 1, 1, 0.5])),
            "Y5",
        ),
        "dual_gap_quadratic_factor": (
            _edited(quadratic, _set("tensor.C_lower", spoiled_lower)),
            "Y11",
        ),
        "dual_gap_p_up_too_small": (_beside(plain, "p_up", -tiny), "Y12"),
        "dual_gap_p_low_too_large": (_beside(plain, "p_low", tiny), "Y13"),
        "unused_terms_neuron_of_two_columns": (
            _beside(_edited(unused, _set("tensor.W", np.array([[0.8, 1e-9]]))), "p_up", F(1)),
            "Z1",
        ),
        "unused_terms_gap_too_small": (_beside(unused, "gap", -tiny), "Z2"),
        "unused_terms_repair_of_too_many_rows": (_unused_repair(), "Z3"),
        "unused_terms_domain": (_unused_quantile(0.6), "Z4"),
        "unused_terms_sum_not_zero": (
            _edited(unused, _set("tensor.u", np.array([0.25, -0.24]))),
            "Z5",
        ),
        "unused_terms_moment_not_zero": (_unused_linear(), "Z6"),
        "unused_terms_h_negative": (_unused(h=[F(1, 2), F(-1, 100)], unused=[]), "Z7a"),
        "unused_terms_h_above_b": (_unused(h=[F(6, 10), F(1, 100)], unused=[]), "Z7b"),
        "unused_terms_h_too_small": (_unused(h=[F(1, 2), F(1, 1000)], unused=[]), "Z7c"),
        "unused_terms_Lam_too_small": (_unused(Lam=[F(3), F(2)]), "Z8"),
        "unused_terms_h_is_b": (_unused(unused=[0]), "Z9a"),
        "unused_terms_gap_too_large": (_unused(h=[F(1, 2), F(49, 100)]), "Z9b"),
        "unused_terms_p_up_too_small": (_beside(unused, "p_up", -tiny), "Z12"),
        "unused_terms_p_low_too_large": (_beside(unused, "p_low", tiny), "Z13"),
    }


def _unused_quantile(first: float) -> bytes:
    case, _ = golden()
    case = replace(case, loss={"name": "quantile", "parameter": F(1, 2)}, intercept=None)
    u = np.array([first, -0.1])
    case = changed(case, network={"b": F(2)})
    return file_of(case, u, kind="unused-terms", h=[F(2)], unused=[])


def _unused_repair() -> bytes:
    case, u = _free_parts()
    bounds: dict[str, Any] = {"p_up": F(99), "p_low": F(-99), "gap": F(999)}
    rows = [0, 1, 2, 3]
    return file_of(case, u, kind="unused-terms", h=[F(50)] * 2, unused=[], repair=rows, **bounds)


def _unused_linear() -> bytes:
    case, u = _free_parts()
    return file_of(replace(case, intercept=None), u, kind="unused-terms", h=[F(50)] * 2, unused=[])


def regularized_malformed() -> Files:
    """Faults that no number of the proof shows; a group cannot be left out of a class with a
    name.
    """
    plain = file_of(*golden())
    weighted = file_of(replace(golden()[0], om=np.ones(2)), 0 * golden()[1])
    free, v = _free_parts()
    repair = file_of(free, v, repair=[0, 2, 3])
    spectral, quadratic, unused = _spectral(), _quadratic(), _unused()
    logistic, slabs = _losses()["dual_gap_logistic"], _slabs()
    network = {
        "b_negative": ("b", "-1/2"),
        "tau_zero": ("tau", "0"),
        "group_empty": ("groups", [[]]),
        "group_twice": ("groups", [[0], [0]]),
        "group_out_of_range": ("groups", [[1]]),
        "pairs_of_one_column": ("groups", "pairs"),
        "unknown_class": ("groups", "triples"),
        "unknown_bias_rule": ("hidden_bias", "some"),
        "monotone_too_long": ("monotone", [1, 1]),
        "k0_without_penalty": ("k0", "1"),
    }
    claim = {
        "parts_three": ("parts", 3),
        "spectral_without_slopes": ("constraint", "spectral"),
        "quadratic_for_relu": ("constraint", "quadratic"),
        "loss_upper": ("loss_upper", "1"),
    }
    return (
        {
            f"dual_gap_{name}": _edited(plain, _set(f"network.{field}", value))
            for name, (field, value) in network.items()
        }
        | {
            f"dual_gap_{name}": _edited(plain, _set(f"claim.{field}", value))
            for name, (field, value) in claim.items()
        }
        | {
            "dual_gap_weight_negative": _edited(weighted, _set("tensor.om", np.array([-1.0, 1.0]))),
            "dual_gap_label_of_no_class": _edited(logistic, _set("tensor.y", np.array([0.0, 1.0]))),
            "dual_gap_repair_not_increasing": _edited(
                repair, _set("tensor.repair", np.array([2, 0, 3]))
            ),
            "dual_gap_spectral_pairs": _edited(spectral, _set("network.groups", "pairs")),
            "dual_gap_slabs_of_one_end": _edited(slabs, _set("claim.slabs", ["1"])),
            "dual_gap_slabs_gamma_too_short": _edited(slabs, _set("claim.gamma_plus", ["1"])),
            "dual_gap_slabs_pairs": _edited(slabs, _set("network.groups", "pairs")),
            "dual_gap_slabs_end_is_a_number": _edited(slabs, _set("claim.slabs", [-9, 0, 1, 2, 9])),
            "dual_gap_quadratic_v_max_zero": _edited(quadratic, _set("network.v_max", "0")),
            "unused_terms_nonnegative": _edited(unused, _set("network.heads", "nonnegative")),
            "unused_terms_h_too_short": _edited(unused, _set("claim.h", ["1/2"])),
            "unused_terms_number_out_of_range": _edited(unused, _set("claim.unused", [2])),
            "dual_gap_of_a_shallow_network": _edited(plain, _set("network.kind", "shallow")),
        }
    )
