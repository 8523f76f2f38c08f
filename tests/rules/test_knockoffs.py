"""Selection by false discovery control: the coins of null variables, the guarantee, and literal definitions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from gsppca.data.shadows import add_shadows
from gsppca.rules.knockoffs import (
    SHARE,
    draw_e_values,
    e_bh,
    knockoff_threshold,
    pair_statistics,
    select_by_fdr,
)


def communality(X, d=2):
    """Sum of squares of each standardised column on the leading axes of the samples: equivariant."""
    deviations = X.std(axis=0)
    Z = (X - X.mean(axis=0)) / np.where(deviations > 0, deviations, 1.0)
    axes = np.linalg.eigh(Z @ Z.T)[1][:, -d:]
    return ((axes.T @ Z) ** 2).sum(axis=0)


def by_position(X):
    """A bad score: it prefers the columns that stand first."""
    return communality(X) - np.arange(X.shape[1])


def clipped(X):
    """A score with ties and infinities, as of variables that never become alive."""
    scores = np.floor(2 * communality(X))
    return np.where(scores <= np.median(scores), -np.inf, scores)


def pairs(X, score):
    def draw(rng):
        doubled = add_shadows(X, rng)
        return doubled.split(score(doubled.X))

    return draw


def factor_rows(rng, n, p, q, law="normal", strength=1.0):
    """The first q of p columns share two factors; the others are null."""
    noise = {
        "normal": lambda: rng.standard_normal((n, p)),
        "skew": lambda: rng.exponential(size=(n, p)) ** 2 / np.sqrt(20),
        "cauchy": lambda: rng.standard_cauchy((n, p)),
    }[law]()
    noise[:, :q] += strength * rng.standard_normal((n, 2)) @ rng.standard_normal((2, q))
    return noise


@pytest.mark.parametrize("score", [communality, by_position, clipped])
@pytest.mark.parametrize("law", ["normal", "cauchy"])
def test_null_variables_toss_fair_and_independent_coins(score, law):
    """Signs of three null variables beside three related ones: all eight patterns are as likely, whatever the ranks."""
    rng = np.random.default_rng(5)
    seen = np.zeros(8, dtype=int)
    for _ in range(1500):
        X = factor_rows(rng, 8, 6, 3, law, 2.0)
        doubled = add_shadows(X, rng)
        nulls = pair_statistics(*doubled.split(score(doubled.X)))[3:]
        if (nulls != 0).all():
            seen[(nulls > 0) @ [4, 2, 1]] += 1
    assert seen.sum() > 150
    assert stats.chisquare(seen).pvalue > 1e-3


def test_the_coins_do_not_depend_on_the_ranks():
    """The largest |W| of pure noise is as often a shadow's; so are the largest two, and alike."""
    rng = np.random.default_rng(2)
    table = np.zeros((2, 2), dtype=int)
    for _ in range(1500):
        doubled = add_shadows(rng.standard_normal((10, 8)), rng)
        w = pair_statistics(*doubled.split(communality(doubled.X)))
        first, second = w[np.argsort(-np.abs(w))[:2]] > 0
        table[int(first), int(second)] += 1
    assert stats.chisquare(table.ravel()).pvalue > 1e-3


@pytest.mark.parametrize("n_draws", [1, 5])
@pytest.mark.parametrize("law", ["normal", "skew"])
def test_the_share_of_false_discoveries_is_at_most_the_target(n_draws, law):
    """On average over data and draws, with relevant variables and without; and it finds those there are."""
    rng, fdr, q = np.random.default_rng(3), 0.2, 20
    false, found = {0: [], q: []}, []
    for relevant in (0, q):
        for _ in range(60 if relevant else 150):
            X = factor_rows(rng, 60, 80, relevant, law, 2.0)
            selected = select_by_fdr(pairs(X, communality), fdr, n_draws, rng).selected
            false[relevant].append(selected[relevant:].sum() / max(1, selected.sum()))
            if relevant:
                found.append(selected[:q].mean())
    for shares in false.values():
        assert np.mean(shares) <= fdr + 2.5 * np.std(shares) / np.sqrt(len(shares))
    assert np.mean(found) > 0.5


def test_null_e_values_sum_to_at_most_p():
    rng, sums = np.random.default_rng(0), []
    for _ in range(300):
        X = factor_rows(rng, 30, 30, 10, strength=2.0)
        sums.append(select_by_fdr(pairs(X, communality), 0.3, 1, rng).e_values[10:].sum())
    assert np.mean(sums) <= 30 + 2.5 * np.std(sums) / np.sqrt(len(sums))


def literal_threshold(w, fdr):
    """The definition: try every value from below."""
    for t in sorted(set(np.abs(w)) - {0}):
        if (1 + sum(w <= -t)) / max(1, sum(w >= t)) <= fdr:
            return t
    return np.inf


def literal_e_bh(e, fdr):
    best = 0
    for k in range(1, len(e) + 1):
        if sorted(e, reverse=True)[k - 1] >= len(e) / (fdr * k):
            best = k
    return e >= (sorted(e, reverse=True)[best - 1] if best else np.inf)


@pytest.mark.parametrize("seed", range(20))
def test_threshold_and_e_bh_are_their_definitions(seed):
    rng = np.random.default_rng(seed)
    w = rng.integers(-6, 15, 40)
    e = np.round(rng.exponential(2, 40) * (rng.random(40) < 0.6), 1)
    for fdr in (0.07, 0.13, 0.31, 0.77):
        assert knockoff_threshold(w, fdr) == literal_threshold(w, fdr)
        np.testing.assert_array_equal(e_bh(e, fdr), literal_e_bh(e, fdr))


def test_few_variables_are_selected_by_the_definition_too():
    """One variable at a level below 1 never passes; all signs and orders of up to three, one by one."""
    for w in itertools.chain.from_iterable(itertools.product((-3, -2, -1, 0, 1, 2, 3), repeat=k) for k in (1, 2, 3)):
        for fdr in (0.3, 0.6, 0.99):
            assert knockoff_threshold(np.array(w), fdr) == literal_threshold(np.array(w), fdr), (w, fdr)


@pytest.mark.parametrize("count", [10, 20, 30, 70])
def test_a_level_met_exactly_counts_in_spite_of_rounding(count):
    w = np.r_[np.arange(100, 100 + count), np.zeros(50, dtype=int)]
    assert knockoff_threshold(w, 1 / count) == 100
    np.testing.assert_array_equal(e_bh(draw_e_values(w, 100), 1 / count), w > 0)


def test_one_draw_is_knockoff_plus():
    rng = np.random.default_rng(4)
    X = factor_rows(rng, 60, 80, 30, strength=2.0)
    result = select_by_fdr(pairs(X, communality), 0.2, 1, np.random.default_rng(0))
    w, threshold = result.statistics[0], result.thresholds[0]
    assert threshold == literal_threshold(w, 0.2) < np.inf
    np.testing.assert_array_equal(result.selected, w >= threshold)


def test_several_draws_are_averaged_as_e_values():
    rng = np.random.default_rng(4)
    X = factor_rows(rng, 60, 80, 30, strength=2.0)
    result = select_by_fdr(pairs(X, communality), 0.2, 4, np.random.default_rng(0))
    assert result.statistics.shape == (4, 80)
    e_values = [draw_e_values(w, literal_threshold(w, SHARE * 0.2)) for w in result.statistics]
    np.testing.assert_allclose(result.e_values, np.mean(e_values, axis=0))
    np.testing.assert_array_equal(result.selected, literal_e_bh(result.e_values, 0.2))
    assert result.selected[:30].mean() > 0.8


def test_statistics_see_the_order_of_the_scores_only():
    rng = np.random.default_rng(0)
    own, shadow = rng.standard_normal((2, 50))
    w = pair_statistics(own, shadow)
    np.testing.assert_array_equal(pair_statistics(np.exp(3 * own), np.exp(3 * shadow)), w)
    np.testing.assert_array_equal(pair_statistics(shadow, own), -w)
    order = np.argsort(np.maximum(own, shadow))
    np.testing.assert_array_equal(np.abs(w)[order], np.arange(1, 51))


def test_ties_are_never_selected_and_infinite_scores_are_fine():
    own, shadow = np.array([1.0, -np.inf, 2.0, np.inf, 0.5]), np.array([1.0, -np.inf, -np.inf, 3.0, 2.0])
    np.testing.assert_array_equal(pair_statistics(own, shadow), [0, 0, 3, 4, -3])
    with pytest.raises(ValueError, match=r"nan for 1 variable.s. and 0 shadow"):
        pair_statistics(np.array([np.nan, 1.0]), np.zeros(2))


def test_permuting_the_columns_permutes_the_selection_in_distribution():
    """How often each of two columns, and their exchanged selves, are selected."""
    X = factor_rows(np.random.default_rng(8), 40, 24, 12, strength=1.5)
    permutation = np.random.default_rng(0).permutation(24)
    rng = np.random.default_rng(1)
    original = np.mean([select_by_fdr(pairs(X, communality), 0.3, 1, rng).selected for _ in range(250)], axis=0)
    moved = np.mean(
        [select_by_fdr(pairs(X[:, permutation], communality), 0.3, 1, rng).selected for _ in range(250)], axis=0
    )
    deviation = np.sqrt((original * (1 - original))[permutation] * 2 / 250) + 0.01
    assert np.abs(moved - original[permutation]).max() < 4 * deviation.max()
    assert original.max() > 0.3
