"""What the site needs beyond Markdown: formulas as MathML, and the benchmark tables as pages.

Browsers draw MathML themselves: no script is loaded, from this site or any other.
"""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
TABLES = ROOT / "benchmarks" / "results"
RESULTS = ROOT / "results"
FORMULA = re.compile(
    r'<span class="arithmatex">\\\((?P<inline>.*?)\\\)</span>'
    r'|<div class="arithmatex">\s*\\\[(?P<block>.*?)\\\]\s*</div>',
    re.DOTALL,
)
# Pages of other packages, for links by name. An inventory (objects.inv) would have to be fetched for every build.
_SKLEARN = "https://scikit-learn.org/stable/modules/generated/{}.html"
_NUMPY = "https://numpy.org/doc/stable/reference/generated/{}.html"
_ANNDATA = "https://anndata.readthedocs.io/en/stable/generated/{}.html"
_SCANPY = "https://scanpy.readthedocs.io/en/stable/api/{}.html"
_SCIPY = "https://docs.scipy.org/doc/scipy/reference/generated/{}.html"
ELSEWHERE = {
    "anndata.AnnData": _ANNDATA,
    "numpy.ndarray": _NUMPY,
    "numpy.memmap": _NUMPY,
    "scanpy.pp.highly_variable_genes": _SCANPY,
    "scanpy.pp.pca": _SCANPY,
    "scipy.sparse.csc_array": _SCIPY,
    "scipy.sparse.csr_array": _SCIPY,
    "sklearn.base.clone": _SKLEARN,
    "sklearn.decomposition.PCA": _SKLEARN,
    "sklearn.decomposition.SparsePCA": _SKLEARN,
    "sklearn.feature_selection.SelectorMixin": _SKLEARN,
    "sklearn.feature_selection.VarianceThreshold": _SKLEARN,
    "sklearn.model_selection.GridSearchCV": _SKLEARN,
    "sklearn.pipeline.Pipeline": _SKLEARN,
    "sklearn.pipeline.make_pipeline": _SKLEARN,
    "sklearn.preprocessing.StandardScaler": _SKLEARN,
}
LONG_NAME = re.compile(r"<code>([\w./:]{16,})</code>")


def on_files(files: Any, config: Any) -> Any:
    """Publish benchmarks/results/NAME.md as the page benchmarks/NAME.md, and the page of the experiments as it is."""
    for table in sorted(TABLES.glob("*.md")):
        files.append(File.generated(config, f"benchmarks/{table.name}", abs_src_path=str(table)))
    for result in (RESULTS / "index.html", *sorted(RESULTS.glob("*.csv"))):
        files.append(File.generated(config, f"results/{result.name}", abs_src_path=str(result)))
    return files


def on_env(env: Any, config: Any, **_: Any) -> Any:
    """Let pages link to other packages by name."""
    for name, page in ELSEWHERE.items():
        config.plugins["autorefs"].register_url(name, page.format(name))
    return env


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Let links to tables and results, right in the repository, be right on the site too."""
    markdown = markdown.replace("(../results/README.md)", "(results/index.html)")
    return markdown.replace("(../benchmarks/results/", "(benchmarks/")


def on_page_content(content: str, **_: Any) -> str:
    """Turn formulas into MathML, and let long names in the text break at their joints."""
    return LONG_NAME.sub(_breakable, FORMULA.sub(_mathml, content))


def _breakable(match: re.Match[str]) -> str:
    name = re.sub(r"(::|[._/])(?=[A-Za-z])", r"\1<wbr>", match[1])
    return f"<code>{name}</code>"


def _mathml(match: re.Match[str]) -> str:
    block = match["block"] is not None
    formula = html.unescape(match["block"] if block else match["inline"]).strip()
    mathml = convert(formula, display="block" if block else "inline")
    return f'<div class="formula">{mathml}</div>' if block else mathml
