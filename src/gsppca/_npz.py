"""Arrays from an npz file that may come from a stranger: no pickles, nothing that grows beyond its size on disk."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import numpy as np


def npz_bytes(arrays: dict[str, Any]) -> bytes:
    """Return arrays as an npz file, not compressed: its size on disk bounds what reading it can take."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def npz_arrays(content: bytes) -> dict[str, np.ndarray[Any, Any]]:
    """Read the arrays of an npz file that `npz_bytes` wrote.

    Raises
    ------
    ValueError
        Whatever is wrong with the file.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = archive.infolist()
            if any(member.compress_type != zipfile.ZIP_STORED for member in members):
                raise ValueError("the arrays are compressed, and so may grow beyond any memory; store them plainly")
            if sum(member.file_size for member in members) > len(content):
                raise ValueError("the arrays are larger than the file that holds them")
            if any(not member.filename.endswith(".npy") for member in members):
                raise ValueError("it holds something else than arrays")
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            return {key: file[key] for key in file.files}
    except ValueError:
        raise
    except Exception as error:  # zipfile and numpy raise many kinds for a file that is damaged or made up
        raise ValueError(f"{type(error).__name__}: {error}") from error
