"""Laws of the line from data to selected variables, with methods, rules, preparations and containers crossed.

Faults used to sit where two options met; every pair of settings meets here in some fit.
"""

from __future__ import annotations

import itertools
import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.model_selection import GridSearchCV

import gsppca
from gsppca import GSPPCA, Core, FalseDiscoveryRate, GSPPCASelector, Joint, MinimumR2, Paper, Relevant
from tests.data.test_matrix import dask_blocks, stored

CONTAINERS = {
    "C": lambda X, _: np.ascontiguousarray(X),
    "Fortran": lambda X, _: np.asfortranarray(X),
    "strided": lambda X, _: np.repeat(X, 2, axis=1)[:, ::2],
    "CSR": lambda X, _: sparse.csr_array(X),
    "CSC": lambda X, _: sparse.csc_matrix(X),
    "dask": lambda X, _: dask_blocks(X, [23]),
    "dask CSR": lambda X, _: dask_blocks(X, [40], sparse.csr_matrix),
    "zarr": lambda X, path: stored(X, "zarr", path),
    "HDF5": lambda X, path: stored(X, "hdf5", path),
}
SETTINGS = {
    "data": ["sparse truth", "dense", "counts"],
    "container": list(CONTAINERS),
    "method": ["joint", "paper", Joint(noise="own"), Paper(evidence="noisy"), Paper(noise_variance="profile")],
    "n_features_to_select": ["auto", "relevant", "core", "fdr", FalseDiscoveryRate(0.2, 2), "r2", 5, 0.3, Core(0.7)],
    "n_components": ["auto", 2],
    "scale": [False, True],
    "robust": [False, True],
    "wishes": [{}, {"include": [4, 9]}, {"exclude": [0, 1, 2]}],
}


def make(name):
    rng = np.random.default_rng(3)
    if name == "sparse truth":
        X = rng.normal(size=(70, 24))
        X[:, [1, 4, 8, 11, 15, 20, 21, 23]] += 1.5 * rng.normal(size=(70, 2)) @ rng.normal(size=(2, 8))
    elif name == "dense":
        X = rng.normal(size=(60, 3)) @ rng.normal(size=(3, 20)) + 0.7 * rng.normal(size=(60, 20))
    else:
        X = rng.poisson(1.0, size=(80, 22)) + np.where(np.arange(22) < 7, rng.poisson(2.0, size=(80, 1)), 0)
    X = X.astype(float)
    X[:, 6] = 1.0  # constant
    return X


def pairwise(settings, seed=0):
    """Few combinations in which every pair of values occurs: greedy, with a fixed seed."""
    rng = np.random.default_rng(seed)
    names = list(settings)
    pairs = list(itertools.combinations(names, 2))
    open_ = {(a, i, b, j) for a, b in pairs for i in range(len(settings[a])) for j in range(len(settings[b]))}
    rows = []
    while open_:
        a, i, b, j = min(open_)
        trials = []
        for _ in range(25):
            row = {name: int(rng.integers(len(settings[name]))) for name in names} | {a: i, b: j}
            trials.append((sum((c, row[c], d, row[d]) in open_ for c, d in pairs), row))
        row = max(trials, key=lambda trial: trial[0])[1]
        open_ -= {(c, row[c], d, row[d]) for c, d in pairs}
        rows.append({name: settings[name][place] for name, place in row.items()})
    return rows


ROWS = pairwise(SETTINGS)


def quiet(function, *arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*arguments)


def parameters_of(row):
    kept = {name: value for name, value in row.items() if name not in ("data", "container", "wishes")}
    return kept | row["wishes"] | {"random_state": 0}


@pytest.mark.parametrize("row", ROWS, ids=range(len(ROWS)))
def test_modes_and_containers_crossed(row, tmp_path):
    X = make(row["data"])
    parameters = parameters_of(row)
    model = quiet(GSPPCA(**parameters).fit, CONTAINERS[row["container"]](X, tmp_path))
    wanted = quiet(GSPPCA(**parameters).fit, X)
    np.testing.assert_array_equal(model.ranking_, wanted.ranking_)
    drawn_by_block = "fdr" in str(row["n_features_to_select"]).lower() or "False" in str(row["n_features_to_select"])
    if not (drawn_by_block and row["container"] not in ("C", "Fortran", "strided")):
        np.testing.assert_array_equal(model.support_, wanted.support_)
        np.testing.assert_allclose(np.abs(model.components_), np.abs(wanted.components_), atol=1e-7)
    np.testing.assert_array_equal(model.role_, wanted.role_)
    np.testing.assert_allclose(model.relevance_, wanted.relevance_, atol=1e-7)
    np.testing.assert_allclose(model.inclusion_probability_, wanted.inclusion_probability_, atol=1e-7)
    log_evidence = wanted.evidence_path_.log_evidence
    np.testing.assert_allclose(model.evidence_path_.log_evidence, log_evidence, rtol=1e-8, atol=1e-7)
    # What was asked for holds.
    assert model.support_.sum() == model.n_selected_ >= 1
    assert not model.support_[6]
    if model.selected_by_ in ("size", "core"):
        assert model.support_[row["wishes"].get("include", [])].all()
        assert not model.support_[row["wishes"].get("exclude", [])].any()
    assert (model.relevant_ == (model.role_ != "noise")).all() or "include" in row["wishes"]
    assert np.isfinite(model.transform(X)).all()
    same = quiet(pickle.loads, pickle.dumps(model))
    np.testing.assert_array_equal(same.role_, model.role_)


RULES = ["auto", "relevant", "core", "fdr", "r2", 3, 0.5]
TABLES = {
    "sparse truth": lambda: make("sparse truth"),
    "dense": lambda: make("dense"),
    "wine": lambda: load_wine().data,
    "breast cancer": lambda: load_breast_cancer().data,
    "digits": lambda: load_digits().data[:300],
}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("method", ["joint", "paper"])
def test_there_is_one_nested_order(table, method):
    """A number of variables is a cut of the one order, whichever rule a model was fitted with."""
    X = TABLES[table]()
    scale = table in ("wine", "breast cancer")
    sizes = (1, 2, 4, 7, 11)
    given = {k: quiet(GSPPCASelector(method=method, n_features_to_select=k, scale=scale).fit, X) for k in sizes}
    for rule in RULES:
        model = GSPPCASelector(method=method, n_features_to_select=rule, scale=scale, random_state=0)
        model = quiet(model.fit, X)
        for k in sizes:
            chosen = model.choose(k)
            np.testing.assert_array_equal(chosen.support_, given[k].support_, err_msg=f"{rule}, {k}")
            np.testing.assert_array_equal(chosen.support_, model.ranking_ <= k)
            assert chosen.supported_ == given[k].supported_
            assert chosen.selected_by_ == "size"
        if rule in ("auto", "relevant", "core") and method == "joint":
            np.testing.assert_array_equal(model.support_, model.ranking_ <= model.n_selected_)


STEPS = [Joint(), Joint(noise="own"), Paper(), Paper(tol=1e-3), Core(), Core(0.8), FalseDiscoveryRate(), MinimumR2()]


@pytest.mark.parametrize("step", [*STEPS, Relevant()], ids=repr)
def test_objects_behave_like_values(step):
    assert step == clone(step, safe=False) == pickle.loads(pickle.dumps(step))
    assert eval(repr(step), vars(gsppca) | {type(step).__name__: type(step)}) == step
    assert hash(step) == hash(pickle.loads(pickle.dumps(step)))
    place = "method" if isinstance(step, Paper | Joint) else "n_features_to_select"
    model = GSPPCA(**{place: step})
    assert clone(model).get_params() == model.get_params()
    assert getattr(model, place) is step
    with pytest.raises(AttributeError):
        step.tol = 3  # frozen: set_params of the estimator replaces the object
    for name, value in step.get_params().items():
        assert model.get_params()[f"{place}__{name}"] == value


def test_nested_parameters_are_set_through_words_and_objects():
    model = GSPPCA(method="paper", n_features_to_select="core")
    model.set_params(method__tol=1e-3, n_features_to_select__share=0.8)
    assert model.method == Paper(tol=1e-3)
    assert model.n_features_to_select == Core(0.8)
    shared = Paper()
    one, other = GSPPCA(method=shared), GSPPCA(method=shared)
    one.set_params(method__tol=1e-3)
    assert other.method.tol == Paper().tol


def test_grid_searches_go_over_words_and_nested_parameters():
    X = make("sparse truth")
    words = GridSearchCV(GSPPCA(2), {"method": ["joint", "paper"], "n_features_to_select": ["relevant", 8]}, cv=2)
    assert quiet(words.fit, X).best_params_["method"] in ("joint", "paper")
    nested = GridSearchCV(GSPPCA(2, method=Paper()), {"method__noise_variance": ["median", "ml"]}, cv=2)
    assert quiet(nested.fit, X).best_params_["method__noise_variance"] in ("median", "ml")


def test_every_parameter_is_checked_before_the_data_is_read():
    class Unread:
        shape = (10, 5)

        def __array__(self, *_):
            pytest.fail("the data was read")

    with pytest.raises(ValueError, match="tol must be"):
        GSPPCA(method=Paper(tol=-1)).fit(Unread())
    with pytest.raises(ValueError, match="share must be"):
        GSPPCA(n_features_to_select=Core(2)).fit(Unread())


def test_included_variables_come_first_and_the_rest_complements_them():
    X = make("dense")
    plain = quiet(GSPPCA(3, n_features_to_select=5).fit, X)
    wanted = np.flatnonzero(~plain.support_ & (X.std(axis=0) > 0))[:2]
    model = quiet(GSPPCA(3, n_features_to_select=5, include=wanted).fit, X)
    assert set(model.ranking_[wanted]) == {1, 2}
    assert model.support_[wanted].all()
    first = plain.get_support(indices=True)[0]
    without = quiet(GSPPCA(3, n_features_to_select=5, exclude=[first]).fit, X)
    assert not without.support_[first]
    assert without.relevant_[first] == plain.relevant_[first]  # it still counts as data to be explained
    with pytest.raises(ValueError, match="not excluded"):
        without.choose(19)
    mask = np.isin(np.arange(X.shape[1]), wanted)
    again = quiet(GSPPCA(3, n_features_to_select=5, include=mask).fit, X)
    np.testing.assert_array_equal(again.support_, model.support_)
