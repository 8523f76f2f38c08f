"""A table in memory: numbers, the names of its rows and columns, and labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from gsppca._typing import BoolArray
from gsppca.data.entries import first_bad_entry, stored_values

_LONGEST = 30  # characters of a cell that is shown


class TableError(ValueError):
    """A file that cannot be used; the message is one line that says where it is wrong and what to do."""


class FixableError(TableError):
    """A file that can be used with other options: the command line works out which.

    Parameters
    ----------
    fact : str
        What is wrong and where, in one line.
    advice : str, optional
        What to do about it, where no command can be given.
    cell : str, optional
        A cell that is not a number, where that is what is wrong.
    column : int, optional
        Its place, counted from 0.
    """

    def __init__(self, fact: str, advice: str = "", cell: str | None = None, column: int | None = None):
        super().__init__(fact, advice)
        self.cell, self.column = cell, column

    @property
    def fact(self) -> str:
        """What is wrong and where."""
        return str(self.args[0])

    def __str__(self) -> str:
        return " ".join(str(part) for part in self.args if part)


class TableWarning(UserWarning):
    """A file that may not be what it was taken for.

    Parameters
    ----------
    message : str
        What was seen, in one line.
    words : sequence of str
        Options of the command line that read the file as proposed.
    """

    def __init__(self, message: str, words: Sequence[str] = ()):
        super().__init__(message)
        self.words = tuple(words)


@dataclass(frozen=True)
class Column:
    """A column of a file as its first rows show it.

    Attributes
    ----------
    name : str
        Its head, or a made-up name.
    is_number : bool
        Whether it holds numbers.
    example : sequence of str
        Its first values.
    is_empty : bool
        Whether none of the first rows has a value.
    place : int or None
        In the file, counted from 0, where it has to be called by its number.
    """

    name: str
    is_number: bool
    example: Sequence[str]
    is_empty: bool = False
    place: int | None = None

    @property
    def distinct(self) -> bool:
        """Whether the first values are all different: names, rather than labels."""
        return len(self.example) > 1 and len(set(self.example)) == len(self.example)

    @property
    def is_mostly_distinct(self) -> bool:
        """Whether at least half of the first values are different: names, some of which occur twice."""
        return 2 * len(set(self.example)) >= len(self.example) > 0


@dataclass(frozen=True)
class Table:
    """What was read from a file.

    Attributes
    ----------
    data : ndarray or CSR matrix of shape (n_samples, n_features)
        The numbers: float32 or float64, finite unless missing values were to be kept.
    feature_names, sample_names : sequence of str, or None
        Names of the columns and rows, where the file has some.
    labels : sequence of str, or None
        One label per sample.
    path : Path
        The file.
    format : str
        Its format, in words.
    notes : tuple of str
        What was found out or decided about the file, in words.
    positions : sequence of int, or None
        Places of the columns in the file, counted from 0, where that has others too.
    text : sequence of Column
        Columns of text that were left out, because nobody gave them a role.
    index_name : str
        Head of the column that names the rows.
    label_name : str
        Head of the column of labels.
    column_labels : dict of str to sequence of str
        Labels of the columns, by name: what lines above the table say of samples, where those are columns.
    reading : dict
        What a file of the same kind is to be read with, by the names of `ReadOptions`.
    """

    data: Any
    feature_names: Sequence[str] | None
    sample_names: Sequence[str] | None
    labels: Sequence[str] | None
    path: Path
    format: str
    notes: tuple[str, ...] = ()
    positions: Sequence[int] | None = None
    text: Sequence[Column] = ()
    index_name: str = ""
    label_name: str = ""
    column_labels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    reading: Mapping[str, Any] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of samples and of features."""
        return self.data.shape[0], self.data.shape[1]

    @property
    def names(self) -> Sequence[str]:
        """Names of the features; x0, x1, ... as scikit-learn has it where the file has none."""
        return self.feature_names if self.feature_names is not None else [f"x{i}" for i in range(self.shape[1])]

    def with_notes(self, *notes: str) -> Table:
        """The table with further notes."""
        return replace(self, notes=(*self.notes, *notes))

    def transposed(self) -> Table:
        """The table with rows and columns exchanged."""
        data = self.data.T.tocsr() if issparse(self.data) else self.data.T
        return replace(
            self, data=data, feature_names=self.sample_names, sample_names=self.feature_names, positions=None
        )

    def rows(self, kept: BoolArray) -> Table:
        """The table with some of the samples."""
        return replace(
            self,
            data=self.data[kept],
            sample_names=pick(self.sample_names, kept),
            labels=pick(self.labels, kept),
        )

    def columns(self, kept: BoolArray) -> Table:
        """The table with some of the features."""
        positions = None if self.positions is None else [self.positions[i] for i in np.flatnonzero(kept).tolist()]
        return replace(self, data=self.data[:, kept], feature_names=pick(self.feature_names, kept), positions=positions)


def shortened(text: str) -> str:
    """Return a cell as messages show it: a damaged file may hold cells of any length."""
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


def pick(names: Sequence[str] | None, kept: BoolArray) -> Sequence[str] | None:
    """Those of some names, if there are any, that are marked."""
    return None if names is None else [name for name, keep in zip(names, kept, strict=True) if keep]


def check_table(table: Table, has_variable_names: bool = True) -> Table:
    """Refuse a table with nothing in it, or with variables of the same name; make the names of samples unique.

    Parameters
    ----------
    table : Table
        What was read.
    has_variable_names : bool, default=True
        Whether variables are named by heads, which must be unique; otherwise by the names of rows, which are made so.
    """
    n, p = table.shape
    if n == 0 or p == 0:
        what = "no rows of data" if n == 0 else "no columns of numbers"
        raise TableError(f"{table.path}: the file is empty: it has {what}. Give one row per sample.")
    if has_variable_names:
        check_unique(table.path, "columns", table.feature_names, "Rename one, or leave one out with --drop NUMBER.")
    else:
        names, notes = made_unique(table.feature_names, "variables")
        table = replace(table, feature_names=names).with_notes(*notes)
    names, notes = made_unique(table.sample_names, "samples")
    return replace(table, sample_names=names).with_notes(*notes)


def made_unique(names: Sequence[str] | None, what: str) -> tuple[Sequence[str] | None, tuple[str, ...]]:
    """Add numbers to names that occur again (a, a-1, a-2); return them with a note of how many there were."""
    if names is None or len(set(names)) == len(names):
        return names, ()
    taken = set(names)
    seen: set[str] = set()
    numbers: dict[str, int] = {}
    unique: list[str] = []
    changed: list[str] = []
    for name in names:
        new = name
        while new in seen or (new != name and new in taken):
            numbers[name] = numbers.get(name, 0) + 1
            new = f"{name}-{numbers[name]}"
        if new != name:
            changed.append(new)
        seen.add(new)
        unique.append(new)
    verb = "has the name of another one and gets" if len(changed) == 1 else "have the name of another one and get"
    what = what.removesuffix("s") if len(changed) == 1 else what
    return unique, (f"{len(changed)} {what} {verb} a number, such as {changed[0]!r}",)


def check_unique(path: Path, what: str, names: Sequence[str] | None, advice: str) -> None:
    """Refuse names that occur twice, and say where."""
    if names is None or len(set(names)) == len(names):
        return
    first: dict[str, int] = {}
    for place, name in enumerate(names, start=1):
        if name in first:
            raise TableError(f"{path}: {what} {first[name]} and {place} have the same name, {name!r}. {advice}")
        first[name] = place


def settle_missing(table: Table, how: str) -> Table:
    """Do about missing values what was asked for; refuse infinite ones."""
    values = stored_values(table.data)
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(values.sum()):
            return table
    if how == "error" or issparse(table.data) or not np.isnan(values).any():
        _refuse_first(table)
        return table
    missing = np.isnan(table.data)
    count = int(missing.sum())
    if how == "impute":
        _refuse_first(replace(table, data=np.where(missing, 0.0, table.data)))
        return replace(table, notes=(*table.notes, f"{count} missing values left to the model"))
    if how == "drop-rows":
        table = table.rows(~missing.any(axis=1))
        note = f"rows with missing values left out; {table.shape[0]} are left"
    elif how == "drop-columns":
        table = table.columns(~missing.any(axis=0))
        note = f"columns with missing values left out; {table.shape[1]} are left"
    else:
        data = np.array(table.data)
        empty = missing.all(axis=0)
        if empty.any():
            name = table.names[int(empty.argmax())]
            raise TableError(f"{table.path}: column {name!r} has no value at all. Leave it out with --drop.")
        for j in np.flatnonzero(missing.any(axis=0)):
            data[missing[:, j], j] = data[~missing[:, j], j].mean()
        table = replace(table, data=data)
        note = f"{count} missing values set to the means of their columns"
    if 0 in table.shape:
        raise TableError(f"{table.path}: nothing is left once missing values are out. Try --missing mean.")
    _refuse_first(table)
    return replace(table, notes=(*table.notes, note))


def _refuse_first(table: Table) -> None:
    place = first_bad_entry(table.data)
    if place is None:
        return
    row, column = place
    place_in_file = column if table.positions is None else table.positions[column]
    row_name = "" if table.sample_names is None else f" ({table.sample_names[row]!r})"
    where = f"{table.path}: row {row + 1}{row_name}, column {place_in_file + 1} ({table.names[column]!r})"
    values = stored_values(table.data)
    count = int(np.isnan(values).sum())
    if np.isnan(table.data[row, column]) and issparse(table.data):
        raise TableError(
            f"{where}: the value is missing (NaN); {count} are missing in all. Fill them in, or drop them."
        )
    if np.isnan(table.data[row, column]):
        raise FixableError(
            f"{where}: the value is missing (NaN); {count} are missing in all. Fill them in, or use --missing "
            "drop-rows, drop-columns, mean or impute."
        )
    raise TableError(f"{where}: the value is infinite. All values must be finite: correct it, or --drop the column.")
