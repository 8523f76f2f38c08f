"""``gsppca transform``: components of new samples."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from gsppca.cli.options import OUTPUT, READING, Talk
from gsppca.io.options import ReadOptions

if TYPE_CHECKING:
    from gsppca import GSPPCA
    from gsppca.io import Table


def transform(
    model: Path,
    file: Path,
    /,
    *,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"], group=OUTPUT)] = None,
    overwrite: Annotated[bool, Parameter(negative=(), group=OUTPUT)] = False,
    reading: Annotated[ReadOptions, Parameter(name="*", group=READING)] = ReadOptions(),  # noqa: B008
    talk: Annotated[Talk, Parameter(name="*", group=OUTPUT)] = Talk(),  # noqa: B008
) -> None:
    """Project new samples on the components of a fitted model.

    Columns are found by their names, in any order; further ones are ignored. Variables that were not selected
    need not be there.

    Parameters
    ----------
    model : path
        The folder that ``gsppca fit`` wrote, or its model.json.
    file : path
        A table with the variables of the model.
    output : path, optional
        CSV file for the components; they are printed if it is not given.
    overwrite : bool
        Replace the file if it exists.

    Examples
    --------
    ::

        gsppca transform results new.csv -o scores.csv
        gsppca transform results/model.json new.parquet --json
        gsppca transform results new.csv | head
    """
    from gsppca import load
    from gsppca.cli.errors import UsageError
    from gsppca.cli.screen import Screen
    from gsppca.io import read_table
    from gsppca.io.write import new_file, score_rows, write_rows

    screen = Screen(talk)
    fitted: Any = load(model)
    if not hasattr(fitted, "components_"):
        raise UsageError(f"{model} is a {type(fitted).__name__}, which has no components. Give a model of gsppca fit.")
    with screen.working():
        table = read_table(file, reading)
        scores = scores_of(fitted, aligned(fitted, table))
        head, rows = score_rows(fitted, scores, table.sample_names, table.labels)
        if output is not None:
            with new_file(output, overwrite) as temporary:
                write_rows(temporary, head, rows)
    if talk.json:
        screen.result(
            {"columns": head, "rows": [] if output is not None else list(rows), "output": output and str(output)}
        )
    elif output is None:
        write_rows(screen.out.file, head, rows)
    else:
        screen.line(f"{table.path}: {table.shape[0]} samples; their {fitted.n_components_} components are in {output}")


def scores_of(model: GSPPCA, data: Any) -> Any:
    """Components of samples whose columns are already in the order of the model."""
    with warnings.catch_warnings():
        # The names have been compared here; scikit-learn sees an array without any.
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        return model.transform(data)


def aligned(model: GSPPCA, table: Table) -> Any:
    """The columns of a table in the order of the model."""
    import numpy as np
    from scipy.sparse import issparse

    from gsppca.io import TableError

    names = getattr(model, "feature_names_in_", None)
    width = model.n_features_in_
    if names is None or table.feature_names is None:
        if table.shape[1] != width:
            raise TableError(
                f"{table.path}: {table.shape[1]} columns, but the model has {width}. Without names both must be alike."
            )
        return table.data
    if list(names) == list(table.feature_names):
        return table.data
    place = {name: i for i, name in enumerate(table.feature_names)}
    absent = [name for name, selected in zip(names, model.support_, strict=True) if selected and name not in place]
    if absent:
        raise TableError(
            f"{table.path}: no column {absent[0]!r}, which the model selected ({len(absent)} such). Add it, or check "
            "that the file is of the same kind."
        )
    data = table.data.tocsc() if issparse(table.data) else table.data
    result = np.tile(model.mean_.astype(data.dtype), (table.shape[0], 1))
    for k in np.flatnonzero(model.support_):
        column = data[:, [place[names[k]]]]
        result[:, k] = (column.toarray() if issparse(column) else column)[:, 0]
    return result
