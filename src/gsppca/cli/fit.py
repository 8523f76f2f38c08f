"""``gsppca fit``: select variables and write what was found."""

from __future__ import annotations

import shlex
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from gsppca.cli.options import MODEL, OUTPUT, READING, ModelOptions, Talk, count, typed
from gsppca.io.options import ReadOptions

if TYPE_CHECKING:
    from gsppca import GSPPCA
    from gsppca.cli.screen import Screen
    from gsppca.io import Table

_SHOWN = 20


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
    json_all: Annotated[bool, Parameter(negative=(), group=OUTPUT)] = False,
) -> None:
    """Select the variables of a table that carry its structure, and write them down.

    Rows are samples, columns are variables. Reads CSV and TSV (also compressed), Excel, Parquet, Feather, npy, npz,
    Matrix Market, h5ad and zarr, and text on standard input (-). Without --output the selection is only shown.

    Parameters
    ----------
    file : path
        The table.
    output : path, optional
        Folder for the results: selected.csv (all variables with their roles), scores.csv, shares.csv, evidence.csv,
        model.json with model.npz, report.html. It appears when all is written, or not at all.
    report : bool
        Write report.html too: one page to look at, that works offline.
    overwrite : bool
        Replace the results in a folder that holds some; other files in it are kept.
    json_all : bool
        Print JSON with a row for every variable; --json has the selected ones only.

    Examples
    --------
    ::

        gsppca fit data.csv -o results --report
        gsppca fit genes.tsv.gz --transpose --size 200 -o results
        gsppca fit cells.h5ad --layer log1p --label cell_type -o results
        gsppca fit iris.csv --label species --scale --json
    """
    from gsppca.cli.screen import Screen
    from gsppca.io.child import reader_started

    screen = Screen(replace(talk, json=talk.json or json_all))
    if report and output is None:
        from gsppca.cli.errors import UsageError

        raise UsageError("--report needs a folder to write to. Use --output FOLDER.")
    with reader_started(file):
        fitted, table, seconds, files = _fit_file(file, output, report, overwrite, model, reading, screen)
    show(screen, fitted, table, seconds, written=output is not None)
    if output is not None:
        screen.line()
        screen.paragraph(f"Written to {output}: {', '.join(files)}", indent=2)
    screen.result(document(fitted, table, seconds, output, files, everything=json_all))


def _fit_file(
    file: Path,
    output: Path | None,
    report: bool,
    overwrite: bool,
    model: ModelOptions,
    reading: ReadOptions,
    screen: Screen,
) -> tuple[GSPPCA, Table, float, list[str]]:
    """Read, fit and write; return the model, the table, how long the fit took, and the names of the files."""
    from gsppca.io import read_table
    from gsppca.io.write import destination

    estimator = model.model()
    if reading.missing == "impute":
        estimator.set_params(missing="impute")
    with destination(output, overwrite), screen.working():
        table = read_table(file, reading)
        start = time.perf_counter()
        fitted = fit_table(estimator, table)
        seconds = time.perf_counter() - start
        files = [] if output is None else write_results(fitted, table, output, report=report, overwrite=overwrite)
    return fitted, table, seconds, files


def fit_table(model: GSPPCA, table: Table) -> GSPPCA:
    """Fit, and remember the names of the columns."""
    import numpy as np

    check_size(table)
    # The estimator sees an array without names: those to include or exclude are found here.
    wanted = {option: getattr(model, option) for option in ("include", "exclude")}
    model.set_params(**{option: _places(table, option, names) for option, names in wanted.items()})
    model.fit(table.data)
    model.set_params(**wanted)
    if table.feature_names is not None:
        model.feature_names_in_ = np.array(list(table.feature_names), dtype=object)
    model.reading_ = dict(table.reading)  # for transform
    return model


def _places(table: Table, option: str, names: Any) -> list[int] | None:
    """Columns of the table that have these names."""
    from difflib import get_close_matches

    from gsppca.io import TableError

    if names is None:
        return None
    known = {name: place for place, name in enumerate(table.names)}
    for name in names:
        if name not in known:
            near = get_close_matches(name, list(known), n=3)
            meant = (
                f" The nearest {'name is' if len(near) == 1 else 'names are'} {', '.join(map(repr, near))}."
                if near
                else ""
            )
            raise TableError(f"--{option} {name!r}: {table.path} has no such variable.{meant} Correct or remove it.")
    return [known[name] for name in names]


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
    from gsppca.io.write import OUTPUTS, evidence_rows, new_folder, score_rows, selected_rows, share_rows, write_rows
    from gsppca.progress import tell

    tell("writing", 0)
    with new_folder(folder, overwrite) as temporary:
        write_rows(temporary / "selected.csv", *selected_rows(model, table.names))
        shares = share_rows(model, table.names)
        if shares is not None:
            write_rows(temporary / "shares.csv", *shares)
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


def show(screen: Screen, model: GSPPCA, table: Table, seconds: float, *, written: bool = True) -> None:
    """Show the selection: headline, the first of the variables, a line for each other role, other sizes."""
    from gsppca.cli.screen import as_options
    from gsppca.overview import overview
    from gsppca.summary import doubts, headline, noise_line, other_sizes, related_line, shown_group

    n, p = table.shape
    view = overview(model, table.names)
    screen.line(f"{table.path}: {n} samples, {p} variables ({table.format})")
    for note in table.notes:
        screen.note(f"  {note}")
    screen.line()
    for sentence in headline(view):
        screen.paragraph(sentence)
    for doubt in doubts(view):
        screen.paragraph(f"note: {as_options(doubt)}", indent=2)
    screen.line()
    rows = []
    for k in view.order[: min(_SHOWN, view.n_selected)].tolist():
        share = view.share_at(int(view.rank[k]))
        group = shown_group(view, view.stands_for(k))
        so_far = "" if share is None else f"{share:.0%}"
        rows.append([int(view.rank[k]), view.names[k], str(view.role[k]), group, so_far])
    head = ["rank", "name", "role", "stands for", "share"]
    kept = [j for j in range(len(head)) if j < 3 or any(row[j] for row in rows)]  # not known for every rule
    screen.table([head[j] for j in kept], [[row[j] for j in kept] for row in rows])
    if view.n_selected > len(rows):
        where = "selected.csv" if written else "the folder of -o, or --json"
        screen.line(f"... and {view.n_selected - len(rows)} more: see {where}")
    screen.line()
    screen.paragraph(f"related: {related_line(view)}", indent=9)
    screen.paragraph(f"noise:   {noise_line(view)}", indent=9)
    sizes = [f"{size} {'carries' if size == 1 else 'carry'} {share:.0%}" for size, share in other_sizes(view)]
    if sizes:
        screen.paragraph(f"sizes:   {', '.join(sizes)} (--size NUMBER)", indent=9)
    screen.line(f"{count(model.n_components_, 'component')}, {seconds:.2f} s")


def document(
    model: GSPPCA, table: Table, seconds: float, output: Path | None, files: list[str], *, everything: bool = False
) -> dict[str, Any]:
    """The result for programs: the selection, or with `everything` a row for each variable."""
    from gsppca import __version__
    from gsppca.io.write import selected_rows
    from gsppca.overview import overview
    from gsppca.summary import doubts

    view = overview(model, table.names)
    n, p = table.shape
    description = None if view.core is None else view.core.description
    result: dict[str, Any] = {
        "gsppca": __version__,
        "file": str(table.path),
        "format": table.format,
        "notes": list(table.notes),
        "n_samples": n,
        "n_features": p,
        "parameters": {name: value if _is_plain(value) else repr(value) for name, value in model.get_params().items()},
        "n_components": int(model.n_components_),
        "n_latent": int(model.n_latent_),
        "supported": view.supported,
        "selected_by": view.selected_by,
        "n_selected": view.n_selected,
        "n_relevant": view.n_relevant,
        "n_core": view.n_core,
        "doubts": doubts(view),
        "core_share": None if view.core is None else view.core.share,
        "selected_share": view.share,
        "core_variance_share": None if description is None else description.variance_share,
        "core_components_share": None if description is None else description.components_share,
        "explained_variance_ratio": [float(value) for value in model.explained_variance_ratio_],
        "noise_variance": float(model.noise_variance_),
        "n_iter": int(model.n_iter_),
        "seconds": round(seconds, 3),
        "selected": [
            {
                "rank": int(view.rank[k]),
                "name": view.names[k],
                "role": str(view.role[k]),
                "share": view.share_at(int(view.rank[k])),
            }
            for k in view.order[: view.n_selected].tolist()
        ],
        "output": None if output is None else str(output),
        "files": files,
    }
    if everything:
        head, rows = selected_rows(model, table.names)
        result["variables"] = [dict(zip(head, row, strict=True)) for row in rows]
    return result


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str)
