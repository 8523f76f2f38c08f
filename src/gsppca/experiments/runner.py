"""Run what is left of an experiment, here or on many workers, and append the rows.

Each run is computed with one BLAS thread and its rows are written in the order of the plan: one process, joblib and
dask give the same table.
"""

from __future__ import annotations

import platform
import time
import warnings
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from gsppca._optional import optional_import
from gsppca.checks import check_choice, check_count
from gsppca.experiments.data import OwnData, adopt_data, own_data
from gsppca.experiments.methods import Method, adopt, own_methods
from gsppca.experiments.spec import Experiment, Plan, Row, RunSpec
from gsppca.experiments.store import ResultsTable
from gsppca.progress import tell

ENGINES = ("joblib", "dask")
PACKAGES = ("gsppca", "numpy", "scipy", "scikit-learn")


@dataclass(frozen=True)
class Outcome:
    """Rows of one run, and what the runner notes beside them."""

    spec: RunSpec
    rows: list[Row]
    bookkeeping: Row


@dataclass(frozen=True)
class Progress:
    """How far an experiment got: runs done now, found done, and in all."""

    done: int
    found: int
    total: int


def run_experiment(
    experiment: Experiment,
    directory: str,
    plan: Plan | None = None,
    *,
    jobs: int = 1,
    engine: str = "joblib",
) -> Progress:
    """Run what the table of an experiment does not hold yet.

    Parameters
    ----------
    experiment : Experiment
        What to run.
    directory : str
        Where its table is, or will be.
    plan : Plan, optional
        How much of it; all by default.
    jobs : int, default=1
        Worker processes.
    engine : {"joblib", "dask"}, default="joblib"
        Who runs them. "dask" uses the current `distributed.Client`, or starts one with `jobs` processes.

    Returns
    -------
    Progress
    """
    check_choice("engine", engine, ENGINES)
    check_count("jobs", jobs, 1)
    table = ResultsTable(experiment, directory)
    specs = list(experiment.runs(plan or Plan()))
    done = table.done()
    left = [spec for spec in specs if table.key(spec) not in done]
    found = len(specs) - len(left)
    step = f"experiment {experiment.name}"
    tell(step, found, len(specs), f"{found} of {len(specs)} runs found in {table.path.name}" if found else "")
    stream = _with_dask(experiment, left, jobs) if engine == "dask" else _with_joblib(experiment, left, jobs)
    with closing(stream) as outcomes:
        for count, outcome in enumerate(outcomes, start=found + 1):
            table.append(outcome.spec, outcome.rows, outcome.bookkeeping)
            tell(step, count, len(specs), str(outcome.spec))
    return Progress(len(left), found, len(specs))


def execute(
    experiment: Experiment, spec: RunSpec, methods: Sequence[Method] = (), data: OwnData | None = None
) -> Outcome:
    """Do one run; `methods` and `data` are what the user registered in the process that asks."""
    from threadpoolctl import threadpool_limits

    adopt(methods)
    adopt_data(data or {})
    when = datetime.now(UTC).isoformat(timespec="seconds")
    start = time.perf_counter()
    # Warnings belong to the run: they become a column instead of lines between progress bars.
    with threadpool_limits(1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            rows = experiment.run(spec)
        except Exception as error:
            error.add_note(f"in experiment {experiment.name}, run {spec}")
            raise
    names = sorted({warning.category.__name__ for warning in caught})
    bookkeeping = {
        "seconds": round(time.perf_counter() - start, 4),
        "warnings": " ".join(names),
        "versions": versions(),
        "when": when,
    }
    return Outcome(spec, rows, bookkeeping)


@cache
def versions() -> str:
    """Versions of what computes."""
    return " ".join([f"python-{platform.python_version()}", *(f"{name}-{_version(name)}" for name in PACKAGES)])


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"


def _with_joblib(experiment: Experiment, specs: Sequence[RunSpec], jobs: int) -> Generator[Outcome, None, None]:
    if jobs == 1:
        yield from (execute(experiment, spec) for spec in specs)
        return
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs=jobs, return_as="generator", batch_size=1, pre_dispatch=f"{4 * jobs}")
    known, data = own_methods(), own_data()
    yield from parallel(delayed(execute)(experiment, spec, known, data) for spec in specs)


def _with_dask(experiment: Experiment, specs: Sequence[RunSpec], jobs: int) -> Generator[Outcome, None, None]:
    distributed: Any = optional_import("distributed", "engine='dask'", "dask")
    known, data = own_methods(), own_data()
    try:
        client, own = distributed.Client.current(), False
    except ValueError:
        options = {"n_workers": jobs, "threads_per_worker": 1, "dashboard_address": None}
        client, own = distributed.Client(**options), True
    try:
        # Not pure: a key made of the arguments would have to look into the experiment.
        futures = [client.submit(execute, experiment, spec, known, data, pure=False) for spec in specs]
        while futures:
            yield futures.pop(0).result()
    finally:
        if own:
            client.close()
