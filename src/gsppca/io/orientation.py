"""Whether the rows of a file are samples or variables: names tell."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gsppca.io.heads import (
    ANNOTATION_HEADS,
    COMMON_GENES,
    DATE,
    IDENTIFIER_HEADS,
    NUMBERED_SAMPLE,
    SAMPLE_NAME,
    VARIABLE_HEADS,
    VARIABLE_NAME,
    WEAK_VARIABLE_HEADS,
    plain_head,
)
from gsppca.io.table import Table, TableError

_LOOKED_AT = 1000  # names
_MOST = 0.5  # share of names that must look alike
_NEARLY_ALL = 0.8  # the same where names are less telling
_SAMPLE_HEADS = IDENTIFIER_HEADS - WEAK_VARIABLE_HEADS - {"id", "name"}
_MANY, _TALL = 100, 4  # rows, and rows for each column, that make a head such as "probe" tell something
_GERMAN_SAMPLES = frozenset({"probe", "proben"})  # probes are numbered by their makers, samples one after the other
_GENES = 3  # well-known ones that make a table of genes


def why_rows_are_variables(table: Table) -> str | None:
    """Return what makes the rows of a table look like variables and its columns like samples; None if nothing does.

    Heads and names of genes, probes and other variables in rows, or names of samples over columns, tell so, unless the
    heads say otherwise. That there are many more rows than columns is no reason by itself: most tables have.
    """
    n, p = table.shape
    rows, columns = table.sample_names or [], table.feature_names or []
    head = plain_head(table.index_name)
    if _are_variables(columns) or (head in _SAMPLE_HEADS and not _are_variables(rows)):
        return None
    reasons = []
    is_tall = n >= _MANY and n > _TALL * p
    weak = head in WEAK_VARIABLE_HEADS and is_tall and not (head in _GERMAN_SAMPLES and _are_counted(rows))
    if head in VARIABLE_HEADS - WEAK_VARIABLE_HEADS or weak:
        reasons.append(f"the first column is headed {table.index_name!r}")
    if _are_variables(rows):
        examples = [name for name in rows if _is_variable(name)][:2]
        reasons.append(f"rows are named as genes or probes are, such as {' and '.join(map(repr, examples))}")
    what = "columns are named as samples are"
    if _share(SAMPLE_NAME, columns) > _MOST:
        reasons.append(f"{what}, such as {_example(SAMPLE_NAME, columns)!r}")
    elif p > 2 and n > 2 * p:
        if _share(DATE, columns) > _NEARLY_ALL:
            reasons.append(f"columns are headed by dates, such as {_example(DATE, columns)!r}")
        elif _share(NUMBERED_SAMPLE, columns) > _NEARLY_ALL:
            reasons.append(f"{what}, such as {_example(NUMBERED_SAMPLE, columns)!r}")
    return "; ".join(reasons) or None


def exchanged(table: Table, why: str | None = None, label: str | None = None) -> Table:
    """Exchange rows and columns; leave out the columns that describe variables, such as Chr and Length.

    Parameters
    ----------
    table : Table
        With a row per variable.
    why : str, optional
        What showed it, if nobody asked for it.
    label : str, optional
        Which of the lines above the table holds the labels.
    """
    notes = [] if why is None else [f"rows are variables and have been made columns: {why}"]
    described = [column.name for column in table.text]
    described += [name for name in table.feature_names or () if _describes(name)]
    if table.feature_names is not None:
        table = table.columns(np.array([not _describes(name) for name in table.feature_names], dtype=bool))
    if described:
        shown = ", ".join(map(repr, described[:6])) + (", ..." if len(described) > 6 else "")
        notes.append(f"columns that describe variables are left out: {shown}")
    kept_notes = [note for note in table.notes if "holds text" not in note and "more columns hold text" not in note]
    labels = _labels(table, label)
    if label is None and labels is None and table.column_labels:
        telling = [name for name, values in table.column_labels.items() if 2 * len(set(values)) <= len(values)]
        notes.append(f"--label can be {', '.join(telling or table.column_labels)}")
    return replace(
        table.transposed(), labels=labels, label_name=label or "", text=(), notes=(*kept_notes, *notes), index_name=""
    )


def _labels(table: Table, label: str | None) -> Sequence[str] | None:
    """Labels of the columns, from a line above the table."""
    if label is None:
        return None
    known = {name: values for name, values in table.column_labels.items() if len(values) == table.shape[1]}
    if label in known:
        return known[label]
    held = f"The lines above the table name {', '.join(known)}." if known else "Leave it out."
    raise TableError(
        f"{table.path}: --label {label} with --transpose: a label is one value per sample, and no line above the table "
        f"has that name. {held}"
    )


def count_samples(table: Table) -> int:
    """Number of columns, if rows are variables, that do not describe them."""
    return table.shape[1] - sum(map(_describes, table.feature_names or ()))


def _describes(head: str) -> bool:
    return plain_head(head) in ANNOTATION_HEADS


def _example(pattern: re.Pattern[str], names: Sequence[str]) -> str:
    return next(name for name in names if pattern.fullmatch(name.strip()))


def _are_variables(names: Sequence[str]) -> bool:
    genes = {name.upper() for name in names} & COMMON_GENES if len(names) >= 2 * _GENES else set()
    return len(genes) >= _GENES or _share(VARIABLE_NAME, names) > _MOST


def _are_counted(names: Sequence[str]) -> bool:
    """Whether names are 1, 2, 3, ... or 0, 1, 2, ..., alone or behind a common beginning."""
    found = [re.fullmatch(r"(.*?)0*(\d+)", name.strip()) for name in names]
    if not all(found) or len({match[1] for match in found if match}) != 1:
        return False
    numbers = [int(match[2]) for match in found if match]
    return numbers[0] in (0, 1) and numbers == list(range(numbers[0], numbers[0] + len(numbers)))


def _is_variable(name: str) -> bool:
    return name.upper() in COMMON_GENES or VARIABLE_NAME.fullmatch(name) is not None


def _share(pattern: re.Pattern[str], names: Sequence[str]) -> float:
    some = names[:: max(1, len(names) // _LOOKED_AT)]
    return sum(pattern.fullmatch(name.strip()) is not None for name in some) / max(1, len(some))
