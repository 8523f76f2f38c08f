"""``gsppca compare``: our method and its competitors side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from gsppca.cli.options import MODEL, OUTPUT, READING, Talk, Value
from gsppca.io.options import ReadOptions


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

    Shown are the number of variables (size), the share of the variance that the principal components of those hold
    (variance), the mean overlap of the selections from random halves of the samples (stability), and the overlap with
    the first method (overlap). Overlaps are Jaccard indices, from 0 to 1.

    Parameters
    ----------
    file : path
        The table.
    n_components : int or "auto"
        Dimension of the latent space, the same for all.
    size : int, optional
        Number of variables, the same for all; by default each method follows its own rule.
    scale : bool
        Standardise the columns first.
    method : tuple of str
        GSPPCA, GSPPCA-paper (the paper's procedure), SvnPCA, VsnPCA, ThresholdedPCA, VarianceRanking and PlainPCA are
        the default; SPCA and SSPCA are often slower; can be given several times. "all" takes all.
    halves : int
        Random halves of the samples for the stability; 0 leaves it out.
    seed : int
        For the halves.
    output : path, optional
        CSV file for the comparison: a row per method.
    overwrite : bool
        Replace the file if it exists.

    Examples
    --------
    ::

        gsppca compare data.csv -d 10
        gsppca compare data.csv --size 50 --method GSPPCA --method VarianceRanking
        gsppca compare data.csv --halves 0 --json
    """
    from gsppca.cli.errors import UsageError
    from gsppca.cli.fit import check_size
    from gsppca.cli.screen import Screen, figure
    from gsppca.comparison import METHODS, SLOW, compare_methods
    from gsppca.io import read_table
    from gsppca.io.write import new_file, write_rows

    unknown = [name for name in method if name not in METHODS and method != ("all",)]
    if unknown:
        raise UsageError(
            f"--method {unknown[0]}: there is no such method. Choose from {', '.join(METHODS)}, or say all."
        )
    if isinstance(n_components, float) or (isinstance(n_components, str) and n_components != "auto"):
        raise UsageError(f"--n-components must be a positive integer or 'auto', got {n_components!r}.")
    if reading.missing == "impute":
        raise UsageError(
            "--missing impute is for fit and transform: the other methods know no missing values. Say mean."
        )
    screen = Screen(talk)
    head = ["method", "size", "variance", "stability", "overlap", "seconds"]
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
        rows = [[c.method, c.size, c.explained_variance, c.stability, c.overlap, c.seconds] for c in compared]
        if output is not None:
            with new_file(output, overwrite) as temporary:
                write_rows(temporary, head, rows)
    screen.line(f"{table.path}: {table.shape[0]} samples, {table.shape[1]} variables\n")
    screen.table(head, [[row[0], row[1], *(figure(value, ".3f") for value in row[2:])] for row in rows])
    for one in compared:
        if one.note:
            screen.line(f"\n{one.method}: {one.note}")
    if not method:
        screen.line(f"\n{' and '.join(SLOW)}, which are often slower, were left out; for all, say --method all")
    names = table.names
    screen.result(
        {
            "file": str(table.path),
            "methods": [
                dict(zip(head, row, strict=True))
                | {"note": one.note, "selected": [names[i] for i in one.support.nonzero()[0].tolist()]}
                for row, one in zip(rows, compared, strict=True)
            ],
        }
    )
