"""What the first lines of a text file show: its separator, whether it has a header, which columns are numbers."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from gsppca.io.heads import IDENTIFIER_HEADS, VARIABLE_HEADS, plain_head
from gsppca.io.numerals import PLAIN, Numerals, find_numerals, looks_numeric
from gsppca.io.options import ReadOptions
from gsppca.io.preamble import (
    FALLBACKS,
    decode,
    is_comment,
    large_offset,
    sample_lines,
    skipped_in_words,
    split_lines,
    squeezed,
    table_start,
)
from gsppca.io.table import Column, TableError

MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "NAN", "-nan", "NULL", "null", "None", "#N/A", "#NA", "<NA>", ".", "?")
_NAMES = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";"}
_LINES = 200  # of the table that are looked at
_TITLES = 20  # lines above the header that may hold a title
_CELLS = 300  # of a line, that tell which separator makes numbers
_LONGEST_CELL = 2**31 - 1  # with the wrong separator, a line is one cell
_CANDIDATES = (",", "\t", ";", "|", " ")


@dataclass(frozen=True)
class Layout:
    """How a text file is laid out.

    Attributes
    ----------
    separator : str
        Between columns.
    encoding : str
        Of the text.
    numerals : Numerals
        How numbers are written.
    missing : tuple of str
        Cells that hold no value.
    has_header : bool
        Whether the first line of the table names the columns.
    skipped : int
        Lines before the first row of data.
    offset : int
        Bytes of these, where they are too many for the parser to skip; 0 otherwise.
    columns : list of Column
        As the first rows show them.
    longest_line : int
        Bytes of the longest line seen.
    has_comments : bool
        Whether there are comments before the table; then there may be some after it.
    is_aligned : bool
        Whether several spaces stand between cells, so that columns are aligned.
    has_line_breaks : bool
        Whether there are line breaks within quotation marks.
    notes : tuple of str
        What was found out, in words.
    samples : dict of str to list of str
        What lines above the table say of each of its columns, if those are samples.
    """

    separator: str
    encoding: str
    numerals: Numerals
    missing: tuple[str, ...]
    has_header: bool
    skipped: int
    offset: int
    columns: list[Column]
    longest_line: int
    has_comments: bool
    is_aligned: bool
    has_line_breaks: bool
    notes: tuple[str, ...]
    samples: dict[str, list[str]]


def find_layout(path: Path, head: bytes, is_all: bool, kind: str, options: ReadOptions) -> Layout:
    """Find out how a file is laid out from its first bytes (`is_all`: it has no more), and from what the user said."""
    text, encoding = decode(path, head, is_all, options)
    lines = split_lines(text)
    if not is_all and len(lines) > 2:
        lines.pop()  # cut off in the middle
    start = table_start(lines)
    if start == len(lines):
        raise TableError(f"{path}: the file is empty: it has no rows of data. Check how it was made.")
    missing = (*MISSING, *options.na)
    separator = _separator(lines[start : start + _LINES], kind, options)
    is_aligned = separator == " " and any(line != squeezed(line) for line in lines[start:])
    if is_aligned:
        lines[start:] = map(squeezed, lines[start:])
    if _is_header_in_comment(lines, start, separator, missing, options):
        start -= 1
    notes = [note for note in (skipped_in_words(lines[:start]),) if note]
    if encoding in FALLBACKS:
        notes.append("the text is not UTF-8: it is read as latin-1 (windows-1252)")
    rows, ends = _parsed(lines[start : start + _LINES], separator)
    titles = _count_titles(rows)
    if titles:
        notes.append(f"{titles} line{'s' * (titles > 1)} above the header left out, such as {_first(rows[0])!r}")
        rows, before = rows[titles:], ends[titles - 1]
        ends = ends[titles:]
    else:
        before = 0
    if len(rows) < 2 and any(line.startswith("!Series_") for line in lines[:start]):
        raise TableError(
            f"{path}: the table is empty, as in all GEO series of sequencing data. Take the supplementary files of the "
            "series, often called counts or FPKM."
        )
    numerals, example = find_numerals(_columns(rows[1:] or rows), separator, missing, options)
    if example is not None:
        notes.append(numerals.in_words(example))
    has_header, why = _has_header(rows, numerals, missing, options)
    heads, body, why = _heads(path, rows, has_header, why)
    # Ragged rows are the parser's to find; the columns are those of the head.
    cells = _columns(body, len(heads))
    columns = [
        Column(name, _is_numeric(column, numerals, missing), column, all(c.strip() in missing for c in column), place)
        for place, (name, column) in enumerate(zip(heads, cells, strict=True))
    ]
    skipped = start + (ends[0] if has_header else before)
    return Layout(
        separator=separator,
        encoding=encoding,
        numerals=numerals,
        missing=missing,
        has_header=has_header,
        skipped=skipped,
        offset=large_offset(head, skipped) if encoding == "utf-8" else 0,
        columns=columns,
        longest_line=max(len(line) for line in lines) * (1 if encoding == "utf-8" else 4),
        has_comments=any(map(is_comment, lines[:start])),
        is_aligned=is_aligned,
        has_line_breaks=any(len(cell.splitlines()) > 1 for row in rows for cell in row),
        notes=(*notes, why),
        samples=sample_lines(lines[:start]),
    )


def _parsed(lines: Sequence[str], separator: str) -> tuple[list[list[str]], list[int]]:
    """Rows that are not empty, and the number of lines up to the end of each; a comment after the table is no row."""
    reader = csv.reader(io.StringIO("\n".join(lines), newline=""), delimiter=separator)
    rows: list[list[str]] = []
    ends: list[int] = []
    limit = csv.field_size_limit(_LONGEST_CELL)
    try:
        for row in reader:
            if row and not (len(row) == 1 and rows and len(rows[-1]) > 1 and is_comment(row[0])):
                rows.append(row)
                ends.append(reader.line_num)
    finally:
        csv.field_size_limit(limit)
    return rows, ends


def _columns(rows: Sequence[Sequence[str]], width: int | None = None) -> list[list[str]]:
    width = len(rows[0]) if width is None else width
    return [[row[i] for row in rows if i < len(row)] for i in range(width)]


def _first(row: Sequence[str]) -> str:
    text = next((cell.strip() for cell in row if cell.strip()), "")
    return text if len(text) <= 40 else text[:39] + "…"


def _count_titles(rows: Sequence[Sequence[str]]) -> int:
    """Lines above the header that hold one cell of text, where all further lines have at least three."""
    filled = [sum(bool(cell.strip()) for cell in row) for row in rows[: _TITLES + 10]]
    count = next((i for i, number in enumerate(filled) if number > 1), 0)
    below = filled[count:]
    is_title = count <= _TITLES and len(below) > 1 and min(below) > 2
    return count if is_title and not any(PLAIN.is_number(_first(row)) for row in rows[:count]) else 0


def _is_header_in_comment(
    lines: Sequence[str], start: int, separator: str, missing: Collection[str], options: ReadOptions
) -> bool:
    """Whether the line before the table, which begins with #, names its columns: where no other line does."""
    if not start or not lines[start - 1].startswith("#") or options.header == "no":
        return False
    below, _ = _parsed(lines[start : start + 50], separator)
    row = next(csv.reader([lines[start - 1]], delimiter=separator))
    if len(row) < 2 or len(below[0]) - len(row) not in (0, 1):
        return False
    has_header, _ = _has_header(below, PLAIN, missing, ReadOptions())
    return not has_header


def _separator(lines: Sequence[str], kind: str, options: ReadOptions) -> str:
    if options.separator != "auto":
        separator = _NAMES.get(options.separator, options.separator)
        if len(separator) != 1:
            raise TableError(f"--separator must be one character, 'tab', 'space' or 'auto', got {options.separator!r}.")
        return separator
    some = [line for line in lines if line.strip()][:20]
    if kind == "tsv" and any("\t" in line for line in some):
        return "\t"

    def quality(separator: str) -> tuple[bool, float, int]:
        """Whether all lines have as many columns (one may be short of a head), how many numbers, how many columns."""
        rows, _ = _parsed(list(map(squeezed, some)) if separator == " " else some, separator)
        counts = [len(row) for row in rows]
        alike = counts.count(counts[-1]) >= len(counts) - 1 and counts[-1] > 1
        cells = [cell for row in rows[1:] for cell in row[:_CELLS] if cell.strip()]
        share = sum(map(looks_numeric, cells)) / max(1, len(cells)) if alike else 0.0
        return alike, round(share, 1), counts[-1]

    best = max(_CANDIDATES, key=quality)
    return best if quality(best)[2] > 1 else ","


def _heads(
    path: Path, rows: Sequence[Sequence[str]], has_header: bool, why: str
) -> tuple[list[str], Sequence[Sequence[str]], str]:
    """Names of the columns, the rows of data, and how the header was decided."""
    body = rows[1:] if has_header else rows
    if not body:
        raise TableError(f"{path}: the file is empty: it has a header, and no rows of data. Check how it was made.")
    if not has_header:
        return [f"x{i}" for i in range(len(rows[0]))], body, why
    heads = [cell.strip() for cell in rows[0]]
    if all(len(row) == len(heads) + 1 for row in body):
        if not any(row[-1].strip() for row in body):
            return [*heads, ""], body, why  # a separator at the end of each line
        # R writes no head over the names of the rows
        return ["", *heads], body, "the first line names the columns, but not that of the row names"
    return heads, body, why


def _has_header(
    rows: Sequence[Sequence[str]], numerals: Numerals, missing: Collection[str], options: ReadOptions
) -> tuple[bool, str]:
    """Whether the first row names the columns, and why so.

    It does if it has text over a column of numbers, nothing or a usual head over the names of the rows, or, as spectra
    have it, numbers that rise or fall all the way where the rows below do not.
    """
    if options.header != "auto":
        return options.header == "yes", f"header {options.header}, as asked for"
    first, body = rows[0], rows[1:51]

    def is_text(cell: str) -> bool:
        return not numerals.is_number(cell) and cell.strip() not in missing

    if not body:
        return any(map(is_text, first)), "one line"
    if len(body[0]) == len(first) + 1:
        return True, "the first line names the columns"
    below = _columns(body, len(first))
    if any(is_text(cell) and _is_numeric(column, numerals, missing) for cell, column in zip(first, below, strict=True)):
        return True, "the first line names the columns"
    is_named = not first[0].strip() or plain_head(first[0]) in VARIABLE_HEADS | IDENTIFIER_HEADS
    if is_named and all(row[0].strip() for row in body if row):
        return True, "the first line names the columns"
    if _is_monotone(first[1:], numerals) and not any(_is_monotone(row[1:], numerals) for row in body):
        return True, "the first line is taken for names: its numbers rise or fall all the way; otherwise --header no"
    if not any(_is_numeric(column, numerals, missing) for column in below):
        return True, "no column holds numbers"
    return False, "no header: the first line holds numbers as the others do; otherwise --header yes"


def _is_monotone(cells: Sequence[str], numerals: Numerals) -> bool:
    if len(cells) < 5 or not all(numerals.is_number(cell) for cell in cells):
        return False
    steps = [b - a for a, b in pairwise(map(numerals.value, cells))]
    return all(step > 0 for step in steps) or all(step < 0 for step in steps)


def _is_numeric(cells: Sequence[str], numerals: Numerals, missing: Collection[str]) -> bool:
    """Whether a column is one of numbers: at least half of its cells are, or nothing is known of it."""
    known = [cell for cell in cells if cell.strip() not in missing]
    return 2 * sum(numerals.is_number(cell) for cell in known) >= len(known)
