"""The six later claims on either side of the truth: by 1e-30 to 1e-250 where a root or a factor is
involved, by a tie and 1e-300 where all numbers are exact. The true ones are proved, the false ones
fail in one single check."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from tests.corpus import corpus_quadratic_goldens as g
from tests.corpus.corpus_close_calls import BITS, short
from tests.corpus.drafts import ClaimDraft, Draft, claim, seal
from tests.oracles.fraction_intervals import Interval
from tests.oracles.fraction_network import Network
from tests.oracles.fraction_second_order_claims import gradient, hessian, neuron_block
from tests.oracles.strict_container import read

Drafts = dict[str, Draft]
DIGITS = (30, 250)
TINY = 5e-324
HAIR = Fraction(1, 10**300)
ONE = Fraction(1)


def _factor_calls(e: Fraction) -> Drafts:
    """P1 on 1 x 1 or scalar matrices equal to e: true for e > 0, false for e <= 0, and nothing else
    is close.
    """
    calls = {f"barrier_{name}": g.barrier(whiskers={name: e}) for name in ("phi", "a_lo", "a_hi")}
    calls["barrier_Phi_factor"] = g.barrier(
        whiskers={"Phi": e}, norm="factor", C_Phi=g.inverse_root(e)
    )
    return calls | {
        "gap_span_mu": g.gap_span(mu=1 - e),
        "gap_decay_lower": g.gap_decay(c=1 + e),
        "gap_decay_upper": g.gap_decay(c=1 + e, u=1.0, heads="nonpositive"),
        "gap_decay_any_upper": g.gap_decay(c=1 + e, u=1.0, heads="any"),
        "identifies_mu": g.identifies_stable(mu=1 - e),
        "ambiguous_sigma2": g.ambiguous(sigma2=1 - e),
        "saddle_lam": g.saddle_radius(room=(e, ONE)),
        "saddle_kappa": g.saddle_radius(room=(ONE, e)),
        "second_order_delta": g.second_order(2 + e),
        "second_order_block": g.second_order(2 + e, method="blocks"),
    }


def _root_calls(e: Fraction) -> Drafts:
    """Comparisons of numbers with square roots; true for e >= 0."""
    fields = g.barrier().claims[0].fields
    phi, Phi, E0 = (Interval.of(fields[name], BITS) for name in ("phi", "Phi", "E0"))
    two, four = Interval.of(2, BITS), Interval.of(4, BITS)
    tau = (two * E0 / phi).sqrt()
    lip = four * Phi * (Interval.of(fields["a_hi"], BITS) + tau) + two * (two * Phi * E0).sqrt()
    drop = four * Interval.of(fields["eta"], BITS) * phi * (Interval.of(fields["a_lo"], BITS) - tau)
    return {
        "gap_span_gap": g.gap_span(gap=g.gap_span().claims[0].fields["gap"] * (1 + e)),
        "barrier_E0": g.barrier(E0=fields["E0"] * (1 + e)),
        "barrier_eta": g.barrier(eta=short((1 - e) / lip.upper)),
        "barrier_rate": g.barrier(rate=short(1 - drop.lower * (1 - e))),
    }


def _tanh(result: ClaimDraft) -> Draft:
    """One tanh neuron at 1/2 with the label -2: its curvature is negative and a transcendental
    number.
    """
    network = {"activation": "tanh", "kind": "shallow"}
    return Draft(
        network, np.ones((1, 1)), np.array([-2.0]), np.array([[0.5]]), np.ones(1), [result]
    )


def _tanh_saddle(**fields: Fraction) -> Draft:
    room = {"gamma": Fraction(1), "eps": Fraction(3), "loss_upper": Fraction(9)}
    return _tanh(claim("strict-saddle", {"trained": "W"} | room | fields, {"U": np.ones((1, 1))}))


def _tanh_second_order(curvature: Fraction, method: str, **fields: Fraction) -> Draft:
    room = {"eps": Fraction(3), "delta": Fraction(9), "loss_upper": Fraction(9)} | fields
    C = g.inverse_root(room["delta"] + curvature)
    return _tanh(
        claim("second-order-stationary", {"trained": "W", "method": method} | room, {"C": C})
    )


def _transcendental_calls(e: Fraction) -> Drafts:
    """Loss, gradient and curvature of the tanh neuron; true for e > 0."""
    net = Network(read(seal(_tanh_saddle())), BITS)
    H, slope = hessian(net, both=False)[0][0].lower, abs(gradient(net, both=False)[0]).upper
    block, loss = neuron_block(net, 0)[0][0].lower, net.loss.upper
    return {
        "saddle_tanh_gamma": _tanh_saddle(gamma=short(-H * (1 - e))),
        "saddle_tanh_eps": _tanh_saddle(eps=short(slope * (1 + e))),
        "saddle_tanh_loss": _tanh_saddle(loss_upper=short(loss * (1 + e))),
        "second_order_tanh_eps": _tanh_second_order(H, "dense", eps=short(slope * (1 + e))),
        "second_order_tanh_delta": _tanh_second_order(H, "dense", delta=short(-H * (1 + e))),
        "second_order_tanh_block": _tanh_second_order(
            block, "blocks", delta=short(-block * (1 + e))
        ),
        "second_order_tanh_loss": _tanh_second_order(H, "dense", loss_upper=short(loss * (1 + e))),
    }


def _exact_calls(e: Fraction) -> Drafts:
    """Comparisons of exact numbers: a tie holds, and so does e > 0."""
    honest = {
        "gap_positive": g.gap_positive(0.1),
        "gap_decay": g.gap_decay(w=0.5),
        "gap_span": g.gap_span(),
    }
    honest |= {
        "identifies": g.identifies_stable(),
        "ambiguous": g.ambiguous(),
        "barrier": g.barrier(),
    }
    honest |= {"saddle": g.saddle(0.25, Fraction(1)), "second_order": g.second_order(w=0.25)}
    calls = {f"{name}_loss": _raised(draft, "loss_upper", e) for name, draft in honest.items()}
    calls |= {
        f"{name}_gap": _raised(honest[name], "gap", e) for name in ("gap_positive", "gap_decay")
    }
    calls |= {f"{name}_eps": _raised(honest[name], "eps", e) for name in ("saddle", "second_order")}
    return calls | {
        "gap_decay_v_max": g.gap_decay(v_max=1 + e),
        "ambiguous_difference": g.ambiguous(difference=Fraction(2, 3) - e),
        "barrier_Phi_rows": g.barrier(Phi=1 + e),
        "saddle_gamma": g.saddle(gamma=2 - e),
        "saddle_radius_product": g.saddle_radius(
            Fraction(3, 8), (Fraction(5, 6) - e, Fraction(5, 6))
        ),
    }


def _raised(draft: Draft, name: str, amount: Fraction) -> Draft:
    result = draft.copy()
    exact: Fraction = _loss(draft) if name == "loss_upper" else draft.claims[0].fields[name]
    result.claims[0].fields[name] = exact + amount
    return result


def _loss(draft: Draft) -> Fraction:
    return sum(
        (
            entry * entry / 2
            for entry in Network(read(seal(draft)), 64).exact_residual(_exact(draft.W)) or []
        ),
        Fraction(0),
    )


def _exact(array: Any) -> list[list[Fraction]]:
    return [[Fraction(float(entry)) for entry in row] for row in array]


def _smallest_numbers() -> tuple[Drafts, Drafts]:
    """The smallest positive double decides."""
    near = ((1.0, 0.0), (1.0, TINY), (1.0, -TINY))
    repeated = ((1.0, 0.0), (1.0, TINY), (-1.0, -TINY))
    off_the_axis = (*g.AXES[:2], (3.0, TINY))
    true = {
        "gap_positive_Z_smallest_double": g.gap_positive(lam=TINY, gap=ONE),
        "identifies_rank_smallest_double": g.identifies(near),
    }
    false = {
        "gap_positive_Z_smallest_double": g.gap_positive(lam=-TINY, gap=ONE),
        "gap_positive_Z_zero": g.gap_positive(lam=0.0, gap=ONE),
        "identifies_rank_opposite_rows": g.identifies(repeated),
        "ambiguous_kernel_smallest_double": g.ambiguous(off_the_axis),
        "saddle_direction_zero": g.saddle(gamma=Fraction(1), U=g.matrix(0.0)),
    }
    return true, false


def quadratic_close_calls() -> tuple[Drafts, Drafts]:
    """(true ones, false ones) by name."""
    true, false = _smallest_numbers()
    for digits in DIGITS:
        e = Fraction(1, 10**digits)
        for make in (_factor_calls, _root_calls, _transcendental_calls):
            true |= {f"{name}_true_by_1e-{digits}": draft for name, draft in make(e).items()}
            false |= {f"{name}_false_by_1e-{digits}": draft for name, draft in make(-e).items()}
    true |= {f"{name}_exact": draft for name, draft in _exact_calls(Fraction(0)).items()}
    false |= {f"{name}_false_by_1e-300": draft for name, draft in _exact_calls(-HAIR).items()}
    false |= {f"{name}_tie": draft for name, draft in _factor_calls(Fraction(0)).items()}
    return true, false
