"""Our method and its competitors side by side, on one table."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_random_state

from gsppca._typing import BoolArray, FloatArray
from gsppca.baselines import SPCA, SSPCA, PlainPCA, SvnPCA, ThresholdedPCA, VarianceRanking, VsnPCA
from gsppca.checks import check_choice, check_count
from gsppca.estimator import GSPPCA
from gsppca.metrics import adjusted_explained_variance
from gsppca.progress import tell
from gsppca.stages import estimate_n_components
from gsppca.validation import check_finite

Maker = Callable[[int, int | None, Any], Any]

METHODS: dict[str, Maker] = {
    "GSPPCA": lambda d, size, seed: GSPPCA(d, n_features_to_select="evidence" if size is None else size),
    "GSPPCA-paper": lambda d, size, seed: GSPPCA(
        d, evidence="noiseless", n_features_to_select="evidence" if size is None else size
    ),
    "SPCA": lambda d, size, seed: SPCA(d, n_features_to_select=size, random_state=seed),
    "SSPCA": lambda d, size, seed: SSPCA(d, n_features_to_select=size, random_state=seed),
    "SvnPCA": lambda d, size, seed: SvnPCA(d, n_features_to_select=size, random_state=seed),
    "VsnPCA": lambda d, size, seed: VsnPCA(d, n_features_to_select=size, random_state=seed),
    "ThresholdedPCA": lambda d, size, seed: ThresholdedPCA(d, n_features_to_select=size, random_state=seed),
    "VarianceRanking": lambda d, size, seed: VarianceRanking(d, n_features_to_select=size, random_state=seed),
    "PlainPCA": lambda d, size, seed: PlainPCA(d, random_state=seed),
}
SLOW = ("SPCA", "SSPCA")  # on digits and on wide data one of them was the slowest of all
_FAILED = "failed: "
LARGEST = 2**28  # entries of sparse data that are spread out for the competitors, which know dense data only


@dataclass(frozen=True)
class Compared:
    """How one method did.

    Attributes
    ----------
    method : str
        Its name.
    support : ndarray of shape (n_features,)
        The variables it selected.
    explained_variance : float
        Share of the total variance of X in the first `n_components` principal components of those.
    stability : float
        Mean overlap (Jaccard index) of its selections from random halves of the samples, two by two.
    overlap : float
        Jaccard index of its selection and that of the first method.
    seconds : float
        Time to fit all samples.
    note : str
        What went wrong, if anything; the figures of a method that failed are NaN.
    """

    method: str
    support: BoolArray
    explained_variance: float
    stability: float
    overlap: float
    seconds: float
    note: str = ""

    @property
    def size(self) -> int:
        """Number of variables selected."""
        return int(self.support.sum())


def compare_methods(
    X: Any,
    n_components: int | str = "auto",
    *,
    size: int | None = None,
    methods: Sequence[str] | str | None = None,
    scale: bool = False,
    n_subsamples: int = 4,
    random_state: Any = 0,
) -> list[Compared]:
    """Select variables with several methods, and compare size, explained variance, stability, overlap and time.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The data; the competitors get sparse data spread out.
    n_components : int or "auto", default="auto"
        Dimension of the latent space, the same for all; "auto" estimates it.
    size : int, optional
        Number of variables, the same for all; by default each method follows its own rule.
    methods : sequence of str or "all", optional
        Names out of `METHODS`; all but the slow ones, `SLOW`, by default. The overlap is with the first.
    scale : bool, default=False
        Whether to standardise the columns first.
    n_subsamples : int, default=4
        Random halves of the samples for the stability; 0 leaves it out.
    random_state : int, RandomState instance or None, default=0
        For the halves, and for the order in which the methods see the columns: none may profit from it.

    Returns
    -------
    compared : list of Compared

    Examples
    --------
    >>> from gsppca.comparison import compare_methods
    >>> from gsppca.datasets import make_introductory
    >>> data = make_introductory(random_state=0)
    >>> ours, variance = compare_methods(data.X, 5, methods=["GSPPCA", "VarianceRanking"], n_subsamples=2)
    >>> ours.size, bool((ours.support == data.support).all())
    (10, True)
    """
    if methods is None:
        names = [name for name in METHODS if name not in SLOW]
    elif isinstance(methods, str):
        check_choice("methods", methods, ("all",), "a list of names")
        names = list(METHODS)
    else:
        names = list(methods)
    for name in names:
        check_choice("methods", name, tuple(METHODS))
    check_count("n_subsamples", n_subsamples, 0, advice="0 leaves the stability out.")
    data = _dense(X, scale)
    n, p = data.shape
    d = estimate_n_components(data) if isinstance(n_components, str) else n_components
    check_count("n_components", d, 1, min(n, p) - 1, f"X has {n} rows and {p} columns.")
    if size is not None:
        check_count("n_features_to_select", size, 1, p, f"X has {p} columns.")
    rng = check_random_state(random_state)
    halves = [rng.permutation(n)[: n // 2] for _ in range(n_subsamples)]
    orders = [rng.permutation(p) for _ in range(n_subsamples + 1)]
    seed = int(rng.randint(2**31))
    total = len(names) * (n_subsamples + 1)
    compared: list[Compared] = []
    for i, name in enumerate(names):
        done = i * (n_subsamples + 1)
        tell("comparing", done, total, name)
        start = time.perf_counter()
        support, note = _select(name, data, orders[0], d, size, seed)
        seconds = time.perf_counter() - start
        supports = []
        for j, (rows, order) in enumerate(zip(halves, orders[1:], strict=True), start=1):
            tell("comparing", done + j, total, f"{name}, half {j} of {n_subsamples}")
            supports.append(_select(name, data[rows], order, d, size, seed)[0])
        if note.startswith(_FAILED):  # nothing was selected, which is not the same as selecting nothing
            compared.append(Compared(name, support, math.nan, math.nan, math.nan, seconds, note))
            continue
        explained = float(adjusted_explained_variance(data, support, d)[-1]) / 100 if support.any() else 0.0
        overlap = jaccard(support, compared[0].support) if compared else 1.0
        compared.append(Compared(name, support, explained, _stability(supports), overlap, seconds, note))
    tell("comparing", total, total)
    return compared


def jaccard(one: BoolArray, other: BoolArray) -> float:
    """Overlap of two selections: the variables in both, over those in either; 1 if both are empty.

    Examples
    --------
    >>> import numpy as np
    >>> from gsppca.comparison import jaccard
    >>> jaccard(np.array([True, True, False]), np.array([True, False, True])) == 1 / 3
    True
    """
    either = int(np.sum(one | other))
    return float(np.sum(one & other)) / either if either else 1.0


def _select(name: str, data: FloatArray, order: Any, d: int, size: int | None, seed: int) -> tuple[BoolArray, str]:
    """Selection of a method that sees the columns in some order, put back; and what it complained of."""
    support = np.zeros(data.shape[1], dtype=bool)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            fitted = METHODS[name](d, size, seed).fit(data[:, order])
        except (ValueError, RuntimeError, np.linalg.LinAlgError) as error:
            return support, f"{_FAILED}{error}"
    support[order] = fitted.get_support()
    complaints = [str(warning.message) for warning in caught if issubclass(warning.category, UserWarning)]
    return support, complaints[0] if complaints else ""


def _stability(supports: list[BoolArray]) -> float:
    pairs = [jaccard(a, b) for i, a in enumerate(supports) for b in supports[:i]]
    return float(np.mean(pairs)) if pairs else float("nan")


def _dense(X: Any, scale: bool) -> FloatArray:
    if issparse(X):
        if X.shape[0] * X.shape[1] > LARGEST:
            raise ValueError(
                f"X is sparse, of shape {X.shape}: spread out for the competitors it would hold more than {LARGEST} "
                "numbers. Compare on fewer columns or rows."
            )
        X = X.toarray()
    data: FloatArray = np.asarray(X, dtype=np.float64)
    check_finite(data)
    if not scale:
        return data
    deviations = data.std(axis=0)
    return (data - data.mean(axis=0)) / np.where(deviations > 0, deviations, 1.0)
