"""Digits of Larochelle et al. (2007) in .amat files."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from gsppca.checks import check_count

from .container import Dataset
from .files import fetch, open_text

SIDE = 28
N_PIXELS = SIDE * SIDE


def pixel_names() -> NDArray[np.str_]:
    """Return r0c0, r0c1, ..., r27c27: row and column of every pixel of a flattened image."""
    return np.array([f"r{row}c{column}" for row in range(SIDE) for column in range(SIDE)])


def read_amat(
    source: str | os.PathLike[str],
    digit: int | None = None,
    member: str | None = None,
    *,
    transpose: bool = False,
    sha256: str | None = None,
) -> Dataset:
    """Read images of digits: 784 pixels in [0, 1] and the digit, separated by spaces, one image a line.

    Parameters
    ----------
    source : str or path
        mnist_train.amat, mnist_background_random_train.amat, ..., the zip archive they come in, or a URL.
    digit : int, optional
        Keep this digit only; the paper takes 7.
    member : str, optional
        File of a zip archive; needed if it holds several .amat files.
    transpose : bool
        Exchange rows and columns of the images. Some of the sets are stored column by column: look at
        one image before drawing a selection.
    sha256 : str, optional
        Checksum of the file; see `gsppca.datasets.fetch`.

    Returns
    -------
    Dataset
        With the label "digit".
    """
    if digit is not None:
        digit = check_count("digit", digit, 0, 9)
    path = fetch(source, sha256)
    table = _read_table(path, member)
    if table.shape[1] != N_PIXELS + 1:
        raise ValueError(
            f"{path.name} has {table.shape[1]} columns: expected {N_PIXELS} pixels and the digit; pass an .amat "
            "file of the MNIST variations"
        )
    images, digits = table[:, :-1], table[:, -1].astype(int)
    if transpose:
        images = images.reshape(-1, SIDE, SIDE).transpose(0, 2, 1).reshape(-1, N_PIXELS)
    rows = np.arange(digits.size) if digit is None else np.flatnonzero(digits == digit)
    what = "digits" if digit is None else f"digits {digit}"
    source_text = f"{what} of {member or path.name} (Larochelle et al. 2007)"
    row_names = np.array([str(row) for row in rows], dtype=str)
    return Dataset(images[rows], pixel_names(), source_text, {"digit": digits[rows]}, row_names)


def _read_table(path: Path, member: str | None) -> NDArray[np.float64]:
    if not zipfile.is_zipfile(path):
        with open_text(path) as lines:
            return np.loadtxt(lines, ndmin=2)
    with zipfile.ZipFile(path) as archive:
        names = [name for name in archive.namelist() if name.endswith(".amat")]
        chosen = member if member is not None or len(names) != 1 else names[0]
        if chosen not in names:
            raise ValueError(f"member={member!r}: {path.name} holds {names}; pass one of these names")
        with archive.open(chosen) as lines:
            return np.loadtxt(lines, ndmin=2)
