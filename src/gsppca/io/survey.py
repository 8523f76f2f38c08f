"""What is in a file, before anything is fitted."""

from __future__ import annotations

import os
import re
import shlex
from collections import Counter, defaultdict
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from scipy.sparse import issparse

from gsppca._typing import FloatArray, IntArray, PathLike
from gsppca.io.hints import Hint, hints_of, option
from gsppca.io.options import LONGEST_NA, ReadOptions
from gsppca.io.orientation import count_samples, exchanged
from gsppca.io.read import read_table
from gsppca.io.table import FixableError, Table, TableError, check_table, shortened

UNEVEN = 10.0  # standard deviation in medians, from which on a column outweighs the others by its unit alone
_POSITION = re.compile(r"[xX]?(\d+(?:\.\d+)?) ?(?:nm|um|µm|cm-1|cm\^-1|hz|khz|mhz|ppm)?", re.I)
_LEAST_AXIS = 10  # positions
_CHUNK = 256  # columns at a time
_BAD_CELLS = 3  # different cells of a column that are no numbers; with more, the column is left out
_ATTEMPTS = 40
_DROPPED = 3  # columns that a command names one by one


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
    hints : list of Hint
        What the file may be other than what it was taken for.
    rows_and_columns : tuple of int
        Of the file, where `table` has them exchanged because its rows look like variables; None otherwise.
    words : list of str
        Options to add: with them, nothing stands in the way of a fit.
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
    hints: list[Hint]
    rows_and_columns: tuple[int, int] | None
    words: list[str]
    command: str

    @property
    def is_raw(self) -> bool:
        """Whether the numbers look like counts or intensities without logarithms."""
        return any("--log" in hint.words for hint in self.hints)

    @property
    def is_uneven(self) -> bool:
        """Whether some columns vary so much more than most that they look to have other units."""
        return self.spread[2] > UNEVEN * self.spread[1]

    @property
    def is_axis(self) -> bool:
        """Whether the names of the variables are positions on an axis, such as wavelengths: they have one unit."""
        found = [_POSITION.fullmatch(name) for name in self.table.feature_names or ()]
        if len(found) < _LEAST_AXIS or not all(found):
            return False
        steps = np.diff([float(match[1]) for match in found if match])
        is_counted = bool((steps == 1).all()) and float(found[0][1] if found[0] else 0) in (0, 1)
        return not is_counted and bool((steps > 0).all() or (steps < 0).all())

    @property
    def has_codes(self) -> bool:
        """Whether some numbers look like codes for missing values, which change the spread of their columns."""
        return any(word.startswith("--na") for hint in self.hints for word in hint.words)

    @property
    def needs_scale(self) -> bool:
        """Whether columns look to have different units."""
        return self.is_uneven and not (self.is_raw or self.is_axis or self.has_codes)


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
    table, options_used, words = _read(path, options)
    hints = hints_of(table, options_used, is_exchanged=bool(table.reading["transpose"]))
    rows_and_columns = None
    if any("--transpose" in hint.words for hint in hints):
        # All that follows is about the table that the proposed command reads.
        rows_and_columns = table.shape[0], count_samples(table)
        table = check_table(exchanged(table), has_variable_names=False)
    deviations, missing = _column_figures(table.data)
    varying = deviations[deviations > 0]
    spread = np.quantile(varying, [0.0, 0.5, 1.0]) if varying.size else np.zeros(3)
    values = table.data.data if issparse(table.data) else np.asarray(table.data)
    survey = Survey(
        table=table,
        n_missing=int(missing.sum()),
        n_infinite=int(np.isinf(values).sum()),
        missing_columns=_names(table, missing > 0),
        constant_columns=_names(table, deviations == 0),
        spread=(float(spread[0]), float(spread[1]), float(spread[2])),
        density=float(np.count_nonzero(values) / (table.shape[0] * table.shape[1])),
        hints=hints,
        rows_and_columns=rows_and_columns,
        words=[],
        command="",
    )
    words += _words(survey, options)
    given = [*_given(options), *words, *(["--scale"] if survey.needs_scale else [])]
    file = os.fspath(path)
    command = shlex.join(["gsppca", "fit", str(file), *given, "--output", "results", "--report"])
    return replace(survey, words=words, command=command)


def _read(path: PathLike, options: ReadOptions) -> tuple[Table, ReadOptions, list[str]]:
    """Read a file whatever its cells hold: text among numbers is taken for missing, or its column is left out.

    Returns
    -------
    table : Table
    options : ReadOptions
        That it was read with in the end.
    words : list of str
        The same as further options of the command line.
    """
    na, drop = list(options.na), list(options.drop)
    cells: dict[int, list[str]] = defaultdict(list)
    for _ in range(_ATTEMPTS):
        used = replace(options, na=tuple(na), drop=tuple(drop))
        try:
            table = read_table(path, used, strict=False)
        except FixableError as error:
            if error.cell is None or error.column is None:
                raise
            cells[error.column].append(error.cell)
            is_word = len(error.cell) <= LONGEST_NA
            na += [error.cell] if is_word else []
            if not is_word or len(cells[error.column]) > _BAD_CELLS:
                drop.append(str(error.column + 1))
                na = [cell for cell in na if cell not in cells[error.column]]
            continue
        cells_added = na[len(options.na) :]
        if cells_added:
            shown = ", ".join(repr(cell) for cell in cells_added[:5])
            table = table.with_notes(f"cells that are not numbers are taken for missing: {shown}")
        words = [word for cell in cells_added for word in option("--na", cell)]
        words += [word for number in drop[len(options.drop) :] for word in ("--drop", number)]
        return table, used, words
    raise TableError(
        f"{path}: many cells are not numbers, such as {shortened(na[-1])!r}. Check that it is a table of numbers."
    )


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
        counts = np.maximum(known.sum(axis=0), 1)
        filled = np.where(known, dense, 0.0)
        apart = np.where(known, filled - (filled / counts).sum(axis=0), 0.0)
        unit = np.maximum(np.abs(apart).max(axis=0), np.finfo(float).tiny)  # squares of large values cannot be held
        spread = unit * np.sqrt(((apart / unit) ** 2).sum(axis=0) / counts)
        lowest = np.where(known, dense, np.inf).min(axis=0)
        same = lowest == np.where(known, dense, -np.inf).max(axis=0)
        deviations[start : start + _CHUNK] = np.where(same | ~known.any(axis=0), 0.0, spread)
    return deviations, missing


def _names(table: Table, marked: Any) -> list[str]:
    return [table.names[i] for i in np.flatnonzero(marked).tolist()]


def _given(options: ReadOptions) -> list[str]:
    """What was said about the file, as options of the command line."""
    words: list[str] = []
    for field in fields(ReadOptions):
        value = getattr(options, field.name)
        if value == field.default:
            continue
        name = f"--{field.name}"
        if isinstance(value, tuple):
            words += [word for one in value for word in option(name, one)]
        else:
            switch = {True: [name], False: [f"--no-{field.name}"]}
            words += switch[value] if isinstance(value, bool) else option(name, str(value))
    return words


def _words(survey: Survey, options: ReadOptions) -> list[str]:
    """Options to add for a fit that nothing stands in the way of."""
    words = [word for hint in survey.hints for word in hint.words if "--label" not in word or options.label is None]
    if not options.transpose and "--transpose" not in words:
        words = _text_roles(survey.table, options, words) + words
    if survey.n_missing and options.missing == "error" and not issparse(survey.table.data):
        words += ["--missing", "impute"]
    return words


def _text_roles(table: Table, options: ReadOptions, words: list[str]) -> list[str]:
    """Take the first column of repeated text for the label, one of names for the index, and leave the others out."""
    roles: list[str] = []
    is_labelled = options.label is not None or any("--label" in word for word in words)
    is_indexed = table.sample_names is not None
    names = Counter([*table.names, *(column.name for column in table.text)])
    rest = []
    for column in table.text:
        if names[column.name] > 1:
            column = replace(column, name="")  # only its number tells which one it is
        if not is_labelled and not column.distinct:
            roles += option("--label", column.name, column.place)
            is_labelled = True
        elif not is_indexed and column.distinct:
            roles += option("--index", column.name, column.place)
            is_indexed = True
        else:
            rest.append(column)
    if len(rest) > _DROPPED:
        return [*roles, "--drop", "text"]
    return [*roles, *(word for column in rest for word in option("--drop", column.name, column.place))]
