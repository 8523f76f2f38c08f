"""Our method and its competitors side by side, on one table.

All methods are those of `gsppca.experiments.register_method`. Each is fitted to all rows, and to random halves of them:
what it selects on one half is judged on the other.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_random_state

from gsppca._masked import unmasked
from gsppca._typing import FloatArray, IntArray
from gsppca.checks import check_choice, check_count
from gsppca.comparison.judge import FAILED, Compared, Fit, Judge
from gsppca.estimator import GSPPCA
from gsppca.progress import tell
from gsppca.stages import estimate_n_components
from gsppca.validation import check_finite

USUAL = ("gsppca-joint", "gsppca-paper", "svnpca", "vsnpca", "tpca", "variance")
SLOW = ("spca", "sspca")  # on digits and on wide data one of them was the slowest of all
SMALL = 20  # the common size, where there are enough variables
LARGEST = 2**28  # entries of sparse data that are spread out for the competitors, which know dense data only


def compare_methods(
    X: Any,
    n_components: int | str = "auto",
    *,
    size: int | None = None,
    methods: Sequence[str] | str | None = None,
    scale: bool = False,
    n_subsamples: int = 4,
    n_random: int = 5,
    random_state: Any = 0,
) -> list[Compared]:
    """Select variables with several methods, and compare what they find at a common size and at their own.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        The data; the competitors get sparse data spread out.
    n_components : int or "auto", default="auto"
        Dimension of the latent space; "auto" lets GSPPCA choose, and estimates it for the other methods.
    size : int, optional
        The common size: 20 by default, or a quarter of the variables if these are fewer than 80.
    methods : sequence of str or "all", optional
        Names of registered methods; `USUAL` by default, with "all" the slow ones too. The overlap is with the first.
    scale : bool, default=False
        Whether to standardise the columns first.
    n_subsamples : int, default=4
        Random halves of the samples, drawn in pairs, for share and stability; 0 leaves these out.
    n_random : int, default=5
        Draws of random variables; 0 leaves them out.
    random_state : int, RandomState instance or None, default=0
        For the halves, and for the order in which the methods see the columns: none may profit from it.

    Returns
    -------
    compared : list of Compared
        A row per method at the common size, then a row per method at its own.

    Examples
    --------
    >>> from gsppca.comparison import compare_methods
    >>> from gsppca.datasets import make_introductory
    >>> data = make_introductory(random_state=0)
    >>> rows = compare_methods(data.X, 5, methods=["gsppca-joint", "variance"], n_subsamples=2)
    >>> ours = next(row for row in rows if row.at == "own")
    >>> ours.method, ours.size, bool((ours.support == data.support).all())
    ('gsppca-joint', 10, True)
    """
    names = _chosen(methods)
    check_count("n_subsamples", n_subsamples, 0, advice="0 leaves share and stability out.")
    check_count("n_random", n_random, 0, advice="0 leaves random variables out.")
    data = _dense(X, scale)
    n, p = data.shape
    d = estimate_n_components(data) if isinstance(n_components, str) else n_components
    check_count("n_components", d, 1, min(n, p) - 1, f"X has {n} rows and {p} columns.")
    if size is None:
        size = max(1, min(SMALL, p // 4))
    check_count("n_features_to_select", size, 1, p, f"X has {p} columns.")
    rng = check_random_state(random_state)
    judge = Judge(data, n_subsamples, rng)
    orders = [rng.permutation(p) for _ in range(n_subsamples + 1)]
    seed = int(rng.randint(2**31))
    free = isinstance(n_components, str)
    fits = []
    for i, name in enumerate(names):
        total, done = len(names) * (n_subsamples + 1), i * (n_subsamples + 1)
        tell("comparing", done, total, name)
        first = _select(name, data, orders[0], d, size, seed, free)
        halves = []
        for j, (rows, order) in enumerate(zip(judge.halves, orders[1:], strict=True), start=1):
            tell("comparing", done + j, total, f"{name}, half {j} of {n_subsamples}")
            halves.append(_select(name, data[rows], order, d, size, seed, free))
        fits.append((name, first, halves))
    tell("comparing", 1, 1)
    compared: list[Compared] = []
    for place, at in enumerate(("common", "own")):
        found: list[Compared] = []
        for name, first, halves in fits:
            found.append(judge.row(name, at, first, [half.supports[place] for half in halves], place, found))
        number = max(found[0].size, 1) if at == "own" and found else size
        compared += [*found, *judge.references(at, number, n_random, seed, found)]
    return compared


def _chosen(methods: Sequence[str] | str | None) -> list[str]:
    from gsppca.experiments.methods import method_names

    if methods is None:
        return list(USUAL)
    if isinstance(methods, str):
        check_choice("methods", methods, ("all",), "a list of names")
        return [*USUAL, *SLOW]
    for name in methods:
        if ":" not in name:
            check_choice("methods", name, tuple(method_names()), "'module:factory'")
    return list(methods)


def _select(name: str, data: FloatArray, order: IntArray, d: int, size: int, seed: int, free: bool) -> Fit:
    """Selections of a method that sees the columns in some order, put back; what it complained of; and the time."""
    from gsppca.experiments.methods import get_method

    empty = np.zeros(data.shape[1], dtype=bool)
    shuffled = data[:, order]
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            method = get_method(name)
            model = method.factory(d, None, seed)
            if free and isinstance(model, GSPPCA):
                model.set_params(n_components="auto")  # as `gsppca fit` does
            model.fit(shuffled)
            own = np.asarray(model.support_)
            seconds = time.perf_counter() - start
            if method.nested or isinstance(model, GSPPCA):
                common = np.asarray(model.ranking_) <= size
            else:
                common = np.asarray(method.factory(d, size, seed).fit(shuffled).support_)
        except (ValueError, RuntimeError, ImportError, np.linalg.LinAlgError) as error:
            return Fit((empty, empty), f"{FAILED}{error}", time.perf_counter() - start)
    back = np.argsort(order)
    complaints = [str(warning.message) for warning in caught if issubclass(warning.category, UserWarning)]
    return Fit((common[back], own[back]), complaints[0] if complaints else "", seconds)


def _dense(X: Any, scale: bool) -> FloatArray:
    if issparse(X):
        if X.shape[0] * X.shape[1] > LARGEST:
            raise ValueError(
                f"X is sparse, of shape {X.shape}: spread out for the competitors it would hold more than {LARGEST} "
                "numbers. Compare on fewer columns or rows."
            )
        X = X.toarray()
    data: FloatArray = np.asarray(unmasked(X), dtype=np.float64)
    check_finite(data)
    if not scale:
        return data
    deviations = data.std(axis=0)
    return (data - data.mean(axis=0)) / np.where(deviations > 0, deviations, 1.0)
