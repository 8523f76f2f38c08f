"""Beyond the paper, through the estimators: other rankings, evidences and rules; doubt that is said."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy import sparse

import gsppca
from gsppca import GSPPCA, GSPPCASelector, MostVariablesWarning, NoStructureWarning
from gsppca.datasets import make_model_selection, make_noise_range
from gsppca.metrics import f_score


@pytest.fixture(scope="module")
def data():
    return make_noise_range(0.5, 66, random_state=2)


def standardised(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


PROCEDURES = [
    {"evidence": "joint"},
    {"evidence": "joint", "refine": False},
    {"evidence": "joint", "ranking": "vem"},
    {"evidence": "joint", "noise_variance": "own"},
    {"evidence": "joint", "noise_variance": "profile", "size_prior": "uniform"},
    {"evidence": "joint", "robust": True},
    {"evidence": "noisy"},
    {"ranking": "noise-path"},
    {"n_features_to_select": "fdr", "random_state": 0},
    {"n_features_to_select": "fdr", "n_draws": 3, "random_state": 0},
    {"n_features_to_select": "r2", "min_r2": 0.3},
]


@pytest.mark.parametrize("arguments", PROCEDURES, ids=str)
def test_every_procedure_finds_the_structure(data, arguments):
    model = GSPPCA(10, **arguments).fit(data.X)
    assert f_score(data.support, model.support_) > 0.85
    assert model.supported_
    np.testing.assert_array_equal(np.sort(model.ranking_), np.arange(1, 201))
    assert ((model.inclusion_probability_ >= 0) & (model.inclusion_probability_ <= 1)).all()
    assert model.n_iter_ >= 1
    selector = GSPPCASelector(10, **arguments).fit(data.X)
    np.testing.assert_array_equal(selector.support_, model.support_)


@pytest.mark.parametrize("arguments", PROCEDURES[:5] + PROCEDURES[10:], ids=str)
def test_permuting_columns_permutes_and_scaling_changes_nothing(data, arguments):
    order = np.random.default_rng(0).permutation(200)
    base = GSPPCA(10, **arguments).fit(data.X)
    np.testing.assert_array_equal(GSPPCA(10, **arguments).fit(data.X[:, order]).support_, base.support_[order])
    np.testing.assert_array_equal(GSPPCA(10, **arguments).fit(1e4 * data.X).support_, base.support_)


@pytest.mark.parametrize("arguments", [PROCEDURES[0], PROCEDURES[6], PROCEDURES[10]], ids=str)
def test_sparse_data_gets_the_same_answer(data, arguments):
    X = np.where(np.abs(data.X) > 0.3, data.X, 0.0)
    dense, other = (GSPPCA(10, **arguments).fit(Z) for Z in (X, sparse.csr_array(X)))
    np.testing.assert_array_equal(other.support_, dense.support_)
    np.testing.assert_allclose(other.evidence_path_.log_evidence, dense.evidence_path_.log_evidence, rtol=1e-8)


def test_standardised_columns_are_where_the_joint_evidence_is_needed(data):
    X = standardised(data.X)
    paper, joint = (GSPPCA(10, evidence=evidence).fit(X) for evidence in ("noiseless", "joint"))
    assert f_score(data.support, joint.support_) > 0.9
    assert f_score(data.support, joint.support_) > f_score(data.support, paper.support_)


def test_heavy_tails_are_clipped():
    scores = []
    for seed in range(3):
        data = make_model_selection(66, "student", 0.7, random_state=seed)
        model = GSPPCA(10, evidence="joint", robust=True).fit(data.X)
        scores.append(f_score(data.support, model.support_))
        # Clipping is for choosing: the components are those of the data itself.
        plain = GSPPCA(10, evidence="joint", n_features_to_select=model.n_selected_).fit(data.X)
        if (plain.support_ == model.support_).all():
            np.testing.assert_allclose(plain.explained_variance_, model.explained_variance_, rtol=1e-8)
    assert np.mean(scores) > 0.95


@pytest.mark.parametrize("law", ["normal", "laplace"])
def test_noise_is_not_vouched_for(law):
    supported = []
    for seed in range(6):
        X = getattr(np.random.default_rng(seed), law)(size=(50, 80))
        with pytest.warns(NoStructureWarning, match="No support beats the empty model"):
            model = GSPPCA(5, evidence="joint", noise_variance="own").fit(X)
        supported.append(model.supported_)
        assert model.transform(X).shape == (50, model.n_components_)
    assert not any(supported)


def test_a_rule_that_nothing_passes_keeps_one_variable_and_says_so():
    X = np.random.default_rng(0).normal(size=(60, 40))
    with pytest.warns(NoStructureWarning, match="No variable passes fdr=0.1"):
        model = GSPPCA(2, n_features_to_select="fdr", random_state=0).fit(X)
    assert model.n_selected_ == 1
    assert not model.supported_
    with pytest.warns(NoStructureWarning, match="No variable passes min_r2=0.9"):
        assert GSPPCA(2, n_features_to_select="r2", min_r2=0.9).fit(X).n_selected_ == 1


def test_most_variables_kept_is_said():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2)) @ rng.normal(size=(2, 30)) + 0.5 * rng.normal(size=(100, 30))
    with pytest.warns(MostVariablesWarning, match=r"\d+ of 30 variables are kept"):
        GSPPCA(2, evidence="joint").fit(X)
    with pytest.warns(MostVariablesWarning) as record:
        GSPPCA(2).fit(X)
    assert record[0].filename == __file__  # the warning points at the user's line


def test_a_rule_of_its_own_vouches_for_what_passes():
    """The evidence is not asked: neither "most are kept" nor "nothing beats the empty model" is said."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2)) @ rng.normal(size=(2, 30)) + 0.5 * rng.normal(size=(100, 30))
    model = GSPPCA(2, n_features_to_select="r2", min_r2=0.1).fit(X)
    assert model.n_selected_ > 15
    assert model.supported_ is True
    weak = GSPPCA(2, n_features_to_select="r2", min_r2=0.01).fit(rng.normal(size=(60, 40)))
    assert weak.n_selected_ > 1
    assert weak.supported_ is True


def test_auto_finds_dimension_and_size_together():
    for d in (2, 5):
        data = make_noise_range(0.5, 100, n_components=d, random_state=d)
        model = GSPPCA(evidence="joint").fit(data.X)
        assert model.n_latent_ == model.n_components_ == d
        assert f_score(data.support, model.support_) > 0.95


def test_the_paths_are_told(data):
    model = GSPPCA(10, evidence="joint").fit(data.X)
    path = model.relevance_path_
    assert path.relevance.shape == (len(path.levels), 200)
    assert model.bounds_ is None
    assert model.evidence_path_.dimensions is not None
    assert GSPPCA(10, evidence="noiseless").fit(data.X).relevance_path_ is None


def test_another_size_can_be_chosen_even_one_that_was_not_evaluated(data):
    model = GSPPCA(10, evidence="joint").fit(data.X)
    size = int(np.setdiff1d(np.arange(2, 201), model.evidence_path_.sizes)[0])
    other = model.choose(size)
    assert other.n_selected_ == size
    assert np.isfinite(other.score(data.X))
    np.testing.assert_array_equal(np.flatnonzero(other.support_), np.flatnonzero(model.ranking_ <= size))
    again = pickle.loads(pickle.dumps(model)).choose(size, data.X)
    np.testing.assert_array_equal(again.components_, other.components_)


def test_models_are_saved_with_all_of_it(data, tmp_path):
    model = GSPPCA(10, evidence="joint").fit(data.X)
    model.save(tmp_path)
    same = gsppca.load(tmp_path)
    np.testing.assert_array_equal(same.relevance_path_.relevance, model.relevance_path_.relevance)
    np.testing.assert_array_equal(same.inclusion_probability_, model.inclusion_probability_)
    assert same.supported_ is True


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"evidence": "noiseless", "refine": True}, "refine=True needs evidence='joint'"),
        ({"refine": "yes"}, "refine must be one of 'auto'"),
        ({"evidence": "joint", "noise_variance": 2.0}, "estimates it with every support"),
        ({"evidence": "joint", "noise_variance": "ml"}, "noise_variance must be 'auto', 'profile' .* or 'own'"),
        ({"evidence": "noiseless", "noise_variance": "own"}, "noise_variance must be one of"),
        ({"n_features_to_select": "fdr", "ranking": "vem"}, "ranking='vem' runs none"),
        ({"n_features_to_select": "fdr", "fdr": 0}, "fdr must be a number above 0"),
        ({"n_draws": 0}, "n_draws must be an integer"),
        ({"min_r2": 2}, "min_r2 must be a number from 0 to 1"),
        ({"robust": "yes"}, "robust must be True or False"),
        ({"evidence": "joint", "checkpoint": "state.npz"}, "checkpoint='state.npz' keeps the state"),
    ],
)
def test_what_does_not_go_together_is_refused(data, arguments, message):
    with pytest.raises(ValueError, match=message):
        GSPPCA(10, **arguments).fit(data.X)


def test_robust_needs_columns_it_can_look_at(data):
    with pytest.raises(ValueError, match="robust=True needs a dense array in memory, got csr_array"):
        GSPPCA(10, evidence="joint", robust=True).fit(sparse.csr_array(data.X))


@pytest.fixture(scope="module")
def gaps(data):
    X = data.X.copy()
    X[np.random.default_rng(1).random(X.shape) < 0.1] = np.nan
    return X


@pytest.mark.parametrize(
    "arguments", [{}, {"evidence": "joint"}, {"n_components": "auto", "evidence": "joint"}], ids=str
)
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
        np.testing.assert_array_equal(other.choose(15, gaps).components_, model.choose(15).components_)


def test_a_selector_leaves_gaps_in_the_columns_it_returns(gaps):
    selector = GSPPCASelector(10, missing="impute").fit(gaps)
    np.testing.assert_array_equal(selector.transform(gaps), gaps[:, selector.support_])


def test_without_gaps_imputing_changes_nothing(data):
    plain, other = GSPPCA(10).fit(data.X), GSPPCA(10, missing="impute").fit(data.X)
    np.testing.assert_array_equal(other.components_, plain.components_)


def test_nan_is_refused_with_the_option_named(gaps):
    with pytest.raises(ValueError, match=r"contains NaN: the first one at row \d+, column \d+.*missing='impute'"):
        GSPPCA(10).fit(gaps)
    gaps = gaps.copy()
    gaps[3, 4] = np.inf
    with pytest.raises(ValueError, match="contains infinity: the first one at row 3, column 4"):
        GSPPCA(10, missing="impute").fit(gaps)
    with pytest.raises(ValueError, match="missing='impute' needs a dense array in memory"):
        GSPPCA(2, missing="impute").fit(sparse.random_array((20, 10), density=0.5, format="csr", rng=0))
