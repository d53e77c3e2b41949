"""Content-addressed objects: a file named by the SHA-256 of its bytes, never visible before it is
whole and on the disk.
"""

from __future__ import annotations

import errno
import hashlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from globalmin.errors import StoreError, StoreFull

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Files:
    """The operating system's calls that can fail; tests put one in their place that does."""

    def write(self, handle: int, content: bytes) -> None:
        """All of `content`."""
        view = memoryview(content)
        while view:
            view = view[os.write(handle, view) :]

    def sync(self, handle: int) -> None:
        """Wait until the file is on the disk."""
        os.fsync(handle)

    def rename(self, source: Path, target: Path) -> None:
        """Move into place, atomically."""
        os.replace(source, target)

    def sync_folder(self, folder: Path) -> None:
        """Wait until the names in a folder are on the disk."""
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def file_errors(path: Path) -> Iterator[None]:
    """Inside, what the operating system raises becomes a StoreError that names the file and the
    remedy.
    """
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        if error.errno in _FULL or error.errno == errno.EIO:
            raise StoreFull(
                f"{path}: {reason}; make room or check the disk and resume, what was recorded is "
                "safe"
            ) from error
        raise StoreError(
            f"{path}: {reason}; the folder must exist and be writable, choose another if it is not"
        ) from error


class Objects:
    """The objects folder of a sweep."""

    def __init__(self, folder: Path, files: Files | None = None) -> None:
        self.folder = folder
        self._files = files or Files()

    def path(self, digest: str) -> Path:
        """Where an object lies."""
        return self.folder / digest[:2] / digest[2:]

    def put(self, blobs: Mapping[str, bytes]) -> None:
        """Store blobs by digest; when this returns they are on the disk. Those already there are
        not written again.
        """
        fresh = {
            digest: content
            for digest, content in blobs.items()
            if not self._is_whole(digest, content)
        }
        folders = {self.path(digest).parent for digest in fresh}
        for folder in sorted(folders):
            if not folder.is_dir():
                with file_errors(folder):
                    folder.mkdir(parents=True, exist_ok=True)
                    self._files.sync_folder(self.folder)
        for digest, content in fresh.items():
            self._write(self.path(digest), content)
        for folder in sorted(folders):
            with file_errors(folder):
                self._files.sync_folder(folder)

    def get(self, digest: str) -> bytes:
        """The bytes of an object, after a look at their digest."""
        path = self.path(digest)
        try:
            content = path.read_bytes()
        except OSError as error:
            raise StoreError(
                f"{path}: cannot be read ({error.strerror}); restore it from a copy, or compute "
                "the trial again"
            ) from error
        if hashlib.sha256(content).hexdigest() != digest:
            raise StoreError(
                f"{path}: damaged, its bytes no longer match its name; restore it, or compute the "
                "trial again"
            )
        return content

    def remove_unless(self, kept: set[str]) -> int:
        """Remove every file that is no kept object, temporary files included; returns how many. No
        driver may be writing.
        """
        removed = 0
        for shard in sorted(self.folder.iterdir()) if self.folder.is_dir() else ():
            for file in sorted(shard.iterdir()) if shard.is_dir() else ():
                if shard.name + file.name not in kept:
                    with file_errors(file):
                        file.unlink()
                    removed += 1
        return removed

    def _is_whole(self, digest: str, content: bytes) -> bool:
        try:
            return self.path(digest).read_bytes() == content
        except OSError:
            return False

    def _write(self, target: Path, content: bytes) -> None:
        with file_errors(target):
            handle, name = tempfile.mkstemp(prefix=".tmp-", dir=target.parent)
            temporary = Path(name)
            try:
                try:
                    self._files.write(handle, content)
                    self._files.sync(handle)
                finally:
                    os.close(handle)
                self._files.rename(temporary, target)
            except BaseException:
                temporary.unlink(missing_ok=True)
                raise
