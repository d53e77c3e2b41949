"""`globalmin starts`: how likely gradient descent from a random start reaches zero loss on these
data, proved seed by seed, by width.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from globalmin._options import ExecutorName, Scaling
from globalmin.cli.arguments import CATEGORY, DATA, DROP, JSON, LABELS, QUIET, USE

if TYPE_CHECKING:
    from globalmin.data import Dataset
    from globalmin.shallow.start_probability import StartShare

RECORD, PICTURE, FORMAT = "starts.json", "starts", "globalmin-starts/1"
INSPECT = "inspect recommends"
# the theorems about random starts of a network with one hidden layer; OS-C6 is ours
_OS = ("OS-T2.1", "OS-T2.3", "OS-T2.5", "OS-T6.2", "OS-T6.3", "OS-C6")
DRAWN = (INSPECT, *_OS, "DU-T2.2", "DU-T2.3")


def starts(
    data: Annotated[Path, DATA],
    *,
    target: Annotated[str, LABELS],
    width: Annotated[
        str,
        typer.Option(
            "--width", "--widths", metavar="K[,K]", help="Neurons; several widths give a curve."
        ),
    ],
    seeds: Annotated[
        int, typer.Option(metavar="N", min=1, help="Seeds 0..N-1 are tried, all of them.")
    ] = 20,
    activation: Annotated[
        str, typer.Option(metavar="A", help="softplus, sigmoid, tanh or erf.")
    ] = "softplus",
    step_size: Annotated[
        str, typer.Option(metavar="ETA", help="One step for all, on (1/2) Σ r²; or 'theory'.")
    ] = "theory",
    confidence: Annotated[float, typer.Option(metavar="P", help="Of the bound.")] = 0.99,
    variants: Annotated[
        int,
        typer.Option(metavar="T", min=1, help="Settings you tried before and besides these."),
    ] = 1,
    bias: Annotated[bool, typer.Option("--bias/--no-bias", help="Append a constant.")] = True,
    scaling: Annotated[Scaling, typer.Option(help="Of the columns.")] = "standardize",
    use: Annotated[list[str] | None, USE] = None,
    drop: Annotated[list[str] | None, DROP] = None,
    category: Annotated[list[str] | None, CATEGORY] = None,
    max_iter: Annotated[
        int, typer.Option(metavar="N", min=1, help="Steps after which a start is given up.")
    ] = 100_000,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Output folder.", show_default="DATA without suffix, plus -starts"
        ),
    ] = None,
    executor: Annotated[ExecutorName, typer.Option(help="Where the seeds run.")] = "local",
    workers: Annotated[int | None, typer.Option(metavar="N", min=1, help="Processes.")] = None,
    json: Annotated[bool, JSON] = False,
    quiet: Annotated[bool, QUIET] = False,
) -> int:
    """Prove gradient descent from N random starts, and bound the probability that one succeeds.

    The seeds 0..N-1 stand for N(0, 1) hidden weights that the checker draws again. Each start is
    proved by a certificate of its own or counts as a failure. Data, head, width and step are fixed
    before the first seed. The bounds of several widths hold together with the confidence asked
    for. Writes starts.json, starts.svg (the curve, beside the widths that theorems ask for on these
    data) and the certificates into the output folder; run again, it goes on where it was
    interrupted. Exits with 0 if any start is proved.
    """
    from globalmin.cli import terminal
    from globalmin.cli.options import check_activation, check_columns, check_output

    check_activation(activation)
    widths, step = _widths(width), _step(step_size)
    folder = check_output(out or Path(f"{data.stem}-starts"))
    from globalmin.cli.tables import read_told
    from globalmin.shallow.start_probability import prove_starts

    columns = check_columns(use, drop, category, None)
    table, recipe = read_told(data, target, columns, bias=bias, scaling=scaling)
    found = []
    for k in widths:
        with terminal.working(f"starts of width {k}, {seeds} in all", quiet=quiet or json):
            share = prove_starts(
                table,
                width=k,
                seeds=seeds,
                activation=activation,
                step_size=step,
                confidence=confidence,
                variants=variants - 1 + len(widths),
                max_iter=max_iter,
                out=folder / "work" / f"width-{k}",
                executor=executor,
                workers=workers,
            )
        found.append(share)
        _write_certificates(share, folder / "certificates" / f"width-{k}")
    asked = _widths_of_theorems(table, max(widths), activation)
    record = _record(found, asked, table, recipe)
    _write(found, record, folder, asked)
    is_proved = any(share.n_proved for share in found)
    code = terminal.ACCEPTED if is_proved else terminal.NOT_CERTIFIED
    if json:
        terminal.print_json({"command": "starts", "exit_code": code, **record})
    else:
        _print(found, asked, folder)
    return code


def _widths(text: str) -> list[int]:
    parts = text.split(",")
    if not all(part.strip().isascii() and part.strip().isdigit() for part in parts):
        raise typer.BadParameter(f"--width {text} is not a number or numbers like 10,20,40")
    widths = [int(part) for part in parts]
    if min(widths) < 1 or len(set(widths)) != len(widths):
        raise typer.BadParameter(f"--width {text}: give positive widths, each once")
    return widths


def _step(text: str) -> float | str:
    if text == "theory":
        return text
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"--step-size {text} is neither 'theory' nor a number") from None


def _widths_of_theorems(table: Dataset, width: int, activation: str) -> dict[str, float]:
    """The width that each theorem of the papers about random starts would need on these data, and
    under INSPECT the one that `inspect` recommends to try first.
    """
    import math

    from globalmin.inspection import inspect

    report = inspect(table, width, activation)
    asked = report.required_widths() | {INSPECT: float(report.recommended_width)}
    return {item: value for item, value in asked.items() if math.isfinite(value)}


def _record(
    found: list[StartShare], asked: dict[str, float], table: Dataset, recipe: list[str]
) -> dict[str, Any]:
    shares = [
        {
            "width": s.width,
            "activation": s.activation,
            "step_size": s.step_size,
            "n_seeds": s.n_seeds,
            "n_proved": s.n_proved,
            "confidence": s.confidence,
            "variants": s.variants,
            "probability_lower": s.probability_lower,
            "steps": s.steps.tolist(),
            "reasons": {str(seed): why for seed, why in s.reasons.items()},
            "statement": s.statement,
        }
        for s in found
    ]
    return {
        "format": FORMAT,
        "data": {"n": table.n_samples, "d": table.n_features, "sha256": table.digest},
        "recipe": recipe,
        "shares": shares,
        "widths_of_theorems": {k: v for k, v in asked.items() if k != INSPECT},
        "recommended_width": int(asked[INSPECT]),
    }


def _write_certificates(share: StartShare, folder: Path) -> None:
    from globalmin.files import save_atomically

    folder.mkdir(parents=True, exist_ok=True)
    for seed, raw in share.certificates.items():
        save_atomically(folder / f"seed-{seed}.gmc", raw)


def _write(
    found: list[StartShare], record: dict[str, Any], folder: Path, asked: dict[str, float]
) -> None:
    import json

    from globalmin.drawing import save
    from globalmin.files import save_atomically
    from globalmin.report.start_figures import success_by_width

    text = json.dumps(record, indent=1, allow_nan=False, ensure_ascii=False) + "\n"
    save_atomically(folder / RECORD, text.encode("utf-8"))
    curve = [s.width for s in found], [s.share for s in found], [s.probability_lower for s in found]
    shown = {item: value for item, value in asked.items() if item in DRAWN}
    options = {"n_seeds": found[0].n_seeds, "confidence": found[0].confidence, "asked": shown}
    save(lambda: success_by_width(*curve, **options), folder / PICTURE)


def _print(found: list[StartShare], asked: dict[str, float], folder: Path) -> None:
    from globalmin.cli.terminal import print_rows

    head = f"{'width':>7} {'proved':>12} {'steps':>15}   probability of success"
    lines = [head]
    for s in found:
        steps = f"{s.steps.min()} to {s.steps.max()}" if len(s.steps) else "-"
        bound = f"at least {s.probability_lower:.4g} (confidence {100 * s.confidence:g} %)"
        lines.append(f"{s.width:>7} {f'{s.n_proved} of {s.n_seeds}':>12} {steps:>15}   {bound}")
    typer.echo("\n".join(lines))
    rows = [("means", found[-1].statement, "")]
    if len(found) > 1:
        together = f"the {len(found)} bounds hold together with confidence"
        rows.append(("together", f"{together} {100 * found[0].confidence:g} %", ""))
    rows += [
        (f"seed {seed}", f"width {s.width}: {why}", "yellow")
        for s in found
        for seed, why in list(s.reasons.items())[:3]
    ]
    if theorems := sorted((value, item) for item, value in asked.items() if item != INSPECT):
        widths = ", ".join(f"{item} {value:.2g}" for value, item in theorems)
        rows.append(("theorems", f"width that the printed constants ask for here: {widths}", ""))
    rows.append(("inspect", f"recommends to try {asked[INSPECT]:.0f} neurons first", ""))
    print_rows([*rows, ("files", str(folder), "")])
