"""Laws of the signals of section 4 and of their wavelet transform."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from gsppca.datasets import make_signals, wavelet_coefficients, wavelet_signals
from tests.needs import optional

SCENARIOS = pytest.mark.parametrize("scenario", ["A", "B"])


@pytest.fixture
def _needs_wavelets():
    optional("pywt")


@SCENARIOS
def test_shapes_and_time(scenario):
    data = make_signals(scenario, 100, random_state=0)
    assert data.noisy.shape == data.clean.shape == (100, 200)
    assert_allclose(np.diff(data.time), 5e-3)
    assert data.time[0] == 0
    assert data.noise_variance == pytest.approx(0.04)


@SCENARIOS
def test_noise_is_white(scenario):
    data = make_signals(scenario, 3_000, random_state=0)
    noise = data.noisy - data.clean
    assert_allclose(noise.std(), 0.2, rtol=0.01)
    assert_allclose(noise.T @ noise / 3_000, 0.04 * np.eye(200), atol=6 * 0.04 * np.sqrt(2 / 3_000))


def test_square_wave_has_six_states_of_different_lengths():
    clean = make_signals("A", 1, random_state=0).clean[0]
    jumps = np.flatnonzero(np.diff(clean)) + 1
    lengths = np.diff(np.concatenate([[0], jumps, [200]]))
    assert len(lengths) == len(set(lengths)) == 6
    assert set(clean) == {-1.0, 1.0}


def test_mixture_is_a_density_with_four_modes():
    data = make_signals("B", 1, random_state=0)
    clean = data.clean[0]
    assert clean.sum() * 5e-3 == pytest.approx(1.0, abs=1e-6)  # Riemann sum of a density inside [0, 1]
    peaks = (clean[1:-1] > clean[:-2]) & (clean[1:-1] > clean[2:])
    assert peaks.sum() == 4
    assert clean.min() >= 0


@SCENARIOS
@pytest.mark.parametrize(("variation", "rank"), [(0.0, 0), (0.3, None)])
def test_rank_of_the_centred_clean_signals(scenario, variation, rank):
    """Without variation nothing is left after centring; with it one dimension per state or density."""
    clean = make_signals(scenario, 50, variation=variation, random_state=0).clean
    expected = {"A": 6, "B": 4}[scenario] if rank is None else rank
    assert np.linalg.matrix_rank(clean - clean.mean(axis=0), tol=1e-8) == expected


@SCENARIOS
def test_seeds(scenario):
    assert_array_equal(make_signals(scenario, 5, random_state=1).noisy, make_signals(scenario, 5, random_state=1).noisy)
    assert not np.array_equal(
        make_signals(scenario, 5, random_state=1).noisy, make_signals(scenario, 5, random_state=2).noisy
    )


@pytest.mark.usefixtures("_needs_wavelets")
@SCENARIOS
def test_transform_is_orthogonal_and_invertible(scenario):
    data = make_signals(scenario, 6, random_state=0)
    coefficients = wavelet_coefficients(data.noisy, data.wavelet)
    assert coefficients.details.shape == (6, 175)
    assert coefficients.approximation.shape == (6, 25)
    assert_array_equal(np.bincount(coefficients.level), [0, 100, 50, 25])
    both = np.hstack([coefficients.details, coefficients.approximation])
    # Parseval, for products of all pairs of signals.
    assert_allclose(both @ both.T, data.noisy @ data.noisy.T, atol=1e-10)
    assert_allclose(wavelet_signals(coefficients), data.noisy, atol=1e-12)


@pytest.mark.usefixtures("_needs_wavelets")
def test_haar_details_are_scaled_differences():
    signals = np.random.default_rng(0).standard_normal((2, 16))
    coefficients = wavelet_coefficients(signals, "haar")
    for level in (1, 2, 3):
        halves = signals.reshape(2, -1, 2, 2 ** (level - 1)).sum(axis=3)
        expected = (halves[:, :, 0] - halves[:, :, 1]) / np.sqrt(2.0**level)
        assert_allclose(coefficients.details[:, coefficients.level == level], expected, atol=1e-12)


@pytest.mark.usefixtures("_needs_wavelets")
def test_square_wave_is_sparse_in_haar():
    """Five jumps on odd samples: one detail per jump and level."""
    data = make_signals("A", 1, random_state=0)
    coefficients = wavelet_coefficients(data.clean, "haar")
    active = np.abs(coefficients.details[0]) > 1e-9
    assert_array_equal([active[coefficients.level == level].sum() for level in (1, 2, 3)], [5, 5, 5])


@pytest.mark.usefixtures("_needs_wavelets")
def test_replaced_details():
    """With all details set to zero, Haar gives back the means over eight samples."""
    data = make_signals("B", 2, random_state=0)
    coefficients = wavelet_coefficients(data.noisy, "haar")
    smooth = wavelet_signals(coefficients, np.zeros((2, 175)))
    means = data.noisy.reshape(2, 25, 8).mean(axis=2)
    assert_allclose(smooth, np.repeat(means, 8, axis=1), atol=1e-12)
    with pytest.raises(ValueError, match=r"details of shape \(2, 5\).*\(2, 175\)"):
        wavelet_signals(coefficients, np.zeros((2, 5)))


@pytest.mark.parametrize("shape", [(200,), (2, 0), (2, 100)])
def test_shapes_that_cannot_be_decomposed(shape):
    with pytest.raises(ValueError, match="multiple of 8"):
        wavelet_coefficients(np.zeros(shape))


def test_without_pywavelets(monkeypatch):
    monkeypatch.setitem(sys.modules, "pywt", None)
    with pytest.raises(ImportError, match=r"PyWavelets.*gsppca\[datasets\]"):
        wavelet_coefficients(np.zeros((1, 16)))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"scenario": "C"}, "scenario must be .*'A', 'B', got 'C'"),
        ({"n_samples": -1}, "n_samples must be .*got -1"),
        ({"noise_sd": -0.1}, "noise_sd must be .*got -0.1"),
        ({"variation": np.inf}, "variation must be .*got inf"),
    ],
)
def test_errors(arguments, words):
    with pytest.raises(ValueError, match=words):
        make_signals(**arguments)
