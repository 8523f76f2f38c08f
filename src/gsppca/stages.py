"""The stages of the procedure as functions of plain arrays; `GSPPCA.fit` calls them one after the other.

Each takes the data as an array, centred or not, or as a `gsppca.data.Matrix`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import gammaincinv
from sklearn.utils import check_random_state

from gsppca._masked import unmasked
from gsppca._typing import FloatArray, IntArray
from gsppca.checks import check_choice, check_count, check_number, is_integer
from gsppca.components import noise
from gsppca.components.dimension import MAX_DIMENSION, count_components, largest_of_noise
from gsppca.data import Blocks, Matrix, as_blocks, as_matrix
from gsppca.evidence.row_norms import evidence_along
from gsppca.linalg.spectrum import leading_spectrum, leading_values
from gsppca.progress import is_heard, tell
from gsppca.rankings.vem.checkpoint import Checkpoint
from gsppca.rankings.vem.relaxed import finish_runs, fit_relaxed
from gsppca.rankings.vem.start import (
    SHORT_RUN,
    UNITS,
    check_slab_rate,
    random_loadings,
    reference_rate,
    spectral_loadings,
    start_rates,
)
from gsppca.results import EvidencePath, RelaxedFit
from gsppca.validation import check_finite, check_magnitude, check_shape, check_varying

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
    return count_leading(_varying_matrix(X), MAX_DIMENSION, noise_variance)


def count_leading(matrix: Matrix, most: int, noise_variance: float | None = None) -> int:
    """What `estimate_n_components` says of a matrix without constant columns, for those who need to know up to `most`.

    Parameters
    ----------
    matrix : Matrix
        The centred data.
    most : int
        Eigenvalues that are looked at.
    noise_variance : float, optional
        As in `estimate_n_components`.
    """
    n, p = matrix.n_samples, matrix.n_features
    if noise_variance is None:
        # A sum of squares has a chi-square law, whose median is below its mean: with few samples it matters.
        noise_variance = float(np.median(matrix.column_squares)) / float(2 * gammaincinv((n - 1) / 2, 0.5))
    check_number("noise_variance", noise_variance, 0, open_low=True)
    tell("number of components", 0)
    most = max(1, min(most, n - 1, p - 1))
    levels = np.array([largest_of_noise(n, p - count, noise_variance) for count in range(most)])
    return count_components(leading_values(matrix, levels), n, p, noise_variance)


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
    slab_rate: str | float | Sequence[float] = "grid",
    slab_unit: str = "noise",
    short_iterations: int = SHORT_RUN,
    max_iter: int = MAX_ITER,
    tol: float = TOL,
    accelerate: bool = True,
    noise_first: bool = False,
    random_state: Any = None,
    progress: Callable[[int, float], None] | None = None,
    checkpoint: Checkpoint | None = None,
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
    slab_rate : "grid", float or sequence of float, default="grid"
        Starts of the slab rate alpha, in the unit of `slab_unit`: one, or several, from each of which a short run is
        made; the one with the best bound goes on, and if it ends at u = 0, the next best. "grid" stands for the
        paper's 0.1, 1, 10.
    slab_unit : {"noise", "data", "absolute"}, default="noise"
        Unit of `slab_rate`. "noise": a rate of 1 gives loadings the standard deviation of the noise, so that scaling X
        scales the answer, and with unit noise rates are absolute. "data": a rate of 1 gives variables the mean
        variance of the data. "absolute": rates as they are, as the paper prints them.
    short_iterations : int, default=5
        Iterations of each short run. The paper has "less than 5".
    max_iter : int, default=1000
        Most iterations, each with one pass over the data.
    tol : float, default=1e-6
        Stop when an iteration raises the bound by less than this, per entry of X.
    accelerate : bool, default=True
        Whether to accelerate the iterations, by moves that raise the bound further and by extrapolation (SQUAREM). The
        bound never falls either way.
    noise_first : bool, default=False
        Whether sigma is updated before u, in the order in which the paper prints equations 13 to 15, or after it. The
        bound never falls either way.
    random_state : int, RandomState instance or None, default=None
        For ``init="random"``.
    progress : callable, optional
        Called after each iteration with its number and the bound.
    checkpoint : Checkpoint, optional
        A file to save the state in now and then, and to go on from.

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
    check_count("short_iterations", short_iterations, 1)
    check_choice("slab_unit", slab_unit, UNITS)
    multiples = check_slab_rate(slab_rate)
    if noise_variance is None:
        noise_variance = estimate_noise_variance(matrix, n_components)
    check_number("noise_variance", noise_variance, 0, open_low=True)
    data_rate = reference_rate(matrix.total_squares, n, p, n_components)
    rates = start_rates(multiples, slab_unit, noise_variance, data_rate)

    def report(step: str, n_iter: int, bound: float, relevance: FloatArray) -> None:
        if is_heard():
            active = int(np.count_nonzero(relevance > ACTIVE * relevance.max()))
            total = short_iterations if step == "start grid" else max_iter
            tell(step, n_iter, total, f"bound {bound:.6g}, {active} of {p} active")
        if progress is not None and step != "start grid":
            progress(n_iter, bound)

    limits: dict[str, Any] = {
        "max_iter": int(max_iter),
        "tol": float(tol),
        "accelerate": bool(accelerate),
        "noise_first": bool(noise_first),
    }
    known: dict[str, Any] = {**limits, "progress": report, "save": None if checkpoint is None else checkpoint.save}
    if checkpoint is not None:
        runs = checkpoint.runs(
            n_components=int(n_components),
            init=init,
            slab_rate=[float(multiple) for multiple in multiples],
            slab_unit=slab_unit,
            short_iterations=int(short_iterations),
            noise_variance=float(noise_variance),
            total_squares=matrix.total_squares,
            random_state=str(random_state) if init == "random" and is_integer(random_state) else None,
            **limits,
        )
        if runs:
            return finish_runs(matrix, runs, **known)
    tell("start of the loadings", 0)
    if init == "svd":
        loadings = spectral_loadings(leading_spectrum(matrix, n_components), noise_variance)
    else:
        loadings = random_loadings(check_random_state(random_state), n_components, p, data_rate)
    if checkpoint is not None:
        checkpoint.save([], now=True)  # the spectrum took many passes
    return fit_relaxed(matrix, loadings, rates, noise_variance, short_iterations=int(short_iterations), **known)


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
    X = unmasked(as_blocks(X) or (X if hasattr(X, "dtype") else np.asarray(X)))
    if X.ndim == 2:
        check_shape(X, 2, 2)
    if X.dtype.kind == "f" and not isinstance(X, Blocks):
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
