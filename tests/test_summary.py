"""A fitted model in words and as a table: both numbers wherever one is, and the same numbers everywhere."""

from __future__ import annotations

import pickle
import sys

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine

from gsppca import GSPPCA, Core, GSPPCASelector
from gsppca.overview import overview, table_columns
from gsppca.summary import doubts, headline, html, other_sizes, related_line, summary, to_frame
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
    for column, others in model.represented_by(24):  # the same lists, and no noise in them
        assert [other for other, _ in others] == view.stands_for(column)
        np.testing.assert_allclose([r for _, r in others], view.correlation[[other for other, _ in others]])


def test_the_share_of_a_size_is_that_of_the_path(X):
    model = GSPPCA(3).fit(X)
    for size in range(1, len(model.share_path_.share) + 1):
        assert overview(model.choose(size)).share == model.share_path_.share[size - 1]
    assert overview(model.choose(len(model.share_path_.share) + 1)).share is None
    assert overview(GSPPCA(3, n_features_to_select="core").fit(X)).share == model.core_share_
    for size, share in other_sizes(overview(model)):
        assert share == model.share_path_.share[size - 1]


@pytest.mark.parametrize(
    ("method", "rule"),
    [
        *(("joint", rule) for rule in ("relevant", "r2", "fdr", 12, 1.0)),
        *(("paper", rule) for rule in ("r2", "fdr", 12)),
    ],
)
def test_keeping_everything_is_remarked_on_by_every_method_and_rule(method, rule):
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(90, 3)) @ rng.normal(size=(3, 12)) + 0.2 * rng.normal(size=(90, 12))
    model = GSPPCA(3, method=method, n_features_to_select=rule, random_state=0).fit(dense)
    assert model.n_selected_ == 12
    view = overview(model)
    said = "Nothing is left out: all 12 variables are selected. "
    said += f"n_features_to_select='core' (--size core) selects {view.n_core}."
    assert doubts(view) == [said]
    assert f"Note: {said.replace(' (--size core)', '')}" in summary(model)  # in words of Python
    assert "Note: Nothing is left out" in html(model)
    assert "stands for" not in html(model)  # a column without entries
    model = GSPPCA(3, method=method, n_features_to_select="core").fit(dense)
    assert doubts(overview(model)) == []
    (said,) = doubts(overview(model.choose(11)))
    assert said.startswith("Nearly nothing is left out: 11 of 12 variables are selected. n_features_to_select='core'")
    assert doubts(overview(model.choose(10))) == []


def test_one_variable_is_remarked_on(X):
    model = GSPPCA(3).fit(X).choose(1)
    relevant = model.relevant_.sum()
    (said,) = doubts(overview(model))
    assert (
        said == f"Only one variable is selected. n_features_to_select='relevant' (--size relevant) selects {relevant}."
    )
    assert f"{relevant} of 24 variables are relevant; the first is selected, as asked for" in summary(model)
    alone = GSPPCA(1, method="paper").fit(load_iris().data)
    assert alone.n_selected_ == 1
    assert "method='joint' (--method joint)" in doubts(overview(alone))[0]
    text = summary(alone)
    assert "1 of 4 variables is relevant and selected, carrying 100% of its structure" in text
    assert text.count("100%") == 2  # the headline and the table: a core that is the selection is not told twice


def test_columns_that_outweigh_the_others_are_named():
    optional("pandas")
    wine = load_wine(as_frame=True).data
    said = "proline holds 99.8% of the total variance and decides the components. If columns have different units, use"
    for method in ("joint", "paper"):
        assert any(doubt.startswith(said) for doubt in doubts(overview(GSPPCA(method=method).fit(wine))))
    assert not any("variance" in doubt for doubt in doubts(overview(GSPPCA(scale=True).fit(wine))))
    twice = wine.assign(other=wine.proline * np.linspace(1, 1.2, len(wine)))
    assert any(doubt.startswith("proline, other hold 99") for doubt in doubts(overview(GSPPCA().fit(twice))))
    assert doubts(overview(GSPPCA().fit(load_iris().data))) == []  # one unit, and four columns


def test_numbers_add_up_with_variables_to_include(X):
    noise = int(np.flatnonzero(~GSPPCA(3).fit(X).relevant_ & (np.ptp(X, axis=0) > 0))[0])
    model = GSPPCA(3, n_features_to_select=5, include=[noise]).fit(X)
    assert model.role_[noise] == "core"
    assert doubts(overview(model)) == ["1 of the core is there because of `include`, not relevant otherwise."]


def test_little_variance_is_explained_where_most_is_noise(X):
    rng = np.random.default_rng(1)
    noisy = np.c_[X, 3 * rng.normal(size=(len(X), 60))]
    model = GSPPCA(3).fit(noisy)
    noise = int((model.role_ == "noise").sum())
    assert headline(overview(model))[-1].endswith(f"; {noise} are noise, which nothing predicts.")
    wine = load_wine().data  # one column has nearly all variance
    for other in (GSPPCA(3).fit(X), GSPPCA(method="paper").fit(wine)):
        assert headline(overview(other))[-1].endswith("of all variables on rows left out.")


def test_a_size_beyond_the_shares_says_what_is_known(X):
    model = GSPPCA(3).fit(X)
    known = len(model.share_path_.share)
    first = headline(overview(model.choose(known + 1)))[0]
    share = model.share_path_.share[-1]
    assert first.endswith(f"; the first {known} alone carry {share:.0%} of the structure on rows left out.")


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
    assert text.startswith("No statistically supported structure was found: do not interpret the ")
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
