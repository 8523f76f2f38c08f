"""The data sets that experiments run on, by name. Yours too: `register_data`."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

Maker = Callable[..., Any]
OwnData = dict[str, Maker]

_DATA: dict[str, Maker] = {}
_BUILT_IN: set[str] = set()


def register_data(name: str, maker: Maker) -> None:
    """Add a data set to those that experiments can use.

    Parameters
    ----------
    name : str
        Its name in the tables.
    maker : callable
        For simulations: ``maker(random_state=seed, **parameters)`` returns an object with ``X``, ``support`` (one
        boolean per column) and ``n_components``, such as `gsppca.datasets.Simulated`. For real data: ``maker()``
        returns a `gsppca.datasets.Dataset`. Columns need not be shuffled: every method sees them in a random order.

    Examples
    --------
    >>> from gsppca.datasets import make_introductory
    >>> from gsppca.experiments import register_data
    >>> def little_noise(random_state, n):
    ...     return make_introductory(n_samples=n, noise_variance=0.01, random_state=random_state)
    >>> register_data("little-noise", little_noise)
    """
    _DATA[name] = maker


def get_data(name: str) -> Maker:
    """Return the maker registered under a name, or the function that "module:attribute" points at."""
    if name in _DATA:
        return _DATA[name]
    module, _, attribute = name.partition(":")
    if attribute:
        maker: Maker = getattr(importlib.import_module(module), attribute)
        return maker
    raise ValueError(
        f"data must be one of {', '.join(sorted(_DATA))}, or 'module:function', got {name!r}. "
        "Register yours with gsppca.experiments.register_data."
    )


def own_data() -> OwnData:
    """Makers that a user registered: worker processes must be told of them."""
    return {name: maker for name, maker in _DATA.items() if name not in _BUILT_IN}


def adopt_data(makers: OwnData) -> None:
    """Register makers that another process knows."""
    _DATA.update(makers)


def _simulation(function: str) -> Maker:
    """Maker of a simulation of `gsppca.datasets`, with the short names of the tables."""
    names = {"n": "n_samples", "p": "n_features", "d": "n_components", "q": "n_relevant"}

    def make(random_state: Any = None, **parameters: Any) -> Any:
        datasets = importlib.import_module("gsppca.datasets")
        given = {names.get(name, name): value for name, value in parameters.items() if value is not None}
        return getattr(datasets, function)(random_state=random_state, **given)

    return make


def _scanb() -> Any:
    from gsppca.datasets import load_scanb

    return load_scanb()


def _vdx() -> Any:
    """The paper's own genes, for those who have vdx.rda of the R package in GSPPCA_DATA."""
    from gsppca.datasets import data_file, load_reactome, load_vdx

    return load_vdx(data_file("vdx.rda"), load_reactome(), missing="drop")


def _vdx_subset() -> Any:
    from gsppca.datasets import load_vdx_subset

    return load_vdx_subset()


def _register_built_in() -> None:
    register_data("introductory", _simulation("make_introductory"))
    register_data("noise-range", _simulation("make_noise_range"))
    register_data("model-selection", _simulation("make_model_selection"))
    register_data("noise-only", _simulation("make_noise"))
    register_data("strengths", _simulation("make_strengths"))
    register_data("SCAN-B", _scanb)
    register_data("VDX", _vdx)
    register_data("VDX-subset", _vdx_subset)
    _BUILT_IN.update(_DATA)


_register_built_in()
