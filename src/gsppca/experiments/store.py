"""One tidy table per experiment: a CSV file that runs append to.

All rows of a run are written in one piece, each with its number and their count. Whatever an interruption leaves (a
torn last line, half of a run) is recognised and dropped, so that the run is done again.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from gsppca._atomic import write_file
from gsppca.experiments.spec import Experiment, Row, RunSpec

# What the runner adds to the columns of an experiment.
BOOKKEEPING = ("row", "of_rows", "seconds", "warnings", "versions", "when")
# Columns that may differ between two executions of the same runs.
TIMING = ("seconds", "versions", "when")

Key = tuple[str, ...]


def as_text(value: Any) -> str:
    """Text of a cell: nothing for None, ten digits of a float, 0 or 1 for a boolean."""
    if value is None:
        return ""
    kind = getattr(getattr(value, "dtype", None), "kind", "")
    if isinstance(value, bool) or kind == "b":
        return str(int(value))
    if isinstance(value, float) or kind == "f":
        return f"{float(value):.10g}"
    return str(value)


class ResultsTable:
    """The rows of one experiment on disk.

    Parameters
    ----------
    experiment : Experiment
        Gives the columns.
    directory : path
        Where the file NAME.csv is.
    """

    def __init__(self, experiment: Experiment, directory: str | os.PathLike[str]) -> None:
        self.experiment = experiment
        self.path = Path(directory) / f"{experiment.name}.csv"
        self.columns = ("seed", *experiment.parameters, *experiment.values, *BOOKKEEPING)

    def key(self, spec: RunSpec) -> Key:
        """Cells that tell a run from the others."""
        given = dict(spec.parameters)
        return (str(spec.seed), *(as_text(given.get(name)) for name in self.experiment.parameters))

    def done(self) -> set[Key]:
        """Runs whose rows are all there. What an interruption left of others is removed from the file."""
        if not self.path.exists():
            return set()
        lines, torn = self._lines()
        runs: dict[Key, list[list[str]]] = {}
        width = len(self.experiment.parameters) + 1
        count = self.columns.index("of_rows")
        for cells in lines:
            runs.setdefault(tuple(cells[:width]), []).append(cells)
        complete = {key: rows for key, rows in runs.items() if len(rows) == int(rows[0][count])}
        if torn or len(complete) < len(runs):
            self._rewrite([cells for rows in complete.values() for cells in rows])
        return set(complete)

    def append(self, spec: RunSpec, rows: Sequence[Row], bookkeeping: Row) -> None:
        """Add the rows of a run, all at once."""
        key = self.key(spec)
        lines = []
        for number, row in enumerate(rows):
            missing = set(self.experiment.values).symmetric_difference(row)
            if missing:
                raise ValueError(
                    f"rows of {self.experiment.name}: columns {sorted(missing)} are missing or unknown; "
                    f"expected exactly {self.experiment.values}"
                )
            extra = {"row": number, "of_rows": len(rows), **bookkeeping}
            values = [as_text(row[name]) for name in self.experiment.values]
            lines.append([*key, *values, *(as_text(extra[name]) for name in BOOKKEEPING)])
        self.path.parent.mkdir(parents=True, exist_ok=True)
        new = not self.path.exists()
        with self.path.open("a", encoding="utf-8", newline="") as file:
            file.write(_csv([self.columns] if new else []) + _csv(lines))
            file.flush()
            os.fsync(file.fileno())

    def read(self) -> Any:
        """All complete rows, as a pandas DataFrame."""
        import pandas as pd

        self.done()
        if not self.path.exists():
            raise FileNotFoundError(
                f"{self.path} does not exist: run it first, with gsppca experiment run {self.experiment.name}"
            )
        # "NA" and "None" are texts like others here; only an empty cell is missing.
        return pd.read_csv(self.path, keep_default_na=False, na_values=[""])

    def _lines(self) -> tuple[list[list[str]], bool]:
        """Cells of all whole lines, and whether the file ended in a torn one."""
        text = self.path.read_text(encoding="utf-8")
        whole, newline, rest = text.rpartition("\n")
        lines = list(csv.reader(io.StringIO(whole)))
        if lines and tuple(lines[0]) != self.columns:
            raise ValueError(
                f"{self.path} has the columns {lines[0]}, expected {list(self.columns)}: another version wrote it. "
                "Move it away, or give another directory."
            )
        sound = [cells for cells in lines[1:] if len(cells) == len(self.columns)]
        return sound, bool(rest) or len(sound) < len(lines) - 1 or not newline

    def _rewrite(self, lines: list[list[str]]) -> None:
        """Replace the file, in one step."""
        write_file(self.path, (_csv([self.columns]) + _csv(lines)).encode())


def _csv(lines: Sequence[Sequence[str]]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(lines)
    return buffer.getvalue()


def tables_in(directory: str | os.PathLike[str]) -> Iterator[str]:
    """Names of the experiments that have a table in a directory."""
    yield from sorted(path.stem for path in Path(directory).glob("*.csv"))
