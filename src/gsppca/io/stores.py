"""Annotated data and zarr: h5ad files, zarr stores of anndata, arrays and groups of zarr."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from gsppca._optional import optional_import
from gsppca.io.options import ReadOptions
from gsppca.io.table import Table, TableError

_SHOWN = 8  # layers or labels that a note names


def read_store(path: Path, kind: str, compression: str | None, options: ReadOptions, strict: bool) -> Table:
    """Read an h5ad file or a zarr store into memory; sparse data stays sparse."""
    if options.drop:
        raise TableError(f"{path}: --drop is for files with named columns. Select the columns before saving.")
    if kind == "h5ad":
        return _read_anndata(path, "read_h5ad", "h5ad", options)
    zarr = optional_import("zarr", "reading zarr stores", "files")
    try:
        store = zarr.open(str(path), mode="r")
    except Exception as error:  # zarr has no common class of errors
        raise TableError(f"{path}: not a zarr store ({str(error).splitlines()[0]}). Check the path.") from error
    if store.attrs.get("encoding-type") == "anndata":
        return _read_anndata(path, "read_zarr", "zarr store of anndata", options)
    if options.label is not None or options.layer is not None:
        raise TableError(f"{path}: --label and --layer are for zarr stores of anndata, which this is not.")
    name = ""
    if not hasattr(store, "shape"):
        arrays = {key: value for key, value in store.arrays() if getattr(value, "ndim", 0) == 2}
        name = options.key or next(iter(arrays), "")
        if name not in arrays or (options.key is None and len(arrays) > 1):
            held = ", ".join(arrays) or "no array with rows and columns"
            raise TableError(f"{path}: the store holds {held}. Choose an array with --key.")
        store = arrays[name]
    return Table(np.asarray(store[:]), None, None, None, path, "zarr", (f"array {name!r}",) if name else ())


def _read_anndata(path: Path, function: str, kind: str, options: ReadOptions) -> Table:
    anndata = optional_import("anndata", f"reading a {kind}", "files")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about names and versions, not about the numbers
            adata = getattr(anndata, function)(path)
    except Exception as error:  # h5py, zarr and anndata each raise their own
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise TableError(f"{path}: not a readable {kind} ({first}). Check how it was written.") from error
    data: Any = adata.X
    layers = [name for name in adata.layers if name is not None]  # None is X, from anndata 0.13 on
    if options.layer is not None:
        if options.layer not in layers:
            held = ", ".join(layers) or "none"
            raise TableError(f"{path}: --layer {options.layer}: there is no such layer. The file has {held}.")
        data = adata.layers[options.layer]
    if data is None:
        raise TableError(f"{path}: there is no X in the file. Choose one of its layers with --layer.")
    labels = None
    if options.label is not None:
        if options.label not in adata.obs:
            held = ", ".join(map(str, adata.obs.columns)) or "none"
            raise TableError(f"{path}: --label {options.label}: there is no such column of obs. There are {held}.")
        labels = [str(value) for value in adata.obs[options.label]]
    notes = [f"layer {options.layer!r}"] if options.layer is not None else []
    if options.layer is None and layers:
        notes.append(f"X is read; --layer can be {_listed(layers)}")
    if options.label is None and len(adata.obs.columns):
        notes.append(f"--label can be {_listed(adata.obs.columns)}")
    return Table(
        data, list(map(str, adata.var_names)), list(map(str, adata.obs_names)), labels, path, kind, tuple(notes)
    )


def _listed(names: Any) -> str:
    """Some names, for a note."""
    words = [str(name) for name in names]
    return ", ".join(words[:_SHOWN]) + (f", ... ({len(words)})" if len(words) > _SHOWN else "")
