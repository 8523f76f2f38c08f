"""The stages of the procedure as functions of plain arrays; `GSPPCA.fit` calls them one after the other.

Each takes the data as an array, centred or not, or as a `gsppca.data.Matrix`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import gammaincinv
from sklearn.utils import check_random_state

from gsppca._typing import FloatArray, IntArray
from gsppca.checks import check_choice, check_count, check_number
from gsppca.core import noise
from gsppca.core.dimension import MAX_DIMENSION, count_components
from gsppca.core.path import evidence_along
from gsppca.core.relaxed import fit_relaxed
from gsppca.core.spectrum import leading_spectrum
from gsppca.core.start import GRID, SHORT_RUN, random_loadings, reference_rate, spectral_loadings
from gsppca.core.state import EvidencePath, RelaxedFit
from gsppca.data import Matrix, as_matrix
from gsppca.progress import is_heard, tell
from gsppca.validation import check_finite, check_magnitude, check_varying

MAX_ITER = 1000
TOL = 1e-6
ACTIVE = 0.01  # of the largest relevance: what a progress bar counts as a variable that still matters


def estimate_n_components(X: Any, noise_variance: float | None = None) -> int:
    """Estimate the number of components: the leading eigenvalues that noise alone would not reach.

    Johnstone's test of the largest eigenvalue is applied to one eigenvalue after the other, at most 50.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The data.
    noise_variance : float, optional
        Variance of the noise; the median of the column variances by default.

    Returns
    -------
    n_components : int
        At least 1.

    Examples
    --------
    >>> import numpy as np
    >>> from gsppca import estimate_n_components
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 3)) @ rng.normal(size=(3, 20)) + 0.1 * rng.normal(size=(100, 20))
    >>> estimate_n_components(np.hstack([X, 0.1 * rng.normal(size=(100, 30))]))
    3
    """
    matrix = _varying_matrix(X)
    n, p = matrix.n_samples, matrix.n_features
    if noise_variance is None:
        # A sum of squares has a chi-square law, whose median is below its mean: with few samples it matters.
        noise_variance = float(np.median(matrix.column_squares)) / float(2 * gammaincinv((n - 1) / 2, 0.5))
    check_number("noise_variance", noise_variance, 0, open_low=True)
    tell("number of components", 0)
    spectrum = leading_spectrum(matrix, max(1, min(MAX_DIMENSION, n - 1, p - 1)))
    return count_components(spectrum, n, p, noise_variance)


def estimate_noise_variance(X: Any, n_components: int, method: str = "median") -> float:
    """Estimate the noise variance of probabilistic PCA.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The data.
    n_components : int
        Dimension of the latent space.
    method : {"median", "ml", "bias_corrected"}, default="median"
        "median": the median of the variances of the columns (Johnstone & Lu 2009), which needs no SVD. "ml": maximum
        likelihood, the mean of the smallest eigenvalues of the covariance. "bias_corrected": maximum likelihood with
        the correction of Passemier, Li & Yao for many variables. Prefer the median when there are more variables than
        twice the samples.

    Returns
    -------
    noise_variance : float

    Examples
    --------
    >>> import numpy as np
    >>> from gsppca import estimate_noise_variance
    >>> X = np.random.default_rng(0).normal(scale=0.5, size=(200, 50))
    >>> round(estimate_noise_variance(X, 1), 2)
    0.25
    """
    check_choice("method", method, noise.METHODS)
    matrix = _varying_matrix(X)
    check_n_components(n_components, matrix.n_samples, matrix.n_features)
    spectrum = None if method == "median" else leading_spectrum(matrix, n_components)
    return noise.noise_variance(matrix.column_squares, matrix.n_samples, n_components, method, spectrum)


def relaxed_vem(
    X: Any,
    n_components: int,
    *,
    noise_variance: float | None = None,
    init: str = "svd",
    slab_rate: str | float = "grid",
    max_iter: int = MAX_ITER,
    tol: float = TOL,
    accelerate: bool = True,
    random_state: Any = None,
    progress: Callable[[int, float], None] | None = None,
) -> RelaxedFit:
    """Fit the relaxed model by variational EM: the relevance of every variable, between 0 and 1.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The data.
    n_components : int
        Dimension of the latent space.
    noise_variance : float, optional
        Start of the noise variance; the median of the column variances by default.
    init : {"svd", "random"}, default="svd"
        Start of the loadings: the principal axes, or Gaussian random numbers, which need no SVD.
    slab_rate : "grid" or float, default="grid"
        Start of the slab rate alpha. "grid" makes short runs from 1/2, 1 and 2 times the rate at which the prior has
        the variance of the data, and goes on from the best bound.
    max_iter : int, default=1000
        Most iterations, each with one pass over the data.
    tol : float, default=1e-6
        Stop when an iteration raises the bound by less than this, per entry of X.
    accelerate : bool, default=True
        Whether to extrapolate the iterations (SQUAREM). The bound never falls either way.
    random_state : int, RandomState instance or None, default=None
        For ``init="random"``.
    progress : callable, optional
        Called after each iteration with its number and the bound.

    Returns
    -------
    fit : RelaxedFit
        With `relevance`, `slab_rate`, `noise_variance`, `loading_mean`, `bounds`, `n_iter`, `converged`.

    Examples
    --------
    >>> import numpy as np
    >>> from gsppca import relaxed_vem
    >>> rng = np.random.default_rng(0)
    >>> X = np.hstack([rng.normal(size=(60, 1)) * np.ones(4), np.zeros((60, 6))]) + 0.1 * rng.normal(size=(60, 10))
    >>> np.sort(np.argsort(relaxed_vem(X, 1).relevance)[-4:])
    array([0, 1, 2, 3])
    """
    check_choice("init", init, ("svd", "random"))
    matrix = _checked_matrix(X)
    n, p = matrix.n_samples, matrix.n_features
    check_n_components(n_components, n, p)
    check_count("max_iter", max_iter, 1, advice="Each iteration is one pass over the data.")
    check_number("tol", tol, 0)
    unit = reference_rate(matrix.total_squares, n, p, n_components)
    if isinstance(slab_rate, str):
        check_choice("slab_rate", slab_rate, ("grid",), "a positive number")
        rates = [multiple * unit for multiple in GRID]
    else:
        rates = [check_number("slab_rate", slab_rate, 0, open_low=True, otherwise="'grid'")]
        if not 1e-6 <= rates[0] / unit <= 1e6:
            raise ValueError(
                f"slab_rate must be within a factor of 1e6 of {unit:.3g}, at which the prior has the data's variance, "
                f"got {slab_rate!r}. Give a multiple of it, or 'grid'."
            )
    if noise_variance is None:
        noise_variance = estimate_noise_variance(matrix, n_components)
    check_number("noise_variance", noise_variance, 0, open_low=True)

    def report(step: str, n_iter: int, bound: float, relevance: FloatArray) -> None:
        if is_heard():
            active = int(np.count_nonzero(relevance > ACTIVE * relevance.max()))
            total = SHORT_RUN if step == "start grid" else max_iter
            tell(step, n_iter, total, f"bound {bound:.6g}, {active} of {p} active")
        if progress is not None and step != "start grid":
            progress(n_iter, bound)

    tell("start of the loadings", 0)
    if init == "svd":
        loadings = spectral_loadings(leading_spectrum(matrix, n_components), noise_variance)
    else:
        loadings = random_loadings(check_random_state(random_state), n_components, p, unit)
    return fit_relaxed(
        matrix,
        loadings,
        rates,
        noise_variance,
        max_iter=max_iter,
        tol=tol,
        accelerate=accelerate,
        progress=report,
    )


def evidence_path(
    X: Any,
    order: npt.ArrayLike,
    n_components: int,
    inactive_variance: float | str,
    sizes: npt.ArrayLike | None = None,
) -> EvidencePath:
    """Log evidence of the nested supports along a ranking, each at its best slab rate.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The data.
    order : array-like of int
        Indices of the variables, the most relevant first: any ranking, of all variables or of the first ones.
    n_components : int
        Dimension of the latent space. Sizes below it are valid too.
    inactive_variance : float or "profile"
        Variance of the variables outside the support, or, with "profile", for every size their mean square.
    sizes : array-like of int, optional
        Sizes to evaluate, from 1 to ``len(order)``; all by default.

    Returns
    -------
    path : EvidencePath
        With `sizes`, `log_evidence`, `slab_rates`, `inactive_variances`.

    Notes
    -----
    A row whose norm on a support is below 1e-8 of the root mean square of the rows would have infinite density; it
    counts as the norm that noise alone would give it.

    Examples
    --------
    >>> import numpy as np
    >>> from gsppca import evidence_path
    >>> rng = np.random.default_rng(0)
    >>> X = np.hstack([rng.normal(size=(60, 1)) * np.ones(4), np.zeros((60, 6))]) + 0.1 * rng.normal(size=(60, 10))
    >>> path = evidence_path(X, np.arange(10), 1, 0.01)
    >>> int(path.sizes[path.log_evidence.argmax()])
    4
    """
    matrix = _checked_matrix(X)
    check_count("n_components", n_components, 1, advice="It is the dimension of the latent space.")
    ranking = _check_order(order, matrix.n_features)
    chosen = _check_sizes(sizes, len(ranking))
    if isinstance(inactive_variance, str):
        check_choice("inactive_variance", inactive_variance, ("profile",), "a positive number")
        variance = None
    else:
        variance = check_number("inactive_variance", inactive_variance, 0, open_low=True, otherwise="'profile'")
    if not matrix.column_squares[ranking[: chosen[0]]].any():
        raise ValueError(
            f"The first {chosen[0]} variable(s) of order are constant: a support needs at least one that varies. "
            "Put constant columns last."
        )
    tell("evidence path", 0, len(chosen), "reading the norms of the rows")
    return evidence_along(
        matrix,
        ranking,
        n_components,
        variance,
        chosen,
        progress=lambda done, total: tell("evidence path", done, total, "numbers of variables"),
    )


def _checked_matrix(X: Any) -> Matrix:
    """The data as a matrix: finite, two rows and columns at least, not all constant, of values that can be squared."""
    if isinstance(X, Matrix):
        return X
    X = X if hasattr(X, "dtype") else np.asarray(X)
    if X.ndim == 2 and min(X.shape) < 2:
        raise ValueError(
            f"X must have at least 2 rows and 2 columns, got {X.shape[0]} x {X.shape[1]}. Rows are samples."
        )
    if X.dtype.kind == "f":
        check_finite(X)
    matrix = as_matrix(X)
    check_magnitude(X, matrix.column_squares)
    check_varying(matrix.column_squares, least=1)
    return matrix


def _varying_matrix(X: Any) -> Matrix:
    """The same, without the columns that are constant: they say nothing of noise or dimension."""
    matrix = _checked_matrix(X)
    varying = matrix.column_squares > 0
    return matrix if varying.all() else matrix.columns(varying)


def check_n_components(n_components: Any, n_samples: int, n_features: int) -> int:
    """Return the number of components, or refuse it."""
    return check_count(
        "n_components",
        n_components,
        1,
        min(n_samples, n_features) - 1,
        f"It must be smaller than both the number of samples ({n_samples}) and of columns that vary ({n_features}).",
    )


def _check_order(order: npt.ArrayLike, n_features: int) -> IntArray:
    ranking = np.asarray(order)
    if ranking.ndim != 1 or not len(ranking) or ranking.dtype.kind not in "iu":
        raise ValueError(
            f"order must be a one-dimensional array of integers, got shape {ranking.shape} and dtype {ranking.dtype}. "
            "For scores, larger meaning more relevant, give np.argsort(-scores)."
        )
    if ranking.min() < 0 or ranking.max() >= n_features or len(np.unique(ranking)) != len(ranking):
        raise ValueError(
            f"order must hold distinct column indices from 0 to {n_features - 1}, got values from {ranking.min()} to "
            f"{ranking.max()}, {len(ranking) - len(np.unique(ranking))} of them repeated."
        )
    return ranking.astype(np.intp)


def _check_sizes(sizes: npt.ArrayLike | None, longest: int) -> IntArray:
    if sizes is None:
        return np.arange(1, longest + 1)
    chosen = np.unique(np.atleast_1d(np.asarray(sizes)))
    if not len(chosen) or chosen.dtype.kind not in "iu" or chosen[0] < 1 or chosen[-1] > longest:
        raise ValueError(f"sizes must be integers from 1 to {longest}, the length of order, got {sizes!r}.")
    return chosen.astype(np.intp)
