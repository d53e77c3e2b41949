"""What commands make of a proof: progress on the terminal, an exit code, an interrupt that keeps
the network; and the result for people (a short table) and for programs (one JSON object).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from shlex import quote
from typing import TYPE_CHECKING, Any

from globalmin.cli import terminal
from globalmin.cli.terminal import COPY, Row, print_json, print_rows, working
from globalmin.proving.claim import Proves
from globalmin.proving.producer import prove
from globalmin.proving.proof import Proof, no_proof
from globalmin.report import words
from globalmin.report.record import FitRecord, TargetRecord, color_of

if TYPE_CHECKING:
    from pathlib import Path

    from globalmin.cli.fitting import Outcome
    from globalmin.data import Dataset


@dataclass(frozen=True)
class Attempt:
    """What came of trying to prove something: the proof, the exit code it means, and how long each
    part of the work took.
    """

    proof: Proof
    exit_code: int
    seconds: Mapping[str, float] = field(default_factory=dict)

    @property
    def has_file(self) -> bool:
        """Whether a certificate file was written."""
        return self.proof.has_file

    def stated(self, training: Dataset) -> Dataset:
        """The rows that the proof speaks of: all, or those that do not repeat another."""
        return training if self.proof.data is None else self.proof.data


def attempt(network: Any, data: Dataset, *, quiet: bool, **options: Any) -> Attempt:
    """`prove` with a progress line; deep networks by way of `prove_deep`."""
    from globalmin.deep.inputs import prove_deep
    from globalmin.deep.network import DeepNetwork

    road = prove_deep if isinstance(network, DeepNetwork) else prove
    with working("proving and checking", quiet=quiet):
        proof = road(network, data, **options)
    return Attempt(proof, terminal.code_of_proof(proof), proof.seconds)


def interrupted() -> Attempt:
    """The attempt that was not made because the user interrupted."""
    return Attempt(
        no_proof({}, message="it was interrupted before a proof was tried"), terminal.INTERRUPTED
    )


COLORS = {"green": "bold green", "amber": "bold yellow", "red": "bold red"}
SHORT = ("loss_upper", "objective", "floor", "gap", "gamma", "radius", "eps", "delta", "E0",
"barrier", "difference", "rank",
         "r", "r_minus", "R", "path", "rate", "eta", "a", "mu", "Lip", "h")  # fmt: skip


def print_outcome(outcome: Outcome, *, as_json: bool) -> None:
    """Print the outcome on stdout, as a table or as one JSON object."""
    if as_json:
        print_json(_outcome_json(outcome))
    else:
        _show(outcome)


def _show(outcome: Outcome) -> None:
    """Print the table: data, network, training, residual, verdict with its numbers, held-out score,
    how to check again.
    """
    for target, attempt in zip(outcome.record.targets, outcome.attempts, strict=True):
        rows = [
            ("data", _data_line(outcome.record, target), ""),
            *recipe_rows(outcome.record.data["recipe"]),
            ("network", _network_line(target), ""),
            ("training", _training_line(target, attempt), ""),
            (
                "residual",
                f"‖f(X) − y‖ / ‖y‖ = {words.nearest_text(target.training['relative_residual'])}",
                "",
            ),
            *verdict_rows(attempt.proof),
            ("held out", _score_line(target), ""),
            *check_rows(outcome.out / target.certificate if target.certificate else None),
            ("report", str(outcome.out / "report.html"), COPY),
        ]
        print_rows([*rows, ("", "", "")] if len(outcome.attempts) > 1 else rows)


def verdict_rows(proof: Proof) -> list[Row]:
    """The verdict in its color, then what is proved or why nothing is."""
    return [
        ("verdict", proof.verdict, COLORS[color_of(proof)]),
        *((label, line, "") for label, line in proof_lines(proof)),
    ]


def check_rows(certificate: Path | None) -> list[Row]:
    """The command that checks the certificate again."""
    return (
        [("check again", f"globalmin-check {quote(str(certificate))} --explain", COPY)]
        if certificate
        else []
    )


def recipe_rows(sentences: Sequence[str]) -> list[Row]:
    """How the columns became numbers, a line for each."""
    return [("columns" if i == 0 else "", line, "") for i, line in enumerate(sentences)]


def proof_lines(proof: Proof) -> list[tuple[str, str]]:
    """What is proved, claim by claim with the verified numbers; or why nothing is."""
    if not proof.is_accepted:
        tried = list(proof.reasons.items()) or [
            (c.kind, c.reason) for c in proof.claims if c.verdict != "ACCEPTED"
        ]
        return [("", words.headline(proof)), *tried]
    floor = proof.that(Proves.FLOOR)
    first = words.headline(proof)
    if floor and proof.reaches_minimum:
        first = (
            f"{words.least_of_class(floor).removeprefix('the ')} is L* = "
            f"{words.lower_text(floor.numbers.floor or 0.0, 6)}, proved gap of the "
            f"stored network ≤ {words.upper_text(floor.numbers.gap or 0.0)}. "
            f"{words.why_not_zero(floor)}"
        )
    lines = [("proved", first)]
    for claim in proof.claims:
        known = claim.numbers.by_name()
        texts = [
            f"{name} {words.bound_text(name, known[name], words.digits(claim, name))}"
            for name in SHORT
            if name in known
        ]
        lines.append((claim.kind, "  ".join(texts)))
    return lines


def _data_line(record: FitRecord, target: TargetRecord) -> str:
    d = record.data
    held = f", {d['n_held_out']} held out" if d["n_held_out"] else ""
    bias = " + bias" if d["bias"] else ""
    rows = f"{d['n_train']} rows to train{held}"
    return (
        f"{d['name']} → {target.name}: {rows}, {d['n_raw_features']} columns{bias}, scaling "
        f"{d['scaling']}"
    )


def _network_line(target: TargetRecord) -> str:
    n = target.network
    layers = words.layers_trained(n["trained"])
    form = f"{n['architecture'].replace('_', ' ')}, depth {n['depth']}, " if "depth" in n else ""
    return f"{form}{n['activation']}, width {n['width']}, {layers} ({n['n_trained']} weights)"


def _training_line(target: TargetRecord, attempt: Attempt) -> str:
    t = target.training
    starts = f" in start {t['starts']}" if t["starts"] > 1 else ""
    times = ", ".join(f"{name} {seconds:.1f} s" for name, seconds in attempt.seconds.items())
    return f"{t['method']}, {t['n_iter']} steps{starts}, {t['status']}; {times}"


def _score_line(target: TargetRecord) -> str:
    ours, ridge = target.scores.get("held_out_r2"), target.scores.get("ridge_held_out_r2")
    if ours is None:
        return f"no score. {words.NOT_GENERALIZATION}"
    beside = "" if ridge is None else f" (ridge regression {ridge:.3f})"
    return f"R² = {ours:.3f}{beside}. {words.NOT_GENERALIZATION}"


def _outcome_json(outcome: Outcome) -> dict[str, Any]:
    """The outcome as plain JSON values; proved numbers exactly as the checker gave them."""
    targets = [
        _target_json(outcome, t, a)
        for t, a in zip(outcome.record.targets, outcome.attempts, strict=True)
    ]
    return {
        "command": "fit",
        "exit_code": outcome.exit_code,
        "out": str(outcome.out),
        "report": str(outcome.out / "report.html"),
        "data": outcome.record.data,
        "options": outcome.record.options,
        "environment": outcome.record.environment,
        "targets": targets,
    }


def _target_json(outcome: Outcome, target: TargetRecord, attempt: Attempt) -> dict[str, Any]:
    return {
        "name": target.name,
        "model": str(outcome.out / target.model),
        "certificate": str(outcome.out / target.certificate) if target.certificate else None,
        "network": target.network,
        "training": target.training,
        "scores": target.scores,
        "loss_floor": target.loss_floor,
        "seconds": {name: round(value, 3) for name, value in attempt.seconds.items()},
        **proof_json(attempt.proof),
    }


def proof_json(proof: Proof) -> dict[str, Any]:
    """Verdict, reason and claims of a proof as JSON values."""
    claims = [
        {
            "kind": c.kind,
            "verdict": c.verdict,
            "reason": c.reason,
            "statement": c.statement,
            "numbers": c.numbers.by_name(),
        }
        for c in proof.claims
    ]
    return {
        "verdict": proof.verdict,
        "reason": proof.reason,
        "reasons": dict(proof.reasons),
        "claims": claims,
        "notes": list(proof.notes),
    }
