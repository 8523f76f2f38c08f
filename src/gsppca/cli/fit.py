"""``gsppca fit``: select variables and write what was found."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from gsppca.cli.options import MODEL, OUTPUT, READING, ModelOptions, Talk, count, typed
from gsppca.io.options import ReadOptions

if TYPE_CHECKING:
    from gsppca import GSPPCA
    from gsppca.cli.screen import Screen
    from gsppca.io import Table

_SHOWN = 10


def fit(
    file: Path,
    /,
    *,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"], group=OUTPUT)] = None,
    report: Annotated[bool, Parameter(negative=(), group=OUTPUT)] = False,
    overwrite: Annotated[bool, Parameter(negative=(), group=OUTPUT)] = False,
    model: Annotated[ModelOptions, Parameter(name="*", group=MODEL)] = ModelOptions(),  # noqa: B008
    reading: Annotated[ReadOptions, Parameter(name="*", group=READING)] = ReadOptions(),  # noqa: B008
    talk: Annotated[Talk, Parameter(name="*", group=OUTPUT)] = Talk(),  # noqa: B008
) -> None:
    """Select the variables of a table that carry its structure, and write them down.

    Rows are samples, columns are variables. Reads CSV and TSV (also compressed), Parquet, Feather, npy, npz, Matrix
    Market, h5ad and zarr. Without --output the selection is only shown.

    Parameters
    ----------
    file : path
        The table.
    output : path, optional
        Folder for the results: selected.csv, scores.csv, evidence.csv, model.json with model.npz, report.html. It
        appears when all is written, or not at all.
    report : bool
        Write report.html too: one page to look at, that works offline.
    overwrite : bool
        Replace the results in a folder that holds some; other files in it are kept.

    Examples
    --------
    ::

        gsppca fit data.csv -d 10 -o results --report
        gsppca fit genes.tsv.gz --transpose --size 200 --scale -o results
        gsppca fit cells.h5ad --layer log1p --label cell_type -o results
        gsppca fit iris.csv --label species --scale --json
    """
    from gsppca.cli.screen import Screen
    from gsppca.io import read_table
    from gsppca.io.write import check_destination

    screen = Screen(talk)
    if report and output is None:
        from gsppca.cli.errors import UsageError

        raise UsageError("--report needs a folder to write to. Say --output FOLDER.")
    if output is not None:
        check_destination(output, overwrite)
    estimator = model.model()
    if reading.missing == "impute":
        estimator.set_params(missing="impute")
    with screen.working():
        table = read_table(file, reading)
        start = time.perf_counter()
        fitted = fit_table(estimator, table)
        seconds = time.perf_counter() - start
        files = [] if output is None else write_results(fitted, table, output, report=report, overwrite=overwrite)
    show(screen, fitted, table, seconds)
    if output is not None:
        screen.line(f"\nWritten to {output}: {', '.join(files)}")
    screen.result(document(fitted, table, seconds, output, files))


def fit_table(model: GSPPCA, table: Table) -> GSPPCA:
    """Fit, and remember the names of the columns."""
    import numpy as np

    check_size(table)
    model.fit(table.data)
    if table.feature_names is not None:
        model.feature_names_in_ = np.array(list(table.feature_names), dtype=object)
    return model


def check_size(table: Table) -> None:
    """Refuse a table in which nothing can vary, or vary together."""
    from gsppca.io import TableError

    for number, what in zip(table.shape, ("sample", "variable"), strict=True):
        if number < 2:
            raise TableError(
                f"{table.path}: only {count(number, what)} in the file, at least 2 are needed. Check --header, "
                "--separator and --transpose: rows are samples, columns are variables."
            )


def write_results(
    model: GSPPCA, table: Table, folder: Path, *, report: bool = False, overwrite: bool = False
) -> list[str]:
    """Write all files of a fit, in one move; return their names."""
    from gsppca._optional import optional_import
    from gsppca.cli.transform import scores_of
    from gsppca.io.write import OUTPUTS, evidence_rows, new_folder, score_rows, selected_rows, write_rows
    from gsppca.progress import tell

    tell("writing", 0)
    with new_folder(folder, overwrite) as temporary:
        write_rows(temporary / "selected.csv", *selected_rows(model, table.names))
        write_rows(temporary / "evidence.csv", *evidence_rows(model, table.names))
        rows = score_rows(model, scores_of(model, table.data), table.sample_names, table.labels)
        write_rows(temporary / "scores.csv", *rows)
        model.save(temporary)
        if report:
            optional_import("gsppca.report", "A report", "report").write_report(
                model,
                temporary / "report.html",
                X=table.data,
                feature_names=table.names,
                sample_names=table.sample_names,
                labels=table.labels,
                command=shlex.join(["gsppca", *typed.get()]),
                settings={**model.get_params(), "file": str(table.path)},
            )
        return [name for name in OUTPUTS if (temporary / name).exists()]


def show(screen: Screen, model: GSPPCA, table: Table, seconds: float) -> None:
    """Show the selection: headline, and the first of the variables."""
    from gsppca.io.write import selected_rows

    n, p = table.shape
    share = float(model.explained_variance_ratio_.sum())
    screen.line(f"{table.path}: {n} samples, {p} variables ({table.format})")
    for note in table.notes:
        screen.note(f"  {note}")
    selected, d = f"{model.n_selected_} of {p} variables selected", count(model.n_latent_, "component")
    screen.line(f"{selected}, with {d}, in {seconds:.2f} s")
    verb = "component holds" if model.n_components_ == 1 else "components hold"
    screen.line(f"{'Its' if model.n_selected_ == 1 else 'Their'} {verb} {share:.1%} of the variance")
    screen.line()
    _, rows = selected_rows(model, table.names)
    # The four first columns, and where the variable weighs most: all loadings are in selected.csv.
    short = [[*row[:2], f"{row[2]:.4f}", row[3], *_heaviest(row[4:])] for row in rows[:_SHOWN]]
    screen.table(["rank", "name", "relevance", "evidence", "loading", "on"], short)
    if len(rows) > _SHOWN:
        screen.line(f"... and {len(rows) - _SHOWN} more")


def _heaviest(loadings: list[float]) -> tuple[str, str]:
    place = max(range(len(loadings)), key=lambda i: abs(loadings[i]))
    return f"{loadings[place]:.3f}", f"gsppca{place}"


def document(model: GSPPCA, table: Table, seconds: float, output: Path | None, files: list[str]) -> dict[str, Any]:
    """The result for programs."""
    from gsppca import __version__
    from gsppca.io.write import selected_rows

    head, rows = selected_rows(model, table.names)
    n, p = table.shape
    return {
        "gsppca": __version__,
        "file": str(table.path),
        "format": table.format,
        "notes": list(table.notes),
        "n_samples": n,
        "n_features": p,
        "parameters": {name: value for name, value in model.get_params().items() if _is_plain(value)},
        "n_components": int(model.n_components_),
        "n_latent": int(model.n_latent_),
        "n_selected": int(model.n_selected_),
        "explained_variance_ratio": [float(value) for value in model.explained_variance_ratio_],
        "noise_variance": float(model.noise_variance_),
        "n_iter": int(model.n_iter_),
        "seconds": round(seconds, 3),
        "selected": [dict(zip(head, row, strict=True)) for row in rows],
        "output": None if output is None else str(output),
        "files": files,
    }


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str)
