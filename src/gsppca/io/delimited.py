"""CSV and its kin: pyarrow parses, block by block; here its beginning is looked at, and its errors are put in words.

Rows are counted from 1, without the header, as are columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gsppca._optional import optional_import
from gsppca.io.buffer import RowBuffer
from gsppca.io.columns import Roles, assign_roles
from gsppca.io.options import ReadOptions
from gsppca.io.sniff import MISSING, Layout, find_layout
from gsppca.io.table import Table, TableError
from gsppca.progress import tell

BLOCK = 2**20  # bytes of text parsed at a time; pyarrow reads some dozens of such blocks ahead
_HEAD_BYTES = 2**20  # what is looked at first, or more until there are two lines
_CELL = re.compile(
    r"In CSV column #(\d+):(?: Row #(\d+):)? CSV conversion error to \w+: invalid value '(.*)'\s*$", re.S
)
_RAGGED = re.compile(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)")


@dataclass(frozen=True)
class Source:
    """A text file as a stream of bytes, and how far it has been read.

    Attributes
    ----------
    stream : pyarrow.NativeFile
        The text, uncompressed.
    file : file
        The bytes on disk.
    size : int
        Number of bytes on disk.
    """

    stream: Any
    file: Any
    size: int

    @property
    def share(self) -> float:
        """Part of the file that has been read."""
        return min(1.0, self.file.tell() / self.size)


def read_delimited(path: Path, kind: str, compression: str | None, options: ReadOptions, strict: bool) -> Table:
    """Read CSV, TSV or text with another separator."""
    pa = optional_import("pyarrow", "reading CSV files", "files")
    with _errors_in_words(path, pa, None), _open(path, compression, pa) as source:
        layout = find_layout(path, *_head(source.stream), kind, options)
    roles = assign_roles(path, layout.columns, options, strict=strict)
    if not roles.data:
        raise TableError(f"{path}: no column holds numbers. Check --separator (it looks like {layout.separator!r}).")
    with _errors_in_words(path, pa, layout), _open(path, compression, pa) as source:
        data, index, label = _read_blocks(path, source, layout, roles, options)
    return Table(
        data=data,
        feature_names=[layout.columns[i].name for i in roles.data] if layout.has_header else None,
        sample_names=index,
        labels=label,
        path=path,
        format=_in_words(layout.separator, compression),
        notes=_notes(layout, roles),
        positions=roles.data,
        text=[layout.columns[i] for i in roles.text],
    )


def _read_blocks(
    path: Path, source: Source, layout: Layout, roles: Roles, options: ReadOptions
) -> tuple[Any, Any, Any]:
    """Parse block by block into one array; also the names and labels of the rows."""
    import pyarrow as pa
    from pyarrow import csv

    number = pa.float32() if options.dtype == "float32" else pa.float64()
    keys = [f"c{i}" for i in range(len(layout.columns))]  # heads may occur twice
    data_keys = [keys[i] for i in roles.data]
    text_keys = [None if i is None else keys[i] for i in (roles.index, roles.label)]
    types = dict.fromkeys(data_keys, number) | {key: pa.string() for key in text_keys if key is not None}
    reader = csv.open_csv(
        source.stream,
        read_options=csv.ReadOptions(
            use_threads=False,  # only then errors name the row
            block_size=max(BLOCK, 16 * layout.longest_line),
            column_names=keys,
            skip_rows=layout.skipped,
            encoding=layout.encoding,
        ),
        parse_options=csv.ParseOptions(delimiter=layout.separator),
        convert_options=csv.ConvertOptions(
            column_types=types,
            include_columns=list(types),
            null_values=[pad + word for word in MISSING for pad in ("", " ")],
            decimal_point=options.decimal,
        ),
    )
    buffer = RowBuffer(len(data_keys), number.to_pandas_dtype())
    texts: tuple[list[str], list[str]] = ([], [])
    megabytes = max(1, source.size // 10**6)
    for batch in reader:
        buffer.append(numbers(batch.select(data_keys)), source.share)
        for key, collected in zip(text_keys, texts, strict=True):
            if key is not None:
                collected.extend(batch.column(key).to_pylist())
        tell("reading", round(source.share * megabytes), megabytes, f"MB of {path.name}, {buffer.n_rows} rows")
    index, label = (None if key is None else text for key, text in zip(text_keys, texts, strict=True))
    return buffer.finish(), index, label


def numbers(batch: Any) -> Any:
    """The numbers of a record batch of one float type, as rows; missing ones as NaN."""
    if len(batch.schema) == 1:  # a tensor of one column has no rows to lay out
        return batch.column(0).to_numpy(zero_copy_only=False).reshape(-1, 1)
    return np.asarray(batch.to_tensor(null_to_nan=True, row_major=True))


@contextmanager
def _open(path: Path, compression: str | None, pa: Any) -> Iterator[Source]:
    with path.open("rb") as file:
        stream = pa.PythonFile(file, mode="r")
        if compression is not None:
            stream = pa.CompressedInputStream(stream, compression)
        yield Source(stream, file, max(1, path.stat().st_size))


def _head(stream: Any) -> tuple[bytes, bool]:
    """The first lines, two whole ones at least if there are two, however wide; and whether that is all there is."""
    head = b""
    while True:
        more = stream.read(_HEAD_BYTES)
        head += more
        if not more:
            return head, True
        if head.count(b"\n") > 2:
            return head, not stream.read(1)


@contextmanager
def _errors_in_words(path: Path, pa: Any, layout: Layout | None) -> Iterator[None]:
    """Turn the errors of the parser into one line that says where the file is wrong, and what to do."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise TableError(
            f"{path}: the text is not {error.encoding}. Save it as UTF-8, or name its --encoding, such as latin-1."
        ) from error
    except pa.ArrowInvalid as error:
        raise TableError(f"{path}: {_in_place(str(error), layout)}") from error
    except (EOFError, OSError) as error:
        if getattr(error, "errno", None):
            raise  # not found, no rights, ...
        raise TableError(f"{path}: the compressed file is damaged or cut off ({error}). Get it again.") from error


def _in_place(message: str, layout: Layout | None) -> str:
    cell, ragged = _CELL.search(message), _RAGGED.search(message)
    if layout is None:
        return f"{message.splitlines()[0]}. Check that it is a table of numbers."
    if cell:
        column = int(cell[1])
        value = cell[3] if len(cell[3]) <= 30 else cell[3][:27] + "..."
        return (
            f"{_row(cell[2], layout)}, column {column + 1} ({layout.columns[column].name!r}): {value!r} is not a "
            "number. Correct it, leave it empty and say --missing, or --drop the column."
        )
    if ragged:
        expected, got = int(ragged[2]), int(ragged[3])
        return (
            f"{_row(ragged[1], layout)} has {got} columns instead of {expected}: it is ragged from column "
            f"{min(expected, got) + 1}. Add or remove values, or check --separator ({layout.separator!r})."
        )
    if "UTF8" in message or "UTF-8" in message:
        return "the text is not UTF-8. Save it as UTF-8, or name its --encoding, such as latin-1."
    return f"{message.splitlines()[0]}. Check that it is a table of numbers."


def _row(number: str | None, layout: Layout) -> str:
    """The parser counts the header, and what stands before it."""
    if number is None:
        return "a row"
    row = int(number) - layout.skipped
    return f"row {row}" if row == int(number) else f"row {row} (line {number})"


def _in_words(separator: str, compression: str | None) -> str:
    name = {",": "CSV", "\t": "TSV"}.get(separator, f"text separated by {separator!r}")
    return name if compression is None else f"{name}, {compression}"


def _notes(layout: Layout, roles: Roles) -> tuple[str, ...]:
    columns = layout.columns
    notes = [layout.why]
    if roles.index is not None:
        notes.append(f"column {roles.index + 1} ({columns[roles.index].name!r}) names the rows")
    if roles.label is not None:
        notes.append(f"column {roles.label + 1} ({columns[roles.label].name!r}) is the label")
    notes += [f"column {i + 1} ({columns[i].name!r}) holds text, {columns[i].example[0]!r}" for i in roles.text]
    return tuple(notes)
