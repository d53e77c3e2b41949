"""The pictures of a model with weight decay, and what they draw as csv: curves, interactions, or
effects.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from globalmin import drawing
from globalmin._types import Array
from globalmin.regularized.effects import effects_table
from globalmin.regularized.terms import DRAWN, table_of
from globalmin.report.regularized_page import picture_stem


def write_pictures(kind: str, chosen: Any, X: Array, y: Array | None, folder: Path) -> None:
    """One picture and one csv file for each network.

    Parameters
    ----------
    kind : "additive", "quadratic" or "relu".
    chosen : the fitted estimator.
    X : raw training rows.
    y : their labels, if they are in the units of the outputs.
    folder : where the files go.
    """
    count = len(chosen.networks_)
    for i in range(count):
        stem = folder / picture_stem(kind, i, count)
        if kind == "additive":
            drawing.save(lambda i=i: chosen.plot_terms(X, y, target=i), stem)
            table = _terms_table(chosen, i)
        elif kind == "quadratic":
            drawing.save(lambda i=i: chosen.plot_interactions(target=i), stem)
            table = (chosen.interactions_[i] if count > 1 else chosen.interactions_).as_csv()
        else:
            drawing.save(lambda i=i: chosen.plot_effects(X, target=i), stem)
            table = effects_table(chosen.effects(X, target=i)[:DRAWN])
        stem.with_suffix(".csv").write_text(table, encoding="utf-8")


def _terms_table(chosen: Any, i: int) -> str:
    """The curves and surfaces of one picture as csv text."""
    terms = chosen.terms_
    if not terms or not isinstance(terms[0], list):
        return table_of({"": terms[:DRAWN]})
    if len(chosen.networks_) == 1:  # all classes in one picture
        named = zip(chosen.classes_.tolist(), terms, strict=True)
        return table_of({str(name): part for name, part in named})
    return table_of({"": terms[i][:DRAWN]})
