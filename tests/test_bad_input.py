"""Bad input gets an error that names the argument, its value, what is allowed and the next step."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from gsppca import (
    GSPPCA,
    Core,
    FalseDiscoveryRate,
    GSPPCASelector,
    Joint,
    MinimumR2,
    Paper,
    estimate_noise_variance,
    evidence_path,
    relaxed_vem,
)
from tests.needs import optional


@pytest.fixture(params=[GSPPCA, GSPPCASelector])
def Estimator(request):
    return request.param


@pytest.fixture
def X(factor_data):
    return factor_data(0)[0]


@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_first_entry_that_is_not_finite_is_named(Estimator, X, value, word, dtype):
    bad = X.astype(dtype)
    bad[30, 4] = bad[31, 2] = value
    with pytest.raises(ValueError, match=rf"contains {word}: the first one at row 30, column 4\. .*finite.*impute"):
        Estimator(3).fit(bad)
    pd = optional("pandas")
    frame = pd.DataFrame(bad, columns=[f"gene{i}" for i in range(25)])
    with pytest.raises(ValueError, match=r"row 30, column 4 \('gene4'\)"):
        Estimator(3).fit(frame)
    with pytest.raises(ValueError, match="row 30, column 4" if Estimator is GSPPCA else "contains"):
        Estimator(3).fit(X).transform(bad)


def test_a_non_finite_entry_far_down_is_found(Estimator):
    X = np.random.default_rng(0).standard_normal((3000, 3))
    X[2500, 1] = np.nan
    with pytest.raises(ValueError, match="row 2500, column 1"):
        Estimator(1).fit(X)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([["a", "b"], ["c", "d"], ["e", "f"]], "could not convert string to float"),
        (np.ones((5, 4)) * 1j, "Complex data not supported"),
        (np.ones(5), "Expected 2D array, got 1D"),
        (np.ones((2, 3, 4)), "dim 3"),
        (np.ones((1, 4)), r"1 sample\(s\).*minimum of 2 is required"),
        (np.arange(5.0)[:, None], r"1 feature\(s\).*minimum of 2 is required"),
        (np.empty((0, 4)), r"0 sample\(s\)"),
        (np.ones((6, 4)), "at least 2 columns that vary, got 0 of 4"),
        (np.column_stack([np.arange(6.0), np.ones((6, 3))]), "at least 2 columns that vary, got 1 of 4"),
    ],
)
def test_data_that_cannot_be_analysed(Estimator, X, message):
    with pytest.raises(ValueError, match=message):
        Estimator(1).fit(X)


@pytest.mark.parametrize(("factor", "word"), [(1e200, "large"), (1e160, "large"), (1e-200, "small"), (1e-160, "small")])
def test_values_whose_squares_cannot_be_held(Estimator, X, factor, word):
    with pytest.raises(ValueError, match=rf"too {word}: their variances cannot be held in float64\. Multiply X by"):
        Estimator(3).fit(factor * X)


@pytest.mark.parametrize(("factor", "word"), [(1e30, "large"), (1e-30, "small")])
def test_float32_has_a_smaller_range(Estimator, X, factor, word):
    with pytest.raises(ValueError, match=rf"too {word}: .* float32"):
        Estimator(3).fit((factor * X).astype(np.float32))
    Estimator(3).fit(factor * X)  # float64 holds it


@pytest.mark.parametrize("factor", [1e-140, 1e104, 1e140, 1e150])
def test_values_that_can_be_held_are_fine(Estimator, X, factor):
    np.testing.assert_array_equal(Estimator(3).fit(factor * X).support_, Estimator(3).fit(X).support_)


def test_a_huge_column_is_no_lack_of_noise(Estimator, X):
    X = X.copy()
    X[:, 3] *= 1e6
    assert Estimator(2, method="paper").fit(X).support_[3]


def test_a_slab_rate_far_from_the_data(Estimator, X):
    with pytest.raises(ValueError, match=r"slab_rate must be within a factor of 1e6 of .*, got 1e\+300"):
        Estimator(3, method=Paper(slab_rate=1e300)).fit(X)


def test_a_size_prior_that_returns_no_number(Estimator, X):
    with pytest.raises(ValueError, match="size_prior must return one number"):
        Estimator(3, method=Paper(size_prior="many{}".format)).fit(X)  # type: ignore[arg-type]


def test_a_column_of_tiny_values_among_others_is_nothing_special(Estimator, X):
    X = X.copy()
    X[:, 0] *= 1e-200
    model = Estimator(3).fit(X)
    assert not model.support_[0]
    assert model.ranking_[0] == 25


@pytest.mark.parametrize("n_components", [0, -1, 25, 40, 2.5, True, None, "many", "1"])
def test_n_components(Estimator, X, n_components):
    with pytest.raises(ValueError, match="n_components must be") as error:
        Estimator(n_components).fit(X)
    assert repr(n_components) in str(error.value)


def test_n_components_counts_columns_that_vary(Estimator, X):
    wide = np.hstack([X[:, :3], np.ones((40, 10))])
    with pytest.raises(ValueError, match=r"from 1 to 2, got 3\. .*columns that vary \(3\)"):
        Estimator(3).fit(wide)


@pytest.mark.parametrize("wanted", [0, -3, 26, 0.0, -0.5, 1.5, np.nan, True, None, "all"])
def test_n_features_to_select(Estimator, X, wanted):
    with pytest.raises(ValueError, match="n_features_to_select must be") as error:
        Estimator(3, n_features_to_select=wanted).fit(X)
    assert repr(wanted) in str(error.value)


def test_more_variables_than_vary_cannot_be_selected(Estimator, X):
    wide = np.hstack([X, np.ones((40, 5))])
    message = r"must be a rule, a fraction or an integer from 1 to 25, got 27\. X has 25 columns that vary"
    with pytest.raises(ValueError, match=message):
        Estimator(3, n_features_to_select=27).fit(wide)


@pytest.mark.parametrize(
    "parameters",
    [
        {"method": "vem"},
        {"method": 3},
        {"n_features_to_select": "evidence"},
        {"scale": "columns"},
        {"scale": None},
        {"robust": "yes"},
        {"missing": "drop"},
        {"verbose": -1},
        {"verbose": "loud"},
    ],
    ids=str,
)
def test_parameters(Estimator, X, parameters):
    ((name, value),) = parameters.items()
    with pytest.raises(ValueError, match=f"^{name} must be") as error:
        Estimator(3, **parameters).fit(X)
    assert repr(value) in str(error.value)


@pytest.mark.parametrize(
    ("step", "name", "value"),
    [
        (Joint, "noise", "none"),
        (Paper, "evidence", "bic"),
        (Paper, "noise_variance", "mean"),
        (Paper, "noise_variance", 0),
        (Paper, "noise_variance", -1.0),
        (Paper, "noise_variance", np.inf),
        (Paper, "noise_variance", None),
        (Paper, "size_prior", "dense"),
        (Paper, "size_prior", 3),
        (Paper, "init", "zeros"),
        (Paper, "slab_rate", "best"),
        (Paper, "slab_rate", 0.0),
        (Paper, "slab_rate", -2),
        (Paper, "slab_rate", np.nan),
        (Paper, "slab_unit", "inch"),
        (Paper, "short_iterations", 0),
        (Paper, "accelerate", "fast"),
        (Paper, "scale_ranking", "yes"),
        (Paper, "max_iter", 0),
        (Paper, "max_iter", 2.5),
        (Paper, "tol", -1e-3),
        (Paper, "tol", "small"),
        (Paper, "temperature", 0),
        (Core, "share", 0),
        (Core, "share", 1.5),
        (FalseDiscoveryRate, "level", 0),
        (FalseDiscoveryRate, "n_draws", 0),
        (MinimumR2, "least", 2),
    ],
)
def test_parameters_of_methods_and_rules(Estimator, X, step, name, value):
    place = "method" if step in (Paper, Joint) else "n_features_to_select"
    with pytest.raises(ValueError, match=f"^{name} must be") as error:
        Estimator(3, **{place: step(**{name: value})}).fit(X)
    assert repr(value) in str(error.value)


def test_a_parameter_that_is_not_there_gets_the_nearest_one(Estimator):
    name = Estimator.__name__
    with pytest.raises(TypeError, match=rf"{name} has no parameter 'n_component'\. Did you mean 'n_components'\?"):
        Estimator(n_component=3)
    with pytest.raises(TypeError, match=r"Paper has no parameter 'tolerance'\. Did you mean 'tol'\?"):
        Paper(tolerance=3)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match=rf"{name} has no parameter 'metod__tol'\. Did you mean 'method'\?"):
        Estimator().set_params(metod__tol=3)
    with pytest.raises(ValueError, match=r"Paper has no parameter 'tolerance'\. Did you mean 'tol'\?"):
        Estimator(method="paper").set_params(method__tolerance=3)
    with pytest.raises(ValueError, match=r"Joint has no parameter 'tol'"):
        Estimator().set_params(method__tol=3)
    with pytest.raises(ValueError, match="scale has no parameters of its own"):
        Estimator().set_params(scale__with_mean=True)


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        ({"include": [25]}, r"include must hold .* got the index 25\. X has 25 columns"),
        ({"exclude": [True, False]}, "exclude must hold .* got 2 booleans"),
        ({"include": ["gene3"]}, "X has no column names"),
        ({"include": [[1, 2]]}, "got an array of shape"),
        ({"include": [1, 2], "exclude": [2]}, "must not share a variable, both have column 2"),
        ({"exclude": np.ones(25, dtype=bool)}, "must leave at least one column"),
        ({"include": [0.5]}, "include must hold"),
    ],
    ids=str,
)
def test_wishes(Estimator, X, wishes, message):
    with pytest.raises(ValueError, match=message):
        Estimator(3, **wishes).fit(X)


def test_a_wrong_name_gets_the_nearest_ones(Estimator, X):
    frame = optional("pandas").DataFrame(X, columns=[f"gene{i}" for i in range(25)])
    with pytest.raises(ValueError, match=r"'gen3', which is no column of X\. The nearest names are 'gene3'"):
        Estimator(3, include=["gen3"]).fit(frame)
    with pytest.raises(ValueError, match="The nearest name is 'alcohol'"):
        Estimator(3, include=["alcool"]).fit(frame.rename(columns={"gene0": "alcohol"}))
    frame["gene4"] = 1.0
    with pytest.raises(ValueError, match="include names 'gene4', which is constant"):
        Estimator(3, include=["gene4"]).fit(frame)


def test_no_noise_left_for_the_estimate(Estimator):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 2)) @ rng.standard_normal((2, 10))
    with pytest.raises(ValueError, match=r"noise_variance='ml' estimates that there is no noise.*fewer components"):
        Estimator(2, method=Paper(noise_variance="ml")).fit(X)


def test_new_data_must_have_the_columns_of_fit(Estimator, X):
    pd = optional("pandas")
    names = [f"gene{i}" for i in range(25)]
    model = Estimator(3).fit(pd.DataFrame(X, columns=names))
    with pytest.raises(ValueError, match=r"X has 24 features, but .* is expecting 25"):
        Estimator(3).fit(X).transform(X[:, :24])
    with pytest.raises(ValueError, match="feature names should match"):
        model.transform(pd.DataFrame(X, columns=names)[names[::-1]])


def test_new_scores_must_have_the_components_of_fit(X):
    model = GSPPCA(3).fit(X)
    with pytest.raises(ValueError, match="X has 2 columns, but this model has 3 components"):
        model.inverse_transform(np.zeros((4, 2)))


def test_a_failed_fit_changes_nothing_that_was_fitted(Estimator, X):
    model = Estimator(3).fit(X)
    before = model.support_.copy()
    with pytest.raises(ValueError, match="n_features_to_select"):
        model.set_params(n_features_to_select=1000).fit(X)
    np.testing.assert_array_equal(model.support_, before)


def test_masked_entries_are_missing(Estimator, X):
    """The numbers under the mask must not matter."""
    mask = np.zeros(X.shape, dtype=bool)
    mask[3, 7] = mask[20, 2] = True
    for dtype in (np.float64, np.float32, int):
        values = (100 * X).astype(dtype)
        masked = np.ma.masked_array(np.where(mask, values.dtype.type(99999), values), mask=mask)
        with pytest.raises(ValueError, match="NaN: the first one at row 3, column 7"):
            Estimator(3).fit(masked)
        with pytest.raises(ValueError, match=r"NaN: the first one at row 3, column 7|too large"):
            relaxed_vem(masked, 3)
        model = Estimator(3, missing="impute").fit(masked)
        wanted = Estimator(3, missing="impute").fit(
            np.where(mask, np.nan, values).astype(np.float32 if dtype is np.float32 else np.float64)
        )
        np.testing.assert_array_equal(model.support_, wanted.support_)
        np.testing.assert_array_equal(model.relevance_, wanted.relevance_)
    plain, whole = Estimator(3).fit(X), Estimator(3).fit(np.ma.masked_array(X, mask=False))
    np.testing.assert_array_equal(whole.relevance_, plain.relevance_)


def test_masked_blocks_are_missing(Estimator, X):
    da = optional("dask.array")
    masked = da.ma.masked_array(da.from_array(X, chunks=(10, -1)), mask=np.arange(40)[:, None] * np.ones(25) == 33)
    with pytest.raises(ValueError, match="NaN: the first one in this block at row 33, column 0"):
        Estimator(3).fit(masked)


def test_sparse_data_with_gaps_is_not_told_to_set_what_is_set(Estimator, X):
    data = sparse.csr_array(X)
    data.data[30] = np.nan
    for missing in ("error", "impute"):
        with pytest.raises(ValueError, match=r"row 1, column 5\..*Only dense data can be imputed: give X\.toarray\(\)"):
            Estimator(3, missing=missing).fit(data)


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("kind", ["f4", "f8"])
def test_numbers_in_the_other_byte_order_are_the_same_numbers(X, kind, lazy):
    native, other = X.astype(f"={kind}"), X.astype(f">{kind}" if np.little_endian else f"<{kind}")
    if lazy:
        da = optional("dask.array")
        native, other = (da.from_array(data, chunks=(15, -1)) for data in (native, other))
    one, two = GSPPCA(3).fit(native), GSPPCA(3).fit(other)
    for model, data in ((one, native), (two, other)):
        assert model.components_.dtype == np.dtype(kind)
        assert np.asarray(model.transform(data)).dtype == np.dtype(kind)
    np.testing.assert_array_equal(one.components_, two.components_)


# The stages.


@pytest.mark.parametrize("order", [[0.5, 1.5], [[0, 1]], [], ["a"], [0, 0, 1], [0, 25], [-1, 2]], ids=str)
def test_order(X, order):
    with pytest.raises(ValueError, match="order must"):
        evidence_path(X, order, 3, 0.1)


@pytest.mark.parametrize("sizes", [[0, 1], [26], [1.5], [], "all"], ids=str)
def test_sizes(X, sizes):
    with pytest.raises(ValueError, match="sizes must be integers from 1 to 25"):
        evidence_path(X, np.arange(25), 3, 0.1, sizes)


@pytest.mark.parametrize("variance", [0, -1.0, np.nan, "median", None], ids=str)
def test_inactive_variance(X, variance):
    with pytest.raises(ValueError, match="inactive_variance must be"):
        evidence_path(X, np.arange(25), 3, variance)


def test_a_support_of_constants_has_no_evidence(X):
    wide = np.hstack([np.ones((40, 2)), X])
    with pytest.raises(ValueError, match=r"first 1 variable.* of order are constant"):
        evidence_path(wide, np.arange(27), 3, 0.1)
    path = evidence_path(wide, np.r_[2:27, 0, 1], 3, 0.1)
    assert np.isfinite(path.log_evidence).all()


def test_noise_method(X):
    with pytest.raises(ValueError, match="method must be one of 'median', 'ml', 'bias_corrected', got 'profile'"):
        estimate_noise_variance(X, 3, "profile")


@pytest.mark.parametrize(
    "data",
    [
        np.full((4, 3), np.nan),
        np.ones((4, 3)),
        np.array([[np.inf, 1.0], [2.0, 3.0]]),
        1e200 * np.eye(4),
        1e-200 * np.eye(4),
        np.ones((1, 3)),
        np.ones((0, 3)),
        np.arange(4.0)[:, None],
    ],
    ids=["nan", "constant", "inf", "large", "small", "one row", "no row", "one column"],
)
def test_the_stages_refuse_data_that_the_estimator_refuses(data):
    for stage in (
        lambda: estimate_noise_variance(data, 1),
        lambda: relaxed_vem(data, 1),
        lambda: evidence_path(data, np.arange(3), 1, 0.1),
    ):
        with pytest.raises(ValueError, match=r"NaN|infinity|constant|too large|too small|at least 2 rows"):
            stage()
