"""`globalmin fit --patch-size`: a patch network for a table whose rows are signals or flattened
images; model, predictions, facts and, where it can be, a certificate.
"""

from __future__ import annotations

import csv
import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import typer

from globalmin._options import PATCH_HEADS, PATCH_SCALINGS, PatchHead, PatchScaling
from globalmin.cli import terminal
from globalmin.cli.options import Columns, FitOptions, check_choice
from globalmin.cli.output import MODEL, staged_folder
from globalmin.cli.summary import check_rows, proof_json, verdict_rows
from globalmin.cli.terminal import print_json, print_rows, say, working
from globalmin.data import Dataset
from globalmin.data.preprocessing import split_rows
from globalmin.files import canonical_json
from globalmin.one_filter.network import OneFilterNetwork
from globalmin.one_filter.verdict import trap_verdict
from globalmin.patches.claims.subject import FIXED_HEAD
from globalmin.patches.fit import MAX_ITER, PatchRun, train_patches
from globalmin.patches.layout import PatchLayout, patch_layout
from globalmin.patches.storage import save_patch_network
from globalmin.proving.producer import prove

if TYPE_CHECKING:
    from globalmin._types import Array, NDArray
    from globalmin.proving.proof import Proof

CERTIFICATE, PREDICTIONS, FACTS = "certificate.gmc", "predictions.csv", "fit.json"


@dataclass(frozen=True)
class PatchOptions:
    """What `--patch-size` and its companions ask for, as typed."""

    patch_size: str
    stride: str
    filters: int
    head: str
    image_shape: str | None
    padding: str
    normalize: str


@dataclass(frozen=True)
class Fitted:
    """A trained patch network with its table and the rows that trained it."""

    run: PatchRun
    proof: Proof
    table: Dataset
    rows: tuple[NDArray[np.intp], NDArray[np.intp]]
    seconds: dict[str, float]

    def score(self, part: int) -> float | None:
        """R^2 on the training rows (0) or on those held out (1); None where it has no meaning."""
        rows = self.rows[part]
        y = self.table.y[rows]
        spread = float(((y - y.mean()) ** 2).sum()) if len(y) else 0.0
        if spread == 0.0:
            return None
        miss = self.run.network.predict(self.table.X[rows]) - y
        return 1.0 - float(miss @ miss) / spread


def fit_patches(options: FitOptions, patches: PatchOptions, *, as_json: bool) -> int:
    """Run the whole command; errors leave the output folder as it was."""
    _refuse_others(options)
    table = Dataset.load(options.data, target=options.targets, bias=False, scaling="none")
    layout = _layout(patches, table.X.shape[1], bias=options.bias)
    head: PatchHead = check_choice("--head", patches.head, PATCH_HEADS)
    with staged_folder(options.out) as staging:
        fitted = _train(table, layout, options, (head, patches.filters), staging)
        facts = _facts(fitted, options, layout, head)
        save_patch_network(staging / MODEL, fitted.run.network)
        _write_predictions(fitted, staging / PREDICTIONS)
        (staging / FACTS).write_text(canonical_json(facts) + "\n", encoding="utf-8")
    code = _exit_code(fitted)
    if as_json:
        print_json({"command": "fit", "exit_code": code, "out": str(options.out), **facts})
    else:
        _show(fitted, options, layout, facts)
    return code


def _refuse_others(options: FitOptions) -> None:
    """Options of dense networks that mean nothing here."""
    given = {
        "--width": (options.width, ("auto",)),
        "--method": (options.method, ("auto",)),
        "--trained": (options.trained, ("W",)),
        "--activation": (options.activation, ("softplus", "relu")),
    }
    for name, (value, allowed) in given.items():
        if value not in allowed:
            raise typer.BadParameter(
                f"{name} {value} does not go with --patch-size, whose networks are relu networks "
                "of --filters filters; leave it out"
            )
    if options.columns != Columns():
        raise typer.BadParameter(
            "--use, --drop and --category do not go with --patch-size: the columns are the places "
            "of a signal; leave them out, and other columns out of the table"
        )
    if len(options.targets) != 1:
        raise typer.BadParameter("--patch-size fits one target; give --target once")


def _layout(patches: PatchOptions, n_features: int, *, bias: bool) -> PatchLayout:
    shape: Any = (n_features,)
    if patches.image_shape is not None:
        shape = sizes("--image", patches.image_shape)
    if math.prod(shape) != n_features:
        raise typer.BadParameter(
            f"--image {patches.image_shape} has {math.prod(shape)} numbers, but the table "
            f"has {n_features} input columns"
        )
    normalize: PatchScaling = check_choice("--normalize", patches.normalize, PATCH_SCALINGS)
    padding = patches.padding
    return patch_layout(
        shape,
        _one_or_all(sizes("--patch-size", patches.patch_size)),
        _one_or_all(sizes("--stride", patches.stride)),
        padding=padding if padding == "same" else _one_or_all(sizes("--padding", padding)),
        bias=bias,
        normalize=normalize,
    )


def sizes(option: str, text: str) -> tuple[int, ...]:
    """Whole numbers as in 5 or 8x8x3."""
    parts = text.lower().split("x")
    if not all(part.isascii() and part.isdigit() for part in parts):
        raise typer.BadParameter(f"{option} {text}: give a whole number, or several as in 8x8")
    return tuple(map(int, parts))


def _one_or_all(values: tuple[int, ...]) -> int | tuple[int, ...]:
    return values[0] if len(values) == 1 else values


def _train(
    table: Dataset,
    layout: PatchLayout,
    options: FitOptions,
    form: tuple[PatchHead, int],
    staging: Path,
) -> Fitted:
    head, filters = form
    rows = split_rows(table, options.test_size, options.seed)
    X, y = table.X[rows[0]], table.y[rows[0]]
    started = time.perf_counter()
    run = train_patches(
        X,
        y,
        layout,
        filters=filters,
        head=head,
        seed=options.seed,
        verbose=not options.quiet,
        max_iter=MAX_ITER if options.max_iter is None else options.max_iter,
    )
    seconds = {"train": time.perf_counter() - started}
    if not run.status.is_success:
        say(f"globalmin: warning: {run.message}")
    training = Dataset(X, y, bias=False, scaling="none")
    claims = None if head == "trained" else FIXED_HEAD
    with working("proving and checking", quiet=options.quiet):
        proof = prove(run.network, training, claims=claims, path=staging / CERTIFICATE)
    return Fitted(run, proof, table, rows, seconds | dict(proof.seconds))


def _exit_code(fitted: Fitted) -> int:
    """0 only for a proved global minimum: a best head for these filters is not one."""
    if fitted.proof.is_accepted and not fitted.proof.reaches_minimum:
        return terminal.NOT_CERTIFIED
    return terminal.code_of_proof(fitted.proof)


def _facts(
    fitted: Fitted, options: FitOptions, layout: PatchLayout, head: PatchHead
) -> dict[str, Any]:
    run = fitted.run
    return {
        "network": {
            "kind": "patches",
            "filters": run.network.n_filters,
            "patches": layout.n_patches,
            "head": head,
            **layout.as_dict(),
        },
        "training": {
            "status": str(run.status),
            "message": run.message,
            "iterations": run.n_iter,
            "starts": run.starts,
            "loss": run.loss,
            "relative_loss": run.relative_loss if math.isfinite(run.relative_loss) else None,
        },
        "data": {"n_train": len(fitted.rows[0]), "n_held_out": len(fitted.rows[1])},
        "scores": {"training_r2": fitted.score(0), "held_out_r2": fitted.score(1)},
        "trap": _trap(fitted, head),
        "seed": options.seed,
        **proof_json(fitted.proof),
    }


def _trap(fitted: Fitted, head: PatchHead) -> str | None:
    """The verdict of the held-out rows on the trap of chapter 5, where it can be asked."""
    network, rows = fitted.run.network, fitted.rows[1]
    k = network.layout.n_patches
    is_asked = head == "trained" and network.n_filters == 1 and not network.layout.bias
    if not is_asked or len(rows) < 4 * k + 20 or not network.filters.any():
        return None
    Z: Array = network.layout.patches(fitted.table.X[rows])
    one = OneFilterNetwork(network.filters[0], network.head[0])
    return str(trap_verdict(one, Z, fitted.table.y[rows]))


def _write_predictions(fitted: Fitted, path: Path) -> None:
    outputs = fitted.run.network.predict(fitted.table.X)
    held = set(fitted.rows[1].tolist())
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["row", "part", "label", "prediction"])
        for i, (label, output) in enumerate(zip(fitted.table.y, outputs, strict=True)):
            part = "held out" if i in held else "training"
            writer.writerow([i, part, repr(float(label)), repr(float(output))])


def _show(fitted: Fitted, options: FitOptions, layout: PatchLayout, facts: dict[str, Any]) -> None:
    run, scores = fitted.run, facts["scores"]
    times = ", ".join(f"{name} {value:.1f} s" for name, value in fitted.seconds.items())
    held = "no score" if scores["held_out_r2"] is None else f"R² = {scores['held_out_r2']:.3f}"
    data, network = facts["data"], facts["network"]
    table = f"{options.data.name} → {options.targets[0]}"
    counted = f"{table}: {data['n_train']} rows to train, {data['n_held_out']} held out"
    form = f"{network['filters']} filter(s) {layout.filter_shape} at {layout.n_patches} patches"
    rows = [
        ("data", counted, ""),
        ("network", f"{form}, output weights {network['head']}", ""),
        ("training", f"{run.n_iter} steps in start {run.starts}, {run.status}; {times}", ""),
        ("loss", f"{run.loss:.3g}, {run.relative_loss:.3g} of that of the zero network", ""),
        *verdict_rows(fitted.proof),
        ("held out", f"{held}. Zero training loss is not generalization", ""),
        *([("trap", facts["trap"], "")] if facts["trap"] else []),
        *check_rows(options.out / CERTIFICATE if fitted.proof.has_file else None),
        ("predictions", str(options.out / PREDICTIONS), terminal.COPY),
    ]
    print_rows(rows)
