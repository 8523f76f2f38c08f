"""Stability under subsampling: frequencies by hand, laws of the subsamples, any estimator, any container."""

from __future__ import annotations

import pickle

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.feature_selection import VarianceThreshold

from gsppca import GSPPCA, GSPPCASelector
from gsppca.baselines import ThresholdedPCA
from gsppca.comparison.stability import StabilityResult, _draw, _fit_on, stability
from gsppca.progress import listening
from tests.needs import optional


class Recorder(BaseEstimator):
    """Selects the columns whose mean over the rows it gets is positive; optionally warns."""

    def __init__(self, warn=False):
        self.warn = warn

    def fit(self, X, y=None):
        if self.warn:
            import warnings

            warnings.warn("look here", RuntimeWarning, stacklevel=1)  # noqa: TID251
        self.support_ = np.asarray(X.mean(axis=0)).ravel() > 0
        return self


def test_frequencies_are_means_over_the_subsamples():
    X = np.random.default_rng(0).standard_normal((21, 9)) + np.linspace(-1, 1, 9)
    result = stability(Recorder(), X, 12, random_state=3)
    subsamples = _draw(21, 10, 12, np.random.RandomState(3))
    wanted = np.array([X[rows].mean(axis=0) > 0 for rows in subsamples])
    np.testing.assert_array_equal(result.supports, wanted)
    np.testing.assert_allclose(result.frequencies, wanted.mean(axis=0))
    np.testing.assert_array_equal(result.sizes, wanted.sum(axis=1))
    assert result.n_rows == 10
    np.testing.assert_array_equal(result.stable(0.75), result.frequencies >= 0.75)


@pytest.mark.parametrize(("n", "size", "paired"), [(20, 10, True), (21, 10, True), (20, 13, False)])
def test_subsamples_are_without_replacement_and_small_ones_in_disjoint_pairs(n, size, paired):
    subsamples = _draw(n, size, 7, np.random.RandomState(0))
    assert len(subsamples) == 7
    for rows in subsamples:
        assert len(np.unique(rows)) == size
        assert rows.max() < n
    shared = [len(np.intersect1d(a, b)) for a, b in zip(subsamples[::2], subsamples[1::2], strict=False)]
    assert all(count == 0 for count in shared) if paired else all(count > 0 for count in shared)
    # All rows are as likely.
    many = np.bincount(np.concatenate(_draw(n, size, 4000, np.random.RandomState(1))), minlength=n)
    np.testing.assert_allclose(many / 4000, size / n, atol=0.05)


def test_the_index_is_one_for_equal_selections_and_zero_for_random_ones():
    def result_of(supports):
        supports = np.asarray(supports)
        return StabilityResult(supports.mean(axis=0), supports.sum(axis=1), supports, 5)

    same = np.tile(np.arange(30) < 7, (20, 1))
    assert result_of(same).index == pytest.approx(1)
    rng = np.random.default_rng(0)
    mixed = np.array([rng.permutation(row) for row in np.tile(same, (20, 1))])
    assert abs(result_of(mixed).index) < 0.02
    assert np.isnan(result_of(np.ones((5, 4), dtype=bool)).index)
    assert np.isnan(result_of(np.zeros((5, 4), dtype=bool)).index)


@pytest.mark.parametrize(
    "model", [GSPPCA(3), GSPPCASelector(3), ThresholdedPCA(3, n_features_to_select=8), VarianceThreshold(0.5)]
)
def test_any_selector_will_do(factor_data, model):
    X, support = factor_data(0, n=80)
    result = stability(model, X, 6, random_state=0)
    assert result.frequencies.shape == (25,)
    assert result.frequencies[support].mean() > 0.8 > 0.3 > result.frequencies[~support].mean()
    assert not hasattr(model, "support_")


def test_permuting_the_columns_permutes_the_frequencies(factor_data):
    X, _ = factor_data(1, n=60)
    permutation = np.random.default_rng(0).permutation(25)
    result, moved = (stability(GSPPCA(3), data, 6, random_state=0) for data in (X, X[:, permutation]))
    np.testing.assert_array_equal(moved.frequencies, result.frequencies[permutation])


def test_containers_agree(factor_data):
    pd = optional("pandas")
    X, _ = factor_data(1, n=60)
    wanted = stability(GSPPCA(3), X, 5, random_state=0).supports
    for data in (X.tolist(), pd.DataFrame(X), sparse.csr_matrix(X), sparse.csc_matrix(X)):
        np.testing.assert_array_equal(stability(GSPPCA(3), data, 5, random_state=0).supports, wanted)


@pytest.mark.parametrize("backend", ["threading", pytest.param("loky", marks=pytest.mark.nightly)])
def test_jobs_agree(factor_data, backend):
    """In threads; at night in processes, which take long to begin. What they are sent can be pickled."""
    X, _ = factor_data(1, n=60)
    wanted = stability(GSPPCA(3), X, 5, random_state=0).supports
    assert pickle.loads(pickle.dumps((_fit_on, GSPPCA(3), X)))
    with joblib.parallel_config(backend):
        np.testing.assert_array_equal(stability(GSPPCA(3), X, 5, random_state=0, n_jobs=2).supports, wanted)


def test_progress_is_told():
    events = []
    with listening(events.append):
        stability(Recorder(), np.ones((10, 3)), 4, random_state=0)
    assert [(event.done, event.total) for event in events if event.step == "stability"] == [
        (k, 4) for k in (1, 2, 3, 4)
    ]


def test_warnings_of_the_fits_become_one():
    with pytest.warns(
        UserWarning, match=r"4 warning\(s\) in 4 fits on 5 of 10 samples.*RuntimeWarning: look here"
    ) as record:
        stability(Recorder(warn=True), np.ones((10, 3)), 4, random_state=0)
    assert len(record) == 1


def test_bad_arguments():
    X = np.ones((10, 3))
    with pytest.raises(ValueError, match="n_splits must be an integer, at least 2"):
        stability(Recorder(), X, 1)
    with pytest.raises(ValueError, match=r"fraction must be a number above 0 and at most 1, got 0"):
        stability(Recorder(), X, 5, fraction=0)
    with pytest.raises(ValueError, match="fraction must leave out at least one of the 10 samples"):
        stability(Recorder(), X, 5, fraction=1.0)
