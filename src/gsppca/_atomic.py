"""Files and folders that are written as a whole or not at all: the one place that moves files into place.

Everything is written under a temporary name, flushed to disk, and moved. One move is one step for the file system, but
results are several files. Where these replace older ones, links to the older ones are set aside first, in a folder
``.NAME.previous``. An error or an interruption between two moves takes all of them back; after a kill or a power cut,
the next writer does, and a reader finds the older files there.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Give a temporary name to write to; the file takes its place at the end, and vanishes if anything fails.

    Parameters
    ----------
    path : Path
        A file that exists is replaced; of a symbolic link, the file that it points to.
    """
    path = _target(path)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        flush(temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_file(path: Path, content: bytes) -> None:
    """Write a file: a reader sees the old one or the new one, never a part."""
    with new_file(path) as temporary:
        temporary.write_bytes(content)


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Give a temporary folder to fill, which becomes `folder` at the end, and vanishes if anything fails.

    Raises
    ------
    FileExistsError
        If a folder of that name, with something in it, has appeared meanwhile; it is not touched.
    """
    folder = folder.absolute()
    created = [parent for parent in folder.parents if not parent.exists()]
    temporary = folder.parent
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".part", dir=folder.parent))
        yield temporary
        _open_to_others(temporary)
        try:
            temporary.rename(folder)  # an empty folder is replaced, any other is not
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise
            raise FileExistsError(
                f"{folder} has appeared meanwhile, written by someone else. Nothing of it was changed. Choose another "
                "name."
            ) from error
    except BaseException:
        if temporary != folder.parent:
            shutil.rmtree(temporary, ignore_errors=True)
        for parent in created:  # the innermost first
            with suppress(OSError):
                parent.rmdir()
        raise


@contextmanager
def new_files(folder: Path, names: Sequence[str], key: str) -> Iterator[Path]:
    """Give a temporary folder to fill, whose files replace those of `folder` at the end: all of them, or none.

    Parameters
    ----------
    folder : Path
        A folder that exists; files of other names in it stay.
    names : sequence of str
        Names of the files that belong together, in the order in which they are moved. One that is not written is
        removed from the folder.
    key : str
        Tells this set of files from others in the same folder: older files are set aside in ``.KEY.previous``.
    """
    temporary = Path(tempfile.mkdtemp(prefix=f".{key}.", suffix=".part", dir=folder))
    try:
        yield temporary
        _open_to_others(temporary)
        with claim(folder / f"{key}.moving", wait=True):
            _replace_together(folder, temporary, names, previous(folder, key))
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def previous(folder: Path, key: str) -> Path:
    """Where older files are while newer ones take their places."""
    return folder / f".{key}.previous"


def _replace_together(folder: Path, source: Path, names: Sequence[str], aside: Path) -> None:
    """Move files into a folder; whatever goes wrong, take it back."""
    if aside.is_dir():  # a writer was killed between two moves
        _restore(folder, names, aside)
    links = source / aside.name
    links.mkdir()
    for name in names:
        if (folder / name).exists():
            _link(folder / name, links / name)
    links.rename(aside)  # complete from its first moment on
    try:
        for name in names:
            if (source / name).exists():
                (source / name).replace(folder / name)
            else:
                (folder / name).unlink(missing_ok=True)
        _flush_folder(folder)
        aside.rename(links)  # from here on the newer files are the ones that count
    except BaseException:
        _restore(folder, names, aside)
        raise


def _restore(folder: Path, names: Sequence[str], aside: Path) -> None:
    """Put the older files back, the last one that was moved first; interrupted, it can be done again."""
    if not aside.is_dir():
        return  # the newer files are all there
    for name in reversed(names):
        if (aside / name).exists():
            _link(aside / name, aside / f"{name}.part")
            (aside / f"{name}.part").replace(folder / name)
        else:
            (folder / name).unlink(missing_ok=True)
    done = aside.with_name(f"{aside.name}.part")
    shutil.rmtree(done, ignore_errors=True)
    aside.rename(done)
    shutil.rmtree(done, ignore_errors=True)


def _link(old: Path, new: Path) -> None:
    new.unlink(missing_ok=True)
    try:
        os.link(old, new)
    except OSError:  # a file system without links
        shutil.copy2(old, new)


@contextmanager
def claim(path: Path, *, wait: bool = False) -> Iterator[None]:
    """Keep other processes from writing to the same file or folder.

    If one is about to, wait for it or raise a FileExistsError.

    The lock is a file in the nearest folder that exists. It is held by this process, not by the file: one that a kill
    leaves behind holds nobody up. Where the system has no such locks, nothing is done.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    path = path.resolve()
    home = path if path.is_dir() else next(parent for parent in path.parents if parent.is_dir())
    lock = home / f".{path.name}.lock"
    while True:
        handle = os.open(lock, os.O_RDONLY | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            os.close(handle)
            raise FileExistsError(
                f"{path}: another process is about to write there. Wait for it, or choose another name."
            ) from None
        except OSError:
            break  # no locks on this file system
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(handle), os.stat(lock)):
                break
        os.close(handle)  # another process removed the file between our two steps
    try:
        yield
    finally:
        lock.unlink(missing_ok=True)
        os.close(handle)


def check_file(path: Path) -> None:
    """Refuse a name that no file can be written under: before the work, not after."""
    _check_writable(_target(path))


def check_folder(folder: Path) -> None:
    """Refuse a name under which no folder can be made or filled: before the work, not after."""
    if folder.is_symlink() and not folder.exists():
        raise FileExistsError(f"{folder} is a link to {os.readlink(folder)}, which does not exist. Remove the link.")
    if folder.exists() and not folder.is_dir():
        raise FileExistsError(f"{folder} is a file. Choose another name for the folder of results.")
    _check_writable(folder / "file")


def is_empty(folder: Path) -> bool:
    """Whether a folder holds nothing but what writers hold there for a moment."""
    passing = (".lock", ".part", ".previous")
    return all(file.name.startswith(".") and file.name.endswith(passing) for file in folder.iterdir())


def flush(path: Path) -> None:
    """Have the content of a file on the disk, not on its way there."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def _target(path: Path) -> Path:
    """The file that a name stands for; refuse what is no file."""
    if path.is_symlink():
        if not path.exists():
            raise FileExistsError(f"{path} is a link to {os.readlink(path)}, which does not exist. Remove the link.")
        path = path.resolve()
    if path.is_dir():
        raise FileExistsError(f"{path} is a folder. Give the name of a file.")
    if path.exists() and not stat.S_ISREG(path.stat().st_mode):
        raise FileExistsError(f"{path} is no file but a device or a pipe, and would be replaced. Give a file's name.")
    return path.absolute()


def _check_writable(path: Path) -> None:
    """Refuse a name in a folder that cannot be written, or could not be made."""
    nearest = next(parent for parent in path.absolute().parents if os.path.lexists(parent))
    if not nearest.is_dir():
        raise NotADirectoryError(f"{path.parent}: {nearest} is not a folder. Choose another name.")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise PermissionError(f"{path.parent}: no right to write in {nearest}. Choose another folder.")


def _open_to_others(folder: Path) -> None:
    """Give a temporary folder the rights of an ordinary one, and flush its files."""
    folder.chmod(0o777 & ~_umask())
    for file in folder.iterdir():
        if file.is_file():
            flush(file)
    _flush_folder(folder)


def _flush_folder(folder: Path) -> None:
    with suppress(OSError):  # Windows does not open folders
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _umask() -> int:
    """The rights that new files are not given, which can only be read by setting them."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
