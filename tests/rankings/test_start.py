"""The start of the slab rate: its units, what is refused, and what becomes of a start that collapses."""

from __future__ import annotations

import numpy as np
import pytest

from gsppca import estimate_noise_variance, relaxed_vem
from gsppca.data import as_matrix
from gsppca.datasets import make_model_selection
from gsppca.rankings.vem.start import GRID, check_slab_rate, reference_rate, start_rates


def test_the_grid_is_the_printed_one_where_the_noise_has_unit_variance():
    assert GRID == (0.1, 1.0, 10.0)
    assert start_rates(GRID, "noise", 1.0, 3.7) == [0.1, 1.0, 10.0]
    assert start_rates(GRID, "absolute", 0.2, 3.7) == [0.1, 1.0, 10.0]


def test_units_are_those_of_the_noise_and_of_the_data():
    assert start_rates((0.5, 2.0), "noise", 4.0, 3.0) == [0.25, 1.0]
    assert start_rates((0.5, 2.0), "data", 4.0, 3.0) == [1.5, 6.0]


def test_a_rate_of_one_in_units_of_the_data_gives_variables_their_mean_variance():
    rate = reference_rate(total_squares=600.0, n_samples=20, n_features=10, n_components=3)
    assert 3 / rate**2 == pytest.approx(600.0 / (20 * 10))


def test_noise_without_extent_beside_the_data_still_gives_a_start():
    assert start_rates(GRID, "noise", 1e-30, 1.0) == [1e6]


def test_one_rate_and_several_are_the_same_thing():
    assert check_slab_rate("grid") == GRID
    assert check_slab_rate(2) == check_slab_rate([2.0]) == check_slab_rate(np.array([2.0])) == (2.0,)
    assert check_slab_rate((0.1, 1, 10)) == GRID


@pytest.mark.parametrize("wrong", ["best", 0.0, -1, np.nan, True, [], (1.0, -1.0), None, ("a",), {"a": 1}])
def test_other_rates_are_refused(wrong):
    with pytest.raises(ValueError, match="slab_rate must be"):
        check_slab_rate(wrong)


@pytest.mark.parametrize("unit", ["noise", "data", "absolute"])
def test_rates_far_from_the_data_are_refused(unit):
    with pytest.raises(ValueError, match=r"slab_rate must be within a factor of 1e6 of .*, got 1e\+300"):
        start_rates((1e300,), unit, 1.0, 1.0)


def test_an_unknown_unit_is_refused(factor_data):
    with pytest.raises(ValueError, match="slab_unit must be one of 'noise', 'data', 'absolute'"):
        relaxed_vem(factor_data(0)[0], 3, slab_unit="metre")


@pytest.mark.parametrize("unit", ["noise", "data"])
def test_relative_starts_follow_the_unit_of_the_data(factor_data, unit):
    X = factor_data(0)[0]
    fit, scaled = (relaxed_vem(Z, 3, slab_rate=(0.3, 3.0), slab_unit=unit) for Z in (X, 250 * X))
    np.testing.assert_allclose(scaled.relevance, fit.relevance, atol=1e-7)
    np.testing.assert_allclose(scaled.slab_rate * 250, fit.slab_rate, rtol=1e-7)


def test_absolute_starts_do_not(factor_data):
    X = factor_data(0)[0]
    fit, scaled = (relaxed_vem(Z, 3, slab_unit="absolute", max_iter=5) for Z in (X, 250 * X))
    assert np.abs(fit.relevance - scaled.relevance).max() > 0.01


def test_the_three_units_say_the_same(factor_data):
    X = factor_data(0)[0]
    noise = estimate_noise_variance(X, 3)
    matrix = as_matrix(X)
    data_rate = reference_rate(matrix.total_squares, X.shape[0], X.shape[1], 3)
    rates = [0.2, 0.7]
    absolute = relaxed_vem(X, 3, slab_rate=rates, slab_unit="absolute")
    by_noise = relaxed_vem(X, 3, slab_rate=[rate * np.sqrt(noise) for rate in rates])
    by_data = relaxed_vem(X, 3, slab_rate=[rate / data_rate for rate in rates], slab_unit="data")
    for other in (by_noise, by_data):
        np.testing.assert_allclose(other.bounds[0], absolute.bounds[0], rtol=1e-12)
        np.testing.assert_allclose(other.relevance, absolute.relevance, atol=1e-6)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("short", [2, 5])
def test_the_grid_goes_on_from_the_best_bound(factor_data, seed, short):
    X = factor_data(seed)[0]
    runs = [relaxed_vem(X, 3, slab_rate=rate, max_iter=short, tol=0).bounds for rate in GRID]
    best = max(runs, key=lambda bounds: bounds[-1])
    assert len({round(bounds[-1], 6) for bounds in runs}) == 3  # the starts differ
    np.testing.assert_allclose(relaxed_vem(X, 3, short_iterations=short).bounds[:short], best, rtol=1e-12)


@pytest.mark.parametrize(("seed", "accelerate", "goes_on"), [(8, True, 10.0), (0, True, 10.0), (0, False, 1.0)])
def test_a_start_that_collapses_gives_way_to_the_next_best(seed, accelerate, goes_on):
    """Section 3.3: after five iterations 0.1 is the best start, then 10, then 1; plain iterations let two collapse."""
    X, given = make_model_selection(40, noise="laplacian", random_state=seed).X, {"accelerate": accelerate}
    short = {rate: relaxed_vem(X, 10, slab_rate=rate, max_iter=5, **given).bounds[-1] for rate in GRID}
    ends = {rate: relaxed_vem(X, 10, slab_rate=rate, **given) for rate in GRID}
    in_turn = sorted(GRID, key=short.__getitem__, reverse=True)
    assert ends[in_turn[0]].collapsed
    assert next(rate for rate in in_turn if not ends[rate].collapsed) == goes_on
    np.testing.assert_allclose(relaxed_vem(X, 10, **given).relevance, ends[goes_on].relevance, atol=1e-6)
