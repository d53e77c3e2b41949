"""`globalmin fit --stream`: a quadratic or an additive network on a table that is read in blocks
and never held.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from globalmin.cli import terminal
from globalmin.cli.output import staged_folder
from globalmin.cli.terminal import print_json, print_rows, working
from globalmin.estimators.saved import MODEL
from globalmin.files import canonical_json
from globalmin.quadratic.stream import StreamedFit, fit_stream
from globalmin.regularized.stream import AdditiveStreamedFit, fit_additive_stream
from globalmin.report import stream_page

Streamed = StreamedFit | AdditiveStreamedFit
CERTIFICATE, FACTS, REPORT = "certificate.gmc", "fit.json", "report.html"
_SHOWN = 12  # coefficients of a quadratic network on its page


@dataclass(frozen=True)
class StreamOptions:
    """What `fit --stream` asks for, as typed."""

    data: Path
    targets: tuple[str, ...]
    use: tuple[str, ...] | None
    model: str
    weight_decay: float
    bias: bool
    out: Path
    quiet: bool


def fit_streamed(options: StreamOptions, *, as_json: bool) -> int:
    """Run the whole command; errors leave the output folder as it was."""
    if len(options.targets) != 1:
        raise typer.BadParameter("--stream fits one target; give --target once")
    if options.model not in ("auto", "quadratic", "additive"):
        raise typer.BadParameter(
            f"--stream with --model {options.model}: streams fit quadratic (the default) or "
            "additive networks"
        )
    if options.model == "additive" and not options.bias:
        raise typer.BadParameter("--no-bias does not go with --stream --model additive")
    if not options.weight_decay > 0:
        raise typer.BadParameter(
            "--stream needs a number as --weight-decay, for the sum over all rows; a thousandth of "
            "the number of rows is a start"
        )
    started = time.perf_counter()
    with working("reading, training, proving and checking", quiet=options.quiet):
        fit = _fitted(options)
    facts = _facts(fit, options, time.perf_counter() - started)
    with staged_folder(options.out) as staging:
        if fit.certificate is not None:
            fit.save_certificate(staging / CERTIFICATE)
        fit.save(staging / MODEL)
        (staging / FACTS).write_text(canonical_json(facts) + "\n", encoding="utf-8")
        page, _ = stream_page.render(facts, staging)
        (staging / REPORT).write_text(page, encoding="utf-8")
    code = terminal.code_of_proof(fit.proof)
    if as_json:
        print_json({"command": "fit", "exit_code": code, "out": str(options.out), **facts})
    else:
        _show(fit, options)
    return code


def _fitted(options: StreamOptions) -> Streamed:
    chosen: dict[str, Any] = {"target": options.targets[0], "features": options.use}
    if options.model == "additive":
        return fit_additive_stream(options.data, weight_decay=options.weight_decay, **chosen)
    decay = options.weight_decay
    return fit_stream(options.data, weight_decay=decay, bias=options.bias, **chosen)


def _kind(fit: Streamed) -> str:
    return "additive" if isinstance(fit, AdditiveStreamedFit) else "quadratic"


def _facts(fit: Streamed, options: StreamOptions, seconds: float) -> dict[str, Any]:
    return {
        "network": {
            "kind": "stream",
            "model": _kind(fit),
            "neurons": fit.network.width,
            "columns": fit.network.columns,
        },
        "data": {"rows": fit.n_rows, "shards": len(fit.shards), "path": options.data.name},
        "weight_decay": fit.weight_decay,
        "r2": fit.r2,
        "verdict": fit.verdict,
        "statement": fit.proof.statement,
        "objective_upper": _proved(fit.proof.loss_upper),
        "gap": _proved(fit.gap),
        "relative_gap": _proved(fit.relative_gap),
        "seconds": seconds,
        "shard_rows": [shard.rows for shard in fit.shards],
        "without": fit.loss_without_neurons,
        **_read(fit),
    }


def _proved(number: float) -> float | None:
    """The number, or None where nothing is proved: JSON knows no infinity."""
    return number if math.isfinite(number) else None


def _read(fit: Streamed) -> dict[str, Any]:
    """The model to be read: curves, or coefficients."""
    if isinstance(fit, AdditiveStreamedFit):
        found = [
            {"name": name, "x": x.tolist(), "y": y.tolist(), "size": float(y.max() - y.min())}
            for name, x, y in fit.curves()
        ]
        terms = [{"name": curve["name"], "size": curve["size"]} for curve in found]
        return {"curves": found, "terms": terms}
    shown = fit.network.coefficients()[:_SHOWN]
    return {"terms": [{"name": name, "size": size} for name, size in shown]}


def _show(fit: Streamed, options: StreamOptions) -> None:
    check = f"globalmin-check {options.out / CERTIFICATE} --rows {options.data}"
    told, gap = f"{fit.verdict}: {fit.proof.why}", "not proved"
    if fit.certificate:
        told, gap = fit.verdict, f"{fit.gap:.3g}, {fit.relative_gap:.2g} of the objective"
    print_rows(
        [
            ("rows", f"{fit.n_rows} in {len(fit.shards)} shards", ""),
            ("network", f"{_kind(fit)}, {fit.network.width} neurons", ""),
            ("training R^2", f"{fit.r2:.6g}", ""),
            ("verdict", told, ""),
            ("gap", gap, ""),
            ("about", "the sums of the shards; about the rows themselves after", ""),
            ("", check, terminal.COPY),
            ("report", str(options.out / REPORT), terminal.COPY),
            ("new rows", f"globalmin predict {options.out} NEW.csv", terminal.COPY),
        ]
    )
