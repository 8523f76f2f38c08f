"""``gsppca demo``: the method at work, on data that comes with scikit-learn."""

from __future__ import annotations

import shlex
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from gsppca.cli.options import OUTPUT, Talk

if TYPE_CHECKING:
    from gsppca import GSPPCA
    from gsppca.cli.screen import Screen


def demo(
    *,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"], group=OUTPUT)] = None,
    report: Annotated[bool, Parameter(negative=(), group=OUTPUT)] = False,
    overwrite: Annotated[bool, Parameter(negative=(), group=OUTPUT)] = False,
    talk: Annotated[Talk, Parameter(name="*", group=OUTPUT)] = Talk(),  # noqa: B008
) -> None:
    """Show the method at work on three data sets: two with known truth, and pixels of handwritten digits.

    Parameters
    ----------
    output : path, optional
        Folder for the results of the digits, and for the data as digits.csv and madelon-like.csv, to try other
        commands on.
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
    from gsppca.io.write import destination

    screen = Screen(talk)
    if report and output is None:
        raise UsageError("--report needs a folder to write to. Use --output FOLDER.")
    files: list[str] = []
    with destination(output, overwrite), screen.working():
        from gsppca import GSPPCA

        known = [_with_truth(*example) for example in (_introductory(), _madelon_like())]
        table = _digits()
        start = time.perf_counter()
        model = fit_table(GSPPCA(), table)
        seconds = time.perf_counter() - start
        if output is not None:
            files = _write(model, table, known[1].table, output, report=report, overwrite=overwrite)
    for number, example in enumerate(known, start=1):
        screen.paragraph(f"{number}. {example.title}", indent=3)
        screen.paragraph(f"   {example.answer}", indent=3)
        screen.line()
    screen.paragraph("3. Handwritten digits, without their labels: which of the 8 x 8 pixels carry the structure?", 3)
    screen.line()
    show(screen, model, table, seconds, written=output is not None)
    screen.line("\nPixels: # core, + related, . noise\n")
    for row in model.role_.reshape(8, 8):
        screen.line("    " + " ".join(TONES[role] for role in row))
    _next_steps(screen, output, files, report=report)
    others = [{"example": one.title, "n_selected": one.n_selected, "n_true": one.n_true} for one in known]
    screen.result({**document(model, table, seconds, output, files), "known_truth": others})


TONES = {"core": "#", "related": "+", "noise": "."}


@dataclass(frozen=True)
class _Example:
    """Data whose relevant variables are known, and what was found."""

    title: str
    answer: str
    n_selected: int
    n_true: int
    table: Any


def _next_steps(screen: Screen, output: Path | None, files: list[str], *, report: bool) -> None:
    if output is None:
        screen.line("\nNow try:  gsppca demo -o demo --report")
        return
    screen.line(f"\nWritten to {output}: {', '.join(files)}")
    digits, madelon = (shlex.quote(str(output / name)) for name in ("digits.csv", "madelon-like.csv"))
    screen.line("Now try:")
    if report:
        screen.line(f"  open {shlex.quote(str(output / 'report.html'))} in a browser, and move the slider")
    screen.line(f"  gsppca fit {digits} --label digit --size 10")
    screen.line(f"  gsppca fit {madelon}")
    screen.line(f"  gsppca info {digits} --label digit")


def _with_truth(title: str, table: Any, support: Any) -> _Example:
    """Fit data of known truth, and say what was found."""
    import numpy as np

    from gsppca import GSPPCA

    start = time.perf_counter()
    model = GSPPCA().fit(table.data)
    seconds = time.perf_counter() - start
    true = int(np.sum(model.support_ & support))
    answer = (
        f"Selected: {model.n_selected_} variables, {true} of the {int(support.sum())} true ones and "
        f"{model.n_selected_ - true or 'none'} false; {model.n_components_} components; {seconds:.2f} s. A core of "
        f"{int(model.core_.sum())} carries {model.core_share_:.0%} of their structure on rows left out."
    )
    return _Example(title, answer, int(model.n_selected_), true, table)


def _introductory() -> tuple[str, Any, Any]:
    from gsppca.datasets import make_introductory
    from gsppca.io import Table

    data = make_introductory(random_state=0)
    title = "The paper's introductory example: 50 samples, 30 variables, of which 10 carry 5 factors."
    return title, Table(data.X, None, None, None, Path("introductory.csv"), "simulated"), data.support


def _madelon_like() -> tuple[str, Any, Any]:
    """Data by the generator of madelon, as whole numbers, which madelon's are; columns in random order."""
    import numpy as np
    from sklearn.datasets import make_classification

    from gsppca.io import Table

    X, _ = make_classification(
        1000, 500, n_informative=5, n_redundant=15, n_clusters_per_class=16, shuffle=False, random_state=0
    )
    order = np.random.default_rng(0).permutation(500)
    title = (
        "Data like the benchmark madelon, by its generator, scikit-learn's make_classification: 1000 samples, 500 "
        "variables, of which 5 are informative, 15 are combinations of these and 480 are noise."
    )
    names = [f"v{k}" for k in range(500)]
    return title, Table(np.round(480 + 10 * X[:, order]), names, None, None, Path("madelon-like.csv"), ""), order < 20


def _digits() -> Any:
    from sklearn.datasets import load_digits

    from gsppca.io import Table

    data = load_digits()
    labels = [str(digit) for digit in data.target]
    return Table(data.data, list(data.feature_names), None, labels, Path("digits.csv"), "from scikit-learn")


def _write(model: GSPPCA, table: Any, madelon: Any, folder: Path, *, report: bool, overwrite: bool) -> list[str]:
    """The results of the fit, and the data, in one folder."""
    from gsppca.cli.fit import write_results
    from gsppca.io.write import new_file, write_rows

    files = write_results(model, table, folder, report=report, overwrite=overwrite)
    with new_file(folder / "digits.csv", overwrite=True) as temporary:
        rows = ([*row, label] for row, label in zip(table.data.tolist(), table.labels, strict=True))
        write_rows(temporary, [*table.feature_names, "digit"], rows)
    with new_file(folder / "madelon-like.csv", overwrite=True) as temporary:
        write_rows(temporary, madelon.feature_names, madelon.data.astype(int).tolist())
    return [*files, "digits.csv", "madelon-like.csv"]
