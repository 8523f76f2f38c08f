"""The process that reads files of some formats: started ahead, it imports what it needs while this one does.

This module is light: a command can start the child before it imports anything else.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

KINDS = ("h5ad", "mtx")  # formats whose libraries a damaged file can crash or keep busy for ever
_waiting: dict[str, Child] = {}


class Child:
    """A process that waits for a request on its standard input.

    Parameters
    ----------
    kind : {"h5ad", "mtx"}
        Format of the file that it is to read.

    Attributes
    ----------
    process : Popen
    said : file
        What it printed.
    """

    def __init__(self, kind: str):
        root = str(Path(__file__).parents[2])
        known = os.environ.get("PYTHONPATH")
        environment = {**os.environ, "PYTHONPATH": root if not known else os.pathsep.join([root, known])}
        # -P: nothing is imported from the current folder, which may be that of a stranger's data.
        command = [sys.executable, "-P", "-m", "gsppca.io.isolated", kind]
        self.said: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=self.said, stderr=self.said, env=environment
        )

    def run(self, request: str, seconds: float) -> tuple[int, str]:
        """Send a request and wait; return the exit code and the last line said. Raises TimeoutExpired."""
        try:
            self.process.communicate(request.encode(), timeout=seconds)
            self.said.seek(0)
            lines = self.said.read().decode("utf-8", "replace").strip().splitlines()
            return self.process.returncode, (lines or [""])[-1]
        finally:
            self.end()

    def end(self) -> None:
        """End the process, if it has not ended."""
        if self.process.poll() is None:
            self.process.kill()
        with suppress(BrokenPipeError), self.process:  # closes its input, and waits
            self.said.close()


@contextmanager
def reader_started(path: Path) -> Iterator[None]:
    """Start the child that will read a file, if one will; it ends with this context at the latest."""
    kind = path.suffix.lower().removeprefix(".")
    if kind not in KINDS or not sys.executable or not path.is_file():
        yield
        return
    child = _waiting[kind] = Child(kind)
    try:
        yield
    finally:
        if _waiting.pop(kind, None) is child:
            child.end()


def child_for(kind: str) -> Child:
    """Return the child that waits to read such a file, or a new one."""
    return _waiting.pop(kind, None) or Child(kind)
