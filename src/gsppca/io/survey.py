"""What is in a file, before anything is fitted."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from gsppca._typing import FloatArray, IntArray, PathLike
from gsppca.io.options import ReadOptions
from gsppca.io.read import read_table
from gsppca.io.table import Table

UNEVEN = 10.0  # standard deviation in medians, from which on a column outweighs the others by its unit alone
_CHUNK = 256  # columns at a time


@dataclass(frozen=True)
class Survey:
    """What a file holds.

    Attributes
    ----------
    table : Table
        The data itself, missing values kept, columns of text left out.
    n_missing, n_infinite : int
        Values that are not numbers.
    missing_columns, constant_columns : list of str
        Names of the columns with missing values, and of those that do not vary.
    spread : tuple of float
        Standard deviation of the columns that vary: smallest, median, largest.
    density : float
        Share of the entries that are not zero.
    command : str
        What to type next.
    """

    table: Table
    n_missing: int
    n_infinite: int
    missing_columns: list[str]
    constant_columns: list[str]
    spread: tuple[float, float, float]
    density: float
    command: str

    @property
    def is_uneven(self) -> bool:
        """Whether some columns vary so much more than most that they look to have other units."""
        return self.spread[2] > UNEVEN * self.spread[1]


def survey_file(path: PathLike, options: ReadOptions | None = None) -> Survey:
    """Look at a file: what would be read from it, and what stands in the way of a fit.

    Parameters
    ----------
    path : str or path
        The file.
    options : ReadOptions, optional
        How to read it.

    Returns
    -------
    survey : Survey
    """
    options = options or ReadOptions()
    table = read_table(path, options, strict=False)
    deviations, missing = _column_figures(table.data)
    constant = deviations == 0
    varying = deviations[deviations > 0]
    spread = np.quantile(varying, [0.0, 0.5, 1.0]) if varying.size else np.zeros(3)
    values = table.data.data if issparse(table.data) else np.asarray(table.data)
    stored = np.count_nonzero(values)
    survey = Survey(
        table=table,
        n_missing=int(missing.sum()),
        n_infinite=int(np.isinf(values).sum()),
        missing_columns=_names(table, missing > 0),
        constant_columns=_names(table, constant),
        spread=(float(spread[0]), float(spread[1]), float(spread[2])),
        density=float(stored / (table.shape[0] * table.shape[1])),
        command="",
    )
    return replace(survey, command=_command(survey, options))


def _column_figures(data: Any) -> tuple[FloatArray, IntArray]:
    """Standard deviations of the columns, missing values set aside, and how many are missing in each."""
    p = data.shape[1]
    deviations, missing = np.zeros(p), np.zeros(p, dtype=np.intp)
    columns = data.tocsc() if issparse(data) else data
    for start in range(0, p, _CHUNK):
        part = columns[:, start : start + _CHUNK]
        dense = part.toarray() if issparse(part) else np.asarray(part)
        known = np.isfinite(dense)
        missing[start : start + _CHUNK] = np.isnan(dense).sum(axis=0)
        filled = np.where(known, dense, 0.0)
        counts = np.maximum(known.sum(axis=0), 1)
        means = filled.sum(axis=0) / counts
        squares = np.where(known, (filled - means) ** 2, 0.0).sum(axis=0)
        lowest = np.where(known, dense, np.inf).min(axis=0)
        same = lowest == np.where(known, dense, -np.inf).max(axis=0)
        deviations[start : start + _CHUNK] = np.where(same | ~known.any(axis=0), 0.0, np.sqrt(squares / counts))
    return deviations, missing


def _names(table: Table, marked: Any) -> list[str]:
    return [table.names[i] for i in np.flatnonzero(marked).tolist()]


def _command(survey: Survey, options: ReadOptions) -> str:
    """The fit that fits the file."""
    default = ReadOptions()
    words: list[str] = ["gsppca", "fit", str(survey.table.path)]
    for name in ("label", "index", "header", "separator", "decimal", "encoding", "layer", "key", "format", "dtype"):
        if getattr(options, name) != getattr(default, name):
            words += [f"--{name}", str(getattr(options, name))]
    for column in options.drop:
        words += ["--drop", column]
    words += ["--transpose"] if options.transpose else []
    words += _text_roles(survey.table.text, options)
    words += ["--missing", "impute"] if survey.n_missing and not issparse(survey.table.data) else []
    words += ["--scale"] if survey.is_uneven else []
    return shlex.join([*words, "--output", "results", "--report"])


def _text_roles(text: Sequence[Any], options: ReadOptions) -> list[str]:
    """Take the first column of repeated text for the label, and leave the others out."""
    words: list[str] = []
    labelled = options.label is not None
    for column in text:
        as_label = not labelled and not column.distinct
        words += ["--label" if as_label else "--drop", column.name]
        labelled = labelled or as_label
    return words
