"""The breastCancerVDX data of Bioconductor: an ExpressionSet in an .rda file.

rdata parses the file into a tree of R objects; its conversion to Python objects does not know S4 classes
or warns about them, so that the tree is walked here.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gsppca._optional import optional_import

from .container import Dataset
from .files import fetch
from .genes import genes_from_probes


@dataclass(frozen=True, eq=False)
class ExpressionSet:
    """Expression by probes, and what is known of the probes.

    Attributes
    ----------
    data : Dataset
        Samples by probes; the labels are the columns of phenoData.
    annotation : mapping of str to ndarray of length n_features
        The columns of featureData.
    """

    data: Dataset
    annotation: Mapping[str, NDArray[Any]]


def load_vdx(
    source: str | os.PathLike[str],
    pathways: Mapping[str, Collection[str]] | None = None,
    *,
    column: str = "Gene.symbol",
    center: bool = True,
    missing: str = "error",
    sha256: str | None = None,
) -> Dataset:
    """Load breastCancerVDX as samples by genes (appendix F of the paper: 344 x 5391).

    Needs rdata: ``pip install 'gsppca[datasets]'``.

    Parameters
    ----------
    source : str or path
        vdx.rda, from the data directory of the R package breastCancerVDX, or its URL. Any other .rda with
        an ExpressionSet will do.
    pathways : mapping of str to collection of str, optional
        Keep the genes of these sets only, as from `read_gmt`.
    column : str
        Column of featureData with the genes.
    center, missing
        See `genes_from_probes`.
    sha256 : str, optional
        Checksum of the file; see `gsppca.datasets.fetch`.

    Returns
    -------
    Dataset
    """
    found = read_expression_set(source, sha256)
    if column not in found.annotation:
        raise ValueError(
            f"column={column!r}: featureData has the columns {list(found.annotation)}; pass the one with the genes"
        )
    probes = found.data.feature_names
    gene_of_probe = {str(p): str(g) for p, g in zip(probes, found.annotation[column], strict=True)}
    return genes_from_probes(found.data, gene_of_probe, pathways, center=center, missing=missing)


def read_expression_set(source: str | os.PathLike[str], sha256: str | None = None) -> ExpressionSet:
    """Read the first ExpressionSet of an .rda file.

    Parameters
    ----------
    source : str or path
        The file, or its URL.
    sha256 : str, optional
        Checksum of the file; see `gsppca.datasets.fetch`.

    Returns
    -------
    ExpressionSet
        Missing strings become empty, missing numbers NaN, factors strings.
    """
    path = fetch(source, sha256)
    parser = optional_import("rdata.parser", f"reading {path.name}", "datasets", "rdata")
    objects = dict(_pairs(parser.parse_file(path).object))
    for name, candidate in objects.items():
        slots = dict(_pairs(candidate.attributes))
        if "class" in slots and _strings(slots["class"])[:1] == ["ExpressionSet"]:
            return _expression_set(path, name, slots)
    raise ValueError(
        f"{path.name} holds {sorted(objects)} and no ExpressionSet; pass vdx.rda of breastCancerVDX, or save "
        "your ExpressionSet with R's save()"
    )


def _expression_set(path: Path, name: str, slots: dict[str, Any]) -> ExpressionSet:
    arrays = dict(_contents(slots["assayData"]))
    if "exprs" not in arrays:
        raise ValueError(f"{path.name}: assayData of {name} has {sorted(arrays)}, expected exprs; export exprs()")
    values = _vector(arrays["exprs"])
    attributes = dict(_pairs(arrays["exprs"].attributes))
    n_probes, n_samples = (int(size) for size in _vector(attributes["dim"]))
    row_names, column_names = _follow(attributes["dimnames"]).value
    probes, samples = np.array(_strings(row_names), dtype=str), np.array(_strings(column_names), dtype=str)
    # R stores matrices column by column: one column a sample.
    X = np.asarray(values, dtype=float).reshape(n_samples, n_probes)
    frames = {slot: _frame(dict(_pairs(slots[slot].attributes))["data"]) for slot in ("phenoData", "featureData")}
    for slot, size in (("phenoData", n_samples), ("featureData", n_probes)):
        wrong = [column for column, entries in frames[slot].items() if len(entries) != size]
        if wrong:
            raise ValueError(f"{path.name}: {slot} column {wrong[0]!r} has not the {size} rows of exprs; repair it")
    source = f"{name} of {path.name} (Bioconductor ExpressionSet)"
    return ExpressionSet(Dataset(X, probes, source, frames["phenoData"], samples), frames["featureData"])


def _follow(node: Any) -> Any:
    """Return the object itself where R wrote a reference to one written before."""
    return node.referenced_object if node.info.type.name == "REF" else node


def _pairs(node: Any) -> Iterator[tuple[str, Any]]:
    """Yield names and values of a pairlist: attributes, slots, the objects of a file."""
    while node is not None and node.info.type.name == "LIST":
        value, rest = node.value
        if node.tag is not None:
            yield _text(_follow(node.tag).value), _follow(value)
        node = rest


def _contents(node: Any) -> Iterator[tuple[str, Any]]:
    """Yield names and values of an environment or of a named list."""
    if node.info.type.name == "ENV":
        yield from _pairs(node.value.frame)
        buckets = node.value.hash_table
        if buckets.info.type.name == "VEC":
            for bucket in buckets.value:
                yield from _pairs(bucket)
    else:
        names = _strings(dict(_pairs(node.attributes))["names"])
        yield from zip(names, (_follow(value) for value in node.value), strict=True)


def _text(char: Any) -> str:
    if char.value is None:  # NA_character_
        return ""
    try:
        return str(char.value.decode("utf-8"))
    except UnicodeDecodeError:
        return str(char.value.decode("latin-1"))


def _strings(node: Any) -> list[str]:
    return [_text(char) for char in _follow(node).value]


def _vector(node: Any) -> NDArray[Any]:
    """Return a logical, integer, numeric or character vector, or a factor, as an array."""
    node = _follow(node)
    if node.info.type.name == "STR":
        return np.array(_strings(node), dtype=str)
    numbers = np.ma.filled(np.ma.asarray(node.value).astype(float), np.nan)
    attributes = dict(_pairs(node.attributes))
    if "levels" in attributes:
        # Codes start at one; a missing code takes the empty string in place zero.
        words = np.array(["", *_strings(attributes["levels"])], dtype=str)
        return np.asarray(words[np.nan_to_num(numbers).astype(int)])
    return numbers


def _frame(node: Any) -> dict[str, NDArray[Any]]:
    """Return the columns of a data frame."""
    return {name: _vector(column) for name, column in _contents(_follow(node))}
