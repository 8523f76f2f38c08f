"""Methods and rules through the estimators: alone, together, and with pieces of the user's own."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse

import gsppca
import gsppca.methods.joint as joint_module
from gsppca import (
    GSPPCA,
    Chosen,
    Core,
    FalseDiscoveryRate,
    GSPPCASelector,
    Joint,
    MinimumR2,
    MostVariablesWarning,
    NestedSearch,
    NoStructureWarning,
    Paper,
    SmallSampleWarning,
    evidence_path,
)
from gsppca.datasets import make_model_selection, make_noise_range
from gsppca.metrics import f_score
from gsppca.rules import core_rule
from gsppca.rules.core import find_core


@pytest.fixture(scope="module")
def data():
    return make_noise_range(0.5, 66, random_state=2)


def standardised(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


def by_variance(matrix, n_components):
    return np.log(matrix.column_squares)


def profile_evidence(matrix, order, n_components):
    return evidence_path(matrix, order, n_components, "profile")


class Largest:
    """A rule of one's own: the variables with the largest relevance."""

    def select(self, found, frame, rng):
        support = found.relevance >= np.sort(found.relevance)[-20]
        return Chosen(support, "largest", found.supported)


COMBINATIONS = [
    {},
    {"method": Joint(noise="own")},
    {"method": Joint(noise="common")},
    {"robust": True},
    {"method": "paper"},
    {"method": Paper(evidence="noisy")},
    {"method": NestedSearch(by_variance, profile_evidence)},
    {"n_features_to_select": "fdr", "random_state": 0},
    {"n_features_to_select": FalseDiscoveryRate(n_draws=3), "random_state": 0},
    {"n_features_to_select": MinimumR2(0.3)},
    {"n_features_to_select": "relevant"},
    {"method": "paper", "n_features_to_select": Largest()},
]


@pytest.mark.parametrize("arguments", COMBINATIONS, ids=range(len(COMBINATIONS)))
def test_every_combination_finds_the_structure(data, arguments):
    model = GSPPCA(10, **arguments).fit(data.X)
    assert f_score(data.support, model.support_) > 0.85
    assert model.supported_
    np.testing.assert_array_equal(np.sort(model.ranking_), np.arange(1, 201))
    assert ((model.inclusion_probability_ >= 0) & (model.inclusion_probability_ <= 1)).all()
    assert ((model.relevance_ >= 0) & (model.relevance_ <= 1)).all()
    assert model.n_iter_ >= 1
    selector = GSPPCASelector(10, **arguments).fit(data.X)
    np.testing.assert_array_equal(selector.support_, model.support_)


@pytest.mark.parametrize("arguments", COMBINATIONS[:7] + COMBINATIONS[9:], ids=range(10))
def test_permuting_columns_permutes_and_scaling_changes_nothing(data, arguments):
    order = np.random.default_rng(0).permutation(200)
    base = GSPPCA(10, **arguments).fit(data.X)
    np.testing.assert_array_equal(GSPPCA(10, **arguments).fit(data.X[:, order]).support_, base.support_[order])
    np.testing.assert_array_equal(GSPPCA(10, **arguments).fit(1e4 * data.X).support_, base.support_)


@pytest.mark.parametrize(
    "arguments", [{}, {"method": Paper(evidence="noisy")}, {"n_features_to_select": "r2"}], ids=str
)
def test_sparse_data_gets_the_same_answer(data, arguments):
    X = np.where(np.abs(data.X) > 0.3, data.X, 0.0)
    dense, other = (GSPPCA(10, **arguments).fit(Z) for Z in (X, sparse.csr_array(X)))
    np.testing.assert_array_equal(other.support_, dense.support_)
    np.testing.assert_allclose(other.evidence_path_.log_evidence, dense.evidence_path_.log_evidence, rtol=1e-8)


@pytest.mark.filterwarnings("ignore::gsppca.NoStructureWarning")  # of the paper's method
def test_standardised_columns_are_where_the_joint_method_is_needed(data):
    X = standardised(data.X)
    paper, joint = (GSPPCA(10, method=method).fit(X) for method in ("paper", "joint"))
    assert f_score(data.support, joint.support_) > 0.9
    assert f_score(data.support, joint.support_) > f_score(data.support, paper.support_)


def test_heavy_tails_are_clipped_without_being_asked():
    scores = []
    for seed in range(3):
        data = make_model_selection(66, "student", 0.7, random_state=seed)
        model = GSPPCA(10).fit(data.X)
        scores.append(f_score(data.support, model.support_))
        # Clipping is for choosing: the components are those of the data itself.
        wanted = np.linalg.svd(data.X[:, model.support_] - data.X[:, model.support_].mean(axis=0))[1]
        np.testing.assert_allclose(model.singular_values_, wanted[:10], rtol=1e-8)
    assert np.mean(scores) > 0.95


def heavy_data(n=120, p=60):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 2)) @ rng.normal(size=(2, p)) + rng.standard_t(2.5, size=(n, p))


def test_the_core_of_heavy_tails_is_that_of_the_data_as_it_is():
    """Correlations that are shown can be checked by whoever has the data."""
    X = heavy_data()
    model = GSPPCA(2, n_features_to_select="core").fit(X)
    frame = model._fitted.frame
    assert frame.tails.heavy
    core = find_core(frame.data, model.relevant_, 2, relevance=-model.ranking_.astype(float), standardise=True)
    assert core.core.tolist() == np.argsort(model.ranking_)[: model.n_selected_].tolist()
    assert core.share == pytest.approx(model.core_share_, abs=1e-12)
    table = model.to_frame()
    related = table[~table["selected"]]
    shown = [
        np.corrcoef(X[:, int(name[1:])], X[:, int(by[1:])])[0, 1]
        for name, by in zip(related["name"], related["represented_by"], strict=True)
    ]
    np.testing.assert_allclose(related["correlation"], shown, atol=1e-10)


def test_a_core_that_heavy_tails_keep_from_its_share_says_what_helps():
    rng = np.random.default_rng(1)
    X = np.exp(0.4 * rng.normal(size=(80, 3)) @ rng.normal(size=(3, 250)) + rng.normal(size=(80, 250)))
    with pytest.warns(SmallSampleWarning, match=r"take logarithms \(--log\) or robust=True, use more samples"):
        GSPPCA(3, n_features_to_select=Core(0.98)).fit(X)
    with pytest.warns(SmallSampleWarning, match=r"do not predict it better\. Use more samples") as record:
        GSPPCA(3, n_features_to_select=Core(0.98), robust=True).fit(X)
    assert "logarithms" not in str(record[0].message)


def test_a_fit_does_not_keep_the_clipped_copy():
    X = heavy_data()
    model, robust = (GSPPCA(2, n_features_to_select="relevant", robust=robust).fit(X) for robust in (False, True))
    assert "clipped" not in vars(model._fitted.frame)
    # The evidence is that of the clipped columns all the same, whoever asks for it later.
    values = [float(one.evidence_path_.log_evidence.max()) for one in (model, robust)]
    assert values[0] == pytest.approx(values[1], rel=1e-9)


def test_robust_clips_for_the_core_too():
    X = heavy_data()
    model = GSPPCA(2, n_features_to_select="core", robust=True).fit(X)
    frame = model._fitted.frame
    relevance = -model.ranking_.astype(float)
    core = find_core(frame.clipped, model.relevant_, 2, relevance=relevance, standardise=True, rows=frame.rows)
    assert core.share == pytest.approx(model.core_share_, abs=1e-12)
    assert model.core_share_ != GSPPCA(2, n_features_to_select="core").fit(X).core_share_


@pytest.mark.parametrize("law", ["normal", "laplace"])
def test_noise_is_unsupported(law):
    for seed in range(6):
        X = getattr(np.random.default_rng(seed), law)(size=(50, 80))
        with pytest.warns(NoStructureWarning, match="No statistically supported structure was found"):
            model = GSPPCA(5, method=Joint(noise="own")).fit(X)
        assert not model.supported_
        assert model.transform(X).shape == (50, model.n_components_)


def test_a_rule_that_nothing_passes_keeps_one_variable_and_says_so():
    X = np.random.default_rng(0).normal(size=(60, 40))
    with pytest.warns(NoStructureWarning, match=r"No variable passes a false discovery rate of 0\.1"):
        model = GSPPCA(2, n_features_to_select="fdr", random_state=0).fit(X)
    assert model.n_selected_ == 1
    assert not model.supported_
    with pytest.warns(NoStructureWarning, match=r"No variable passes a minimum R2 of 0\.9"):
        assert GSPPCA(2, n_features_to_select=MinimumR2(0.9)).fit(X).n_selected_ == 1


def dense_data(n=100, p=60, d=2, noise=0.5):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, p)) + noise * rng.normal(size=(n, p))


def test_where_most_variables_are_relevant_their_core_is_selected_and_both_numbers_are_said():
    X = dense_data()
    with pytest.warns(MostVariablesWarning, match=r"(\d+) of 60 variables are relevant; a core of \d+") as record:
        model = GSPPCA(2).fit(X)
    assert record[0].filename == __file__  # the warning points at the user's line
    assert model.selected_by_ == "core"
    assert model.n_selected_ < 20 < model.relevant_.sum()
    np.testing.assert_array_equal(model.support_, model.core_)
    assert 0.9 <= model.core_share_ <= 1
    np.testing.assert_array_equal(model.role_ == "noise", ~model.relevant_)
    everything = GSPPCA(2, n_features_to_select="relevant").fit(X)  # no warning: it was asked for
    np.testing.assert_array_equal(everything.support_, model.relevant_)
    smaller, larger = (GSPPCA(2, n_features_to_select=Core(share)).fit(X) for share in (0.6, 0.99))
    assert smaller.n_selected_ <= model.n_selected_ < larger.n_selected_
    np.testing.assert_array_equal(smaller.core_, smaller.support_)
    assert smaller.core_share_ <= model.core_share_ < larger.core_share_


def test_the_paper_s_method_never_selects_a_core_by_itself():
    X = dense_data()
    model = GSPPCA(2, method="paper").fit(X)
    assert model.selected_by_ == "relevant"
    np.testing.assert_array_equal(model.support_, model.relevant_)
    core = GSPPCA(2, method="paper", n_features_to_select="core").fit(X)
    np.testing.assert_array_equal(core.support_, model.core_)
    np.testing.assert_array_equal(core.ranking_, model.ranking_)


def test_a_rule_of_its_own_decides_what_is_supported():
    X = dense_data()
    model = GSPPCA(2, n_features_to_select=MinimumR2(0.1)).fit(X)
    assert model.n_selected_ > 30
    assert model.supported_ is True
    assert model.selected_by_ == "r2"
    weak = GSPPCA(2, n_features_to_select=MinimumR2(0.01)).fit(np.random.default_rng(1).normal(size=(60, 40)))
    assert weak.n_selected_ > 1
    assert weak.supported_ is True


def test_auto_finds_dimension_and_size_together():
    for d in (2, 5):
        data = make_noise_range(0.5, 100, n_components=d, random_state=d)
        model = GSPPCA().fit(data.X)
        assert model.n_latent_ == model.n_components_ == d
        assert f_score(data.support, model.support_) > 0.95


def test_the_evidence_is_evaluated_when_somebody_looks(data, monkeypatch):
    calls = []
    along = joint_module.evidence_along

    def counted(*arguments, **options):
        calls.append(1)
        return along(*arguments, **options)

    monkeypatch.setattr(joint_module, "evidence_along", counted)
    model = GSPPCA(10).fit(data.X)
    assert not calls
    assert model.evidence_path_ is model.evidence_path_
    assert len(calls) == 1
    assert model.evidence_path_.dimensions is not None
    left = pickle.loads(pickle.dumps(GSPPCA(10).fit(data.X)))
    with pytest.raises(AttributeError, match="Look at evidence_path_ before saving"):
        _ = left.evidence_path_
    assert not hasattr(GSPPCA(10), "evidence_path_")
    with pytest.raises(AttributeError, match="Set method='paper'"):
        _ = model.relaxed_


def test_a_size_that_was_not_evaluated_can_be_chosen(data):
    model = GSPPCA(10).fit(data.X)
    size = int(np.setdiff1d(np.arange(2, 201), model.evidence_path_.sizes)[0])
    other = model.choose(size)
    assert other.n_selected_ == size
    assert other.selected_by_ == "size"
    assert np.isfinite(other.score(data.X))
    np.testing.assert_array_equal(np.flatnonzero(other.support_), np.flatnonzero(model.ranking_ <= size))
    again = pickle.loads(pickle.dumps(model)).choose(size, data.X)
    np.testing.assert_allclose(again.components_, other.components_, atol=1e-13)


@pytest.mark.parametrize("method", ["joint", "paper", Paper(tol=1e-4), Joint(noise="own")], ids=str)
def test_models_are_saved_with_all_of_it(data, tmp_path, method):
    model = GSPPCA(10, method=method, n_features_to_select=Core(0.8)).fit(data.X)
    model.save(tmp_path)
    same = gsppca.load(tmp_path)
    assert same.get_params() == model.get_params()
    for name in ("support_", "relevant_", "core_", "role_", "ranking_", "inclusion_probability_", "predicted_share_"):
        np.testing.assert_array_equal(getattr(same, name), getattr(model, name), err_msg=name)
    np.testing.assert_array_equal(same.share_path_.share, model.share_path_.share)
    assert same.core_share_ == model.core_share_
    assert same.supported_ is True
    assert same.selected_by_ == "core"


@pytest.fixture(scope="module")
def gaps(data):
    X = data.X.copy()
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    return X


@pytest.mark.parametrize("arguments", [{}, {"n_components": "auto"}], ids=str)
def test_missing_entries_are_filled(data, gaps, arguments):
    arguments = {"n_components": 10, **arguments}
    whole = GSPPCA(**arguments).fit(data.X)
    model = GSPPCA(**arguments, missing="impute").fit(gaps)
    assert f_score(data.support, model.support_) > f_score(data.support, whole.support_) - 0.06
    scores = model.transform(gaps)
    assert np.isfinite(scores).all()
    assert np.isfinite(model.score(gaps))
    # Rows without gaps are projected as they are.
    np.testing.assert_allclose(model.transform(data.X), (data.X - model.mean_) @ model.components_.T, atol=1e-10)


def test_models_that_fill_gaps_are_chosen_from_saved_and_pickled(gaps, tmp_path):
    model = GSPPCA(10, missing="impute").fit(gaps)
    model.save(tmp_path)
    for other in (gsppca.load(tmp_path), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.transform(gaps), model.transform(gaps))
        np.testing.assert_allclose(other.choose(15, gaps).components_, model.choose(15).components_, atol=1e-13)


def test_a_selector_leaves_gaps_in_the_columns_it_returns(gaps):
    selector = GSPPCASelector(10, missing="impute").fit(gaps)
    np.testing.assert_array_equal(selector.transform(gaps), gaps[:, selector.support_])


def test_without_gaps_imputing_changes_nothing(data):
    plain, other = GSPPCA(10).fit(data.X), GSPPCA(10, missing="impute").fit(data.X)
    np.testing.assert_array_equal(other.support_, plain.support_)
    np.testing.assert_allclose(other.components_, plain.components_, atol=1e-13)


def test_nan_is_refused_with_the_option_named(gaps):
    with pytest.raises(ValueError, match=r"contains NaN: the first one at row \d+, column \d+.*missing='impute'"):
        GSPPCA(10).fit(gaps)
    gaps = gaps.copy()
    gaps[3, 4] = np.inf
    with pytest.raises(ValueError, match="contains infinity: the first one at row 3, column 4"):
        GSPPCA(10, missing="impute").fit(gaps)
    with pytest.raises(ValueError, match="missing='impute' needs a dense array"):
        GSPPCA(2, missing="impute").fit(sparse.csr_array(np.random.default_rng(0).poisson(0.7, (20, 10)) * 1.0))


def test_some_of_the_relevant_variables_have_the_leading_components_only():
    from sklearn.datasets import load_digits

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = GSPPCA().fit(load_digits().data)
    assert "of 64 variables are relevant" in str(caught[0].message)  # of all, not of the 61 that vary
    assert model.n_latent_ > 10
    assert model.choose(30).n_components_ == model.n_components_ == 10
    assert model.choose(int(model.relevant_.sum())).n_components_ == model.n_latent_


@pytest.mark.parametrize("shape", [(50, 20), (40, 200)])
def test_columns_of_a_single_event_have_no_structure(shape):
    """None of them can be judged: two with one event each, in the same row, are equal by chance."""
    for seed in range(5):
        X = (np.random.default_rng(seed).random(shape) < 0.02).astype(float)
        with pytest.warns(NoStructureWarning):
            model = GSPPCASelector().fit(X)
        assert not model.supported_


def test_cores_of_all_shares_tell_equal_variables_apart_alike(monkeypatch):
    """By the order of the search, also when that of the first core has taken its place: or they were not nested."""
    given, find = [], core_rule.find_core

    def noted(*arguments, **options):
        given.append(options["relevance"])
        return find(*arguments, **options)

    monkeypatch.setattr(core_rule, "find_core", noted)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3)) @ rng.standard_normal((3, 40)) + rng.standard_normal((60, 40))
    GSPPCA(3, n_features_to_select=Core(0.7)).fit(X)
    first, second = given
    np.testing.assert_array_equal(first, second)
