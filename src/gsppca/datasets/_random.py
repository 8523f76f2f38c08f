"""The random generator shared by the data sets."""

from __future__ import annotations

import numpy as np

from gsppca.checks import is_integer

# What every simulator accepts as `random_state`.
RandomState = int | np.integer | np.random.Generator | np.random.RandomState | np.random.SeedSequence | None


def as_generator(random_state: RandomState = None) -> np.random.Generator:
    """Return the numpy Generator that `random_state` stands for.

    Parameters
    ----------
    random_state : int, Generator, RandomState, SeedSequence or None
        An integer or a SeedSequence always gives the same stream. A Generator is used as it is, and a
        RandomState gives the seed: both advance, so that a second call draws other numbers. None draws
        fresh entropy.

    Returns
    -------
    numpy.random.Generator
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        # Four words seed the new stream: numpy before 2.2 cannot wrap a RandomState.
        return np.random.default_rng(random_state.randint(0, 2**31 - 1, size=4))
    if random_state is None or isinstance(random_state, np.random.SeedSequence):
        return np.random.default_rng(random_state)
    if is_integer(random_state) and random_state >= 0:
        return np.random.default_rng(int(random_state))
    raise ValueError(
        "random_state must be a non-negative integer, a numpy Generator, RandomState or SeedSequence, or None, "
        f"got {random_state!r}. Pass for example random_state=0."
    )
