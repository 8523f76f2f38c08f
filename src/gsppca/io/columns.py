"""Which columns of a file are numbers to analyse, names of the samples, a label, or left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gsppca.io.options import ReadOptions
from gsppca.io.table import Column, TableError

# A first column under one of these heads holds names of rows, even if they are numbers.
_INDEX_HEADS = {"", "index", "unnamed: 0", "__index_level_0__", "rownames", "row.names"}


@dataclass(frozen=True)
class Roles:
    """Positions of the columns by what they are for.

    Attributes
    ----------
    data : list of int
        Numbers to analyse.
    index, label : int or None
        Names and labels of the samples.
    text : list of int
        Columns of text that nobody has given a role to.
    """

    data: list[int]
    index: int | None
    label: int | None
    text: list[int]


def assign_roles(path: Path, columns: Sequence[Column], options: ReadOptions, *, strict: bool = True) -> Roles:
    """Give every column a role; refuse text without one, unless not `strict`.

    Parameters
    ----------
    path : Path
        The file, for messages.
    columns : sequence of Column
        All columns of the file, in order.
    options : ReadOptions
        What the user said.
    strict : bool, default=True
        Whether a column of text that nobody has given a role to is an error.
    """
    dropped = {find_column(path, columns, name, "--drop") for name in options.drop}
    label = None if options.label is None else find_column(path, columns, options.label, "--label")
    taken = dropped | ({label} if label is not None else set())
    if options.index not in ("auto", "none"):
        index: int | None = find_column(path, columns, options.index, "--index")
    elif options.index == "none":
        index = None
    else:
        index = _guess_index(columns, taken)
    rest = [i for i in range(len(columns)) if i not in taken and i != index]
    text = [i for i in rest if not columns[i].is_number]
    if text and strict:
        raise TableError(_text_message(path, columns, text))
    return Roles([i for i in rest if columns[i].is_number], index, label, text)


def find_column(path: Path, columns: Sequence[Column], wanted: str, option: str) -> int:
    """Position of a column given by its name, or by its number counted from 1."""
    names = [column.name for column in columns]
    if names.count(wanted) == 1:
        return names.index(wanted)
    if wanted in names:
        raise TableError(f"{path}: {option} {wanted}: {names.count(wanted)} columns have this name. Give its number.")
    if wanted.isdecimal() and 1 <= int(wanted) <= len(names):
        return int(wanted) - 1
    from difflib import get_close_matches

    near = get_close_matches(wanted, names, n=1) or names[:1]
    raise TableError(
        f"{path}: {option} {wanted}: there is no such column. Give a name, such as {near[0]!r}, or a number from 1 to "
        f"{len(names)}."
    )


def _guess_index(columns: Sequence[Column], taken: set[int]) -> int | None:
    """Take the first column for names of samples if it is headed so, or holds text that is all different."""
    if not columns or 0 in taken or len(columns) == 1:
        return None
    first = columns[0]
    headed = first.name.strip().lower() in _INDEX_HEADS
    return 0 if headed or (not first.is_number and first.distinct) else None


def _text_message(path: Path, columns: Sequence[Column], text: list[int]) -> str:
    place = text[0]
    column = columns[place]
    example = next((value for value in column.example if value), "")
    role = "names" if column.distinct else "a label"
    option = "--index" if column.distinct else "--label"
    others = f" ({len(text)} columns hold text.)" if len(text) > 1 else ""
    name = column.name if column.name and " " not in column.name else repr(column.name)
    return (
        f"{path}: row 1, column {place + 1} ({column.name!r}): {example!r} is not a number. If the column holds "
        f"{role}, say {option} {name}; to leave it out, --drop {name}.{others}"
    )
