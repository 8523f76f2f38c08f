"""A table in memory: numbers, the names of its rows and columns, and labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import issparse

from gsppca._typing import BoolArray
from gsppca.data.entries import first_bad_entry, stored_values


class TableError(ValueError):
    """A file that cannot be used; the message is one line that says where it is wrong and what to do."""


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
    """

    name: str
    is_number: bool
    example: Sequence[str]

    @property
    def distinct(self) -> bool:
        """Whether the first values are all different: names, rather than labels."""
        return len(self.example) > 1 and len(set(self.example)) == len(self.example)


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

    @property
    def shape(self) -> tuple[int, int]:
        """Number of samples and of features."""
        return self.data.shape[0], self.data.shape[1]

    @property
    def names(self) -> Sequence[str]:
        """Names of the features; x0, x1, ... as scikit-learn has it where the file has none."""
        return self.feature_names if self.feature_names is not None else [f"x{i}" for i in range(self.shape[1])]

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


def pick(names: Sequence[str] | None, kept: BoolArray) -> Sequence[str] | None:
    """Those of some names, if there are any, that are marked."""
    return None if names is None else [name for name, keep in zip(names, kept, strict=True) if keep]


def check_table(table: Table) -> Table:
    """Refuse a table with nothing in it, or with names that occur twice."""
    n, p = table.shape
    if n == 0 or p == 0:
        what = "no rows of data" if n == 0 else "no columns of numbers"
        raise TableError(f"{table.path}: the file is empty: it has {what}. Give one row per sample.")
    check_unique(table.path, "columns", table.feature_names, "Rename one, or leave one out with --drop NUMBER.")
    check_unique(table.path, "rows", table.sample_names, "Rename one, or say --index none and --drop that column.")
    return table


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
        raise TableError(
            f"{where}: the value is missing (NaN); {count} are missing in all. Fill them in, or say --missing "
            "drop-rows, drop-columns, mean or impute."
        )
    raise TableError(f"{where}: the value is infinite. All values must be finite: correct it, or --drop the column.")
