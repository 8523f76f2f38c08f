"""Every experiment runs quickly from specs to page."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gsppca.experiments import Plan, ResultsTable, experiment_names, get_experiment, run_experiment
from gsppca.experiments.report import make_section
from gsppca.experiments.spec import FAILS, HOLDS, TIE, UNTESTABLE

SHARED = Path(__file__).parents[2].parent / "shared" / "data"


@pytest.fixture
def real_data(monkeypatch):
    if "GSPPCA_DATA" not in os.environ:
        if not SHARED.is_dir():
            pytest.skip("real data not found: set GSPPCA_DATA to its directory")
        monkeypatch.setenv("GSPPCA_DATA", str(SHARED))


@pytest.mark.parametrize("name", experiment_names())
def test_quick(name, tmp_path, request):
    experiment = get_experiment(name)
    assert experiment.name == name
    if experiment.needs_data:
        request.getfixturevalue("real_data")
    plan = Plan(quick=True)
    progress = run_experiment(experiment, tmp_path, plan)
    assert progress.done == progress.total == len(list(experiment.runs(plan))) > 0
    rows = ResultsTable(experiment, tmp_path).read()
    assert {"seed", *experiment.parameters, *experiment.values} <= set(rows.columns)
    section = make_section(experiment, tmp_path)
    assert section.tables
    for table in section.tables:
        assert table.rows
        assert all(len(line) == len(table.columns) for line in table.rows)
        assert all(isinstance(cell, str) for line in table.rows for cell in line)
    assert section.claims
    assert {claim.verdict for claim in section.claims} <= {HOLDS, FAILS, TIE, UNTESTABLE}
    assert section.svg.lstrip().startswith("<?xml")
    assert make_section(experiment, tmp_path).svg == section.svg


@pytest.mark.parametrize("name", experiment_names())
def test_full_plans_are_lists_of_different_runs(name):
    experiment = get_experiment(name)
    specs = list(experiment.runs(Plan()))
    table = ResultsTable(experiment, "nowhere")
    assert len({table.key(spec) for spec in specs}) == len(specs)
    assert all({key for key, _ in spec.parameters} == set(experiment.parameters) for spec in specs)
