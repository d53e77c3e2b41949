"""A small disk that can be filled."""

import contextlib
import shutil
import subprocess
import tempfile
from pathlib import Path


@contextlib.contextmanager
def tiny_disk(kilobytes):
    """A file system of its own where the kernel lets us make one, else None."""
    folder = Path(tempfile.mkdtemp())
    command = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(folder)]
    try:
        mounted = (
            shutil.which("mount") is not None
            and subprocess.run(command, capture_output=True).returncode == 0
        )
        try:
            yield folder if mounted else None
        finally:
            if mounted:
                subprocess.run(["umount", str(folder)], check=True)
    finally:
        folder.rmdir()
