"""CSV and its kin: pyarrow parses, block by block; here its beginning is looked at, and its errors are put in words.

Rows are counted from 1, without the header, as are columns.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gsppca._optional import optional_import
from gsppca.io.buffer import RowBuffer
from gsppca.io.columns import Roles, assign_roles
from gsppca.io.grouped import grouped_numbers, not_a_number
from gsppca.io.numerals import adapted
from gsppca.io.options import ReadOptions
from gsppca.io.preamble import FALLBACKS
from gsppca.io.sniff import Layout, find_layout
from gsppca.io.source import Source, first_bytes, for_parser, open_text
from gsppca.io.table import FixableError, Table, TableError, shortened
from gsppca.progress import tell

BLOCK = 2**20  # bytes of text parsed at a time; pyarrow reads some dozens of such blocks ahead
_ATTEMPTS = 5  # at reading a file
_CELL = re.compile(
    r"In CSV column #(\d+):(?: Row #(\d+):)? CSV conversion error to \w+: invalid value '(.*)'\s*$", re.S
)
_SHOWN = 6  # columns of text that notes name
_RAGGED = re.compile(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)")


def read_delimited(
    path: Path,
    kind: str,
    compression: str | None,
    options: ReadOptions,
    strict: bool,
    only: Collection[str] | None = None,
) -> Table:
    """Read CSV, TSV or text with another separator; of the columns of numbers, `only` some if names are given."""
    pa = optional_import("pyarrow", "reading CSV files", "files")
    with _errors_in_words(path, pa, None), open_text(path, compression, pa) as source:
        layout = find_layout(path, *first_bytes(source.stream), kind, options)
    if options.label in layout.samples and options.label not in [column.name for column in layout.columns]:
        options, strict = replace(options, label=None), False  # the samples are columns
    roles = assign_roles(path, layout.columns, options, strict=strict, only=only)
    if not roles.data and only is None:
        raise TableError(f"{path}: no column holds numbers. Check --separator (it looks like {layout.separator!r}).")
    layout, (data, index, label) = _read_adapting(path, compression, layout, roles, options, pa)
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
        index_name="" if roles.index is None else layout.columns[roles.index].name,
        label_name="" if roles.label is None else layout.columns[roles.label].name,
        column_labels=layout.samples,
    )


def _read_adapting(
    path: Path, compression: str | None, layout: Layout, roles: Roles, options: ReadOptions, pa: Any
) -> tuple[Layout, tuple[Any, Any, Any]]:
    """Read the whole file; start again where later rows show that it is written otherwise than the first ones."""
    first, stopped = layout, None
    for _ in range(_ATTEMPTS):
        try:
            with for_parser(path, compression, layout, pa) as (source, as_utf8):
                return layout, _read_blocks(path, source, as_utf8, roles, options)
        except (pa.ArrowInvalid, UnicodeDecodeError, FixableError) as error:
            stopped = stopped or error
            other = _other_layout(layout, str(error), options)
            if other is None:
                break
            layout = other
        except (EOFError, OSError):
            with _errors_in_words(path, pa, layout, compression):
                raise
    # Nothing fits: the first error is the one to tell.
    assert stopped is not None
    with _errors_in_words(path, pa, first, compression):
        raise stopped


def _other_layout(layout: Layout, message: str, options: ReadOptions) -> Layout | None:
    """Return a layout that also fits the place where the parser stopped, if there is one."""
    cell = _CELL.search(message)
    if cell is not None:
        numerals = adapted(layout.numerals, cell[3], layout.separator, options)
        if numerals is None:
            return None
        return replace(layout, numerals=numerals, notes=(*layout.notes, numerals.in_words(cell[3])))
    is_not_utf8 = "UTF8" in message or "UTF-8" in message or "codec can't decode" in message
    if is_not_utf8 and options.encoding == "auto" and layout.encoding in ("utf-8", FALLBACKS[0]):
        encoding = FALLBACKS[0] if layout.encoding == "utf-8" else FALLBACKS[1]
        notes = [note for note in layout.notes if not note.startswith("the text is not")]
        return replace(layout, encoding=encoding, notes=(*notes, "the text is not UTF-8: it is read as latin-1"))
    return None


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
    # The parser knows no thousands: such numbers come as text.
    number_type = pa.string() if layout.numerals.thousands else number
    types = dict.fromkeys(data_keys, number_type) | {key: pa.string() for key in text_keys if key is not None}
    if not types:
        types = {keys[0]: pa.string()}  # nothing is wanted but the number of rows
    source.stream.read(layout.offset)
    reader = csv.open_csv(
        source.stream,
        read_options=csv.ReadOptions(
            use_threads=False,  # only then errors name the row
            block_size=max(BLOCK, 16 * layout.longest_line),
            column_names=keys,
            skip_rows=0 if layout.offset else layout.skipped,
        ),
        parse_options=csv.ParseOptions(
            delimiter=layout.separator,
            newlines_in_values=layout.has_line_breaks,
        ),
        convert_options=csv.ConvertOptions(
            column_types=types,
            include_columns=list(types),
            null_values=[pad + word for word in layout.missing for pad in ("", " ")],
            decimal_point=layout.numerals.decimal,
        ),
    )
    buffer = RowBuffer(len(data_keys), number.to_pandas_dtype())
    texts: tuple[list[str], list[str]] = ([], [])
    megabytes = max(1, source.size // 10**6)
    for batch in reader:
        wanted = batch.select(data_keys)
        if layout.numerals.thousands and data_keys:
            rows = grouped_numbers(wanted, layout, number, buffer.n_rows, path, roles.data)
        else:
            rows = numbers(wanted)
        buffer.append(rows, source.share)
        for key, collected in zip(text_keys, texts, strict=True):
            if key is not None:
                collected.extend(batch.column(key).to_pylist())
        tell("reading", round(source.share * megabytes), megabytes, f"MB of {path.name}, {buffer.n_rows} rows")
    index, label = (None if key is None else text for key, text in zip(text_keys, texts, strict=True))
    return buffer.finish(), index, label


def numbers(batch: Any) -> Any:
    """The numbers of a record batch of one float type, as rows; missing ones as NaN."""
    if not len(batch.schema):
        return np.empty((batch.num_rows, 0))
    if len(batch.schema) == 1:  # a tensor of one column has no rows to lay out
        return batch.column(0).to_numpy(zero_copy_only=False).reshape(-1, 1)
    return np.asarray(batch.to_tensor(null_to_nan=True, row_major=True))


@contextmanager
def _errors_in_words(path: Path, pa: Any, layout: Layout | None, compression: str | None = None) -> Iterator[None]:
    """Turn the errors of the parser into one line that says where the file is wrong, and what to do."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise TableError(
            f"{path}: the text is not {error.encoding}. Save it as UTF-8, or name its --encoding, such as latin-1."
        ) from error
    except pa.ArrowInvalid as error:
        raise _in_place(
            path, str(error), layout, lambda number: _line(path, compression, pa, layout, number)
        ) from error
    except (EOFError, OSError) as error:
        if getattr(error, "errno", None):
            raise  # not found, no rights, ...
        raise TableError(f"{path}: the compressed file is damaged or cut off ({error}). Get it again.") from error


def _in_place(path: Path, message: str, layout: Layout | None, line_of: Callable[[int], int]) -> TableError:
    cell, ragged = _CELL.search(message), _RAGGED.search(message)
    if layout is None:
        return TableError(f"{path}: {message.splitlines()[0]}. Check that it is a table of numbers.")
    if cell:
        return not_a_number(path, layout, _row(cell[2], layout, line_of), int(cell[1]), cell[3])
    if ragged:
        expected, got = int(ragged[2]), int(ragged[3])
        return TableError(
            f"{path}: {_row(ragged[1], layout, line_of)} has {got} columns instead of {expected}: it is ragged from "
            f"column {min(expected, got) + 1}. Add or remove values, or check --separator ({layout.separator!r})."
        )
    if "UTF8" in message or "UTF-8" in message:
        return TableError(f"{path}: the text is not UTF-8. Save it as UTF-8, or name its --encoding, such as latin-1.")
    return TableError(f"{path}: {message.splitlines()[0]}. Check that it is a table of numbers.")


def _row(number: str | None, layout: Layout, line_of: Callable[[int], int]) -> str:
    """The parser counts the header, and what stands before it."""
    if number is None:
        return "a row"
    counted = int(number) + (layout.skipped if layout.offset else 0)
    row, line = counted - layout.skipped, line_of(counted)
    return f"row {row}" if row == line else f"row {row} (line {line})"


def _line(path: Path, compression: str | None, pa: Any, layout: Layout | None, number: int) -> int:
    """The line of the file that the parser, which passes over empty lines, calls by this number."""
    if layout is None or layout.encoding.startswith("utf-16"):
        return number
    with open_text(path, compression, pa) as source, io.BufferedReader(source.stream) as lines:
        counted = 0
        for line, text in enumerate(lines, start=1):
            counted += line <= layout.skipped or bool(text.rstrip(b"\r\n"))
            if counted == number:
                return line
    return number


def _in_words(separator: str, compression: str | None) -> str:
    name = {",": "CSV", "\t": "TSV"}.get(separator, f"text separated by {separator!r}")
    return name if compression is None else f"{name}, {compression}"


def _notes(layout: Layout, roles: Roles) -> tuple[str, ...]:
    columns = layout.columns
    notes = list(layout.notes)
    if roles.index is not None:
        notes.append(f"column {roles.index + 1} ({columns[roles.index].name!r}) names the rows")
    if roles.label is not None:
        notes.append(f"column {roles.label + 1} ({columns[roles.label].name!r}) is the label")
    notes += [
        f"column {i + 1} ({columns[i].name!r}) holds text, {shortened(columns[i].example[0])!r}"
        for i in roles.text[:_SHOWN]
    ]
    if len(roles.text) > _SHOWN:
        notes.append(f"{len(roles.text) - _SHOWN} more columns hold text")
    if roles.empty:
        number = f"{len(roles.empty)} column{'s' * (len(roles.empty) > 1)}"
        notes.append(f"{number} without head and values left out, such as column {roles.empty[0] + 1}")
    return tuple(notes)
