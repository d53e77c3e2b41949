"""What lies in a folder."""

from pathlib import Path


def everything_below(folder: Path) -> set[str]:
    """Relative names of all files and folders."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*")}
