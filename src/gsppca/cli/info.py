"""``gsppca info``: what is in a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from gsppca.cli.options import OUTPUT, READING, Talk, count
from gsppca.io.options import ReadOptions

if TYPE_CHECKING:
    from gsppca.io import Survey

_SHOWN = 4
_LONGEST = 16  # name that is shown whole


def info(
    file: Path,
    /,
    *,
    reading: Annotated[ReadOptions, Parameter(name="*", group=READING)] = ReadOptions(),  # noqa: B008
    talk: Annotated[Talk, Parameter(name="*", group=OUTPUT)] = Talk(),  # noqa: B008
) -> None:
    """Say what is in a file before anything is fitted, and which command fits it.

    Shape, header, names of the rows, columns of text, missing values, constant columns; whether rows look like
    variables, numbers like raw counts, a column like a label, and columns like measurements in different units.

    Parameters
    ----------
    file : path
        The table.

    Examples
    --------
    ::

        gsppca info data.csv
        gsppca info cells.h5ad --layer counts
        gsppca info genes.tsv.gz --transpose auto
        gzip -dc data.csv.gz | gsppca info -
        gsppca info data.csv --json
    """
    from gsppca.cli.screen import Screen
    from gsppca.io import survey_file

    screen = Screen(talk)
    with screen.working():
        survey = survey_file(file, reading)
    for name, value in _lines(survey):
        screen.field(name, value)
    screen.line(f"\nTo fit it:\n  {survey.command}")
    screen.result(_document(survey))


def _lines(survey: Survey) -> list[tuple[str, str]]:
    table = survey.table
    n, p = table.shape
    lines = [("file", f"{table.path} ({table.format})")]
    lines += [("attention" if i == 0 else "", hint.text) for i, hint in enumerate(survey.hints)]
    if survey.rows_and_columns is None:
        lines.append(("shape", f"{n} samples (rows) x {p} variables (columns)"))
    else:
        height, width = survey.rows_and_columns
        lines.append(("shape", f"{height} rows x {width} columns; with --transpose {n} samples x {p} variables:"))
    lines.append(("numbers", f"{table.data.dtype}, {_megabytes(table.data)}, {survey.density:.1%} not zero"))
    lines.append(("variables", _some(table.feature_names, "no names; they are called x0, x1, ...")))
    lines.append(("samples", _some(table.sample_names, "no names")))
    if table.labels is not None:
        kinds = sorted(set(table.labels))
        lines.append(("label", f"{len(kinds)} different: {_some(kinds, '')}"))
    lines += [("note" if i == 0 else "", note) for i, note in enumerate(table.notes)]
    gaps, columns = count(survey.n_missing, "value"), count(len(survey.missing_columns), "column")
    missing = f"{gaps} in {columns}: {_some(survey.missing_columns, '')}"
    lines.append(("missing", missing if survey.n_missing else "none"))
    if survey.n_infinite:
        lines.append(("infinite", f"{count(survey.n_infinite, 'value')}; correct first"))
    constant = f"{count(len(survey.constant_columns), 'column')}, never selected: {_some(survey.constant_columns, '')}"
    lines.append(("constant", constant if survey.constant_columns else "no column"))
    low, middle, high = survey.spread
    verdict = "even enough to compare as they are"
    if survey.is_raw:
        verdict = "before logarithms: see above"
    elif survey.has_codes:
        verdict = "with the codes for missing values: see above"
    elif survey.is_uneven and survey.is_axis:
        verdict = "variables are positions on an axis, in one unit: --scale is not needed"
    elif survey.is_uneven:
        verdict = "some columns outweigh the others: --scale if their units differ"
    lines.append(("spread", f"standard deviations from {low:.3g} to {high:.3g}, half of them below {middle:.3g}"))
    lines.append(("", verdict))
    return lines


def _some(names: Sequence[str] | None, otherwise: str) -> str:
    if names is None:
        return otherwise
    some = list(names[:_SHOWN])
    if max(map(len, some), default=0) > _LONGEST and len({name.rpartition("/")[0] for name in some}) == 1:
        some = [name.rpartition("/")[2] for name in some]  # files of one folder
    shown = ", ".join(_short(name) for name in some)
    return shown if len(names) <= _SHOWN else f"{shown}, ... ({len(names)})"


def _short(name: str) -> str:
    """A long name cut off; quotation marks for one with a comma."""
    name = name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "…"
    return repr(name) if "," in name else name


def _megabytes(data: Any) -> str:
    size = data.nbytes if hasattr(data, "nbytes") else data.data.nbytes + data.indices.nbytes + data.indptr.nbytes
    return f"{size / 1e6:.3g} MB" if size >= 1e5 else f"{size / 1e3:.3g} kB"


def _document(survey: Survey) -> dict[str, Any]:
    table = survey.table
    n, p = table.shape
    return {
        "file": str(table.path),
        "format": table.format,
        "n_samples": n,
        "n_features": p,
        "dtype": str(table.data.dtype),
        "density": survey.density,
        "feature_names": table.feature_names is not None,
        "sample_names": table.sample_names is not None,
        "labels": None if table.labels is None else sorted(set(table.labels)),
        "text_columns": [column.name for column in table.text],
        "n_missing": survey.n_missing,
        "n_infinite": survey.n_infinite,
        "missing_columns": survey.missing_columns,
        "constant_columns": survey.constant_columns,
        "spread": list(survey.spread),
        "notes": list(table.notes),
        "hints": [hint.text for hint in survey.hints],
        "command": survey.command,
    }
