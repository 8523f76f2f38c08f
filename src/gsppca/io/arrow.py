"""Parquet and Feather: columns with types, read by pyarrow some rows at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from gsppca._optional import optional_import
from gsppca.io.buffer import RowBuffer
from gsppca.io.columns import Roles, assign_roles
from gsppca.io.delimited import numbers
from gsppca.io.options import ReadOptions
from gsppca.io.table import Column, Table, TableError
from gsppca.progress import tell

_ENTRIES = 2**21  # read at a time
_EXAMPLES = 200


def read_arrow(
    path: Path,
    kind: str,
    compression: str | None,
    options: ReadOptions,
    strict: bool,
    only: Collection[str] | None = None,
) -> Table:
    """Read a Parquet or Feather file; of the columns of numbers, `only` some if names are given."""
    pa = optional_import("pyarrow", f"reading {kind} files", "files")
    try:
        if kind == "parquet":
            from pyarrow import parquet

            with parquet.ParquetFile(path) as file:
                batches, n_rows = _parquet(file), file.metadata.num_rows
                return _read(path, "Parquet", file.schema_arrow, n_rows, batches, options, strict, only)
        from pyarrow import feather

        table = feather.read_table(path, memory_map=True)
        return _read(path, "Feather", table.schema, table.num_rows, _feather(table), options, strict, only)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise TableError(f"{path}: not a whole {kind} file ({str(error).splitlines()[0]}). Get it again.") from error
    except OSError as error:
        if error.errno:
            raise
        raise TableError(f"{path}: the {kind} file is damaged ({str(error).splitlines()[0]}). Get it again.") from error


def _parquet(file: Any) -> Any:
    return lambda names, height: file.iter_batches(batch_size=height, columns=names)


def _feather(table: Any) -> Any:
    def batches(names: list[str], height: int) -> Iterator[Any]:
        yield from table.select(names).to_batches(max_chunksize=height)

    return batches


def _read(
    path: Path,
    kind: str,
    schema: Any,
    n_rows: int,
    batches: Any,
    options: ReadOptions,
    strict: bool,
    only: Collection[str] | None,
) -> Table:
    import pyarrow as pa

    columns = [Column(name, _is_number(schema.types[i]), []) for i, name in enumerate(schema.names)]
    if len(set(schema.names)) == len(schema.names) and n_rows:
        columns = _with_examples(columns, batches)
    roles = assign_roles(path, columns, _with_index(schema, options), strict=strict, only=only)
    if not roles.data and only is None:
        raise TableError(f"{path}: no column holds numbers. Check that it is the right file.")
    number = pa.float32() if options.dtype == "float32" else pa.float64()
    buffer = RowBuffer(len(roles.data), number.to_pandas_dtype(), n_rows)
    data_names = [schema.names[i] for i in roles.data]
    text_names = [None if i is None else schema.names[i] for i in (roles.index, roles.label)]
    texts: tuple[list[str], list[str]] = ([], [])
    wanted = list(dict.fromkeys([*data_names, *(name for name in text_names if name is not None)]))
    for batch in batches(wanted, max(64, _ENTRIES // len(wanted))):
        cast = [batch.column(name).cast(number) for name in data_names]
        buffer.append(numbers(pa.RecordBatch.from_arrays(cast, names=[str(i) for i in range(len(cast))])), 1.0)
        for name, collected in zip(text_names, texts, strict=True):
            if name is not None:
                collected.extend(map(str, batch.column(name).to_pylist()))
        tell("reading", buffer.n_rows, n_rows, f"rows of {path.name}")
    index, label = (None if name is None else text for name, text in zip(text_names, texts, strict=True))
    text = [columns[i] for i in roles.text]
    heads = ["" if i is None else columns[i].name for i in (roles.index, roles.label)]
    notes = _notes(columns, roles)
    return Table(buffer.finish(), data_names, index, label, path, kind, notes, roles.data, text, heads[0], heads[1])


def _is_number(kind: Any) -> bool:
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind) or types.is_decimal(kind))


def _with_examples(columns: list[Column], batches: Any) -> list[Column]:
    """First values of the columns that are not numbers: whether they are names or labels shows there."""
    text = [column.name for column in columns if not column.is_number]
    if not text:
        return columns
    first = next(iter(batches(text, _EXAMPLES)))
    values = {name: [str(value) for value in first.column(name).slice(0, _EXAMPLES).to_pylist()] for name in text}
    return [Column(column.name, column.is_number, values.get(column.name, [])) for column in columns]


def _with_index(schema: Any, options: ReadOptions) -> ReadOptions:
    """Pandas notes which column was its index."""
    from dataclasses import replace

    noted = (schema.pandas_metadata or {}).get("index_columns", [])
    names = [name for name in noted if isinstance(name, str) and name in schema.names]
    return replace(options, index=names[0]) if options.index == "auto" and len(names) == 1 else options


def _notes(columns: list[Column], roles: Roles) -> tuple[str, ...]:
    notes = [f"column {i + 1} ({columns[i].name!r}) holds text" for i in roles.text]
    if roles.index is not None:
        notes.insert(0, f"column {roles.index + 1} ({columns[roles.index].name!r}) names the rows")
    return tuple(notes)
