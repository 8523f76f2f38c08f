"""The held-out share, and the other measures of a selection."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.covariance import ledoit_wolf_shrinkage

from gsppca.experiments.held_out import HeldOut, halves, standardised
from gsppca.experiments.selection_measures import (
    clustering_scores,
    neighbour_accuracy,
    nogueira_stability,
    redundancy,
)


def factors(n=90, p=30, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) @ rng.standard_normal((d, p)) + 0.5 * rng.standard_normal((n, p))


def test_the_share_is_that_of_its_definition():
    Z = standardised(factors())
    train, test = halves(90, seed=3)
    judge = HeldOut(Z, train, test, n_components=3)
    chosen = [4, 9, 21, 2]
    first, second = Z[train] - Z[train].mean(axis=0), Z[test] - Z[train].mean(axis=0)
    axes = np.linalg.eigh(first.T @ first)[1][:, ::-1][:, :3]
    shrinkage = max(0.1, ledoit_wolf_shrinkage(first[:, chosen], assume_centered=True))
    covariance = first.T @ first / len(first)
    inverse = np.linalg.inv((1 - shrinkage) * covariance[np.ix_(chosen, chosen)] + shrinkage * np.eye(4))
    predicted = second[:, chosen] @ inverse @ ((1 - shrinkage) * covariance[chosen] @ axes)
    errors, squares = np.sum((second @ axes - predicted) ** 2, axis=0), np.sum((second @ axes) ** 2, axis=0)
    found = judge.share(chosen)
    assert found.weighted == pytest.approx(1 - errors.sum() / squares.sum())
    assert found.equal == pytest.approx(1 - np.mean(errors / squares))


def test_more_of_the_structure_is_a_larger_share():
    Z = standardised(factors())
    judge = HeldOut(Z, *halves(90, seed=0))
    assert judge.n_components == 9
    shares = [judge.share(np.arange(k)).weighted for k in (0, 3, 10, 30)]
    assert shares[0] == 0
    assert shares == sorted(shares)
    assert shares[-1] > 0.95


def test_units_and_columns_that_do_not_vary_do_not_matter():
    X = factors()
    scaled = np.column_stack([X * np.linspace(1, 50, 30) - 7, np.full(90, 0.1)])
    np.testing.assert_allclose(standardised(scaled), standardised(X))


def test_halves_share_no_row():
    train, test = halves(31, seed=1)
    assert len(train) == 16
    assert sorted([*train, *test]) == list(range(31))
    assert not np.array_equal(train, halves(31, seed=2)[0])


def test_groups_that_are_apart_are_found():
    rng = np.random.default_rng(0)
    labels = np.repeat(["a", "b", "c"], 20)
    Z = rng.standard_normal((60, 5)) + 8 * np.repeat(np.eye(3, 5), 20, axis=0)
    assert clustering_scores(Z, labels, seed=0) == (1.0, 1.0)
    assert neighbour_accuracy(Z, labels, seed=0) == 1.0
    noise = rng.standard_normal((60, 5))
    accuracy, information = clustering_scores(noise, labels, seed=0)
    assert accuracy < 0.6
    assert information < 0.3
    assert neighbour_accuracy(noise, labels, seed=0) < 0.6
    runs = [clustering_scores(noise, labels, seed=seed, n_starts=1) for seed in (6, 7)]
    assert runs[0] != runs[1]
    assert clustering_scores(noise, labels, seed=3, n_starts=1, n_runs=2) == pytest.approx(np.mean(runs, axis=0))


def test_clusters_of_many_columns_are_those_of_k_means_on_all_of_them():
    from sklearn.cluster import KMeans
    from sklearn.metrics import normalized_mutual_info_score

    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 12)
    Z = rng.standard_normal((36, 150)) + rng.standard_normal((3, 150))[labels] / 3
    found = [KMeans(3, n_init=2, random_state=seed).fit_predict(Z) for seed in range(12, 16)]
    expected = [normalized_mutual_info_score(labels, one) for one in found]
    assert len(set(expected)) > 1
    assert clustering_scores(Z, labels, seed=3, n_starts=2, n_runs=4)[1] == pytest.approx(np.mean(expected))


def test_redundancy_is_the_mean_absolute_correlation():
    Z = factors()
    upper = np.abs(np.corrcoef(Z.T))[np.triu_indices(30, 1)]
    assert redundancy(Z) == pytest.approx(upper.mean())
    assert redundancy(Z[:, :1]) == 0


def test_stability_is_one_for_agreement_and_zero_for_chance():
    rng = np.random.default_rng(0)
    chosen = np.arange(200) < 20
    assert nogueira_stability([chosen] * 5) == pytest.approx(1.0)
    by_chance = [nogueira_stability([rng.permutation(chosen) for _ in range(5)]) for _ in range(50)]
    assert np.mean(by_chance) == pytest.approx(0.0, abs=0.01)
    with pytest.raises(ValueError, match="at least 2"):
        nogueira_stability([chosen])
