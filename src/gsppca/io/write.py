"""What a fit leaves on disk: tables as CSV, the model, and all of it in one move."""

from __future__ import annotations

import csv
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import fields
from pathlib import Path
from typing import IO, Any

import numpy as np

from gsppca._typing import PathLike

OUTPUTS = ("selected.csv", "scores.csv", "evidence.csv", "model.json", "model.npz", "report.html")


def write_rows(path: PathLike | IO[str], head: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write CSV to a path or an open file: numbers in full, so that reading them gives the same bits."""
    with ExitStack() as stack:
        if isinstance(path, str | os.PathLike):
            path = stack.enter_context(open(path, "w", newline="", encoding="utf-8"))
        writer = csv.writer(path, lineterminator="\n")
        writer.writerow(head)
        writer.writerows(rows)


def selected_rows(model: Any, names: Sequence[str]) -> tuple[list[str], list[list[Any]]]:
    """Table of the selected variables, the most relevant first: rank, name, relevance, evidence at entry, loadings.

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
    rows : list of list
        One per selected variable.
    """
    evidence = {
        int(k): float(v) for k, v in zip(model.evidence_path_.sizes, model.evidence_path_.log_evidence, strict=True)
    }
    chosen = sorted(np.flatnonzero(model.support_).tolist(), key=lambda k: int(model.ranking_[k]))
    head = ["rank", "name", "relevance", "evidence_at_entry", *model.get_feature_names_out()]
    rows = [
        [
            int(model.ranking_[k]),
            names[k],
            float(model.relevance_[k]),
            evidence.get(int(model.ranking_[k])),
            *model.components_[:, k].tolist(),
        ]
        for k in chosen
    ]
    return head, rows


def evidence_rows(model: Any, names: Sequence[str]) -> tuple[list[str], Iterator[list[Any]]]:
    """Table of the evidence of all sizes, and which variable enters at each."""
    path = model.evidence_path_
    columns = {field.name: np.asarray(getattr(path, field.name)) for field in fields(path)}
    columns = {name: values for name, values in columns.items() if values.shape == path.sizes.shape}
    order = np.argsort(model.ranking_)
    head = ["size", "entering", *(name for name in columns if name != "sizes")]
    rest = [values.tolist() for name, values in columns.items() if name != "sizes"]
    return head, (
        [size, names[order[size - 1]], *values] for size, *values in zip(path.sizes.tolist(), *rest, strict=True)
    )


def score_rows(
    model: Any, scores: Any, sample_names: Sequence[str] | None, labels: Sequence[str] | None
) -> tuple[list[str], Iterator[list[Any]]]:
    """Table of the components of the samples: name, label if there is one, scores."""
    samples = sample_names if sample_names is not None else [str(i) for i in range(1, len(scores) + 1)]
    head = ["sample", *(["label"] if labels is not None else []), *model.get_feature_names_out()]
    extra = [[]] * len(scores) if labels is None else [[label] for label in labels]
    return head, ([name, *more, *row.tolist()] for name, more, row in zip(samples, extra, scores, strict=True))


def check_destination(folder: Path, overwrite: bool) -> None:
    """Refuse a folder that holds something already, unless it may be overwritten; say so before the work, not after."""
    if folder.exists() and not folder.is_dir():
        raise FileExistsError(f"{folder} is a file. Choose another name for the folder of results.")
    if folder.is_dir() and any(folder.iterdir()) and not overwrite:
        raise FileExistsError(f"{folder} is not empty. Choose another folder, or say --overwrite.")
    parent = folder if folder.is_dir() else next(p for p in folder.absolute().parents if p.exists())
    if not os.access(parent, os.W_OK):
        raise PermissionError(f"{folder}: no right to write in {parent}. Choose another folder.")


@contextmanager
def new_folder(folder: Path, overwrite: bool = False) -> Iterator[Path]:
    """Give a temporary folder to write in, which takes its place once all is written, and vanishes if anything fails.

    With `overwrite`, files of the same names are replaced and those that an earlier run left are removed; files that
    are not ours stay.
    """
    check_destination(folder, overwrite)
    folder.absolute().parent.mkdir(parents=True, exist_ok=True)
    # Beside the destination: only within one file system is a move one step.
    temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.absolute().parent))
    try:
        yield temporary
        temporary.chmod(0o777 & ~_umask())
        if folder.is_dir() and any(folder.iterdir()):
            for name in OUTPUTS:
                if (folder / name).exists() and not (temporary / name).exists():
                    (folder / name).unlink()
            for file in sorted(temporary.iterdir()):
                file.replace(folder / file.name)
        else:
            if folder.is_dir():
                folder.rmdir()
            temporary.rename(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def new_file(path: Path, overwrite: bool = False) -> Iterator[Path]:
    """The same for one file."""
    if path.is_dir():
        raise FileExistsError(f"{path} is a folder. Give the name of a file.")
    if path.exists() and not overwrite:
        raise FileExistsError(f"{path} exists. Choose another name, or say --overwrite.")
    path.absolute().parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.absolute().parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _umask() -> int:
    """The rights that new files are not given; temporary ones are made with fewer still."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
