"""From the content to one self-contained page."""

from __future__ import annotations

import base64
import gzip
import hashlib
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import resources
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from gsppca._optional import optional_import
from gsppca.report.content import Content
from gsppca.report.copies import LEAST_CORRELATION
from gsppca.report.payload import payload, script_json
from gsppca.report.verdict import cautions, nearest_misses, no_structure, verdict
from gsppca.summary import count, noise_line, related_line
from gsppca.variable_selection import VariableSelection

SCRIPTS = ("values.js", "charts.js", "samples.js", "table.js", "page.js")
PACKAGES = ("gsppca", "numpy", "scipy", "scikit-learn", "plotly")


def render(content: Content, model: VariableSelection, command: str | None, settings: Mapping[str, Any] | None) -> str:
    """Return the HTML of a report.

    Nothing is fetched: the style, the scripts and the data are in the page, and its content security policy forbids
    all connections. The policy also names the page's own scripts by their hashes, so that no text of the data could
    ever run as one.
    """
    jinja2 = optional_import("jinja2", "writing a report", "report")
    plotly = optional_import("plotly.offline", "writing a report", "report", "plotly")
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["percent"] = lambda value: f"{value:.1%}"
    environment.filters["signed"] = lambda value: f"{value:+.2f}".replace("-", "\N{MINUS SIGN}")
    environment.filters["counted"] = count
    library, script = plotly.get_plotlyjs(), "\n".join(asset(name) for name in SCRIPTS)
    view = content.view
    if view.core is None:
        roles = [("relevant", count(view.n_relevant, "variable"))]
    else:
        roles = [("core", count(view.core.size, "variable")), ("related", related_line(view))]
    roles.append(("noise", noise_line(view)))
    # A newline at either end is part of what the browser hashes: the template adds none.
    hashes = " ".join(f"'sha256-{_sha256(text)}'" for text in (library, script))
    return environment.from_string(asset("template.html")).render(
        content=content,
        verdict=verdict(content, model),
        cautions=cautions(content, model),
        unsupported=no_structure(model),
        misses=nearest_misses(content),
        copies=content.copies,
        least_correlation=LEAST_CORRELATION,
        explained=None if content.component_ratios is None else float(content.component_ratios.sum()),
        command=command or python_call(model),
        given_command=command is not None,
        settings=all_settings(model, settings),
        versions=versions(),
        written=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        policy=f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; img-src data: blob:",
        style=asset("report.css"),
        # A quarter of the size; the page unpacks it.
        library=base64.b64encode(gzip.compress(library.encode("utf-8"), 5, mtime=0)).decode("ascii"),
        script=script,
        roles=roles,
        has_shares=view.share_path is not None and view.supported,
        choosable=content.n_choosable,
        data=script_json(payload(content)),
    )


def asset(name: str) -> str:
    """Return a file of the page, from the package."""
    return resources.files("gsppca.report").joinpath("assets", name).read_text(encoding="utf-8")


def python_call(model: VariableSelection) -> str:
    """Return the Python that fits the same model again."""
    parameters = model.get_params(deep=False)
    defaults = type(model)().get_params(deep=False)
    changed = {name: value for name, value in parameters.items() if repr(value) != repr(defaults[name])}
    arguments = ", ".join(f"{name}={value!r}" for name, value in changed.items())
    name = type(model).__name__
    return f"from gsppca import {name}\n\nmodel = {name}({arguments}).fit(X)"


def all_settings(model: VariableSelection, given: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    """Return the caller's settings and the parameters of the model, as text."""
    parameters = model.get_params(deep=False)
    own = [(str(name), str(value)) for name, value in (given or {}).items() if name not in parameters]
    return own + [(name, repr(value)) for name, value in parameters.items()]


def versions() -> list[tuple[str, str]]:
    """Return the versions of what the result depends on."""
    found = [("Python", platform.python_version())]
    for package in PACKAGES:
        try:
            found.append((package, version(package)))
        except PackageNotFoundError:  # run from its sources, without being installed
            found.append((package, "not installed"))
    return found


def _sha256(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
