"""The page shows what the rows say, and names stay text."""

from __future__ import annotations

import pytest

from gsppca.experiments import Claim, Plan, Table, register_experiment, registry, run_experiment
from gsppca.experiments.report import write_report

EVIL = "<script>alert('x')</script> a|b & c"


@pytest.fixture(autouse=True)
def own_registry(monkeypatch):
    monkeypatch.setattr(registry, "_REGISTERED", {})


@pytest.fixture
def page(squares, tmp_path, monkeypatch):
    monkeypatch.setattr(type(squares), "title", EVIL)
    monkeypatch.setattr(squares, "summary", lambda rows: [Table(EVIL, [EVIL, "b"], [[EVIL, "2"]])])
    monkeypatch.setattr(squares, "claims", lambda rows: [Claim(EVIL, "does not hold", EVIL, EVIL, EVIL)])
    register_experiment(squares)
    run_experiment(squares, tmp_path, Plan())
    assert write_report(tmp_path) == tmp_path / "index.html"
    return tmp_path


def test_names_are_escaped(page):
    html = (page / "index.html").read_text()
    assert "<script" not in html
    assert "&lt;script&gt;" in html
    markdown = (page / "README.md").read_text()
    assert "<script" not in markdown
    assert "a\\|b &amp; c" in markdown


def test_the_page_stands_alone(page):
    html = (page / "index.html").read_text()
    assert "data:image/svg+xml;base64," in html
    assert "http" not in html.replace("http://www.w3.org", "")
    assert "does not hold" in html
    assert (page / "figures" / "squares.svg").exists()
    assert "6 runs, 12 rows" in html


def test_the_same_rows_give_the_same_page(page):
    before = {path.name: path.read_bytes() for path in page.rglob("*") if path.is_file()}
    write_report(page)
    assert {path.name: path.read_bytes() for path in page.rglob("*") if path.is_file()} == before


def test_no_tables_no_page(tmp_path):
    with pytest.raises(FileNotFoundError, match="gsppca experiment run"):
        write_report(tmp_path)
