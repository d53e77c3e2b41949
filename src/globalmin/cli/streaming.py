"""`globalmin fit --stream`: a quadratic network on a table that is read once and never held."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from globalmin.cli import terminal
from globalmin.cli.output import staged_folder
from globalmin.cli.terminal import print_json, print_rows, working
from globalmin.files import canonical_json
from globalmin.quadratic.stream import StreamedFit, fit_stream

CERTIFICATE, FACTS = "certificate.gmc", "fit.json"


@dataclass(frozen=True)
class StreamOptions:
    """What `fit --stream` asks for, as typed."""

    data: Path
    targets: tuple[str, ...]
    use: tuple[str, ...] | None
    weight_decay: float
    bias: bool
    out: Path
    quiet: bool


def fit_streamed(options: StreamOptions, *, as_json: bool) -> int:
    """Run the whole command; errors leave the output folder as it was."""
    if len(options.targets) != 1:
        raise typer.BadParameter("--stream fits one target; give --target once")
    if not options.weight_decay > 0:
        raise typer.BadParameter(
            "--stream needs a number as --weight-decay, for the sum over all rows; a thousandth of "
            "the number of rows is a start"
        )
    started = time.perf_counter()
    with working("reading, training, proving and checking", quiet=options.quiet):
        fit = fit_stream(
            options.data,
            target=options.targets[0],
            features=options.use,
            weight_decay=options.weight_decay,
            bias=options.bias,
        )
    facts = _facts(fit, options, time.perf_counter() - started)
    with staged_folder(options.out) as staging:
        if fit.certificate is not None:
            fit.save_certificate(staging / CERTIFICATE)
        (staging / FACTS).write_text(canonical_json(facts) + "\n", encoding="utf-8")
    code = terminal.code_of_proof(fit.proof)
    if as_json:
        print_json({"command": "fit", "exit_code": code, "out": str(options.out), **facts})
    else:
        _show(fit, options)
    return code


def _facts(fit: StreamedFit, options: StreamOptions, seconds: float) -> dict[str, Any]:
    return {
        "network": {"kind": "stream", "neurons": fit.network.width, "columns": fit.plan.columns},
        "data": {"rows": fit.n_rows, "shards": len(fit.shards), "path": options.data.name},
        "weight_decay": fit.weight_decay,
        "r2": fit.r2,
        "verdict": fit.verdict,
        "statement": fit.proof.statement,
        "objective_upper": fit.proof.loss_upper,
        "gap": fit.gap,
        "relative_gap": fit.relative_gap,
        "seconds": seconds,
    }


def _show(fit: StreamedFit, options: StreamOptions) -> None:
    check = f"globalmin-check {options.out / CERTIFICATE} --rows {options.data}"
    told = fit.verdict if fit.certificate else f"{fit.verdict}: {fit.proof.why}"
    print_rows(
        [
            ("rows", f"{fit.n_rows} in {len(fit.shards)} shards", ""),
            ("network", f"quadratic, {fit.network.width} neurons", ""),
            ("training R^2", f"{fit.r2:.6g}", ""),
            ("verdict", told, ""),
            ("gap", f"{fit.gap:.3g}, {fit.relative_gap:.2g} of the objective", ""),
            ("about", "the sums of the shards; about the rows themselves after", ""),
            ("", check, terminal.COPY),
        ]
    )
