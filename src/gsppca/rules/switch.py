"""Whether the relevant variables are the answer, or their core is.

Where most variables are noise, the relevant ones are what was asked for, and nothing may be left out of them. Two
kinds of data have a long list of relevant variables that nobody can use:

1. Dense data, in which more than half of the variables are relevant.
2. Data with a long tail, such as word counts: with enough rows every faint association becomes relevant, and how many
   are is a matter of the number of rows. The relevant variables are then many times as many as their core, *and* a
   typical one has little in common with it. Both must hold: a block of strong variables that repeat one factor is a
   finding, however many they are; and so is a short list of faint ones.
"""

from __future__ import annotations

import numpy as np

from gsppca._typing import BoolArray
from gsppca.rules.core import CoreFit

MOST = 0.5  # of all variables
MANY_TIMES = 10  # as many relevant variables as in the core
FAINT = 0.2  # share of a typical related variable that the core predicts


def prefers_core(fit: CoreFit, relevant: BoolArray) -> bool:
    """Whether the core is to be selected, and not all relevant variables.

    Parameters
    ----------
    fit : CoreFit
        Of the relevant variables.
    relevant : ndarray of shape (n_features,), bool
        The relevant variables, at least one.
    """
    n_relevant = int(relevant.sum())
    if n_relevant > MOST * len(relevant):
        return True
    related = relevant.copy()
    related[fit.core] = False
    if n_relevant < MANY_TIMES * fit.size or not related.any():
        return False
    return bool(np.median(fit.predicted[related]) < FAINT)
