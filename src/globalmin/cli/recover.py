"""`globalmin recover`: the weights of an unknown network from a table, with error bars, a certified
ball, and the files that hold them.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from globalmin._options import Estimator, Inputs, Labels
from globalmin.cli.arguments import DATA, JSON, LABELS, QUIET, READ_DROP, READ_USE

if TYPE_CHECKING:
    from globalmin.data import Dataset
    from globalmin.recovery.recover_teacher import ProvedRecovery

WEIGHTS, RECORD, CERTIFICATE = "weights.csv", "recovery.json", "certificate.gmc"
FORMAT = "globalmin-recovery/1"
LEVEL = 0.95
GAUSSIAN = "weights are recovered from Gaussian inputs alone; correct the table"
ROWS = 60  # of the table on the screen; the file has all


def recover(
    data: Annotated[Path, DATA],
    *,
    target: Annotated[str, LABELS],
    width: Annotated[
        int, typer.Option("--neurons", "--width", metavar="K", min=1, help="Number of the neurons.")
    ],
    activation: Annotated[
        str, typer.Option(metavar="A", help="sigmoid, sigmoid(2), tanh, softplus, erf, ...")
    ] = "sigmoid",
    labels: Annotated[
        Labels,
        typer.Option(help="The network's output, perhaps with noise; or 0/1 with it as chance."),
    ] = "regression",
    estimator: Annotated[
        Estimator, typer.Option(help="Least squares; or for 0/1 labels maximum likelihood.")
    ] = "squares",
    inputs: Annotated[
        Inputs, typer.Option(help="N(0, I); or Gaussian of any mean and covariance.")
    ] = "standard",
    offsets: Annotated[
        bool, typer.Option("--offsets/--no-offsets", help="Neurons have offsets (biases).")
    ] = False,
    certify: Annotated[
        bool,
        typer.Option("--certify/--no-certify", help="Prove the ball with one minimum; takes long."),
    ] = True,
    use: Annotated[list[str] | None, READ_USE] = None,
    drop: Annotated[list[str] | None, READ_DROP] = None,
    seed: Annotated[int, typer.Option(metavar="S", min=0, help="Seed of the start.")] = 0,
    max_iter: Annotated[
        int, typer.Option(metavar="N", min=1, help="Most steps of the descent.")
    ] = 1_500,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Output folder.", show_default="DATA without suffix, plus -recovery"
        ),
    ] = None,
    json: Annotated[bool, JSON] = False,
    quiet: Annotated[bool, QUIET] = False,
) -> int:
    """Recover the weights of the network mean φ(w_k · x) that made the labels, with error bars.

    Writes weights.csv (weight, standard error and 95 % interval of every weight), recovery.json,
    model.safetensors and, if the ball around the minimum could be proved, certificate.gmc into the
    output folder. Exits with 0 only if nothing casts doubt on the weights and the checker accepts
    the certificate (unless --no-certify).
    """
    from globalmin.cli.options import check_activation, check_columns, check_output

    check_activation(activation)
    if estimator == "likelihood" and labels == "regression":
        raise typer.BadParameter(
            "--estimator likelihood is for 0/1 labels; add --labels classification"
        )
    folder = check_output(out or Path(f"{data.stem}-recovery"))
    from globalmin.cli.tables import read_plain
    from globalmin.cli.terminal import print_json, working
    from globalmin.data import Dataset
    from globalmin.recovery.recover_teacher import recover_teacher

    given = read_plain(data, target, check_columns(use, drop, None, None), reason=GAUSSIAN)
    named = {"feature_names": given.feature_names, "target_names": given.target_names}
    table = Dataset(given.X, given.y, bias=offsets, scaling="none", **named)
    with working("recovering the weights", quiet=quiet or json):
        found = recover_teacher(
            table,
            width,
            activation,
            labels=labels,
            estimator=estimator,
            inputs=inputs,
            offsets=offsets,
            certify=certify,
            seed=seed,
            max_iter=max_iter,
        )
    code = _exit_code(found, certify=certify)
    record = _record(found, table, code)
    _write(found, table, record, folder)
    if json:
        print_json({"command": "recover", "exit_code": code, **record})
    else:
        _print(found, record, folder)
    return code


def _exit_code(found: ProvedRecovery, *, certify: bool) -> int:
    from globalmin.cli import terminal

    proved = found.certificate is not None or not certify
    return terminal.ACCEPTED if proved and not found.warnings else terminal.NOT_CERTIFIED


def _names(table: Dataset, count: int) -> list[str]:
    given = table.feature_names
    names = list(given) if given else [f"x{j}" for j in range(count - int(table.bias))]
    return [*names, "offset"] if table.bias and len(names) < count else names


def _record(found: ProvedRecovery, table: Dataset, code: int) -> dict[str, Any]:
    low, high = found.intervals(LEVEL)
    names = _names(table, found.weights.shape[1])
    errors = found.standard_errors
    return {
        "format": FORMAT,
        "n_samples": table.n_samples,
        "activation": found.activation,
        "labels": found.labels,
        "status": found.status.value,
        "expected_error": _finite(found.expected_error),
        "noise": _finite(found.noise),
        "level": LEVEL,
        "weights": [
            {
                "neuron": k,
                "feature": name,
                "weight": float(found.weights[k, j]),
                "standard_error": _finite(errors[k, j]),
                "low": _finite(low[k, j]),
                "high": _finite(high[k, j]),
            }
            for k in range(len(found.weights))
            for j, name in enumerate(names)
        ],
        "ball": {
            name: getattr(found.ball, name)
            for name in ("radius", "distance", "step_size", "rate", "reason")
        },
        "warnings": list(found.warnings),
        "notes": list(found.start_notes),
        "exit_code": code,
    }


def _finite(value: float) -> float | None:
    import math

    return float(value) if math.isfinite(value) else None


def _write(found: ProvedRecovery, table: Dataset, record: dict[str, Any], folder: Path) -> None:
    import csv
    import json

    from globalmin.cli.output import MODEL, staged_folder
    from globalmin.shallow.storage import save_networks

    with staged_folder(folder) as staging:
        with (staging / WEIGHTS).open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, fieldnames=list(record["weights"][0]))
            writer.writeheader()
            writer.writerows(record["weights"])
        text = json.dumps(record, indent=1, allow_nan=False, ensure_ascii=False)
        (staging / RECORD).write_text(text + "\n", encoding="utf-8")
        save_networks(staging / MODEL, [found.network], [table.preprocessing])
        if found.certificate is not None:
            (staging / CERTIFICATE).write_bytes(found.certificate)


def _print(found: ProvedRecovery, record: dict[str, Any], folder: Path) -> None:
    from globalmin.cli.terminal import print_rows

    error = record["expected_error"]
    known = "unknown" if error is None else f"{100 * error:.2g} % (relative, estimated)"
    ball = found.ball
    proved = (
        f"one minimum within {ball.radius:.3g} of the weights; descent on 1/(2n) Σ r² with step "
        f"{ball.step_size:.3g} shrinks the distance by {ball.rate:.6g} a step"
        if ball.radius is not None and ball.step_size is not None and ball.rate is not None
        else ball.reason or "nothing"
    )
    lines = [
        f"{'neuron':>6}  {'feature':<16} {'weight':>12} ± {'standard error':<14}  95 % interval"
    ]
    for row in record["weights"][:ROWS]:
        spread, low, high = row["standard_error"], row["low"], row["high"]
        bars = f"{spread:<14.3g}  {low:.5g} to {high:.5g}" if spread is not None else "unknown"
        lines.append(f"{row['neuron']:>6}  {row['feature']:<16.16} {row['weight']:>12.6g} ± {bars}")
    if len(record["weights"]) > ROWS:
        lines.append(f"... {len(record['weights']) - ROWS} more in {WEIGHTS}")
    typer.echo("\n".join(lines))
    warnings = [("warning", text, "yellow") for text in found.warnings]
    print_rows(
        [
            ("error", known, ""),
            ("noise", f"{found.noise:.3g} around the network", ""),
            ("proved", proved, ""),
            *warnings,
            ("files", str(folder), ""),
        ]
    )
