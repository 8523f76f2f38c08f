"""What the first lines of a text file show: its separator, whether it has a header, which columns are numbers."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from gsppca.io.options import ReadOptions
from gsppca.io.table import Column, TableError

MISSING = ("", "NA", "N/A", "n/a", "NaN", "nan", "NAN", "-nan", "NULL", "null", "None", "#N/A", "#NA", "<NA>", ".", "?")
_NAMES = {"tab": "\t", "\\t": "\t", "space": " ", "comma": ",", "semicolon": ";"}
_LINES = 200  # that are looked at
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
    has_header : bool
        Whether the first line names the columns.
    skipped : int
        Lines before the first row of data.
    columns : list of Column
        As the first rows show them.
    longest_line : int
        Bytes of the longest line seen.
    why : str
        How the header was decided, in words.
    """

    separator: str
    encoding: str
    has_header: bool
    skipped: int
    columns: list[Column]
    longest_line: int
    why: str


def find_layout(path: Path, head: bytes, is_all: bool, kind: str, options: ReadOptions) -> Layout:
    """Find out how a file is laid out from its first bytes (`is_all`: it has no more), and from what the user said."""
    encoding = "utf-16" if head.startswith((b"\xff\xfe", b"\xfe\xff")) else options.encoding
    try:
        text = codecs.getincrementaldecoder(encoding)().decode(head, final=is_all).removeprefix("\ufeff")
    except LookupError:
        raise TableError(f"{path}: --encoding {encoding}: there is no such encoding. Try utf-8 or latin-1.") from None
    if "\0" in text:
        raise TableError(f"{path}: this is not a text file: it holds zero bytes. Say --format if it is another format.")
    lines = text.splitlines()
    if not is_all and len(lines) > 2:
        lines.pop()  # cut off in the middle
    del lines[_LINES:]
    blank = next((i for i, line in enumerate(lines) if line.strip()), len(lines))
    if blank == len(lines):
        raise TableError(f"{path}: the file is empty: it has no rows of data. Check how it was made.")
    separator = _separator(lines[blank:], kind, options)
    rows = [row for row in csv.reader(io.StringIO("\n".join(lines[blank:])), delimiter=separator) if row]
    has_header, why = _has_header(rows, options)
    body = rows[1:] if has_header else rows
    if not body:
        raise TableError(f"{path}: the file is empty: it has a header, and no rows of data. Check how it was made.")
    heads = [cell.strip() for cell in rows[0]] if has_header else [f"x{i}" for i in range(len(rows[0]))]
    if has_header and all(len(row) == len(heads) + 1 for row in body):
        heads = ["", *heads]  # R writes no head over the names of the rows
        why = "the first line names the columns, but not that of the row names"
    # Ragged rows are the parser's to find; the columns are those of the head.
    columns = [
        Column(
            name,
            _is_numeric([row[i] for row in body if i < len(row)], options.decimal),
            [r[i] for r in body if i < len(r)],
        )
        for i, name in enumerate(heads)
    ]
    longest = max(len(line) for line in lines) * (4 if encoding.startswith("utf-16") else 1)
    return Layout(separator, encoding, has_header, blank + has_header, columns, longest, why)


def _separator(lines: Sequence[str], kind: str, options: ReadOptions) -> str:
    if options.separator != "auto":
        separator = _NAMES.get(options.separator, options.separator)
        if len(separator) != 1:
            raise TableError(f"--separator must be one character, 'tab', 'space' or 'auto', got {options.separator!r}.")
        return separator
    if kind == "tsv":
        return "\t"
    some = lines[:20]

    def quality(separator: str) -> tuple[bool, int]:
        """Whether all lines have as many columns (one may be short of a head), and how many they have."""
        if options.decimal == separator:
            return False, 0
        counts = [len(row) for row in csv.reader(some, delimiter=separator) if row]
        alike = counts.count(counts[-1]) >= len(counts) - 1
        return alike and counts[-1] > 1, counts[-1]

    best = max(_CANDIDATES, key=quality)
    return best if quality(best)[1] > 1 else ","


def _has_header(rows: Sequence[Sequence[str]], options: ReadOptions) -> tuple[bool, str]:
    """Whether the first row names the columns, and why so.

    It does if it has text over a column of numbers, nothing over the names of the rows, or, as spectra have it, numbers
    that rise or fall all the way where the rows below do not.
    """
    if options.header != "auto":
        return options.header == "yes", f"header {options.header}, as said"
    first, body = rows[0], rows[1:]
    if not body:
        return any(not _is_number(cell, options.decimal) and cell.strip() not in MISSING for cell in first), "one line"
    if len(body[0]) == len(first) + 1:
        return True, "the first line names the columns"
    for i, cell in enumerate(first):
        below = [row[i] for row in body[:50] if i < len(row)]
        is_text = not _is_number(cell, options.decimal) and cell.strip() not in MISSING
        if is_text and _is_numeric(below, options.decimal):
            return True, "the first line names the columns"
    if not first[0].strip() and all(row[0].strip() for row in body[:50] if row):
        return True, "the first line names the columns"
    if _is_monotone(first[1:], options.decimal) and not any(
        _is_monotone(row[1:], options.decimal) for row in body[:50]
    ):
        return True, "the first line is taken for names: its numbers rise or fall all the way; else say --header no"
    if not any(_is_numeric([row[i] for row in body[:50] if i < len(row)], options.decimal) for i in range(len(first))):
        return True, "no column holds numbers"
    return False, "no header: the first line holds numbers as the others do; else say --header yes"


def _is_monotone(cells: Sequence[str], decimal: str) -> bool:
    if len(cells) < 5 or not all(_is_number(cell, decimal) for cell in cells):
        return False
    values = [float(cell.replace(decimal, ".")) for cell in cells]
    steps = [b - a for a, b in pairwise(values)]
    return all(step > 0 for step in steps) or all(step < 0 for step in steps)


def _is_numeric(cells: Sequence[str], decimal: str) -> bool:
    """Whether a column is one of numbers: some cell is a number, or nothing is known of it."""
    known = [cell for cell in cells if cell.strip() not in MISSING]
    return not known or any(_is_number(cell, decimal) for cell in known)


def _is_number(cell: str, decimal: str) -> bool:
    try:
        float(cell.replace(decimal, "."))
    except ValueError:
        return False
    return "_" not in cell and cell.strip() not in MISSING
