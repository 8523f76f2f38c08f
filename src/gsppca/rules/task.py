"""The forward selections on all rows and without each fold: how they begin, and how they go on together."""

from __future__ import annotations

import numpy as np

from gsppca._typing import BoolArray, FloatArray, IntArray
from gsppca.data.base import Matrix
from gsppca.data.folds import MANY_ROWS
from gsppca.linalg.nested import LARGEST_GRAM
from gsppca.rules.by_rows import FromOuterGram, Iterated
from gsppca.rules.deal import n_folds
from gsppca.rules.fold_grams import FromFoldGrams
from gsppca.rules.forward import Forward, blocks
from gsppca.rules.listing import listed
from gsppca.rules.parts import Targets
from gsppca.rules.pool import Pool
from gsppca.rules.training import Decomposition, FromGrams

MOST_STEPS = 128  # variables that the forward selection chooses, beyond those to be included
COMPLETE = 1024  # variables that are all in the pool
LOOKS = (4, 12, 36)  # choices after which a pool of some variables is made anew
MOST_TIMES = 8  # as many variables as usual are listed, where many are copies
DIRECT_ORDER = 1024  # smaller side of the data up to which its Gram matrix is formed in any case
LARGEST_ORDER = 2048
SQUARE = 1.5  # rows for each column up to which one outer product takes less memory than six Gram matrices
SPARSE = 0.5  # of all variables: where fewer are relevant, most are noise


class Task:
    """The variables in question, and the data as the forward selections see it.

    Parameters are those of `core.find_core`.

    Attributes
    ----------
    everything : Matrix
        All variables, standardised.
    places : ndarray of shape (n_used,)
        Indices of the variables in question: the relevant ones, and those to be included.
    decomposition : Decomposition
        Principal axes and scores of the relevant ones.
    n_components : int
        How many, at most as many as the training rows of a fold, and the data, have.
    first : ndarray of int
        Places of the variables to be included.
    most : int
        How many variables a selection chooses.
    """

    def __init__(
        self,
        matrix: Matrix,
        relevant: BoolArray,
        n_components: int,
        include: IntArray,
        exclude: IntArray,
        relevance: FloatArray | None,
        standardise: bool,
    ):
        used = relevant.copy()
        used[include] = True
        self.places = np.flatnonzero(used)
        self.everything = _standardised(matrix)
        own = matrix if used.all() else matrix.columns(used)
        deviations = np.sqrt(own.column_squares / own.n_samples)
        standard = self.everything if used.all() else _standardised(own)
        targets = Targets(standard, relevant[used], np.ones(len(deviations)) if standardise else deviations)
        n = own.n_samples
        most = max(n - -(-n // n_folds(n)) - 1, 1)  # that the training rows of a fold have
        self.decomposition = self._decomposed(targets, min(n_components, most, int(relevant.sum())))
        self.allowed = ~np.isin(self.places, exclude)
        self.first = np.flatnonzero(np.isin(self.places, include))
        self.sparse = int(relevant.sum()) <= SPARSE * len(relevant)
        self.relevance = None if relevance is None else relevance[used]
        self.most = min(len(self.first) + MOST_STEPS, int(self.allowed.sum()))
        self.pool: Pool | None = None
        self.next_look, self.times = self.most, 1
        self.ties: FloatArray = np.empty((0, len(self.places)))

    @property
    def n_components(self) -> int:
        """How many components there are: those asked for, or as many as the training rows of a fold have."""
        return self.decomposition.n_components

    def _decomposed(self, targets: Targets, n_components: int) -> Decomposition:
        few = len(self.places) * self.everything.n_features <= LARGEST_GRAM**2
        if self.everything.n_samples > MANY_ROWS and few:
            return FromFoldGrams(targets, n_components, self.everything, self.places)
        return decompose(targets, n_components)

    def selections(self, fold: IntArray | None) -> list[Forward]:
        """Begin a forward selection on all rows, and one without each fold."""
        parts = self.decomposition.parts(fold)
        return [Forward(part, self.allowed, self.sparse, self.relevance) for part in parts]

    def advance(self, forwards: list[Forward], which: slice, count: int) -> None:
        """Choose some variables in some of the selections, those of a slice."""
        end = min(len(forwards[which][0].order) + count, self.most)
        while (done := len(forwards[which][0].order)) < end:
            spent = self.pool is not None and self.pool.is_spent(which)
            if self.pool is None or spent or self.pool.is_for_less(which) or self._is_time(done):
                # Lists that were spent hold many copies.
                self.times = min(2 * self.times, MOST_TIMES) if spent else 1
                self.pool = None  # so that only one is held
                self.pool = self._new_pool(forwards)
                self.next_look = min([size for size in LOOKS if size > done], default=self.most)
            self.pool.advance(which, (end if self.pool.complete else min(end, self.next_look)) - done)

    def _is_time(self, done: int) -> bool:
        return done == self.next_look and self.pool is not None and not self.pool.complete

    def _new_pool(self, forwards: list[Forward]) -> Pool:
        """Make a pool of all variables, or of what is worth it."""
        p = len(self.places)
        if not len(self.ties):
            # Columns that are equal on the rows of one selection may differ on others, or before they were clipped.
            squares = [np.square(forwards[0].part.moments(some)).sum(axis=0) for some in blocks(p)]
            self.ties = np.concatenate(squares)[None]
            self.ties = self.ties if self.relevance is None else np.vstack([self.ties, self.relevance])
        for forward in forwards:
            if not forward.allowed.any():
                forward.allow_copies()
        if p <= COMPLETE:
            lists: list[IntArray] = [np.arange(p)] * len(forwards)
        else:
            lists = [np.union1d(listed(forward, self.ties, self.most, self.times), self.first) for forward in forwards]
        variables = np.unique(np.concatenate(lists))
        products = self.decomposition.among(variables)
        return Pool(forwards, lists, variables, products, self.ties, self.first, self.most)


def decompose(targets: Targets, n_components: int) -> Decomposition:
    """Choose how axes of all rows, and of parts of them, are found: by the shape of the data alone.

    Parameters
    ----------
    targets : Targets
        The data.
    n_components : int
        How many axes; at most the smaller side of the smallest part.
    """
    n, p = targets.standard.n_samples, int(targets.relevant.sum())
    if min(n, p) > DIRECT_ORDER and min(n, p) > min(max(n, p) // 4, LARGEST_ORDER):
        return Iterated(targets, n_components)
    return FromOuterGram(targets, n_components) if n <= SQUARE * p else FromGrams(targets, n_components)


def _standardised(matrix: Matrix) -> Matrix:
    """Divide every column by its standard deviation; a constant one is nothing."""
    deviations = np.sqrt(matrix.column_squares / matrix.n_samples)
    return matrix.scaled(1 / np.where(deviations > 0, deviations, np.inf))
