"""Gene expression from GEO: series matrix files and platform annotation tables."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from .container import Dataset
from .files import fetch, open_text
from .genes import genes_from_probes

MISSING = frozenset({"", "null", "na", "nan"})


def load_geo(
    matrix: str | os.PathLike[str],
    platform: str | os.PathLike[str],
    pathways: Mapping[str, Collection[str]] | None = None,
    *,
    column: str = "Gene symbol",
    center: bool = True,
    missing: str = "error",
) -> Dataset:
    """Load a GEO series as samples by genes.

    Parameters
    ----------
    matrix : str or path
        ``GSE..._series_matrix.txt.gz``, or its URL.
    platform : str or path
        Annotation table of the platform, ``GPL....annot.gz`` or the table of the platform's page, or its URL.
    pathways : mapping of str to collection of str, optional
        Keep the genes of these sets only, as from `read_gmt`.
    column : str
        Column of the platform table with the genes, whatever the case of its letters.
    center, missing
        See `genes_from_probes`.

    Returns
    -------
    Dataset
        With the sample characteristics as labels.
    """
    data = read_series_matrix(matrix)
    return genes_from_probes(data, read_platform(platform, column), pathways, center=center, missing=missing)


def read_series_matrix(source: str | os.PathLike[str], sha256: str | None = None) -> Dataset:
    """Read a GEO series matrix file as samples by probes.

    Parameters
    ----------
    source : str or path
        The file (or gzip of it), or its URL.
    sha256 : str, optional
        Checksum of the file; see `gsppca.datasets.fetch`.

    Returns
    -------
    Dataset
        Values as in the file, missing ones NaN. The labels are the titles of the samples and their
        characteristics ("grade: 3" gives label "grade", value "3"), as strings.
    """
    path = fetch(source, sha256)
    series: dict[str, str] = {}
    samples: list[tuple[str, list[str]]] = []
    with open_text(path) as lines:
        rows = (_cells(line) for line in lines)
        for key, *cells in rows:
            if key == "!series_matrix_table_begin":
                break
            if key.startswith("!Series_"):
                series.setdefault(key.removeprefix("!Series_"), " ".join(cells))
            elif key.startswith("!Sample_"):
                samples.append((key.removeprefix("!Sample_"), cells))
        else:
            raise ValueError(
                f"{path.name}: no line !series_matrix_table_begin; expected a GEO series matrix file, not SOFT"
            )
        accessions, probes, values = _table(path.name, rows)
    name = f"GEO {series.get('geo_accession', path.name)}: {series.get('title', 'no title')}"
    return Dataset(values.T, probes, name, _labels(samples, accessions.size), accessions)


def read_platform(
    source: str | os.PathLike[str], column: str = "Gene symbol", sha256: str | None = None
) -> dict[str, str]:
    """Read the genes of the probes of a GEO platform.

    Parameters
    ----------
    source : str or path
        Platform table: lines that start with ^, ! or #, a header whose first column is ID, one row a
        probe; or gzip of it, or its URL.
    column : str
        Column with the genes, whatever the case of its letters: "Gene symbol", "Gene ID",
        "ENTREZ_GENE_ID".
    sha256 : str, optional
        Checksum of the file; see `gsppca.datasets.fetch`.

    Returns
    -------
    dict of str to str
        What the column says of each probe, an empty string where it says nothing.
    """
    path = fetch(source, sha256)
    genes: dict[str, str] = {}
    with open_text(path) as lines:
        rows = (_cells(line) for line in lines if line.strip() and line[0] not in "^!#")
        header = next(rows, [])
        lowered = [name.lower() for name in header]
        if not header or lowered[0] != "id" or column.lower() not in lowered:
            raise ValueError(
                f"column={column!r}: {path.name} has the columns {header[:20]}; expected ID first and this "
                "column; pass the name of the column with the genes"
            )
        place = lowered.index(column.lower())
        for row in rows:
            genes[row[0]] = row[place] if place < len(row) else ""
    return genes


def _cells(line: str) -> list[str]:
    # Not csv: GEO's free text has quotation marks inside unquoted cells.
    return [cell.strip().strip('"') for cell in line.rstrip("\r\n").split("\t")]


def _table(name: str, rows: Iterator[list[str]]) -> tuple[NDArray[np.str_], NDArray[np.str_], NDArray[np.float64]]:
    """Read the rows after !series_matrix_table_begin: accessions, probes, values (probes x samples)."""
    header = next(rows, [])
    probes, values = [], []
    for probe, *cells in rows:
        if probe == "!series_matrix_table_end":
            break
        if len(cells) != len(header) - 1:
            raise ValueError(
                f"{name}: probe {probe!r} has {len(cells)} values, expected {len(header) - 1}, one per sample; "
                "download the file again"
            )
        probes.append(probe)
        values.append(np.array([_number(name, probe, cell) for cell in cells]))
    else:
        raise ValueError(f"{name}: no line !series_matrix_table_end, the file is cut; download it again")
    if not probes:
        raise ValueError(
            f"{name}: the table is empty, as in series of sequencing data; take the supplementary files of the series"
        )
    return np.array(header[1:], dtype=str), np.array(probes, dtype=str), np.array(values)


def _number(name: str, probe: str, cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        if cell.lower() in MISSING:
            return np.nan
        raise ValueError(
            f"{name}: probe {probe!r} has the value {cell!r}, expected a number; correct the file"
        ) from None


def _labels(samples: list[tuple[str, list[str]]], n_samples: int) -> dict[str, NDArray[np.str_]]:
    """Collect titles and characteristics; the cells of one row need not have the same key."""
    columns: dict[str, list[str]] = {}
    for key, cells in samples:
        for place, cell in enumerate(cells[:n_samples]):
            if key == "title":
                label, value = key, cell
            elif key.startswith("characteristics_ch"):
                label, _, value = (part.strip() for part in cell.partition(":"))
            else:
                continue
            if label:
                columns.setdefault(label, [""] * n_samples)[place] = value
    return {label: np.array(column, dtype=str) for label, column in columns.items()}
