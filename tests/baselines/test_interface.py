"""Laws that every competitor obeys."""

from __future__ import annotations

import ast
import dataclasses
import functools
import pickle
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import gsppca.baselines
from gsppca.baselines import SPCA, SSPCA, PlainPCA, SvnPCA, ThresholdedPCA, VarianceRanking, VsnPCA

SHORT = {"n_penalties": 8}  # a short path: the laws do not depend on its length
METHODS = {
    PlainPCA: {},
    VarianceRanking: {},
    ThresholdedPCA: {},
    SPCA: {"tol": 1e-3},
    SSPCA: {**SHORT, "cv": 3},
    SvnPCA: {**SHORT, "tol": 1e-3},
    VsnPCA: SHORT,
}
every_method = pytest.mark.parametrize(
    "method",
    [functools.partial(method, **parameters) for method, parameters in METHODS.items()],
    ids=[method.__name__ for method in METHODS],
)


# The checks look at the interface: the shortest paths and the loosest tolerance will do.
HASTY = {SPCA: {"tol": 1e-2}, SSPCA: {"n_penalties": 3, "cv": 2}}


@parametrize_with_checks([method(**HASTY.get(method, parameters)) for method, parameters in METHODS.items()])
def test_scikit_learn(estimator, check):
    check(estimator)


@every_method
@pytest.mark.parametrize("n_components", [1, 2])
def test_exactly_as_many_as_asked(method, small, n_components):
    p = small.shape[1]
    for size in (1, 2, 3, p // 2, p - 1, p):
        model = method(n_components=n_components, n_features_to_select=size, random_state=0).fit(small)
        assert model.n_selected_ == size == model.support_.sum() == model.get_support(indices=True).size
        np.testing.assert_array_equal(model.support_, model.ranking_ <= size)


@every_method
def test_fewer_variables_than_axes_leave_axes_empty(method, small):
    model = method(n_components=5, n_features_to_select=3, random_state=0).fit(small)
    assert model.n_selected_ == 3
    assert np.linalg.matrix_rank(model.components_) <= 3
    assert np.count_nonzero(model.explained_variance_ > 1e-9) <= 3
    assert np.all(np.isfinite(model.inverse_transform(model.transform(small))))


@every_method
@pytest.mark.parametrize("size", ["auto", 4])
def test_fitted_attributes_agree(method, small, size):
    model = method(n_components=2, n_features_to_select=size, random_state=0).fit(small)
    n_features = small.shape[1]
    assert sorted(model.ranking_) == list(range(1, n_features + 1))
    np.testing.assert_array_equal(model.support_, model.ranking_ <= model.n_selected_)
    np.testing.assert_array_equal(model.get_support(), model.support_)
    assert model.components_.shape == (2, n_features)
    assert not model.components_[:, ~model.support_].any()
    lengths = np.linalg.norm(model.components_, axis=1)
    assert np.all(np.isclose(lengths, 1) | (lengths == 0))
    np.testing.assert_allclose(model.mean_, small.mean(axis=0))
    total = np.sum((small - small.mean(axis=0)) ** 2) / (small.shape[0] - 1)
    np.testing.assert_allclose(model.explained_variance_ratio_, model.explained_variance_ / total)
    assert model.converged_
    assert model.n_iter_ >= 1


@every_method
def test_path_is_a_record(method, small):
    model = method(n_components=2, random_state=0).fit(small)
    path = model.path_
    n_points = path.sizes.size
    assert len(path.penalties) == len(path.criterion) == n_points
    assert path.supports.shape == (n_points, small.shape[1])
    np.testing.assert_array_equal(path.supports.sum(axis=1), path.sizes)
    np.testing.assert_array_equal(path.supports[path.chosen], model.support_)
    np.testing.assert_array_equal(model.ranking_[path.entry_order], np.arange(1, small.shape[1] + 1))
    with pytest.raises(dataclasses.FrozenInstanceError):
        path.chosen = 0


@every_method
@pytest.mark.parametrize("size", ["auto", 4])
def test_permuted_columns_give_permuted_answers(method, small, size):
    order = np.random.default_rng(1).permutation(small.shape[1])
    model = method(n_components=2, n_features_to_select=size, random_state=0)
    plain, permuted = clone(model).fit(small), clone(model).fit(small[:, order])
    np.testing.assert_array_equal(permuted.support_, plain.support_[order])
    np.testing.assert_array_equal(permuted.ranking_, plain.ranking_[order])
    np.testing.assert_allclose(permuted.components_, plain.components_[:, order], atol=1e-6)


@every_method
@pytest.mark.parametrize(("size", "scale"), [("auto", 1e-6), (4, 1e6)])
def test_units_do_not_matter(method, small, size, scale):
    model = method(n_components=2, n_features_to_select=size, random_state=0)
    plain, scaled = clone(model).fit(small), clone(model).fit(scale * small + 7 * scale)
    np.testing.assert_array_equal(scaled.ranking_, plain.ranking_)
    np.testing.assert_allclose(scaled.components_, plain.components_, atol=1e-6)
    np.testing.assert_allclose(scaled.explained_variance_, scale**2 * plain.explained_variance_, rtol=1e-5)


@every_method
def test_round_trip_is_the_orthogonal_projection(method, small):
    model = method(n_components=2, n_features_to_select=5, random_state=0).fit(small)
    span = np.linalg.qr(model.components_.T)[0]
    centred = small - model.mean_
    expected = model.mean_ + centred @ span @ span.T
    np.testing.assert_allclose(model.inverse_transform(model.transform(small)), expected, atol=1e-10)
    np.testing.assert_allclose(model.transform(small), centred @ model.components_.T)


@every_method
def test_constant_columns_come_last(method, small):
    small = small.copy()
    small[:, [0, 6]] = -2.7, 1e17 / 3  # minus its mean, the latter leaves rounding larger than the signal
    model = method(n_components=2, n_features_to_select=8, random_state=0).fit(small)
    assert set(model.ranking_[[0, 6]]) == {11, 12}
    assert np.all(np.isfinite(model.components_))


@every_method
def test_equal_columns_are_drawn_by_lot_not_by_position(method, small):
    twins = np.column_stack([small, small])
    first_half: set[bool] = set()
    for seed in range(6):
        if len(first_half) == 2:
            break
        model = method(n_components=1, n_features_to_select=1, random_state=seed).fit(twins)
        assert model.n_selected_ == 1
        first_half.add(bool(model.get_support(indices=True)[0] < small.shape[1]))
    assert first_half == {True, False}


@every_method
def test_size_can_be_a_fraction_or_none(method, small):
    assert method(n_features_to_select=0.5, random_state=0).fit(small).n_selected_ == 6
    assert method(n_features_to_select=0.01, random_state=0).fit(small).n_selected_ == 1
    auto = method(n_features_to_select="auto", random_state=0).fit(small)
    none = method(n_features_to_select=None, random_state=0).fit(small)
    np.testing.assert_array_equal(none.support_, auto.support_)


@every_method
def test_names_pickles_and_clones(method, small):
    model = method(n_components=2, n_features_to_select=3, random_state=0).fit(small)
    prefix = method.func.__name__.lower()
    assert list(model.get_feature_names_out()) == [f"{prefix}0", f"{prefix}1"]
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.transform(small), model.transform(small))
    assert clone(model).get_params() == model.get_params()


@every_method
@pytest.mark.parametrize("size", [0, 13, -1, 1.5, 0.0, "evidence", True])
def test_wrong_size_is_named(method, small, size):
    with pytest.raises(ValueError, match=r"n_features_to_select must be .*from 1 to n_features = 12") as error:
        method(n_features_to_select=size).fit(small)
    assert f"got {size!r}." in str(error.value)


@every_method
@pytest.mark.parametrize("n_components", [0, 13, 1.5, "auto", True])
def test_wrong_number_of_axes_is_named(method, small, n_components):
    with pytest.raises(ValueError, match=r"n_components must be an integer from 1 to") as error:
        method(n_components=n_components).fit(small)
    assert f"got {n_components!r}." in str(error.value)


@every_method
def test_data_without_variation_is_refused(method):
    with pytest.raises(ValueError, match=r"every column is constant.*check the data"):
        method().fit(np.full((5, 4), 0.1))
    with pytest.raises(ValueError, match=r"range of float64.*rescale"):
        method().fit(1e200 * np.eye(5))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (SPCA(max_iter=0), r"max_iter must be .*, got 0"),
        (SPCA(tol=-1), r"tol must be .*, got -1"),
        (SPCA(explained_share=1.2), r"explained_share must be .*, got 1.2"),
        (SPCA(axes="mine"), r"axes must be .*, got 'mine'"),
        (SSPCA(cv=1), r"cv must be .*, got 1"),
        (SSPCA(n_penalties=1), r"n_penalties must be .*, got 1"),
        (VsnPCA(max_iter=2.5), r"max_iter must be .*, got 2.5"),
        (SvnPCA(tol=float("nan")), r"tol must be .*, got nan"),
        (ThresholdedPCA(threshold=0), r"threshold must be .*, got 0"),
        (ThresholdedPCA(threshold_unit="sd"), r"threshold_unit must be .*, got 'sd'"),
        (VarianceRanking(factor="12"), r"factor must be .*, got '12'"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_wrong_parameters_are_named(model, message, small):
    with pytest.raises(ValueError, match=rf"^{message}\. Set"):
        model.fit(small)


def test_competitors_stand_alone():
    folder = Path(gsppca.baselines.__file__).parent
    for file in folder.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            ours = {name for name in names if name.split(".")[0] == "gsppca"} - {"gsppca._masked", "gsppca.checks"}
            assert all(name.startswith("gsppca.baselines") for name in ours), (file.name, ours)
