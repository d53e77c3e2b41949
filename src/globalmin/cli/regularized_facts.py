"""`fit.json` of a model with weight decay: what was chosen and why, what is proved, what a person
reads in it, and its scores beside those of the baseline.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from globalmin.estimators._candidates import Candidate

if TYPE_CHECKING:
    from globalmin._types import Array, Indices, NDArray

_READ = 40  # terms of a polynomial that are written down


def facts_of(
    model: Any, X: Array, labels: NDArray[Any], rows: tuple[Indices, Indices], seconds: float
) -> dict[str, Any]:
    """The content of `fit.json`, without the names of file and target.

    Parameters
    ----------
    model : Any
        A fitted `ProvedNetworkRegressor` or `ProvedNetworkClassifier`.
    X, labels
        All rows of the table.
    rows : tuple[Indices, Indices]
        Which of them trained, and which were held out.
    seconds : float
        What the fit took.
    """
    chosen = model.best_estimator_
    classes = [cell(label) for label in model.classes_] if hasattr(model, "classes_") else []
    read = _read(model)
    count = len(_listed(chosen.verdict_))
    return {
        "network": {
            "kind": model.model_,
            "loss": model.loss,
            "width": np.ravel(chosen.width_).tolist(),
        },
        "choice": _choice(model),
        "weight_decay": np.ravel(chosen.weight_decay_).tolist(),
        "objective": np.ravel(chosen.objective_).tolist(),
        "lower_bound": _finite(chosen.lower_bound_),
        "gap": _finite(chosen.gap_),
        "relative_gap": _finite(chosen.relative_gap_),
        "verdict": [str(verdict) for verdict in _listed(chosen.verdict_)],
        "asked_gap": chosen.gap,
        "optimal": np.ravel(chosen.optimal_).tolist(),
        "statement": chosen.gap_statement(),
        "statements": [chosen.gap_statement(j) for j in range(count)],
        "bounds": _listed(getattr(chosen, "bound_", None)),
        "task": "classification" if classes else "regression",
        "classes": classes,
        "terms": [{"name": t["name"], "size": t["size"]} for t in read[0]] if read else [],
        "all_terms": read,
        "scores": _scores(model, X, labels, rows),
        "baseline": {
            "name": next((r.name for r in model.candidates_ if not r.is_network), "linear model"),
            "scores": _scores(model.baseline_, X, labels, rows),
        },
        "data": {"n_train": len(rows[0]), "n_held_out": len(rows[1]), "n_columns": X.shape[1]},
        "seconds": seconds,
    }


def _choice(model: Any) -> dict[str, Any]:
    rows = model.candidates_
    constant = next((row.loss for row in rows if row.name == "best constant"), None)
    return {
        "chosen": model.model_,
        "asked": model.models,
        "folds": max((len(row.losses) for row in rows), default=0),
        "statement": model.choice_statement(),
        "candidates": [_candidate(row, constant) for row in rows],
    }


def _candidate(row: Candidate, constant: float | None) -> dict[str, Any]:
    """A row of the table; `skill` is the share of the constant's held-out loss that is gone."""
    is_known = row.took_part and bool(np.isfinite(row.loss))
    has_skill = is_known and constant is not None and np.isfinite(constant) and constant > 0
    return {
        "name": row.name,
        "is_network": row.is_network,
        "loss": row.loss if is_known else None,
        "spread": row.spread if is_known else None,
        "skill": 1.0 - row.loss / constant if has_skill and constant else None,
        "relative_gap": row.relative_gap,
        "note": row.note,
        "seconds": row.seconds,
    }


def _read(model: Any) -> list[list[dict[str, Any]]]:
    """What a person reads in each network: curves by their size, or terms of a polynomial by their
    coefficients; empty for ReLU networks.
    """
    chosen = model.best_estimator_
    if model.model_ == "additive":
        found = chosen.terms_
        parts = found if found and isinstance(found[0], list) else [found]
        if len(chosen.networks_) < len(parts):  # outputs that share neurons: what moves any most
            largest = sorted((t for part in parts for t in part), key=lambda t: -t.size)
            parts = [[*{t.columns: t for t in reversed(largest)}.values()][::-1]]
        return [
            [{"name": t.name, "size": t.size, "width": t.width} for t in part] for part in parts
        ]
    if model.model_ == "quadratic":
        return [
            [
                {"name": _product(term), "size": term.coefficient}
                for term in part.table(most=_READ)
                if term.coefficient
            ]
            for part in _listed(chosen.interactions_)
        ]
    return []


def _product(term: Any) -> str:
    if term.second is None:
        return term.first
    return f"{term.first}²" if term.second == term.first else f"{term.first} × {term.second}"


def _scores(model: Any, X: Array, labels: NDArray[Any], rows: tuple[Indices, Indices]) -> Any:
    """R² or accuracy on training and held-out rows; None for fewer than two."""
    training, held_out = (
        float(model.score(X[part], labels[part])) if len(part) > 1 else None for part in rows
    )
    return {"training": training, "held_out": held_out}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _finite(values: Any) -> list[float | None]:
    """Numbers for JSON, which has no infinity: None where nothing is proved."""
    return [float(x) if np.isfinite(x) else None for x in np.ravel(values)]


def cell(label: Any) -> str:
    """A label as text: numbers so that they are read back bit for bit."""
    if isinstance(label, str):
        return str(label)
    value = float(label)
    return str(int(value)) if value.is_integer() and abs(value) < 2**53 else repr(value)
