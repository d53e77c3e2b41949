"""The recipe of a sweep: found by name, checked against the plan, and the version of its code."""

from __future__ import annotations

import difflib
import functools
import hashlib
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from globalmin.errors import PlanError

Recipe = Callable[..., Any]


def recipe_name(recipe: str | Recipe) -> str:
    """'package.module:function' of a function that another process can import, or of the text
    itself after a look at its form.
    """
    if isinstance(recipe, str):
        module, colon, function = recipe.partition(":")
        if not colon or not all(
            part.isidentifier() for part in [*module.split("."), *function.split(".")]
        ):
            raise PlanError(f"recipe = {recipe!r}: write it as 'package.module:function'")
        return recipe
    module = getattr(recipe, "__module__", None)
    name = getattr(recipe, "__qualname__", "")
    if module is None or not name or "<" in name:
        raise PlanError(
            f"recipe {recipe!r} has no importable name; define it with def at the top level of a "
            "module"
        )
    if module == "__main__":
        raise PlanError(
            f"recipe {name} is defined in __main__, which other processes cannot import; move it "
            "to a module"
        )
    return f"{module}:{name}"


def find_recipe(name: str, paths: Sequence[str] = ()) -> Recipe:
    """Import the recipe; `paths` are folders to look in besides the usual ones."""
    module_name, _, function = name.partition(":")
    for folder in reversed(paths):
        if folder not in sys.path:
            sys.path.insert(0, folder)
            importlib.invalidate_caches()
    try:
        found: Any = importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not (module_name + ".").startswith(error.name + "."):
            raise PlanError(
                f"recipe = {name!r}: importing it failed, {error}; install what it needs"
            ) from error
        raise PlanError(
            f"recipe = {name!r}: there is no module {error.name}; put {error.name}.py beside the "
            "plan (in Python: paths=[its folder]) or install it"
        ) from error
    except Exception as error:
        raise PlanError(
            f"recipe = {name!r}: importing {module_name} failed, {type(error).__name__}: {error}"
        ) from error
    for part in function.split("."):
        if not hasattr(found, part):
            near = difflib.get_close_matches(part, dir(found), n=1)
            raise PlanError(
                f"recipe = {name!r}: {module_name} has no {part}"
                + (f"; did you mean {near[0]}?" if near else "")
            )
        found = getattr(found, part)
    if not callable(found):
        raise PlanError(f"recipe = {name!r} is of type {type(found).__name__}, not a function")
    return found


def check_parameters(name: str, recipe: Recipe, parameters: Iterable[str]) -> None:
    """Refuse a plan whose parameters the recipe does not take, before anything is computed."""
    try:
        signature = inspect.signature(recipe)
    except (TypeError, ValueError):
        return  # a compiled function without a signature speaks for itself when it is called
    takes = signature.parameters
    if any(p.kind is p.VAR_KEYWORD for p in takes.values()):
        return
    accepted = [
        key for key, p in takes.items() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    ]
    given = [*parameters, "seed"]
    for key in given:
        if key not in accepted:
            near = difflib.get_close_matches(key, accepted, n=1)
            hint = (
                f"did you mean {near[0]!r}?"
                if near
                else f"it takes {', '.join(accepted) or 'nothing'}"
            )
            raise PlanError(f"the recipe {name} does not take {key!r}; {hint}")
    missing = [
        key
        for key in accepted
        if key not in given and takes[key].default is inspect.Parameter.empty
    ]
    if missing:
        raise PlanError(
            f"the recipe {name} needs {', '.join(missing)}; add them to [grid], [[trials]] or "
            "[fixed]"
        )


def code_version(name: str, recipe: Recipe) -> str:
    """Version of globalmin, digest of the source of the recipe's module, and the recipe's own
    `version`, if it has one.
    """
    own = getattr(recipe, "version", None)
    version = importlib.import_module(
        "globalmin"
    ).__version__  # by name: the sweep room imports nothing of the others
    return f"globalmin {version}, source {source_digest(name.partition(':')[0])}" + (
        "" if own is None else f", version {own}"
    )


@functools.cache
def source_digest(module_name: str) -> str:
    """First 16 hexadecimal digits of the SHA-256 of a module's file; 'none' for a module without
    one.
    """
    origin = getattr(sys.modules.get(module_name), "__file__", None)
    if origin is None or not Path(origin).is_file():
        return "none"
    return hashlib.sha256(Path(origin).read_bytes()).hexdigest()[:16]
