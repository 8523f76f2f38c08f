"""SPCA (Zou, Hastie & Tibshirani 2006): the estimator, its automatic rule and its exact sizes.

The alternation itself is in sparse_axes.py. Where this leaves the authors:

1. `ridge="auto"` is 0 when p < n and infinity otherwise: without a ridge the solution is not unique for
   p >= n, and infinity (soft thresholding) is what they advise for genes.
2. The method is local: each axis has its own zeros. The support is the union over the axes; a fixed size is
   reached by the number of non-zero loadings per axis, then by cutting the last leap of the union.
3. Their paper leaves the sparsity to the user. The automatic rule is that of the GSPPCA paper: as sparse as
   99 % of the variance of PCA allows, measured by Shen & Huang's adjusted variance.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from gsppca.baselines.base import Axes, Baseline, FeatureCount, Selection, own_or_principal
from gsppca.baselines.elastic_net import Sparsity
from gsppca.baselines.linalg import BoolArray, adjusted_variances, compact_rows, leading_svd
from gsppca.baselines.path import Centred, PathPoint, cut, entry_order, record
from gsppca.baselines.sparse_axes import SparseAxes, sparse_axes
from gsppca.checks import check_count, check_number

_GRID_SIZES = 12  # numbers of non-zero loadings looked at before the automatic rule bisects


class SPCA(Baseline):
    """Sparse PCA of Zou, Hastie & Tibshirani, the elastic net formulation.

    scikit-learn's `SparsePCA` is dictionary learning, another method.

    Parameters
    ----------
    n_components : int, default=2
        Number of axes; the paper selects genes and pixels with one.
    n_features_to_select : "auto", None, int or float, default="auto"
        "auto" (or None): the smallest number of non-zero loadings, the same on each axis, whose axes explain
        `explained_share` of the variance that PCA explains with as many axes. An integer: exactly that many
        variables in the union over the axes; a fraction, that share of them.
    n_nonzero : int, sequence of int or None, default=None
        Exactly that many non-zero loadings on each axis; takes the place of the automatic rule.
    penalty : float, sequence of float or None, default=None
        Penalty of each axis, in the units of X'X of the centred data; takes the place of the automatic rule.
    ridge : float or "auto", default="auto"
        Ridge of the elastic net, in the units of X'X; infinity gives soft thresholding. "auto" is 0 when
        n_features < n_samples, else infinity. A finite ridge forms the p x p matrix X'X.
    explained_share : float, default=0.99
        Share of the variance of PCA that the automatic rule asks for.
    axes : {"own", "pca"}, default="own"
        "own": the sparse loadings, scaled to unit length; "pca": PCA of the selected variables.
    max_iter : int, default=1000
        Most alternations for one solution.
    tol : float, default=1e-4
        Largest distance that a unit-length axis moves in the last round.
    random_state : int, RandomState or None, default=None
        Settles the order of equal columns only.

    Attributes
    ----------
    penalty_ : ndarray of shape (n_components,)
        Penalties of the axes that were kept.
    ridge_ : float
        Ridge used.

    References
    ----------
    Zou, H., Hastie, T. and Tibshirani, R. (2006). Sparse principal component analysis. Journal of
    Computational and Graphical Statistics, 15, 265-286.

    Examples
    --------
    >>> import numpy as np
    >>> from gsppca.baselines import SPCA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 10))
    >>> X[:, [2, 5, 7]] += 3 * rng.normal(size=(60, 1))
    >>> model = SPCA(n_components=1, n_features_to_select=3).fit(X)
    >>> model.get_support(indices=True)
    array([2, 5, 7])
    """

    def __init__(
        self,
        n_components: int = 2,
        n_features_to_select: FeatureCount = "auto",
        n_nonzero: int | Sequence[int] | None = None,
        penalty: float | Sequence[float] | None = None,
        ridge: float | Literal["auto"] = "auto",
        explained_share: float = 0.99,
        axes: Axes = "own",
        max_iter: int = 1000,
        tol: float = 1e-4,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_features_to_select = n_features_to_select
        self.n_nonzero = n_nonzero
        self.penalty = penalty
        self.ridge = ridge
        self.explained_share = explained_share
        self.axes = axes
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _select(self, data: Centred, size: int | None) -> Selection:
        check_number("explained_share", self.explained_share, 0, 1, open_low=True)
        check_count("max_iter", self.max_iter, 1)
        check_number("tol", self.tol, 0, finite=False)
        X = compact_rows(data.matrix)
        given = self._given_sparsities(data.n_features, size)
        _, singular_values, pca_axes = leading_svd(X, self.n_components)
        explained = float(np.sum(singular_values**2))
        ridge = self._checked_ridge(data)
        solutions: dict[int, SparseAxes] = {}

        def solve(nonzeros: int) -> SparseAxes:
            if nonzeros not in solutions:
                wanted = given or [Sparsity(nonzeros)] * self.n_components
                solutions[nonzeros] = sparse_axes(X, wanted, ridge, self.max_iter, self.tol, start=pca_axes.T)
            return solutions[nonzeros]

        def share(axes: SparseAxes) -> float:
            return float(adjusted_variances(X, axes.axes).sum() / explained)

        if given is not None:
            chosen = 0
            _check_reached(given, solve(chosen))
        elif size is None:
            chosen = sparsest(lambda k: share(solve(k)) >= self.explained_share, data.n_features)
        else:
            chosen = smallest_union(solve, size, self.n_components, data.n_features)
        axes = solve(chosen)
        support = axes.strength > 0
        if size is not None and np.count_nonzero(support) != size:
            self._warn_if_short(size, support, ridge)
            survivors = solve(chosen - 1).strength > 0 if chosen > 1 else support
            support = cut(data, support, survivors, axes.strength, size)

        path_keys = sorted(solutions, reverse=True)  # from dense to sparse, as penalties rise
        points = [PathPoint(float(solutions[k].penalties.mean()), solutions[k]) for k in path_keys]
        order = entry_order(data, points, support)
        shares = np.array([share(solutions[k]) for k in path_keys])
        path = record(points, order, shares, "share of the variance of PCA", path_keys.index(chosen))
        return Selection(
            support=support,
            order=order,
            components=own_or_principal(self.axes, axes.loadings, data, support),
            path=replace(path, penalties=np.array([solutions[k].penalties for k in path_keys])),
            n_iter=axes.n_iter,
            converged=axes.converged,
            extra={"penalty_": axes.penalties, "ridge_": axes.ridge},
        )

    def _warn_if_short(self, size: int, support: BoolArray, ridge: float) -> None:
        count = np.count_nonzero(support)
        if count < size:
            warnings.warn(
                f"n_features_to_select={self.n_features_to_select!r}: with ridge={ridge:g} only {count} variables can "
                "have non-zero loadings (a singular X'X, or constant columns); the others were added by their "
                "sums of squares. Raise ridge, or ask for fewer.",
                UserWarning,
                stacklevel=4,
            )

    def _checked_ridge(self, data: Centred) -> float:
        if self.ridge == "auto":
            return 0.0 if data.n_features < data.n_samples else float("inf")
        check_number("ridge", self.ridge, 0, finite=False, otherwise="'auto'")
        return float(self.ridge)

    def _given_sparsities(self, n_features: int, size: int | None) -> list[Sparsity] | None:
        """Read `n_nonzero` or `penalty`; None when neither is given."""
        if self.n_nonzero is None and self.penalty is None:
            return None
        if size is not None or None not in (self.n_nonzero, self.penalty):
            raise ValueError(
                f"n_features_to_select={self.n_features_to_select!r}, n_nonzero={self.n_nonzero!r}, "
                f"penalty={self.penalty!r}: these exclude each other; give one and leave the others out."
            )
        if self.n_nonzero is not None:
            counts = per_axis("n_nonzero", self.n_nonzero, self.n_components)
            if not all(1 <= count <= n_features and count == int(count) for count in counts):
                raise ValueError(
                    f"n_nonzero must be integers from 1 to n_features = {n_features}, got {self.n_nonzero!r}. "
                    "Set n_nonzero to such a value."
                )
            return [Sparsity(int(count)) for count in counts]
        penalties = per_axis("penalty", self.penalty, self.n_components)
        if not all(penalty >= 0 for penalty in penalties):
            raise ValueError(f"penalty must be at least 0, got {self.penalty!r}. Set penalty to such a value.")
        return [Sparsity(None, penalty) for penalty in penalties]


def per_axis(name: str, value: Any, n_components: int) -> list[float]:
    """Repeat one number for every axis, or check that there is one per axis."""
    values = np.atleast_1d(np.asarray(value, dtype=np.float64))
    if values.size == 1:
        values = np.repeat(values, n_components)
    if values.shape != (n_components,):
        raise ValueError(
            f"{name} must be one number or n_components = {n_components} of them, got {value!r}. "
            f"Set {name} to such a value."
        )
    return [float(x) for x in values]


def sparsest(holds: Callable[[int], bool], most: int) -> int:
    """Return the smallest k of 1..most where `holds`: first on a geometric grid, then by bisection.

    `holds(most)` is taken for granted.
    """
    low = 0
    for k in np.unique(np.geomspace(1, most, min(most, _GRID_SIZES)).round().astype(int)):
        if k == most or holds(int(k)):
            return bisect_integers(holds, low, int(k))
        low = int(k)
    return most


def smallest_union(solve: Callable[[int], SparseAxes], size: int, n_components: int, n_features: int) -> int:
    """Return the smallest number of non-zero loadings per axis whose union has at least `size` variables."""

    def holds(k: int) -> bool:
        return bool(np.count_nonzero(solve(k).strength) >= size)

    # d axes of k loadings hold between k and d k variables, unless ties (equal columns) forbid k of them.
    low, high = -(-size // n_components) - 1, size
    while high < n_features and not holds(high):
        low, high = high, min(2 * high, n_features)
    return bisect_integers(holds, low, high)


def bisect_integers(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Return k in (low, high] where `holds` switches on; it is taken to fail at `low` and hold at `high`."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _check_reached(wanted: Sequence[Sparsity], axes: SparseAxes) -> None:
    counts = np.count_nonzero(axes.loadings, axis=0)
    for k, (sparsity, count) in enumerate(zip(wanted, counts, strict=True)):
        if sparsity.nonzeros is not None and count != sparsity.nonzeros:
            raise ValueError(
                f"n_nonzero: axis {k} cannot have {sparsity.nonzeros} non-zero loadings, only {count}: columns are "
                f"constant, or X'X is singular and ridge={axes.ridge:g}; ask for fewer, or set ridge > 0."
            )
