"""What can be said about a file, beyond what is found out by looking at it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Missing = Literal["error", "drop-rows", "drop-columns", "mean", "impute"]
LONGEST_NA = 100  # characters of a word for missing: the parser descends once for each, and crashes on very long ones


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """How a file is to be read.

    Parameters
    ----------
    label : str, optional
        Column that holds a label of each sample: kept for colours and tables, never analysed. A name, or a number
        counted from 1. In h5ad files, a column of obs; in GEO series matrix files, a characteristic of the samples.
    index : str
        Column that holds the names of the samples: a name, a number counted from 1, "auto" or "none".
    drop : tuple of str
        Columns to leave out, by name or number, or "text" for all that hold text; can be given several times.
    header : {"auto", "yes", "no"}
        Whether the first line of a text file names the columns.
    separator : str
        Between the columns of a text file: a character, "tab", "space" or "auto".
    decimal : {"auto", ".", ","}
        Decimal sign of a text file.
    thousands : str
        Sign between groups of three digits in a text file: a character, "space", "none" or "auto".
    encoding : str
        Encoding of a text file; "auto" is UTF-8, or latin-1 (windows-1252) where that fails.
    na : tuple of str
        Values that mean missing, beside empty cells, NA, NaN, null and the like; can be given several times.
    missing : {"error", "drop-rows", "drop-columns", "mean", "impute"}
        What to do about missing values: refuse the file, leave out the samples or the variables that have some, put
        the mean of the variable, or leave them to the model, which fills in what it expects (fit and transform).
    transpose : bool or "auto", optional
        Exchange rows and columns: for files with a row per variable and a column per sample. With the value "auto",
        do so if the names of rows and columns look like it. By default they are not exchanged, with a warning if they
        look like it; --no-transpose leaves out the warning.
    log : bool
        Take logarithms: each value x becomes log2(1 + x). For raw counts and intensities.
    layer : str, optional
        Layer of an h5ad file to read instead of X.
    key : str, optional
        Array of an npz file or a zarr group to read, or sheet of an Excel file.
    format : str
        Format of the file: csv, tsv, xlsx, parquet, feather, npy, npz, mtx, h5ad, zarr, or "auto".
    dtype : {"float64", "float32"}
        Numbers of text and column files; float32 takes half the memory, and is kept all through the analysis.
    """

    label: str | None = None
    index: str = "auto"
    drop: tuple[str, ...] = ()
    header: Literal["auto", "yes", "no"] = "auto"
    separator: str = "auto"
    decimal: Literal["auto", ".", ","] = "auto"
    thousands: str = "auto"
    encoding: str = "auto"
    na: tuple[str, ...] = ()
    missing: Missing = "error"
    transpose: bool | Literal["auto"] | None = None
    log: bool = False
    layer: str | None = None
    key: str | None = None
    format: str = "auto"
    dtype: Literal["float64", "float32"] = "float64"
