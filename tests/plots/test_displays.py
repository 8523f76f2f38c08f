"""Pictures: axes in, axes out, showing the numbers of the model."""

from __future__ import annotations

import numpy as np
import pytest

from tests.needs import optional

mpl = optional("matplotlib")
mpl.use("Agg")
import matplotlib.pyplot as plt

from gsppca import GSPPCA, GSPPCASelector
from gsppca.comparison import StabilityResult
from gsppca.plots import (
    MARK,
    OTHER,
    PALETTE,
    ROLE_COLOURS,
    SELECTED,
    BiplotDisplay,
    EvidencePathDisplay,
    LoadingsDisplay,
    RelevanceDisplay,
    SelectedImageDisplay,
    ShareDisplay,
    StabilityDisplay,
    TopDisplay,
    plot_biplot,
    plot_evidence,
    plot_image,
    plot_loadings,
    plot_relevance,
    plot_share,
    plot_stability,
    plot_top,
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


def colours_of(points):
    return {mpl.colors.to_hex(colour).upper() for colour in points.get_facecolors()}


def test_relevance_is_coloured_by_role(model, ax, data):
    plot_relevance(model, ax, truth=data[1])
    drawn = {c.get_label(): c for c in ax.collections if not c.get_label().startswith("_")}
    for role in np.unique(model.role_):
        members = model.role_ == role
        points = drawn[role].get_offsets()
        np.testing.assert_array_equal(np.sort(points[:, 0]), np.sort(model.ranking_[members]))
        assert colours_of(drawn[role]) == {ROLE_COLOURS[role]}
    assert drawn["truth"].get_offsets()[:8, 1].sum() == 8


@pytest.mark.parametrize("p", [300, 5000])
def test_relevance_of_many_variables_is_thinned_and_the_first_are_named(ax, p):
    relevance = np.linspace(1, 0, p)
    selected = np.arange(p) < p // 2
    display = RelevanceDisplay(relevance, selected, names=[f"v{k}" for k in range(p)]).plot(ax)
    assert sum(len(c.get_offsets()) for c in ax.collections) <= 2000
    assert [text.get_text() for text in ax.texts] == [f"v{k}" for k in range(5)]
    assert display.ax_.get_xscale() == "log"


def test_image_has_three_tones_and_frames(model, ax):
    plot_image(model, (5, 5), ax)
    tones = {"noise": 0, "related": 1, "core": 2}
    np.testing.assert_array_equal(ax.images[0].get_array().ravel(), [tones[role] for role in model.role_])
    # One edge between each selected pixel and each neighbour that is not.
    padded = np.pad(model.support_.reshape(5, 5), 1).astype(int)
    edges = np.abs(np.diff(padded, axis=0)).sum() + np.abs(np.diff(padded, axis=1)).sum()
    assert len(ax.lines) == edges
    shown = [text.get_text() for text in ax.get_legend().get_texts()]
    assert shown[0] == f"{model.core_.sum()} core"
    assert shown[-1] == f"{model.n_selected_} selected"
    with pytest.raises(ValueError, match=r"shape must have as many pixels .* 25, got \(4, 4\)"):
        plot_image(model, (4, 4), ax)
    plain = SelectedImageDisplay(model.relevance_.reshape(5, 5), model.support_.reshape(5, 5)).plot(ax)
    np.testing.assert_array_equal(plain.image_.get_array(), model.relevance_.reshape(5, 5))


def test_share_marks_the_core(model, ax):
    plot_share(model, ax)
    promised, curve, core, selected = ax.lines
    path = model.share_path_
    np.testing.assert_array_equal(curve.get_ydata(), path.share)
    np.testing.assert_array_equal(promised.get_ydata(), path.promised)
    assert core.get_xydata().tolist() == [[model.core_.sum(), model.core_share_]]
    assert set(selected.get_xdata()) == {model.n_selected_} != {model.core_.sum()}
    ax.clear()
    plot_share(model.choose(1), ax)
    assert set(ax.lines[-1].get_xdata()) == {1}
    assert f"core: {model.core_.sum()} carry {model.core_share_:.0%}" in ax.texts[0].get_text()


def test_top_shows_names_and_shares_so_far(model, ax):
    names = [f"v{k}" for k in range(25)]
    plot_top(model, 3, ax, feature_names=names)
    order = np.argsort(model.ranking_)[:3]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == [names[k] for k in order]
    ends = [bar.get_x() + bar.get_width() for bar in ax.patches[3:6]]
    known = len(model.share_path_.share)
    if known >= 3:
        np.testing.assert_allclose(ends, model.share_path_.share[:3])
    asked = TopDisplay.from_estimator(model.choose(1), 5, ax=ax)
    assert len(asked.names) == 1


def test_top_without_shares_shows_relevance(data, ax):
    model = GSPPCA(3, method="paper").fit(data[0])
    display = TopDisplay.from_estimator(model, 4, ax=ax)
    assert not display.cumulative
    np.testing.assert_allclose(display.values, model.relevance_[np.argsort(model.ranking_)[:4]])


@pytest.mark.parametrize("width", [3, 12])
def test_names_of_the_first_variables_do_not_cover_each_other(width):
    """As many as there is room for, on an axis of 5,000 ranks; given names are used."""
    figure, ax = plt.subplots(figsize=(width, 4))
    names = [f"gene {k}" for k in range(5000)]
    RelevanceDisplay(np.full(5000, 0.9), np.arange(5000) < 20, role=["core"] * 5000, names=names).plot(ax)
    figure.canvas.draw()
    shown = [text.get_text() for text in ax.texts]
    assert shown[0] == "gene 0"
    assert len(shown) == {3: 3, 12: 5}[width]
    places = [ax.transData.transform((int(name.split()[1]) + 1, 0))[0] * 72 / figure.dpi for name in shown]
    assert np.diff(places).min() > 8.9  # points: rotated by 60 degrees, lines of 8 points just have room
    plt.close(figure)


def test_relevance_takes_names(ax):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 150))
    X[:, :8] += 2 * rng.normal(size=(60, 1))
    model = GSPPCA(1).fit(X)
    plot_relevance(model, ax, feature_names=[f"g{k}" for k in range(150)])
    assert ax.texts[0].get_text() == f"g{np.argmin(model.ranking_)}"


def test_the_legend_of_roles_covers_no_bar(ax):
    display = TopDisplay(list("abcdef"), [0.9] * 6, ["core"] * 3 + ["related"] * 3, cumulative=False).plot(ax)
    display.figure_.canvas.draw()
    legend = display.ax_.get_legend().get_window_extent()
    assert not any(legend.overlaps(bar.get_window_extent()) for bar in display.ax_.patches)


def test_loadings(model, ax):
    names = [f"v{k}" for k in range(25)]
    plot_loadings(model, ax, feature_names=names)
    order = np.argsort(model.ranking_)[: model.n_selected_]
    np.testing.assert_array_equal(ax.images[0].get_array(), model.components_[:, order].T)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == [names[k] for k in order]
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["PC1", "PC2", "PC3"]
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
    assert ax.get_xlabel() == f"PC3 ({model.explained_variance_ratio_[2]:.1%})"


def test_biplot_of_numbers_has_a_scale(model, ax, data):
    plot_biplot(model, data[0], ax, labels=np.arange(40.0))
    np.testing.assert_array_equal(ax.collections[0].get_array(), np.arange(40.0))


@pytest.mark.parametrize("components", [(0, 3), (0,), (-1, 0)])
def test_biplot_refuses_components_that_are_not_there(model, data, components):
    with pytest.raises(ValueError, match="components must be two of the 3 components"):
        plot_biplot(model, data[0], components=components)


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


def test_stability_of_many_shows_the_most_frequent_by_name(ax):
    frequencies = np.random.default_rng(0).random(5000)
    plot_stability(frequencies, ax, selected=frequencies > 0.9995, max_features=20)
    assert [bar.get_width() for bar in ax.patches] == np.sort(frequencies)[::-1][:20].tolist()
    assert "the first 20 of 5,000 variables" in ax.get_title()


def test_stability_takes_a_result(ax):
    supports = np.array([[True, True, False], [True, False, False]])
    result = StabilityResult(supports.mean(axis=0), supports.sum(axis=1), supports, 10)
    plot_stability(result, ax)
    assert [bar.get_width() for bar in ax.patches] == [1.0, 0.5, 0.0]
    assert f"Stability {result.index:.2f}" in ax.get_title()


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
        lambda m, X: ShareDisplay.from_estimator(m),
        lambda m, X: TopDisplay.from_estimator(m, 5),
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
