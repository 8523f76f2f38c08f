"""The matrix behind one small interface: always centred, never copied.

Every stage sees a `Matrix` and never a container. It stands for ``Z = (X - mean) * column_scale``, of shape
(n_samples, n_features), whose columns sum to zero. Axes are stored as rows, (n_axes, n_features), as
`components_` are: the long dimension is then contiguous in memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from gsppca._typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class OuterProducts:
    """``Z Z'``, known by what a search for its leading eigenvalues asks of it.

    Attributes
    ----------
    product : callable
        From a vector over the samples to its product with ``Z Z'``.
    diagonal : ndarray of shape (n_samples,)
        Sums of squares of the rows of Z.
    total_squares : callable
        Gives the sum of squares of the entries of ``Z Z'``.
    """

    product: Callable[[FloatArray], FloatArray]
    diagonal: FloatArray
    total_squares: Callable[[], float]


class KnownImages(NamedTuple):
    """What iterations for leading axes leave for others to go on from.

    Attributes
    ----------
    axes, images : ndarray of shape (n_axes, n_features)
        Axes, not always orthogonal, and their products with ``Z'Z``.
    n_passes : int
        How many passes over the data they stand for.
    settled : bool
        Whether they were enough.
    """

    axes: FloatArray
    images: FloatArray
    n_passes: int
    settled: bool = True


class Matrix(ABC):
    """A centred matrix Z, known through its products.

    Attributes
    ----------
    n_samples, n_features : int
        Shape of Z.
    mean : ndarray of shape (n_features,)
        Column means of the data, which Z has removed.
    column_scale : ndarray of shape (n_features,) or None
        What the centred columns are multiplied by; None stands for ones.
    column_squares : ndarray of shape (n_features,)
        Sums of squares of the columns of Z.
    known_spectrum : tuple of two ndarrays, or None
        Leading eigenvalues and axes, once `linalg.spectrum` has found them.
    known_products : tuple of two ndarrays, or None
        Indices of some columns, and their products with all columns, once `evidence.by_products` has found them.
    leading_sums : ndarray of shape (n_sums, n_features) or None
        Sums of the rows of Z that stress what these have in common, where iterations have found some.
    known_images : KnownImages or None
        Axes whose products with ``Z'Z`` iterations have found.
    """

    n_samples: int
    n_features: int
    mean: FloatArray
    column_scale: FloatArray | None
    column_squares: FloatArray
    known_spectrum: tuple[FloatArray, FloatArray] | None = None
    known_products: tuple[IntArray, FloatArray] | None = None
    leading_sums: FloatArray | None = None
    known_images: KnownImages | None = None

    def gram_product(self, axes: FloatArray) -> FloatArray:
        """Return ``axes Z'Z``, shape (n_axes, n_features): all that an EM iteration needs of the data."""
        return axes @ self.gram if self.prefers_gram else self._gram_product(axes)

    @cached_property
    def gram(self) -> FloatArray:
        """``Z'Z``, shape (n_features, n_features), formed when it is first needed; for few features only."""
        return self._gram()

    @property
    def gram_is_known(self) -> bool:
        """Whether ``Z'Z`` takes no pass over the data."""
        return "gram" in self.__dict__

    @property
    def prefers_gram(self) -> bool:
        """Whether ``Z'Z`` is small enough to be formed once and used instead of the data.

        It then takes at most a quarter of the memory of the data, or a trifling 8 MB, and an EM iteration no longer
        depends on the number of samples.
        """
        return gram_is_small(self.n_samples, self.n_features)

    @property
    def prefers_outer_gram(self) -> bool:
        """Whether ``Z Z'`` is small enough to be formed: the same for the samples."""
        n = self.n_samples
        return n <= 2048 and n <= max(self.n_features // 4, 512)

    @property
    def single_products_are_cheap(self) -> bool:
        """Whether a product with one axis costs far less than with twenty: no data is read or centred for it."""
        return False

    @property
    def total_squares(self) -> float:
        """Sum of squares of all entries of Z."""
        return float(self.column_squares.sum())

    @abstractmethod
    def _gram_product(self, axes: FloatArray) -> FloatArray:
        """Compute ``axes Z'Z`` in one pass over the data."""

    @abstractmethod
    def _gram(self) -> FloatArray:
        """Compute ``Z'Z``."""

    @abstractmethod
    def product(self, axes: FloatArray) -> FloatArray:
        """Return ``Z axes'``, shape (n_samples, n_axes)."""

    @abstractmethod
    def outer_gram(self) -> FloatArray:
        """Return ``Z Z'``, shape (n_samples, n_samples); for few samples only."""

    @property
    def outer_gram_is_known(self) -> bool:
        """Whether ``Z Z'`` takes no pass over the data."""
        return False

    @property
    def passes_are_dear(self) -> bool:
        """Whether every product reads the data anew from where it is stored."""
        return False

    def outer_products(self) -> OuterProducts | None:
        """Return ``Z Z'`` by its products, where these cost less than a matrix would; None otherwise."""
        return None

    def forget(self) -> None:
        """Let go of Gram matrices, and of the like, that were kept for other columns and scales of the same data."""
        self.known_images = None

    @abstractmethod
    def transposed_product(self, scores: FloatArray) -> FloatArray:
        """Return ``scores' Z``, shape (n_scores, n_features), for scores of shape (n_samples, n_scores)."""

    @abstractmethod
    def reduce_radii(
        self,
        function: Callable[[FloatArray, slice], FloatArray],
        order: IntArray,
        sizes: IntArray,
        combine: Callable[[FloatArray, FloatArray], FloatArray] = np.add,
    ) -> FloatArray:
        """Reduce the squared radii of the rows at the nested supports of a ranking, in one pass over the data.

        The squared radius of row i at size k is its sum of squares over the first k columns of `order`; `sizes`
        ascends. ``function(squared_radii, part)`` gets a block of shape (n_part, n_block_rows), which it may
        overwrite, for ``sizes[part]``, and returns an array over the sizes of the part, along its last axis. Parts
        are concatenated, and blocks of rows combined in their order.
        """

    @abstractmethod
    def row_squares(self) -> FloatArray:
        """Return the sums of squares of the rows of Z, shape (n_samples,)."""

    @property
    @abstractmethod
    def rows_come_together(self) -> bool:
        """Whether `reduce_radii` hands all rows to its function at once."""

    @abstractmethod
    def columns(self, kept: BoolArray) -> Matrix:
        """Return the matrix of the kept columns only, in their order."""

    @abstractmethod
    def scaled(self, column_scale: FloatArray) -> Matrix:
        """Return the matrix with its columns multiplied by `column_scale`."""


def gram_is_small(n: int, p: int) -> bool:
    """Whether the Gram matrix of n samples of p features is formed: `Matrix.prefers_gram`."""
    return p <= 4096 and p <= max(n // 4, min(2 * n, 1024))
