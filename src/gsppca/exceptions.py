"""Warnings of this library."""


class NoStructureWarning(UserWarning):
    """No statistically supported structure was found: what is selected may mean nothing."""


class MostVariablesWarning(UserWarning):
    """Most variables are relevant: their core was selected instead."""


class SmallSampleWarning(UserWarning):
    """There are too few samples for what was asked."""
