"""Metrics against their definitions, exact fractions and literal loops."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import PCA
from sklearn.metrics import f1_score, precision_score, recall_score

from gsppca.metrics import (
    adjusted_explained_variance,
    f_score,
    pathway_enrichment,
    precision,
    project,
    recall,
    reconstruction_error,
)

# --- selections -----------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=30))
def test_selection_scores(pairs):
    selected, truth = np.array(pairs, dtype=bool).T
    scores = precision(selected, truth), recall(selected, truth), f_score(selected, truth)
    assert all(isinstance(score, float) for score in scores)
    if selected.any() and truth.any():
        assert scores[0] == pytest.approx(precision_score(truth, selected))
        assert scores[1] == pytest.approx(recall_score(truth, selected))
        assert scores[2] == pytest.approx(f1_score(truth, selected, zero_division=0))
    # The harmonic mean, and the symmetry that exchanges the two.
    p, r, f = scores
    assert f == pytest.approx(2 * p * r / (p + r) if p + r else 0.0)
    assert f_score(truth, selected) == f
    assert precision(truth, selected) == r


def test_empty_selections():
    none, some = np.zeros(4, dtype=bool), np.array([True, False, False, False])
    for score in (precision, recall, f_score):
        assert score(none, none) == 1.0
        assert score(none, some) == 0.0
        assert score(some, none) == 0.0


@pytest.mark.parametrize("bad", [[1, 0, 1], [[True, False, True]], [0.5, 1.0, 0.0], [True, False]])
def test_selections_must_be_masks(bad):
    good = np.array([True, False, True])
    with pytest.raises(ValueError, match="selected of shape"):
        f_score(bad, good)
    with pytest.raises(ValueError, match=r"numpy\.isin"):
        precision(good, bad)


# --- subspaces ------------------------------------------------------------------------------------


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    return rng.standard_normal((30, 8)) @ rng.standard_normal((8, 8)) + 5.0


def shen_huang(X, V):
    """The definition of Shen & Huang (2008), with the pseudo-inverse, one k after the other."""
    percentages = []
    for k in range(1, V.shape[1] + 1):
        Y = X @ V[:, :k] @ np.linalg.pinv(V[:, :k].T @ V[:, :k], rcond=1e-9) @ V[:, :k].T
        percentages.append(100 * np.trace(Y.T @ Y) / np.trace(X.T @ X))
    return np.array(percentages)


def test_equals_pca_on_pca_axes(X):
    pca = PCA().fit(X)
    percentages = adjusted_explained_variance(X, pca.components_)
    assert_allclose(percentages, 100 * np.cumsum(pca.explained_variance_ratio_))


@pytest.mark.parametrize("kind", ["oblique", "sparse", "dependent"])
def test_follows_the_definition(X, kind):
    rng = np.random.default_rng(1)
    axes = rng.standard_normal((5, 8))
    if kind == "sparse":
        axes[rng.random((5, 8)) < 0.6] = 0.0
        axes[2] = 0.0
    if kind == "dependent":
        axes[2], axes[3] = 2 * axes[0] - axes[1], axes[1]
    centred = X - X.mean(axis=0)
    percentages = adjusted_explained_variance(X, axes)
    assert_allclose(percentages, shen_huang(centred, axes.T), rtol=1e-9)
    assert (np.diff(percentages) >= 0).all()
    assert_allclose(adjusted_explained_variance(X, axes, center=False), shen_huang(X, axes.T), rtol=1e-9)
    if kind == "dependent":
        assert_allclose(percentages[1:4], percentages[1])  # nothing added ...
        assert percentages[4] > percentages[1] + 1  # ... and later axes still count


def test_only_the_span_counts(X):
    rng = np.random.default_rng(2)
    axes = rng.standard_normal((3, 8))
    mixed = rng.standard_normal((3, 3)) @ axes
    assert adjusted_explained_variance(X, mixed)[-1] == pytest.approx(adjusted_explained_variance(X, axes)[-1])
    scaled = axes * [[1e-8], [1.0], [1e8]]
    assert_allclose(adjusted_explained_variance(X, scaled), adjusted_explained_variance(X, axes))
    assert_allclose(adjusted_explained_variance(1e-3 * X, axes), adjusted_explained_variance(X, axes))


def test_all_directions_explain_everything(X):
    assert adjusted_explained_variance(X, np.ones((8, 8)) + np.eye(8))[-1] == pytest.approx(100)
    assert adjusted_explained_variance(X, np.ones(8, dtype=bool), 8)[-1] == pytest.approx(100)


def test_support_takes_the_pca_of_its_columns(X):
    support = np.array([1, 0, 1, 1, 0, 0, 1, 0], dtype=bool)
    pca = PCA(3).fit(X[:, support])
    total = X.var(axis=0).sum()
    expected = 100 * np.cumsum(pca.explained_variance_) * 29 / 30 / total
    assert_allclose(adjusted_explained_variance(X, support, 3), expected)
    # No axes on this support explain more.
    rng = np.random.default_rng(3)
    for _ in range(50):
        axes = rng.standard_normal((3, 8)) * support
        assert adjusted_explained_variance(X, axes)[-1] <= expected[-1] + 1e-9


def test_small_supports(X):
    support = np.arange(8) < 2
    percentages = adjusted_explained_variance(X, support, 5)
    assert percentages.shape == (5,)
    assert_allclose(percentages[1:], 100 * X[:, :2].var(axis=0).sum() / X.var(axis=0).sum())
    assert_array_equal(adjusted_explained_variance(X, np.zeros(8, dtype=bool), 2), [0.0, 0.0])


def test_n_components_takes_the_first_axes(X):
    axes = np.random.default_rng(4).standard_normal((5, 8))
    assert_allclose(adjusted_explained_variance(X, axes, 2), adjusted_explained_variance(X, axes)[:2])


def test_pythagoras(X):
    """What is not explained is the error of the projection."""
    axes = np.random.default_rng(5).standard_normal((4, 8))
    axes[3] = axes[0]
    mean = X.mean(axis=0)
    errors = reconstruction_error(X, project(X, axes, mean))
    unexplained = 1 - adjusted_explained_variance(X, axes)[-1] / 100
    assert errors.shape == (30,)
    assert errors.sum() == pytest.approx(unexplained * np.sum((X - mean) ** 2))


def test_projection(X):
    axes = np.random.default_rng(6).standard_normal((3, 8))
    once = project(X, axes)
    assert_allclose(project(once, axes), once)
    assert_allclose((X - once) @ axes.T, 0.0, atol=1e-9)
    assert_allclose(project(X, np.zeros((2, 8)), mean=np.arange(8.0)), np.tile(np.arange(8.0), (30, 1)))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((np.ones(3), np.ones((1, 3))), r"X of shape \(3,\)"),
        ((np.ones((4, 3)), np.ones((1, 3))), "no variance"),
        ((np.eye(3), np.ones((3, 2))), r"axes of shape \(3, 2\).*\(n_components, 3\)"),
        ((np.eye(3), np.ones(3)), r"axes of shape \(3,\)"),
        ((np.full((2, 2), np.nan), np.eye(2)), "X contains NaN"),
        ((np.eye(2), np.full((2, 2), np.inf)), "axes contains NaN"),
        ((np.eye(2), np.eye(2), 3), "n_components must be from 1 to 2, got 3.*axes"),
        ((np.eye(2), np.array([True, False])), "n_components must be .*got None"),
        ((np.eye(2), np.array([True]), 1), "support of 1 variables, expected 2"),
    ],
)
def test_explained_variance_errors(arguments, words):
    with pytest.raises(ValueError, match=words):
        adjusted_explained_variance(*arguments)


def test_other_errors():
    with pytest.raises(ValueError, match=r"reconstruction of shape \(1, 2\)"):
        reconstruction_error(np.eye(2), np.ones((1, 2)))
    with pytest.raises(ValueError, match=r"mean of shape \(3,\)"):
        project(np.eye(2), np.eye(2), np.ones(3))


# --- pathways -------------------------------------------------------------------------------------


def tail(overlap, universe, size, chosen):
    """P(H >= overlap) as an exact fraction."""
    ways = sum(comb(size, j) * comb(universe - size, chosen - j) for j in range(overlap, min(size, chosen) + 1))
    return Fraction(ways, comb(universe, chosen))


def benjamini_hochberg(p_values):
    """The step-up procedure, literally: adjusted p_(i) = min over j >= i of p_(j) m / j."""
    m, order = len(p_values), np.argsort(p_values)
    adjusted = np.empty(m)
    for i in range(m):
        adjusted[order[i]] = min(1.0, *(p_values[order[j]] * m / (j + 1) for j in range(i, m)))
    return adjusted


@pytest.fixture
def genes():
    return [f"g{i}" for i in range(60)]


@pytest.fixture
def pathways(genes):
    rng = np.random.default_rng(0)
    sets = {f"set{k}": [str(g) for g in rng.choice(genes, 4 + k, replace=False)] for k in range(12)}
    return sets | {"hit": genes[:7], "foreign": ["x", "y"], "mixed": [*genes[:3], "x", "y", "z"]}


def test_against_exact_fractions(genes, pathways):
    selected = genes[:10]
    result = pathway_enrichment(selected, pathways, genes)
    assert "foreign" not in result.names  # no measured gene, no test
    exact = []
    for name, size, overlap, p_value in zip(result.names, result.sizes, result.overlaps, result.p_values, strict=True):
        members = set(pathways[name]) & set(genes)
        assert size == len(members)
        assert overlap == len(members & set(selected))
        exact.append(float(tail(int(overlap), 60, len(members), 10)))
        assert p_value == pytest.approx(exact[-1], rel=1e-10)
    assert_allclose(result.adjusted, benjamini_hochberg(np.array(exact)), rtol=1e-9)
    assert_array_equal(result.enriched, result.adjusted < 0.01)
    assert result.enriched[result.names.index("hit")]
    assert result.index == pytest.approx(100 * result.enriched.sum() / 14)


def test_mask_and_names_agree(genes, pathways):
    mask = np.isin(np.arange(60), [3, 5, 8, 30])
    by_mask = pathway_enrichment(mask, pathways, genes)
    by_name = pathway_enrichment(["g3", "g5", "g8", "g30", "g30"], pathways, np.array(genes))
    assert_array_equal(by_mask.p_values, by_name.p_values)


def test_order_of_the_genes_is_irrelevant(genes, pathways):
    one = pathway_enrichment(genes[:10], pathways, genes)
    other = pathway_enrichment(genes[9::-1], pathways, genes[::-1])
    assert_array_equal(one.p_values, other.p_values)


@pytest.mark.parametrize("selected", [[], "all"])
def test_nothing_and_everything_are_not_enriched(genes, pathways, selected):
    result = pathway_enrichment(genes if selected == "all" else selected, pathways, genes)
    assert_allclose(result.p_values, 1.0)
    assert result.index == 0.0


def test_random_selections_keep_the_level(genes, pathways):
    """Under the null, hardly any selection is declared enriched."""
    rng = np.random.default_rng(1)
    masks = [rng.permutation(60) < 12 for _ in range(200)]
    assert np.mean([pathway_enrichment(mask, pathways, genes).enriched.any() for mask in masks]) < 0.03


def test_alpha_and_min_size(genes, pathways):
    strict = pathway_enrichment(genes[:10], pathways, genes, alpha=1e-12)
    assert strict.index == 0.0
    large = pathway_enrichment(genes[:10], pathways, genes, min_size=10)
    assert large.sizes.min() >= 10
    assert len(large.names) == sum(len(set(s) & set(genes)) >= 10 for s in pathways.values())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"selected": ["nobody"]}, "1 genes not in universe, 'nobody'"),
        ({"selected": np.ones(3, dtype=bool)}, r"selected of shape \(3,\): expected \(60,\)"),
        ({"universe": ["g1", "g1"], "selected": ["g1"]}, "1 repeated genes"),
        ({"pathways": {"a": ["x"]}}, "none of the 1"),
        ({"alpha": 1.5}, "alpha must be .*got 1.5"),
    ],
)
def test_enrichment_errors(genes, pathways, change, words):
    arguments = {"selected": genes[:3], "pathways": pathways, "universe": genes} | change
    with pytest.raises(ValueError, match=words):
        pathway_enrichment(**arguments)
