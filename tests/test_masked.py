"""Masked arrays, wherever data is taken: a masked entry is missing, and the number under the mask never counts."""

from __future__ import annotations

import numpy as np
import pytest

from gsppca import GSPPCA, GSPPCASelector, estimate_n_components, estimate_noise_variance, evidence_path, stability
from gsppca.baselines import PlainPCA, VarianceRanking
from gsppca.comparison import compare_methods
from gsppca.metrics import adjusted_explained_variance, project, reconstruction_error
from tests.conftest import sparse_factor_data
from tests.needs import optional

X = sparse_factor_data(0)[0]
MASK = np.zeros(X.shape, dtype=bool)
MASK[3, :] = MASK[20, 2] = True  # a whole row: some of it is selected, whatever is
UNDER = np.ma.masked_array(np.where(MASK, 1e4, X), mask=MASK)  # numbers under the mask that would be noticed
GAPS = np.where(MASK, np.nan, X)


def fitted(Estimator, **options):
    return Estimator(3, **options).fit(X)


def scores(A):
    return A[:, :3]


TAKES = {
    "GSPPCA.fit": lambda A: GSPPCA(3).fit(A),
    "GSPPCA.transform": lambda A: fitted(GSPPCA).transform(A),
    "GSPPCA.fit_transform": lambda A: GSPPCA(3).fit_transform(A),
    "GSPPCA.inverse_transform": lambda A: fitted(GSPPCA).inverse_transform(scores(A)),
    "GSPPCA.score": lambda A: fitted(GSPPCA).score(A),
    "GSPPCA.score_samples": lambda A: fitted(GSPPCA).score_samples(A),
    "GSPPCA.choose": lambda A: fitted(GSPPCA).choose(4, A),
    "GSPPCA.represented_by": lambda A: fitted(GSPPCA).represented_by(X=A),
    "GSPPCASelector.fit": lambda A: GSPPCASelector(3).fit(A),
    "GSPPCASelector.transform": lambda A: fitted(GSPPCASelector).transform(A),
    "GSPPCASelector.fit_transform": lambda A: GSPPCASelector(3).fit_transform(A),
    "GSPPCASelector.inverse_transform": lambda A: (
        GSPPCASelector(3, n_features_to_select=3).fit(X).inverse_transform(scores(A))
    ),
    "GSPPCASelector.choose": lambda A: fitted(GSPPCASelector).choose(4, A),
    "GSPPCASelector.represented_by": lambda A: fitted(GSPPCASelector).represented_by(X=A),
    "estimate_n_components": estimate_n_components,
    "estimate_noise_variance": lambda A: estimate_noise_variance(A, 3),
    "evidence_path": lambda A: evidence_path(A, np.arange(25), 3, 0.1),
    "stability": lambda A: stability(GSPPCA(3), A, n_splits=2, random_state=0),
    "compare": lambda A: compare_methods(A, 3, methods=["variance"], n_subsamples=2, n_random=1),
    "baseline.fit": lambda A: PlainPCA(3).fit(A),
    "baseline.transform": lambda A: VarianceRanking(3).fit(X).transform(A),
    "adjusted_explained_variance": lambda A: adjusted_explained_variance(A, np.eye(25)[:3]),
    "project": lambda A: project(A, np.eye(25)[:3]),
    "project axes": lambda A: project(X, A[3:4]),
    "reconstruction_error": lambda A: reconstruction_error(X, A),
}


@pytest.mark.parametrize("name", TAKES)
def test_masked_entries_are_refused_as_gaps_are(name):
    for data in (GAPS, UNDER):
        with pytest.raises(ValueError, match="NaN"):
            TAKES[name](data)
    TAKES[name](np.ma.masked_array(X, mask=False))  # nothing is masked: nothing is missing


def test_scores_of_a_baseline_that_are_masked_give_no_numbers():
    back = PlainPCA(3).fit(X).inverse_transform(scores(UNDER))
    assert np.isnan(back[3]).all()
    assert np.isfinite(back[4]).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "use",
    [
        lambda model, A: model.transform(A),
        lambda model, A: getattr(model, "score_samples", model.transform)(A),
        lambda model, A: model.choose(4, A).transform(A),
    ],
    ids=["transform", "score_samples", "choose"],
)
@pytest.mark.parametrize("Estimator", [GSPPCA, GSPPCASelector])
def test_masked_entries_are_gaps_where_gaps_may_be(Estimator, use, dtype):
    """Filled by the model; a selector returns the columns as they are, gaps included."""
    mask = np.zeros(X.shape, dtype=bool)
    mask[3, ::2] = mask[20, 2] = True
    gaps = np.where(mask, np.nan, X).astype(dtype)
    under = np.ma.masked_array(np.where(mask, 1e4, X).astype(dtype), mask=mask)
    model = Estimator(3, missing="impute").fit(gaps)
    wanted, found = use(model, gaps), use(model, under)
    assert np.isfinite(wanted).all() == (Estimator is GSPPCA)
    np.testing.assert_array_equal(found, wanted)


def test_a_frame_with_gaps_is_refused_whatever_the_output_is():
    """scikit-learn's selector hands frames through unseen when frames are wanted back."""
    pd = optional("pandas")
    names = [f"c{k}" for k in range(X.shape[1])]
    model = GSPPCASelector(3).set_output(transform="pandas").fit(pd.DataFrame(X, columns=names))
    with pytest.raises(ValueError, match=r"NaN: the first one at row 3, column 0 \('c0'\)"):
        model.transform(pd.DataFrame(GAPS, columns=names))
    mixed = pd.DataFrame(X, columns=names).astype({names[k]: np.float32 for k in range(0, 25, 2)})
    kept = model.transform(mixed)
    assert kept.dtypes.tolist() == mixed.dtypes[model.support_].tolist()
