"""Functions compiled by numba at their first call: importing numba costs as much as fitting a small
table, and most commands never reach a compiled loop.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any, Literal


class Compiled:
    """A function for `numba.njit` with these options, which is asked when it is first called."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self.function, self.options = function, options
        self._dispatcher: Any = None
        update_wrapper(self, function)

    def __call__(self, *args: Any) -> Any:
        """Compile, or read from numba's cache, and call."""
        return self.dispatcher()(*args)

    def dispatcher(self) -> Any:
        """What numba made of the function; the functions that it calls, which numba finds among the
        names of its module, are replaced by theirs.
        """
        if self._dispatcher is None:
            from numba import njit

            self._dispatcher = njit(**self.options)(self.function)
            names = self.function.__globals__
            for name, value in list(names.items()):
                if isinstance(value, Compiled):
                    names[name] = value.dispatcher()
        return self._dispatcher


def compiled(
    *, inline: Literal["never", "always"] = "never", nogil: bool = False
) -> Callable[[Callable[..., Any]], Compiled]:
    """The decorator: cached on disk, division as numpy does it."""
    options = {"cache": True, "error_model": "numpy", "inline": inline, "nogil": nogil}
    return lambda function: Compiled(function, options)
