"""Instances whose truth is known by construction: contradictory labels, a dead neuron, a known
distance, a run that breaks away.

`planted(kind, rng)` writes a file of the kind that is false whatever its witness says, for a reason
that neither checker is asked about. The one-parameter loss (w^2 - y)^2/2 has the critical points 0
and +-sqrt(y), the derivative 2w (w^2 - y) and the second derivative 6 w^2 - 2y; contradictory
labels leave no zero of the loss at all; a run is simulated.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from fractions import Fraction

import numpy as np
from tests.checker import gram_cases as gram
from tests.checker import relu_descent_cases as relu
from tests.checker import unique_minimum_cases as unique
from tests.checker.cases import build
from tests.corpus import corpus_quadratic_goldens as golden
from tests.corpus.honest_instances import SMOOTH_NETWORKS
from tests.corpus.small_producer import Model, NotProvableError, interpolation, relu_interpolation
from tests.corpus.whole_files import Whole, opened
from tests.mutation import planted_minima as minima
from tests.mutation.factor_attacks import refitted
from tests.mutation.hostile_witnesses import PREFIX
from tests.mutation.oracle_margins import rational, square_root, with_field
from tests.mutation.planted_minima import hair, sealed_draft
from tests.mutation.postponed_checks import changed
from tests.mutation.regularized_recipes import floor_above_the_network
from tests.mutation.simulated_runs import refuted_by_its_run
from tests.mutation.tiny_instances import base, pick
from tests.oracles import gmc_builder as gmc
from tests.oracles.fraction_quadratic_claims import least_squares_matrix, quadratic_form
from tests.oracles.strict_container import read

Rng = np.random.Generator
Plant = Callable[[Rng], Whole | None]
BASES = 4
RELU = {"activation": "relu", "kind": "shallow"}


def two_labels_for_one_row(rng: Rng, kind: str) -> Whole:
    """An honest file with its first sample repeated under another label (on a ray for ReLU): no
    weights fit both.
    """
    file = base(kind, int(rng.integers(BASES))).copy()
    X, y = file.tensors["X"], file.tensors["y"]
    factor = float(rng.choice([1.0, 2.0])) if kind.startswith("relu") else 1.0
    shift = float(2.0 ** -rng.integers(1, 40))
    label = np.nextafter(factor * y[0] + shift, np.inf)
    n = len(y)
    file.tensors |= {"X": np.vstack([X, factor * X[:1]]), "y": np.append(y, label)}
    file.top["data"]["n"] = n + 1
    kept = n + 1 - len(file.tensors.get(PREFIX + "dropped", []))
    for role in ("C_a", "C_b", "C", "C_Lam"):
        if PREFIX + role in file.tensors:
            file.tensors[PREFIX + role] = np.eye(kept)
    for role in ("z", "e"):
        if PREFIX + role in file.tensors:
            file.tensors[PREFIX + role] = np.append(file.tensors[PREFIX + role], 1.0)
    file = changed(file, loss_upper=Fraction(1000))
    name = next(name for name in ("a2", "mu", "lam") if name in file.claim)
    if "block" in file.claim:
        file.claim["block"] = n + 1  # a block meets every sample
    if "rate" in file.claim:
        file = changed(file, rate=1 - Fraction(1, 2**400))
    return refitted(with_field(file, name, rational(file, name) * hair(rng) / 4))


def beyond_the_nearest_zero(rng: Rng) -> Whole | None:
    """interpolation, one parameter: the zero +-sqrt(y) is at a known distance; R is below it, or
    R_lo above, or y is negative.
    """
    w = float(rng.uniform(0.5, 2))
    y = w * w * (1 + float(rng.uniform(-0.01, 0.01)))
    model = Model(
        SMOOTH_NETWORKS["quadratic"], np.ones((1, 1)), np.array([y]), np.array([[w]]), np.ones(1)
    )
    try:
        file = sealed_draft(
            model.draft([interpolation(model, method=pick(rng, "rows", "svec"), lower=True)])
        )
    except NotProvableError:
        return None
    distance = abs(Fraction(w) - square_root(Fraction(y)))
    style = pick(rng, "R", "R_lo", "negative")
    if style == "negative":
        file.tensors["y"] = -file.tensors["y"]
        return changed(file, loss_upper=Fraction(1000), R=Fraction(1), rho=Fraction(1))
    value = (
        distance * (1 - hair(rng))
        if style == "R"
        else distance * (1 + hair(rng)) + Fraction(1, 2**600)
    )
    file = with_field(file, style, value)
    if style == "R":
        file.claim.pop("R_lo")
    return file


def relu_beyond_the_zero(rng: Rng) -> Whole | None:
    """relu-interpolation, one neuron: the only zero is y/(v x); R is below the distance, or y has
    the wrong sign.
    """
    w, x, v = rng.uniform(0.5, 2, 3)
    target = w * (1 + float(rng.uniform(-0.3, 0.3)))
    y = float(v * target * x)
    model = Model(RELU, np.array([[x]]), np.array([y]), np.array([[w]]), np.array([v]))
    file = sealed_draft(model.draft([relu_interpolation(model, np.array([[target]]))]))
    if rng.random() < 0.3:
        file.tensors["y"] = -file.tensors["y"]
        return changed(file, loss_upper=Fraction(1000), R=Fraction(1000))
    distance = abs(Fraction(float(w)) - Fraction(y) / (Fraction(float(v)) * Fraction(float(x))))
    return with_field(file, "R", distance * (1 - hair(rng))) if distance else None


def run_that_breaks_its_rate(rng: Rng, kind: str) -> Whole | None:
    """A descent claim with a larger step or a better rate, if its own first steps refute it."""
    file = base(kind, int(rng.integers(BASES)))
    factor = Fraction(float(2 ** rng.uniform(0.5, 6)))
    lie = with_field(file, "eta", rational(file, "eta") * factor)
    lie = with_field(lie, "rate", max(1 - (1 - rational(file, "rate")) * factor, Fraction(0)))
    if rng.random() < 0.4:
        lie = with_field(file, "rate", rational(file, "rate") * hair(rng))
    least = Fraction(0)
    if kind == "below-barrier":
        c = read(file.sealed())
        A = least_squares_matrix(c)
        least = (
            sum(
                ((quadratic_form(A, x) - y) ** 2 for x, y in zip(c.X, c.y, strict=True)),
                Fraction(0),
            )
            / 2
        )
    if kind in (
        "relu-descent",
        "relu-linearized-descent",
        "relu-trajectory",
    ):  # consistent with the lie: the bound of the step follows from lam and Lam
        lie = changed(
            lie, Lam=max(2 / rational(lie, "eta") - rational(lie, "lam"), Fraction(1, 10**9))
        )
    return lie if refuted_by_its_run(lie, least) else None


def dead_neuron(rng: Rng, kind: str = "relu-descent") -> Whole:
    """The neuron is inactive on every sample and the labels are not zero, so the
    gradient is zero for ever.
    """
    n = int(rng.integers(1, 3))
    X, v = np.eye(n, 2) * rng.uniform(0.5, 2, (n, 1)), rng.uniform(0.5, 1.5, 1)
    W = -rng.uniform(0.25, 2, (1, 2)) * float(2.0 ** -rng.integers(0, 60))
    fit = relu.ReluFit(X, rng.uniform(0.1, 1, n) * float(2.0 ** -rng.integers(0, 60)), W, v)
    K = X @ X.T * float(v[0]) ** 2
    g = Fraction(float(np.linalg.norm(fit.y)))
    lam = Fraction(float(np.diag(K).min())) * pick(rng, Fraction(1, 2), Fraction(9, 10))
    Lam = Fraction(float(np.diag(K).max())) * Fraction(11, 10)
    fields = {
        "lam": lam,
        "Lam": Lam,
        "eps": lam * hair(rng),
        "tau": g / lam * 4,
        "eta": 1 / (lam + Lam),
        "norm": "rows",
    }
    fields |= {
        "rate": 1 - fields["eta"] * (lam - fields["eps"]),
        "path": g / lam * 100 * (1 + Lam),
        "loss_upper": Fraction(10),
    }
    tensors: dict[str, np.ndarray] = {"e": np.ones(n), "C": np.eye(n)}
    if kind == "relu-linearized-descent":
        fields["steps"] = int(rng.integers(1, 4))
        tensors["U"] = np.flatnonzero(rng.random(n) < rng.random()).astype(np.int64)
    pair = gmc.claim(kind, **fields), tensors
    return refitted(opened(relu.build(fit, [pair])))


def _saddle_lie(rng: Rng) -> Whole:
    """strict-saddle, y = 1, 0 <= w < .57: too small a gradient, too much curvature, or the minimum
    at 1 inside the ball.
    """
    w = float(rng.uniform(0.05, 0.5))
    exact = Fraction(w)
    style = pick(rng, "eps", "gamma", "R")
    if style == "eps":
        return sealed_draft(
            golden.saddle(
                w, Fraction(1, 100), eps=abs(2 * exact * (exact**2 - 1)) * (1 - hair(rng))
            )
        )
    if style == "gamma":
        return sealed_draft(golden.saddle(w, (2 - 6 * exact**2) * (1 + hair(rng))))
    R = (1 - exact) * (1 + hair(rng))
    gamma = (2 - 6 * exact**2) * Fraction(99, 100)
    file = sealed_draft(golden.saddle_radius(R, (Fraction(1), Fraction(1)), gamma=gamma))
    file.tensors["W"] = np.array([[w]])
    small = gamma / R * pick(rng, Fraction(9, 10), Fraction(1))
    file = changed(
        file,
        loss_upper=Fraction(1),
        eps=Fraction(2),
        radius__lam=small,
        radius__quartic__kappa=small,
    )
    return refitted(file)


def _second_order_lie(rng: Rng) -> Whole:
    """second-order-stationary, y = 1: too small a gradient, curvature below -delta, two critical
    points in the ball, or a minimum that is farther away than claimed."""
    style = pick(rng, "eps", "delta", "two critical points", "distance")
    w = (
        float(rng.uniform(0.05, 0.5))
        if style in ("eps", "delta")
        else 1 + float(2.0 ** -rng.integers(20, 40))
    )
    exact = Fraction(w)
    slope, bend = 2 * exact * (exact**2 - 1), 6 * exact**2 - 2
    if style == "eps":
        return sealed_draft(golden.second_order(Fraction(3), w, eps=abs(slope) * (1 - hair(rng))))
    if style == "delta":
        return refitted(sealed_draft(golden.second_order(-bend * (1 - hair(rng)), w)))
    eps, mu = slope * Fraction(11, 10), bend * Fraction(99, 100)
    R, D = Fraction(1, 10), (exact - 1) * (1 - hair(rng))
    if style == "two critical points":
        R, D = exact * (1 + hair(rng)), (exact - 1) * 2
    Lam = 12 * (1 + R) if style == "distance" else mu / R * Fraction(99, 100)
    radius = {
        "R": R,
        "lam": Lam,
        "quartic": {"kappa": Lam, "method": "rows"},
        "epsilon": Fraction(10),
    }
    radius["minimum"] = {"mu": mu, "distance": D}
    file = sealed_draft(golden.second_order(Fraction(1, 1000), w, eps=eps))
    file.claim["radius"] = gmc.written(radius)
    one = np.ones((1, 1))
    file.tensors |= {PREFIX + role: one for role in ("C_lam", "C_kappa", "C_mu")}
    return refitted(file)


def _unique_lie(rng: Rng) -> Whole:
    """unique-minimum, y = w = 1 nearly: 0 in the ball as well, the minimum farther than r_minus, or
    too large a modulus.
    """
    style = pick(rng, "two critical points", "r_minus", "mu")
    r = 1 + hair(rng) if style == "two critical points" else Fraction(1, 5)
    net, (fields, tensors) = unique.golden(r)
    file = opened(build(net, [(fields, tensors)]))
    if style == "two critical points":
        mu = Fraction(1, 10**3)
        small = (4 - Fraction(1, 10**6) - mu) / r * Fraction(999, 1000)
        file = changed(
            file,
            mu=mu,
            lam=small,
            quartic__kappa=small,
            M=Fraction(100),
            eta=Fraction(1, 100),
            rate=1 - mu / 200,
        )
    if style == "r_minus":
        file.tensors["W"] = np.array([[1 + 2.0**-20]])
        file = changed(
            file,
            loss_upper=Fraction(1),
            r_minus=Fraction(1, 2**20) * (1 - hair(rng)),
            mu=Fraction(1, 2),
            rate=SLOW,
        )
    if style == "mu":
        mu = 4 * (1 + hair(rng))
        file = changed(file, mu=mu, m0=mu * 2, M=Fraction(100), eta=Fraction(1, 100), rate=SLOW)
    return refitted(file)


SLOW = 1 - Fraction(1, 10**6)


def _gram_lie(rng: Rng) -> Whole:
    """gram-positive: equal rows (singular for every kernel), parallel rows (singular for ReLU), or
    more than a diagonal entry.
    """
    X = rng.standard_normal((2, 2)) / 2
    style = pick(rng, "equal", "parallel", "diagonal", "diagonal")
    if style == "diagonal":  # H_11 = |x|^2/2 for ReLU, whatever the kernel
        X = X[:1]
        fields, tensors = gram.claim("relu", X, pick(rng, "weights", "features"))
        lam = sum((Fraction(float(x)) ** 2 for x in X[0]), Fraction(0)) / 2 * (1 + hair(rng))
        return refitted(with_field(opened(gram.build("relu", X, [(fields, tensors)])), "lam", lam))
    X[1] = X[0] * (2.0 if style == "parallel" else 1.0)
    name = "relu" if style == "parallel" else pick(rng, "relu", "erf")
    options = {} if name == "relu" else {"top": 1, "step": Fraction(1, 2), "nodes": 12}
    fields, tensors = gram.claim(
        name, X, pick(rng, "weights", "features"), lam=hair(rng) / 8, **options
    )
    return refitted(opened(gram.build(name, X, [(fields, tensors)])))


def _coarse_rule(rng: Rng) -> Whole:
    """gram-positive: tanh has a slope of at most 1, so no diagonal entry exceeds |x|^2; three nodes
    at the distance 2 give the mean slope as 1.0138, and lam is between the two."""
    x = float(2.0 ** -rng.integers(6, 30))
    lam = Fraction(x) ** 2 * (1 + Fraction(float(rng.uniform(0.001, 0.025))))
    fields, _ = gram.claim(
        "tanh", np.array([[x]]), "weights", top=1, lam=lam, step=Fraction(2), nodes=1
    )
    tensors = {"Q": np.array([0], np.int64), "C": np.array([[1 / (8 * x)]])}
    return opened(gram.build("tanh", np.array([[x]]), [(fields, tensors)]))


def _layers_lie(rng: Rng) -> Whole:
    """gram-positive, kernel "layers": more than a |x|^2 E[erf'(|x| g)^2] = a s^2 (4/pi)/sqrt(1 + 4
    s^2), one layer and one sample.
    """
    X, a = rng.standard_normal((1, 2)) / 4, float(pick(rng, 0.5, 2.0))
    rule = {"step": Fraction(1, 2), "nodes": 16, "terms": 2}
    fields, tensors = gram.deep_claim("erf", X, [(a, False)], **rule)
    s2 = float((X[0] ** 2).sum())
    above = 1 + hair(rng) + Fraction(1, 10**12)  # the float below is good to 1e-15
    lam = Fraction(float(a * s2 * 4 / np.pi / np.sqrt(1 + 4 * s2))) * above
    return refitted(with_field(opened(gram.build("erf", X, [(fields, tensors)])), "lam", lam))


PLANTS: dict[str, tuple[Plant, ...]] = {
    "interpolation": (
        lambda rng: two_labels_for_one_row(rng, "interpolation"),
        beyond_the_nearest_zero,
    ),
    "descent": (
        lambda rng: two_labels_for_one_row(rng, "descent"),
        lambda rng: run_that_breaks_its_rate(rng, "descent"),
    ),
    "relu-interpolation": (
        lambda rng: two_labels_for_one_row(rng, "relu-interpolation"),
        relu_beyond_the_zero,
    ),
    "patch-interpolation": (minima.two_labels_for_the_same_patches, minima.beyond_the_only_filter),
    "loss-floor": (minima.floor_above_a_known_network,),
    "optimality-gap": (minima.gap_below_a_better_network, minima.gap_on_a_part_of_the_space),
    "identifies": (minima.identified_although_on_a_conic,),
    "ambiguous": (minima.ambiguous_although_identified,),
    "below-barrier": (
        minima.barrier_with_too_small_an_excess,
        lambda rng: run_that_breaks_its_rate(rng, "below-barrier"),
    ),
    "strict-saddle": (_saddle_lie,),
    "second-order-stationary": (_second_order_lie,),
    "relu-descent": (
        dead_neuron,
        lambda rng: two_labels_for_one_row(rng, "relu-descent"),
        lambda rng: run_that_breaks_its_rate(rng, "relu-descent"),
    ),
    "relu-linearized-descent": (
        lambda rng: dead_neuron(rng, "relu-linearized-descent"),
        lambda rng: two_labels_for_one_row(rng, "relu-linearized-descent"),
        lambda rng: run_that_breaks_its_rate(rng, "relu-linearized-descent"),
    ),
    "gram-positive": (*[_gram_lie] * 5, _coarse_rule, _layers_lie),
    "deep-descent": (
        lambda rng: two_labels_for_one_row(rng, "deep-descent"),
        lambda rng: run_that_breaks_its_rate(rng, "deep-descent"),
    ),
    "spurious-minimum": (
        lambda rng: minima.step_beyond_stability(rng, "spurious-minimum"),
        minima.floor_above_the_trap,
    ),
    "global-basin": (
        lambda rng: minima.step_beyond_stability(rng, "global-basin"),
        minima.opposite_filter_never_turns,
    ),
    "unique-minimum": (_unique_lie,),
    "factorization-gap": (minima.gap_below_better_factors,),
    "head-gap": (minima.gap_below_the_best_head,),
    "relu-trajectory": (
        lambda rng: two_labels_for_one_row(rng, "relu-trajectory"),
        lambda rng: run_that_breaks_its_rate(rng, "relu-trajectory"),
    ),
    "deep-trajectory": (
        lambda rng: two_labels_for_one_row(rng, "deep-trajectory"),
        lambda rng: run_that_breaks_its_rate(rng, "deep-trajectory"),
    ),
    "trajectory": (
        lambda rng: two_labels_for_one_row(rng, "trajectory"),
        lambda rng: run_that_breaks_its_rate(rng, "trajectory"),
    ),
    "sgd-trajectory": (lambda rng: two_labels_for_one_row(rng, "sgd-trajectory"),),
    "dual-gap": (lambda rng: floor_above_the_network(rng, "dual-gap"),),
    "unused-terms": (lambda rng: floor_above_the_network(rng, "unused-terms"),),
    "stream-gap": (minima.gap_below_the_minimum_of_a_stream,),
    "additive-stream-gap": (minima.gap_below_the_minimum_of_an_additive_stream,),
}


def planted(kind: str, rng: Rng) -> Whole:
    """A file of the kind that is false by construction."""
    plants = PLANTS[kind]
    while True:
        try:
            with np.errstate(all="ignore"):
                file = plants[int(rng.integers(len(plants)))](rng)
        except (
            np.linalg.LinAlgError,
            ValueError,
            OverflowError,
        ):  # a draw for which floats write no claim
            continue
        if file is not None:
            return Whole(copy.deepcopy(file.top), dict(file.tensors))
