"""The plan of a sweep: a recipe (found by name, checked against the plan, with the version of its
code), its parameters and seeds, from Python or TOML. Unknown keys are refused.
"""

from __future__ import annotations

import difflib
import functools
import hashlib
import importlib
import importlib.util
import inspect
import itertools
import json
import math
import os
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from globalmin.errors import PlanError
from globalmin.files import canonical_json
from globalmin.sweep.canonical import RESERVED, plain

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


KEYS = ("recipe", "name", "grid", "trials", "fixed", "seeds", "batch_size", "timeout")
MAX_TRIALS = 10_000_000

Parameters = dict[str, Any]


@dataclass(frozen=True, init=False)
class Plan:
    """What a sweep computes.

    Parameters
    ----------
    recipe : "package.module:function", or the function.
    grid : parameter -> list of values; the product is taken, the last axis runs fastest.
    trials : list of parameter dicts, instead of `grid`.
    fixed : parameters of every trial.
    seeds : how many (0, 1, ...), or a list of them.
    name : title of the sweep; the function's name if left out.
    batch_size : trials per call of `recipe.batch`; chosen from the number of trials and workers if
        left out.
    timeout : seconds after which a trial (or a batch) is ended and counted as a try.
    paths : folders where the recipe's module is looked for first; not part of a trial's identity.
    """

    recipe: str
    grid: Mapping[str, Sequence[Any]]
    trials: Sequence[Parameters]
    fixed: Parameters
    seeds: Sequence[int]
    name: str
    batch_size: int | None
    timeout: float | None
    paths: tuple[str, ...] = field(compare=False)

    def __init__(
        self,
        recipe: str | Recipe,
        *,
        grid: Mapping[str, Sequence[Any]] | None = None,
        trials: Sequence[Mapping[str, Any]] | None = None,
        fixed: Mapping[str, Any] | None = None,
        seeds: int | Sequence[int] = 1,
        name: str = "",
        batch_size: int | None = None,
        timeout: float | None = None,
        paths: Sequence[str | os.PathLike[str]] = (),
    ) -> None:
        if grid is not None and trials is not None:
            raise PlanError("the plan has both grid and trials; keep one of them")
        text = recipe_name(recipe)
        values = {
            "recipe": text,
            "grid": _checked_grid(grid or {}),
            "trials": _checked_trials([{}] if trials is None else trials),
            "fixed": _checked_names(plain(_table(fixed or {}, "fixed"), "fixed"), "fixed"),
            "seeds": _checked_seeds(seeds),
            "name": _checked_text(name, "name") or text.partition(":")[2],
            "batch_size": _checked_batch(batch_size),
            "timeout": _checked_timeout(timeout),
            "paths": tuple(str(Path(folder).resolve()) for folder in paths),
        }
        for key, value in values.items():
            object.__setattr__(self, key, value)
        _refuse_twice(self)
        if len(self) > MAX_TRIALS:
            raise PlanError(
                f"the plan has {len(self):,} trials; at most {MAX_TRIALS:,} fit one sweep: split it"
            )

    @classmethod
    def from_toml(cls, path: str | os.PathLike[str]) -> Plan:
        """Read a plan; the recipe's module may lie beside the file."""
        file = Path(path)
        try:
            content = tomllib.loads(file.read_text(encoding="utf-8"))
        except OSError as error:
            raise PlanError(
                f"{file}: cannot be read ({error.strerror}); give a plan in TOML"
            ) from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise PlanError(f"{file}: not TOML, {error}") from error
        try:
            return cls(**_checked_keys(content), paths=(file.resolve().parent,))
        except PlanError as error:
            raise PlanError(f"{file}: {error}") from None

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """Undo `to_json`."""
        content = json.loads(text)
        if content["grid"]:
            content.pop("trials")
        else:
            content.pop("grid")
        return cls(**content)

    def to_json(self) -> str:
        """The plan as the ledger keeps it."""
        keys = {key: getattr(self, key) for key in (*KEYS, "paths")}
        return json.dumps(keys, ensure_ascii=True, allow_nan=False)

    def __len__(self) -> int:
        return (
            math.prod(len(values) for values in self.grid.values())
            * len(self.trials)
            * len(self.seeds)
        )

    def parameter_sets(self) -> Iterator[Parameters]:
        """The parameters of every cell, in the order of the table."""
        for values in itertools.product(*self.grid.values()):
            for trial in self.trials:
                yield {**self.fixed, **dict(zip(self.grid, values, strict=True)), **trial}

    def parameter_names(self) -> list[str]:
        """Every parameter that some trial has: grid axes first, then those of trials, then the
        fixed ones.
        """
        names = dict.fromkeys(
            [*self.grid, *(key for trial in self.trials for key in trial), *self.fixed]
        )
        return list(names)


def _checked_keys(content: Mapping[str, Any]) -> dict[str, Any]:
    for key in content:
        if key not in KEYS:
            near = difflib.get_close_matches(key, KEYS, n=1)
            raise PlanError(
                f"unknown key {key!r}; "
                + (f"did you mean {near[0]!r}?" if near else f"known are {', '.join(KEYS)}")
            )
    if "recipe" not in content:
        raise PlanError("the key 'recipe' is missing; add recipe = \"package.module:function\"")
    if not isinstance(content["recipe"], str):
        raise PlanError(
            f'recipe is of type {type(content["recipe"]).__name__}; write "package.module:function"'
        )
    return dict(content)


def _table(value: object, name: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise PlanError(
            f"{name} is of type {type(value).__name__}; it must be a table of parameters"
        )
    return value


def _checked_grid(grid: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    checked = {}
    for name, values in _table(grid, "grid").items():
        if isinstance(values, str | bytes | Mapping) or not hasattr(values, "__iter__"):
            raise PlanError(f"grid.{name} = {values!r}: give a list of values, or move it to fixed")
        checked[name] = [plain(value, f"grid.{name}") for value in values]
        if not checked[name]:
            raise PlanError(f"grid.{name} is empty; give at least one value")
        if len({canonical_json(value) for value in checked[name]}) < len(checked[name]):
            raise PlanError(
                f"grid.{name} has a value twice; give every value once and use seeds to repeat "
                "trials"
            )
    return _checked_names(checked, "grid")


def _checked_trials(trials: Sequence[Mapping[str, Any]]) -> list[Parameters]:
    if isinstance(trials, str | Mapping) or not hasattr(trials, "__iter__"):
        raise PlanError(
            f"trials is of type {type(trials).__name__}; give a list of tables, in TOML [[trials]]"
        )
    checked = [
        _checked_names(plain(_table(trial, "a trial"), "trials"), "trials") for trial in trials
    ]
    if not checked:
        raise PlanError("trials is empty; give at least one")
    if len({canonical_json(trial) for trial in checked}) < len(checked):
        raise PlanError("trials has the same parameters twice; use seeds to repeat trials")
    return checked


def _checked_names(parameters: dict[str, Any], place: str) -> dict[str, Any]:
    for name in parameters:
        if not name.isidentifier():
            raise PlanError(
                f"{place} has the parameter {name!r}, which is no Python name; rename it"
            )
        if name in RESERVED:
            hint = "use the key seeds" if name == "seed" else "rename it"
            raise PlanError(
                f"{place} has the parameter {name!r}, which is a column of every table; {hint}"
            )
    return parameters


def _refuse_twice(plan: Plan) -> None:
    varied = [*plan.grid, *(key for trial in plan.trials for key in trial)]
    for name in plan.fixed:
        if name in varied:
            raise PlanError(f"{name!r} is both fixed and varied; remove one of them")


def _checked_seeds(seeds: int | Sequence[int]) -> list[int]:
    value = plain(seeds, "seeds")
    if isinstance(value, int) and not isinstance(value, bool):
        if value < 1:
            raise PlanError(f"seeds = {value}: give at least 1")
        return list(range(value))
    if not isinstance(value, list) or not value:
        raise PlanError(f"seeds = {value!r}: give how many, or a list of them")
    if not all(
        isinstance(seed, int) and not isinstance(seed, bool) and 0 <= seed < 2**63 for seed in value
    ):
        raise PlanError("seeds must be whole numbers from 0 to 2^63 - 1")
    if len(set(value)) < len(value):
        raise PlanError("seeds has a number twice; the same trial twice tells nothing")
    return value


def _checked_text(value: object, name: str) -> str:
    if not isinstance(value, str):
        raise PlanError(f"{name} is of type {type(value).__name__}; write a text")
    return value


def _checked_batch(value: object) -> int | None:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
        raise PlanError(f"batch_size = {value!r}: give a whole number of trials, at least 1")
    return value


def _checked_timeout(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise PlanError(f"timeout = {value!r}: give seconds, more than 0")
    return float(value)
