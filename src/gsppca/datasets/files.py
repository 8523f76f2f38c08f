"""Files to read: a path, or a URL that is downloaded once into a checksummed cache."""

from __future__ import annotations

import gzip
import hashlib
import os
from pathlib import Path
from typing import TextIO
from urllib.parse import urlsplit

from gsppca._optional import optional_import

CACHE_VARIABLE = "GSPPCA_CACHE"


def fetch(source: str | os.PathLike[str], sha256: str | None = None) -> Path:
    """Return the path of a local file with the contents of `source`.

    Parameters
    ----------
    source : str or path
        A file, or an address that starts with http://, https:// or ftp://. Downloads need pooch,
        ``pip install 'gsppca[datasets]'``, and are kept in the directory that the environment variable
        GSPPCA_CACHE names, or in the user's cache directory.
    sha256 : str, optional
        Checksum that the file must have. Without it, the checksum of the first download is written beside
        the cached file, and that file is checked against it on every later use.

    Returns
    -------
    pathlib.Path
    """
    text = os.fspath(source)
    if "://" in text:
        return _download(text, sha256)
    path = Path(text).expanduser()
    if not path.is_file():
        raise FileNotFoundError(
            f"source={text!r}: there is no such file; pass the path of a downloaded file, or its URL"
        )
    if sha256 is not None and _digest(path) != sha256.lower():
        raise ValueError(
            f"sha256={sha256!r}: {text!r} has the checksum {_digest(path)}; download the file again, or correct sha256"
        )
    return path


def open_text(path: Path) -> TextIO:
    """Open a text file, compressed with gzip or not, whatever its name."""
    with path.open("rb") as raw:
        is_gzip = raw.read(2) == b"\x1f\x8b"
    # GEO's free text is not always UTF-8, and no name or number depends on the odd character.
    if is_gzip:
        return gzip.open(path, "rt", encoding="utf-8", errors="replace")
    return path.open(encoding="utf-8", errors="replace")


def _download(url: str, sha256: str | None) -> Path:
    pooch = optional_import("pooch", f"the download of {url}", "datasets")
    directory = Path(os.environ.get(CACHE_VARIABLE) or pooch.os_cache("gsppca"))
    # Two addresses can end in the same file name.
    name = f"{hashlib.sha256(url.encode()).hexdigest()[:12]}-{Path(urlsplit(url).path).name}"
    record = directory / f"{name}.sha256"
    known = sha256 or (record.read_text().strip() if record.is_file() else None)
    try:
        path = Path(pooch.retrieve(url, f"sha256:{known}" if known else None, fname=name, path=directory))
    except ValueError as error:
        raise ValueError(
            f"source={url!r}: {error} If the file was changed on purpose, pass its new sha256, or delete {record}"
        ) from error
    except OSError as error:
        raise OSError(
            f"source={url!r} could not be downloaded ({error}); download it by hand and pass its path"
        ) from error
    if known is None:
        record.write_text(_digest(path))
    return path


def _digest(path: Path) -> str:
    with path.open("rb") as raw:
        return hashlib.file_digest(raw, "sha256").hexdigest()
