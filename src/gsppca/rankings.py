"""The rankings an estimator follows: one, or several among which the evidence chooses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gsppca._typing import BoolArray, FloatArray
from gsppca.core.communality import leave_one_out_r2
from gsppca.core.knockoffs import select_by_fdr
from gsppca.core.noise_path import noise_path
from gsppca.core.ranking import rank_by_score, rank_variables
from gsppca.core.soft_path import soft_path
from gsppca.core.state import NoisePath, Ranking, RelaxedFit
from gsppca.data import Matrix, as_matrix
from gsppca.data.shadows import add_shadows
from gsppca.progress import tell
from gsppca.selection import Frame


@dataclass(frozen=True)
class Ranked:
    """What ranking the variables gave.

    Attributes
    ----------
    rankings : tuple of Ranking
        To be compared by the evidence.
    relaxed : RelaxedFit or None
        The run of the variational EM, if there was one.
    noise_path : NoisePath or None
        The first noise path, if there was one.
    size : int or None
        How many variables pass a rule that is not the evidence's.
    nothing_passes : bool
        Whether no variable passes this rule; `size` is then 1.
    """

    rankings: tuple[Ranking, ...]
    relaxed: RelaxedFit | None = None
    noise_path: NoisePath | None = None
    size: int | None = None
    nothing_passes: bool = False


def vem_ranking(fit: RelaxedFit, column_squares: FloatArray) -> Ranked:
    """By the relevances of the relaxed model."""
    order = rank_variables(fit.relevance, fit.explained, column_squares)
    return Ranked((Ranking(order, fit.relevance, "vem", fit.n_iter),), relaxed=fit)


def noise_path_rankings(matrix: Matrix, n_components: int, *, own_noise: bool, several: bool) -> Ranked:
    """By the noise path, and, for the evidence to choose from, on standardised columns and by the soft path.

    Parameters
    ----------
    matrix : Matrix
        The centred data.
    n_components : int
    own_noise : bool
        Whether the evidence gives every variable a noise variance of its own: standardised columns then rank too.
    several : bool
        Whether the evidence can compare rankings.
    """
    path = _told_noise_path(matrix, n_components)
    rankings = [_by_score(path.score, matrix, "noise-path", len(path.levels))]
    scaled = matrix
    if several and own_noise:
        scaled = matrix.scaled(1 / np.sqrt(matrix.column_squares / matrix.n_samples))
        again = _told_noise_path(scaled, n_components)
        rankings.append(_by_score(again.score, scaled, "noise-path, standardised", len(again.levels)))
    if several and scaled.n_features > scaled.n_samples:
        tell("soft path", 0)
        score, n_iter = soft_path(scaled, n_components)
        rankings.append(_by_score(np.log(score), scaled, "soft-path", n_iter))
    return Ranked(tuple(rankings), noise_path=path)


def fdr_ranking(frame: Frame, n_components: int, fdr: float, n_draws: int, rng: np.random.Generator) -> Ranked:
    """By the competition of every variable with its shadow (`core.knockoffs`)."""
    done = 0

    def paired_scores(rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        nonlocal done
        doubled = add_shadows(frame.source, rng)
        matrix = as_matrix(doubled.X)
        varying = matrix.column_squares > 0
        matrix = matrix if varying.all() else matrix.columns(varying)
        if frame.ranked.column_scale is not None:
            matrix = matrix.scaled(1 / np.sqrt(matrix.column_squares / matrix.n_samples))
        scores = np.full(len(varying), -np.inf)
        scores[varying] = noise_path(matrix, n_components).score
        done += 1
        tell("shadow variables", done, n_draws)
        return doubled.split(scores)

    answer = select_by_fdr(paired_scores, fdr, n_draws, rng)
    path = _told_noise_path(frame.ranked, n_components)
    selected = answer.selected[frame.varying]
    # The selected first, in the order of their scores; a shadow that wins puts its variable behind.
    order = np.lexsort((-path.score, ~selected))
    ranking = Ranking(order, _unit(path.score), "fdr", len(path.levels))
    return _passing(ranking, selected, path)


def r2_ranking(frame: Frame, n_components: int, min_r2: float) -> Ranked:
    """By the share of each variable that factors of the others explain (`core.communality`)."""
    share = leave_one_out_r2(frame.ranked, n_components, adjusted=True)
    order = rank_by_score(share, frame.ranked.column_squares)
    return _passing(Ranking(order, np.clip(share, 0, 1), "r2", 1), share >= min_r2, None)


def _passing(ranking: Ranking, passes: BoolArray, path: NoisePath | None) -> Ranked:
    count = int(np.count_nonzero(passes))
    return Ranked((ranking,), noise_path=path, size=max(count, 1), nothing_passes=count == 0)


def _told_noise_path(matrix: Matrix, n_components: int) -> NoisePath:
    return noise_path(
        matrix,
        n_components,
        progress=lambda done, most, alive: tell("noise path", done, most, f"{alive} of {matrix.n_features} active"),
    )


def _by_score(score: FloatArray, matrix: Matrix, name: str, n_iter: int) -> Ranking:
    return Ranking(rank_by_score(score, matrix.column_squares), _unit(score), name, n_iter)


def _unit(log_score: FloatArray) -> FloatArray:
    """Scores on a log scale, relative to the largest."""
    return np.exp(log_score - log_score.max())
