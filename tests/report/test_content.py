"""What the report says is what the model found."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from gsppca import GSPPCA, GSPPCASelector
from gsppca.data import as_matrix
from gsppca.metrics import adjusted_explained_variance
from gsppca.report import copies as copies_module
from gsppca.report import explained as explained_module
from gsppca.report.content import collect
from gsppca.report.copies import LEAST_CORRELATION
from gsppca.report.explained import explained_along, spread_sizes
from gsppca.report.scores import MAX_GROUPS, drawn_rows, grouped, scores_to_draw
from gsppca.report.verdict import cautions, nearest_misses, verdict


@pytest.mark.parametrize(("n", "p"), [(40, 25), (15, 300)])
@pytest.mark.parametrize("way", ["gram", "passes"])
@pytest.mark.parametrize("container", [np.asarray, csr_matrix])
def test_explained_variance_is_that_of_pca_on_the_support(monkeypatch, factor_data, n, p, way, container):
    if way == "passes":
        monkeypatch.setattr(explained_module, "LARGEST_GRAM", 0)
    X, _ = factor_data(3, n=n, p=p)
    order = np.random.default_rng(0).permutation(p)
    sizes, ratios = explained_along(as_matrix(container(X)), order, lambda _: 3, chosen=[7])
    assert {1, 7, p} <= set(sizes)
    for size, ratio in zip(sizes, ratios, strict=True):
        support = np.zeros(p, dtype=bool)
        support[order[:size]] = True
        expected = adjusted_explained_variance(X, support, min(3, size))[-1] / 100
        assert ratio == pytest.approx(expected, rel=1e-8)
    assert (np.diff(ratios) >= 0).all()


def test_sizes_are_all_or_spread():
    assert spread_sizes(10, 20).tolist() == list(range(1, 11))
    sizes = spread_sizes(50_000, 80, chosen=[1234])
    assert len(sizes) <= 85
    assert {1, 1233, 1234, 1235, 50_000} <= set(sizes)
    assert (np.diff(sizes) > 0).all()
    assert spread_sizes(300, 80, chosen=[300])[-1] == 300


def test_content_follows_the_ranking(factor_data):
    X, _ = factor_data(0)
    X[:, [4, 9]] = 2.0
    model = GSPPCA(3, method="paper").fit(X)
    content = collect(model, feature_names=[f"v{k}" for k in range(25)])
    order = np.argsort(model.ranking_)
    assert content.names == [f"v{k}" for k in order[:23]]
    assert content.constant == ["v4", "v9"]
    assert (content.n_samples, content.n_features, content.n_ranked) == (40, 25, 23)
    np.testing.assert_array_equal(content.relevance, model.relevance_[order[:23]])
    np.testing.assert_array_equal(content.loadings, model.components_[:, order[: model.n_selected_]])
    assert content.explained_at(model.n_selected_) == pytest.approx(model.explained_variance_ratio_.sum())
    np.testing.assert_allclose(content.scores.values, model.transform(X), atol=1e-12)
    correlations = np.corrcoef(X[:, order[:23]].T)
    misses = nearest_misses(content)
    assert [miss.rank for miss in misses] == list(range(model.n_selected_ + 1, min(model.n_selected_ + 15, 23) + 1))
    for miss in misses:
        k = miss.rank - 1
        assert miss.name == f"v{order[k]}"
        assert miss.role == model.role_[order[k]]
        best = int(np.abs(correlations[k, : model.n_selected_]).argmax())
        assert miss.represented_by == f"v{order[best]}"
        assert miss.correlation == pytest.approx(correlations[k, best])


@pytest.mark.filterwarnings("ignore::gsppca.MostVariablesWarning")
@pytest.mark.parametrize("rule", ["auto", "relevant", "r2", 12])
def test_the_model_at_every_button_is_that_of_choose(rule):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(90, 4)) @ rng.normal(size=(4, 40)) + 0.3 * rng.normal(size=(90, 40))
    X[:, 30:] = rng.normal(size=(90, 10))
    model = GSPPCA(4, n_features_to_select=rule).fit(X)
    content = collect(model)
    assert {one.size for one in content.presets} >= {10, 20, int(model.core_.sum()), int(model.relevant_.sum())}
    sizes = {one.size for one in content.sized}
    assert sizes >= {one.size for one in content.presets} - {model.n_selected_}
    for one in content.sized:
        chosen = model.choose(one.size)
        order = np.argsort(model.ranking_)[: one.size]
        np.testing.assert_allclose(one.loadings, chosen.components_[:, order], atol=1e-10)
        np.testing.assert_allclose(one.ratios, chosen.explained_variance_ratio_)
        np.testing.assert_allclose(one.scores, chosen.transform(X), atol=1e-9)
        assert content.explained_at(one.size) == pytest.approx(chosen.explained_variance_ratio_.sum())
    np.testing.assert_array_equal(content.selected, model.support_[content.columns])
    loaded = collect(pickle.loads(pickle.dumps(model)))
    assert loaded.view.role.tolist() == model.role_.tolist()
    assert loaded.view.share == content.view.share


def test_a_selector_says_the_same(factor_data):
    X, _ = factor_data(0)
    one, two = collect(GSPPCA(3).fit(X)), collect(GSPPCASelector(3).fit(X))
    assert one.names == two.names
    np.testing.assert_allclose(one.loadings, two.loadings)
    np.testing.assert_allclose(one.component_ratios, two.component_ratios)
    np.testing.assert_allclose(one.scores.values, two.scores.values)


def test_without_data_what_needs_it_is_missing_and_the_data_brings_it_back(factor_data):
    X, _ = factor_data(0)
    model = GSPPCA(3, scale=True).fit(X)
    loaded = pickle.loads(pickle.dumps(model))
    bare = collect(loaded)
    assert bare.n_samples is bare.scores is bare.explained is None
    np.testing.assert_array_equal(bare.loadings, collect(model).loadings)
    full = collect(loaded, X)
    np.testing.assert_allclose(full.explained, collect(model).explained)
    np.testing.assert_allclose(full.scores.values, model.transform(X), atol=1e-12)
    with pytest.raises(ValueError, match="X is not the data of fit"):
        collect(loaded, X * 2)
    with pytest.raises(ValueError, match=r"X must be the data of fit, of shape \(40, 25\), got shape \(40, 3\)"):
        collect(model, X[:, :3])


def test_names_set_after_the_fit_need_no_named_data(factor_data):
    X, _ = factor_data(0)
    model = GSPPCA(3).fit(X)
    model.feature_names_in_ = np.array([f"g{k}" for k in range(25)], dtype=object)
    content = collect(pickle.loads(pickle.dumps(model)), X)
    assert content.names[0] == f"g{np.argmin(model.ranking_)}"
    assert content.scores is not None


def test_what_is_misaligned_is_named(factor_data):
    X, _ = factor_data(0)
    model = GSPPCA(3).fit(X)
    with pytest.raises(ValueError, match="feature_names must have one name per column of X, 25, got 2"):
        collect(model, feature_names=["a", "b"])
    with pytest.raises(ValueError, match="labels must have one entry per row of X, 40, got 3"):
        collect(model, labels=[1, 2, 3])
    with pytest.raises(ValueError, match="sample_names must have one entry per row of X, 40, got 1"):
        collect(model, sample_names=["a"])


def test_inclusion_probabilities_are_shown_when_the_model_has_them(factor_data):
    model = GSPPCA(3).fit(factor_data(0)[0])
    np.testing.assert_array_equal(collect(model).inclusion, model.inclusion_probability_[np.argsort(model.ranking_)])


def test_verdicts(factor_data):
    X, support = factor_data(0)
    model = GSPPCA(3).fit(X)
    size = model.n_selected_
    said = " ".join(verdict(collect(model), model))
    assert said.startswith(f"{size} of 25 variables are relevant and selected")
    assert f"A core of {model.core_.sum()} variables carries {model.core_share_:.0%}" in said
    variance = model._core().description.variance_share
    assert (
        f"The components of the core predict {variance:.0%} of the variance of all variables on rows left out" in said
    )
    assert (
        f"{model.explained_variance_ratio_.sum():.1%} (all: {model.choose(25).explained_variance_ratio_.sum():.1%})"
        in said
    )
    asked = model.choose(4)
    said = " ".join(verdict(collect(asked), asked))
    assert f"{size} of 25 variables are relevant; the first 4 are selected, as asked for" in said
    core = GSPPCA(3, n_features_to_select="core").fit(X)
    assert verdict(collect(core), core)[0].startswith(f"A core of {core.n_selected_} of 25 variables carries")
    path = model.evidence_path_
    object.__setattr__(path, "log_evidence_empty", path.log_evidence[path.sizes == size][0] - 12.5)
    assert "higher by 12.5" in verdict(collect(model), model)[-1]
    model.supported_ = False
    assert verdict(collect(model), model)[0].startswith("No statistically supported structure")
    X[:, ~support] = 0
    few = GSPPCA(3, n_features_to_select=2).fit(X)
    said = " ".join(cautions(collect(few), few))
    assert "17 constant columns took no part" in said
    assert "as many components as selected variables" in said


@pytest.mark.filterwarnings("ignore::gsppca.MostVariablesWarning")
def test_warnings_of_the_fit_are_on_the_page():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2)) @ rng.normal(size=(2, 12)) + 0.05 * rng.normal(size=(80, 12))
    model = GSPPCA(2).fit(X)
    assert "12 of 12 variables are relevant; a core of" in cautions(collect(model), model)[0]


def test_drawn_samples_keep_the_extremes():
    scores = np.random.default_rng(0).normal(size=(20_000, 4))
    rows = drawn_rows(scores, 3000)
    assert len(rows) <= 3000
    assert len(set(rows)) == len(rows)
    for column in scores.T:
        assert {int(column.argmin()), int(column.argmax())} <= set(rows.tolist())
    assert drawn_rows(scores[:100]).tolist() == list(range(100))


def test_labels_become_groups_or_a_scale():
    names, positions = grouped([10, 9, 10, 2])
    assert names == ["2", "9", "10"]
    assert positions.tolist() == [2, 1, 2, 0]
    assert grouped(["b", None, "a"])[0] == ["None", "a", "b"]
    many = [f"g{k:02d}" for k in range(40) for _ in range(k + 1)]
    names, positions = grouped(many)
    assert len(names) == MAX_GROUPS
    assert names[-1] == "17 other labels"
    assert names[:-1] == [f"g{k}" for k in range(17, 40)]
    assert names[positions[-1]] == "g39"
    assert names[positions[0]] == "17 other labels"
    scores = np.random.default_rng(0).normal(size=(50, 2))
    drawn = scores_to_draw(scores, None, np.linspace(0, 1, 50))
    assert drawn.groups == []
    np.testing.assert_array_equal(drawn.numbers, np.linspace(0, 1, 50))


@pytest.fixture
def with_copies():
    """Columns 0 to 5 follow three factors; 6 to 9 copy column 0, 10 mirrors column 1, 11 is constant."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(80, 20))
    X[:, :6] = 2 * rng.normal(size=(80, 3)) @ rng.normal(size=(3, 6)) + 0.5 * rng.normal(size=(80, 6))
    X[:, 6:10] = X[:, [0]] + 0.05 * rng.normal(size=(80, 4))
    X[:, 10] = -3 * X[:, 1] + 0.05 * rng.normal(size=80)
    X[:, 11] = 1
    return X


@pytest.mark.filterwarnings("ignore::gsppca.MostVariablesWarning")
@pytest.mark.parametrize("container", [np.asarray, csr_matrix])
@pytest.mark.parametrize("rule", ["auto", "core", 3])
@pytest.mark.parametrize("method", ["joint", "paper"])
@pytest.mark.parametrize("block", [1, 2**22])
def test_groups_of_near_copies_against_a_loop(with_copies, container, rule, method, block, monkeypatch):
    monkeypatch.setattr(copies_module, "BLOCK", block)
    model = GSPPCA(3, n_features_to_select=rule, method=method).fit(container(with_copies))
    copies = collect(model).copies
    varying = np.flatnonzero(np.ptp(with_copies, axis=0) > 0)
    correlations = np.zeros((20, 20))
    correlations[np.ix_(varying, varying)] = np.corrcoef(with_copies[:, varying].T)
    expected, free = {}, set(varying.tolist())
    for k in np.argsort(model.ranking_).tolist():
        if k in free and (model.relevant_[k] or model.support_[k]):
            near = [m for m in free - {k} if abs(correlations[k, m]) >= LEAST_CORRELATION]
            if near:
                expected[f"x{k}"] = {f"x{m}": correlations[k, m] for m in near}
                free -= {k, *near}
    assert {group.name: {name: pytest.approx(r, abs=0.02) for name, r in group.copies} for group in copies.groups} == (
        expected
    )
    assert copies.n_groups == len(expected) == 2
    assert copies.n_copies == sum(map(len, expected.values())) == 5
    assert [group.n_copies for group in copies.groups] == [4, 1]
    strengths = [abs(r) for _, r in copies.groups[0].copies]
    assert strengths == sorted(strengths, reverse=True)
    assert copies.groups[1].copies[0][1] < -LEAST_CORRELATION  # a mirror image is a copy too


@pytest.mark.filterwarnings("ignore::gsppca.MostVariablesWarning")
def test_near_copies_without_the_data_and_of_too_many_variables(with_copies, monkeypatch):
    model = GSPPCA(3).fit(with_copies)
    bare = collect(pickle.loads(pickle.dumps(model))).copies
    assert bare.among == "the core"
    core = {f"x{k}" for k in np.flatnonzero(model.core_)}
    correlations = np.corrcoef(with_copies.T[:11])
    for group in bare.groups:
        assert group.name in core
        for name, r in group.copies:
            assert name not in core
            assert r == pytest.approx(correlations[int(group.name[1:]), int(name[1:])], abs=0.02)
    monkeypatch.setattr(copies_module, "MOST_PRODUCTS", 80 * 19)
    first = collect(model).copies
    assert first.among == "the first variable"
    assert first.n_groups <= 1
    monkeypatch.undo()
    monkeypatch.setattr(copies_module, "MOST_CORRELATIONS", 19)
    assert collect(model).copies.among == "the first variable"


def test_the_page_has_the_components_of_the_model_at_every_size():
    """A core has its leading components, and so has any other part of the relevant variables."""
    from sklearn.datasets import load_digits

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = GSPPCA().fit(load_digits().data)
        content = collect(model)
    at = int(np.searchsorted(content.explained_sizes, model.n_selected_))
    np.testing.assert_allclose(content.explained[at], model.explained_variance_ratio_.sum(), rtol=1e-6)
    n_relevant = int(model.relevant_.sum())
    for one in content.sized:
        assert len(one.ratios) == model.choose(one.size).n_components_
    at = int(np.searchsorted(content.explained_sizes, n_relevant))
    ratio = model.choose(n_relevant).explained_variance_ratio_.sum()
    np.testing.assert_allclose(content.explained[at], ratio, rtol=1e-6)
    assert not any("as many components" in one for one in cautions(content, model))


@pytest.mark.filterwarnings("ignore:.*variables are relevant")
def test_all_variables_are_compared_with_as_many_components_as_they_have():
    """A core of many factors has ten components, all relevant variables as many as there are."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 14)) @ rng.standard_normal((14, 60)) + 0.5 * rng.standard_normal((300, 60))
    model = GSPPCA(n_features_to_select="core").fit(X)
    everything = model.choose(60)
    assert model.n_components_ < everything.n_components_
    sentences = " ".join(verdict(collect(model), model))
    share = everything.explained_variance_ratio_.sum()
    assert f"(all, with {everything.n_components_} components: {share:.1%})" in sentences
