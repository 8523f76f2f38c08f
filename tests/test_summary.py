"""A fitted model in words and as a table: both numbers wherever one is, and the same numbers everywhere."""

from __future__ import annotations

import pickle
import sys

import numpy as np
import pytest

from gsppca import GSPPCA, Core, GSPPCASelector
from gsppca.overview import overview, table_columns
from gsppca.summary import headline, html, other_sizes, related_line, summary, to_frame
from tests.needs import optional

RULES = ["auto", "relevant", "core", "r2", "fdr", 5, Core(0.7)]
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")


@pytest.fixture(scope="module")
def X():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 24))
    X[:, :14] += 2 * rng.normal(size=(100, 3)) @ rng.normal(size=(3, 14))
    X[:, 23] = 1.0
    return X[:, rng.permutation(24)]


@pytest.mark.parametrize("method", ["joint", "paper"])
@pytest.mark.parametrize("rule", RULES, ids=str)
def test_the_table_has_all_variables_with_the_selected_ones_first(X, rule, method):
    model = GSPPCA(3, n_features_to_select=rule, method=method, random_state=0).fit(X)
    view = overview(model)
    order = view.order
    assert sorted(order) == list(range(24))
    assert model.support_[order[: model.n_selected_]].all()
    for part in (order[: model.n_selected_], order[model.n_selected_ :]):
        assert (np.diff(model.ranking_[part]) > 0).all()
    columns = table_columns(view)
    np.testing.assert_array_equal(columns["role"], model.role_[order])
    np.testing.assert_array_equal(columns["rank"], model.ranking_[order])
    text = " ".join(headline(view))
    for number in (model.n_selected_, model.relevant_.sum(), model.core_.sum()):
        assert f"{number} " in text
    assert f"{model.core_share_:.0%}" in text or rule == Core(0.7)


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_each_variable_is_represented_by_the_selected_one_it_correlates_with_most(X, rule):
    model = GSPPCA(3, n_features_to_select=rule, random_state=0).fit(X)
    view = overview(model)
    with np.errstate(invalid="ignore"):
        correlations = np.corrcoef(X.T)
    varying = np.ptp(X, axis=0) > 0
    for k in np.flatnonzero(varying & ~model.support_):
        best = np.where(model.support_, np.abs(correlations[k]), -1)
        assert abs(correlations[k, view.represented_by[k]]) == pytest.approx(best.max(), abs=1e-9)
        assert view.correlation[k] == pytest.approx(correlations[k, view.represented_by[k]], abs=1e-9)
    assert (view.represented_by[~varying] == -1).all()
    groups = [k for column in np.flatnonzero(model.support_) for k in view.stands_for(int(column))]
    assert sorted(groups) == np.flatnonzero(model.relevant_ & ~model.support_).tolist()


def test_the_share_of_a_size_is_that_of_the_path(X):
    model = GSPPCA(3).fit(X)
    for size in range(1, len(model.share_path_.share) + 1):
        assert overview(model.choose(size)).share == model.share_path_.share[size - 1]
    assert overview(model.choose(len(model.share_path_.share) + 1)).share is None
    assert overview(GSPPCA(3, n_features_to_select="core").fit(X)).share == model.core_share_
    for size, share in other_sizes(overview(model)):
        assert share == model.share_path_.share[size - 1]


def test_a_loaded_model_says_the_same(X):
    for method in ("joint", "paper"):
        model = GSPPCA(3, method=method, n_features_to_select="core").fit(X)
        loaded = pickle.loads(pickle.dumps(model))
        assert summary(loaded) == summary(model)
        for values, wanted in zip(*(table_columns(overview(m)).values() for m in (loaded, model)), strict=True):
            np.testing.assert_array_equal(values, wanted)
    bare = pickle.loads(pickle.dumps(GSPPCA(3, method="paper").fit(X)))  # its core was never computed
    view = overview(bare)
    assert view.core is None
    assert set(view.role) == {"relevant", "noise"}
    assert np.isnan(view.predicted).all()
    assert summary(bare)
    assert html(bare)


def test_noise_is_called_unsupported_and_gets_no_shares():
    model = GSPPCA(2).fit(np.random.default_rng(1).normal(size=(60, 15)))
    text = summary(model)
    assert text.startswith("No statistically supported structure")
    assert "%" not in text


def test_few_samples_have_no_core():
    model = GSPPCA(1, n_features_to_select="relevant").fit(np.random.default_rng(1).normal(size=(4, 6)))
    assert overview(model).core is None
    assert summary(model)


def test_summary_of_a_selector(X):
    model = GSPPCASelector(3).fit(X)
    lines = summary(model).splitlines()
    assert lines[0] == headline(overview(model))[0]
    assert f"related: {related_line(overview(model))}" in lines


def test_frames(X):
    pd = optional("pandas")
    names = [f"gene <{k}>" for k in range(24)]
    model = GSPPCA(3).fit(pd.DataFrame(X, columns=names))
    frame = to_frame(model)
    assert isinstance(frame, pd.DataFrame)
    assert set(frame["name"]) == set(names)
    assert frame["selected"].sum() == model.n_selected_
    polars = optional("polars")
    other = to_frame(model, output="polars")
    assert isinstance(other, polars.DataFrame)
    assert other["name"].to_list() == frame["name"].tolist()
    assert isinstance(to_frame(model.set_output(transform="polars")), polars.DataFrame)
    with pytest.raises(ValueError, match="output must be 'pandas' or 'polars', got 'csv'"):
        to_frame(model, output="csv")


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_a_missing_package_for_tables_is_named(X, monkeypatch, kind):
    model = GSPPCA(3).fit(X)
    monkeypatch.setitem(sys.modules, kind, None)
    with pytest.raises(ImportError, match=rf"to_frame needs the package {kind}, .*: pip install {kind}$"):
        to_frame(model, output=kind)


def test_html_escapes_names(X):
    pd = optional("pandas")
    names = [f"<script>{k}</script>" for k in range(24)]
    page = html(GSPPCA(3).fit(pd.DataFrame(X, columns=names)))
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
