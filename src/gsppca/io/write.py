"""What a fit leaves on disk: tables as CSV, the model, and all of it in one move."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import fields
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from gsppca import _atomic
from gsppca._atomic import check_file, check_folder, claim, is_empty, new_files
from gsppca._typing import PathLike

if TYPE_CHECKING:
    from gsppca import GSPPCA

OUTPUTS = ("selected.csv", "scores.csv", "shares.csv", "evidence.csv", "model.json", "model.npz", "report.html")
MODEL_KEY = "model"
# The arrays of the model before its JSON, as `gsppca.load` expects it of a writer that was killed between the two.
MOVED = ("model.npz", "model.json", "selected.csv", "scores.csv", "shares.csv", "evidence.csv", "report.html")
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")  # the last four: full width


def write_rows(path: PathLike | IO[str], head: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write CSV to a path or an open file: numbers in full, so that reading them gives the same bits.

    A text that a spreadsheet would take for a formula gets an apostrophe in front; `model.json` has the true names.
    """
    with ExitStack() as stack:
        if isinstance(path, str | os.PathLike):
            path = stack.enter_context(open(path, "w", newline="", encoding="utf-8"))
        writer = csv.writer(path, lineterminator="\n")
        writer.writerow(map(as_cell, head))
        writer.writerows(map(as_cell, row) for row in rows)


def as_cell(value: Any) -> Any:
    """A value for a cell: text that begins like a formula is marked as text, numbers are left alone."""
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) and not _is_number(value) else value


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.isascii() and text.strip() == text


def component_names(number: int) -> list[str]:
    """Names of components in files: PC1, PC2, ..."""
    return [f"PC{j}" for j in range(1, number + 1)]


def selected_rows(model: GSPPCA, names: Sequence[str]) -> tuple[list[str], Iterator[list[Any]]]:
    """Table of all variables, the selected ones first: role, rank, what represents each, figures, loadings.

    Parameters
    ----------
    model : GSPPCA
        A fitted model.
    names : sequence of str
        Names of all variables.

    Returns
    -------
    head : list of str
        Names of the columns.
    rows : iterator of list
        One per variable; cells that are not known, and loadings of variables that are not selected, are empty.
    """
    from gsppca.overview import overview, table_columns

    view = overview(model, names)
    columns = table_columns(view)
    first = ("rank", "name")
    columns = {name: columns[name] for name in (*first, *(name for name in columns if name not in first))}
    loadings = model.components_.T
    empty = [None] * loadings.shape[1]

    def rows() -> Iterator[list[Any]]:
        plain = [values.tolist() if isinstance(values, np.ndarray) else values for values in columns.values()]
        for k, *cells in zip(view.order.tolist(), *plain, strict=True):
            yield [*map(_cell, cells), *(loadings[k].tolist() if view.selected[k] else empty)]

    return [*columns, *component_names(loadings.shape[1])], rows()


def evidence_rows(model: GSPPCA, names: Sequence[str]) -> tuple[list[str], Iterator[list[Any]]]:
    """Table of the evidence of all evaluated sizes, and which variable enters at each."""
    return _path_rows(model.evidence_path_, model, names)


def share_rows(model: GSPPCA, names: Sequence[str]) -> tuple[list[str], Iterator[list[Any]]] | None:
    """Table of the shares along the nested order, and which variable enters at each size; None if it is not known."""
    from gsppca.overview import overview

    path = overview(model, names).share_path
    return None if path is None else _path_rows(path, model, names)


def _path_rows(path: Any, model: GSPPCA, names: Sequence[str]) -> tuple[list[str], Iterator[list[Any]]]:
    """Table of the arrays of a path that have a value for every size."""
    columns = {field.name: getattr(path, field.name) for field in fields(path)}
    columns = {name: np.asarray(values) for name, values in columns.items() if np.shape(values) == path.sizes.shape}
    order = np.argsort(model.ranking_)
    head = ["size", "entering", *(name for name in columns if name != "sizes")]
    rest = [values.tolist() for name, values in columns.items() if name != "sizes"]
    return head, (
        [size, names[order[size - 1]], *map(_cell, values)]
        for size, *values in zip(path.sizes.tolist(), *rest, strict=True)
    )


def _cell(value: Any) -> Any:
    """What a cell holds: nothing where a number is not finite."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def score_rows(
    model: GSPPCA, scores: Any, sample_names: Sequence[str] | None, labels: Sequence[str] | None
) -> tuple[list[str], Iterator[list[Any]]]:
    """Table of the components of the samples: name, label if there is one, scores."""
    samples = sample_names if sample_names is not None else [str(i) for i in range(1, len(scores) + 1)]
    head = ["sample", *(["label"] if labels is not None else []), *component_names(model.n_components_)]
    extra = [[]] * len(scores) if labels is None else [[label] for label in labels]
    return head, ([name, *more, *row.tolist()] for name, more, row in zip(samples, extra, scores, strict=True))


def check_destination(folder: Path, overwrite: bool) -> None:
    """Refuse a folder that cannot be written, or that holds something already unless it may be overwritten."""
    check_folder(folder)
    if folder.is_dir() and not is_empty(folder) and not overwrite:
        raise FileExistsError(f"{folder} is not empty. Choose another folder, or use --overwrite.")


@contextmanager
def destination(folder: Path | None, overwrite: bool = False) -> Iterator[None]:
    """Check the folder of results before the work begins, and keep other runs from writing to it until it ends."""
    if folder is None:
        yield
        return
    check_destination(folder, overwrite)
    with claim(folder):
        yield


@contextmanager
def new_folder(folder: Path, overwrite: bool = False) -> Iterator[Path]:
    """Give a temporary folder to write in, which takes its place once all is written, and vanishes if anything fails.

    With `overwrite`, files of the same names are replaced and those that an earlier run left are removed, all of them
    or none; files that are not ours stay.
    """
    check_destination(folder, overwrite)
    if not folder.is_dir():
        with _atomic.new_folder(folder) as temporary:
            yield temporary
        return
    # Into the folder that is there, which may be the current one, a link, or another disk.
    with new_files(folder, MOVED, MODEL_KEY) as temporary:
        yield temporary
        check_destination(folder, overwrite)  # another machine may have written there meanwhile


def check_output(path: Path | None, overwrite: bool = False) -> None:
    """Refuse a file that cannot be written, or that exists unless it may be overwritten; None is no file."""
    if path is None:
        return
    check_file(path)
    if path.exists() and not overwrite:
        raise FileExistsError(f"{path} exists. Choose another name, or use --overwrite.")


@contextmanager
def new_file(path: Path, overwrite: bool = False) -> Iterator[Path]:
    """Give a temporary name to write to, which becomes `path` at the end; checks as in `check_output`."""
    check_output(path, overwrite)
    path.absolute().parent.mkdir(parents=True, exist_ok=True)
    with _atomic.new_file(path) as temporary:
        yield temporary
