"""Instances with a planted better minimum, a second function or a known trap: what is claimed of
them is false, exactly.

Quadratic networks, loss floors, factorizations, shared filters, one filter. Each function writes a
claim that a known object refutes; the docstring says which. The witness is as good as the lie
allows, the attacks go on from there.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
from flint import arb, ctx
from tests.checker import additive_stream_cases as additive
from tests.checker import factorization_cases as factorization
from tests.checker import head_cases as head
from tests.checker import patch_cases as patches
from tests.checker import quadratic_cases as q
from tests.checker import stream_cases as streams
from tests.checker import trap_cases as trap
from tests.corpus.drafts import Draft, seal
from tests.corpus.honest_instances import floor_draft
from tests.corpus.whole_files import Whole, opened
from tests.mutation.exact_ties import exact
from tests.mutation.oracle_margins import with_field
from tests.mutation.tiny_instances import pick
from tests.oracles import fraction_factorization_claims as f
from tests.oracles.fraction_network import Network
from tests.oracles.strict_container import read

Rng = np.random.Generator


def hair(rng: Rng) -> Fraction:
    """A relative distance: visible to floats, to 128 bits, or only to several hundred bits."""
    return Fraction(1, 2 ** int(rng.choice([1, 4, 20, 60, 100, 135, 200, 300])))


def sealed_draft(draft: Draft) -> Whole:
    """A draft as a whole file."""
    return opened(seal(draft))


def _planted_quadratic(rng: Rng, d: int, n: int) -> tuple[q.Quadratic, q.Quadratic]:
    """(stored, planted): labels are the planted outputs plus small integers/64, all exact; the
    planted heads are 1.
    """
    X = rng.integers(-4, 5, size=(n, d)).astype(float) / 4
    X[0, 0] = 1.0
    planted = q.Quadratic(X, np.zeros(n), rng.integers(-4, 5, size=(2, d)) / 4, np.ones(2))
    y = planted.residual() + rng.integers(-3, 4, size=n) / 64
    stored = q.Quadratic(
        X, y, np.zeros((2, d)) if rng.random() < 0.5 else rng.standard_normal((2, d)), np.ones(2)
    )
    return stored, q.Quadratic(X, y, planted.W, planted.v)


def exact_loss(net: q.Quadratic) -> Fraction:
    """Half the sum of squares, in rationals."""
    X, W = exact(net.X), exact(net.W)
    loss = Fraction(0)
    for x, label in zip(X, net.y.tolist(), strict=True):
        z = [sum((a * b for a, b in zip(w, x, strict=True)), Fraction(0)) for w in W]
        loss += (
            sum((Fraction(h) * t * t for h, t in zip(net.v.tolist(), z, strict=True)), Fraction(0))
            - Fraction(label)
        ) ** 2
    return loss / 2


def gap_below_a_better_network(rng: Rng) -> Whole | None:
    """optimality-gap: the planted network (of the class) is better by more than the claimed gap."""
    d = int(rng.integers(1, 3))
    stored, planted = _planted_quadratic(rng, d, int(rng.integers(1, 4)))
    method, decay = pick(rng, "positive", "decay", "span"), Fraction(0)
    if method == "positive":
        pair = q.gap_positive(stored, room=1e-3)
    elif method == "decay":
        decay = Fraction(1, 8)
        pair = q.gap_decay(stored, float(decay), heads=pick(rng, "nonnegative", "any"), room=1e-2)
    else:
        if len(stored.y) < d * (d + 1) // 2:
            return None
        pair = q.gap_span(stored)
    sizes = [
        decay / 2 * sum((x * x for row in exact(net.W) for x in row), Fraction(0))
        for net in (stored, planted)
    ]
    better = exact_loss(stored) + sizes[0] - exact_loss(planted) - sizes[1]
    if better <= 0:
        return None
    return with_field(opened(q.build(stored, [pair])), "gap", better * (1 - hair(rng)))


def gap_on_a_part_of_the_space(rng: Rng) -> Whole:
    """optimality-gap with `rank` on rows that do not span: sample 0 has a negative label, sample 1
    a positive one on another axis, which a network fits; the dual of the lie is negative there,
    where nobody looks."""
    a, b = (float(x) for x in rng.uniform(0.5, 2, 2))
    X, y = np.diag(rng.choice([0.5, 1.0, 2.0], size=2)), np.array([-a, b])
    net = q.Quadratic(
        X, y, np.zeros((1, 2)), np.ones(1)
    )  # the loss is (a^2 + b^2)/2, and a^2/2 can be reached
    fields = {"method": "positive", "heads": "nonnegative", "rank": 1, "loss_upper": Fraction(9)}
    fields["gap"] = Fraction(b) ** 2 / 2 * (1 - hair(rng))
    tensors = {
        "lambda": -y,
        "rows": np.array([0]),
        "C": np.array([[(a * float(X[0, 0]) ** 4) ** -0.5]]),
    }
    return opened(q.build(net, [(q.claim("optimality-gap", **fields), tensors)]))


def floor_above_a_known_network(rng: Rng) -> Whole | None:
    """loss-floor: the stored network itself has a loss below the claimed floor."""
    name = pick(rng, "relu", "abs", "quadratic", "leaky_relu")
    network = {"activation": name, "kind": "shallow"} | (
        {"parameter": "1/4"} if name == "leaky_relu" else {}
    )
    base = rng.integers(-8, 9, size=2) / 8
    labels = (rng.integers(-8, 9, size=3) / 8).tolist()
    rows = [
        list(base),
        list(base * pick(rng, 1.0, 2.0, -1.0)),
        list(rng.integers(-8, 9, size=2) / 8),
    ]
    members = [0, 1] if rng.random() < 0.6 else [0, 1, 2]
    file = sealed_draft(
        floor_draft(network, rows, labels, [(pick(rng, 0, 2, 3), members)], Fraction(0))
    )
    certificate = read(file.sealed())
    r = Network(certificate, 64).exact_residual(certificate.W) or []
    loss = sum((e * e for e in r), Fraction(0)) / 2
    file = with_field(file, "floor", loss * (1 + hair(rng)) + Fraction(1, 2**400))
    return with_field(with_field(file, "loss_upper", loss), "gap", hair(rng))


def identified_although_on_a_conic(rng: Rng) -> Whole:
    """identifies: x^T M x = 0 at all samples for a matrix M that is not zero, so two functions
    agree on them.
    """
    a, b, c = rng.standard_normal(3)
    rows = {
        "axes": [[a, 0.0], [0.0, b], [c, 0.0]],
        "diagonals": [[a, a], [b, -b], [c, c]],
        "ray": [[a, b], [2 * a, 2 * b], [c, 1.0]],
        "nearly": [[a, 5e-324], [0.0, b], [0.0, c]],
    }[pick(rng, "axes", "diagonals", "ray", "nearly")]
    net = q.Quadratic(
        np.array(rows), rng.standard_normal(3), rng.standard_normal((2, 2)), np.ones(2)
    )
    file = opened(q.build(net, [q.identifies_claim(net, stable=bool(rng.random() < 0.5))]))
    return with_field(file, "mu", hair(rng)) if "mu" in file.claim else file


def ambiguous_although_identified(rng: Rng) -> Whole:
    """ambiguous: three samples whose squares span all symmetric matrices, so no second function has
    the same outputs.
    """
    X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]) * rng.uniform(0.5, 2, (3, 1))
    X = X if rng.random() < 0.5 else X[:, ::-1] * [1.0, -1.0]
    net = q.Quadratic(
        X, rng.standard_normal(3), np.eye(2) + 0.1 * rng.standard_normal((2, 2)), np.ones(2)
    )
    kernel = pick(rng, [[0, 1], [1, 0]], [[1, -1], [-1, 1]], [[1, 0], [0, -1]], [[0, 0], [0, 0]])
    file = opened(q.build(net, [q.ambiguous_claim(net, np.array(kernel))]))
    return with_field(file, "difference", Fraction(file.claim["difference"]) * hair(rng))


def barrier_with_too_small_an_excess(rng: Rng) -> Whole | None:
    """below-barrier: the planted network fits exactly, so the excess is the loss itself, and E0 is
    below it.
    """
    d = int(rng.integers(1, 3))
    X = rng.integers(-4, 5, size=(d * (d + 1) // 2 + 1, d)) / 4 + np.eye(d * (d + 1) // 2 + 1, d)
    planted = q.Quadratic(
        X, np.zeros(len(X)), np.eye(d) + rng.integers(-1, 2, size=(d, d)) / 8, np.ones(d)
    )
    stored = q.Quadratic(
        X, planted.residual(), planted.W + rng.integers(-3, 4, size=(d, d)) / 256, planted.v
    )
    loss = exact_loss(stored)
    if loss == 0 or np.linalg.matrix_rank(q.svec_matrix(X)[0]) < d * (d + 1) // 2:
        return None
    file = opened(q.build(stored, [q.barrier_claim(stored, norm=pick(rng, "rows", "factor"))]))
    return with_field(file, "E0", loss * (1 - hair(rng)))


def gap_below_better_factors(rng: Rng) -> Whole | None:
    """factorization-gap: known factors are better by more than the claimed gap, or better than the
    claimed floor.
    """
    U, V = (
        rng.integers(-4, 5, size=(3, 1)).astype(float),
        rng.integers(-4, 5, size=(2, 1)).astype(float),
    )
    M = U @ V.T + rng.integers(-1, 2, size=(3, 2)) / 8
    left, values, right = np.linalg.svd(M, full_matrices=False)
    place = pick(rng, 0, 1)  # the second singular pair is a saddle that descent may stop at
    stored = factorization.Case(M, left[:, [place]] * values[place], right[[place]].T)
    stored = stored if rng.random() < 0.5 else factorization.Case(M, stored.U, V + 0.125)
    try:
        file = opened(
            factorization.build(
                stored, pick(rng, "frobenius", "factor"), pick(rng, "right", "left")
            )
        )
    except np.linalg.LinAlgError:
        return None
    known = f.square(f.minus(f.product(exact(U), f.transpose(exact(V))), exact(M))) / 2
    mine = f.square(f.minus(f.product(exact(stored.U), f.transpose(exact(stored.V))), exact(M))) / 2
    if rng.random() < 0.5:
        return with_field(
            with_field(file, "floor", known * (1 + hair(rng)) + Fraction(1, 2**300)),
            "gap",
            mine + 1,
        )
    if mine <= known:
        return None
    return with_field(
        with_field(file, "gap", (mine - known) * (1 - hair(rng))), "floor", Fraction(0)
    )


def gap_below_the_minimum_of_a_stream(rng: Rng) -> Whole | None:
    """stream-gap: the sums are those of real rows, on which a known network is better by more than
    the claimed gap.
    """
    heads, seed = pick(rng, "any", "nonnegative", "nonpositive"), int(rng.integers(10**6))
    drawn = {"heads": heads, "seed": seed, "cuts": (2,)}
    known = streams.drawn(4, 1, **drawn)
    stored = replace(known, W=known.W * float(rng.choice([0.0, 0.5, 2.0])))
    better = _stream_objective(stored) - _stream_objective(known)
    if better <= 0:
        return None
    try:
        file = opened(streams.build(stored, streams.parts(stored, heads)))
    except np.linalg.LinAlgError:
        return None
    return with_field(file, "gap", better * (1 - hair(rng)))


def _stream_objective(case: streams.Case) -> Fraction:
    """Loss and penalty at weight decay 1."""
    squares = sum((r * r for r in case.residuals(case.rows)), Fraction(0))
    return (squares + sum((Fraction(w) ** 2 for w in case.W.ravel().tolist()), Fraction(0))) / 2


def gap_below_the_minimum_of_an_additive_stream(rng: Rng) -> Whole | None:
    """additive-stream-gap: the sums are those of real rows, on which a known network is better by
    more than the claimed gap.
    """
    known = additive.drawn(5, 1, cuts=(2,), seed=int(rng.integers(10**6)))
    share = float(rng.choice([0.0, 0.5, 2.0]))
    stored = replace(known, W=known.W * share, bias=known.bias * share)
    better = stored.objective(1.0) - known.objective(1.0)
    if better <= 0:
        return None
    file = opened(additive.build(stored, additive.parts(stored)))
    return with_field(file, "gap", better * (1 - hair(rng)))


def gap_below_the_best_head(rng: Rng) -> Whole | None:
    """head-gap: features are integers, so the excess over the best head is known exactly, and the
    claimed gap is below it.
    """
    X, W = rng.integers(-3, 4, size=(4, 2)).astype(float), rng.integers(-3, 4, size=(2, 2))
    y, v = rng.integers(-4, 5, size=4).astype(float), rng.integers(-2, 3, size=2).astype(float)
    net = head.Head(X, y, W.astype(float), v, pick(rng, "linear", "quadratic", "abs"))
    Q = [[Fraction(entry) for entry in row] for row in net.features().tolist()]
    try:
        file = opened(head.build(net, [head.head_claim(net, share=0.5)]))
    except (np.linalg.LinAlgError, ZeroDivisionError, TypeError):
        return None
    r = [Fraction(entry) for entry in net.residual().tolist()]
    (a, b), g = (
        [f.product(f.transpose(Q), [[x] for x in column]) for column in zip(*Q, strict=True)],
        f.product(f.transpose(Q), [[x] for x in r]),
    )
    determinant = a[0][0] * b[1][0] - a[1][0] * b[0][0]
    if determinant == 0:
        return None
    (p,), (q,) = g
    excess = (b[1][0] * p * p - 2 * a[1][0] * p * q + a[0][0] * q * q) / determinant / 2
    return None if excess == 0 else with_field(file, "gap", excess * (1 - hair(rng)))


def two_labels_for_the_same_patches(rng: Rng) -> Whole | None:
    """patch-interpolation: the patches of one sample, at the same or at exchanged places with equal
    output weights, under two labels; whichever of them is solved for.
    """
    case = patches.integral(2, 2, 1, 1, seed=int(rng.integers(2**31)))
    X = np.vstack([case.X[:1], case.X[:1] if rng.random() < 0.5 else case.X[:1, ::-1]])
    y = np.repeat(case.y[:1], 2)
    y[1] = np.nextafter(y[1], 99) if rng.random() < 0.5 else y[1] + rng.standard_normal()
    both = replace(case, X=X, y=y)
    solved = pick(rng, [0], [1], [0, 1])
    made = patches.parts(both, solved=solved)
    fields = made[0] | {"R": Fraction(1000), "loss_upper": Fraction(1000)}
    if fields["mu"] == 0:
        fields["mu"] = Fraction(float(rng.uniform(1e-6, 1)))
    return opened(patches.build(both, (fields, made[1])))


def beyond_the_only_filter(rng: Rng) -> Whole | None:
    """patch-interpolation, one filter of one entry and positive output weights: the only zero is
    known; R is below its distance, or the label is negative.
    """
    w, target, a, b = (float(x) for x in rng.uniform(0.5, 2, 4))
    table, heads = np.array([[0], [1]], dtype=np.int64), np.array([[a, b]])
    X = rng.uniform(0.5, 2, (1, 2))
    case = patches.Case(X, np.zeros(1), table, np.array([[w]]), heads)
    case = replace(case, y=case.outputs(np.array([[target]])))
    file = opened(patches.build(case, patches.parts(case, hat=np.array([[target]]))))
    if rng.random() < 0.3:
        file.tensors["y"] = -file.tensors["y"]
        return with_field(with_field(file, "loss_upper", Fraction(1000)), "R", Fraction(1000))
    slope = sum(Fraction(p) * Fraction(q) for p, q in zip((a, b), X[0].tolist(), strict=True))
    distance = abs(Fraction(w) - Fraction(float(case.y[0])) / slope)
    return with_field(file, "R", distance * (1 - hair(rng))) if distance else None


def _filter_file(start: trap.Start, kind: str, eta: Fraction | None, floor: Fraction) -> Whole:
    fields = {"loss_upper": Fraction(1000), "eta": ... if eta is None else eta}
    fields["floor"] = floor if kind == "spurious-minimum" else ...
    return opened(trap.build(start, trap.claim(start, kind, **fields)))


def step_beyond_stability(rng: Rng, kind: str) -> Whole:
    """One patch, parallel filters: the filter does not move, and the head runs away for every step
    above 4, since its error is multiplied by 1 - eta/2."""
    opposite = -1.0 if kind == "spurious-minimum" else 1.0
    w, true = rng.uniform(0.5, 2, 1), rng.uniform(0.5, 2, 1)
    start = trap.Start(
        opposite * 2 * w, opposite * rng.uniform(0.9, 1.1, 1) * float(w[0]) * true, w, true
    )
    return _filter_file(start, kind, 4 * (1 + hair(rng)), Fraction(1, 100))


def floor_above_the_trap(rng: Rng) -> Whole:
    """spurious-minimum: a* = (t, -t), so the trap has the loss |w|^2 |a*|^2 (pi - 2)/(4 (pi - 1)),
    and the floor is above.
    """
    t, w = float(rng.uniform(0.5, 1.5)), rng.standard_normal(2)
    start = trap.Start(-w, np.zeros(2), w, np.array([t, -t]))
    start = trap.Start(-w + 1e-3 * rng.standard_normal(2), start.best_head(0.0), w, start.true)
    size = sum((Fraction(float(x)) ** 2 for x in w), Fraction(0)) * 2 * Fraction(t) ** 2 / 4
    before, ctx.prec = ctx.prec, 700
    try:
        ratio = ((arb.pi() - 2) / (arb.pi() - 1)).upper().man_exp()
    finally:
        ctx.prec = before
    share = Fraction(int(ratio[0])) * Fraction(2) ** int(ratio[1])
    return _filter_file(
        start, "spurious-minimum", pick(rng, None, Fraction(1, 10)), size * share * (1 + hair(rng))
    )


def opposite_filter_never_turns(rng: Rng) -> Whole:
    """global-basin: an exactly opposite filter has no gradient, so the run never reaches the
    teacher.
    """
    w, true = rng.standard_normal(2), rng.uniform(0.5, 1.5, int(rng.integers(1, 4)))
    start = trap.Start(-w * pick(rng, 1.0, 0.5, 2.0), float(np.linalg.norm(w)) * true, w, true)
    return _filter_file(start, "global-basin", pick(rng, None, Fraction(1, 100)), Fraction(0))
