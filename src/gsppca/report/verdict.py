"""The verdict in plain language, and what to be wary of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gsppca.report.content import Content

AS_GOOD = 3.0  # log evidence below the best that is no reason to prefer it: odds of 20 to 1
MISSES = 15  # variables below the cut that are listed


@dataclass(frozen=True)
class Miss:
    """A variable below the cut: its rank, name and relevance, and what reaching it changes the log evidence by."""

    rank: int
    name: str
    relevance: float
    change: float | None


def verdict(content: Content, model: Any) -> list[str]:
    """Return sentences that say what was found, the most important first."""
    size, p = content.n_selected, content.n_ranked
    if no_structure(model):
        return ["No common structure stands out of the noise: the selection may mean nothing."]
    by_evidence = isinstance(model.n_features_to_select, str)
    share = f"{size:,} of {p:,} variables ({size / p:.0%})"
    if not by_evidence:
        first = f"{share} were selected, as asked for; they are the best-ranked ones."
    elif size == p:
        first = f"All {p:,} variables carry the common structure: none could be called noise."
    else:
        first = f"{share} carry the common structure; the other {p - size:,} look like noise around it."
    sentences = [first]
    if content.component_ratios is not None:
        held = f"Their {count(len(content.component_ratios), 'component')} hold {content.component_ratios.sum():.1%}"
        everything = content.explained_at(p)
        beside = f"; with all variables it would be {everything:.1%}" if everything is not None and size < p else ""
        sentences.append(f"{held} of the total variance of all variables{beside}.")
    return [*sentences, *_certainty(content, by_evidence), *_against_noise(content)]


def no_structure(model: Any) -> bool:
    """Whether the model itself says that it found nothing."""
    collapsed = getattr(getattr(model._selection, "relaxed", None), "collapsed", False)
    return not bool(getattr(model, "supported_", True)) or bool(collapsed)


def _certainty(content: Content, by_evidence: bool) -> list[str]:
    """How sharply the evidence tells the chosen size from others."""
    path, size = content.path, content.n_selected
    best = int(path.sizes[np.argmax(path.log_evidence)])
    good = path.sizes[path.log_evidence >= path.log_evidence.max() - AS_GOOD]
    low, high = int(good[0]), int(good[-1])
    if not by_evidence:
        loss = -content.evidence_at(size)
        if np.isnan(loss) or size == best:
            return [f"The evidence by itself would choose {best:,}."]
        return [f"The evidence by itself would choose {best:,}: a log evidence higher by {loss:,.1f}."]
    if low == high:
        return ["The evidence is clear about their number: every other size is at least 20 times less likely."]
    sizes = f"{low:,} and {high:,}" if high == low + 1 else f"from {low:,} to {high:,}"
    return [f"The evidence hardly tells sizes {sizes} apart; the slider shows what each would select."]


def _against_noise(content: Content) -> list[str]:
    """How far the model is from one in which everything is noise, where the path knows that."""
    empty = float(getattr(content.path, "log_evidence_empty", -np.inf))
    here = content.evidence_at(content.n_selected) + float(content.path.log_evidence.max()) - empty
    return [f"Against a model of noise alone its log evidence is higher by {here:,.1f}."] if np.isfinite(here) else []


def cautions(content: Content, model: Any) -> list[str]:
    """Return what a reader should know before trusting the result."""
    found = []
    relaxed = getattr(model._selection, "relaxed", None)
    if relaxed is not None and not relaxed.converged and not relaxed.collapsed:
        found.append(
            f"The variational EM did not settle in {relaxed.n_iter} iterations: the ranking may still change. "
            "Raise max_iter."
        )
    n = content.n_samples
    if n is not None and n < 20:
        found.append(f"There are only {n} samples: expect another selection from other samples.")
    if content.n_constant:
        found.append(f"{count(content.n_constant, 'constant column')} took no part.")
    if content.n_selected < model.n_latent_:
        found.append(
            f"Fewer variables ({content.n_selected}) than latent dimensions ({model.n_latent_}) are selected: there "
            "are as many components as variables, and they hold all of their variance."
        )
    return found


def nearest_misses(content: Content) -> list[Miss]:
    """Return the first variables below the cut, and what growing the selection up to each would cost."""
    size = content.n_selected
    here = content.evidence_at(size) if size else float("nan")
    misses = []
    for rank in range(size + 1, min(size + MISSES, content.n_ranked) + 1):
        change = content.evidence_at(rank) - here
        k = rank - 1
        misses.append(
            Miss(rank, content.names[k], float(content.relevance[k]), None if np.isnan(change) else float(change))
        )
    return misses


def count(number: int, noun: str) -> str:
    """Say how many: "1 variable", "1,234 variables"."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
