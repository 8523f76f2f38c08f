"""The data of the page, as text that is safe inside a script element."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np

from gsppca.report.content import Content
from gsppca.report.sizes import Sized

ROLES = ("core", "related", "noise", "relevant")
# Any of these could end or change the script element that holds the text; inside JSON strings they can all be escaped.
UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def payload(content: Content) -> dict[str, Any]:
    """Return everything that the scripts of the page read."""
    scores, view, path = content.scores, content.view, content.path
    place = np.full(content.n_features, -1)  # of a column of X along the ranking
    place[content.columns] = np.arange(content.n_ranked)
    by = view.represented_by[content.columns]
    shares = view.share_path if view.supported else None
    return {
        "names": content.names,
        "columns": packed(content.columns, "i4"),
        "relevance": packed(content.relevance, "f8"),
        "inclusion": packed(content.inclusion, "f8"),
        "selected": packed(content.selected, "u1"),
        "roles": list(ROLES),
        "role": packed([ROLES.index(role) for role in view.role[content.columns].tolist()], "u1"),
        "representedBy": packed(np.where(by < 0, -1, place[by]), "i4"),
        "correlation": packed(view.correlation[content.columns], "f4"),
        "predicted": packed(view.predicted[content.columns], "f4"),
        "presets": [{"size": one.size, "name": one.name} for one in content.presets],
        "isCut": view.is_cut,
        "shares": packed(None if shares is None else shares.share, "f8"),
        "promised": packed(None if shares is None else shares.promised, "f8"),
        "coreSize": view.n_core,
        "selectedShare": view.share,
        "evidenceSizes": packed(np.empty(0) if path is None else path.sizes, "i4"),
        "evidence": packed(np.empty(0) if path is None else path.log_evidence, "f8"),
        "explainedSizes": packed(content.explained_sizes, "i4"),
        "explained": packed(content.explained, "f8"),
        "nSelected": content.n_selected,
        "nRanked": content.n_ranked,
        "nChoosable": content.n_choosable,
        "nComponents": 0 if content.loadings is None else len(content.loadings),
        # One component after the other. Single precision halves what is by far the largest part.
        "loadings": packed(content.loadings, "f4"),
        "componentRatios": packed(content.component_ratios, "f8"),
        "sized": [_sized(one) for one in content.sized],
        "scores": None
        if scores is None
        else {
            "values": packed(scores.values.T, "f4"),
            "nAxes": scores.values.shape[1],
            "rows": packed(scores.rows, "i4"),
            "nSamples": scores.n_samples,
            "sampleNames": scores.sample_names,
            "groups": scores.groups,
            "group": packed(scores.group, "i4"),
            "numbers": packed(scores.numbers, "f8"),
        },
    }


def _sized(one: Sized) -> dict[str, Any]:
    return {
        "size": one.size,
        "nComponents": len(one.loadings),
        "nAxes": one.scores.shape[1],
        "loadings": packed(one.loadings, "f4"),
        "componentRatios": packed(one.ratios, "f8"),
        "values": packed(one.scores.T, "f4"),
    }


def packed(values: Any, kind: str) -> dict[str, str] | None:
    """Return an array as its little-endian bytes in base64: exact, half the size of decimals, NaN included."""
    if values is None:
        return None
    raw = np.ascontiguousarray(values, dtype=f"<{kind}").tobytes()
    return {"kind": kind, "bytes": base64.b64encode(raw).decode("ascii")}


def script_json(values: Any) -> str:
    """Return values as JSON that no HTML parser can take for markup."""
    text = json.dumps(values, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character, escape in UNSAFE.items():
        text = text.replace(character, escape)
    # Half of a surrogate pair, from a badly decoded name, cannot be written as UTF-8.
    return text.encode("utf-8", "replace").decode("utf-8")
