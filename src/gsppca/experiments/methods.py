"""The methods that are compared, by name. Yours too: `register_method`.

A method is a factory: called with the number of components, the number of variables to select (None: by its own rule)
and a seed, it returns an object with ``fit(X)`` and, after that, ``support_``.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gsppca._typing import BoolArray, FloatArray

Factory = Callable[[int, int | None, int], Any]


@dataclass(frozen=True)
class Method:
    """A method of variable selection.

    Attributes
    ----------
    name, label : str
        Its name in tables of rows and on the command line; its name on the page.
    factory : callable
        ``factory(n_components, size, seed)`` returns an object with ``fit(X)`` and ``support_``.
    nested : bool
        Whether supports of all sizes are read off one fit: the variables with ``ranking_ <= size``.
    """

    name: str
    label: str
    factory: Factory
    nested: bool = False

    def supports(self, X: FloatArray, n_components: int, sizes: Sequence[int], seed: int) -> list[BoolArray]:
        """Supports of the given sizes, in the column order of X; the columns are permuted for the fit."""
        order = column_order(X.shape[1], seed)
        shuffled = X[:, order]
        if self.nested:
            model = self.factory(n_components, max(sizes), seed).fit(shuffled)
            return [_back(np.asarray(model.ranking_) <= size, order) for size in sizes]
        fits = (self.factory(n_components, size, seed).fit(shuffled) for size in sizes)
        return [_back(model.support_, order) for model in fits]

    def select(self, X: FloatArray, n_components: int, size: int | None, seed: int) -> tuple[BoolArray, Any]:
        """Support of a given size, or of the method's own choice; and the model, fitted to permuted columns."""
        order = column_order(X.shape[1], seed)
        model = self.factory(n_components, size, seed).fit(X[:, order])
        return _back(model.support_, order), model


def column_order(n_features: int, seed: int) -> np.ndarray[Any, np.dtype[np.intp]]:
    """Order in which a method sees the columns.

    A method that breaks ties by position must not profit from relevant variables that come first, or from genes in
    alphabetical order, where families stand together.
    """
    return np.random.default_rng([seed, n_features]).permutation(n_features)


def _back(support: Any, order: np.ndarray[Any, np.dtype[np.intp]]) -> BoolArray:
    found = np.zeros(order.size, dtype=bool)
    found[order] = np.asarray(support, dtype=bool)
    return found


_METHODS: dict[str, Method] = {}
_BUILT_IN: set[str] = set()


def register_method(name: str, factory: Factory, label: str | None = None, *, nested: bool = False) -> Method:
    """Add a method to those that experiments can compare.

    Parameters
    ----------
    name : str
        Its name in the tables.
    factory : callable
        ``factory(n_components, size, seed)`` returns an object with ``fit(X)`` that sets ``support_``, one boolean per
        column; `size` is the number of variables to select, None for the method's own rule.
    label : str, optional
        Its name on the page; `name` by default.
    nested : bool, default=False
        Whether the fitted object has ``ranking_`` (1 for the most relevant), so that all sizes need one fit.

    Returns
    -------
    Method

    Examples
    --------
    >>> from gsppca.experiments import register_method
    >>> class Large:
    ...     def fit(self, X):
    ...         self.support_ = X.var(axis=0) > 2
    ...         return self
    >>> register_method("large-variance", lambda n_components, size, seed: Large()).label
    'large-variance'
    """
    _METHODS[name] = Method(name, label or name, factory, nested)
    return _METHODS[name]


def get_method(name: str) -> Method:
    """Return the method registered under a name, or the factory that "module:attribute" points at."""
    if name in _METHODS:
        return _METHODS[name]
    module, _, attribute = name.partition(":")
    if attribute:
        return Method(name, attribute, getattr(importlib.import_module(module), attribute))
    raise ValueError(
        f"method must be one of {', '.join(sorted(_METHODS))}, or 'module:factory', got {name!r}. "
        "Register yours with gsppca.experiments.register_method."
    )


def method_names() -> list[str]:
    """Names of the registered methods."""
    return list(_METHODS)


def label_of(name: str) -> str:
    """Name of a method on the page; its own if it is not registered here."""
    return _METHODS[name].label if name in _METHODS else name


def own_methods() -> tuple[Method, ...]:
    """Methods that a user registered: worker processes must be told of them."""
    return tuple(method for name, method in _METHODS.items() if name not in _BUILT_IN)


def adopt(methods: Sequence[Method]) -> None:
    """Register methods that another process knows."""
    _METHODS.update({method.name: method for method in methods})


def paper_procedure(n_components: int, size: int | None, seed: int, **changes: Any) -> Any:
    """GSPPCA as the paper has it; `changes` are parameters of `Paper`."""
    from gsppca import GSPPCA, Paper

    wanted: Any = "auto" if size is None else size
    return GSPPCA(n_components, method=Paper(**changes), n_features_to_select=wanted, random_state=seed)


def own_procedure(**arguments: Any) -> Factory:
    """Factory of GSPPCA with the given arguments, and everything "auto" that is not given."""

    def make(n_components: int, size: int | None, seed: int) -> Any:
        from gsppca import GSPPCA

        wanted = {} if size is None else {"n_features_to_select": size}
        return GSPPCA(n_components, random_state=seed, **(arguments | wanted))

    return make


def _baseline(class_name: str, n_components: int | None = None, **arguments: Any) -> Factory:
    """Factory of a competitor; `n_components` overrides that of the experiment."""

    def make(dimension: int, size: int | None, seed: int) -> Any:
        baselines = importlib.import_module("gsppca.baselines")
        wanted = dimension if n_components is None else n_components
        number = "auto" if size is None else size
        given = arguments if size is None else {}
        return getattr(baselines, class_name)(wanted, number, random_state=seed, **given)

    return make


def _register_built_in() -> None:
    # The paper's SPCA and tPCA select with their first axis; with d axes they are "-d".
    register_method("gsppca-paper", paper_procedure, "GSPPCA", nested=True)
    register_method("gsppca-joint", own_procedure(), "GSPPCA, joint method")
    register_method("spca", _baseline("SPCA", n_components=1), "SPCA")
    register_method("spca-d", _baseline("SPCA"), "SPCA, d axes")
    register_method("sspca", _baseline("SSPCA"), "SSPCA")
    register_method("vsnpca", _baseline("VsnPCA"), "vsnPCA-l0")
    register_method("svnpca", _baseline("SvnPCA"), "svnPCA-l1")
    # Two standard deviations of the loadings: the usual reading of the rule that the paper cites for genes.
    two_sd = {"threshold": 2.0, "threshold_unit": "std"}
    register_method("tpca", _baseline("ThresholdedPCA", n_components=1, **two_sd), "tPCA", nested=True)
    register_method("variance", _baseline("VarianceRanking"), "variance rule", nested=True)
    register_method("pca", _baseline("PlainPCA"), "PCA, all variables")
    _BUILT_IN.update(_METHODS)


_register_built_in()
