"""Files that are complete or absent, and on the disk before anybody relies on them; locks."""

from __future__ import annotations

import contextlib
import errno
import io
import json
import os
import stat
import tempfile
import weakref
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import IO, Any, TypeAlias

from uli_fast.errors import ResultsError, RunsFileError

Inode: TypeAlias = tuple[int, int]  # device and number
# What a JSON file of the package may hold: names of some millions of arms. Lists and tables cost
# many times their two characters in memory, and nothing that is written has this many.
LARGEST_JSON, MOST_CONTAINERS = 64 * 2**20, 400_000


@contextlib.contextmanager
def refused(folder: Path) -> Iterator[None]:
    """Turn what the disk refuses into a typed error."""
    try:
        yield
    except OSError as problem:
        said = problem.strerror or problem
        raise ResultsError(f"{folder}: {said}; what was there is intact") from problem


def make_folder(folder: Path) -> None:
    """Create a folder and those above it, and make sure that they are on the disk."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(exist_ok=True)
        flush_folder(folder.parent)


def write_text(path: Path, text: str) -> None:
    """Write a small file whole or not at all, and make sure that it is on the disk."""
    write_whole(path, text.encode(), 0o644)


def write_whole(path: Path, data: bytes, mode: int) -> None:
    """Write a file whole or not at all, with these rights, and make sure that it is on the disk."""
    handle, part = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    try:
        with open(handle, "wb") as file:
            file.write(data)
            flush(file)
        os.chmod(part, mode)
        os.replace(part, path)
        flush_folder(path.parent)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part)


@contextlib.contextmanager
def open_regular(path: Path, most: int) -> Iterator[BufferedReader]:
    """Open a regular file of at most ``most`` bytes; anything else is an OSError, at once.

    A FIFO would keep its reader waiting, a device may never end. A file is looked at before it is
    opened, since opening a device may have effects, and again after: it may be another one by then.
    """
    _check_regular(os.stat(path), most)
    flags = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    with open(os.open(path, os.O_RDONLY | flags), "rb") as file:
        _check_regular(os.fstat(file.fileno()), most)
        yield file


def _check_regular(found: os.stat_result, most: int) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder")
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file but a device, a pipe or a socket")
    if found.st_size > most:
        said = f"it has {found.st_size:,} bytes, and the limit here is {most:,}"
        raise OSError(errno.EFBIG, said)


def read_regular(path: Path, most: int) -> bytes:
    """Return what a regular file of at most ``most`` bytes holds; else an OSError says why not."""
    with open_regular(path, most) as file:
        size = os.fstat(file.fileno()).st_size
        found = file.read(size + 1)  # not to its end: it may keep growing
    if len(found) > size:
        raise OSError(errno.EBUSY, "it grew while it was read")
    return found


def read_json(path: Path) -> Any:
    """Return what a JSON file of the package holds; anything else is a RunsFileError."""
    try:
        data = read_regular(path, LARGEST_JSON)
        if data.count(b"[") + data.count(b"{") > MOST_CONTAINERS:
            raise RunsFileError(f"{path} is damaged: it holds more than {MOST_CONTAINERS:,} lists")
        return json.loads(data.decode("utf-8"))
    except RecursionError:
        raise RunsFileError(f"{path} is damaged: it is nested too deeply") from None
    except MemoryError:
        raise RunsFileError(f"{path} needs more memory than there is") from None
    except ValueError as problem:
        raise RunsFileError(f"{path} is damaged: {problem}") from None
    except OSError as problem:
        raise RunsFileError(f"{path} cannot be read: {problem.strerror or problem}") from None


def flush(file: IO[Any]) -> None:
    """Wait until a file is on the disk."""
    file.flush()
    os.fsync(file.fileno())


def flush_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk."""
    if os.name != "nt":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def inode(file: str | int) -> Inode | None:
    """Return what tells a file from another of the same name; None if it does not exist."""
    try:
        found = os.stat(file)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def open_lock(path: str | Path) -> int:
    """Open a file to be locked, made if there is none; a link in its place is an OSError."""
    try:
        # O_NOFOLLOW: a link would have a file made elsewhere, or another one locked.
        return os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o644)
    except OSError as problem:
        if problem.errno in (errno.ELOOP, errno.EMLINK):  # FreeBSD says the second
            said = f"its lock, {os.path.basename(path)}, is a symbolic link: remove the link"
            raise OSError(problem.errno, said) from None
        raise


def lock(handle: int) -> bool:
    """Take a lock that ends with the process; return whether it was free."""
    try:
        if os.name == "nt":
            import msvcrt

            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        else:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as problem:
        if problem.errno == errno.ENOLCK:
            said = "this file system has no locks (ENOLCK), which are needed: use a local disk"
            raise OSError(errno.ENOLCK, said) from None
        if problem.errno not in (errno.EAGAIN, errno.EACCES, errno.EDEADLK):
            raise
        return False
    return True


class LockFile:
    """A file that exists while somebody works on the one beside it.

    Its lock belongs to a handle of its own: nothing else that the process opens and closes can
    drop it. It ends with the process, and only the file is left then. The handle is a file
    object's: whatever interrupts its owner, it is closed when nobody holds it any more.
    """

    def __init__(self, path: str, file: io.FileIO) -> None:
        self.path, self._file, self._inode = path, file, inode(file.fileno())
        self._end = weakref.finalize(self, _let_go, path, file)

    @classmethod
    def taken(cls, path: str) -> LockFile | None:
        """Return the lock, or None where another process or study has it."""
        while True:
            file = io.FileIO(path, "r+", opener=lambda path, _: open_lock(path))
            try:
                if not lock(file.fileno()):
                    file.close()
                    return None
                if inode(path) == inode(file.fileno()):
                    return cls(path, file)
            except BaseException:
                file.close()
                raise
            file.close()  # its last holder removed it before we had locked it: try again

    @property
    def there(self) -> bool:
        """Whether its name still leads to it: else others could hold one of that name."""
        return inode(self.path) == self._inode

    def release(self) -> None:
        """Let others in."""
        _let_go(self.path, self._file)
        self._end.detach()

    def leave(self) -> None:
        """Close what a fork has copied: the lock is the parent's, and must end with it."""
        self._end.detach()
        self._file.close()


def _let_go(path: str, file: io.FileIO) -> None:
    """Remove a lock file and release it; doing it twice does no harm."""
    if not file.closed:
        with contextlib.suppress(OSError):
            if inode(path) == inode(file.fileno()):
                os.unlink(path)
        file.close()
