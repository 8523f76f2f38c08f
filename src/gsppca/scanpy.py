"""GSPPCA for annotated data, in the conventions of scanpy: AnnData in, results in its slots.

>>> import scanpy as sc
>>> from gsppca.scanpy import gsppca
>>> adata = sc.datasets.pbmc68k_reduced()
>>> gsppca(adata, n_components=10, n_features_to_select=100)
>>> adata.obsm["X_gsppca"].shape, int(adata.var["gsppca"].sum())
((700, 10), 100)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from gsppca._masked import unmasked
from gsppca._optional import optional_import
from gsppca._typing import BoolArray, IntArray
from gsppca.estimator import GSPPCA
from gsppca.overview import overview
from gsppca.procedure import RuleWord
from gsppca.progress import tell
from gsppca.rules import Rule
from gsppca.validation import check_finite

KEY = "gsppca"
BLOCK_ROWS = 8192  # rows of a backed file that are read at once
LARGEST_DENSE = 2**31  # entries of sparse data that may become dense
THEIR_NAMES = {
    "n_top_genes": "n_features_to_select",
    "n_comps": "n_components",
    "use_highly_variable": 'mask_var="highly_variable"',
    "zero_center": "GSPPCA as it is: data is always centred",
}


def gsppca(
    adata: Any,
    n_components: int | str = "auto",
    *,
    n_features_to_select: RuleWord | int | float | Rule = "auto",
    layer: str | None = None,
    mask_var: str | npt.ArrayLike | None = None,
    batch_key: str | None = None,
    key_added: str | None = None,
    write_highly_variable: bool = False,
    copy: bool = False,
    **parameters: Any,
) -> Any:
    """Select the genes that carry the structure of the cells, and project the cells on their components.

    Give it normalised, log-transformed data. Unlike `scanpy.pp.pca`, all genes are used unless `mask_var` says
    otherwise, also where ``adata.var["highly_variable"]`` exists.

    Parameters
    ----------
    adata : anndata.AnnData
        Cells by genes; `X` (or the layer) dense or sparse, in memory or backed by a file.
    n_components : int or "auto", default="auto"
        Dimension of the latent space.
    n_features_to_select : {"auto", "relevant", "core", "fdr", "r2"}, int, float or rule, default="auto"
        Which genes to select; as in `gsppca.GSPPCA`.
    layer : str, optional
        Use ``adata.layers[layer]`` instead of ``adata.X``.
    mask_var : str or array-like of bool, optional
        Genes to choose from: a boolean column of ``adata.var``, or one boolean per gene. All by default.
    batch_key : str, optional
        A column of ``adata.obs`` that names the batch of each cell: genes are centred within batches first, so that
        structure within batches counts and differences between them do not. Sparse data becomes dense.
    key_added : str, optional
        Name of the results, instead of those below.
    write_highly_variable : bool, default=False
        Whether to write the selection to ``adata.var["highly_variable"]`` too: `scanpy.pp.pca` and others then use it.
    copy : bool, default=False
        Whether to return a copy with the results, and leave `adata` alone.
    **parameters
        Further parameters of `gsppca.GSPPCA`: ``scale=True``, ``random_state=0``, …

    Returns
    -------
    adata : anndata.AnnData or None
        The copy if ``copy=True``, else None. It gets these fields, with `key_added` in place of ``gsppca`` and of
        ``X_gsppca``:

        - ``.var["gsppca"]``, bool: the selected genes
        - ``.var["gsppca_role"]``, category: "core", "related" or "noise"; missing outside `mask_var`
        - ``.var["gsppca_rank"]``, float: place in the nested order, from 1; NaN outside `mask_var`
        - ``.var["gsppca_represented_by"]``, category: for a gene that is not selected the selected one that it
          correlates with most; missing for selected ones
        - ``.var["gsppca_relevance"]``, float: relevance, from 0 to 1; NaN outside `mask_var`
        - ``.obsm["X_gsppca"]``, (n_obs, n_components): scores of the cells
        - ``.varm["gsppca"]``, (n_vars, n_components): loadings of all genes, zero for those not selected
        - ``.uns["gsppca"]``, dict: ``params``; ``variance`` and ``variance_ratio`` of the components; ``n_selected``,
          ``n_relevant`` and ``n_core``; ``core_share``, the share of the structure that the core carries on cells left
          out, and ``share``, that of the first 1, 2, ... genes; with ``method="paper"`` ``sizes`` and
          ``log_evidence``, the evidence of each number of genes

    Notes
    -----
    A backed `X` is read in blocks of rows, and the genes of `mask_var` are held in memory for the fit; `copy` is not
    possible then. The results are in the object, not in the file, until ``adata.write()``.

    Examples
    --------
    >>> import scanpy as sc
    >>> from gsppca.scanpy import gsppca
    >>> adata = sc.datasets.pbmc68k_reduced()
    >>> gsppca(adata, n_components=10, n_features_to_select=50, mask_var="highly_variable", key_added="sparse")
    >>> sorted(column for column in adata.var if column.startswith("sparse"))
    ['sparse', 'sparse_rank', 'sparse_relevance', 'sparse_represented_by', 'sparse_role']
    """
    _check_annotated(adata)
    _check_key(key_added)
    _check_names(parameters)
    batches = _batches(adata, batch_key)
    if copy and adata.isbacked:
        raise ValueError(
            "copy=True is not possible for an adata that is backed by a file. Use copy=False, or adata.to_memory()."
        )
    kept = _kept_genes(adata, mask_var)
    X = unmasked(_cells_by_genes(adata, layer, kept))
    names = adata.var_names if kept is None else adata.var_names[kept]
    if sparse.issparse(X) or isinstance(X, np.ndarray):
        # Before the estimator does, which does not know the names.
        check_finite(X, names, gaps=parameters.get("missing") == "impute")
    if batches is not None:
        X = _centred_within(X, batches)
    model = GSPPCA(n_components, n_features_to_select=n_features_to_select, **_in_places(parameters, names)).fit(X)
    target = adata.copy() if copy else adata
    origin = {
        "layer": layer,
        "batch_key": batch_key,
        "mask_var": mask_var if mask_var is None or isinstance(mask_var, str) else "array",
    }
    _write(target, model, model.transform(X), kept, key_added, origin)
    if write_highly_variable:
        target.var["highly_variable"] = target.var[key_added or KEY]
    return target if copy else None


def _write(
    adata: Any,
    model: GSPPCA,
    scores: npt.NDArray[Any],
    kept: BoolArray | None,
    key_added: str | None,
    origin: Mapping[str, Any],
) -> None:
    """Put the results into their slots; all values are of kinds that h5ad and zarr files hold."""
    key = key_added or KEY

    def widened(values: npt.NDArray[Any], outside: Any) -> npt.NDArray[Any]:
        """Values of the genes that took part, at their places among all."""
        if kept is None:
            return values
        wide = np.full((len(kept), *values.shape[1:]), outside, dtype=values.dtype)
        wide[kept] = values
        return wide

    view = overview(model)
    names = adata.var_names.to_numpy() if kept is None else adata.var_names[kept].to_numpy()
    by = np.where(view.selected, -1, view.represented_by)
    missing: Any = None
    representing = np.array([missing if k < 0 else names[k] for k in by.tolist()], dtype=object)
    adata.var[key] = widened(model.support_, False)
    adata.var[f"{key}_role"] = _category(widened(view.role.astype(object), missing))
    adata.var[f"{key}_represented_by"] = _category(widened(representing, missing))
    adata.var[f"{key}_rank"] = widened(model.ranking_.astype(np.float64), np.nan)
    adata.var[f"{key}_relevance"] = widened(model.relevance_, np.nan)
    adata.obsm[key_added or f"X_{KEY}"] = scores
    adata.varm[key] = widened(model.components_.T, 0.0)
    adata.uns[key] = {
        "params": _storable({**model.get_params(), **origin}),
        "variance": model.explained_variance_,
        "variance_ratio": model.explained_variance_ratio_,
        "n_selected": model.n_selected_,
        "n_relevant": view.n_relevant,
    }
    if view.core is not None:
        adata.uns[key] |= {"n_core": view.core.size, "core_share": view.core.share}
    if view.share_path is not None:
        adata.uns[key]["share"] = view.share_path.share
    path = model._fitted.found.evidence  # that of the joint method takes passes over the data
    if path is not None:
        adata.uns[key] |= {"sizes": path.sizes, "log_evidence": path.log_evidence}


def _category(values: npt.NDArray[Any]) -> Any:
    """Text, with nothing where there is none, as files of annotated data hold it."""
    pandas = optional_import("pandas", "gsppca.scanpy", "scanpy")
    return pandas.Categorical(values)


def _storable(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters that a file can hold: absent ones left out, functions and objects by their names."""
    return {
        name: value if isinstance(value, bool | int | float | str) else getattr(value, "__name__", repr(value))
        for name, value in parameters.items()
        if value is not None
    }


def _cells_by_genes(adata: Any, layer: str | None, kept: BoolArray | None) -> Any:
    """The matrix to fit: a layer or X, of the genes that take part."""
    if layer is not None and layer not in adata.layers:
        named = [name for name in adata.layers if name is not None]  # None is X, from anndata 0.13 on
        raise ValueError(f"layer must be one of {named}, got {layer!r}. None uses adata.X.")
    if layer is None and adata.X is None:
        raise ValueError("adata.X is empty (None). Give the layer to use.")
    if layer is None and adata.isbacked:
        return _read_backed(adata, kept)
    X = adata.X if layer is None else adata.layers[layer]
    return X if kept is None else X[:, kept]


def _read_backed(adata: Any, kept: BoolArray | None) -> Any:
    """Read the wanted columns of a backed X, block by block: no more than they and one block are in memory."""
    n_obs = adata.n_obs
    n_genes = adata.n_vars if kept is None else int(kept.sum())
    blocks: list[Any] = []
    dense: npt.NDArray[Any] | None = None
    for block, start, end in adata.chunked_X(min(BLOCK_ROWS, n_obs)):
        tell("reading the file", end, n_obs)
        part = block if kept is None else block[:, kept]
        if sparse.issparse(part):
            blocks.append(part)
            continue
        if dense is None:
            dense = np.empty((n_obs, n_genes), dtype=part.dtype)
        dense[start:end] = part
    return sparse.vstack(blocks, format="csr") if dense is None else dense


def _kept_genes(adata: Any, mask_var: Any) -> BoolArray | None:
    """The genes to choose from, one boolean each; None for all."""
    if mask_var is None:
        return None
    if isinstance(mask_var, str):
        if mask_var not in adata.var:
            raise ValueError(
                f"mask_var must be a column of adata.var, {list(adata.var)}, or an array, got {mask_var!r}."
            )
        mask_var = adata.var[mask_var]
    mask = np.asarray(mask_var)
    if mask.dtype != np.bool_ or mask.shape != (adata.n_vars,):
        raise ValueError(
            f"mask_var must hold one boolean for each of the {adata.n_vars} genes, got dtype {mask.dtype} and shape "
            f"{mask.shape}. Turn positions or scores into booleans first."
        )
    return mask


def _batches(adata: Any, batch_key: str | None) -> IntArray | None:
    """Number of the batch of every cell."""
    if batch_key is None:
        return None
    if batch_key not in adata.obs:
        raise ValueError(f"batch_key must be a column of adata.obs, {list(adata.obs)}, got {batch_key!r}.")
    values = adata.obs[batch_key]
    if values.isna().any():
        raise ValueError(f"batch_key {batch_key!r} has no value for {int(values.isna().sum())} cells. Fill them in.")
    return np.unique(values.astype(str).to_numpy(), return_inverse=True)[1]


def _centred_within(X: Any, batches: IntArray) -> npt.NDArray[Any]:
    """Subtract from every gene its mean in the batch of the cell; missing entries stay missing."""
    n, p = X.shape
    if sparse.issparse(X):
        if n * p > LARGEST_DENSE:
            raise ValueError(
                f"batch_key makes sparse data dense: {n} cells of {p} genes are too many. Choose genes with mask_var."
            )
        X = X.toarray()
    centred = np.array(X, dtype=np.result_type(X.dtype, np.float32))
    for batch in range(int(batches.max()) + 1):
        rows = batches == batch
        seen = np.maximum(np.sum(~np.isnan(centred[rows]), axis=0), 1)
        centred[rows] -= (np.nansum(centred[rows], axis=0, dtype=np.float64) / seen).astype(centred.dtype)
    return centred


def _in_places(parameters: Mapping[str, Any], names: Any) -> dict[str, Any]:
    """Genes to include or exclude, given by name, as positions: the matrix has no names."""
    known = {name: place for place, name in enumerate(names)}
    result = dict(parameters)
    for option in ("include", "exclude"):
        values = np.atleast_1d(np.asarray(parameters.get(option, []), dtype=object))
        if not len(values) or not all(isinstance(value, str) for value in values):
            continue
        unknown = [value for value in values if value not in known]
        if unknown:
            raise ValueError(f"{option} names {unknown[0]!r}, which is no gene to choose from. Correct or remove it.")
        result[option] = [known[value] for value in values]
    return result


def _check_names(parameters: Mapping[str, Any]) -> None:
    """Answer scanpy's names with ours."""
    for theirs, ours in THEIR_NAMES.items():
        if theirs in parameters:
            raise TypeError(f"gsppca() has no parameter {theirs}: use {ours}.")


def _check_annotated(adata: Any) -> None:
    anndata = optional_import("anndata", "gsppca.scanpy", "scanpy")
    if not isinstance(adata, anndata.AnnData):
        raise TypeError(
            f"adata must be an AnnData, got {type(adata).__name__}. For arrays and frames use gsppca.GSPPCA."
        )


def _check_key(key_added: Any) -> None:
    if key_added is not None and (not isinstance(key_added, str) or not key_added or "/" in key_added):
        raise ValueError(
            f"key_added must be a name without '/', which files take for a folder, got {key_added!r}. "
            "Use '_' instead, or None."
        )
