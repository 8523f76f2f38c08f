"""Data that several test files of the competitors use."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

Data = tuple[NDArray[np.float64], NDArray[np.bool_]]


def _simulate(
    seed: int, n_samples: int, n_features: int = 200, size: int = 20, n_components: int = 10, snr: float = 0.5
) -> Data:
    """Section 3.2 of the paper, columns permuted: SNR = d q / (p sigma^2)."""
    rng = np.random.default_rng(seed)
    support = np.zeros(n_features, dtype=bool)
    support[rng.permutation(n_features)[:size]] = True
    loadings = np.where(support[:, np.newaxis], rng.normal(size=(n_features, n_components)), 0.0)
    noise_sd = np.sqrt(n_components * size / (n_features * snr))
    scores = rng.normal(size=(n_samples, n_components))
    return scores @ loadings.T + noise_sd * rng.normal(size=(n_samples, n_features)), support


@pytest.fixture
def simulate() -> Callable[..., Data]:
    return _simulate


@pytest.fixture(params=[(30, 12), (8, 12)], ids=["tall", "wide"])
def small(request: pytest.FixtureRequest) -> NDArray[np.float64]:
    """Two factors on five of twelve variables, more or fewer rows than columns."""
    n_samples, n_features = request.param
    return _simulate(3, n_samples, n_features, size=5, n_components=2, snr=2.0)[0]


@pytest.fixture
def centred(small: NDArray[np.float64]) -> NDArray[np.float64]:
    return small - small.mean(axis=0)
