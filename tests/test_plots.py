"""Pictures: axes in, axes out, showing the numbers of the model."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")
import matplotlib.pyplot as plt

from gsppca import GSPPCA
from gsppca.plots import SELECTED, plot_evidence, plot_image, plot_relevance


@pytest.fixture
def model(factor_data):
    return GSPPCA(3).fit(factor_data(0)[0])


@pytest.fixture
def ax():
    figure, ax = plt.subplots()
    yield ax
    plt.close(figure)


def test_evidence(model, ax):
    assert plot_evidence(model, ax) is ax
    curve, mark = ax.lines
    path = model.evidence_path_
    np.testing.assert_array_equal(curve.get_xdata(), path.sizes)
    np.testing.assert_allclose(curve.get_ydata(), path.log_evidence - path.log_evidence.max())
    assert set(mark.get_xdata()) == {model.n_selected_}
    assert ax.texts[0].get_text() == f"{model.n_selected_} selected"


def test_relevance(model, ax, factor_data):
    plot_relevance(model, ax, truth=factor_data(0)[1])
    points, truth = ax.collections[1], ax.collections[2]
    np.testing.assert_allclose(points.get_offsets()[:, 1], np.sort(model.relevance_)[::-1])
    coloured = (points.get_facecolors()[:, :3] == mpl.colors.to_rgb(SELECTED)).all(axis=1)
    assert coloured.sum() == model.n_selected_
    assert truth.get_offsets()[:8, 1].sum() == 8


def test_relevance_of_many_variables_is_an_area(ax, factor_data):
    model = GSPPCA(3).fit(factor_data(0, p=300)[0])
    plot_relevance(model, ax)
    assert len(ax.collections) == 2


def test_image(model, ax):
    plot_image(model, (5, 5), ax)
    np.testing.assert_array_equal(ax.images[0].get_array(), model.relevance_.reshape(5, 5))
    # One edge between each selected pixel and each neighbour that is not.
    padded = np.pad(model.support_.reshape(5, 5), 1).astype(int)
    edges = np.abs(np.diff(padded, axis=0)).sum() + np.abs(np.diff(padded, axis=1)).sum()
    assert len(ax.lines) == edges
    with pytest.raises(ValueError, match=r"shape must have as many pixels .* 25, got \(4, 4\)"):
        plot_image(model, (4, 4), ax)


def test_the_current_axes_are_the_default(model, ax):
    plt.sca(ax)
    assert plot_evidence(model) is ax


def test_without_matplotlib_the_error_names_the_extra(model, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"gsppca\[plot\]"):
        plot_evidence(model)
