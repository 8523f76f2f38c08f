"""Pictures: axes in, axes out, showing the numbers of the model."""

from __future__ import annotations

from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")
import matplotlib.pyplot as plt

from gsppca import GSPPCA, GSPPCASelector
from gsppca.plots import (
    MARK,
    OTHER,
    PALETTE,
    SELECTED,
    BiplotDisplay,
    EvidencePathDisplay,
    LoadingsDisplay,
    RelevanceDisplay,
    RelevancePathDisplay,
    SelectedImageDisplay,
    StabilityDisplay,
    plot_biplot,
    plot_evidence,
    plot_image,
    plot_loadings,
    plot_relevance,
    plot_relevance_path,
    plot_stability,
)
from gsppca.plots._axes import literal, spread


@pytest.fixture
def data(factor_data):
    return factor_data(0)


@pytest.fixture
def model(data):
    return GSPPCA(3).fit(data[0])


@pytest.fixture
def ax():
    figure, ax = plt.subplots()
    yield ax
    figure.canvas.draw()  # whatever cannot be drawn fails here
    plt.close("all")


def with_path(model):
    """A path on which variable k dies at a level that falls with its rank."""
    levels = np.geomspace(0.1, 10, 30)
    deaths = 10 ** np.linspace(1, -0.5, 25)[model.ranking_ - 1]
    relevance = np.maximum(1 - levels[:, None] / deaths, 0) * np.linspace(1, 2, 25)
    model.relevance_path_ = SimpleNamespace(levels=levels, relevance=relevance)
    return model


def test_evidence(model, ax):
    assert plot_evidence(model, ax) is ax
    curve, mark = ax.lines
    path = model.evidence_path_
    np.testing.assert_array_equal(curve.get_xdata(), path.sizes)
    np.testing.assert_allclose(curve.get_ydata(), path.log_evidence - path.log_evidence.max())
    assert set(mark.get_xdata()) == {model.n_selected_}
    assert ax.texts[0].get_text() == f"{model.n_selected_} selected"
    assert ax.get_xscale() == "linear"


def test_evidence_of_a_path_with_gaps(ax):
    sizes, values = np.array([1, 5, 20, 400, 3000]), np.array([-9.0, -3.0, 4.0, 2.0, 0.0])
    display = EvidencePathDisplay(sizes, values, 20).plot(ax, relative=False)
    np.testing.assert_array_equal(display.line_.get_xydata(), np.column_stack([sizes, values]))
    assert ax.get_xscale() == "log"
    EvidencePathDisplay(sizes, values, 20).plot(ax, xscale="linear")
    assert ax.get_xscale() == "linear"


def test_relevance(model, ax, data):
    plot_relevance(model, ax, truth=data[1])
    points, truth = ax.collections[1], ax.collections[2]
    np.testing.assert_allclose(points.get_offsets()[:, 1], np.sort(model.relevance_)[::-1])
    coloured = (points.get_facecolors()[:, :3] == mpl.colors.to_rgb(SELECTED)).all(axis=1)
    assert coloured.sum() == model.n_selected_
    assert truth.get_offsets()[:8, 1].sum() == 8


def test_relevance_of_many_variables_is_an_area(ax, factor_data):
    model = GSPPCA(3).fit(factor_data(0, p=300)[0])
    plot_relevance(model, ax)
    everything, selected = ax.collections
    assert everything.get_paths()[0].vertices[:, 0].max() == 300
    assert selected.get_paths()[0].vertices[:, 0].max() == model.n_selected_


def test_image(model, ax):
    plot_image(model, (5, 5), ax)
    np.testing.assert_array_equal(ax.images[0].get_array(), model.relevance_.reshape(5, 5))
    # One edge between each selected pixel and each neighbour that is not.
    padded = np.pad(model.support_.reshape(5, 5), 1).astype(int)
    edges = np.abs(np.diff(padded, axis=0)).sum() + np.abs(np.diff(padded, axis=1)).sum()
    assert len(ax.lines) == edges
    with pytest.raises(ValueError, match=r"shape must have as many pixels .* 25, got \(4, 4\)"):
        plot_image(model, (4, 4), ax)


def test_loadings(model, ax):
    names = [f"v{k}" for k in range(25)]
    plot_loadings(model, ax, feature_names=names)
    order = np.argsort(model.ranking_)[: model.n_selected_]
    np.testing.assert_array_equal(ax.images[0].get_array(), model.components_[:, order].T)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == [names[k] for k in order]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["0", "1", "2"]
    low, high = ax.images[0].get_clim()
    assert -low == high == np.abs(model.components_).max()


def test_loadings_of_many_variables_are_the_largest(model, ax):
    display = LoadingsDisplay.from_estimator(model, max_features=4, ax=ax)
    strength = np.linalg.norm(model.components_, axis=0)
    kept = set(np.argsort(-strength)[:4])
    assert display.names == [f"x{k}" for k in np.argsort(model.ranking_) if k in kept]
    assert ax.get_title() == f"Loadings, 4 of {model.n_selected_} variables"


def test_biplot(model, ax, data):
    X, _ = data
    labels = np.array(["a", "b"])[np.arange(40) % 2]
    display = BiplotDisplay.from_estimator(model, X, components=(2, 0), labels=labels, max_arrows=5, ax=ax)
    scores = model.transform(X)[:, [2, 0]]
    for group, points in zip("ab", ax.collections, strict=True):
        np.testing.assert_allclose(points.get_offsets(), scores[labels == group])
    colours = [mpl.colors.to_hex(points.get_facecolor()[0]).upper() for points in ax.collections]
    assert colours == list(PALETTE[:2])
    pair = model.components_[[2, 0]].T
    longest = np.argsort(-np.linalg.norm(pair, axis=1))[:5]
    assert display.names == [f"x{k}" for k in longest]
    arrows = [text for text in ax.texts if text.arrow_patch is not None]
    np.testing.assert_allclose([arrow.xy for arrow in arrows], display.scale_ * pair[longest])
    assert [text.get_text() for text in ax.texts if text.arrow_patch is None] == display.names
    assert ax.get_xlabel() == f"component 2 ({model.explained_variance_ratio_[2]:.1%})"


def test_biplot_of_numbers_has_a_scale(model, ax, data):
    plot_biplot(model, data[0], ax, labels=np.arange(40.0))
    np.testing.assert_array_equal(ax.collections[0].get_array(), np.arange(40.0))


@pytest.mark.parametrize("components", [(0, 3), (0,), (-1, 0)])
def test_biplot_refuses_components_that_are_not_there(model, data, components):
    with pytest.raises(ValueError, match="components must be two of the 3 components"):
        plot_biplot(model, data[0], components=components)


def test_relevance_path(model, ax):
    with_path(model)
    plot_relevance_path(model, ax)
    others, chosen = ax.collections
    order = np.argsort(model.ranking_)
    path = model.relevance_path_
    for lines, members in ((chosen, order[: model.n_selected_]), (others, order[model.n_selected_ :])):
        drawn = lines.get_segments()
        assert len(drawn) == len(members)
        for curve, k in zip(drawn, members, strict=True):
            np.testing.assert_array_equal(curve, np.column_stack([path.levels, path.relevance[:, k]]))
    assert ax.get_xscale() == "log"
    assert {text.get_text() for text in ax.texts} == {f"x{k}" for k in order[: model.n_selected_]}
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["8 selected", "17 others"]


def test_relevance_path_needs_one(data):
    model = GSPPCA(3, evidence="noiseless").fit(data[0])
    with pytest.raises(ValueError, match=r"ranking='auto'. Fit it with ranking='noise-path'"):
        plot_relevance_path(model)
    with pytest.raises(ValueError, match=r"relevance must have one row per level, 2, .* got shape \(3, 4\)"):
        RelevancePathDisplay([1, 2], np.zeros((3, 4)))


def test_stability(ax):
    frequencies = [0.2, 1.0, 0.9, 0.0]
    plot_stability(frequencies, ax, feature_names=list("abcd"), threshold=0.5)
    assert [bar.get_width() for bar in ax.patches] == [1.0, 0.9, 0.2, 0.0]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["b", "c", "a", "d"]
    colours = [mpl.colors.to_hex(bar.get_facecolor()).upper() for bar in ax.patches]
    assert colours == [SELECTED, SELECTED, OTHER, OTHER]
    assert set(ax.lines[0].get_xdata()) == {0.5}
    assert ax.get_legend().get_texts()[0].get_text() == "2 reach 0.5"
    assert mpl.colors.to_hex(ax.lines[0].get_color()).upper() == MARK


def test_stability_of_many(ax):
    frequencies = np.random.default_rng(0).random(300)
    selected = frequencies > 0.7
    plot_stability(frequencies, ax, selected=selected)
    others, chosen = (np.array([s[1, 1] for s in lines.get_segments()]) for lines in ax.collections)
    np.testing.assert_array_equal(np.concatenate([chosen, others]), np.sort(frequencies)[::-1])
    assert len(chosen) == selected.sum()


def test_stability_refuses_counts():
    with pytest.raises(ValueError, match=r"frequencies must be .* values from 0 to 30. Divide counts"):
        StabilityDisplay([0, 30])
    with pytest.raises(ValueError, match="feature_names must have one entry per variable, 2, got 1"):
        StabilityDisplay([0, 1], feature_names=["a"])


@pytest.mark.parametrize(
    "draw",
    [
        lambda m, X: EvidencePathDisplay.from_estimator(m),
        lambda m, X: RelevanceDisplay.from_estimator(m),
        lambda m, X: LoadingsDisplay.from_estimator(m),
        lambda m, X: BiplotDisplay.from_estimator(m, X),
        lambda m, X: SelectedImageDisplay.from_estimator(m, (5, 5)),
        lambda m, X: RelevancePathDisplay.from_estimator(with_path(m)),
        lambda m, X: StabilityDisplay(np.linspace(0, 1, 25)).plot(),
    ],
)
def test_displays_draw_on_new_axes_and_remember_them(model, ax, data, draw):
    display = draw(model, data[0])
    assert display.ax_ is not ax
    assert display.figure_ is display.ax_.figure
    display.figure_.canvas.draw()
    again = display.plot(ax)
    assert again is display
    assert display.ax_ is ax


def test_names(model, ax):
    assert literal("$a_b$") == r"\$a_b\$"
    assert literal("x" * 50) == "x" * 23 + "…"
    plot_loadings(model, ax, feature_names=[f"${k}^" for k in range(25)])  # drawn by the fixture: no formula
    with pytest.raises(ValueError, match="feature_names must have one name per column of X, 25, got 1"):
        plot_loadings(model, ax, feature_names=["a"])


def test_names_are_spread_in_their_order():
    heights = np.array([1.0, 1.0, 5.0, 1.1])
    moved = spread(heights, 0.5)
    assert np.diff(np.sort(moved)).min() >= 0.49
    assert moved[0] < moved[1] < moved[3] < moved[2] == 5.0
    assert moved[[0, 1, 3]].mean() == pytest.approx(heights[[0, 1, 3]].mean(), abs=0.02)
    np.testing.assert_array_equal(spread([3.0, 1.0], 0.5), [3.0, 1.0])


def test_a_selector_has_no_loadings(data):
    selector = GSPPCASelector(3).fit(data[0])
    plot_evidence(selector, plt.figure().gca())
    plt.close("all")
    with pytest.raises(ValueError, match="model must have components, got GSPPCASelector"):
        plot_loadings(selector)


def test_the_current_axes_are_the_default(model, ax):
    plt.sca(ax)
    assert plot_evidence(model) is ax
    assert plot_stability([0.5, 1.0]) is ax


def test_without_matplotlib_the_error_names_the_extra(model, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"gsppca\[plot\]"):
        plot_evidence(model)
    with pytest.raises(ImportError, match=r"gsppca\[plot\]"):
        EvidencePathDisplay.from_estimator(model)
