"""Which format a file has: its name says so, and its first bytes must agree."""

from __future__ import annotations

import bz2
import gzip
import zipfile
import zlib
from pathlib import Path
from typing import IO

from gsppca.io.table import TableError

SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".txt": "csv",
    ".dat": "csv",
    ".xlsx": "xlsx",
    ".xlsm": "xlsx",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "feather",
    ".arrow": "feather",
    ".npy": "npy",
    ".npz": "npz",
    ".mtx": "mtx",
    ".h5ad": "h5ad",
    ".zarr": "zarr",
}
FORMATS = ("csv", "tsv", "xlsx", "parquet", "feather", "npy", "npz", "mtx", "h5ad", "zarr")
_PACKED = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd"}
_FIRST_BYTES = {
    b"PAR1": "parquet",
    b"ARROW1": "feather",
    b"FEA1": "feather",
    b"\x93NUMPY": "npy",
    b"PK\x03\x04": "npz",
    b"\x89HDF": "h5ad",
    b"%%MatrixMarket": "mtx",
}
_OLD_EXCEL = b"\xd0\xcf\x11\xe0"
_PACKED_BYTES = {b"\x1f\x8b": "gzip", b"BZh": "bz2", b"\x28\xb5\x2f\xfd": "zstd"}
_IN_WORDS = {
    "npz": "an npz file or another zip archive",
    "h5ad": "an HDF5 file",
    "npy": "a numpy array",
    "xlsx": "an Excel workbook",
}


def detect_format(path: Path, wanted: str = "auto") -> tuple[str, str | None]:
    """Return the format of a file and its compression; refuse a file that is not what its name says.

    Parameters
    ----------
    path : Path
        The file.
    wanted : str, default="auto"
        A format that the user insists on.
    """
    if wanted != "auto" and wanted not in FORMATS:
        raise TableError(f"{path}: --format {wanted}: there is no such format. Choose one of {', '.join(FORMATS)}.")
    if path.is_dir():
        if wanted in ("auto", "zarr") and any((path / name).exists() for name in ("zarr.json", ".zgroup", ".zarray")):
            return "zarr", None
        raise TableError(f"{path}: this is a folder, and no zarr store. Give a file in it.")
    with path.open("rb") as file:
        start = file.read(16)
    if not start:
        raise TableError(f"{path}: the file is empty: it has no bytes at all. Check how it was made.")
    compression = next((name for first, name in _PACKED_BYTES.items() if start.startswith(first)), None)
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in _PACKED:
        if compression != _PACKED[suffixes[-1]]:
            raise TableError(
                f"{path}: the name says {_PACKED[suffixes[-1]]}, but the content is not. Rename it, or get it again."
            )
        suffixes.pop()
    named = SUFFIXES.get(suffixes[-1]) if suffixes else None
    if compression is not None and (named == "mtx" or named is None):
        start = _unpacked_start(path, compression)
    found = next((name for first, name in _FIRST_BYTES.items() if start.startswith(first)), None)
    expected = wanted if wanted != "auto" else named
    if found == "npz" and (expected == "xlsx" or _is_workbook(path)):
        found = "xlsx"  # also a zip archive
    if found is not None and expected is not None and found != expected:
        raise TableError(
            f"{path}: this should be {expected} by its {'name' if wanted == 'auto' else '--format'}, but the content "
            f"is {_IN_WORDS.get(found, found)}. Rename it, or save it as {expected}."
        )
    if expected in (*_FIRST_BYTES.values(), "xlsx") and found is None:
        raise TableError(f"{path}: this is not a file of the format {expected}. Rename it, or use --format.")
    if start.startswith(_OLD_EXCEL) or suffixes[-1:] == [".ods"]:  # text is often called xls, too
        raise TableError(f"{path}: spreadsheets of this format are not read. Save the sheet as xlsx or CSV.")
    return expected or found or "csv", compression


def _is_workbook(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            return "xl/workbook.xml" in archive.namelist()
    except (zipfile.BadZipFile, OSError):
        return False


def _unpacked_start(path: Path, compression: str) -> bytes:
    opener = {"gzip": gzip.open, "bz2": bz2.open}.get(compression)
    if opener is None:
        return b""
    file: IO[bytes]
    with opener(path, "rb") as file:  # type: ignore[operator]
        try:
            return file.read(16)
        except (OSError, EOFError, zlib.error) as error:
            raise TableError(f"{path}: the file is damaged ({error}). Get it again.") from error
