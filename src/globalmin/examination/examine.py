"""`examine`: the verdict on a network, whoever trained it.

Nothing is inferred from a small gradient. A minimum is known by a bound of the loss that the
checker accepts, a saddle by a curvature below what rounding can make, a trap by a lower loss found
elsewhere; everything else is said as what it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from globalmin._options import TRAINED, Trained, one_of
from globalmin._types import Array
from globalmin.data import Dataset
from globalmin.deep.inputs import prove_deep
from globalmin.deep.network import DeepNetwork
from globalmin.deep.train import train_deep
from globalmin.errors import DataError, HypothesisError
from globalmin.examination.outcome import Examination, Polished, Verdict, rounded_up
from globalmin.examination.penalized import PenalizedExamination, examine_penalized
from globalmin.examination.posing import one_output, posed_model
from globalmin.landscape.classify import classify_point
from globalmin.proving.claim import Proves
from globalmin.proving.producer import prove
from globalmin.proving.proof import Proof, ProvedClaim, float_up
from globalmin.shallow.network import ShallowNetwork
from globalmin.shallow.stationary import PointClass, PointKind
from globalmin.shallow.train import train

STATIONARY = (PointKind.SECOND_ORDER, PointKind.NOT_DECIDED, PointKind.SPURIOUS_MINIMUM)
STARTS = 8  # other weights that are tried at a stationary point, of size 1 and of its own size
LOWER = 0.99  # of the loss: what polishing must get below to be a way down


def examine(
    model: Any,
    data: Any,
    *,
    loss: str | None = None,
    weight_decay: float | None = None,
    output: int | None = None,
    activation: str | None = None,
    trained: Trained = "vW",
    gap_tol: float = 1e-9,
    near_tol: float = 1e-3,
    max_iter: int = 500,
    seed: int = 0,
    **options: Any,
) -> Examination | PenalizedExamination:
    r"""Whether a network is a global minimum of its training loss, near one, a saddle, a trap, or
    not trained far enough; and what training from its weights reaches.

    The loss is $\frac12\sum_i(f(x_i)-y_i)^2$, without weight decay. With `loss` or `weight_decay`
    it is the penalized objective of `optimality_gap` instead, for ReLU networks with one hidden
    layer: classifiers with the logistic loss, robust regression, and so on.

    Parameters
    ----------
    model : Any
        A `ShallowNetwork` or `DeepNetwork`; a model that `gm.interop` reads (torch, ONNX, Keras,
        scikit-learn, Flax), or the path of its file.
    data : Any
        The pair (X, y) of raw rows and labels it was trained on; a `Dataset` for networks of ours.
    loss : str | None
        Another convex loss, see `get_loss` (two classes are -1 and 1, or 0 and 1); it needs
        a weight decay.
    weight_decay : float | None
        b > 0 of the summed loss, n times that of a mean loss.
    output : int | None
        Which of several outputs.
    activation : str | None
        Of the hidden layers, for files that hold tensors only.
    trained : str
        "vW" (all weights) or "W" (hidden weights): what the landscape is a function of.
    gap_tol : float
        At the minimum means: the gap is proved to be at most this share of the loss of the best
        constant.
    near_tol : float
        Near means: it is at most this share.
    max_iter : int
        Most steps of polishing.
    seed : int
        Of the starts elsewhere, which are tried at stationary points only.
    options : Any
        With `loss` or `weight_decay`: `hidden_bias`, `intercept`, `linear`, `tau`, `sample_weight`,
        `starts`, `max_seconds` and `max_cones` of `optimality_gap`.

    Returns
    -------
    Examination | PenalizedExamination
        Print it; `proof` and `polished.proof` have the certificates.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.standard_normal((12, 3)), rng.standard_normal(12)
    >>> start = ShallowNetwork(rng.standard_normal((9, 3)), rng.standard_normal(9), "tanh")
    >>> found = examine(start, Dataset(X, y, bias=False, scaling="none"))
    >>> str(found.verdict), found.polished.proof.verdict
    ('not trained far enough', 'ACCEPTED')
    """
    if weight_decay is not None or loss not in (None, "squared"):
        given = one_output(model, output, activation)
        asked = {"loss": loss, "weight_decay": weight_decay, "seed": seed, **options}
        return examine_penalized(given, data, gap_tol=gap_tol, near_tol=near_tol, **asked)
    if options:
        raise DataError(
            f"{', '.join(sorted(options))}: for a penalized objective; give weight_decay too"
        )
    one_of("trained", trained, TRAINED)
    return _examined(
        model,
        data,
        output=output,
        activation=activation,
        trained=trained,
        gap_tol=gap_tol,
        near_tol=near_tol,
        max_iter=max_iter,
        seed=seed,
    )


def _examined(
    model: Any,
    data: Any,
    *,
    output: int | None,
    activation: str | None,
    trained: Trained,
    gap_tol: float,
    near_tol: float,
    max_iter: int,
    seed: int,
) -> Examination:
    posed, replayed = posed_model(model, data, output, activation)
    network, rows = posed.network, posed.data
    loss = _loss(network, rows)
    baseline = 0.5 * float(np.sum(np.square(rows.y - rows.y.mean())))
    baseline = baseline or 0.5 * float(rows.y @ rows.y) or 1.0  # constant labels have no spread
    point = _point(network, rows, trained)
    polished = _polish(network, rows, point, trained, max_iter)
    elsewhere = None
    if point is not None and point.kind in STATIONARY and polished.loss > LOWER * loss:
        elsewhere = _elsewhere(network, rows, trained, max_iter, seed)
        if elsewhere is not None and elsewhere < loss:
            point = classify_point(network, rows, trained=trained, achieved=elsewhere)
    proof, ladder = _prove_given(network, rows, point, trained)
    scope = _Scope(network, trained)
    gap, is_proved = scope.gap((proof, ladder), polished.proof, loss)
    found = min(polished.loss, np.inf if elsewhere is None else elsewhere)
    descent = max(0.0, loss - found)
    facts = _Facts(
        loss, baseline, gap, is_proved, gap_tol, near_tol,
        leads_there=scope.is_minimum(proof), reaches=scope.is_minimum(polished.proof),
    )  # fmt: skip
    verdict, reason = _verdict(facts, point, polished, elsewhere)
    return Examination(
        verdict, reason, loss, baseline, gap, is_proved, descent, point, proof, polished,
        elsewhere, replayed, posed.notes, network, rows,
    )  # fmt: skip


def _loss(network: Any, data: Dataset) -> float:
    return 0.5 * float(np.sum(np.square(network.predict(data.X) - data.y)))


def _point(network: Any, data: Dataset, trained: Trained) -> PointClass | None:
    """The kind of the point; None for kinks, which have no Hessian."""
    try:
        return classify_point(network, data, trained=trained)
    except HypothesisError:
        return None


def _weights(network: Any) -> Array:
    if isinstance(network, DeepNetwork):
        return network.parameters
    return np.concatenate([network.W.ravel(), network.v])


def _off_saddle(network: Any, data: Dataset, point: PointClass | None) -> Any:
    """A saddle itself is left along its escape direction, by the step that lowers the loss most:
    there the gradient is zero.
    """
    if point is None or point.escape is None:
        return network
    escape, tried = point.escape, [network]
    for step in (s * 10.0**e for e in range(-4, 2) for s in (1.0, -1.0)):
        v = network.v if escape.u is None else network.v + step * escape.u
        tried.append(network.with_weights(W=network.W + step * escape.U, v=v))
    return min(tried, key=lambda one: _loss(one, data))


def _polish(
    network: Any, data: Dataset, point: PointClass | None, trained: Trained, max_iter: int
) -> Polished:
    """Levenberg-Marquardt from these weights and no others."""
    if isinstance(network, DeepNetwork):
        run: Any = train_deep(network, data, max_iter=max_iter)
    else:
        options: dict[str, Any] = {"trained": trained, "max_iter": max_iter}
        start = _off_saddle(network, data, point)
        run = train(start, data, "levenberg_marquardt", **options)
    made = run.network if _loss(run.network, data) <= _loss(network, data) else network
    before, after = _weights(network), _weights(made)
    moved = float(np.linalg.norm(after - before))
    change = np.abs(made.predict(data.X) - network.predict(data.X)).max()
    return Polished(
        made,
        run.method,
        str(run.status),
        run.n_iter,
        _loss(made, data),
        moved,
        moved / float(np.linalg.norm(before)) if before.any() else (np.inf if moved else 0.0),
        float(change) * data.preprocessing.y_scale,
        _prove(made, data, trained),
    )


def _prove(network: Any, data: Dataset, trained: Trained, **options: Any) -> Proof:
    if isinstance(network, DeepNetwork):
        return prove_deep(network, data, **options)
    return prove(network, data, trained=trained, **options)


def _elsewhere(
    network: Any, data: Dataset, trained: Trained, max_iter: int, seed: int
) -> float | None:
    """The least loss that other starts reach: hidden weights drawn anew."""
    if isinstance(network, DeepNetwork):
        return None
    rng = np.random.default_rng(seed)
    size = float(np.sqrt(np.mean(np.square(network.W)))) or 1.0
    losses = []
    for number in range(STARTS):
        W = rng.standard_normal(network.W.shape) * (size if number % 2 else 1.0)
        options: dict[str, Any] = {"trained": trained, "max_iter": max_iter}
        run = train(network.with_weights(W=W), data, "levenberg_marquardt", **options)
        losses.append(_loss(run.network, data))
    return min(losses)


def _prove_given(
    network: Any, data: Dataset, point: PointClass | None, trained: Trained
) -> tuple[Proof, Proof]:
    """The strongest statements about the given weights: those of the ladder and, where these do not
    say that it is at the minimum, about the kind of the point; else about its head among all
    heads, which bounds the loss too. And those of the ladder.
    """
    proof = _prove(network, data, trained)
    at_minimum = _Scope(network, trained).is_minimum(proof)  # not that of a penalized loss
    if at_minimum or isinstance(network, DeepNetwork):
        return proof, proof
    claims = dict.fromkeys(STATIONARY, "second-order-stationary")
    claims |= {PointKind.STRICT_SADDLE: "strict-saddle"}
    if point is not None and point.kind in claims:
        about = prove(network, data, trained=trained, claims=(claims[point.kind],))
        if about.is_accepted:
            return about, proof
    if proof.is_accepted:
        return proof, proof
    head = prove(network, data, trained="v", claims=("head-gap",))
    return (head, proof) if head.is_accepted else (proof, proof)


class _Scope:
    """Which claims speak of the class that a verdict is about: all networks of this width, or those
    with this head where only hidden weights move; the loss, without weight decay.
    """

    def __init__(self, network: Any, trained: Trained) -> None:
        self.fixed = trained == "W" and isinstance(network, ShallowNetwork)
        self.nonnegative = self.fixed and bool((network.v >= 0).all())

    def _speaks(self, claim: ProvedClaim) -> bool:
        if claim.proves is Proves.HEAD or claim.numbers.is_penalized:
            return False
        return claim.numbers.covers_all_heads or self.nonnegative

    def is_minimum(self, proof: Proof) -> bool:
        """Whether the file proves the network to be at the minimum of that class."""
        own = tuple(claim for claim in proof.claims if self._speaks(claim))
        return replace(proof, claims=own).reaches_minimum

    def gap(self, given: Sequence[Proof], other: Proof, loss: float) -> tuple[float, bool]:
        """What the loss exceeds the least one by at most, and whether that is proved: no loss is
        negative, and a floor is below all of them.
        """
        floors = [
            claim.numbers.floor
            for proof in (*given, other)
            for claim in proof.accepted_claims
            if self._speaks(claim) and claim.numbers.floor is not None
        ]
        uppers = [
            Fraction(bound) * proof.copies  # the bound is that of the distinct rows
            for proof in given
            for claim in proof.accepted_claims
            for bound in (claim.numbers.loss, claim.numbers.loss_upper)
            if bound is not None
        ]
        top, floor = min(uppers, default=Fraction(loss)), max([0.0, *floors])
        above = float_up(top - Fraction(floor))
        return max(above, 0.0), bool(uppers)


@dataclass(frozen=True)
class _Facts:
    """The numbers of a verdict."""

    loss: float
    baseline: float
    gap: float
    is_proved: bool
    gap_tol: float
    near_tol: float
    leads_there: bool  # proved: descent from the given weights, or a step, ends at the minimum
    reaches: bool

    def is_within(self, tol: float) -> bool:
        return self.gap <= tol * self.baseline

    def share(self, tol: float) -> str:
        how = "proved: " if self.is_proved else ""
        share = rounded_up(self.gap / self.baseline)
        return f"{how}the gap is at most {share} of the best constant's loss (tolerance {tol:g})"


def _verdict(
    facts: _Facts, point: PointClass | None, polished: Polished, elsewhere: float | None
) -> tuple[Verdict, str]:
    if facts.is_proved and facts.is_within(facts.gap_tol):
        return Verdict.GLOBAL_MINIMUM, facts.share(facts.gap_tol)
    if point is not None and point.kind is PointKind.STRICT_SADDLE:
        return Verdict.SADDLE, point.reason
    if point is not None and point.kind is PointKind.SPURIOUS_MINIMUM:
        return Verdict.TRAP, f"{point.reason}; no small step leads down"
    if facts.is_within(facts.near_tol):
        more = "; a global minimum next to it is proved" if facts.leads_there else ""
        return Verdict.NEAR, facts.share(facts.near_tol) + more
    if polished.loss < LOWER * facts.loss:
        reached = (
            "a proved global minimum"
            if facts.reaches
            else "a lower loss, which nothing proves to be the least"
        )
        gradient = "" if point is None else f"{point.reason}; "
        return Verdict.NOT_TRAINED, f"{gradient}training from these weights reaches {reached}"
    other = "" if elsewhere is None else f"; other starts reach {elsewhere:.6g}"
    kind = "kinks: no Hessian" if point is None else f"{point.kind}, {point.reason}"
    return Verdict.NOT_DECIDED, f"{kind}; training does not get lower from here{other}"
