"""pandas and polars: names kept through selection, pipelines and searches; wrong frames named."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from gsppca import GSPPCA, GSPPCASelector
from tests.needs import optional

NAMES = [f"gene {i}" for i in range(25)]
pd, pl = optional("pandas"), optional("polars")
KINDS = {"pandas": pd.DataFrame, "polars": pl.DataFrame}


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def data(factor_data):
    return factor_data(0)


def frame_of(X, kind, names=NAMES):
    return KINDS[kind](dict(zip(names, X.T, strict=True)))


def test_a_frame_is_its_numbers(data, kind):
    X, support = data
    model, plain = GSPPCA(3).fit(frame_of(X, kind)), GSPPCA(3).fit(X)
    np.testing.assert_array_equal(model.support_, support)
    np.testing.assert_allclose(model.components_, plain.components_)
    assert list(model.feature_names_in_) == NAMES
    assert not hasattr(plain, "feature_names_in_")


def test_output_frames_carry_names_and_values(data, kind):
    X, support = data
    frame = frame_of(X, kind)
    kept = [name for name, chosen in zip(NAMES, support, strict=True) if chosen]
    selector = GSPPCASelector(3).set_output(transform=kind).fit(frame)
    chosen = selector.transform(frame)
    assert isinstance(chosen, KINDS[kind])
    assert list(chosen.columns) == kept == list(selector.get_feature_names_out())
    np.testing.assert_array_equal(chosen.to_numpy(), X[:, support])
    model = GSPPCA(3).set_output(transform=kind).fit(frame)
    scores = model.transform(frame)
    assert isinstance(scores, KINDS[kind])
    assert list(scores.columns) == ["gsppca0", "gsppca1", "gsppca2"]
    np.testing.assert_allclose(scores.to_numpy(), GSPPCA(3).fit(X).transform(X))


def test_output_of_the_other_kind(data):
    X, support = data
    out = GSPPCASelector(3).set_output(transform="polars").fit_transform(frame_of(X, "pandas"))
    assert isinstance(out, pl.DataFrame)
    assert out.shape == (len(X), support.sum())
    out = GSPPCASelector(3).set_output(transform="pandas").fit_transform(frame_of(X, "polars"))
    assert isinstance(out, pd.DataFrame)


def test_rows_keep_their_index(data):
    frame = frame_of(data[0], "pandas").set_index(pd.Index([f"patient {i}" for i in range(40)]))
    for estimator in (GSPPCA(3), GSPPCASelector(3)):
        assert estimator.set_output(transform="pandas").fit_transform(frame).index.equals(frame.index)


def test_other_columns_and_another_order_are_refused(data, kind):
    X, _ = data
    for estimator in (GSPPCA(3), GSPPCASelector(3)):
        estimator.fit(frame_of(X, kind))
        with pytest.raises(ValueError, match="feature names should match"):
            estimator.transform(frame_of(X[:, ::-1], kind, NAMES[::-1]))
        with pytest.raises(ValueError, match="unseen at fit time:\n- other"):
            estimator.transform(frame_of(X, kind, [*NAMES[:-1], "other"]))


def test_shuffled_columns_select_the_same_names(data, kind):
    X, _ = data
    order = np.random.default_rng(0).permutation(25)
    one = GSPPCASelector(3).fit(frame_of(X, kind))
    other = GSPPCASelector(3).fit(frame_of(X[:, order], kind, [NAMES[k] for k in order]))
    assert set(one.get_feature_names_out()) == set(other.get_feature_names_out())


def test_a_missing_value_is_named_by_its_column(data, kind):
    X, _ = data
    X[4, 7] = np.nan
    with pytest.raises(ValueError, match=r"NaN: .* row 4, column 7 \('gene 7'\)"):
        GSPPCA(3).fit(frame_of(X, kind))


def test_columns_of_several_number_types(data):
    X, support = data
    frame = frame_of(X, "pandas")
    frame["gene 0"] = (10 * frame["gene 0"]).round().astype(int)
    frame["gene 1"] = frame["gene 1"].astype("Float64")  # nullable
    frame["gene 2"] = frame["gene 2"] > 0
    frame["gene 3"] = frame["gene 3"].astype(np.float32)
    model = GSPPCA(3, n_features_to_select=int(support.sum()), scale=True).fit(frame)
    np.testing.assert_allclose(model.mean_, frame.astype(float).mean())


PANDAS = {
    "categories": (pd.Categorical(["low", "high"] * 20), r"holds categories, not numbers: the first one is 'low'"),
    "dates": (pd.date_range("2020", periods=40), r"holds datetime64\[\w+\], not numbers: the first one is Timestamp"),
    "durations": (pd.to_timedelta(np.arange(40), unit="s"), "holds timedelta64"),
    "periods": (pd.period_range("2020", periods=40), "holds period"),
    "intervals": (pd.interval_range(0, 40), "holds interval"),
    "complex": (np.arange(40) * 1j, "holds complex128"),
    "text": (["x"] * 40, "the first one is 'x'"),
}
POLARS = {
    "categories": (pl.Series(["low", "high"] * 20, dtype=pl.Categorical), "holds categories"),
    "dates": (pl.Series(pd.date_range("2020", periods=40).to_numpy()), "holds Datetime"),
    "days": (pl.Series(pd.date_range("2020", periods=40).to_numpy()).cast(pl.Date), "holds Date"),
    "lists": (pl.Series([[1.0]] * 40), "holds List"),
    "text": (["x"] * 40, "the first one is 'x'"),
}


@pytest.mark.parametrize(
    ("kind", "what"), [("pandas", what) for what in PANDAS] + [("polars", what) for what in POLARS], ids=str
)
def test_columns_that_are_no_numbers_are_named(data, kind, what):
    values, said = (PANDAS if kind == "pandas" else POLARS)[what]
    frame = {name: values if name == "gene 3" else column for name, column in zip(NAMES, data[0].T, strict=True)}
    fitted = GSPPCA(3).fit(frame_of(data[0], kind))
    for use in (GSPPCA(3).fit, fitted.transform):
        with pytest.raises(
            ValueError, match=rf"Column 3 of X \('gene 3'\) {said if said.startswith('h') else '.*' + said}"
        ):
            use(KINDS[kind](frame))


def test_a_lazy_frame_is_named(data):
    with pytest.raises(ValueError, match=r"lazy frame of polars, with the column 'gene 0'.*X\.collect\(\)"):
        GSPPCA(3).fit(frame_of(data[0], "polars").lazy())


def test_numbers_in_odd_types_are_numbers(data):
    frame = frame_of(data[0], "pandas")
    plain = GSPPCA(3).fit(frame)
    frame["gene 3"] = frame["gene 3"].astype(object)
    frame["gene 4"] = frame["gene 4"].map(repr)
    np.testing.assert_array_equal(GSPPCA(3).fit(frame).components_, plain.components_)


def test_text_is_refused(data, kind):
    frame = {name: list(column) for name, column in zip(NAMES, data[0].T, strict=True)}
    frame["gene 3"] = ["high"] * 40
    with pytest.raises(ValueError, match="high"):
        GSPPCA(3).fit(KINDS[kind](frame))


@pytest.mark.parametrize("kind", KINDS)
def test_names_go_through_a_pipeline_and_a_search(kind):
    measures = load_breast_cancer(as_frame=True)
    X = measures.data if kind == "pandas" else pl.DataFrame(measures.data.to_dict("list"))
    model = make_pipeline(
        StandardScaler().set_output(transform=kind), GSPPCASelector(3), LogisticRegression(max_iter=1000)
    )
    search = GridSearchCV(model, {"gsppcaselector__n_features_to_select": [1, 12]}, cv=3).fit(X, measures.target)
    assert search.best_params_ == {"gsppcaselector__n_features_to_select": 12}
    best = search.best_estimator_
    assert list(best[1].feature_names_in_) == list(measures.feature_names)
    kept = best[:-1].get_feature_names_out()
    assert len(kept) == 12
    assert set(kept) < set(measures.feature_names)
    assert search.best_score_ > 0.93
