"""The output folder: filled beside its place and moved in at the end, so that nothing half-written
stays behind.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

MODEL = "model.safetensors"
OURS = re.compile(r"(model\.safetensors|certificate(-.+)?\.gmc|fit\.json|report\.html)")


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
    """File name of each target's certificate; letters outside A-Z a-z 0-9 . _ - are replaced, and
    the names differ.
    """
    if len(targets) == 1:
        return ["certificate.gmc"]
    seen: set[str] = set()
    names = []
    for position, target in enumerate(targets, start=1):
        plain = re.sub(r"[^A-Za-z0-9._-]+", "_", target)[:80].strip("._-") or "target"
        unique = plain if plain.lower() not in seen else f"{plain}-{position}"
        seen.add(unique.lower())
        names.append(f"certificate-{unique}.gmc")
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
