"""The smallest honest certificates of every claim kind, from a seed: at most three samples, two
features, two neurons or patches.

They leave room in every number, so that an attack on one check does not meet another one first.
Small sizes keep thousands of them cheap in both checkers; the sizes that a matrix can have at all
(1 x 1, diagonal, full) all occur.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from tests.checker import additive_stream_cases as additive
from tests.checker import deep_cases as deep
from tests.checker import deep_trajectory_cases as deep_runs
from tests.checker import factorization_cases as factorization
from tests.checker import gram_cases as gram
from tests.checker import head_cases as head
from tests.checker import patch_cases as patches
from tests.checker import quadratic_cases as q
from tests.checker import relu_descent_cases as relu
from tests.checker import relu_linearized_cases as linearized
from tests.checker import relu_trajectory_cases as relu_runs
from tests.checker import second_order_cases as s
from tests.checker import stream_cases as streams
from tests.checker import surroundings_cases as ball
from tests.checker import trajectory_cases as runs
from tests.checker import trajectory_variants as sampled_runs
from tests.checker import trap_cases as trap
from tests.checker import unique_minimum_cases as unique
from tests.checker.cases import Smooth, build
from tests.checker.gram_cases import resnet_claim
from tests.corpus import honest_quadratic as h
from tests.corpus.drafts import Draft, seal
from tests.corpus.honest_instances import (
    SMOOTH_NETWORKS,
    descent_draft,
    floor_draft,
    interpolation_draft,
    relu_draft,
)
from tests.corpus.small_producer import Model, NotProvableError, Slack, exact, lipschitz_part
from tests.corpus.whole_files import Whole, opened, times
from tests.mutation import regularized_recipes as regularized
from tests.oracles import gmc_builder as gmc

from globalmin_check.engine import check_bytes

Rng = np.random.Generator
Recipe = Callable[[Rng, int], bytes]
SIZES = ((1, 1, 1), (1, 1, 2), (2, 2, 2), (2, 1, 2), (1, 2, 1), (3, 2, 2))
ROOMY = Slack(a2=0.05, kappa=0.05, radius=0.05, norm=0.05, step=0.05, loss=1e-3)
SMOOTH = ("softplus", "sigmoid", "tanh", "erf", "quadratic")
TRIES = 200


def pick(rng: Rng, *options: Any) -> Any:
    """One of the options."""
    return options[int(rng.integers(len(options)))]


def turn(number: int, *options: Any) -> Any:
    """The option whose turn it is: consecutive numbers meet all of them."""
    return options[number % len(options)]


def _seed(rng: Rng) -> int:
    return int(rng.integers(2**31))


def _interpolation(rng: Rng, number: int) -> bytes:
    network = SMOOTH_NETWORKS["tanh" if number % 8 == 3 else pick(rng, *SMOOTH_NETWORKS)]
    options: dict[str, Any] = {
        "trained": turn(number + number // 6, "W", "vW"),
        "method": pick(rng, "rows", "svec"),
    }
    options |= {"noise": float(10 ** rng.uniform(-6, -2.5)), "lower": number % 4 < 2}
    draft = interpolation_draft(rng, network, turn(number, *SIZES), slack=ROOMY, **options)
    return seal(_widened(draft, rng) if number % 8 in (3, 6) else draft)


def _widened(draft: Draft, rng: Rng) -> Draft:
    """The same with a radius at which the suprema of the derivatives, not their values at the
    weights, bound the constants.
    """
    claim, rho = draft.claims[0], exact(float(10 ** rng.uniform(-1, 0.3)))
    model = Model(draft.network, draft.X, draft.y, draft.W, draft.v)
    part = lipschitz_part(
        model, claim.fields["trained"], rho, method=claim.fields["quartic"]["method"], slack=ROOMY
    )
    claim.fields |= part.fields
    claim.tensors |= part.tensors
    return draft


def _descent(rng: Rng, number: int) -> bytes:
    network = SMOOTH_NETWORKS["tanh" if number % 8 == 3 else pick(rng, *SMOOTH_NETWORKS)]
    options: dict[str, Any] = {
        "trained": turn(number + number // 6, "W", "vW"),
        "method": pick(rng, "rows", "svec"),
    }
    options |= {
        "noise": float(10 ** rng.uniform(-7, -3.5)),
        "norm": turn(number // 2, "rows", "factor"),
    }
    draft = descent_draft(rng, network, turn(number, *SIZES), slack=ROOMY, **options)
    return seal(_widened(draft, rng) if number % 8 in (3, 6) else draft)


def _relu_interpolation(rng: Rng, number: int) -> bytes:
    sizes = turn(number, (1, 1, 1), (1, 2, 2), (2, 2, 2), (2, 1, 3), (3, 2, 4))
    dropped = sizes[0] == 2 and number % 2 == 0
    draft = relu_draft(
        rng, sizes, noise=float(10 ** rng.uniform(-5, -1)), dropped=dropped, slack=ROOMY
    )
    draft.claims[0].tensors["W_hat"] += float(10 ** rng.uniform(-9, -5)) * rng.normal(
        size=draft.W.shape
    )
    draft.claims[0].fields["R"] *= Fraction(11, 10)
    draft.claims[0].fields["R"] += Fraction(1, 10**4)
    return seal(draft)


def _loss_floor(rng: Rng, number: int) -> bytes:
    name = turn(
        number, "softplus", "sigmoid", "tanh", "erf", "relu", "abs", "quadratic", "leaky_relu"
    )
    base, labels = rng.normal(size=2).round(3), rng.normal(size=3).round(3).tolist()
    heads = (
        pick(rng, "any", "nonnegative")
        if name in ("softplus", "sigmoid", "relu", "abs", "quadratic")
        else "any"
    )
    kind, factors = 0, (1.0, 1.0, 0.5)
    if name in ("relu", "leaky_relu", "quadratic") and rng.random() < 0.5:
        kind, factors = 2, (1.0, 2.0, 1.0)
    network = {"activation": name, "kind": "shallow"} | (
        {"parameter": "1/4"} if name == "leaky_relu" else {}
    )
    first, second = Fraction(labels[0]), Fraction(labels[1])
    c = Fraction(factors[1]) ** (2 if name == "quadratic" else 1)
    inner = first + c * second
    inner = max(inner, Fraction(0)) if heads == "nonnegative" else inner
    floor = (first**2 + second**2 - inner**2 / (1 + c * c)) / 2
    rows = [list(base * factor) for factor in factors]
    return seal(
        floor_draft(network, rows, labels, [(kind, [0, 1])], floor * Fraction(99, 100), heads=heads)
    )


def _loosened(draft: Draft, **factors: float) -> bytes:
    for name, factor in factors.items():
        draft.claims[0].fields[name] = draft.claims[0].fields[name] * Fraction(factor) + Fraction(
            1, 10**6
        )
    return seal(draft)


def _optimality_gap(rng: Rng, number: int) -> bytes:
    seed, d, one_sign = _seed(rng), int(rng.integers(1, 3)), pick(rng, *h.HEADS[:2])
    method, heads = (
        turn(number, "positive", "span", "decay", "decay", "rank"),
        turn(number, *h.HEADS),
    )
    if method == "positive":
        draft = h.gap_positive(
            seed,
            n=3 if d == 2 else pick(rng, 1, 2, 3),
            d=d,
            heads=one_sign,
            trained=False,
            slack=1e-2,
        )
    elif method == "rank":
        net = q.random_network(3, 1, 2, seed=seed, heads=one_sign)
        net = q.Quadratic(np.hstack([net.X, net.X]), net.y, np.hstack([net.W, net.W]), net.v)
        draft = h.opened(net, [q.gap_positive(net, room=1e-2, rows=np.array([0]))])
    elif method == "span":
        draft = h.gap_span(seed, n=3 if d == 2 else pick(rng, 1, 3), d=d, slack=0.1)
    else:
        net = q.random_network(pick(rng, 1, 3), d, 2, seed=seed, heads=heads)
        draft = h.opened(
            net, [q.gap_decay(net, 0.5, heads=heads, v_max=pick(rng, 1.0, 1.5), room=0.1)]
        )
    return _loosened(draft, gap=1.01, loss_upper=1.01)


def _identifies(rng: Rng, number: int) -> bytes:
    n, d = turn(number, (1, 1), (2, 1), (3, 2))
    return _loosened(
        h.identifies(_seed(rng), n=n, d=d, stable=number % 8 < 7, slack=0.1), loss_upper=1.01
    )


def _ambiguous(rng: Rng, number: int) -> bytes:
    seed = _seed(rng)
    draft = h.ambiguous(seed, d=2, slack=0.1) if number % 2 else h.ambiguous_kernel(seed, slack=0.1)
    draft.claims[0].fields["difference"] *= Fraction(1, 2)
    return _loosened(draft, loss_upper=1.01)


def _below_barrier(rng: Rng, number: int) -> bytes:
    n, d = turn(number, (1, 1), (2, 1), (3, 2))
    draft = h.barrier(_seed(rng), n=n, d=d, norm=turn(number, "rows", "factor"), slack=0.05)
    fields, tensors = draft.claims[0].fields, draft.claims[0].tensors
    for name, role, sign in (
        ("a_lo", "C_lo", -1),
        ("a_hi", "C_hi", 1),
    ):  # room of a twentieth instead of a millionth
        fields[name] += sign * abs(fields[name]) / 20
        A = sign * (float(fields[name]) * np.eye(d) - tensors["A_hat"])
        tensors[role] = h.q.inverse_factor(A)
    fields["eta"] *= Fraction(1, 2)
    fields["rate"] = 1 - (1 - fields["rate"]) / 10
    return _loosened(draft, E0=1.05, loss_upper=1.05)


def _bent(rng: Rng, trained: str, least: int = 1) -> Smooth:
    """Any weights, with at least this many neurons."""
    sizes = ((1, 1, 1), (2, 1, 1), (2, 2, 1), (3, 1, 2), (2, 2, 2))
    n, d, k = pick(rng, *[size for size in sizes if size[2] >= least])
    return s.random_smooth(n, d, k, activation=pick(rng, *SMOOTH), trained=trained, seed=_seed(rng))


def _strict_saddle(rng: Rng, number: int) -> bytes:
    trained, radius = turn(
        number, ("W", "rows"), ("vW", "both"), ("W", "svec"), ("W", ""), ("W", "rows"), ("vW", "")
    )
    net = _bent(rng, trained)
    if np.linalg.eigvalsh(s.hessian(net))[0] > -1e-2:
        raise NotProvableError("no negative curvature")
    fields, tensors = s.saddle_claim(net, radius=radius if trained == "W" else "", slack=1.05)
    if radius and trained == "vW":
        gamma, R = float(Fraction(fields["gamma"])), 1.0
        while ball.lipschitz_of_both(net, R) * 1.1 * R > gamma:
            R /= 2
        fields["radius"] = gmc.written({"R": R, "Lip": ball.lipschitz_of_both(net, R) * 1.05})
    file = opened(build(net, [(fields, tensors)]))
    return _scaled(file, eps=1.01, loss_upper=1.01, gamma=0.99, **({"R": 0.8} if radius else {}))


def _scaled(file: Whole, **factors: float) -> bytes:
    for name, factor in factors.items():
        times(name, factor)(file)
    return file.sealed()


def _second_order(rng: Rng, number: int) -> bytes:
    shape, trained = (
        turn(number, "plain", "minimum", "around", "plain"),
        turn(number // 4, "W", "vW"),
    )
    if shape == "minimum":
        net = _near_minimum(rng, trained)
        pair = ball.surroundings_claim(
            net, 1e-3 * float(np.linalg.eigvalsh(s.hessian(net))[0]), minimum=True
        )
        return _scaled(
            opened(build(net, [pair])), epsilon=1.5, distance=1.5, loss_upper=1.01, eps=1.1
        )
    method = "blocks" if trained == "W" and number % 4 in (0, 2) else "dense"
    net = _bent(rng, trained, 2 if method == "blocks" else 1)
    if shape == "around":
        pair = ball.surroundings_claim(net, 0.05, method=method)
        return _scaled(opened(build(net, [pair])), epsilon=2, eps=1.01, loss_upper=1.01)
    return _scaled(
        opened(build(net, [s.second_order_claim(net, method=method, slack=1.1)])),
        eps=1.01,
        loss_upper=1.01,
    )


def _near_minimum(rng: Rng, trained: str) -> Smooth:
    """Labels near the outputs, so that the Gauss-Newton part dominates; then a little beside the
    minimum.
    """
    net = s.random_smooth(3, 1, 1, activation=pick(rng, *SMOOTH), trained=trained, seed=_seed(rng))
    net = replace(net, y=net.residual() + net.y + 0.01 * rng.standard_normal(3))
    for _ in range(30):
        net = ball.moved(net, -np.linalg.solve(s.hessian(net), s.gradient(net)))
    if not np.linalg.eigvalsh(s.hessian(net))[0] > 1e-2:
        raise NotProvableError("not a strict minimum")
    return ball.moved(net, 1e-7 * rng.standard_normal(len(s.gradient(net))))


def _unique_minimum(rng: Rng, number: int) -> bytes:
    form, t = turn(number, *unique.FORMS), pick(rng, None, None, 0.25)
    n, k, activation = (
        (5, 2, pick(rng, *SMOOTH[:4])) if number % 8 == 4 else (3, 1, pick(rng, *SMOOTH))
    )
    W = np.array([[1.0, 0.3], [-0.2, 0.9]])[:k] + 0.1 * rng.standard_normal((k, 2))
    net = replace(s.random_smooth(n, 2, k, activation=activation, seed=_seed(rng)), W=W)
    net = replace(net, y=net.residual() + net.y + 0.01 * rng.standard_normal(n))
    for _ in range(30):
        net = replace(net, W=net.W - np.linalg.solve(s.hessian(net), s.gradient(net)).reshape(k, 2))
    if not np.linalg.eigvalsh(s.hessian(net))[0] > 1e-2:
        raise NotProvableError("not a strict minimum")
    net = replace(net, W=net.W + 1e-7)
    r = 1.0
    while unique.unique_claim(net, form, r, t=t)[1] <= 0:
        r *= 0.7
        if r < 1e-6:
            raise NotProvableError("no ball")
    pair, _ = unique.unique_claim(net, form, 0.5 * r, t=t)
    _slower(pair[0], Fraction(1, 2))
    return _scaled(
        opened(build(net, [pair])), mu=0.9, M=1.05, r_minus=1.1, eta=0.8, loss_upper=1.01
    )


def _relu_descent(rng: Rng, number: int) -> bytes:
    n, d, k = turn(number, (1, 1, 1), (1, 1, 2), (2, 2, 1), (2, 2, 2))
    X = (
        rng.standard_normal((n, d))
        if rng.random() < 0.6
        else np.eye(n, d) * rng.uniform(0.5, 2, (n, 1))
    )
    W, v = (
        rng.standard_normal((k, d)) + np.sum(np.abs(X), axis=0),
        rng.uniform(0.5, 1.5, k) * pick(rng, 1, -1),
    )
    W[0] = np.linalg.lstsq(X, rng.uniform(0.5, 2, n), rcond=None)[
        0
    ]  # the first neuron is active everywhere
    if k == 2:  # the second one is so near to the kink that it may change sign
        W[1], v[1] = 1e-9 * W[1], 0.1 * v[1]
    fit = relu.ReluFit(X, np.zeros(n), W, v)
    fit = replace(fit, y=fit.residual() + float(10 ** rng.uniform(-4, -1)) * rng.standard_normal(n))
    fields, tensors = relu.claim(fit, norm=turn(number // 4, "rows", "factor"))
    _slower(fields)
    return _scaled(opened(relu.build(fit, [(fields, tensors)])), path=1.1, eta=0.95, loss_upper=1.1)


def _relu_linearized(rng: Rng, number: int) -> bytes:
    n, d, k = turn(number, (1, 1, 1), (1, 1, 2), (2, 2, 1), (2, 2, 2))
    X = np.eye(n, d) * rng.uniform(0.5, 2, (n, 1)) + 0.1 * rng.standard_normal((n, d))
    W, v = rng.standard_normal((k, d)), rng.uniform(0.5, 1.5, k) * pick(rng, 1, -1)
    W[0] = np.linalg.lstsq(X, rng.uniform(0.5, 2, n), rcond=None)[0]
    if k == 2:  # so near to the kink that it may change sign
        W[1], v[1] = 1e-9 * W[1], 0.1 * v[1]
    fit = relu.ReluFit(X, np.zeros(n), W, v)
    fit = replace(fit, y=fit.residual() + float(10 ** rng.uniform(-3, -1)) * rng.standard_normal(n))
    made = linearized.claim(
        fit, norm=turn(number // 4, "rows", "factor"), steps=int(rng.integers(1, 4))
    )
    if made is None:
        raise NotProvableError("no set of pairs closes")
    _slower(made[0])
    file = opened(relu.build(fit, [made]))
    return _scaled(file, path=1.1, eta=0.95, tau=1.02, loss_upper=1.1)


def _slower(fields: dict[str, Any], kept: Fraction = Fraction(9, 10)) -> None:
    """Keep only a part of the decay per step."""
    fields["rate"] = str(1 - (1 - Fraction(fields["rate"])) * kept)


def _gram_positive(rng: Rng, number: int) -> bytes:
    kernel, n = turn(number + number // 8, "weights", "features"), pick(rng, 1, 2, 2)
    style = turn(number, *["relu"] * 5, "erf", "series", "resnet")
    X = rng.standard_normal((n, 2))
    X /= np.linalg.norm(X, axis=1, keepdims=True) * 2
    if style == "relu":
        name, pair = "relu", gram.claim("relu", X, kernel, slack=0.8)
    elif style != "resnet":
        name = "erf" if style == "erf" else pick(rng, "tanh", "sigmoid", "softplus")
        X = X[:1] if name != "erf" else X
        pair = gram.claim(name, X, kernel, top=1, slack=0.8, step=Fraction(1, 2), nodes=16)
    elif number // 8 % 2:
        name, X = "erf", X[:1]
        layers = [(1.5, False), *([(0.5, pick(rng, True, False))] if number // 16 % 2 else [])]
        rule = {"slack": 0.8, "terms": 2, "step": Fraction(1, 2), "nodes": 16}
        pair = gram.deep_claim(name, X, layers, pick(rng, "last", "all"), **rule)
    else:
        name = pick(rng, "tanh", "sigmoid")
        fields, _, _ = resnet_claim(name, X[:1], step=Fraction(1, 2), nodes=16, depth=2)
        X = X[:1]
        orders = [1]
        A = 1.5 * gram.partial_sum(name, X, orders, features=True)
        kappa = Fraction(float(A[0, 0]) * 0.8)
        fields |= {
            "kappa": str(kappa),
            "lam": str(Fraction(fields["lam"]) / 4 * kappa / Fraction(fields["kappa"])),
        }
        pair = (
            fields,
            {
                "Q": np.array(orders, np.int64),
                "C": np.array([[float(A[0, 0] - float(kappa)) ** -0.5]]),
            },
        )
    y, W, v = rng.standard_normal(len(X)), rng.standard_normal((1, 2)), rng.standard_normal(1)
    pair[0]["loss_upper"] = str(Fraction(10))
    return gmc.build(X, y, W, v, [pair], activation=name)


def _deep_descent(rng: Rng, number: int) -> bytes:
    depth, n = turn(number, 1, 2), turn(number // 2 + number // 8, 1, 2)
    style = turn(number // 2, "dense", "dense", "residual", "conv")
    pixels, window, channels = (2, 2, 1) if style == "conv" else (1, 1, 2)
    m = channels if style == "residual" else pick(rng, 1, 2)
    widths = [channels] + [m] * depth
    weights = [rng.standard_normal((m, window * widths[level])) for level in range(depth)]
    skips = [style == "residual" and level > 0 for level in range(depth)]
    windows = np.array([[0, 1], [1, -1]]) if style == "conv" else None
    X = rng.standard_normal((n, channels * pixels))
    net = deep.Deep(
        X,
        np.zeros(n),
        weights,
        rng.standard_normal(m * pixels),
        [0.5] * depth,
        skips,
        pick(rng, *SMOOTH[:4]),
        windows,
    )
    net = replace(net, y=net.outputs() + float(10 ** rng.uniform(-6, -4)) * rng.standard_normal(n))
    fields, tensors = deep.claim(net, norm=turn(number, "factor", "rows", "rows", "factor"))
    _slower(fields)
    return _scaled(opened(deep.build(net, [(fields, tensors)])), eta=0.95, loss_upper=1.1)


def _filter(rng: Rng, kind: str, number: int) -> bytes:
    k, seed = pick(rng, 1, 2, 3), _seed(rng)
    start = trap.near_trap if kind == "spurious-minimum" else trap.near_teacher
    at = start(k, float(rng.uniform(0.05, 0.6)), p=2, seed=seed)
    file = opened(trap.build(at, trap.claim(at, kind, step=turn(number, 0.9, None))))
    return _scaled(file, loss_upper=1.01, **({"floor": 0.99} if kind == "spurious-minimum" else {}))


def _spurious_minimum(rng: Rng, number: int) -> bytes:
    return _filter(rng, "spurious-minimum", number)


def _global_basin(rng: Rng, number: int) -> bytes:
    return _filter(rng, "global-basin", number)


def _factorization_gap(rng: Rng, number: int) -> bytes:
    m, n, r = turn(number, (2, 2, 1), (3, 2, 1), (2, 3, 1), (3, 3, 2))
    method, side = (
        turn(number, "frobenius", "factor", "factor", "frobenius", "zero"),
        pick(rng, "right", "left"),
    )
    case = factorization.noisy(m, n, r, off=float(10 ** rng.uniform(-4, -2)), seed=_seed(rng))
    return _scaled(
        opened(factorization.build(case, method, side)), loss_upper=1.01, gap=1.5, floor=0.9
    )


def _head_gap(rng: Rng, number: int) -> bytes:
    n, k = turn(number, (3, 2), (2, 3), (4, 2), (2, 2))
    activation = pick(rng, "softplus", "tanh", "softplus")
    net = head.random_head(n, 2, k, activation=activation, seed=_seed(rng))
    file = opened(head.build(net.trained(float(10 ** rng.uniform(-4, -1)))))
    return _scaled(file, loss_upper=1.01, mu=0.9, **{"gap" if k < n else "R": 1.2})


def _trajectory(rng: Rng, number: int) -> bytes:
    n, d, k = turn(number, (1, 1, 2), (2, 2, 2), (1, 2, 2))
    run = runs.descended(
        n,
        d,
        k,
        activation=turn(number, "tanh", "softplus"),
        steps=turn(number, 2, 0, 4),
        share=float(rng.uniform(0.3, 0.9)),
        seed=_seed(rng),
        trained="vW" if number % 8 == 6 else "W",
    )
    expansion = turn(number // 2, "norm", "rows")
    if run.v0 is not None:
        expansion = turn(number // 8, "rows", "blocks")
    file = opened(runs.trajectory_file(run, Delta=1e-8, rho=0.2, expansion=expansion))
    return _scaled(file, loss_upper=1.01, b2=1.01, path=1.01)


def _relu_trajectory(rng: Rng, number: int) -> bytes:
    n, d, k = turn(number, (1, 1, 1), (1, 1, 2), (2, 2, 2), (2, 2, 3))
    run = relu_runs.walked(
        n,
        d,
        k,
        steps=turn(number, 2, 0, 3),
        share=float(rng.uniform(0.3, 0.9)),
        off=float(10 ** rng.uniform(-3, -1)),
        seed=_seed(rng),
    )
    if k > 1:  # so near to the kink that it may change sign
        W, v = run.W0.copy(), run.fit.v.copy()
        W[-1], v[-1] = 1e-9 * W[-1], 0.1 * v[-1]
        fit = replace(run.fit, W=W, v=v)
        run = replace(run, fit=fit, W0=W, K=0, walked=0.0).followed(run.K)
    options = {"norm": turn(number // 4, "rows", "factor"), "steps": int(rng.integers(1, 4))}
    made = relu_runs.relu_trajectory_claim(run, Delta=1e-12, **options)
    if made is None:
        raise NotProvableError("no set of pairs closes")
    _slower(made[0])
    file = opened(relu_runs.build_relu(run, [made]))
    return _scaled(file, path=1.1, tau=1.02, loss_upper=1.1)


def _deep_trajectory(rng: Rng, number: int) -> bytes:
    run = deep_runs.deep_walk(
        turn(number, 1, 2),
        n=turn(number // 2, 1, 1, 2),
        m=pick(rng, 1, 2),
        kind=turn(number // 2, "dense", "dense", "res"),
        steps=turn(number, 1, 0, 2),
        share=float(rng.uniform(0.3, 0.8)),
        off=float(10 ** rng.uniform(-6, -4)),
        seed=_seed(rng),
    )
    norm = turn(number, "factor", "rows", "rows", "factor")
    fields, tensors = deep_runs.deep_trajectory_claim(run, Delta=1e-9, norm=norm)
    _slower(fields)
    file = opened(deep.build(run.net, [(fields, tensors)]))
    return _scaled(file, path=1.1, loss_upper=1.1)


def _sgd_trajectory(rng: Rng, number: int) -> bytes:
    n, d, k = turn(number, (1, 1, 2), (2, 2, 2), (1, 2, 2))
    run = sampled_runs.sampled(
        n,
        d,
        k,
        activation=turn(number, "tanh", "softplus"),
        epochs=turn(number, 2, 0, 3),
        share=float(rng.uniform(0.4, 1.1)),
        seed=_seed(rng),
        noise=float(10 ** rng.uniform(-6, -4)),
        tilt=0.3 * (n > 1),
    )
    file = opened(sampled_runs.sgd_file(run, Delta=1e-11, rho=0.1, block=n + number % 2))
    return _scaled(file, loss_upper=1.01, path=1.01)


def _patch_interpolation(rng: Rng, number: int) -> bytes:
    if number % 4 == 3:  # more samples than weights, labels without rounding
        case = patches.integral(3, 3, 1, 2, seed=_seed(rng))
        made = patches.parts(case, solved=[0, 1], room=0.2)
    else:
        n, m, p = turn(number, (1, 1, 2), (2, 2, 2), (2, 1, 2))
        off = float(10 ** rng.uniform(-4, -2))
        case = patches.drawn(n, 3, m, p, off=off, seed=_seed(rng), padding=turn(number, 0, 1))
        hat = case.W + float(10 ** rng.uniform(-9, -5)) * rng.standard_normal(case.W.shape)
        made = patches.parts(case, hat=hat, room=0.2)
    file = opened(patches.build(case, made))
    return _scaled(file, loss_upper=1.01, R=1.1)


def _stream_gap(rng: Rng, number: int) -> bytes:
    n, q = turn(number, (3, 1), (5, 2), (2, 1), (4, 1))
    heads, bias = turn(number, "any", "nonnegative", "any", "nonpositive"), number % 3 != 0
    cuts = turn(number, (1,), (), (1,))
    case = streams.drawn(n, q, cuts=cuts, heads=heads, bias=bias, seed=_seed(rng))
    file = opened(streams.build(case, streams.parts(case, heads)))
    return _scaled(file, loss_upper=1.01, gap=1.5)


def _additive_stream_gap(rng: Rng, number: int) -> bytes:
    n, q = turn(number, (3, 1), (3, 2), (2, 1), (4, 1))
    case = additive.drawn(n, q, cuts=turn(number, (1,), (), (1,)), seed=_seed(rng))
    file = opened(additive.build(case, additive.parts(case)))
    return _scaled(file, loss_upper=1.01, gap=1.5)


RECIPES: dict[str, Recipe] = {
    "interpolation": _interpolation,
    "descent": _descent,
    "relu-interpolation": _relu_interpolation,
    "loss-floor": _loss_floor,
    "optimality-gap": _optimality_gap,
    "identifies": _identifies,
    "ambiguous": _ambiguous,
    "below-barrier": _below_barrier,
    "strict-saddle": _strict_saddle,
    "second-order-stationary": _second_order,
    "relu-descent": _relu_descent,
    "relu-linearized-descent": _relu_linearized,
    "gram-positive": _gram_positive,
    "deep-descent": _deep_descent,
    "spurious-minimum": _spurious_minimum,
    "global-basin": _global_basin,
    "unique-minimum": _unique_minimum,
    "factorization-gap": _factorization_gap,
    "head-gap": _head_gap,
    "trajectory": _trajectory,
    "relu-trajectory": _relu_trajectory,
    "deep-trajectory": _deep_trajectory,
    "sgd-trajectory": _sgd_trajectory,
    "dual-gap": regularized.dual_gap,
    "unused-terms": regularized.unused_terms,
    "patch-interpolation": _patch_interpolation,
    "stream-gap": _stream_gap,
    "additive-stream-gap": _additive_stream_gap,
}


@lru_cache(maxsize=512)
def base(kind: str, number: int) -> Whole:
    """The honest file of this number: the first draw of its recipe that the checker accepts."""
    rng = np.random.default_rng([zlib.crc32(kind.encode()), number])
    for _ in range(TRIES):
        try:
            with np.errstate(all="ignore"):
                raw = RECIPES[kind](rng, number)
        except (NotProvableError, np.linalg.LinAlgError, OverflowError, ValueError):
            continue
        if check_bytes(raw).verdict.value == "ACCEPTED":
            return opened(raw)
    raise AssertionError(f"no honest {kind} file of number {number} in {TRIES} draws")
