"""One safe file, written whole or not at all."""

from __future__ import annotations

import json
import os
import pickle
import re
import stat
import sys
from html.parser import HTMLParser
from importlib import resources

import numpy as np
import pytest

from gsppca import GSPPCA, GSPPCASelector
from gsppca.report import write, write_report
from gsppca.report.page import SCRIPTS, python_call
from gsppca.report.payload import packed, script_json


class Page(HTMLParser):
    """Elements, the text outside of scripts, and the scripts."""

    def __init__(self, html):
        super().__init__(convert_charrefs=True)
        self.tags, self.text, self.scripts, self.inside = [], "", [], None
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, data):
        if self.inside == "script":
            self.scripts[-1] += data
        elif self.inside != "style":
            self.text += data


def test_the_page_has_only_its_own_elements(hostile):
    page = Page(hostile.path.read_text(encoding="utf-8"))
    kinds = [tag for tag, _ in page.tags]
    assert kinds.count("script") == 3
    assert not {"img", "iframe", "object", "b", "i", "u", "a"} & set(kinds)
    for tag, attributes in page.tags:
        assert not any(name.startswith("on") for name in attributes), tag
        assert "src" not in attributes
        assert attributes.get("href", "data:").startswith("data:")
    for text in ("alert(3)", "alert(4)", "alert(5)", "<i>constant</i>"):
        assert text in page.text
    data = json.loads(page.scripts[0])
    assert sorted(data["names"]) == sorted(name for name in hostile.names if name != "<i>constant</i>")
    policy = next(a["content"] for _, a in page.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert "default-src 'none'" in policy
    assert policy.count("'sha256-") == 2
    assert "unsafe" not in policy.split("script-src")[1].split(";")[0]


@pytest.mark.parametrize("text", ["</script>", "<!--", "\u2028", "\u2029", "&lt;", "]]>", "a\ud800b", '"\\', "é😀"])
def test_json_is_safe_in_a_script_and_comes_back(text):
    safe = script_json({"name": text})
    assert not set("<>&\u2028\u2029") & set(safe)
    assert json.loads(safe)["name"] == text.encode("utf-8", "replace").decode()


def test_numbers_are_packed_exactly():
    import base64

    values = np.array([0.1, np.nan, -np.inf, 1e-300])
    back = np.frombuffer(base64.b64decode(packed(values, "f8")["bytes"]), "<f8")
    np.testing.assert_array_equal(back, values)
    assert packed(None, "f8") is None


def test_a_failure_leaves_the_old_report_and_nothing_else(tmp_path, factor_data, monkeypatch):
    model = GSPPCA(3).fit(factor_data(0)[0])
    path = tmp_path / "report.html"
    path.write_text("old")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(write.os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_report(model, path)
    assert os.listdir(tmp_path) == ["report.html"]
    assert path.read_text() == "old"
    monkeypatch.undo()
    assert write_report(model, str(path)) == path
    assert path.stat().st_size > 1_000_000
    assert os.listdir(tmp_path) == ["report.html"]
    # As readable as any file that the user makes.
    plain = tmp_path / "plain"
    plain.touch()
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)


def test_no_folder(tmp_path, factor_data):
    model = GSPPCA(3).fit(factor_data(0)[0])
    with pytest.raises(ValueError, match=r"path must lie in a folder that exists, got .*Make .* first"):
        write_report(model, tmp_path / "none" / "report.html")


@pytest.mark.parametrize("package", ["jinja2", "plotly.offline"])
def test_without_its_packages_the_error_names_the_extra(tmp_path, factor_data, monkeypatch, package):
    model = GSPPCA(3).fit(factor_data(0)[0])
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=r"gsppca\[report\]"):
        write_report(model, tmp_path / "report.html")
    assert os.listdir(tmp_path) == []


def test_parts_that_need_the_data_say_so(tmp_path, factor_data):
    X, _ = factor_data(0)
    for kind, missing in ((GSPPCA, {"scores-missing"}), (GSPPCASelector, {"scores-missing", "loadings-missing"})):
        model = pickle.loads(pickle.dumps(kind(3).fit(X)))
        page = Page(write_report(model, tmp_path / "report.html").read_text(encoding="utf-8"))
        ids = {attributes.get("id") for _, attributes in page.tags}
        assert {i for i in ids if i and i.endswith("-missing")} == missing
        assert "explained" not in ids
        assert "not stored" in page.text


def test_the_call_fits_the_same_model_again(factor_data):
    X, _ = factor_data(0)
    model = GSPPCA(3, scale=True, n_features_to_select=5).fit(X)
    names = {"X": X}
    exec(python_call(model), names)
    np.testing.assert_array_equal(names["model"].support_, model.support_)
    assert names["model"].get_params() == model.get_params()


def test_the_page_has_all_its_files_and_they_fetch_nothing():
    folder = resources.files("gsppca.report").joinpath("assets")
    found = {file.name for file in folder.iterdir()}
    assert found == {"template.html", "report.css", *SCRIPTS}
    for name in found:
        text = folder.joinpath(name).read_text(encoding="utf-8")
        assert not re.search(r"https?://|innerHTML|\beval\b|document\.write|@import|url\(", text), name
        assert "\r" not in text


@pytest.mark.parametrize("method", ["joint", "paper"])
def test_the_method_is_named_as_what_it_is(tmp_path, factor_data, method):
    model = GSPPCA(3, method=method).fit(factor_data(0)[0])
    page = write_report(model, tmp_path / "report.html").read_text(encoding="utf-8")
    assert ("Method: Bouveyron, Latouche" in page) == (method == "paper")
    assert ("Method: joint, of gsppca" in page) == (method == "joint")
