"""What can be said about a file, beyond what is found out by looking at it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Missing = Literal["error", "drop-rows", "drop-columns", "mean", "impute"]


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """How a file is to be read.

    Parameters
    ----------
    label : str, optional
        Column that holds a label of each sample: kept for colours and tables, never analysed. A name, or a number
        counted from 1. In h5ad files, a column of obs.
    index : str
        Column that holds the names of the samples: a name, a number counted from 1, "auto" or "none".
    drop : tuple of str
        Columns to leave out, by name or number; can be given several times.
    header : {"auto", "yes", "no"}
        Whether the first line of a text file names the columns.
    separator : str
        Between the columns of a text file: a character, "tab", "space" or "auto".
    decimal : str
        The decimal point of a text file: "." or ",".
    encoding : str
        Encoding of a text file.
    missing : {"error", "drop-rows", "drop-columns", "mean", "impute"}
        What to do about missing values: refuse the file, leave out the samples or the variables that have some, put
        the mean of the variable, or leave them to the model, which fills in what it expects (fit and transform).
    transpose : bool
        Whether the rows of the file are variables, and its columns samples.
    layer : str, optional
        Layer of an h5ad file to read instead of X.
    key : str, optional
        Array to read from an npz file or a zarr group.
    format : str
        Format of the file: csv, tsv, parquet, feather, npy, npz, mtx, h5ad, zarr, or "auto".
    dtype : {"float64", "float32"}
        Numbers of text and column files; float32 takes half the memory, and is kept all through the analysis.
    """

    label: str | None = None
    index: str = "auto"
    drop: tuple[str, ...] = ()
    header: Literal["auto", "yes", "no"] = "auto"
    separator: str = "auto"
    decimal: Literal[".", ","] = "."
    encoding: str = "utf-8"
    missing: Missing = "error"
    transpose: bool = False
    layer: str | None = None
    key: str | None = None
    format: str = "auto"
    dtype: Literal["float64", "float32"] = "float64"
