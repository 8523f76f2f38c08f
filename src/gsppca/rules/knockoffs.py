"""How many variables: as many as keep the share of false ones below a target (knockoffs by permutation).

A variable is *null* when it is independent of all others. Beside every variable competes a shadow of it, a copy whose
rows are permuted (`gsppca.data.shadows`). For a null variable the two are exchangeable, given everything else:
whichever scores higher is a fair coin, independent of all other coins and of how high the score is. So shadows that
win are as frequent as null variables that win, and counting the one bounds the other. Nothing is assumed of the law of
the data but that rows are exchangeable, nor of the scores.

    W_k  = +- rank of the higher score of the pair, positive if the variable has it, negative if its shadow has
    T    = min { t > 0 : (1 + #{W <= -t}) / max(1, #{W >= t}) <= fdr },     selected: W >= T

(knockoff+; Barber & Candès 2015), and the expected share of null variables among the selected is at most fdr. Ranks
stand for scores, since only their order matters; a pair that ties gets W = 0 and is never selected.

Several draws of the permutations are combined by e-values (Ren & Barber 2024): with p variables, the mean over draws of

    e_k = p 1{W_k >= T} / (1 + #{W <= -T}),        sum over the null variables of E e_k <= p,

goes to the Benjamini-Hochberg procedure for e-values, which keeps the guarantee whatever the dependence between draws.
The mean of W would not: its signs are no coins any more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from gsppca._typing import BoolArray, FloatArray, IntArray

PairedScores = Callable[[np.random.Generator], tuple[FloatArray, FloatArray]]

# With several draws each filters at a share of the level: the mean of e-values that are just large enough is too small.
# Half of it, the usual choice, needs 2/fdr variables to find any; 0.8 finds as many of 40, and more of 20 (docs).
SHARE = 0.8
ROUNDING = 1e-12  # of the product of a level and a count, which may stand for an equality


@dataclass(frozen=True)
class KnockoffSelection:
    """Variables selected with a bound on the share of false ones.

    Attributes
    ----------
    selected : ndarray of bool, shape (n_features,)
        The selected variables: not always the first ones of a ranking, and possibly none.
    e_values : ndarray of shape (n_features,)
        Evidence against "this variable is independent of all others", mean over the draws; it has expectation at
        most 1 on average over the null variables. 0 if no draw selected the variable.
    statistics : ndarray of shape (n_draws, n_features)
        W of each draw.
    thresholds : ndarray of shape (n_draws,)
        T of each draw, infinite if nothing was selected.
    """

    selected: BoolArray
    e_values: FloatArray
    statistics: IntArray
    thresholds: FloatArray


def select_by_fdr(paired_scores: PairedScores, fdr: float, n_draws: int, rng: np.random.Generator) -> KnockoffSelection:
    """Select variables such that the expected share of null ones among them is at most `fdr`.

    Parameters
    ----------
    paired_scores : callable
        Draws shadows with the generator it gets, scores all columns together, and returns the scores of the variables
        and of their shadows, each of shape (n_features,)::

            def paired_scores(rng):
                doubled = add_shadows(X, rng)
                return doubled.split(score(doubled.X))

        Scores may be infinite; larger means more relevant.
    fdr : float
        Target, between 0 and 1. Fewer than ``1 / fdr`` variables cannot be told from none.
    n_draws : int
        1 runs knockoff+ itself. More make the selection depend less on the draw, at the price of some power when
        few more than ``1 / fdr`` variables are relevant.
    rng : Generator
        Draws the shadows.
    """
    statistics = np.array([pair_statistics(*paired_scores(rng)) for _ in range(n_draws)])
    level = fdr if n_draws == 1 else SHARE * fdr
    thresholds = np.array([knockoff_threshold(w, level) for w in statistics])
    draws = [draw_e_values(w, t) for w, t in zip(statistics, thresholds, strict=True)]
    e_values = np.mean(draws, axis=0)
    return KnockoffSelection(e_bh(e_values, fdr), e_values, statistics, thresholds)


def pair_statistics(own: FloatArray, shadow: FloatArray) -> IntArray:
    """W: the rank of the higher score of each pair, from 1 up, equal ones sharing theirs; negative if the shadow's.

    Parameters
    ----------
    own, shadow : ndarray of shape (n_features,)
        Scores of the variables and of their shadows, not nan.
    """
    if np.isnan(own).any() or np.isnan(shadow).any():
        raise ValueError(
            f"The scores must be numbers, got nan for {int(np.isnan(own).sum())} variable(s) and "
            f"{int(np.isnan(shadow).sum())} shadow(s). Give -inf to those that are not relevant at all."
        )
    ranks = np.unique(np.maximum(own, shadow), return_inverse=True)[1].ravel() + 1
    return ranks * ((own > shadow).astype(np.intp) - (own < shadow))


def knockoff_threshold(statistics: IntArray, fdr: float) -> float:
    """T of knockoff+: the smallest at which at most a share `fdr` of the selected is estimated to be false, or inf."""
    candidates = np.unique(np.abs(statistics[statistics != 0]))
    ascending = np.sort(statistics)
    above = len(ascending) - np.searchsorted(ascending, candidates, side="left")
    below = np.searchsorted(ascending, -candidates, side="right")
    fine = np.flatnonzero(1 + below <= fdr * np.maximum(above, 1) * (1 + ROUNDING))
    return float(candidates[fine[0]]) if len(fine) else np.inf


def draw_e_values(statistics: IntArray, threshold: float) -> FloatArray:
    """E-values of one draw; zero for what it does not select."""
    return len(statistics) * (statistics >= threshold) / (1.0 + np.count_nonzero(statistics <= -threshold))


def e_bh(e_values: FloatArray, fdr: float) -> BoolArray:
    """Select the k largest e-values, k the largest number for which they are all at least ``p / (fdr k)``.

    Equal e-values are selected together or not at all.
    """
    p = len(e_values)
    descending = -np.sort(-e_values)
    fine = np.flatnonzero(fdr * np.arange(1, p + 1) * descending * (1 + ROUNDING) >= p)
    return e_values >= descending[fine[-1]] if len(fine) else np.zeros(p, dtype=bool)
