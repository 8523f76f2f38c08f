"""Which columns of a file are numbers to analyse, names of the samples, a label, or left out."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gsppca.io.heads import (
    IDENTIFIER_HEADS,
    INDEX_HEADS,
    VARIABLE_HEADS,
    VARIABLE_NUMBER_HEADS,
    WEAK_VARIABLE_HEADS,
    plain_head,
)
from gsppca.io.options import ReadOptions
from gsppca.io.table import Column, FixableError, TableError, shortened

ALL_TEXT = "text"  # of --drop: all columns of text


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
    empty : list of int
        Columns without head and values.
    """

    data: list[int]
    index: int | None
    label: int | None
    text: list[int]
    empty: list[int] = field(default_factory=list)


def assign_roles(
    path: Path,
    columns: Sequence[Column],
    options: ReadOptions,
    *,
    strict: bool = True,
    only: Collection[str] | None = None,
) -> Roles:
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
    only : collection of str, optional
        Names of the columns to read as numbers; all others are left out, whatever they hold.
    """
    names = {column.name for column in columns}
    drops_text = ALL_TEXT in options.drop and ALL_TEXT not in names
    dropped = {
        find_column(path, columns, name, "--drop") for name in options.drop if name != ALL_TEXT or not drops_text
    }
    label = None if options.label is None else find_column(path, columns, options.label, "--label")
    taken = dropped | ({label} if label is not None else set())
    if options.index not in ("auto", "none"):
        index: int | None = find_column(path, columns, options.index, "--index")
    elif options.index == "none":
        index = None
    else:
        index = _guess_index(columns, taken)
    empty = [i for i, column in enumerate(columns) if column.is_empty and not column.name and i not in (index, label)]
    taken |= {*empty, *(() if index is None else (index,))}
    rest = [i for i in range(len(columns)) if i not in taken]
    if only is not None:
        return Roles([i for i in rest if columns[i].name in only], index, label, [], empty)
    text = [i for i in rest if not columns[i].is_number]
    if text and strict and not drops_text:
        raise _text_error(path, columns, text)
    return Roles([i for i in rest if columns[i].is_number], index, label, [] if drops_text else text, empty)


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

    near = get_close_matches(wanted, names, n=1) or [name for name in names if name] or [""]
    raise TableError(
        f"{path}: {option} {wanted}: there is no such column. Give a name, such as {near[0]!r}, or a number from 1 to "
        f"{len(names)}."
    )


def _guess_index(columns: Sequence[Column], taken: set[int]) -> int | None:
    """Take the first column for names of samples if it is headed so, or holds text that is all different."""
    if not columns or 0 in taken or len(columns) == 1:
        return None
    first = columns[0]
    head = plain_head(first.name)
    if head in INDEX_HEADS:
        return 0
    if first.is_number:
        return 0 if first.distinct and head in IDENTIFIER_HEADS | VARIABLE_NUMBER_HEADS else None
    is_headed = head in IDENTIFIER_HEADS | VARIABLE_HEADS | WEAK_VARIABLE_HEADS
    return 0 if first.distinct or (is_headed and first.is_mostly_distinct) else None


def _text_error(path: Path, columns: Sequence[Column], text: list[int]) -> FixableError:
    place = text[0]
    column = columns[place]
    example = next((value for value in column.example if value), "")
    fact = f"{path}: row 1, column {place + 1} ({column.name!r}): {shortened(example)!r} is not a number."
    if len(text) > 1:
        others = ", ".join(repr(columns[i].name) for i in text[1:4]) + (", ..." if len(text) > 4 else "")
        fact += f" {len(text) - 1} more column{'s hold' if len(text) > 2 else ' holds'} text: {others}."
    role, option = ("names", "--index") if column.distinct else ("a label", "--label")
    name = shlex.quote(column.name) if column.name else str(place + 1)
    advice = f"If the column holds {role}, use {option} {name}; to leave it out, --drop {name}"
    return FixableError(fact, f"{advice}, or --drop {ALL_TEXT} for all." if len(text) > 1 else f"{advice}.")
