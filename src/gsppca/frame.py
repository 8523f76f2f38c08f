"""The validated data as the steps of a fit see it: what was done to its columns, and the way back.

Constant columns are left out, missing entries are filled, columns are divided by their standard deviations
(``scale=True``) and, for ranking and judging only, clipped (``robust=True``).
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from gsppca._typing import BoolArray, FloatArray
from gsppca.components.clipping import Tails, clip_tails, measure_tails
from gsppca.components.imputation import Imputation, impute
from gsppca.data import Blocks, Matrix, as_blocks, as_matrix
from gsppca.data.array import ColumnView
from gsppca.data.folds import sums_and_squares
from gsppca.data.passes import PassFile
from gsppca.data.shadows import Shadowed, add_shadows
from gsppca.progress import tell
from gsppca.stages import check_n_components, estimate_n_components
from gsppca.validation import check_magnitude, check_varying


@dataclass(frozen=True)
class Frame:
    """The data of a fit.

    Attributes
    ----------
    source : array
        The validated X itself, by reference; with its missing entries filled, if there were any.
    data : Matrix
        The columns that vary, centred, and standardised if ``scale=True``: what the components are made of.
    robust : bool
        Whether columns are clipped for ranking and judging whatever their tails.
    varying : ndarray of shape (n_all_features,)
        Which columns of X vary.
    mean : ndarray of shape (n_all_features,)
        Means of the columns of X.
    deviation : ndarray of shape (n_all_features,)
        Standard deviations of the columns of X; one for those that are constant.
    scale : ndarray of shape (n_all_features,) or None
        What the columns of `data` were divided by.
    imputation : Imputation or None
        What filled the missing entries.
    dtype : dtype
        Of X, kept by what is shown in its units.
    """

    source: Any
    data: Matrix
    robust: bool
    varying: BoolArray
    mean: FloatArray
    deviation: FloatArray
    scale: FloatArray | None
    imputation: Imputation | None
    dtype: np.dtype[Any]

    @property
    def judged(self) -> Matrix:
        """What ranks and judges: `data`, or the same with clipped columns if ``robust=True``."""
        return self.clipped if self.robust else self.data

    @cached_property
    def tails(self) -> Tails:
        """How heavy the tails of the columns of X are, and where they are to be cut."""
        return measure_tails(self._container, self.mean, self.deviation, always=self.robust)

    @cached_property
    def clipped(self) -> Matrix:
        """The columns that vary, with their tails cut off if they are heavy."""
        if not self.tails.heavy:
            return self._with_lengths(self.data)
        self._with_lengths(self.data)
        mean, squares = self.tails.mean, self.tails.squares
        source = clip_tails(self._container, self.tails)
        everything = self._with_lengths(as_matrix(source, mean=mean, column_squares=squares))
        kept = everything if self.varying.all() else everything.columns(self.varying)
        return kept if self.scale is None else standardised(kept)

    def _with_lengths(self, matrix: Matrix) -> Matrix:
        """Tell a matrix of these rows how long they are."""
        if isinstance(matrix, ColumnView):
            matrix.known_rows.lengths = self.tails.rows[:, 1]
        return matrix

    def let_go_of_clipped(self) -> None:
        """Free the copy with clipped columns; it is made again if somebody asks for it. Data in blocks has none.

        What a search has found its rows to have in common is kept: the axes of the data itself are near it.
        """
        if isinstance(self.clipped, ColumnView) and isinstance(self.data, ColumnView):
            self.data.known_rows.sums = self.clipped.known_rows.sums
        if self.tails.heavy and isinstance(self.clipped, ColumnView):
            self.clipped.known_rows.outer = None  # the core is of other data
        if not self.robust and not isinstance(self.source, Blocks):
            self.__dict__.pop("clipped", None)

    def let_go_of_products(self) -> None:
        """Free the products of all rows with each other, which search and core share."""
        for matrix in (self.data, self.__dict__.get("clipped")):
            if isinstance(matrix, ColumnView):
                matrix.known_rows.outer = None

    @cached_property
    def rows(self) -> FloatArray:
        """Numbers by which rows are dealt out to folds, as `Tails` has them."""
        return self.tails.rows if "tails" in self.__dict__ else sums_and_squares(standardised(self.data))

    @property
    def _container(self) -> Any:
        """The numbers of X, of all columns: an array, a sparse matrix or blocks."""
        return as_blocks(self.source) or self.source

    def remember_passes(self, path: str | os.PathLike[str]) -> None:
        """Keep the results of all further passes over data in blocks in a file; take those that it has."""
        if not isinstance(self.source, Blocks):
            raise ValueError(
                f"checkpoint={str(path)!r} keeps the results of passes over data in blocks, and this data is in memory "
                "as a whole. Leave it out, or give a dask or zarr array."
            )
        assert self.source.fingerprint is not None
        self.source.memory = PassFile(path, self.source.shape, self.source.fingerprint)

    @property
    def described(self) -> Matrix:
        """What cores and correlations are of: `judged`, in a unit in which squares of squares can be held."""
        return in_unit(self.judged)

    def shadowed(self, rng: np.random.Generator) -> tuple[Matrix, BoolArray, Shadowed]:
        """Return the judged columns of X with a permuted copy of each, those that vary, and where each stands."""
        source = clip_tails(self._container, self.tails) if self.robust else self.source
        doubled = add_shadows(source, rng)
        matrix = as_matrix(doubled.X)
        varying = matrix.column_squares > 0
        matrix = matrix if varying.all() else matrix.columns(varying)
        return (matrix if self.scale is None else standardised(matrix)), varying, doubled

    def widen(self, values: FloatArray, elsewhere: float = 0.0) -> FloatArray:
        """Put values of the varying columns, along the last axis, at their places among all columns."""
        wide = np.full((*values.shape[:-1], len(self.varying)), elsewhere)
        wide[..., self.varying] = values
        return wide


def frame_of(X: Any, *, scale: bool, robust: bool, missing: str, n_components: int | None) -> Frame:
    """Prepare validated data.

    Parameters
    ----------
    X : array, sparse matrix or blocks
        As `validation.check_data` returns it.
    scale, robust, missing
        As in `GSPPCA`.
    n_components : int or None
        Dimension of the model that fills missing entries; None estimates it.
    """
    imputation = _imputed(X, n_components, scale) if missing == "impute" else None
    source = X if imputation is None else imputation.inflated()
    if isinstance(source, Blocks):
        source.memory = None  # that of another fit
    everything = as_matrix(source)
    check_magnitude(source, everything.column_squares)
    varying = check_varying(everything.column_squares)
    data = everything if varying.all() else everything.columns(varying)
    deviation = np.where(varying, np.sqrt(everything.column_squares / everything.n_samples), 1.0)
    return Frame(
        source,
        standardised(data) if scale else data,
        robust,
        varying,
        everything.mean,
        deviation,
        deviation if scale else None,
        imputation,
        X.dtype,
    )


def in_unit(matrix: Matrix) -> Matrix:
    """Divide the matrix by the root mean square of its entries."""
    unit = np.sqrt(matrix.total_squares / (matrix.n_samples * matrix.n_features))
    return matrix.scaled(np.full(matrix.n_features, 1 / unit))


def standardised(matrix: Matrix) -> Matrix:
    """Divide every column by its standard deviation; one that clipping has made constant stays as it is."""
    deviations = np.sqrt(matrix.column_squares / matrix.n_samples)
    return matrix.scaled(1 / np.where(deviations > 0, deviations, 1.0))


def _imputed(X: Any, n_components: int | None, scale: bool) -> Imputation:
    """Fit the model that fills the gaps of X: nan in a dense array."""
    if not isinstance(X, np.ndarray):
        raise ValueError(
            f"missing='impute' needs a dense array in memory, not sparse or in blocks, got {type(X).__name__}. "
            "Set missing='error', or convert X."
        )
    tell("missing entries", 0)
    if n_components is None:
        gaps = np.isnan(X)
        with np.errstate(invalid="ignore"):
            means = np.nansum(X, axis=0) / np.maximum((~gaps).sum(axis=0), 1)
        n_components = estimate_n_components(np.where(gaps, means, X))
    else:
        check_n_components(n_components, *X.shape)
    return impute(X, n_components, standardise=scale)
