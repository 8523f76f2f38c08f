"""One page of all results: every table and figure, the paper's figures beside ours, a verdict for each claim.

It reads the tables of rows only, and may be written again at any time.
"""

from __future__ import annotations

import base64
import io
import os
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from gsppca._atomic import write_file
from gsppca._optional import optional_import
from gsppca.experiments.registry import experiment_names, get_experiment
from gsppca.experiments.spec import FAILS, HOLDS, TIE, UNTESTABLE, Claim, Experiment, Table
from gsppca.experiments.store import ResultsTable

TITLE = "The paper, run again"
INTRODUCTION = (
    "Every table and figure of Bouveyron, Latouche & Mattei, “Bayesian variable selection for globally sparse "
    "probabilistic PCA”, computed anew with this library and its own implementations of the competitors. The paper's "
    "figures stand beside ours. Each claim of the paper gets a plain verdict, and the test that was applied is "
    "stated; “significantly” means a paired t test at 5 %, and what it does not tell apart is called a tie. GSPPCA "
    "means the paper's procedure: variational EM ranking from the printed start {0.1, 1, 10} of alpha, in units of the "
    "noise, noiseless evidence, median noise."
)
REPRODUCE = "gsppca experiment run {name}"


@dataclass(frozen=True)
class Section:
    """What the page shows of one experiment."""

    experiment: Experiment
    tables: list[Table]
    claims: list[Claim]
    svg: str
    n_rows: int
    n_runs: int
    versions: str

    @property
    def image(self) -> str:
        """The figure as a data URI: inline SVGs of several figures would share identifiers."""
        return "data:image/svg+xml;base64," + base64.b64encode(self.svg.encode()).decode()

    @property
    def notes(self) -> list[str]:
        """Paragraphs."""
        return [part for part in self.experiment.notes.split("\n\n") if part]

    @property
    def command(self) -> str:
        """How to rerun it."""
        return REPRODUCE.format(name=self.experiment.name)


def make_section(experiment: Experiment, directory: str | os.PathLike[str]) -> Section:
    """Compute the views of one table of rows."""
    table = ResultsTable(experiment, directory)
    rows = table.read()
    keys = ["seed", *experiment.parameters]
    return Section(
        experiment,
        experiment.summary(rows),
        experiment.claims(rows),
        figure_svg(experiment, rows),
        len(rows),
        len(rows[keys].drop_duplicates()),
        "; ".join(dict.fromkeys(rows.versions)),
    )


def figure_svg(experiment: Experiment, rows: Any) -> str:
    """The figure as SVG text, the same for the same rows."""
    matplotlib: Any = optional_import("matplotlib", "a figure", "plot")
    buffer = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": experiment.name, "svg.fonttype": "path"}):
        experiment.figure(rows).savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()


def write_report(directory: str | os.PathLike[str] = "results") -> Path:
    """Write index.html, README.md and figures/ for all tables of a directory.

    Parameters
    ----------
    directory : str or path, default="results"
        Where the tables are.

    Returns
    -------
    pathlib.Path
        The page.
    """
    folder = Path(directory)
    names = [name for name in experiment_names() if (folder / f"{name}.csv").exists()]
    if not names:
        raise FileNotFoundError(
            f"{folder} holds no table of an experiment; run one first, with gsppca experiment run NAME --out {folder}"
        )
    sections = [make_section(get_experiment(name), folder) for name in names]
    (folder / "figures").mkdir(exist_ok=True)
    for section in sections:
        write_file(folder / "figures" / f"{section.experiment.name}.svg", section.svg.encode())
    write_file(folder / "README.md", as_markdown(sections).encode())
    page = folder / "index.html"
    write_file(page, as_html(sections).encode())
    return page


def as_html(sections: list[Section]) -> str:
    """The page, self-contained; every text is escaped."""
    jinja2: Any = optional_import("jinja2", "the page of results", "report")
    text = files("gsppca.experiments").joinpath("report.html.jinja").read_text(encoding="utf-8")
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    counts = {
        name: sum(claim.verdict == name for s in sections for claim in s.claims)
        for name in (HOLDS, FAILS, TIE, UNTESTABLE)
    }
    badges = {HOLDS: "holds", FAILS: "fails", TIE: "open", UNTESTABLE: "open"}
    page: str = environment.from_string(text).render(
        title=TITLE, introduction=INTRODUCTION, sections=sections, counts=counts, badges=badges
    )
    return page


def as_markdown(sections: list[Section]) -> str:
    """The same for a reader of the repository."""
    lines = [f"# {TITLE}", "", _cell(INTRODUCTION), ""]
    lines += [
        "Written by `gsppca experiment report` from the rows in `*.csv`; `index.html` is the same page.",
        "",
    ]
    lines += ["## Verdicts", ""]
    verdicts = [
        [section.experiment.paper, claim.text, f"**{claim.verdict}**", claim.ours, claim.paper]
        for section in sections
        for claim in section.claims
    ]
    lines += _markdown_table(["place", "claim", "verdict", "ours", "paper"], verdicts)
    for section in sections:
        name = section.experiment.name
        lines += ["", f"## {_cell(section.experiment.title)}", ""]
        lines += [f"{_cell(section.experiment.paper)}. {_cell(section.experiment.question)}", ""]
        lines += [
            f"`{section.command}` — {section.n_runs} runs, {section.n_rows} rows in [{name}.csv]({name}.csv).",
            "",
        ]
        lines += [f"![{_cell(section.experiment.title)}](figures/{name}.svg)", ""]
        for table in section.tables:
            lines += [f"**{_cell(table.title)}**", "", *_markdown_table(table.columns, table.rows), ""]
        lines += [f"{_cell(note)}\n" for note in section.notes]
        for claim in section.claims:
            lines.append(f"- {_cell(claim.text)}: **{claim.verdict}**. {_cell(claim.why)}")
    return "\n".join(lines).rstrip() + "\n"


def _markdown_table(columns: Any, rows: Any) -> list[str]:
    lines = ["| " + " | ".join(_cell(column) for column in columns) + " |", "|" + "---|" * len(columns)]
    return lines + ["| " + " | ".join(_cell(cell) for cell in row) + " |" for row in rows]


def _cell(text: str) -> str:
    """Text that neither breaks a table nor becomes HTML."""
    for mark, safe in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("|", "\\|"), ("\n", " ")):
        text = text.replace(mark, safe)
    return text
