"""Keywords that were renamed: the former name still works, with a DeprecationWarning."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar, cast

from globalmin.errors import DataError

P = ParamSpec("P")
R = TypeVar("R")


def renamed(**names: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function accept former keywords: `renamed(tolerance="tol")` passes `tolerance` on as
    `tol`.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*args: object, **options: object) -> R:
            for old in names.keys() & options.keys():
                new = names[old]
                if new in options:
                    raise DataError(f"{old} is the former name of {new}; give {new} only")
                warnings.warn(
                    f"{function.__name__}: {old} is now called {new}",
                    DeprecationWarning,
                    stacklevel=2,
                )
                options[new] = options.pop(old)
            return cast(Callable[..., R], function)(*args, **options)

        return cast(Callable[P, R], call)

    return decorate
