"""The forward selections on all rows and without each fold: how they begin, and how they go on together."""

from __future__ import annotations

from copy import copy

import numpy as np

from gsppca._typing import BoolArray, FloatArray, IntArray
from gsppca.data.base import Matrix
from gsppca.data.folds import MANY_ROWS
from gsppca.linalg.nested import LARGEST_GRAM
from gsppca.rules.by_rows import FromOuterGram, Iterated
from gsppca.rules.deal import n_folds
from gsppca.rules.fold_grams import FromGrams
from gsppca.rules.forward import Forward, blocks
from gsppca.rules.listing import NEAR, listed, look, near_the_best
from gsppca.rules.parts import Part, Targets
from gsppca.rules.pool import Pool
from gsppca.rules.training import Decomposition

MOST_STEPS = 128  # variables that the forward selection chooses, beyond those to be included
COMPLETE = 1024  # variables that are all in the pool
LOOKS = (4, 12, 36)  # choices after which a pool of some variables is made anew
MOST_TIMES = 8  # as many variables as usual are listed, where many are copies
LARGEST_ORDER = 2048  # smaller side of the data up to which its Gram matrix is formed
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
        self.places, n = np.flatnonzero(used), matrix.n_samples
        deviations = np.sqrt(matrix.column_squares / n)
        self.everything = matrix.scaled(1 / np.where(deviations > 0, deviations, np.inf))  # a constant one is nothing
        units = np.ones(len(self.places)) if standardise else deviations[used]
        targets = Targets(self.everything, self.places, relevant[used], units)
        most = max(n - -(-n // n_folds(n)) - 1, 1)  # that the training rows of a fold have
        self.decomposition = decompose(targets, min(n_components, most, int(relevant.sum())))
        self.allowed = ~np.isin(self.places, exclude)
        self.first = np.flatnonzero(np.isin(self.places, include))
        self.sparse = int(relevant.sum()) <= SPARSE * len(relevant)
        self.relevance = None if relevance is None else relevance[used]
        self.most = min(len(self.first) + MOST_STEPS, int(self.allowed.sum()))

    @property
    def n_components(self) -> int:
        """How many components there are: those asked for, or as many as the training rows of a fold have."""
        return self.decomposition.n_components

    def selections(self, fold: IntArray | None) -> Selections:
        """Begin a forward selection on all rows, and one without each fold."""
        forwards: list[Forward] = []
        ties: FloatArray = np.empty((0, len(self.places)))
        for part in self.decomposition.parts(fold):
            forward = Forward(part, self.allowed, self.sparse, self.relevance)
            ties = self._ties(part) if not forwards else ties
            if len(self.places) > COMPLETE and part.again is not None:  # now: it will hold less of its part
                look(forward, ties, self.most, self.first)
            forwards.append(forward)
            del part  # before the next is made
        return Selections(self, forwards, ties)

    def _ties(self, part: Part) -> FloatArray:
        """What decides between equal variables, largest first, shape (n_keys, n_used).

        Columns that are equal on the rows of one selection may differ on others, or before they were clipped.
        """
        keys = [np.square(part.moments(some)).sum(axis=0) for some in blocks(len(self.places))]
        ties = np.concatenate(keys)[None]
        return ties if self.relevance is None else np.vstack([ties, self.relevance])


class Selections:
    """Forward selections that go together, and the pool that they choose from.

    Parameters
    ----------
    task : Task
        The data.
    forwards : list of Forward
        The selections: on all rows, and without each fold.
    ties : ndarray of shape (n_keys, n_features)
        What decides between equal variables, largest first.

    What one of them chooses does not depend on the others, nor on whether it goes with them.

    Attributes
    ----------
    pool : Pool or None
        None before the first choice.
    lists : ndarray of shape (n_selections, n_features), bool
        The variables that each of them chooses from.
    times : ndarray of shape (n_selections,)
        How many times as many variables as usual each of them has listed.
    """

    def __init__(self, task: Task, forwards: list[Forward], ties: FloatArray):
        self.task, self.forwards, self.numbers = task, forwards, slice(0, len(forwards))
        self.pool: Pool | None = None
        self.lists = np.ones((len(forwards), len(task.places)), dtype=bool)
        self.times, self.next_look = np.ones(len(forwards), dtype=np.intp), task.most
        self.ties = ties

    @property
    def n_chosen(self) -> int:
        """How many variables each of them has chosen."""
        return len(self.forwards[0].order)

    def of(self, some: slice) -> Selections:
        """Some of them, which go on without the others."""
        own, start = copy(self), self.numbers.start
        own.forwards, own.numbers = self.forwards[some], slice(start + some.start, start + some.stop)
        own.lists, own.times = self.lists[some].copy(), self.times[some].copy()
        own.pool = None if self.pool is None else self.pool.of(some)
        return own

    def advance(self, count: int) -> None:
        """Choose some variables in each of them."""
        end = min(self.n_chosen + count, self.task.most)
        while self.n_chosen < end:
            wanting, spent = self._wanting()
            if wanting.any():
                self.pool = None  # so that only one is held
                self.pool = self._new_pool(wanting, spent)
            assert self.pool is not None
            self.pool.advance(min(end, self.next_look) - self.n_chosen)

    def _wanting(self) -> tuple[BoolArray, BoolArray]:
        """Which of them have to list variables now, and which because what they had listed is spent."""
        spent = np.zeros(len(self.forwards), dtype=bool) if self.pool is None else self.pool.spent
        if self.pool is None or self.n_chosen == self.next_look:
            return np.ones(len(self.forwards), dtype=bool), spent
        return self.pool.wanting, spent

    def _new_pool(self, wanting: BoolArray, spent: BoolArray) -> Pool:
        """Make a pool of all variables, or of what is worth it."""
        task, some = self.task, len(self.task.places) > COMPLETE
        for i in np.flatnonzero(wanting):
            if not self.forwards[i].allowed.any():
                self.forwards[i].allow_copies()
            if some:
                # Lists that were spent hold many copies.
                self.times[i] = min(2 * self.times[i], MOST_TIMES) if spent[i] else 1
                self.lists[i] = listed(self.forwards[i], self.ties, task.most, int(self.times[i]), task.first)
        variables = np.flatnonzero(self.lists.any(axis=0))
        some = not self.lists.all()  # lists of all variables, be they copies, need not be made anew
        self.next_look = min([size for size in LOOKS if some and size > self.n_chosen], default=task.most)
        longer = (lambda most: self._longer(variables, most)) if some else None
        products = task.decomposition.among(variables, longer)
        return Pool(self.forwards, self.numbers, self.lists, variables, products, self.ties, task.first, task.most)

    def _longer(self, variables: IntArray, most: int) -> IntArray:
        """Some variables and what longer lists would hold, at most as many, or these variables alone."""
        found = variables
        for times in range(2, NEAR + 1):
            others = [near_the_best(forward, self.ties, self.task.most, times) for forward in self.forwards]
            more = np.union1d(variables, np.concatenate(others))
            if len(more) > most:
                break
            found = more
        return found


def decompose(targets: Targets, n_components: int) -> Decomposition:
    """Choose how axes of all rows, and of parts of them, are found: by the shape of the data alone.

    Parameters
    ----------
    targets : Targets
        The data.
    n_components : int
        How many axes; at most the smaller side of the smallest part.
    """
    n, p = targets.everything.n_samples, int(targets.relevant.sum())
    if n > MANY_ROWS and len(targets.places) * targets.everything.n_features <= LARGEST_GRAM**2:
        return FromGrams(targets, n_components)
    if min(n, p) > LARGEST_ORDER:
        return Iterated(targets, n_components)
    return FromOuterGram(targets, n_components) if n < p else FromGrams(targets, n_components)
