"""The certificates of accepted/: honest ones, and corner cases that are true."""

from __future__ import annotations

import zlib
from fractions import Fraction
from typing import Any

import numpy as np
from tests.corpus.corpus_close_calls import close_calls
from tests.corpus.corpus_quadratic_accepted import quadratic_accepted
from tests.corpus.drafts import Draft, claim
from tests.corpus.honest_instances import (
    RELU,
    SMOOTH_NETWORKS,
    TIGHT,
    descent_draft,
    first_provable,
    floor_draft,
    interpolation_draft,
    relu_draft,
    trained_model,
)
from tests.corpus.small_producer import Model, descent, gauss_newton, interpolation, random_model

EQUAL, ZERO, RAY, LINE, ODD, NEGATIVE = range(6)


def seeded(name: str) -> np.random.Generator:
    """A generator whose seed is the file's name, so that adding a file changes no other."""
    return np.random.default_rng(zlib.crc32(name.encode()))


def network(name: str, parameter: str | None = None) -> dict[str, Any]:
    """The field `network`."""
    return {"activation": name, "kind": "shallow"} | (
        {} if parameter is None else {"parameter": parameter}
    )


def smooth_drafts() -> dict[str, Draft]:
    """Every smooth activation, both trained modes, both quartic methods, both norm methods, both
    claims.
    """
    drafts = {}
    for word, net in SMOOTH_NETWORKS.items():
        for trained, method, norm in (("W", "rows", "rows"), ("vW", "svec", "factor")):
            name = f"interpolation_{word}_{trained}_{method}"
            drafts[name] = interpolation_draft(seeded(name), net, trained=trained, method=method)
            name = f"descent_{word}_{trained}_{method}_{norm}"
            drafts[name] = descent_draft(
                seeded(name), net, trained=trained, method=method, norm=norm
            )
    softplus, tanh = SMOOTH_NETWORKS["softplus"], SMOOTH_NETWORKS["tanh"]
    name = "interpolation_softplus_W_svec_d_3"
    drafts[name] = interpolation_draft(seeded(name), softplus, (4, 3, 4), method="svec")
    name = "interpolation_tanh_vW_rows"
    drafts[name] = interpolation_draft(seeded(name), tanh, trained="vW")
    name = "descent_tanh_W_svec_factor"
    drafts[name] = descent_draft(seeded(name), tanh, method="svec", norm="factor")
    name = "descent_softplus_vW_rows_rows_bias"
    drafts[name] = descent_draft(seeded(name), softplus, trained="vW", bias=True)
    return drafts


def special_smooth_drafts() -> dict[str, Draft]:
    """Bias, lower radius, data outside, tight numbers, large residuals."""
    softplus, tanh = SMOOTH_NETWORKS["softplus"], SMOOTH_NETWORKS["tanh"]
    options: dict[str, dict[str, Any]] = {
        "interpolation_bias_column": {"bias": True},
        "interpolation_with_lower_radius": {"lower": True},
        "interpolation_data_stored_outside": {"stored": False},
        "interpolation_tight": {"slack": TIGHT, "lower": True},
        "interpolation_tight_vW_svec": {"slack": TIGHT, "trained": "vW", "method": "svec"},
        "interpolation_far_from_zero_loss": {"noise": 0.02, "sizes": (2, 2, 5), "lower": True},
    }
    drafts = {
        name: interpolation_draft(seeded(name), softplus, **chosen)
        for name, chosen in options.items()
    }
    steps: dict[str, dict[str, Any]] = {
        "descent_data_stored_outside": {"stored": False},
        "descent_tight": {"slack": TIGHT},
        "descent_tight_factor": {"slack": TIGHT, "norm": "factor", "trained": "vW"},
        "descent_far_from_zero_loss": {"noise": 0.005, "sizes": (2, 2, 5)},
    }
    drafts |= {name: descent_draft(seeded(name), tanh, **chosen) for name, chosen in steps.items()}
    return drafts


def one_neuron(y: float, w: float = 1.0) -> Model:
    """The golden example: d = k = n = 1, phi = z^2, x = 1, v = 1."""
    return Model(
        SMOOTH_NETWORKS["quadratic"], np.ones((1, 1)), np.array([y]), np.array([[w]]), np.ones(1)
    )


def _zero_residual() -> Draft:
    """Zero loss exactly: R = rho = 0, z = 0."""
    model = one_neuron(0.25, 0.5)
    fields = {
        "trained": "W",
        "a2": Fraction(1, 2),
        "rho": Fraction(0),
        "quartic": {"kappa": Fraction(5), "method": "rows"},
    }
    fields |= {"R": Fraction(0), "loss_upper": Fraction(0)}
    tensors = {"C_a": np.array([[2**0.5]]), "C_kappa": np.ones((1, 1)), "z": np.zeros(1)}
    return model.draft([claim("interpolation", fields, tensors)])


def _several_claims() -> Draft:
    rng = seeded("two_claims")
    model = trained_model(rng, SMOOTH_NETWORKS["tanh"], (2, 2, 4), trained="W", noise=1e-5)
    return model.draft(
        [descent(model), interpolation(model, method="svec"), descent(model, norm="factor")]
    )


def _with_a_zero_head() -> Draft:
    def attempt(rng: np.random.Generator) -> Draft:
        start = random_model(rng, SMOOTH_NETWORKS["softplus"], (2, 2, 4))
        model = gauss_newton(
            Model(start.network, start.X, start.y, start.W, np.append(start.v[:-1], 0.0)), "W"
        )
        return model.draft([interpolation(model)])

    return first_provable(seeded("zero_head"), attempt)


def _huge_preactivation() -> Draft:
    """A neuron so far out that e^{-|z|} vanishes in every format, beside ordinary ones."""

    def attempt(rng: np.random.Generator) -> Draft:
        start = random_model(rng, SMOOTH_NETWORKS["softplus"], (2, 2, 4))
        X = np.column_stack([np.abs(start.X[:, 0]) + 0.5, start.X[:, 1]])
        model = gauss_newton(
            Model(
                start.network,
                X,
                start.y,
                np.vstack([start.W, [-1e5, 0.0]]),
                np.append(start.v, 0.5),
            ),
            "W",
        )
        return model.draft([interpolation(model)])

    return first_provable(seeded("large"), attempt)


def _longest_rational() -> Draft:
    """loss_upper with 2,500 characters, the limit."""
    draft = interpolation_draft(seeded("longest"), SMOOTH_NETWORKS["tanh"])
    draft.claims[0].fields["loss_upper"] = Fraction(10**2499)
    return draft


def corner_drafts() -> dict[str, Draft]:
    """Golden examples of the theory and corners of the format."""
    return {
        "golden_one_neuron_interpolation": (m := one_neuron(0.81)).draft(
            [interpolation(m, slack=TIGHT)]
        ),
        "golden_one_neuron_interpolation_svec": (m := one_neuron(0.81)).draft(
            [interpolation(m, slack=TIGHT, method="svec")]
        ),
        "golden_one_neuron_descent": (m := one_neuron(0.81)).draft([descent(m, slack=TIGHT)]),
        "interpolation_zero_residual_and_zero_radius": _zero_residual(),
        "interpolation_rational_of_2500_characters": _longest_rational(),
        "three_claims_in_one_file": _several_claims(),
        "interpolation_head_with_a_zero": _with_a_zero_head(),
        "interpolation_huge_preactivation": _huge_preactivation(),
    }


def relu_drafts() -> dict[str, Draft]:
    """relu-interpolation with all its options."""
    options: dict[str, dict[str, Any]] = {
        "relu_plain": {},
        "relu_witness_in_another_cell": {"noise": 2.0},
        "relu_neuron_left_out": {"few": True},
        "relu_dropped_samples": {"dropped": True},
        "relu_data_stored_outside": {"stored": False},
        "relu_tight": {"slack": TIGHT},
        "relu_six_samples": {"sizes": (6, 3, 8)},
        "relu_stored_weights_are_the_witness": {"noise": 0.0},
    }
    drafts = {name: relu_draft(seeded(name), **chosen) for name, chosen in options.items()}
    drafts["relu_kink_at_exact_zero_loss"] = _kink_at_zero_loss()
    drafts["relu_refined_margin_only"] = _refined_margin()
    return drafts


def _refined_margin() -> Draft:
    """Orthogonal samples: the near kink of the inactive one cannot be reached, which only the
    refined margin sees.
    """
    X, W = np.array([[8.0, 0.0], [0.0, 1.0]]), np.array([[1.0, -0.01], [-0.01, 1.0]])
    model = Model(RELU, X, np.array([8.5, 1.0]), W, np.ones(2))
    fields = {"mu": Fraction(1, 2), "R": Fraction(1), "loss_upper": Fraction(1)}
    none = np.zeros((0, 2), dtype=np.int64)
    tensors = {
        "W_hat": W,
        "T": np.array([0, 1]),
        "C": np.diag([63.5**-0.5, 0.5**-0.5]),
        "dropped": none,
    }
    return model.draft([claim("relu-interpolation", fields, tensors)])


def _kink_at_zero_loss() -> Draft:
    """z = 0 with the neuron in T is allowed when the residual of the witness is exactly zero."""
    X, W = np.eye(2), np.array([[1.0, 0.0], [0.0, 1.0]])
    model = Model(RELU, X, np.array([1.0, 1.0]), W, np.ones(2))
    fields = {"mu": Fraction(3, 4), "R": Fraction(0), "loss_upper": Fraction(0)}
    none = np.zeros((0, 2), dtype=np.int64)
    tensors = {"W_hat": W, "T": np.array([0, 1]), "C": 2.0 * np.eye(2), "dropped": none}
    return model.draft([claim("relu-interpolation", fields, tensors)])


def floor_drafts() -> dict[str, Draft]:
    """Every group kind with every activation that allows it."""
    half, pair = Fraction(1, 2), [[1.0, 2.0], [1.0, 2.0], [3.0, 1.0]]
    drafts = {}
    for name, parameter in (
        ("softplus", "3"),
        ("sigmoid", None),
        ("tanh", None),
        ("linear", None),
        ("leaky_relu", "1/10"),
    ):
        drafts[f"floor_equal_{name}"] = floor_draft(
            network(name, parameter), pair, [0.0, 2.0, 1.0], [(EQUAL, [0, 1])], Fraction(1)
        )
    for name, parameter in (
        ("relu", None),
        ("leaky_relu", "1/4"),
        ("abs", None),
        ("quadratic", None),
        ("tanh", None),
        ("erf", None),
    ):
        rows = [[0.0, -0.0], [1.0, 1.0]]
        drafts[f"floor_zero_{name}"] = floor_draft(
            network(name, parameter), rows, [1.0, 0.0], [(ZERO, [0])], half
        )
    ray = [[1.0, 2.0], [2.0, 4.0]]
    for name, parameter in (("relu", None), ("leaky_relu", "0"), ("linear", None)):
        drafts[f"floor_ray_{name}"] = floor_draft(
            network(name, parameter), ray, [1.0, 1.0], [(RAY, [0, 1])], Fraction(1, 10)
        )
    line = [[1.0, 2.0], [-2.0, -4.0]]
    quadratic_floor = (2 - Fraction(25, 17)) / 2
    drafts |= {
        "floor_ray_quadratic": floor_draft(
            network("quadratic"), ray, [1.0, 1.0], [(RAY, [0, 1])], quadratic_floor
        ),
        "floor_line_quadratic": floor_draft(
            network("quadratic"), line, [1.0, 1.0], [(LINE, [0, 1])], quadratic_floor
        ),
        "floor_line_abs": floor_draft(
            network("abs"), line, [1.0, 1.0], [(LINE, [0, 1])], Fraction(1, 10)
        ),
        "floor_odd_tanh": floor_draft(
            network("tanh"), [[1.0, 2.0], [-1.0, -2.0]], [1.0, 1.0], [(ODD, [0, 1])], Fraction(1)
        ),
        "floor_odd_erf": floor_draft(
            network("erf"), [[1.0, 2.0], [-1.0, -2.0]], [1.0, 0.0], [(ODD, [0, 1])], Fraction(1, 4)
        ),
        "floor_golden_zero_and_minus_zero": floor_draft(
            network("sigmoid"), [[0.0], [-0.0]], [0.0, 1.0], [(EQUAL, [0, 1])], Fraction(1, 4)
        ),
        "floor_negative_label_relu": floor_draft(
            RELU, [[1.0, 0.5]], [-2.0], [(NEGATIVE, [0])], Fraction(2), heads="nonnegative"
        ),
        "floor_negative_label_softplus": floor_draft(
            network("softplus"),
            pair,
            [-2.0, 1.0, 0.0],
            [(NEGATIVE, [0])],
            Fraction(2),
            heads="nonnegative",
        ),
        "floor_equal_nonnegative_heads": floor_draft(
            network("quadratic"),
            pair,
            [-2.0, 1.0, 0.0],
            [(EQUAL, [0, 1])],
            Fraction(5, 2),
            heads="nonnegative",
        ),
        "floor_several_groups": floor_draft(
            RELU,
            [[1.0, 2.0], [0.0, 0.0], [2.0, 4.0], [3.0, 3.0], [3.0, 3.0]],
            [1.0, 1.0, 1.0, 0.0, 4.0],
            [(EQUAL, [4, 3]), (RAY, [0, 2]), (ZERO, [1])],
            Fraction(4) + half + Fraction(1, 10),
        ),
        "floor_of_zero_from_a_singleton": floor_draft(
            RELU, pair, [1.0, 1.0, 1.0], [(EQUAL, [2])], Fraction(0)
        ),
        "floor_below_the_exact_one": floor_draft(
            RELU, ray, [1.0, 1.0], [(RAY, [1, 0])], Fraction(1, 20)
        ),
        "floor_data_stored_outside": floor_draft(
            RELU, ray, [1.0, 1.0], [(RAY, [0, 1])], Fraction(1, 10), stored=False
        ),
    }
    many = drafts["floor_ray_relu"].copy()
    drafts["floor_sixty_four_claims"] = many
    many.claims = [many.claims[0]] * 64
    return drafts


def accepted() -> dict[str, Draft]:
    """All of them, by file name without ending."""
    first_kinds = (
        smooth_drafts() | special_smooth_drafts() | corner_drafts() | relu_drafts() | floor_drafts()
    )
    return first_kinds | close_calls()[0] | quadratic_accepted()
