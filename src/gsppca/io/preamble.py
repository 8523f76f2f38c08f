"""Before the table of a text file: its encoding, and the lines that come first and are not of the table."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from gsppca.io.options import ReadOptions
from gsppca.io.table import TableError

COMMENTS = ("#", "!", "^")  # many programs; GEO; GEO's SOFT files
_NEWLINE = re.compile(r"\r\n|\n|\r")  # str.splitlines also splits at signs that stand in names
_SPACES = re.compile(r" {2,}")
_SAMPLE = "!Sample_"
_NEWLINE_BYTES = re.compile(rb"\r\n|\n|\r")
_LARGE = 2**18  # bytes above the table, from which on they are passed over before parsing
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x19\x1c-\x1f]")


def decode(path: Path, head: bytes, is_all: bool, options: ReadOptions) -> tuple[str, str]:
    """Decode the first bytes of a file; return the text and its encoding."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        encodings = ["utf-16"]
    else:
        encodings = ["utf-8", *FALLBACKS] if options.encoding == "auto" else [options.encoding]
    for encoding in encodings:
        try:
            text = codecs.getincrementaldecoder(encoding)().decode(head, final=is_all).removeprefix("\ufeff")
        except LookupError:
            raise TableError(
                f"{path}: --encoding {encoding}: there is no such encoding. Try utf-8 or latin-1."
            ) from None
        except UnicodeDecodeError:
            if encoding == encodings[-1]:
                raise
            continue
        break
    if "\0" in text or (encoding in FALLBACKS and _CONTROL.search(text)):
        raise TableError(
            f"{path}: this is not a text file: it holds bytes that no text has. Use --format if it is another format."
        )
    return text, encoding


FALLBACKS = ("cp1252", "latin-1")  # the first is what Windows calls latin-1, and lacks five of its signs


def split_lines(text: str) -> list[str]:
    """Lines of a text, as the parser splits them."""
    return _NEWLINE.split(text)


def squeezed(line: str) -> str:
    """A line of a table whose columns are aligned by spaces, with one space between cells."""
    return _SPACES.sub(" ", line).strip(" ")


def is_comment(line: str) -> bool:
    """Whether a line begins as comments do; names in quotation marks are none."""
    return line.startswith(COMMENTS)


def count_table_lines(head: bytes) -> int:
    """Number of lines, in the first bytes of a file, that are not empty and no comments."""
    marks = tuple(mark.encode() for mark in COMMENTS)
    return sum(1 for line in head.splitlines() if line.strip() and not line.startswith(marks))


def large_offset(head: bytes, n_lines: int) -> int:
    """Bytes of so many lines if they are many; 0 if the parser can be left to skip these lines."""
    if not n_lines:
        return 0
    ends = (match.end() for match in _NEWLINE_BYTES.finditer(head))
    offset = next(islice(ends, n_lines - 1, None), 0)
    return offset if offset > _LARGE else 0


def table_start(lines: Sequence[str]) -> int:
    """Place of the first line that is neither empty nor a comment; of the first not empty one if all are comments."""
    blank = next((i for i, line in enumerate(lines) if line.strip()), len(lines))
    return next((i for i, line in enumerate(lines) if line.strip() and not is_comment(line)), blank)


def skipped_in_words(lines: Sequence[str]) -> str | None:
    """What the lines in front of the table begin with, and how many there are."""
    marks = Counter(line[0] for line in lines if is_comment(line))
    number = sum(marks.values())
    if not number:
        return None
    signs = " or ".join(f"'{mark}'" for mark in marks)
    if number == 1:
        return f"1 line before the table is skipped: it begins with {signs}"
    return f"{number} lines before the table are skipped: they begin with {signs}"


def sample_lines(lines: Sequence[str]) -> dict[str, list[str]]:
    """What lines of a GEO series matrix say of its samples, by name; lines that say the same of all are left out.

    Of ``!Sample_characteristics_ch1``, each cell names its own characteristic: "grade: 3" is grade 3.
    """
    found: dict[str, list[str]] = {}
    for line in lines:
        if not line.startswith(_SAMPLE):
            continue
        # Not csv: free text has quotation marks inside cells.
        key, *cells = [cell.strip().strip('"') for cell in line.removeprefix(_SAMPLE).split("\t")]
        for place, cell in enumerate(cells):
            name, value = key, cell
            if key.startswith("characteristics_ch"):
                name, colon, value = (part.strip() for part in cell.partition(":"))
                if not colon:
                    name, value = key, cell.strip()
            if name:
                found.setdefault(name, [""] * len(cells))[place : place + 1] = [value]
    return {name: values for name, values in found.items() if len(set(values)) > 1}
