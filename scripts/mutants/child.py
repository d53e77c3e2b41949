"""What happens in a mutant's own process: the module is changed and the tests run, silently."""

from __future__ import annotations

import ast
import functools
import gc
import importlib.abc
import importlib.machinery
import io
import os
import resource
import sys
import tempfile
from collections.abc import Iterator
from contextlib import redirect_stdout, suppress
from pathlib import Path
from types import CodeType, FunctionType
from typing import ClassVar

from scripts.mutants.sites import Mutant, apply

LIBRARIES = (
    "flint",
    "hypothesis",
    "jax",
    "matplotlib.figure",
    "numba",
    "numpy",
    "pytest",
    "scipy.integrate",
    "scipy.linalg",
    "scipy.optimize",
    "scipy.special",
    "scipy.stats",
    "sklearn.utils.estimator_checks",
)
PACKAGES = ("globalmin", "globalmin_check")
WITHOUT = ("cacheprovider", "xdist", "pytest_cov")  # plugins
LOADED = "-Wignore::pytest.PytestAssertRewriteWarning"  # of plugins that are there before pytest
QUIET = ("-x", "-q", LOADED, *(f"-pno:{plugin}" for plugin in WITHOUT))

Place = tuple[str, str, int, bytes]  # of a function: its file, name, first line and columns


def load_libraries() -> None:
    """Import what the tests import from others, and pytest with all it loads when it runs; no
    threads are started by it.
    """
    import pytest

    for library in LIBRARIES:
        with suppress(ImportError):
            importlib.import_module(library)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "test_nothing.py").write_text("def test_nothing(): pass\n")
        with redirect_stdout(io.StringIO()):
            pytest.main([*QUIET, "--rootdir", folder, "-c", os.devnull, folder])


class Living:
    """The functions and caches of the loaded package, found once: a child of the process that
    found them exchanges bodies without looking at every object again.
    """

    functions: ClassVar[dict[Place, list[FunctionType]]] = {}
    caches: ClassVar[list[functools._lru_cache_wrapper[object]]] = []


def load_package(root: Path) -> None:
    """Import every module of ours whose requirements are there, and look at what lives."""
    folder = root / "src"
    for file in (f for package in PACKAGES for f in sorted((folder / package).rglob("*.py"))):
        parts = file.relative_to(folder).with_suffix("").parts
        if "__main__" not in parts:
            with suppress(ImportError):
                importlib.import_module(".".join(p for p in parts if p != "__init__"))
    for thing in gc.get_objects():
        if isinstance(thing, functools._lru_cache_wrapper):
            Living.caches.append(thing)
        elif isinstance(thing, FunctionType) and thing.__code__.co_filename.startswith(str(folder)):
            Living.functions.setdefault(_place(thing.__code__), []).append(thing)
    gc.freeze()  # the children share what is there


def first_failure(root: Path, mutant: Mutant | None, tests: list[str], seconds: float) -> str:
    """The first test that fails on the changed module, empty if all pass; to be called in a fork.

    The process ends itself when the seconds of CPU are used up.
    """
    import pytest

    whole = int(seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (whole, whole))
    os.chdir(root)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    if mutant is not None:
        change(root, mutant)
    watcher = _Watcher()
    code = int(pytest.main([*QUIET, *tests], plugins=[watcher]))
    return "" if code in (0, 5) else (watcher.failed or tests[0])


class _Watcher:
    """Remembers the first test that failed."""

    def __init__(self) -> None:
        self.failed = ""

    def pytest_runtest_logreport(self, report: object) -> None:
        if getattr(report, "failed", False) and not self.failed:
            self.failed = str(getattr(report, "nodeid", ""))


def change(root: Path, mutant: Mutant) -> None:
    """Make the mutant's module the changed one, loaded or not."""
    file = root / mutant.file
    source = file.read_text(encoding="utf-8")
    tree = apply(source, mutant)
    if mutant.module in sys.modules:
        exchange(compile(source, str(file), "exec"), compile(tree, str(file), "exec"))
    else:
        sys.meta_path.insert(0, Changed(mutant.module, file, tree))


def exchange(old: CodeType, new: CodeType) -> int:
    """Give living functions of the old code the bodies of the new; returns how many were changed.

    Whoever holds a function, by whatever name, holds the changed one; caches are emptied.
    """
    n_changed = 0
    for before, after in zip(_codes(old), _codes(new), strict=True):
        for function in Living.functions.get(_place(before), []) if before != after else []:
            function.__code__ = after
            n_changed += 1
    for cache in Living.caches:
        cache.cache_clear()
    return n_changed


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _codes(part)


def _place(code: CodeType) -> Place:
    return code.co_filename, code.co_qualname, code.co_firstlineno, code.co_linetable


class Changed(importlib.abc.MetaPathFinder):
    """Finds one module and gives it another body."""

    def __init__(self, module: str, file: Path, tree: ast.Module) -> None:
        self.module, self.file, self.tree = module, file, tree

    def find_spec(
        self, fullname: str, _path: object = None, _target: object = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The changed module's loader, or None for all others."""
        if fullname != self.module:
            return None
        loader = _Loader(fullname, str(self.file), self.tree)
        return importlib.machinery.ModuleSpec(fullname, loader, origin=str(self.file))


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, file: str, tree: ast.Module) -> None:
        super().__init__(name, file)
        self._tree = tree

    def get_code(self, fullname: str) -> CodeType:
        return compile(self._tree, self.get_filename(fullname), "exec")
