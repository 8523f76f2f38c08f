"""A fitted model in words and as a table.

Every place that shows a fit takes its numbers from `gsppca.overview`, so that all of them say the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from gsppca._optional import optional_import
from gsppca.overview import Overview, overview, table_columns

if TYPE_CHECKING:
    from gsppca.variable_selection import VariableSelection

FIRST = 10  # variables that a summary names
TARGETS = (0.5, 0.7, 0.8, 0.9, 0.95, 0.99)  # shares for which a size is proposed


def headline(view: Overview) -> list[str]:
    """Say in sentences what was selected and what it carries, with the numbers of relevant and of core variables."""
    p, size = len(view.names), view.n_selected
    if not view.supported:
        return [
            f"No statistically supported structure: {count(size, 'variable')} of {p:,} kept, which may mean nothing."
        ]
    sentences = [_selection(view, p, size)]
    if view.core is not None:
        if view.selected_by != "core":
            sentences.append(
                f"A core of {count(view.core.size, 'variable')} carries {view.core.share:.0%} of the structure of all "
                "relevant ones on rows left out."
            )
        sentences.append(
            f"The components of the core predict {max(view.core.description.variance_share, 0):.0%} of the variance of "
            "all variables on rows left out."
        )
    return sentences


def _selection(view: Overview, p: int, size: int) -> str:
    relevant = f"{view.n_relevant:,} of {p:,} variables are relevant"
    carried = "" if view.share is None else f", carrying {view.share:.0%} of their structure on rows left out"
    if view.selected_by == "relevant":
        return f"{relevant} and selected{carried}; {p - view.n_relevant:,} are noise."
    if view.selected_by == "core":
        share = view.share if view.share is not None else 0.0
        return (
            f"A core of {size:,} of {p:,} variables carries {share:.0%} of the structure of the {view.n_relevant:,} "
            "relevant ones on rows left out."
        )
    if view.selected_by == "size":
        return f"{relevant}; the first {size:,} are selected, as asked for{carried}."
    rule = {"fdr": "the false discovery rate", "r2": "the minimum R2"}.get(view.selected_by, repr(view.selected_by))
    return f"{count(size, 'variable')} of {p:,} pass {rule}; {view.n_relevant:,} are relevant."


def related_line(view: Overview) -> str:
    """Say how many variables are related, and how much of them the core predicts."""
    related = view.role == "related"
    number = int(related.sum())
    if view.core is None or not view.supported:
        return count(number, "variable")
    if not number:
        return "no variables"
    share = float(np.mean(view.predicted[related]))
    return f"{count(number, 'variable')}; the core predicts {share:.0%} of their variance on rows left out"


def noise_line(view: Overview) -> str:
    """Say how many variables are noise."""
    number, constant = int((view.role == "noise").sum()), int((~view.varying).sum())
    return count(number, "variable") + (f", {constant:,} of them constant" if constant else "")


def other_sizes(view: Overview) -> list[tuple[int, float]]:
    """Return sizes and shares on either side of the selected size, as far as they were evaluated."""
    if view.share_path is None or not view.supported:
        return []
    found: dict[int, float] = {}
    shares = view.share_path.share
    for target in TARGETS:
        places = np.flatnonzero(shares >= target)
        if len(places) and int(places[0]) + 1 not in (view.n_selected, *found):
            found[int(places[0]) + 1] = float(shares[places[0]])
    return sorted(found.items())


def summary(model: VariableSelection) -> str:
    """Return a fitted model in a few lines: what was selected, what it carries, the first variables, other sizes.

    Parameters
    ----------
    model : GSPPCA or GSPPCASelector
        A fitted model.
    """
    view = overview(model)
    shown = view.order[: min(FIRST, view.n_selected)]
    width = max([4, *(len(view.names[k]) for k in shown)])
    lines = [*headline(view), ""]
    lines.append(f"rank  {'name':{width}}  role      share so far")
    for k in shown.tolist():
        share = view.share_at(int(view.rank[k]))
        so_far = "" if share is None else f"{share:.0%}"
        lines.append(f"{view.rank[k]:4d}  {view.names[k]:{width}}  {view.role[k]:8}  {so_far:>12}".rstrip())
    if view.n_selected > len(shown):
        lines.append(f"... and {view.n_selected - len(shown):,} more: model.to_frame()")
    lines += ["", f"related: {related_line(view)}", f"noise:   {noise_line(view)}"]
    return "\n".join(lines)


def to_frame(model: VariableSelection, names: Sequence[Any] | None = None, output: str | None = None) -> Any:
    """Return a table of all variables, the selected ones first: role, rank, what represents each, and figures.

    Parameters
    ----------
    model : GSPPCA or GSPPCASelector
        A fitted model.
    names : sequence of n_features names, optional
        By default those seen in fit, or x0, x1, ...
    output : {"pandas", "polars"}, optional
        Kind of the table; by default polars if ``model.set_output(transform="polars")`` was set, else pandas.
    """
    kind = output or ("polars" if _configured(model) == "polars" else "pandas")
    if kind not in ("pandas", "polars"):
        raise ValueError(f"output must be 'pandas' or 'polars', got {output!r}.")
    columns = table_columns(overview(model, names))
    frames = optional_import(kind, "to_frame", None)
    if kind == "polars":
        return frames.DataFrame({name: list(values) for name, values in columns.items()}, strict=False)
    return frames.DataFrame(columns)


def html(model: VariableSelection) -> str:
    """Return a fitted model as HTML for a notebook: headline, the first ten variables, roles.

    Parameters
    ----------
    model : GSPPCA or GSPPCASelector
        A fitted model.
    """
    view = overview(model)
    first, *more = headline(view)
    rows = []
    for k in view.order[: min(FIRST, view.n_selected)].tolist():
        share = view.share_at(int(view.rank[k]))
        others = view.stands_for(k)
        cells = [
            f"{view.rank[k]}",
            view.names[k],
            str(view.role[k]),
            shown_group(view, others),
            "" if share is None else f"{share:.0%}",
        ]
        rows.append("<tr>" + "".join(f"<td style='text-align:left'>{escape(cell)}</td>" for cell in cells) + "</tr>")
    heads = "".join(
        f"<th style='text-align:left'>{head}</th>" for head in ("rank", "name", "role", "stands for", "share so far")
    )
    left = view.n_selected - len(rows)
    rest = f"<p>… and {left:,} more: <code>model.to_frame()</code></p>" if left > 0 else ""
    return (
        f"<div><p><strong>{escape(first)}</strong></p>"
        + "".join(f"<p>{escape(sentence)}</p>" for sentence in more)
        + f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>{rest}"
        + f"<p>related: {escape(related_line(view))}<br>noise: {escape(noise_line(view))}</p></div>"
    )


def shown_group(view: Overview, others: Sequence[int], most: int = 2) -> str:
    """Return the first of some represented variables with their correlations, and how many more there are."""
    first = ", ".join(f"{view.names[k]} {view.correlation[k]:+.2f}" for k in others[:most])
    return first + (f" +{len(others) - most:,} more" if len(others) > most else "")


def count(number: int, noun: str) -> str:
    """Say how many: "1 variable", "1,234 variables"."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def _configured(model: VariableSelection) -> str:
    """Kind of container that `set_output` asked for."""
    from sklearn.utils._set_output import _get_output_config

    return str(_get_output_config("transform", model)["dense"])
