"""``gsppca demo``: the method at work, on data that comes with scikit-learn."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from gsppca.cli.options import OUTPUT, Talk

if TYPE_CHECKING:
    from gsppca import GSPPCA


def demo(
    *,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"], group=OUTPUT)] = None,
    report: Annotated[bool, Parameter(negative=(), group=OUTPUT)] = False,
    overwrite: Annotated[bool, Parameter(negative=(), group=OUTPUT)] = False,
    talk: Annotated[Talk, Parameter(name="*", group=OUTPUT)] = Talk(),  # noqa: B008
) -> None:
    """Show the method at work: which pixels of handwritten digits matter, found without their labels.

    Parameters
    ----------
    output : path, optional
        Folder for the results, and for the digits themselves as digits.csv, to try other commands on.
    report : bool
        Write report.html too.
    overwrite : bool
        Replace the results in a folder that holds some.

    Examples
    --------
    ::

        gsppca demo
        gsppca demo -o demo --report
    """
    from gsppca.cli.errors import UsageError
    from gsppca.cli.fit import document, fit_table, show
    from gsppca.cli.screen import Screen
    from gsppca.io.write import check_destination

    screen = Screen(talk)
    if report and output is None:
        raise UsageError("--report needs a folder to write to. Say --output FOLDER.")
    if output is not None:
        check_destination(output, overwrite)
    files: list[str] = []
    with screen.working():
        from gsppca import GSPPCA

        table = _digits()
        start = time.perf_counter()
        model = fit_table(GSPPCA(evidence="noiseless"), table)
        seconds = time.perf_counter() - start
        if output is not None:
            files = _write(model, table, output, report=report, overwrite=overwrite)
    show(screen, model, table, seconds)
    screen.line("\nSelected (#) and dropped (.) pixels of the 8 x 8 images:\n")
    for row in model.support_.reshape(8, 8):
        screen.line("    " + " ".join("#" if pixel else "." for pixel in row))
    if output is not None:
        screen.line(f"\nWritten to {output}: {', '.join(files)}")
        screen.line(f"Now try:  gsppca info {shlex.quote(str(output / 'digits.csv'))} --label digit")
    screen.result(document(model, table, seconds, output, files))


def _digits() -> Any:
    from sklearn.datasets import load_digits

    from gsppca.io import Table

    data = load_digits()
    labels = [str(digit) for digit in data.target]
    return Table(data.data, list(data.feature_names), None, labels, Path("digits.csv"), "from scikit-learn")


def _write(model: GSPPCA, table: Any, folder: Path, *, report: bool, overwrite: bool) -> list[str]:
    """The results of the fit, and the data, in one folder."""
    from gsppca.cli.fit import write_results
    from gsppca.io.write import new_file, write_rows

    files = write_results(model, table, folder, report=report, overwrite=overwrite)
    with new_file(folder / "digits.csv", overwrite=True) as temporary:
        rows = ([*row, label] for row, label in zip(table.data.tolist(), table.labels, strict=True))
        write_rows(temporary, [*table.feature_names, "digit"], rows)
    return [*files, "digits.csv"]
