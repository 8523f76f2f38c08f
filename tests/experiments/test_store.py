"""Tables survive interruptions."""

from __future__ import annotations

import pytest

from gsppca.experiments import Plan, ResultsTable, RunSpec, run_experiment
from gsppca.experiments.store import TIMING, as_text


def lines_without_times(path):
    header, *lines = [line.split(",") for line in path.read_text().splitlines()]
    kept = [i for i, name in enumerate(header) if name not in TIMING]
    return [[line[i] for i in kept] for line in [header, *lines]]


def test_rows_come_back_as_written(squares, tmp_path):
    run_experiment(squares, tmp_path)
    rows = ResultsTable(squares, tmp_path).read()
    assert len(rows) == 12
    picked = rows[(rows.seed == 2) & (rows.factor == 2.5)]
    assert picked.value.tolist() == [5.0, 25.0]
    assert picked.row.tolist() == [0, 1]
    assert rows.versions.str.contains("gsppca-").all()
    assert (rows.seconds >= 0).all()
    assert rows.when.str.endswith("+00:00").all()


def test_a_second_run_does_nothing(squares, tmp_path):
    run_experiment(squares, tmp_path)
    before = (tmp_path / "squares.csv").read_bytes()
    progress = run_experiment(squares, tmp_path)
    assert (progress.done, progress.found, progress.total) == (0, 6, 6)
    assert (tmp_path / "squares.csv").read_bytes() == before


@pytest.mark.parametrize("cut", [1, 3, 25, 60, 200, 400])
def test_a_table_torn_anywhere_is_completed(squares, tmp_path, cut):
    """Whatever number of bytes is lost at the end: half a line, a line, half a run."""
    run_experiment(squares, tmp_path)
    path = tmp_path / "squares.csv"
    whole = lines_without_times(path)
    path.write_bytes(path.read_bytes()[:-cut])
    progress = run_experiment(squares, tmp_path)
    assert progress.done >= 1
    assert lines_without_times(path) == whole


def test_a_torn_cell_is_not_taken_for_a_number(squares, tmp_path):
    """Without its newline, a last line with all its cells may still have lost digits of the last."""
    run_experiment(squares, tmp_path)
    path = tmp_path / "squares.csv"
    path.write_bytes(path.read_bytes()[:-4])
    table = ResultsTable(squares, tmp_path)
    assert len(table.done()) == 5
    assert path.read_bytes().endswith(b"\n")


def test_an_interrupted_experiment_resumes(squares, tmp_path, monkeypatch):
    real, calls = squares.run, []

    def stops(spec):
        calls.append(spec)
        if len(calls) == 4:
            raise KeyboardInterrupt
        return real(spec)

    monkeypatch.setattr(squares, "run", stops)
    with pytest.raises(KeyboardInterrupt):
        run_experiment(squares, tmp_path)
    monkeypatch.setattr(squares, "run", real)
    progress = run_experiment(squares, tmp_path)
    assert (progress.done, progress.found) == (3, 3)
    run_experiment(squares, tmp_path / "other")
    assert lines_without_times(tmp_path / "squares.csv") == lines_without_times(tmp_path / "other" / "squares.csv")


def test_more_runs_are_added(squares, tmp_path):
    run_experiment(squares, tmp_path, Plan(n_runs=1))
    progress = run_experiment(squares, tmp_path, Plan(n_runs=4))
    assert (progress.done, progress.found) == (6, 2)


def test_a_table_of_other_columns_is_refused(squares, tmp_path):
    (tmp_path / "squares.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="another version wrote it"):
        run_experiment(squares, tmp_path)


def test_rows_with_wrong_columns_are_refused(squares, tmp_path):
    with pytest.raises(ValueError, match="'value'"):
        ResultsTable(squares, tmp_path).append(RunSpec.of(0, {}), [{"power": 1}], {})


def test_reading_nothing_says_what_to_do(squares, tmp_path):
    with pytest.raises(FileNotFoundError, match="gsppca experiment run squares"):
        ResultsTable(squares, tmp_path).read()


def test_texts_of_cells():
    assert [as_text(value) for value in (None, True, 0.1, 1 / 3, 7, "a,b")] == [
        "",
        "1",
        "0.1",
        "0.3333333333",
        "7",
        "a,b",
    ]
