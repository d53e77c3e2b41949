"""The files of accepted/ about the families' claims: limiting Gram matrices, ReLU and deep descent,
filters, balls, factors.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from tests.checker import deep_cases as deep
from tests.checker import factorization_cases as factorization
from tests.checker import gram_cases as gram
from tests.checker import head_cases as head
from tests.checker import relu_descent_cases as relu
from tests.checker import surroundings_cases as ball
from tests.checker import trap_cases as trap
from tests.checker import unique_minimum_cases as unique
from tests.checker.cases import Smooth, build
from tests.checker.gram_cases import resnet_claim
from tests.checker.relu_descent_cases import one_neuron
from tests.checker.second_order_cases import hessian, random_smooth, saddle_claim
from tests.corpus.corpus_relu_linearized import linearized_files
from tests.oracles import gmc_builder as gmc

Files = dict[str, bytes]
RULE: dict[str, Any] = {"step": Fraction(1, 2), "nodes": 28}


def short_rows(seed: int) -> np.ndarray:
    """Two samples near the length 1/2: the shorter they are, the fewer nodes does the trapezoid
    rule need.
    """
    X = np.random.default_rng(seed).standard_normal((2, 2))
    return X / np.linalg.norm(X, axis=1, keepdims=True) / 2


def gram_file(
    name: str, kernel: str = "weights", *, seed: int = 0, parameter: float | None = None
) -> bytes:
    """Three samples of two features, or two short ones."""
    X = np.random.default_rng(seed).standard_normal((3, 2)) if name == "relu" else short_rows(seed)
    changes = {} if name == "relu" else RULE | ({} if parameter is None else {"slope": parameter})
    return gram.build(name, X, [gram.claim(name, X, kernel, top=5, **changes)], parameter=parameter)


def resnet_file(name: str, seed: int = 0) -> bytes:
    """The residual network of depth 4."""
    X = short_rows(seed)
    fields, tensors, _ = resnet_claim(name, X, **RULE)
    return gram.build(name, X, [(fields, tensors)])


LAYERS: dict[str, list[tuple[float, bool]]] = {
    "one": [(1.5, False)],
    "two": [(1.5, False), (0.5, False)],
    "residual": [(1.5, False), (0.25, True)],
}
WINDOWS = np.array([[0, 1], [1, -1]])  # not symmetric: T and its transpose differ


def layers_file(
    name: str, form: str, blocks: str = "last", *, windows: bool = False, seed: int = 0
) -> bytes:
    """A deep network at two short samples, of one pixel or two."""
    X = short_rows(seed)
    options = {"windows": WINDOWS if windows else None, "slack": 0.9, "terms": 8, **RULE}
    return gram.build(name, X, [gram.deep_claim(name, X, LAYERS[form], blocks, **options)])


def gram_files() -> Files:
    """gram-positive: closed form, series, residual networks, deep networks."""
    return {
        "gram_layers_one_erf": layers_file("erf", "one"),
        "gram_layers_dense_tanh": layers_file("tanh", "two"),
        "gram_layers_dense_all_tanh": layers_file("tanh", "two", "all"),
        "gram_layers_residual_all_sigmoid": layers_file("sigmoid", "residual", "all"),
        "gram_layers_windows_tanh": layers_file("tanh", "residual", windows=True),
        "gram_layers_windows_all_tanh": layers_file("tanh", "residual", "all", windows=True),
        "gram_relu_weights": gram_file("relu"),
        "gram_relu_features": gram_file("relu", "features"),
        "gram_tanh_weights": gram_file("tanh"),
        "gram_sigmoid_features": gram_file("sigmoid", "features"),
        "gram_softplus_parameter": gram_file("softplus", parameter=2.0),
        "gram_erf_weights": gram_file("erf"),
        "gram_resnet_tanh": resnet_file("tanh"),
        "gram_resnet_sigmoid": resnet_file("sigmoid"),
    }


def relu_descent_file(seed: int = 0, norm: str = "factor", steps: int = 300) -> bytes:
    """Three samples, wide enough and trained long enough for the theorem."""
    fit = relu.trained_relu(3, 4, 12, steps, seed=seed)
    return relu.build(fit, [relu.claim(fit, norm=norm)])


def relu_descent_golden(w: float, y: float, **changes: Any) -> bytes:
    """One active neuron."""
    fit, fields, tensors = one_neuron(w, y, **changes)
    return relu.build(fit, [(fields, tensors)])


def relu_descent_files() -> Files:
    """relu-descent."""
    return {
        "relu_descent_factor": relu_descent_file(),
        "relu_descent_rows": relu_descent_file(norm="rows"),
        "relu_descent_unstable_pairs": relu_descent_file(4, steps=20),
        "relu_descent_golden": relu_descent_golden(1.0, 0.25),
        "relu_descent_golden_at_zero_loss": relu_descent_golden(2.0, 2.0),
    }


def deep_file(
    kind: str, *, activation: str = "tanh", norm: str = "factor", depth: int = 2, seed: int = 0
) -> bytes:
    """Two samples, narrow layers, Gauss-Newton to the rounding floor."""
    net = deep.gauss_newton(
        deep.random_deep(depth, kind=kind, activation=activation, n=2, m=3, seed=seed), 8
    )
    return deep.build(net, [deep.claim(net, norm=norm)])


def deep_files() -> Files:
    """deep-descent: dense, residual and convolutional layers."""
    return {
        "deep_dense_tanh": deep_file("dense"),
        "deep_dense_one_layer_rows": deep_file(
            "dense", activation="softplus", norm="rows", depth=1
        ),
        "deep_residual_sigmoid": deep_file("residual", activation="sigmoid"),
        "deep_convolution_tanh": deep_file("conv"),
    }


def trap_file(k: int, r: float, *, seed: int = 0, **changes: Any) -> bytes:
    """A start near the trap."""
    start = trap.near_trap(k, r, p=2, seed=seed)
    return trap.build(start, trap.claim(start, **changes))


def basin_file(k: int, r: float, *, seed: int = 0, **changes: Any) -> bytes:
    """A start near the teacher."""
    start = trap.near_teacher(k, r, p=2, seed=seed)
    return trap.build(start, trap.claim(start, "global-basin", **changes))


def filter_files() -> Files:
    """spurious-minimum and global-basin."""
    return {
        "trap_two_patches": trap_file(2, 0.2),
        "trap_of_the_flow": trap_file(2, 0.1, step=None, seed=1),
        "trap_nine_patches": trap_file(9, 1.0, step=0.9999),
        "basin_two_patches": basin_file(2, 0.2),
        "basin_of_the_flow": basin_file(2, 1.9, step=None, seed=1),
        "basin_above_the_threshold": basin_file(5, 4.0, step=0.9999),
    }


def unique_file(
    form: str, activation: str = "tanh", *, n: int = 6, t: float | None = None, seed: int = 0
) -> bytes:
    """The largest ball that the form proves."""
    net = unique.minimum(activation, n=n, seed=seed)
    return build(net, [unique.largest_claim(net, form, t=t)])


def unique_golden(r: Fraction, **changes: Any) -> bytes:
    """One neuron, one sample."""
    net, pair = unique.golden(r, **changes)
    return build(net, [pair])


def unique_files() -> Files:
    """unique-minimum in its four forms."""
    files = {f"unique_{form}_tanh": unique_file(form) for form in unique.FORMS}
    files |= {f"unique_{form}_quadratic": unique_file(form, "quadratic") for form in unique.FORMS}
    return files | {
        "unique_split_svec": unique_file("split", t=0.5),
        "unique_mixed_sigmoid": unique_file("mixed", "sigmoid", n=12),
        "unique_golden": unique_golden(Fraction(1, 5)),
        "unique_golden_near_the_largest_radius": unique_golden(Fraction(26, 100)),
    }


def factorization_file(
    method: str, side: str = "right", *, seed: int = 0, off: float = 1e-4
) -> bytes:
    """A 4 x 3 matrix of rank 1 with noise."""
    return factorization.build(factorization.noisy(4, 3, 1, seed=seed, off=off), method, side)


def factorization_files() -> Files:
    """factorization-gap in its three methods, on both sides."""
    sided = {
        f"factorization_{m}_{side}": factorization_file(m, side)
        for m in ("frobenius", "factor")
        for side in ("right", "left")
    }
    full = factorization.near_best(np.random.default_rng(3).standard_normal((2, 3)), 2)
    return sided | {
        "factorization_zero": factorization_file("zero"),
        "factorization_zero_full_rank": factorization.build(full, "zero"),
        "factorization_frobenius_far_from_the_best": factorization_file("frobenius", off=0.03),
    }


def head_file(method: str, activation: str = "relu", *, seed: int = 0, off: float = 1e-3) -> bytes:
    """Five samples in two dimensions, three or seven neurons."""
    k = 3 if method == "columns" else 7
    return head.build(head.random_head(5, 2, k, activation=activation, seed=seed).trained(off))


def head_files() -> Files:
    """head-gap in its two methods."""
    files = {
        f"head_{m}_{phi}": head_file(m, phi)
        for m in ("columns", "rows")
        for phi in ("relu", "softplus", "tanh")
    }
    tight = head.random_head(5, 2, 3, seed=4).trained(0.01)
    square = head.random_head(4, 2, 4, activation="tanh", seed=5).trained(1e-6)
    return files | {
        "head_columns_quadratic": head_file("columns", "quadratic", seed=2),
        "head_columns_untrained": head.build(head.random_head(6, 2, 2, seed=3)),
        "head_columns_tight": head.build(tight, [head.head_claim(tight, slack=1 + 1e-9)]),
        "head_columns_without_solve": head.build(tight, [head.head_claim(tight, z=np.zeros(3))]),
        "head_columns_small_mu": head.build(tight, [head.head_claim(tight, share=1e-6)]),
        "head_rows_as_many_neurons_as_samples": head.build(square),
    }


def near_minimum(activation: str, trained: str, seed: int = 0) -> bytes:
    """The object `radius` with a minimum nearby."""
    net, R = ball.near_a_minimum(activation, trained, seed=seed), 1e-3
    while True:
        try:
            pair = ball.surroundings_claim(net, R, minimum=True)
        except np.linalg.LinAlgError:
            pair = None
        if pair is not None:
            return build(net, [pair])
        R /= 2


def around(
    activation: str, trained: str, *, method: str = "dense", seed: int = 7, R: float = 0.05
) -> bytes:
    """The object `radius` with epsilon only."""
    net = random_smooth(4, 2, 2, activation=activation, trained=trained, seed=seed)
    return build(net, [ball.surroundings_claim(net, R, method=method)])


def saddle_of_both(activation: str, seed: int = 0) -> bytes:
    """strict-saddle for both layers with the largest ball of a geometric grid."""
    net = _bent_down(activation, seed)
    fields, tensors = saddle_claim(net)
    gamma, R = float(Fraction(fields["gamma"])), 1.0
    while ball.lipschitz_of_both(net, R) * 1.001 * R > gamma:
        R /= 2
    radius = {"R": R, "Lip": ball.lipschitz_of_both(net, R) * 1.001}
    return build(net, [(fields | {"radius": gmc.written(radius)}, tensors)])


def _bent_down(activation: str, seed: int) -> Smooth:
    while True:
        net = random_smooth(3, 2, 2, activation=activation, trained="vW", seed=seed)
        if np.linalg.eigvalsh(hessian(net))[0] < -1e-2:
            return net
        seed += 1


def radius_files() -> Files:
    """The object `radius` of second-order-stationary, and of strict-saddle for both layers."""
    return {
        "second_order_radius_W_tanh": around("tanh", "W"),
        "second_order_radius_W_blocks": around("sigmoid", "W", method="blocks"),
        "second_order_radius_vW_softplus": around("softplus", "vW"),
        "second_order_radius_minimum_W": near_minimum("tanh", "W"),
        "second_order_radius_minimum_vW": near_minimum("sigmoid", "vW"),
        "saddle_radius_both_layers_tanh": saddle_of_both("tanh"),
        "saddle_radius_both_layers_softplus": saddle_of_both("softplus"),
    }


@cache
def family_accepted() -> Files:
    """All of them: file name without ending -> bytes."""
    first = gram_files() | relu_descent_files() | deep_files() | filter_files()
    second = unique_files() | factorization_files() | radius_files()
    return first | second | head_files() | linearized_files()
