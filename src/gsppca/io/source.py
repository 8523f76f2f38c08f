"""Text files as streams of bytes that the parser reads in threads of its own.

The streams are pyarrow's, not Python's: a thread that still holds a Python object when the interpreter ends would abort
the program. For the same reason, texts are decoded and comments after a table are cut off here, not by functions that
the parser calls.
"""

from __future__ import annotations

import codecs
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gsppca.io.preamble import COMMENTS, count_table_lines, large_offset, squeezed
from gsppca.io.sniff import Layout
from gsppca.io.stream import errors_about

_HEAD_BYTES = 2**20  # what is looked at first, or more until there are two lines of the table
_MOST_HEAD_BYTES = 2**26
_TAIL_BYTES = 2**16  # at the end, that may hold comments
_RETURN = "\r"
_COPY_BYTES = 2**22


@dataclass(frozen=True)
class Source:
    """A text file as a stream of bytes, and how far it has been read.

    Attributes
    ----------
    stream : pyarrow.NativeFile
        The text, uncompressed.
    file : pyarrow.NativeFile
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


@contextmanager
def open_text(path: Path, compression: str | None, pa: Any, end: int | None = None) -> Iterator[Source]:
    """Open a file for the parser; with `end`, only its first bytes."""
    with path.open("rb"):  # whose errors name the file
        pass
    size = max(1, path.stat().st_size)
    if end is not None:
        with pa.memory_map(os.fspath(path)) as file, pa.BufferReader(file.read_buffer(end)) as stream:
            yield Source(stream, stream, size)
        return
    with pa.OSFile(os.fspath(path), "rb") as file:
        yield Source(file if compression is None else pa.CompressedInputStream(file, compression), file, size)


def first_bytes(stream: Any) -> tuple[bytes, bool]:
    """The first lines, two whole ones of the table at least if there are two, and whether that is all there is."""
    head = b""
    while True:
        more = stream.read(_HEAD_BYTES)
        head += more
        if not more:
            return head, True
        if count_table_lines(head) > 2 or len(head) > _MOST_HEAD_BYTES:
            return head, not stream.read(1)


@contextmanager
def for_parser(path: Path, compression: str | None, layout: Layout, pa: Any) -> Iterator[tuple[Source, Layout]]:
    """Open a file as UTF-8, without comments after its table; return also its layout as such.

    Where that takes a change, a temporary copy is read.
    """
    is_plain = layout.encoding == "utf-8" and not layout.is_aligned
    if is_plain and not (layout.has_comments and compression):
        end = _end_of_table(path) if layout.has_comments else None
        with open_text(path, compression, pa, end) as source:
            yield source, layout
        return
    with tempfile.TemporaryDirectory(prefix="gsppca-") as folder:
        copy = Path(folder, "table.txt")
        with open_text(path, compression, pa) as source, copy.open("wb") as target:
            _copy(source.stream, target, layout)
        if not is_plain:
            with copy.open("rb") as file:
                offset = large_offset(file.read(_MOST_HEAD_BYTES), layout.skipped)
            layout = replace(layout, offset=offset)
        end = _end_of_table(copy) if layout.has_comments else None
        with errors_about(copy, str(path)), open_text(copy, None, pa, end) as source:
            yield source, layout


def _copy(stream: Any, target: Any, layout: Layout) -> None:
    """Copy a text as UTF-8, with one space between cells, without the mark that some put at its beginning."""
    decoder = codecs.getincrementaldecoder(layout.encoding)()
    start, rest = "\ufeff", ""
    while True:
        block = stream.read(_COPY_BYTES)
        text = decoder.decode(block, final=not block)
        if text:
            text, start = text.removeprefix(start), ""
        if layout.is_aligned:
            *lines, rest = (rest + text).split("\n")
            lines += [] if block else [rest]
            text = "".join(f"{squeezed(line.removesuffix(_RETURN))}\n" for line in lines)
        target.write(text.encode())
        if not block:
            return


def _end_of_table(path: Path) -> int | None:
    """Bytes before the comments at the end of a file; None if there are no such."""
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(max(0, size - _TAIL_BYTES))
        tail = file.read()
    marks = tuple(mark.encode() for mark in COMMENTS)
    cut = 0
    for line in reversed(tail.splitlines(keepends=True)):
        if line.strip() and not line.startswith(marks):
            break
        cut += len(line)
    return size - cut if tail[len(tail) - cut :].strip() else None
