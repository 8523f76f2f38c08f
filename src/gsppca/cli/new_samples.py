"""New samples for a fitted model: read as the file of the fit was, and put in the order of its variables."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse

from gsppca.cli.options import count
from gsppca.io import ReadOptions, Table, TableError, read_table
from gsppca.io.table import TableWarning, settle_missing

if TYPE_CHECKING:
    from gsppca import GSPPCA


SMALL = 50_000_000  # bytes of a file that is read again to find names that come near


def read_samples(model: GSPPCA, file: Path, options: ReadOptions) -> Table:
    """Read a table whose columns are in the order of a model.

    Variables that the model did not select are not read: they are set to their means, and change nothing. Only where
    the model fills in missing values, these others tell something about them, and are read if they can be.

    Parameters
    ----------
    model : GSPPCA
        Fitted; `reading_`, where it has that, says how its own file was read.
    file : path
        With the variables of the model, in columns of any order or in rows.
    options : ReadOptions
        What was said about this file: it goes before what is remembered of the other one.
    """
    options, remembered = with_memory(options, getattr(model, "reading_", {}))
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        table = _read(file, options, remembered, None)
    else:
        needed = [str(name) for name, selected in zip(names, model.support_, strict=True) if selected]
        table = _with_variables(file, options, remembered, needed, list(map(str, names)))
    if options.missing == "mean":
        table = replace(table, data=_filled(model, table, names))
    table = settle_missing(table, "error" if options.missing == "mean" else options.missing)
    return replace(table, data=aligned(model, table))


def with_memory(options: ReadOptions, remembered: Mapping[str, Any]) -> tuple[ReadOptions, set[str]]:
    """Take what is remembered of the fit where nothing was said; also return the names of such options."""
    default = ReadOptions()
    known: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in remembered.items()
        if hasattr(default, name) and getattr(options, name) == getattr(default, name) != value
    }
    return replace(options, **known), set(known)


def _with_variables(
    file: Path, options: ReadOptions, remembered: set[str], needed: list[str], known: list[str]
) -> Table:
    """Read the variables that are needed, from columns or from rows: wherever their names are."""
    ways = [options.transpose]
    if not options.transpose or "transpose" in remembered:
        ways.append(not options.transpose)
    absent: dict[Any, list[str]] = {}
    for way in ways:
        try:
            table = _with_others(file, replace(options, transpose=way), remembered, needed, known)
        except TableError:
            if way == ways[0]:
                raise
            continue  # the other way round, the file makes no sense
        if table.feature_names is None and way == ways[0]:
            return table
        held = set(table.feature_names or ())
        absent[way] = [name for name in needed if name not in held]
        if not absent[way]:
            return table
    way, missing = min(absent.items(), key=lambda item: len(item[1]))
    others = set(_names(file, replace(options, transpose=way), remembered)) - set(needed)
    raise TableError(_what_is_missing(file, missing, others, len(needed)))


def _names(file: Path, options: ReadOptions, remembered: set[str]) -> Sequence[str]:
    """All variables of a file; none of a large one, which would have to be read once more."""
    try:
        return (_read(file, options, remembered, None).feature_names or ()) if file.stat().st_size < SMALL else ()
    except (TableError, OSError):
        return ()


def _what_is_missing(file: Path, missing: list[str], names: Collection[str], n_needed: int) -> str:
    """Say which of the selected variables a file lacks, and which of its other names comes near."""
    from difflib import get_close_matches

    if len(missing) == n_needed > 1:
        some = f"there is none of the {n_needed} variables that the model selected, such as {missing[0]!r}"
    else:
        others = f", nor {count(len(missing) - 1, 'other')} that it selected" if len(missing) > 1 else ""
        some = f"no column {missing[0]!r}, which the model selected{others}"
    lowered = {name.lower(): name for name in names}
    near = get_close_matches(missing[0].lower(), lowered, n=1)
    meant = f" The nearest name is {lowered[near[0]]!r}." if near else ""
    return f"{file}: {some}.{meant} Add what is missing, or check that the file is of the same kind."


def _with_others(file: Path, options: ReadOptions, remembered: set[str], needed: list[str], known: list[str]) -> Table:
    """Read what is needed; also the other variables if values are missing, unless they hold something else."""
    table = _read(file, options, remembered, needed)
    if options.missing != "impute" or issparse(table.data) or not np.isnan(table.data).any():
        return table
    try:
        return _read(file, options, remembered, known)
    except TableError:
        return table


def _read(file: Path, options: ReadOptions, remembered: set[str], needed: list[str] | None) -> Table:
    """Read a file; without the label, or the names, that only the file of the fit has."""
    only = None if needed is None else frozenset(needed)
    droppable = [name for name in ("label", "index") if name in remembered]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TableWarning)  # what the table is, the model knows
        while True:
            try:
                table = read_table(file, options, strict=False, only=only)
                break
            except TableError as error:
                wrong = next((name for name in droppable if f"--{name} " in str(error)), None)
                if wrong is None:
                    raise
                droppable.remove(wrong)
                options = replace(options, **{wrong: getattr(ReadOptions(), wrong)})
        if only is not None and table.feature_names is None:
            table = read_table(file, options, strict=False)
    return table


def _filled(model: GSPPCA, table: Table, names: Any) -> Any:
    """The data with means of the model for missing values."""
    if issparse(table.data) or not np.isnan(table.data).any():
        return table.data
    if names is None or table.feature_names is None:
        means = model.mean_
    else:
        mean = dict(zip(map(str, names), model.mean_, strict=True))
        means = np.array([mean[name] for name in table.feature_names])
    return np.where(np.isnan(table.data), means.astype(table.data.dtype), table.data)


def aligned(model: GSPPCA, table: Table) -> Any:
    """The columns of a table in the order of the model."""
    names = getattr(model, "feature_names_in_", None)
    width = model.n_features_in_
    if names is None or table.feature_names is None:
        if table.shape[1] != width:
            raise TableError(
                f"{table.path}: {table.shape[1]} columns, but the model has {width}. Without names both must be alike."
            )
        return table.data
    if list(names) == list(table.feature_names):
        return table.data
    place = {name: i for i, name in enumerate(table.feature_names)}
    data = table.data.tocsc() if issparse(table.data) else table.data
    result = np.tile(model.mean_.astype(data.dtype), (table.shape[0], 1))
    for k in np.flatnonzero(model.support_):
        column = data[:, [place[str(names[k])]]]
        result[:, k] = (column.toarray() if issparse(column) else column)[:, 0]
    return result
