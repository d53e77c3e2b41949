"""What a fit leaves behind: the output folder, filled beside its place and moved in at the end,
and `fit.json`: facts about the data, the run, and the arrays behind the figures.
"""

from __future__ import annotations

import math
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin._types import Array, NDArray
from globalmin.cli.doctor import environment
from globalmin.errors import CannotCertify
from globalmin.report import measures
from globalmin.report.record import FitRecord, Histogram, Series, TargetRecord
from globalmin.shallow.network import ShallowNetwork

if TYPE_CHECKING:
    from globalmin.cli.fitting import Prepared, TargetData
    from globalmin.cli.options import FitOptions
    from globalmin.cli.summary import Attempt
    from globalmin.data import Dataset
    from globalmin.shallow.trajectory import ShallowRun

MODEL = "model.safetensors"
OURS = re.compile(
    r"(model\.safetensors|certificate(-.+)?\.gmc|fit\.json|report\.html|predictions\.csv"
    r"|(terms|interactions)(-\d+)?\.(svg|png|csv))"
)


@contextmanager
def staged_folder(out: Path) -> Iterator[Path]:
    """A temporary folder next to `out`; its files move to `out` when the block ends well and vanish
    when it does not.

    Files of an earlier fit in `out` are replaced, those without a successor are removed; other
    files are left alone.
    """
    parent = out.absolute().parent
    made = _make_parents(parent)
    staging = Path(tempfile.mkdtemp(prefix=".globalmin-", dir=parent))
    try:
        yield staging
        _move_in(staging, out)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
        _remove_empty(made)


def _move_in(staging: Path, out: Path) -> None:
    if not out.exists():
        os.chmod(staging, 0o777 & ~_umask())
        os.rename(staging, out)
        return
    names = sorted(path.name for path in staging.iterdir())
    # the old certificate goes first: a folder never shows a certificate beside a network it does
    # not speak of
    for stale in sorted(
        path
        for path in out.iterdir()
        if OURS.fullmatch(path.name) and (path.suffix == ".gmc" or path.name not in names)
    ):
        stale.unlink()
    for name in sorted(names, key=lambda name: (name.endswith(".html"), name)):
        os.replace(staging / name, out / name)


def certificate_names(targets: Sequence[str]) -> list[str]:
    """File name of each target's certificate."""
    if len(targets) == 1:
        return ["certificate.gmc"]
    return [f"certificate-{name}.gmc" for name in plain_names(targets)]


def plain_names(targets: Sequence[str]) -> list[str]:
    """A name for files of each target: letters outside A-Z a-z 0-9 . _ - are replaced, and the
    names differ.
    """
    seen: set[str] = set()
    names = []
    for position, target in enumerate(targets, start=1):
        plain = re.sub(r"[^A-Za-z0-9._-]+", "_", target)[:80].strip("._-") or "target"
        unique = plain if plain.lower() not in seen else f"{plain}-{position}"
        seen.add(unique.lower())
        names.append(unique)
    return names


def _make_parents(parent: Path) -> list[Path]:
    """Create missing parents; the list, deepest first, is for cleaning up."""
    missing = [folder for folder in (parent, *parent.parents) if not folder.exists()]
    parent.mkdir(parents=True, exist_ok=True)
    return missing


def _remove_empty(folders: Sequence[Path]) -> None:
    for folder in folders:
        try:
            folder.rmdir()
        except OSError:
            return


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def record_fit(
    prepared: Prepared,
    data: Sequence[TargetData],
    targets: Sequence[TargetRecord],
    *,
    digests: Sequence[str],
    options: FitOptions,
) -> FitRecord:
    """The record of the whole fit; `data`, `targets` and `digests` (of the rows that the proofs
    speak of) have one entry per target that was trained.
    """
    training = prepared.training
    lower, upper = training.degeneracy.rank_bounds
    equal = training.degeneracy.equal_rows
    facts: dict[str, Any] = {
        "name": options.data.name,
        "n_rows": prepared.table.n_samples,
        "n_train": training.n_samples,
        "n_held_out": len(prepared.held_out.y),
        "n_raw_features": training.preprocessings[0].n_features_in,
        "n_features": training.n_features,
        "bias": training.bias,
        "scaling": training.scaling,
        "rank": str(lower) if lower == upper else f"{lower} to {upper}",
        "equal_rows": f"{sum(map(len, equal))} in {len(equal)} groups" if equal else "none",
        "sha256": dict(zip(prepared.names, digests, strict=False)),
        "warnings": [warning for d in data for warning in d.warnings],
        "recipe": [] if prepared.recipe is None else prepared.recipe.sentences(),
    }
    return FitRecord(
        data=facts, options=options.recorded(), environment=environment(), targets=tuple(targets)
    )


def record_target(
    prepared: Prepared,
    j: int,
    data: TargetData,
    run: Any,
    attempt: Attempt,
    *,
    certificate: str,
    options: FitOptions,
) -> TargetRecord:
    """The record of target j."""
    train, held_out = _series(run.network, data, prepared, j)
    network = run.network
    is_deep = not isinstance(network, ShallowNetwork)
    has_kink = not is_deep and network.activation.name in ("relu", "leaky_relu", "abs")
    stated = attempt.stated(data.training)
    spectrum = measures.estimate_spectrum(network, stated.X, trained=options.trained)
    margins = measures.estimate_margins(network, stated.X) if has_kink else None
    return TargetRecord(
        name=prepared.names[j],
        model=MODEL,
        certificate=certificate if attempt.has_file else None,
        network=_network_facts(network, options.trained),
        training=_run_facts(run),
        trajectory={
            name: _numbers(values) for name, values in _columns(run, data, options).items()
        },
        train=train,
        held_out=held_out,
        scores=_scores(prepared, j, train, held_out),
        spectrum=None if spectrum is None else spectrum.tolist(),
        margins=None
        if margins is None
        else Histogram(**{name: _plain(value) for name, value in vars(margins).items()}),
        not_proved="" if attempt.has_file else attempt.proof.reason,
        reasons={} if attempt.has_file else dict(attempt.proof.reasons),
        loss_floor=data.floor,
        quadratic=_quadratic_facts(network, stated, options),
    )


def _quadratic_facts(network: Any, data: Dataset, options: FitOptions) -> dict[str, Any] | None:
    if network.activation.name != "quadratic" or not isinstance(network, ShallowNetwork):
        return None
    return measures.estimate_quadratic(network, data.X, data.y, weight_decay=options.weight_decay)


def _network_facts(network: Any, trained: str) -> dict[str, Any]:
    if not isinstance(network, ShallowNetwork):
        return {
            "architecture": network.architecture,
            "depth": network.depth,
            "activation": str(network.activation),
            "width": network.width,
            "n_features": math.prod(network.input_shape),
            "trained": "all",
            "n_trained": network.n_parameters,
        }
    k, d = network.width, network.n_features
    return {
        "activation": str(network.activation),
        "width": k,
        "n_features": d,
        "trained": trained,
        "n_trained": k * (d * ("W" in trained) + ("v" in trained)),
    }


def _run_facts(run: Any) -> dict[str, Any]:
    names = ("method", "message", "n_iter", "loss", "relative_residual")
    starts = {"starts": getattr(run, "starts", 1)}
    return {"status": run.status.value, **starts, **{name: getattr(run, name) for name in names}}


def _columns(run: Any, data: TargetData, options: FitOptions) -> dict[str, NDArray[Any]]:
    """The recorded steps; for gradient descent of all layers what was to be expected of it, and for
    a run that was asked to be proved from its start the growth of the error of its replay.
    """
    columns = run.trajectory.columns()
    if options.until == "proved":
        columns["replay_log_error"] = _replay_errors(run, data)
    from globalmin.deep.network import DeepNetwork

    if run.method == "gradient_descent" and isinstance(run.start, DeepNetwork):
        from globalmin.deep.prediction import predict_deep

        step = run.trajectory.step_size
        found = predict_deep(run.start, data.training, step_size=step)
        columns["predicted_loss"] = found.losses(run.trajectory.iteration)
    return columns


def _replay_errors(run: ShallowRun, data: TargetData) -> Array:
    from globalmin.shallow.claims.replay import estimate_replay_errors
    from globalmin.shallow.from_start import started

    steps = run.trajectory.iteration
    try:
        return estimate_replay_errors(started(run), data.training.X)[steps]
    except CannotCertify:  # no run to replay, and so no picture of it
        return np.full(len(steps), np.nan)


def _series(
    network: Any, data: TargetData, prepared: Prepared, j: int
) -> tuple[Series, Series | None]:
    """Targets and outputs in the user's units, training rows and held-out rows."""
    scaling = data.training.preprocessing

    def series(X: Array, y: Array) -> Series:
        return Series(y.tolist(), scaling.restore(network.predict(X)).tolist())

    train = series(data.training.X, prepared.raw.y[:, j])
    held = prepared.held_out
    return train, series(scaling.transform(held.X), held.y[:, j]) if len(held.y) else None


def _scores(
    prepared: Prepared, j: int, train: Series, held_out: Series | None
) -> dict[str, float | None]:
    scores: dict[str, float | None] = {
        "train_r2": _r2(train),
        "held_out_r2": None if held_out is None else _r2(held_out),
    }
    ridge = (
        None
        if held_out is None
        else measures.ridge_outputs(prepared.raw.X, prepared.raw.y[:, j], prepared.held_out.X)
    )
    if ridge is not None and held_out is not None:
        scores["ridge_train_r2"] = _r2(Series(train.target, ridge[0].tolist()))
        scores["ridge_held_out_r2"] = _r2(Series(held_out.target, ridge[1].tolist()))
    return scores


def _r2(series: Series) -> float | None:
    return measures.estimate_r2(np.array(series.target), np.array(series.output))


def _numbers(values: NDArray[Any]) -> list[Any]:
    """JSON has no NaN: what was not measured is null."""
    return [None if isinstance(v, float) and not math.isfinite(v) else v for v in values.tolist()]


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else value
