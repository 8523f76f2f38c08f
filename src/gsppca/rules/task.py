"""The forward selections on all rows and without each fold: how they begin, and how they go on together."""

from __future__ import annotations

import numpy as np

from gsppca._typing import BoolArray, FloatArray, IntArray
from gsppca.data.base import Matrix
from gsppca.data.folds import MANY_ROWS
from gsppca.linalg.nested import LARGEST_GRAM
from gsppca.rules.candidates import candidates
from gsppca.rules.choices import Pool, choose
from gsppca.rules.fold_grams import FromFoldGrams
from gsppca.rules.forward import EXACT, Forward
from gsppca.rules.parts import Targets
from gsppca.rules.shrinkage import LEAST_SHRINKAGE
from gsppca.rules.training import Decomposition, decompose

N_FOLDS = 5
MOST_STEPS = 128  # variables that the forward selection chooses, beyond those to be included
BATCH = 16  # variables chosen at once, at most
LATE, LATE_BATCH = 64, 64  # on all rows, after so many: the selections without a fold are mostly at their end by then
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
        most = max(n - -(-n // N_FOLDS) - 1, 1)  # that the training rows of a fold have
        self.decomposition = self._decomposed(targets, min(n_components, most, int(relevant.sum())))
        self.allowed = ~np.isin(self.places, exclude)
        self.first = np.flatnonzero(np.isin(self.places, include))
        self.sparse = int(relevant.sum()) <= SPARSE * len(relevant)
        self.relevance = None if relevance is None else relevance[used]
        self.most = min(len(self.first) + MOST_STEPS, int(self.allowed.sum()))

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
        forwards: list[Forward] = []
        for part in self.decomposition.parts(fold):
            if not forwards:
                # Columns that are equal on the rows of one selection may differ on others, or before they were clipped.
                ties = np.einsum("kp,kp->p", part.moments, part.moments)[None]
                ties = ties if self.relevance is None else np.vstack([ties, self.relevance])
            shrinkage = max(LEAST_SHRINKAGE, part.shrinkage)
            forwards.append(Forward(part, shrinkage, self.allowed, ties, self.sparse, self.relevance))
        return forwards

    def advance(self, forwards: list[Forward]) -> None:
        """Choose a batch of variables in each selection that is not at its end."""
        forwards = [forward for forward in forwards if len(forward.order) < self.most]
        self.catch_up(forwards)
        if len(self.first) and not forwards[0].order:  # what is to be included enters first, everywhere
            own: list[tuple[IntArray, int | None]] = [(self.first, None)] * len(forwards)
        else:
            counts = [self._count(forward) for forward in forwards]
            own = list(zip(candidates(forwards, counts), counts, strict=True))
        wanted = np.unique(np.concatenate([variables for variables, _ in own]))
        columns = self.decomposition.columns(wanted)
        pools = [
            Pool(forward, variables, columns[:, np.searchsorted(wanted, variables)], count)
            for forward, (variables, count) in zip(forwards, own, strict=True)
        ]
        choose(pools)

    def catch_up(self, forwards: list[Forward]) -> None:
        """Update all variables for the last choices of each selection: what comes after the last batch is not asked."""
        waiting = [(forward, forward.chosen) for forward in forwards if forward.chosen is not None]
        if waiting:
            inside = [forward.columns.inside(chosen) for forward, chosen in waiting]
            for (forward, _), products in zip(waiting, self.decomposition.products(inside), strict=True):
                forward.absorb(products)

    def _count(self, forward: Forward) -> int:
        """How many variables a selection chooses next."""
        done = len(forward.order)
        if np.count_nonzero(forward.allowed) <= EXACT:  # all are candidates: nothing is lost
            return self.most - done
        on_all_rows = forward.n_rows == self.everything.n_samples
        return min(max(1, done), LATE_BATCH if on_all_rows and done >= LATE else BATCH, self.most - done)


def _standardised(matrix: Matrix) -> Matrix:
    """Divide every column by its standard deviation; a constant one is nothing."""
    deviations = np.sqrt(matrix.column_squares / matrix.n_samples)
    return matrix.scaled(1 / np.where(deviations > 0, deviations, np.inf))
