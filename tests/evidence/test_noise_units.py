"""Noise units: what they are worth by integration, and that unlike noise is not taken for further factors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from gsppca.data import as_matrix
from gsppca.datasets import make_noise_range
from gsppca.evidence.noise_units import noise_units
from gsppca.evidence.search import find_support
from gsppca.evidence.supports import Supports

N = 50


def some_shares(seed=0, p=30, spread=0.8):
    rng = np.random.default_rng(seed)
    return 1 - np.exp(-1 + spread * rng.standard_normal(p)).clip(0.02, 1), np.arange(p) < 20


def test_members_that_are_explained_alike_keep_their_units():
    shares, members = some_shares()
    assert noise_units(np.where(members, 0.6, shares), members, N) is None
    assert noise_units(shares, members, 2) is None  # no more than the error


def test_a_unit_and_its_charge_are_the_integral_over_the_noise():
    """A member costs what integrating its noise costs, against knowing the best: both Gaussian in the logarithm."""
    shares, members = some_shares()
    units = noise_units(shares, members, N)
    logs, error = np.log(1 - shares), 2 / N
    middle, spread = logs[members].mean(), logs[members].var(ddof=1) - error
    for k in range(len(shares)):
        integral, _ = quad(
            lambda x, at=logs[k]: norm.pdf(x, middle, spread**0.5) * np.exp(-((x - at) ** 2) / (2 * error)),
            *sorted((middle - 9 * spread**0.5, logs[k] + 9 * error**0.5)),
            points=sorted((middle, logs[k])),
        )
        at_unit = (np.log(units.share[k]) + middle - logs[k]) ** 2 / (2 * error)  # what the likelihood loses there
        assert np.exp(-at_unit - units.charges[k]) == pytest.approx(integral, rel=1e-6)


def test_the_more_samples_the_nearer_to_what_was_measured():
    shares, members = some_shares()
    apart = [np.abs(np.log(noise_units(shares, members, n).share)).max() for n in (20, 50, 1000, 10**6)]
    assert (np.diff(apart) > 0).all()
    logs = np.log(1 - shares)
    assert apart[-1] == pytest.approx(np.abs(logs - logs[members].mean()).max(), rel=1e-4)


def test_a_variable_unlike_the_members_pays_more():
    shares, members = np.r_[np.linspace(0.55, 0.75, 20), 0.0], np.arange(21) < 20
    units = noise_units(shares, members, 200)
    assert units.charges[20] > units.charges[:20].max() + 3


def test_supports_in_any_units_are_compared_with_the_same_noise():
    """One factor of its own unit for each variable, and no charge: the evidence of all but exact factor analysis."""
    data = make_noise_range(0.5, n_samples=80, n_features=20, n_components=2, n_relevant=8, random_state=0)
    X = data.X - data.X.mean(axis=0)
    scaled = X * np.exp(np.random.default_rng(0).standard_normal(20))
    common = [Supports(as_matrix(Z), 2, own_noise=True) for Z in (X / X.std(axis=0), scaled)]
    units = noise_units(np.linspace(0, 0.9, 20), data.support, 80)
    one, other = (supports.measured_in(units).at(data.support) for supports in common)
    assert one.log_evidence == pytest.approx(other.log_evidence, rel=1e-10)
    assert one.n_components == other.n_components


@pytest.mark.parametrize("d", [1, 3, 5])
def test_unlike_noise_is_no_further_factor(d):
    for seed in range(4):
        data = make_noise_range(0.8, 400, 100, d, 40, random_state=seed)
        found = find_support(as_matrix(data.X - data.X.mean(axis=0)), d + 5, own_noise=True)
        assert found.n_components == d
        assert found.group_units[0] is not None
        assert found.support.sum() >= 34
        assert not found.support[~data.support].any()
