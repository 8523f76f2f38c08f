"""Numbers with signs between thousands, which the parser leaves as text."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gsppca.io.sniff import Layout
from gsppca.io.table import FixableError, shortened


def not_a_number(path: Path, layout: Layout, where: str, column: int, cell: str) -> FixableError:
    """Return the error of a cell that is no number."""
    shown = shortened(cell)
    return FixableError(
        f"{path}: {where}, column {column + 1} ({layout.columns[column].name!r}): {shown!r} is not a number.",
        f"Correct it, or use --na {shlex.quote(shown)} --missing impute if it means missing, or --drop the column.",
        cell=cell,
        column=column,
    )


def grouped_numbers(
    batch: Any, layout: Layout, number: Any, rows_before: int, path: Path, places: Sequence[int]
) -> Any:
    """Convert a record batch of text to an array of numbers.

    Parameters
    ----------
    batch : pyarrow.RecordBatch
        Columns of text.
    layout : Layout
        How numbers are written, and what means missing.
    number : pyarrow.DataType
        Of the result.
    rows_before : int
        Rows of the file before these, for messages.
    path : Path
        The file, for messages.
    places : sequence of int
        Place of each column in the file, counted from 0.
    """
    import pyarrow as pa
    from pyarrow import compute

    numerals = layout.numerals
    # All columns in one array: of many columns, each would cost as much as all of them.
    cells = compute.utf8_trim_whitespace(pa.concat_arrays(batch.columns))
    missing = pa.array([word.strip() for word in layout.missing])
    cells = compute.if_else(compute.is_in(cells, missing), None, cells)
    # Checked beforehand: without its signs, 1.23 would be 123.
    wrong = compute.invert(compute.match_substring_regex(cells, numerals.pattern)).fill_null(False)
    if compute.any(wrong).as_py():
        places_wrong = wrong.to_numpy(zero_copy_only=False).reshape(len(places), -1)
        row = int(places_wrong.any(axis=0).argmax())
        column = int(places_wrong[:, row].argmax())
        cell = cells[column * batch.num_rows + row].as_py()
        raise not_a_number(path, layout, f"row {rows_before + row + 1}", places[column], cell)
    plain = compute.replace_substring(cells, numerals.thousands, "")
    if numerals.decimal != ".":
        plain = compute.replace_substring(plain, numerals.decimal, ".")
    numbers = compute.cast(plain, number).to_numpy(zero_copy_only=False)
    return numbers.reshape(len(places), batch.num_rows).T
