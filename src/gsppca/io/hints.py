"""What a table may be other than what it was taken for, and the options that read it as such."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from gsppca._typing import FloatArray
from gsppca.io.heads import DATE, LABEL_HEADS, plain_head
from gsppca.io.options import ReadOptions
from gsppca.io.orientation import count_samples, why_rows_are_variables
from gsppca.io.table import Table, TableWarning

_ROWS, _COLUMNS = 200, 2000  # looked at
_FOLLOWS = 0.7  # rank correlation of standard deviations with means, from which on they grow together
_RANGE = 5.0  # of column means, from the tenth to the ninetieth percentile
_MOST_COUNTS, _MOST_INTENSITY = 100, 1000  # largest value, from which on numbers look raw
_SATURATED = 0.002  # share of values at the largest one, in pictures
_LABELS = 12  # different values that a label has at most
_LABEL_COLUMNS = 3  # more than so many such columns are measurements
_CODES = frozenset({99.0, 999.0, 9999.0, 99999.0})  # for missing values, with either sign
_BLOCK = 2**20  # values looked at, at a time
_FEW = 50  # columns with a code that are looked at
_FAR = 2.0  # ranges of the other values of a column between them and a code
_CHANGED_NAME = re.compile(r"\d{1,2}-(?:mar|sep|sept|dec|oct|nov|apr|feb)|(?:mar|sep|dec|oct)-\d{1,2}", re.I)


@dataclass(frozen=True)
class Hint:
    """Something to look at.

    Attributes
    ----------
    text : str
        What was seen and what it may mean, one sentence.
    words : tuple of str
        Options that read the file as proposed.
    """

    text: str
    words: tuple[str, ...] = ()


def hints_of(table: Table, options: ReadOptions, *, is_exchanged: bool = False) -> list[Hint]:
    """Collect what is worth a warning about a table that was read with some options.

    Parameters
    ----------
    table : Table
        What was read.
    options : ReadOptions
        How it was read.
    is_exchanged : bool, default=False
        Whether its rows are columns of the file.
    """
    hints = []
    why = why_rows_are_variables(table) if options.transpose is None and not is_exchanged else None
    if why is not None:
        text = (
            f"The {table.shape[0]} rows look like variables and the {count_samples(table)} columns like samples: {why}"
        )
        advice = "Use --transpose, or --no-transpose if each row is a sample after all."
        hints.append(Hint(f"{text}. {advice}", ("--transpose",)))
    raw = None if options.log else looks_raw(table.data.T if why is not None else table.data)
    if raw is not None:
        hints.append(Hint(f"The numbers look like {raw}. Use --log to take logarithms.", ("--log",)))
    if not is_exchanged and why is None and table.labels is None:
        hints += _label_hints(table)
    hints += _code_hints(table, options)
    hints += [hint for names in (table.feature_names, table.sample_names) for hint in _changed_names(names or ())]
    return hints


def as_warning(table: Table, hints: Sequence[Hint]) -> TableWarning:
    """All hints in one warning."""
    words = [word for hint in hints for word in hint.words]
    return TableWarning(f"{table.path}: " + " ".join(hint.text for hint in hints), words)


def looks_raw(data: Any) -> str | None:
    """Return what untransformed data look like: "raw counts" or "raw intensities"; None for others.

    Raw data have no negative values, a few very large ones, and columns whose standard deviations grow with their
    means over a wide range. Pictures, whose values pile up at the largest, are left alone.
    """
    block = _sample(data)
    finite = np.isfinite(block)
    if not finite.any():
        return None
    block = np.where(finite, block, 0.0)
    top = float(block.max())
    if block.min() < 0 or top < _MOST_COUNTS:
        return None
    are_counts = bool(np.all(block == np.floor(block)))
    if not are_counts and (top < _MOST_INTENSITY or data.shape[1] < 100):
        return None
    at_top = np.count_nonzero(block == top)
    if at_top > max(1.5, _SATURATED * np.count_nonzero(block)):
        return None
    block = block / top  # squares of large values cannot be held
    means, deviations = block.mean(axis=0), block.std(axis=0)
    used = (means > 0) & (deviations > 0)
    if used.sum() < 20:
        return None
    low, high = np.quantile(means[used], [0.1, 0.9])
    ranks = [values[used].argsort().argsort() for values in (means, deviations)]
    follows = np.corrcoef(*ranks)[0, 1]
    if high < _RANGE * low or follows < _FOLLOWS:
        return None
    largest = f"none negative, the largest {top:.6g}; columns with larger means vary more"
    return f"raw {'counts' if are_counts else 'intensities'} ({largest})"


def _sample(data: Any) -> FloatArray:
    """Some rows and columns, evenly spread, as a dense array."""
    n, p = data.shape
    rows = data[:: max(1, n // _ROWS)] if not issparse(data) else data.tocsr()[:: max(1, n // _ROWS)]
    part = rows[:, :: max(1, p // _COLUMNS)]
    return np.asarray(part.toarray() if issparse(part) else part, dtype=np.float64)


def _label_hints(table: Table) -> list[Hint]:
    """Columns of whole numbers with few different values, where the others have many, or that are headed as labels."""
    n, p = table.shape
    is_array = table.feature_names is None and table.positions is None  # in which no column can be called a label
    if issparse(table.data) or is_array or n < 10 or p < 2:
        return []
    some = np.asarray(table.data[:: max(1, n // (2 * _ROWS))])
    whole = np.flatnonzero(np.all(some == np.floor(some), axis=0))  # never true of missing values
    steps = np.diff(np.sort(some[:, whole], axis=0), axis=0)
    different = dict(zip(whole.tolist(), (1 + np.count_nonzero(steps, axis=0)).tolist(), strict=True))
    few = [j for j, number in different.items() if 2 <= number <= min(_LABELS, n // 3)]
    headed = [j for j in few if plain_head(table.names[j]) in LABEL_HEADS]
    alone = few if len(few) <= _LABEL_COLUMNS and 2 * len(few) < p and p - len(few) > 2 else []
    found = headed or alone
    if not found or len(found) > _LABEL_COLUMNS:
        return []
    place = found[-1] if p - 1 in found else found[0]
    number = np.unique(table.data[:, place]).size  # of all rows
    if number > _LABELS:
        return []
    named = option("--label", table.names[place], place if table.positions is None else table.positions[place])
    text = (
        f"Column {table.names[place]!r} has only {number} different values, all whole numbers: if it is a "
        f"label, use {' '.join(named)}."
    )
    return [Hint(text, named)]


def _code_hints(table: Table, options: ReadOptions) -> list[Hint]:
    """Numbers such as -999 that stand far from all other values of their columns: codes for missing values."""
    if issparse(table.data) or not table.data.size:
        return []
    values = np.asarray(table.data)
    height = max(1, _BLOCK // values.shape[1])
    blocks = [values[start : start + height] for start in range(0, len(values), height)]  # no copy of a large table
    ends = [
        (block.min(where=np.isfinite(block), initial=np.inf), block.max(where=np.isfinite(block), initial=-np.inf))
        for block in blocks
    ]
    hints = []
    for code in sorted({float(min(low for low, _ in ends)), float(max(high for _, high in ends))}):
        if abs(code) not in _CODES:
            continue
        number = sum(int(np.count_nonzero(block == code)) for block in blocks)
        columns = np.flatnonzero(np.any([(block == code).any(axis=0) for block in blocks], axis=0))
        if not all(_is_far(values[:, k], code) for k in columns[:_FEW].tolist()):
            continue
        name = table.names[columns[0]]
        where = f"column {name!r}" if len(columns) == 1 else f"{len(columns)} columns, such as {name!r}"
        times = "once" if number == 1 else f"{number} times"
        named = option("--na", f"{code:g}")
        words = (*named, *(("--missing", "impute") if options.missing == "error" else ()))
        text = f"{code:g} occurs {times} in {where}, far from all other values: if it means missing, use"
        hints.append(Hint(f"{text} {' '.join(words)}.", words))
    return hints


def _is_far(column: FloatArray, code: float) -> bool:
    """Whether the other values of a column are all close to each other, compared to the code."""
    others = column[np.isfinite(column) & (column != code)]
    return bool(others.size) and float(np.abs(others - code).min()) > _FAR * float(np.ptp(others))


def _changed_names(names: Sequence[str]) -> list[Hint]:
    changed = [name for name in names if _CHANGED_NAME.fullmatch(name)]
    if not changed or len(changed) > 0.2 * len(names) or sum(DATE.fullmatch(n) is not None for n in names[:50]) > 25:
        return []
    number = "1 name is a date" if len(changed) == 1 else f"{len(changed)} names are dates"
    return [
        Hint(
            f"{number}, such as {changed[0]!r}: a spreadsheet program may have changed names of genes such as SEPTIN2 "
            "or MARCHF1. Take the names from the original file."
        )
    ]


def option(name: str, value: str, place: int | None = None) -> tuple[str, ...]:
    """Words of an option of the command line; a column by its number where its name cannot be typed.

    Parameters
    ----------
    name : str
        Of the option, such as "--label".
    value : str
        Its value.
    place : int, optional
        Place of the column, counted from 0, if the value is the name of one.
    """
    if place is not None and (not value.strip() or not value.isprintable() or value != value.strip()):
        value = str(place + 1)
    return (f"{name}={value}",) if value.startswith("-") else (name, value)
