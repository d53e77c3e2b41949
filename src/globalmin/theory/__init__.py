"""What the theorems say of one instance: pure functions of arrays, in floats, hence estimates; proofs are the checker's.

The names below are imported on first use.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

_HOMES = {
    "limit_gram": "globalmin.theory.gram",
    "gram_error": "globalmin.theory.gram",
    "estimate_lambda_min": "globalmin.theory.gram_spectrum",
    "finite_gram": "globalmin.theory.finite_gram_matrices",
    "normalized_finite_gram": "globalmin.theory.finite_gram_matrices",
    "measure_deviation": "globalmin.theory.finite_gram_matrices",
    "lambda_lower_bounds": "globalmin.theory.gram_bounds",
    "khatri_rao": "globalmin.theory.khatri_rao_products",
    "khatri_rao_gram": "globalmin.theory.khatri_rao_products",
    "khatri_rao_sigma_min": "globalmin.theory.khatri_rao_products",
    "kappa": "globalmin.theory.khatri_rao_products",
    "separation": "globalmin.theory.separation_of_rows",
    "parallel_pairs": "globalmin.theory.separation_of_rows",
    "deep_gram": "globalmin.theory.deep_gram",
    "deep_ntk": "globalmin.theory.deep_gram",
    "global_basin_probability": "globalmin.theory.one_filter_basin",
    "basin_estimate": "globalmin.theory.one_filter_basin",
    "filter_landscape": "globalmin.theory.one_filter_landscape",
    "trap_test": "globalmin.theory.one_filter_landscape",
    "rank_one_run": "globalmin.theory.factorization_rank_one",
    "samples_determine": "globalmin.theory.quadratic_identifiability",
    "schedule_report": "globalmin.theory.factorization_schedule",
    "disagreeing_networks": "globalmin.theory.quadratic_disagreement",
}

__all__ = [*_HOMES]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'globalmin.theory' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


class _Room(ModuleType):
    """Keeps a submodule from taking the place of the public function of the same name once it is imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Room

if TYPE_CHECKING:
    from globalmin.theory.deep_gram import deep_gram as deep_gram
    from globalmin.theory.deep_gram import deep_ntk as deep_ntk
    from globalmin.theory.factorization_rank_one import rank_one_run as rank_one_run
    from globalmin.theory.factorization_schedule import schedule_report as schedule_report
    from globalmin.theory.finite_gram_matrices import finite_gram as finite_gram
    from globalmin.theory.finite_gram_matrices import measure_deviation as measure_deviation
    from globalmin.theory.finite_gram_matrices import normalized_finite_gram as normalized_finite_gram
    from globalmin.theory.gram import gram_error as gram_error
    from globalmin.theory.gram import limit_gram as limit_gram
    from globalmin.theory.gram_bounds import lambda_lower_bounds as lambda_lower_bounds
    from globalmin.theory.gram_spectrum import estimate_lambda_min as estimate_lambda_min
    from globalmin.theory.khatri_rao_products import kappa as kappa
    from globalmin.theory.khatri_rao_products import khatri_rao as khatri_rao
    from globalmin.theory.khatri_rao_products import khatri_rao_gram as khatri_rao_gram
    from globalmin.theory.khatri_rao_products import khatri_rao_sigma_min as khatri_rao_sigma_min
    from globalmin.theory.one_filter_basin import basin_estimate as basin_estimate
    from globalmin.theory.one_filter_basin import global_basin_probability as global_basin_probability
    from globalmin.theory.one_filter_landscape import filter_landscape as filter_landscape
    from globalmin.theory.one_filter_landscape import trap_test as trap_test
    from globalmin.theory.quadratic_disagreement import disagreeing_networks as disagreeing_networks
    from globalmin.theory.quadratic_identifiability import samples_determine as samples_determine
    from globalmin.theory.separation_of_rows import parallel_pairs as parallel_pairs
    from globalmin.theory.separation_of_rows import separation as separation
