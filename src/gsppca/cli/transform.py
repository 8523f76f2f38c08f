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

    Columns are found by their names, in any order; others are ignored, whatever they hold. Variables that were not
    selected need not be there. The file is read as that of the fit was (label, names of the samples, --transpose,
    --log, --na, --missing), unless options say otherwise.

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
    from gsppca.cli.new_samples import read_samples
    from gsppca.cli.screen import Screen
    from gsppca.io.write import check_output, new_file, score_rows, write_rows

    screen = Screen(talk)
    check_output(output, overwrite)
    fitted: Any = load(model)
    if not hasattr(fitted, "components_"):
        raise UsageError(f"{model} is a {type(fitted).__name__}, which has no components. Give a model of gsppca fit.")
    with screen.working():
        table = read_samples(fitted, file, reading)
        scores = scores_of(fitted, table.data)
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
