"""Simulated data of sections 3.1 to 3.3 of the paper, and pure noise.

All follow x = W y + noise with y ~ N(0, I_d) and only `n_relevant` rows of W different from zero.

Where this leaves the paper, and why:

1. The paper makes the first q variables the relevant ones. Here the columns are always permuted: a method
   that breaks ties by the column index would otherwise be handed the truth.
2. Section 3.3 prints a diagonal of 0.3 and gives no rho. `make_model_selection` takes both; its defaults,
   1 and 0.7, are the setting found closest to the paper's tables.
3. Section 3.3 does not say how PPCA is fitted when n < p; see `make_model_selection`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gsppca.checks import check_choice, check_count, check_number

from ._block_ppca import N_BLOCKS, block_correlated, ppca_loadings
from ._random import RandomState, as_generator

NOISES = ("gaussian", "laplacian", "student")
STUDENT_DF = 3.0  # heavy tails that still have a variance

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Simulated:
    """A simulated data set together with the truth it was made from.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        The data, not centred.
    support : ndarray of bool, shape (n_features,)
        True for the relevant variables.
    n_components : int
        Dimension of the latent space; 0 for pure noise.
    noise_variance : float
        Variance of the noise of every variable.
    loadings : ndarray of shape (n_features, n_components)
        W, in the column order of X; the rows outside the support are zero.
    scores : ndarray of shape (n_samples, n_components)
        The latent vectors.
    noise : str
        Law of the noise.

    Examples
    --------
    >>> from gsppca.datasets import make_noise_range
    >>> data = make_noise_range(snr=1.0, n_samples=40, random_state=0)
    >>> data.loadings.shape, bool((data.loadings[~data.support] == 0).all())
    ((200, 10), True)
    """

    X: FloatArray
    support: NDArray[np.bool_]
    n_components: int
    noise_variance: float
    loadings: FloatArray
    scores: FloatArray
    noise: str = "gaussian"

    @property
    def covariance(self) -> FloatArray:
        """Covariance of a row of X given the loadings: W W' + noise_variance I."""
        return self.loadings @ self.loadings.T + self.noise_variance * np.eye(self.loadings.shape[0])

    @property
    def snr(self) -> float:
        """Signal-to-noise ratio of these loadings: tr(W'W) / (p noise_variance)."""
        return float(np.sum(self.loadings**2) / (self.loadings.shape[0] * self.noise_variance))


def make_introductory(
    n_samples: int = 50,
    n_features: int = 30,
    n_components: int = 5,
    n_relevant: int = 10,
    noise_variance: float = 0.1,
    random_state: RandomState = None,
) -> Simulated:
    """Simulate the introductory example of section 3.1: standard Gaussian loadings, little noise.

    Parameters
    ----------
    n_samples, n_features, n_components, n_relevant : int
        n, p, d and q of the paper.
    noise_variance : float
        Variance of the Gaussian noise; 0 gives noiseless data.
    random_state : int, Generator, RandomState, SeedSequence or None
        The same integer gives the same data.

    Returns
    -------
    Simulated

    Examples
    --------
    >>> from gsppca.datasets import make_introductory
    >>> data = make_introductory(random_state=0)
    >>> data.X.shape, int(data.support.sum())
    ((50, 30), 10)
    """
    n_features = check_count("n_features", n_features, 1)
    n_relevant = check_count("n_relevant", n_relevant, 0, n_features, "It is at most n_features.")
    n_components = check_count("n_components", n_components, 1)
    noise_variance = check_number("noise_variance", noise_variance, 0)
    rng = as_generator(random_state)
    relevant_loadings = rng.standard_normal((n_relevant, n_components))
    return _factor_model(relevant_loadings, n_samples, n_features, noise_variance, "gaussian", rng)


def make_noise_range(
    snr: float,
    n_samples: int,
    n_features: int = 200,
    n_components: int = 10,
    n_relevant: int = 20,
    random_state: RandomState = None,
) -> Simulated:
    """Simulate section 3.2: standard Gaussian loadings at a given signal-to-noise ratio.

    Parameters
    ----------
    snr : float
        d q / (p sigma^2), the EXPECTED ratio over the loadings; it fixes the noise variance sigma^2.
        The ratio of the loadings drawn is `Simulated.snr`.
    n_samples, n_features, n_components, n_relevant : int
        n, p, d and q of the paper.
    random_state : int, Generator, RandomState, SeedSequence or None
        The same integer gives the same data, and at another `snr` the same loadings and scores.

    Returns
    -------
    Simulated

    Examples
    --------
    >>> from gsppca.datasets import make_noise_range
    >>> make_noise_range(snr=0.5, n_samples=40, random_state=0).noise_variance
    2.0
    """
    snr = check_number("snr", snr, 0, open_low=True)
    n_features = check_count("n_features", n_features, 1)
    n_relevant = check_count("n_relevant", n_relevant, 1, n_features, "It is at most n_features.")
    n_components = check_count("n_components", n_components, 1)
    noise_variance = n_components * n_relevant / (n_features * snr)
    return make_introductory(n_samples, n_features, n_components, n_relevant, noise_variance, random_state)


def make_model_selection(
    n_samples: int,
    noise: str = "gaussian",
    rho: float = 0.7,
    diagonal: float = 1.0,
    n_features: int = 200,
    n_components: int = 10,
    n_relevant: int = 20,
    random_state: RandomState = None,
) -> Simulated:
    """Simulate section 3.3: sparsified PPCA loadings of block-correlated data, unit variance noise.

    1. Draw n rows z ~ N(0, R). R has four diagonal blocks, `diagonal` on the diagonal and `rho` elsewhere
       inside a block (of p/4 variables; sizes differ by one where 4 does not divide p).
    2. PPCA by maximum likelihood on the centred sample: with the eigenvalues l_1 >= ... >= l_p of its
       covariance (divided by n), W = U_d (L_d - s I)^(1/2), s the mean of the p - d smallest. For n < p the
       p - n + 1 zero eigenvalues are among these p - d: the likelihood is still bounded, since d < n.
       s serves here only: it is not the noise of X.
    3. Keep the rows of the first q variables, which all lie in the first block when q <= p/4, and set the
       others to zero; then permute the variables.
    4. x = W y + noise, every noise variable with mean zero and variance one.

    Parameters
    ----------
    n_samples : int
        n, the rows of z and of X; greater than `n_components`.
    noise : {"gaussian", "laplacian", "student"}
        Law of the noise; "student" has three degrees of freedom and is not in the paper.
    rho, diagonal : float
        Covariance and variance of z; -diagonal/(p/4 - 1) <= rho <= diagonal, or R is no covariance matrix.
    n_features, n_components, n_relevant : int
        p, d and q of the paper.
    random_state : int, Generator, RandomState, SeedSequence or None
        The same integer gives the same data, and with another `noise` the same loadings and scores.

    Returns
    -------
    Simulated

    Examples
    --------
    >>> from gsppca.datasets import make_model_selection
    >>> data = make_model_selection(n_samples=40, noise="laplacian", random_state=0)
    >>> data.X.shape, data.noise_variance
    ((40, 200), 1.0)
    """
    n_features = check_count("n_features", n_features, N_BLOCKS)
    n_samples = check_count("n_samples", n_samples, 2)
    n_relevant = check_count("n_relevant", n_relevant, 1, n_features, "It is at most n_features.")
    largest = min(n_samples, n_features) - 1
    n_components = check_count(
        "n_components", n_components, 1, largest, "It must be smaller than both n_samples and n_features."
    )
    rng = as_generator(random_state)
    z = block_correlated(n_samples, n_features, rho, diagonal, rng)
    relevant_loadings = ppca_loadings(z, n_components)[:n_relevant]
    return _factor_model(relevant_loadings, n_samples, n_features, 1.0, noise, rng)


def make_strengths(
    n_samples: int,
    strengths: Sequence[float] = (3.0, 1.0, 0.6),
    n_features: int = 200,
    n_each: int = 10,
    noise: str = "gaussian",
    random_state: RandomState = None,
) -> Simulated:
    """Simulate factors of very different strength, each with variables of its own.

    Parameters
    ----------
    n_samples, n_features : int
        Shape of X.
    strengths : sequence of float
        Size of the loadings of each factor, with random signs; the noise has variance one.
    n_each : int
        Variables of each factor.
    noise : {"gaussian", "laplacian", "student"}
        Law of the noise.
    random_state : int, Generator, RandomState, SeedSequence or None
        The same integer gives the same data.

    Returns
    -------
    Simulated

    Examples
    --------
    >>> from gsppca.datasets import make_strengths
    >>> data = make_strengths(100, random_state=0)
    >>> data.n_components, int(data.support.sum())
    (3, 30)
    """
    n_features = check_count("n_features", n_features, 1)
    n_each = check_count("n_each", n_each, 1, n_features // max(len(strengths), 1), "All of them must fit n_features.")
    rng = as_generator(random_state)
    loadings = np.kron(np.diag(np.asarray(strengths)), np.ones((n_each, 1))).astype(np.float64)
    loadings *= rng.choice([-1.0, 1.0], size=(len(loadings), 1))
    return _factor_model(loadings, n_samples, n_features, 1.0, noise, rng)


def make_noise(
    n_samples: int,
    n_features: int,
    noise_variance: float = 1.0,
    noise: str = "gaussian",
    random_state: RandomState = None,
) -> Simulated:
    """Simulate pure noise: no variable is relevant, and the right selection is empty.

    Parameters
    ----------
    n_samples, n_features : int
        Shape of X.
    noise_variance : float
        Variance of every variable.
    noise : {"gaussian", "laplacian", "student"}
        Law of the noise.
    random_state : int, Generator, RandomState, SeedSequence or None
        The same integer gives the same data.

    Returns
    -------
    Simulated
        With an empty support and loadings of shape (n_features, 0).

    Examples
    --------
    >>> from gsppca.datasets import make_noise
    >>> bool(make_noise(20, 10, random_state=0).support.any())
    False
    """
    noise_variance = check_number("noise_variance", noise_variance, 0, open_low=True)
    n_features = check_count("n_features", n_features, 1)
    return _factor_model(np.zeros((0, 0)), n_samples, n_features, noise_variance, noise, as_generator(random_state))


def _factor_model(
    relevant_loadings: FloatArray,
    n_samples: int,
    n_features: int,
    noise_variance: float,
    noise: str,
    rng: np.random.Generator,
) -> Simulated:
    """Draw X = scores @ loadings' + noise, the relevant rows of the loadings at random places."""
    n_samples = check_count("n_samples", n_samples, 1)
    check_choice("noise", noise, NOISES)
    n_relevant, n_components = relevant_loadings.shape
    places = rng.permutation(n_features)[:n_relevant]
    loadings = np.zeros((n_features, n_components))
    loadings[places] = relevant_loadings
    support = np.zeros(n_features, dtype=bool)
    support[places] = True
    scores = rng.standard_normal((n_samples, n_components))
    errors = math.sqrt(noise_variance) * _unit_noise(noise, (n_samples, n_features), rng)
    X = scores @ loadings.T + errors
    return Simulated(X, support, n_components, noise_variance, loadings, scores, noise)


def _unit_noise(noise: str, shape: tuple[int, int], rng: np.random.Generator) -> FloatArray:
    """Draw noise of mean zero and variance one."""
    if noise == "laplacian":
        return rng.laplace(scale=math.sqrt(0.5), size=shape)
    if noise == "student":
        return rng.standard_t(STUDENT_DF, size=shape) * math.sqrt((STUDENT_DF - 2) / STUDENT_DF)
    return rng.standard_normal(shape)
