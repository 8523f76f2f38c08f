"""A fitted model in words and as a table.

Every place that shows a fit takes its numbers from `gsppca.overview`, so that all of them say the same.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from gsppca._optional import optional_import
from gsppca.overview import Overview, overview, table_columns

if TYPE_CHECKING:
    from gsppca.variable_selection import VariableSelection

FIRST = 10  # variables that a summary names
NEARLY_ALL = 0.9  # share of the variables that is hardly a selection
TARGETS = (0.5, 0.7, 0.8, 0.9, 0.95, 0.99)  # shares for which a size is proposed


def headline(view: Overview) -> list[str]:
    """Say in sentences what was selected and what it carries, with the numbers of relevant and of core variables."""
    p, size = len(view.names), view.n_selected
    if not view.supported:
        kept = f"the one of {p:,} variables that is" if size == 1 else f"the {size:,} of {p:,} variables that are"
        return [f"No statistically supported structure was found: do not interpret {kept} kept."]
    sentences = [_selection(view, p, size)]
    if view.core is not None:
        if not np.array_equal(view.selected, view.role == "core"):
            sentences.append(
                f"A core of {count(view.core.size, 'variable')} carries {view.core.share:.0%} of the structure of all "
                "relevant ones on rows left out."
            )
        sentences.append(
            f"The components of the core predict {max(view.core.description.variance_share, 0):.0%} of the variance of "
            f"all variables on rows left out{_unpredictable(view)}."
        )
    return sentences


def _unpredictable(view: Overview) -> str:
    """Say why little of the variance of all variables is predicted, where most of them share nothing with others."""
    noise, predicted = int((view.role == "noise").sum()), view.core.description.variance_share if view.core else 1.0
    if view.method != "joint" or 2 * noise <= len(view.names) or predicted > 0.5:
        return ""
    return f"; {noise:,} are noise, which nothing predicts"


def _selection(view: Overview, p: int, size: int) -> str:
    relevant = f"{view.n_relevant:,} of {p:,} variables {_are(view.n_relevant)} relevant"
    theirs = "its" if view.n_relevant == 1 else "their"
    carried = "" if view.share is None else f", carrying {view.share:.0%} of {theirs} structure on rows left out"
    if view.selected_by == "relevant":
        noise = p - view.n_relevant
        return f"{relevant} and selected{carried}; {f'{noise:,}' if noise else 'none'} {_are(noise or 1)} noise."
    if view.selected_by == "core":
        share = view.share if view.share is not None else 0.0
        return (
            f"A core of {size:,} of {p:,} variables carries {share:.0%} of the structure of the {view.n_relevant:,} "
            "relevant ones on rows left out."
        )
    if view.selected_by == "size":
        first = "the first is" if size == 1 else f"the first {size:,} are"
        return f"{relevant}; {first} selected, as asked for{carried or _carried_at_least(view)}."
    rule = {"fdr": "the false discovery rate", "r2": "the minimum R2"}.get(view.selected_by, repr(view.selected_by))
    passing = "passes" if size == 1 else "pass"
    return f"{count(size, 'variable')} of {p:,} {passing} {rule}; {view.n_relevant:,} {_are(view.n_relevant)} relevant."


def _carried_at_least(view: Overview) -> str:
    """Say what the first of the selected variables carry, where shares were not evaluated up to their number."""
    if view.share_path is None or not view.is_cut or not 0 < len(view.share_path.share) < view.n_selected:
        return ""
    known = len(view.share_path.share)
    return f"; the first {known:,} alone carry {view.share_path.share[-1]:.0%} of the structure on rows left out"


def doubts(view: Overview) -> list[str]:
    """Say what makes a result less telling than it looks, whatever the method and the rule; often nothing."""
    if not view.supported:
        return []
    found = []
    size, varying = view.n_selected, int(view.varying.sum())
    smaller = view.n_core is not None and view.n_core < size
    if size > NEARLY_ALL * varying:
        core = f" n_features_to_select='core' (--size core) selects {view.n_core:,}." if smaller else ""
        everything = f"Nothing is left out: {'all ' if size > 2 else ''}{count(size, 'variable')} are selected."
        most = f"Nearly nothing is left out: {size:,} of {count(varying, 'variable')} are selected."
        found.append((everything if size == varying else most) + core)
    elif size == 1:
        found.append(_one_variable(view))
    if view.heaviest:
        names = ", ".join(view.names[k] for k in view.heaviest)
        holds, decides = ("holds", "decides") if len(view.heaviest) == 1 else ("hold", "decide")
        found.append(
            f"{names} {holds} {_floor(view.heaviest_share)} of the total variance and {decides} the components. If "
            "columns have different units, use scale=True (--scale)."
        )
    forced = int((~view.relevant & (view.role == "core")).sum())
    if forced:
        found.append(f"{forced:,} of the core {_are(forced)} there because of `include`, not relevant otherwise.")
    return found


def _notes(view: Overview) -> list[str]:
    """Doubts for users of Python: without the options of the command line."""
    return [f"Note: {re.sub(r' [(]--[^)]+[)]', '', doubt)}" for doubt in doubts(view)]


def _one_variable(view: Overview) -> str:
    """Say that one variable is few, and what gives more."""
    only = "Only one variable is selected."
    if view.n_relevant > 1:
        return f"{only} n_features_to_select='relevant' (--size relevant) selects {view.n_relevant:,}."
    if view.method != "joint":
        return f"{only} By this method all others are noise; method='joint' (--method joint) asks what variables share."
    return f"{only} No other one shares anything with it."


def _are(number: int) -> str:
    return "is" if number == 1 else "are"


def _floor(share: float) -> str:
    """A share in percent, never rounded up to all."""
    return f"{min(share, 0.999):.1%}" if share >= 0.99 else f"{share:.0%}"


def related_line(view: Overview) -> str:
    """Say how many variables are related, and how much of them the core predicts."""
    related = view.role == "related"
    number = int(related.sum())
    if view.core is None or not view.supported:
        return count(number, "variable")
    if not number:
        return count(number, "variable")
    share = float(np.mean(view.predicted[related]))
    theirs = "its" if number == 1 else "their"
    return f"{count(number, 'variable')}; the core predicts {share:.0%} of {theirs} variance on rows left out"


def noise_line(view: Overview) -> str:
    """Say how many variables are noise."""
    number, constant = int((view.role == "noise").sum()), int((~view.varying).sum())
    if not constant:
        return count(number, "variable")
    return f"{count(number, 'variable')}, {'' if number == constant else f'{constant:,} of them '}constant"


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
    lines = [*headline(view), *_notes(view), ""]
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
    table = []
    for k in view.order[: min(FIRST, view.n_selected)].tolist():
        share = view.share_at(int(view.rank[k]))
        so_far = "" if share is None else f"{share:.0%}"
        group = shown_group(view, view.stands_for(k))
        table.append([f"{view.rank[k]}", view.names[k], str(view.role[k]), group, so_far])
    names = ("rank", "name", "role", "stands for", "share so far")
    kept = [j for j in range(len(names)) if j < 3 or any(row[j] for row in table)]  # not known for every rule
    left_aligned = "style='text-align:left'"
    heads = "".join(f"<th {left_aligned}>{names[j]}</th>" for j in kept)
    rows = ["<tr>" + "".join(f"<td {left_aligned}>{escape(row[j])}</td>" for j in kept) + "</tr>" for row in table]
    left = view.n_selected - len(rows)
    rest = f"<p>… and {left:,} more: <code>model.to_frame()</code></p>" if left > 0 else ""
    return (
        f"<div><p><strong>{escape(first)}</strong></p>"
        + "".join(f"<p>{escape(sentence)}</p>" for sentence in (*more, *_notes(view)))
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
