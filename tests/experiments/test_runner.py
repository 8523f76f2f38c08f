"""One process, two processes and dask give the same rows; errors name the run."""

from __future__ import annotations

import warnings

import pytest

from gsppca.experiments import Plan, ResultsTable, get_experiment, run_experiment
from gsppca.experiments.store import TIMING
from gsppca.progress import listening
from tests.needs import optional

PLAN = Plan(quick=True)


def rows_of(name, folder, **how):
    experiment = get_experiment(name)
    run_experiment(experiment, folder, PLAN, **how)
    return ResultsTable(experiment, folder).read().drop(columns=list(TIMING))


@pytest.fixture(scope="module")
def serial(tmp_path_factory):
    return rows_of("noise-range", tmp_path_factory.mktemp("serial"))


def test_two_processes_give_the_same_rows(serial, tmp_path):
    assert rows_of("noise-range", tmp_path, jobs=2).equals(serial)


def test_dask_gives_the_same_rows(serial, tmp_path):
    distributed = optional("distributed")
    options = {"processes": False, "n_workers": 1, "threads_per_worker": 1, "dashboard_address": None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of ports and of starting up: not ours
        client = distributed.Client(**options)
    with client:
        rows = rows_of("noise-range", tmp_path, engine="dask")
    assert rows.equals(serial)


def test_progress_is_told(squares, tmp_path):
    heard = []
    with listening(heard.append):
        run_experiment(squares, tmp_path)
    assert [event.done for event in heard] == list(range(7))
    assert {event.total for event in heard} == {6}
    assert {event.step for event in heard} == {"experiment squares"}


def test_an_error_names_the_run(squares, tmp_path, monkeypatch):
    def fails(spec):
        raise ZeroDivisionError("no")

    monkeypatch.setattr(squares, "run", fails)
    with pytest.raises(ZeroDivisionError) as caught:
        run_experiment(squares, tmp_path)
    assert caught.value.__notes__ == ["in experiment squares, run factor=1 method=none seed=0"]


def test_warnings_become_a_column(squares, tmp_path, monkeypatch):
    real = squares.run

    def warns(spec):
        warnings.warn("slowly", RuntimeWarning, stacklevel=1)  # noqa: TID251
        return real(spec)

    monkeypatch.setattr(squares, "run", warns)
    run_experiment(squares, tmp_path)
    assert set(ResultsTable(squares, tmp_path).read().warnings) == {"RuntimeWarning"}


@pytest.mark.parametrize(("how", "word"), [({"engine": "slurm"}, "engine"), ({"jobs": 0}, "jobs")])
def test_bad_arguments_are_named(squares, tmp_path, how, word):
    with pytest.raises(ValueError, match=word):
        run_experiment(squares, tmp_path, **how)


def test_an_unknown_experiment_names_those_there_are():
    with pytest.raises(ValueError, match="noise-range"):
        get_experiment("noise")
