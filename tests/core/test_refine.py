"""Refinement: what the factors of a support explain, against a literal loop; the search that uses it; units."""

from __future__ import annotations

import numpy as np
import pytest

from gsppca.core.joint_path import JointEvidence
from gsppca.core.joint_search import JointSearch
from gsppca.core.noise_path import noise_path
from gsppca.core.refine import explained_given_support
from gsppca.core.size import log_size_prior
from gsppca.core.state import Ranking
from gsppca.core.units import share_units, variance_spread
from gsppca.data import as_matrix
from gsppca.datasets import make_noise_range


def literal_explained(X, members, d):
    """For every variable: PPCA of the support, its own row of the loadings left out, and a regression on the scores."""
    n = len(X)
    values, vectors = np.linalg.eigh(X[:, members].T @ X[:, members] / n)
    values, vectors = values[::-1], vectors[:, ::-1]
    noise = values[d:].mean()
    W = np.zeros((X.shape[1], d))
    W[members] = vectors[:, :d] * np.sqrt(values[:d] - noise)
    explained = []
    for k in range(X.shape[1]):
        V = W.copy()
        V[k] = 0
        inverse = np.linalg.inv(V.T @ V + noise * np.eye(d))
        scores = X @ V @ inverse
        second = scores.T @ scores + n * noise * inverse
        response = scores.T @ X[:, k]
        explained.append(response @ np.linalg.solve(second, response))
    return np.array(explained)


def test_it_is_the_literal_loop():
    data = make_noise_range(0.5, 50, n_features=30, n_components=3, n_relevant=10, random_state=1)
    X = data.X - data.X.mean(axis=0)
    members = np.flatnonzero(data.support)[[3, 0, 5, 1, 7, 2, 9]]
    found = explained_given_support(as_matrix(X), members, 3)
    np.testing.assert_allclose(found, literal_explained(X, np.sort(members), 3), rtol=1e-9)


def test_a_variable_of_noise_does_not_explain_itself():
    """A column of the support that is pure noise gets the share of one that is outside."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 40))
    X[:, :10] += 2 * rng.normal(size=(200, 1))
    X -= X.mean(axis=0)
    share = explained_given_support(as_matrix(X), np.arange(15), 1) / (X**2).sum(axis=0)
    assert share[:10].min() > 0.7
    assert share[10:15].max() < 0.05


def a_search(X, d, own_noise, wanted=None):
    matrix = as_matrix(X)
    evidence = JointEvidence(matrix, d, own_noise)
    return JointSearch(evidence, lambda k: log_size_prior("search", k, *X.shape), wanted)


def ranking_of(X, d):
    score = noise_path(as_matrix(X), d).score
    return Ranking(np.argsort(-score), np.exp(score - score.max()), "noise-path", 1)


def test_refining_never_lowers_the_evidence_and_mends_a_bad_ranking():
    data = make_noise_range(0.2, 66, n_components=3, random_state=5)
    X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    good = ranking_of(X, 3)
    # Half of the true variables are sent to the end.
    hidden = np.flatnonzero(data.support)[::2]
    order = np.concatenate([np.setdiff1d(good.order, hidden, assume_unique=True), hidden])
    bad = Ranking(order, good.relevance, "bad", 1)
    search = a_search(X, 3, True)
    plain, refined = search.best_of([bad], False), search.best_of([bad], True)
    assert refined.value > plain.value
    assert refined.ranking.name == "refined"
    truth = set(np.flatnonzero(data.support))
    assert len(truth & set(refined.ranking.order[: refined.size])) >= 17
    assert len(truth & set(plain.ranking.order[: plain.size])) <= 12


def test_the_better_ranking_is_followed():
    data = make_noise_range(0.5, 66, random_state=5)
    good = ranking_of(data.X, 10)
    bad = Ranking(np.random.default_rng(0).permutation(200), good.relevance, "random", 1)
    for rankings in ([good, bad], [bad, good]):
        assert a_search(data.X, 10, False).best_of(rankings, False).ranking.name == "noise-path"


def test_a_size_that_was_asked_for_is_kept():
    data = make_noise_range(0.5, 66, random_state=5)
    assert a_search(data.X, 10, False, wanted=77).best_of([ranking_of(data.X, 10)], True).size == 77


def test_weak_factors_beside_strong_ones_need_noise_of_their_own():
    """Standardised, strong variables have less noise than weak ones: one noise for all stops at the strong."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(150, 120))
    X[:, :10] += 3 * rng.normal(size=(150, 1))
    X[:, 10:20] += rng.normal(size=(150, 1))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    ranking = ranking_of(X, 3)
    search = a_search(X, 3, True)
    plain, refined = search.best_of([ranking], False), search.best_of([ranking], True)
    assert set(plain.ranking.order[: plain.size]) == set(range(10))
    assert set(refined.ranking.order[: refined.size]) == set(range(20))
    assert refined.psi is not None
    assert refined.psi[:10].max() < 0.5 < refined.psi[30:].min()


@pytest.mark.parametrize("seed", range(5))
def test_units_are_told_by_the_spread_of_variances(seed):
    rng = np.random.default_rng(seed)
    squares = {
        "gaussian": rng.normal(size=(60, 300)).var(axis=0),
        "a tenth relevant": (rng.normal(size=(60, 300)) * np.r_[np.full(30, 3), np.ones(270)]).var(axis=0),
        "laplacian": rng.laplace(size=(60, 300)).var(axis=0),
        "units": (rng.normal(size=(60, 300)) * np.exp(rng.normal(size=300))).var(axis=0),
        "standardised": np.ones(300) + 1e-15 * rng.normal(size=300),
    }
    shared = {name: share_units(value, 60) for name, value in squares.items()}
    assert shared == {
        "gaussian": True,
        "a tenth relevant": True,
        "laplacian": False,
        "units": False,
        "standardised": False,
    }
    assert variance_spread(squares["gaussian"], 60) == pytest.approx(1, abs=0.3)
