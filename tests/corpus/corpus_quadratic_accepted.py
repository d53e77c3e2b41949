"""The files of accepted/ about quadratic networks and second-order points: every method, class,
activation and corner.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from tests.checker import quadratic_cases as q
from tests.checker import second_order_cases as s
from tests.checker.cases import build
from tests.corpus import corpus_quadratic_goldens as g
from tests.corpus import honest_quadratic as h
from tests.corpus.corpus_quadratic_close_calls import quadratic_close_calls
from tests.corpus.drafts import Draft, claim, unseal

Drafts = dict[str, Draft]
TIGHT = 1e-6


def gap_drafts() -> Drafts:
    """Theorems P, S and D."""
    drafts = {f"gap_positive_{heads}": h.gap_positive(1, heads=heads) for heads in h.HEADS[:2]}
    drafts |= {f"gap_rank_{heads}": h.gap_rank(2, heads=heads) for heads in h.HEADS[:2]}
    drafts |= {f"gap_decay_{heads}": h.gap_decay(3, heads=heads) for heads in h.HEADS}
    return drafts | {
        "gap_positive_fewer_samples_than_features": h.gap_positive(4, n=2, d=2),
        "gap_positive_tight": h.gap_positive(5, slack=1e-9),
        "gap_span": h.gap_span(6),
        "gap_span_three_features": h.gap_span(7, n=7, d=3),
        "gap_span_tight": h.gap_span(8, slack=TIGHT),
        "gap_decay_heads_below_v_max": h.gap_decay(9, v_max=1.5),
        "gap_decay_far_from_the_minimum": _untrained_decay(),
        "gap_bias_column": _with_bias(),
        "gap_data_stored_outside": _outside(h.gap_span(10)),
        "gap_golden_infimum": g.gap_positive(),
        "gap_golden_heads_minus_zero": g.gap_positive(v=-0.0),
        "gap_golden_nonpositive_heads_plus_zero": g.gap_positive(
            v=0.0, lam=-1.0, y=1.0, heads="nonpositive"
        ),
        "gap_three_methods_in_one_file": _three_methods(),
    }


def _untrained_decay() -> Draft:
    """A large true gap."""
    net = q.random_network(4, 2, 2, seed=11, heads="any")
    return h.opened(net, [q.gap_decay(net, 0.25, heads="any")])


def _with_bias() -> Draft:
    base = q.random_network(5, 2, 3, seed=12)
    net = q.Quadratic(np.column_stack([base.X[:, 0], np.ones(5)]), base.y, base.W, base.v).trained()
    return h.opened(net, [q.gap_positive(net)], bias=True)


def _outside(draft: Draft) -> Draft:
    draft.stored = False
    return draft


def _three_methods() -> Draft:
    net = q.random_network(5, 2, 3, seed=13).trained(0.5)
    claims = [
        q.gap_decay(net, 0.5, heads="any"),
        q.gap_span(net),
        q.gap_positive(net),
        q.identifies_claim(net, stable=True),
    ]
    return h.opened(net, claims)


def rank_drafts() -> Drafts:
    """identifies and ambiguous."""
    huge = h.ambiguous_kernel(6)
    huge.claims[0].tensors["M"] *= 2**62
    zero_head = h.ambiguous(9)
    zero_head.W, zero_head.v = np.vstack([zero_head.W, [[7.0, 7.0]]]), np.append(zero_head.v, -0.0)
    return {
        "identifies": h.identifies(1),
        "identifies_stable": h.identifies(2, stable=True),
        "identifies_stable_tight": h.identifies(3, stable=True, slack=TIGHT),
        "identifies_as_many_samples_as_unknowns": h.identifies(4, n=6, d=3),
        "identifies_one_feature": g.identifies_stable(),
        "identifies_golden": g.identifies(),
        "identifies_data_stored_outside": _outside(h.identifies(5)),
        "identifies_last_sample_completes_the_rank": g.identifies(
            (*[(1.0, 0.0)] * 4, (0.0, 1.0), (1.0, 1.0))
        ),
        "ambiguous_one_sample_less": h.ambiguous(4),
        "ambiguous_three_features": h.ambiguous(5, d=3),
        "ambiguous_kernel": h.ambiguous_kernel(6),
        "ambiguous_kernel_of_huge_integers": huge,
        "ambiguous_kernel_of_the_smallest_integer": g.ambiguous(
            M=np.array([[0, -(2**63)], [-(2**63), 0]])
        ),
        "ambiguous_tight": h.ambiguous(7, slack=TIGHT),
        "ambiguous_head_minus_zero": zero_head,
        "ambiguous_golden": g.ambiguous(),
        "ambiguous_golden_by_counting": g.ambiguous(g.AXES[:2]),
        "ambiguous_one_feature_all_samples_zero": _only_zero_rows(),
    }


def _only_zero_rows() -> Draft:
    """d = 1: N = 1, and M = 1 vanishes where x = 0."""
    fields = {"sigma2": Fraction(1, 2), "difference": Fraction(3, 4), "loss_upper": Fraction(1, 2)}
    draft = g.draft(
        1.0, 1.0, [claim("ambiguous", fields, {"C": g.matrix(2**0.5), "M": np.array([[1]])})]
    )
    draft.X = np.array([[-0.0]])
    return draft


def barrier_drafts() -> Drafts:
    """below-barrier."""
    return {
        "barrier_rows": h.barrier(1),
        "barrier_factor": h.barrier(2, norm="factor"),
        "barrier_tight": h.barrier(3, slack=TIGHT, norm="factor"),
        "barrier_tight_rows": h.barrier(4, slack=TIGHT),
        "barrier_three_features": h.barrier(5, n=9, d=3),
        "barrier_golden": g.barrier(),
        "barrier_golden_at_the_minimum": g.barrier(w=1.0),
        "barrier_golden_near_the_barrier": g.barrier(w=0.25, rate=Fraction(999999, 1000000)),
        "barrier_minimizer_off_by_a_little": _rough_minimizer(),
        "barrier_data_stored_outside": _outside(h.barrier(6)),
    }


def _rough_minimizer() -> Draft:
    """A_hat is not the least-squares matrix; its error G is paid for by the room of every other
    number.
    """
    result = g.barrier(w=1.0, s=Fraction(1, 8), E0=Fraction(1, 10**6))
    result.claims[0].tensors["A_hat"] = g.matrix(1.0 + 2.0**-12)
    return result


def second_order_drafts() -> Drafts:
    """strict-saddle and second-order-stationary."""
    drafts: Drafts = {}
    for number, name in enumerate(h.SMOOTH):
        options: dict[str, Any] = {"activation": name}
        drafts[f"saddle_{name}_W_radius_rows"] = h.saddle(number, radius="rows", **options)
        drafts[f"saddle_{name}_vW"] = h.saddle(number, trained="vW", **options)
        drafts[f"second_order_{name}_W_blocks"] = h.second_order(number, method="blocks", **options)
        drafts[f"second_order_{name}_vW_dense"] = h.second_order(number, trained="vW", **options)
    for number, (name, slope) in enumerate((("softplus", 2.0), ("sigmoid", 1.5))):
        drafts[f"saddle_{name}_parameter_radius_svec"] = h.saddle(
            number, activation=name, slope=slope, radius="svec"
        )
        drafts[f"second_order_{name}_parameter"] = h.second_order(
            number, activation=name, slope=slope
        )
    return drafts | {
        "saddle_quadratic_radius_svec": h.saddle(3, activation="quadratic", radius="svec"),
        "saddle_tight_radius_rows": h.saddle(4, slack=TIGHT, radius="rows"),
        "saddle_tight_vW": h.saddle(5, slack=TIGHT, trained="vW"),
        "saddle_data_stored_outside": _outside(h.saddle(6)),
        "saddle_golden": g.saddle(),
        "saddle_golden_radius": g.saddle_radius(),
        "saddle_golden_both_layers": g.saddle(
            0.5, Fraction(1, 2), trained="vW", u=np.array([1.0]), U=g.matrix(1.0), eps=Fraction(2)
        ),
        "second_order_tight_dense": h.second_order(6, slack=TIGHT),
        "second_order_tight_blocks": h.second_order(7, slack=TIGHT, method="blocks"),
        "second_order_golden": g.second_order(),
        "second_order_golden_at_the_minimum": g.second_order(Fraction(1, 10**6), w=1.0),
        "second_order_block_of_a_head_minus_zero": _zero_head_block(),
        "saddle_and_second_order_in_one_file": _both_claims(),
    }


def _zero_head_block() -> Draft:
    net = h.smooth_network(8, "tanh", "W")
    net.v[1] = -0.0
    return unseal(build(net, [s.second_order_claim(net, method="blocks")]))


def _both_claims() -> Draft:
    draft = h.saddle(9, radius="rows")
    draft.claims.append(h.second_order(9).claims[0])
    return draft


def quadratic_accepted() -> Drafts:
    """All of them, by file name without ending."""
    return (
        gap_drafts()
        | rank_drafts()
        | barrier_drafts()
        | second_order_drafts()
        | quadratic_close_calls()[0]
    )
