"""Pathways in GMT files."""

from __future__ import annotations

import os

from .files import fetch, open_text


def read_gmt(source: str | os.PathLike[str], sha256: str | None = None) -> dict[str, tuple[str, ...]]:
    r"""Read gene sets: one set a line, tab-separated name, description and genes.

    Parameters
    ----------
    source : str or path
        A GMT file (or gzip of one), or its URL.
    sha256 : str, optional
        Checksum of the file; see `gsppca.datasets.fetch`.

    Returns
    -------
    dict of str to tuple of str
        Genes of each set, in the order of the file, each once. Where several sets have one name, the
        later ones are called "name (description)".

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from gsppca.datasets import read_gmt
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "two.gmt"
    >>> _ = file.write_text("cycle\tR-1\tCDK1\tCCNB1\ndeath\tR-2\tTP53\n")
    >>> read_gmt(file)
    {'cycle': ('CDK1', 'CCNB1'), 'death': ('TP53',)}
    """
    sets: dict[str, tuple[str, ...]] = {}
    path = fetch(source, sha256)
    with open_text(path) as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            name, *rest = (cell.strip() for cell in line.rstrip("\r\n").split("\t"))
            description = rest[0] if rest else ""
            genes = tuple(dict.fromkeys(gene for gene in rest[1:] if gene))
            key = name if name not in sets else f"{name} ({description})"
            if not name or not genes or key in sets:
                raise ValueError(
                    f"{path.name}, line {number}: expected a name not used before, a description and at "
                    f"least one gene, separated by tabs, got {line[:60]!r}; correct the line"
                )
            sets[key] = genes
    if not sets:
        raise ValueError(f"{path.name}: the file has no gene sets; expected a GMT file")
    return sets
