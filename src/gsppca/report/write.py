"""Write a report to a file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gsppca._atomic import new_file
from gsppca.report.content import collect
from gsppca.report.page import render
from gsppca.variable_selection import VariableSelection


def write_report(
    model: VariableSelection,
    path: str | os.PathLike[str],
    *,
    X: Any = None,
    feature_names: Sequence[Any] | None = None,
    sample_names: Sequence[Any] | None = None,
    labels: Sequence[Any] | None = None,
    command: str | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Path:
    """Write one HTML file that shows what a fitted model found; it needs no network, and no Python, to be read.

    Parameters
    ----------
    model : GSPPCA or GSPPCASelector
        A fitted model.
    path : str or path-like
        The file to write. It is written under a temporary name and moved, so that no half of a report is ever there.
    X : array-like of shape (n_samples, n_features), optional
        The data of `fit`. Needed only when the model has been pickled, copied or loaded since; without any data the
        report lacks the scores, and the explained variance of other sizes than the chosen one.
    feature_names : sequence of n_features names, optional
        Names of the variables; by default those seen in `fit`, or x0, x1, ...
    sample_names : sequence of n_samples names, optional
        Shown beside the points of the score plot.
    labels : sequence of n_samples labels, optional
        Colours of the score plot: numbers with many values become a colour scale, all others groups.
    command : str, optional
        The command that made this report, to be shown as the way to repeat it; by default the Python call.
    settings : mapping of str to anything, optional
        Further settings to show, such as the file that was read.

    Returns
    -------
    path : Path
        The file written.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from sklearn.datasets import load_iris
    >>> from gsppca import GSPPCA
    >>> from gsppca.report import write_report
    >>> iris = load_iris(as_frame=True)
    >>> model = GSPPCA(n_components=1, n_features_to_select=2).fit(iris.data)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = write_report(model, pathlib.Path(folder) / "report.html", labels=iris.target)
    ...     path.stat().st_size > 1_000_000
    True
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise ValueError(f"path must lie in a folder that exists, got {str(path)!r}. Make {str(path.parent)!r} first.")
    page = render(collect(model, X, feature_names, sample_names, labels), model, command, settings)
    with new_file(path) as temporary:
        temporary.write_text(page, encoding="utf-8", newline="\n")
    return path
