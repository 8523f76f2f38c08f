"""What the site says exists: functions, tests, examples, parameters; formulas become MathML."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import io
import re
import sys
from pathlib import Path

import pytest

from tests.needs import optional

optional("matplotlib").use("Agg")
import matplotlib.pyplot as plt

import gsppca

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
MAP = (DOCS / "paper.md").read_text()
# `gsppca fit` is a command and `gsppca.load(path)` a call; only dotted names alone are looked up.
NAME = re.compile(r"`(gsppca(?:\.\w+)+)`")
TEST = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def resolve(dotted):
    """The object of a dotted name: the longest module of it, then attributes."""
    parts = dotted.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            found = getattr(found, part)
        return found
    raise AssertionError(dotted)


def functions_of(path):
    return {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_names_on_the_page_exist(page):
    text = page.read_text()
    for dotted in set(NAME.findall(text)):
        resolve(dotted)
    for file, name in set(TEST.findall(text)):
        assert name in functions_of(ROOT / file), f"{file}::{name}"


def test_the_map_covers_the_paper():
    """Seventeen equations before the appendices, one algorithm, five tables, five figures, six numbered statements."""
    covered = {int(n) for part in re.findall(r"eq\. (\d+(?:, \d+)*)", MAP) for n in part.split(", ")}
    assert covered == set(range(1, 18))
    for number in range(1, 6):
        assert re.search(rf"Table {number}\b|Tables (\d and )?{number}\b", MAP) or number in (1, 2)
        assert f"Figure {number}" in MAP
    assert "Tables 1 and 2" in MAP
    assert "Algorithm 1" in MAP
    for statement in ("Theorem 1", "Definition 2", "Theorem 3", "Proposition 4", "Proposition 5", "Proposition 6"):
        assert statement in MAP
    assert len(TEST.findall(MAP)) > 30


def python_blocks(page):
    blocks = re.findall(r"^```python[^\n]*\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    return [block for block in blocks if "--8<--" not in block]


def test_code_on_the_pages_is_python():
    """Blocks that are not included from files (those are run elsewhere) at least parse."""
    for page in PAGES:
        for block in python_blocks(page):
            ast.parse(block)


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("page", ["start.md", "guide/evidence.md", "guide/tools.md", "extending.md", "../README.md"])
def test_code_on_the_pages_runs(page, factor_data, monkeypatch):
    """One block after the other, as a reader would type them; X is there where a page does not make its own."""
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    X, _ = factor_data(0, n=60, p=40, d=5)
    names = {"X": X}
    for block in python_blocks(DOCS / page):
        # Neighbours are scanpy's, and compile for half a minute.
        exec("\n".join(line for line in block.splitlines() if not line.startswith("sc.pp.neighbors")), names)
    plt.close("all")
    if page in ("start.md", "../README.md"):
        assert list(names["model"].get_support(indices=True)) == [3, 8, 11, 20, 27]  # what the page says


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("page", ["panel.md", "spectra.md", "sensors.md", "classifier.md"])
def test_code_of_the_tasks_runs(page, factor_data, monkeypatch, tmp_path):
    """In a folder with the files that the pages name: 120 columns with factors on some."""
    pandas = optional("pandas")
    optional("polars")
    X, _ = factor_data(0, n=60, p=120, d=5)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    genes = ["ESR1", "ERBB2", "AURKA", "GATA3", "BCL2", *(f"G{k}" for k in range(115))]
    pandas.DataFrame(X, columns=genes).to_csv("genes.csv")
    pandas.DataFrame(X, columns=[f"s{k}" for k in range(120)]).to_csv("sensors.csv", index=False)
    pandas.DataFrame(X, columns=[f"{900 + 2 * k}" for k in range(120)]).to_csv("spectra.csv", index=False)
    frame = pandas.DataFrame(X, columns=[f"v{k}" for k in range(120)])
    frame.assign(kind=["ab"[int(value > 0)] for value in X[:, 0] - X[:, 0].mean()]).to_csv("data.csv", index=False)
    names = {}
    for block in python_blocks(DOCS / "tasks" / page):
        exec(block, names)
    if page == "panel.md":
        assert set(genes[:5]) <= set(names["panel"]["name"])


def test_every_example_stands_on_a_page():
    text = "\n".join(page.read_text() for page in PAGES)
    for script in (ROOT / "examples").glob("*_*.py"):
        if script.name != "plot_guide.py":
            assert f'--8<-- "examples/{script.name}"' in text


def test_parameters_in_the_guide_are_those_of_the_estimator():
    known = set(gsppca.GSPPCA().get_params())
    text = (DOCS / "guide" / "choices.md").read_text() + (DOCS / "guide" / "scaling.md").read_text()
    used = set(re.findall(r"`(\w+)=", text))
    assert used
    assert used <= known


def hooks():
    spec = importlib.util.spec_from_file_location("docs_hooks", DOCS / "hooks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_figures_of_selection_quality_are_those_of_its_rows():
    """The table that docs/beyond.md includes, against the committed rows; docs/make_selection_quality.py writes it."""
    spec = importlib.util.spec_from_file_location("make_selection_quality", DOCS / "make_selection_quality.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert script.TABLE.read_text() == script.table(), "run: python docs/make_selection_quality.py"
    assert '--8<-- "docs/images/selection_quality.md"' in (DOCS / "beyond.md").read_text()


def test_extensions_on_the_page_use_public_names_only():
    imported = re.findall(r"from (gsppca[\w.]*) import ([\w, ]+)", "\n".join(python_blocks(DOCS / "extending.md")))
    assert imported
    for module, names in imported:
        assert module == "gsppca"
        assert {name.strip() for name in names.split(",")} <= set(gsppca.__all__)


def test_formulas_become_mathml():
    optional("latex2mathml")
    page = r'<p><span class="arithmatex">\(a &lt; b\)</span></p><div class="arithmatex">\[x = W y\]</div>'
    drawn = hooks().on_page_content(page)
    assert drawn.count("<math") == 2
    assert "arithmatex" not in drawn
    assert "&lt;" in drawn.split("</p>")[0] or "&#x0003C;" in drawn.split("</p>")[0]
    assert 'display="block"' in drawn.split("</p>")[1]


def test_long_names_break_at_their_joints_and_stay_whole():
    optional("latex2mathml")
    text = "<p><code>tests/core/test_vem.py::test_a_step</code> <code>short</code></p>"
    page = f"{text}<pre><code>a_b_c_d_e_f_g_h_i\n</code></pre>"
    drawn = hooks().on_page_content(page)
    assert drawn.replace("<wbr>", "") == page
    assert "::<wbr>test_<wbr>a_<wbr>step" in drawn
    assert "<wbr>" not in drawn.split("<pre>")[1]


def test_every_table_of_the_benchmarks_can_be_found():
    """The pages are made from benchmarks/results: mkdocs does not miss one that the navigation forgets."""
    navigation, index = ((ROOT / name).read_text() for name in ("mkdocs.yml", "docs/benchmarks/index.md"))
    tables = sorted((ROOT / "benchmarks" / "results").glob("*.md"))
    assert len(tables) > 10
    for table in tables:
        assert f"benchmarks/{table.name}\n" in navigation, table.name
        assert f"]({table.name})" in index, table.name


def test_names_of_other_packages_exist():
    """Links by name lead to their pages; a name that has gone would lead nowhere."""
    optional("latex2mathml")
    optional("mkdocs")
    specification = importlib.util.spec_from_file_location("hooks", DOCS / "hooks.py")
    hooks = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(hooks)
    packages = {dotted.partition(".")[0] for dotted in hooks.ELSEWHERE}
    assert {"anndata", "numpy", "scanpy", "scipy", "sklearn"} <= packages
    for package in packages:
        optional(package)
    for dotted in hooks.ELSEWHERE:
        assert resolve(dotted)


def test_every_public_name_is_in_the_reference():
    """On a page of the API, and so in our inventory."""
    shown = set(re.findall(r"^::: ([\w.]+)", "\n".join(page.read_text() for page in (DOCS / "api").glob("*.md")), re.M))
    for name in gsppca.__all__:
        found = getattr(gsppca, name)
        homes = {f"gsppca.{name}", f"{getattr(found, '__module__', '')}.{name}"}
        assert name.startswith("__") or homes & shown, name


def test_nothing_is_fetched_from_elsewhere():
    """No page, style or setting loads anything from another host."""
    for path in [*PAGES, *(DOCS / "assets").iterdir(), ROOT / "mkdocs.yml"]:
        assert not re.search(r"(src|@import|url\()\s*[=:]?\s*[\"'(]?https?://", path.read_text()), path
    assert "font: false" in (ROOT / "mkdocs.yml").read_text()
