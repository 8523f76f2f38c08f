"""Measures of the paper's experiments: of a selection, of a subspace, of selected genes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gsppca._masked import unmasked

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

# An axis whose part outside the previous ones is relatively smaller than this adds nothing to their span.
DEPENDENT = 1e-10


def precision(selected: ArrayLike, truth: ArrayLike) -> float:
    """Share of the selected variables that are relevant.

    `selected` and `truth` hold one boolean per variable. An empty selection has precision 1 if
    nothing is relevant, otherwise 0: selecting nothing is not rewarded.

    Examples
    --------
    >>> from gsppca.metrics import precision
    >>> precision([True, True, False], [True, False, False])
    0.5
    """
    hits, n_selected, n_relevant = _counts(selected, truth)
    return hits / n_selected if n_selected else float(n_relevant == 0)


def recall(selected: ArrayLike, truth: ArrayLike) -> float:
    """Share of the relevant variables that are selected.

    `selected` and `truth` hold one boolean per variable. If nothing is relevant, the empty
    selection has recall 1, any other 0.

    Examples
    --------
    >>> from gsppca.metrics import recall
    >>> recall([True, True, False], [True, False, False])
    1.0
    """
    hits, n_selected, n_relevant = _counts(selected, truth)
    return hits / n_relevant if n_relevant else float(n_selected == 0)


def f_score(selected: ArrayLike, truth: ArrayLike) -> float:
    """Harmonic mean of precision and recall: 2 |S & T| / (|S| + |T|); 1 if both sets are empty.

    `selected` and `truth` hold one boolean per variable.

    Examples
    --------
    >>> from gsppca.metrics import f_score
    >>> f_score([True, True, False, False], [True, False, False, True])
    0.5
    """
    hits, n_selected, n_relevant = _counts(selected, truth)
    total = n_selected + n_relevant
    return 2 * hits / total if total else 1.0


def adjusted_explained_variance(
    X: ArrayLike, axes: ArrayLike, n_components: int | None = None, *, center: bool = True
) -> FloatArray:
    """Percentage of variance in the span of the first 1, 2, ... axes (Shen & Huang 2008).

    With V the first k axes as columns, it is 100 tr(Y'Y) / tr(X'X), Y = X V (V'V)^-1 V'. The axes
    need be neither orthogonal nor independent: sparse ones are not, and sums of the variances of their
    scores count shared directions twice. For PCA's axes it is the cumulated explained variance ratio.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Data.
    axes : array of shape (n_components, n_features), or of bool, shape (n_features,)
        Axes in rows, as in scikit-learn's `components_`; or a support, whose axes are then those of the
        PCA of the selected columns (the variational renormalization of Moghaddam et al. 2006).
    n_components : int, optional
        How many axes to take; needed with a support, all of `axes` otherwise.
    center : bool
        Subtract the column means from X first.

    Returns
    -------
    ndarray of shape (n_components,)
        Never decreasing, between 0 and 100; constant from where the axes add nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from gsppca.metrics import adjusted_explained_variance
    >>> X = np.array([[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> adjusted_explained_variance(X, [[1.0, 0.0], [1.0, 1.0]]).tolist()
    [80.0, 100.0]
    """
    X = _matrix("X", X)
    X = X - X.mean(axis=0) if center else X
    given = np.asarray(unmasked(axes))
    if given.ndim == 1 and given.dtype == np.bool_:
        given = _support_axes(X, given.astype(bool), n_components)
    basis = _orthonormal(_axes(given, X.shape[1]))
    wanted = len(basis) if n_components is None else n_components
    if not 0 < wanted <= len(basis):
        raise ValueError(f"n_components must be from 1 to {len(basis)}, got {wanted!r}. It counts the axes given.")
    total = np.sum(X**2)
    if total == 0:
        raise ValueError("X has no variance: expected columns that are not all constant; check X")
    # Axis k adds the variance along its part outside the previous axes.
    explained = np.sum((X @ basis[:wanted].T) ** 2, axis=0)
    return np.minimum(100.0 * np.cumsum(explained) / total, 100.0)


def project(X: ArrayLike, axes: ArrayLike, mean: ArrayLike | None = None) -> FloatArray:
    """Project the rows of X orthogonally onto mean + span of the axes.

    X has shape (n_samples, n_features), axes (n_components, n_features), not orthogonal of necessity;
    `mean`, of shape (n_features,), is for example that of the training rows; zero if absent.

    Examples
    --------
    >>> from gsppca.metrics import project
    >>> project([[3.0, 1.0]], [[1.0, 1.0]]).round(6).tolist()
    [[2.0, 2.0]]
    """
    X = _matrix("X", X)
    basis = _orthonormal(_axes(np.asarray(unmasked(axes)), X.shape[1]))
    origin = np.zeros(X.shape[1]) if mean is None else np.asarray(mean, dtype=float)
    if origin.shape != (X.shape[1],):
        raise ValueError(f"mean of shape {origin.shape}: expected ({X.shape[1]},), one value per column of X")
    return np.asarray(origin + ((X - origin) @ basis.T) @ basis)


def reconstruction_error(X: ArrayLike, reconstruction: ArrayLike) -> FloatArray:
    """Sum of squared errors of every row, shape (n_samples,): true X against its reconstruction (Table 4).

    Examples
    --------
    >>> from gsppca.metrics import reconstruction_error
    >>> reconstruction_error([[0.0, 1.0], [2.0, 0.0]], [[0.0, 0.0], [1.0, 1.0]]).tolist()
    [1.0, 2.0]
    """
    X, other = _matrix("X", X), _matrix("reconstruction", reconstruction)
    if X.shape != other.shape:
        raise ValueError(f"reconstruction of shape {other.shape}: expected {X.shape}, the shape of X")
    return np.asarray(np.sum((X - other) ** 2, axis=1))


@dataclass(frozen=True, eq=False)
class PathwayEnrichment:
    """Hypergeometric tests of a selection of genes against pathways, one entry per pathway tested.

    `sizes` counts the measured genes of a pathway and `overlaps` the selected ones among them;
    `p_values` are P(overlap at least as large by chance), `adjusted` their Benjamini-Hochberg
    adjustment, and `enriched` says adjusted < alpha.
    """

    names: tuple[str, ...]
    sizes: NDArray[np.int64]
    overlaps: NDArray[np.int64]
    p_values: FloatArray
    adjusted: FloatArray
    enriched: BoolArray
    alpha: float

    @property
    def index(self) -> float:
        """Pathway enrichment index: percentage of the pathways that are enriched."""
        return float(100.0 * np.mean(self.enriched))


def pathway_enrichment(
    selected: Sequence[str] | BoolArray,
    pathways: Mapping[str, Collection[str]],
    universe: Sequence[str] | NDArray[np.str_],
    alpha: float = 0.01,
    min_size: int = 1,
) -> PathwayEnrichment:
    """Test which pathways a selection of genes overlaps more than chance would (paper, section 5.1).

    Parameters
    ----------
    selected : sequence of str, or array of bool, shape (n_features,)
        Selected genes, or a support over `universe`.
    pathways : mapping of str to collection of str
        Genes of each pathway, as from `gsppca.datasets.read_gmt`; those outside the universe are ignored.
    universe : sequence of str, length n_features
        All measured genes, each once.
    alpha : float
        Level of the adjusted p-values.
    min_size : int
        Pathways with fewer measured genes are left out before the adjustment.

    Returns
    -------
    PathwayEnrichment

    Examples
    --------
    >>> from gsppca.metrics import pathway_enrichment
    >>> genes = [f"g{i}" for i in range(100)]
    >>> result = pathway_enrichment(genes[:10], {"first": genes[:8], "last": genes[90:]}, genes)
    >>> result.enriched.tolist(), result.index
    ([True, False], 50.0)
    """
    # scipy.stats takes a second to import, and only this function needs it.
    from scipy.stats import false_discovery_control, hypergeom

    if not 0 < alpha < 1:
        raise ValueError(f"alpha must be a number between 0 and 1, got {alpha!r}. Use 0.01 as the paper does.")
    genes = [str(gene) for gene in universe]
    chosen = _selected_genes(selected, genes)
    known = frozenset(genes)
    measured = {name: known.intersection(members) for name, members in pathways.items()}
    measured = {name: members for name, members in measured.items() if len(members) >= max(min_size, 1)}
    if not measured:
        raise ValueError(
            f"pathways: none of the {len(pathways)} has min_size={min_size} genes of the universe; "
            "check that both name genes alike, or lower min_size"
        )
    sizes = np.array([len(members) for members in measured.values()])
    overlaps = np.array([len(members & chosen) for members in measured.values()])
    p_values = np.clip(hypergeom.sf(overlaps - 1, len(genes), sizes, len(chosen)), 0.0, 1.0)
    adjusted = false_discovery_control(p_values, method="bh")
    return PathwayEnrichment(tuple(measured), sizes, overlaps, p_values, adjusted, adjusted < alpha, alpha)


def _counts(selected: ArrayLike, truth: ArrayLike) -> tuple[int, int, int]:
    """Return how many variables are selected and relevant, selected, relevant."""
    masks = {"selected": np.asarray(selected), "truth": np.asarray(truth)}
    for name, mask in masks.items():
        if mask.ndim != 1 or mask.dtype != np.bool_ or mask.size != masks["truth"].size:
            raise ValueError(
                f"{name} of shape {mask.shape} and type {mask.dtype}: expected one boolean per variable, as "
                f"many in selected as in truth; for indices use numpy.isin(numpy.arange(n_features), {name})"
            )
    chosen, relevant = masks.values()
    return int(np.sum(chosen & relevant)), int(np.sum(chosen)), int(np.sum(relevant))


def _matrix(name: str, value: ArrayLike) -> FloatArray:
    matrix = np.asarray(unmasked(value), dtype=float)
    if matrix.ndim != 2 or matrix.size == 0:
        raise ValueError(f"{name} of shape {matrix.shape}: expected rows and columns; reshape it")
    if not np.isfinite(matrix).all():
        raise ValueError(f"{name} contains NaN or infinity: expected finite numbers; impute or drop them")
    return matrix


def _axes(axes: NDArray[np.generic], n_features: int) -> FloatArray:
    if axes.ndim != 2 or axes.shape[1] != n_features:
        raise ValueError(f"axes of shape {axes.shape}: expected (n_components, {n_features}), an axis per row")
    return _matrix("axes", axes)


def _support_axes(X: FloatArray, support: BoolArray, n_components: int | None) -> FloatArray:
    """Return the axes of the PCA of the selected columns, zero elsewhere; zero rows where it has fewer."""
    if n_components is None or n_components < 1:
        raise ValueError(f"n_components must be at least 1 with a support, got {n_components!r}. Pass it.")
    if support.size != X.shape[1]:
        raise ValueError(f"axes: support of {support.size} variables, expected {X.shape[1]}, one per column")
    axes = np.zeros((n_components, X.shape[1]))
    if support.any():
        right = np.linalg.svd(X[:, support], full_matrices=False)[2][:n_components]
        axes[: len(right), support] = right
    return axes


def _orthonormal(axes: FloatArray) -> FloatArray:
    """Gram-Schmidt, row by row; rows that depend on the previous ones become zero.

    A QR factorisation would fill the place of a dependent row with an arbitrary direction, whose
    variance would be counted. Twice is enough (Kahan, Parlett): the second pass removes rounding errors.
    """
    basis = np.zeros_like(axes)
    for k, axis in enumerate(axes):
        rest = axis / (np.linalg.norm(axis) or 1.0)
        for _ in range(2):
            rest = rest - (basis[:k] @ rest) @ basis[:k]
        length = np.linalg.norm(rest)
        if length > DEPENDENT:
            basis[k] = rest / length
    return basis


def _selected_genes(selected: Sequence[str] | BoolArray, genes: list[str]) -> set[str]:
    if len(set(genes)) != len(genes):
        raise ValueError(f"universe: {len(genes) - len(set(genes))} repeated genes; expected each gene once")
    given = np.asarray(selected)
    if given.dtype == np.bool_:
        if given.shape != (len(genes),):
            raise ValueError(f"selected of shape {given.shape}: expected ({len(genes)},), one per gene")
        return {gene for gene, keep in zip(genes, given, strict=True) if keep}
    unknown = sorted(str(gene) for gene in set(selected).difference(genes))
    if unknown:
        raise ValueError(f"selected: {len(unknown)} genes not in universe, {unknown[0]!r} first; drop them")
    return {str(gene) for gene in selected}
