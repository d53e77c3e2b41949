"""Fits in MLflow: parameters, the proved numbers, and the certificate as an artifact of the run;
losses while training. Only the small client is needed (the extra `globalmin[mlflow]`), and the
tracking server is whichever `mlflow.set_tracking_uri` names.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin.errors import DataError

if TYPE_CHECKING:
    from globalmin.optimize.follow import Step

NUMBERS = ("objective", "lower_bound", "gap", "relative_gap", "loss_upper", "loss_lower")
_MOST_CHARACTERS = 500  # of a parameter, as MLflow allows


def _mlflow() -> Any:
    try:
        import mlflow
    except ImportError as error:
        raise DataError(
            "recording in MLflow needs its client; install globalmin[mlflow]"
        ) from error
    return mlflow


def log_to_mlflow(model: Any) -> None:
    """Record a fitted estimator in the active run of MLflow (or a new one).

    Parameters, the numbers that were proved (`objective`, `lower_bound`, `gap`, ...; with several
    networks numbered), the checker's verdicts as tags, and as artifacts the certificates and, where
    the estimator can be saved, the model.

    Parameters
    ----------
    model : Any
        A fitted estimator of ours.
    """
    if not hasattr(model, "verdict_"):
        raise DataError(
            f"model={type(model).__name__} has no verdict_; give an estimator of globalmin that is "
            "fitted"
        )
    mlflow = _mlflow()
    mlflow.log_params(
        {name: str(value)[:_MOST_CHARACTERS] for name, value in model.get_params().items()}
    )
    mlflow.log_metrics(_metrics(model))
    verdicts = _listed(model.verdict_)
    mlflow.set_tags(
        {f"globalmin.verdict{_number(i, verdicts)}": str(v) for i, v in enumerate(verdicts)}
        | {"globalmin.estimator": type(model).__name__}
    )
    with tempfile.TemporaryDirectory() as folder:
        _write(model, Path(folder))
        mlflow.log_artifacts(folder)


def mlflow_monitor(every: int = 1) -> Callable[[Step[Any]], None]:
    """A `monitor` for `train` and the other runs: logs the loss of every recorded step, or of
    every `every`-th, to the active run of MLflow.
    """
    if every < 1:
        raise DataError(f"every={every} must be at least 1")
    mlflow = _mlflow()

    def record(step: Step[Any]) -> None:
        if step.iteration % every == 0 and math.isfinite(step.loss):
            mlflow.log_metric("loss", step.loss, step=step.iteration)

    return record


def _metrics(model: Any) -> dict[str, float]:
    found: dict[str, float] = {}
    for name in NUMBERS:
        values = _listed(getattr(model, f"{name}_", []))
        for i, value in enumerate(values):
            if value is not None and math.isfinite(float(value)):  # a server refuses infinities
                found[f"{name}{_number(i, values)}"] = float(value)
    return found


def _write(model: Any, folder: Path) -> None:
    certificates = _listed(model.certificate_)
    for i, content in enumerate(certificates):
        if content is not None:
            (folder / f"certificate{_number(i, certificates)}.gmc").write_bytes(content)
    if hasattr(model, "save"):
        model.save(folder / "model.safetensors")


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple | np.ndarray) else [value]


def _number(i: int, values: list[Any]) -> str:
    return "" if len(values) == 1 else f"-{i}"
