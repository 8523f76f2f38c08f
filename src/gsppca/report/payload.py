"""The data of the page, as text that is safe inside a script element."""

from __future__ import annotations

import base64
import json
from typing import Any

import numpy as np

from gsppca.report.content import Content

# Any of these could end or change the script element that holds the text; inside JSON strings they can all be escaped.
UNSAFE = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def payload(content: Content) -> dict[str, Any]:
    """Return everything that the scripts of the page read."""
    scores = content.scores
    return {
        "names": content.names,
        "columns": packed(content.columns, "i4"),
        "relevance": packed(content.relevance, "f8"),
        "inclusion": packed(content.inclusion, "f8"),
        "evidenceSizes": packed(content.path.sizes, "i4"),
        "evidence": packed(content.path.log_evidence, "f8"),
        "explainedSizes": packed(content.explained_sizes, "i4"),
        "explained": packed(content.explained, "f8"),
        "nSelected": content.n_selected,
        "nRanked": content.n_ranked,
        "nComponents": 0 if content.loadings is None else len(content.loadings),
        # One component after the other. Single precision halves what is by far the largest part.
        "loadings": packed(content.loadings, "f4"),
        "componentRatios": packed(content.component_ratios, "f8"),
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
