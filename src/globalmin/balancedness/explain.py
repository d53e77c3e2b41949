r"""Section 4.1 along a run: what gradient flow keeps, boundary by boundary; how far gradient
descent drifts from it by the exact identity, and the budget of that drift.
"""

from __future__ import annotations

import numpy as np

from globalmin._types import Array
from globalmin.balancedness.conserved import Boundary, conserved_counts
from globalmin.balancedness.runs import BalanceRun
from globalmin.facts.explanation import Explanation, Lemma, Promise
from globalmin.references import states

# of the squared norms: what the solver's tolerance of 1e-11 a step may add up to
FLOW_ACCURACY = 1e-8
ROUNDING = 1e-10  # of the squared norms: what the steps of a descent may add up to


@states("DU-T4.1", "DU-C4.1", "DU-T4.2", "DU-T4.3")
def explain_run(run: BalanceRun) -> Explanation:
    """What a run of `follow_flow` or `follow_descent` conserves, at every recorded step."""
    is_flow = run.step_size == 0.0
    lemmas = [lemma for boundary in _parts(run) for lemma in _of_boundary(run, *boundary)]
    if is_flow:
        drops = np.append(np.nan, run.losses[:-1] - run.losses[1:])
        height = max(float(np.abs(run.losses).max()), 1e-300)
        says = "the loss does not rise along the flow"
        lemmas.append(Lemma("DU-T4.1", says, drops + FLOW_ACCURACY * height, height))
    drift = np.abs(run.drift).max(axis=1, initial=0.0)
    steps = run.trajectory.iteration
    how = "gradient flow" if is_flow else f"{_method(run)}, step {run.step_size:.4g}"
    until = f"until time {run.time[-1]:.4g}" if is_flow else f"{int(steps[-1]):,} steps"
    kept = "kept" if is_flow else "kept but for the drift of the steps"
    return Explanation(
        f"{how} on {run.norms.shape[1]} layers, {until} (DU section 4.1)",
        f"loss {run.losses[0]:.4g} → {run.losses[-1]:.4g}; {run.values.shape[1]} quantities {kept}:"
        f" largest drift {run.largest_drift:.3g} of squared norms up to {run.norms.max():.4g}",
        steps,
        tuple(lemmas),
        tuple(_promises(run)),
        run.losses if is_flow else drift,
        np.full(len(steps), np.nan) if is_flow else run.budget.max(axis=1),
        "loss" if is_flow else "drift of what is conserved",
    )


def _method(run: BalanceRun) -> str:
    return "stochastic gradient descent" if run.method == "sgd" else "gradient descent"


def _parts(run: BalanceRun) -> list[tuple[Boundary, int, Array, Array]]:
    """(boundary, its place, its drift, what was predicted of it) for every boundary."""
    ends = np.cumsum(conserved_counts(run.boundaries))[:-1]
    drifts = np.split(run.drift, ends, axis=1)
    predicted = np.split(run.predicted, ends, axis=1)
    places = range(len(run.boundaries))
    return list(zip(run.boundaries, places, drifts, predicted, strict=True))


def _item(boundary: Boundary) -> str:
    """Matrices are Theorem 4.2; neurons and channels Theorems 4.1 and 4.3."""
    return "DU-T4.2" if boundary.is_linear else "DU-T4.1"


def _of_boundary(
    run: BalanceRun, boundary: Boundary, place: int, drift: Array, predicted: Array
) -> list[Lemma]:
    """What is conserved between two layers, and the sum over them (Corollary 4.1)."""
    h, item = boundary.gap, _item(boundary)
    scale = max(float(run.norms[:, h : h + 2].max()), 1e-300)
    count = drift.shape[1]
    what = "the matrix" if boundary.is_linear else f"every one of {count} blocks"
    if run.step_size == 0.0:
        sums = run.norms[:, h] - boundary.degree * run.norms[:, h + 1]
        allowed = FLOW_ACCURACY * scale
        lemmas = [
            Lemma(item, f"layers {boundary.name}: {what} stays as at the start",
                  allowed - np.abs(drift).max(axis=1, initial=0.0), scale),
        ]  # fmt: skip
        if _counts_all(boundary):
            says = f"layers {boundary.name}: the difference of squared norms stays"
            lemmas.append(Lemma("DU-C4.1", says, allowed - np.abs(sums - sums[0]), scale))
        return lemmas
    error = np.abs(drift - predicted).max(axis=1, initial=0.0)
    largest = np.abs(drift).max(axis=1, initial=0.0)
    return [
        Lemma(item, f"layers {boundary.name}: the drift is Σ η²D(g), exactly",
              ROUNDING * scale - error, scale),
        Lemma(item, f"layers {boundary.name}: it is at most Σ η² max(|G|², p|G′|²)",
              run.budget[:, place] - largest + ROUNDING * scale, scale),
    ]  # fmt: skip


def _counts_all(boundary: Boundary) -> bool:
    """Whether every parameter of both layers enters or leaves a block: biases of the upper layer
    leave none, and count in its norm.
    """
    return bool((boundary.incoming >= 0).all() and (boundary.outgoing >= 0).all())


def _promises(run: BalanceRun) -> list[Promise]:
    scale = max(float(run.norms.max()), 1e-300)
    if run.step_size == 0.0:
        kept = run.largest_drift <= FLOW_ACCURACY * scale
        rate = float(np.abs(run.slope[-1]).max(initial=0.0))
        return [
            Promise("DU-T4.1", "largest drift of the flow: none, but for the solver", 0.0,
                    run.largest_drift, kept),
            Promise("DU-T4.1", "drift of descent over its step, as the step falls to 0",
                    rate),
        ]  # fmt: skip
    audit = run.audit()
    return [
        Promise("DU-T4.1", "largest drift, by the exact identity", audit.predicted, audit.drift,
                audit.identity_error <= ROUNDING * scale),
        Promise("DU-C4.1", "largest drift, at most", float(run.budget[-1].max(initial=0.0)),
                audit.drift, audit.within_budget),
    ]  # fmt: skip
