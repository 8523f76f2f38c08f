"""Own methods and data; columns are permuted before any method sees them."""

from __future__ import annotations

import numpy as np
import pytest

from gsppca import Paper
from gsppca.datasets import Simulated
from gsppca.experiments import (
    Plan,
    ResultsTable,
    SimulatedGrid,
    get_method,
    register_data,
    register_method,
    run_experiment,
)
from gsppca.experiments import data as data_module
from gsppca.experiments import methods as methods_module


class FirstOnes:
    """Selects the first variables, whatever the data."""

    def __init__(self, size):
        self.size = size or 20

    def fit(self, X):
        self.support_ = np.arange(X.shape[1]) < self.size
        return self


def first_ones(n_components, size, seed):
    return FirstOnes(size)


def truth_first(random_state, n):
    """The first 20 of 200 variables are relevant, as in the paper."""
    rng = np.random.default_rng(random_state)
    support = np.arange(200) < 20
    X = rng.standard_normal((n, 200))
    X[:, support] += 5 * rng.standard_normal((n, 1))
    return Simulated(X, support, 1, 1.0, np.zeros((200, 1)), np.zeros((n, 1)))


class Grid(SimulatedGrid):
    name = "grid"
    title = paper = question = "grid"
    parameters = ("data", "n", "scale", "method", "size")
    n_runs = 60

    def cells(self, plan):
        return [{"data": "truth-first", "n": 30, "scale": "raw"}]

    def methods(self, cell, plan):
        return [("variance", "true")]

    def summary(self, rows):
        return []

    def figure(self, rows):
        return None

    def claims(self, rows):
        return []


@pytest.fixture(autouse=True)
def own_registries(monkeypatch):
    monkeypatch.setattr(methods_module, "_METHODS", dict(methods_module._METHODS))
    monkeypatch.setattr(data_module, "_DATA", dict(data_module._DATA))
    register_data("truth-first", truth_first)


def test_choosing_the_first_columns_scores_chance(tmp_path):
    """2 of 20 by chance, though the truth is in the first 20 columns; a method that looks at the data finds all."""
    register_method("first-ones", first_ones)
    run_experiment(Grid(), tmp_path, Plan(methods=("first-ones",)))
    rows = ResultsTable(Grid(), tmp_path).read()
    found = rows.groupby("method").f_score.mean()
    assert found["variance"] > 0.99
    assert 0.06 < found["first-ones"] < 0.14


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_own_method_and_own_data_run_on_any_number_of_workers(tmp_path, jobs):
    register_method("first-ones", first_ones, "the first ones")
    progress = run_experiment(Grid(), tmp_path, Plan(n_runs=2, methods=("first-ones",)), jobs=jobs)
    assert progress.done == 4
    assert set(ResultsTable(Grid(), tmp_path).read().method) == {"variance", "first-ones"}


def test_a_method_can_be_named_by_its_module():
    method = get_method("gsppca.experiments.paper.stage_procedure:AbsoluteGrid")
    data = truth_first(0, 30)
    support, _ = method.select(data.X, 1, 20, 0)
    assert (support == data.support).all()


def test_supports_follow_the_columns():
    """Permuted for the fit, and put back: of every size, by one nested fit or by many."""
    data = truth_first(0, 50)
    for name in ("variance", "gsppca-paper", "spca", "tpca"):
        few, many = get_method(name).supports(data.X, 1, [5, 20], seed=3)
        assert few.sum() == 5
        assert (many == data.support).all()
        assert (few <= many).all()


@pytest.mark.parametrize("get", [get_method, data_module.get_data])
def test_unknown_names_say_how_to_register(get):
    with pytest.raises(ValueError, match="register_"):
        get("no-such-thing")


def test_the_papers_procedure_is_spelled_out():
    """Its arguments do not depend on the defaults of GSPPCA."""
    given = get_method("gsppca-paper").factory(7, None, 0).get_params()
    wanted = {"method": Paper(), "n_components": 7}
    assert wanted.items() <= given.items()
    assert get_method("gsppca-paper").factory(7, 12, 0).n_features_to_select == 12
