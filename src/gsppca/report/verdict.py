"""The verdict in plain language, and what to be wary of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gsppca.report.content import Content
from gsppca.summary import count, doubts, headline
from gsppca.variable_selection import VariableSelection

AS_GOOD = 3.0  # log evidence below the best that is no reason to prefer it: odds of 20 to 1
MISSES = 15  # variables below the cut that are listed


@dataclass(frozen=True)
class Miss:
    """A variable that is not selected: what represents it, and how much of it the core predicts."""

    rank: int
    name: str
    role: str
    represented_by: str | None
    correlation: float | None
    predicted: float | None


def verdict(content: Content, model: VariableSelection) -> list[str]:
    """Return sentences that say what was found, the most important first."""
    sentences = headline(content.view)
    if no_structure(model):
        return sentences
    if content.component_ratios is not None:
        held = f"{count(len(content.component_ratios), 'component')} of the selected variables"
        everything = content.explained_at(content.n_ranked)
        # A list of all relevant variables may have more components than a core.
        more = model._fitted.found.components_at(content.n_ranked)
        whose = "all" if more == len(content.component_ratios) else f"all, with {more} components"
        beside = "" if everything is None or content.n_selected == content.n_ranked else f" ({whose}: {everything:.1%})"
        share = _percent(float(content.component_ratios.sum()))
        sentences.append(f"The {held} span {share}{beside} of the total variance of all variables.")
    return [*sentences, *_certainty(content, model), *_against_noise(content)]


def _percent(share: float) -> str:
    return "less than 0.1%" if share < 0.0005 else f"{share:.1%}"


def no_structure(model: VariableSelection) -> bool:
    """Whether the model itself says that it found nothing."""
    relaxed = model._fitted.found.relaxed
    collapsed = relaxed is not None and relaxed.collapsed
    return not bool(getattr(model, "supported_", True)) or bool(collapsed)


def _certainty(content: Content, model: VariableSelection) -> list[str]:
    """How sharply the evidence tells the number of relevant variables from others, where it decided along the order."""
    path, size = content.path, content.n_selected
    if path is None or model.selected_by_ != "relevant" or int(path.sizes[np.argmax(path.log_evidence)]) != size:
        return []
    good = path.sizes[path.log_evidence >= path.log_evidence.max() - AS_GOOD]
    low, high = int(good[0]), int(good[-1])
    if low == high:
        return ["The evidence is clear about their number: every other size is at least 20 times less likely."]
    sizes = f"{low:,} and {high:,}" if high == low + 1 else f"from {low:,} to {high:,}"
    return [f"The evidence hardly tells sizes {sizes} apart; the slider shows what each would select."]


def _against_noise(content: Content) -> list[str]:
    """How far the model is from one in which everything is noise, where the path knows that."""
    if content.path is None:
        return []
    here = content.evidence_at(content.n_selected) + float(content.path.log_evidence.max())
    here -= float(content.path.log_evidence_empty)
    if not np.isfinite(here) or not content.view.is_cut:
        return []
    return [f"Against a model of noise alone its log evidence is higher by {here:,.1f}."]


def cautions(content: Content, model: VariableSelection) -> list[str]:
    """Return what a reader should know before trusting the result."""
    found = [*content.view.warnings, *doubts(content.view)]
    n = content.n_samples
    if n is not None and n < 20:
        found.append(f"There are only {n} samples: expect another selection from other samples.")
    if content.n_constant:
        found.append(f"{count(content.n_constant, 'constant column')} took no part.")
    if 0 < content.n_selected <= content.n_components:
        found.append("There are as many components as selected variables: they hold all of the variance of these.")
    return found


def nearest_misses(content: Content) -> list[Miss]:
    """Return the first variables that are not selected, and why each is not."""
    view, misses = content.view, []
    for k in np.flatnonzero(~content.selected)[:MISSES].tolist():
        column = int(content.columns[k])
        by, share = int(view.represented_by[column]), float(view.predicted[column])
        misses.append(
            Miss(
                k + 1,
                content.names[k],
                str(view.role[column]),
                None if by < 0 else view.names[by],
                None if by < 0 else float(view.correlation[column]),
                None if np.isnan(share) else share,
            )
        )
    return misses
