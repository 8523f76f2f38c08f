"""Peers in unsupervised variable selection: three written from their equations, two packages as they are.

Each has ``fit(X)`` and then ``ranking_``, 1 for the variable chosen first; those never chosen stand behind all sizes.
They are asked for `size` variables; none has a rule for their number.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from importlib.util import find_spec
from typing import Any, Self

import numpy as np

from gsppca._optional import optional_import
from gsppca._typing import BoolArray, FloatArray, IntArray
from gsppca.experiments.methods import register_method

NEIGHBOURS = 5
TINY = 1e-9  # of its variance: a column of which no more is left is a combination of those chosen
PACKAGES = {"fastcan": "fastcan", "cur": "skmatter", "fps": "skmatter"}


class Ranked(ABC):
    """A peer that orders variables.

    Parameters
    ----------
    n_components : int
        Dimension, for those that have one.
    size : int
        How many variables to choose.
    seed : int
        For those that draw at random.
    """

    ranking_: IntArray
    support_: BoolArray

    def __init__(self, n_components: int, size: int | None, seed: int) -> None:
        if size is None:
            raise ValueError(f"{type(self).__name__} has no rule for the number of variables: give one.")
        self.n_components, self.size, self.seed = n_components, size, seed

    def fit(self, X: FloatArray) -> Self:
        """Order the columns of X, after centring them."""
        centred = np.asarray(X, dtype=np.float64) - np.mean(X, axis=0)
        order = np.asarray(self.order(centred), dtype=np.intp)[: self.size]
        self.ranking_ = np.full(X.shape[1], X.shape[1] + 1, dtype=np.intp)
        self.ranking_[order] = np.arange(1, len(order) + 1)
        self.support_ = self.ranking_ <= self.size
        return self

    @abstractmethod
    def order(self, X: FloatArray) -> Any:
        """Columns in the order in which they are chosen, `size` of them or more; fewer if there are not so many."""


class FSCA(Ranked):
    """Forward selection component analysis (Puggini & McLoone 2017).

    Each step takes the column that, with those before, explains most variance of all columns: the largest
    ``|R' r_k|^2 / |r_k|^2`` of the residual R. These norms are kept up to date, so that a step costs O(n p).
    """

    def order(self, X: FloatArray) -> IntArray:
        """Greedy steps."""
        rest = X.copy()
        squares = np.sum(rest**2, axis=0)
        least = TINY * squares.clip(min=np.finfo(float).tiny)
        norms = _column_norms_of_gram(rest)
        chosen: list[int] = []
        for _ in range(min(self.size, *X.shape)):
            free = squares > least
            if not free.any():
                break
            gains = np.where(free, norms / np.where(free, squares, 1.0), -np.inf)
            k = int(np.argmax(gains))
            chosen.append(k)
            column = rest[:, k] / np.sqrt(squares[k])
            g = rest.T @ column  # the k-th column of the Gram matrix, divided by the square root of its diagonal
            norms += -2 * g * (rest.T @ (rest @ g)) + g**2 * float(g @ g)
            rest -= np.outer(column, g)
            squares = np.maximum(squares - g**2, 0.0)
            squares[k] = 0.0
        return np.array(chosen, dtype=np.intp)


def _column_norms_of_gram(X: FloatArray) -> FloatArray:
    """Squared norms of the columns of X'X, which is not formed when X is wide."""
    inner: FloatArray = X @ X.T if X.shape[0] < X.shape[1] else X.T @ X
    norms: FloatArray = np.sum(X * (inner @ X), axis=0) if X.shape[0] < X.shape[1] else np.sum(inner**2, axis=0)
    return norms


def neighbour_graph(X: FloatArray, n_neighbours: int = NEIGHBOURS) -> FloatArray:
    """Symmetric weights exp(-|x_i - x_j|^2 / t) between nearest neighbours; t is the mean squared distance of these."""
    from sklearn.neighbors import kneighbors_graph

    graph = kneighbors_graph(X, min(n_neighbours, len(X) - 1), mode="distance").toarray()
    linked = graph > 0
    width = float(np.mean(graph[linked] ** 2)) if linked.any() else 1.0
    weights = np.where(linked, np.exp(-(graph**2) / width), 0.0)
    symmetric: FloatArray = np.maximum(weights, weights.T)
    return symmetric


class LaplacianScore(Ranked):
    """Laplacian score (He, Cai & Niyogi 2005): columns that vary least between neighbours for their variance.

    Five neighbours, weights of the heat kernel.
    """

    def order(self, X: FloatArray) -> IntArray:
        """Smallest scores first."""
        weights = neighbour_graph(X)
        degrees = weights.sum(axis=1)
        centred = X - degrees @ X / degrees.sum()
        variances = degrees @ centred**2
        smooth = np.sum(centred * (weights @ centred), axis=0)
        scores = np.where(variances > 0, 1 - smooth / np.where(variances > 0, variances, 1.0), np.inf)
        return np.argsort(scores, kind="stable")


class MCFS(Ranked):
    """Multi-cluster feature selection (Cai, Zhang & He 2010).

    The graph of five neighbours is embedded by d eigenvectors; each is regressed on the columns by least angles with
    as many of them as are asked for; a column's score is its largest coefficient. Columns without any coefficient
    come last, in the (random) order in which the method sees them.
    """

    def order(self, X: FloatArray) -> IntArray:
        """Largest scores first."""
        from scipy.linalg import eigh
        from sklearn.linear_model import lars_path

        weights = neighbour_graph(X)
        degrees = weights.sum(axis=1)
        d = min(self.n_components, len(X) - 2)
        # The first eigenvector is constant.
        vectors = eigh(np.diag(degrees) - weights, np.diag(degrees), subset_by_index=[1, d])[1]
        columns = X / np.maximum(np.linalg.norm(X, axis=0), np.finfo(float).tiny)
        scores = np.zeros(X.shape[1])
        steps = min(self.size, len(X) - 1)
        for vector in vectors.T:
            paths = lars_path(columns, vector - vector.mean(), max_iter=steps, method="lar")[2]
            scores = np.maximum(scores, np.abs(paths[:, -1]))
        return np.argsort(-scores, kind="stable")


class Fastcan(Ranked):
    """fastcan: greedy canonical correlation with the first d principal scores. At most n - d - 1 variables."""

    def order(self, X: FloatArray) -> Any:
        """The package's own."""
        fastcan: Any = optional_import("fastcan", "the peer fastcan", "real-data")
        left, values = np.linalg.svd(X, full_matrices=False)[:2]
        d = self.n_components
        most = min(self.size, X.shape[1], max(len(X) - d - 1, 1))
        return fastcan.FastCan(most, verbose=0).fit(X, left[:, :d] * values[:d]).indices_


class CUR(Ranked):
    """CUR of scikit-matter: leverage of the first right singular vector, the chosen columns taken out each time."""

    def order(self, X: FloatArray) -> Any:
        """The package's own."""
        selection: Any = optional_import("skmatter.feature_selection", "the peer CUR", "real-data", "skmatter")
        return selection.CUR(n_to_select=min(self.size, *X.shape)).fit(X).selected_idx_


class FPS(Ranked):
    """Farthest point sampling of scikit-matter, from the first column it sees."""

    def order(self, X: FloatArray) -> Any:
        """The package's own."""
        selection: Any = optional_import("skmatter.feature_selection", "the peer FPS", "real-data", "skmatter")
        return selection.FPS(n_to_select=min(self.size, X.shape[1])).fit(X).selected_idx_


class RandomOrder(Ranked):
    """Variables at random."""

    def order(self, X: FloatArray) -> IntArray:
        """A permutation."""
        return np.random.default_rng([self.seed, X.shape[0]]).permutation(X.shape[1])


def absent_packages() -> dict[str, str]:
    """Peers that cannot be run here, and the package that each lacks."""
    return {name: package for name, package in PACKAGES.items() if find_spec(package) is None}


def _register() -> None:
    register_method("fastcan", Fastcan, "fastcan", nested=True)
    register_method("cur", CUR, "scikit-matter CUR", nested=True)
    register_method("fps", FPS, "scikit-matter FPS", nested=True)
    register_method("fsca", FSCA, "FSCA", nested=True)
    register_method("laplacian", LaplacianScore, "Laplacian score", nested=True)
    register_method("mcfs", MCFS, "MCFS")
    register_method("random", RandomOrder, "random", nested=True)


_register()
