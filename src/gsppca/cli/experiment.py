"""`gsppca experiment`: rerun the tables and figures of the paper, and make the page of results."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

_EXAMPLES = """
    gsppca experiment list
    gsppca experiment run noise-range --jobs 4
    gsppca experiment run all --quick
    gsppca experiment report
"""

app = App(
    help_format="markdown",
    name="experiment",
    help="Rerun the tables and figures of the paper, with your own methods and data beside them.",
    help_epilogue=f"Examples:\n{_EXAMPLES}",
)

DEFAULT_OUT = Path("results")
DATA_VARIABLE = "GSPPCA_DATA"


@app.command(name="list")
def list_experiments() -> None:
    """List the experiments: name, place in the paper, what each shows."""
    from rich.console import Console
    from rich.table import Table

    from gsppca.experiments import experiment_names, get_experiment

    table = Table(box=None, pad_edge=False)
    table.add_column("name", no_wrap=True, style="bold")
    table.add_column("paper")
    table.add_column("what it shows")
    for name in experiment_names():
        experiment = get_experiment(name)
        place = experiment.paper + (" (needs GSPPCA_DATA)" if experiment.needs_data else "")
        table.add_row(name, place, experiment.question)
    Console().print(table)


@app.command
def run(
    name: str,
    *,
    quick: Annotated[bool, Parameter(negative="")] = False,
    jobs: int = 1,
    engine: Literal["joblib", "dask"] = "joblib",
    seed: int = 0,
    runs: int | None = None,
    method: tuple[str, ...] = (),
    data: str | None = None,
    out: Path = DEFAULT_OUT,
) -> None:
    """Run an experiment and append its rows to OUT/NAME.csv; what is there already is not run again.

    Parameters
    ----------
    name
        Name of an experiment (see `list`), "all", or "module:class" for one of your own.
    quick
        A few small runs, in seconds; their rows go to OUT/quick.
    jobs
        Worker processes.
    engine
        Who runs them: "joblib", or "dask" (a local cluster of `jobs` processes).
    seed
        First seed; the others follow.
    runs
        Data sets per setting, instead of the paper's number.
    method
        A method of your own to compare, as "module:factory"; may be repeated.
    data
        Another data set for the experiments on genes: "VDX", or "module:function".
    out
        Folder of the tables.
    """
    from gsppca.cli.errors import INTERRUPTED
    from gsppca.cli.experiment_progress import shown_progress
    from gsppca.experiments import Plan, experiment_names, get_experiment, run_experiment

    plan = Plan(quick=quick, n_runs=runs, seed=seed, methods=tuple(method), data=data)
    folder = out / "quick" if quick else out
    for one in experiment_names() if name == "all" else [name]:
        experiment = get_experiment(one)
        with shown_progress() as say:
            if name == "all" and experiment.needs_data and DATA_VARIABLE not in os.environ:
                say(f"{one}: skipped, for {DATA_VARIABLE} is not set; it names the directory of the real data")
                continue
            try:
                done = run_experiment(experiment, str(folder), plan, jobs=jobs, engine=engine)
            except KeyboardInterrupt:
                say(f"{one}: interrupted; rows so far are in {folder}, and the same command goes on from there")
                raise SystemExit(INTERRUPTED) from None
            say(f"{one}: {done.done} runs done, {done.found} found done, rows in {folder / (one + '.csv')}")


@app.command
def report(*, out: Path = DEFAULT_OUT) -> None:
    """Write OUT/index.html and OUT/README.md from the tables in OUT.

    Parameters
    ----------
    out
        Folder of the tables.
    """
    from rich.console import Console

    from gsppca.experiments.report import write_report

    Console().print(f"wrote {write_report(out)} and README.md beside it", soft_wrap=True)


if __name__ == "__main__":
    app()
