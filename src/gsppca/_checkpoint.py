"""A file that keeps what a long fit has done so far: whole at every moment, believed only if it is of the same fit.

The file is a plain npz archive, without pickles and not compressed. It is written beside its place and then moved
there. A full disk does not end the fit.
"""

from __future__ import annotations

import math
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gsppca._atomic import write_file
from gsppca._npz import npz_arrays, npz_bytes

EVERY = 10.0  # seconds between two savings


class StateFile:
    """The file of one fit.

    Parameters
    ----------
    path : path-like
        The file; it need not exist yet, but its folder must.
    version : int
        Of the format: a file of another one is refused.
    """

    def __init__(self, path: str | os.PathLike[str], version: int):
        self.path, self.version = Path(path), version
        if not self.path.absolute().parent.is_dir():
            raise ValueError(f"checkpoint={str(path)!r} is in a folder that does not exist. Make the folder first.")
        self._saved_at = -math.inf
        self._failed = False

    def read(self) -> dict[str, Any] | None:
        """Return the arrays of the file; None if there is no file."""
        if not self.path.exists():
            return None
        try:
            found: dict[str, Any] = npz_arrays(self.path.read_bytes())
            version = int(found["format"])
        except OSError as error:
            raise self.refusal(f"it cannot be read: {error.strerror or error}") from error
        except (ValueError, KeyError, TypeError) as error:
            raise self.refusal(f"it cannot be read: {error}") from error
        if version != self.version:
            raise self.refusal(f"its format is {version}, and this version reads {self.version}")
        return found

    def write(self, arrays: Callable[[], dict[str, Any]], *, now: bool = False) -> None:
        """Write arrays, unless the last writing is only seconds old; `now` writes them anyway.

        A file that cannot be written is a warning, once, and tried again later.
        """
        if not now and time.monotonic() < self._saved_at + EVERY:
            return
        try:
            write_file(self.path, npz_bytes({"format": self.version} | arrays()))
        except OSError as error:
            if not self._failed:
                warnings.warn(  # noqa: TID251
                    f"checkpoint={str(self.path)!r} cannot be written ({error.strerror or error}). The fit goes on, "
                    "but would begin anew, or from an older state, if it were interrupted. Make room for the file.",
                    RuntimeWarning,
                    stacklevel=2,
                )
            self._failed = True
        self._saved_at = time.monotonic()

    def refusal(self, reason: str) -> ValueError:
        """Say why the file is not believed."""
        return ValueError(
            f"checkpoint={str(self.path)!r} is not of this fit: {reason}. Delete the file to begin anew, or give "
            "another name."
        )


def check_checkpoint(checkpoint: Any) -> None:
    """Refuse what is no path."""
    if not isinstance(checkpoint, str | os.PathLike | None):
        raise ValueError(f"checkpoint must be None or a path, got {checkpoint!r}. Give the path of a file.")
