"""Laws of the simulators: moments, supports, permutation, seeds."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import binomtest, kurtosis

from gsppca.datasets import (
    Simulated,
    make_introductory,
    make_model_selection,
    make_noise,
    make_noise_range,
)
from gsppca.datasets._block_ppca import block_correlated, ppca_loadings
from gsppca.datasets._random import as_generator

MAKERS = {
    "introductory": lambda n, seed: make_introductory(n, random_state=seed),
    "noise-range": lambda n, seed: make_noise_range(0.5, n, 40, 3, 8, random_state=seed),
    "gaussian": lambda n, seed: make_model_selection(n, n_features=40, n_components=3, n_relevant=8, random_state=seed),
    "laplacian": lambda n, seed: make_model_selection(
        n, "laplacian", n_features=40, n_components=3, n_relevant=8, random_state=seed
    ),
    "student": lambda n, seed: make_model_selection(
        n, "student", n_features=40, n_components=3, n_relevant=8, random_state=seed
    ),
    "noise": lambda n, seed: make_noise(n, 40, 2.5, random_state=seed),
}
ALL = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


@ALL
def test_support_is_where_the_loadings_are(make):
    data = make(20, 3)
    assert data.X.shape == (20, data.support.size)
    assert data.loadings.shape == (data.support.size, data.n_components)
    assert data.scores.shape == (20, data.n_components)
    assert_array_equal(data.support, np.any(data.loadings != 0, axis=1))


def test_support_sizes():
    assert make_introductory(random_state=0).support.sum() == 10
    assert make_noise_range(1.0, 10, random_state=0).support.sum() == 20
    assert make_model_selection(20, random_state=0).support.sum() == 20
    assert make_noise(10, 7, random_state=0).support.sum() == 0


@ALL
def test_covariance_of_many_rows(make):
    """X'X/n tends to W W' + noise I; the entries of its error have variance (s_ii s_jj + s_ij^2)/n."""
    n = 10_000
    data = make(n, 1)
    truth = data.covariance
    error = data.X.T @ data.X / n - truth
    variances = np.diag(truth)
    spread = np.sqrt((np.outer(variances, variances) + truth**2) / n)
    # Noise with fourth moment 6 (Laplacian) adds 6 - 3 to the diagonal; t3 has no fourth moment.
    if data.noise == "laplacian":
        np.fill_diagonal(spread, np.sqrt((2 * variances**2 + 3 * data.noise_variance**2) / n))
    if data.noise == "student":
        np.fill_diagonal(error, 0.0)
    # At most 40 * 41 / 2 entries: six standard errors are not met by chance.
    assert np.abs(error / spread).max() < 6.0
    # And it would notice a missing signal: the true off-diagonal part is many standard errors large.
    if data.n_components:
        off = truth - np.diag(variances)
        assert np.abs(off / spread).max() > 15.0


@ALL
def test_columns_have_mean_zero(make):
    data = make(10_000, 2)
    sd = np.sqrt(np.diag(data.covariance) / 10_000)
    assert np.abs(data.X.mean(axis=0) / sd).max() < 6.0


@ALL
def test_scores_reproduce_the_signal(make):
    data = make(5_000, 4)
    noise = data.X - data.scores @ data.loadings.T
    if data.noise != "student":
        assert_allclose(noise.var(axis=0), data.noise_variance, rtol=0.2)
    assert np.abs(np.corrcoef(noise, rowvar=False) - np.eye(noise.shape[1])).max() < 0.1


@pytest.mark.parametrize("make", list(MAKERS.values())[:-1], ids=list(MAKERS)[:-1])
def test_columns_are_permuted(make):
    """Over seeds, every variable is relevant at the same rate, and never are the first ones alone."""
    supports = np.array([make(8, seed).support for seed in range(150)])
    q, p = supports[0].sum(), supports.shape[1]
    for count in supports.sum(axis=0):
        assert binomtest(int(count), 150, q / p).pvalue > 1e-6
    first = np.arange(p) < q
    assert not any(np.array_equal(support, first) for support in supports)


def test_rows_of_the_loadings_are_permuted_too():
    """Section 3.3's rows differ, so also the order inside the support must be random."""
    one = make_model_selection(30, random_state=0)
    rng = as_generator(0)
    W = ppca_loadings(block_correlated(30, 200, 0.7, 1.0, rng), 10)[:20]
    inside = one.loadings[one.support]
    assert not np.allclose(inside, W)
    assert_allclose(np.sort(inside[:, 0]), np.sort(W[:, 0]))


@ALL
def test_same_seed_same_data(make):
    assert_array_equal(make(9, 5).X, make(9, 5).X)
    assert not np.array_equal(make(9, 5).X, make(9, 6).X)


def test_kinds_of_random_state():
    def draw(state: object) -> np.ndarray:
        return make_introductory(random_state=state).X

    assert_array_equal(draw(3), draw(np.int64(3)))
    assert_array_equal(draw(3), draw(np.random.default_rng(3)))
    assert_array_equal(draw(np.random.SeedSequence(3)), draw(3))
    assert_array_equal(draw(np.random.RandomState(3)), draw(np.random.RandomState(3)))
    assert not np.array_equal(draw(None), draw(None))
    for state in (np.random.default_rng(3), np.random.RandomState(3)):
        assert not np.array_equal(draw(state), draw(state))  # it advances
    np.random.seed(0)  # noqa: NPY002, TID251
    expected = np.random.RandomState(0).random_sample(3)
    draw(3)
    assert_array_equal(np.random.random_sample(3), expected)  # noqa: NPY002


def test_loadings_are_standard_gaussian():
    loadings = np.concatenate([make_introductory(n_samples=1, random_state=seed).loadings for seed in range(400)])
    active = loadings[np.any(loadings != 0, axis=1)]
    assert active.shape == (4000, 5)
    assert abs(active.mean()) < 5 / np.sqrt(active.size)
    assert abs(active.var() - 1) < 5 * np.sqrt(2 / active.size)


@pytest.mark.parametrize("snr", [0.1, 0.5, 3.0])
def test_signal_to_noise_ratio(snr):
    """The ratio asked for is d q / (p sigma^2), and the mean over the loadings of tr(W'W)/(p sigma^2)."""
    runs = [make_noise_range(snr, 2, random_state=seed) for seed in range(200)]
    assert runs[0].noise_variance == pytest.approx(10 * 20 / (200 * snr))
    ratios = np.array([run.snr for run in runs])
    # sum of 200 squared normals: relative sd sqrt(2/200) = 0.1
    assert_allclose(ratios.mean(), snr, rtol=5 * 0.1 / np.sqrt(200))


def test_snr_changes_the_noise_only():
    low, high = (make_noise_range(snr, 5, random_state=1) for snr in (0.1, 3.0))
    assert_array_equal(low.loadings, high.loadings)
    assert_array_equal(low.scores, high.scores)
    assert_allclose((low.X - low.scores @ low.loadings.T) / np.sqrt(30), high.X - high.scores @ high.loadings.T)


@pytest.mark.parametrize(("noise", "excess"), [("gaussian", 0.0), ("laplacian", 3.0)])
def test_law_of_the_noise(noise, excess):
    noise_only = make_noise(2_000, 100, 2.0, noise, random_state=0).X.ravel()
    assert_allclose(noise_only.var(), 2.0, rtol=0.03)
    assert abs(kurtosis(noise_only) - excess) < 0.25
    assert abs(noise_only.mean()) < 0.02


def test_student_noise():
    """t3 has no fourth moment: compare quantiles of the standardised law instead."""
    sample = np.abs(make_noise(2_000, 100, 1.0, "student", random_state=0).X.ravel()) * np.sqrt(3)
    # P(|t3| < t) at t = 1, 2, 3.182: 0.60900, 0.86067, 0.95 (tables)
    for t, probability in ((1.0, 0.60900), (2.0, 0.86067), (3.18245, 0.95)):
        assert abs(np.mean(sample < t) - probability) < 0.005


def test_noise_law_shares_the_loadings():
    gaussian, laplacian = (make_model_selection(15, noise, random_state=2) for noise in ("gaussian", "laplacian"))
    assert_array_equal(gaussian.loadings, laplacian.loadings)
    assert not np.array_equal(gaussian.X, laplacian.X)


def test_block_covariance():
    """20 variables in four blocks of five: (diagonal - rho) I + rho 11' inside a block."""
    rng = np.random.default_rng(0)
    z = block_correlated(100_000, 20, 0.5, 0.8, rng)
    truth = np.kron(np.eye(4), np.full((5, 5), 0.5)) + 0.3 * np.eye(20)
    assert_allclose(z.T @ z / 100_000, truth, atol=0.03)


def test_negative_rho_and_singular_blocks():
    rng = np.random.default_rng(0)
    z = block_correlated(50, 20, -0.25, 1.0, rng)  # the lowest rho for blocks of five
    assert_allclose(z.reshape(50, 4, 5).sum(axis=2), 0.0, atol=1e-12)  # the mean direction has no variance
    z = block_correlated(50, 20, 1.0, 1.0, rng)
    assert_allclose(z.reshape(50, 4, 5), z.reshape(50, 4, 5)[:, :, :1] * np.ones(5), atol=1e-12)


@pytest.mark.parametrize("n", [12, 300])
def test_ppca_loadings_maximise_the_likelihood(n):
    """Against the definition: eigenvectors of the sample covariance; and no perturbation does better."""
    rng = np.random.default_rng(1)
    z, d, p = block_correlated(n, 24, 0.7, 1.0, rng), 3, 24
    W = ppca_loadings(z, d)
    S = np.cov(z, rowvar=False, bias=True)
    values = np.sort(np.linalg.eigvalsh(S))[::-1]
    noise = values[d:].mean()
    assert_allclose(W.T @ W, np.diag(values[:d] - noise), atol=1e-10)
    assert_allclose(S @ W, W * values[:d], atol=1e-10)

    def log_likelihood(W, noise):
        C = W @ W.T + noise * np.eye(p)
        return -np.linalg.slogdet(C)[1] - np.trace(np.linalg.solve(C, S))

    best = log_likelihood(W, noise)
    for step in (1e-2, 1e-1):
        for _ in range(20):
            assert log_likelihood(W + step * rng.standard_normal(W.shape), noise) < best
        assert log_likelihood(W, noise * (1 + step)) < best
        assert log_likelihood(W, noise * (1 - step)) < best


def test_model_selection_support_lies_in_one_block():
    """With n large the loadings of the first block are nearly rank one: sqrt(rho) on each variable."""
    data = make_model_selection(2_000, random_state=0)
    squares = np.linalg.svd(data.loadings[data.support], compute_uv=False) ** 2
    assert squares[0] == pytest.approx(20 * 0.7, rel=0.15)
    assert squares[1] < 0.1 * squares[0]


def test_default_shapes_of_the_paper():
    data = make_introductory(random_state=0)
    assert (data.X.shape, data.n_components, data.noise_variance) == ((50, 30), 5, 0.1)
    data = make_noise_range(0.5, 40, random_state=0)
    assert (data.X.shape, data.n_components) == ((40, 200), 10)
    for n in (40, 50, 66, 100, 200):
        data = make_model_selection(n, random_state=0)
        assert (data.X.shape, data.n_components, data.noise_variance) == ((n, 200), 10, 1.0)


def test_data_cannot_be_reassigned():
    data = make_introductory(random_state=0)
    with pytest.raises(AttributeError):
        data.X = np.zeros((1, 1))
    assert isinstance(data, Simulated)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: make_introductory(n_samples=0), ["n_samples must be", "at least 1", "got 0"]),
        (lambda: make_introductory(n_samples=2.5), ["n_samples must be", "got 2.5"]),
        (lambda: make_introductory(n_components=True), ["n_components must be", "got True"]),
        (lambda: make_introductory(n_relevant=31), ["n_relevant must be", "30", "got 31", "n_features"]),
        (lambda: make_introductory(noise_variance=-1), ["noise_variance must be", "at least 0", "got -1"]),
        (lambda: make_introductory(noise_variance=float("nan")), ["noise_variance must be", "got nan"]),
        (lambda: make_introductory(random_state="a"), ["random_state must be", "Generator", "got 'a'"]),
        (lambda: make_introductory(random_state=-1), ["random_state must be", "got -1"]),
        (lambda: make_noise_range(0.0, 40), ["snr must be", "positive", "got 0.0"]),
        (lambda: make_model_selection(40, noise="cauchy"), ["noise must be", "'laplacian'", "got 'cauchy'"]),
        (lambda: make_model_selection(40, diagonal=0.3), ["rho must be", "to 0.3", "got 0.7", "covariance"]),
        (lambda: make_model_selection(40, rho=-0.5), ["rho must be", "got -0.5"]),
        (lambda: make_model_selection(10), ["n_components must be", "from 1 to 9", "got 10", "n_samples"]),
        (lambda: make_model_selection(10, n_features=3), ["n_features must be", "got 3"]),
        (lambda: make_noise(5, 5, noise_variance=0), ["noise_variance must be", "got 0"]),
    ],
)
def test_errors_name_the_argument(call, words):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        call()
    for word in words:
        assert word in str(caught.value)
