"""Warnings of this library."""


class NoStructureWarning(UserWarning):
    """No common structure stands out of the noise: what is selected may mean nothing."""
