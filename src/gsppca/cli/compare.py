"""``gsppca compare``: our method and its competitors side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from gsppca.cli.options import MODEL, OUTPUT, READING, Talk, Value
from gsppca.io.options import ReadOptions

if TYPE_CHECKING:
    from gsppca.comparison import Compared


def compare(
    file: Path,
    /,
    *,
    n_components: Annotated[Value, Parameter(name=["--n-components", "-d"], metavar="INT|auto", group=MODEL)] = "auto",
    size: Annotated[int | None, Parameter(group=MODEL)] = None,
    scale: Annotated[bool, Parameter(group=MODEL)] = False,
    method: Annotated[tuple[str, ...], Parameter(group=MODEL)] = (),
    halves: Annotated[int, Parameter(group=MODEL)] = 4,
    seed: Annotated[int, Parameter(group=MODEL)] = 0,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"], group=OUTPUT)] = None,
    overwrite: Annotated[bool, Parameter(negative=(), group=OUTPUT)] = False,
    reading: Annotated[ReadOptions, Parameter(name="*", group=READING)] = ReadOptions(),  # noqa: B008
    talk: Annotated[Talk, Parameter(name="*", group=OUTPUT)] = Talk(),  # noqa: B008
) -> None:
    """Select variables with several methods, and compare what they find.

    There are two tables: all methods at one small size, and each at its own. They show the share of the components of
    all variables that the variables chosen on one half of the samples predict on the other half (share), how alike
    the selections from halves are, corrected for chance (stability: 1 the same, 0 as random ones), the mean absolute
    correlation of two selected variables (redundancy), and the overlap with the first method (Jaccard index). Beside
    them stand random variables, and all variables.

    Parameters
    ----------
    file : path
        The table.
    n_components : int or "auto"
        Dimension of the latent space; "auto" lets GSPPCA choose, and estimates it for the other methods.
    size : int, optional
        The common size; by default 20, or a quarter of the variables if these are fewer than 80.
    scale : bool
        Standardise the columns first.
    method : tuple of str
        gsppca-joint, gsppca-paper (the paper's procedure), svnpca, vsnpca, tpca and variance are the default; spca and
        sspca are often slower; can be given several times. "all" takes all of these.
    halves : int
        Random halves of the samples, for share and stability; 0 leaves these out.
    seed : int
        For the halves.
    output : path, optional
        CSV file for the comparison: a row per method and size.
    overwrite : bool
        Replace the file if it exists.

    Examples
    --------
    ::

        gsppca compare data.csv
        gsppca compare data.csv --size 50 --method gsppca-joint --method variance
        gsppca compare data.csv --halves 0 --json
    """
    from gsppca.cli.errors import UsageError
    from gsppca.cli.fit import check_size
    from gsppca.cli.screen import Screen, as_options, figure
    from gsppca.comparison import SLOW, compare_methods
    from gsppca.experiments.methods import method_names
    from gsppca.io import read_table
    from gsppca.io.write import check_output, new_file, write_rows

    unknown = [name for name in method if name not in method_names() and ":" not in name and method != ("all",)]
    if unknown:
        raise UsageError(
            f"--method {unknown[0]}: there is no such method. Choose from {', '.join(method_names())}, or use all."
        )
    if isinstance(n_components, float) or (isinstance(n_components, str) and n_components != "auto"):
        raise UsageError(f"--n-components must be a positive integer or 'auto', got {n_components!r}.")
    if reading.missing == "impute":
        raise UsageError(
            "--missing impute is for fit and transform: the other methods know no missing values. Use --missing mean."
        )
    screen = Screen(talk)
    check_output(output, overwrite)
    head = ["method", "size", "share", "stability", "redundancy", "overlap", "seconds"]
    with screen.working():
        table = read_table(file, reading)
        check_size(table)
        compared = compare_methods(
            table.data,
            n_components,
            size=size,
            methods="all" if method == ("all",) else method or None,
            scale=scale,
            n_subsamples=halves,
            random_state=seed,
        )
        rows = [[c.method, c.size, c.share, c.stability, c.redundancy, c.overlap, c.seconds] for c in compared]
        if output is not None:
            with new_file(output, overwrite) as temporary:
                write_rows(temporary, ["at", *head], [[c.at, *row] for c, row in zip(compared, rows, strict=True)])
    screen.line(f"{table.path}: {table.shape[0]} samples, {table.shape[1]} variables")
    for at, title in (("common", f"All at {compared[0].size} variables"), ("own", "Each at its own size")):
        screen.line(f"\n{title}\n")
        shown = [row for row, c in zip(rows, compared, strict=True) if c.at == at]
        screen.table(head, [[row[0], row[1], *(figure(value, ".3f") for value in row[2:])] for row in shown])
    screen.line()
    for line in _legend(compared[0].method):
        screen.paragraph(line, indent=2)
    for line in _extremes(compared, table.shape[1]):
        screen.paragraph(line, indent=2)
    for note in dict.fromkeys(f"{c.method}: {as_options(c.note)}" for c in compared if c.note and c.at == "own"):
        screen.paragraph(note, indent=2)
    if not method:
        screen.paragraph(f"{' and '.join(SLOW)}, often slower, were left out; for all: --method all")
    names = table.names
    screen.result(
        {
            "file": str(table.path),
            "methods": [
                {"at": one.at}
                | dict(zip(head, row, strict=True))
                | {"note": one.note, "selected": [names[i] for i in one.support.nonzero()[0].tolist()]}
                for row, one in zip(rows, compared, strict=True)
            ],
        }
    )


def _legend(first: str) -> list[str]:
    """What the columns of the tables mean."""
    return [
        "share: predicted on the half of the samples that was not used to choose",
        "stability: 1 if every half gives the same variables, 0 as for random ones",
        "redundancy: mean absolute correlation of two selected variables",
        f"overlap: with {first}, 1 for the same variables",
    ]


def _extremes(compared: Sequence[Compared], n_features: int) -> list[str]:
    """Name the methods whose own choice is all variables, one or none."""
    from gsppca.comparison.judge import FAILED

    own = [
        one
        for one in compared
        if one.at == "own" and one.method not in ("random", "all") and not one.note.startswith(FAILED)
    ]
    lines = []
    for size, words in ((n_features, "all variables"), (1, "one variable"), (0, "no variable")):
        names = [one.method for one in own if one.size == size]
        if names:
            lines.append(f"{words} at {'its' if len(names) == 1 else 'their'} own size: {', '.join(names)}")
    return lines
