"""The rule that controls the share of false discoveries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gsppca._typing import FloatArray
from gsppca.checks import check_count, check_number
from gsppca.parameters import Parameters
from gsppca.progress import tell
from gsppca.rankings.noise_path import noise_path
from gsppca.results import Chosen, Found
from gsppca.rules.knockoffs import select_by_fdr
from gsppca.rules.minimum_r2 import passing

if TYPE_CHECKING:
    from gsppca.frame import Frame


@dataclass(frozen=True, repr=False)
class FalseDiscoveryRate(Parameters):
    """Select as many variables as keep the expected share of false ones low: ``n_features_to_select="fdr"``.

    Every variable competes with a copy of itself whose rows are permuted (`rules.knockoffs`). A variable is false when
    it is independent of all others; nothing is assumed of the law of the data but that its rows are exchangeable.

    Parameters
    ----------
    level : float, default=0.1
        The expected share of selected variables that are independent of all others. Fewer than ``1 / level`` variables
        cannot be told from none.
    n_draws : int, default=1
        How often the permuted copies are drawn. More draws make the selection depend less on chance.
    """

    level: float = 0.1
    n_draws: int = 1

    def check(self) -> None:
        """Refuse values that no data could make right."""
        check_number("level", self.level, 0, 1, open_low=True)
        check_count("n_draws", self.n_draws, 1, advice="It is the number of draws of permuted copies.")

    def select(self, found: Found, frame: Frame, rng: np.random.Generator) -> Chosen:
        """Select what beats its permuted copy often enough."""
        done = 0

        def paired_scores(rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
            nonlocal done
            matrix, varying, doubled = frame.shadowed(rng)
            scores = np.full(len(varying), -np.inf)
            scores[varying] = noise_path(matrix, found.n_components).score
            done += 1
            tell("permuted copies", done, self.n_draws)
            return doubled.split(scores)

        answer = select_by_fdr(paired_scores, float(self.level), int(self.n_draws), rng)
        return passing(answer.selected[frame.varying], found, "fdr", f"a false discovery rate of {self.level:g}")
