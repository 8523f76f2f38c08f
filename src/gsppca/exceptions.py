"""Warnings of this library."""


class NoStructureWarning(UserWarning):
    """No common structure stands out of the noise: what is selected may mean nothing."""


class MostVariablesWarning(UserWarning):
    """More than half of the variables are selected: right, perhaps, but hardly what was asked for."""
