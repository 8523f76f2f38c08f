"""Paths, downloads from a server of our own, and the checksummed cache."""

from __future__ import annotations

import hashlib
import http.server
import sys
import threading
from functools import partial

import pytest

from gsppca.datasets import fetch, read_gmt
from gsppca.datasets.files import open_text
from tests.needs import optional

TEXT = "set\tabout\tA\tB\n"


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture
def server(tmp_path, monkeypatch):
    """Serve tmp_path/site over HTTP; return the directory, the address, and the cache to be used."""
    optional("pooch")
    site, cache = tmp_path / "site", tmp_path / "cache"
    site.mkdir()
    monkeypatch.setenv("GSPPCA_CACHE", str(cache))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    handler = partial(Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield site, f"http://127.0.0.1:{running.server_port}", cache
        running.shutdown()
        thread.join()


def test_path(tmp_path, monkeypatch):
    file = tmp_path / "a.gmt"
    file.write_text(TEXT)
    digest = hashlib.sha256(TEXT.encode()).hexdigest()
    assert fetch(file) == fetch(str(file)) == fetch(file, digest.upper()) == file
    with pytest.raises(ValueError, match=f"sha256='00'.*{digest}"):
        fetch(file, "00")
    with pytest.raises(FileNotFoundError, match=r"b\.gmt.*no such file"):
        fetch(tmp_path / "b.gmt")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert fetch("~/a.gmt") == file


def test_download_once(server):
    site, address, cache = server
    (site / "a.gmt").write_text(TEXT)
    assert read_gmt(f"{address}/a.gmt") == {"set": ("A", "B")}
    (site / "a.gmt").unlink()
    path = fetch(f"{address}/a.gmt")  # from the cache
    assert path.read_text() == TEXT
    assert path.parent == cache


def test_same_name_elsewhere(server):
    site, address, _ = server
    for folder in "xy":
        (site / folder).mkdir()
        (site / folder / "a.gmt").write_text(TEXT.replace("A", folder))
    assert read_gmt(f"{address}/x/a.gmt")["set"] == ("x", "B")
    assert read_gmt(f"{address}/y/a.gmt")["set"] == ("y", "B")


def test_damaged_cache_is_noticed(server):
    """The checksum of the first download is remembered, though none was given."""
    site, address, _ = server
    (site / "a.gmt").write_text(TEXT)
    path = fetch(f"{address}/a.gmt")
    path.write_text("damaged")
    assert fetch(f"{address}/a.gmt").read_text() == TEXT  # fetched again
    path.write_text("damaged")
    (site / "a.gmt").write_text("another file")
    with pytest.raises(ValueError, match=r"a\.gmt.*does not match.*\.sha256"):
        fetch(f"{address}/a.gmt")


def test_given_checksum(server):
    site, address, cache = server
    (site / "a.gmt").write_text(TEXT)
    with pytest.raises(ValueError, match="does not match"):
        fetch(f"{address}/a.gmt", "0" * 64)
    assert not [file for file in cache.iterdir() if not file.name.endswith(".sha256")]
    assert fetch(f"{address}/a.gmt", hashlib.sha256(TEXT.encode()).hexdigest()).read_text() == TEXT


def test_failed_download(server):
    _, address, _ = server
    with pytest.raises(OSError, match=r"nothing\.gmt.*could not be downloaded.*by hand"):
        fetch(f"{address}/nothing.gmt")


def test_without_pooch(monkeypatch):
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(ImportError, match=r"pooch.*gsppca\[datasets\]"):
        fetch("https://example.org/a.gmt")


def test_odd_characters(tmp_path):
    file = tmp_path / "a.txt"
    file.write_bytes("Müller\n".encode("latin-1"))
    with open_text(file) as lines:
        assert lines.read() == "M�ller\n"
