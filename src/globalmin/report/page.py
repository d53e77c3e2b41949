"""The report page: one self-contained HTML file made from a record and the checker's results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from globalmin.proving.claim import Proves
from globalmin.proving.proof import Proof, ProvedClaim
from globalmin.report import words
from globalmin.report.panels import panels
from globalmin.report.record import (
    FitRecord,
    TargetRecord,
    check_target,
    color_of,
    proved_loss,
    read_record,
)
from globalmin.report.template import filled

FILENAME = "report.html"


def render_folder(directory: str | Path) -> tuple[str, list[Proof]]:
    """The page of an output folder: reads `fit.json`, runs the checker on every certificate file
    again.
    """
    record = read_record(directory)
    proofs = [check_target(directory, target) for target in record.targets]
    return render(record, proofs), proofs


def render(record: FitRecord, proofs: Sequence[Proof]) -> str:
    """The page as text, the same bytes for the same record and proofs.

    Parameters
    ----------
    record : what was done and measured.
    proofs : what the checker said, one per target.
    """
    targets = [
        _target_view(t, p, f"t{i}")
        for i, (t, p) in enumerate(zip(record.targets, proofs, strict=True), start=1)
    ]
    worst = next(
        (t for color in ("red", "amber", "green") for t in targets if t["color"] == color),
        targets[0],
    )
    names = ", ".join(t.name for t in record.targets)
    return filled(
        "report.html.j2",
        title=f"{record.data['name']} → {names}",
        verdict=worst["verdict"],
        targets=targets,
        summary=_summary(record),
        data=_data_view(record),
        environment=_environment_view(record),
    )


def _target_view(target: TargetRecord, proof: Proof, prefix: str) -> dict[str, Any]:
    accepted = [c for c in proof.claims if c.verdict == "ACCEPTED"] if proof.is_accepted else []
    bound = proved_loss(proof)
    return {
        "name": target.name,
        "verdict": proof.verdict,
        "color": color_of(proof),
        "headline": words.headline(proof),
        "loss_upper": "–" if bound is None else words.typeset(words.upper_text(bound)),
        "held_out_r2": _score(target.scores.get("held_out_r2")),
        "key_numbers": _keys(target, proof),
        "statements": [{"kind": c.kind, "plain": words.plain_statement(c),
        "statement": c.statement} for c in accepted],
        "numbers": _verified_numbers(accepted),
        "reasons": _reasons(proof),
        "limits": words.limits(proof),
        "figures": panels(target, proof, prefix=prefix),
        "scores": _scores(target),
        "score_note": _score_note(target),
        "certificate": target.certificate,
        "model": target.model,
        "command": f"globalmin-check {target.certificate} --explain",
        "network": _network(target),
    }  # fmt: skip


def _verified_numbers(claims: Sequence[ProvedClaim]) -> dict[str, Any]:
    """One table for all claims: a row per quantity, a column per claim."""
    columns = [
        {name: words.typeset(text) for name, _, text in words.shown_numbers(c)} for c in claims
    ]
    rows = [
        (meaning, [column.get(name, "") for column in columns])
        for name, (meaning, _) in words.SHOWN.items()
        if any(name in c for c in columns)
    ]
    return {"kinds": [c.kind for c in claims], "rows": rows}


def _nearest_zero(proof: Proof) -> float | None:
    """The distance to zero-loss weights, or the length of the path to them."""
    found = [c.numbers for c in proof.accepted_claims if c.proves is Proves.ZERO_LOSS]
    radii = [n.R for n in found if n.R is not None]
    paths = [n.path for n in found if n.path is not None]  # that of a whole run is the longest
    return min(radii or paths, default=None)


def _keys(target: TargetRecord, proof: Proof) -> list[dict[str, str]]:
    """The few numbers a reader should see first: proved ones first, then measured ones."""
    keys: list[tuple[str, str, str]] = []
    floor, near = proof.that(*words.BOUNDS), _nearest_zero(proof)
    bound = proved_loss(proof)
    if floor:
        shown = {name: words.typeset(text) for name, _, text in words.shown_numbers(floor)}
        keys += [
            ("Least loss L*", *_minimum(floor, shown)),
            ("Gap to it", "≤ " + shown.get("gap", "–"), "proved"),
        ]
    if bound is not None:
        keys.append(
            (
                "Training loss",
                f"≤ {words.typeset(words.upper_text(bound, 6 if floor else 3))}",
                "proved, stored weights",
            )
        )
    if near is not None:
        keys.append(
            (
                "Zero loss within",
                f"≤ {words.typeset(words.upper_text(near))}",
                "proved distance in weights",
            )
        )
    keys.append(
        (
            "Relative residual",
            words.typeset(words.nearest_text(target.training["relative_residual"])),
            "‖f(X) − y‖ / ‖y‖, floating point",
        )
    )
    keys.append(
        (
            "Held-out R²",
            _score(target.scores.get("held_out_r2")),
            "zero training loss is not generalization",
        )
    )
    return [{"label": label, "value": value, "note": note} for label, value, note in keys]


def _minimum(claim: ProvedClaim, shown: dict[str, str]) -> tuple[str, str]:
    """Value and note of the least loss."""
    penalized = "of the penalized loss, " if "decay" in shown else ""
    heads = f" and head {sign}" if (sign := words.SIGNS.get(str(claim.numbers.heads))) else ""
    return "≥ " + shown.get(
        "penalized_floor", shown.get("floor", "–")
    ), f"{penalized}proved for every width{heads}"


def _reasons(proof: Proof) -> list[tuple[str, str]]:
    if proof.is_accepted:
        return []
    tried = [
        (c.kind, f"{c.verdict}: {c.reason}") for c in proof.claims if c.verdict != "ACCEPTED"
    ] or list(proof.reasons.items())
    return tried or [("reason", proof.reason)]


def _scores(target: TargetRecord) -> list[dict[str, str]]:
    rows = [("this network", "train_r2", "held_out_r2")]
    if "ridge_held_out_r2" in target.scores:
        rows.append(("ridge regression, cross-validated", "ridge_train_r2", "ridge_held_out_r2"))
    return [
        {
            "model": name,
            "train": _score(target.scores.get(a)),
            "held_out": _score(target.scores.get(b)),
        }
        for name, a, b in rows
    ]


def _score_note(target: TargetRecord) -> str:
    ours, ridge = target.scores.get("held_out_r2"), target.scores.get("ridge_held_out_r2")
    if ours is None:
        said = (
            "No rows were held out, or too few to score, so this page cannot say how the network "
            "does on new data."
        )
    elif ridge is not None and ours < ridge:
        said = (
            "On rows it has not seen, plain ridge regression does better than this network, which "
            "also fits the noise."
        )
    elif ridge is not None:
        said = (
            "On rows it has not seen it does at least as well as ridge regression; that is an "
            "observation, not a theorem."
        )
    else:
        said = "The held-out score is a measurement, not a theorem."
    return f"{words.NOT_GENERALIZATION} {said}"


def _network(target: TargetRecord) -> list[tuple[str, str]]:
    n, t = target.network, target.training
    starts = f" (start {t['starts']})" if t["starts"] > 1 else ""
    layers = words.layers_trained(n["trained"]).removesuffix(" trained")
    form = [
        (name, str(n[name]).replace("_", " ")) for name in ("architecture", "depth") if name in n
    ]
    return [
        *form,
        ("activation", n["activation"]),
        ("width", str(n["width"])),
        ("trained", f"{layers}, {n['n_trained']} weights"),
        ("method", t["method"].replace("_", " ")),
        ("steps", f"{t['n_iter']:,}{starts}"),
        ("ended", t["status"].replace("_", " ")),
    ]


def _summary(record: FitRecord) -> str:
    d = record.data
    held = f", {d['n_held_out']} held out" if d["n_held_out"] else ""
    bias = ", bias appended" if d["bias"] else ""
    activation = record.options["activation"]
    return (
        f"{d['n_train']} training rows{held}; {d['n_raw_features']} input columns{bias}; "
        f"activation {activation}."
    )


def _data_view(record: FitRecord) -> dict[str, Any]:
    d = record.data
    facts = [
        ("rows", str(d["n_rows"])),
        ("training rows", str(d["n_train"])),
        ("held-out rows", str(d["n_held_out"])),
        ("stored features d", f"{d['n_features']}{' (bias included)' if d['bias'] else ''}"),
        ("scaling", d["scaling"]),
        ("rank of the stored X", d["rank"]),
        ("equal rows", d["equal_rows"]),
        ("loss floor", _floors(record)),
    ]
    digests = [(f"SHA-256 of the stored data, {name}" if len(d["sha256"]) > 1 else "SHA-256 of the "
                                                                                   "stored "
                                                                                   "data", digest)
               for name, digest in d["sha256"].items()]  # fmt: skip
    shown = {"name": d["name"], "facts": facts, "digests": digests, "warnings": d["warnings"]}
    return {**shown, "recipe": d.get("recipe", [])}  # folders of before there was one have none


def _floors(record: FitRecord) -> str:
    floors = [words.typeset(words.lower_text(t.loss_floor, 6)) for t in record.targets]
    return "none, zero loss is not excluded" if set(floors) == {"0"} else ", ".join(floors)


def _environment_view(record: FitRecord) -> dict[str, Any]:
    e = record.environment
    return {
        "fingerprint": e.get("fingerprint", ""),
        "facts": [(k, str(v)) for k, v in sorted(e.items()) if k != "fingerprint"],
    }


def _score(value: float | None) -> str:
    if value is None:
        return "–"
    return (
        f"{value:.3f}".replace("-", "−")
        if abs(value) < 1000
        else words.typeset(words.nearest_text(value))
    )
