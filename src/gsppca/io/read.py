"""Read a table from a file of any of the formats."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gsppca._typing import PathLike
from gsppca.io.child import KINDS
from gsppca.io.formats import detect_format
from gsppca.io.hints import as_warning, hints_of
from gsppca.io.options import LONGEST_NA, ReadOptions
from gsppca.io.orientation import exchanged, why_rows_are_variables
from gsppca.io.stream import errors_about, local_file
from gsppca.io.table import Table, TableError, check_table, settle_missing, shortened
from gsppca.io.values import as_floats, with_logarithms, without_codes


def read_table(
    path: PathLike,
    options: ReadOptions | None = None,
    *,
    strict: bool = True,
    only: Collection[str] | None = None,
    **changes: Any,
) -> Table:
    r"""Read a table: one row per sample, one column per variable.

    CSV and TSV (plain or compressed) are read block by block, so that reading takes little more memory than the numbers
    themselves; Parquet, Feather, Excel (xlsx), npy, npz, Matrix Market, h5ad and zarr are read by their own libraries.

    Parameters
    ----------
    path : str or path
        The file, or the folder of a zarr store; "-" is standard input.
    options : ReadOptions, optional
        How to read it; found out by looking at it where not said.
    strict : bool, default=True
        Whether columns of text that nobody has given a role to, missing and infinite values are errors; otherwise such
        columns are left out, and such values kept.
    only : collection of str, optional
        Names of the variables to read; all others are left out, whatever they hold.
    **changes
        Fields of `ReadOptions`, by name, instead of or on top of `options`.

    Returns
    -------
    table : Table
        With `data`, `feature_names`, `sample_names`, `labels`.

    Warns
    -----
    TableWarning
        If the file looks like something else than it is read as: variables in rows, raw counts, a label among the
        variables (`strict` only).

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from gsppca.io import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "small.csv")
    ...     _ = file.write_text("sample,height,weight,kind\na,1,2,x\nb,3,4,y\n")
    ...     table = read_table(file, label="kind")
    >>> table.data.tolist(), table.feature_names, table.sample_names, table.labels
    ([[1.0, 2.0], [3.0, 4.0]], ['height', 'weight'], ['a', 'b'], ['x', 'y'])
    """
    options = replace(options or ReadOptions(), **changes)
    file, name = local_file(path)
    with errors_about(file, name):
        table, is_exchanged = _read(file, options, strict and only is None, only)
    table = replace(table, path=Path(name), reading=_remembered(options, table, is_exchanged))
    table = with_logarithms(table) if options.log else table
    if not strict:
        return table
    table = settle_missing(table, options.missing)
    hints = hints_of(table, options, is_exchanged=is_exchanged) if only is None else []
    if hints:
        warnings.warn(as_warning(table, hints), stacklevel=2)
    return table


def _read(file: Path, options: ReadOptions, strict: bool, only: Collection[str] | None) -> tuple[Table, bool]:
    """Read a file, with a row per sample; also whether rows and columns have been exchanged for that."""
    kind, compression = detect_format(file, options.format)
    _refuse_idle_options(file, kind, options)
    picks_columns = only is not None and not options.transpose and kind in ("csv", "tsv", "xlsx", "parquet", "feather")
    more = {"only": only} if picks_columns else {}
    # Where rows turn out to be variables, columns of text describe them, and a label is no column.
    as_columns = replace(options, label=None) if options.transpose else options
    table = _read_format(file, kind, compression, as_columns, strict and not options.transpose, **more)
    why = why_rows_are_variables(table) if options.transpose == "auto" else None
    if table.labels is None and options.label in table.column_labels:
        why = why or f"--label {options.label} is said of columns, above the table"
    is_exchanged = options.transpose is True or why is not None
    if is_exchanged:
        table = exchanged(table, why, options.label)
    elif options.transpose == "auto" and (table.text or options.label is not None):
        return _read(file, replace(options, transpose=False), strict, only)
    if only is not None and not picks_columns and table.feature_names is not None:
        table = table.columns(np.array([name in only for name in table.feature_names], dtype=bool))
    table = without_codes(replace(table, data=as_floats(table)), options.na)
    if only is not None and not table.shape[1]:
        return table, is_exchanged
    return check_table(table, has_variable_names=not is_exchanged), is_exchanged


def _remembered(options: ReadOptions, table: Table, is_exchanged: bool) -> dict[str, Any]:
    """What a file of the same kind is to be read with: what depends on the file alone is found out again."""
    index = table.index_name if options.index == "auto" and table.index_name else options.index
    return {
        "label": table.label_name or options.label,
        "index": index,
        "na": list(options.na),
        "missing": options.missing,
        "transpose": is_exchanged,
        "log": options.log,
    }


_FOR = {"layer": ("h5ad", "zarr"), "key": ("npz", "zarr", "xlsx")}


def _refuse_idle_options(file: Path, kind: str, options: ReadOptions) -> None:
    """Refuse what was said and would do nothing: another array would be analysed than the one meant."""
    for option, kinds in _FOR.items():
        value = getattr(options, option)
        if value is not None and kind not in kinds:
            listed = f"{', '.join(kinds[:-1])} and {kinds[-1]}"
            raise TableError(f"{file}: --{option} {value} is for {listed} files, this is {kind}. Leave it out.")
    for word in options.na:
        if len(word) > LONGEST_NA:
            raise TableError(
                f"{file}: --na {shortened(word)} has {len(word)} characters, {LONGEST_NA} are allowed. "
                "Use a shorter word."
            )


def _read_format(
    file: Path, kind: str, compression: str | None, options: ReadOptions, strict: bool, **more: Any
) -> Table:
    """Read a file here, or in a process of its own if its library cannot be trusted with a damaged file."""
    if kind in KINDS and sys.executable:
        from gsppca.io.isolated import read_isolated

        return read_isolated(file, kind, compression, options, strict)
    return read_here(file, kind, compression, options, strict, **more)


def read_here(file: Path, kind: str, compression: str | None, options: ReadOptions, strict: bool, **more: Any) -> Table:
    """Read a file in this process; whatever is wrong with it is a TableError of one line."""
    try:
        table: Table = _reader(kind)(file, kind, compression, options, strict, **more)
        return table
    except (TableError, ImportError, MemoryError):
        raise
    except OSError as error:
        if error.filename is not None:
            raise  # no such file, no right to read it
        raise TableError(_damaged(file, kind, error)) from error
    except Exception as error:  # what a library raises for a damaged file is not for us to list
        raise TableError(_damaged(file, kind, error)) from error


def _damaged(file: Path, kind: str, error: Exception) -> str:
    what = " ".join(str(error).split()) or type(error).__name__
    return f"{file}: this {kind} file cannot be read ({what[:200]}). It may be damaged: get it again, or write it anew."


def _reader(kind: str) -> Any:
    """The function that reads a format; its module, and what that needs, is imported only now."""
    if kind in ("csv", "tsv"):
        from gsppca.io.delimited import read_delimited

        return read_delimited
    if kind == "xlsx":
        from gsppca.io.excel import read_excel

        return read_excel
    if kind in ("parquet", "feather"):
        from gsppca.io.arrow import read_arrow

        return read_arrow
    if kind in ("h5ad", "zarr"):
        from gsppca.io.stores import read_store

        return read_store
    from gsppca.io.arrays import read_array

    return read_array
