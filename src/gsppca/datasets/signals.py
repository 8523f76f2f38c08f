"""The signals of section 4 and their wavelet coefficients.

Where this leaves the paper, and why:

1. The paper gives no shapes. Scenario A: a square wave between -1 and 1, with six states of 45, 22, 36, 14,
   54 and 29 samples. All five jumps fall on odd samples, so each of them shows in all levels of Haar details:
   15 non-zero details (the paper's method keeps 17 of 175). Scenario B: four Gaussian densities, MEANS and
   SDS below, of weights WEIGHTS.
2. The paper's p = 175 is 100 + 50 + 25: three levels of details of 200 samples. The 25 coefficients left,
   of the approximation, are kept apart: `WaveletCoefficients.approximation`.
3. As the paper describes them, the signals of a scenario differ by their noise only, and the centred
   data have no structure; PCA then has something to find only if the coefficients are NOT centred.
   `variation` makes the states (or weights) differ from signal to signal.
4. The columns are not permuted: they are times. Permute the coefficients before a selection.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gsppca._optional import optional_import
from gsppca.checks import check_choice, check_count, check_number

from ._random import RandomState, as_generator

TIME_STEP = 5e-3
N_TIMES = 200
N_LEVELS = 3

# Scenario A
STATE_LENGTHS = (45, 22, 36, 14, 54, 29)
STATE_LEVELS = (-1.0, 1.0, -1.0, 1.0, -1.0, 1.0)
# Scenario B
MEANS = (0.18, 0.38, 0.57, 0.80)
SDS = (0.040, 0.025, 0.050, 0.030)
WEIGHTS = (0.30, 0.20, 0.30, 0.20)

# The paper's "Daubechies D8" has eight filter taps: four vanishing moments, PyWavelets' db4.
WAVELETS = {"A": "haar", "B": "db4"}
# Periodised transforms are orthogonal: white noise stays white, and sizes halve exactly.
MODE = "periodization"

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Signals:
    """Noisy signals and what they are without the noise.

    Attributes
    ----------
    noisy, clean : ndarray of shape (n_samples, 200)
        One signal per row.
    time : ndarray of shape (200,)
        0, 0.005, ..., 0.995.
    noise_variance : float
        Variance of noisy - clean.
    scenario : str
        "A" or "B".
    wavelet : str
        PyWavelets name of the wavelet that the paper uses for this scenario.
    """

    noisy: FloatArray
    clean: FloatArray
    time: FloatArray
    noise_variance: float
    scenario: str
    wavelet: str


@dataclass(frozen=True, eq=False)
class WaveletCoefficients:
    """Three levels of an orthogonal wavelet transform.

    Attributes
    ----------
    details : ndarray of shape (n_samples, 175)
        Levels 1 (finest, 100 columns), 2 (50) and 3 (25).
    approximation : ndarray of shape (n_samples, 25)
        What the details leave; needed to go back.
    level : ndarray of int, shape (175,)
        Level of each column of `details`.
    wavelet : str
        PyWavelets name.
    """

    details: FloatArray
    approximation: FloatArray
    level: NDArray[np.int64]
    wavelet: str


def make_signals(
    scenario: str = "A",
    n_samples: int = 100,
    noise_sd: float = 0.2,
    variation: float = 0.0,
    random_state: RandomState = None,
) -> Signals:
    """Simulate the signals of section 4: a square wave (A) or a mixture of four Gaussian densities (B).

    Parameters
    ----------
    scenario : {"A", "B"}
        Shape of the signals; the module's docstring gives the numbers.
    n_samples : int
        Number of signals (the paper: 100 to train, 50 to test).
    noise_sd : float
        Standard deviation of the Gaussian noise.
    variation : float
        Standard deviation, relative to their values, of the states (A) or weights (B) of each
        signal. 0: all clean signals are the same, as in the paper.
    random_state : int, Generator, RandomState, SeedSequence or None
        The same integer gives the same data.

    Returns
    -------
    Signals

    Examples
    --------
    >>> from gsppca.datasets import make_signals
    >>> make_signals("A", n_samples=100, random_state=0).noisy.shape
    (100, 200)
    """
    check_choice("scenario", scenario, tuple(WAVELETS))
    n_samples = check_count("n_samples", n_samples, 1)
    noise_sd = check_number("noise_sd", noise_sd, 0)
    variation = check_number("variation", variation, 0)
    rng = as_generator(random_state)
    time = np.arange(N_TIMES, dtype=np.float64) * TIME_STEP
    atoms, heights = _square_wave() if scenario == "A" else _gaussian_mixture(time)
    factors = 1.0 + variation * rng.standard_normal((n_samples, heights.size))
    clean = (factors * heights) @ atoms
    noisy = clean + noise_sd * rng.standard_normal(clean.shape)
    return Signals(noisy, clean, time, noise_sd**2, scenario, WAVELETS[scenario])


def wavelet_coefficients(signals: FloatArray, wavelet: str = "haar") -> WaveletCoefficients:
    """Decompose signals into three levels of wavelet details, 175 coefficients for 200 samples.

    Needs PyWavelets: ``pip install 'gsppca[datasets]'``.

    Parameters
    ----------
    signals : ndarray of shape (n_samples, n_times)
        One signal per row; n_times a multiple of 8.
    wavelet : str
        An orthogonal wavelet of PyWavelets: "haar" in scenario A, "db4" in scenario B.

    Returns
    -------
    WaveletCoefficients

    Examples
    --------
    >>> from gsppca.datasets import make_signals, wavelet_coefficients
    >>> data = make_signals("B", n_samples=3, random_state=0)
    >>> wavelet_coefficients(data.noisy, data.wavelet).details.shape
    (3, 175)
    """
    signals = np.asarray(signals, dtype=float)
    if signals.ndim != 2 or signals.shape[1] == 0 or signals.shape[1] % 2**N_LEVELS:
        raise ValueError(
            f"signals of shape {signals.shape}: expected one signal per row, its length a multiple of "
            f"{2**N_LEVELS} for {N_LEVELS} levels; reshape, or cut or pad the signals"
        )
    pywt = optional_import("pywt", "wavelet_coefficients", "datasets", "PyWavelets")
    approximation, *coarse_to_fine = pywt.wavedec(signals, wavelet, mode=MODE, level=N_LEVELS, axis=1)
    levels = coarse_to_fine[::-1]
    level = np.repeat(np.arange(1, N_LEVELS + 1), [one.shape[1] for one in levels])
    return WaveletCoefficients(np.hstack(levels), approximation, level, wavelet)


def wavelet_signals(coefficients: WaveletCoefficients, details: FloatArray | None = None) -> FloatArray:
    """Go back from wavelet coefficients to signals.

    Parameters
    ----------
    coefficients : WaveletCoefficients
        What `wavelet_coefficients` returned.
    details : ndarray of shape (n_samples, n_details), optional
        Details to use instead of ``coefficients.details``, for example denoised ones.

    Returns
    -------
    ndarray of shape (n_samples, n_times)

    Examples
    --------
    >>> import numpy as np
    >>> from gsppca.datasets import make_signals, wavelet_coefficients, wavelet_signals
    >>> data = make_signals("A", n_samples=3, random_state=0)
    >>> coefficients = wavelet_coefficients(data.noisy, data.wavelet)
    >>> bool(np.allclose(wavelet_signals(coefficients), data.noisy))
    True
    """
    details = coefficients.details if details is None else np.asarray(details, dtype=float)
    if details.shape != coefficients.details.shape:
        raise ValueError(
            f"details of shape {details.shape}: expected {coefficients.details.shape}, the shape of "
            "coefficients.details; pass one row per signal and all columns"
        )
    pywt = optional_import("pywt", "wavelet_signals", "datasets", "PyWavelets")
    coarse_to_fine = [details[:, coefficients.level == one] for one in range(N_LEVELS, 0, -1)]
    signals = pywt.waverec([coefficients.approximation, *coarse_to_fine], coefficients.wavelet, mode=MODE, axis=1)
    return np.asarray(signals, dtype=float)


def _square_wave() -> tuple[FloatArray, FloatArray]:
    """Return the indicator functions of the states (6 x n_times), and their levels."""
    atoms = np.repeat(np.eye(len(STATE_LENGTHS)), STATE_LENGTHS, axis=1)
    return atoms, np.array(STATE_LEVELS)


def _gaussian_mixture(time: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the Gaussian densities (4 x n_times), and their weights."""
    means, sds = np.array(MEANS)[:, None], np.array(SDS)[:, None]
    atoms = np.exp(-0.5 * ((time - means) / sds) ** 2) / (np.sqrt(2.0 * np.pi) * sds)
    return atoms, np.array(WEIGHTS)
