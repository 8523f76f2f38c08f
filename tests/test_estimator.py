"""GSPPCA and GSPPCASelector as scikit-learn estimators."""

from __future__ import annotations

import pickle

import joblib
import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from gsppca import (
    GSPPCA,
    Core,
    GSPPCASelector,
    Joint,
    NoStructureWarning,
    Paper,
    estimate_noise_variance,
    evidence_path,
    relaxed_vem,
)
from tests.needs import optional

BOTH = [GSPPCA, GSPPCASelector]


@pytest.mark.filterwarnings("ignore::gsppca.NoStructureWarning")  # the checks' data is noise
@pytest.mark.filterwarnings("ignore::gsppca.MostVariablesWarning")  # or a few columns that all share something
@pytest.mark.filterwarnings("ignore::gsppca.SmallSampleWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(
    [
        GSPPCA(),
        GSPPCASelector(),
        GSPPCA(method="paper"),
        GSPPCA(1, method=Paper(init="random"), scale=True),
        GSPPCASelector(1, method=Paper(noise_variance="ml")),
        GSPPCASelector(n_features_to_select="fdr", random_state=0),
        GSPPCASelector(n_features_to_select=Core(0.8), method=Joint(noise="own")),
        GSPPCA(robust=True),
        GSPPCA(1, method="paper", missing="impute"),
    ]
)
def test_scikit_learn_estimator_checks(estimator, check):
    check(estimator)


@pytest.fixture
def data(factor_data):
    return factor_data(3, n=80, p=30, d=3, q=8)


@pytest.fixture
def fitted(data):
    return GSPPCA(3).fit(data[0])


def test_the_true_variables_are_found(data, fitted):
    np.testing.assert_array_equal(fitted.support_, data[1])
    np.testing.assert_array_equal(fitted.get_support(indices=True), np.flatnonzero(data[1]))
    assert fitted.n_selected_ == 8


def test_fit_is_the_line_of_its_stages(data):
    X, _ = data
    fitted = GSPPCA(3, method="paper").fit(X)
    noise = estimate_noise_variance(X, 3, "median")
    relaxed = relaxed_vem(X, 3, noise_variance=noise)
    order = np.argsort(fitted.ranking_)
    path = evidence_path(X, order, 3, noise)
    np.testing.assert_array_equal(fitted.relevance_, relaxed.relevance)
    np.testing.assert_array_equal(fitted.relaxed_.bounds, relaxed.bounds)
    assert fitted.n_iter_ == relaxed.n_iter
    assert (np.diff(fitted.relevance_[order]) <= 1e-9).all()
    np.testing.assert_array_equal(fitted.evidence_path_.log_evidence, path.log_evidence)
    np.testing.assert_array_equal(fitted.evidence_path_.slab_rates, path.slab_rates)
    assert fitted.noise_variance_ == noise
    assert path.sizes[np.argmax(path.log_evidence)] == fitted.n_selected_


def test_components_are_those_of_pca_on_the_support(data, fitted):
    X, _ = data
    pca = PCA(3, svd_solver="full").fit(X[:, fitted.support_])
    np.testing.assert_allclose(fitted.explained_variance_, pca.explained_variance_, rtol=1e-10)
    np.testing.assert_allclose(fitted.singular_values_, pca.singular_values_, rtol=1e-10)
    np.testing.assert_allclose(np.abs(fitted.transform(X)), np.abs(pca.transform(X[:, fitted.support_])), atol=1e-8)
    np.testing.assert_allclose(fitted.mean_, X.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(
        fitted.explained_variance_ratio_, fitted.explained_variance_ / X.var(axis=0, ddof=1).sum(), rtol=1e-10
    )
    scores = fitted.transform(X)
    np.testing.assert_allclose(np.cov(scores.T), np.diag(fitted.explained_variance_), atol=1e-9)


def test_inverse_transform_projects(data, fitted):
    X, support = data
    back = fitted.inverse_transform(fitted.transform(X))
    np.testing.assert_allclose(back[:, ~support], np.broadcast_to(fitted.mean_[~support], (80, 22)))
    pca = PCA(3, svd_solver="full").fit(X[:, support])
    np.testing.assert_allclose(back[:, support], pca.inverse_transform(pca.transform(X[:, support])), atol=1e-8)
    np.testing.assert_allclose(fitted.transform(back), fitted.transform(X), atol=1e-9)


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("size", ["relevant", 2, 3, 30])
def test_score_is_the_gaussian_log_likelihood(data, scale, size):
    X, _ = data
    model = GSPPCA(3, scale=scale, n_features_to_select=size).fit(X)
    exact = multivariate_normal(model.mean_, model.get_covariance()).logpdf(X)
    np.testing.assert_allclose(model.score_samples(X), exact, rtol=1e-9)
    np.testing.assert_allclose(model.score(X), exact.mean(), rtol=1e-9)


def test_the_model_covariance_on_the_support_is_that_of_ppca(data, fitted):
    X, support = data
    covariance = fitted.get_covariance()
    # Tipping & Bishop: the same eigenvectors and leading eigenvalues, the rest replaced by their mean.
    values, vectors = np.linalg.eigh(np.cov(X[:, support].T))
    values[:-3] = values[:-3].mean()
    np.testing.assert_allclose(covariance[np.ix_(support, support)], (vectors * values) @ vectors.T, atol=1e-10)
    np.testing.assert_allclose(covariance[np.ix_(~support, ~support)], fitted.noise_variance_ * np.eye(22))
    assert not covariance[np.ix_(support, ~support)].any()


def test_the_score_prefers_the_true_dimension_on_new_data(factor_data):
    X, _ = factor_data(5, n=400, p=30, d=3, q=8)
    scores = {d: GSPPCA(d).fit(X[:200]).score(X[200:]) for d in (1, 2, 3)}
    assert scores[3] > scores[2] > scores[1]


@pytest.mark.parametrize("Estimator", BOTH)
@pytest.mark.parametrize(("wanted", "size"), [(1, 1), (2, 2), (17, 17), (30, 30), (0.5, 15), (0.01, 1), (1.0, 30)])
def test_exactly_as_many_as_asked(data, Estimator, wanted, size):
    model = Estimator(3, n_features_to_select=wanted).fit(data[0])
    assert model.support_.sum() == model.n_selected_ == size
    np.testing.assert_array_equal(model.support_, model.ranking_ <= size)


def test_fewer_variables_than_components_give_fewer_components(data):
    model = GSPPCA(3, n_features_to_select=2).fit(data[0])
    assert model.components_.shape == (2, 30)
    assert model.transform(data[0]).shape == (80, 2)
    assert list(model.get_feature_names_out()) == ["gsppca0", "gsppca1"]


@pytest.mark.parametrize("Estimator", BOTH)
def test_choose_gives_the_model_of_another_size(data, Estimator, monkeypatch):
    X, _ = data
    model = Estimator(3).fit(X)
    refitted = Estimator(3, n_features_to_select=12).fit(X)
    monkeypatch.setattr("gsppca.methods.joint.find_support", lambda *_, **__: pytest.fail("a new search"))
    chosen = model.choose(12)
    assert model.n_selected_ == 8
    for name in vars(refitted):
        if name.endswith("_") and isinstance(getattr(refitted, name), np.ndarray | float | int):
            # A product of matrices may depend on where they lie in memory: the last digits are not the same.
            np.testing.assert_allclose(getattr(chosen, name), getattr(refitted, name), rtol=1e-12, atol=1e-13)
    assert chosen.get_params() == refitted.get_params()
    with pytest.raises(ValueError, match="size must be an integer from 1 to 30, got 31"):
        model.choose(31)


def test_choose_after_pickling_needs_the_data(data):
    X, _ = data
    model = pickle.loads(pickle.dumps(GSPPCA(3).fit(X)))
    with pytest.raises(ValueError, match="X is needed"):
        model.choose(12)
    refitted = GSPPCA(3, n_features_to_select=12).fit(X)
    np.testing.assert_array_equal(model.choose(12, X).support_, refitted.support_)
    np.testing.assert_allclose(model.choose(12, X).components_, refitted.components_, atol=1e-13)
    with pytest.raises(ValueError, match="X is not the data of fit"):
        model.choose(12, 2 * X)


def test_choose_notices_that_the_data_was_changed(data):
    X = data[0].copy()
    model = GSPPCA(3).fit(X)
    X[0, 0] += 100
    with pytest.raises(ValueError, match="X is not the data of fit"):
        model.choose(12)


@pytest.mark.parametrize("Estimator", BOTH)
def test_pickle_and_joblib_keep_the_model_and_leave_the_data(Estimator, tmp_path, factor_data):
    X, _ = factor_data(0, n=2000, p=30)
    model = Estimator(3).fit(X)
    blob = pickle.dumps(model)
    assert len(blob) < X.nbytes / 5
    joblib.dump(model, tmp_path / "model.joblib")
    for loaded in (pickle.loads(blob), joblib.load(tmp_path / "model.joblib")):
        np.testing.assert_array_equal(loaded.transform(X), model.transform(X))


@pytest.mark.parametrize("Estimator", BOTH)
def test_float32_stays_float32_and_selects_the_same(data, Estimator):
    X, _ = data
    single, double = Estimator(3).fit(X.astype(np.float32)), Estimator(3).fit(X)
    assert single.transform(X.astype(np.float32)).dtype == np.float32
    assert double.transform(X).dtype == np.float64
    np.testing.assert_array_equal(single.support_, double.support_)
    np.testing.assert_allclose(single.relevance_, double.relevance_, atol=1e-4)
    if Estimator is GSPPCA:
        assert single.components_.dtype == single.mean_.dtype == single.explained_variance_.dtype == np.float32
        assert single.inverse_transform(single.transform(X.astype(np.float32))).dtype == np.float32
        np.testing.assert_allclose(single.components_, double.components_, atol=1e-5)


def test_permuting_columns_permutes_the_model(data, fitted):
    X, _ = data
    permutation = np.random.default_rng(0).permutation(30)
    permuted = GSPPCA(3).fit(X[:, permutation])
    np.testing.assert_array_equal(permuted.support_, fitted.support_[permutation])
    np.testing.assert_allclose(permuted.components_, fitted.components_[:, permutation], atol=1e-9)
    selected = fitted.support_[permutation]
    np.testing.assert_array_equal(permuted.ranking_[selected], fitted.ranking_[permutation][selected])


@pytest.mark.parametrize("factor", [1e-100, 1e-3, 1e3, 1e100])
def test_scaling_the_data_scales_the_model(data, fitted, factor):
    X, _ = data
    model = GSPPCA(3).fit(factor * X)
    np.testing.assert_array_equal(model.support_, fitted.support_)
    np.testing.assert_allclose(model.components_, fitted.components_, atol=1e-9)
    np.testing.assert_allclose(model.explained_variance_, factor**2 * fitted.explained_variance_, rtol=1e-9)
    np.testing.assert_allclose(model.noise_variance_, factor**2 * fitted.noise_variance_, rtol=1e-9)


def test_standardising_is_what_a_standard_scaler_does(data):
    X, _ = data
    X = X * np.geomspace(1, 1000, 30)
    ours, theirs = GSPPCA(3, scale=True).fit(X), GSPPCA(3).fit(StandardScaler().fit_transform(X))
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    np.testing.assert_allclose(ours.components_, theirs.components_, atol=1e-9)
    np.testing.assert_allclose(ours.transform(X), theirs.transform(StandardScaler().fit_transform(X)), atol=1e-8)
    np.testing.assert_allclose(ours.explained_variance_ratio_, theirs.explained_variance_ratio_, rtol=1e-9)
    back = ours.inverse_transform(ours.transform(X))
    wanted = StandardScaler().fit(X).inverse_transform(theirs.inverse_transform(ours.transform(X)))
    np.testing.assert_allclose(back, wanted, rtol=1e-9)


def test_scaling_for_the_ranking_only(data):
    X, _ = data
    X = X * np.geomspace(1, 10, 30)
    model = GSPPCA(3, method=Paper(scale_ranking=True)).fit(X)
    np.testing.assert_allclose(model.relevance_, GSPPCA(3, method="paper", scale=True).fit(X).relevance_, atol=1e-12)
    order = np.argsort(model.ranking_)
    path = evidence_path(X, order, 3, estimate_noise_variance(X, 3))
    np.testing.assert_allclose(model.evidence_path_.log_evidence, path.log_evidence, rtol=1e-12)
    assert model.scale_ is None
    np.testing.assert_allclose(model.mean_, X.mean(axis=0))


def test_numpy_booleans_are_booleans(data, fitted):
    np.testing.assert_array_equal(GSPPCA(3, scale=np.False_).fit(data[0]).components_, fitted.components_)
    assert GSPPCA(3, scale=np.True_).fit(data[0]).scale_ is not None


@pytest.mark.parametrize("noise", ["median", "ml", "bias_corrected", "profile", 0.09])
def test_noise_estimators(data, noise):
    X, support = data
    model = GSPPCA(3, method=Paper(noise_variance=noise)).fit(X)
    np.testing.assert_array_equal(model.support_, support)
    np.testing.assert_allclose(model.noise_variance_, 0.09, rtol=0.3)
    if noise == "profile":
        np.testing.assert_allclose(model.noise_variance_, X[:, ~support].var(axis=0).mean(), rtol=1e-12)


def test_the_random_start_needs_no_svd(data, monkeypatch):
    X, support = data
    monkeypatch.setattr("gsppca.stages.leading_spectrum", lambda *_: pytest.fail("an SVD"))
    model = GSPPCASelector(3, method=Paper(init="random"), random_state=0).fit(X)
    np.testing.assert_array_equal(model.support_, support)
    again = GSPPCASelector(3, method=Paper(init="random"), random_state=0).fit(X)
    np.testing.assert_array_equal(model.relevance_, again.relevance_)


def test_size_priors_move_the_choice(data):
    X, _ = data
    for prior, size in ((lambda k: -1e6 * k, 1), (lambda k: 0.0 if k == 20 else -np.inf, 20), ("sparse", 8)):
        assert GSPPCA(3, method=Paper(size_prior=prior)).fit(X).n_selected_ == size


def test_constant_columns_change_nothing_and_are_never_selected(data, fitted):
    X, _ = data
    places = [0, 5, 5, 17, 30]
    wide = np.insert(X, places, [1.0, 0.1, -3e5, 0.0, 7.0], axis=1)
    constant = wide.std(axis=0) < 1e-9
    model = GSPPCA(3).fit(wide)
    assert constant.sum() == 5
    np.testing.assert_array_equal(model.support_[~constant], fitted.support_)
    np.testing.assert_allclose(model.components_[:, ~constant], fitted.components_, atol=1e-9)
    assert not model.support_[constant].any()
    assert not model.relevance_[constant].any()
    assert (model.ranking_[constant] > 30).all()
    np.testing.assert_allclose(model.mean_[places[0]], 1.0)


def test_mostly_constant_columns_leave_the_median_noise_alone(data, fitted):
    X, _ = data
    model = GSPPCA(3).fit(np.hstack([X, np.ones((80, 100))]))
    np.testing.assert_array_equal(np.flatnonzero(model.support_), np.flatnonzero(fitted.support_))
    np.testing.assert_allclose(model.noise_variance_, fitted.noise_variance_, rtol=1e-9)


def test_duplicated_columns_are_kept_together(data):
    X, support = data
    both = np.hstack([X, X[:, :10]])
    model = GSPPCA(3).fit(both)
    np.testing.assert_array_equal(model.support_[30:], model.support_[:10])
    np.testing.assert_array_equal(model.support_[:30], support)
    permutation = np.random.default_rng(0).permutation(40)
    np.testing.assert_array_equal(GSPPCA(3).fit(both[:, permutation]).support_, model.support_[permutation])


def test_integers_and_booleans_are_numbers():
    rng = np.random.default_rng(0)
    factor = rng.random((200, 1)) < 0.5
    X = np.where(np.arange(12) < 5, factor ^ (rng.random((200, 12)) < 0.05), rng.random((200, 12)) < 0.1)
    for kind in (bool, np.int8, np.uint16, np.int64, np.float32):
        model = GSPPCA(1).fit(X.astype(kind))
        np.testing.assert_array_equal(model.get_support(indices=True), np.arange(5))


@pytest.mark.parametrize(
    ("n", "p", "d"), [(10, 60, 9), (60, 10, 9), (10, 10, 9), (40, 40, 1), (3, 50, 2), (50, 3, 2), (2, 2, 1)]
)
@pytest.mark.parametrize("method", ["joint", "paper"])
@pytest.mark.filterwarnings("ignore::gsppca.NoStructureWarning", "ignore::gsppca.MostVariablesWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning", "ignore::gsppca.SmallSampleWarning")
def test_extreme_shapes(n, p, d, method):
    X = np.random.default_rng(0).standard_normal((n, p))
    model = GSPPCA(d, method=method).fit(X)
    assert np.isfinite(model.evidence_path_.log_evidence).all()
    assert np.isfinite(model.transform(X)).all()
    assert sorted(model.ranking_) == list(range(1, p + 1))


def test_noiseless_data(factor_data):
    X, support = factor_data(0, n=50, p=20, d=2, q=6, noise=0.0)
    model = GSPPCA(2, method="paper").fit(X)
    np.testing.assert_array_equal(model.support_, support)  # the other columns are constant


def test_auto_finds_the_dimension(data):
    assert GSPPCA().fit(data[0]).n_components_ == 3
    assert GSPPCA(method="paper").fit(data[0]).n_components_ == 3
    assert GSPPCA(method="paper", n_features_to_select=1).fit(data[0]).n_latent_ == 3
    assert GSPPCASelector(n_features_to_select=8).fit(data[0]).n_latent_ == 3


def test_the_support_handed_out_is_a_copy(fitted):
    fitted.get_support()[:] = False
    assert fitted.support_.any()


def test_collapse_is_said():
    X = np.random.default_rng(0).standard_normal((200, 4))
    with pytest.warns(NoStructureWarning, match="No common structure stands out"):
        model = GSPPCA(1, method="paper").fit(X)
    assert 1 <= model.n_selected_ <= 4


def test_unsettled_runs_are_said(data):
    with pytest.warns(ConvergenceWarning, match="did not converge in max_iter=6") as record:
        GSPPCA(3, method=Paper(max_iter=6, tol=0)).fit(data[0])
    assert record[0].filename == __file__  # the warning points at the user's line


def test_verbose_reports(data, capsys):
    GSPPCA(3, method="paper", verbose=2).fit(data[0])
    out = capsys.readouterr().out
    assert "[GSPPCA] variational EM 6: bound" in out
    GSPPCA(3, method="paper", verbose=1).fit(data[0])
    assert capsys.readouterr().out.count("variational EM") == 1
    GSPPCA(3, verbose=1).fit(data[0])
    assert "[GSPPCA] joint evidence" in capsys.readouterr().out
    GSPPCA(3).fit(data[0])
    assert capsys.readouterr().out == ""


def test_data_frames_in_and_out(data, fitted):
    pd, pl = optional("pandas"), optional("polars")
    X, support = data
    names = [f"gene{i}" for i in range(30)]
    for frame, kind in ((pd.DataFrame(X, columns=names), "pandas"), (pl.DataFrame(X, schema=names), "polars")):
        model = GSPPCA(3).set_output(transform=kind).fit(frame)
        np.testing.assert_array_equal(model.support_, support)
        assert list(model.transform(frame).columns) == ["gsppca0", "gsppca1", "gsppca2"]
        selector = GSPPCASelector(3).set_output(transform=kind).fit(frame)
        chosen = selector.transform(frame)
        assert list(chosen.columns) == [name for name, kept in zip(names, support, strict=True) if kept]
        assert list(selector.get_feature_names_out()) == list(chosen.columns)


def test_selector_selects_and_fills(data):
    X, support = data
    selector = GSPPCASelector(3).fit(X)
    np.testing.assert_array_equal(selector.transform(X), X[:, support])
    back = selector.inverse_transform(X[:, support])
    np.testing.assert_array_equal(back[:, support], X[:, support])
    assert not back[:, ~support].any()


@pytest.mark.filterwarnings("ignore::gsppca.MostVariablesWarning")  # of the pixels
def test_pipeline_grid_search_and_clone(data):
    X, y = load_digits(return_X_y=True)
    X, y = X[:300], y[:300]
    pipeline = make_pipeline(GSPPCA(5), LinearDiscriminantAnalysis())
    search = GridSearchCV(
        pipeline, {"gsppca__n_components": [3, 8], "gsppca__n_features_to_select": ["core", 20]}, cv=2
    )
    search.fit(X, y)
    assert search.best_params_["gsppca__n_components"] == 8
    assert search.best_score_ > 0.7
    model = GSPPCA(4, method=Paper(scale_ranking=True, tol=1e-4))
    assert clone(model).get_params() == model.get_params()
    by_likelihood = GridSearchCV(GSPPCA(), {"n_components": [1, 3]}, cv=2).fit(data[0])
    assert by_likelihood.best_params_ == {"n_components": 3}


def test_the_fit_does_not_depend_on_threads_or_memory_order(data, fitted):
    X, _ = data
    with joblib.parallel_backend("threading", n_jobs=2):
        models = joblib.Parallel()(joblib.delayed(GSPPCA(3).fit)(Z) for Z in (X, np.asfortranarray(X), X.copy()))
    for model in models:
        np.testing.assert_array_equal(model.support_, fitted.support_)
        np.testing.assert_allclose(model.components_, fitted.components_, atol=1e-12)
