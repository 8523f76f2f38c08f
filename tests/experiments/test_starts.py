"""Other starts of the paper's procedure: the stages in a row are GSPPCA, and each start is what it says."""

from __future__ import annotations

import numpy as np
import pytest

from gsppca import relaxed_vem
from gsppca.datasets import make_model_selection
from gsppca.experiments import Plan, get_experiment, get_method
from gsppca.experiments.paper.stage_procedure import LITERAL, StageProcedure
from gsppca.experiments.paper.starts import CELLS, STARTS


@pytest.mark.parametrize("size", [None, 12])
def test_the_stages_are_the_papers_procedure(size):
    data = make_model_selection(40, noise="laplacian", random_state=3)
    ours = StageProcedure(10, size, 0).fit(data.X)
    assert (ours.support_ == get_method("gsppca-paper").factory(10, size, 0).fit(data.X).support_).all()
    assert size is None or ours.support_.sum() == size


def test_the_printed_start_is_absolute_and_literal():
    data = make_model_selection(40, noise="laplacian", random_state=1)
    absolute = get_method("gsppca-absolute-grid").factory(10, None, 0).fit(data.X)
    tenfold = get_method("gsppca-absolute-grid").factory(10, None, 0).fit(10 * data.X)
    literal = get_method("gsppca-literal").factory(10, None, 0).fit(data.X)
    assert (absolute.support_ != tenfold.support_).any()
    assert literal.n_iter_ == relaxed_vem(data.X, 10, **LITERAL).n_iter > absolute.n_iter_


def test_in_units_of_the_noise_the_unit_of_the_data_does_not_matter():
    data = make_model_selection(40, noise="laplacian", random_state=1)
    one, ten = (StageProcedure(10, None, 0).fit(factor * data.X).support_ for factor in (1, 10))
    np.testing.assert_array_equal(one, ten)


def test_every_cell_has_every_start():
    specs = list(get_experiment("starts").runs(Plan(n_runs=1)))
    assert {(spec["data"], spec["start"]) for spec in specs} == {(cell, start) for cell in CELLS for start in STARTS}
