"""The posterior over sizes: laws, limits, and the definition written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gsppca.evidence.posterior import inclusion_probability, size_posterior
from gsppca.results import EvidencePath


def path_of(sizes, log_evidence):
    sizes, values = np.asarray(sizes), np.asarray(log_evidence, dtype=float)
    return EvidencePath(sizes, values, np.ones(len(sizes)), np.ones(len(sizes)))


def random_path(seed=0, p=30, spread=3.0):
    rng = np.random.default_rng(seed)
    return path_of(np.arange(1, p + 1), -1e4 + spread * np.cumsum(rng.standard_normal(p)))


def test_every_size_evaluated_is_the_softmax():
    path = random_path()
    log_prior = -0.2 * path.sizes
    posterior = size_posterior(path, log_prior, temperature=1.7, window=0)
    weights = np.exp((path.log_evidence - path.log_evidence.max()) / 1.7 + log_prior)
    np.testing.assert_array_equal(posterior.sizes, path.sizes)
    np.testing.assert_allclose(posterior.probabilities, weights / weights.sum(), rtol=1e-12)
    order = np.random.default_rng(1).permutation(40)[:30]
    probability = inclusion_probability(posterior, order, 40)
    for rank, variable in enumerate(order, 1):
        wanted = weights[path.sizes >= rank].sum() / weights.sum()
        np.testing.assert_allclose(probability[variable], wanted, rtol=1e-12)
    assert (np.delete(probability, order) == 0).all()


@settings(max_examples=60, deadline=None)
@given(
    values=st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=12),
    gaps=st.lists(st.integers(1, 9), min_size=12, max_size=12),
    temperature=st.floats(1e-3, 1e6),
    window=st.floats(0, 1),
    empty=st.none() | st.floats(-1e6, 1e6),
)
def test_laws(values, gaps, temperature, window, empty):
    """Sums to one, never rises along the ranking, and shifting the evidence changes nothing."""
    sizes = np.cumsum(gaps[: len(values)])
    posterior = size_posterior(
        path_of(sizes, values), np.zeros(len(sizes)), log_empty=empty, temperature=temperature, window=window
    )
    np.testing.assert_allclose(posterior.probabilities.sum(), 1, rtol=1e-12)
    assert (posterior.probabilities > 0).all()
    assert posterior.probabilities.min() >= window * posterior.probabilities.max() * (1 - 1e-12)
    probability = inclusion_probability(posterior, np.arange(sizes[-1]), int(sizes[-1]))
    assert (np.diff(probability) <= 1e-15).all()
    if empty is None:
        np.testing.assert_allclose(probability[: sizes[0]], 1, rtol=1e-12)
    np.testing.assert_allclose(probability.sum(), posterior.mean, rtol=1e-9, atol=1e-12)
    low, high = posterior.interval(0.9)
    assert low <= high
    covered = (posterior.sizes >= low) & (posterior.sizes <= high)
    assert posterior.probabilities[covered].sum() >= 0.9 - 1e-9


def test_a_constant_added_to_the_evidence_changes_nothing():
    path = random_path()
    posterior = size_posterior(path, np.zeros(30), log_empty=-1e4)
    shifted = size_posterior(path_of(path.sizes, path.log_evidence + 1e4), np.full(30, 0.0), log_empty=0.0)
    np.testing.assert_allclose(shifted.probabilities, posterior.probabilities, rtol=1e-8)


@pytest.mark.parametrize("shift", [-30.0, -2.0, 2.0, 30.0])
def test_a_constant_added_to_the_prior_changes_nothing(shift):
    """It is known up to a constant: the sizes that are kept, too, are those near the best."""
    path = random_path()
    prior = -0.1 * np.arange(30)
    posterior, shifted = size_posterior(path, prior), size_posterior(path, prior + shift)
    np.testing.assert_array_equal(shifted.sizes, posterior.sizes)
    np.testing.assert_allclose(shifted.probabilities, posterior.probabilities, rtol=1e-9)


def test_temperature_limits():
    """Cold: the best size; hot: the prior."""
    path, log_prior = random_path(3), -0.1 * np.arange(1, 31)
    cold = size_posterior(path, log_prior, temperature=1e-9)
    assert cold.sizes.tolist() == [path.sizes[path.log_evidence.argmax()]] == [cold.mode]
    hot = size_posterior(path, log_prior, temperature=np.inf, window=0)
    prior = np.exp(log_prior) / np.exp(log_prior).sum()
    np.testing.assert_allclose(hot.probabilities, prior, rtol=1e-12)
    spread = [size_posterior(path, np.zeros(30), temperature=t, window=0) for t in (0.5, 1, 2, 8, 1e3)]
    entropies = [-(s.probabilities * np.log(s.probabilities)).sum() for s in spread]
    assert np.all(np.diff(entropies) > 0)


def test_sizes_between_lie_on_a_straight_line_of_log_evidence():
    path = path_of([2, 4, 8], [0.0, 1.0, -3.0])
    posterior = size_posterior(path, np.zeros(3), window=0)
    weights = np.exp([0.0, 0.5, 1.0, 0.0, -1.0, -2.0, -3.0])
    np.testing.assert_array_equal(posterior.sizes, np.arange(2, 9))
    np.testing.assert_allclose(posterior.probabilities, weights / weights.sum(), rtol=1e-12)
    # A path that is straight between its sizes loses nothing by leaving them out.
    values = -0.5 * np.abs(np.arange(1, 41) - 17.0)
    whole = size_posterior(path_of(np.arange(1, 41), values), np.zeros(40))
    coarse = size_posterior(path_of([1, 10, 17, 30, 40], values[[0, 9, 16, 29, 39]]), np.zeros(5))
    np.testing.assert_allclose(coarse.probabilities, whole.probabilities, rtol=1e-12)


def test_the_window_drops_what_is_improbable():
    path = path_of([1, 2, 3, 4], np.log([0.5, 1.0, 0.04, 0.06]))
    posterior = size_posterior(path, np.zeros(4))
    np.testing.assert_array_equal(posterior.sizes, [1, 2, 4])
    np.testing.assert_allclose(posterior.probabilities, np.array([0.5, 1.0, 0.06]) / 1.56)
    np.testing.assert_allclose(posterior.at_least(np.array([1, 2, 3, 4, 5])), np.r_[1.56, 1.06, 0.06, 0.06, 0] / 1.56)
    assert posterior.mode == 2
    np.testing.assert_allclose(posterior.mean, (0.5 + 2 + 0.24) / 1.56)


def test_the_empty_model_competes():
    path = path_of([1, 2], [-5.0, -4.0])
    posterior = size_posterior(path, np.zeros(2), log_empty=0.0, window=0)
    assert posterior.mode == 0
    np.testing.assert_allclose(posterior.at_least(np.array([1]))[0], np.exp([-5, -4]).sum() / np.exp([0, -5, -4]).sum())
    assert size_posterior(path, np.zeros(2), log_empty=0.0).sizes.tolist() == [0]


@pytest.mark.parametrize(("level", "wanted"), [(0.45, (2, 3)), (0.7, (2, 4)), (0.95, (1, 4)), (1.0, (1, 4))])
def test_the_interval_is_central(level, wanted):
    posterior = size_posterior(path_of([1, 2, 3, 4], np.log([0.1, 0.3, 0.35, 0.25])), np.zeros(4))
    assert posterior.interval(level) == wanted


def test_an_excluded_size_has_no_mass_nor_its_neighbourhood():
    path = path_of([1, 3, 5, 6], [1e5, 0.0, 2.0, 1.0])
    posterior = size_posterior(path, np.array([-np.inf, 0.0, 0.0, -np.inf]), window=0)
    np.testing.assert_array_equal(posterior.sizes, [3, 4, 5])
    np.testing.assert_allclose(posterior.probabilities, np.exp([0, 1, 2]) / np.exp([0, 1, 2]).sum())
