"""Files written whole or not at all."""

import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

__all__ = ["check_output", "replaced"]

Name = str | os.PathLike[str]


def check_output(path: Name, *inputs: Name) -> None:
    """Say what is wrong with a place to write to before anything is computed for it: a folder, or a file it must not
    replace."""
    if os.fspath(path) == "-":
        return
    target = Path(path)
    if target.is_dir():
        raise ValueError(f"{path}: expected the name of a file to write, got a folder")
    if not target.parent.is_dir():
        raise ValueError(f"{path}: no such file or directory as {target.parent}; make it first")
    if not os.access(target.parent, os.W_OK) and not _is_device(target):
        raise ValueError(f"{path}: the folder {target.parent} may not be written to")
    for source in inputs:
        if target.exists() and os.path.exists(source) and os.path.samefile(target, source) and not _is_device(target):
            raise ValueError(f"{path}: is read as well and would be lost; write to another name")


@contextmanager
def replaced(path: Name) -> Iterator[BinaryIO]:
    """A file to write that takes the place of `path` when all is written; on failure `path` stays as it was.

    "-" is the standard output. Links are followed, and devices and pipes written to as they are.
    """
    if os.fspath(path) == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target = Path(os.path.realpath(path))
    try:
        with open(target, "wb") if _is_device(target) else _beside(target) as file:
            yield file
    except OSError as error:
        error.filename = str(path)  # what was asked for, not a name that nobody knows
        raise


@contextmanager
def _beside(target: Path) -> Iterator[BinaryIO]:
    """A file of another name in the same folder that takes the name when it is whole."""
    descriptor, name = tempfile.mkstemp(prefix=f".{target.name[:32]}.", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise


def _is_device(target: Path) -> bool:
    """Whether what stands there is something that a file must not replace, such as /dev/null or a pipe."""
    return target.exists() and not stat.S_ISREG(target.stat().st_mode) and not target.is_dir()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
