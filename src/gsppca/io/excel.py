"""Excel workbooks: openpyxl reads a sheet, which then goes the way of text files, with all that is found out there."""

from __future__ import annotations

import csv
import datetime
import tempfile
import warnings
from collections.abc import Collection, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from gsppca._optional import optional_import
from gsppca.io.options import ReadOptions
from gsppca.io.stream import errors_about
from gsppca.io.table import Table, TableError

_SHOWN = 8  # sheets that a note names


def read_excel(
    path: Path,
    kind: str,
    compression: str | None,
    options: ReadOptions,
    strict: bool,
    only: Collection[str] | None = None,
) -> Table:
    """Read one sheet of a workbook: the first that holds something, or the one that --key names."""
    openpyxl = optional_import("openpyxl", "reading Excel files", "excel")
    from gsppca.io.delimited import read_delimited

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about styles and extensions, not about the numbers
        try:
            book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        except Exception as error:  # of zip files, of XML, of openpyxl itself
            first = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise TableError(f"{path}: not a readable Excel file ({first}). Save it again as xlsx or CSV.") from error
        try:
            name, rows = _sheet(path, book, options.key)
        finally:
            book.close()
        others = [sheet for sheet in book.sheetnames if sheet != name]
    with tempfile.TemporaryDirectory(prefix="gsppca-") as folder:
        copy = Path(folder, "sheet.csv")
        with copy.open("w", newline="", encoding="utf-8") as file:
            _write(file, rows)
        as_text = replace(options, separator=",", encoding="utf-8", key=None)
        with errors_about(copy, f"{path}, sheet {name!r}"):
            table = read_delimited(copy, "csv", None, as_text, strict, only)
    notes = [f"sheet {name!r} is read; --key can be {', '.join(others[:_SHOWN])}"] if others else []
    return replace(table, path=path, format=f"Excel, sheet {name!r}", notes=(*notes, *table.notes))


def _sheet(path: Path, book: Any, wanted: str | None) -> tuple[str, list[list[str]]]:
    """Name and cells of the sheet to read."""
    if wanted is not None and wanted not in book.sheetnames:
        held = ", ".join(map(repr, book.sheetnames[:_SHOWN]))
        raise TableError(f"{path}: --key {wanted}: there is no such sheet. The file has {held}.")
    for name in book.sheetnames if wanted is None else [wanted]:
        sheet = book[name]
        if hasattr(sheet, "iter_rows"):  # a sheet may be a diagram
            rows = [[_text(cell) for cell in row] for row in sheet.iter_rows(values_only=True)]
            if any(any(row) for row in rows):
                return name, rows
    raise TableError(f"{path}: the file is empty: no sheet has values. Check how it was made.")


def _text(cell: Any) -> str:
    """Text of a cell, as a CSV file would have it."""
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return str(int(cell))
    if isinstance(cell, datetime.datetime) and cell.time() == datetime.time():
        return cell.date().isoformat()
    if isinstance(cell, datetime.datetime | datetime.date | datetime.time):
        return cell.isoformat()
    return " ".join(cell.split()) if isinstance(cell, str) else repr(cell)


def _write(file: Any, rows: list[list[str]]) -> None:
    """Write the cells as CSV, each row in the line of its number, empty rows as empty lines."""
    width = max(max((i + 1 for i, cell in enumerate(row) if cell), default=0) for row in rows)
    csv.writer(file).writerows(_padded(rows, width))


def _padded(rows: list[list[str]], width: int) -> Iterator[list[str]]:
    for row in rows:
        yield [*row[:width], *[""] * (width - len(row))] if any(row) else []
